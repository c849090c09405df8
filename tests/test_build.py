"""The Makefile: which files it rebuilds, and which it leaves alone. Works in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from lib import choice
from megalith.run.paths import TOP
from test_style import tracked


def copy_or_mark(source: str, target: str) -> None:
    """Copies what make reads. Of the other files, hundreds of megabytes, it compares the times."""
    if "kernel" in Path(source).parts or Path(source).suffix == ".d" or "flags" in source:
        shutil.copy2(source, target)
    else:
        Path(target).touch()
        shutil.copystat(source, target)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the build, at another place, with times kept."""
    top = tmp_path_factory.mktemp("tree")
    for path in tracked():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TOP / path, top / path)
    other = shutil.ignore_patterns("conditions", "fuzz", "models", "mutation", "verification")
    shutil.copytree(TOP / "build", top / "build", ignore=other, copy_function=copy_or_mark)
    (top / ".venv").symlink_to(TOP / ".venv")
    return top


def make(top: Path, *words: str) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(["make", *words], cwd=top, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def would_build(top: Path, *words: str) -> set[str]:
    """The sources that make would compile now."""
    lines = make(top, "-n", *words, "all").splitlines()
    found = set()
    for line in lines:
        words_of_line = line.split()
        if "-c" in words_of_line:
            found.add(words_of_line[words_of_line.index("-c") + 1])
    return found


def touch(path: Path) -> None:
    future = max(p.stat().st_mtime for p in (path, path.parent)) + 3600
    os.utime(path, (future, future))


def test_second_make_does_nothing(copy: Path) -> None:
    make(copy)
    assert "Nothing to be done" in make(copy)
    assert subprocess.run(["make", "-q", "all"], cwd=copy).returncode == 0


def test_changed_header_rebuilds_what_includes_it(copy: Path) -> None:
    header = copy / "mm/section/section.h"
    if not header.exists():
        header = copy / "mm/phys/page.h"
    name = header.relative_to(copy).as_posix()
    before = header.stat()
    touch(header)
    rebuilt = would_build(copy)
    os.utime(header, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert rebuilt
    for source in (p for p in tracked("mm", "kernel") if p.suffix == ".c"):
        if source.is_relative_to("kernel/test"):  # part of other kernels
            assert str(source) not in rebuilt
        elif f'#include "{name}"' in (TOP / source).read_text():
            assert str(source) in rebuilt
    assert "kernel/base/string.c" not in rebuilt
    assert not would_build(copy)


def test_changed_flags_rebuild(copy: Path) -> None:
    flags = copy / "build/flags/kernel"
    before, times = flags.read_text(), flags.stat()
    rebuilt = would_build(copy, "WARNINGS=-Wall")
    flags.write_text(before)
    os.utime(flags, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "kernel/base/string.c" in rebuilt


def test_chosen_tests_build_what_they_need(copy: Path) -> None:
    make(copy, "needed", "T=tests/test_host.py -k test_quota")
    assert (copy / "build/needs").read_text() == "build/host/test_quota"


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("crash", "test-kernel"),
        ("bench", "test-kernel"),
        ("ubsan", "ubsan"),
        ("races", "races"),
        ("coverage", "counting"),
        ("fuzz", "fuzzers"),
        ("planted", "host-tests"),
        ("mutation", "host-tests"),
    ],
)
def test_a_file_of_tests_says_what_it_needs(name: str, target: str) -> None:
    path = TOP / f"tests/test_{name}.py"
    assert choice.needs_of_file(path) >= {"all", target}


def test_warnings_are_errors(copy: Path) -> None:
    source = copy / "kernel/base/with_a_warning.c"
    source.write_text("int f(void);\nint f(void) { int unused; return 0; }\n")
    done = subprocess.run(["make", "all"], cwd=copy, capture_output=True, text=True)
    source.unlink()
    assert done.returncode != 0 and "unused" in done.stderr


def test_help_lists_the_targets(copy: Path) -> None:
    text = make(copy, "help")
    for target in ("all", "run", "check", "test", "debug", "bench"):
        assert f"make {target}" in text


def test_setup_has_nothing_left_to_install() -> None:
    for words in ([], ["--tests"]):
        command = [TOP / "scripts/setup", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/")
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_what_only_tests_need_is_not_needed_to_run() -> None:
    """The packages of the two lists of scripts/setup, and what `make run` would install."""
    lists = re.findall(r"<<'LIST'\n(.*?)\nLIST\n", (TOP / "scripts/setup").read_text(), re.DOTALL)
    first, second = ({line.split()[0] for line in one.splitlines()} for one in lists)
    assert {"clang", "llvm", "spin", "gdb-multiarch"} <= second and not first & second
    assert {"qemu-system-misc", "gcc-alpha-linux-gnu", "make"} <= first

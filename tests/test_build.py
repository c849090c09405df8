"""The Makefile: which files it rebuilds, and which it leaves alone. Works in a copy of the tree."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lib import choice
from megalith.debug import sda
from megalith.debug.saved import SavedError
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


A_SLOW_PYTHON = r"""#!/bin/sh
case "$*" in
*" venv "*)
    mkdir .venv || exit 1
    sleep 0.5
    mkdir .venv/bin
    ln -s /bin/true .venv/bin/python
    ;;
esac
"""


def test_two_commands_in_a_new_clone_make_the_environment_once(tmp_path: Path) -> None:
    for name in ("scripts/setup", "requirements.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy2(TOP / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").write_text(A_SLOW_PYTHON)
    (tmp_path / "bin/python3").chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    command = [tmp_path / "scripts/setup"]
    both = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in "ab"]
    said = b"".join(one.communicate()[1] for one in both)
    assert [one.returncode for one in both] == [0, 0], said
    assert said.count(b"installing requirements.txt") == 1


def test_what_only_tests_need_is_not_needed_to_run() -> None:
    """The packages of the lists of scripts/setup, and what `make run` would install."""
    lists = re.findall(r"<<'LIST'\n(.*?)\nLIST\n", (TOP / "scripts/setup").read_text(), re.DOTALL)
    run, debugger, tests = ({line.split()[0] for line in one.splitlines()} for one in lists)
    assert {"clang", "llvm", "spin"} <= tests and debugger == {"gdb-multiarch"}
    assert {"qemu-system-misc", "gcc-alpha-linux-gnu", "make"} <= run
    assert "bzip2" in run  # BusyBox's build wants it
    assert not run & debugger and not (run | debugger) & tests


def pins(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w-]+)==(\S+)", (TOP / name).read_text(), re.MULTILINE))


def test_what_only_tests_import_is_not_installed_to_run() -> None:
    run, tests = pins("requirements.txt"), pins("requirements-tests.txt")
    assert run.items() <= tests.items()
    assert not {"pytest", "hypothesis", "matplotlib", "ruff", "clang-format"} & run.keys()
    for name in ("requirements.txt", "requirements-tests.txt"):  # nothing of one machine
        assert not re.search(r"^--|/", (TOP / name).read_text(), re.MULTILINE)


MODULES = {"elftools": "pyelftools", "prompt_toolkit": "prompt-toolkit"}


def test_what_tools_of_users_import_is_installed_to_run() -> None:
    run = pins("requirements.txt")
    paths = [Path("sysman"), *(Path("scripts/megalith") / name for name in ("run", "debug"))]
    for path in tracked(*map(str, paths)):
        if path.suffix == ".py":
            for name in imported(TOP / path):
                known = name in sys.stdlib_module_names | {"megalith", "sysman", "gdb"}
                assert known or MODULES.get(name, name) in run, f"{path} imports {name}"


def imported(path: Path) -> set[str]:
    """The first parts of the names of the modules that a file imports from elsewhere."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def test_every_tool_sees_to_its_set_up() -> None:
    """Whichever is the first that is called, and however little is installed."""
    for path in (TOP / "scripts").iterdir():
        text = path.read_text() if path.is_file() else ""
        if '.venv/bin/python" -P' in text and path.name not in ("busybox", "ext2fs"):
            assert re.search(r"\$top/\.venv/\.stamp(-tests)?\" \]", text), path.name


def test_the_debugger_is_installed_when_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/setup").write_text('#!/bin/sh\necho "$@" >>"$0.log"\nexit 1\n')
    (tmp_path / "scripts/setup").chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sda, "TOP", tmp_path)
    with pytest.raises(SavedError, match="cannot install it"):
        sda.install_debugger()
    assert (tmp_path / "scripts/setup.log").read_text() == "--debugger\n"


def test_the_workflow_tries_the_systems_that_the_recipe_and_the_readme_name() -> None:
    workflow = (TOP / ".github/workflows/ci.yml").read_text()
    images = re.findall(r'"(\w+):([\d.]+)"', workflow)
    recipe = (TOP / "userland/busybox/recipe.toml").read_text()
    readme = (TOP / "README.md").read_text()
    assert len(images) == 3 and ".ci/run" in workflow
    for system, version in images:
        assert f"# {system.capitalize()} {version}\n" in recipe
        assert version in readme and system.capitalize() in readme

"""The rules of the house that a program can check: floors, machine code in its place, headers."""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import TOP

# From the ground up. A file includes its own floor and those below (arch/alpha/hw is the ground).
FLOORS = [
    ("arch/alpha/hw", "arch/alpha/clipper"),
    ("kernel/base",),
    ("kernel/races",),
    ("sysman",),
    ("kernel/sched",),
    ("mm/phys",),
    ("mm/pt",),
    ("mm/pool",),
    ("mm/object",),
    ("mm/space",),
    ("mm/section",),
    ("mm/check",),
    ("kernel/lnm",),
    ("kernel/io",),
    ("kernel/proc",),
    ("kernel/trace",),
    ("kernel/sys",),
    ("kernel/test",),
    ("arch/alpha/entry", "kernel"),
]

# The ground floor takes its basic types, strings and messages from the floor above it, which is
# built for every machine; kernel/base has nothing that would call down again in a circle.
BASE_FOR_GROUND = re.compile(r"kernel/base/[a-z_/]+\.h")

# Names for assembly: the file shows structures of all floors to the roof, and calls nothing.
OFFSETS = Path("arch/alpha/hw/asm_offsets.c")

KERNEL_FOLDERS = ("arch", "kernel", "mm", "sysman")
CODE = {".c", ".h", ".S"}
LINE_MAX = 100

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def tracked(*folders: str) -> list[Path]:
    """The files of the project, also those not yet committed."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=True,
    )
    names = sorted(set(filter(None, done.stdout.split("\0"))))
    return [Path(name) for name in names if (TOP / name).is_file()]


def code(*folders: str) -> list[Path]:
    return [path for path in tracked(*folders) if path.suffix in CODE]


def read(path: Path) -> str:
    return (TOP / path).read_text()


def without_comments(text: str) -> str:
    """The text with comments blanked out, line numbers kept."""
    return COMMENT.sub(lambda found: "\n" * found.group().count("\n"), text)


def floor_of(path: Path) -> int | None:
    folder = path.parent
    while True:
        for number, folders in enumerate(FLOORS):
            if folder.as_posix() in folders:
                return number
        if folder == folder.parent:
            return None
        folder = folder.parent


def report(wrong: list[str]) -> None:
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_includes_name_the_path_from_the_top() -> None:
    wrong = []
    for path in code(*KERNEL_FOLDERS):
        for kind, name in INCLUDE.findall(without_comments(read(path))):
            exists = (TOP / name).is_file() or (TOP / "build/gen" / name).is_file()
            if kind == '"' and not exists and not name.endswith("asm_offsets.h"):
                wrong.append(f'{path}: "{name}" is no path from the top')
    report(wrong)


def test_files_include_their_own_floor_and_those_below() -> None:
    wrong = []
    for path in code(*KERNEL_FOLDERS):
        own = floor_of(path)
        for kind, name in INCLUDE.findall(without_comments(read(path))):
            other = floor_of(Path(name))
            if kind != '"' or path == OFFSETS or own is None or other is None or other <= own:
                continue
            if own == 0 and BASE_FOR_GROUND.fullmatch(name):
                continue
            wrong.append(f"{path}: includes {name}, from a floor above its own")
    report(wrong)


def test_shared_headers_include_only_stdint() -> None:
    wrong = [
        f"{path}: includes {name}"
        for path in code("kernel/base/abi")
        for kind, name in INCLUDE.findall(without_comments(read(path)))
        if name not in ("stdint.h", "stddef.h") and not (TOP / "kernel/base/abi" / name).is_file()
    ]
    report(wrong)


MACHINE = {
    "assembly": re.compile(r"\b__asm__\b|\basm\s*(volatile\s*)?\("),
    "CALL_PAL": re.compile(r"\bcall_pal\b|\bPAL_[A-Z_0-9]+\b"),
    "a KSEG constant": re.compile(r"0xF{4,6}F?[CD][0-9A-F]{10}\b|\bLAYOUT_KSEG\w*", re.IGNORECASE),
}


def test_machine_code_only_in_arch() -> None:
    wrong = []
    for path in code("kernel", "mm", "sysman"):
        text = without_comments(read(path))
        for number, line in enumerate(text.splitlines(), 1):
            for what, pattern in MACHINE.items():
                if pattern.search(STRING.sub('""', line)):
                    wrong.append(f"{path}:{number}: {what} outside arch/alpha")
    report(wrong)


def test_lines_and_white_space() -> None:
    wrong = []
    python = [path for path in tracked() if path.suffix == ".py"]
    for path in code("arch", "kernel", "mm", "sysman", "userland", "tests") + python:
        text = read(path)
        if text and not text.endswith("\n"):
            wrong.append(f"{path}: no newline at the end")
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > LINE_MAX:
                wrong.append(f"{path}:{number}: {len(line)} columns")
            if line != line.rstrip():
                wrong.append(f"{path}:{number}: white space at the end")
            if "\t" in line and path.suffix in (".c", ".h", ".py"):
                wrong.append(f"{path}:{number}: a tab")
    report(wrong)


def test_formatters_have_nothing_to_do() -> None:
    """`make format` mends what this finds, but for over-long lines of comments and strings."""
    tools = TOP / ".venv/bin"
    sources = [str(path) for path in tracked() if path.suffix in (".c", ".h")]
    commands = (
        [tools / "clang-format", "--dry-run", "--Werror", *sources],
        [tools / "ruff", "format", "--check", "--quiet", "."],
        [tools / "ruff", "check", "--quiet", "."],
    )
    for command in commands:
        done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=120)
        report([(done.stdout + done.stderr)[:4000]] if done.returncode else [])


def flags(name: str) -> list[str]:
    """The compiler and the flags that the Makefile uses for kernel, user or host code."""
    words = (TOP / "build/flags" / name).read_text().removeprefix("with ").split()
    return [word for word in words if not word.startswith(("-Wl,", "-static"))]


def compile_alone(job: tuple[Path, list[str]]) -> str | None:
    header, command = job
    text = f'#include "{header}"\n#include "{header}"\n'
    done = subprocess.run(
        [*command, "-fsyntax-only", "-I.", "-xc", "-"],
        input=text,
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return f"{header}:\n{done.stderr}" if done.returncode else None


def test_each_header_compiles_alone_and_twice() -> None:
    jobs = []
    for header in code("arch", "kernel", "mm", "sysman", "userland/lib/include"):
        if header.suffix == ".h":
            shared = header.is_relative_to("kernel/base/abi")
            user = shared or header.is_relative_to("userland")
            jobs.append((header, flags("user" if user else "kernel")))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        report([message for message in pool.map(compile_alone, jobs) if message])


def test_scripts_can_be_executed() -> None:
    wrong = [
        str(path)
        for path in tracked("scripts", ".ci")
        if read(path).startswith("#!") and not os.access(TOP / path, os.X_OK)
    ]
    report(wrong)


def test_no_marks_of_unfinished_work() -> None:
    mark = re.compile(r"\b(TODO|FIXME|XXX)\b")
    wrong = []
    for path in tracked("arch", "kernel", "mm", "sysman", "userland", "scripts", "Makefile"):
        for number, line in enumerate(read(path).splitlines(), 1):
            if mark.search(line):
                wrong.append(f"{path}:{number}: {line.strip()}")
    report(wrong)


def test_programs_in_company_check_each_fork() -> None:
    """One that took -1 for a child killed everybody beside it: must_fork() of company.h."""
    for path in sorted(TOP.glob("userland/tests/*.c")):
        text = path.read_text()
        if "#include <company.h>" in text:
            assert not re.search(r"(?<!\w)fork\(\)", text), path

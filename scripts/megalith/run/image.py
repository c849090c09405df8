"""The initrd of a run: which programs and files the machine starts with."""

from __future__ import annotations

import argparse
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from megalith.run import system_disk
from megalith.run.initrd import Archive
from megalith.run.libraries import libraries_of
from megalith.run.paths import INITRD, SMALL_INITRD, STRIPPED, TOP

if TYPE_CHECKING:
    from sysman.configuration import Configuration

Files = dict[str, tuple[int, bytes]]

CONFIG = "boot/config"  # instead of what the system disk has
OVERRIDE = "boot/override"  # beside it, for this boot
COMMAND_LINE = "boot/cmdline"
PROGRAM = re.compile(r"/((?:tests|bench)/\w+)")
STARTUP = "etc/startup"  # the start-up script, which runs before the command
# The script has no input, and its output is none of the command's.
RUN_STARTUP = (
    f'sh /{STARTUP} </dev/null >&2 || echo sh: /{STARTUP} ended with status $? >&2; exec "$@"'
)


def configuration(options: argparse.Namespace) -> Configuration | None:
    """What the options request, or none. Raises SysmanError, OSError."""
    if not (options.config or options.parameters or options.reservations):
        return None
    from sysman.configuration import Configuration

    wanted = Configuration.load(options.config) if options.config else Configuration()
    for parameter in options.parameters:
        wanted.set_parameter(parameter)
    for reservation in options.reservations:
        wanted.reserve(reservation)
    return wanted


def parameter(options: argparse.Namespace, name: str) -> int:
    """The value of a system parameter whose default is 0. Raises SysmanError, OSError."""
    wanted = configuration(options)
    if wanted and name in wanted.parameters:
        return wanted.parameters[name]
    if wanted and wanted.parameters.get("STARTUP_P1") == 1:
        return 0  # MIN: nothing is read from the disk
    disk = options.system_disk
    if disk is None or options.config or not disk.image.exists():
        return 0
    return system_disk.configuration(disk.image).parameters.get(name, 0)


def _for_tests() -> bool:
    return os.environ.get("MEGALITH_INITRD") == "small"


def _heads(additions: list[tuple[Path, str]]) -> list[bytes]:
    return [path.read_bytes()[:65536] for path, _name in additions]


def _texts(command: list[str], additions: list[tuple[Path, str]]) -> str:
    """The words of the command, and the scripts that are added."""
    scripts = [head.decode(errors="replace") for head in _heads(additions) if b"\0" not in head]
    return "\n".join([" ".join(command), *scripts])


def named_programs(command: list[str], additions: list[tuple[Path, str]]) -> set[str]:
    """Programs of /tests and /bench that the command names, or a script that is added."""
    return set(PROGRAM.findall(_texts(command, additions)))


def is_program(name: str) -> bool:
    """Is there a source of tests/NAME or bench/NAME, a file or a folder?"""
    return bool(sources_of(name))


def sources_of(name: str) -> list[Path]:
    place = TOP / "userland" / name
    return [*place.parent.glob(f"{place.name}.c"), *place.glob("*.c")]


def _strings_of(name: str) -> str:
    """The strings in the sources of a program, a line each."""
    texts = [path.read_text() for path in sources_of(name)]
    return "\n".join(s for text in texts for s in re.findall(r'"[^"\n]+"', text))


def test_programs(options: argparse.Namespace, command: list[str]) -> set[str]:
    """The programs of /tests and /bench that this run needs besides those of the image: those that
    are named, and those that their sources name."""
    if options.tests:
        folders = (TOP / "userland/tests", TOP / "userland/bench")
        named = {f"{path.parent.name}/{path.stem}" for f in folders for path in f.iterdir()}
        return set(filter(is_program, named))
    found: set[str] = set()
    more = set(filter(is_program, named_programs(command, options.additions)))
    while more:
        found |= more
        named = {n for name in more for n in PROGRAM.findall(_strings_of(name))}
        more = set(filter(is_program, named)) - found
    return found


@cache
def files_of(path: Path, _changed: int) -> Files:
    """The files of an initrd that was last changed then: a process that starts many machines reads
    it once."""
    return Archive.from_bytes(path.read_bytes()).files


def built(options: argparse.Namespace, command: list[str], tests: set[str]) -> Files:
    """The files of the initrd that has been built. Tests set MEGALITH_INITRD=small for the one with
    the shell and the utilities of userland/bin, which every machine can build. They boot a thousand
    times, so they get those programs only whose names are in the command, or in a string of a
    program that it names; but all where a program is added that may start any."""
    path = SMALL_INITRD if _for_tests() else INITRD
    files = files_of(path, path.stat().st_mtime_ns)
    unknown = any(head.startswith(b"\x7fELF") for head in _heads(options.additions))
    if not _for_tests() or not command or unknown:
        return files
    text = "\n".join([_texts(command, options.additions), *map(_strings_of, tests)])
    kept = {f"bin/{word}" for word in {"sh", *re.findall(r"\w+", text.lower())}} | tests
    return {
        name: file
        for name, file in files.items()
        if not file[1].startswith(b"\x7fELF") or name in kept
    }


def initrd(options: argparse.Namespace, command: list[str]) -> bytes:
    archive = Archive()
    # The files that the kernel needs first come first.
    wanted = configuration(options)
    if wanted is not None:
        archive.add(CONFIG if options.config else OVERRIDE, wanted.to_bytes(), 0o644)
    if command:
        if any(name.strip("/") == STARTUP for _, name in options.additions):
            command = ["/bin/sh", "-c", RUN_STARTUP, "sh", *command]
        words = b"".join(os.fsencode(word) + b"\0" for word in command)
        archive.add(COMMAND_LINE, words, 0o644)
    tests = test_programs(options, command)
    archive.files |= built(options, command, tests)
    for name in sorted(tests):
        if name not in archive.files and (STRIPPED / name).is_file():
            archive.add_file(STRIPPED / name, name)
    added = {name.strip("/") for _, name in options.additions}
    for name, path in libraries_of([path.read_bytes() for path, _ in options.additions]).items():
        if name not in added:
            archive.add(name, path.read_bytes())
    for path, name in options.additions:
        archive.add_file(path, name)
    return archive.to_bytes()

"""What system services returned to test programs: tap.h records it, test_guest.py keeps it here.

A record has the notes of one run, in build/conditions/. It is valid as long as neither the kernel
nor the programs have been built since, so a session runs no program twice for it.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from megalith.run.marks import marked, runs
from megalith.run.paths import TOP

from lib.guest import run_guest

FOLDER = TOP / "build/conditions"
BUILT = (TOP / "build/megalith.elf", TOP / "build/initrd.cpio")
NOTE = re.compile(r"^# (returns|checked): (sys\$\w+) (\S+)$", re.MULTILINE)

Pair = tuple[str, str]  # service and value: ("sys$dgblsc", "SS$_NORMAL")


def programs() -> list[Path]:
    """Sources of the TAP programs that call system services."""
    found = []
    for source in sorted((TOP / "userland/tests").glob("*.c")):
        text = source.read_text()
        if re.search(r"^// TAP\b", text, re.MULTILINE) and "sys$" in text:
            found.append(source)
    return found


@cache
def names() -> dict[str, str]:
    """Names of values by number: a program without condition.o records numbers."""
    text = (TOP / "kernel/base/abi/ssdef.h").read_text()
    pairs = re.findall(r"^#define (SS\$_\w+) +(\d+)$", text, re.MULTILINE)
    return {number: name for name, number in reversed(pairs)}


def record_of(source: Path, cpus: int | None, number: int = 0) -> Path:
    return FOLDER / f"{source.stem}-{cpus or 'own'}{number or ''}"


def first_cpus(source: Path) -> int | None:
    """A number of CPUs with which `make test` runs it."""
    return None if "--smp" in marked(source, "RUN") else 4


def keep(source: Path, cpus: int | None, output: str, number: int = 0) -> None:
    if "MEGALITH_KERNEL" in os.environ:
        return  # records are for the ordinary kernel
    FOLDER.mkdir(parents=True, exist_ok=True)
    notes = sorted({found.group() for found in NOTE.finditer(output)})
    record_of(source, cpus, number).write_text("\n".join(notes) + "\n")


def is_fresh(record: Path) -> bool:
    built = max(path.stat().st_mtime for path in BUILT)
    return record.is_file() and record.stat().st_mtime >= built


def run_program(source: Path, cpus: int | None, number: int = 0):
    """Runs a test program as its source requests (the number-th of its runs), and keeps its
    notes."""
    done = run_guest(
        f"/tests/{source.stem}",
        *marked(source, "ARGS"),
        smp=cpus,
        options=runs(source)[number],
        timeout=float((marked(source, "SECONDS") or ["60"])[0]),
        kernel="".join(marked(source, "KERNEL")),
    )
    keep(source, cpus, done.output.decode(errors="replace"), number)
    return done


def collect() -> tuple[dict[Pair, set[str]], dict[Pair, set[str]]]:
    """The programs to which a service returned a value, and those of them that expected just that
    value. Programs without a valid record are run."""
    returned: dict[Pair, set[str]] = {}
    checked: dict[Pair, set[str]] = {}
    for source in programs():
        names_of_runs = re.compile(rf"{source.stem}-(own)?\d*")
        records = [path for path in FOLDER.glob("*") if names_of_runs.fullmatch(path.name)]
        records = list(filter(is_fresh, records))
        if not records:
            run_program(source, first_cpus(source))
            records = [record_of(source, first_cpus(source))]
        for record in records:
            for what, service, value in NOTE.findall(record.read_text()):
                into = returned if what == "returns" else checked
                pair = (service, names().get(value, value))
                into.setdefault(pair, set()).add(source.stem)
    return returned, checked

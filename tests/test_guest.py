"""Test programs that run in the guest and print TAP: userland/tests/*.c with a line `// TAP`.

Each runs on 1, 2 and 4 CPUs. Other lines of the source change that: `// RUN: OPTIONS` gives options
to scripts/run (with --smp among them, only that number of CPUs is used; a second line with --smp
begins a second run), `// ARGS: WORDS` arguments to the program, `// SECONDS: N` the time limit, `//
KERNEL: test` the kernel built with TEST=1.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lib.conditions import run_program
from lib.tap import check_tap
from megalith.run.marks import marked, runs
from megalith.run.paths import TOP


def cases() -> list:
    found = []
    for source in sorted((TOP / "userland/tests").glob("*.c")):
        if not re.search(r"^// TAP\b", source.read_text(), re.MULTILINE):
            continue
        if "--smp" not in marked(source, "RUN"):
            found += [pytest.param(source, n, 0, id=f"{source.stem}-{n}") for n in (1, 2, 4)]
            continue
        for number, _ in enumerate(runs(source)):
            found.append(pytest.param(source, None, number, id=f"{source.stem}-own{number or ''}"))
    return found


@pytest.mark.parametrize(("source", "cpus", "number"), cases())
def test_guest(source: Path, cpus: int | None, number: int) -> None:
    done = run_program(source, cpus, number)
    if done.status in (124, 125):
        done.expect(0)
    check_tap(done.output.decode(errors="replace"))
    done.expect(0)

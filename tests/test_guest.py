"""Test programs that run in the guest and speak TAP: userland/tests/*.c with a line `// TAP`.

Each runs on 1, 2 and 4 CPUs. More lines of the source choose otherwise: `// RUN: OPTIONS` gives
options to scripts/run (with --smp among them, only that number of CPUs is tried), `// ARGS: WORDS`
arguments to the program, `// SECONDS: N` the limit.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conditions import run_program
from conftest import TOP, check_tap, marked


def cases() -> list:
    found = []
    for source in sorted((TOP / "userland/tests").glob("*.c")):
        if not re.search(r"^// TAP\b", source.read_text(), re.MULTILINE):
            continue
        cpus = [None] if "--smp" in marked(source, "RUN") else [1, 2, 4]
        found += [pytest.param(source, n, id=f"{source.stem}-{n or 'own'}") for n in cpus]
    return found


@pytest.mark.parametrize(("source", "cpus"), cases())
def test_guest(source: Path, cpus: int | None) -> None:
    done = run_program(source, cpus)
    if done.status in (124, 125):
        done.expect(0)
    check_tap(done.output.decode(errors="replace"))
    done.expect(0)

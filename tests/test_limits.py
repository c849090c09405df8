"""The list of tests with time limits (lib/limits.py) is complete, as far as can be told."""

from __future__ import annotations

import re

from lib.limits import OTHERS, PROGRAMS
from megalith.run.paths import TOP

SOURCES = TOP / "userland/tests"


def test_listed_programs_and_files_exist() -> None:
    assert [p for p in PROGRAMS if not (SOURCES / f"{p}.c").exists()] == []
    for pattern in OTHERS:
        file, _, name = pattern.replace("\\", "").partition("::")
        assert f"def {name}" in (TOP / "tests" / file).read_text()


def test_programs_that_time_themselves_are_listed() -> None:
    timed = {p.stem for p in SOURCES.glob("*.c") if "<elapsed.h>" in p.read_text()}
    assert timed and timed <= set(PROGRAMS)


def test_programs_with_bounds_on_holds_are_listed() -> None:
    text = re.compile(r"longest_ns\s*(<|>)")
    bounded = {p.stem for p in SOURCES.glob("*.c") if text.search(p.read_text())}
    assert bounded and bounded <= set(PROGRAMS)

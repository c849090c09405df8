"""The order of the tests, and which worker runs them.

Long tests come first, and a worker that has less than two tests left gets the next: so all workers
end at about the same time. Tests of a file whose fixtures serve the whole file stay together, since
each worker would make these fixtures for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from megalith.run.paths import TOP
from xdist.scheduler import LoadScopeScheduling

# The tests that take longest, and those that share what takes long, the longest first.
LONG = (
    "test_loads.py",  # takes what the others leave
    "test_planted.py::test_a_bug_of_each",
    "test_walk.py::test_random_walk",
    "test_bench.py",
    "test_races.py::test_programs",
    "test_walk.py::test_soak",
    "test_leaks.py::test_a_leak_is_found[thread]",  # the kernel waits 20 s for the thread's end
    "test_ubsan.py::test_programs",
    "test_guest.py::test_guest[killed-own",
    "test_allocation_failure.py",
    "test_schedules.py::test_sweep",
    "test_replay.py",
    "test_build.py",
    "test_sections.py::test_27_gib",
    "test_model.py",
    "test_holds.py",
    "test_sda.py",
    "test_memmap.py",
    "test_saved.py",
    "test_run.py",
    "test_growth.py",
    "test_shell.py",
    "test_guest.py::test_guest[hostile",
    "test_guest.py::test_guest[dead_sessions",
    "test_guest.py::test_guest[disclosure",
    "test_mutation.py",
    "test_conformance.py",
)
# Then those whose records others read; and last those that read the records.
RECORDED = "test_guest.py"
LAST = "test_condition_matrix.py"


def place(item: pytest.Item) -> int:
    name = f"{item.path.name}::{item.name}"
    if name.startswith(LAST):
        return len(LONG) + 2
    rest = len(LONG) + (not name.startswith(RECORDED))
    return next((n for n, start in enumerate(LONG) if name.startswith(start)), rest)


@cache
def kept_together(file: str) -> bool:
    """Has it a fixture for all of its tests, or for all tests?"""
    path = TOP / file
    return path.is_file() and 'pytest.fixture(scope="' in path.read_text()


class Scheduling(LoadScopeScheduling):
    """Units of work in the order of the tests: one test, or those of a file that stay together."""

    def __init__(self, config: pytest.Config, log: Callable[..., None]) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if kept_together(file) else nodeid

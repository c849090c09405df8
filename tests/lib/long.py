"""Which tests `make test` leaves to `make test-all`.

`make test` has ten minutes on two CPUs. What is left out mostly says more of the same: the same
program on fewer CPUs, a disk's other formats, sizes; or it looks at the checks themselves, by
planting what they must find, at tools for study, or waits for the clock of the host. Left out
altogether are the models, mutation, UBSan, coverage, the analyzer and the explorer.
"""

from __future__ import annotations

import re

import pytest

REASONS = {
    "A program of the guest is run on four CPUs, not on one and two as well.": (
        r"test_guest\.py::test_guest\[\w+-[12]\]",
        r"test_guest\.py::test_guest\[(killed|killed_mappings|killed_crowds|process_limit)-own\]",
        r"test_guest\.py::test_guest\[(lock_crowd-own|killed-own1|fair-own1?)\]",
        r"test_(conformance|ext4|ext4_write|large_memory|locks)\.py::.*[-\[][12]\]",
        r"test_(model|run|sections|tb_run|tracing)\.py::.*[-\[][12]\]",
        r"test_paging\.py::test_calls\[[12]-",
    ),
    "Checks that must find what is planted.": (
        r"test_planted\.py::test_(a_bug|a_copy|each_named)",
        r"test_leaks\.py::test_a_leak_is_found\[(?!page\])",
        r"test_models\.py::",
        r"test_mutation\.py::",
        r"test_fuzz\.py::test_planted_bug",
        r"test_crash\.py::test_(crash\[(?!--panic.*4\])|breach_of_lock_rules\[(?!spin_rank\]))",
        r"test_crashes\.py::test_reports",
        r"test_ubsan\.py::",
        r"test_races\.py::test_programs",
        r"test_planted\.py::test_a_check_that",
    ),
    "The same with other formats, sizes and loads.": (
        r"test_ext4_write\.py::test_((tree|steps)\[(?!default)|many_stores)",
        r"test_disks\.py::test_load\[[12]",
        r"test_share\.py::test_folder\[4",
        r"test_walk\.py::test_(soak_in|random_walk_repeats|random_walk_in)",
        r"test_paging\.py::test_(shared|load\[4|one)",
        r"test_sections\.py::test_(27_gib|level_2_pages.*1000)",
    ),
    "They wait, for a slow disk or a host that stands still.": (
        r"test_disks\.py::test_(fast_io|qio|aio)_(slow|silent)",
        r"test_system_disk\.py::test_disk_that_does",
        r"test_watchdog\.py::test_a_host",
        r"test_entropy\.py::test_bytes_are",
        r"test_terminal\.py::test_(nothing_is_lost|a_full)",
    ),
    "Tools for measuring and studying, pages of documentation.": (
        r"test_processes\.py::test_interrupts",
        r"test_tracing\.py::test_(samples|monitor_|contention|pc_samples|displays|bad_commands)",
        r"test_tb_run\.py::test_(the_guest_reads|what_is_announced)",
        r"test_(tb|tbmap|explore|saved|coverage)\.py::",
        r"test_memmap\.py::test_every_page",
        r"test_monitor\.py::test_(any_size|keys_choose|figures_of|processes)",
        r"test_replay\.py::(?!test_replay_is_the)",
        r"test_sda\.py::",
        r"test_sessions\.py::test_sessions\[(?!README|tour)",
        r"test_sessions\.py::test_commands\[(explore|memmap)",
    ),
}


# What is long because of what it is given: a quick run of `make bench`, a copy of the tree.
LONG_FIXTURES = {"test_bench.py": "quick", "test_build.py": "copy"}


def short(items: list[pytest.Item]) -> list[pytest.Item]:
    """Those of all tests that are not long. A pattern that fits no test is an error."""
    patterns = [pattern for patterns in REASONS.values() for pattern in patterns]
    unused = set(patterns)
    kept = []
    for item in items:
        name = f"{item.path.name}::{item.name}"
        fitting = [pattern for pattern in patterns if re.match(pattern, name)]
        unused.difference_update(fitting)
        given = LONG_FIXTURES.get(item.path.name) in getattr(item, "fixturenames", ())
        if not fitting and not given:
            kept.append(item)
    if unused:
        raise pytest.UsageError(f"tests/lib/long.py: no test is called {', '.join(unused)}")
    return kept

"""The tests that fail when something takes too long: `make test-limits` runs them beside a busy
host. Their limits count instructions, ticks of the guest or its virtual time, or are ratios within
one run, so nothing else that the host does may make one fail.

A guest program with <elapsed.h>, or another that compares a time with a limit, belongs here
(tests/test_limits.py).
"""

from __future__ import annotations

import re

import pytest

# Programs of userland/tests, and what they limit.
PROGRAMS = {
    "dead_sessions": "the time of processes whose numbers are used again",
    "fair": "shares of the CPUs, and rates beside processes that compute",
    "information": "CPU time that a process says it has used",
    "killed": "from SIGKILL to the end, in many calls",
    "killed_crowds": "the same in calls that concern a crowd; holds of mutexes",
    "killed_mappings": "the same beside many mappings",
    "killed_searches": "the same in searches",
    "killed_write": "the same in a write",
    "list_cost": "listing processes, files and names",
    "lock_crowd": "holds of the mutexes of file locks",
    "meter": "holds of known length",
    "object_walks": "holds of walks through mappings",
    "output": "writing beside busy processes",
    "polling": "when a wait with a time limit ends",
    "reservation_names": "finding a reservation by name",
    "rundown_cost": "the end of a process, for each page",
    "sched": "when sleepers run",
    "share": "how long others wait for a folder that is shared",
    "timers": "the time that expiring timers take from others",
    "trace_cost": "what a trace costs that is off",
    "vms_timers": "when timers expire",
}

# Other tests.
OTHERS = (
    r"test_growth\.py::",
    r"test_holds\.py::test_holds_are_short_when",
    r"test_large_memory\.py::",
    r"test_logical_names\.py::",
    r"test_replay\.py::",
    r"test_reserved_memory\.py::",
    r"test_run\.py::",
    r"test_siege\.py::test_two_users",
    r"test_watchdog\.py::",
)


def limited(item: pytest.Item) -> bool:
    name = f"{item.path.name}::{item.name}"
    program = re.match(r"test_guest\.py::test_guest\[(\w+)-", name)
    if program:
        return program[1] in PROGRAMS
    return any(re.match(pattern, name) for pattern in OTHERS)

"""What a person sees when the kernel crashes: status 125, the reason, and who called whom."""

from __future__ import annotations

import re

import pytest
from conftest import run_guest

# How, and what the console must say then: a word of the reason, a function of the backtrace.
WAYS = [
    ("--panic", "deliberate panic", "deliberate_panic"),
    ("--stack", "stack", "deeper"),
    ("--spin", "deliberately lost", "spin_too_long"),
    ("--hang", "CPU", "hang_with_interrupts_off"),
    ("--unaligned", "unaligned", "unaligned_access"),
    ("--null", "0000000000000000", "null_reference"),
]

# Breaches of the rules of locks, which every build checks. One number of CPUs is enough: the checks
# look at the own CPU only.
BREACHES = [
    ("--rank", "spinlock low (rank 20) taken with high (rank 44", "take_locks_in_falling_rank"),
    ("--ipl", "spinlock low (IPL 2) taken at IPL 5", "take_lock_above_its_ipl"),
    ("--release", "spinlock low released by CPU", "release_lock_of_nobody"),
    ("--sleep", "waits with spinlock low held", "sleep_with_lock_held"),
    ("--mutex", "mutex the earlier one (rank 10) taken with the later", "take_mutexes_in_falling"),
]


@pytest.mark.parametrize("cpus", [1, 4])
@pytest.mark.parametrize(("way", "reason", "function"), WAYS)
def test_crash(way: str, reason: str, function: str, cpus: int) -> None:
    if way == "--hang" and cpus == 1:
        pytest.skip("a single CPU with its interrupts off has nobody to notice")
    done = run_guest("/tests/crash_kernel", way, smp=cpus, timeout=100).expect(125)
    assert reason in done.console
    assert re.search(rf"\b{function}\b", done.console)
    # The way in from the program is in the backtrace too.
    assert re.search(r"\binfo_crash\b", done.console)
    assert done.output == b""
    if way == "--spin":
        assert re.search(r"held by CPU \d \(thread crash_kernel\), which took it at", done.console)


@pytest.mark.parametrize(("way", "reason", "function"), BREACHES)
def test_breach_of_lock_rules(way: str, reason: str, function: str) -> None:
    done = run_guest("/tests/crash_kernel", way, smp=2, timeout=100).expect(125)
    assert reason in done.console
    assert function in done.console

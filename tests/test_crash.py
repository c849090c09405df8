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

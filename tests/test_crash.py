"""What a user sees when the kernel crashes: status 125, the reason, and backtraces."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from lib.guest import Done, run_guest
from megalith.run.paths import TOP

# The way to crash, and the expected console output: part of the reason, function of the backtrace.
WAYS = [
    ("--panic", "deliberate panic", "deliberate_panic"),
    ("--stack", "stack", "deeper"),
    ("--spin", "deliberately lost", "spin_too_long"),
    ("--hang", "has given no sign of life", "hang_with_interrupts_off"),
    ("--deaf", "has taken no clock interrupt", "hang_without_clock"),
    ("--unaligned", "unaligned", "unaligned_access"),
    ("--null", "0000000000000000", "null_reference"),
]

# Violations of the lock rules, which every build checks: by name, the message of the panic. Each
# message names the place of the violation (its own function, or the one given) and the place where
# the conflicting lock was taken, or the IPL raised.
BREACHES = {
    "spin_rank": (r"spinlock low \(IPL 2\) taken at {f} .* which is that of high", "hold_high"),
    "spin_rank_at_same_ipl": (r"lower \(rank 40\) taken at {f} .* high \(rank 44\)", "hold_high"),
    "spin_same_rank": (r"spinlock low too \(rank 20\) taken at {f} .* low \(rank 20", "hold_low"),
    "spin_twice": (r"spinlock nests taken twice by .* at {f}, and at", "hold_nests"),
    "spin_above_its_ipl": (r"spinlock low \(IPL 2\) taken at {f} .* at IPL 4", "hold_ipl"),
    "spin_below_its_ipl": (r"spinlock high \(IPL 5\) taken at {f} .* at IPL 0", ""),
    "spin_at_ipl_above": (r"spinlock low \(IPL 2\) taken at {f} .* at IPL 4", "hold_ipl"),
    "spin_release_unheld": (r"spinlock low released at {f} .* nobody holds it", ""),
    "spin_release_foreign": (
        r"spinlock low released at {f} .*held by thread \d+ \(breach\) on CPU \d, which took",
        "hold_low_for_ever",
    ),
    "spin_release_order": (r"IPL lowered to 0 at {f} .* spinlock high \(IPL 5", "hold_high"),
    "ipl_lowered": (r"IPL lowered to 0 at {f} .* spinlock high \(IPL 5\) held", "hold_high"),
    "wait_with_spinlock": (r"waits at thread_sleep_until\+\S+ with spinlock low", "hold_low"),
    "wait_at_ipl": (r"waits at thread_sleep_until\+\S+ at IPL 4", "hold_ipl"),
    "yield_with_spinlock": (r"yields at {f} with spinlock low held", "hold_low"),
    "fault_with_spinlock": (r"write at 0x40: .* pc {f}.* with spinlock low held", "hold_low"),
    "fault_at_ipl": (r"write at 0x40: .* pc {f}, IPL 4", "hold_ipl"),
    "end_with_spinlock": (r"ends at {f} with spinlock low held", "hold_low"),
    "end_with_mutex": (r"ends at {f} with mutex the later one held", "hold_second"),
    "handler_keeps_spinlock": (r"interrupt handler .* with spinlock high held", "hold_in_handler"),
    "handler_takes_mutex": (
        r"mutex the later one taken at mutex_of_handler\+\S+ .* at IPL 5",
        "trap_interrupt",
    ),
    "mutex_rank": (r"the earlier one \(rank 7\) taken at {f} .* \(rank 14\)", "hold_second"),
    "mutex_rank_shared": (r"the earlier one .* taken at {f} .* later one", "hold_second_shared"),
    "mutex_same_rank": (r"another later one \(rank 14\) taken at {f} .* later", "hold_second"),
    "mutex_twice": (r"the later one taken twice by .* at {f}, and at", "hold_second"),
    "mutex_reader_then_writer": (r"later one taken twice by .* at {f},", "hold_second_shared"),
    "mutex_with_spinlock": (r"the earlier one taken at {f} .* spinlock low held", "hold_low"),
    "mutex_try_with_spinlock": (r"earlier one taken at {f} .* spinlock low held", "hold_low"),
    "mutex_at_ipl": (r"mutex the earlier one taken at {f} .* at IPL 4, raised", "hold_ipl"),
    "mutex_too_many": (r"taken at {f} by .*, which holds 8 already", "mutex_too_many"),
    "mutex_release_unheld": (r"the earlier one released at {f} .* does not hold it", ""),
    "mutex_release_foreign": (
        r"the earlier one released at {f} .*held by thread \d+ \(breach\), which took it",
        "hold_first_for_ever",
    ),
    "mutex_release_as_reader": (r"released at {f} by .* as its reader", "hold_second"),
    "mutex_release_as_writer": (r"released at {f} by .* as its writer", "hold_second_shared"),
    "user_with_mutex": (r"is in user mode with mutex the earlier one", "user_with_mutex"),
}


def on_test_kernel(*arguments: str, **how) -> Done:
    return run_guest("/tests/crash_kernel", *arguments, kernel="test", **how)


def test_ordinary_kernel_panics_when_asked() -> None:
    """As the README says; the ordinary kernel does none of the other things here."""
    options = ["--kernel", str(TOP / "build/megalith.elf")]  # also where --kernel names another
    done = run_guest("/tests/crash_kernel", options=options).expect(125)
    assert "PANIC: a deliberate panic, asked for by a program" in done.console
    for words in (["--null"], ["--breach", "spin_rank"], ["--leak", "page"]):
        done = run_guest("/tests/crash_kernel", *words, options=options).expect(2)
        assert "needs a kernel built with TEST=1" in done.console


@pytest.mark.parametrize("cpus", [1, 4])
@pytest.mark.parametrize(("way", "reason", "function"), WAYS)
def test_crash(way: str, reason: str, function: str, cpus: int) -> None:
    if way in ("--hang", "--deaf") and cpus == 1:
        pytest.skip("a single CPU with its interrupts off has nobody to notice")
    done = on_test_kernel(way, smp=cpus, timeout=100).expect(125)
    assert reason in done.console
    assert re.search(rf"\b{function}\b", done.console)
    # The backtrace includes the path from the program into the kernel.
    assert re.search(r"\b(info|test)_crash\b", done.console)
    assert done.output == b""
    if way == "--spin":
        assert re.search(r"held by CPU \d \(thread crash_kernel\), which took it at", done.console)


def test_breaches_have_their_tests() -> None:
    """The violations that the kernel can commit are those expected below, and "legal", which breaks
    no rule."""
    done = on_test_kernel("--list-breach", smp=1).expect(0)
    assert done.text.split() == ["legal", *BREACHES]
    on_test_kernel("--breach", "legal", smp=2).expect(0)


@pytest.mark.parametrize("breach", BREACHES)
def test_breach_of_lock_rules(breach: str, record_property: Callable[..., None]) -> None:
    record_property("plants", ("locks", "kinds of breach", len(BREACHES)))
    reason, before = BREACHES[breach]
    done = on_test_kernel("--breach", breach, smp=2, timeout=100).expect(125)
    panic = re.search(r"^PANIC: (.*)$", done.console, re.MULTILINE)
    assert panic
    assert re.search(reason.format(f=rf"{breach}\+0x[0-9a-f]+"), panic[1])
    if before:  # where the conflicting lock was taken
        assert re.search(rf"(taken|took it|raised|,|and) at {before}\+0x[0-9a-f]+", panic[1])

"""Processes that tests start: none outlives its test, however test and tools end."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from megalith.run.ends import END_WITH_PARENT, end_with_parent

from lib import boots

LAST_RESORT = 600.0  # seconds, for what does not happen at all


def prepare(worker: bool) -> None:
    """For a process that runs tests. `worker`: it is one of pytest-xdist's, which must end with the
    process that distributes the tests."""
    os.environ[END_WITH_PARENT] = str(os.getpid())
    if worker:
        end_with_parent()
    # A job in the background of a script ignores SIGINT, and so would the programs that tests
    # interrupt. A signal with a handler has its default action again after exec.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda _signal, _frame: None)


def children(of: int) -> list[int]:
    """The children of a process that have not ended."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # the process has ended
        for thread in os.listdir(f"/proc/{of}/task"):
            with contextlib.suppress(OSError):  # the thread has ended
                found += map(int, Path(f"/proc/{of}/task/{thread}/children").read_text().split())
    return [pid for pid in found if runs(pid)]


def runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def descendants(of: int, without: frozenset[int] = frozenset()) -> set[int]:
    """All processes below `of`, except those of `without` and what is below them."""
    found, rest = set(), [of]
    while rest:
        below = [pid for pid in children(rest.pop()) if pid not in without]
        found.update(below)
        rest += below
    return found


def words_of(pid: int) -> str:
    """The command of a process. Linux has none for a moment in the middle of exec, and then the
    process that started it may be running again already."""
    path = Path(f"/proc/{pid}/cmdline")
    try:
        wait_for(lambda: not runs(pid) or path.read_bytes())
        return path.read_bytes().replace(b"\0", b" ").decode()[:200]
    except OSError:
        return "(ended)"


def wait_for(what: Callable[[], object]) -> bool:
    """Waits until something is so. False if it is not so for long: what the caller then reports is
    the defect, not that the host was busy."""
    end = time.monotonic() + LAST_RESORT
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def there() -> frozenset[int]:
    """What this process has running, apart from what starts machines for all of its tests."""
    return frozenset(descendants(os.getpid()) - boots.starters())


def end_left(before: frozenset[int]) -> None:
    """Kills what a test has left running, and fails it."""
    found = descendants(os.getpid(), before) - boots.starters()
    left = {pid: words_of(pid) for pid in found}
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if left:
        pytest.fail("left running: " + "; ".join(left.values()), pytrace=False)

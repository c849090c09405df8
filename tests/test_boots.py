"""Boots in a row at --smp 4: `make test-boots` (50 of them); `make test` does a few."""

from __future__ import annotations

import pytest


def boot(run, number: int) -> None:
    done = run("/bin/echo", f"boot {number}", smp=4, timeout=60)
    done.expect(0)
    assert done.output == f"boot {number}\n".encode()


@pytest.mark.parametrize("number", range(5))
def test_boot(run, number: int) -> None:
    boot(run, number)


@pytest.mark.boots
@pytest.mark.timeout(3600)
def test_fifty_boots(run) -> None:
    for number in range(50):
        boot(run, number)


def test_show_as_the_first_process(run) -> None:
    """`show` lists the process that runs it; a program that is the first process has no parent."""
    done = run("/bin/show", "process").expect(0)
    assert done.output.startswith(b"Process 1, show, parent 0,")
    done = run("/bin/sh", "-c", "show process; true").expect(0)
    assert done.output.startswith(b"Process 1, sh, parent 0,")

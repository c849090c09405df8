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

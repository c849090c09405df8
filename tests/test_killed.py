"""Victims of SIGKILL in every kind of call, many more than in `make test` (`make soak`).

test_guest.py runs userland/tests/killed.c with three victims for each call; here there are as many
as SOAK_SECONDS allows, with a seed of their own.
"""

from __future__ import annotations

import os

import pytest
from lib.guest import run_guest
from lib.tap import check_tap

SECONDS_PER_ROUND = 6  # one victim in each kind of call, on a slow host


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    ("smp", "reservation"),
    [
        (1, "KILLED_ALLOC 128 /ALLOCATE /NOZERO /PAGE_TABLES"),
        (2, "KILLED_BARE 128 /ALLOCATE /NOZERO /NOPAGE_TABLES"),
        (4, "KILLED_PROMISED 128 /NOALLOCATE"),
    ],
)
def test_killed_in_every_call(smp: int, reservation: str) -> None:
    seconds = int(os.environ.get("SOAK_SECONDS", "600"))
    rounds = max(seconds // SECONDS_PER_ROUND, 2)
    words = ("/tests/killed", str(rounds), os.environ.get("SOAK_SEED", "1"))
    options = ("--reserve", reservation, *(["--icount"] if smp == 1 else []))
    done = run_guest(*words, smp=smp, memory="1G", options=options, timeout=2 * seconds + 300)
    if done.status in (124, 125):
        done.expect(0)
    check_tap(done.output.decode(errors="replace"))
    done.expect(0)

"""Unprivileged users against everybody else (userland/tests/siege): briefly, and in `make soak`."""

from __future__ import annotations

import os

import pytest
from lib.guest import run_guest
from lib.tap import check_tap

PARAMETERS = ("--set", "GBLSECTIONS=2000", "--set", "GBLPAGFIL=65536")


def besiege(
    seconds: int, processes: int, seed: str, *options: str, smp: int, memory: str, users: int = 1
) -> None:
    words = ("/tests/siege", str(seconds), str(processes), seed, str(users))
    # A last resort: the program bounds itself by the ticks of its CPUs. A second of four busy CPUs
    # takes 4.1 s of CPU time of the host: by the clock, twice as long on two of its CPUs, so 21
    # minutes for 600 s, and eight times as long beside others (all measured but the 21 minutes).
    limit = 15 * seconds + 300
    done = run_guest(*words, smp=smp, memory=memory, options=(*PARAMETERS, *options), timeout=limit)
    if done.status in (124, 125):
        done.expect(0)
    # The longest answer to each command, and what was counted before and after.
    print(done.output.decode(errors="replace"))
    check_tap(done.output.decode(errors="replace"))
    done.expect(0)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_siege() -> None:
    seconds = int(os.environ.get("SOAK_SECONDS", "600"))
    besiege(seconds, 2000, os.environ.get("SOAK_SEED", "1"), smp=4, memory="2G")


def test_two_users() -> None:
    """Two hostile users beside each other, briefly, with few processes."""
    besiege(2, 40, "1", "--set", "USER_PROCESSES=100", smp=2, memory="256M", users=2)

"""ASTs, event flags, timers and signals under load (userland/tests/ast_load.c), for a minute, and
in `make soak` for SOAK_SECONDS; there also mailboxes (mailbox_load.c)."""

from __future__ import annotations

import os

import pytest
from lib.guest import run_guest
from lib.tap import check_tap

PROCESSES = 5  # of thirteen threads: 65 threads and processes


def load(seconds: int, *command: str, nice: int = 0) -> None:
    limit = 10 * seconds + 300  # a last resort: four busy CPUs on two of the host's, beside others
    done = run_guest(
        *command, smp=4, memory="512M", options=["--validate"], timeout=limit, nice=nice
    )
    if done.status in (124, 125):
        done.expect(0)
    print(done.output.decode(errors="replace"))
    check_tap(done.output.decode(errors="replace"))
    done.expect(0)


def soak_seconds() -> int:
    return int(os.environ.get("SOAK_SECONDS", "600"))


@pytest.mark.timeout(1000)
def test_asts_for_a_minute() -> None:
    load(60, "/tests/ast_load", "60", str(PROCESSES), nice=10)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_asts() -> None:
    load(soak_seconds(), "/tests/ast_load", str(soak_seconds()), str(PROCESSES))


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_mailboxes() -> None:
    load(soak_seconds(), "/tests/mailbox_load", str(soak_seconds()))

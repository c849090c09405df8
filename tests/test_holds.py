"""No spinlock is held, and no interrupt level kept raised, for a time that users can make grow.

`/tests/holds` makes things numerous (processes, mappings, pages, names, timers, descriptors ...)
and prints, for each place that takes a spinlock or raises the IPL, the longest time meanwhile. On
one CPU under --icount these are instructions, and the same in every run. `make test` grows a
little, `make soak` up to the limits; the bound is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from lib.guest import Done

BOUND = 2000  # instructions, locks nested inside included, interrupts met meanwhile not


@dataclass(frozen=True)
class Hold:
    growth: str
    kind: str
    name: str
    instructions: int
    place: str

    def __str__(self) -> str:
        return f"{self.growth}: {self.kind} {self.name}: {self.instructions} from {self.place}"


def holds_of(text: str) -> list[Hold]:
    lines = [line.split("\t") for line in text.splitlines()]
    return [Hold(g, kind, name, int(ns), place) for g, kind, name, ns, place in lines]


def too_long(holds: list[Hold]) -> list[str]:
    return [str(h) for h in holds if h.instructions > BOUND]


def check(done: Done) -> None:
    holds = holds_of(done.expect(0).text)
    assert {h.kind for h in holds} == {"spinlock", "IPL"} and len(holds) > 100
    assert not too_long(holds), "\n".join(too_long(holds))


GROWTHS = ["groups", "killed", "session", "zombies", "waiters", "futex", "timers", "threads"]
GROWTHS += ["mappings", "pages", "generations", "truncated", "sharers", "file", "hog", "sections"]
GROWTHS += ["sparse", "stretches"]
GROWTHS += ["fluid", "page-file section", "regions", "directory", "logical names", "descriptors"]
GROWTHS += ["pipes", "output", "displays"]
GROWTHS += ["event timers", "event ASTs", "event flags", "event wakes", "mailboxes"]

# As many as a process may ever have.
PARAMETERS = ["--set", "PQL_DTQELM=256", "--set", "PQL_DASTLM=32767"]


QUICK = [growth for growth in GROWTHS if growth != "sections"]


def test_holds_are_short_when_things_are_many(run: Callable[..., Done]) -> None:
    words = ["-n", "400", *QUICK]
    check(
        run(
            "/tests/holds",
            *words,
            smp=1,
            memory="2G",
            options=["--icount", *PARAMETERS],
            timeout=200,
        )
    )


@pytest.mark.soak
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("growth", GROWTHS)
def test_holds_are_short_at_the_limits(run: Callable[..., Done], growth: str) -> None:
    done = run("/tests/holds", "-n", "10000", growth, smp=1, memory="6G",
               options=["--icount", *PARAMETERS], timeout=2400)  # fmt: skip
    holds = holds_of(done.expect(0).text)
    assert {h.growth for h in holds} == {growth}
    assert not too_long(holds), "\n".join(too_long(holds))

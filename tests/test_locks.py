"""show spinlock and show mutex: what they count, and who may switch counting on and off."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from lib.guest import Done
from megalith.run.paths import TOP

NOTHING = "Nothing was measured yet: SHOW {} /START begins.\n"


def lines_of(text: str) -> dict[str, list[str]]:
    """The words after each name of a display."""
    found = re.findall(r"^(\S.{18}\S| *\S.{0,18}\S +)\s+(\d+ .*)$", text, re.MULTILINE)
    names = [name.strip() for name, _ in found]
    assert len(names) == len(set(names)), names
    return {name.strip(): rest.split() for name, rest in found}


def test_each_spinlock_has_a_name_of_its_own(run: Callable[..., Done]) -> None:
    """A serial line's lock and its wait queue had the same name, seen when input had arrived."""
    script = "show spinlock /start; cat > /dev/null; show spinlock"
    text = run("/bin/sh", "-c", script, stdin=b"input\n" * 20000).expect(0).text
    assert {"com2", "serial input"} <= set(lines_of(text))


@pytest.mark.parametrize("smp", [1, 4])
def test_locks_are_counted_between_start_and_stop(run: Callable[..., Done], smp: int) -> None:
    script = (  # wide, so that a place is in the line of its lock
        "export COLUMNS=120; show spinlock; show mutex; show spinlock /start; ls /bin;"
        "show spinlock /stop;"
        "echo ----; show spinlock; echo ----; ls /bin; show mutex; echo ----; show mutex"
    )
    text = run("/bin/sh", "-c", script, smp=smp).expect(0).text
    assert text.startswith(NOTHING.format("SPINLOCK") + NOTHING.format("MUTEX"))
    _, spinlocks, mutexes, again = text.split("----\n")
    spin = lines_of(spinlocks)
    rank, ipl, acquisitions, spins, average, longest, place = spin["process table"]
    assert (rank, ipl) == ("10", "2")
    assert int(acquisitions) >= 6  # two forks, two ends, two waits
    assert int(spins) == 0 or smp > 1
    assert 0 < float(average) <= int(longest)
    assert re.fullmatch(r"[a-z_]\w*(\.\w+)*\+0x[0-9a-f]+", place)
    assert spin["run queue"][0] == "56"
    ranks = [int(words[0]) for words in spin.values()]
    assert ranks == sorted(ranks)
    mutex = lines_of(mutexes[mutexes.index("Mutex ") :])
    assert int(mutex["directory"][1]) > 0 and mutex["directory"][0] == "17"  # ls reads names
    assert lines_of(again) == mutex  # counting has stopped


def test_a_new_start_forgets(run: Callable[..., Done]) -> None:
    script = "show mutex /start; ls /bin; ls /bin; show mutex /start; show mutex /stop; show mutex"
    text = run("/bin/sh", "-c", script, smp=1).expect(0).text
    mutex = lines_of(text[text.index("Mutex ") :])
    # The end of one `show` and the start of the next: far fewer than the hundred names of `ls`.
    assert int(mutex["directory"][1]) < 12


def test_an_interrupt_may_meet_any_lock_of_a_lower_ipl() -> None:
    """Its locks must have higher ranks than all those that may be held when it comes. Each lock has
    the IPL that the table of ranks states."""
    table = (TOP / "kernel/sched/rank.h").read_text()
    ranks = {
        name: (int(rank), ipl)
        for name, rank, ipl in re.findall(r"(RANK_\w+) = (\d+),.*(IPL_\w+) \*/", table)
    }
    order = ["IPL_ASTDEL", "IPL_DEVICE", "IPL_CLOCK"]
    levels = [order.index(ipl) for _, ipl in sorted(ranks.values())]
    assert len(ranks) == table.count("    RANK_") and levels == sorted(levels)
    used = [
        pair
        for folder in ("kernel", "mm")
        for source in (TOP / folder).rglob("*.[ch]")
        if "kernel/test/" not in str(source)
        for pair in re.findall(r"\b(RANK_\w+),\s+(IPL_\w+)", source.read_text())
    ]
    assert len(used) >= len(ranks) and [p for p in used if ranks[p[0]][1] != p[1]] == []

"""The model of the translation buffers: scripts/megalith/tb/model.c and an independent
implementation agree on every reference of random traces."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest
from lib import tb_reference
from megalith.tb import programs

QUICK, LONG = 30_000, 10_000_000
CHIPS = tuple(tb_reference.CHIPS)


def replay(
    trace: Path, chip: str, hint: int, asns: int, table: str
) -> tuple[bytes, dict[str, int]]:
    """What each record did, and the counts, by the C model."""
    outcomes = trace.with_name("outcomes")
    on = ("off", "on")
    words = [str(programs.replay()), chip, f"hint={hint}", f"asn={on[asns]}", f"vhpt={table}"]
    with open(trace, "rb") as source:
        done = subprocess.run(
            [*words, f"outcomes={outcomes}"], stdin=source, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    lines = (line.split() for line in done.stdout.splitlines())
    return outcomes.read_bytes(), {name: int(value) for name, value in lines}


def compare(
    folder: Path,
    count: int,
    seed: int,
    chips: Iterable[str] = CHIPS,
    hints: Iterable[int] = (3, 0),
    table: str = "0",
    asns: Iterable[int] = (1, 0),
) -> None:
    records = tb_reference.random_trace(count, seed)
    trace = folder / "trace"
    trace.write_bytes(b"MGTBTRC1" + records.astype("<u8").tobytes())
    seen = set()
    for chip, hint, asn in product(chips, hints, asns):
        got, counts = replay(trace, chip, hint, asn, table)
        want = tb_reference.outcomes(records, chip, hint, bool(asn), table)
        wrong = next((n for n in range(count) if got[n] != want[n]), None) if got != want else None
        assert wrong is None, (
            f"{chip}, hint {hint}, asns {asn}, seed {seed}: record {wrong} is "
            f"{records[wrong].tolist()}, the model says {got[wrong]}, the other {want[wrong]}"
        )
        missed = sum(1 for did in want if did & tb_reference.MISS)
        assert counts["fetch_misses"] + counts["data_misses"] == missed
        seen |= set(want)
    wanted = {0, 1, 3, 5, 7} | ({17} if table != "0" else set()) | ({33} if "c" in table else set())
    assert seen == wanted, "the trace has every kind of outcome"


def test_two_implementations_agree_on_every_reference(tmp_path: Path) -> None:
    compare(tmp_path, QUICK, seed=17)


@pytest.mark.soak
def test_they_agree_on_ten_million_references(tmp_path: Path) -> None:
    compare(tmp_path, LONG, seed=170)


@pytest.mark.soak
@pytest.mark.parametrize("table", ("32", "2048", "512s", "512c"))
def test_they_agree_on_ten_million_beside_a_hashed_page_table(tmp_path: Path, table: str) -> None:
    compare(tmp_path, LONG, 171, ["21264"], (3,), table, (1,))


def test_smaller_hints_agree_too(tmp_path: Path) -> None:
    for hint in (1, 2):
        compare(tmp_path, QUICK, 18, ["21264"], (hint,))


@pytest.mark.parametrize("table", ("32", "2048", "32s", "32c", "2048c", "64sc"))
def test_they_agree_with_a_hashed_page_table(tmp_path: Path, table: str) -> None:
    compare(tmp_path, QUICK, 19, ["21264"], (3, 0), table)


def test_a_hashed_page_table_that_hashes_otherwise_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tb_reference.Hashed, "place", lambda self, page, asn: page % self.size)
    with pytest.raises(AssertionError, match="the model says"):
        compare(tmp_path, QUICK, 19, ["21264"], (0,), "32")


def test_they_disagree_when_one_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A buffer of another size, another order of replacement, one bit less of the address space
    number: each is noticed."""
    for wrong in ((47, 0, 64, 7, True), (48, 0, 63, 7, True), (48, 0, 64, 6, True)):
        monkeypatch.setitem(tb_reference.CHIPS, "21164", wrong)
        with pytest.raises(AssertionError, match="the model says"):
            compare(tmp_path, QUICK, 17, ["21164"])
    monkeypatch.setitem(tb_reference.CHIPS, "21164", (48, 0, 64, 7, False))
    with pytest.raises(AssertionError, match="the model says"):
        compare(tmp_path, QUICK, 17, ["21164"])


def test_a_damaged_trace_is_refused(tmp_path: Path) -> None:
    words = [str(programs.replay()), "21264", "hint=3", "asn=on", "vhpt=0"]
    done = subprocess.run(words, input=b"MGTBTRC0", capture_output=True)
    assert done.returncode == 1 and b"no trace" in done.stderr
    done = subprocess.run(words, input=b"MGTBTRC1" + bytes([15] * 16), capture_output=True)
    assert done.returncode == 1 and b"unknown" in done.stderr
    assert subprocess.run([words[0], "21364", *words[2:]], capture_output=True).returncode == 2

"""The figures of docs/translation-buffer.md in their quick form: where the knee stands, and what a
hashed page table finds, what shared page tables save."""

from __future__ import annotations

import pytest
from megalith.bench import hashed, heaps, jobs, kinds, sharing, sizing, translation
from megalith.tb import plan


def test_the_knee_stands_where_the_entries_map_everything() -> None:
    rows = translation.execute(translation.QUICK_SIZES, translation.QUICK_READS)
    assert [b.what for b in translation.bounds(rows) if not b.kept] == []


def test_a_hashed_page_table_finds_what_the_buffer_misses() -> None:
    rows = hashed.execute(hashed.QUICK_NUMBERS)
    assert [b.what for b in hashed.bounds(rows) if not b.kept] == []
    off, default = rows[:2]
    assert off["found"] == 0 < default["found"]
    assert default["least"] < off["least"], "a look is cheaper than PALcode"


def test_programs_like_the_papers_run_beside_every_size() -> None:
    """The control has a table that is too small and one that is large enough."""
    rows = sizing.run("query", quick=True) + sizing.run("array", quick=True)
    of = sizing.pick(rows, "array")
    assert sizing.left(of[1]) > 0.9 and sizing.left(of[2048]) < 0.05
    assert all(r["instructions"] > 0 and r["found"] <= r["misses"] for r in rows)
    assert sizing.candidates(of[1]) == (64, 128)
    of = sizing.pick(rows, "query")
    assert sizing.left(of[2048]) < sizing.left(of[1])


def test_shared_page_tables_save_double_misses() -> None:
    rows = sharing.execute(sharing.QUICK_MIB, sharing.QUICK_PROCESSES)
    assert [b.what for b in sharing.bounds(rows) if not b.kept] == []


def test_servers_of_one_database_miss_less_with_hints() -> None:
    rows = sharing.execute_servers(sharing.QUICK_CUSTOMERS, sharing.QUICK_QUERIES)
    for chip in plan.CHIPS:
        for shared in (True, False):
            hints, none = (sharing.pick(rows, chip, on, shared) for on in (True, False))
            assert 0 < hints["section_misses"] < none["section_misses"] / 10


@pytest.fixture
def users_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """The image with BusyBox, whose programs are run."""
    monkeypatch.delenv("MEGALITH_INITRD", raising=False)


@pytest.mark.usefixtures("users_image")
def test_jobs_on_two_cpus_find_what_they_need_in_a_large_table() -> None:
    rows = jobs.execute(jobs.QUICK_NUMBERS, 1, lambda _text: None)
    assert [b.what for b in jobs.bounds(rows) if not b.kept] == []
    assert all(r["misses"] > r["found"] for r in rows)


@pytest.mark.usefixtures("users_image")
def test_every_miss_of_a_program_has_a_kind() -> None:
    rows = kinds.run("sort", kinds.QUICK_WORK)
    assert [b.what for b in kinds.bounds(rows) if not b.kept] == []
    assert all(r["misses"] and len(r["kinds"]) > 3 for r in rows)
    on_stacks = kinds.run_stacks("sort", kinds.QUICK_WORK)
    assert 0 < on_stacks["stacks"] < on_stacks["private"]


@pytest.mark.usefixtures("users_image")
def test_huge_pages_save_misses_of_a_heap() -> None:
    """The C library takes them without the program's knowledge. (SQLite and Lua: scripts/bench.)"""
    rows = heaps.run("sort", "huge pages", quick=True)
    assert [b.what for b in heaps.bounds(rows) if not b.kept] == []
    with_hints, without = (
        heaps.pick(rows, "sort", "huge pages", "21064", hints)["data"] for hints in (True, False)
    )
    assert with_hints < without

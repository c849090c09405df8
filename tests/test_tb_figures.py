"""The figures of docs/translation-buffer.md in their quick form: where the knee stands, and what a
hashed page table finds, what shared page tables save."""

from __future__ import annotations

from megalith.bench import hashed, sharing, translation


def test_the_knee_stands_where_the_entries_map_everything() -> None:
    rows = translation.execute(translation.QUICK_SIZES, translation.QUICK_READS)
    assert [b.what for b in translation.bounds(rows) if not b.kept] == []


def test_a_hashed_page_table_finds_what_the_buffer_misses() -> None:
    rows = hashed.execute(hashed.QUICK_NUMBERS)
    assert [b.what for b in hashed.bounds(rows) if not b.kept] == []
    off, default = rows[:2]
    assert off["found"] == 0 < default["found"]
    assert default["least"] < off["least"], "a look is cheaper than PALcode"


def test_shared_page_tables_save_double_misses() -> None:
    rows = sharing.execute(sharing.QUICK_MIB, sharing.QUICK_PROCESSES)
    assert [b.what for b in sharing.bounds(rows) if not b.kept] == []

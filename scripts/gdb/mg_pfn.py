"""The PFN database, read a page at a time, for commands that scan all of it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from mg_base import PAGE_SIZE, enumerators, members, read, structure, variable


class Entry(NamedTuple):
    """struct page; for a page table, offset is its number of PTEs."""

    flink: int
    charge: int
    owner: int
    refcnt: int
    share: int
    state: int
    type: int
    flags: int
    maker: int
    offset: int


WORDS = {1: "B", 2: "H", 4: "I", 8: "Q"}


def layout() -> struct.Struct:
    """The format that unpacks the bytes of a struct page into an Entry."""
    kind = structure("page")
    form, end = "<", 0
    for at, size in sorted(members(kind)[name] for name in Entry._fields):
        form += f"{at - end}x{WORDS[size]}"
        end = at + size
    return struct.Struct(f"{form}{kind.sizeof - end}x")


def enum_values(kind: str, prefix: str) -> dict[str, int]:
    """{"free": 0, ...} of enum page_state."""
    return {name.lower(): value for name, value in enumerators(kind, prefix).items()}


class PfnDatabase:
    """A cache of the database for the duration of one command."""

    def __init__(self) -> None:
        self.layout = layout()
        self.base = int(variable("page_db"))
        self.end = int(variable("page_end"))
        self.per_chunk = PAGE_SIZE // self.layout.size // 4
        chunks = -(-self.end // self.per_chunk)
        bitmap = read(int(variable("chunk_bitmap", "mm/phys/page_range.c")), -(-chunks // 64) * 8)
        bits = int.from_bytes(bitmap, "little")
        self.chunks = [c for c in range(chunks) if bits >> c & 1] if bits else []
        self._known = set(self.chunks)
        self._entries: dict[int, list[Entry]] = {}
        self.states = enum_values("page_state", "PAGE_")
        self.types = enum_values("page_type", "PAGE_T_")
        self.state_names = {v: k for k, v in self.states.items()}
        self.type_names = {v: k for k, v in self.types.items()}

    def get(self, pfn: int) -> Entry | None:
        """The entry of a page; None if there is none or it is not initialised."""
        chunk = pfn // self.per_chunk
        if not 0 <= pfn < self.end or chunk not in self._known:
            return None
        if chunk not in self._entries:
            nbytes = self.per_chunk * self.layout.size
            raw = read(self.base + chunk * nbytes, nbytes)
            self._entries[chunk] = [Entry(*fields) for fields in self.layout.iter_unpack(raw)]
        return self._entries[chunk][pfn % self.per_chunk]

    def __iter__(self) -> Iterator[tuple[int, Entry]]:
        """All initialised entries with their PFNs."""
        for chunk in self.chunks:
            for i in range(self.per_chunk):
                pfn = chunk * self.per_chunk + i
                if pfn < self.end:
                    entry = self.get(pfn)
                    assert entry is not None
                    yield pfn, entry

    def describe(self, entry: Entry) -> str:
        state = self.state_names.get(entry.state, f"state {entry.state}")
        kind = self.type_names.get(entry.type, f"type {entry.type}")
        return f"{state}, {kind}, owner {entry.owner:#x}"

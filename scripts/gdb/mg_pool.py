"""Pools: areas with their boundary bits, the variable list, lookaside lists."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import gdb
from mg_base import (
    KSEG,
    PAGE_SHIFT,
    PAGE_SIZE,
    Command,
    Table,
    constant,
    heading,
    offset_of,
    read,
    read_quad,
    span,
    symbol_at,
    va_text,
    value_at,
    variable,
)
from mg_pfn import PfnDatabase

GRAIN = constant("POOL_GRAIN")
PAGED_BASE = constant("LAYOUT_PAGED_POOL_BASE")
PACKETS_MAX = 10_000_000
LIST_FIELDS = ("head", "pops", "misses", "reclaimed")


def read_present(address: int, length: int) -> bytes:
    """Memory; pages that were never touched read as zero."""
    out = b""
    while length > 0:
        n = min(length, PAGE_SIZE - address % PAGE_SIZE)
        try:
            out += read(address, n)
        except gdb.MemoryError:
            out += bytes(n)
        address, length = address + n, length - n
    return out


@dataclass
class Area:
    """struct pool_area: a block starts where a bit is set; the last bit marks the end."""

    base: int
    size: int
    starts: int

    def boundaries(self) -> list[int]:
        """Start addresses of all blocks, and the end of the area, ascending."""
        nbits = self.size // GRAIN + 1
        raw = read_present(self.starts, -(-nbits // 64) * 8)
        found = []
        for word, value in enumerate(struct.unpack(f"<{len(raw) // 8}Q", raw)):
            while value:
                low = value & -value
                bit = word * 64 + low.bit_length() - 1
                if bit < nbits:
                    found.append(self.base + bit * GRAIN)
                value ^= low
        return found


class PoolList(NamedTuple):
    """struct pool_list."""

    head: int
    pops: int
    misses: int
    reclaimed: int


class Pool:
    """One of the two pools."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.paged = name == "paged"
        file = f"mm/pool/pool_{name}.c"
        self.file = file
        lists = variable("lists", file)
        stride = lists.type.target().sizeof
        places = [offset_of(lists.type.target(), f) // 8 for f in LIST_FIELDS]
        raw = read(int(lists.address), lists.type.sizeof)
        words = [struct.unpack_from(f"<{stride // 8}Q", raw, i) for i in range(0, len(raw), stride)]
        self.lists = [PoolList(*(word[place] for place in places)) for word in words]
        self.version_bits = constant("VERSION_BITS", file)
        self.origin = PAGED_BASE if self.paged else KSEG
        self.nlists = len(self.lists)
        self._areas: list[Area] | None = None

    def packet_size(self, index: int) -> int:
        """Size in bytes of the packets of a list."""
        return index * GRAIN if self.paged else (index + 1) * GRAIN

    def areas(self, database: PfnDatabase | None = None) -> list[Area]:
        if self._areas is None:
            if self.paged:
                heads = [int(variable("area", "mm/pool/pool_paged.c").address)]
            else:
                heads = segments(database or PfnDatabase())
            values = [value_at(head, "pool_area") for head in heads]
            self._areas = [Area(*(int(v[f]) for f in ("base", "size", "starts"))) for v in values]
        return self._areas

    def variable_lists(self) -> Iterator[gdb.Value]:
        """The variable list of paged pool, or those of all segments."""
        if self.paged:
            yield variable("var", self.file)
            return
        segment = variable("segments", self.file)
        while segment:
            yield segment["var"]
            segment = segment["next"]

    def counts(self) -> tuple[int, int, int]:
        """Bytes of all areas; bytes and blocks on the variable lists."""
        lists = list(self.variable_lists())
        total, nbytes, blocks = (
            sum(int(v[f]) for v in lists) for f in ("total", "bytes", "blocks")
        )
        return total, nbytes, blocks

    def free_blocks(self) -> Iterator[tuple[int, int]]:
        """(address, bytes) along the variable lists."""
        for var in self.variable_lists():
            at = int(var["first"])
            for _ in range(PACKETS_MAX):
                if not at:
                    break
                following, size = struct.unpack("<QQ", read(at, 16))
                yield at, size
                at = following
            if at:
                raise gdb.GdbError(f"the variable list of {self.name} pool does not end")

    def packets(self, index: int) -> Iterator[int]:
        """Addresses of the packets on a lookaside list. Raises gdb.MemoryError if the chain leaves
        memory."""
        link = self.lists[index].head >> self.version_bits
        for _ in range(PACKETS_MAX):
            if not link:
                return
            at = self.origin + link * GRAIN
            yield at
            link = read_quad(at)
        raise gdb.GdbError(f"a lookaside list of {self.name} pool does not end")

    def counted(self, index: int) -> int:
        """Number of packets on a list, computed from its counters: mm/pool/pool_lal.h,
        pool_list_count_at()."""
        one = self.lists[index]
        modulus = 1 << self.version_bits
        count = (one.head - 2 * one.pops) % modulus
        return count - modulus if count >= modulus // 2 else count

    def blocks(self) -> Iterator[tuple[int, int, str]]:
        """(address, bytes, "free", "lookaside" or "in use") of every block, by address."""
        free = {at for at, _ in self.free_blocks()}
        listed = {at for i in range(self.nlists) for at in self.packets(i)}
        for area in self.areas():
            bounds = area.boundaries()
            for at, following in zip(bounds, bounds[1:]):
                kind = "free" if at in free else "lookaside" if at in listed else "in use"
                yield at, following - at, kind


def segments(database: PfnDatabase) -> list[int]:
    """Headers of the segments of nonpaged pool; the entries of their pages refer to them."""
    system = database.types["system"]
    active = database.states["active"]
    heads = set()
    for pfn, entry in database:
        if entry.type == system and entry.state == active and entry.owner >= KSEG:
            if entry.owner >> PAGE_SHIFT == (KSEG >> PAGE_SHIFT) + pfn:
                heads.add(entry.owner)
    return sorted(heads)


class ShowPool(Command):
    """sda show pool [FIRST:LAST | FIRST;BYTES] [/NONPAGED | /PAGED] [/FREE] [/LOOKASIDE] [/ALL]
    [/SUMMARY]: the pools.

    Without a qualifier: sizes, the variable list, and the lookaside lists that had requests. /FREE
    shows the blocks of the variable list, /LOOKASIDE packets of each list, /SUMMARY the blocks in
    use by size, /ALL or a range every block with its first quadword.
    """

    name = "show pool"
    qualifiers = {
        "nonpaged": False,
        "paged": False,
        "free": False,
        "lookaside": False,
        "all": False,
        "summary": False,
    }

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        names = [n for n in ("nonpaged", "paged") if n in qualifiers] or ["nonpaged", "paged"]
        wanted = span(words)
        for name in names:
            pool = Pool(name)
            if wanted or "all" in qualifiers:
                self.blocks(pool, wanted)
            elif "free" in qualifiers:
                self.free(pool)
            elif "lookaside" in qualifiers:
                self.lookaside(pool)
            elif "summary" in qualifiers:
                self.by_size(pool)
            else:
                self.overview(pool)

    def overview(self, pool: Pool) -> None:
        total, nbytes, blocks = pool.counts()
        heading(f"{pool.name.capitalize()} pool")
        print(f"Total {total} bytes; variable list {nbytes} bytes in {blocks} blocks")
        table = Table(
            ("Size", 6),
            ("Packets", 8),
            ("Requests", 10),
            ("Hits", 10),
            ("Hit %", 6),
            ("Reclaimed", 9),
        )
        for index in range(pool.nlists):
            one = pool.lists[index]
            hits = one.pops - one.reclaimed
            requests = hits + one.misses
            if requests or one.reclaimed:
                table.row(
                    pool.packet_size(index),
                    pool.counted(index),
                    requests,
                    hits,
                    f"{100 * hits / requests:.1f}" if requests else "-",
                    one.reclaimed,
                )

    def free(self, pool: Pool) -> None:
        heading(f"Variable list of {pool.name} pool")
        table = Table(("Address", -17), ("Bytes", 12), ("Next", -17))
        blocks = list(pool.free_blocks())
        for (at, size), following in zip(blocks, [*blocks[1:], (0, 0)]):
            table.row(va_text(at), size, va_text(following[0]))
        print(f"{len(blocks)} blocks, {sum(size for _, size in blocks)} bytes")

    def lookaside(self, pool: Pool) -> None:
        heading(f"Lookaside lists of {pool.name} pool")
        table = Table(("Size", 6), ("Packets", 8), ("First", -17), ("Second", -17), ("Third", -17))
        for index in range(pool.nlists):
            packets = list(pool.packets(index))
            if packets:
                table.row(pool.packet_size(index), len(packets), *(va_text(p) for p in packets[:3]))

    def by_size(self, pool: Pool) -> None:
        sizes: dict[int, int] = {}
        totals = {"free": [0, 0], "lookaside": [0, 0], "in use": [0, 0]}
        for _, size, kind in pool.blocks():
            totals[kind][0] += 1
            totals[kind][1] += size
            if kind == "in use":
                sizes[size] = sizes.get(size, 0) + 1
        heading(f"Blocks of {pool.name} pool in use, by size")
        table = Table(("Size", 8), ("Blocks", 8), ("Bytes", 12))
        for size in sorted(sizes):
            table.row(size, sizes[size], size * sizes[size])
        for kind, (count, size) in totals.items():
            print(f"{kind:<10} {count:>8} blocks {size:>12} bytes")

    def blocks(self, pool: Pool, wanted: tuple[int, int] | None) -> None:
        rows = [b for b in pool.blocks() if not wanted or wanted[0] < b[0] + b[1]]
        rows = [b for b in rows if not wanted or b[0] <= wanted[1]]
        if wanted and not rows:
            return
        heading(f"Blocks of {pool.name} pool")
        table = Table(("Address", -17), ("Bytes", 10), ("State", -9), ("First quadword", -40))
        for at, size, kind in rows:
            first = struct.unpack("<Q", read_present(at, 8))[0]
            table.row(va_text(at), size, kind, f"{va_text(first)}  {symbol_at(first)}".rstrip())
        print(f"{len(rows)} blocks")


def register() -> None:
    ShowPool()

"""sda validate pool: blocks, free list, lookaside lists and marks of both pools."""

from __future__ import annotations

import struct

import gdb
from mg_base import MASK, PAGE_SIZE, constant, read, variable
from mg_context import threads
from mg_pool import GRAIN, Area, Pool, read_present
from mg_validate import Checker

HEAD = constant("POOL_HEAD")
CHECK_FREE = constant("POOL_CHECK_FREE")
MARK_OTHER = constant("MARK_OTHER", "mm/pool/pool_paged.c")


class ValidatePool(Checker):
    """sda validate pool [/NONPAGED | /PAGED]: are the pools consistent?

    The blocks of each area must cover it from base to end without a gap. The free list must be in
    ascending order, consist of blocks with the right sizes, have no two adjacent blocks that are
    not merged, and agree with its counters. The packets of each lookaside list must be blocks of
    the list's size, be sealed, be on no other list, and agree with its counters, except for one
    packet for each thread that was stopped during an operation. In paged pool the marks must agree:
    the size for a block in use, 0 for a free one. With POOLCHECK on, free blocks must still contain
    the pattern.
    """

    name = "validate pool"
    qualifiers = {"nonpaged": False, "paged": False}

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if words:
            raise self.usage()
        for name in [n for n in ("nonpaged", "paged") if n in qualifiers] or ["nonpaged", "paged"]:
            self.begin()
            self.pool = Pool(name)
            self.in_motion = sum(1 for _ in threads())
            self.check()

    def check(self) -> None:
        pool = self.pool
        areas = pool.areas()
        self.expect(bool(areas), f"{pool.name}: there is no area")
        total = sum(area.size for area in areas)
        self.expect(
            total == pool.counts()[0],
            f"{total} bytes in areas, counted as {pool.counts()[0]}",
        )
        self.ends: dict[int, int] = {}  # of each block, by its start
        for area in areas:
            self.chain(area)
        free = self.free_list(areas)
        listed = self.lookaside(free)
        in_use = self.ends.keys() - free.keys() - listed.keys()
        if pool.paged:
            self.marks(free, listed, in_use)
        self.patterns(free, listed)
        self.finish(
            f"{pool.name} pool: {len(areas)} areas, {len(self.ends)} blocks, {len(free)} free, "
            f"{len(listed)} on lookaside lists, {len(in_use)} in use"
        )

    def chain(self, area: Area) -> None:
        bounds = area.boundaries()
        if not bounds or bounds[0] != area.base or bounds[-1] != area.base + area.size:
            self.complain(f"area {area.base:#x}: its blocks do not reach from base to end")
        for at, following in zip(bounds, bounds[1:]):
            self.ends[at] = following

    def free_list(self, areas: list[Area]) -> dict[int, int]:
        """Free blocks: bytes by address."""
        found: dict[int, int] = {}
        for var in self.pool.variable_lists():
            self.free_chain(int(var["first"]), found)
        _, nbytes, blocks = self.pool.counts()
        counted = blocks, nbytes
        real = len(found), sum(found.values())
        self.expect(
            counted == real,
            f"{real[0]} free blocks of {real[1]} bytes, counted as {counted[0]} of {counted[1]}",
        )
        return found

    def free_chain(self, at: int, found: dict[int, int]) -> None:
        """Check the free blocks from `at` on, and add them to `found`."""
        before = end = 0
        while at:
            if at % GRAIN or at not in self.ends:
                self.complain(f"free block {at:#x}, linked from {before:#x}: no block starts there")
                break
            following, size = struct.unpack("<QQ", read(at, 16))
            self.expect(at > before, f"free block {at:#x} follows {before:#x}: the list descends")
            self.expect(
                self.ends[at] == at + size,
                f"free block {at:#x} says {size} bytes, the block has {self.ends[at] - at}",
            )
            self.expect(at != end, f"free block {at:#x} is not merged with {before:#x}")
            if at in found:
                self.complain(f"the free list turns back to {at:#x}")
                break
            found[at] = size
            at, before, end = following, at, at + size

    def lookaside(self, free: dict[int, int]) -> dict[int, int]:
        """Packets on lists: bytes by address."""
        pool = self.pool
        found: dict[int, int] = {}
        check = int(variable("pool_check"))
        for index in range(pool.nlists):
            size, count = pool.packet_size(index), 0
            try:
                for at in pool.packets(index):
                    name = f"packet {at:#x} on the list of {size} bytes"
                    if not self.expect(at in self.ends, f"{name}: no block starts there"):
                        break
                    self.expect(
                        self.ends[at] == at + size,
                        f"{name}: the block has {self.ends[at] - at} bytes",
                    )
                    self.expect(at not in free, f"{name} is on the free list too")
                    if not self.expect(at not in found, f"{name} is on a lookaside list already"):
                        break
                    found[at] = size
                    count += 1
                    seal = struct.unpack("<Q", read(at + 8, 8))[0]
                    right = ~at & MASK ^ (1 if pool.paged and check else 0)
                    self.expect(seal == right, f"{name} was written to: seal {seal:#x}")
            except gdb.MemoryError as error:
                self.complain(f"list of {size} bytes: {error}")
            self.expect(
                abs(pool.counted(index) - count) <= self.in_motion,
                f"list of {size} bytes has {count} packets, counted as {pool.counted(index)}",
            )
        return found

    def marks(self, free, listed, in_use) -> None:
        """The owner of a block changes its mark; a block that is being allocated or freed at this
        moment may have either value."""
        marks = int(variable("marks", "mm/pool/pool_paged.c"))
        origin = self.pool.origin
        pages: dict[int, bytes] = {}

        def mark_of(at: int) -> int:
            address = marks + (at - origin) // GRAIN
            page = address & ~(PAGE_SIZE - 1)
            if page not in pages:
                pages[page] = read_present(page, PAGE_SIZE)
            return pages[page][address - page]

        between = 0
        for at in in_use:
            size, mark = self.ends[at] - at, mark_of(at)
            if mark == 0:
                between += 1
            elif mark not in (size // GRAIN, MARK_OTHER):
                self.complain(f"block {at:#x} of {size} bytes is marked as {mark * GRAIN}")
        for at in [*free, *listed]:
            self.expect(mark_of(at) == 0, f"block {at:#x} is free, its mark says {mark_of(at)}")
        self.expect(
            between <= self.in_motion, f"{between} blocks are neither free nor marked as in use"
        )

    def patterns(self, free: dict[int, int], listed: dict[int, int]) -> None:
        check = int(variable("pool_check"))
        if not check & CHECK_FREE:
            return
        pattern = check >> 16 & 0xFF
        high = MASK
        if self.pool.paged:
            high = int(variable("high_water", "mm/pool/pool_paged.c"))
        for at, size in [*free.items(), *listed.items()]:
            end = min(at + size, high)
            body = read_present(at + HEAD, max(end - at - HEAD, 0))
            if body.count(pattern) != len(body):
                place = next(i for i, byte in enumerate(body) if byte != pattern)
                self.complain(
                    f"free block {at:#x} of {size} bytes was written to at byte "
                    f"{HEAD + place}: {body[place]:#x}"
                )


def register() -> None:
    ValidatePool()

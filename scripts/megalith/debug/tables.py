"""The page tables of all processes, each page once and as ranges of alike entries, for
scripts/explore.

A level-3 page of a section that is populated with contiguous memory is one range, and consecutive
pages of such tables are one group, so that the tables of 256 GiB take some lines. What is read and
kept is bounded (`Limits`), and what was left out is counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy

from megalith.debug.layouts import Kernel
from megalith.debug.saved import PAGE_SIZE, PFN_SHIFT, PTE_VALID, PTES, NotMapped

LOW = (1 << PFN_SHIFT) - 1
NEXT_PAGE = numpy.uint64(1 << PFN_SHIFT)  # what a PTE of the next page has more

# A range of entries: how many, then bits 31:0 and 63:32 of the first; the latter grow by the last
# number with each entry. Empty entries have the number alone.
Range = tuple[int, ...]


@dataclass(frozen=True)
class Limits:
    tables: int = 60_000  # pages of page tables that are read
    ranges: int = 250_000  # of all tables together


@dataclass
class Group:
    """Page tables on consecutive pages. If there are several, all have the one range, in each
    1,024 pages further."""

    pfn: int
    level: int
    users: int  # index into Tables.users
    ranges: list[Range] | None  # None: left out
    count: int = 1

    def follows(self, other: Group) -> bool:
        """Can it be counted to the group before it?"""
        if other.pfn + other.count != self.pfn or (other.level, other.users) != (3, self.users):
            return False
        if not (self.level == 3 and self.ranges and other.ranges):
            return False
        if len(self.ranges) != 1 or len(other.ranges) != 1:
            return False
        mine, theirs = self.ranges[0], other.ranges[0]
        if len(mine) < 4 or len(theirs) < 4 or mine[0] != PTES:
            return False
        _, low, pfn, step = theirs
        return step == 1 and mine == (PTES, low, pfn + other.count * PTES, step)

    def plain(self) -> list:
        """For the page."""
        return [self.pfn, self.level, self.users, self.ranges, self.count]


@dataclass
class Tables:
    groups: list[Group]
    users: list[list[int]]  # numbers of processes, in the order of the roots
    left_out: int = 0  # tables whose contents are not here


def ranges_of(entries: numpy.ndarray) -> list[Range]:
    """The entries of a table as ranges, from the first to the last."""
    steps = numpy.diff(entries)
    edges = [*(numpy.flatnonzero(numpy.diff(steps)) + 1).tolist(), len(steps)]
    found: list[Range] = []
    at = 0
    for edge in edges:  # all steps from `at` to the edge are equal
        if at >= edge:
            continue
        step = steps[at]
        if step in (0, NEXT_PAGE):
            found.append(_range(edge + 1 - at, int(entries[at]), int(step == NEXT_PAGE)))
            at = edge + 1
        else:
            found += [_range(1, int(pte), 0) for pte in entries[at:edge]]
            at = edge
    found += [_range(1, int(pte), 0) for pte in entries[at:]]
    return _joined(found)


def _range(count: int, pte: int, step: int) -> Range:
    if pte == 0 and not step:
        return (count,)
    return (count, pte & LOW, pte >> PFN_SHIFT, step)


def _joined(ranges: list[Range]) -> list[Range]:
    """Without a single entry before a range that it begins, or after one that it continues."""
    out: list[Range] = []
    for one in ranges:
        if out and len(one) == len(out[-1]) == 1:
            out[-1] = (out[-1][0] + one[0],)
        elif out and len(one) == len(out[-1]) == 4 and _continues(out[-1], one):
            out[-1] = (out[-1][0] + one[0], *out[-1][1:3], max(out[-1][3], one[3]))
        else:
            out.append(one)
    return out


def _continues(before: Range, after: Range) -> bool:
    count, low, pfn, step = before
    if (count > 1 and not step) or (after[0] > 1 and not after[3]):
        return False
    return (after[1], after[2]) == (low, pfn + count)


@dataclass
class _Reader:
    kernel: Kernel
    limits: Limits
    tables: int = 0
    ranges: int = 0
    left_out: int = 0
    groups: list[Group] = field(default_factory=list)
    masks: dict[int, int] = field(default_factory=dict)  # users as a mask: their index

    def entries(self, pfn: int) -> numpy.ndarray | None:
        """The entries of a table; None where there is no such page, or too many were read."""
        if self.tables >= self.limits.tables:
            return None
        self.tables += 1
        try:
            raw = self.kernel.memory.read_physical(pfn * PAGE_SIZE, PAGE_SIZE)
        except NotMapped:
            return None
        return numpy.frombuffer(raw, "<u8")

    def add(self, pfn: int, level: int, mask: int, entries: numpy.ndarray | None) -> None:
        ranges = ranges_of(entries) if entries is not None else None
        users = self.masks.setdefault(mask, len(self.masks))
        group = Group(pfn, level, users, ranges)
        if self.groups and group.follows(self.groups[-1]):
            self.groups[-1].count += 1
            return
        if ranges is not None:
            self.ranges += len(ranges)
            if self.ranges > self.limits.ranges:
                self.ranges -= len(ranges)
                group.ranges = None
        self.left_out += group.ranges is None
        self.groups.append(group)


def collect(kernel: Kernel, roots: Iterable[int], limits: Limits) -> Tables:
    """All page tables below the level-1 pages `roots` (PFNs), each once. The entry that maps a
    level-1 page to itself is not followed."""
    reader = _Reader(kernel, limits)
    own = kernel.constants["LAYOUT_L1_SELFMAP"]
    level: dict[int, int] = {}  # of the pages of the current level, by PFN: their users as a mask
    for number, root in enumerate(roots):
        level[root] = level.get(root, 0) | 1 << number
    for depth in (1, 2, 3):
        below: dict[int, int] = {}
        for pfn in sorted(level):
            entries = reader.entries(pfn)
            reader.add(pfn, depth, level[pfn], entries)
            if entries is None or depth == 3:
                continue
            valid = numpy.flatnonzero(entries & numpy.uint64(PTE_VALID))
            for index in valid.tolist():
                if depth == 2 or index != own:
                    table = int(entries[index]) >> PFN_SHIFT
                    below[table] = below.get(table, 0) | level[pfn]
        level = below
    users = [[n for n in range(mask.bit_length()) if mask >> n & 1] for mask in reader.masks]
    return Tables(reader.groups, users, reader.left_out)

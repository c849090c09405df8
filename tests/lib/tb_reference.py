"""Translation buffers of the Alpha chips once more, with dictionaries: the independent answer with
which scripts/megalith/tb/model.c is compared, miss for miss. It follows docs/translation-buffer.md,
and shares neither code nor tables with the C model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

MISS, DOUBLE, UNMAPPED, HASHED, CHAINED = 1, 2, 4, 16, 32
FETCH, DATA, SWITCH, PAGE, PROCESS, EVERYTHING = range(6)
EVERY_ASN = -1
HINT_BITS = (0, 3, 6, 9)
PAGES_OF_SPACE = 1 << 30
GOLDEN = 0x9E3779B97F4A7C15  # the golden ratio without its whole, times 2^64
# Page number of the page-table space, whose pages hold 1,024 PTEs each.
PTE_SPACE = 0xFFFFFFFE00000000 >> 13 & (PAGES_OF_SPACE - 1)

# Name: entries of the instruction buffer for one page or any block, for 4 MiB blocks only, entries
# of the data buffer, bits of the address space number (0: it keeps none), "not last used" (or else
# round robin).
CHIPS = {
    "21064": (8, 4, 32, 0, True),
    "21164": (48, 0, 64, 7, True),
    "21264": (128, 0, 128, 8, False),
}


@dataclass
class Buffer:
    size: int
    moves_on_use: bool
    pointer: int = 0
    slots: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # slot: hint, block, asn
    places: dict[tuple[int, int, int], int] = field(default_factory=dict)  # the inverse

    def look(self, page: int, asn: int) -> int | None:
        for hint, bits in enumerate(HINT_BITS):
            for number in (asn, EVERY_ASN):
                slot = self.places.get((hint, page >> bits, number))
                if slot is not None:
                    return slot
        return None

    def hit(self, page: int, asn: int) -> bool:
        slot = self.look(page, asn)
        if slot is None:
            return False
        if self.moves_on_use and slot == self.pointer:
            self.pointer = (self.pointer + 1) % self.size
        return True

    def remove(self, slot: int) -> None:
        entry = self.slots.pop(slot, None)
        if entry is not None:
            del self.places[entry]

    def write(self, page: int, asn: int, hint: int) -> None:
        bits = HINT_BITS[hint]
        if hint or asn == EVERY_ASN:
            inside = [
                slot
                for slot, (other, block, number) in self.slots.items()
                if (block << HINT_BITS[other]) >> max(bits, HINT_BITS[other])
                == page >> max(bits, HINT_BITS[other])
                and (EVERY_ASN in (asn, number) or asn == number)
            ]
            for slot in inside:
                self.remove(slot)
        self.remove(self.pointer)
        entry = (hint, page >> bits, asn)
        self.slots[self.pointer] = entry
        self.places[entry] = self.pointer
        self.pointer = (self.pointer + 1) % self.size

    def forget(self, page: int, asn: int) -> None:
        slot = self.look(page, asn)
        if slot is not None:
            self.remove(slot)

    def forget_process(self) -> None:
        for slot in [slot for slot, entry in self.slots.items() if entry[2] != EVERY_ASN]:
            self.remove(slot)

    def forget_all(self) -> None:
        self.slots.clear()
        self.places.clear()
        self.pointer = 0


class Hashed:
    """The hashed page table: place -> (page, number or EVERY_ASN, PTE). A flush empties it."""

    def __init__(self, text: str) -> None:
        self.size = int(text.rstrip("sc")) * 1024 // (8 if "s" in text else 32)
        self.table: dict[int, tuple[int, int, int]] = {}

    def find_chained(self, page: int, asn: int) -> int | None:
        return None

    def place(self, page: int, asn: int) -> int:
        if page >= PAGES_OF_SPACE // 2:
            return page % self.size
        turns = asn * GOLDEN % (1 << 64)  # in units of 2^-64; whole ones do not count
        return (page + turns * self.size // (1 << 64)) % self.size

    def find(self, page: int, asn: int) -> int | None:
        found = self.table.get(self.place(page, asn))
        return found[2] if found and found[0] == page and found[1] in (asn, EVERY_ASN) else None

    def put(self, page: int, asn: int, pte: int) -> None:
        every = pte & 2 and page >= PAGES_OF_SPACE // 2
        self.table[self.place(page, asn)] = (page, EVERY_ASN if every else asn, pte)

    def forget(self, page: int, asn: int) -> None:
        if self.find(page, asn) is not None:
            del self.table[self.place(page, asn)]

    def forget_process(self) -> None:
        self.table = {p: e for p, e in self.table.items() if e[1] == EVERY_ASN}

    def forget_all(self) -> None:
        self.table = {}


class Chained(Hashed):
    """Half of the memory are links, used in turn: link -> its place and what it holds (None:
    nothing that can be found), and by place the links of its chain, the newest first."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.size //= 2
        self.turn = 0
        self.links: dict[int, tuple[int, tuple[int, int, int] | None]] = {}
        self.chains: dict[int, list[int]] = {}

    def find_chained(self, page: int, asn: int) -> int | None:
        place = self.place(page, asn)
        for link in self.chains.get(place, []):
            held = self.links[link][1]
            if held and held[0] == page and held[1] in (asn, EVERY_ASN):
                self.links[link] = (place, self.table.get(place))
                self.table[place] = held
                return held[2]
        return None

    def put(self, page: int, asn: int, pte: int) -> None:
        place = self.place(page, asn)
        if place in self.table:
            link, self.turn = self.turn, (self.turn + 1) % self.size
            if link in self.links:
                self.chains[self.links[link][0]].remove(link)
            self.links[link] = (place, self.table[place])
            self.chains.setdefault(place, []).insert(0, link)
        super().put(page, asn, pte)

    def forget(self, page: int, asn: int) -> None:
        super().forget(page, asn)
        for link in self.chains.get(self.place(page, asn), []):
            held = self.links[link][1]
            if held and held[0] == page and held[1] in (asn, EVERY_ASN):
                self.links[link] = (self.links[link][0], None)

    def keep(self, kept: Callable[[tuple[int, int, int]], bool]) -> None:
        for link, (place, held) in self.links.items():
            self.links[link] = (place, held if held and kept(held) else None)

    def forget_process(self) -> None:
        super().forget_process()
        self.keep(lambda held: held[1] == EVERY_ASN)

    def forget_all(self) -> None:
        super().forget_all()
        self.keep(lambda held: False)


def hashed(text: str) -> Hashed | None:
    if text == "0":
        return None
    return Chained(text) if "c" in text else Hashed(text)


class Reference:
    """One CPU."""

    def __init__(self, chip: str, hint: int, asns: bool, table: str = "0") -> None:
        self.hashed = hashed(table)
        small, large, data, self.asn_bits, moves = CHIPS[chip]
        self.code = Buffer(small, moves)
        self.code_large = Buffer(large, moves) if large else None
        self.data = Buffer(data, moves)
        self.hint, self.asns = hint, asns
        self.asn = self.root = 0

    def buffers(self) -> Iterator[Buffer | Hashed]:
        if self.hashed:
            yield self.hashed
        yield self.code
        yield self.data
        if self.code_large:
            yield self.code_large

    def fill(self, buffer: Buffer, page: int, pte: int) -> None:
        hint = min(pte >> 2 & 3, self.hint)
        if buffer is self.code and self.code_large:
            if hint == 3:
                buffer = self.code_large
            else:
                hint = 0
        buffer.write(page, EVERY_ASN if pte & 2 else self.asn, hint)

    def refer(self, fetch: bool, page: int, pte: int, table: int) -> int:
        if fetch:
            if self.code.hit(page, self.asn):
                return 0
            if self.code_large and self.code_large.hit(page, self.asn):
                return 0
        elif self.data.hit(page, self.asn):
            return 0
        did = MISS
        found = self.hashed.find(page, self.asn) if self.hashed else None
        if found is not None:
            self.fill(self.code if fetch else self.data, page, found)
            return MISS | HASHED
        found = self.hashed.find_chained(page, self.asn) if self.hashed else None
        if found is not None:
            self.fill(self.code if fetch else self.data, page, found)
            return MISS | CHAINED
        place = (PTE_SPACE + (page >> 10)) % PAGES_OF_SPACE
        if not self.data.hit(place, self.asn):
            did |= DOUBLE
            if table & 1:
                self.fill(self.data, place, table)
        if not pte & 1:
            return did | UNMAPPED
        self.fill(self.code if fetch else self.data, page, pte)
        if self.hashed and min(pte >> 2 & 3, self.hint) == 0:
            self.hashed.put(page, self.asn, pte & ~12)
        return did

    def switch(self, root: int, asn: int) -> None:
        if self.asns and self.asn_bits:
            self.asn = asn % (1 << self.asn_bits)
        elif root != self.root:
            for buffer in self.buffers():
                buffer.forget_process()
        self.root = root

    def event(self, kind: int, page: int, low: int, high: int) -> int:
        if kind in (FETCH, DATA):
            return self.refer(kind == FETCH, page, low, high)
        if kind == SWITCH:
            self.switch(low, high)
        for buffer in self.buffers():
            if kind == PAGE:
                buffer.forget(page, self.asn)
            elif kind == PROCESS:
                buffer.forget_process()
            elif kind == EVERYTHING:
                buffer.forget_all()
        return 0


CHUNK = 1 << 18


def chunks(records: np.ndarray) -> Iterator[np.ndarray]:
    """Parts of a trace, because 10 million Python integers at once are more than a gigabyte."""
    return (records[at : at + CHUNK] for at in range(0, len(records), CHUNK))


def outcomes(records: np.ndarray, chip: str, hint: int, asns: bool, table: str = "0") -> bytes:
    """What each record of a trace does: two 64-bit words each, as trace.h describes them."""
    cpus: dict[int, Reference] = {}
    found = bytearray(len(records))
    for at, (what, says) in enumerate(word for part in chunks(records) for word in part.tolist()):
        cpu = what >> 4 & 15
        if cpu not in cpus:
            cpus[cpu] = Reference(chip, hint, asns, table)
        page = what >> 13 & (PAGES_OF_SPACE - 1)
        found[at] = cpus[cpu].event(what & 15, page, says & 0xFFFFFFFF, says >> 32)
    return bytes(found)


def random_trace(count: int, seed: int) -> np.ndarray:
    """References of four processes on two CPUs, with switches, invalidations, hints of all sizes,
    pages of all processes (ASM) and invalid ones. A PTE is a function of its root and of the page,
    so that the hints of a block agree until an invalidation changes the map of 512 pages."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(
        np.array([FETCH, DATA, SWITCH, PAGE, PROCESS, EVERYTHING], dtype=np.uint64),
        size=count,
        p=[0.3, 0.6895, 0.005, 0.005, 0.0003, 0.0002],
    )
    cpu = rng.integers(0, 2, count, dtype=np.uint64)
    # Some pages often, some seldom; some near page-table space itself.
    wide = rng.integers(0, 1 << 17, count, dtype=np.uint64)
    near = rng.integers(0, 96, count, dtype=np.uint64) * np.uint64(23)
    page = np.where(rng.random(count) < 0.7, near, wide)
    page = np.where(rng.random(count) < 0.01, np.uint64(PTE_SPACE) + page % np.uint64(64), page)
    version = np.cumsum(kinds == PAGE).astype(np.uint64) // np.uint64(64)
    root = np.zeros(count, dtype=np.uint64)
    new_root = rng.integers(1, 5, count, dtype=np.uint64)
    for c in (0, 1):
        mine = cpu == c
        at = np.where((kinds == SWITCH) & mine, np.arange(count), 0)
        last = np.maximum.accumulate(at)
        root = np.where(mine, new_root[last], root)

    def mixed(*parts: np.ndarray) -> np.ndarray:
        word = np.zeros(count, dtype=np.uint64)
        for part in parts:
            word = (word ^ part) * np.uint64(0x9E3779B97F4A7C15)
            word ^= word >> np.uint64(29)
        return word

    def pte(block: np.ndarray, pages: np.ndarray, salt: int) -> np.ndarray:
        of_all = mixed(block, np.full(count, salt, dtype=np.uint64)) % np.uint64(4) == 0
        whose = np.where(of_all, np.uint64(0), root)
        word = mixed(block, whose, version, np.full(count, salt + 1, dtype=np.uint64))
        hint = word % np.uint64(4)
        valid = (word >> np.uint64(8)) % np.uint64(16) != 0
        first = (word >> np.uint64(20)) % np.uint64(1 << 17) << np.uint64(9)
        pfn = first + pages % np.uint64(512)
        return pfn << np.uint64(4) | hint << np.uint64(2) | of_all << np.uint64(1) | valid

    table = page >> np.uint64(10)
    table_pte = pte(table >> np.uint64(9), table, 77)
    page_pte = pte(page >> np.uint64(9), page, 5)
    page_pte = np.where(table_pte % np.uint64(2) == 0, page_pte & ~np.uint64(1), page_pte)
    says = table_pte << np.uint64(32) | page_pte
    # Numbers with each bit that a chip keeps, of which some keep too few: then two are one.
    number = np.array([0, 1, 33, 65, 129], dtype=np.uint64)[new_root]
    says = np.where(kinds == SWITCH, number << np.uint64(32) | new_root, says)
    what = page << np.uint64(13) | cpu << np.uint64(4) | kinds
    return np.stack([what, says], axis=1)

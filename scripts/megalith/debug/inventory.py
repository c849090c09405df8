"""The data that scripts/memmap draws: physical memory as runs of pages of one kind, and an address
space as its mappings with the contents of their page tables. Read from a saved state, with the
structures of the kernel's debugging information; no offset is written here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy

from megalith.debug.layouts import Kernel
from megalith.debug.saved import LEVEL_SHIFTS, PAGE_SIZE, PFN_SHIFT, PTE_VALID, PTES, SavedError
from megalith.run.machine import KSEG

# The kind of a page, by enum page_state and enum page_type.
STATES = {
    "PAGE_FREE": "free",
    "PAGE_MODIFIED": "modified",
    "PAGE_BAD": "bad",
    "PAGE_ZEROED": "zeroed",
    "PAGE_CACHED": "cached",
    "PAGE_RESERVED": "reserved",
    "PAGE_TRANSITION": "transition",
    "PAGE_ACTIVE": "other",  # its type says more
    "PAGE_UNUSED": "kernel",  # and in no range: allocated at boot
}
TYPES = {
    "PAGE_T_UNKNOWN": "other",
    "PAGE_T_PROCESS": "process",
    "PAGE_T_OBJECT": "object",
    "PAGE_T_GLOBAL": "section",
    "PAGE_T_PT": "table",
    "PAGE_T_SHPT": "shared table",
    "PAGE_T_SYSTEM": "kernel",
    "PAGE_T_KSTACK": "stack",
}
# All kinds of pages, in the order of the legend.
KINDS = (
    *("kernel", "stack", "process", "object", "section", "table", "shared table", "other"),
    *("modified", "transition", "reserved", "free", "zeroed", "cached", "never used", "bad"),
    *("initrd", "hole"),
)
FREE = ("free", "zeroed", "cached", "never used")
MAP_BITS = (("MAP_R", "r"), ("MAP_W", "w"), ("MAP_X", "x"))


@dataclass(frozen=True)
class Run:
    first: int  # PFN
    npages: int
    kind: str

    @property
    def end(self) -> int:
        return self.first + self.npages


@dataclass(frozen=True)
class Reservation:
    name: str
    npages: int
    used: int
    table_pages: int
    stretches: tuple[tuple[int, int], ...]  # first PFN and pages; empty: promised only
    tables: tuple[tuple[int, int], ...]


@dataclass
class Physical:
    end: int  # first PFN above all memory
    runs: list[Run]
    domains: list[int]  # first PFN of each
    reservations: list[Reservation]

    def totals(self) -> dict[str, int]:
        """Pages by kind; holes have no pages, but a size."""
        total: Counter[str] = Counter()
        for run in self.runs:
            total[run.kind] += run.npages
        return {kind: total[kind] for kind in KINDS if total[kind]}


@dataclass
class Mapping:
    start: int
    end: int
    kind: str
    prot: str
    valid: int = 0
    hints: dict[int, int] = field(default_factory=dict)  # pages by granularity hint
    shared_tables: int = 0  # level-3 pages that belong to a section
    own_tables: int = 0
    shared_blocks: int = 0  # of 8 GiB: level-1 PTEs that lead to a section's level-2 page

    @property
    def npages(self) -> int:
        return (self.end - self.start) // PAGE_SIZE


@dataclass(frozen=True)
class Region:
    start: int
    end: int
    shared_tables: bool


@dataclass
class Space:
    pid: int
    name: str
    mappings: list[Mapping]
    regions: list[Region]


class Reader:
    """The kernel's structures by name, with the source file that defines or uses them."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def value(self, address: int, struct: str, file: str, member: str) -> int:
        offset, size = self.kernel.structure(struct, file).members[member]
        return int.from_bytes(self.kernel.read(address + offset, size), "little")

    def text(self, address: int, struct: str, file: str, member: str) -> str:
        offset, size = self.kernel.structure(struct, file).members[member]
        return self.kernel.read(address + offset, size).split(b"\0")[0].decode("latin-1")

    def global_(self, name: str, file: str) -> int:
        return self.kernel.quad(self.kernel.variable(name, file))

    def int32(self, name: str, file: str) -> int:
        return int.from_bytes(self.kernel.read(self.kernel.variable(name, file), 4), "little")

    def pairs(self, address: int, count: int) -> list[tuple[int, int]]:
        """`count` structures of two quadwords: a first PFN and a number of pages."""
        raw = numpy.frombuffer(self.kernel.read(address, 16 * count), "<u8").reshape(-1, 2)
        return [(int(first), int(npages)) for first, npages in raw]


# ---- physical memory ----

RANGE_C, RESERVED_C = "mm/phys/page_range.c", "mm/section/reserved.c"


def reservations(reader: Reader) -> list[Reservation]:
    kernel = reader.kernel
    link = kernel.structure("rmd", RESERVED_C).offset("link")
    found = []
    for rmd in kernel.follow(kernel.variable("rmds", RESERVED_C), link):

        def value(member: str, rmd: int = rmd) -> int:
            return reader.value(rmd, "rmd", RESERVED_C, member)

        stretches = reader.pairs(value("extents"), value("nextents")) if value("first") else []
        tables = [(value("pt_first"), value("npt_pages"))] if value("pt_first") else []
        found.append(
            Reservation(
                reader.text(rmd, "rmd", RESERVED_C, "name"),
                value("npages"),
                value("used"),
                value("npt_pages"),
                tuple(stretches),
                tuple(tables),
            )
        )
    return found


def _runs(first: int, codes: numpy.ndarray) -> list[Run]:
    """Run lengths of an array of indexes into KINDS."""
    edges = numpy.flatnonzero(numpy.diff(codes)) + 1
    starts = [0, *edges.tolist()]
    ends = [*edges.tolist(), len(codes)]
    return [Run(first + a, b - a, KINDS[codes[a]]) for a, b in zip(starts, ends)]


def _parts(stretches, used: int, kind: str) -> list[tuple[int, int, str]]:
    """Stretches of a reservation, divided into the first `used` pages, which are in use, and the
    rest."""
    out = []
    for first, npages in stretches:
        n = min(used, npages)
        used -= n
        out += [(first, first + n, kind), (first + n, first + npages, "reserved")]
    return [part for part in out if part[0] < part[1]]


def _codes(values: dict[str, int], kinds: dict[str, str]) -> numpy.ndarray:
    """Indexes into KINDS, by the value (one byte) of the enumeration."""
    codes = numpy.full(256, KINDS.index("other"))
    for name, value in values.items():
        codes[value] = KINDS.index(kinds[name])
    return codes


def physical(kernel: Kernel) -> Physical:
    """All of memory from PFN 0 to the end. Raises SavedError, NotMapped."""
    reader = Reader(kernel)
    end = reader.global_("page_end", RANGE_C)
    db = reader.global_("page_db", RANGE_C)
    entry = kernel.structure("page", RANGE_C)
    per_chunk = PAGE_SIZE // entry.size // 4
    nchunks = -(-end // per_chunk)
    bitmap = reader.global_("chunk_bitmap", RANGE_C)
    bits = numpy.unpackbits(
        numpy.frombuffer(kernel.read(bitmap, -(-nchunks // 64) * 8), "u1"), bitorder="little"
    )
    rads = kernel.variable("rads", RANGE_C)
    rad = kernel.structure("rad", RANGE_C)
    count = reader.int32("rad_count", "kernel/sched/sched.c")
    domains, unused = [], []
    for index in range(count):
        at = rads + index * rad.size
        domains.append(reader.value(at, "rad", RANGE_C, "first"))
        nranges = reader.value(at, "rad", RANGE_C, "nranges")
        unused += reader.pairs(at + rad.offset("ranges"), nranges)
    states = _codes(kernel.enumeration("page_state", RANGE_C), STATES)
    types = _codes(kernel.enumeration("page_type", RANGE_C), TYPES)
    page_active = kernel.enumeration("page_state", RANGE_C)["PAGE_ACTIVE"]

    def looked_at(first: int, last: int) -> list[Run]:
        """Pages that are in no range: described by their entries, or allocated at boot before there
        were entries."""
        out: list[Run] = []
        for chunk in range(first // per_chunk, -(-last // per_chunk)):
            a, b = max(first, chunk * per_chunk), min(last, (chunk + 1) * per_chunk)
            if not bits[chunk]:
                out += [Run(a, b - a, "kernel")]
                continue
            raw = kernel.read(db + a * entry.size, (b - a) * entry.size)
            table = numpy.frombuffer(raw, "u1").reshape(-1, entry.size)
            state, kind = table[:, entry.offset("state")], table[:, entry.offset("type")]
            out += _runs(a, numpy.where(state == page_active, types[kind], states[state]))
        return out

    held = reservations(reader)
    known = [(first, first + n, "never used") for first, n in unused]
    for one in held:
        known += _parts(one.stretches, one.used, "section")
        known += _parts(one.tables, one.table_pages if one.used else 0, "shared table")
    ram = reader.pairs(
        kernel.variable("boot_ranges", RANGE_C),
        reader.int32("nboot_ranges", RANGE_C),
    )
    # The initrd stays where the emulator has put it; its pages are not managed by the kernel.
    start, nbytes = (reader.global_(name, "kernel/main.c") for name in ("initrd", "initrd_bytes"))
    initrd = (start - KSEG) // PAGE_SIZE if nbytes else end
    runs: list[Run] = []
    at = 0
    for first, npages in sorted([*ram, (initrd, -(-nbytes // PAGE_SIZE))]):
        if first > at:
            runs.append(Run(at, first - at, "hole"))
        at = first
        if first == initrd:
            runs += [Run(first, npages, "initrd")] if npages else []
            at += npages
            continue
        for a, b, kind in sorted(known):
            if b <= at or a >= first + npages:
                continue
            if a > at:
                runs += looked_at(at, a)
            runs.append(Run(a, b - a, kind))
            at = b
        if at < first + npages:
            runs += looked_at(at, first + npages)
        at = first + npages
    if at < end:
        runs.append(Run(at, end - at, "hole"))
    return Physical(max(at, end), _merged(runs), domains, held)


def _merged(runs: list[Run]) -> list[Run]:
    out: list[Run] = []
    for run in runs:
        if run.npages <= 0:
            continue
        if out and out[-1].kind == run.kind and out[-1].end == run.first:
            out[-1] = Run(out[-1].first, out[-1].npages + run.npages, run.kind)
        else:
            out.append(run)
    return out


# ---- an address space ----

ASPACE_C, REGION_C, PROCESS_C = "mm/space/aspace.c", "mm/space/region.c", "kernel/proc/process.c"


def space(kernel: Kernel, pid: int) -> Space:
    """The address space of a process, with what its page tables contain. Raises SavedError if there
    is none."""
    reader = Reader(kernel)
    for address in kernel.process_addresses():
        if reader.value(address, "process", PROCESS_C, "pid") == pid:
            break
    else:
        raise SavedError(f"there is no process {pid}")
    found, root = space_at(kernel, address)
    if not root:
        raise SavedError(f"process {pid} has ended: it has no address space")
    for mapping in found.mappings:
        count_tables(kernel, root, mapping)
    return found


def space_at(kernel: Kernel, address: int) -> tuple[Space, int]:
    """The address space of the process structure at an address, without a look at page tables, and
    the PFN of its level-1 page: 0, and no mappings, when it has gone."""
    reader = Reader(kernel)
    pid = reader.value(address, "process", PROCESS_C, "pid")
    name = reader.text(address, "process", PROCESS_C, "name")
    aspace = reader.value(address, "process", PROCESS_C, "aspace")
    if not aspace:
        return Space(pid, name, [], []), 0
    entry = kernel.structure("map_entry", ASPACE_C)
    entries = aspace + kernel.structure("aspace", ASPACE_C).offset("entries")
    table = aspace + kernel.structure("aspace", ASPACE_C).offset("pt")
    root = reader.value(table, "page_table", ASPACE_C, "root")
    mappings = []
    for at in kernel.follow(entries, entry.offset("link")):
        prot = reader.value(at, "map_entry", ASPACE_C, "prot")
        ops = reader.value(at, "map_entry", ASPACE_C, "ops")
        kind = kernel.read(kernel.quad(ops), 32).split(b"\0")[0].decode() if ops else "?"
        mapping = Mapping(
            reader.value(at, "map_entry", ASPACE_C, "start"),
            reader.value(at, "map_entry", ASPACE_C, "end"),
            kind,
            "".join(c if prot & kernel.constants[name] else "-" for name, c in MAP_BITS),
        )
        mappings.append(mapping)
    regions = []
    head = aspace + kernel.structure("aspace", ASPACE_C).offset("regions")
    link = kernel.structure("region", REGION_C).offset("link")
    for at in kernel.follow(head, link):
        start = reader.value(at, "region", REGION_C, "start")
        end = reader.value(at, "region", REGION_C, "end")
        flags = reader.value(at, "region", REGION_C, "flags")
        regions.append(Region(start, end, bool(flags & kernel.constants["VA$M_SHARED_PTS"])))
    return Space(pid, name, mappings, regions), root


def _table(kernel: Kernel, pfn: int) -> numpy.ndarray:
    return numpy.frombuffer(kernel.memory.read_physical(pfn * PAGE_SIZE, PAGE_SIZE), "<u8")


def count_tables(kernel: Kernel, root: int, mapping: Mapping) -> None:
    """Walks the page tables under a mapping, as the hardware would, and counts what they
    contain."""
    hints: Counter[int] = Counter()
    shpt = kernel.constants["PTE_SW_SHPT"]  # the table below is a section's
    gh_shift, gh_mask = kernel.constants["PTE_GH_SHIFT"], kernel.constants["PTE_GH_MASK"]
    upper, middle, page = LEVEL_SHIFTS
    level1 = _table(kernel, root)
    last = mapping.end - 1
    for one in range(mapping.start >> upper, (last >> upper) + 1):
        pte = int(level1[one])
        if not pte & PTE_VALID:
            continue
        block = bool(pte & shpt)
        mapping.shared_blocks += block
        level2 = _table(kernel, pte >> PFN_SHIFT)
        low, high = max(mapping.start, one << upper), min(last, ((one + 1) << upper) - 1)
        for two in range(low >> middle, (high >> middle) + 1):
            pte = int(level2[two & (PTES - 1)])
            if not pte & PTE_VALID:
                continue
            if block or pte & shpt:
                mapping.shared_tables += 1
            else:
                mapping.own_tables += 1
            a = (max(low, two << middle) >> page) & (PTES - 1)
            b = (min(high, ((two + 1) << middle) - 1) >> page) & (PTES - 1)
            ptes = _table(kernel, pte >> PFN_SHIFT)[a : b + 1]
            valid = ptes[(ptes & PTE_VALID) != 0]
            for hint, number in zip(
                *numpy.unique((valid & gh_mask) >> gh_shift, return_counts=True)
            ):
                hints[8 ** int(hint)] += int(number)
    mapping.hints = dict(sorted(hints.items()))
    mapping.valid = sum(hints.values())

"""A plain model of the services on regions, sections and reserved memory, as documented in
docs/services.md, docs/condition-values.md and docs/reserved-memory.md, and in the papers and
manuals that they cite. It knows nothing of page tables, pages or locks.

Each service has two methods: `*_refusals` gives the condition values that may be returned because
something is wrong (if several things are, the documents do not say which is found first); when that
set is empty the service must succeed, and the method with the service's name makes the change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from megalith.run.paths import TOP

PAGE = 8192
L3_SPAN = 8 << 20  # bytes that one level-3 page maps
USER_TOP = 1 << 42
SYSTEM = 0xFFFF  # scope of a name: system-wide; other values are UIC groups


def constants(header: str, prefix: str) -> dict[str, int]:
    """NAME without its prefix -> value, of a header of the services."""
    text = (TOP / "kernel/base/abi" / header).read_text()
    found = re.findall(rf"^#define {re.escape(prefix)}(\w+)\s+(0x[0-9a-fA-F]+|\d+)\b", text, re.M)
    return {name: int(value, 0) for name, value in found}


SS = constants("ssdef.h", "SS$_")
SEC = constants("secdef.h", "SEC$M_")
VA = constants("vadef.h", "VA$M_")
PRT = constants("prtdef.h", "PRT$C_")

SEC_IMPLIED = SEC["GBL"] | SEC["DZRO"] | SEC["WRT"] | SEC["MRES"]
SEC_CREATE = SEC_IMPLIED | SEC["PERM"] | SEC["SYSGBL"] | SEC["READ_ONLY_SHPT"] | SEC["RAD_HINT"]
SEC_MAP = SEC["EXPREG"] | SEC["NO_OVERMAP"]
REGION_FLAGS = (
    VA["DESCEND"]
    | VA["P0_SPACE"]
    | VA["P1_SPACE"]
    | VA["PERMANENT"]
    | VA["SHARED_PTS"]
    | VA["EXPAND_ON_ACCVIO"]
)
READ, WRITE = 1, 2


@dataclass(frozen=True)
class Identity:
    group: int
    member: int
    privileges: frozenset[str]
    resident: bool  # holds VMS$MEM_RESIDENT_USER

    @property
    def system(self) -> bool:
        return self.group <= 0o10 or "SYSPRV" in self.privileges


@dataclass
class Entry:
    """An entry of the reserved-memory registry."""

    name: str
    scope: int
    npages: int
    alloc: bool
    tables: bool
    used: int = 0
    freed: bool = False

    def table_pages(self, npages: int) -> int:
        """Level-3 pages, and the level-2 pages that point to them."""
        if not self.tables or npages == 0:
            return 0
        level3 = -(-npages // 1024)
        return level3 + -(-level3 // 1024)


@dataclass(eq=False)
class Section:
    name: str
    scope: int
    npages: int
    creator: tuple[int, int]
    prot: int
    version: int
    permanent: bool
    tables_shared: bool
    tables_write: bool
    entry: Entry | None
    named: bool = True
    content: dict[int, int] = field(default_factory=dict)  # bytes that are not zero, by offset


@dataclass
class Mapping:
    start: int
    end: int
    access: int  # READ | WRITE
    most: int  # the access that $SETPRT_64 may set
    section: Section | None = None  # None: private memory
    offset: int = 0
    shared: bool = False  # through shared page tables

    def part(self, start: int, end: int) -> Mapping:
        offset = self.offset + start - self.start
        return Mapping(start, end, self.access, self.most, self.section, offset, self.shared)


@dataclass
class Region:
    id: int
    start: int
    end: int
    flags: int

    @property
    def shared(self) -> bool:
        return bool(self.flags & VA["SHARED_PTS"])

    @property
    def down(self) -> bool:
        return bool(self.flags & VA["DESCEND"])


@dataclass
class Process:
    identity: Identity
    regions: list[Region] = field(default_factory=list)
    maps: list[Mapping] = field(default_factory=list)
    private: dict[int, int] = field(default_factory=dict)  # bytes of private memory, by address

    def region(self, id: int) -> Region | None:
        return next((r for r in self.regions if r.id == id), None)

    def overlapping(self, start: int, end: int) -> list[Mapping]:
        return [m for m in self.maps if m.start < end and m.end > start]

    def first_free(self, r: Region) -> int:
        inside = self.overlapping(r.start, r.end)
        if r.down:
            return min((m.start for m in inside), default=r.end)
        return max((m.end for m in inside), default=r.start)

    def unmap(self, start: int, end: int) -> None:
        kept = []
        for m in self.maps:
            if m.start >= end or m.end <= start:
                kept.append(m)
                continue
            if m.start < start:
                kept.append(m.part(m.start, start))
            if m.end > end:
                kept.append(m.part(end, m.end))
        self.maps = kept
        self.private = {a: b for a, b in self.private.items() if not start <= a < end}

    def child(self) -> Process:
        return Process(
            self.identity,
            [Region(r.id, r.start, r.end, r.flags) for r in self.regions],
            [m.part(m.start, m.end) for m in self.maps],
            dict(self.private),
        )


@dataclass(frozen=True)
class MapRequest:
    region: int
    offset: int
    start: int
    length: int
    flags: int
    write: bool


def round_up(n: int, unit: int) -> int:
    return -(-n // unit) * unit


def bad_name(name: str) -> set[str]:
    plain = name.removeprefix("_")
    return set() if 1 <= len(plain) <= 43 and ":" not in plain else {"IVGSDNAM"}


class System:
    def __init__(self, identities: list[Identity], registry: list[Entry]) -> None:
        self.processes: list[Process | None] = [Process(i) for i in identities]
        self.registry = registry
        self.sections: list[Section] = []

    # ---- processes, sections in use ----

    def process(self, k: int) -> Process:
        p = self.processes[k]
        assert p is not None
        return p

    def sweep(self) -> None:
        """Removes sections that are neither mapped nor permanent, and frees their reservations."""
        mapped = {id(m.section) for p in self.processes if p for m in p.maps}
        for s in list(self.sections):
            if not s.permanent and id(s) not in mapped:
                self.sections.remove(s)
                if s.entry:
                    s.entry.used = 0
                    if s.entry.freed:
                        self.registry.remove(s.entry)

    def exit(self, k: int) -> None:
        self.processes[k] = None
        self.sweep()

    def fork(self, k: int, j: int) -> None:
        self.processes[j] = self.process(k).child()
        self.sweep()

    def scope(self, k: int, flags: int) -> int:
        return SYSTEM if flags & SEC["SYSGBL"] else self.process(k).identity.group

    def find(self, k: int, name: str, flags: int) -> Section | None:
        wanted = name.removeprefix("_"), self.scope(k, flags)
        return next((s for s in self.sections if s.named and (s.name, s.scope) == wanted), None)

    # ---- regions ----

    def create_region_refusals(
        self, k: int, length: int, prot: int, flags: int, start: int
    ) -> set[str]:
        p, no = self.process(k), set()
        unit = L3_SPAN if flags & VA["SHARED_PTS"] else PAGE
        if (
            flags & ~REGION_FLAGS
            or flags & VA["SHARED_PTS"]
            and flags & VA["EXPAND_ON_ACCVIO"]
            or flags & VA["P0_SPACE"]
            and flags & VA["P1_SPACE"]
        ):
            no.add("IVREGFLG")
        if prot & ~0x33 or prot & 3 > prot >> 4:
            no.add("IVREGPROT")
        if flags & VA["PERMANENT"] and "CMKRNL" not in p.identity.privileges:
            no.add("NOPRIV")
        if length == 0 or length % unit:
            no.add("LEN_NOTPAGMULT")
        if start % unit:
            no.add("VA_NOTPAGALGN")
        if start and any(r.start < start + length and r.end > start for r in p.regions):
            no.add("VA_IN_USE")
        return no

    def create_region(
        self, k: int, length: int, flags: int, start: int, made: tuple[int, int, int]
    ) -> None:
        p, (id, va, made_length) = self.process(k), made
        assert id >= 16 and p.region(id) is None
        assert made_length == length
        assert va == start if start else va % (L3_SPAN if flags & VA["SHARED_PTS"] else PAGE) == 0
        assert 0 < va <= USER_TOP - length
        assert not any(r.start < va + length and r.end > va for r in p.regions)
        p.regions.append(Region(id, va, va + length, flags))

    def delete_region_refusals(self, k: int, id: int) -> set[str]:
        p = self.process(k)
        r = p.region(id)
        if id < 3:
            return {"NODELPERMANENT"}
        if not r:
            return {"IVREGID"}
        if r.flags & VA["PERMANENT"] and "CMKRNL" not in p.identity.privileges:
            return {"NODELPERMANENT"}
        return set()

    def delete_region(self, k: int, id: int, made: tuple[int, int]) -> None:
        p = self.process(k)
        r = p.region(id)
        assert r and made == (r.start, r.end - r.start)
        p.unmap(r.start, r.end)
        p.regions.remove(r)
        self.sweep()

    # ---- sections ----

    def reservation(self, name: str, scope: int, npages: int) -> tuple[str | None, Entry | None]:
        """The registry's answer for a new section: a refusal, or its entry if there is one."""
        plain = name.removeprefix("_")
        e = next((e for e in self.registry if (e.name, e.scope) == (plain, scope)), None)
        if not e or e.freed:
            return None, None
        if e.used:
            return "RESERVEDMEMUSED", None
        if npages > e.npages:
            return "MRES_PFNSMALL" if e.alloc else "MRES_INCON", None
        return None, e

    def may_create(self, k: int, flags: int) -> set[str]:
        i, no = self.process(k).identity, set()
        if not i.resident:
            no.add("NOMEMRESID")
        if flags & SEC["SYSGBL"] and "SYSGBL" not in i.privileges:
            no.add("NOSYSGBL")
        if flags & SEC["PERM"] and "PRMGBL" not in i.privileges:
            no.add("NOPRMGBL")
        return no

    def share_refusals(self, k: int, s: Section, write: bool, match: int, version: int) -> set[str]:
        """Why process k may not use this section, which was found by name."""
        i, no = self.process(k).identity, set()
        if match:
            matches = s.version == version
            if match == 2:
                matches = s.version >> 24 == version >> 24 and (
                    version & 0xFFFFFF <= s.version & 0xFFFFFF
                )
            if not matches or (s.version == 0 and version):
                no.add("NOSUCHSEC")
        same_group = i.group == s.creator[0]
        member = (i.system, (i.group, i.member) == s.creator, same_group, True)
        denied = READ | (WRITE if write else 0)
        if "BYPASS" not in i.privileges and not any(
            of and not s.prot >> 4 * n & denied for n, of in enumerate(member)
        ):
            no.add("NOPRIV")
        return no

    def create_gdzro_refusals(
        self, k: int, name: str, flags: int, length: int, match: int
    ) -> set[str]:
        flags |= SEC["PERM"]
        no = bad_name(name) | self.may_create(k, flags)
        if flags & ~SEC_CREATE:
            no.add("IVSECFLG")
        if length == 0 or length % PAGE:
            no.add("LEN_NOTPAGMULT")
        if match > 2:
            no.add("IVSECIDCTL")
        if self.find(k, name, flags):
            no.add("DUPLNAM")
        else:
            refusal, _ = self.reservation(name, self.scope(k, flags), length // PAGE)
            no |= {refusal} if refusal else set()
        return no

    def new_section(
        self, k: int, name: str, flags: int, length: int, prot: int, version: int
    ) -> tuple[Section, str]:
        """The section and the condition value of its creation."""
        i, scope = self.process(k).identity, self.scope(k, flags)
        _, entry = self.reservation(name, scope, length // PAGE)
        if entry:
            entry.used = length // PAGE
        s = Section(
            name.removeprefix("_"),
            scope,
            length // PAGE,
            (i.group, i.member),
            prot,
            version,
            bool(flags & SEC["PERM"]),
            not entry or entry.tables,
            not flags & SEC["READ_ONLY_SHPT"],
            entry,
        )
        self.sections.append(s)
        return s, "CREATED_SHPT" if s.tables_shared else "CREATED"

    def map_refusals(
        self, k: int, r: MapRequest, npages: int, tables_shared: bool, tables_write: bool
    ) -> set[str]:
        p, no = self.process(k), set()
        region = p.region(r.region)
        if not region:
            return {"IVREGID"}
        unit = L3_SPAN if region.shared else PAGE
        size = npages * PAGE
        if region.shared and (not tables_shared or r.write != tables_write):
            no.add("NOSHPTS")
        if r.offset % unit:
            no.add("OFF_NOTPAGALGN")
        if r.offset >= size:
            no.add("OFFSET_TOO_BIG")
        elif r.length > size - r.offset:
            no.add("LENVIO")
        if r.length % PAGE:
            no.add("LEN_NOTPAGMULT")
        if not r.flags & SEC["EXPREG"] and r.start % unit:
            no.add("VA_NOTPAGALGN")
        if no & {"OFF_NOTPAGALGN", "OFFSET_TOO_BIG", "LENVIO", "LEN_NOTPAGMULT"}:
            return no | ({"PAGNOTINREG", "VA_IN_USE", "REGISFULL"} if no else set())
        length = self.map_length(region, r, npages)
        if r.flags & SEC["EXPREG"]:
            free = p.first_free(region)
            if region.down:
                fits = (free - length) // unit * unit >= region.start
            else:
                fits = round_up(free, unit) + length <= region.end
            if not fits:
                no.add("REGISFULL")
        else:
            end = r.start + length
            if r.start < region.start or end > region.end:
                no.add("PAGNOTINREG")
            if p.overlapping(r.start, end):
                no.add("VA_IN_USE")
        return no

    @staticmethod
    def map_length(region: Region, r: MapRequest, npages: int) -> int:
        rest = npages * PAGE - r.offset
        length = r.length or rest
        return min(round_up(length, L3_SPAN), rest) if region.shared else length

    def map(self, k: int, s: Section, r: MapRequest, made: tuple[int, int]) -> None:
        p, (va, length) = self.process(k), made
        region = p.region(r.region)
        assert region and length == self.map_length(region, r, s.npages)
        if r.flags & SEC["EXPREG"]:
            free = p.first_free(region)
            assert va % (L3_SPAN if region.shared else PAGE) == 0
            assert region.start <= va and va + length <= region.end
            assert va + length <= free if region.down else va >= free
        else:
            assert va == r.start
        access = READ | WRITE if r.write else READ
        p.maps.append(Mapping(va, va + length, access, access, s, r.offset, region.shared))

    @staticmethod
    def crmpsc_writes(flags: int) -> bool:
        return not flags & SEC["READ_ONLY_SHPT"] or bool(flags & SEC["WRT"])

    def crmpsc_refusals(
        self, k: int, name: str, flags: int, length: int, match: int, version: int, r: MapRequest
    ) -> set[str]:
        no = bad_name(name)
        if flags & ~(SEC_CREATE | SEC_MAP):
            no.add("IVSECFLG")
        if length == 0 or length % PAGE:
            no.add("LEN_NOTPAGMULT")
        if match > 2:
            return no | {"IVSECIDCTL"}
        s, npages = self.find(k, name, flags), length // PAGE
        if s:
            no |= self.share_refusals(k, s, r.write, match, version)
            if "NOSUCHSEC" in no:  # of another identity: it counts as one to be created
                no |= self.may_create(k, flags)
                no |= self.map_refusals(k, r, npages, True, not flags & SEC["READ_ONLY_SHPT"])
            return no | self.map_refusals(k, r, s.npages, s.tables_shared, s.tables_write)
        refusal, entry = self.reservation(name, self.scope(k, flags), npages)
        if refusal:
            no.add(refusal)
        shared = not entry or entry.tables
        return (
            no
            | self.may_create(k, flags)
            | self.map_refusals(k, r, npages, shared, not flags & SEC["READ_ONLY_SHPT"])
        )

    def mgblsc_refusals(
        self, k: int, name: str, flags: int, match: int, version: int, r: MapRequest
    ) -> set[str]:
        no = bad_name(name)
        if flags & ~(SEC_IMPLIED | SEC["SYSGBL"] | SEC_MAP):
            no.add("IVSECFLG")
        if match > 2:
            return no | {"IVSECIDCTL"}
        s = self.find(k, name, flags)
        if not s:
            return no | {"NOSUCHSEC"}
        no |= self.share_refusals(k, s, r.write, match, version)
        return no | self.map_refusals(k, r, s.npages, s.tables_shared, s.tables_write)

    def dgblsc_refusals(self, k: int, name: str, flags: int, match: int, version: int) -> set[str]:
        i, no = self.process(k).identity, bad_name(name)
        if flags & ~(SEC["GBL"] | SEC["SYSGBL"]):
            no.add("IVSECFLG")
        if match > 2:
            no.add("IVSECIDCTL")
        if flags & SEC["SYSGBL"] and "SYSGBL" not in i.privileges:
            no.add("NOSYSGBL")
        if "PRMGBL" not in i.privileges:
            no.add("NOPRMGBL")
        s = self.find(k, name, flags)
        if not s or "NOSUCHSEC" in self.share_refusals(k, s, False, match, version):
            return no | {"NOSUCHSEC"}
        if not i.system and "BYPASS" not in i.privileges and (i.group, i.member) != s.creator:
            no.add("NOTCREATOR")
        return no

    def dgblsc(self, k: int, name: str, flags: int) -> None:
        s = self.find(k, name, flags)
        assert s
        s.named = s.permanent = False
        self.sweep()

    # ---- ranges ----

    def deltva_refusals(self, k: int, id: int, start: int, length: int) -> set[str]:
        p, no = self.process(k), set()
        r = p.region(id)
        if not r:
            return {"IVREGID"}
        if start % PAGE:
            no.add("VA_NOTPAGALGN")
        if length == 0 or length % PAGE:
            no.add("LEN_NOTPAGMULT")
        end = start + length
        if start < r.start or end > r.end:
            no.add("PAGNOTINREG")
        for m in p.overlapping(start, end) if r.shared else ():
            if start > m.start and start % L3_SPAN:
                no.add("VA_NOTPAGALGN")
            if end < m.end and end % L3_SPAN:
                no.add("LEN_NOTPAGMULT")
        return no

    def deltva(self, k: int, start: int, length: int, made: tuple[int, int]) -> None:
        assert made == (start, length)
        self.process(k).unmap(start, start + length)
        self.sweep()

    def private_refusals(self, k: int, id: int, length: int, flags: int) -> set[str]:
        """The common checks of $CRETVA_64 and $EXPREG_64."""
        r, no = self.process(k).region(id), set()
        if flags & ~VA["NO_OVERMAP"]:
            no.add("IVVAFLG")
        if length == 0 or length % PAGE:
            no.add("LEN_NOTPAGMULT")
        if not r:
            no.add("IVREGID")
        elif r.shared:
            no.add("NOSHPTS")
        return no

    def cretva_refusals(self, k: int, id: int, start: int, length: int, flags: int) -> set[str]:
        p, no = self.process(k), self.private_refusals(k, id, length, flags)
        r = p.region(id)
        if start % PAGE:
            no.add("VA_NOTPAGALGN")
        if r and (start < r.start or start + length > r.end):
            no.add("PAGNOTINREG")
        there = p.overlapping(start, start + length)
        if there and flags & VA["NO_OVERMAP"] or any(m.section for m in there):
            no.add("VA_IN_USE")
        return no

    def cretva(self, k: int, start: int, length: int, made: tuple[int, int]) -> None:
        assert made == (start, length)
        p = self.process(k)
        p.unmap(start, start + length)
        p.maps.append(Mapping(start, start + length, READ | WRITE, READ | WRITE))

    def expreg_place(self, k: int, id: int, length: int) -> int | None:
        """The address at which the pages are appended, or None if they do not fit."""
        p = self.process(k)
        r = p.region(id)
        assert r
        free = p.first_free(r)
        start = free - length if r.down else free
        return start if r.start <= start and start + length <= r.end else None

    def expreg_refusals(self, k: int, id: int, length: int, flags: int) -> set[str]:
        no = self.private_refusals(k, id, length, flags)
        if not no and self.expreg_place(k, id, length) is None:
            no.add("REGISFULL")
        return no

    def setprt_refusals(self, k: int, start: int, length: int, code: int) -> set[str]:
        p, no = self.process(k), set()
        if code == PRT["RESERVED"]:
            no.add("IVPROTECT")
        if length == 0:
            return no | {"BADPARAM"}
        first, end = start // PAGE * PAGE, round_up(start + length, PAGE)
        if end > USER_TOP:
            return no | {"NOT_PROCESS_VA"}
        there = p.overlapping(first, end)
        if sum(min(m.end, end) - max(m.start, first) for m in there) < end - first:
            no.add("ACCVIO")
        if any(m.shared for m in there):
            no.add("PAGTYPVIO")
        if code == PRT["UW"] and any(not m.most & WRITE for m in there):
            no.add("NOPRIV")
        return no

    def setprt(
        self, k: int, start: int, length: int, code: int, made: tuple[int, int, int]
    ) -> None:
        p = self.process(k)
        first, end = start // PAGE * PAGE, round_up(start + length, PAGE)
        last = p.overlapping(end - PAGE, end)[0]
        old = {0: PRT["NA"], READ: PRT["UR"], READ | WRITE: PRT["UW"]}[last.access]
        assert made == (first, end - first, old)
        access = {PRT["NA"]: 0, PRT["UR"]: READ, PRT["UW"]: READ | WRITE}[code]
        kept = []
        for m in p.maps:
            if m.start >= end or m.end <= first:
                kept.append(m)
                continue
            if m.start < first:
                kept.append(m.part(m.start, first))
            middle = m.part(max(m.start, first), min(m.end, end))
            middle.access = access
            kept.append(middle)
            if m.end > end:
                kept.append(m.part(end, m.end))
        p.maps = kept

    # ---- reserved memory ----

    def free_reserved_refusals(self, k: int, name: str, scope: int) -> set[str]:
        if "CMKRNL" not in self.process(k).identity.privileges:
            return {"NOCMKRNL"}
        e = next((e for e in self.registry if (e.name, e.scope) == (name, scope)), None)
        if not e:
            return {"NORESERVEDMEM"}
        return {"RESERVEDMEMUSED"} if e.used == e.npages else set()

    def free_reserved(self, name: str, scope: int, pages: int) -> None:
        e = next(e for e in self.registry if (e.name, e.scope) == (name, scope))
        unused = e.npages - e.used
        assert pages == unused + e.table_pages(e.npages) - e.table_pages(e.used)
        e.npages, e.freed = e.used, True
        if not e.used:
            self.registry.remove(e)

    # ---- bytes ----

    def at(self, k: int, address: int, access: int) -> Mapping | None:
        there = self.process(k).overlapping(address, address + 1)
        return there[0] if there and there[0].access & access else None

    def peek(self, k: int, address: int) -> int | None:
        """The byte, or None for a fault."""
        m = self.at(k, address, READ)
        if not m:
            return None
        if m.section:
            return m.section.content.get(address - m.start + m.offset, 0)
        return self.process(k).private.get(address, 0)

    def poke(self, k: int, address: int, byte: int) -> bool:
        m = self.at(k, address, WRITE)
        if m and m.section:
            m.section.content[address - m.start + m.offset] = byte
        elif m:
            self.process(k).private[address] = byte
        return m is not None

"""sda validate page_tables: page tables of every process and of every section, against the PFN
database, the maps and the granularity-hint rules."""

from __future__ import annotations

import gdb
from mg_base import (
    PAGE_SHIFT,
    PTE_GH,
    PTE_PFN_SHIFT,
    PTE_SHPT,
    PTE_V,
    PTES,
    USER_TOP,
    constant,
    describe_pte,
    each,
    gh_pages,
    pte_pfn,
    read_page,
    text,
    variable,
)
from mg_context import processes
from mg_pfn import PfnDatabase
from mg_section import section_name, sections
from mg_validate import Checker

SELF_MAP = constant("LAYOUT_L1_SELFMAP")
SYSTEM_FIRST = constant("LAYOUT_L1_SYSTEM_FIRST")
SPANS = tuple(constant(f"PTE_L{level}_SPAN") for level in (1, 2, 3))
USER_ENTRIES = USER_TOP // SPANS[0]
TABLE_BITS = PTE_V | constant("PTE_KRE") | constant("PTE_KWE")
ONE = 1 << PTE_PFN_SHIFT
MAP_W = constant("MAP_W")
MAPF_HUGE = constant("MAPF_HUGE")
MAPF_SHARED = constant("MAPF_SHARED")
KWE_UWE = constant("PTE_KWE") | constant("PTE_UWE")
PTE_SHARED = constant("PTE_SW_SHARED")
RECENT_BITS = constant("PT_RECENT_BITS")
NO_TABLE = constant("PT_NO_TABLE")


def wrong_hints(ptes: tuple[int, ...], vpn: int, count: int) -> int:
    """Number of the first `count` PTEs, which map the pages from vpn on, whose granularity hint is
    wrong: mm/pt/gh.h."""
    errors = i = 0
    while i < count:
        pte = ptes[i]
        block = gh_pages(pte)
        if not pte & PTE_V or block == 1:
            i += 1
            continue
        aligned = (vpn + i) % block == 0 and (pte_pfn(pte)) % block == 0 and i + block <= count
        expected = tuple(range(pte, pte + block * ONE, ONE))
        if aligned and ptes[i : i + block] == expected:
            i += block
        else:
            errors += 1
            i += 1
    return errors


class Space:
    """The state of the walk through the tables of one address space."""

    def __init__(self, space: gdb.Value, who: str) -> None:
        self.who = who
        self.value = space
        self.root = int(space["pt"]["root"]["n"])
        self.entries = list(each(space["entries"], "struct map_entry", "link"))
        self.bounds = [(int(e["start"]), int(e["end"])) for e in self.entries]
        self.busy = int(space["lock"]["state"]) != 0
        self.tables = self.resident = 0
        self.level3: dict[int, int] = {}  # private level-3 tables by number of the 8 MiB
        self.at = 0

    def entry_at(self, va: int) -> gdb.Value | None:
        """The map entry at an address; addresses must rise from call to call."""
        while self.at < len(self.bounds) and self.bounds[self.at][1] <= va:
            self.at += 1
        if self.at < len(self.bounds) and self.bounds[self.at][0] <= va:
            return self.entries[self.at]
        return None


class ValidatePageTables(Checker):
    """sda validate page_tables [PID]: are the page tables consistent?

    From each root down: the entry of a table page in the PFN database names the PTE above it and
    has the right count of PTEs; the table that faults found last is where it is said to be. A
    level-3 PTE lies in a map entry and allows no more access than that, and the entry of its page
    agrees (a private page names this PTE or counts several; a page of an object or section names
    that). Shared tables belong to the section that is mapped there.
    Granularity hints are right. System entries are the same in every root, and the last one is the
    self-map. Then the tables of each section: their owner and count, the section's frames and
    hints. If a process was stopped while it changed its map (its mutex is held), its counts are
    reported and are no error.
    """

    name = "validate page_tables"

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if len(words) > 1:
            raise self.usage()
        self.begin()
        self.database = PfnDatabase()
        self.ptes = 0
        self.pages: dict[int, tuple[int, ...]] = {}
        self.private: dict[int, int] = {}
        self.system = read_page(int(variable("system_root_pfn")))
        self.zeroes = int(variable("page_zeroes")["n"])
        seen: set[int] = set()
        nsections = 0
        for process in processes():
            space = process["aspace"]
            if words and int(process["pid"]) != int(words[0], 0):
                continue
            if int(space) and int(space) not in seen:
                seen.add(int(space))
                who = f"process {int(process['pid'])} {text(process['name'])}"
                self.space(Space(space.dereference(), who))
        if not words:
            self.references()
        if words and not seen:
            self.complain(f"there is no process {words[0]} with an address space")
        for section in sections():
            if int(section["related"]) and not words:
                nsections += 1
                self.section(section)
        self.finish(
            f"{len(seen)} address spaces, {nsections} sections with tables, {self.ptes} PTEs"
        )

    # ---- table pages ----

    def table(self, pfn: int) -> tuple[int, ...]:
        return read_page(pfn)

    def active(self, pfn: int, kind: str, owner: int | None, what: str) -> None:
        entry = self.database.get(pfn)
        if entry is None:
            self.complain(f"{what}: PFN {pfn:#x} has no entry in the database")
            return
        types = self.database.types
        if entry.state != self.database.states["active"] or entry.type != types[kind]:
            self.complain(f"{what}: PFN {pfn:#x} is {self.database.describe(entry)}")
        elif owner is not None and entry.owner != owner:
            self.complain(f"{what}: PFN {pfn:#x} has owner {entry.owner:#x}, not {owner:#x}")

    def table_page(self, space: Space, pfn: int, upper: int, count: int, what: str) -> None:
        """A private table; upper is the physical address of the PTE that points to it."""
        self.active(pfn, "pt", upper, what)
        entry = self.database.get(pfn)
        if entry is not None and entry.offset != count:
            self.count(
                space, f"{what}: table {pfn:#x} holds {count} PTEs, its count says {entry.offset}"
            )
        space.tables += 1

    def count(self, space: Space, what: str) -> None:
        """A count that does not agree: an error unless pages may be in motion."""
        if space.busy:
            print(f"  {what} (its mutex is held: it may be changing)")
        else:
            self.complain(what)

    # ---- address spaces ----

    def space(self, space: Space) -> None:
        root = self.table(space.root)
        used = 0
        for index in range(USER_ENTRIES):
            entry, va = root[index], index * SPANS[0]
            if not entry:
                continue
            used += 1
            where = f"{space.who}: level-1 PTE at {va:#x}"
            if not entry & PTE_V:
                self.complain(f"{where} is {entry:#x}")
            elif entry & PTE_SHPT:
                self.shared(space, entry, va, 1, where)
            else:
                self.level2(space, pte_pfn(entry), (space.root << PAGE_SHIFT) + 8 * index, va)
        for index in range(USER_ENTRIES, SELF_MAP):
            right = self.system[index] if index >= SYSTEM_FIRST else 0
            self.expect(
                root[index] == right,
                f"{space.who}: level-1 entry {index} is {root[index]:#x}, not the system's",
            )
        own = space.root << PTE_PFN_SHIFT | TABLE_BITS
        self.expect(
            root[SELF_MAP] == own, f"{space.who}: the self-map is {root[SELF_MAP]:#x}, not {own:#x}"
        )
        at = (space.root << PAGE_SHIFT) + 8 * SELF_MAP
        self.table_page(space, space.root, at, used, f"{space.who}: level-1 page")
        table = space.value["pt"]
        for field, real in (("tables", space.tables), ("rss", space.resident)):
            if int(table[field]) != real:
                self.count(space, f"{space.who}: {field} is {int(table[field])}, found {real}")
        recent = int(table["recent"])
        if recent != NO_TABLE and space.level3.get(recent & NO_TABLE) != recent >> RECENT_BITS:
            self.count(space, f"{space.who}: the recent table is not in use: {recent:#x}")

    def level2(self, space: Space, pfn: int, upper: int, base: int) -> None:
        table = self.table(pfn)
        for index, entry in enumerate(table):
            if not entry:
                continue
            va = base + index * SPANS[1]
            where = f"{space.who}: level-2 PTE at {va:#x}"
            self.ptes += 1
            if not entry & PTE_V:
                self.complain(f"{where} is {entry:#x}")
            elif entry & PTE_SHPT:
                self.shared(space, entry, va, 2, where)
            else:
                space.level3[va // SPANS[1]] = pte_pfn(entry)
                self.level3(space, pte_pfn(entry), (pfn << PAGE_SHIFT) + 8 * index, va)
        used = PTES - table.count(0)
        wrong = wrong_hints(table, base // SPANS[1], PTES)
        self.expect(not wrong, f"{space.who}: {wrong} wrong hints in the level-2 page at {base:#x}")
        self.table_page(space, pfn, upper, used, f"{space.who}: level-2 page at {base:#x}")

    def level3(self, space: Space, pfn: int, upper: int, base: int) -> None:
        table = self.table(pfn)
        for index, pte in enumerate(table):
            if pte:
                at = (pfn << PAGE_SHIFT) + 8 * index
                self.page(space, pte, at, base + index * SPANS[2])
        used = PTES - table.count(0)
        wrong = wrong_hints(table, base // SPANS[2], PTES)
        self.expect(not wrong, f"{space.who}: {wrong} wrong hints in the level-3 page at {base:#x}")
        self.table_page(space, pfn, upper, used, f"{space.who}: level-3 page at {base:#x}")

    def page(self, space: Space, pte: int, at: int, va: int) -> None:
        self.ptes += 1
        where = f"{space.who}: PTE {pte:#x} at {va:#x}"
        entry = space.entry_at(va)
        if entry is None:
            self.complain(f"{where} maps where nothing is mapped")
            return
        if not pte & PTE_V:
            self.complain(f"{where} is {describe_pte(pte)}: nothing makes that in user space")
            return
        if pte & KWE_UWE and not int(entry["prot"]) & MAP_W:
            self.complain(f"{where} may be written, its mapping may not")
        if int(entry["object"]) and pte & PTE_SHARED:
            space.resident += 1
            self.object_page(entry, pte, va, where)
        elif int(entry["smap"]):
            self.section_page(entry, pte, va, where)
        elif int(entry["flags"]) & MAPF_HUGE:
            # The pages are in the pool of huge pages; the hints are checked with the table.
            self.expect(pte & PTE_GH == PTE_GH, f"{where} is of a huge page and has a small hint")
        elif pte & PTE_SHARED:
            space.resident += 1
            right = pte_pfn(pte) == self.zeroes and not pte & (KWE_UWE | PTE_GH)
            self.expect(right, f"{where} maps a page of nobody")
        else:
            space.resident += 1
            self.private_page(pte, at, where)
            self.expect(not pte & PTE_GH, f"{where} carries a hint")

    def private_page(self, pte: int, at: int, where: str) -> None:
        """The PTE owns the page, or is one of several that may only read it."""
        pfn = pte_pfn(pte)
        self.active(pfn, "process", None, where)
        self.private[pfn] = self.private.get(pfn, 0) + 1
        entry = self.database.get(pfn)
        if entry is None:
            return
        if entry.owner not in (0, at) or (entry.owner and entry.refcnt != 1):
            self.complain(f"{where}: PFN {pfn:#x} has owner {entry.owner:#x}, not {at:#x}")
        if entry.refcnt > 1 and pte & KWE_UWE:
            self.complain(f"{where} may write a page that is to be copied")

    def references(self) -> None:
        """Each private page has as many references as PTEs."""
        for pfn, found in self.private.items():
            entry = self.database.get(pfn)
            if entry is not None and entry.refcnt != found:
                self.complain(
                    f"PFN {pfn:#x} is mapped by {found} PTEs and has {entry.refcnt} references"
                )

    def object_page(self, entry: gdb.Value, pte: int, va: int, where: str) -> None:
        """The page belongs to the entry's object."""
        database = self.database.get(pte_pfn(pte))
        if database is None or database.type != self.database.types["object"]:
            self.active(pte_pfn(pte), "object", None, where)
            return
        offset = (int(entry["offset"]) + va - int(entry["start"])) >> PAGE_SHIFT
        if database.owner != int(entry["object"]):
            self.complain(
                f"{where}: PFN {pte_pfn(pte):#x} belongs to object {database.owner:#x}, which is "
                "not mapped there"
            )
        elif database.offset != offset:
            self.complain(
                f"{where}: PFN {pte_pfn(pte):#x} is page {database.offset} of its object, mapped "
                f"as {offset}"
            )
        elif pte & KWE_UWE and not int(entry["flags"]) & MAPF_SHARED:
            self.complain(f"{where} may write a page that is to be copied")

    def section_page(self, entry: gdb.Value, pte: int, va: int, where: str) -> None:
        """A level-3 PTE in a private table of the mapper."""
        section = entry["smap"]["section"]
        page = (int(entry["offset"]) + va - int(entry["start"])) >> PAGE_SHIFT
        if int(entry["smap"]["shared"]):
            self.complain(f"{where} is private where tables are shared")
        elif frame_of(section, page) not in (None, pte_pfn(pte)):
            self.complain(f"{where} is not page {page} of section {section_name(section)}")

    def shared(self, space: Space, pte: int, va: int, level: int, where: str) -> None:
        """A PTE that points to a table page of a section."""
        self.ptes += 1
        entry = space.entry_at(va)
        mapping = entry["smap"] if entry is not None else None
        if mapping is None or not int(mapping) or not int(mapping["shared"]):
            self.complain(f"{where} maps shared tables where no section has them")
            return
        shpt = mapping["section"]["related"]
        span = ((int(entry["offset"]) + va - int(entry["start"])) >> PAGE_SHIFT) // PTES
        upper = int(shpt["upper"][span // PTES]["n"])
        if level == 1:
            right = upper << PTE_PFN_SHIFT | TABLE_BITS | PTE_SHPT
        else:
            if upper not in self.pages:
                self.pages[upper] = self.table(upper)
            right = self.pages[upper][span % PTES] & ~PTE_GH
        self.expect(pte & ~PTE_GH == right, f"{where} is {pte:#x}, the section's is {right:#x}")

    # ---- sections ----

    def section(self, section: gdb.Value) -> None:
        name = f"section {section_name(section)}"
        shpt = section["related"]
        npages, spans = int(section["npages"]), int(shpt["npages"])
        frames = Frames(section)
        level3 = own = data = 0
        reserved = int(shpt["first"]["n"])
        reserved_end = reserved + (int(shpt["rmd"]["pt_used"]) if reserved else 0)
        for i in range(int(shpt["nupper"])):
            upper = int(shpt["upper"][i]["n"])
            table = self.table(upper)
            if not reserved <= upper < reserved_end:
                own += 1
                self.active(upper, "shpt", int(shpt), f"{name}: level-2 page {i}")
            wrong = wrong_hints(table, i * PTES, min(PTES, spans - i * PTES))
            self.expect(not wrong, f"{name}: {wrong} wrong hints in level-2 page {i}")
            for k, pte in enumerate(table):
                span = i * PTES + k
                if not pte:
                    continue
                level3 += 1
                what = f"{name}: level-2 PTE {pte:#x} of span {span}"
                if span >= spans or pte & ~PTE_GH != pte_pfn(pte) * ONE | TABLE_BITS | PTE_SHPT:
                    self.complain(f"{what} is none that it should have")
                    continue
                if not reserved <= pte_pfn(pte) < reserved_end:
                    own += 1
                    self.active(pte_pfn(pte), "shpt", int(shpt), what)
                data += self.span(section, name, span, pte_pfn(pte), frames)
        counts = (("valid_pages", level3), ("own_pages", own))
        for field, real in counts:
            self.expect(
                int(shpt[field]) == real,
                f"{name}: {field} of its tables is {int(shpt[field])}, found {real}",
            )
        if not int(section["first"]["n"]):
            self.expect(
                int(section["valid_pages"]) == data,
                f"{name}: {int(section['valid_pages'])} valid pages, found {data}",
            )
        self.expect(npages <= spans * PTES, f"{name}: {spans} level-3 pages for {npages} pages")

    def span(self, section: gdb.Value, name: str, span: int, pfn: int, frames: Frames) -> int:
        """A level-3 page of a section; returns the number of valid PTEs."""
        table = self.table(pfn)
        first = span * PTES
        count = min(PTES, int(section["npages"]) - first)
        valid = PTES - table.count(0)
        self.ptes += valid
        self.expect(not any(table[count:]), f"{name}: PTEs behind its end in span {span}")
        wrong = wrong_hints(table, first, count)
        self.expect(not wrong, f"{name}: {wrong} wrong hints in span {span}")
        if frames.known:
            for index in range(count):
                frame = pte_pfn(table[index])
                if frame != frames.of(first + index):
                    self.complain(f"{name}: page {first + index} is mapped to frame {frame:#x}")
                    break
        else:
            for index in range(count):
                if table[index]:
                    what = f"{name}: PTE {table[index]:#x} of page {first + index}"
                    self.active(pte_pfn(table[index]), "global", int(section.address), what)
        return valid


class Frames:
    """Frames of a section that has all of them from its creation (mm/section/section.h)."""

    def __init__(self, section: gdb.Value) -> None:
        self.first = int(section["first"]["n"])
        self.known = self.first != 0
        self.stretches: list[tuple[int, int]] = []
        if self.known and int(section["extents"]):
            left, i = int(section["npages"]), 0
            while left > 0:
                one = section["extents"][i]
                self.stretches.append((int(one["first"]["n"]), int(one["npages"])))
                left -= int(one["npages"])
                i += 1

    def of(self, page: int) -> int:
        for first, count in self.stretches:
            if page < count:
                return first + page
            page -= count
        return self.first + page


def frame_of(section: gdb.Value, page: int) -> int | None:
    """The frame of a page of the section; None if it has none yet."""
    frames = Frames(section)
    if frames.known:
        return frames.of(page)
    shpt = section["related"]
    if not int(shpt):
        return None
    upper = read_page(int(shpt["upper"][page // PTES // PTES]["n"]))[page // PTES % PTES]
    if not upper & PTE_V:
        return None
    pte = read_page(pte_pfn(upper))[page % PTES]
    return pte_pfn(pte) if pte & PTE_V else None


def register() -> None:
    ValidatePageTables()

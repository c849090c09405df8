"""Page tables and the PFN database."""

from __future__ import annotations

from collections.abc import Iterator

import gdb
from mg_base import (
    KSEG,
    KSEG_BYTES,
    MASK,
    PAGE_SHIFT,
    PAGE_SIZE,
    PTE_PFN_SHIFT,
    PTE_SHPT,
    PTE_V,
    PTES,
    USER_TOP,
    Command,
    NotThere,
    Table,
    bits,
    constant,
    describe_pte,
    each,
    enum_name,
    flags,
    form_name,
    gh_pages,
    heading,
    number,
    pte_pfn,
    read_page,
    read_quad,
    span,
    structure,
    text,
    va_text,
    variable,
)
from mg_context import current_root, find_process, space_of

SPANS = tuple(constant(f"PTE_L{level}_SPAN") for level in (1, 2, 3))
VA_MASK = PTES * SPANS[0] - 1  # the bits of an address that are translated; the others are its sign
SELF_MAP = constant("LAYOUT_L1_SELFMAP")
RIGHTS = tuple(zip((constant(f"PTE_{bit}") for bit in ("KRE", "KWE", "URE", "UWE")), "RWRW"))
MARKS = flags("PTE_", "FOR FOW FOE ASM SW_COW=COW SW_WIRED=WIR SW_SHPT=SPT")
PG_BAD = constant("PG_BAD")
COUNT_SHIFT, COUNT_MASK = constant("HEAD_COUNT_SHIFT"), constant("HEAD_COUNT_MASK")
ROWS_MAX = 5000  # PTEs that one command shows

# enum page_type, as SDA's names for PGTYP.
PAGE_TYPES = {
    "unknown": "UNKNOWN",
    "process": "PROCESS",
    "object": "OBJECT",
    "global": "GLOBAL",
    "pt": "PPGTBL",
    "shpt": "SHPT",
    "system": "SYSTEM",
    "kstack": "KSTACK",
}
# enum page_state, as SDA's names for LOC.
PAGE_PLACES = {
    "free": "FRELST",
    "modified": "MFYLST",
    "bad": "BADLST",
    "zeroed": "ZROLST",
    "cached": "CPUCAC",
    "reserved": "RESRVD",
    "transition": "TRNSTN",
    "active": "ACTIVE",
    "unused": "UNUSED",
}


def sign_extend(va: int) -> int:
    va &= VA_MASK
    return va | MASK ^ VA_MASK if va & USER_TOP else va


# ---- the PFN database ----


def page_entry(pfn: int) -> gdb.Value:
    return variable("page_db")[pfn]


def entry_valid(pfn: int) -> bool:
    """Is the entry initialised? If so, the bitmap has the bit of its chunk."""
    if not 0 <= pfn < int(variable("page_end")):
        return False
    chunk = pfn // (PAGE_SIZE // structure("page").sizeof // 4)
    bitmap = variable("chunk_bitmap", "mm/phys/page_range.c")
    return bool(int(bitmap[chunk // 64]) >> chunk % 64 & 1)


def page_state(entry: gdb.Value) -> str:
    return PAGE_PLACES[enum_name(entry["state"], "page_state", "PAGE_")]


def page_type(entry: gdb.Value) -> str:
    return PAGE_TYPES[enum_name(entry["type"], "page_type", "PAGE_T_")]


def page_cells(pfn: int) -> list[str]:
    """PGTYP, LOC, BAK, REFCNT, FLINK, BLINK (or share count) of a page."""
    if not entry_valid(pfn):
        return ["-", "NOENTRY", "", "", "", ""]
    entry = page_entry(pfn)
    place = page_state(entry)
    cells = [page_type(entry), place]
    if place in ("ACTIVE", "TRNSTN", "RESRVD"):
        cells += [f"{int(entry['offset']):X}", str(int(entry["refcnt"]))]
        cells += ["-", f"shr {int(entry['share'])}"]
    else:
        cells += ["-", "0", f"{int(entry['flink']):08X}", "-"]
    return cells


def list_pfns(head: int) -> Iterator[int]:
    """The pages linked from `head` by flink; ends where the chain leaves the database or returns to
    an earlier page."""
    seen = set()
    while head:
        if head in seen or not entry_valid(head):
            raise gdb.GdbError(f"the chain is broken at PFN {head:#x}")
        seen.add(head)
        yield head
        head = int(page_entry(head)["flink"])


class ShowPfnData(Command):
    """sda show pfn_data [PFN | FIRST:LAST | FIRST;COUNT] [/FREE | /ZEROED | /MODIFIED | /BAD]
    [/RAD=n] [/ALL]: the PFN database.

    Without a range: each list with its count, by memory domain, and the ranges of never-used pages.
    The name of a list shows its pages; /ALL shows all initialised entries of the database.
    """

    name = "show pfn_data"
    qualifiers = {
        "free": False,
        "zeroed": False,
        "modified": False,
        "bad": False,
        "rad": True,
        "all": False,
    }
    columns = (
        ("PFN", 8),
        ("PTE/owner", -17),
        ("PGTYP", -7),
        ("LOC", -7),
        ("BAK", 9),
        ("REFCNT", 6),
        ("FLINK", 8),
        ("BLINK", 8),
        ("FLAGS", -5),
    )

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        rads = range(int(variable("rad_count")))
        if "rad" in qualifiers:
            wanted = number(qualifiers["rad"])
            if wanted not in rads:
                raise NotThere(f"there is no RAD {wanted}")
            rads = range(wanted, wanted + 1)
        lists = [q for q in qualifiers if q not in ("rad", "all")]
        if words:
            first, last = span(words) or (0, 0)
            if first >= int(variable("page_end")):
                raise NotThere(f"PFN {first:#x} is above all memory")
            self.rows(range(first, min(last + 1, int(variable("page_end")))))
        elif lists:
            for kind in lists:
                for rad in rads:
                    held = self.list_of(rad, kind)
                    heading(
                        f"{kind.capitalize()} page list of RAD {rad}: {int(held['count'])} pages"
                    )
                    self.rows(list_pfns(int(held["head"])))
        elif "all" in qualifiers:
            heading("PFN database")
            self.rows(pfn for pfn in range(int(variable("page_end"))) if entry_valid(pfn))
        else:
            self.summary(rads)

    def list_of(self, rad: int, kind: str) -> gdb.Value:
        states = {f.name: f.enumval for f in gdb.lookup_type("enum page_state").fields()}
        return variable("rads")[rad]["lists"][states[f"PAGE_{kind.upper()}"]]

    def rows(self, pfns) -> None:
        table = Table(*self.columns)
        missing = shown = 0
        for pfn in pfns:
            if not entry_valid(pfn):
                missing += 1
                continue
            entry = page_entry(pfn)
            table.row(
                f"{pfn:08X}",
                va_text(int(entry["owner"])),
                *page_cells(pfn),
                "BAD" if int(entry["flags"]) & PG_BAD else "",
            )
            shown += 1
            if shown == ROWS_MAX:
                print(f"... only the first {ROWS_MAX} are shown")
                break
        if missing:
            print(f"{missing} pages have no entry: they were never used")

    def summary(self, rads: range) -> None:
        for index in rads:
            rad = variable("rads")[index]
            heading(
                f"PFN lists of RAD {index}: pages from PFN {int(rad['first']):X}, "
                f"{int(rad['total'])} in all"
            )
            table = Table(("List", -12), ("Count", 12), ("Head", 8))
            for kind in ("free", "zeroed", "modified", "bad"):
                held = self.list_of(index, kind)
                table.row(kind, int(held["count"]), f"{int(held['head']):08X}")
            cached = 0
            for cpu in range(int(variable("cpu_count"))):
                cache = variable("page_caches")[cpu][index]
                heads = [int(cache[f]) for f in ("dirty", "zeroed")]
                cached += sum(head >> COUNT_SHIFT & COUNT_MASK for head in heads)
            table.row("CPU caches", cached, "")
            table.row("reserved", int(rad["reserved_pages"]), "")
            table.row("never used", int(rad["range_pages"]), f"{int(rad['nranges'])} ranges")
            for r in range(int(rad["nranges"])):
                one = rad["ranges"][r]
                first, count = int(one["first"]), int(one["npages"])
                print(f"    PFN {first:08X}:{first + count - 1:08X}  {count} pages")
        print(f"\nFluid pages available: {int(variable('fluid_available'))}")


# ---- page tables ----


def table_owner(pfn: int) -> str:
    """The section that owns this shared page table, which it allocated singly or has from a
    reservation."""
    for section in each(variable("sections", "mm/section/section.c"), "struct section", "link"):
        shpt = section["related"]
        if not int(shpt):
            continue
        first = int(shpt["first"]["n"])
        upper = [int(shpt["upper"][i]["n"]) for i in range(int(shpt["nupper"]))]
        if (
            int(page_entry(pfn)["owner"]) == int(shpt)
            or pfn in upper
            or (first and first <= pfn < first + int(shpt["npages"]))
        ):
            return f"section {text(section['gsd']['name'])}"
    return "no section"


def protection(pte: int) -> str:
    """Access of kernel and user mode, such as KRW URW."""
    kre, kwe, ure, uwe = (c if pte & bit else "-" for bit, c in RIGHTS)
    return f"K{kre}{kwe} U{ure}{uwe}"


def pte_marks(pte: int) -> str:
    return bits(pte, MARKS)


class ShowPageTable(Command):
    """sda show page_table [VA | FIRST:LAST | FIRST;BYTES] [/PROCESS=pid] [/L1 | /L2 | /L3]
    [/INVALID]: page tables of the process, or of the thread that is shown.

    For one address, the walk, level by level: index, physical address and contents of the entry,
    and its meaning. A table that belongs to a section, shared by a level-1 PTE (8 GiB) or a level-2
    PTE (8 MiB), is named. For a range, or without one for all of user space: the valid PTEs of
    level 3 (or of /L1, /L2), one a line, with the entries of their pages in the PFN database;
    /INVALID shows those that are neither valid nor empty. Runs of equal PTEs that map consecutive
    frames share a line: COUNT.
    """

    name = "show page_table"
    qualifiers = {"process": True, "l1": False, "l2": False, "l3": False, "invalid": False}

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        root = current_root()
        if "process" in qualifiers:
            root = int(space_of(find_process(qualifiers["process"]))["pt"]["root"]["n"])
        if not root:
            raise NotThere("this CPU has no page tables of the kernel's yet")
        wanted = span(words)
        if wanted and wanted[0] == wanted[1]:
            self.walk(root, wanted[0])
            return
        first, last = wanted or (0, USER_TOP - 1)
        level = 1 if "l1" in qualifiers else 2 if "l2" in qualifiers else 3
        self.listing(root, first, last, level, "invalid" in qualifiers)

    def walk(self, pfn: int, va: int) -> None:
        if sign_extend(va) != va:
            raise gdb.GdbError(f"{va:#x} is not a 43-bit signed address")
        if KSEG <= va < KSEG + 2 * KSEG_BYTES:
            print(f"{va_text(va)} is in KSEG: physical {va - KSEG:#x}, no page tables")
            return
        print(f"{va_text(va)} by the tables at pfn {pfn:#x}")
        for level, size in enumerate(SPANS, 1):
            index = va // size % PTES
            at = (pfn << PAGE_SHIFT) + 8 * index
            entry = read_quad(KSEG + at)
            print(
                f"  level {level}  [{index:4}]  at {at:#011x}  {entry:#018x}  {describe_pte(entry)}"
            )
            if not entry & PTE_V:
                return
            pfn = pte_pfn(entry)
            if level < 3 and entry & PTE_SHPT:
                print(f"           pfn {pfn:#x} is a level-{level + 1} page of {table_owner(pfn)}")
        print(f"  physical address {(pfn << PAGE_SHIFT) | (va % PAGE_SIZE):#x}")

    def listing(self, root: int, first: int, last: int, level: int, invalid: bool) -> None:
        heading(f"Level-{level} page table entries, {va_text(first)} to {va_text(last)}")
        table = Table(
            ("Mapped address", -17),
            ("PTE address", -17),
            ("PTE", -17),
            ("Count", 7),
            ("Prot", -7),
            ("GH", 3),
            ("Bits", -19),
            ("PGTYP", -7),
            ("LOC", -7),
            ("BAK", 7),
            ("REFCNT", 6),
            ("FLINK", 8),
            ("BLINK", 8),
        )
        shown = total = 0
        for va, at, pte, count in self.runs(root, first, last, level, invalid):
            total += count
            if shown < ROWS_MAX:
                cells = [va_text(sign_extend(va)), va_text(KSEG + at), va_text(pte), count]
                if pte & PTE_V:
                    cells += [protection(pte), gh_pages(pte), pte_marks(pte)]
                    table.row(*cells, *page_cells(pte_pfn(pte)))
                else:
                    table.row(*cells, "", "", form_name(pte))
            shown += 1
        if shown > ROWS_MAX:
            print(f"... {shown - ROWS_MAX} lines more")
        print(f"{total} PTEs")

    def runs(self, root: int, first: int, last: int, level: int, invalid: bool):
        """(address, physical address of the PTE, PTE, count): PTEs that differ only in their
        consecutive frames."""
        span_bytes = SPANS[level - 1]
        run: list[int] | None = None
        for va, at, pte in self.entries(root, first, last, level):
            if bool(pte & PTE_V) == invalid:
                continue
            if (
                run
                and va == run[0] + run[3] * span_bytes
                and (pte & PTE_V)
                and pte == run[2] + (run[3] << PTE_PFN_SHIFT)
            ):
                run[3] += 1
                continue
            if run:
                yield tuple(run)
            run = [va, at, pte, 1]
        if run:
            yield tuple(run)

    def entries(self, pfn: int, first: int, last: int, level: int, depth: int = 1, base: int = 0):
        """The nonempty entries of a level below a table, in the order of addresses."""
        size = SPANS[depth - 1]
        low = max((first & VA_MASK) - base, 0) // size
        for index, entry in enumerate(read_page(pfn)[low:], low):
            va = base + index * size
            if va > last & VA_MASK:
                return
            if not entry or (depth == 1 and index == SELF_MAP):
                continue
            if depth == level:
                yield va, (pfn << PAGE_SHIFT) + 8 * index, entry
            elif entry & PTE_V:
                yield from self.entries(pte_pfn(entry), first, last, level, depth + 1, va)


class Ptbr(gdb.Function):
    """$ptbr(PID): the PFN of the level-1 page of a process, which a CPU has in PTBR while it runs
    the process. For walks by hand."""

    def __init__(self) -> None:
        super().__init__("ptbr")

    def invoke(self, pid: gdb.Value) -> int:
        return int(space_of(find_process(str(int(pid))))["pt"]["root"]["n"])


def register() -> None:
    for command in (ShowPageTable, ShowPfnData, Ptbr):
        command()

"""Page tables, physical pages, reservations, pools."""

from __future__ import annotations

import gdb
from mg_base import (
    KSEG,
    Command,
    NotThere,
    describe_pte,
    each,
    enum_name,
    number,
    read_page,
    text,
    variable,
)
from mg_process import current_root, find_space

SHIFTS = (33, 23, 13)
SHPT = 1 << 23  # mm/pte_forms.h


def sign_extend(va: int) -> int:
    return va | 0xFFFFF80000000000 if va >> 42 & 1 else va & 0x7FFFFFFFFFF


class Walk(Command):
    """megalith walk VA [PID]: the page-table walk of an address, level by level.

    Without PID the tables of the selected CPU are walked (its PTBR); with it those of the process.
    Each line is a level: index, the entry's physical address, the entry, what it means. A table
    that is a section's, shared by a level-1 PTE (8 GiB) or a level-2 PTE (8 MiB), is named.
    """

    name = "walk"

    def run(self, words: list[str]) -> None:
        if not 1 <= len(words) <= 2:
            raise self.usage()
        va = number(words[0])
        if sign_extend(va) != va:
            raise gdb.GdbError(f"{va:#x} is not a 43-bit signed address")
        if KSEG <= va < KSEG + (2 << 40):
            print(f"{va:#018x} is in KSEG: physical {va - KSEG:#x}, no page tables")
            return
        pfn = int(find_space(words[1])["root"]["n"]) if len(words) > 1 else current_root()
        if not pfn:
            raise NotThere("this CPU has no page tables of the kernel's yet")
        print(f"{va:#018x} by the tables at pfn {pfn:#x}")
        for level, shift in enumerate(SHIFTS, 1):
            index = va >> shift & 1023
            entry = read_page(pfn)[index]
            print(
                f"  level {level}  [{index:4}]  at {(pfn << 13) + 8 * index:#011x}  "
                f"{entry:#018x}  {describe_pte(entry)}"
            )
            if not entry & 1:
                return
            pfn = entry >> 32
            if level < 3 and entry & SHPT:
                print(f"           pfn {pfn:#x} is a level-{level + 1} page of {table_owner(pfn)}")
        print(f"  physical address {(pfn << 13) | (va & 0x1FFF):#x}")


def page_entry(pfn: int) -> gdb.Value:
    return variable("page_db")[pfn]


def table_owner(pfn: int) -> str:
    """Whose shared page table this is: a section made it singly, or has it from a reservation."""
    for section in each(variable("sections", "mm/section.c"), "struct section", "link"):
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


class Page(Command):
    """megalith page PFN: a physical page's PFN database entry, and what its owner field says."""

    name = "page"

    def run(self, words: list[str]) -> None:
        if len(words) != 1:
            raise self.usage()
        pfn = number(words[0])
        entry = page_entry(pfn)
        state = enum_name(entry["state"], "page_state", "PAGE_")
        kind = enum_name(entry["type"], "page_type", "PAGE_T_")
        print(f"pfn {pfn:#x}  physical {pfn << 13:#x}  entry at {int(entry.address):#x}")
        print(
            f"  state {state}, type {kind}, flags {int(entry['flags']):#x}, aux {int(entry['aux'])}"
        )
        if state in ("active", "transition"):
            print(f"  references {int(entry['refcnt'])}, share {int(entry['share'])}")
        else:
            print(f"  links: forward {int(entry['flink']):#x}, backward {int(entry['blink']):#x}")
        print(f"  owner {int(entry['owner']):#x}, offset {int(entry['offset']):#x}")


class Lists(Command):
    """megalith pages: pages on each list, and the ranges never used, by memory domain."""

    name = "pages"

    def run(self, words: list[str]) -> None:
        rads = variable("rads")
        names = gdb.lookup_type("enum page_state").fields()
        for i in range(int(variable("rad_count"))):
            rad = rads[i]
            print(f"RAD {i}")
            for field in names:
                if field.enumval <= rad["lists"].type.range()[1]:
                    held = rad["lists"][field.enumval]
                    print(
                        f"  {field.name.removeprefix('PAGE_').lower():10} "
                        f"{int(held['count']):12}  head {int(held['head']):#x}"
                    )
            print(f"  {'reserved':10} {int(rad['reserved_pages']):12}")
            print(
                f"  {'never used':10} {int(rad['range_pages']):12}  in {int(rad['nranges'])} ranges"
            )
            for r in range(int(rad["nranges"])):
                one = rad["ranges"][r]
                print(
                    f"      pfn {int(one['first']):#x} .. "
                    f"{int(one['first']) + int(one['npages']) - 1:#x}"
                )


RMD_FLAGS = (
    (0x1, "ALLOCATE"),
    (0x2, "ZERO"),
    (0x4, "PAGE_TABLES"),
    (0x8, "GROUP"),
    (0x10, "SYSGBL"),
    (0x20, "NOGLOBAL"),
    (0x100, "zeroed"),
    (0x200, "freed"),
    (0x400, "not contiguous"),
)


class Reservations(Command):
    """megalith reservations: the reserved memory descriptors, largest first."""

    name = "reservations"

    def run(self, words: list[str]) -> None:
        count = 0
        for rmd in each(variable("rmds", "mm/reserved.c"), "struct rmd", "link"):
            flags = [name for bit, name in RMD_FLAGS if int(rmd["flags"]) & bit]
            print(f"{text(rmd['name'])}: {' '.join(flags)}")
            first, pages = int(rmd["first"]["n"]), int(rmd["npages"])
            where = f"pfn {first:#x} .. {first + pages - 1:#x}" if first else "fluid"
            if int(rmd["nextents"]) > 1:
                where = f"in {int(rmd['nextents'])} stretches"
            print(f"  pages {pages}, {where}, in use {int(rmd['used'])}")
            for i in range(int(rmd["nextents"]) if int(rmd["nextents"]) > 1 else 0):
                one = rmd["extents"][i]
                print(
                    f"      pfn {int(one['first']['n']):#x} .. "
                    f"{int(one['first']['n']) + int(one['npages']) - 1:#x}"
                )
            if int(rmd["npt_pages"]):
                first = int(rmd["pt_first"]["n"])
                where = f"pfn {first:#x}" if first else "fluid"
                print(
                    f"  page-table pages {int(rmd['npt_pages'])}, {where}, in use "
                    f"{int(rmd['pt_used'])}"
                )
            count += 1
        print(f"{count} reservations")


class Pools(Command):
    """megalith pools: the variable list of each pool, and the lookaside lists that were asked for
    anything."""

    name = "pools"

    def run(self, words: list[str]) -> None:
        for title, file in (
            ("Nonpaged pool", "mm/pool_nonpaged.c"),
            ("Paged pool", "mm/pool_paged.c"),
        ):
            var = variable("var", file)
            print(
                f"{title}: {int(var['total'])} bytes; {int(var['bytes'])} free in "
                f"{int(var['blocks'])} blocks on the variable list"
            )
            lists = variable("lists", file)
            for i in range(lists.type.range()[1] + 1):
                one = lists[i]
                reclaimed, misses = int(one["reclaimed"]), int(one["misses"])
                hits = int(one["pops"]) - reclaimed
                if hits or misses or reclaimed:
                    print(
                        f"  {16 * (i + 1):5} bytes: requests {hits + misses}, hits {hits}, "
                        f"back to the variable list {reclaimed}"
                    )


def register() -> None:
    for command in (Walk, Page, Lists, Reservations, Pools):
        command()

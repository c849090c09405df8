"""Global sections, regions and mappings."""

from __future__ import annotations

import gdb
from mg_base import Command, each, text, variable
from mg_process import find_space

# kernel/base/abi/secdef.h
SECTION_FLAGS = (
    (0x8, "WRT"),
    (0x800, "READ_ONLY_SHPT"),
    (0x1000, "SHARED_PTS"),
    (0x2000, "MRES"),
    (0x4000, "PERM"),
    (0x8000, "SYSGBL"),
    (0x4000000, "ALLOC"),
)
REGION_FLAGS = ((0x1, "DESCEND"), (0x8, "PERMANENT"), (0x40, "SHARED_PTS"))
LIFE_PERMANENT = 1 << 63


def names(value: gdb.Value, table) -> str:
    return " ".join(name for bit, name in table if int(value) & bit)


class Sections(Command):
    """megalith sections [NAME]: the global sections in the order of their creation, with their
    shares and faults."""

    name = "sections"

    def run(self, words: list[str]) -> None:
        count = 0
        for section in each(variable("sections", "mm/section.c"), "struct section", "link"):
            name = text(section["gsd"]["name"]) if int(section["gsd"]) else "(shared page tables)"
            if words and name != words[0]:
                continue
            life = int(section["life"])
            print(
                f"{name}: {int(section['npages'])} pages, "
                f"{int(section['valid_pages'])} valid, "
                f"{names(section['flags'], SECTION_FLAGS)}"
            )
            print(
                f"  section at {int(section.address):#x}, shares "
                f"{life & (LIFE_PERMANENT - 1)}"
                f"{', permanent' if life & LIFE_PERMANENT else ''}, mappings "
                f"{int(section['nmaps'])}"
            )
            if int(section["first"]["n"]):
                print(f"  first pfn {int(section['first']['n']):#x}")
            shpt = section["related"]
            if int(shpt):
                print(
                    f"  shared page tables: {int(shpt['npages'])} level-3 pages, "
                    f"{int(shpt['nupper'])} level-2 pages, section at {int(shpt):#x}"
                )
            counts = section["counts"]
            print(
                f"  faults: made valid {int(counts['made_valid'])}, table picked up "
                f"{int(counts['l3_pickup'])},"
                f" raced {int(counts['raced'])}, global valid {int(counts['global_valid'])}"
            )
            for mapping in each(section["maps"], "struct section_map", "link"):
                tables = "shared tables" if int(mapping["shared"]) else "private tables"
                print(
                    f"  mapped at {int(mapping['start']):#x} in address space "
                    f"{int(mapping['aspace']):#x}, {tables}"
                )
            count += 1
        print(f"{count} sections")


class Regions(Command):
    """megalith regions PID: the regions that a process has created in its address space."""

    name = "regions"

    def run(self, words: list[str]) -> None:
        if len(words) != 1:
            raise self.usage()
        count = 0
        for region in each(find_space(words[0])["regions"], "struct region", "link"):
            start, length = int(region["start"]), int(region["length"])
            print(
                f"region {int(region['id'])}: {start:#x} .. {start + length:#x} ("
                f"{length >> 20} MiB) {names(region['flags'], REGION_FLAGS)}"
            )
            count += 1
        print(f"{count} regions")


class Map(Command):
    """megalith map PID: what a process has mapped, in the order of addresses."""

    name = "map"

    def run(self, words: list[str]) -> None:
        if len(words) != 1:
            raise self.usage()
        space = find_space(words[0])
        for entry in each(space["entries"], "struct map_entry", "link"):
            start, end, prot = int(entry["start"]), int(entry["end"]), int(entry["prot"])
            rights = "".join(c if prot & bit else "-" for bit, c in ((1, "r"), (2, "w"), (4, "x")))
            kind = entry["ops"]["name"].string() if int(entry["ops"]) else "?"
            print(f"{start:#014x} .. {end:#014x} {rights} {(end - start) >> 10:10} KiB  {kind}")
        counts = space["counts"]
        print(
            f"private pages {int(counts['rss'])}, section pages {int(counts['section_pages'])},"
            f" page-table pages {int(counts['pt_pages'])}, faults {int(counts['faults'])}"
        )


def register() -> None:
    for command in (Sections, Regions, Map):
        command()

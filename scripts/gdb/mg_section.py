"""Global sections, regions, reservations."""

from __future__ import annotations

import gdb
from mg_base import (
    Command,
    NotThere,
    Table,
    bits,
    constant,
    each,
    flags,
    heading,
    text,
    va_text,
    variable,
)
from mg_context import processes, selected_process, space_of

SECTION_FLAGS = flags(
    "SEC$M_", "WRT READ_ONLY_SHPT SHARED_PTS MRES PERM SYSGBL PFNMAP PAGFIL MRES_ALLOC=ALLOC"
)
REGION_FLAGS = flags("VA$M_", "DESCEND PERMANENT SHARED_PTS")
LIFE_PERMANENT = constant("SECTION_PERMANENT")


def sections():
    return each(variable("sections", "mm/section/section.c"), "struct section", "link")


def section_name(section: gdb.Value) -> str:
    return text(section["gsd"]["name"]) if int(section["gsd"]) else "(shared page tables)"


def shares(section: gdb.Value) -> int:
    return int(section["life"]) & (LIFE_PERMANENT - 1)


def pid_of_space(space: int) -> str:
    pids = [str(int(p["pid"])) for p in processes() if int(p["aspace"]) == space]
    return ",".join(pids) or "-"


class ShowSection(Command):
    """sda show section [NAME]: the global sections in the order of their creation; one by name,
    with its page tables, faults and mappings."""

    name = "show section"

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if len(words) > 1:
            raise self.usage()
        if words:
            found = [s for s in sections() if section_name(s) == words[0]]
            if not found:
                raise NotThere(f"there is no section {words[0]}")
            for section in found:
                self.one(section)
            return
        heading("Global sections")
        table = Table(
            ("Name", -24),
            ("GSTE", -17),
            ("Pages", 10),
            ("Valid", 10),
            ("Shares", 6),
            ("Maps", 5),
            ("First PFN", 9),
            ("L3 pages", 8),
            ("Flags", -40),
        )
        count = 0
        for section in sections():
            shpt = section["related"]
            first = int(section["first"]["n"])
            table.row(
                section_name(section),
                va_text(int(section.address)),
                int(section["npages"]),
                int(section["valid_pages"]),
                shares(section),
                int(section["nmaps"]),
                f"{first:08X}" if first else "fluid",
                int(shpt["npages"]) if int(shpt) else "-",
                bits(section["flags"], SECTION_FLAGS),
            )
            count += 1
        print(f"{count} sections")

    def one(self, section: gdb.Value) -> None:
        heading(f"Global section {section_name(section)}")
        gsd, shpt, rmd = section["gsd"], section["related"], section["rmd"]
        first = int(section["first"]["n"])
        permanent = int(section["life"]) & LIFE_PERMANENT
        rows = [
            ("GSTE address", va_text(int(section.address))),
            ("GSD address", va_text(int(gsd)) if int(gsd) else "-"),
            ("Flags", bits(section["flags"], SECTION_FLAGS)),
            (
                "Creator's UIC",
                f"[{int(gsd['creator']['uic_group']):o},{int(gsd['creator']['uic_member']):o}]"
                if int(gsd)
                else "-",
            ),
            ("Protection", f"{int(gsd['prot']):04X}" if int(gsd) else "-"),
            ("Version", f"{int(gsd['ident']):#x}" if int(gsd) else "-"),
            ("Pages", f"{int(section['npages'])}, {int(section['valid_pages'])} valid"),
            ("First PFN", f"{first:08X}" if first else "fluid"),
            ("Reservation", text(rmd["name"]) if int(rmd) else "-"),
            ("Fluid promise", f"{int(section['promised'])} pages"),
            ("Shares", f"{shares(section)}{', permanent' if permanent else ''}"),
        ]
        if int(shpt):
            where = int(shpt["first"]["n"])
            rows += [
                ("SHPT section", va_text(int(shpt))),
                (
                    "Level-3 pages",
                    f"{int(shpt['npages'])}, {int(shpt['valid_pages'])} there"
                    + (f", from PFN {where:08X}" if where else ""),
                ),
                (
                    "Level-2 pages",
                    f"{int(shpt['nupper'])}, first PFN {int(shpt['upper'][0]['n']):08X}",
                ),
                ("Tables of its own", f"{int(shpt['own_pages'])} pages"),
            ]
        counts = section["counts"]
        rows.append(
            (
                "Faults",
                f"made valid {int(counts['made_valid'])}, table picked up "
                f"{int(counts['l3_pickup'])}, raced {int(counts['raced'])}, global valid "
                f"{int(counts['global_valid'])}",
            )
        )
        for title, value in rows:
            print(f"{title:<20}{value}")
        print()
        table = Table(("Mapped at", -17), ("Pid", 6), ("Address space", -17), ("Tables", -8))
        for mapping in each(section["maps"], "struct section_map", "link"):
            space = int(mapping["aspace"])
            table.row(
                va_text(int(mapping["start"])),
                pid_of_space(space),
                va_text(space),
                "shared" if int(mapping["shared"]) else "private",
            )
        print(f"{int(section['nmaps'])} mappings")


class ShowRegion(Command):
    """sda show region [PID]: the regions (RDE) that a process has created in its address space."""

    name = "show region"

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if len(words) > 1:
            raise self.usage()
        process = selected_process(words[0] if words else None)
        space = space_of(process)
        heading(f"Regions of process {int(process['pid'])} {text(process['name'])}")
        table = Table(
            ("Id", 5),
            ("RDE", -17),
            ("First address", -17),
            ("End", -17),
            ("MiB", 10),
            ("Prot", 5),
            ("Flags", -30),
        )
        count = 0
        for region in each(space["regions"], "struct region", "link"):
            start = int(region["start"])
            length = int(region["end"]) - start
            table.row(
                int(region["id"]),
                va_text(int(region.address)),
                va_text(start),
                va_text(start + length),
                length >> 20,
                f"{int(region['prot']):02X}",
                bits(region["flags"], REGION_FLAGS),
            )
            count += 1
        print(f"{count} regions")


RMD_FLAGS = flags(
    "RMD_",
    "ALLOC=ALLOCATE ZERO PAGE_TABLES GROUP SYSGBL NOGLOBAL ZEROED=zeroed FREED=freed "
    "NO_CONTIG=not-contiguous",
)


def reservations():
    return each(variable("rmds", "mm/section/reserved.c"), "struct rmd", "link")


class ShowReserved(Command):
    """sda show reserved: the reserved memory descriptors, largest first, with their stretches."""

    name = "show reserved"

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        heading("Reserved memory descriptors")
        table = Table(
            ("Name", -24),
            ("RMD", -17),
            ("Kind", -10),
            ("Pages", 10),
            ("In use", 10),
            ("First PFN", 9),
            ("Last PFN", 9),
            ("Flags", -40),
        )
        count = 0
        for rmd in reservations():
            pages = int(rmd["npages"])
            stretches = [rmd["extents"][i] for i in range(int(rmd["nextents"]))]
            table.row(
                text(rmd["name"]),
                va_text(int(rmd.address)),
                "data" if stretches else "fluid",
                pages,
                int(rmd["used"]),
                *self.frames(stretches[:1]),
                bits(rmd["flags"], RMD_FLAGS),
            )
            for stretch in stretches[1:]:
                table.row("", "", "  and", "", "", *self.frames([stretch]))
            if int(rmd["npt_pages"]):
                first = int(rmd["pt_first"]["n"])
                n = int(rmd["npt_pages"])
                frames = (f"{first:08X}", f"{first + n - 1:08X}") if first else ("-", "-")
                table.row("", "", "page table", n, int(rmd["pt_used"]), *frames)
            count += 1
        print(f"{count} reservations")

    def frames(self, stretches: list[gdb.Value]) -> tuple[str, str]:
        if not stretches or not int(stretches[0]["first"]["n"]):
            return "-", "-"
        first, pages = int(stretches[0]["first"]["n"]), int(stretches[0]["npages"])
        return f"{first:08X}", f"{first + pages - 1:08X}"


def register() -> None:
    for command in (ShowSection, ShowRegion, ShowReserved):
        command()

"""AUTOGEN: the parameters for a machine, from the size of its memory and the registry, and whether
it could boot with them.

What the kernel finds at boot is computed as the kernel does it: the page at which each thing lies
(kernel/main.c, mm/phys/page_range.c), the fluid pages and what must remain of them
(mm/phys/fluid.c), each entry of the registry, the largest first (mm/section/reserved.c). Two things
are allowed for rather than known: the first pages of the system's own tables and threads, and what
scripts/run adds to the initrd. tests/test_autogen.py boots machines at the limit that this
arithmetic gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from . import params
from .configuration import Configuration
from .errors import SysmanError
from .registry import Reservation

PAGE = 8192
PAGES_PER_MB = (1 << 20) // PAGE
PTES_PER_PAGE = PAGE // 8

TOP = Path(__file__).resolve().parent.parent
KERNEL = TOP / "build/megalith.elf"
INITRD = TOP / "build/initrd.cpio"
# What scripts/run gives a machine with less memory than SMALL_MB: without the test programs, but
# for one that the command names.
SMALL_INITRD = TOP / "build/initrd-small.cpio"
SMALL_MB = 128
# Where nothing has been built: a little more than both have ever been.
KERNEL_MB, INITRD_MB = 1, 40

CONSOLE_PAGES = 15  # PALcode and console of the machine, from PFN 0 on
BOOT_PARAMETER_PAGES = 3  # below the image
DATABASE_ENTRY = 32  # bytes for each page
POOL_SEGMENT_PAGES = 8  # mm/pool/pool_nonpaged.c: the pool grows by segments
POOL_SEGMENT_HEADER = 560  # bytes of each that are not NPAGEDYN's
SYSTEM_PAGES = 32  # the kernel's tables, stacks and threads at that point; at most
INITRD_ALLOWANCE = 2048  # the configuration and the command in the initrd: names and padding

MINIMUM_LEAST, MINIMUM_MOST = 512, 16384  # mm/phys/fluid.c
START_PAGES = 512  # RMD_START_PAGES of mm/section/reserved.h
LEAST_MB = 32  # mm/phys/page_boot.c: PHYSICAL_MEMORY counts as at least this
ALIGNMENT = 512  # of a stretch: as many pages less one may lie idle beside it


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def page_table_pages(npages: int) -> int:
    """Level-3 pages, and the level-2 pages that say where those are."""
    level3 = _ceil(npages, PTES_PER_PAGE)
    return level3 + _ceil(level3, PTES_PER_PAGE)


def entry_pages(entry: Reservation) -> tuple[int, int]:
    """Data and page-table pages that an entry wants."""
    data = entry.total * PAGES_PER_MB
    return data, page_table_pages(data) if entry.page_tables else 0


def parse_memory(text: str) -> int:
    """A size in MB: with K, M, G or T behind it, or without: then it is MB."""
    value = params.parse_number(text)
    if text[-1:].upper() not in ("K", "M", "G", "T"):
        value <<= 20
    if value < 64 << 20 or value > 1000 << 30 or value % (1 << 20):
        raise SysmanError(f"'{text}': memory is 64M to 1000G, in whole MB")
    return value >> 20


@dataclass
class Machine:
    """Memory as the kernel finds it. Sizes of the image and the initrd in bytes."""

    megabytes: int
    image: int
    initrd: int

    @classmethod
    def of(cls, megabytes: int, blob_bytes: int, initrd: int | None = None) -> Machine:
        """initrd: its size if it is not the one that was built."""
        if initrd is None:
            file = INITRD if megabytes >= SMALL_MB else SMALL_INITRD
            built = file.stat().st_size if file.exists() else INITRD_MB << 20
            initrd = built + blob_bytes + INITRD_ALLOWANCE
        return cls(megabytes, _image_bytes(), initrd)


def _image_bytes() -> int:
    if not KERNEL.exists():
        return KERNEL_MB << 20
    from elftools.elf.elffile import ELFFile

    with KERNEL.open("rb") as file:
        segments = [s for s in ELFFile(file).iter_segments() if s["p_type"] == "PT_LOAD"]
        first = min(s["p_vaddr"] for s in segments)
        return max(s["p_vaddr"] + s["p_memsz"] for s in segments) - first


@dataclass
class Memory:
    """Pages: what there is, what is taken before the reservations are made, and what is left."""

    rows: list[tuple[str, int]] = field(default_factory=list)
    managed: int = 0  # those that the PFN database hands out
    fluid: int = 0

    def take(self, pages: int, what: str) -> None:
        self.rows.append((what, -pages))
        self.fluid -= pages


def memory_at_boot(machine: Machine, configuration: Configuration) -> Memory:
    """As kernel/main.c's memory_boot() and what follows it up to the reservations."""

    def value(name: str) -> int:
        return configuration.parameters.get(name, params.find(name).default)

    total = machine.megabytes * PAGES_PER_MB
    memory = Memory([("memory", total)], fluid=total)
    initrd = _ceil(machine.initrd, PAGE)
    image = _ceil(machine.image, PAGE) + BOOT_PARAMETER_PAGES
    end = total - initrd  # QEMU puts the initrd at the top
    memory.take(CONSOLE_PAGES, "PALcode and console")
    memory.take(image, "the kernel's image")
    memory.take(initrd, "initrd")
    limit = value("PHYSICAL_MEMORY")
    if limit >= 0 and max(limit, LEAST_MB) * PAGES_PER_MB < end:
        aside = end - max(limit, LEAST_MB) * PAGES_PER_MB
        end -= aside
        memory.take(aside, "left aside by PHYSICAL_MEMORY")
    if value("MEMORY_HOLES"):
        holes = value("MEMORY_HOLES") * value("MEMORY_HOLE_MB") * PAGES_PER_MB
        memory.take(holes, "MEMORY_HOLES")
    chunks = _ceil(end, PAGE // DATABASE_ENTRY)
    memory.take(chunks + _ceil(_ceil(chunks, 64) * 8, PAGE), "PFN database, an entry for each page")
    memory.managed = memory.fluid
    segments = _ceil(value("NPAGEDYN"), POOL_SEGMENT_PAGES * PAGE - POOL_SEGMENT_HEADER)
    memory.take(segments * POOL_SEGMENT_PAGES, "nonpaged pool: NPAGEDYN")
    memory.take(SYSTEM_PAGES, "tables, stacks and threads of the system, at most")
    return memory


@dataclass
class Result:
    """What AUTOGEN found. The machine boots with this registry when problems is empty."""

    memory: Memory
    remain: int  # fluid pages that reservations must leave
    wanted: int = 0  # by all entries
    left: int = 0  # pages above what must remain; negative: so many are too many
    parameters: list[tuple[str, int, str]] = field(default_factory=list)  # name, value, reason
    entries: list[tuple[Reservation, int, int]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def default_minimum(managed: int) -> int:
    """mm/phys/fluid.c: a 64th of memory within limits."""
    return min(max(managed >> 6, MINIMUM_LEAST), MINIMUM_MOST)


def _clamp(name: str, value: int) -> int:
    p = params.find(name)
    return min(max(value, p.minimum), p.maximum)


def autogen(machine: Machine, configuration: Configuration, least: int = 0) -> Result:
    """The parameters for a machine with this configuration's registry, which is not changed. least:
    the minimum fluid page count that is wanted, if the computed one is below it."""
    bytes_all = machine.megabytes << 20
    trial = Configuration()
    trial.parameters = dict(configuration.parameters)
    pool = _clamp("NPAGEDYN", min((4 << 20) + bytes_all // 1024, 64 << 20, bytes_all // 5))
    trial.parameters["NPAGEDYN"] = pool - pool % PAGE
    memory = memory_at_boot(machine, trial)

    minimum, why = default_minimum(memory.managed), "a 64th of memory, 512 to 16384"
    if least > minimum:
        minimum, why = least, "as /MIN_FLUID wants it"
    result = Result(memory, minimum + START_PAGES)
    _check_registry(result, configuration)

    available = max(memory.fluid - result.wanted, 0)
    sections = _clamp("GBLSECTIONS", 4096 + len(result.entries) + machine.megabytes // 64)
    for_entries = sum(data + 2 for e, data, _ in result.entries if e.global_section)
    add = result.parameters.append
    add(("MIN_FLUID_PAGES", _clamp("MIN_FLUID_PAGES", minimum), why))
    add(("NPAGEDYN", trial.parameters["NPAGEDYN"], "4 MB and a 1024th of memory, at most 64 MB"))
    virtual = _clamp("NPAGEVIR", max(available * PAGE // 2, trial.parameters["NPAGEDYN"]))
    add(("NPAGEVIR", virtual, "half of the memory that is not reserved"))
    paged = _clamp("PAGEDYN", min(max(bytes_all // 64, 16 << 20), 256 << 20, bytes_all // 5))
    add(("PAGEDYN", paged - paged % PAGE, "a 64th of memory, 16 to 256 MB; costs what is used"))
    add(("GBLSECTIONS", sections, "4096, one for each entry and for each 64 MB"))
    pages = _clamp("GBLPAGES", available + 2 * sections + for_entries)
    add(
        (
            "GBLPAGES",
            pages + pages % 2,
            f"{available} pages that are not reserved, 2 for each section, and for each entry its "
            f"pages and 2: {for_entries}",
        )
    )
    add(("GBLPAGFIL", _clamp("GBLPAGFIL", available), "all memory that is not reserved"))
    return result


def _check_registry(result: Result, configuration: Configuration) -> None:
    """mm/section/reserved.c: each entry with its page tables, the largest first, is taken from the
    fluid pages as long as the rest must not fall below what must remain."""
    rads = configuration.parameters.get("RADS", params.find("RADS").default)
    for entry in sorted(configuration.reservations, key=lambda e: -e.total):
        data, tables = entry_pages(entry)
        result.entries.append((entry, data, tables))
        result.wanted += data + tables
        for part in entry.parts:
            if part.rad is not None and part.rad >= rads:
                result.problems.append(
                    f"{entry.name} asks for RAD {part.rad}, but RADS is {rads}: "
                    f"{part.rad - rads + 1} too far"
                )
    result.left = result.memory.fluid - result.remain - result.wanted
    if configuration.parameters.get("STARTUP_P1") == 1:
        result.warnings.append("STARTUP_P1 is MIN: the next boot ignores the registry")
    if result.left < 0:
        over = -result.left
        result.problems.append(
            f"the registry wants {result.wanted} pages, and "
            f"{max(result.memory.fluid - result.remain, 0)} can be reserved: {over} pages "
            f"({over / PAGES_PER_MB:.2f} MB) too many"
        )
    stretches = sum(
        (1 if e.page_tables else 0) + len(e.parts) for e, _, _ in result.entries if e.allocate
    )
    if result.left >= 0 and stretches * (ALIGNMENT - 1) > result.left + result.remain - 512:
        result.warnings.append(
            "so little is left that an entry with /ALLOCATE may find no aligned stretch: it would "
            "be reserved without allocation"
        )

"""AUTOGEN: computes parameters for a machine from the size of its memory and the registry, and
whether the machine could boot with that registry.

It repeats the kernel's arithmetic at boot: the pages of the image, the initrd, the tables of
processes and the PFN database (kernel/main.c, kernel/proc/process.c, mm/phys/page_range.c), the
fluid pages and how many of them must remain (mm/phys/fluid.c), and the entries of the registry, the
largest first (mm/section/reserved.c). For two quantities it uses upper bounds: the pages of the
system's first tables and threads, and the bytes that scripts/run adds to the initrd.
tests/test_autogen.py boots machines at the computed limit.
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
# Sizes that are assumed when nothing has been built: upper bounds.
KERNEL_MB, INITRD_MB = 3, 20

CONSOLE_PAGES = 15  # PALcode and console, from PFN 0 on
BOOT_PARAMETER_PAGES = 3  # below the image
DATABASE_ENTRY = 32  # bytes of the PFN database for each page
CHUNKS_PER_PAGE = 4  # of the database: mm/phys/page_check.h
# The tables of processes: kernel/proc/process.c, numbers.h.
PROCESS_PAGES, PROCESSES_LEAST, PROCESSES_MOST = 16, 2048, 32767
NUMBERS_EACH, NUMBERS_LEAST, NUMBERS_PER_BUCKET = 4, 32768, 8
NUMBER_BYTES, BUCKET_BYTES = 28, 16  # a count, a group with its list; the head of a list
POOL_SEGMENT_PAGES = 8  # mm/pool/pool_nonpaged.c: the pool grows by segments
SYSTEM_PAGES = 32  # upper bound for the kernel's tables, stacks and threads at that point
INITRD_ALLOWANCE = 2048  # headers, names and padding of the files that scripts/run adds

MINIMUM_LEAST, MINIMUM_MOST = 512, 16384  # mm/phys/fluid.c
RESERVE_SHIFT, RESERVE_LEAST, RESERVE_MOST = 5, 512, 8192  # kernel/quota/limits.c
START_PAGES = 512  # RMD_START_PAGES of mm/section/reserved.h
LEAST_MB = 32  # mm/phys/page_boot.c: the least effective value of PHYSICAL_MEMORY
ALIGNMENT = 512  # of contiguous pages: up to one page less may remain unused beside them


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def page_table_pages(npages: int) -> int:
    """The number of level-3 page tables for npages pages, and of level-2 page tables for those."""
    level3 = _ceil(npages, PTES_PER_PAGE)
    return level3 + _ceil(level3, PTES_PER_PAGE)


def entry_pages(entry: Reservation) -> tuple[int, int]:
    """The numbers of data pages and of page-table pages of an entry."""
    data = entry.total * PAGES_PER_MB
    return data, page_table_pages(data) if entry.page_tables else 0


def parse_memory(text: str) -> int:
    """Parses a size of memory with the suffix K, M, G or T, or in MB without one. Returns MB."""
    value = params.parse_number(text)
    if text[-1:].upper() not in ("K", "M", "G", "T"):
        value <<= 20
    if value < 64 << 20 or value > 1000 << 30 or value % (1 << 20):
        raise SysmanError(f"'{text}': memory is 64M to 1000G, in whole MB")
    return value >> 20


@dataclass
class Machine:
    """The memory that the kernel finds. Sizes of the image and the initrd are in bytes."""

    megabytes: int
    image: int
    initrd: int

    @classmethod
    def of(cls, megabytes: int, blob_bytes: int, initrd: int | None = None) -> Machine:
        """initrd: the size of an initrd that is not the one that was built."""
        if initrd is None:
            built = INITRD.stat().st_size if INITRD.exists() else INITRD_MB << 20
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
    """Numbers of pages: all memory, the parts used before the reservations are made, the rest."""

    rows: list[tuple[str, int]] = field(default_factory=list)
    managed: int = 0  # pages that the page allocator manages
    fluid: int = 0

    def take(self, pages: int, what: str) -> None:
        self.rows.append((what, -pages))
        self.fluid -= pages


def process_table_pages(npages: int, limit: int) -> int:
    """As process_table_boot() of kernel/proc/process.c. npages: all that the console leaves to the
    system; limit: MAXPROCESSCNT."""
    if limit < 0:
        limit = min(max(npages // PROCESS_PAGES, PROCESSES_LEAST), PROCESSES_MOST)
    numbers = NUMBERS_LEAST
    while numbers < NUMBERS_EACH * limit:
        numbers *= 2
    return _ceil(numbers * NUMBER_BYTES + numbers // NUMBERS_PER_BUCKET * BUCKET_BYTES, PAGE)


def memory_at_boot(machine: Machine, configuration: Configuration) -> Memory:
    """Follows memory_boot() of kernel/main.c and the code after it up to the reservations."""

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
    tables = process_table_pages(total - CONSOLE_PAGES, value("MAXPROCESSCNT"))
    memory.take(tables, "tables of processes: MAXPROCESSCNT")
    database = _ceil(end, PAGE // DATABASE_ENTRY)
    bitmap = _ceil(_ceil(database * CHUNKS_PER_PAGE, 64) * 8, PAGE)
    memory.take(database + bitmap, "PFN database, an entry for each page")
    memory.managed = memory.fluid
    segments = _ceil(value("NPAGEDYN"), POOL_SEGMENT_PAGES * PAGE)
    memory.take(segments * POOL_SEGMENT_PAGES, "nonpaged pool: NPAGEDYN")
    memory.take(SYSTEM_PAGES, "tables, stacks and threads of the system, at most")
    return memory


@dataclass
class Result:
    """The result of AUTOGEN. The machine boots with this registry if problems is empty."""

    memory: Memory
    remain: int  # fluid pages that must remain after the reservations
    wanted: int = 0  # pages of all entries
    left: int = 0  # fluid pages left in excess of remain; negative: the pages that are missing
    parameters: list[tuple[str, int, str]] = field(default_factory=list)  # name, value, reason
    entries: list[tuple[Reservation, int, int]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def default_minimum(managed: int) -> int:
    """As in mm/phys/fluid.c: a 64th of memory, within limits."""
    return min(max(managed >> 6, MINIMUM_LEAST), MINIMUM_MOST)


def root_reserve(npages: int, parameter: int) -> int:
    """As in kernel/quota/limits.c. npages: as for process_table_pages(); parameter: ROOT_RESERVE"""
    if parameter >= 0:
        return parameter
    return min(max(npages >> RESERVE_SHIFT, RESERVE_LEAST), RESERVE_MOST)


def _clamp(name: str, value: int) -> int:
    p = params.find(name)
    return min(max(value, p.minimum), p.maximum)


def autogen(machine: Machine, configuration: Configuration, least: int = 0) -> Result:
    """Computes the parameters for a machine with this configuration's registry. Does not change the
    configuration. least: a lower bound for the computed minimum fluid page count."""
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
    parameter = configuration.parameters.get("ROOT_RESERVE", params.find("ROOT_RESERVE").default)
    reserve = root_reserve(machine.megabytes * PAGES_PER_MB - CONSOLE_PAGES, parameter)
    if 0 <= result.left < reserve:
        result.warnings.append(
            f"{result.left} pages are left for programs, fewer than ROOT_RESERVE, {reserve}: no "
            "file could be written, and only user 0 could run programs"
        )

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
    """As in mm/section/reserved.c: the entries with their page tables are taken from the fluid
    pages, the largest first, and result.remain pages must be left."""
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

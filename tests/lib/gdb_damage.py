"""Sourced by GDB in test_sda.py, with the machine at its breakpoint: damages the kernel's
structures one at a time, runs the validation, and restores them."""

import gdb
import mg_base
from mg_context import processes
from mg_pfn import PfnDatabase
from mg_pool import GRAIN, Pool
from mg_section import sections

KSEG = mg_base.KSEG
memory = gdb.selected_inferior()


def address(expression: str) -> int:
    return int(gdb.parse_and_eval(f"(unsigned long)&({expression})"))


def quad(at: int) -> int:
    return mg_base.read_quad(at)


def damage(name: str, check: str, at: int, size: int, change) -> None:
    """Changes `size` bytes at an address, validates, and changes them back."""
    before = bytes(memory.read_memory(at, size))
    value = int.from_bytes(before, "little")
    memory.write_memory(at, (change(value) % (1 << 8 * size)).to_bytes(size, "little"))
    print(f"== {name}")
    try:
        gdb.execute(f"sda validate {check}")
    except gdb.error as error:
        print(f"failed: {error}")
    memory.write_memory(at, before)


database = PfnDatabase()
process = next(iter(processes()))
root = int(process["aspace"]["pt"]["root"]["n"])
root_at = KSEG + (root << 13)
page_db = address("page_db[0]")


def entry(pfn: int, offset: int) -> int:
    return page_db + 32 * pfn + offset


def a_private_pte() -> int:
    """Address of a valid level-3 PTE of a private page; fork has moved these pages into objects."""
    for level1 in mg_base.read_page(root)[:16]:
        for level2 in mg_base.read_page(level1 >> 32) if level1 & 1 else ():
            for index, pte in enumerate(mg_base.read_page(level2 >> 32) if level2 & 1 else ()):
                if pte & 1 and database.get(pte >> 32).type == database.types["object"]:
                    return KSEG + (level2 >> 32 << 13) + 8 * index
    raise gdb.GdbError("there is no private page")


caches = [
    int(gdb.parse_and_eval(f"page_caches[0][{r}].{k}")) for r in (0, 1) for k in ("dirty", "zeroed")
]
cached = next(head & (1 << 27) - 1 for head in caches if head >> 27 & 0x7F > 1)
lost = next(
    pfn
    for pfn, e in database
    if e.state == database.states["active"] and pfn > 0x400 and e.type == database.types["system"]
)
pte = a_private_pte()
shared = next(i for i, e in enumerate(mg_base.read_page(root)[:512]) if e & mg_base.PTE_SHPT)
section = next(iter(sections()))
upper = int(section["related"]["upper"][0]["n"])
section_pte = KSEG + (quad(KSEG + (upper << 13)) >> 32 << 13)

nonpaged, paged = Pool("nonpaged"), Pool("paged")
first_free = next(at for at, _ in nonpaged.free_blocks())
packet = next(p for i in range(nonpaged.nlists) for p in nonpaged.packets(i))
in_use = next(at for at, size, kind in paged.blocks() if kind == "in use" and size < 512)
mark = int(gdb.parse_and_eval("(unsigned long)'mm/pool/pool_paged.c'::marks"))
mark += (in_use - paged.origin) // GRAIN

one_more, none, seven = (lambda v: v + 1), (lambda v: 0), (lambda v: 7)
damage("count of a list", "pfn_list", address("rads[0].lists[0].count"), 8, one_more)
damage("state of a cached page", "pfn_list", entry(cached, 24), 1, seven)
damage("link of a cached page", "pfn_list", entry(cached, 0), 4, lambda v: cached)
damage("references of a page table", "pfn_list", entry(root, 16), 4, none)
damage("pages of a range", "pfn_list", address("rads[1].range_pages"), 8, lambda v: v - 1)
damage("a lost page", "pfn_list", entry(lost, 24), 1, lambda v: database.states["unused"])
damage("size of a free block", "pool /nonpaged", first_free + 8, 8, lambda v: v + 16)
damage("order of the free list", "pool /nonpaged", first_free, 8, lambda v: first_free)
damage(
    "bytes of the pool",
    "pool /paged",
    address("'mm/pool/pool_paged.c'::var.bytes"),
    8,
    lambda v: v + 16,
)
damage("mark of a block", "pool /paged", mark, 1, one_more)
damage("seal of a packet", "pool /nonpaged", packet + 8, 8, lambda v: v ^ 4)
damage("link of a packet", "pool /nonpaged", packet, 8, lambda v: first_free + 32 - KSEG >> 4)
damage("start of an area", "pool /paged", int(paged.areas()[0].starts), 8, lambda v: v & ~1)
damage("count of a page table", "page_tables", entry(root, 28), 4, one_more)
damage("frame of a PTE", "page_tables", pte, 8, lambda v: v + (1 << 32))
damage("hint of a PTE", "page_tables", pte, 8, lambda v: v ^ 0x40)
damage("form of a PTE", "page_tables", pte, 8, lambda v: v & ~0x70001 | 2 << 16)
damage("self-map", "page_tables", root_at + 8 * 1023, 8, lambda v: v | 0x10)
damage("shared level-1 PTE", "page_tables", root_at + 8 * shared, 8, lambda v: v + (1 << 32))
damage("system entry", "page_tables", root_at + 8 * 769, 8, lambda v: v | 0x10)
damage("valid pages of a section", "page_tables", int(section["valid_pages"].address), 8, one_more)
damage("PTE of a section", "page_tables", section_pte, 8, lambda v: v + (1 << 32))
print("== mended")
for what in ("pfn_list", "pool", "page_tables"):
    gdb.execute(f"sda validate {what}")

"""A sort with poor locality on a model of a hashed page table: figure 2 of
docs/translation-buffer.md, after table 1 of the VHPT paper.

One boot with --icount runs userland/bench/combinations beside models of one chip with a table of
each of the paper's sizes, on one stream of references. Granularity hints are off, as there are none
in the paper's system.
"""

from __future__ import annotations

from typing import Any

from megalith.bench.figures import Bound, table
from megalith.bench.guest import run_modelled
from megalith.tb import plan, report

Row = dict[str, Any]

CHIP = "21264"  # 128 entries for data, as the paper's machine has
NUMBERS, QUICK_NUMBERS = 42, 20  # 5,245,786 combinations, as the paper; 38,760
# VHPT_SIZE: the CPU seconds that table 1 of the paper reports.
PAPER = {0: 18.17, 1: 18.15, 512: 17.23, 2048: 16.42, 8192: 16.61, 262144: 16.34}
# Its pages of memory beyond the default's, on two CPUs, and its page faults. It prints the first as
# "+32KB".
PAPER_PAGES = {1: 0, 512: 120, 2048: 384, 8192: 2041, 262144: 65591}
PAPER_FAULTS = {0: 30936, 1: 30899, 512: 30894, 2048: 30786, 8192: 30932, 262144: 30894}
PAPER_CPUS = 2
SIZES = (0, 1, 512, 1024, 2048, 4096, 8192, 262144)
# With short entries of 8 bytes, and with chains.
VARIANTS = ("1s", "512s", "1c", "512c")
ENTRY_BYTES, PAGE_BYTES = 32, 8192
# Of the misses that remain beside a table with an entry for each page, software resolves the first
# of each page and those of pages that meet.
SOFTWARE_MOST = 0.2


def execute(numbers: int) -> list[Row]:
    """A row for each size of the table, and each variant."""
    sizes = [*map(str, SIZES), *VARIANTS]
    model = f"{CHIP},hints=off,vhpt={'+'.join(sizes)}"
    (said,), found = run_modelled(model, ["-m", "2G"], ["/bench/combinations", str(numbers)])
    return [row(n, size, said, found) for n, size in enumerate(sizes)]


def row(n: int, text: str, said: dict, found: report.Found) -> Row:
    """What the n-th model counted, with a table of that VHPT_SIZE and variant."""
    size = int(text.rstrip("sc"))
    return {
        "size": size,
        "variant": text.lstrip("0123456789"),
        "chained": found.sum(n, "vhpt_chained"),
        "looked": found.sum(n, "vhpt_looked"),
        "kib": plan.vhpt_kib(size),
        "records": said["records"],
        "bytes": said["bytes"],
        "faults": said["faults"],
        "instructions": found.instructions,
        "misses": found.misses(n),
        "found": found.sum(n, "vhpt_hits"),
        "doubles": found.sum(n, "fetch_doubles") + found.sum(n, "data_doubles"),
        "least": found.sum(n, "least"),
        "most": found.sum(n, "most"),
    }


def largest_needed(rows: list[Row]) -> int:
    """KiB of a table with an entry for each page of the program's data, a power of two: the sizing
    rule of the paper."""
    kib = rows[0]["bytes"] // PAGE_BYTES * ENTRY_BYTES // 1024
    return plan.vhpt_kib(max(kib, 1))


def bounds(rows: list[Row]) -> list[Bound]:
    """Every table resolves as much as the default one, and one as large as the rule says nearly
    everything. So do the variants, which have more entries or more places for a page."""
    variants = [r for r in rows if r.get("variant")]
    rows = plain(rows)
    enough = next(r for r in rows if r["kib"] >= largest_needed(rows))
    left = [(r["misses"] - r["found"]) / r["misses"] for r in rows]
    default = left[SIZES.index(1)]
    same = {r["size"]: share for r, share in zip(rows, left, strict=True)}
    return [
        *(
            Bound(
                f"page tables read, VHPT_SIZE {r['size']}{r['variant']}, at most without",
                (r["misses"] - r["found"] - r["chained"]) / r["misses"],
                same[r["size"]],
                ".4f",
            )
            for r in variants
        ),
        Bound(
            f"misses that software resolves, VHPT_SIZE {enough['size']}",
            (enough["misses"] - enough["found"]) / enough["misses"],
            SOFTWARE_MOST,
            ".3f",
        ),
        *(
            Bound(f"the same, VHPT_SIZE {r['size']}, at most that of 1", share, default, ".4f")
            for r, share in zip(rows, left, strict=True)
            if r["size"] > 1
        ),
    ]


def plain(rows: list[Row]) -> list[Row]:
    return [r for r in rows if not r.get("variant")]


def time_of(r: Row, way: str) -> int:
    """Cycles, if an instruction takes one."""
    return r["instructions"] + r[way]


def hashed_table(rows: list[Row]) -> str:
    default = next(r for r in plain(rows) if r["size"] == 1)
    body = []
    for r in plain(rows):
        relative = (100 * time_of(r, way) / time_of(default, way) for way in ("least", "most"))
        paper = PAPER.get(r["size"])
        body.append(
            [
                f"{r['size']}{' (off)' if not r['size'] else ''}",
                f"{r['kib'] * 1024 // ENTRY_BYTES:,}",
                f"{r['misses']:,}",
                f"{100 * r['found'] / r['misses']:.1f} %",
                f"{r['doubles']:,}",
                f"{r['least'] / 1e6:,.0f} to {r['most'] / 1e6:,.0f}",
                " to ".join(f"{value:.1f} %" for value in relative),
                f"{100 * paper / PAPER[1]:.1f} %" if paper else "",
            ]
        )
    heads = ["VHPT_SIZE", "entries", "misses", "found in the table", "double misses"]
    heads += ["million cycles lost", "time, of VHPT_SIZE 1", "paper, CPU time"]
    return table(heads, body)


def memory_table(rows: list[Row]) -> str:
    """The other columns of table 1: pages of the tables on the paper's two CPUs beyond the default,
    and page faults of the sort."""
    body = []
    for r in (r for r in plain(rows) if r["size"] in PAPER_FAULTS):
        more = (r["kib"] - plan.VHPT_LEAST) * 1024 // PAGE_BYTES * PAPER_CPUS
        theirs = PAPER_PAGES.get(r["size"])
        body.append(
            [
                f"{r['size']}{' (off)' if not r['size'] else ''}",
                f"{more:+,}",
                "+32KB" if theirs is None else f"{theirs:+,}",
                f"{r['faults']:,}",
                f"{PAPER_FAULTS[r['size']]:,}",
            ]
        )
    heads = ["VHPT_SIZE", "pages on two CPUs, beyond those of 1", "paper", "page faults"]
    return table([*heads, "paper"], body)


NAMES = {"s": "entries of 8 bytes", "c": "chains"}


def variants_table(rows: list[Row]) -> str:
    """Each variant below the table of the same size without."""
    body = []
    for r in sorted(rows, key=lambda r: (r["size"], r.get("variant", ""))):
        if r["size"] not in {v["size"] for v in rows if v.get("variant")}:
            continue
        chained = r.get("chained", 0)
        left = r["misses"] - r["found"] - chained
        body.append(
            [
                str(r["size"]),
                NAMES.get(r.get("variant", ""), "as above"),
                f"{100 * r['found'] / r['misses']:.1f} %",
                f"{100 * chained / r['misses']:.1f} %" if chained else "",
                f"{100 * left / r['misses']:.1f} %",
                f"{r['least'] / 1e6:,.0f} to {r['most'] / 1e6:,.0f}",
            ]
        )
    heads = ["VHPT_SIZE", "table", "found by the walker", "in a chain", "page tables read"]
    return table([*heads, "million cycles lost"], body)


def parts(rows: list[Row]) -> dict[str, str]:
    return {
        "tb-hashed": hashed_table(rows),
        "tb-hashed-memory": memory_table(rows),
        "tb-hashed-variants": variants_table(rows),
    }

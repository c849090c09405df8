"""Programs like those of the VHPT paper on a model of a hashed page table, and its rule for the
table's size: an entry for each page of the peak virtual size, rounded to a power of two.

A sort, a writer of records, a query of a cached database, and a sequential array as control
(userland/bench) run in a boot each with --icount, beside a model for each size, on one stream of
references. What counts is what lies between the two times at which the program read the clock.
For docs/translation-buffer.md.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

from megalith.bench.figures import Bound, table
from megalith.bench.guest import BenchError, run_modelled
from megalith.bench.hashed import CHIP, ENTRY_BYTES, PAGE_BYTES
from megalith.tb.report import Clock

Row = dict[str, Any]

# The program, in full and in its quick form. The writer has the paper's 30,000 records, and a heap
# so small that it is collected; the query its 50,000 customers, 200,000 orders and 200,000 items,
# of which it asks for 2,000 customers twenty times, as one time is over before the table has been
# filled.
PROGRAMS = {
    "sort": (["combinations", "27"], ["combinations", "16"]),
    "records": (
        ["records", "30000", "64", "/tmp/records"],
        ["records", "1500", "4", "/tmp/records"],
    ),
    "query": (["queries", "50000", "4", "1", "40000"], ["queries", "10000", "4", "1", "3000"]),
    "array": (["array", "64", "4"], ["array", "16", "1"]),
}
CONTROL, CONTROL_MOST = "array", 3.0  # per cent of time that a table may save there
SIZES = (0, 1, 64, 128, 256, 512, 1024, 2048)
# Seconds with VHPT_SIZE 1 and with 2048 that the paper reports: the writer is a Java application,
# the query runs on Oracle 10g. Of the sort: table 1.
PAPER = {"sort": (18.15, 16.42), "records": (100.918, 95.042), "query": (405.0, 380.0)}
# Two sizes are equal if the time of one is that of the other but for this share.
EQUAL = 0.002


def ends(clock: list[Clock], said: dict) -> tuple[Clock, Clock]:
    """What the models had counted when the program began and ended: readings of the clock that
    follow another at the program's distance (userland/bench/work.h)."""
    last = [b for a, b in pairwise(clock) if b.instructions - a.instructions == said["step"]]
    took = said["end"] - said["begin"]
    for begin, end in combinations(last, 2):
        if end.instructions - begin.instructions == took:
            return begin, end
    raise BenchError("the clock that the program read is not the one that the model saw")


def run(name: str, quick: bool) -> list[Row]:
    """A row for each size."""
    model = f"{CHIP},hints=off,vhpt={'+'.join(map(str, SIZES))}"
    program, *words = PROGRAMS[name][quick]
    (said,), found = run_modelled(model, ["-m", "1G"], [f"/bench/{program}", *words])
    begin, end = ends(found.clock, said)
    return [
        {
            "program": name,
            "size": size,
            "peak": said["peak"],
            "instructions": end.instructions - begin.instructions,
            "references": end.accesses - begin.accesses,
            "misses": end.all[n] - begin.all[n],
            "found": end.found[n] - begin.found[n],
            "least": end.least[n] - begin.least[n],
            "most": end.most[n] - begin.most[n],
        }
        for n, size in enumerate(SIZES)
    ]


def execute(quick: bool) -> list[Row]:
    return [row for name in PROGRAMS for row in run(name, quick)]


def pick(rows: list[Row], program: str) -> dict[int, Row]:
    return {r["size"]: r for r in rows if r["program"] == program}


def time_of(r: Row, way: str) -> int:
    """Cycles, if an instruction takes one."""
    return r["instructions"] + r[way]


def rule(r: Row) -> float:
    """KiB of an entry for each page of the peak virtual size."""
    return r["peak"] / PAGE_BYTES * ENTRY_BYTES / 1024


def candidates(r: Row) -> tuple[int, int]:
    """The powers of two below and above what the rule says, from the smallest table on."""
    upper = 32
    while upper < rule(r):
        upper *= 2
    return max(upper // 2, 32), upper


def optimum(rows: list[Row], program: str, way: str) -> int:
    """KiB of the smallest table with which the program takes no longer than with any; 0: none."""
    of = pick(rows, program)
    best = min(time_of(r, way) for r in of.values())
    size = min(s for s, r in of.items() if time_of(r, way) <= best * (1 + EQUAL))
    return 32 if size == 1 else size


def gain(rows: list[Row], program: str, way: str) -> float:
    """Per cent of the time with VHPT_SIZE 1 that the largest table saves."""
    of = pick(rows, program)
    return 100 * (1 - time_of(of[SIZES[-1]], way) / time_of(of[1], way))


def left(r: Row) -> float:
    """Of the misses, those that software resolves."""
    return (r["misses"] - r["found"]) / max(r["misses"], 1)


def bounds(rows: list[Row]) -> list[Bound]:
    """A larger table never leaves more to software, and in the control no table saves anything that
    could be seen."""
    checked = []
    for program in PROGRAMS:
        of = pick(rows, program)
        checked += [
            Bound(
                f"{program}: left to software, VHPT_SIZE {large}, at most that of {small}",
                left(of[large]),
                left(of[small]) + 0.001,
                ".4f",
            )
            for small, large in zip(SIZES[1:], SIZES[2:])
        ]
    checked.append(
        Bound("array: % of time that a table saves", gain(rows, CONTROL, "most"), CONTROL_MOST)
    )
    return checked


def kib(size: int) -> str:
    return f"{size} KiB" if size else "none"


def span(values: tuple[float, float], form: str, unit: str = "") -> str:
    texts = [f"{value:{form}}" for value in values]
    return f"{texts[0]}{unit}" if texts[0] == texts[1] else f"{' to '.join(texts)}{unit}"


def sizing_table(rows: list[Row]) -> str:
    body = []
    for program in PROGRAMS:
        r = pick(rows, program)[1]
        low, high = candidates(r)
        least, most = (optimum(rows, program, way) for way in ("least", "most"))
        paper = PAPER.get(program)
        body.append(
            [
                program,
                f"{r['peak'] >> 20:,} MiB",
                f"{1000 * r['misses'] / r['instructions']:.2f}",
                f"{rule(r):,.0f} KiB: {low} or {high}",
                kib(least) if least == most else f"{kib(least)}, {kib(most)}",
                span((gain(rows, program, "least"), gain(rows, program, "most")), ".1f", " %"),
                f"{100 * (1 - paper[1] / paper[0]):.1f} %" if paper else "",
            ]
        )
    heads = ["program", "peak virtual size", "misses of 1,000 instructions", "the rule"]
    return table([*heads, "optimum", "VHPT_SIZE 2048 saves, of 1", "paper"], body)


def sizes_table(rows: list[Row]) -> str:
    """What software resolves and the time, by size."""
    body = []
    for size in SIZES:
        cells = [f"{size}{' (off)' if size == 0 else ''}"]
        for program in PROGRAMS:
            of = pick(rows, program)
            times = tuple(100 * time_of(of[size], w) / time_of(of[1], w) for w in ("least", "most"))
            cells += [f"{100 * left(of[size]):.1f} %", span(times, ".1f", " %")]
        body.append(cells)
    heads = [h for p in PROGRAMS for h in (f"{p}: left to software", "time, of VHPT_SIZE 1")]
    return table(["VHPT_SIZE", *heads], body)


def parts(rows: list[Row]) -> dict[str, str]:
    return {"tb-sizing": sizing_table(rows), "tb-sizes": sizes_table(rows)}

"""Which kinds of memory miss in real programs, beside models with and without granularity hints:
what further hints of the kernel could spare. For docs/translation-buffer.md.

Each program runs in a boot of its own with --icount. A kind has what misses on single pages, so the
most that larger blocks for it could save is all of its misses. Stacks are private memory like
heaps: a second boot of each program tells them apart by their addresses.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from megalith.bench.figures import Bound, table
from megalith.bench.guest import run_counted
from megalith.run.paths import KERNEL
from megalith.tb import plan, report, tbmap

Row = dict[str, Any]

MODELS = "all,hints=both"
RANDOM = "BEGIN{srand(1);for(i=0;i<@;i++)print int(rand()*1e7)}"
# By name, the command; @ is how much it does, of which the last has a part.
PROGRAMS = {
    "shell": "i=0; while [ $i -lt @ ]; do i=$((i+1)); done",
    "awk": f"awk '{RANDOM}' >/tmp/n; "
    "awk '{a[$1%50000]+=$1} END{for(k in a)n++; print n}' /tmp/n",
    "sort": f"awk '{RANDOM}' >/tmp/n; sort -n /tmp/n >/tmp/s; tail -n 1 /tmp/s",
    "pipelines": "i=0; while [ $i -lt $((@/20)) ]; do /bin/echo $i | /bin/cat >/tmp/x; "
    "i=$((i+1)); done",
}
WORK, QUICK_WORK = 20_000, 500
FEW = 1000  # misses whose kinds say nothing
STACKS = range((1 << 31) - (1 << 26), 1 << 31)  # addresses below LAYOUT_P1_TOP
STACKS_CHIP = "21164"


@cache
def names() -> dict[int, str]:
    types = plan.page_types(KERNEL)
    return {number: report.KINDS.get(name, name) for name, number in types.items()}


def kind_of(origin: dict) -> str:
    kind = names()[origin["kind"]]
    if kind in ("kernel", "kernel stacks", "page tables", "shared page tables"):
        return kind
    return f"{kind}, {report.STREAMS[origin['stream']]}"


def by_kind(found: report.Found, model: int) -> dict[str, int]:
    """Misses of the model by kind of page."""
    counts: dict[str, int] = {}
    for origin in found.origins:
        kind = kind_of(origin)
        counts[kind] = counts.get(kind, 0) + origin["misses"][model]
    return counts


def run(program: str, work: int) -> list[Row]:
    """A row for each model: totals, and misses by kind."""
    text = PROGRAMS[program].replace("@", str(work))
    found = run_counted(MODELS, ["-m", "512M"], ["/bin/sh", "-e", "-c", text])
    rows = []
    for n, (chip, hint, _, _) in enumerate(plan.parse(MODELS).models):
        rows.append(
            {
                "program": program,
                "chip": chip,
                "hints": hint > 0,
                "work": work,
                "instructions": found.instructions,
                "misses": found.misses(n),
                "doubles": found.sum(n, "fetch_doubles") + found.sum(n, "data_doubles"),
                "least": found.sum(n, "least"),
                "most": found.sum(n, "most"),
                "kinds": by_kind(found, n),
            }
        )
    return rows


def run_stacks(program: str, work: int) -> Row:
    """Misses of private memory, and those of them that are on user stacks."""
    text = PROGRAMS[program].replace("@", str(work))
    with tempfile.TemporaryDirectory(prefix="megalith-tb-") as folder:
        counts = Path(folder) / "counts"
        model = f"{STACKS_CHIP},pages=on"
        run_counted(model, ["-m", "512M"], ["/bin/sh", "-e", "-c", text], counts)
        areas = [a for a in tbmap.read(counts).areas if a.kind == "private memory"]
    return {
        "program": program,
        "chip": STACKS_CHIP,
        "private": sum(a.misses for a in areas),
        "stacks": sum(
            sum(slices.values())
            for a in areas
            for page, slices in a.blocks.items()
            if page * tbmap.PAGE_SIZE in STACKS
        ),
    }


def execute(work: int) -> tuple[list[Row], list[Row]]:
    """Rows of programs, and of their stacks."""
    rows = [row for program in PROGRAMS for row in run(program, work)]
    return rows, [run_stacks(program, work) for program in PROGRAMS]


def bounds(rows: list[Row]) -> list[Bound]:
    """The kinds have all misses."""
    lost = max(abs(r["misses"] - sum(r["kinds"].values())) for r in rows)
    return [Bound("misses of programs without a kind of page", lost, 0)]


def programs_table(rows: list[Row]) -> str:
    without = {(r["program"], r["chip"]): r for r in rows if not r["hints"]}
    body = [
        [
            r["program"],
            r["chip"],
            f"{r['misses']:,}",
            f"{without[r['program'], r['chip']]['misses']:,}",
            f"{1000 * r['misses'] / r['instructions']:.3f}",
            f"{r['doubles']:,}",
            f"{100 * r['least'] / r['instructions']:.1f} to "
            f"{100 * r['most'] / r['instructions']:.1f}",
        ]
        for r in rows
        if r["hints"]
    ]
    heads = ["program", "chip", "misses", "without hints", "of 1,000 instructions", "double"]
    return table([*heads, "cycles lost of 100 instructions"], body)


def kinds_table(rows: list[Row]) -> str:
    """Shares of the misses by kind, of each program and chip with hints where there are many."""
    chosen = [r for r in rows if r["hints"] and r["misses"] > FEW]
    kinds = sorted({k for r in chosen for k, n in r["kinds"].items() if n})
    body = [
        [kind, *(f"{100 * r['kinds'].get(kind, 0) / max(r['misses'], 1):.1f} %" for r in chosen)]
        for kind in kinds
    ]
    return table(["kind of page", *(f"{r['program']}, {r['chip']}" for r in chosen)], body)


def stacks_table(rows: list[Row]) -> str:
    body = [
        [
            r["program"],
            f"{r['private']:,}",
            f"{r['stacks']:,}",
            f"{100 * r['stacks'] / max(r['private'], 1):.1f} %",
        ]
        for r in rows
    ]
    heads = [f"program, {STACKS_CHIP}", "misses of private memory", "on stacks", "share"]
    return table(heads, body)


def parts(rows: list[Row], stacks: list[Row]) -> dict[str, str]:
    return {
        "tb-programs": programs_table(rows),
        "tb-kinds": kinds_table(rows),
        "tb-stacks": stacks_table(stacks),
    }

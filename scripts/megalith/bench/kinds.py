"""Which kinds of memory miss in real programs, beside models with and without granularity hints:
what further hints of the kernel could spare. For docs/translation-buffer.md.

Each program runs in a boot of its own with --icount. A kind has what misses on single pages, so the
most that larger blocks for it could save is all of its misses.
"""

from __future__ import annotations

from typing import Any

from megalith.bench.figures import Bound, table
from megalith.bench.guest import run_counted
from megalith.run.paths import KERNEL
from megalith.tb import plan, report

Row = dict[str, Any]

MODELS = "all,hints=both"
RANDOM = "BEGIN{srand(1);for(i=0;i<@;i++)print int(rand()*1e7)}"
# By name, the command; @ is how much it does.
PROGRAMS = {
    "shell": "i=0; while [ $i -lt @ ]; do i=$((i+1)); done",
    "awk": f"awk '{RANDOM}' >/tmp/n; "
    "awk '{a[$1%50000]+=$1} END{for(k in a)n++; print n}' /tmp/n",
    "sort": f"awk '{RANDOM}' >/tmp/n; sort -n /tmp/n >/tmp/s; tail -n 1 /tmp/s",
}
WORK, QUICK_WORK = 20_000, 500
FEW = 1000  # misses whose kinds say nothing


def kind_of(origin: dict, names: dict[int, str]) -> str:
    kind = names[origin["kind"]]
    if kind in ("kernel", "kernel stacks", "page tables", "shared page tables"):
        return kind
    return f"{kind}, {report.STREAMS[origin['stream']]}"


def run(program: str, work: int) -> list[Row]:
    """A row for each model: totals, and misses by kind."""
    text = PROGRAMS[program].replace("@", str(work))
    found = run_counted(MODELS, ["-m", "512M"], ["/bin/sh", "-e", "-c", text])
    types = plan.page_types(KERNEL)
    names = {number: report.KINDS.get(name, name) for name, number in types.items()}
    rows = []
    for n, (chip, hint, _, _) in enumerate(plan.parse(MODELS).models):
        by_kind: dict[str, int] = {}
        for origin in found.origins:
            kind = kind_of(origin, names)
            by_kind[kind] = by_kind.get(kind, 0) + origin["misses"][n]
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
                "kinds": by_kind,
            }
        )
    return rows


def execute(work: int) -> list[Row]:
    return [row for program in PROGRAMS for row in run(program, work)]


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
    """Shares of the misses by kind, of each program and chip with hints."""
    chosen = [r for r in rows if r["hints"] and r["misses"] > FEW]
    kinds = sorted({k for r in chosen for k, n in r["kinds"].items() if n})
    body = [
        [kind, *(f"{100 * r['kinds'].get(kind, 0) / max(r['misses'], 1):.1f} %" for r in chosen)]
        for kind in kinds
    ]
    return table(["kind of page", *(f"{r['program']}, {r['chip']}" for r in chosen)], body)


def parts(rows: list[Row]) -> dict[str, str]:
    return {"tb-programs": programs_table(rows), "tb-kinds": kinds_table(rows)}

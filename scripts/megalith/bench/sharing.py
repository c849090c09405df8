"""What shared page tables save in translation buffers: servers on one section, with shared and with
private tables, beside models of the chips with and without granularity hints.

Each process of userland/bench/startup --populate reads every page of the section once. A page of
PTEs is mapped in page-table space too; shared ones lie in blocks, whose hints in level-2 PTEs let
one entry map many of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from megalith.bench.figures import Bound, table
from megalith.bench.guest import run_modelled
from megalith.tb import plan, report

Row = dict[str, Any]

MIB, PROCESSES = 1024, 20
QUICK_MIB, QUICK_PROCESSES = 128, 4
SERVERS, CUSTOMERS, QUERIES = 4, 100_000, 5_000
QUICK_CUSTOMERS, QUICK_QUERIES = 4_000, 300
MODELS = "all,hints=both"
# Double misses with shared tables, of those with private ones, both with hints. They are left to
# other memory than the section's.
DOUBLES_MOST = 0.5


def run(mib: int, processes: int, shared: bool) -> report.Found:
    tables = "PAGE_TABLES" if shared else "NOPAGE_TABLES"
    machine = ["-m", f"{mib + 1024}M", "--reserve", f"S {mib} /ALLOCATE /ZERO /{tables}"]
    command = ["/bench/startup", "--name", "S", "--size", f"{mib}M"]
    command += ["--processes", str(processes), "--populate", *([] if shared else ["--private"])]
    return run_modelled(MODELS, machine, command)[1]


def execute(mib: int, processes: int) -> list[Row]:
    """A row for each chip, hint and kind of page tables: counts of the whole run, and of references
    to the section."""
    return rows_of(lambda shared: run(mib, processes, shared), {"mib": mib, "processes": processes})


def run_servers(customers: int, queries: int, shared: bool) -> report.Found:
    """Processes that ask questions of one database, which lies in the section S (16 MiB for 10,000
    customers)."""
    mib = customers * 16 // 10_000 + 8
    tables = "PAGE_TABLES" if shared else "NOPAGE_TABLES"
    machine = ["-m", f"{mib + 512}M", "--reserve", f"S {mib} /ALLOCATE /ZERO /{tables}"]
    words = [str(customers), "4", "1", str(queries), "S", "shared" if shared else "private"]
    return run_modelled(MODELS, machine, ["/bench/queries", *words, str(SERVERS)])[1]


def execute_servers(customers: int, queries: int) -> list[Row]:
    return rows_of(
        lambda shared: run_servers(customers, queries, shared),
        {"customers": customers, "queries": queries},
    )


def rows_of(run_one: Callable[[bool], report.Found], case: dict[str, int]) -> list[Row]:
    """Rows of a run with shared and of one with private page tables."""
    rows = []
    for shared in (True, False):
        found = run_one(shared)
        section = [o for o in found.origins if o["section"] == "S"]
        for n, (chip, hint, _, _) in enumerate(plan.parse(MODELS).models):
            rows.append(
                {
                    "chip": chip,
                    "hints": hint > 0,
                    "shared": shared,
                    **case,
                    "misses": found.misses(n),
                    "doubles": found.sum(n, "fetch_doubles") + found.sum(n, "data_doubles"),
                    "section_misses": sum(o["misses"][n] for o in section),
                    "section_doubles": sum(o["doubles"][n] for o in section),
                    "least": found.sum(n, "least"),
                    "most": found.sum(n, "most"),
                }
            )
    return rows


def pick(rows: list[Row], chip: str, hints: bool, shared: bool) -> Row:
    want = (chip, hints, shared)
    return next(r for r in rows if (r["chip"], r["hints"], r["shared"]) == want)


def bounds(rows: list[Row]) -> list[Bound]:
    checked = []
    for chip in plan.CHIPS:
        ours, private = (pick(rows, chip, True, shared) for shared in (True, False))
        share = ours["section_doubles"] / max(private["section_doubles"], 1)
        what = f"{chip}: double misses of a section, shared tables, of those with private ones"
        checked.append(Bound(what, share, DOUBLES_MOST, ".3f"))
    return checked


def sharing_table(rows: list[Row]) -> str:
    body = []
    for chip in plan.CHIPS:
        for hints in (True, False):
            for shared in (True, False):
                r = pick(rows, chip, hints, shared)
                body.append(
                    [
                        chip,
                        "on" if hints else "off",
                        "shared" if shared else "private",
                        f"{r['section_misses']:,}",
                        f"{r['section_doubles']:,}",
                        f"{r['misses']:,}",
                        f"{r['doubles']:,}",
                        f"{r['least'] / 1e6:,.2f} to {r['most'] / 1e6:,.2f}",
                    ]
                )
    heads = ["chip", "hints", "tables", "section: misses", "double", "all: misses", "double"]
    return table([*heads, "million cycles lost"], body)


def parts(rows: list[Row], servers: list[Row]) -> dict[str, str]:
    return {"tb-sharing": sharing_table(rows), "tb-servers": sharing_table(servers)}

"""PostgreSQL beside models of the chips, with shared memory of huge pages, whose page tables its
servers share, and without: what hints and shared tables spare a database. For
docs/translation-buffer.md.

Each case runs twice in a boot of its own with --icount, once without a transaction: the difference
is what transactions cost. The script is tests/programs/postgresql/reads.sh.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from megalith.bench import kinds
from megalith.bench.figures import Bound, table
from megalith.bench.guest import run_counted
from megalith.tb import plan, report
from megalith.verify import programs

Row = dict[str, Any]

MODELS = "all,hints=both,asn=both"
CLIENTS, TRANSACTIONS = 4, 1000  # of each client
HUGE_PAGES = 28  # of 4 MiB
MEMORY = ("huge pages", "pages")
COUNTS = ("instructions", "fetch_misses", "data_misses", "fetch_doubles", "data_doubles")
COUNTS += ("least", "most")


def run(memory: str, transactions: int) -> report.Found:
    recipe = programs.recipes()["postgresql"]
    made = programs.built(recipe)
    busybox = programs.built(programs.recipes()["busybox"])
    files = programs.files_below(made) | programs.files_below(busybox)
    files |= {name: recipe.folder / name for name in ("server.sh", "reads.sh")}
    machine = ["-m", "1G", "--set", f"NR_HUGEPAGES={HUGE_PAGES}"]
    for name, path in files.items():
        if not name.startswith("regress/"):
            machine += ["--add", f"{path}:/{name}"]
    words = [f"HUGE={'on' if memory == 'huge pages' else 'off'}", f"TRANSACTIONS={transactions}"]
    return run_counted(MODELS, machine, ["./busybox", "env", *words, "./busybox", "sh", "reads.sh"])


def execute(tell: Callable[[str], None]) -> list[Row]:
    """A row for each kind of memory and model: counts of all transactions."""
    rows = []
    cases = [(memory, times) for memory in MEMORY for times in (0, TRANSACTIONS)]
    tell(f"PostgreSQL, {len(cases)} boots, several at a time")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = dict(zip(cases, pool.map(lambda case: run(*case), cases), strict=True))
    for memory in MEMORY:
        without, found = counts[memory, 0], counts[memory, TRANSACTIONS]
        for n, (chip, hint, numbers, _) in enumerate(plan.parse(MODELS).models):
            before, after = kinds.by_kind(without, n), kinds.by_kind(found, n)
            count = {
                name: found.sum(n, name) - without.sum(n, name)
                for name in COUNTS
                if name != "instructions"
            }
            rows.append(
                {
                    "memory": memory,
                    "chip": chip,
                    "hints": hint > 0,
                    "numbers": bool(numbers),
                    "transactions": CLIENTS * TRANSACTIONS,
                    "instructions": found.instructions - without.instructions,
                    **count,
                    "kinds": {kind: n - before.get(kind, 0) for kind, n in after.items()},
                }
            )
    return rows


def pick(rows: list[Row], memory: str, chip: str, hints: bool, numbers: bool = True) -> Row:
    want = (memory, chip, hints, numbers)
    keys = ("memory", "chip", "hints", "numbers")
    return next(r for r in rows if tuple(r[k] for k in keys) == want)


def bounds(rows: list[Row]) -> list[Bound]:
    """Hints of the buffers never add misses of data."""
    return [
        Bound(
            f"PostgreSQL, {chip}: misses of data with huge pages and hints, of those without hints",
            pick(rows, "huge pages", chip, True)["data_misses"]
            / pick(rows, "huge pages", chip, False)["data_misses"],
            1.0,
            ".3f",
        )
        for chip in plan.CHIPS
    ]


def database_table(rows: list[Row]) -> str:
    """For each transaction."""
    body = []
    for chip in plan.CHIPS:
        for memory, hints in (("huge pages", True), ("huge pages", False), ("pages", True)):
            r = pick(rows, memory, chip, hints)
            each = {name: r[name] / r["transactions"] for name in COUNTS}
            body.append(
                [
                    chip,
                    memory + ("" if hints or memory == "pages" else ", no hints"),
                    f"{each['instructions']:,.0f}",
                    f"{each['fetch_misses']:,.1f}",
                    f"{each['data_misses']:,.1f}",
                    f"{each['fetch_doubles'] + each['data_doubles']:,.1f}",
                    f"{each['least']:,.0f} to {each['most']:,.0f}",
                ]
            )
    heads = ["chip", "shared memory", "instructions", "misses: code", "data", "double"]
    return table([*heads, "cycles lost"], body)


def kinds_table(rows: list[Row]) -> str:
    """Misses of a transaction by kind of page, with hints."""
    cases = [(memory, chip) for memory in MEMORY for chip in plan.CHIPS]
    chosen = [pick(rows, memory, chip, True) for memory, chip in cases]
    names = sorted({k for r in chosen for k, n in r["kinds"].items() if n})
    body = [
        [name, *(f"{r['kinds'].get(name, 0) / r['transactions']:,.1f}" for r in chosen)]
        for name in names
    ]
    return table(["kind of page", *(f"{memory}, {chip}" for memory, chip in cases)], body)


def numbers_table(rows: list[Row]) -> str:
    """What address space numbers spare beside a flush at each switch; huge pages and hints."""
    body = []
    for chip in plan.CHIPS:
        cells = [chip]
        for numbers in (True, False):
            r = pick(rows, "huge pages", chip, True, numbers)
            each = {name: r[name] / r["transactions"] for name in COUNTS}
            cells += [
                f"{each['fetch_misses'] + each['data_misses']:,.1f}",
                f"{each['least']:,.0f} to {each['most']:,.0f}",
            ]
        body.append(cells)
    heads = ["chip", "misses: with numbers", "cycles lost", "with a flush at each switch"]
    return table([*heads, "cycles lost"], body)


def parts(rows: list[Row]) -> dict[str, str]:
    return {
        "tb-database": database_table(rows),
        "tb-database-kinds": kinds_table(rows),
        "tb-database-numbers": numbers_table(rows),
    }

"""Tables made from the rows, and the bounds that make bench asserts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from megalith.bench.cases import GIB, LARGE_GIB, SMALL_GIB, SPARSE_GIB

Row = dict[str, Any]

PAGE = 8192
GROWTH_MOST = 1.05  # a process's start-up, from the smallest to the largest ALLOC section
OWN_TABLES_MOST = 2  # page-table pages that a process owns for a section with shared tables
CHUNK_NS = 3_000  # the longest operation under a lock: initialising entries of the PFN database
# No shared lock is held for longer than this while servers start, delete their mappings and exit,
# whatever the size and their number. A chunk is initialised under the lock of the page lists, and
# also under that of the pool when the pool has to grow.
HOLD_MOST_NS = 2 * CHUNK_NS
# Locks of a single process, or part of the benchmark itself: the gates.
OWN_LOCKS = {"aspace", "pipe", "pipe read", "pipe write"}


def kind(row: Row) -> str:
    """shared, private (both ALLOC), fluid, or fluid with private tables."""
    name = row["section"].split("_")[0].lower()
    return "fluid, private tables" if name == "fluid" and row.get("private") else name


def gib(row: Row) -> float:
    return row["bytes"] / GIB


def label(size: float) -> str:
    """In GiB where that is a short number, else in MiB."""
    return f"{size:g} GiB" if size * 2 == int(size * 2) else f"{size * 1024:,.0f} MiB"


def pick(rows: list[Row], case: str, *kinds: str, cpus: int = 1, report: str = "servers") -> list:
    return [
        row
        for row in rows
        if row["case"] == case
        and row["report"] == report
        and row["cpus"] == cpus
        and (not kinds or kind(row) in kinds)
    ]


def sizes(rows: list[Row]) -> list[float]:
    return sorted({gib(row) for row in rows})


# ---- figure 4 ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tables:
    """Page-table memory of a number of processes."""

    processes: int
    pages: int
    measured: bool

    @property
    def mib(self) -> float:
        return self.pages * PAGE / (1 << 20)


def page_tables(rows: list[Row], size: float, wanted: str) -> dict[int, Tables]:
    """By number of processes. Figures that were too large to be measured are the pages of each
    process at the largest measured number, times the number of processes, and are marked."""
    found = [r for r in pick(rows, "fig4", wanted) if gib(r) == size]
    everybody = {r["processes"] for r in pick(rows, "fig4") if gib(r) == size}
    tables = {
        r["processes"]: Tables(
            r["processes"],
            r["pt_pages_all"] + (r["pt_pages_section"] if wanted != "private" else 0),
            True,
        )
        for r in found
    }
    if wanted == "private" and found:
        largest = max(found, key=lambda r: r["processes"])
        each = largest["pt_pages_all"] / largest["processes"]
        for n in everybody - set(tables):
            tables[n] = Tables(n, round(each * n), False)
    return dict(sorted(tables.items()))


# ---- locks ---------------------------------------------------------------------------------------


def lock_rows(rows: list[Row], cpus: int, *kinds: str) -> list[Row]:
    return pick(rows, "locks", *kinds, cpus=cpus, report="lock")


def longest_holds(rows: list[Row], *kinds: str) -> dict[tuple[str, str], dict[tuple, int]]:
    """For each lock (kind, name): by (GiB, processes), the longest hold in any phase."""
    holds: dict[tuple[str, str], dict[tuple, int]] = {}
    for r in lock_rows(rows, 1, *kinds):
        of = holds.setdefault((r["kind"], r["name"]), {})
        where = (gib(r), r["processes"])
        of[where] = max(of.get(where, 0), r["longest_ns"])
    return holds


# ---- bounds --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bound:
    what: str
    value: float
    most: float
    form: str = ",.0f"

    @property
    def kept(self) -> bool:
        return self.value <= self.most


def growth(rows: list[Row]) -> float:
    found = sorted(pick(rows, "fig9", "shared"), key=gib)
    return found[-1]["startup_ns"] / found[0]["startup_ns"]


def bounds(rows: list[Row]) -> list[Bound]:
    found = sorted(pick(rows, "fig9", "shared"), key=gib)
    first, last = gib(found[0]), gib(found[-1])
    result = [
        Bound(
            f"start-up of {found[0]['processes']} processes at {label(last)} over that at "
            f"{label(first)}, shared tables",
            growth(rows),
            GROWTH_MOST,
            ".3f",
        ),
        Bound(
            "page-table pages that a process owns for a section with shared tables",
            max(r["pt_pages_used"] for r in rows if r["report"] == "servers" and not r["private"]),
            OWN_TABLES_MOST,
        ),
    ]
    for (what, name), by_place in sorted(longest_holds(rows, "shared", "fluid").items()):
        if name in OWN_LOCKS:
            continue
        (size, processes), longest = max(by_place.items(), key=lambda item: item[1])
        result.append(
            Bound(
                f"longest hold of {what} {name}, shared tables ({label(size)}, {processes})",
                longest,
                HOLD_MOST_NS,
            )
        )
    return result


# ---- tables --------------------------------------------------------------------------------------


def table(head: list[str], lines: list[list[str]]) -> str:
    marks = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, marks, *lines])


def millions(ns: float) -> str:
    return f"{ns / 1e6:,.1f}"


def fig4_table(rows: list[Row], of: list[float], wanted: tuple[str, ...]) -> str:
    head, columns = ["processes"], []
    for size in of:
        for k in wanted:
            tables = page_tables(rows, size, k)
            if tables:
                head.append(f"{label(size)}, {k}")
                columns.append(tables)
    counts = sorted({n for column in columns for n in column})
    lines = []
    for n in counts:
        line = [f"{n:,}"]
        for column in columns:
            t = column.get(n)
            line.append("" if t is None else f"{t.mib:,.1f}" + ("" if t.measured else " *"))
        lines.append(line)
    return table(head, lines)


def fig8_table(rows: list[Row], size: float) -> str:
    found = [r for r in pick(rows, "fig8", "shared", "fluid") if gib(r) == size]
    lines = [
        [
            f"{r['processes']:,}",
            millions(r["startup_ns"]),
            f"{r['startup_ns'] / r['processes']:,.0f}",
            f"{r['map_ns']:,}",
            millions(r["shutdown_ns"]),
            f"{r['shutdown_ns'] / r['processes']:,.0f}",
        ]
        for r in found
    ]
    head = ["processes", "start-up", "each", "of it region and mapping", "shut-down", "each"]
    return table(head, lines)


def fig9_table(rows: list[Row]) -> str:
    shared = {gib(r): r for r in pick(rows, "fig9", "shared")}
    private = {gib(r): r for r in pick(rows, "fig9", "private")}
    lines = []
    for size, s in sorted(shared.items()):
        line = [f"{size:g}"]
        p = private.get(size)
        for key in ("startup_ns", "shutdown_ns"):
            line += [millions(s[key])]
            line += [millions(p[key]), f"{p[key] / s[key]:.1f}"] if p else ["", ""]
        lines.append(line)
    head = ["GiB", "start-up, shared", "private", "ratio", "shut-down, shared", "private", "ratio"]
    return table(head, lines)


def large_table(rows: list[Row], case: str) -> str:
    lines = [
        [
            f"{label(gib(r))}, {kind(r)}",
            f"{r['processes']}",
            millions(r["startup_ns"]),
            f"{r['startup_ns'] / r['processes']:,.0f}",
            millions(r["shutdown_ns"]),
            f"{r['pt_pages_used']:,}",
        ]
        for r in pick(rows, case)
    ]
    head = ["section", "processes", "start-up", "each", "shut-down", "page-table pages each"]
    return table(head, lines)


def populated_table(rows: list[Row]) -> str:
    found = pick(rows, "populated")
    plain = {kind(r): r for r in pick(rows, "fig9", "shared", "private") if gib(r) == gib(found[0])}
    base = plain["shared"]["startup_ns"] if "shared" in plain else found[0]["startup_ns"]
    lines = []
    for name, r in [(f"{k}, not read", r) for k, r in plain.items()] + [
        (f"{kind(r)}, every page read", r) for r in found
    ]:
        faults = r["made_valid"] + r["picked_up"] + r["global_valid"] + r["raced"]
        lines.append(
            [
                name,
                millions(r["startup_ns"]),
                f"{r['startup_ns'] / base:,.1f}",
                f"{faults:,}",
                millions(r["shutdown_ns"]),
            ]
        )
    return table(["section", "start-up", "ratio", "faults on the section", "shut-down"], lines)


def holds_table(rows: list[Row]) -> str:
    shared, private = longest_holds(rows, "shared"), longest_holds(rows, "private")
    sparse = longest_holds(rows, "fluid")
    places = sorted({p for by in shared.values() for p in by})
    beside = [("private", private), ("fluid", sparse)]
    others = [(k, of, p) for k, of in beside for p in sorted({p for b in of.values() for p in b})]
    head = ["lock"] + [f"{label(size)}, {n}" for size, n in places]
    head += [f"{k}: {label(p[0])}, {p[1]}" for k, _, p in others]
    lines = []
    for key in sorted(set(shared) | set(private) | set(sparse)):
        line = [f"{key[0]} {key[1]}" + (" (own)" if key[1] in OWN_LOCKS else "")]
        line += [f"{shared.get(key, {}).get(p, 0):,}" for p in places]
        line += [f"{of.get(key, {}).get(p, 0):,}" for _, of, p in others]
        lines.append(line)
    return table(head, lines)


def spins_table(rows: list[Row], phase: str) -> str:
    """Acquisitions, and those that had to wait, with the largest number of processes measured on
    several CPUs."""
    columns = [(k, c) for k in ("shared", "private") for c in (1, 2, 4)]
    chosen: dict[tuple, Row] = {}
    for k, c in columns:
        for r in lock_rows(rows, c, k):
            if r["phase"] == phase and (gib(r), r["processes"]) == (SMALL_GIB, 300):
                chosen[k, c, r["kind"], r["name"]] = r
    names = sorted({key[2:] for key in chosen})
    head = ["lock"] + [f"{k}, {c} CPU{'s' * (c > 1)}" for k, c in columns]
    lines = []
    for name in names:
        line = [" ".join(name)]
        for k, c in columns:
            r = chosen.get((k, c, *name))
            taken = r["acquisitions"] + r["shared"] if r else 0
            line.append(f"{taken:,} / {r['waits']:,}" if r else "")
        lines.append(line)
    return table(head, lines)


def bounds_table(rows: list[Row]) -> str:
    lines = [[b.what, f"{b.value:{b.form}}", f"{b.most:{b.form}}"] for b in bounds(rows)]
    return table(["bound", "measured", "at most"], lines)


HEADLINE_CALLS = [
    ("map 4 GiB through shared tables", "map_alloc_shared_4g"),
    ("map 8 GiB through shared tables", "map_alloc_shared_8g"),
    ("map 256 GiB through shared tables", "map_fluid_shared_256g"),
    ("map through private tables, per page", "map_page_alloc_private_1g"),
]

FLUID_OR_ALLOC = [
    (
        "create and map, 4 GiB ALLOC, the reservation's first use",
        "create_and_map_first_alloc_shared_4g",
    ),
    ("map it again from another process", "map_alloc_shared_4g"),
    ("create and map, 1 GiB FLUID", "create_and_map_first_fluid_shared_1g"),
    ("map it again from another process", "map_fluid_shared_1g"),
    ("FLUID: first touch of a page", "fluid_first_touch_page"),
    ("FLUID: pick up a shared level-3 page, once per process and 8 MiB", "fluid_table_pickup"),
    ("create again, 4 GiB ALLOC, after a deletion", "create_and_map_again_alloc_shared_4g"),
]


def calls_table(calls: list[Row], wanted: list | None = None) -> str:
    """All calls, or those of a list of names or (label, name)."""
    by_name = {f["name"]: f for f in calls}
    lines = []
    for label, name in [(w, w) if isinstance(w, str) else w for w in wanted or by_name]:
        count = by_name[name]["instructions"]
        lines.append([label.replace("_", " "), f"{count:,.1f}" if count < 10 else f"{count:,.0f}"])
    return table(["", "instructions"], lines)


def headline(rows: list[Row]) -> str:
    """For docs/README.md: start-up and shut-down of 300 processes."""
    lines = []
    for case, k, size in (
        ("fig9", "shared", 1),
        ("fig9", "shared", SMALL_GIB),
        ("fig9", "private", SMALL_GIB),
        ("fig9-27", "shared", LARGE_GIB),
        ("fig9-202", "fluid", SPARSE_GIB),
    ):
        for r in pick(rows, case, k):
            if gib(r) == size and r["processes"] == 300:
                lines.append(
                    [
                        f"{label(size)}, {k}{' tables' if k != 'fluid' else ''}",
                        millions(r["startup_ns"]),
                        millions(r["shutdown_ns"]),
                        f"{r['pt_pages_used']:,}",
                    ]
                )
    head = ["300 processes, million instructions", "start-up", "shut-down", "table pages each"]
    return table(head, lines)

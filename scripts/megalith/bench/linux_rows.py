"""Calls and faults beside those of Linux/Alpha: /bench/rows here, and the committed figures of the
same program on Linux (scripts/linux-base --rows measures them; docs/measured/figures.json)."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable
from pathlib import Path

from megalith.bench.figures import Bound, Row, table
from megalith.bench.guest import BenchError, run_json

MACHINE = ["-m", "1G", "--smp", "1", "--icount"]
LINUX_PART = 0.5  # of Linux's instructions, for every row
MEAN_MOST = 0.32
# A row whose ratio is below this shows that the kernels do different things, as in a sleep that
# Linux rounds up; it is kept out of the mean.
SAME_KIND = 0.05
# Neither is one that Linux does not know: there it is demand_zero once more.
NOT_ON_LINUX = {"demand_zero_idle"}

# Instructions that a row may have at most, where half of Linux's is too easy.
TO_REACH = {
    "copy_on_write": 2900,
    "demand_zero": 1500,
    "demand_zero_idle": 450,
    "fork_exec_wait": 80000,
    "fork_exit_wait": 30000,
    "null": 92,
    "open_close": 1500,
    "pipe_round_trip": 2500,
    "read_zero": 440,
    "readdir_100": 25000,
    "shared_first": 1700,
    "signal": 1500,
    "signal_information": 1700,
    "stat": 1100,
    "stat_deep": 1500,
    "vfork_exec_wait": 50000,
}

FAR = 3  # a row above so many times its floor is profiled
SHOWN = 0.9  # of a row's instructions, by function; the other functions are shown in one line
REASONS = Path(__file__).with_name("reasons.toml")  # by function: why it costs what it does

# What cannot be avoided, estimated from stores, writes of PTEs and PALcode.
FLOORS = {
    "copy_on_write": 2200,
    "demand_zero": 1146,
    "fork_exit_wait": 12000,
    "mmap_munmap": 250,
    "null": 75,
    "open_close": 600,
    "pipe_round_trip": 500,
    "pread_8k": 2180,
    "read_zero": 150,
    "signal": 450,
    "signal_information": 482,
    "stat": 350,
    "unmap": 15,
}

HEADLINE = [
    "null",
    "sched_yield",
    "pipe_round_trip",
    "signal",
    "fork_exit_wait",
    "fork_exec_wait",
    "demand_zero",
    "copy_on_write",
    "shared_valid",
    "populate_shared",
    "unmap",
    "mmap_munmap",
    "open_close",
    "stat",
    "pread_8k",
    "readdir_100",
]


def found_in(lines: Iterable[str]) -> list[Row]:
    """The program's rows among the lines that a machine wrote."""
    return [json.loads(line) for line in lines if line.startswith("{")]


def execute() -> list[Row]:
    """Measures all rows here."""
    found = run_json(MACHINE, ["/bench/rows"])
    if not found:
        raise BenchError("rows: measured nothing")
    return found


def by_name(rows: Iterable[Row]) -> dict[str, float]:
    return {row["name"]: row["instructions"] for row in rows}


def ratios(rows: list[Row], linux: list[Row]) -> dict[str, float]:
    base = by_name(linux)
    return {name: count / base[name] for name, count in by_name(rows).items()}


def like_with_like(rows: list[Row], linux: list[Row]) -> list[float]:
    """The ratios of the rows that do the same work on both."""
    found = ratios(rows, linux)
    return [part for n, part in found.items() if part >= SAME_KIND and n not in NOT_ON_LINUX]


def mean(rows: list[Row], linux: list[Row]) -> float:
    """The geometric mean over the rows that do the same work on both."""
    same = like_with_like(rows, linux)
    return math.exp(sum(map(math.log, same)) / len(same))


def most(name: str, linux: float) -> float:
    return min(TO_REACH.get(name, math.inf), LINUX_PART * linux)


def bounds(rows: list[Row], linux: list[Row]) -> list[Bound]:
    """Every row has a figure of Linux, or this fails: a new row is to be measured there too."""
    here, base = by_name(rows), by_name(linux)
    if set(here) != set(base):
        names = ", ".join(sorted(set(here) ^ set(base)))
        raise BenchError(f"rows: measured on one side only: {names} (scripts/linux-base --rows)")
    found = [Bound(f"row {n}", here[n], most(n, base[n]), ",.1f") for n in here]
    return [*found, Bound("rows, geometric mean to Linux", mean(rows, linux), MEAN_MOST, ".3f")]


def number(value: float) -> str:
    return f"{value:,.1f}" if value < 10 else f"{value:,.0f}"


def rows_table(rows: list[Row], linux: list[Row], wanted: list[str] | None = None) -> str:
    """All rows or those wanted; the mean is that of all."""
    here, base = by_name(rows), by_name(linux)
    lines = []
    for name in wanted or here:
        line = [name.replace("_", " "), number(here[name]), number(base[name])]
        line.append(f"{here[name] / base[name]:.2f}")
        if not wanted:
            line.append(number(most(name, base[name])))
            line.append(number(FLOORS[name]) if name in FLOORS else "")
        lines.append(line)
    count = len(like_with_like(rows, linux))
    lines.append([f"geometric mean of {count} rows", "", "", f"{mean(rows, linux):.2f}"])
    head = ["instructions", "Megalith", "Linux/Alpha 6.1", "ratio"]
    if not wanted:
        head += ["at most", "floor"]
        lines[-1] += [f"{MEAN_MOST}", ""]
    return table(head, lines)


def far(rows: list[Row]) -> list[str]:
    """Rows that are far above their floors."""
    return [n for n, count in by_name(rows).items() if n in FLOORS and count > FAR * FLOORS[n]]


def shown(profile: list[Row], name: str) -> list[Row]:
    """The functions of a row that are shown, the largest first: as few as have SHOWN of it."""
    found = sorted((p for p in profile if p["row"] == name), key=lambda p: -p["instructions"])
    left = SHOWN * sum(p["instructions"] for p in found)
    chosen = []
    for p in found:
        if left <= 0:
            break
        chosen.append(p)
        left -= p["instructions"]
    return chosen


def reasons(of: str = "functions") -> dict[str, str]:
    return tomllib.loads(REASONS.read_text())[of]


def without_reason(rows: list[Row], profile: list[Row]) -> list[str]:
    names = {p["function"] for name in far(rows) for p in shown(profile, name)}
    return sorted(set(far(rows)) - set(reasons("rows"))) + sorted(names - set(reasons()))


def profiles_table(rows: list[Row], profile: list[Row]) -> str:
    """Rows far above their floors, function by function."""
    why, lines = reasons(), []
    for name in far(rows):
        count = next((p["alone"] for p in profile if p["row"] == name), 0)
        if not count:
            continue  # not profiled yet
        times = f"{count / FLOORS[name]:.1f} times its floor of {FLOORS[name]:,}. "
        times += reasons("rows").get(name, "")
        lines.append([f"**{name.replace('_', ' ')}**", f"**{count:,.0f}**", times])
        chosen = shown(profile, name)
        for p in chosen:
            reason = why.get(p["function"], "")
            lines.append([f"`{p['function']}`", number(p["instructions"]), reason])
        rest = [p["instructions"] for p in profile if p["row"] == name and p not in chosen]
        lines.append([f"{len(rest)} others", number(sum(rest)), "less each"])
    head = ["row, function", "instructions", "why"]
    return table(head, lines).replace("| ---: | ---: |", "| ---: | --- |", 1)

"""What operations cost beside few and beside many things of their kind: /bench/growth, its table
and its bounds. A row is one operation at one size; userland/bench/growth/growth.h describes it."""

from __future__ import annotations

from collections.abc import Iterable

from megalith.bench.figures import Bound, Row, table
from megalith.bench.guest import BenchError, run_json

MACHINE = ["-m", "72G", "--smp", "1", "--icount"]


def execute(words: list[str]) -> list[Row]:
    """Measures. words: --ends for the smallest and largest size only, and parts of names."""
    rows = run_json(MACHINE, ["/bench/growth", *words])
    if not rows:
        raise BenchError("growth: measured nothing")
    return rows


def operations(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each operation, from the smallest to the largest size."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["name"], []).append(row)
    return {name: sorted(some, key=lambda r: r["n"]) for name, some in found.items()}


def bound(some: list[Row]) -> Bound:
    first, last = some[0], some[-1]
    what = f"{last['name']} beside {last['n']:,} {last['beside']} over {first['n']:,}"
    return Bound(what, last["instructions"] / first["instructions"], last["most"], ".2f")


def bounds(rows: list[Row]) -> list[Bound]:
    return [bound(some) for some in operations(rows).values()]


def growth_table(rows: list[Row]) -> str:
    lines = []
    for name, some in operations(rows).items():
        first, last = some[0], some[-1]
        lines.append(
            [
                f"{name}, {first['n']:,} / {last['n']:,} {last['beside']}",
                f"{first['instructions']:,.0f}",
                f"{last['instructions']:,.0f}",
                f"{bound(some).value:.2f}",
                f"{last['most']:.2f}",
                f"{last['linux']:,}" if last["linux"] else "",
            ]
        )
    head = ["instructions", "small", "large", "ratio", "at most", "Linux/Alpha, large"]
    return table(head, lines)

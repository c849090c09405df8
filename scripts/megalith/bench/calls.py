"""The benchmarks of single operations: userland/bench programs with a line `// RUN:`."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from rich.console import Console
from rich.table import Table

from megalith.bench.guest import BenchError, run_json
from megalith.run.paths import TOP

SOURCES = TOP / "userland" / "bench"
MARK = re.compile(r"^// RUN:(.*)$", re.MULTILINE)


def programs() -> list[Path]:
    return [s for s in sorted(SOURCES.glob("*.c")) if MARK.search(s.read_text())]


def measure(source: Path) -> list[dict]:
    """The figures of one program: {"name": ..., "instructions": ..., "program": ...}."""
    machine = shlex.split(" ".join(MARK.findall(source.read_text())))
    figures = run_json([*machine, "--smp", "1", "--icount"], [f"/bench/{source.stem}"])
    if not figures:
        raise BenchError(f"{source.stem}: measured nothing")
    return [figure | {"program": source.stem} for figure in figures]


def show(figures: list[dict]) -> None:
    table = Table(title="Instructions on one CPU", box=None, pad_edge=False)
    table.add_column("what")
    table.add_column("instructions", justify="right")
    for f in figures:
        table.add_row(f["name"], f"{f['instructions']:,.1f}")
    Console(width=100).print(table)


def write(figures: list[dict], path: Path) -> None:
    path.write_text(json.dumps(figures, indent=1) + "\n")

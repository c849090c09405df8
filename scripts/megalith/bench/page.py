"""Tables in documents. A document marks their places:

    <!-- begin NAME -->
    ...
    <!-- end NAME -->

The text between the marks is generated from docs/measured/figures.json, which make bench wrote; all
other text belongs to the document. No figure is typed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

from megalith.bench import (
    database,
    figures,
    growth,
    hashed,
    heaps,
    jobs,
    kinds,
    linux_programs,
    linux_rows,
    pool,
    sharing,
    sizing,
    translation,
)
from megalith.bench.cases import LARGE_GIB, SMALL_GIB, SPARSE_GIB
from megalith.run.paths import TOP

DATA = TOP / "docs/measured/figures.json"
PAGES = [
    TOP / "docs" / "figures.md",
    TOP / "docs" / "paged-pool.md",
    TOP / "docs" / "choices.md",
    TOP / "docs" / "performance.md",
    TOP / "docs" / "README.md",
    TOP / "docs" / "translation-buffer.md",
]
# Parts whose figures are a model's, and what makes that model: figures of another one are stale.
MODELLED = ("translation", "hashed", "sizing", "sharing", "servers", "jobs", "kinds", "stacks")
MODELLED += ("heaps", "database")
MODEL_SOURCES = ("model.c", "model.h", "vhpt.c", "vhpt.h", "guest.c")
COMMENT = re.compile(r"/\*.*?\*/|\s+", re.DOTALL)
PART = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)


def load(path: Path) -> dict:
    return json.loads(path.read_text())


def dump(data: dict, path: Path) -> None:
    """One row a line, so that versions can be compared."""
    parts = []
    for name, rows in data.items():
        lines = ",\n".join(json.dumps(row) for row in rows)
        parts.append(f"{json.dumps(name)}: [\n{lines}\n]")
    path.write_text("{" + ",\n".join(parts) + "}\n")


def model_digest() -> str:
    """Of the model's code, whatever its comments and blanks."""
    folder = TOP / "scripts/megalith/tb"
    code = "".join(COMMENT.sub("", (folder / name).read_text()) for name in MODEL_SOURCES)
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def note_models(rows: list[dict], measured: Iterable[str]) -> list[dict]:
    """The rows that say by which model each part was made, with those of parts just measured."""
    of = {r["part"]: r["model"] for r in rows}
    of |= {part: model_digest() for part in measured if part in MODELLED}
    return [{"part": part, "model": of[part]} for part in MODELLED if part in of]


def parts(data: dict) -> dict[str, str]:
    """All tables, by their marks."""
    rows = data["startup"]
    here, linux = data["rows"], data["linux_rows"]
    return {
        "fig4": figures.fig4_table(rows, [2, 4, 6, 8], ("private", "shared")),
        "fig4-27": figures.fig4_table(rows, [LARGE_GIB], ("private", "shared")),
        "fig4-202": figures.fig4_table(rows, [SPARSE_GIB], ("fluid, private tables", "fluid")),
        "fig8": figures.fig8_table(rows, SMALL_GIB),
        "fig8-27": figures.fig8_table(rows, LARGE_GIB),
        "fig8-202": figures.fig8_table(rows, SPARSE_GIB),
        "fig9": figures.fig9_table(rows),
        "fig9-27": figures.large_table(rows, "fig9-27"),
        "fig9-202": figures.large_table(rows, "fig9-202"),
        "populated": figures.populated_table(rows),
        "holds": figures.holds_table(rows),
        "spins-startup": figures.spins_table(rows, "startup"),
        "spins-delete": figures.spins_table(rows, "delete"),
        "spins-shutdown": figures.spins_table(rows, "shutdown"),
        "bounds": figures.bounds_table(rows),
        "calls": figures.calls_table(data["calls"]),
        "calls-headline": figures.calls_table(data["calls"], figures.HEADLINE_CALLS),
        "rows": linux_rows.rows_table(here, linux),
        "rows-headline": linux_rows.rows_table(here, linux, linux_rows.HEADLINE),
        "profiles": linux_rows.profiles_table(here, data["profiles"]),
        "programs": linux_programs.programs_table(data["programs"], data["linux_programs"]),
        "fluid-or-alloc": figures.calls_table(data["calls"], figures.FLUID_OR_ALLOC),
        "headline": figures.headline(rows),
        "growth": growth.growth_table(data["growth"]),
        **translation.parts(data["translation"]),
        **hashed.parts(data["hashed"]),
        **sizing.parts(data["sizing"]),
        **sharing.parts(data["sharing"], data["servers"]),
        **jobs.parts(data["jobs"]),
        **kinds.parts(data["kinds"], data["stacks"]),
        **heaps.parts(data["heaps"]),
        **database.parts(data["database"]),
        **pool.parts(data["pool"], data["pool_tools"]),
    }


def render(text: str, data: dict) -> str:
    """The document with its marked parts generated anew. An unknown mark is an error."""
    known = parts(data)
    return PART.sub(lambda m: f"{m[1]}{known[m[2]]}\n{m[3]}", text)

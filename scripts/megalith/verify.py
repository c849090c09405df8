"""Figures of verification runs: each tool writes what it did, and docs/verification.md is made of
these files, so that no figure in it was typed by hand."""

import json
import time
from pathlib import Path

from megalith.paths import BUILD

FOLDER = BUILD / "verification"


def write_figures(
    name: str,
    form: str,
    figures: dict[str, int | float],
    found: list[str] | None = None,
    path: Path | None = None,
) -> Path:
    """Writes build/verification/NAME.json (or `path`).

    `form` is "quick" (what `make test` runs) or "full"; a quick run never replaces the figures
    of a full one, it goes to NAME-quick.json. `figures` are numbers that the run measured, by
    the label under which they are to be shown; `found` are sentences for what it caught.
    """
    if form not in ("quick", "full"):
        raise ValueError(f"form is quick or full, not {form!r}")
    for label, value in figures.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{label} is no number: {value!r}")
    target = path or FOLDER / (f"{name}.json" if form == "full" else f"{name}-quick.json")
    target.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "name": name,
        "form": form,
        "date": time.strftime("%Y-%m-%d"),
        "figures": figures,
        "found": found or [],
    }
    # Written beside and renamed: tests run in parallel, and a reader never sees half a file.
    beside = target.with_name(f".{target.name}.{time.monotonic_ns()}")
    beside.write_text(json.dumps(record, indent=2) + "\n")
    beside.replace(target)
    return target

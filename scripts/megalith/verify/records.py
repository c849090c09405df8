"""Figures of verification runs: each tool writes its results, and docs/verification.md is generated
from these files, so that no figure in it is typed by hand."""

import json
import subprocess
import time
from functools import cache
from pathlib import Path

from megalith.run.paths import BUILD, TOP

FOLDER = BUILD / "verification"
FOUND = TOP / "tests/found"
FORMS = ("quick", "short", "full")


@cache
def commit() -> str:
    """The sources that are tested: a commit, with a + after it when they differ from it. Empty
    where there is no repository."""
    git = ["git", "-C", str(TOP)]
    try:
        done = subprocess.run(
            [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
        )
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD"], capture_output=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() + "+" * changed.returncode if done.returncode == 0 else ""


def write_figures(
    name: str,
    form: str,
    figures: dict[str, int | float],
    found: list[str] | None = None,
    path: Path | None = None,
) -> Path:
    """Writes build/verification/NAME.json (or `path`).

    `form` is "quick" (what `make test-all` runs), "full", or "short": a full run in less than its
    usual time. A quick run never replaces the figures of a full one; it goes to NAME-quick.json,
    and a short one to NAME-short.json, which no page uses. `figures` are numbers that the run
    measured, by the label under which they are shown; `found` are sentences about its findings.
    """
    if form not in FORMS:
        raise ValueError(f"form is one of {FORMS}, not {form!r}")
    for label, value in figures.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{label} is no number: {value!r}")
    target = path or FOLDER / (f"{name}.json" if form == "full" else f"{name}-{form}.json")
    target.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "name": name,
        "form": form,
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        "figures": figures,
        "found": found or [],
    }
    # Written to another file and renamed: tests run in parallel, and must not read half a file.
    beside = target.with_name(f".{target.name}.{time.monotonic_ns()}")
    beside.write_text(json.dumps(record, indent=2) + "\n")
    beside.replace(target)
    return target


def found(name: str) -> list[str]:
    """The findings of a tool so far: tests/found/NAME.txt, a sentence a line."""
    record = FOUND / f"{name}.txt"
    return record.read_text().splitlines() if record.exists() else []

"""One boot, for a benchmark."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from megalith.run.paths import TOP
from megalith.tb import report

SECONDS = "1500"  # of host time for one boot; a busy host is slow


class BenchError(Exception):
    """A program did not behave like a benchmark."""


def build() -> None:
    """Builds once, so that no boot needs to check again (make bench and make test have built
    already)."""
    if "MEGALITH_BUILT" not in os.environ:
        words = ["make", "-s", "-C", str(TOP), "all", "test-kernel"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        os.environ["MEGALITH_BUILT"] = "1"


def _run(machine: list[str], command: list[str]) -> tuple[str, str]:
    """Boots with these options of scripts/run and runs the command: its output, and that after the
    words with what else was said."""
    words = [str(TOP / "scripts/run"), *machine, "--timeout", SECONDS, "--", *command]
    done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, text=True)
    said = f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    if done.returncode:
        raise BenchError(f"status {done.returncode}: {said}")
    return done.stdout, said


def run_json(machine: list[str], command: list[str]) -> list[dict]:
    """Boots with these options of scripts/run, runs the command, and reads one object per line."""
    out, said = _run(machine, command)
    try:
        return [json.loads(line) for line in out.splitlines()]
    except json.JSONDecodeError as error:
        raise BenchError(f"{error}: {said}") from None


def run_modelled(
    model: str, machine: list[str], command: list[str], *, icount: bool = True
) -> tuple[list[dict], report.Found]:
    """The same, under --icount unless told otherwise, beside models of translation buffers: the
    objects, and what the models counted."""
    with tempfile.TemporaryDirectory(prefix="megalith-tb-") as folder:
        results = Path(folder) / "results"
        options = [
            *(["--icount"] if icount else []),
            *machine,
            "--tb-model",
            f"{model},json={results}",
        ]
        return run_json(options, command), report.read(results.read_text())


def run_counted(
    model: str, machine: list[str], command: list[str], keep: Path | None = None
) -> report.Found:
    """A command that prints anything, under --icount beside models: what they counted, which is
    also left in the file `keep`."""
    with tempfile.TemporaryDirectory(prefix="megalith-tb-") as folder:
        results = keep or Path(folder) / "results"
        _run(["--icount", *machine, "--tb-model", f"{model},json={results}"], command)
        return report.read(results.read_text())

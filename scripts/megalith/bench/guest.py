"""One boot, for a benchmark."""

from __future__ import annotations

import json
import os
import subprocess

from megalith.run.paths import TOP

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


def run_json(machine: list[str], command: list[str]) -> list[dict]:
    """Boots with these options of scripts/run, runs the command, and reads one object per line."""
    words = [str(TOP / "scripts/run"), *machine, "--timeout", SECONDS, "--", *command]
    done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, text=True)
    said = f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    if done.returncode:
        raise BenchError(f"status {done.returncode}: {said}")
    try:
        return [json.loads(line) for line in done.stdout.splitlines()]
    except json.JSONDecodeError as error:
        raise BenchError(f"{error}: {said}") from None

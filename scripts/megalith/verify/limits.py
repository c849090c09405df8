"""The tests with time limits (tests/lib/limits.py), some times in a row beside processes that
compute: scripts/limits, make test-limits."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from megalith.run.paths import TOP

# Ends with its parent, however that ends.
LOOP = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes compute meanwhile."""
    loops = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/limits", description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="runs in a row (3)")
    parser.add_argument("--busy", type=int, default=8, help="processes that compute meanwhile (8)")
    parser.add_argument("words", nargs="*", help="words for pytest, after --")
    options = parser.parse_args()
    command = [sys.executable, "-m", "pytest", "--limits", *options.words]
    with busy(options.busy):
        for number in range(1, options.times + 1):
            print(f"run {number} of {options.times}", flush=True)
            status = subprocess.run(command, cwd=TOP).returncode
            if status:
                return status
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Code that the three `sda validate` commands share: reports of inconsistencies, and counts of
pages in motion."""

from __future__ import annotations

from mg_base import Command

SHOWN = 40  # inconsistencies that one command prints


class Checker(Command):
    """A `sda validate` command: run() calls complain() for each inconsistency and ends with
    finish(), which prints the verdict."""

    def begin(self) -> None:
        self.errors = 0

    def complain(self, what: str) -> None:
        self.errors += 1
        if self.errors <= SHOWN:
            print(f"  %{what}")

    def expect(self, truth: bool, what: str) -> bool:
        if not truth:
            self.complain(what)
        return truth

    def finish(self, looked_at: str) -> None:
        if self.errors > SHOWN:
            print(f"  {self.errors - SHOWN} more")
        verdict = f"{self.errors} inconsistencies" if self.errors else "consistent"
        print(f"{looked_at}: {verdict}")

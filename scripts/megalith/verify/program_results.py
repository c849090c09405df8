"""What the cases of programs.py gave: compared with Linux, counted, and the closing table."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# A line of a suite: `NAME: RESULT`.
TEST = re.compile(r"^(\S+): (.+)$")
SHOWN = 20


@dataclass(frozen=True)
class Answer:
    status: int
    output: str
    error: str = ""


@dataclass
class Counts:
    """Cases, the tests of suites counted one by one. skipped: those that found something missing.
    as_linux: failed in the same way on Linux. explained: those whose cause the recipe names.
    open: what differs otherwise, a line each."""

    run: int = 0
    passed: int = 0
    skipped: int = 0
    as_linux: list[str] = field(default_factory=list)
    explained: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    @classmethod
    def of_one(cls, differs: list[str]) -> Counts:
        """A case that is one test."""
        return cls(run=1, passed=int(not differs), open=["; ".join(differs)] if differs else [])

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.run + other.run,
            self.passed + other.passed,
            self.skipped + other.skipped,
            self.as_linux + other.as_linux,
            self.explained + other.explained,
            self.open + other.open,
        )

    def __str__(self) -> str:
        if self.run == 1:
            return self.open[0] if self.open else "same"
        parts = [f"{self.passed} of {self.run} passed"]
        parts += [f"{self.skipped} skipped"] if self.skipped else []
        parts += [f"as on Linux: {', '.join(self.as_linux)}"] if self.as_linux else []
        parts += [f"explained: {', '.join(self.explained)}"] if self.explained else []
        parts += [f"open: {', '.join(self.open)}"] if self.open else []
        return "; ".join(parts)


def compare(known: str, here: Answer, there: Answer) -> list[str]:
    """What differs, a line each; at most SHOWN. known: a regular expression for lines that do not
    count, or empty."""
    leave = re.compile(known) if known else None
    ours, theirs = (
        [line for line in text.splitlines() if not (leave and leave.search(line))]
        for text in (here.output, there.output)
    )
    found = (
        [f"status {here.status}, on Linux {there.status}"] if here.status != there.status else []
    )
    missing = [line for line in theirs if line not in set(ours)]
    more = [line for line in ours if line not in set(theirs)]
    found += [f"- {line}" for line in missing] + [f"+ {line}" for line in more]
    if not found and ours != theirs:
        found.append("the same lines in another order")
    if not there.output:
        found.append("no output on Linux")
    return found[:SHOWN]


def tests_of(answer: Answer) -> dict[str, str]:
    found = (TEST.match(line) for line in answer.output.splitlines())
    return {match[1]: match[2] for match in found if match}


def count(explained: dict[str, str], here: Answer, there: Answer) -> Counts:
    """The tests of a suite."""
    ours, theirs = tests_of(here), tests_of(there)
    counts = Counts()
    if here.status or not theirs:
        counts.open.append(f"status {here.status}, {len(theirs)} tests on Linux")
    for name in sorted(ours | theirs):
        result, on_linux = ours.get(name, "not run"), theirs.get(name, "not run")
        counts.run += 1
        if result == "passed":
            counts.passed += 1
        elif result == on_linux and result.startswith("skipped"):
            counts.skipped += 1
        elif result == on_linux:
            counts.as_linux.append(name)
        elif name in explained:
            counts.explained.append(name)
        else:
            counts.open.append(f"{name} ({result}, on Linux {on_linux})")
    return counts


def table(rows: dict[str, Counts]) -> str:
    """All programs, and their sum."""
    head = ("program", "cases", "passed", "skipped", "as on Linux", "explained", "open")
    total = Counts()
    for counts in rows.values():
        total += counts
    lines = [
        (
            name,
            *map(str, (c.run, c.passed, c.skipped)),
            *map(str, (len(c.as_linux), len(c.explained), len(c.open))),
        )
        for name, c in {**rows, "all": total}.items()
    ]
    width = [max(len(line[column]) for line in [head, *lines]) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(w) if not i else cell.rjust(w) for i, (cell, w) in cells).rstrip()
        for cells in (enumerate(zip(line, width, strict=True)) for line in [head, *lines])
    )

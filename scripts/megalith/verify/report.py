"""Writes docs/verification.md: which checks were run, how much they covered, what they found.

Every figure in it comes from a file that a run wrote (build/verification, verify/records.py).
--bless copies these files into docs/measured/verification.json, from which the page is generated,
and a test compares the two. A figure of a full run is never replaced by one of a quick run, and
short runs of a full check are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from megalith.run.ends import end
from megalith.run.paths import TOP
from megalith.verify.fuzz import findings
from megalith.verify.records import FOLDER, FOUND, found

DATA = TOP / "docs/measured/verification.json"
PAGE = TOP / "docs/verification.md"

Record = dict[str, Any]


@dataclass(frozen=True)
class Tool:
    title: str
    names: tuple[str, ...]  # of the records; one that ends in * means all with that beginning
    full: str  # the command of the long form
    quick: str  # the file of tests in `make test-all`
    what: str
    found: tuple[str, ...] = ()  # of tests/found, besides what the records carry
    corpus: bool = False  # and what tests/fuzz/found says


TOOLS = (
    Tool(
        "Planted bugs",
        ("planted",),
        "make planted",
        "test_planted.py",
        "Each is a small change to the kernel that an engineer might make by mistake. It is made "
        "in a copy of the sources, the copy is built, and the checks named in the bug's file are "
        "run. They must fail, and the same checks must pass without the bug.",
    ),
    Tool(
        "Lock order",
        ("locks",),
        "make test-all",
        "test_crash.py",
        "Every kernel checks at every acquisition the ranks of spinlocks and mutexes, the IPL, "
        "and the locks that may not be held. A violation is a panic that names both places. The "
        "tests commit each kind of violation once.",
        ("locks",),
    ),
    Tool(
        "Holds",
        ("holds",),
        "make soak",
        "test_holds.py",
        "Processes, groups, waiters, timers, mappings, pages, files, sections, names, descriptors "
        "and others are made numerous while the hold of every spinlock and the time at every "
        "raised IPL is measured, in instructions. A time above 2,000 fails, whatever the number. "
        "The longest time of each place is known, so that none conceals another. "
        "What the meter found was followed, and other loops were searched by reading (the last "
        "section of this page). Waiters are woken 2 in a hold, processes looked at 12 (a signal "
        "ends a hold), orphans made 6; a message goes into a ring, and 16 bytes of it to the "
        "UART; an interrupt takes 32 bytes from a serial line; 8 characters of a line are erased; "
        "32 pages move between a CPU's cache and the lists, and 64 entries of the PFN database "
        "are initialised; a request to nonpaged pool walks 4 lists of 64 blocks.",
        ("holds",),
    ),
    Tool(
        "References and leaks",
        ("leaks",),
        "make test-all",
        "test_leaks.py",
        "Every run of a guest test ends with a count of pages, blocks of both pools, threads, "
        "stacks, inodes, quotas and sections, which is compared with the count before the first "
        "process. The tests plant each kind of leak once.",
        ("leaks",),
    ),
    Tool(
        "Allocation failure",
        ("allocation-failure",),
        "make test-all",
        "test_allocation_failure.py",
        "For each service and system call, every allocation inside it is made to fail in turn. "
        "The state afterwards must be the state before, and the call must return the right "
        "condition value or errno.",
    ),
    Tool(
        "Fuzzers",
        ("fuzz", "fuzz-plant-*"),
        "make fuzz",
        "test_fuzz.py",
        "libFuzzer runs the kernel's own sources under the address and undefined-behaviour "
        "sanitizers, and compares them with models or with an encoder of the format. In `make "
        "test-all` each fuzzer must find a planted bug.",
        corpus=True,
    ),
    Tool(
        "Model in Python",
        ("model-1", "model-4", "model-registry"),
        "make model",
        "test_model.py",
        "Hypothesis generates sequences of section, region and registry operations. They run in "
        "the guest and in a plain model of the documented semantics; both must agree on every "
        "status and every visible byte.",
        ("model",),
    ),
    Tool(
        "Models of concurrency",
        ("models",),
        "make models",
        "test_models.py",
        "Spin checks every interleaving of three protocols: creation and end of shared page "
        "tables, TB shootdown, and the lookaside list. Each model says which lines of code its "
        "steps represent.",
    ),
    Tool(
        "Schedules",
        ("schedules",),
        "make schedules",
        "test_schedules.py",
        "Racing programs run on four CPUs under repeatable interleavings; each run ends with the "
        "self-check.",
    ),
    Tool(
        "Undefined behaviour",
        ("ubsan",),
        "make test-ubsan",
        "test_ubsan.py",
        "A kernel with UBSan's traps boots and passes the guest tests.",
        ("ubsan",),
    ),
    Tool(
        "Data races",
        ("races",),
        "make test-races",
        "test_races.py",
        "A kernel built with the compiler's thread instrumentation and a sampling detector of our "
        "own boots and passes the guest tests.",
        ("races",),
    ),
    Tool(
        "Mutation of mm/",
        ("mutation",),
        "make mutation",
        "test_mutation.py",
        "One place of mm/ is changed at a time, and a host test should fail.",
        ("mutation",),
    ),
    Tool(
        "Coverage",
        ("coverage",),
        "make coverage",
        "test_coverage.py",
        "Lines of the kernel that the tests reach, counted by gcov's counters in the guest and in "
        "the host tests. `make coverage` fails below 90 % of mm/ or sysman/.",
        ("coverage",),
    ),
    Tool(
        "Endurance",
        ("soak",),
        "make soak",
        "test_walk.py",
        "All stress programs run at the same time on four CPUs, with POOLCHECK, again and again.",
        ("soak",),
    ),
    Tool(
        "The analyzer",
        ("sda",),
        "make test-all",
        "test_sda.py",
        "The displays of `sda` on a live machine and on its saved state are the same, and `sda "
        "validate` finds deliberate damage.",
    ),
)

HEAD = """# Verification

Which checks were run, how much they covered, and what they found. Every figure on this page was
written by a run ([measured/verification.json](measured/verification.json), by `scripts/verification
--bless`); none was typed. "Full" is the long form of a check, run by the command given; "quick" is
the form that is part of every `make test-all`.
After the date comes the commit that was tested (with a + if files differed from it).
"""


def records(folder: Path) -> dict[str, Record]:
    """The records that runs have written, by name and form."""
    written = (path for path in sorted(folder.glob("*.json")) if not path.stem.endswith("-short"))
    return {path.stem: json.loads(path.read_text()) for path in written}


def merged(old: dict[str, Record], new: dict[str, Record]) -> dict[str, Record]:
    """By the names of the files. A quick run is left out if there are full figures."""
    both = old | new
    return {
        stem: record
        for stem, record in sorted(both.items())
        if not (stem.endswith("-quick") and stem.removesuffix("-quick") in both)
    }


def of_tool(tool: Tool, data: dict[str, Record]) -> dict[str, Record]:
    chosen = {}
    for name in tool.names:
        for stem, record in data.items():
            plain = stem.removesuffix("-quick")
            if plain == name or (name.endswith("*") and plain.startswith(name[:-1])):
                chosen[stem] = record
    return chosen


def number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def section(tool: Tool, data: dict[str, Record]) -> list[str]:
    chosen = of_tool(tool, data)
    lines = [f"## {tool.title}", "", tool.what, ""]
    lines += [f"Full: `{tool.full}`. Quick: `tests/{tool.quick}`.", ""]
    head = ["| run | what | how much |", "|---|---|---:|"]
    lines += head if chosen else ["No figures yet."]
    for stem, record in chosen.items():
        run = f"{stem.removesuffix('-quick')}, {record['form']}, {record['date']}"
        run += f", {record['commit']}" if record.get("commit") else ""
        for label, value in record["figures"].items():
            lines.append(f"| {run} | {label} | {number(value)} |")
            run = ""
    sentences = [sentence for record in chosen.values() for sentence in record["found"]]
    for name in tool.found:
        sentences += found(name)
    sentences += findings() if tool.corpus else []
    lines += ["", "What it found:" if sentences else "It has found nothing.", ""]
    lines += [f"* {sentence}" for sentence in dict.fromkeys(sentences)]
    return lines if not sentences else [*lines, ""]


def classes() -> list[str]:
    """How classes of defects were searched for further members: a file by hand for each part."""
    texts = [path.read_text() for path in sorted((FOUND / "classes").glob("*.md"))]
    return ["## Classes of defects", "", *"\n".join(texts).splitlines()] if texts else []


def page(data: dict[str, Record]) -> str:
    lines = HEAD.splitlines() + [""]
    for tool in TOOLS:
        lines += section(tool, data)
    lines += classes()
    return "\n".join(lines).rstrip() + "\n"


def main(arguments: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(prog="scripts/verification", description=__doc__)
    p.add_argument(
        "--bless",
        action="store_true",
        help="take the figures of build/verification into docs/measured/verification.json",
    )
    p.add_argument("--from", dest="folder", type=Path, default=FOLDER, help="instead of that one")
    p.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    options = p.parse_args(arguments)
    data = json.loads(DATA.read_text()) if DATA.exists() else {}
    if options.bless:
        if not options.folder.is_dir():
            p.error(f"there is no folder {options.folder}")
        data = merged(data, records(options.folder))
        DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    text = page(data)
    if options.check:
        if not PAGE.exists() or PAGE.read_text() != text:
            print(
                f"{PAGE.name} is not what {DATA.name} gives: scripts/verification", file=sys.stderr
            )
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    end(main)

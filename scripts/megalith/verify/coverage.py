"""make coverage: which lines of the kernel the tests reach.

The guest tests run on a kernel that counts (verify/counters.py), the host-built unit tests on
objects that count; gcov converts both into counts by line. A line counts once, however many sources
include it, and as reached when one of them reached it. Writes build/coverage/report.txt (by file,
then the lines that no test reached) and, after a run of all tests, the figures of "coverage".

A line that no test can reach carries the reason after it, or alone on the line above it:

    panic("..."); /* uncovered: the table is sized at boot for all CPUs */

This applies to the statement that begins there (to its semicolon or opening brace), which is left
out of the percentages and counted in a column of its own. A marked line that is reached is an
error.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from megalith.run.ends import end
from megalith.run.paths import BUILD, CROSS, TOP
from megalith.verify.counters import CoverageError, Layout, Store
from megalith.verify.records import write_figures

FOLDER = BUILD / "coverage"
KERNEL = FOLDER / "megalith.elf"
COUNTS = FOLDER / "counts"
HOST = FOLDER / "host"
REPORT = FOLDER / "report.txt"

KERNEL_FOLDERS = ("arch/", "kernel/", "mm/", "sysman/")
BOUND_FOLDERS = ("mm", "sysman")
BOUND = 90.0  # per cent of lines, guest and host together

MARK = re.compile(r"/\*\s*uncovered:\s*(?P<reason>[^*]*\S)\s*\*/")

Lines = dict[str, dict[int, int]]  # file -> line -> count


def gcov(tool: str, files: list[Path]) -> Lines:
    """The counts by line that gcov computes from .gcda files."""
    found: Lines = {}

    def run(file: Path) -> str:
        done = subprocess.run(
            [tool, "-j", "-t", str(file)], cwd=TOP, capture_output=True, text=True, timeout=120
        )
        if done.returncode or not done.stdout.strip():
            raise CoverageError(f"{tool} {file}: {done.stderr.strip()}")
        return done.stdout

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for text in pool.map(run, files):
            for record in text.splitlines():
                for source in json.loads(record)["files"]:
                    name = os.path.normpath(source["file"]).removeprefix(f"{TOP}/")
                    if not name.startswith(KERNEL_FOLDERS):
                        continue
                    lines = found.setdefault(name, {})
                    for line in source["lines"]:
                        number = line["line_number"]
                        lines[number] = lines.get(number, 0) + line["count"]
    return found


def guest_lines() -> tuple[int, Lines]:
    """The number of runs that have left their counters, and the lines that they reached."""
    layout = Layout(KERNEL)
    runs, counts = Store(COUNTS, layout).read()
    return runs, gcov(CROSS + "gcov", layout.write_gcda(counts))


def host_lines() -> Lines:
    return gcov("gcov", sorted(HOST.rglob("*.gcda")))


@dataclass
class Tally:
    """For a file, a folder or everything: lines, lines reached by guest and by host, marked
    lines."""

    lines: int = 0
    guest: int = 0
    host: int = 0
    both: int = 0  # guest and host together
    marked: int = 0
    missed: list[int] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        for name in ("lines", "guest", "host", "both", "marked"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def percent(self, reached: int) -> float:
        return 100.0 * reached / self.lines if self.lines else 100.0


def marked_lines(text: str) -> dict[int, str]:
    """Line number -> reason, for each line of a statement that carries a mark."""
    found: dict[int, str] = {}
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        mark = MARK.search(line)
        if not mark:
            continue
        alone = not MARK.sub("", line).strip()
        at = number + 1 if alone else number
        while at <= len(lines):
            found[at] = mark["reason"]
            if re.search(r"[;{}]\s*$", MARK.sub("", lines[at - 1]).split("//")[0].rstrip()):
                break
            at += 1
    return found


def tally(name: str, guest: Lines, host: Lines, wrong: list[str]) -> Tally:
    """The counts of one file. Lines for which no code was compiled do not count."""
    marks = marked_lines((TOP / name).read_text())
    in_guest, in_host = guest.get(name, {}), host.get(name, {})
    result = Tally()
    for number in sorted(in_guest.keys() | in_host.keys()):
        by_guest, by_host = in_guest.get(number, 0) > 0, in_host.get(number, 0) > 0
        if number in marks:
            result.marked += 1
            if by_guest or by_host:
                wrong.append(f"{name}:{number}: marked as uncovered, and reached")
            continue
        result.lines += 1
        result.guest += by_guest
        result.host += by_host
        result.both += by_guest or by_host
        if not (by_guest or by_host):
            result.missed.append(number)
    return result


def ranges(numbers: list[int]) -> str:
    """'3-5 9' for 3, 4, 5, 9."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def folder_of(name: str) -> str:
    parts = Path(name).parts
    return parts[0] if parts[0] in ("mm", "sysman") else "/".join(parts[:-1])


def row(name: str, t: Tally) -> str:
    parts = "  ".join(f"{t.percent(n):6.1f}" for n in (t.guest, t.host, t.both))
    return f"{name:40} {t.lines:6} {t.marked:6}  {parts}"


def report(guest: Lines, host: Lines) -> tuple[str, dict[str, Tally], list[str]]:
    """The text, the tallies of folders (and "all"), and marks that are wrong."""
    wrong: list[str] = []
    files = {name: tally(name, guest, host, wrong) for name in sorted({*guest, *host})}
    folders: dict[str, Tally] = {}
    for name, t in files.items():
        for group in (folder_of(name), "all"):
            folders.setdefault(group, Tally())
            folders[group] += t
    head = f"{'':40} {'lines':>6} {'marked':>6}  {'guest%':>6}  {'host%':>6}  {'both%':>6}"
    text = [head, *(row(name, t) for name, t in sorted(folders.items())), "", head]
    text += [row(name, t) for name, t in files.items()]
    text += ["", "lines that nobody reached:"]
    text += [f"{name}: {ranges(t.missed)}" for name, t in files.items() if t.missed]
    return "\n".join(text + ["", *wrong]) + "\n", folders, wrong


def figures_of(folders: dict[str, Tally], runs: int) -> dict[str, int | float]:
    out: dict[str, int | float] = {"guest runs": runs}
    for name in (*BOUND_FOLDERS, "all"):
        t = folders.get(name, Tally())
        out[f"{name}: lines"] = t.lines
        out[f"{name}: lines marked as out of reach"] = t.marked
        for who, n in (("guest", t.guest), ("host", t.host), ("guest and host", t.both)):
            out[f"{name}: % of lines reached, {who}"] = round(t.percent(n), 1)
    return out


def clean() -> None:
    """Deletes the counts of earlier runs."""
    for file in [*COUNTS.glob("*.counts"), *HOST.rglob("*.gcda")]:
        file.unlink()


def run_tests(words: list[str]) -> int:
    """pytest over the tests that `words` select, those of the guest on the kernel that counts."""
    environment = os.environ | {
        "MEGALITH_BUILT": "1",
        "MEGALITH_COVERAGE": str(COUNTS),
        "MEGALITH_HOST_TESTS": str(HOST),
    }
    command = [sys.executable, "-m", "pytest", "--kernel", str(KERNEL), *words]
    return subprocess.run(command, cwd=TOP, env=environment).returncode


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/coverage",
        description="Runs tests on what `make COVERAGE=1` built, and reports the lines reached.",
        epilog="Words that it does not know go to pytest: which tests, -k NAME.",
    )
    parser.add_argument("--report", action="store_true", help="of what has run already")
    parser.add_argument("--keep", action="store_true", help="add to the counts of earlier runs")
    parser.add_argument("--figures", action="store_true", help="all tests ran: write the figures")
    options, words = parser.parse_known_args(arguments)
    begin, status = time.monotonic(), 0
    try:
        if not KERNEL.is_file():
            raise CoverageError(f"there is no {KERNEL.relative_to(TOP)}: make COVERAGE=1 builds it")
        if not options.report:
            if not options.keep:
                clean()
            status = run_tests(words)
        runs, guest = guest_lines()
        text, folders, wrong = report(guest, host_lines())
    except CoverageError as error:
        print(f"scripts/coverage: {error}", file=sys.stderr)
        return 1
    REPORT.write_text(text)
    print(text.split("\n\n")[0])
    print(f"by file, with the lines that nobody reached: {REPORT.relative_to(TOP)}")
    if options.figures:
        figures = figures_of(folders, runs)
        if not options.report:
            figures["seconds"] = round(time.monotonic() - begin)
        write_figures("coverage", "short" if status else "full", figures)
        for name in BOUND_FOLDERS:
            if folders[name].percent(folders[name].both) < BOUND:
                wrong.append(f"{name}: below {BOUND:g} % of lines")
    for line in wrong:
        print(f"scripts/coverage: {line}", file=sys.stderr)
    return 1 if wrong or status else 0


if __name__ == "__main__":
    end(main)

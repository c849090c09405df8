"""Plants bugs that an engineer could have made in the kernel's own sources, one at a time, and runs
the checks of this repository that must find them.

A bug is a file tests/planted/NAME.toml: its kind, a description, the file, the text that it
replaces, and the checks that must find it, the quickest first. Each bug is planted in a copy of the
sources and of the build, the kernel is built there (which compiles one file), and the checks are
run on it; then the copy is restored for the next bug. The same checks are run on the kernel without
the bug, where they must pass. Status 1: a bug was found by no check, a named check did not find it,
or it fails without the bug too. Status 2: a bug cannot be planted: its file is wrong, or the text
does not occur.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from megalith.run.command import STATUS_CANNOT_START
from megalith.run.ends import end
from megalith.run.marks import marked, runs
from megalith.run.paths import TOP
from megalith.verify.records import write_figures
from megalith.verify.schedules import MEMORY, PROGRAMS

FOLDER = TOP / "tests/planted"
FOUND = TOP / "tests/found/planted.txt"
RUN = str(TOP / "scripts/run")
# The kinds of bug that must be found.
KINDS = (
    "missing TB invalidation",
    "lost PFN reference",
    "swapped lock order",
    "missing unlock on an error path",
    "use after free in pool",
    "unchecked user pointer",
    "wrong translation",
)
KEYS = {"kind", "what", "file", "old", "new", "checks"}
# The files that a build of kernel and host tests needs, and the build so far.
SOURCES = ("Makefile", "linker.ld", "requirements.txt", "requirements-tests.txt", "arch")
SOURCES += ("kernel", "mm", "sysman")
SOURCES += ("scripts/setup", "scripts/ksyms", "tests/fuzz/fuzz.mk", "tests/host")
SOURCES += ("scripts/ext2fs", "scripts/megalith/run")
SOURCES += ("userland/lib/include",)
BUILT = ("build/flags", "build/gen", "build/ext2fs", "build/kernel", "build/megalith.elf")
BUILT_HOST = ("build/host/obj",)
BUILD_SECONDS = 300
MESSAGE = 200  # characters of a message that are kept


class PlantError(Exception):
    """A bug that cannot be planted, and why."""


@dataclass(frozen=True)
class Bug:
    """One file of tests/planted."""

    name: str
    kind: str
    what: str  # a sentence without a full stop
    file: str
    old: str
    new: str
    checks: tuple[str, ...]  # all must find it; `make test-all` runs the first

    def apply(self, text: str) -> str:
        count = text.count(self.old)
        if count != 1:
            why = "does not have the text" if count == 0 else f"has the text {count} times"
            raise PlantError(f"{self.name} cannot be planted: {self.file} {why}:\n{self.old}")
        return text.replace(self.old, self.new)


def load(path: Path) -> Bug:
    """Reads one file. Raises PlantError."""
    try:
        entry = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise PlantError(f"{path.name}: {error}") from None
    if missing := KEYS - entry.keys():
        raise PlantError(f"{path.name} does not say its {', '.join(sorted(missing))}")
    if unknown := entry.keys() - KEYS:
        raise PlantError(f"{path.name}: what is {', '.join(sorted(unknown))}?")
    if entry["kind"] not in KINDS:
        raise PlantError(f"{path.name}: there is no kind '{entry['kind']}' ({'; '.join(KINDS)})")
    if not entry["checks"]:
        raise PlantError(f"{path.name} names no check")
    for check in entry["checks"]:
        parse(check)
    if not (TOP / entry["file"]).is_file():
        raise PlantError(f"{path.stem} cannot be planted: there is no {entry['file']}")
    return Bug(**{**entry, "name": path.stem, "checks": tuple(entry["checks"])})


def load_all(folder: Path = FOLDER) -> list[Bug]:
    """All bugs, by kind, then by name, if all of them can be planted. Raises PlantError."""
    bugs = [load(path) for path in folder.glob("*.toml")]
    for bug in bugs:
        bug.apply((TOP / bug.file).read_text())
    return sorted(bugs, key=lambda bug: (KINDS.index(bug.kind), bug.name))


# ---- the copy ----


def copy(what: str, to: Path) -> None:
    """Copies a file with its time, so that outputs stay newer than their sources."""
    source, target = TOP / what, to / what
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)


class Tree:
    """A copy of the sources and of the build, in an existing empty folder."""

    def __init__(self, folder: Path, host: bool = False) -> None:
        self.folder = folder
        for what in SOURCES + BUILT + (BUILT_HOST if host else ()):
            copy(what, folder)
        (folder / ".venv").symlink_to(TOP / ".venv")
        self.planted: list[str] = []
        self.built = self.now_built()

    def plant(self, bug: Bug) -> None:
        path = self.folder / bug.file
        path.write_text(bug.apply(path.read_text()))
        self.planted.append(bug.file)

    def written(self, what: str) -> tuple[int, int]:
        """What changes when a file is written."""
        status = (self.folder / what).stat()
        return status.st_mtime_ns, status.st_ino

    def now_built(self) -> dict[str, tuple[int, int]]:
        """The files of the build."""
        files = [path for path in (self.folder / "build").rglob("*") if path.is_file()]
        names = [str(path.relative_to(self.folder)) for path in files]
        return {name: self.written(name) for name in names}

    def restore(self) -> None:
        """Makes it the copy again that it was: sources and outputs, with their times."""
        now = self.now_built()
        for what in now.keys() - self.built.keys():
            (self.folder / what).unlink()
        changed = [what for what, was in self.built.items() if now.get(what) != was]
        for what in self.planted + changed:
            (self.folder / what).unlink(missing_ok=True)
            copy(what, self.folder)
        self.planted = []
        self.built |= {what: self.written(what) for what in changed}

    def make(self, *targets: str, dry: bool = False) -> str:
        """Builds, or lists what would be built. Raises PlantError with the output of the build."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        done = subprocess.run(
            ["make", "-s", "-j2", *(["-n"] if dry else []), *targets],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=environment,
            timeout=BUILD_SECONDS,
        )
        if done.returncode:
            raise PlantError(f"make {' '.join(targets)}:\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr


# ---- checks ----


@dataclass(frozen=True)
class Verdict:
    """Result of a check on a kernel."""

    check: str
    passed: bool
    message: str  # the first line that says what is wrong; empty if the check passed
    seconds: float


TAP_PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)
TAP_OK = re.compile(r"^ok\b", re.MULTILINE)
# Lines that say what is wrong, the most specific kind first.
TELLING = (
    r"^(leak: (?!one of that size).*)",
    r"^scripts/run: the kernel has panicked on CPU \d+: (.*(?:\n(?:page|thread|process) .*)?)",
    r"^==\d+==ERROR: (\w+: [\w-]+)",
    r"^(.*runtime error: .*)",
    r"^(Bail out! .*)",
    r"^(not ok .*)",
    r"^translation buffers: (CPU .*)",
    r"^scripts/run: (.*)",
)


def telling(text: str, status: int) -> str:
    for pattern in TELLING:
        if found := re.search(pattern, text, re.MULTILINE):
            line = " ".join(found.group(1).split())
            return line if len(line) <= MESSAGE else line[: MESSAGE - 1] + "…"
    return f"status {status}"


def tap_passed(text: str) -> bool:
    plan = TAP_PLAN.search(text)
    oks = len(TAP_OK.findall(text))
    return bool(plan) and int(plan.group(1)) == oks > 0 and not re.search(r"^not ok", text, re.M)


def boot(check: str, kernel: Path, options: list[str], command: list[str], tap: bool) -> Verdict:
    """One run in the guest, at whose end the kernel checks memory and looks for leaks; its first
    test that fails ends it. Raises PlantError when the run did not start."""
    begin = time.monotonic()
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [RUN, "--kernel", str(kernel), "--validate", *options, "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | {"MEGALITH_BUILT": "1"},
        ) as run,
    ):
        lines = []
        for line in run.stdout:
            lines.append(line.decode(errors="replace"))
            if tap and lines[-1].startswith("not ok"):
                run.terminate()
                break
        run.wait()
        errors.seek(0)
        console = errors.read().decode(errors="replace")
    if run.returncode == STATUS_CANNOT_START:
        raise PlantError(f"{check}: {console}")
    output = "".join(lines)
    passed = run.returncode == 0 and (not tap or tap_passed(output))
    seconds = time.monotonic() - begin
    return Verdict(
        check, passed, "" if passed else telling(console + output, run.returncode), seconds
    )


def run_guest(check: str, kernel: Path, words: list[str]) -> Verdict:
    """guest NAME [OPTIONS of scripts/run] [-- ARGUMENTS]: a test program, in the first run that its
    source requests, with the given options last."""
    name, *rest = words
    at = rest.index("--") if "--" in rest else len(rest)
    options, arguments = rest[:at], rest[at + 1 :]
    source = TOP / f"userland/tests/{name}.c"
    seconds = "60"
    if source.is_file():  # else a folder with several sources, which has no such lines
        seconds = (marked(source, "SECONDS") or [seconds])[0]
        options = runs(source)[0] + options
        arguments = arguments or marked(source, "ARGS")
    options = ["--timeout", seconds, *options]
    return boot(check, kernel, options, [f"/tests/{name}", *arguments], tap=True)


def run_command(check: str, kernel: Path, words: list[str]) -> Verdict:
    """run [OPTIONS of scripts/run] -- COMMAND: must end with status 0."""
    at = words.index("--")
    return boot(check, kernel, ["--timeout", "60", *words[:at]], words[at + 1 :], tap=False)


def run_sweep(check: str, kernel: Path, words: list[str]) -> Verdict:
    """sweep COUNT NAME: a program of scripts/schedules under the schedules 1, 2 ... COUNT, until it
    fails."""
    count, name = words
    program = next(one for one in PROGRAMS if one.name == name)
    seconds = 0.0
    for schedule in range(1, int(count) + 1):
        options = ["--timeout", "300", "--schedule", str(schedule), "-m", MEMORY, *program.options]
        verdict = boot(check, kernel, options, [*program.command], tap=False)
        seconds += verdict.seconds
        if not verdict.passed:
            message = f"schedule {schedule}: {verdict.message}"
            return replace(verdict, message=message, seconds=seconds)
    return replace(verdict, seconds=seconds)


def run_host(check: str, program: Path) -> Verdict:
    """host NAME: a program of tests/host."""
    begin = time.monotonic()
    done = subprocess.run(
        [program], cwd=TOP, capture_output=True, text=True, errors="replace", timeout=300
    )
    text = done.stdout + done.stderr
    passed = done.returncode == 0 and tap_passed(done.stdout)
    seconds = time.monotonic() - begin
    return Verdict(check, passed, "" if passed else telling(text, done.returncode), seconds)


def parse(check: str) -> tuple[str, list[str]]:
    """The kind of a check and its words. Raises PlantError if it is not a check."""
    kind, *words = shlex.split(check) or [""]
    right = {
        "guest": len(words) > 0,
        "run": "--" in words[:-1],
        "host": len(words) == 1,
        "sweep": len(words) == 2
        and re.fullmatch("[1-9][0-9]*", words[0])
        and words[1] in {program.name for program in PROGRAMS},
    }
    if not right.get(kind):
        raise PlantError(f"there is no check '{check}' (tests/planted/README.md has them)")
    return kind, words


def run_check(check: str, top: Path) -> Verdict:
    """Runs a check on the build in a tree."""
    kind, words = parse(check)
    if kind == "host":
        return run_host(check, top / f"build/host/{words[0]}")
    run = {"guest": run_guest, "run": run_command, "sweep": run_sweep}[kind]
    return run(check, top / "build/megalith.elf", words)


# ---- all of it ----


@dataclass
class Outcome:
    """Result for one bug."""

    bug: Bug
    verdicts: list[Verdict] = field(default_factory=list)
    build_seconds: float = 0.0

    @property
    def caught(self) -> Verdict | None:
        return next((v for v in self.verdicts if not v.passed), None)

    @property
    def unnoticed(self) -> list[Verdict]:
        return [v for v in self.verdicts if v.passed]

    def sentence(self) -> str:
        if not self.caught:
            return f"{self.bug.kind}: {self.bug.what} -> NOT CAUGHT"
        by = f"caught by {self.caught.check}: {self.caught.message}"
        return f"{self.bug.kind}: {self.bug.what} -> {by}"


def is_host(check: str) -> bool:
    return parse(check)[0] == "host"


def first_or_all(bug: Bug, quick: bool) -> tuple[str, ...]:
    return bug.checks[:1] if quick else bug.checks


def needed(checks: Iterable[str]) -> list[str]:
    """What make must have built for these checks. Unit tests, which want packages of their own, are
    built only where one is a check, and programs of tests only for those that run one."""
    targets = set()
    for check in checks:
        kind, words = parse(check)
        if kind == "host":
            targets.add(f"build/host/{words[0]}")
            continue
        targets |= {"kernel", "initrd"}
        if kind != "run" or re.search(r"/(tests|bench)/", check):
            targets.add("user")
    return sorted(targets)


def try_bug(tree: Tree, bug: Bug, checks: Iterable[str]) -> Outcome:
    """Plants it, builds, runs the checks, and restores the tree. Raises PlantError."""
    outcome = Outcome(bug)
    checks = list(checks)
    programs = [parse(check)[1][0] for check in checks if is_host(check)]
    begin = time.monotonic()
    tree.plant(bug)
    if len(programs) < len(checks):
        tree.make("kernel")
    if programs:
        tree.make(*(f"build/host/{name}" for name in programs))
    outcome.build_seconds = time.monotonic() - begin
    outcome.verdicts = [run_check(check, tree.folder) for check in checks]
    tree.restore()
    return outcome


@dataclass
class Report:
    outcomes: list[Outcome]
    clean: list[Verdict]  # of each check once, without a bug
    seconds: float

    def problems(self) -> list[str]:
        found = [one.sentence() for one in self.outcomes if not one.caught]
        for one in self.outcomes:
            if one.caught:
                found += [f"{one.bug.name} was not noticed by {v.check}" for v in one.unnoticed]
        found += [f"without any bug: {v.check}: {v.message}" for v in self.clean if not v.passed]
        return found

    def figures(self) -> dict[str, int | float]:
        caught = Counter(one.bug.kind for one in self.outcomes if one.caught)
        verdicts = [v for one in self.outcomes for v in one.verdicts]
        return {
            "bugs planted": len(self.outcomes),
            "bugs caught": caught.total(),
            **{f"{kind}: caught": caught[kind] for kind in KINDS},
            "checks run with a bug": len(verdicts),
            "checks that noticed": sum(not v.passed for v in verdicts),
            "checks run without a bug": len(self.clean),
            "checks that passed without a bug": sum(v.passed for v in self.clean),
            "seconds": round(self.seconds, 1),
        }

    def write(self, form: str) -> Path:
        """Writes the figures, what caught each bug, and which tests were missing when no check
        did."""
        found = [one.sentence() for one in self.outcomes] + FOUND.read_text().splitlines()
        return write_figures("planted", form, self.figures(), found)


def try_all(
    bugs: list[Bug],
    quick: bool = False,
    jobs: int = 2,
    say: Callable[[str], None] = lambda text: None,
    passes: Callable[[str], bool] = lambda check: False,
) -> Report:
    """quick: the first check of each bug only. passes: is it known, or shown by another test, that
    a check passes without a bug?"""
    begin = time.monotonic()
    checks_of = {bug.name: first_or_all(bug, quick) for bug in bugs}
    checks = dict.fromkeys(check for bug in bugs for check in checks_of[bug.name])
    host = any(map(is_host, checks))
    trees: list[Tree] = []  # those that no job uses

    def one(bug: Bug) -> Outcome:
        tree = trees.pop() if trees else Tree(Path(tempfile.mkdtemp(dir=scratch)), host)
        outcome = try_bug(tree, bug, checks_of[bug.name])
        trees.append(tree)
        say(f"{bug.name}: {outcome.sentence()}")
        return outcome

    with (
        # ^C while a thread starts leaves one that nobody waits for, and that goes on copying.
        tempfile.TemporaryDirectory(
            prefix="megalith-planted-", ignore_cleanup_errors=True
        ) as scratch,
        ThreadPoolExecutor(jobs) as pool,
    ):
        clean = [pool.submit(run_check, check, TOP) for check in checks if not passes(check)]
        outcomes = list(pool.map(one, bugs))
        return Report(outcomes, [done.result() for done in clean], time.monotonic() - begin)


def show(report: Report) -> None:
    table = Table(box=None)
    for title in ("bug", "kind", "build s", "check", "s", "message"):
        table.add_column(title, justify="right" if title in ("build s", "s") else "left")
    for one in report.outcomes:
        for number, verdict in enumerate(one.verdicts):
            table.add_row(
                "" if number else one.bug.name,
                "" if number else one.bug.kind,
                "" if number else f"{one.build_seconds:.1f}",
                verdict.check,
                f"{verdict.seconds:.1f}",
                verdict.message or "(not noticed)",
            )
    Console(width=200).print(table)


def main(arguments: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(prog="scripts/planted", description=__doc__.partition("\n\n")[0])
    p.add_argument("names", nargs="*", metavar="NAME", help="bugs; without, all")
    p.add_argument(
        "--quick",
        action="store_true",
        help="only the first check of each, as `make test-all` does",
    )
    p.add_argument("--check", action="append", metavar="CHECK", help="run this, not those named")
    p.add_argument("--list", action="store_true", help="what there is")
    p.add_argument("--folder", type=Path, default=FOLDER, help="other bugs than tests/planted")
    p.add_argument("--jobs", type=int, default=2, help="at a time (default 2)")
    options = p.parse_args(arguments)
    try:
        bugs = load_all(options.folder)
        if unknown := set(options.names) - {bug.name for bug in bugs}:
            p.error(f"there is no bug {', '.join(sorted(unknown))} in {options.folder}")
        chosen = [bug for bug in bugs if not options.names or bug.name in options.names]
        if options.list:
            for bug in chosen:
                print(f"{bug.name:24} {bug.kind}: {bug.what} ({bug.file})")
            return 0
        if options.check:
            chosen = [Bug(**vars(b) | {"checks": tuple(options.check)}) for b in chosen]
        if "MEGALITH_BUILT" not in os.environ:
            checks = [c for bug in chosen for c in first_or_all(bug, options.quick)]
            subprocess.run(["make", "-s", "-j2", *needed(checks)], cwd=TOP, check=True)
        report = try_all(chosen, options.quick, options.jobs, lambda text: print(text, flush=True))
    except PlantError as error:
        print(f"scripts/planted: {error}", file=sys.stderr)
        return 2
    show(report)
    if not (options.names or options.check) and options.folder == FOLDER:
        print(f"figures: {report.write('quick' if options.quick else 'full')}")
    for problem in report.problems():
        print(f"scripts/planted: {problem}", file=sys.stderr)
    return 1 if report.problems() else 0


if __name__ == "__main__":
    end(main)

"""Programs that others wrote, built from the distribution's sources without a change by the stock
cross compiler, and run on Megalith: `scripts/programs [NAME...]`, `make programs [P=NAME]`.

Each has a folder `tests/programs/NAME` with a `recipe.toml`:

    package, archive, sha256   the source package, its original archive, and the archive's hash
    tools                      packages that the build needs besides those of scripts/setup
    build                      a shell script, run in the unpacked source: $CROSS is the prefix
                               of the cross tools, $LINK the options for linking
    native                     the same for this machine, if a case has `emulated = false`; without
                               it, `build` with an empty $CROSS
    [files]                    what the build made, a file or folder = its name in the root
    [[case]] name, command     run in the root; relative paths
             input, add        standard input; files of the recipe's folder (or, with ../, of the
                               one above) that the root gets
             options, seconds  more options of scripts/run, and its time limit
             known             a regular expression for lines that are left out of the comparison
             uses              other programs that are put into the root
             wrapped           on Linux, the command is one of this machine, and each program of
                               the recipe is a script that starts its emulation, so that they can
                               start each other
             expect            what it must print, with status 0, if Linux is not to be asked
             suite             it runs many tests and prints how each ended: lines `NAME: RESULT`,
                               where RESULT begins with passed, skipped, or what went wrong
    [explained]                tests of a suite that fail here alone = why (docs/programs.md)

What a case must print, and its status, is what the same command prints under QEMU's user-mode
emulation of Linux/Alpha (`emulated = false`: on this machine's Linux, with a native build, for
programs that start themselves, which the emulation cannot). It is run at the same time, so that no
expected output is committed.

Sources and programs are kept in $XDG_CACHE_HOME/megalith/programs; a program that is there, built
by the same recipe, is not built again. What has been fetched and built remains when a run is
interrupted, and so do the answers of the cases (build/programs): a case is run again when its
recipe or the kernel has changed, or by --again. The closing table is made from those answers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from megalith.run.libraries import SYSTEM_FOLDER, interpreter
from megalith.run.packages import CACHE, ProgramError, fetch, install, run_logged, unpack
from megalith.run.paths import TOP
from megalith.verify.program_results import Answer, Counts, compare, count, table

RECIPES = TOP / "tests/programs"
CROSS = "alpha-linux-gnu-"
SYSROOT = SYSTEM_FOLDER.parent
LINK = "-static -Wl,--no-relax"
SECONDS = 300


@dataclass(frozen=True)
class Case:
    name: str
    command: str
    input: str = ""
    add: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    seconds: int = SECONDS
    known: str = ""
    emulated: bool = True
    uses: list[str] = field(default_factory=list)
    wrapped: bool = False
    expect: str = ""
    suite: bool = False


@dataclass(frozen=True)
class Recipe:
    name: str
    package: str
    archive: str
    sha256: str
    build: str
    files: dict[str, str]
    case: list[dict]
    tools: list[str] = field(default_factory=list)
    native: str = ""
    explained: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return RECIPES / self.name

    @property
    def cases(self) -> list[Case]:
        return [Case(**c) for c in self.case]


def recipes() -> dict[str, Recipe]:
    return {
        path.parent.name: Recipe(path.parent.name, **tomllib.loads(path.read_text()))
        for path in sorted(RECIPES.glob("*/recipe.toml"))
    }


# ---- building ----------------------------------------------------------------------------------


def script_of(recipe: Recipe, native: bool) -> str:
    return (native and recipe.native) or recipe.build


def place_of(recipe: Recipe, native: bool) -> Path:
    script = script_of(recipe, native)
    mark = hashlib.sha256(f"{recipe.sha256}{script}{recipe.files}".encode()).hexdigest()[:16]
    return CACHE / "built" / f"{recipe.name}-{'native-' if native else ''}{mark}"


def is_built(recipe: Recipe) -> bool:
    return place_of(recipe, False).exists()


def built(recipe: Recipe, native: bool = False) -> Path:
    """The folder with the recipe's files, under their names in the guest. native: built for this
    machine."""
    script = script_of(recipe, native)
    target = place_of(recipe, native)
    if target.exists():
        return target
    archive = fetch(recipe.package, {recipe.archive: recipe.sha256})
    install(recipe.tools, CACHE / "tools.log")
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        source = unpack(archive, Path(folder))
        log = CACHE / f"{target.name}.log"
        log.unlink(missing_ok=True)
        environment = os.environ | {"CROSS": "" if native else CROSS, "LINK": LINK}
        run_logged(log, ["sh", "-ec", script], cwd=source, env=environment)
        made = Path(folder) / "made"
        made.mkdir()
        for name, inside in recipe.files.items():
            (made / inside).parent.mkdir(parents=True, exist_ok=True)
            (source / name).rename(made / inside)
        target.parent.mkdir(parents=True, exist_ok=True)
        made.rename(target)
    return target


# ---- running -----------------------------------------------------------------------------------


def files_below(place: Path) -> dict[str, Path]:
    """All files of a built program: name -> file of the host."""
    return {str(p.relative_to(place)): p for p in sorted(place.rglob("*")) if p.is_file()}


def files_of(recipe: Recipe, case: Case, programs: Path, native: bool = False) -> dict[str, Path]:
    """What a case needs in the root: name -> file of the host. native: other programs are those of
    this machine."""
    found = files_below(programs)
    for other in (recipes()[name] for name in case.uses):
        found |= files_below(built(other, native))
    return found | {Path(name).name: recipe.folder / name for name in case.add}


def on_megalith(recipe: Recipe, case: Case, programs: Path) -> Answer:
    words = [str(TOP / "scripts/run"), "--timeout", str(case.seconds), "--validate", *case.options]
    for name, path in files_of(recipe, case, programs).items():
        words += ["--add", f"{path}:/{name}"]
    words += ["--", *case.command.split()]
    done = subprocess.run(words, input=case.input, capture_output=True, text=True, errors="replace")
    return Answer(done.returncode, done.stdout, done.stderr)


def wrap(folder: Path) -> None:
    """Put a script in the place of each dynamically linked program of the folder, which starts its
    emulation."""
    for path in [p for p in folder.rglob("*") if p.is_file() and interpreter(p.read_bytes())]:
        program = path.with_name(f".{path.name}")
        path.rename(program)
        path.write_text(f'#!/bin/sh\nexec qemu-alpha -L {SYSROOT} -0 "$0" {program} "$@"\n')
        path.chmod(0o755)


def on_linux(recipe: Recipe, case: Case) -> Answer:
    programs = built(recipe, native=not case.emulated)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        native = case.wrapped or not case.emulated
        for name, path in files_of(recipe, case, programs, native).items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, Path(folder) / name)
        words = case.command.split()
        if case.wrapped:
            wrap(Path(folder))
        elif case.emulated:
            words = ["qemu-alpha", *words]
        done = subprocess.run(
            words,
            input=case.input,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=folder,
            env={"PATH": "/bin", "HOME": "/", "TERM": "dumb"},
            timeout=case.seconds * 10,
        )
    return Answer(done.returncode, done.stdout, done.stderr)


def key_of(recipe: Recipe, case: Case, kernel: bool) -> str:
    """A hash of all that a case's answer depends on: here the kernel too, on Linux not."""
    parts = [(recipe.folder / name).read_bytes() for name in case.add]
    parts += [str(place_of(recipe, not kernel)).encode(), json.dumps(asdict(case)).encode()]
    parts += [str(place_of(recipes()[name], not kernel)).encode() for name in case.uses]
    if kernel:
        parts.append((TOP / "build/megalith.elf").read_bytes())
    return hashlib.sha256(b"\0".join(hashlib.sha256(p).digest() for p in parts)).hexdigest()


def remembered(path: Path, key: str, again: bool, ask: Callable[[], Answer]) -> Answer:
    """The answer that the file holds for that key, else a new one, which it holds from then on."""
    if path.exists() and not again:
        known = json.loads(path.read_text())
        if known["key"] == key:
            return Answer(**known["answer"])
    answer = ask()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"key": key, "answer": asdict(answer)}, indent=1))
    return answer


def run_case(recipe: Recipe, case: Case, programs: Path, place: Path, again: bool) -> Counts:
    stem = re.sub(r"\W+", "-", case.name)
    here = remembered(
        place / f"{stem}.here",
        key_of(recipe, case, True),
        again,
        lambda: on_megalith(recipe, case, programs),
    )
    there = (
        Answer(0, case.expect)
        if case.expect
        else remembered(
            place / f"{stem}.linux",
            key_of(recipe, case, False),
            again,
            lambda: on_linux(recipe, case),
        )
    )
    if case.suite:
        return count(recipe.explained, here, there)
    return Counts.of_one(compare(case.known, here, there))


def run_program(recipe: Recipe, report: Path, again: bool = True) -> Iterator[tuple[str, Counts]]:
    """Runs all cases. again: those too whose answers the folder report holds already."""
    programs = built(recipe)
    for case in recipe.cases:
        yield case.name, run_case(recipe, case, programs, report / recipe.name, again)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/programs",
        description="Builds programs that others wrote, runs them here and on Linux, and compares.",
    )
    parser.add_argument("name", nargs="*", help="programs (default: all)")
    parser.add_argument("--list", action="store_true", help="name the programs")
    parser.add_argument("--again", action="store_true", help="run what has been run already too")
    parser.add_argument("--build", action="store_true", help="only fetch and build")
    options = parser.parse_args()
    known = recipes()
    unknown = [name for name in options.name if name not in known]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)} (there are {', '.join(known)})")
    chosen = [known[name] for name in options.name or known]
    if not shutil.which("qemu-alpha") and not options.list:
        parser.error("needs qemu-alpha (package qemu-user)")
    if options.list:
        for recipe in chosen:
            print(f"{recipe.name}: {recipe.archive}, {len(recipe.cases)} cases")
        return 0
    if options.build:
        return build_all(chosen)
    rows: dict[str, Counts] = {}
    for recipe in chosen:
        rows[recipe.name] = Counts()
        try:
            for case, counts in run_program(recipe, TOP / "build/programs", options.again):
                rows[recipe.name] += counts
                print(f"{recipe.name}, {case}: {counts}", flush=True)
        except (ProgramError, subprocess.TimeoutExpired) as error:
            rows[recipe.name] += Counts.of_one([str(error)])
            print(f"{recipe.name}: {error}", flush=True)
    print(f"\n{table(rows)}")
    return 1 if any(counts.open for counts in rows.values()) else 0


def build_all(chosen: list[Recipe]) -> int:
    for recipe in chosen:
        try:
            print(f"{recipe.name}: {built(recipe)}", flush=True)
        except ProgramError as error:
            print(f"{recipe.name}: {error}", flush=True)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

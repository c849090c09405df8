"""Programs that others wrote, built from the distribution's sources without a change by the stock
cross compiler, and run on Megalith: `scripts/programs [NAME...]`, `make programs [P=NAME]`.

Each has a folder `tests/programs/NAME` with a `recipe.toml`:

    package, archive, sha256   the source package, its original archive, and the archive's hash
    tools                      packages that the build needs besides those of scripts/setup
    build                      a shell script, run in the unpacked source: $CROSS is the prefix
                               of the cross tools, $LINK the options for linking
    native                     the same for this machine, if a case has `emulated = false`
    [files]                    what the build made, a file or folder = its name in the root
    [[case]] name, command     run in the root; relative paths
             input, add        standard input; files of the recipe's folder that the root gets
             options, seconds  more options of scripts/run, and its time limit
             known             a regular expression for lines that are left out of the comparison
             uses              other programs that are put into the root
             wrapped           on Linux, the command is one of this machine, and each program of
                               the recipe is a script that starts its emulation, so that they can
                               start each other
             expect            what it must print, with status 0, if Linux is not to be asked

What a case must print, and its status, is what the same command prints under QEMU's user-mode
emulation of Linux/Alpha (`emulated = false`: on this machine's Linux, with a native build, for
programs that start themselves, which the emulation cannot). It is run at the same time, so that no
expected output is committed.

Sources and programs are kept in $XDG_CACHE_HOME/megalith/programs; a program that is there, built
by the same recipe, is not built again. What has been fetched and built remains when a run is
interrupted.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from megalith.run.libraries import SYSTEM_FOLDER, interpreter
from megalith.run.paths import TOP

RECIPES = TOP / "tests/programs"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "megalith/programs"
CROSS = "alpha-linux-gnu-"
SYSROOT = SYSTEM_FOLDER.parent
LINK = "-static -Wl,--no-relax"
SECONDS = 300


class ProgramError(Exception):
    """A program cannot be fetched or built."""


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


def run_logged(log: Path, command: list[str], **options: object) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        done = subprocess.run(
            command,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            **options,  # type: ignore[call-overload]
        )
    if done.returncode:
        tail = log.read_text(errors="replace").splitlines()[-15:]
        raise ProgramError("\n".join([f"{' '.join(command[:3])} ... failed ({log}):", *tail]))


# ---- fetching ----------------------------------------------------------------------------------


def apt_options() -> list[str]:
    """Options that make apt-get use source lists of our own, which need no root: those of the
    system's binary packages, with deb-src."""
    lists = CACHE / "apt/lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(SUITE) $(SIGNED_BY)"],
        capture_output=True,
        text=True,
    ).stdout
    lines = set()
    for target in targets.splitlines():
        uri, suite, *key = target.split()
        signed = f"[signed-by={key[0]}] " if key and key[0].startswith("/") else ""
        lines.add(f"deb-src {signed or KEYRING}{uri} {suite} main\n")
    sources = CACHE / "apt/sources.list"
    sources.write_text("".join(sorted(lines)))
    return [
        *("-o", f"Dir::Etc::SourceList={sources}", "-o", "Dir::Etc::SourceParts=/dev/null"),
        *("-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={CACHE / 'apt/cache'}"),
        *("-o", "APT::Sandbox::User=root"),
    ]


KEYRING = (
    "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
    if Path("/usr/share/keyrings/debian-archive-keyring.gpg").exists()
    else ""
)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetch(recipe: Recipe) -> Path:
    """The original archive, with the hash that the recipe names."""
    path = CACHE / "archives" / recipe.archive
    if path.exists() and digest(path) == recipe.sha256:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    options, log = apt_options(), CACHE / "fetch.log"
    run_logged(log, ["apt-get", *options, "update"])
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        command = ["apt-get", *options, "source", "--download-only", "--only-source"]
        run_logged(log, [*command, recipe.package], cwd=folder)
        found = Path(folder) / recipe.archive
        if not found.exists() or digest(found) != recipe.sha256:
            raise ProgramError(f"{recipe.package}: {recipe.archive} is not what the recipe names")
        found.rename(path)
    return path


# ---- building ----------------------------------------------------------------------------------


def place_of(recipe: Recipe, native: bool) -> Path:
    script = recipe.native if native else recipe.build
    mark = hashlib.sha256(f"{recipe.sha256}{script}{recipe.files}".encode()).hexdigest()[:16]
    return CACHE / "built" / f"{recipe.name}-{'native-' if native else ''}{mark}"


def is_built(recipe: Recipe) -> bool:
    return place_of(recipe, False).exists()


def built(recipe: Recipe, native: bool = False) -> Path:
    """The folder with the recipe's files, under their names in the guest. native: built for this
    machine."""
    script = recipe.native if native else recipe.build
    target = place_of(recipe, native)
    if target.exists():
        return target
    archive = fetch(recipe)
    missing = [tool for tool in recipe.tools if not package_is_there(tool)]
    if missing:
        run_logged(CACHE / "tools.log", ["apt-get", "install", "-y", *missing])
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
        (source,) = Path(folder).iterdir()
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


def package_is_there(name: str) -> bool:
    done = subprocess.run(["dpkg", "-s", name], capture_output=True, text=True)
    return "Status: install ok installed" in done.stdout


# ---- running -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    status: int
    output: str


def files_below(place: Path) -> dict[str, Path]:
    """All files of a built program: name -> file of the host."""
    return {str(p.relative_to(place)): p for p in sorted(place.rglob("*")) if p.is_file()}


def files_of(recipe: Recipe, case: Case, programs: Path, native: bool = False) -> dict[str, Path]:
    """What a case needs in the root: name -> file of the host. native: other programs are those of
    this machine."""
    found = files_below(programs)
    for other in (recipes()[name] for name in case.uses):
        found |= files_below(built(other, native))
    return found | {name: recipe.folder / name for name in case.add}


def on_megalith(recipe: Recipe, case: Case, programs: Path) -> tuple[Answer, str]:
    words = [str(TOP / "scripts/run"), "--timeout", str(case.seconds), "--validate", *case.options]
    for name, path in files_of(recipe, case, programs).items():
        words += ["--add", f"{path}:/{name}"]
    words += ["--", *case.command.split()]
    done = subprocess.run(words, input=case.input, capture_output=True, text=True, errors="replace")
    return Answer(done.returncode, done.stdout), done.stderr


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
        for name, path in files_of(recipe, case, programs, case.wrapped).items():
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
    return Answer(done.returncode, done.stdout)


def compare(case: Case, here: Answer, there: Answer) -> list[str]:
    """What differs, a line each; at most 20."""
    known = re.compile(case.known) if case.known else None
    ours, theirs = (
        [line for line in text.splitlines() if not (known and known.search(line))]
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
    return found[:20]


def run_program(recipe: Recipe, report: Path) -> list[tuple[str, str]]:
    """Runs all cases: (case, "same" or what differs)."""
    programs = built(recipe)
    rows = []
    for case in recipe.cases:
        here, console = on_megalith(recipe, case, programs)
        there = Answer(0, case.expect) if case.expect else on_linux(recipe, case)
        differs = compare(case, here, there)
        place = report / recipe.name
        place.mkdir(parents=True, exist_ok=True)
        stem = re.sub(r"\W+", "-", case.name)
        (place / f"{stem}.here").write_text(here.output)
        (place / f"{stem}.linux").write_text(there.output)
        (place / f"{stem}.console").write_text(console)
        rows.append((case.name, "; ".join(differs) or "same"))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/programs",
        description="Builds programs that others wrote, runs them here and on Linux, and compares.",
    )
    parser.add_argument("name", nargs="*", help="programs (default: all)")
    parser.add_argument("--list", action="store_true", help="name the programs")
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
    bad = 0
    for recipe in chosen:
        try:
            if options.build:
                print(f"{recipe.name}: {built(recipe)}")
                continue
            rows = run_program(recipe, TOP / "build/programs")
        except ProgramError as error:
            rows = [("build", str(error))]
        for case, result in rows:
            bad += result != "same"
            print(f"{recipe.name:10} {case:40} {result}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

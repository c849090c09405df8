"""The models of concurrency in tests/models, checked by Spin over every interleaving.

A model is a file NAME.pml; NAME.steps.json says for each labelled step of it (a comment that is one
word, or begins with one and a colon) which lines of the kernel it represents. Each model has faults
that are planted with -D: the checker must find every one, otherwise the model proves nothing.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from megalith.run.ends import end
from megalith.run.paths import BUILD, TOP
from megalith.verify.records import write_figures

FOLDER = TOP / "tests" / "models"
LABEL = re.compile(r"/\* ([A-Z][A-Za-z0-9]*)(?: \*/|:)")
DEPTH = 1_000_000


@dataclass(frozen=True)
class Variant:
    """One run of the checker: a model and what is defined for it."""

    model: str
    defines: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.model, *self.defines])


SOUND = {
    "quick": (
        Variant("shootdown"),
        Variant("lookaside", ("CPUS=2", "TURNS=3")),
        Variant("lookaside", ("TURNS=1",)),
        Variant("shpt", ("ALONE", "TEMPORARY")),
        Variant("shpt", ("ALONE",)),
    ),
    "full": (
        Variant("shootdown", ("ROUNDS=4",)),
        Variant("lookaside", ("TURNS=2",)),
        Variant("shpt", ("TEMPORARY",)),
        Variant("shpt"),
    ),
}
# What is defined for a planted fault; the first words are the smallest form that shows it.
PLANTED = tuple(
    Variant(model, tuple(words.split()))
    for model, faults in {
        "shootdown": (
            "NO_MB_FLUSH",
            "NO_MB_SWITCH",
            "CLEAR_EARLY",
            "FREE_EARLY",
            "NO_ANSWER_WHILE_WAITING",
            "FORGET_REMOTE",
        ),
        "lookaside": (
            "TURNS=1 VERSIONS=1",
            "VERSIONS=2",
            "TURNS=1 NO_CAS",
            "TURNS=1 LINK_ONCE",
            "TURNS=1 NO_FIXUP",
        ),
        "shpt": (
            "ALONE PLAIN_STORE",
            "ALONE LOSER_KEEPS",
            "DROP_BEFORE_FLUSH",
            "NO_FLUSH",
            "NO_FLUSH_UNSHARE",
            "FREE_AT_DELETE",
            "ALONE TEMPORARY SHARE_THE_DEAD",
        ),
    }.items()
    for words in faults
)


@dataclass(frozen=True)
class Verdict:
    errors: int
    states: int
    depth: int
    what: str  # the checker's line for the first error


def check(variant: Variant, limit: float = 600) -> Verdict:
    """Runs the checker; raises RuntimeError when it did not cover all states."""
    (BUILD / "models").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD / "models") as folder:
        defines = [f"-D{d}" for d in variant.defines]

        def call(*command: str) -> str:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False
            )
            if done.returncode != 0:
                raise RuntimeError(f"{variant}: {command[0]}: {done.stdout}{done.stderr}")
            return done.stdout

        call("spin", *defines, "-a", str(FOLDER / f"{variant.model}.pml"))
        # In the short forms the compiler would take longer than the search that it speeds up.
        level = "-O1" if variant in SOUND["full"] else "-O0"
        call("gcc", "-w", level, "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c")
        said = call("./pan", f"-m{DEPTH}")
    numbers = re.search(r"depth reached (\d+), errors: (\d+)", said)
    states = re.search(r"(\d+) states, stored", said)
    if not numbers or not states or "max search depth too small" in said:
        raise RuntimeError(f"{variant}: the search is not complete:\n{said}")
    errors = int(numbers[2])
    if errors == 0 and "Search not completed" in said:
        raise RuntimeError(f"{variant}: the search is not complete:\n{said}")
    first = re.search(r"^pan:1: (.*)$", said, re.MULTILINE)
    return Verdict(errors, int(states[1]), int(numbers[1]), first[1] if first else "")


def models() -> list[str]:
    return sorted(p.stem for p in FOLDER.glob("*.pml"))


def labels(model: str) -> list[str]:
    return LABEL.findall((FOLDER / f"{model}.pml").read_text())


def steps(model: str) -> dict[str, dict[str, str]]:
    return json.loads((FOLDER / f"{model}.steps.json").read_text())


def step_lines(step: dict[str, str]) -> list[int]:
    """Numbers of the lines, in the file as it is now, that the step represents; [] for hardware."""
    if not step["file"]:
        return []
    text = (Path(TOP) / step["file"]).read_text()
    at = [m.start() for m in re.finditer(re.escape(step["line"]), text)]
    if not at:
        raise LookupError(f"{step['file']} has no more: {step['line']}")
    return [text.count("\n", 0, i) + 1 for i in at]


def show_steps(console: Console) -> None:
    for model in models():
        table = Table(title=model, title_justify="left", box=None)
        for column in ("step", "lines", "what it is"):
            table.add_column(column, overflow="fold")
        for label, step in steps(model).items():
            lines = ", ".join(str(n) for n in step_lines(step))
            table.add_row(label, f"{step['file']}:{lines}" if lines else "-", step["step"])
        console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/models",
        description="Checks the models of concurrency, or says which code a model stands for.",
    )
    parser.add_argument("--full", action="store_true", help="more CPUs and turns (minutes, 4 GB)")
    parser.add_argument("--steps", action="store_true", help="the lines that each step represents")
    arguments = parser.parse_args()
    console = Console(soft_wrap=True)
    if arguments.steps:
        show_steps(console)
        return 0
    form = "full" if arguments.full else "quick"
    states, wrong = 0, []
    for variant in SOUND[form]:
        verdict = check(variant, 3600)
        states += verdict.states
        console.print(
            f"{variant}: {verdict.states} states, depth {verdict.depth}, "
            f"errors {verdict.errors} {verdict.what}"
        )
        if verdict.errors:
            wrong.append(f"{variant}: {verdict.what}")
    found = []
    for variant in PLANTED:
        verdict = check(variant, 3600)
        console.print(f"{variant}: planted, {verdict.what or 'NOT FOUND'}")
        if verdict.errors:
            found.append(f"planted {variant}: {verdict.what}")
        else:
            wrong.append(f"{variant}: planted and not found")
    write_figures(
        "models",
        form,
        {
            "models": len(models()),
            "steps tied to code": sum(len(steps(m)) for m in models()),
            "variants without an error": len(SOUND[form]),
            "states": states,
            "planted faults": len(PLANTED),
            "planted faults found": len(found),
        },
        found,
    )
    for line in wrong:
        print(f"models: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    end(main)

"""Runs the fuzzers of tests/fuzz on this host: for a given time, over their corpus, or to measure
coverage.

A crash is kept in build/fuzz/found/NAME, with the line that repeats it. The corpus of a long run
grows in build/fuzz/work/NAME; --bless writes the useful part of it to tests/fuzz/corpus/NAME.txt:
one line for each input, in base64.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from megalith.run.ends import end
from megalith.run.paths import BUILD, TOP
from megalith.verify.records import FOLDER, write_figures

SOURCES = TOP / "tests/fuzz"
CORPUS = SOURCES / "corpus"
FOUND = SOURCES / "found"
MAX_BYTES = 1200  # longest input: longer ones are slow and reach nothing new
CORPUS_BYTES = 40_000  # of one fuzzer, at most
EDGES = re.compile(r"\bcov: (\d+)")


@dataclass
class Outcome:
    """Result of one run of a fuzzer."""

    name: str
    executions: int
    edges: int
    crash: Path | None
    text: str

    @property
    def repeat(self) -> str:
        return f"repeat: build/fuzz/{self.name} {self.crash}"


def names() -> list[str]:
    return sorted(path.stem.removeprefix("fuzz_") for path in SOURCES.glob("fuzz_*.c"))


def marked(name: str, mark: str) -> list[str]:
    """The words after `// MARK:` in the fuzzer's source."""
    text = (SOURCES / f"fuzz_{name}.c").read_text()
    return " ".join(re.findall(rf"^// {mark}:(.*)$", text, re.MULTILINE)).split()


def build(targets: list[str]) -> None:
    subprocess.run(["make", "-s", "-j2", *targets], cwd=TOP, check=True)


def files(*folders: Path) -> list[Path]:
    return [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]


def corpus(name: str) -> list[bytes]:
    """The inputs that are kept for a fuzzer."""
    path = CORPUS / f"{name}.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return [base64.b64decode(line, validate=True) for line in lines]


def pack(inputs: Iterable[bytes]) -> str:
    """A corpus in its stored form, which is the same for the same set of inputs."""
    ordered = sorted(set(inputs), key=digest)
    return "".join(base64.b64encode(data).decode() + "\n" for data in ordered)


def digest(data: bytes) -> str:
    """libFuzzer's name for an input."""
    return hashlib.sha1(data).hexdigest()


@contextlib.contextmanager
def unpacked(name: str) -> Iterator[Path]:
    """A folder with the corpus of a fuzzer, a file for each input."""
    with tempfile.TemporaryDirectory() as folder:
        for data in corpus(name):
            (Path(folder) / digest(data)).write_bytes(data)
        yield Path(folder)


def run(name: str, folders: list[Path], limits: list[str], program: Path | None = None) -> Outcome:
    """One run; new inputs are written to the first folder, the others are only read."""
    kept = program.parent if program else BUILD / "fuzz/found" / name
    kept.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [
            program or BUILD / "fuzz" / name,
            f"-max_len={MAX_BYTES}",
            f"-artifact_prefix={kept}/",
            "-print_final_stats=1",
            "-timeout=20",
            *limits,
            *(folder for folder in folders if folder.is_dir()),
        ],
        cwd=TOP,
        capture_output=True,
        text=True,
        errors="replace",
    )
    text = done.stdout + done.stderr
    crash = re.search(r"Test unit written to (\S+)", text)
    executed = re.search(r"number_of_executed_units: (\d+)", text)
    edges = [int(n) for n in EDGES.findall(text)]
    if done.returncode and not crash:
        raise RuntimeError(f"{name} ended with status {done.returncode}:\n{text[-3000:]}")
    return Outcome(
        name,
        int(executed.group(1)) if executed else 0,
        max(edges, default=0),
        Path(crash.group(1)) if crash else None,
        text,
    )


def replay(name: str, inputs: list[Path], program: Path | None = None) -> Outcome:
    """Runs the fuzzer once on each of these inputs, in their order."""
    with tempfile.TemporaryDirectory() as scratch:
        for number, path in enumerate(inputs):
            shutil.copy(path, Path(scratch) / f"{number:06}")
        each = sorted(Path(scratch).iterdir())
        done = subprocess.run(
            [program or BUILD / "fuzz" / name, f"-artifact_prefix={scratch}/", *each],
            cwd=TOP,
            capture_output=True,
            text=True,
            errors="replace",
            env=os.environ | {"LLVM_PROFILE_FILE": f"{scratch}/raw"},  # of one that counts lines
        )
        text = done.stdout + done.stderr
        ran = re.findall(r"^Running: \S*/(\d{6})$", text, re.MULTILINE)
        crash = inputs[int(ran[-1])] if done.returncode and ran else None
        if done.returncode and crash is None:
            raise RuntimeError(f"{name} ended with status {done.returncode}:\n{text[-3000:]}")
        return Outcome(name, len(ran), 0, crash, text)


def quick(name: str, program: Path | None = None, scale: int = 1) -> Outcome:
    """The form of `make test`: the inputs that once found a bug, then the corpus, and a fixed
    number of inputs derived from it with a fixed seed."""
    known = files(FOUND / name)
    if known:
        done = replay(name, known, program)
        if done.crash:
            return done
    with unpacked(name) as inputs, tempfile.TemporaryDirectory() as scratch:
        # By name and in order: a folder would be read in the order of its directory entries.
        seeds, new = Path(scratch) / "seeds", Path(scratch) / "new"
        seeds.write_text(",".join(str(path) for path in files(inputs, FOUND / name)))
        new.mkdir()
        runs = int(marked(name, "RUNS")[0]) * scale
        return run(
            name,
            [new],
            ["-seed=1", f"-runs={runs}", "-reload=0", f"-seed_inputs=@{seeds}"],
            program,
        )


@dataclass(frozen=True)
class Plant:
    """A bug for a fuzzer to find: in `file`, `old` (which occurs once) is replaced by `new`."""

    name: str
    file: str
    old: str
    new: str


def flags(name: str) -> list[str]:
    return (BUILD / "flags" / name).read_text().removeprefix("with ").split()


def plant(bug: Plant, folder: Path) -> Path:
    """The fuzzer with the bug, built in `folder` beside the correct one."""
    text = (TOP / bug.file).read_text()
    if text.count(bug.old) != 1:
        raise ValueError(f"{bug.file} has no place for the bug: {bug.old!r}")
    source = folder / bug.file
    source.parent.mkdir(parents=True)
    for header in (TOP / bug.file).parent.glob("*.h"):
        shutil.copy(header, source.parent)
    source.write_text(text.replace(bug.old, bug.new))
    fuzzer = f"tests/fuzz/fuzz_{bug.name}.c"
    common = ["tests/fuzz/common.c", "tests/host/shim.c"]
    linked = [fuzzer, *common, *marked(bug.name, "SOURCES")]
    # A file that the fuzzer includes is compiled with it; others by themselves.
    compiled = bug.file if bug.file in linked else fuzzer
    planted = folder / "planted.o"
    command = flags("fuzz-compile")
    command[1:1] = [f"-I{folder}"]
    subprocess.run(
        [*command, "-c", source if compiled == bug.file else compiled, "-o", planted],
        cwd=TOP,
        check=True,
    )
    kept = "alloc,load,data,contents"
    for section in ("data", "bss"):
        rename = f".{section}=fuzz_{section},{kept}"
        subprocess.run(["objcopy", "--rename-section", rename, planted], check=True)
    program = folder / bug.name
    objects = [planted if path == compiled else f"build/fuzz/obj/{path}.o" for path in linked]
    subprocess.run(
        ["clang", "-fsanitize=address,undefined,fuzzer", *objects, "-lpthread", "-lm"]
        + ["-o", program],
        cwd=TOP,
        check=True,
    )
    return program


def bless(name: str) -> None:
    """The smallest corpus that reaches as much as the grown one, within CORPUS_BYTES."""
    with unpacked(name) as known, tempfile.TemporaryDirectory() as scratch:
        merged = Path(scratch)
        run(name, [merged, known, BUILD / "fuzz/work" / name], ["-set_cover_merge=1"])
        kept: list[bytes] = []
        # Small inputs first, to reach many features with few bytes.
        for data in sorted((path.read_bytes() for path in merged.iterdir()), key=len):
            if sum(map(len, kept)) + len(data) > CORPUS_BYTES:
                break
            kept.append(data)
    CORPUS.mkdir(exist_ok=True)
    (CORPUS / f"{name}.txt").write_text(pack(kept))


def coverage(name: str) -> tuple[int, int]:
    """Number of lines of the fuzzed files (`// TARGETS:`) that the corpus reaches, and of all their
    lines."""
    program = BUILD / "fuzz/cover" / name
    with unpacked(name) as known, tempfile.TemporaryDirectory() as scratch:
        raw, data = Path(scratch) / "raw", Path(scratch) / "data"
        inputs = files(known, BUILD / "fuzz/work" / name, FOUND / name)
        subprocess.run(
            [program, *inputs],
            cwd=TOP,
            check=True,
            capture_output=True,
            env={"LLVM_PROFILE_FILE": str(raw)},
        )
        subprocess.run(["llvm-profdata", "merge", "-o", data, raw], check=True, cwd=TOP)
        done = subprocess.run(
            ["llvm-cov", "export", "-summary-only", f"-instr-profile={data}", program]
            + [str(TOP / path) for path in marked(name, "TARGETS")],
            check=True,
            capture_output=True,
            cwd=TOP,
        )
    lines = json.loads(done.stdout)["data"][0]["totals"]["lines"]
    return lines["covered"], lines["count"]


def corpus_size(name: str) -> tuple[int, int]:
    inputs = corpus(name)
    return len(inputs), sum(map(len, inputs))


def findings() -> list[str]:
    """What the fuzzers have found so far: the lines of found/README.md."""
    text = (FOUND / "README.md").read_text()
    return [line.removeprefix("* ") for line in text.splitlines() if line.startswith("* ")]


def figures_of(outcome: Outcome, cover: bool) -> dict[str, int | float]:
    inputs, nbytes = corpus_size(outcome.name)
    figures: dict[str, int | float] = {
        f"{outcome.name}: executions": outcome.executions,
        f"{outcome.name}: edges": outcome.edges,
        f"{outcome.name}: corpus inputs": inputs,
        f"{outcome.name}: corpus bytes": nbytes,
    }
    if cover:
        covered, lines = coverage(outcome.name)
        figures[f"{outcome.name}: lines reached"] = covered
        figures[f"{outcome.name}: lines"] = lines
    return figures


def keep_figures(outcomes: list[Outcome], form: str) -> Path:
    """Writes the figures of this run, together with those of earlier runs for other fuzzers."""
    path = FOLDER / ("fuzz.json" if form == "full" else f"fuzz-{form}.json")
    figures: dict[str, int | float] = {}
    if path.exists():
        figures = json.loads(path.read_text())["figures"]
    for outcome in outcomes:
        figures |= figures_of(outcome, cover=True)
    kept = {label: n for label, n in figures.items() if label.split(":")[0] in names()}
    return write_figures("fuzz", form, dict(sorted(kept.items())), findings())


def show(outcomes: list[Outcome]) -> None:
    table = Table(box=None)
    for title in ("fuzzer", "executions", "edges", "lines reached", "corpus", "found"):
        table.add_column(title, justify="left" if title in ("fuzzer", "found") else "right")
    for outcome in outcomes:
        covered, lines = coverage(outcome.name)
        inputs, nbytes = corpus_size(outcome.name)
        table.add_row(
            outcome.name,
            f"{outcome.executions:,}",
            f"{outcome.edges:,}",
            f"{covered} of {lines}",
            f"{inputs}, {nbytes:,} bytes",
            outcome.repeat if outcome.crash else "nothing",
        )
    Console(width=160).print(table)


def long_run(name: str, seconds: int) -> Outcome:
    work = BUILD / "fuzz/work" / name
    work.mkdir(parents=True, exist_ok=True)
    with unpacked(name) as known:
        return run(
            name,
            [work, known, FOUND / name],
            [f"-max_total_time={seconds}", "-use_value_profile=1"],
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="fuzzers; without, all")
    parser.add_argument("--seconds", type=int, default=600, help="for each (default: 600)")
    parser.add_argument("--jobs", type=int, default=2, help="fuzzers at a time (default: 2)")
    parser.add_argument("--bless", action="store_true", help="put what was learnt into the corpus")
    args = parser.parse_args()
    chosen = args.names or names()
    if unknown := set(chosen) - set(names()):
        parser.error(f"no such fuzzer: {', '.join(sorted(unknown))} (of {', '.join(names())})")
    build([f"build/fuzz/{kind}{name}" for name in chosen for kind in ("", "cover/")])
    with ThreadPoolExecutor(args.jobs) as pool:
        outcomes = list(pool.map(lambda name: long_run(name, args.seconds), chosen))
    crashed = [outcome for outcome in outcomes if outcome.crash]
    for outcome in crashed:
        print(outcome.text[-2500:], outcome.repeat, sep="\n", file=sys.stderr)
    if args.bless and not crashed:
        for name in chosen:
            bless(name)
    if not crashed:
        show(outcomes)
        print(f"figures: {keep_figures(outcomes, 'full' if args.seconds >= 30 else 'short')}")
    return 1 if crashed else 0


if __name__ == "__main__":
    end(main)

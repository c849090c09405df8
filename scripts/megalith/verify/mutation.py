"""Mutation testing of mm/ on this host: plants one change at a time, builds the host tests that
link the changed file, and runs them until one fails. A change for which no test fails has survived,
which shows a gap in the tests.

The result of each mutant is kept in build/mutation/results.json, so that a run can be continued;
--again tries the survivors once more, for a test that was added since. Survivors that change
nothing observable are listed, with the reason, in tests/mutation/equivalent.json.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.table import Table

from megalith.run.ends import end
from megalith.run.paths import BUILD, TOP
from megalith.verify.edits import Mutant, apply, mutants
from megalith.verify.records import write_figures

HOST = TOP / "tests/host"
RESULTS = BUILD / "mutation/results.json"
BASELINE = BUILD / "mutation/baseline.json"
EQUIVALENT = TOP / "tests/mutation/equivalent.json"
SAMPLE = TOP / "tests/mutation/sample.json"
SAMPLE_SIZE = 10  # mutants that `make test-all` plants again
SAMPLE_SECONDS = 0.4  # longest time of the test that kills one of these
CPU_FACTOR, CPU_LEAST = 3, 1.0  # a test that takes so many times longer counts as hung
WALL_LIMIT = 40.0  # seconds, for a test that waits for ever


@dataclass
class Verdict:
    status: str  # killed, survived, not compiled
    test: str  # that killed it
    seconds: float  # that this test took


@cache
def tests_of(file: str) -> tuple[str, ...]:
    """The host tests that link a file."""
    found = []
    for path in sorted(HOST.glob("test_*.c")):
        words = " ".join(
            line.removeprefix("// SOURCES:")
            for line in path.read_text().splitlines()
            if line.startswith("// SOURCES:")
        ).split()
        if file in words:
            found.append(path.stem)
    return tuple(found)


@cache
def sources_of(test: str) -> tuple[str, ...]:
    """The sources that a test is linked with: itself, the common ones, its SOURCES."""
    common = [
        path for path in sorted(HOST.glob("*.c")) if not path.stem.startswith(("test_", "tsan_"))
    ]
    words: list[str] = []
    for line in (HOST / f"{test}.c").read_text().splitlines():
        if line.startswith("// SOURCES:"):
            words += line.removeprefix("// SOURCES:").split()
    own = [HOST / f"{test}.c", *common]
    return (*(str(path.relative_to(TOP)) for path in own), *words)


@cache
def host_flags() -> tuple[str, ...]:
    return tuple((TOP / "build/flags/host").read_text().removeprefix("with ").split())


def kill_all(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def clocked(program: Path, cpu_limit: int, wall_limit: float) -> tuple[bool, float]:
    """Whether it passed within its limits, and the processor time that it took, in seconds.
    Processor time is used because other work on the host prolongs everything else."""

    def limits() -> None:
        os.nice(19)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_limit, cpu_limit))

    running = subprocess.Popen(
        [program],
        cwd=TOP,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=limits,
        start_new_session=True,
        env={**os.environ, "ASAN_OPTIONS": "hard_rss_limit_mb=4000"},
    )
    killer = threading.Timer(wall_limit, kill_all, [running.pid])
    killer.start()
    _, status, usage = os.wait4(running.pid, 0)
    running.returncode = status
    killer.cancel()
    kill_all(running.pid)  # also children that it forked
    return status == 0, usage.ru_utime + usage.ru_stime


@cache
def baseline(test: str) -> float:
    """The processor time in seconds that the test takes without a change; measured once."""
    known = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    if test in known:
        return known[test]
    passed, seconds = clocked(BUILD / "host" / test, 120, 300)
    if not passed:
        raise RuntimeError(f"{test} fails without any change")
    BASELINE.parent.mkdir(parents=True, exist_ok=True)
    BASELINE.write_text(json.dumps(known | {test: round(seconds, 2)}))
    return seconds


def passes(test: str, changed: str, planted: Path, program: Path) -> bool:
    """Links the test with the changed object in place of the file's own, and runs it."""
    objects = [
        planted if source == changed else BUILD / "host/obj" / f"{source}.o"
        for source in sources_of(test)
    ]
    cflags = [flag for flag in host_flags() if not flag.startswith(("-I", "-D"))]
    subprocess.run([*cflags, *objects, "-lpthread", "-lm", "-o", program], cwd=TOP, check=True)
    return clocked(program, int(CPU_LEAST + CPU_FACTOR * baseline(test)), WALL_LIMIT)[0]


def judge(mutant: Mutant, only: str | None = None) -> Verdict:
    """Plants the mutant and runs the tests of its file, the fastest first (or only the given
    one)."""
    with tempfile.TemporaryDirectory() as scratch:
        source, planted = Path(scratch) / Path(mutant.file).name, Path(scratch) / "planted.o"
        source.write_bytes(apply(mutant))
        compiled = subprocess.run(
            [*host_flags(), "-w", "-g0", "-c", source, "-o", planted],
            cwd=TOP,
            capture_output=True,
        )
        if compiled.returncode:
            return Verdict("not compiled", "", 0)
        candidates = [only] if only else sorted(tests_of(mutant.file), key=baseline)
        for test in candidates:
            began = time.monotonic()
            if not passes(test, mutant.file, planted, Path(scratch) / "test"):
                return Verdict("killed", test, time.monotonic() - began)
    return Verdict("survived", "", 0)


# ---- what is known ----


def record(mutant: Mutant) -> dict[str, str]:
    file, function, before, after = mutant.key
    return {"file": file, "function": function, "before": before, "after": after}


def key_of(entry: dict[str, str]) -> tuple[str, str, str, str]:
    return entry["file"], entry["function"], entry["before"], entry["after"]


def load(path: Path) -> list[dict]:
    return json.loads(path.read_text()) if path.exists() else []


def save(path: Path, entries: Iterable[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(list(entries), indent=1) + "\n")
    beside.replace(path)


def all_files() -> list[str]:
    return [str(path.relative_to(TOP)) for path in sorted((TOP / "mm").rglob("*.c"))]


def planted_sample() -> list[tuple[Mutant, str]]:
    """The mutants of sample.json that still apply to the sources, and the tests that kill them."""
    found = []
    for entry in load(SAMPLE):
        for mutant in mutants(entry["file"]):
            if mutant.key == key_of(entry):
                found.append((mutant, entry["test"]))
    return found


def choose(files: list[str], count: int | None, seed: int, done: set) -> list[Mutant]:
    """Mutants in a random order that a seed determines; every file has its share of the first
    ones."""
    rng = random.Random(seed)
    by_file = []
    for file in files:
        if tests_of(file):
            of_file = mutants(file)
            rng.shuffle(of_file)
            # Places in [0, 1): taking the smallest takes the same part of every file.
            by_file += [((n + rng.random()) / len(of_file), m) for n, m in enumerate(of_file)]
    by_file.sort(key=lambda pair: pair[0])
    chosen = [mutant for _, mutant in by_file]
    return [mutant for mutant in chosen[:count] if mutant.key not in done]


def summary(results: list[dict]) -> dict[str, Counter]:
    equivalent = {key_of(entry) for entry in load(EQUIVALENT)}
    per_file: dict[str, Counter] = defaultdict(Counter)
    for entry in results:
        status = entry["status"]
        if status == "survived" and key_of(entry) in equivalent:
            status = "equivalent"
        per_file[entry["file"]][status] += 1
    return per_file


def figures(results: list[dict]) -> dict[str, int | float]:
    per_file = summary(results)
    total: Counter = sum(per_file.values(), Counter())
    judged = total["killed"] + total["survived"]
    first = sum(entry.get("first", entry["status"]) == "killed" for entry in results)
    out: dict[str, int | float] = {
        "places for a change": sum(len(mutants(file)) for file in all_files()),
        "planted": total.total(),
        "killed": total["killed"],
        "survived": total["survived"],
        "equivalent by review": total["equivalent"],
        "not compiled": total["not compiled"],
        "killed, per cent": round(100 * total["killed"] / judged, 1) if judged else 0,
        "killed before tests were added": first,
        "files without a host test": sum(not tests_of(file) for file in all_files()),
    }
    for file in all_files():
        if tests_of(file):
            counts = per_file[file]
            out[f"{file}: killed"] = counts["killed"]
            out[f"{file}: planted"] = counts["killed"] + counts["survived"]
    return out


def show(results: list[dict]) -> None:
    table = Table(box=None)
    for title in ("file", "killed", "survived", "equivalent", "not compiled"):
        table.add_column(title, justify="left" if title == "file" else "right")
    per_file = summary(results)
    for file in all_files():
        row = per_file[file]
        words = [str(row[k]) for k in ("killed", "survived", "equivalent", "not compiled")]
        table.add_row(file, *(words if tests_of(file) else ["no host test"]))
    Console(width=120).print(table)


def bless(results: list[dict], seed: int) -> None:
    """Writes sample.json: killed mutants of as many files as possible, whose tests are quick."""
    rng = random.Random(seed)
    threads = ("test_pager", "test_aspace_smp", "test_page")  # these depend on timing
    quick = [
        entry
        for entry in results
        if entry["status"] == "killed"
        and baseline(entry["test"]) < SAMPLE_SECONDS
        and entry["test"] not in threads
    ]
    rng.shuffle(quick)
    seen: Counter = Counter()
    ranked = []
    for entry in quick:
        ranked.append((seen[entry["file"]], entry))
        seen[entry["file"]] += 1
    ranked.sort(key=lambda pair: pair[0])
    keep = ("file", "function", "before", "after", "test")
    chosen = []
    for _, entry in ranked:
        if len(chosen) == SAMPLE_SIZE:
            break
        # Once more: a mutant that was killed only by timing or a time limit is not reliable.
        for mutant in mutants(entry["file"]):
            if mutant.key == key_of(entry) and judge(mutant, entry["test"]).status == "killed":
                chosen.append({k: entry[k] for k in keep})
    save(SAMPLE, chosen)


def work(chosen: list[Mutant], results: list[dict], jobs: int, seconds: float) -> None:
    """Judges the mutants, saving results on the way."""
    known = {key_of(entry): entry for entry in results}
    ends = time.monotonic() + seconds

    def one(mutant: Mutant) -> tuple[Mutant, Verdict | None]:
        return mutant, judge(mutant) if time.monotonic() < ends else None

    for test in sorted({test for mutant in chosen for test in tests_of(mutant.file)}):
        baseline(test)
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(one, mutant) for mutant in chosen]
        for number, future in enumerate(as_completed(futures), 1):
            mutant, verdict = future.result()
            if verdict is None:
                continue
            entry = known.get(mutant.key)
            if entry is None:
                entry = record(mutant)
                results.append(entry)
            entry.setdefault("first", verdict.status)
            entry |= {
                "kind": mutant.kind,
                "line": mutant.line,
                "status": verdict.status,
                "test": verdict.test,
                "seconds": round(verdict.seconds, 2),
            }
            print(f"{number:5} {verdict.status:12} {mutant.describe()}", flush=True)
            if number % 10 == 0:
                save(RESULTS, results)
    save(RESULTS, results)


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutate", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="mm/*.c; without, all")
    parser.add_argument("--sample", type=int, metavar="N", help="plant only N of them")
    parser.add_argument("--seed", type=int, default=1, help="which, in which order (default: 1)")
    parser.add_argument("--seconds", type=float, default=3600, help="stop then (default: 3600)")
    parser.add_argument("--jobs", type=int, default=2, help="at a time (default: 2)")
    parser.add_argument("--again", action="store_true", help="survivors only, once more")
    parser.add_argument("--afresh", action="store_true", help="forget what was known")
    parser.add_argument("--bless", action="store_true", help="choose what make test-all plants")
    parser.add_argument("--show", action="store_true", help="plant nothing, show what is known")
    args = parser.parse_args()
    there = {mutant.key for file in all_files() for mutant in mutants(file)}
    # Results of mutants that no longer apply to the sources are dropped.
    results = [e for e in ([] if args.afresh else load(RESULTS)) if key_of(e) in there]
    if not args.show:
        subprocess.run(["make", "-s", "-j2", "host-tests"], cwd=TOP, check=True)
        files = args.files or all_files()
        if args.again:
            survivors = {key_of(e) for e in results if e["status"] == "survived"}
            survivors -= {key_of(e) for e in load(EQUIVALENT)}
            chosen = [m for file in files for m in mutants(file) if m.key in survivors]
        else:
            chosen = choose(files, args.sample, args.seed, {key_of(e) for e in results})
        work(chosen, results, args.jobs, args.seconds)
    if args.bless:
        bless(results, args.seed)
    show(results)
    print(f"figures: {write_figures('mutation', 'full', figures(results))}")
    return 0


if __name__ == "__main__":
    end(main)

"""Four sorts at once on two CPUs beside models of hashed page tables, with and without affinity:
tables 2 and 3 of the VHPT paper, for docs/translation-buffer.md.

Each CPU has a table of its own. A job that moves to the other CPU finds its translations missing
there; with affinity the first two jobs stay on one CPU and the others on the other. One boot runs
all sizes of the table on one stream of references. How the jobs move depends on the host's time, so
each case is run several times, without --icount.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean
from typing import Any

from megalith.bench.figures import Bound, table
from megalith.bench.guest import run_modelled
from megalith.bench.hashed import CHIP

Row = dict[str, Any]

JOBS, CPUS, RUNS = 4, 2, 5
NUMBERS, QUICK_NUMBERS = 27, 20  # 296,010 records of 72 bytes with the pointers, 21 MB a job
SIZES = (0, 1, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
# What an entry held in which the walker did not find its page.
REASONS = ("nothing", "void", "own", "other", "system")
# Of the misses with the largest table, which has room for all jobs: those whose entry another job's
# page has.
MEETING_MOST = 0.001
# Average CPU seconds of a job by VHPT_SIZE, in tables 2 and 3 of the paper. That of 0 in table 2 is
# the mean of its four jobs; the paper prints another.
PAPER = {
    False: {0: 18.97, 1: 19.18, 512: 18.57, 1024: 18.31, 2048: 18.40, 4096: 18.29, 8192: 18.40},
    True: {0: 19.02, 1: 19.19, 512: 18.57, 1024: 18.03, 2048: 18.12, 4096: 18.03, 8192: 18.19},
}


def command(numbers: int, affinity: bool) -> list[str]:
    """The jobs, all at once; a taskset mask is a set of CPUs."""
    jobs = "".join(
        (f"taskset {1 << job * CPUS // JOBS} " if affinity else "")
        + f"/bench/combinations {numbers} & "
        for job in range(JOBS)
    )
    return ["/bin/sh", "-c", f"{jobs} wait; true"]


def run(numbers: int, affinity: bool) -> list[Row]:
    """A row for each size: sums over the CPUs of one boot."""
    model = f"{CHIP},hints=off,vhpt={'+'.join(map(str, SIZES))}"
    machine = ["-m", "1G", "--smp", str(CPUS)]
    said, found = run_modelled(model, machine, command(numbers, affinity), icount=False)
    return [
        {
            "size": size,
            "affinity": affinity,
            "records": said[0]["records"],
            "bytes": said[0]["bytes"],
            "jobs": len(said),
            "instructions": found.instructions,
            "switches": found.of_cpus("roots"),
            "misses": found.misses(n),
            "found": found.sum(n, "vhpt_hits"),
            **{reason: found.sum(n, f"vhpt_{reason}") for reason in REASONS},
            "least": found.sum(n, "least"),
            "most": found.sum(n, "most"),
        }
        for n, size in enumerate(SIZES)
    ]


def execute(numbers: int, runs: int, tell: Callable[[str], None]) -> list[Row]:
    """Rows of all boots."""
    rows = []
    for affinity in (False, True):
        for number in range(runs):
            tell(f"four jobs, {'with' if affinity else 'without'} affinity, run {number + 1}")
            rows += [row | {"run": number} for row in run(numbers, affinity)]
    return rows


def pick(rows: list[Row], size: int, affinity: bool) -> list[Row]:
    return [r for r in rows if r["size"] == size and r["affinity"] == affinity]


def left(r: Row) -> float:
    """Of the misses, those that software resolves."""
    return (r["misses"] - r["found"]) / r["misses"]


def time_of(r: Row, way: str) -> int:
    """Cycles of all jobs, if an instruction takes one."""
    return r["instructions"] + r[way]


def relative(rows: list[Row], size: int, affinity: bool, way: str) -> list[float]:
    """By run: the time of that size in percent of that of VHPT_SIZE 1 of the same boot."""
    defaults = {r["run"]: r for r in pick(rows, 1, affinity)}
    return [
        100 * time_of(r, way) / time_of(defaults[r["run"]], way) for r in pick(rows, size, affinity)
    ]


def bounds(rows: list[Row]) -> list[Bound]:
    """Every job ends, a large table leaves no more to software than the default one, and in one
    that has room for all jobs none takes an entry from another."""
    checked = [Bound("jobs that did not end", max(JOBS - r["jobs"] for r in rows), 0)]
    for affinity in (False, True):
        large, default = (
            max(left(r) for r in pick(rows, size, affinity)) for size in (SIZES[-1], 1)
        )
        where = "with" if affinity else "without"
        what = f"left to software, {where} affinity, VHPT_SIZE {SIZES[-1]}, at most that of 1"
        checked.append(Bound(what, large, default, ".3f"))
        met = max(r["other"] / r["misses"] for r in pick(rows, SIZES[-1], affinity))
        what = f"misses by a page of another job, {where} affinity, VHPT_SIZE {SIZES[-1]}"
        checked.append(Bound(what, met, MEETING_MOST, ".4f"))
    return checked


def spread(values: list[float], form: str) -> str:
    """The mean, and how far the runs lie from it."""
    middle = mean(values)
    return f"{middle:{form}} ± {max(abs(v - middle) for v in values):{form}}"


def jobs_table(rows: list[Row], affinity: bool) -> str:
    body = []
    for size in SIZES:
        some = pick(rows, size, affinity)
        times = [mean(relative(rows, size, affinity, way)) for way in ("least", "most")]
        paper = PAPER[affinity].get(size)
        body.append(
            [
                f"{size}{' (off)' if size == 0 else ''}",
                f"{mean(r['misses'] for r in some):,.0f}",
                f"{spread([100 * (1 - left(r)) for r in some], '.1f')} %" if size else "",
                " to ".join(f"{value:.1f} %" for value in times),
                f"{spread(relative(rows, size, affinity, 'least'), '.2f')} %",
                f"{100 * paper / PAPER[affinity][1]:.1f} %" if paper else "",
            ]
        )
    heads = ["VHPT_SIZE", "misses", "found in the table", "time, of VHPT_SIZE 1"]
    return table([*heads, "the first with its spread", "paper, CPU time"], body)


def reasons_table(rows: list[Row]) -> str:
    """Why the walker found nothing: per cent of all misses, both cases together."""
    body = []
    for size in SIZES[1:]:
        some = [r for r in rows if r["size"] == size]
        misses = sum(r["misses"] for r in some)
        shares = [100 * sum(r[reason] for r in some) / misses for reason in REASONS]
        body.append([str(size), *(f"{share:.2f} %" for share in shares)])
    heads = ["VHPT_SIZE", "nothing yet, or invalidated", "void by a flush"]
    return table([*heads, "the same job's page", "another process's", "the system's"], body)


def parts(rows: list[Row]) -> dict[str, str]:
    return {
        "tb-jobs-free": jobs_table(rows, False),
        "tb-jobs-affinity": jobs_table(rows, True),
        "tb-jobs-reasons": reasons_table(rows),
    }

"""scripts/schedules: programs that race, each under many schedules (scripts/run --schedule N).

A schedule is an order in which four CPUs execute, and it repeats to the instruction. So a failure
can be reproduced with the line that is printed. Every program must end with status 0, and every
page of the guest must be accounted for once, in every schedule. The exception is `planted_race`,
whose bug shows in some schedules and not in others, which proves that schedules differ where it
matters.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from megalith.run.ends import end
from megalith.run.paths import TOP
from megalith.verify.records import write_figures

RUN = str(TOP / "scripts" / "run")
SECONDS = 300  # one run; they take some
MEMORY = "256M"
PLANTED = "planted_race"
DIES = ("ALLOC 8 /ALLOCATE /PAGE_TABLES", "BARE 8 /ALLOCATE /NOPAGE_TABLES")
POOL = ("PAGEDYN=1048576", "PQL_DJTQUOTA=16777216", "POOLCHECK=0x616400FF")
REPORT = re.compile(
    r"^schedule (\d+): (\d+) points, (\d+) preemptions, (\d+) ns, digest ([0-9a-f]{16})$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Program:
    command: tuple[str, ...]
    options: tuple[str, ...] = ()
    share: int = 1  # runs of it for each schedule requested: more for cheap programs

    @property
    def name(self) -> str:
        return self.command[0].rpartition("/")[2]

    def line(self, schedule: int) -> list[str]:
        """The command line that repeats this run."""
        head = ["--schedule", str(schedule), "-m", MEMORY, "--validate"]
        return [*head, *self.options, "--", *self.command]


PROGRAMS = (
    Program(("/tests/planted_race",), share=8),
    Program(("/tests/stress_smp", "3", "1", "4")),
    Program(("/tests/rundown", "2"), tuple(w for e in DIES for w in ("--reserve", f"DIES_{e}"))),
    Program(("/tests/random_walk", "--seconds", "1", "--processes", "4")),
    Program(("/tests/share_section", "--name", "S", "--fluid", "--size", "64M", "--race", "64")),
    Program(("/tests/event_flags",)),
    Program(("/tests/ast_load", "0.1", "3")),
    Program(("/tests/mailbox_load", "0.05")),
    Program(("/tests/inotify", "40"), ("--set", "POOLCHECK=4294967295")),
    Program(("/tests/pool_stress", "1", "1500"), tuple(w for p in POOL for w in ("--set", p))),
)


@dataclass(frozen=True)
class Run:
    program: Program
    schedule: int
    status: int
    output: bytes
    console: str
    digest: str  # "" when the run did not end

    @property
    def lost(self) -> bool:
        """Did the planted bug show?"""
        return self.program.name == PLANTED and self.status == 1

    @property
    def failed(self) -> bool:
        return not self.digest or (self.status != 0 and not self.lost)

    def story(self) -> str:
        """The relevant output of a run that failed."""
        lines = [one for one in self.console.splitlines() if not one.startswith("PCI:")][-30:]
        told = self.output.decode(errors="replace").splitlines()
        lines += [one for one in told if not one.startswith("ok ")][-20:]
        return (
            f"schedule {self.schedule} of {self.program.name}: status {self.status}\n"
            + "".join(f"    {line}\n" for line in lines)
            + f"repeat with: {self.repeat()}"
        )

    def repeat(self) -> str:
        return "scripts/run " + shlex.join(self.program.line(self.schedule))


def run(program: Program, schedule: int) -> Run:
    words = [RUN, "--timeout", str(SECONDS), *program.line(schedule)]
    environment = os.environ | {"MEGALITH_BUILT": "1"}
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS + 60,
        env=environment,
    )
    console = done.stderr.decode(errors="replace")
    report = REPORT.search(console)
    digest = report.group(5) if report else ""
    return Run(program, schedule, done.returncode, done.stdout, console, digest)


@dataclass
class Sweep:
    """Schedules `first` and following, `count` of them for each program (times its share)."""

    first: int
    count: int
    runs: list[Run] = field(default_factory=list)

    def each(self, jobs: int) -> Iterator[Run]:
        pool = ThreadPoolExecutor(jobs)
        waiting = [
            pool.submit(run, program, self.first + number)
            for program in PROGRAMS
            for number in range(self.count * program.share)
        ]
        try:
            for done in as_completed(waiting):
                self.runs.append(done.result())
                yield self.runs[-1]
        finally:
            pool.shutdown(cancel_futures=True)  # ^C: those that run have been told, too

    def failures(self) -> list[Run]:
        return [one for one in self.runs if one.failed]

    def planted(self) -> tuple[int, int]:
        """The number of runs of the planted race that lost an addition, and of all its runs."""
        races = [one for one in self.runs if one.program.name == PLANTED]
        return sum(one.lost for one in races), len(races)

    def figures(self) -> dict[str, int | float]:
        lost, races = self.planted()
        return {
            "programs": len({one.program.name for one in self.runs}),
            "runs": len(self.runs),
            "schedules": len({one.schedule for one in self.runs}),
            "distinct interleavings": len({(one.program.name, one.digest) for one in self.runs}),
            "schedules in which the planted race lost an update": lost,
            "schedules in which it did not": races - lost,
            "failures": len(self.failures()),
        }


def repeats(one: Run) -> bool:
    """Does the same schedule give the same run, to the instruction and the byte?"""
    again = run(one.program, one.schedule)
    return (again.digest, again.status, again.output) == (one.digest, one.status, one.output)


def main(arguments: list[str] | None = None) -> int:
    try:
        return sweep_as_asked(arguments)
    except KeyboardInterrupt:
        return 130


def sweep_as_asked(arguments: list[str] | None) -> int:
    p = argparse.ArgumentParser(prog="scripts/schedules", description=__doc__.partition("\n")[0])
    p.add_argument("--count", type=int, default=50, metavar="K", help="schedules (default 50)")
    p.add_argument("--first", type=int, default=1, metavar="N", help="the first one (default 1)")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="machines at once")
    options = p.parse_args(arguments)
    if options.count < 1 or options.first < 0 or options.jobs < 1:
        p.error("at least one schedule, number 0 or above, one job")
    sweep = Sweep(options.first, options.count)
    begin = time.monotonic()
    for one in sweep.each(options.jobs):
        if one.failed:
            print(one.story(), flush=True)
    again = [one for one in sweep.runs if one.schedule == options.first]
    strangers = [one for one in again if not repeats(one)]
    for one in strangers:
        print(f"schedule {one.schedule} of {one.program.name} did not repeat: {one.repeat()}")
    figures = sweep.figures() | {"runs repeated to the instruction": len(again) - len(strangers)}
    for label, number in figures.items():
        print(f"{number:8} {label}")
    print(f"{time.monotonic() - begin:8.0f} seconds")
    found = [f"{one.program.name}, schedule {one.schedule}" for one in sweep.failures()]
    write_figures("schedules", "full" if options.count >= 10 else "short", figures, found)
    return 1 if found or strangers else 0


if __name__ == "__main__":
    end(main)

"""The paper's experiments: the machines that are booted, and what /bench/startup does there.

A case is one boot. Its reports become rows: the program's output, with the label and the CPUs of
the case, and whether instructions were counted. Everything that is shown or plotted is selected
from the rows.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from megalith.bench.guest import run_json

MIB = 1 << 20
GIB = 1 << 30
HOST_SPARE = 3 * GIB  # of the host's memory, not to be used
PROCESS_BYTES = 450_000  # memory of the host for a server, without the section's page tables
MEBI = 1024  # MiB in a GiB


@dataclass(frozen=True)
class Run:
    """One call of /bench/startup. Sizes in MiB."""

    size: int
    processes: tuple[int, ...]
    kind: str = "shared"  # or "private": ALLOC by their reservations; or "fluid"
    private_tables: bool = False  # of a fluid section
    populate: bool = False
    locks: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind.upper()}_{self.size}"

    @property
    def reservation(self) -> list[str]:
        tables = {"shared": "/PAGE_TABLES", "private": "/NOPAGE_TABLES"}.get(self.kind)
        if not tables:
            return []
        return ["--reserve", f"{self.name} {self.size} /ALLOCATE /ZERO {tables}"]

    @property
    def words(self) -> list[str]:
        words = ["/bench/startup", "--name", self.name, "--size", f"{self.size}M"]
        words += ["--processes", ",".join(map(str, self.processes))]
        words += ["--private"] if self.kind == "private" or self.private_tables else []
        words += ["--populate"] if self.populate else []
        return [*words, "--locks"] if self.locks else words


@dataclass(frozen=True)
class Case:
    label: str
    memory: int  # GiB of the guest
    runs: tuple[Run, ...]
    cpus: int = 1
    alone: bool = False  # needs much of the host's memory

    @property
    def icount(self) -> bool:
        return self.cpus == 1

    def execute(self) -> list[dict]:
        machine = ["-m", f"{self.memory}G", "--smp", str(self.cpus)]
        machine += ["--icount"] if self.icount else []
        for run in self.runs:
            machine += run.reservation
        script = " && ".join(shlex.join(run.words) for run in self.runs)
        rows = run_json(machine, ["/bin/sh", "-c", script])
        return [row | {"case": self.label, "cpus": self.cpus} for row in rows]


def available() -> int:
    """Bytes of the host's memory that may be used."""
    with open("/proc/meminfo") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024 - HOST_SPARE
    return 0


def bearable(size: int, processes: tuple[int, ...], room: int) -> tuple[int, ...]:
    """Those of the given numbers of processes for whose private page tables the host has memory."""
    tables = size * MIB // 1024  # 8 bytes for 8 KiB
    return tuple(n for n in processes if n * (tables + PROCESS_BYTES) <= room)


FIG4_PROCESSES = (200, 400, 600, 800, 1000)
FIG8_PROCESSES = (1, 2, 5, 10, 30, 100, 300, 600, 1000)
SMALL_GIB, LARGE_GIB, SPARSE_GIB = 7.5, 27000 / 1024, 202
PAPER_GIB = 8  # of the paper's machine
PAPER_PROCESSES = 300  # that it "easily accommodated" with 7.5 GB; more need a larger machine here


def fig4(room: int) -> list[Case]:
    """Page-table memory."""
    cases = []
    for gib in (2, 4, 6, 8):
        size = gib * MEBI
        counted = bearable(size, FIG4_PROCESSES, room)
        shared = Run(size, FIG4_PROCESSES)
        cases.append(Case("fig4", gib + 3, (shared,)))
        if counted:
            private = Run(size, counted, "private")
            cases.append(Case("fig4", 2 * gib + 5, (private,), alone=True))
    # Besides a section of 27,000 MiB, a guest of 28 GiB has memory for the tables of about 40.
    cases.append(Case("fig4", 28, (Run(27000, FIG4_PROCESSES),)))
    cases.append(Case("fig4", 28, (Run(27000, (10, 20, 30), "private"),)))
    sparse = Run(202 * MEBI, FIG4_PROCESSES, "fluid")
    alone = Run(202 * MEBI, FIG4_PROCESSES, "fluid", private_tables=True)
    cases.append(Case("fig4", 256, (sparse, alone)))
    return cases


def fig8() -> list[Case]:
    few = tuple(n for n in FIG8_PROCESSES if n <= PAPER_PROCESSES)
    many = tuple(n for n in FIG8_PROCESSES if n > PAPER_PROCESSES)
    return [
        Case("fig8", PAPER_GIB, (Run(7680, few),)),
        Case("fig8", 12, (Run(7680, many),)),
        Case("fig8", 28, (Run(27000, FIG8_PROCESSES),)),
        Case("fig8", 256, (Run(202 * MEBI, FIG8_PROCESSES, "fluid"),)),
    ]


def fig9() -> list[Case]:
    cases = []
    for size in (1024, 2048, 3072, 4096, 5120, 6144, 7168, 7680):
        cases.append(Case("fig9", PAPER_GIB, (Run(size, (300,)),)))
        # Nothing is paged, so the machine must hold the section and all private tables, 2.2 GiB.
        cases.append(Case("fig9", 13, (Run(size, (300,), "private"),)))
    for size in (1024, 8192, 16384, 27000):
        cases.append(Case("fig9-27", 28, (Run(size, (300,)),)))
    both = [Case("fig9-27", 28, (Run(27000, (30,), k),)) for k in ("shared", "private")]
    sparse = [Run(gib * MEBI, (300,), "fluid") for gib in (1, 8, 64, 128, 202)]
    return [*cases, *both, Case("fig9-202", 256, tuple(sparse))]


def populated() -> list[Case]:
    """Every page of 1 GiB read by every process before it is ready."""
    runs = [
        Run(1024, (300,), populate=True),
        Run(1024, (300,), "private", populate=True),
        Run(1024, (300,), "fluid", populate=True),
        Run(1024, (300,), "fluid", private_tables=True, populate=True),
    ]
    return [Case("populated", 5, (run,)) for run in runs]


def locks() -> list[Case]:
    private = Run(7680, (300,), "private", locks=True)
    cases = [
        Case("locks", 10, (Run(1024, (30, 300), locks=True),)),
        Case("locks", 12, (Run(7680, (30, 300, 1000), locks=True),)),
        Case("locks", 12, (private,)),
        Case("locks", 256, (Run(202 * MEBI, (300,), "fluid", locks=True),)),
    ]
    both = (Run(7680, (300,), locks=True), private)
    return cases + [Case("locks", 20, both, cpus) for cpus in (2, 4)]


def full() -> list[Case]:
    return [*fig4(available()), *fig8(), *fig9(), *populated(), *locks()]


def quick() -> list[Case]:
    """The same kinds of cases, as small as they can be, for `make test-all`."""
    few = (2, 4)
    return [
        Case("fig4", 1, (Run(32, few),)),
        Case("fig4", 1, (Run(32, few, "private"),)),
        Case("fig8", 1, (Run(64, (1, 2, 4)),)),
        Case("fig9", 1, (Run(16, (4,)),)),
        Case("fig9", 1, (Run(64, (4,)),)),
        Case("fig9", 1, (Run(64, (4,), "private"),)),
        Case("populated", 1, (Run(16, (4,), "fluid", populate=True),)),
        Case("populated", 1, (Run(16, (4,), "fluid", private_tables=True, populate=True),)),
        Case("locks", 1, (Run(16, (2, 4, 100), locks=True),)),
        Case("locks", 1, (Run(64, (4,), locks=True), Run(64, (4,), "private", locks=True))),
    ]


def execute(cases: list[Case], tell: Callable[[str], None]) -> list[dict]:
    """All rows, in the order of the cases. Boots that count instructions run two at a time, because
    nothing can disturb them; the others have the host to themselves."""
    rows: dict[int, list[dict]] = {}

    def one(number: int) -> None:
        case = cases[number]
        rows[number] = case.execute()
        names = ", ".join(run.name for run in case.runs)
        cpus = f"{case.cpus} CPU{'s' * (case.cpus > 1)}"
        tell(f"{case.label}: {names}, {cpus}, {case.memory} GiB")

    counted = [n for n, case in enumerate(cases) if case.icount and not case.alone]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, counted))
    for n in range(len(cases)):
        if n not in rows:
            one(n)
    return [row for n in range(len(cases)) for row in rows[n]]

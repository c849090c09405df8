"""The case of the paged-pool paper: /bench/pool, the tables made from it, and its bounds.

One boot with one CPU counts instructions: of the calls while the pool becomes fragmented, then with
lookaside lists off and on, and shows the pool with "show memory" (MEMORY). One boot with four CPUs
under --schedule repeats to the instruction, too, though its CPUs run in turn: in a pool that was
fragmented in one step it measures how users wait for each other, with lists off and on; requests
inside the kernel on 1, 2 and 4 CPUs at the same time; and what the system's own tools show of users
at work (WATCH). Boots with 2 and 4 CPUs give ratios of the waits when CPUs really run at once:
their time is that of the host, which stops virtual CPUs at any point. The "floor" says how long
waits are without the pool: users who take LNM as often and do not use the pool. One more boot has
the same names, and has just been booted.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from megalith.bench.figures import Bound, table
from megalith.bench.guest import SECONDS, BenchError
from megalith.run.machine import Settings
from megalith.run.paths import TEST_KERNEL, TOP
from megalith.tb.plan import emulator_version

Row = dict[str, Any]

# PAGEDYN without the bookkeeping of paged pool is the paper's 292,960 pagelets.
MACHINE = ["-m", "512M", "--set", "PAGEDYN=161341440", "--set", "PAGED_LAL_SIZE=0"]
MACHINE += ["--set", "PQL_DJTQUOTA=1073741824", "--set", "LNMSHASHTBL=65536"]
PAPER = {"free_blocks": 34826, "le64": 33533, "used": 61645783}
BLOCKS_LEAST = 34_000
HIT_MOST = 60  # instructions of pgd_alloc, and of pgd_free, with the call
WAIT_MOST = 0.01  # of the waits without lists
FLOOR_MOST = 2.0  # a translation with lists, relative to one while nobody uses the pool
APART_MOST = 0.7  # kernel mode while nobody waits for a mutex, of that while somebody does
OTHERS_MOST = 0.25  # requests of other sizes than the paper's busiest
BUSIEST = range(80, 208 + 1)
SIZES = (80, 144, 208)
PROCESSES_SHOWN = 10  # of the samples on the page
COMB = {"blocks": PAPER["free_blocks"], "names": 2 * PAPER["free_blocks"], "comb": 1}
NONPAGED = (80, 208, 1024, 8192)
AT_WORK = (1, 2, 4)
# This QEMU and later ones divide the time until the next timer among all CPUs. Just before it turns
# are shorter than what a CPU does between two readings of the clock, so that a hit during which
# another CPU had one is not told from others (userland/bench/pool/parallel.c).
SHORT_TURNS = (8, 1)
SCHEDULE = 20  # one whose alarms preempt no thread: they only divide the time among CPUs

MEMORY = """\
sleep {0}
echo '=== memory'
show memory /pool /full
sysman parameters set RSVD_EXEC_1 512
sleep {0}
echo '=== memory-after'
show memory /pool /full
"""

WATCH = """\
monitor /record /tmp/record /interval={interval} &
monitor=$!
sleep {before}
sda mtx start trace >/tmp/said
sda pcs start trace >/tmp/said
for look in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
do
echo '=== system'
show system
sleep {look}
done
sda mtx stop trace >/tmp/said
sda pcs stop trace >/tmp/said
echo '=== mutexes'
sda mtx show trace /summary
echo '=== routines'
sda pcs show trace /summary /top=4
echo '=== cured'
wc /tmp/record
echo '=== cure'
sysman parameters set RSVD_EXEC_1 512
sysman parameters show PAGED_LAL_SIZE
sleep {after}
sda mtx start trace >/tmp/said
sda pcs start trace >/tmp/said
sleep {traced}
sda mtx stop trace >/tmp/said
sda pcs stop trace >/tmp/said
echo '=== system-after'
show system
echo '=== mutexes-after'
sda mtx show trace /summary
echo '=== routines-after'
sda pcs show trace /summary /top=4
kill $monitor
echo '=== record'
cat /tmp/record
"""


def turns_show() -> bool:
    """Does a hit during which another CPU had its turn show? Else hits beside others have no
    bound."""
    return emulator_version() < SHORT_TURNS


@dataclass(frozen=True)
class Case:
    label: str
    words: tuple[str, ...]
    cpus: int = 1
    watch: str | None = None  # a script that observes the run
    schedule: int | None = None

    def execute(self) -> tuple[list[Row], list[Row]]:
        """Rows, and the output of the tools: {"name": ..., "text": ...}."""
        # kernel/test has the call that times single requests (MEGA_CTL_POOL_COST).
        words = [str(TOP / "scripts/run"), "--kernel", str(TEST_KERNEL), *MACHINE]
        words += ["--smp", str(self.cpus)]
        if self.schedule is not None:
            words += ["--schedule", str(self.schedule)]
        elif self.cpus == 1:
            words += ["--icount"]
        program = ["/bench/pool", *self.words]
        with tempfile.NamedTemporaryFile("w", suffix=".sh") as script:
            if self.watch:
                script.write(self.watch)
                script.flush()
                words += ["--add", f"{script.name}:/watch"]
                program += ["--watch", "/watch"]
            words += ["--timeout", SECONDS, "--", *program]
            done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, text=True)
        if done.returncode:
            raise BenchError(f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return self.parse(done.stdout)

    def parse(self, output: str) -> tuple[list[Row], list[Row]]:
        rows: list[Row] = []
        looks: dict[str, list[list[str]]] = {}
        text: list[str] | None = None
        for line in output.splitlines():
            if line.startswith("{"):
                row = json.loads(line)
                if "report" not in row:  # of monitor /record
                    row = {"report": "record", "cpus_times": row.pop("cpus")} | row
                if self.schedule is not None and row["report"] != "record":
                    row = self.in_instructions(row)
                if row["report"] == "parallel" and not turns_show():
                    row["turns_show"] = False
                rows.append(row | {"case": self.label, "cpus": self.cpus})
            elif line.startswith("=== "):
                text = []
                looks.setdefault(line[4:], []).append(text)
            elif text is not None:
                text.append(line.rstrip())
        # Of several displays, the one with most processes waiting.
        best = {n: max(of, key=lambda t: sum("MUTEX" in x for x in t)) for n, of in looks.items()}
        texts = [{"name": n, "text": "\n".join(t).strip("\n")} for n, t in best.items() if t]
        return rows, texts

    def in_instructions(self, row: Row) -> Row:
        unit = 1 << Settings(b"", schedule=self.schedule).shift

        def scaled(key: str, value: Any) -> Any:
            if isinstance(value, dict):  # of a mutex
                return {k: scaled(k, v) for k, v in value.items()}
            if not isinstance(value, list):
                return value // unit if key.endswith("_ns") else value
            if key == "by_size":
                return value
            if key.endswith("_count"):  # calls: all, undisturbed, that waited; how long
                return [*value[:3], value[3] // unit]
            return [n // unit for n in value]

        return {key: scaled(key, value) for key, value in row.items()}


def _words(**options: int | str) -> tuple[str, ...]:
    return tuple(w for k, v in options.items() for w in (f"--{k}", str(v)))


def full() -> list[Case]:
    shape = {"blocks": PAPER["free_blocks"], "small": PAPER["le64"], "used": PAPER["used"]}
    work = {"names": 180000, "users": 8, "think": 400000, "pairs": 100, "transactions": 6}
    lists = {"lal": "0,512,2560"}
    several = work | {"transactions": 3}
    watch = WATCH.format(before=20, look=0.6, after=40, traced=10, interval=0.25)
    return [
        Case("uptime", _words(**work, **shape, **lists, series=12), watch=MEMORY.format(2)),
        Case(
            "parallel",
            _words(**work | COMB, **lists, floor=1, cost="0,512,2560", cpus=4, burst=5, rest=40),
            cpus=4,
            schedule=SCHEDULE,
            watch=watch,
        ),
        Case("reboot", _words(**work, blocks=1, small=0)),
        Case("cpus", _words(**several, **shape, **lists, floor=1), cpus=2),
        Case("cpus", _words(**several, **shape, **lists, floor=1), cpus=4),
    ]


def quick() -> list[Case]:
    # Users are woken by the clock, which also takes the samples, so they must run for over a tick.
    work = {"names": 6000, "users": 3, "think": 20000, "pairs": 80, "transactions": 1}
    shape = {"blocks": 1000, "small": 800, "used": 4 << 20}
    lists = {"lal": "0,512"}
    # With fewer transactions the order of turns alone decides who waits.
    comb = work | {"names": 2000, "blocks": 1000, "small": 0, "comb": 1, "transactions": 4}
    watch = WATCH.format(before=0.3, look=0.05, after=0.5, traced=0.5, interval=0.05)
    return [
        Case("uptime", _words(**work, **shape, **lists, series=2), watch=MEMORY.format(0.3)),
        Case(
            "parallel",
            _words(**comb, **lists, floor=1, cost="0,512", cpus=2, burst=2, rest=2),
            cpus=4,
            schedule=SCHEDULE,
            watch=watch,
        ),
        Case("reboot", _words(**work, blocks=1, small=0)),
        Case("cpus", _words(**work, **shape, **lists, floor=1), cpus=2),
    ]


def execute(cases: list[Case], tell: Callable[[str], None]) -> tuple[list[Row], list[Row]]:
    rows, texts = [], []
    for case in cases:
        found, said = case.execute()
        rows += found
        texts += said
        tell(f"pool: {case.label}, {case.cpus} CPU{'s' * (case.cpus > 1)}")
    return rows, texts


# ---- evaluation ----------------------------------------------------------------------------------


def pick(rows: list[Row], report: str, cpus: int = 1, case: str = "") -> list[Row]:
    return [
        r
        for r in rows
        if r["report"] == report and r["cpus"] == cpus and (not case or r["case"] == case)
    ]


# The cases of trials: by the number of CPUs, and IN_TURN for the four that run in turn.
IN_TURN = 0
_TRIALS = {IN_TURN: (4, "parallel"), 1: (1, "uptime"), 2: (2, "cpus"), 4: (4, "cpus")}


def lists_of(rows: list[Row], trials: int) -> dict[int, Row]:
    """By PAGED_LAL_SIZE."""
    return {r["lal"]: r for r in pick(rows, "lists", *_TRIALS[trials])}


def floor_of(rows: list[Row], trials: int) -> Row:
    return pick(rows, "floor", *_TRIALS[trials])[0]


def cure_at(texts: list[Row]) -> int:
    """The number of lines that monitor had written when lists were turned on."""
    return int(next(t["text"] for t in texts if t["name"] == "cured").split()[0])


def kernel_percent(row: Row) -> float:
    times = row["cpus_times"]
    return 100 * sum(c["kernel"] for c in times) / row["interval"] / len(times)


@dataclass(frozen=True)
class Coincidence:
    """Before lists were turned on: kernel mode, in percent of the CPUs, in the intervals at whose
    end a process was in MUTEX, and in the others; and the number of the former."""

    waiting: float
    others: float
    count: int

    @classmethod
    def of(cls, rows: list[Row], texts: list[Row]) -> Coincidence:
        before = pick(rows, "record", 4)[: cure_at(texts)]
        waiting = [kernel_percent(r) for r in before if r["states"]["MUTEX"]]
        others = [kernel_percent(r) for r in before if not r["states"]["MUTEX"]]
        return cls(
            sum(waiting) / max(len(waiting), 1), sum(others) / max(len(others), 1), len(waiting)
        )


def coincide(rows: list[Row], texts: list[Row]) -> str:
    c = Coincidence.of(rows, texts)
    return (
        f"Before the cure kernel mode takes {c.waiting:.0f} % of the CPUs in the {c.count} "
        f"intervals at whose end somebody is in MUTEX, and {c.others:.0f} % in the others."
    )


def shape_table(rows: list[Row]) -> str:
    reached = pick(rows, "series", 1, "uptime")[-1]
    mb = 1 << 20
    used = reached["size"] - reached["free"] - reached["lookaside"]
    lines = [
        ["Current Size (pagelets)", "292,960", f"{reached['size'] // 512:,}"],
        ["Free Space (MB)", "84.24", f"{reached['free'] / mb:.2f}"],
        ["Space in Use (MB)", "58.79", f"{used / mb:.2f}"],
        ["Largest Var Block (MB)", "81.30", f"{reached['largest'] / mb:.2f}"],
        ["Smallest Var Block (bytes)", "16", f"{reached['smallest']}"],
        ["Number of Free Blocks", "34,826", f"{reached['free_blocks']:,}"],
        ["Free Blocks LEQU 64 bytes", "33,533", f"{reached['le64']:,}"],
    ]
    return table(["", "the paper", "here"], lines)


def _three(v: list[int]) -> str:
    return " / ".join(f"{n:,}" for n in v)


def cost_table(rows: list[Row]) -> str:
    lines = []
    for lal, r in lists_of(rows, 1).items():
        for size in SIZES:
            line = [f"{size} bytes, PAGED_LAL_SIZE {lal:,}"]
            line += [_three(r[f"alloc_{size}"]), _three(r[f"free_{size}"])]
            lines.append(line)
        lines.append(
            [f"`$CRELNM` and `$DELLNM`, {lal:,}", _three(r["crelnm"]), _three(r["dellnm"])]
        )
    return table(["median / 99th percentile / worst", "allocation", "release"], lines)


def nonpaged_table(rows: list[Row]) -> str:
    row = lists_of(rows, 1)[512]
    lines = [
        [f"{size:,}", _three(row[f"npp_alloc_{size}"]), _three(row[f"npp_free_{size}"])]
        for size in NONPAGED
    ]
    return table(["bytes, median / 99th percentile / worst", "allocation", "release"], lines)


def parallel_of(rows: list[Row], lal: int, at_work: int) -> Row:
    return next(r for r in pick(rows, "parallel", 4) if (r["lal"], r["at_work"]) == (lal, at_work))


def parallel_table(rows: list[Row]) -> str:
    lines = []
    for r in pick(rows, "parallel", 4):
        for size in SIZES:
            line = [f"{r['at_work']}", f"{r['lal']:,}", f"{size}"]
            counts = [r[f"{what}_{size}_count"] for what in ("alloc", "free")]
            for kind in ("_whole", ""):
                for what in ("alloc", "free"):
                    some = kind == "" or r[f"{what}_{size}_count"][1]
                    line.append(_three(r[f"{what}_{size}{kind}"]) if some else "–")
            calls, whole, waits, waited = (sum(c[i] for c in counts) for i in range(4))
            line += [f"{calls - whole:,} of {calls:,}"]
            line.append(f"{waits:,}: {waited:,}" if waits else "none")
            lines.append(line)
    head = ["CPUs at work", "PAGED_LAL_SIZE", "bytes"]
    head += ["undisturbed: allocation", "release", "all: allocation", "release"]
    return table([*head, "disturbed", "waited for PGDYN"], lines)


def wait_table(rows: list[Row]) -> str:
    lines = []
    trials = {f"{lal:,}": r for lal, r in lists_of(rows, IN_TURN).items()}
    for lal, r in (trials | {"nobody uses the pool": floor_of(rows, IN_TURN)}).items():
        line = [lal]
        for name in ("LNM", "PGDYN"):
            m = r[name]
            line += [f"{m['waits']:,}", f"{m['wait_ns'] / 1e6:,.1f}"]
            line += [f"{m['longest_wait_ns']:,}", f"{m['longest_ns']:,}"]
        lines.append([*line, _three(r["translate"])])
    head = ["PAGED_LAL_SIZE"]
    for name in ("LNM", "PGDYN"):
        head += [f"{name}: waits", "waited, million", "longest wait", "longest hold"]
    return table([*head, "bystander's translation"], lines)


def cpus_table(rows: list[Row]) -> str:
    """Cost with lists off divided by cost with lists on, within one boot. The last columns: longest
    pauses in milliseconds of virtual time, and the ratio of that with lists on to the floor."""
    lines = []
    for cpus in (2, 4):
        by = lists_of(rows, cpus)
        for lal in [n for n in by if n and 0 in by]:
            off, on = by[0], by[lal]
            line = [f"{cpus}", f"{lal:,}"]
            for key in ("crelnm", "dellnm"):
                line.append(f"{off[key][0] / max(on[key][0], 1):,.1f}")
            for size in (80, 208):
                line.append(f"{off[f'free_{size}'][0] / max(on[f'free_{size}'][0], 1):,.0f}")
            line += [f"{off[m]['waits']:,} / {on[m]['waits']:,}" for m in ("LNM", "PGDYN")]
            waited = [sum(r[m]["wait_ns"] for m in ("LNM", "PGDYN")) for r in (off, on)]
            line.append(f"{waited[0] / waited[1]:,.0f}" if waited[1] else "nobody waited")
            line.append(f"{off['translate'][1] / max(on['translate'][1], 1):,.0f}")
            floor = floor_of(rows, cpus)["stall_ns"]
            pauses = " / ".join(f"{n / 1e6:,.3f}" for n in (off["stall_ns"], on["stall_ns"], floor))
            lines.append([*line, pauses, f"{on['stall_ns'] / floor:,.2f}"])
    head = ["CPUs", "lists to", "`$CRELNM`", "`$DELLNM`", "release of 80", "of 208"]
    head += ["LNM waits, off / on", "PGDYN waits", "time waited"]
    head += ["bystander's pause, 99th percentile", "worst, off / on / nobody uses the pool, ms"]
    head += ["on over nobody"]
    return table(head, lines)


def uptime_table(rows: list[Row]) -> str:
    lines = []
    for r in [*pick(rows, "series", 1, "uptime"), *pick(rows, "series", 1, "reboot")]:
        when = "after a reboot" if r["case"] == "reboot" else ""
        line = [when, f"{r['free_blocks']:,}", f"{r['le64']:,}", f"{r['stall_ns']:,}"]
        line += [f"{r['LNM']['longest_wait_ns']:,}", f"{r['dellnm'][0]:,}", f"{r['crelnm'][0]:,}"]
        lines.append(line)
    head = ["", "free blocks", "at most 64 bytes", "bystander's worst pause"]
    head += ["longest wait for LNM", "`$DELLNM`", "`$CRELNM`"]
    return table(head, lines)


def felt(rows: list[Row]) -> str:
    """The number of free blocks from which on a wait for LNM is over a hundred translations."""
    for r in pick(rows, "series", 1, "uptime"):
        if r["LNM"]["longest_wait_ns"] > 100 * r["translate"][0]:
            return f"Felt, that is over a hundred translations long, from {r['free_blocks']:,} on."
    return "Not felt."


def sizes_table(rows: list[Row]) -> str:
    row = lists_of(rows, 1)[512]
    lines = [
        [f"{size}", f"{requests:,}", f"{hits:,}", f"{100 * hits / requests:.1f}"]
        for size, requests, hits in row["by_size"]
        if size <= 256
    ]
    others = [e for e in row["by_size"] if e[0] > 256]
    requests, hits = sum(e[1] for e in others), sum(e[2] for e in others)
    if requests:
        lines.append(["above", f"{requests:,}", f"{hits:,}", f"{100 * hits / requests:.1f}"])
    return table(["bytes", "requests", "hits", "%"], lines)


def wait_bounds(rows: list[Row]) -> list[Bound]:
    """What users on several CPUs wait for each other with lists, relative to without."""
    by, floor = lists_of(rows, IN_TURN), floor_of(rows, IN_TURN)
    result = []
    for lal in [n for n in by if n]:
        on, off = by[lal], by[0]
        text = f"time waited for LNM on 4 CPUs, PAGED_LAL_SIZE {lal:,} over 0"
        result.append(Bound(text, on["LNM"]["wait_ns"] / off["LNM"]["wait_ns"], WAIT_MOST, ".5f"))
        text = f"median of `$CRELNM` there, {lal:,} over 0"
        result.append(Bound(text, on["crelnm"][0] / off["crelnm"][0], WAIT_MOST, ".5f"))
        for what, name in enumerate(("median", "99th percentile", "longest")):
            text = f"bystander's translation there, {name}, {lal:,} over nobody uses the pool"
            ratio = on["translate"][what] / floor["translate"][what]
            result.append(Bound(text, ratio, FLOOR_MOST, ".2f"))
    return result


def bounds(rows: list[Row], texts: list[Row]) -> list[Bound]:
    on = lists_of(rows, 1)
    result = []
    for lal in [n for n in on if n]:
        for what, name in (("alloc", "allocation"), ("free", "release")):
            worst = max(on[lal][f"{what}_{size}"][1] for size in SIZES)
            text = f"{name} by a lookaside hit, PAGED_LAL_SIZE {lal:,}, 99th percentile"
            result.append(Bound(text, worst, HIT_MOST))
    worst = max(on[512][f"npp_alloc_{n}"][1] for n in NONPAGED)
    text = "allocation of nonpaged pool by a lookaside hit, 99th percentile"
    result.append(Bound(text, worst, HIT_MOST))
    for r in [r for r in pick(rows, "parallel", 4) if r["lal"] and r.get("turns_show", True)]:
        worst = max(r[f"{what}_{size}_whole"][1] for what in ("alloc", "free") for size in SIZES)
        text = f"hit while {r['at_work']} of 4 CPUs are at work, PAGED_LAL_SIZE {r['lal']:,}"
        result.append(Bound(f"{text}, 99th percentile", worst, HIT_MOST))
    if on[0]["free_blocks"] >= BLOCKS_LEAST:
        result += wait_bounds(rows)
        small = on[0]["le64"] / on[0]["free_blocks"]
        result.append(Bound("free blocks above 64 bytes, of all", 1 - small, 0.5, ".3f"))
        c = Coincidence.of(rows, texts)
        text = "kernel mode while nobody waits for a mutex, of that while somebody does"
        result.append(Bound(text, c.others / c.waiting if c.waiting else 1.0, APART_MOST, ".2f"))
    by_size = on[512]["by_size"]
    others = sum(e[1] for e in by_size if e[0] not in BUSIEST) / sum(e[1] for e in by_size)
    text = f"requests of other sizes than {BUSIEST[0]} to {BUSIEST[-1]} bytes, of all"
    result.append(Bound(text, others, OTHERS_MOST, ".3f"))
    return result


def shortened(text: str) -> str:
    """Of samples by process, which are sorted, those of the ten processes that have most."""
    head, *processes = text.split("\n\n")
    more = len(processes) - PROCESSES_SHOWN
    if not head.startswith("Traced") or "samples" not in head or more <= 0:
        return text
    return "\n\n".join([head, *processes[:PROCESSES_SHOWN], f"  (and of {more} more processes)"])


def parts(rows: list[Row], texts: list[Row]) -> dict[str, str]:
    """The tables by their marks, and the output of the tools."""
    found = {f"pool-{t['name']}": f"```\n{shortened(t['text'])}\n```" for t in texts}
    lines = [[b.what, f"{b.value:{b.form}}", f"{b.most:{b.form}}"] for b in bounds(rows, texts)]
    return found | {
        "pool-shape": shape_table(rows),
        "pool-cost": cost_table(rows),
        "pool-nonpaged": nonpaged_table(rows),
        "pool-parallel": parallel_table(rows),
        "pool-waits": wait_table(rows),
        "pool-cpus": cpus_table(rows),
        "pool-uptime": uptime_table(rows),
        "pool-felt": felt(rows),
        "pool-coincide": coincide(rows, texts),
        "pool-sizes": sizes_table(rows),
        "pool-bounds": table(["bound", "measured", "at most"], lines),
    }

"""scripts/run --tb-model: what the plugin counts is what a program with known numbers does, what
the kernel announces is what PALcode executes, and a trace gives the same misses again."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from megalith.run.paths import TOP
from megalith.tb import plan, programs, report

PAGES, ROUNDS, TIMES = 300, 3, 5
# A round of walk_pages() executes 2 + 4 * PAGES + 2 instructions, among them PAGES loads. It is
# called with one round, and then with ROUNDS more.
WALKED = PAGES * (2 + ROUNDS) * TIMES
PROGRAM = """
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static unsigned long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ul + t.tv_nsec;
}
__attribute__((noinline)) void walk_pages(char *first, long rounds)
{
    char *at;
    long left;
    __asm__ volatile("1: mov %2, %0\\n\\tlda %1, %4\\n"
                     "2: ldl $1, 0(%0)\\n\\tlda %0, 8192(%0)\\n\\tsubq %1, 1, %1\\n\\tbne %1, 2b\\n"
                     "\\tsubq %3, 1, %3\\n\\tbne %3, 1b"
                     : "=&r"(at), "=&r"(left), "+r"(first), "+r"(rounds)
                     : "i"(PAGES)
                     : "$1", "memory");
}
static char *fresh(void)
{
    return mmap(0, PAGES * 8192l, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
__attribute__((noinline)) void fault(void) /* in many ways, and write to devices */
{
    char *p = fresh();
    for (long i = 0; i < PAGES; i++) {
        __asm__ volatile("ldq_l $1, 0(%0)\\n\\taddq $1, 1, $1\\n\\tstq_c $1, 0(%0)\\n\\t"
                         "ldl $1, 6(%0)\\n\\tstq $1, 17(%0)" : : "r"(p + 8192 * i)
                         : "$1", "memory");
        if (i % 64 == 0) {
            write(2, "word\\n", 5);
            if (fork() == 0)
                _exit(p[8192 * i]++);
            wait(0);
        }
    }
}
int main(int argc, char **argv)
{
    char *p = fresh();
    unsigned long t[3 * TIMES + 2];
    for (long i = 0; i < PAGES; i++)
        p[8192 * i] = 1;
    for (int i = 0; i < TIMES; i++) {
        t[3 * i] = now();
        walk_pages(p, 1);
        t[3 * i + 1] = now();
        walk_pages(p, 1 + ROUNDS);
        t[3 * i + 2] = now();
    }
    t[3 * TIMES] = now();
    if (argc > 1)
        fault();
    t[3 * TIMES + 1] = now();
    for (int i = 0; i < 3 * TIMES + 2; i++)
        printf("%lu\\n", t[i]);
    return 0;
}
"""


def run(folder: Path, model: str, *words: str) -> tuple[report.Found, str, str]:
    """The counts, standard output, and what scripts/run printed."""
    results = folder / "results"
    done = subprocess.run(
        [str(TOP / "scripts/run"), "--tb-model", f"{model},json={results}", *words],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return report.read(results.read_text()), done.stdout, done.stderr


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> tuple[report.Found, list[int], str, Path]:
    """A run of the program with known numbers on all chips, with a trace."""
    folder = tmp_path_factory.mktemp("tb")
    (folder / "known.c").write_text(PROGRAM)
    flags = ["-O2", "-static", "-Wl,--no-relax"]
    flags += [f"-D{n}={v}" for n, v in (("PAGES", PAGES), ("ROUNDS", ROUNDS), ("TIMES", TIMES))]
    words = ["alpha-linux-gnu-gcc", *flags, "known.c", "-o", "known"]
    subprocess.run(words, cwd=folder, check=True)
    trace = folder / "trace"
    found, out, said = run(
        folder, f"all,hints=both,trace={trace}", "--icount", "--add", f"{folder}/known:/known",
        "--", "/known", "fault",
    )  # fmt: skip
    return found, [int(line) for line in out.split()], said, trace


def test_instructions_are_those_of_icount(known) -> None:
    """With --icount an instruction is a nanosecond, so every time that the program read is a count
    of instructions, but for one constant."""
    found, times, _, _ = known
    counts = {at.instructions for at in found.clock}
    constants = {times[0] - count for count in counts}
    fitting = [c for c in constants if all(time - c in counts for time in times)]
    assert len(fitting) == 1


def test_references_are_those_of_the_program(known) -> None:
    found, times, _, _ = known
    counts = {at.instructions for at in found.clock}
    (constant,) = (c for c in {times[0] - n for n in counts} if all(t - c in counts for t in times))
    by_time = {at.instructions + constant: at.accesses for at in found.clock}
    # A clock interrupt now and then adds to one of them, so the least of each counts.
    pairs = [(times[3 * n], times[3 * n + 1], times[3 * n + 2]) for n in range(TIMES)]
    one = min(b - a for a, b, _ in pairs)
    more = min(c - b for _, b, c in pairs)
    assert more - one == ROUNDS * (4 + 4 * PAGES)
    one = min(by_time[b] - by_time[a] for a, b, _ in pairs)
    more = min(by_time[c] - by_time[b] for _, b, c in pairs)
    assert more - one == ROUNDS * PAGES


def test_a_walk_that_exceeds_every_buffer_misses_at_each_page(known) -> None:
    """More pages in turn than any chip has entries: each reference misses, in the data buffer
    alone, and the report names program and kind."""
    found, _, said, _ = known
    names = [(m[0]["chip"], m[0]["hint"]) for m in found.models]
    assert names == [(chip, hint) for chip in plan.CHIPS for hint in (3, 0)]
    kernel = TOP / "build/megalith.elf"
    types = plan.page_types(kernel)
    walked = [
        origin
        for origin in found.origins
        if origin["program"] == "known" and max(origin["misses"]) >= WALKED
    ]
    assert len(walked) == 1
    assert walked[0]["misses"] == [WALKED] * len(names)
    assert walked[0]["kind"] == types["PAGE_T_PROCESS"] and walked[0]["stream"] == 1
    # Round robin replaces the page of PTEs each time that the buffer has been filled once. Not last
    # used keeps it, because each miss uses it.
    for doubles, keeps in zip(walked[0]["doubles"][::2], (True, True, False)):
        assert doubles <= 4 if keeps else doubles == pytest.approx(WALKED / 127, rel=0.1)
    assert re.search(r"(?m)^private memory, 1 page an entry ", said)
    assert "known, data" in said


def test_a_trace_gives_the_same_misses(known) -> None:
    found, _, _, trace = known
    for n, (chip, hint) in enumerate((chip, hint) for chip in plan.CHIPS for hint in (3, 0)):
        words = [str(programs.replay()), chip, f"hint={hint}", "asn=on", "vhpt=0"]
        with open(trace, "rb") as source:
            said = subprocess.run(words, stdin=source, capture_output=True, text=True, check=True)
        counts = dict(line.split() for line in said.stdout.splitlines())
        for name in ("fetch_misses", "data_misses", "fetch_doubles", "data_doubles"):
            assert int(counts[name]) == found.sum(n, name), (chip, hint, name)
        assert int(counts["cycles_least"]) == found.sum(n, "least")


TEXT_PAGES, TEXT_ROUNDS = 320, 20
TEXT = """
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define P 8192l
void walk_text(void);
__asm__(".text; .balign 8192; .globl walk_text; .ent walk_text; walk_text: "
        ".rept " PAGES "; br $31, 1f; .balign 8192; 1: ; .endr; ret; .end walk_text");
static void walk(int rounds) { while (rounds--) walk_text(); }
int main(void)
{
    char *at = (char *)walk_text;
    walk(ROUNDS);
    if (fork() == 0) {
        walk(1);
        _exit(0);
    }
    wait(0);
    /* What breaks a block, each in one of its own. */
    mprotect(at + 30 * P, P, PROT_READ | PROT_WRITE | PROT_EXEC);
    ((volatile char *)at)[30 * P + 100] = 1;
    mprotect(at + 50 * P, P, PROT_READ | PROT_WRITE | PROT_EXEC);
    madvise(at + 70 * P, P, MADV_DONTNEED);
    madvise(at + 89 * P, 20 * P, MADV_DONTNEED);
    mlock(at + 131 * P, 3 * P);
    mremap(at + 151 * P, P, P, MREMAP_MAYMOVE | MREMAP_FIXED, 0x700000000ul);
    mmap(at + 151 * P, P, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    mprotect(at + 151 * P, P, PROT_READ | PROT_WRITE | PROT_EXEC);
    *(unsigned *)(at + 151 * P) = *(volatile unsigned *)(at + 152 * P); /* a br to the next page */
    __asm__ volatile("imb" ::: "memory");
    walk(1);
    return 0;
}
"""


@pytest.mark.parametrize("cpus", (1, 4))
def test_text_is_mapped_by_blocks(tmp_path: Path, cpus: int) -> None:
    """Eight pages take one entry, so that the buffers hold text of eight times the size; also after
    a fork. Whatever breaks a block leaves no wrong translation (check=on, --validate)."""
    (tmp_path / "text.c").write_text(TEXT)
    flags = ["-O1", "-static", "-Wl,--no-relax", f"-DROUNDS={TEXT_ROUNDS}"]
    flags += [f'-DPAGES="{TEXT_PAGES}"']
    words = ["alpha-linux-gnu-gcc", *flags, "text.c", "-o", "text"]
    subprocess.run(words, cwd=tmp_path, check=True)
    found, _, _ = run(
        tmp_path, "21164+21264,hints=both,check=on", *(["--icount"] if cpus == 1 else []), "--smp",
        str(cpus), "--validate", "--add", f"{tmp_path}/text:/text", "--", "/text",
    )  # fmt: skip
    code = [o["misses"] for o in found.origins if o["program"] == "text" and o["stream"] == 0]
    misses = [sum(of) for of in zip(*code, strict=True)]
    for with_hints, without in ((misses[0], misses[1]), (misses[2], misses[3])):
        assert without >= TEXT_PAGES * TEXT_ROUNDS
        assert with_hints < TEXT_PAGES


@pytest.mark.parametrize("cpus", (1, 4))
def test_what_is_announced_is_what_palcode_executes(tmp_path: Path, cpus: int) -> None:
    """Many processes, sections, invalidations from other CPUs: nothing is used that the page tables
    do not say (on one CPU; another may use a translation until it is asked), and no number is given
    away twice, though they are used up several times."""
    words = ["--smp", str(cpus), "-m", "1G", "--tests"]
    words += ["--", "/tests/share_section", "--fluid", "--name", "X", "--size", "64M"]
    check = ",check=on" if cpus == 1 else ""
    found, _, said = run(tmp_path, f"21164,asn=both{check}", *words, "--processes", "150")
    assert report.complaints(found) == [], said
    assert found.of_cpus("roots") > 150
    if cpus == 1:
        assert found.cpus[0]["highest_asn"] == 127 and found.cpus[0]["flushes"] > 0
    assert found.misses(1) > found.misses(0), "without numbers each switch flushes"


@pytest.mark.parametrize("cpus", (1, 2))
def test_the_guest_reads_what_the_model_counts(tmp_path: Path, cpus: int, known) -> None:
    """The kernel sets VHPT_SIZE aside, the model takes that size, and PRF shows its counts: of a
    program with known misses, and less than the whole run's."""
    program = Path(known[3]).parent / "known"
    lines = ["show memory /physical", "sda prf show monitor", "sda prf load"]
    lines += ["sda prf start monitor", "/known", "sda prf stop monitor", "sda prf show monitor"]
    lines += ["sda prf unload", "sda prf stop monitor"]
    words = ["--smp", str(cpus), "--set", "VHPT_SIZE=10000", "-m", "1G", "--validate"]
    words += ["--add", f"{program}:/known", "--", "/bin/sh", "-c", "; ".join(lines) + "; true"]
    found, out, said = run(tmp_path, "21064+21264,hints=off", *words)
    assert [m[0]["vhpt"] for m in found.models] == ["16384", "16384"]
    assert f"  {2048 * cpus} of the kernel's are hashed page tables (VHPT_SIZE)." in out
    assert "%SDA-E-NOTLOADED, PRF is not loaded: PRF START MONITOR begins" in said
    assert "PRF loaded\nPRF monitor started\n" in out and "PRF monitor stopped\n" in out
    assert "PRF unloaded\n" in out and "%SDA-E-NOTRUNNING, PRF does not run" in said
    shown = re.findall(r"CPU (\d), hashed page table of 16384 KB at ([0-9A-F]{16})\n", out)
    assert [int(cpu) for cpu, _ in shown] == list(range(cpus))
    assert all(int(at, 16) % (16384 * 1024) == 0 for _, at in shown)

    def sum_of(name: str) -> int:
        return sum(int(n) for n in re.findall(rf"{name} +(\d+)", out))

    data, fetch, walks = (sum_of(n) for n in ("DTB_MISSES", "ITB_MISSES", "VHPT_WALKER"))
    assert WALKED <= data < WALKED + 3000 and data < found.sum(0, "data_misses")
    assert walks == data + fetch < found.sum(0, "vhpt_walks")
    # Each page of the walk was found, but for the first time.
    assert data - PAGES - 1000 < sum_of("HPW_DHITS") <= data
    assert sum_of("HPW_DHITS") + sum_of("HPW_IDEMAND_HITS") <= found.sum(0, "vhpt_hits")


def test_without_a_model_nothing_is_monitored(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(TOP / "scripts/run"), "--", "/bin/sda", "prf", "start", "monitor"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "%SDA-E-NOMODEL, PRF: nothing counts its events" in done.stderr


def test_a_hashed_page_table_that_does_not_fit_is_left_out() -> None:
    words = ["-m", "256M", "--smp", "2", "--set", "VHPT_SIZE=262144", "--validate"]
    done = subprocess.run(
        [str(TOP / "scripts/run"), *words, "--", "/bin/show", "memory", "/physical"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "VHPT_SIZE: there is no memory for 262144 KB" in done.stderr
    assert "hashed" not in done.stdout


def test_errors_are_named() -> None:
    """One line for each of the ways in which a run can be wrong."""
    cpu = {"what": "cpu", "cpu": 2, "roots": 3, "swpctx": 2, "invalidations": 7, "changes": 1}
    cpu |= {"tbi": 8, "disagreements": 0}
    model = {"what": "model", "cpu": 2, "chip": "21264", "hint": 3, "asns": 1, "vhpt": "0"}
    model |= {"asn_reuse": 0, "overlaps": 0, "stale": 0}
    rest = [{"what": "machine"}, {"what": "clock", "read_at": []}]

    def wrong(**changed: int) -> list[str]:
        lines = [cpu | changed, model | changed, *rest]
        return report.complaints(report.read("\n".join(map(json.dumps, lines))))

    assert wrong() == []
    assert wrong(tbi=7) == []
    for changed in ({"tbi": 9}, {"tbi": 6}, {"swpctx": 4}, {"disagreements": 1}, {"asn_reuse": 1}):
        assert len(wrong(**changed)) == 1
    for changed in ({"overlaps": 1}, {"stale": 1}):
        assert len(wrong(**changed)) == 1


@pytest.mark.parametrize(
    "text",
    (
        "21364",
        "21264,hints=maybe",
        "21264,",
        "all,hints=1+8+64,asn=both",
        "21264+21264",
        "21264,vhpt=262145",
        "21264,vhpt=0c",
        "21264,vhpt=32x",
    ),
)
def test_wrong_options_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        plan.parse(text)
    done = subprocess.run(
        [str(TOP / "scripts/run"), "--tb-model", text, "--", "/bin/true"],
        capture_output=True,
        env={"MEGALITH_BUILT": "1", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode in (2, 126)

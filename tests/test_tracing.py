"""sda, monitor, show system and show memory /pool /full: their output for a known load."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lib import guest
from lib.guest import Done
from megalith.run.paths import TOP

PROCESSES, NAMES = 8, 300
LOAD = f"/tests/tracing --names {PROCESSES} {NAMES}"
TIME = r"00:00:\d\d\.\d\d"
STATES = ["CUR", "COM", "MUTEX", "LEF", "HIB", "RWAST", "SUSP", "ENDED"]
CALLER = r"\s+([\d.]+)\s+(Lock Read|Lock Write)\s+([0-9A-F]{16})\s+(\w+)\+0x[0-9a-f]+\s+(\S+)$"


def script(lines: list[str], tmp_path: Path) -> list[str]:
    path = tmp_path / "commands"
    path.write_text("\n".join(lines) + "\n")
    return ["--add", f"{path}:/commands"]


def seconds_of(text: str) -> float:
    found = re.search(
        r"^Traced for ([\d.]+) seconds; the trace (is running|has stopped)\.$", text, re.M
    )
    assert found, text
    return float(found[1])


def rows(text: str, columns: int) -> dict[str, list[float]]:
    """The lines with NAME and that many numbers."""
    found = re.findall(rf"^(\S.*?|)((?:\s+[\d.]+%?){{{columns}}})$", text, re.M)
    return {name: [float(n.rstrip("%")) for n in rest.split()] for name, rest in found}


@pytest.mark.parametrize("smp", [1, 2, 4])
def test_mutex_trace_of_logical_names(run: Callable[..., Done], smp: int) -> None:
    commands = f"sda mtx start trace; {LOAD}; sda mtx stop trace; sda mtx show trace/summary"
    text = run("/bin/sh", "-c", commands, smp=smp).expect(0).text
    assert text.startswith("MTX trace started\n")
    assert "\n8 processes, 300 names each\nMTX trace stopped\n" in text
    seconds = seconds_of(text)
    table = rows(text, 8)
    lnm = table["LNM"]
    read, read_waits, write, write_waits, percent, unlocks, waited, longest = lnm
    near = {"rel": 0.02, "abs": 200 / seconds}
    assert read == pytest.approx(PROCESSES * NAMES * 4 / seconds, **near)
    assert write == pytest.approx(PROCESSES * NAMES * 2 / seconds, **near)
    assert unlocks == pytest.approx(read + write, rel=0.001, abs=0.3)
    assert percent == pytest.approx(100 * (read_waits + write_waits) / (read + write), abs=0.06)
    assert longest <= waited and (waited > 0) == (percent > 0 or read_waits + write_waits > 0)
    assert list(table)[0] == "LNM"  # the busiest comes first
    assert table[""][0] == pytest.approx(sum(r[0] for n, r in table.items() if n), rel=0.01)
    callers = re.findall("^LNM" + CALLER, text, re.M)
    by_routine = {routine: (float(rate), operation) for rate, operation, _, routine, _ in callers}
    assert by_routine["lnm_translate"] == (pytest.approx(read, rel=0.01), "Lock Read")
    for routine in ("lnm_define", "lnm_delete"):
        assert by_routine[routine] == (pytest.approx(write / 2, rel=0.05), "Lock Write")
    assert {module for *_, module in callers} <= {"kernel/lnm/lnm.c", "kernel/lnm/lnm_space.c"}


def test_showing_a_trace_does_not_fill_it(run: Callable[..., Done]) -> None:
    show = "sda mtx show trace"
    text = run("/bin/sh", "-c", f"sda mtx start trace; {show}; {show}; {show}").expect(0).text
    assert text.count("the trace is running") == 3 and re.search("^aspace ", text, re.M)
    assert not re.search("^trace ", text, re.M)


def test_callers_for_which_the_table_is_full(run: Callable[..., Done]) -> None:
    commands = "sda mtx load; /tests/tracing --callers; sda mtx show trace /summary"
    text = run("/bin/sh", "-c", commands, smp=1, kernel="test").expect(0).text
    found = re.search(
        r"^(\d+) acquisitions are not among the callers: their tables "
        r"\(1024 places for each CPU\) were full\.$",
        text,
        re.M,
    )
    assert found and 1024 <= int(found[1]) < 2048
    assert rows(text, 8)["selftest callers"][2] > 0


@pytest.mark.parametrize("smp", [2, 4])
def test_contention_for_the_pool(run: Callable[..., Done], smp: int) -> None:
    """PGDYN, not LNM: without lists every block takes it, and a walk holds it for long. Which
    processes meet depends on the host, and names are created under LNM; so the test uses a schedule
    that repeats."""
    commands = (
        "/tests/tracing --fragment 8000 1; sda mtx start trace; /tests/tracing --names 8 300;"
        "sda mtx stop trace; sda mtx show trace/summary"
    )
    options = ["--set", "PAGED_LAL_SIZE=0", "--schedule", "3"]
    text = run("/bin/sh", "-c", commands, smp=smp, options=options)
    table = rows(text.expect(0).text, 8)
    _, _, writes, waits, percent, unlocks, waited, longest = table["PGDYN"]
    assert waits > 0 and waited >= longest > 0
    assert percent == pytest.approx(100 * waits / writes, abs=0.06)
    assert unlocks == pytest.approx(writes, rel=0.01, abs=0.3)


@pytest.mark.parametrize("smp", [1, 4])
def test_spinlock_trace(run: Callable[..., Done], smp: int) -> None:
    commands = (
        "sda spl start trace; ls /bin; sda spl stop trace; sda spl show trace /summary /top=1"
    )
    text = run("/bin/sh", "-c", commands, smp=smp).expect(0).text
    table = rows(text, 6)
    rate, spins, percent, _, hold, longest = table["process table"]
    assert 0 < rate and 0 < hold <= longest
    assert percent == pytest.approx(100 * spins / rate, abs=0.1) and (smp > 1 or spins == 0)
    assert len(re.findall(r"^process table .* [0-9A-F]{16}  \w+\+0x", text, re.M)) == 1


def test_load_start_stop_and_unload_of_a_trace(run: Callable[..., Done], tmp_path: Path) -> None:
    """At the prompt, whose status is that of its last command."""
    lines = []
    for facility in ("MTX", "spl", "Pcs", "flt"):
        lines += [
            f"{facility} {verb}"
            for verb in (
                "STOP TRACE", "SHOW TRACE", "UNLOAD", "LOAD", "LOAD", "SHOW TRACE", "START TRACE",
                "START TRACE", "STOP TRACE", "STOP TRACE", "UNLOAD",
            )
        ]  # fmt: skip
    options = script([*lines, "exit", "never reached"], tmp_path)
    done = run("/bin/sh", "-c", "sda < /commands", options=options).expect(0)
    for name in ("MTX", "SPL", "PCS", "FLT"):
        assert (
            f"{name} loaded\n{name} trace started\n{name} trace stopped\n{name} unloaded\n"
            in done.text
        )
        # Not by lines: the kernel's last line may still be on its way to the console.
        said = [text for text in re.findall(r"%SDA.*", done.console) if f"{name} " in text]
        assert [line.strip() for line in said] == [
            f"%SDA-E-NOTRUNNING, {name} does not run: there is nothing to stop",
            f"%SDA-E-NOTLOADED, {name} is not loaded: {name} START TRACE begins",
            f"%SDA-E-NOTLOADED, {name} is not loaded",
            f"%SDA-E-LOADED, {name} is loaded already",
            f"%SDA-E-NOTRACE, {name} has traced nothing yet: {name} START TRACE begins",
            f"%SDA-E-RUNNING, {name} runs already: STOP TRACE first",
            f"%SDA-E-NOTRUNNING, {name} does not run: there is nothing to stop",
        ]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("xyz start trace", "%SDA-E-IVVERB, there is no facility xyz"),
        ("mtx", "%SDA-E-IVVERB, MTX needs a verb"),
        ("mtx frob", "%SDA-E-IVVERB, MTX has no verb frob"),
        ("mtx s trace", "%SDA-E-ABKEYW, 's' is ambiguous"),
        ("mtx start", "%SDA-E-SYNTAX, usage: MTX START TRACE"),
        ("mtx start trace/rate=5", "%SDA-E-IVQUAL, START takes no qualifier /rate"),
        ("pcs start trace/rate", "%SDA-E-IVQUAL, /rate needs a value"),
        ("pcs start trace/rate=20001", "%SDA-E-IVQUAL, /RATE requires a number of at most 20000"),
        ("pcs start trace/rate=-1", "%SDA-E-IVQUAL, /RATE requires a number of at most 20000"),
        ("pcs show trace/summary=3", "%SDA-E-IVQUAL, /summary takes no value"),
        ("pcs a b c d e f g h i", "%SDA-E-MAXPARM, too many words"),
    ],
)
def test_bad_commands(run: Callable[..., Done], command: str, message: str) -> None:
    done = run("/bin/sda", *command.split()).expect(1)
    assert message in done.console and done.text == ""


def test_only_with_cmkrnl(run: Callable[..., Done]) -> None:
    runas = "runas --uic '[200,5]' --priv SYSGBL -- sda"
    for words in ("mtx start trace", "pcs show trace"):
        done = run("/bin/sh", "-c", f"{runas} {words}").expect(1)
        assert "the kernel answered %SYSTEM-F-NOCMKRNL, " in done.console


PROGRAM = """
volatile unsigned long sink;
__attribute__((noinline)) void hot_loop(unsigned long n) { while (n--) sink += n; }
int main(void) { for (int i = 0; i < 160; i++) hot_loop(1000000); return 0; }
"""


@pytest.mark.parametrize("smp", [1, 4])
def test_pc_samples_of_a_known_loop(run: Callable[..., Done], tmp_path: Path, smp: int) -> None:
    source, program = tmp_path / "hot.c", tmp_path / "hot"
    source.write_text(PROGRAM)
    subprocess.run([TOP / "scripts/cc", source, "-o", program, "-O1"], check=True)
    commands = (
        "sda pcs start trace; /tmp/hot; sda pcs stop trace; sda pcs show trace/summary;"
        "echo ----; sda pcs show trace/top=20; echo ----; sda pcs show trace/from=0/to=0.001;"
        "echo ----; sda pcs show trace/summary/from=0.005/to=0.03/top=1000"
    )
    # On one CPU by the number of instructions, so that the host's time has no part in it: the first
    # run of any code takes the emulator longer than it takes the machine.
    options = ["--add", f"{program}:/tmp/hot", *(["--icount"] if smp == 1 else [])]
    done = run("/bin/sh", "-c", commands, smp=smp, options=options).expect(0)
    summary, raw, little, part = done.text.split("----\n")
    of_hot = re.search(
        r"^ +(\d+) hot +(\d+) samples +([\d.]+)%, (\d+) of them in user mode\n"
        r" +(\d+) hot_loop +/tmp/hot$",
        summary,
        re.M,
    )
    assert of_hot, summary
    samples, user, inside = int(of_hot[2]), int(of_hot[4]), int(of_hot[5])
    # The rest is fork, exec and exit, which take longer on a kernel with counters or checks.
    most = 0.9 if guest.slower == 1 else 0.8
    assert samples >= 30 and user >= inside >= most * samples
    lines = re.findall(
        r"^\d\d-\w{3} (\d\d:\d\d:\d\d\.\d{6})   0(\d) ([0-9A-F]{16})   ([0-7]) +(\d+)  \S+ +\S+$",
        raw,
        re.M,
    )
    assert len(lines) == 20 and [t for t, *_ in lines] == sorted(t for t, *_ in lines)
    assert {int(cpu) for _, cpu, *_ in lines} <= set(range(smp))
    assert len(re.findall(r"^\d\d-\w{3} ", little, re.M)) <= 2 * smp
    # Within an interval the routines of a process add up to it, and the processes to all samples.
    whole = int(re.search(r"^(\d+) samples, one each", part, re.M)[1])
    processes = re.split(r"^ +\d+ .+? +(\d+) samples +[\d.]+%, .*$", part, flags=re.M)[1:]
    for count, routines in zip(processes[::2], processes[1::2], strict=True):
        assert int(count) == sum(int(n) for n in re.findall(r"^ +(\d+) \S", routines, re.M))
    assert sum(int(n) for n in processes[::2]) == whole <= smp * (0.025 * 1024 + 3)


def test_samples_find_the_walk_through_a_fragmented_pool(run: Callable[..., Done]) -> None:
    """The paper's case on a small scale: 12,000 holes, no lookaside lists, one process."""
    commands = (
        "sda pcs start trace; sda mtx start trace; /tests/tracing --fragment 24000 3000;"
        "sda mtx stop trace; sda pcs stop trace; sda pcs show trace/summary/top=6;"
        "sda mtx show trace/summary; show memory/pool/full"
    )
    options = ["--set", "PAGED_LAL_SIZE=0"]
    text = run("/bin/sh", "-c", commands, smp=1, options=options).expect(0).text
    found = re.search(r"^ +\d+ tracing +(\d+) samples +.*\n((?: +\d+ \S+ +\S+\n)+)", text, re.M)
    assert found, text
    walk = sum(int(n) for n in re.findall(r"^ +(\d+) \S+ +mm/pool/pool_var\.c$", found[2], re.M))
    assert walk > int(found[1]) / 2
    for routine in ("lnm_define", "lnm_delete"):
        assert re.search(rf"^LNM .* Lock Write .* {routine}\+0x", text, re.M)
    assert len(re.findall(r"^PGDYN .* Lock Write .* mm/pool/pool_paged\.c$", text, re.M)) >= 2
    free = re.findall(r"Number of Free Blocks +(\d+)", text)
    assert int(free[1]) >= 12000


def test_samples_of_a_process_that_deletes(run: Callable[..., Done]) -> None:
    """The paper: 1,808 of 1,866 samples of one process are in the release of blocks, 97 %."""
    commands = "/tests/tracing --delete 69652 1500 && sda pcs show trace /summary /top=9"
    options = ["--icount", "--set", "PAGED_LAL_SIZE=0", "--set", "LNMSHASHTBL=65536"]
    options += ["--set", "PQL_DJTQUOTA=1073741824"]
    text = run("/bin/sh", "-c", commands, smp=1, options=options).expect(0).text
    found = re.search(r"^ +\d+ tracing +(\d+) samples +.*\n((?: +\d+ \S+ +\S+\n)+)", text, re.M)
    assert found, text
    walk = sum(
        int(n) for n in re.findall(r"^ +(\d+) pool_var_\S+ +mm/pool/pool_var\.c$", found[2], re.M)
    )
    assert int(found[1]) > 100 and walk > 0.9 * int(found[1]), text


@pytest.mark.parametrize("smp", [1, 4])
def test_monitor_records(run: Callable[..., Done], smp: int) -> None:
    """Time passes by instructions: each reading is taken when it is due, however busy the host."""
    commands = (
        "monitor /record /tmp/m /interval=0.1 /ending=1.5 & "
        f"/tests/tracing --names 16 {400 * smp}; show system; wait; cat /tmp/m"
    )
    options = ["--icount"] if smp == 1 else ["--schedule", "1"]
    text = run("/bin/sh", "-c", commands, smp=smp, options=options).expect(0).text
    records = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert [r["at"] for r in records] == pytest.approx([n / 10 for n in range(1, 16)], abs=0.05)
    for r in records:
        assert set(r) == {"time", "at", "interval", "cpus", "ready", "states", "pool"}
        assert list(r["states"]) == STATES and r["states"]["CUR"] >= 1
        assert len(r["cpus"]) == len(r["ready"]) == smp and r["pool"]["free_blocks"] >= 1
        assert r["pool"]["free_bytes"] > 1 << 20
    whole = sum(r["interval"] for r in records)
    for i in range(smp):
        parts = sum(sum(r["cpus"][i].values()) for r in records)
        assert parts == pytest.approx(whole, rel=0.02)
    total = {k: sum(c[k] for r in records for c in r["cpus"]) for k in records[0]["cpus"][0]}
    assert total["kernel"] > 0.01 and total["user"] > 0 and total["interrupt"] > 0
    if smp == 1:
        assert total["spin"] == 0
    else:  # sixteen processes on one mutex
        assert max(r["states"]["MUTEX"] for r in records) >= 2
    # On another CPU the shell may not sleep yet when `show` reads its state.
    state = "LEF" if smp == 1 else "(LEF|COM|CUR)"
    assert re.search(rf"^ +1 sh +{state} +16 +0 +\d+ {TIME} {TIME} +\d+ +\d+$", text, re.M)
    assert re.search(r"^ +\d+ show +CUR ", text, re.M)


@pytest.mark.parametrize("signal", ["INT", "TERM", "HUP"])
def test_an_interrupted_record_is_complete(run: Callable[..., Done], signal: str) -> None:
    """The current reading is written too, with its shorter interval. Time passes by instructions:
    no load of the host prolongs anything."""
    commands = (
        f"monitor /record /tmp/m /interval=0:00:30 & sleep 1.5; kill -{signal} $!;"
        "wait $!; echo status $?; cat /tmp/m"
    )
    text = run("/bin/sh", "-c", commands, smp=1, options=["--icount"]).expect(0).text
    assert text.startswith("status 0\n")
    (record,) = [json.loads(line) for line in text.splitlines()[1:]]
    assert 0.9 < record["interval"] < 2
    assert record["at"] == pytest.approx(record["interval"], abs=0.1)


def test_monitor_counts(run: Callable[..., Done]) -> None:
    commands = "monitor /rec=/tmp/m /int=0:0:0.05 /count=7 /ending=1-00:00; cat /tmp/m"
    text = run("/bin/sh", "-c", commands).expect(0).text
    records = [json.loads(line) for line in text.splitlines()]
    assert len(records) == 7
    assert all(r["interval"] > 0 for r in records) and records[-1]["at"] >= 0.35


COMPUTE = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
int main(int argc, char **argv) /* COMMAND NICE...: while children with these values compute */
{
    pid_t child[8];
    int status;

    for (int i = 2; i < argc; i++)
        if ((child[i] = fork()) == 0) {
            setpriority(PRIO_PROCESS, 0, atoi(argv[i]));
            for (volatile long n = 0;; n++)
                ;
        }
    sleep(1);
    status = system(argv[1]);
    for (int i = 2; i < argc; i++)
        kill(child[i], SIGKILL);
    return status;
}
"""


def test_displays_show_what_the_scheduler_knows(run: Callable[..., Done], tmp_path: Path) -> None:
    """Two processes that compute, and one with nice 10, on one CPU: its weight is 110 instead of
    1,024, so that is its part of the time. At any moment two of them wait."""
    source, program = tmp_path / "compute.c", tmp_path / "compute"
    source.write_text(COMPUTE)
    subprocess.run([TOP / "scripts/cc", source, "-o", program], check=True)
    show = "show system; show process /all /full; show cpu; monitor /interval=0.1 /count=2"
    options = ["--icount", "--add", str(program)]
    text = run("/compute", show, "0", "0", "10", smp=1, options=options).expect(0).text
    line = rf"^ +(\d+) compute +(\w+) +16 +(0|10) +\d+ ({TIME}) ({TIME}) "
    computing = [row for row in re.findall(line, text, re.M) if row[4] != "00:00:00.00"]
    assert sorted(nice for _, _, nice, _, _ in computing) == ["0", "0", "10"], text
    seconds = {pid: float(user[-5:]) for pid, _, _, _, user in computing}
    assert all(0 <= float(used[-5:]) - seconds[pid] < 0.1 for pid, _, _, used, _ in computing)
    (low,) = [seconds[pid] for pid, _, nice, _, _ in computing if nice == "10"]
    assert low / sum(seconds.values()) == pytest.approx(110 / 2158, abs=0.02), text
    for pid, _, nice, _, _ in computing:
        found = re.search(
            rf"^Process {pid}, compute, (?:.*\n)*?    Nice (\d+), weight (\d+), virtual time "
            r"([-+][\d.]+) ms",
            text,
            re.M,
        )
        assert found and found[1] == nice and found[2] == ("110" if nice == "10" else "1024"), text
        assert -8 < float(found[3]) < 40, text  # 3 ticks of credit, a request of 2 ticks at 110
    assert re.search(r"^  0 RUN     show +\d+ +3 ", text, re.M), text
    assert re.findall(r"^ +\d\.\d\d .*$", text, re.M)[-1].split()[6] == "3", text


def test_monitor_shows(run: Callable[..., Done]) -> None:
    words = ("/bin/monitor", "/interval=0.2", "/ending=1")
    text = run(*words, smp=1, options=["--schedule", "20"]).expect(0).text.splitlines()
    assert all(len(line) <= 80 for line in text)
    text, states = text[::2], text[1::2]
    assert states[0].split() == [*STATES, "Free", "blocks"] and len(states) == 6
    columns = ["Time", "s", "Kernel%", "User%", "Int%", "Spin%", "Idle%", "Ready"]
    assert text[0].split()[:8] == columns
    assert len(text) == 6 and float(text[5].split()[0]) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["/record"], "%MONITOR-E-IVQUAL, /RECORD: it requires a file name"),
        (["/record=/no/such/place"], "%MONITOR-E-NOFILE, /no/such/place"),
        (["/interval=0"], "%MONITOR-E-IVQUAL, /INTERVAL"),
        (["/interval=1:60"], "%MONITOR-E-IVQUAL, /INTERVAL"),
        (["/ending=24:00"], "%MONITOR-E-IVQUAL, /ENDING"),
        (["/ending=1:00:60"], "%MONITOR-E-IVQUAL, /ENDING"),
        (["/count=0"], "%MONITOR-E-IVQUAL, /COUNT"),
        (["/count=1.5"], "%MONITOR-E-IVQUAL, /COUNT"),
        (["/frob"], "%MONITOR-E-IVQUAL, no such qualifier: /frob"),
        (["frob"], "%MONITOR-E-IVVERB"),
    ],
)
def test_monitor_reports_errors(run: Callable[..., Done], words: list[str], message: str) -> None:
    assert message in run("/bin/monitor", *words).expect(1).console


POOL_LINES = [
    "Current Size (MB)", "Current Size (Pagelets)", "Free Space (MB)", "Space in Use (MB)",
    "Largest Var Block (MB)", "Smallest Var Block (bytes)", "Number of Free Blocks",
    "Free Blocks LEQU 64 bytes", "Lookaside Requests", "Lookaside Hits",
]  # fmt: skip


def test_pool_in_the_papers_lines(run: Callable[..., Done]) -> None:
    commands = f"{LOAD}; show memory/pool/full"
    text = (
        run("/bin/sh", "-c", commands, smp=1, options=["--set", "PAGED_LAL_SIZE=512"])
        .expect(0)
        .text
    )
    paged = text[text.index("Paged Dynamic Memory") :]
    values = {}
    for label in POOL_LINES:
        found = re.search(rf"{re.escape(label)} +([\d.]+)", paged)
        assert found, label
        values[label] = found[1]
    assert re.fullmatch(r"\d+", values["Smallest Var Block (bytes)"])
    assert float(values["Current Size (Pagelets)"]) == pytest.approx(
        float(values["Current Size (MB)"]) * 2048, abs=11
    )
    lists = re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+) +([\d.]+)$", paged, re.M)
    assert lists and all(int(size) % 16 == 0 and int(size) <= 512 for size, *_ in lists)
    requests = int(values["Lookaside Requests"])
    assert sum(int(r) for _, _, r, _, _ in lists) == requests >= PROCESSES * NAMES
    assert sum(int(h) for *_, h, _ in lists) == int(values["Lookaside Hits"])
    busiest = max(lists, key=lambda line: int(line[2]))
    assert float(busiest[4]) > 90


@pytest.mark.parametrize("smp", [1, 2, 4])
def test_alignment_faults(run: Callable[..., Done], smp: int) -> None:
    """A planted misaligned structure is found, and the corrected program does not appear any
    more."""
    program = TOP / "build/user/tests/misaligned"
    commands = (
        "sda flt start trace; /m 100; /m 50; /m 100 --mended; sda flt stop trace; /m 10;"
        "sda flt show trace; sda flt show trace /summary /top=1"
    )
    options = ["--add", f"{program}:/m"]
    text = run("/bin/sh", "-c", commands, smp=smp, options=options).expect(0).text
    assert "sum 495000, 5000 unaligned accesses" in text
    assert "sum 495000, 0 unaligned accesses" in text
    assert "7500 alignment faults" in text and "0 more found no place" in text
    seconds = seconds_of(text)
    places = re.findall(
        r"^ +([\d.]+) +(\d+) +(\d+)  m +([0-9A-F]{16})  ldq   [0-9A-F]{15}[4C]  (\S+)\+0x\S+ +/m$",
        text,
        re.M,
    )
    assert [int(p[1]) for p in places] == [5000, 2500]
    assert len({p[2] for p in places}) == 2 and len({p[3] for p in places}) == 1
    assert {p[4] for p in places} == {"add_records"}
    assert float(places[0][0]) == pytest.approx(5000 / seconds, rel=0.01 + 0.0005 / seconds)
    assert re.search(r"^ +[\d.]+ +5000 +\d+  m +add_records +/m\n\.\.\. and 1 more$", text, re.M)


def test_a_corrected_structure_saves_instructions(run: Callable[..., Done]) -> None:
    """One instruction is one nanosecond here: the time for a record, before and after."""
    commands = "/tests/misaligned 1000; /tests/misaligned 1000 --mended"
    text = run("/bin/sh", "-c", commands, smp=1, options=["--icount"]).expect(0).text
    broken, mended = (float(n) for n in re.findall(r"([\d.]+) ns a record", text))
    assert mended < 20 < 100 < broken


COSTS = ("null", "pipe", "name", "fault", "unaligned")


def test_traces_that_do_not_run_cost_nothing_more(run: Callable[..., Done]) -> None:
    """To the instruction: a trace that is loaded, or was loaded before, costs nothing."""
    text = run("/tests/trace_cost", smp=1, options=["--icount"]).expect(0).text
    by = {}
    for line in text.splitlines():
        state, *pairs = line.split()
        by[state] = {name: int(n) for name, n in (pair.split("=") for pair in pairs)}
    assert set(by["never"]) == set(COSTS)
    for state in ("loaded", "stopped", "unloaded"):
        assert by[state] == by["never"], state
    # The traces did run in between, and cost instructions where there was something to trace.
    assert by["running"]["null"] == by["never"]["null"]
    for name in ("pipe", "name", "fault", "unaligned"):
        assert by["running"][name] > by["never"][name] + 50, name


OFF_MOST = 3  # load, sign, branch
RELOCATION = re.compile(r"\t\t\t[0-9a-f]+: \w+\s+(\w+)")
FAST_PATHS = {
    "mutex": (
        "mutex_lock",
        "mutex_unlock",
        "mutex_lock_shared",
        "mutex_unlock_shared",
        "mutex_try_lock",
    ),
    "spinlock": ("spin_lock", "spin_unlock"),
}


def steps_of_a_look(code: list[str]) -> int:
    """From the load of the value on: the instructions up to the branch that depends on it.
    The compiler puts others between them."""
    steps, register = 0, "gp"
    for one in code:
        name, _, operands = one.partition("\t")
        if not re.search(rf"\b{register}\b", operands):
            continue
        steps += 1
        if name in ("beq", "bne"):
            return steps
        parts = re.findall(r"\w+", operands.split("<")[0])
        register = parts[0] if name.startswith("ld") else parts[-1]
    raise AssertionError(f"no branch: {code}")


@pytest.mark.parametrize("source", FAST_PATHS)
def test_a_lock_that_is_not_traced_tests_once(source: str) -> None:
    """The fast path of each end of a lock loads the number of the trace round once, and
    branches."""
    path = TOP / f"build/kernel/kernel/sched/{source}.c.o"
    words = ["alpha-linux-gnu-objdump", "-dr", "--no-show-raw-insn", str(path)]
    listing = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    for name in FAST_PATHS[source]:
        body = listing.split(f"<{name}>:\n")[1].split("\n\n")[0].splitlines()
        targets = [RELOCATION.match(line) for line in body]
        looks = [i for i, found in enumerate(targets) if found and found[1] == "lockstat_rounds"]
        assert len(looks) == 1, (name, looks)
        lines = [line for line in body[looks[0] - 1 :] if not RELOCATION.match(line)]
        assert steps_of_a_look([line.split("\t", 1)[1] for line in lines]) <= OFF_MOST, name

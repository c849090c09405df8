"""The System Dump Analyzer: each command on a machine that is stopped at a breakpoint and on a
state saved at that moment, which must give the same output; backtraces; damage that validation must
find."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from megalith.verify.records import write_figures

TOP = Path(__file__).parent.parent


class Debugged:
    """A machine that waits for the debugger, and one batch of commands for it."""

    def __init__(self, *arguments: str) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="gdb")
        self.socket = Path(self.folder.name) / "gdb"
        command = [TOP / "scripts/run", "--timeout", "150", "--gdb-socket", self.socket, *arguments]
        self.machine = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def __enter__(self) -> Debugged:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self.machine.poll() is None:
            self.machine.terminate()
        self.machine.communicate()
        self.folder.cleanup()

    def wait(self) -> None:
        """Waits until GDB can connect."""
        for _ in range(600):
            if self.socket.exists() or self.machine.poll() is not None:
                break
            time.sleep(0.1)
        assert self.socket.exists(), self.machine.communicate()[1]

    def run(self, *commands: str) -> dict[str, str]:
        self.wait()
        return batch(self.socket, *commands)


def batch(target: Path, *commands: str) -> dict[str, str]:
    """The output of each command; "errors" is GDB's standard error."""
    arguments = [str(TOP / "scripts/sda"), str(target), "-batch", "-nx"]
    for command in commands:
        arguments += ["-ex", f"echo \\n@@{command}\\n", "-ex", command]
    done = subprocess.run(arguments, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    parts = re.split(r"^@@(.*)\n", done.stdout, flags=re.MULTILINE)
    answers = dict(zip(parts[1::2], (part.rstrip() for part in parts[2::2])))
    return answers | {"errors": done.stderr}


# What each command says, live and saved, when gdb_target asks for section 0 and its child waits in
# a pipe.
EXPECTED = {
    "sda show": r"^sda show call_frame -- ",
    "sda": r"^sda validate -- ",
    "sda show summary": (
        r"^ +1 +0 +gdb_target +CUR .*\n +\d+ +1 +gdb_target +LEF (.*\n)2 processes"
    ),
    "sda show summary /thread": r"idle 0.*\n(.*\n)*.* 1 +gdb_target +CUR .*\n.*gdb_target +LEF",
    "sda show cpu": r"^ +0 +\d+ +1 +gdb_target +busy",
    "sda show process": r"^Process index: 1 +Name: gdb_target +Program: /tests/gdb_target",
    "sda show process 2 /all": (
        r"Process index: 2(.*\n)*Private pages +\d+(.*\n)*Open files\n(.*\n)*.*pipe"
    ),
    "sda show process /map": r"r-x +\d+ +anonymous(.*\n)*.*rw- .*section .* GDBSECT$",
    "sda show section": (
        # The block is in a segment of nonpaged pool, anywhere in the first half of the memory.
        r"^GDBSECT +FFFFFC0[01].[0-9A-F]{8} +1050624 +1 +2 +2 +fluid +1026 +WRT.*MRES"
    ),
    "sda show section GDBSECT": (
        r"Flags +WRT MRES SYSGBL\n(.*\n)*Level-3 pages +1026, 1 there\n(.*\n)*"
        r"000003FC.00000000 +1 .* shared\n000003FC.00000000 +2 .* shared\n2 mappings"
    ),
    "sda show region 1": r"^ +16 .* 8208 +[0-9A-F]{2} +SHARED_PTS\n1 regions",
    "sda show reserved": (
        r"^PIECES .*data +409600 +0 +[0-9A-F]{8} +[0-9A-F]{8} +ALLOCATE.*SYSGBL.*\n"
        r" +and .*\n +page table +401 +0 (.*\n)*RESERVED .* 1024 (.*\n)*2 reservations"
    ),
    "sda show pool": r"Nonpaged pool\n-+\nTotal \d+ bytes(.*\n)*Paged pool\n-+\nTotal \d+ bytes",
    "sda show pool /free /paged": r"^FFFFFE02.[0-9A-F]{8} +\d+ +00000000.00000000\n1 blocks, \d+",
    "sda show pool /lookaside": r"Lookaside lists of nonpaged pool(.*\n)*Lookaside lists of paged",
    "sda show pool /summary": r"in use +\d+ blocks +\d+ bytes(.*\n)*in use +\d+ blocks +\d+ bytes",
    "sda show pfn_data": r"PFN lists of RAD 0(.*\n)*never used +\d+(.*\n)*PFN lists of RAD 1",
    # On both sides of the border of two chunks; and pages that were never used.
    "sda show pfn_data 0xff;2": r"^000000FF .*\n00000100 ",
    "sda show pfn_data 0x150000;2": r"^2 pages have no entry",
    "sda show spinlock page lists": (
        r"page lists +44 +5 +- +- +rads\[\].lock, 2 of them\n2 spinlocks"
    ),
    "sda show mutex GSD": r"^FFFFFC00.[0-9A-F]{8} +GSD +10 +free",
    "sda show mutex /owned": r"^\d+ mutexes",
    "sda show page_table 0x120000000": (
        r"level 1 .*\n.*level 2 .*\n.*level 3 .* V .*KRE URE.*\n  physical address 0x"
    ),
    "sda show page_table 0x120000000;0x20000": r"^00000001.20000000 .* KR- UR- .*OBJECT +ACTIVE",
    "sda show page_table /l1": r"^000003FC.00000000 .* 1 +KRW U-- +1 +SPT +SHPT +ACTIVE",
    "sda show page_table &kernel_main": r"is in KSEG: physical 0x3[0-9a-f]{5}",
    "sda show call_frame /process=2": (
        r"gdb_target, not running\n(.*\n)*.* sys_read .*\n(.*\n)*.*<signal handler called>\n"
        r"(#\d+ .*_cancel \(.*\n)*#\d+ .* read \(.*\n"  # the first from glibc 2.41 on
        r"(.*\n)*#\d+ .* main .*gdb_target\.c:\d+\n(.*\n)*.* _start "
    ),
    "sda show stack": r"SP => FFFFFE00.*\n(.*\n)*.*entry_syscall\+",
    "sda show stack /process=2": r"SP => FFFFFE00.*\n(.*\n)*.*sys_read\+(.*\n)*.*entry_syscall\+",
    "sda validate pfn_list": r"^\d+ pages on lists and in caches, \d+ entries .*: consistent",
    "sda validate pool": r"^nonpaged pool: .*: consistent\npaged pool: .*: consistent",
    "sda validate page_tables": r"^2 address spaces, 1 sections with tables, \d+ PTEs: consistent",
    "print *cpus[0].current->cpu": r"online = 1",
    "print *(struct process *)((struct thread *)cpus[0].current)->process": (
        r"\{process 1, name gdb_target, is live, parent 0, program /tests/gdb_target\}"
    ),
    "print *(struct thread *)cpus[0].current": r"\{thread \d+, name gdb_target, is running, pri",
    "print *((struct process *)((struct thread *)cpus[0].current)->process)->aspace": (
        r"\{aspace of root 0x[0-9a-f]+, private \d+, section 1050624, tables \d+, ref"
    ),
    "print rads[0].lock": r"\{spinlock page lists, rank 44, IPL 5, is free\}",
    "print 'mm/pool/pool_paged.c'::pgdyn": r"\{mutex PGDYN, rank 40, is free\}",
    "print 'mm/pool/pool_paged.c'::area": r"\{pool area FFFFFE02.",
    "print page_db[1]": r"\{page [A-Z]+ [A-Z]+, ",
    "print *inode_root": r"\{inode \d+, mode 40755, bytes \d+, links \d+, references \d+\}",
    "print (pte_t)0x0000060E00003309": r"= pfn 0x60e V FOE KRE URE KWE UWE",
    "print (pte_t)0x10000": r"= not valid, demand zero",
    "help sda": r"sda show -- Displays",
    "help sda validate": r"sda validate pool -- ",
}
PICKED = (
    "sda show call_frame",
    "sda set process 2",
    "backtrace 3",
    "x/1s ((char **)environ)[0]",
    "sda show process /channel",
    "sda set cpu 0",
    "print $pc",
    "info registers pc",
    "backtrace 1",
)
MISTAKES = {
    "sda show page_table 0x123456789abcdef": "is not a 43-bit signed address",
    "sda show pool /nonsense": "qualifiers here are /NONPAGED, /PAGED, /FREE",
    "sda show pfn_data /rad": "/RAD wants a value",
    "break no_such_function": 'Function "no_such_function" not defined.',
    "sda show nonsense": 'there is no command "sda show nonsense": help sda show',
    "sda show process nobody": "'nobody' is no number",
    "sda show page_table 0x1000:": "'' is no number",
    "sda show page_table 0x2000:0x1000": "the range ends before it begins",
}
NOT_THERE = {
    "sda show region 77": "there is no process 77",
    "sda show process 99": "there is no process 99",
    "sda show page_table 0 /process=99": "there is no process 99",
    "sda show call_frame /thread=99": "there is no thread 99",
    "sda show call_frame /cpu=3": "there is no CPU 3",
    "sda set process 99": "there is no process 99",
    "sda show section NONE": "there is no section NONE",
    "sda show pfn_data /free /rad=7": "there is no RAD 7",
    "python gdb.execute('sda set cpu 9'); print('and the script goes on')": (
        "there is no CPU 9\nand the script goes on"
    ),
}

DOCUMENT = (TOP / "docs/debugging.md").read_text()
# Where calls are inlined is the compiler's choice.
OF_THE_COMPILER = ("sda show call_frame /process=2", "sda show stack /process=2")


def documented() -> dict[str, list[str]]:
    """The lines that the document shows of each command, on the same state as here; only what it
    shows first: later it shows the same command after damage."""
    part = DOCUMENT.split("### Processes, stacks, call frames")[1].split("\n## ")[0]
    shown: dict[str, list[str]] = {}
    for block in re.findall(r"^    \(gdb\) (.*(?:\n(?:    (?!\(gdb\)).*)?$)*)", part, re.MULTILINE):
        command, *lines = block.splitlines()
        shown.setdefault(command, [line.strip() for line in lines])
    return {command: lines for command, lines in shown.items() if command not in OF_THE_COMPILER}


def shape(line: str) -> str:
    """The line without its numbers, and without the width of its columns."""
    line = re.sub(r"^.*symbols of .*/", "symbols of /", line)
    number = r"\b0x[0-9a-f]+|\b[0-9A-F]{8}(?:\.[0-9A-F]{8})?\b|\b[0-9A-F]*\d[0-9A-F]*(?:\.\d+)?\b"
    return " ".join(re.sub(r"-{3,}", "-", re.sub(number, "N", line)).split())


# Damage done by lib/gdb_damage.py, and the expected report of the validation.
DAMAGE = {
    "count of a list": r"RAD 0 free list: \d+ pages linked, its count says \d+",
    "state of a cached page": r"CPU 0 cache of RAD \d, \w+: PFN 0x[0-9a-f]+ is active",
    "link of a cached page": r"CPU 0 cache of RAD \d, \w+: (link|PFN|\d+ pages)",
    "references of a page table": r"has no reference: active, pt",
    "pages of a range": r"RAD 1: \d+ pages in ranges, counted as \d+",
    "a lost page": r"PFN 0x[0-9a-f]+ is lost: unused, and in no range",
    "size of a free block": r"free block 0xfffffc[0-9a-f]+ says \d+ bytes, the block has \d+",
    "bytes of the pool": r"1 free blocks of \d+ bytes, counted as 1 of \d+",
    "mark of a block": r"block 0xfffffe02[0-9a-f]+ of \d+ bytes is marked as \d+",
    "seal of a packet": r"packet 0xfffffc[0-9a-f]+ on the list of \d+ bytes was written to",
    "link of a packet": r"packet 0xfffffc[0-9a-f]+ on the list of \d+ bytes: no block starts",
    "start of an area": r"area 0xfffffe02[0-9a-f]+: its blocks do not reach from base to end",
    "order of the free list": r"free block 0xfffffc[0-9a-f]+ follows 0xf.*: the list descends",
    "count of a page table": r"level-1 page: table 0x[0-9a-f]+ holds \d+ PTEs, its count says",
    "frame of a PTE": r"process 1 gdb_target: PTE 0x[0-9a-f]+ at 0x[0-9a-f]+: PFN 0x[0-9a-f]+",
    "hint of a PTE": r"[1-8] wrong hints in the level-3 page at 0x",
    "form of a PTE": r"PTE 0x[0-9a-f]+ at 0x[0-9a-f]+ is not valid, page file, 63:32 = 0x",
    "self-map": r"process 1 gdb_target: the self-map is 0x",
    "shared level-1 PTE": r"level-1 PTE at 0x3[0-9a-f]+ is 0x[0-9a-f]+, the section's is 0x",
    "system entry": r"level-1 entry 769 is 0x[0-9a-f]+, not the system's",
    "valid pages of a section": r"section GDBSECT: 2 valid pages, found 1",
    "PTE of a section": r"section GDBSECT: PTE 0x[0-9a-f]+ of page 0: PFN 0x[0-9a-f]+",
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[str, dict[str, str]]:
    """Both outputs for one moment, "live" and "saved"; and the reports of damage. Collected once,
    however many workers share the tests of this file."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with open(base / "sda.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        record = base / "sda.json"
        if not record.exists():
            record.write_text(json.dumps(look(base / "state.sda")))
        return json.loads(record.read_text())


def look(path: Path) -> dict[str, dict[str, str]]:
    commands = list(dict.fromkeys([*EXPECTED, *PICKED, *MISTAKES, *NOT_THERE, *documented()]))
    with Debugged(
        *("-m", "12G", "--smp", "1", "--set", "RADS=2", "--set", "MEMORY_HOLES=3"),
        *("--reserve", "RESERVED 8 /ALLOCATE", "--reserve", "PIECES 3200 /ALLOCATE"),
        *("--", "/tests/gdb_target"),
    ) as machine:
        machine.wait()
        save = f"shell {TOP}/scripts/save {path} {folder_of(machine.machine.pid)}"
        steps = ["break section_nth", "continue", "sda set cpu 0"]
        damage = f"source {TOP}/tests/lib/gdb_damage.py"
        live = batch(machine.socket, *steps, *commands, save, damage)
    saved = batch(path, "sda set cpu 0", *commands, "continue", "set var rad_count = 7")
    parts = re.split(r"^== (.*)\n", live.get(damage, ""), flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2]))
    write_figures(
        "sda",
        "quick",
        {
            "displays that a saved state shows as the machine did": sum(
                live.get(command) == saved.get(command) for command in EXPECTED
            ),
            "kinds of damage planted": len(found) - 1,
            "kinds of damage found by sda validate": sum(
                name in DAMAGE and re.search(DAMAGE[name], said) is not None
                for name, said in found.items()
            ),
        },
    )
    return {"live": live, "saved": saved, "damage": found}


def folder_of(pid: int) -> Path:
    """The folder of a running scripts/run's machine, where the emulator's initrd is."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    words = [Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0") for child in children]
    qemu = next(command for command in words if b"-initrd" in command)
    return Path(qemu[qemu.index(b"-initrd") + 1].decode()).parent


@pytest.mark.parametrize("command", documented())
def test_document_shows_what_it_says(answers, command):
    """Each line of the document is one of the output, in this order."""
    said = iter(map(shape, answers["saved"][command].splitlines()))
    for line in documented()[command]:
        if line not in ("", "…"):
            assert shape(line) in said, f"{line}\n{answers['saved'][command]}"


@pytest.mark.parametrize("command", EXPECTED)
def test_command(answers, command):
    live, saved = answers["live"].get(command, ""), answers["saved"].get(command, "")
    assert re.search(EXPECTED[command], live, re.MULTILINE), live or answers["live"]["errors"]
    # Except for a free-running clock and GDB's numbering of values, a saved state gives the same.
    assert saved == live


def test_process_that_does_not_run_is_shown(answers):
    for look in ("live", "saved"):
        said = answers[look]
        assert re.search(r"process 2 gdb_target: /tests/gdb_target, symbols of /", said[PICKED[1]])
        assert re.search(r"^#\d .*(sched_block_locked|switch)", said["backtrace 3"], re.M), said
        # The environment of the process, through its own page tables.
        assert '"PATH=' in said[PICKED[3]] or '"HOME=' in said[PICKED[3]], said[PICKED[3]]
        assert "Process index: 2 " in said["sda show process /channel"]
        assert "section_nth" in said["backtrace 1"]


def test_backtrace_continues_through_a_system_call_into_the_program(answers):
    """For the running thread, whose stack pointer is in PALcode, the machine executes an
    instruction. A state that was saved on request does not have it, and the backtrace ends in the
    function that made the call."""
    into = r"#0 .*section_nth(.*\n)*.*<signal handler called>\n#\d+ .*(starlet\.c|service\.h):\d+\n"
    into += r".*mega\$info .*\n"
    out = r"#\d+ .* main .*gdb_target\.c:\d+\n(.*\n)*#\d+ .* _start "
    assert re.search(into + out, answers["live"]["sda show call_frame"])
    assert "corrupt" not in answers["live"]["sda show call_frame"]
    assert re.search(into, answers["saved"]["sda show call_frame"])
    # Reading it has changed nothing.
    before, after = (answers["live"][step] for step in ("print $pc", "info registers pc"))
    assert re.search(r"section_nth", before) and re.search(r"section_nth", after), (before, after)


@pytest.mark.parametrize("command", NOT_THERE)
def test_missing_objects_are_reported_and_a_script_continues(answers, command):
    for look in ("live", "saved"):
        assert answers[look][command].strip() == NOT_THERE[command]


def test_mistakes_are_explained(answers):
    for look in ("live", "saved"):
        errors = answers[look]["errors"]
        assert "Python Exception" not in errors and "Traceback" not in errors, errors
        for message in MISTAKES.values():
            assert message in errors, errors


def test_saved_state_is_not_changed_and_does_not_run(answers):
    said = answers["saved"]
    assert "A saved state stands still" in said["continue"] + said["errors"]
    assert "Cannot access memory" in said["errors"], said["errors"]


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found(answers, damage):
    said = answers["damage"]
    assert re.search(r"^  %.*(" + DAMAGE[damage] + ")", said[damage], re.MULTILINE), said[damage]
    assert re.search(r": [1-9]\d* inconsistencies$", said[damage], re.MULTILINE), said[damage]
    assert "inconsistencies" not in said["mended"]


def test_backtrace_from_an_interrupt_continues_into_the_interrupted_code():
    with Debugged("-m", "256M", "--smp", "1", "--", "/bin/sleep", "5") as machine:
        answers = machine.run("break sched_clock_tick", "continue", "continue", "backtrace")
    frames = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\S+)", answers["backtrace"], re.MULTILINE)
    assert frames[0] == "sched_clock_tick", answers
    assert re.search(r"<signal handler called>\n#\d+ +\S+", answers["backtrace"]), answers[
        "backtrace"
    ]


SPIN = """
#include <stdio.h>
static int __attribute__((noinline)) spin(volatile long *p)
{
    for (;;)
        ++*p;
}
int main(void)
{
    volatile long n = 0;

    return spin(&n);
}
"""


def test_backtrace_from_an_interrupt_continues_into_an_added_program(tmp_path):
    """For a program that never enters the kernel by itself: its stack pointer is read from the CPU,
    and its symbols come from the file given to --add."""
    source, program = tmp_path / "spinning.c", tmp_path / "spinning"
    source.write_text(SPIN)
    subprocess.run([TOP / "scripts/cc", source, "-g", "-o", program], check=True)
    with Debugged(
        *("-m", "256M", "--smp", "1", "--icount"),
        *("--add", str(program), "--", "/spinning"),
    ) as machine:
        answers = machine.run(
            # With the clock's breakpoint from the boot on, its stops would take the time.
            "tbreak exec_program",
            "continue",
            "break sched_clock_tick if user && ((struct thread *)cpus[0].current)->process != 0",
            "ignore 2 20",
            "continue",
            "sda show call_frame",
        )
    frames = answers["sda show call_frame"]
    assert re.search(
        r"<signal handler called>\n#\d+ .*\bspin .*spinning\.c:\d+\n#\d+ .*\bmain .*spinning\.c:12",
        frames,
    ), answers


def test_machine_that_powers_off_without_a_result_is_saved(tmp_path):
    path = tmp_path / "off.sda"
    with Debugged("-m", "256M", "--smp", "1", "--save", str(path), "--", "/bin/true") as machine:
        machine.run(
            "break kernel_main",
            "continue",
            "set $t12 = power_off",
            "set $pc = power_off",
            "continue",
        )
        assert machine.machine.wait(60) == 125
        console = machine.machine.stderr.read().decode()
    assert "the machine has ended without a result" in console, console
    said = batch(path, "print $pc < &_start", "sda show process 1", "info threads")
    # It is in PALcode, before there was a process.
    assert said["print $pc < &_start"] == "$1 = 1", said
    note = "(The kernel has not got as far as sched_boot: little is there to be shown.)\n"
    assert said["sda show process 1"] == note + "there is no process 1", said

"""The debugger's commands, driven by gdb-multiarch against a running kernel."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
COMMANDS = TOP / "scripts/gdb/megalith.py"


class Debugged:
    """A machine that waits for the debugger, and one batch of commands given to it."""

    def __init__(self, *arguments: str) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="gdb")
        self.socket = Path(self.folder.name) / "gdb"
        command = [TOP / "scripts/run", "--timeout", "120", "--gdb-socket", self.socket, *arguments]
        self.machine = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def __enter__(self) -> Debugged:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self.machine.poll() is None:
            self.machine.terminate()
        self.machine.communicate(timeout=20)
        self.folder.cleanup()

    def run(self, *commands: str) -> dict[str, str]:
        """What each command printed."""
        for _ in range(200):
            if self.socket.exists() or self.machine.poll() is not None:
                break
            time.sleep(0.1)
        arguments = [
            "gdb-multiarch",
            "-nx",
            "-batch",
            str(TOP / "build/megalith.elf"),
            "-x",
            str(COMMANDS),
        ]
        arguments += ["-ex", f"target remote {self.socket}"]
        for command in commands:
            arguments += ["-ex", f"echo \\n@@{command}\\n", "-ex", command]
        done = subprocess.run(
            arguments, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL
        )
        parts = re.split(r"^@@(.*)\n", done.stdout, flags=re.MULTILINE)
        answers = dict(zip(parts[1::2], parts[2::2]))
        answers["errors"] = done.stderr
        return answers


@pytest.fixture(scope="module")
def looks() -> dict[str, str]:
    """Every command, at the moment when gdb_target asks for section 0 and its child waits in a
    pipe."""
    with Debugged(
        *("-m", "12G", "--smp", "1", "--set", "RADS=2", "--set", "MEMORY_HOLES=3"),
        *("--reserve", "RESERVED 8 /ALLOCATE", "--reserve", "PIECES 3200 /ALLOCATE"),
        *("--", "/tests/gdb_target"),
    ) as machine:
        answers = machine.run(
            "python import re",
            "break section_nth",
            "continue",
            "backtrace",
            "megalith ps",
            "megalith threads",
            "megalith cpus",
            "megalith sections GDBSECT",
            "megalith regions 1",
            "megalith map 1",
            "megalith reservations",
            "megalith pools",
            "megalith pages",
            "megalith walk $sp",
            "megalith walk &kernel_main",
            "python va = re.search(r'mapped at (0x[0-9a-f]+)', "
            "gdb.execute('megalith sections GDBSECT', to_string=True)).group(1)",
            "python print(gdb.execute(f'megalith walk {va} 1', to_string=True))",
            "python pfn = re.findall(r'pfn (0x[0-9a-f]+) V', "
            "gdb.execute(f'megalith walk {va} 1', to_string=True))[-1]",
            "python print(gdb.execute(f'megalith page {pfn}', to_string=True))",
            "megalith walk 0x123456789abcdef",
            "megalith regions 77",
            "megalith map 77",
            "megalith walk 0 99",
            "megalith backtrace 99",
            "python gdb.execute('megalith walk 0 99'); print('and the script goes on')",
            "help megalith",
        )
    assert "Python Exception" not in answers["errors"], answers["errors"]
    return answers


EXPECTED = {
    "megalith ps": r"^ +1 +0 +running .*gdb_target.*\n +\d+ +1 +waiting .*gdb_target",
    "megalith threads": r"running.*\n(.*\n)*.*waiting.*",
    "megalith cpus": r"^CPU 0 .*gdb_target",
    "megalith sections GDBSECT": (
        r"GDBSECT: 1050624 pages, 1 valid, .*MRES.*\n(.*\n)*"
        r".*shared tables\n.*shared tables\n1 sections"
    ),
    "megalith regions 1": (
        r"^region 16: 0x[0-9a-f]+ \.\. 0x[0-9a-f]+ \(8208 MiB\) SHARED_PTS\n1 regions"
    ),
    "megalith map 1": r"r-x(.*\n)*.*section(.*\n)*private pages \d+",
    "megalith reservations": (
        r"PIECES: ALLOCATE .*\n  pages 409600, in 2 stretches, in use 0\n"
        r"( +pfn 0x[0-9a-f]+ \.\. 0x[0-9a-f]+\n){2}  page-table pages 401, pfn 0x(.*\n)*"
        r"RESERVED: ALLOCATE .*SYSGBL.*\n  pages 1024, pfn 0x"
    ),
    "megalith pools": r"Nonpaged pool: \d+ bytes.*\n(.*\n)*Paged pool: \d+ bytes",
    "megalith pages": r"RAD 0\n  free +\d+(.*\n)*RAD 1\n  free +\d+(.*\n)*  never used +\d+",
    "megalith walk $sp": (
        r"level 1 .*\n.*level 2 .*\n.*level 3 .* V .*KRE KWE.*\n  physical address 0x"
    ),
    "megalith walk &kernel_main": r"is in KSEG: physical 0x3[0-9a-f]{5}",
    "help megalith": r"megalith walk -- .*page-table walk",
}


@pytest.mark.parametrize("command", EXPECTED)
def test_command(looks, command):
    assert re.search(EXPECTED[command], looks[command], re.MULTILINE), looks[command]


def test_walk_of_a_process_finds_the_section_page(looks):
    walk = looks["python print(gdb.execute(f'megalith walk {va} 1', to_string=True))"]
    assert re.search(r"level 1 .*SHPT\n.*is a level-2 page of section GDBSECT", walk), walk
    assert re.search(r"level 2 .*SHPT\n.*is a level-3 page of section GDBSECT", walk), walk
    assert re.search(r"level 3 .*URE.*UWE", walk), walk
    page = looks["python print(gdb.execute(f'megalith page {pfn}', to_string=True))"]
    assert "state active, type global" in page, page


def test_mistakes_are_explained(looks):
    assert "is not a 43-bit signed address" in looks["errors"]
    assert "there is no process" not in looks["errors"]
    assert looks["megalith regions 77"].strip() == "there is no process 77"
    assert looks["megalith map 77"].strip() == "there is no process 77"
    assert looks["megalith walk 0 99"].strip() == "there is no process 99"
    assert looks["megalith backtrace 99"].strip() == "there is no thread 99"


def test_what_is_not_there_does_not_stop_a_script(looks):
    script = "python gdb.execute('megalith walk 0 99'); print('and the script goes on')"
    assert looks[script].split("\n")[:2] == ["there is no process 99", "and the script goes on"]


def test_backtrace_goes_on_into_the_program(looks):
    """From the service through the entry code to the user's program counter."""
    frames = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\S+)", looks["backtrace"], re.MULTILINE)
    assert frames[0] == "section_nth"
    assert "<signal handler called>" in looks["backtrace"]  # what GDB calls a trap's frame
    assert re.search(r"^#\d+ +0x0*1200[0-9a-f]{5} in", looks["backtrace"], re.MULTILINE), looks[
        "backtrace"
    ]


def test_backtrace_from_an_interrupt_goes_on_into_what_was_interrupted():
    with Debugged("-m", "256M", "--smp", "1", "--", "/bin/sleep", "5") as machine:
        answers = machine.run(
            "megalith break sched_clock_tick", "continue", "continue", "backtrace"
        )
    frames = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\S+)", answers["backtrace"], re.MULTILINE)
    assert frames[0] == "sched_clock_tick", answers
    assert re.search(r"<signal handler called>\n#\d+ +\S+", answers["backtrace"]), answers[
        "backtrace"
    ]

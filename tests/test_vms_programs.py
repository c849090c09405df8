"""Programs written as the OpenVMS guides show, with only the headers of OpenVMS and of C.

They are outside the folders that the Makefile builds: scripts/cc compiles them like any user's
program. Their main() returns SS$_NORMAL, which is a success: 0 for the shell.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from lib.guest import run_guest
from megalith.run.paths import TOP

SUCCESS = 0
FOLDER = TOP / "userland/vms"

# Of C, and of the C library of OpenVMS: <wait.h> is where that declares wait().
C_HEADERS = {"stdio.h", "stdlib.h", "string.h", "wait.h"}
OPENVMS_HEADER = re.compile(
    r"(\w+def|starlet|ints|descrip|far_pointers|(lib|str)\$routines|processes|unixlib)\.h"
)

SHARED_SECTION = """\
Region of 33554432 bytes, at a multiple of its length: yes
Section created with shared page tables, 16777216 bytes mapped, 0 reserved
Region of 33554432 bytes, at a multiple of its length: yes
Mapped for reading: not with these page tables
Mapped 16777216 bytes, found 1997
The other process counted to 1998
Deleted: there is no such section
"""

PRIVATE_REGION = """\
page size                        done
create a region of 64 pages      done
expand it by 8 pages             done
  pages from page 56 on, 8 of them
protect 2 pages from writing     done
  the protection was UW, the pages say AB
create 4 pages at its low end    done
  again, not over what is there: in use
region information               done
  64 pages, descending, first free page 0
delete the protected pages       done
  the next page still says C
delete the region                done
  expand it once more: no such region
"""

SERVER = """\
Before: 0 section(s), 0 global pages of 8192 bytes
Table created with shared page tables; 24 MB are reserved for it
Without the privileges: it cannot be deleted
After: 1 section(s), 3074 global pages of 8192 bytes
Mapped 24 MB
0 of 3 workers failed
Worker 0: process known, named server, sum 500500, private memory: some
Worker 1: process known, named server, sum 1001000, private memory: some
Worker 2: process known, named server, sum 1501500, private memory: some
At the end: 0 section(s), 0 global pages of 8192 bytes
"""

TIMES = """\
start        27-FEB-2000 22:30:00.00
step            1 12:00:00.00
Tuesday      29-FEB-2000 10:30:00.00
Wednesday     1-MAR-2000 22:30:00.00
Friday        3-MAR-2000 10:30:00.00
altogether      4 12:00:00.00
which is     108 hours
the last on  day 63 of the year
that is      3/3/2000, 10:30
             51606 days after 17-NOV-1858
ten days     agree
no such day  30-FEB-2000
two dates cannot be added
"""

REPORT = """\
NODE    TAPES     BLOCKS     HEX
------------------------------------
ORION   3 tapes       65535  0000FFFF
LYRA    1 tape          512  00000200
CASSIOPE0 tapes     1234567  0012D687
000010000200003000  377  -400  70
1 child in 2 rooms
4 children in 1 room
As of 30-DEC-1988, 04:15, by [1,4]
"count" "des" "a.b." "zero"\t!
a field that was not opened is refused
0123 is all that fits
"""

MESSAGES = """\
%SYSTEM-S-NORMAL, normal successful completion
%SYSTEM-F-INSFLPGS, insufficient fluid pages
%SYSTEM-W-NOSUCHSEC, no such global section
%SYSTEM-I-NOTINSEC, page is not in a section
%LIB-F-QUEWASEMP, queue was empty
insufficient fluid pages
%INSFLPGS
%SYSTEM-F
%NONAME-E-NOMSG, Message number 08018012 (no such message)
1: %SYSTEM-F-INSFLPGS, insufficient fluid pages
2: %LIB-F-INVARG, invalid argument
3: -SYSTEM-F-NOPRIV, no privilege for the operation attempted
4: -SYSTEM-F-ABORT, abort
5: %SYSTEM-F-ACCVIO, access violation, reason mask=04, virtual address=0000000000001000, \
PC=0000000000020000, PS=0000001B
6: insufficient fluid pages
7: %PAYROLL-F-INSFLPGS, insufficient fluid pages
"""

WORKERS = """\
the queue was empty
32 jobs, then the limit of the zone
30 27 24 21 18 15 12 9 6 3 1 2 4 5 7 8 10 11 13 14 16 17 19 20 22 23 25 26 28 29 31 32
the queue is empty
a wrong size is refused
the zone is deleted
26800 million and 0 bytes
"""

HANDLERS = """\
a search:
    given up at depth 3
    search is left
    search is left
    search is left
    result NOLOGNAM, 0 returns
a warning:
    a warning, with 3 arguments
    and the program goes on
divisions:
    by zero INTDIV
    by one NORMAL
addresses:
    0 ACCVIO
    that of a variable NORMAL
an informational condition does not end the program
"""

INVENTORY = """\
M8-BOLT    metric   400 on shelf 200, bits 7:4 are 12, material 1 at 10, B
M8-NUT     metric  character 2 of the count is x
D8-WASHER          1200 on shelf 4095, bits 7:4 are 15, material 2 at 12, W
PAINT              no count
FFFFFFFF + 1 = 100000000
Made on node MEGALITH, pages of 8192 (8192) bytes, by [0,0]
0 privileges of the image: ""; state CUR; no such item
"""

FILTER = """\
  1 HELLO THERE
  2 SECOND
2 lines, the longest of 11 characters: [hello there]
"""


REGION_SUMMARY = """
The pages lie at {at} from the start, 6000 bytes long, the last byte is ff
By identification: 40 bytes of a summary of 40, 16 pages,{kind}, owner mode 3, create mode 3
    its start is right, the first free page is {free}
By an address in it: 40 bytes of a summary of 40, 16 pages,{kind}, owner mode 3, create mode 3
    its start is right, the first free page is {free}
    the identification is the same
By the next address: 40 bytes of a summary of 40, 16 pages,{kind}, owner mode 3, create mode 3
    its start is right, the first free page is {free}
Created again: SS$_VA_IN_USE
16 pages were deleted
"""

COMMON_DATA = """\
The section was created, its block has 14 bytes
Version 2.4 and no other: no such section
Version 2.1 or a later one: found, 65536 bytes
The second process ended with 0; counter 42, sum 100000000, writer B
After the last mapping: the temporary section is gone
"""

LOGICAL_NAMES = """\
The table was created
The second time it was there
DATA_DISKS [0 of 2] = DISK1:
DATA_DISKS [1 of 2] = DISK2:[DATA] (concealed)
DATA_DISKS [2 of 2] = DISK3:
data_disks: no such name
data_disks [0 of 2] = DISK1:
data_disks [1 of 2] = DISK2:[DATA] (concealed)
data_disks [2 of 2] = DISK3:
DATA_DISKS: no such name
Without the table: SS$_NOLOGTAB
"""

WHO_AM_I = """\
Image /who_am_i, user "SYSTEM      " of 12 characters, UIC [0,0], {terminal}
The process is the caller, with one thread
CMKRNL yes, TMPMBX yes, SECURITY yes; authorised for everything; the image has none
CPU time: some, the sum of both modes: yes; direct I/O 0
Logged in: in this decade
The search found at least one process, and this one 1 time
"""

CPUS = """\
Node MEGALITH (8 characters), in no cluster
Architecture 2, Alpha (5 characters)
{n} of {n} processors are active, mask {mask} of {mask}
The masks agree with the counts: yes
The primary, 0, is active: yes; there could be as many
Pages of 8192 bytes, thousands of memory, 0 pages in page files
Booted: in this decade
"""

AMPLIFY = """\
At first: SYSGBL 1, PRMGBL {has}, SYSPRV {has}, DETACH {has}
Three privileges: SS$_{status}
It is a success: yes
Enabled: SYSGBL 1, PRMGBL 1, SYSPRV {has}, DETACH {has}
Deleting a section that is not there: no such section
Disabled: SYSGBL 0, PRMGBL 0, SYSPRV 0, DETACH {has}
As before: SYSGBL 1, PRMGBL {has}, SYSPRV {has}, DETACH {has}
"""

HOME_RAD = """\
2 RADs, the home is RAD {home}
In a RAD that does not exist: SS$_BADRAD
In the home RAD: created with shared page tables, the first longword is 0
"""

STOPWATCH = """\
the same cluster: yes
after the wait for any: the first flag is set
after the wait for all: 3 of 3 are set
cleared: it was set
cleared again: it was clear
the cancelled timer: its flag is clear
freed twice: refused
"""

AST_ROUTINES = """\
disabled; they were enabled
three are declared
AST 1
AST 2
AST 3
enabled; they were disabled
2 left
1 left
0 left
deepest: 1
the process has a number: yes
"""

ALARM_CLOCK = """\
good night
ring 1
ring 2
ring 3
good morning, after 2 times of snoozing
a wake-up that had come before
"""

METRONOME = """\
one beat every 200000 units of 100 ns
10 beats took their time
an interval that is a date: SS$_IVTIME
"""

TWO_PROCESSES = """\
before: not associated
ping 1
    pong 1
ping 2
    pong 2
ping 3
    pong 3
afterwards the flags are 1
in a new cluster of that name 0
flag 32 is in no common cluster: SS$_ILLEFC
"""

CLOSING_TIME = """\
cancelled twice: SS$_NOHANDLER
the guests have gone
the lights are out, because of 1
the door is locked, because of 1
"""

POST_OFFICE = """\
letter 1 of 12 characters from the subprocess: "Dear parent,"
letter 2 of 17 characters from the subprocess: "all is well here."
letter 3 of 0 characters from the subprocess: ""
end of file after 3 letters
the sender has read the right names: yes
the box is empty
and gone: yes
"""

ANSWERING_MACHINE = """\
call 1 (1876): this is caller 1
call 2 (1876): this is caller 2
call 3 (1876): this is caller 3
call 4 (1876): this is caller 4
call 5 (1876): this is caller 5
5 calls, no more attentions than calls
the machine is off: yes
"""

CONVEYOR = """\
nobody writes: SS$_NOWRITER
no room: SS$_MBFULL
_MBA...: a mailbox, shareable, records of up to 50 bytes, 5 of them wait
a piece of 128 bytes
left are 3 messages with 122 bytes
10000 bytes, 0 of them wrong
"""

LAST_WORDS = """\
PROCESS_1: %SYSTEM-S-NORMAL, normal successful completion
PROCESS_2: %SYSTEM-I-NOTINSEC, page is not in a section
PROCESS_3: %SYSTEM-F-EXCPUTIM, CPU time limit expired
  after half a second of CPU time
PROCESS_4: %SYSTEM-F-ABORT, abort
"""

MAILBOXES = {
    "post_office": (POST_OFFICE, SUCCESS),
    "answering_machine": (ANSWERING_MACHINE, SUCCESS),
    "conveyor": (CONVEYOR, SUCCESS),
    "last_words": (LAST_WORDS, SUCCESS),
}

QUESTIONNAIRE = """\
Three questions
Your name? 6 characters, terminator 13 of size 1: Arthur
Your quest? 9 characters, terminator 13 of size 1: the grail
Another question? no more answers

dollar plus\r
blank\r

zero\r
"""

# Their text, and the exit status: 0 of those that end by $EXIT.
EVENTS = {
    "stopwatch": (STOPWATCH, SUCCESS),
    "ast_routines": (AST_ROUTINES, SUCCESS),
    "alarm_clock": (ALARM_CLOCK, 0),
    "metronome": (METRONOME, SUCCESS),
    "two_processes": (TWO_PROCESSES, SUCCESS),
    "closing_time": (CLOSING_TIME, 0),
}


FOREMAN = """\
a second WORKER_2: SS$_DUPLNAM
3 subprocesses report
a worker may have 20 ASTs and 8 timers
its owner is me
its job is mine
WORKER_2 is dismissed: 2 are left
one more has gone by itself; the last one ends with me
"""

ROLL_CALL = """\
by a pattern: JOAN(3) JOANNA(3)
whatever the case: MARTINE(3)
one of two names: JOAN(3) MARTINE(3)
subprocesses of low priority, but for one: JOANNA(3) MARTINE(3)
nobody:
an empty name: SS$_IVBUFLEN
"""

ERRANDS = """\
hello from a subprocess
the command ended with a success
the next one with a failure
without a wait: it runs
one
two
the flag is set, the AST was delivered: a success
a subprocess that is deleted: SS$_ABORT
an unknown flag: LIB$_INVARG
"""

RANKS = """\
I have 4, the subprocess 3
it had 3, and is raised to 8
without ALTPRI it stays at 8
but can be lowered to 2
and not raised again: 2
no process: SS$_NONEXPR
"""


# How it ends, the status that the shell sees, and the line that is printed.
OUTCOMES = [
    ("normal", 0, ""),
    ("zero", 0, ""),
    ("information", 0, ""),
    ("warning", 1, "%SYSTEM-W-NOSUCHSEC, no such global section"),
    ("error", 2, "%SYSTEM-E-INSFLPGS, insufficient fluid pages"),
    ("severe", 4, "%SYSTEM-F-INSFLPGS, insufficient fluid pages"),
    ("library", 4, "%LIB-F-INVARG, invalid argument"),
    ("silent", 4, ""),
    ("failure", 2, ""),
    ("unknown", 2, "%NONAME-E-NOMSG, Message number 08018012"),
    ("signal", 4, "%SYSTEM-F-INSFLPGS, insufficient fluid pages"),
    ("handlers", 0, ""),
    ("", 4, "%SYSTEM-F-ABORT, abort"),
]


LIBRARY = {
    "times": (TIMES, SUCCESS),
    "report": (REPORT, SUCCESS),
    "messages": (MESSAGES, SUCCESS),
    "workers": (WORKERS, SUCCESS),
    "inventory": (INVENTORY, SUCCESS),
}
PROCESSES = {
    "foreman": (FOREMAN, SUCCESS),
    "roll_call": (ROLL_CALL, SUCCESS),
    "errands": (ERRANDS, SUCCESS),
    "ranks": (RANKS, SUCCESS),
}


def compiled(name: str, folder: Path) -> Path:
    """The program, which is compiled without a change and in silence."""
    program = folder / name
    command = [TOP / "scripts/cc", FOLDER / f"{name}.c", "-o", program]
    done = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
    assert done.stderr == ""
    return program


@pytest.mark.parametrize("source", sorted(FOLDER.glob("*.c")), ids=lambda path: path.stem)
def test_only_headers_of_openvms_and_c(source: Path) -> None:
    names = set(re.findall(r"#include <([^>]+)>", source.read_text()))
    assert '#include "' not in source.read_text()
    for name in {name if "." in name else f"{name}.h" for name in names} - C_HEADERS:
        places = (TOP / "kernel/base/abi" / name, TOP / "userland/lib/include" / name)
        assert any(place.is_file() for place in places), name
        assert OPENVMS_HEADER.fullmatch(name)


def test_a_section_in_two_processes(tmp_path: Path) -> None:
    program = compiled("shared_section", tmp_path)
    done = run_guest("/shared_section", options=["--add", str(program)]).expect(SUCCESS)
    assert done.text == SHARED_SECTION


def test_a_region_for_private_pages(tmp_path: Path) -> None:
    program = compiled("private_region", tmp_path)
    done = run_guest("/private_region", options=["--add", str(program)]).expect(SUCCESS)
    assert done.text == PRIVATE_REGION


def test_a_server_with_reserved_memory(tmp_path: Path) -> None:
    program = compiled("server", tmp_path)
    options = ["--add", str(program), "--reserve", "SERVER_TABLE 24 /ALLOCATE /ZERO /PAGE_TABLES"]
    done = run_guest("/server", options=options).expect(SUCCESS)
    assert done.text == SERVER


def test_the_server_as_an_ordinary_user(tmp_path: Path) -> None:
    """It needs to be authorised for the privileges that it enables, and the identifier."""
    program = compiled("server", tmp_path)
    options = ["--add", str(program), "--reserve", "SERVER_TABLE 24 /ALLOCATE /ZERO /PAGE_TABLES"]
    words = ["/bin/runas", "--uic", "[200,5]", "--authorize", "SYSGBL,PRMGBL"]
    granted = [*words, "--rights", "VMS$MEM_RESIDENT_USER", "--", "/server"]
    done = run_guest(*granted, options=options).expect(SUCCESS)
    assert done.text == SERVER
    done = run_guest(*words, "--", "/server", options=options).expect(4)
    assert "%SYSTEM-F-NOMEMRESID, operation requires the VMS$MEM_RESIDENT_USER" in done.console


def test_regions_that_ascend_and_descend(tmp_path: Path) -> None:
    program = compiled("region_summary", tmp_path)
    done = run_guest("/region_summary", options=["--add", str(program)]).expect(SUCCESS)
    low = REGION_SUMMARY.format(at="0", kind=" P0 space", free=3)
    assert done.text == low + REGION_SUMMARY.format(at="1a000", kind=" descending", free=13)


def test_a_page_file_section_with_a_version(tmp_path: Path) -> None:
    program = compiled("common_data", tmp_path)
    done = run_guest("/common_data", options=["--add", str(program)]).expect(SUCCESS)
    assert done.text == COMMON_DATA


def test_logical_names_in_a_table_of_their_own(tmp_path: Path) -> None:
    program = compiled("logical_names", tmp_path)
    done = run_guest("/logical_names", options=["--add", str(program)]).expect(SUCCESS)
    assert done.text == LOGICAL_NAMES


def test_what_getjpi_knows_of_the_caller(tmp_path: Path) -> None:
    program = compiled("who_am_i", tmp_path)
    done = run_guest("/who_am_i", options=["--add", str(program)]).expect(SUCCESS)
    assert done.text == WHO_AM_I.format(terminal="interactive")


@pytest.mark.parametrize("cpus", [1, 4])
def test_what_getsyi_knows_of_the_processors(tmp_path: Path, cpus: int) -> None:
    program = compiled("cpus", tmp_path)
    options = ["--add", str(program), "--smp", str(cpus)]
    done = run_guest("/cpus", options=options).expect(SUCCESS)
    assert done.text == CPUS.format(n=cpus, mask=f"{(1 << cpus) - 1:x}")


def test_setprv_enables_what_is_authorised(tmp_path: Path) -> None:
    program = compiled("amplify", tmp_path)
    options = ["--add", str(program)]
    done = run_guest("/amplify", options=options).expect(SUCCESS)
    assert done.text == AMPLIFY.format(has=1, status="NORMAL")
    words = ["/bin/runas", "--uic", "[200,5]", "--priv", "SYSGBL", "--authorize", "PRMGBL"]
    done = run_guest(*words, "--", "/amplify", options=options).expect(SUCCESS)
    assert done.text == AMPLIFY.format(has=0, status="NOTALLPRIV")


@pytest.mark.parametrize("home", [0, 1])
def test_a_rad_mask_by_value(tmp_path: Path, home: int) -> None:
    program = compiled("home_rad", tmp_path)
    options = ["--add", str(program), "--set", "RADS=2"]
    done = run_guest("/bin/rad", str(home), "/home_rad", options=options).expect(SUCCESS)
    assert done.text == HOME_RAD.format(home=home)


def test_condition_handlers(tmp_path: Path) -> None:
    """The last condition that it signals is severe, and no handler wants it."""
    program = compiled("handlers", tmp_path)
    done = run_guest("/handlers", options=["--add", str(program)]).expect(4)
    assert done.text == HANDLERS
    said = [line for line in done.console.splitlines() if line.startswith("%")]
    assert said == [
        "%SYSTEM-I-NOTINSEC, page is not in a section",
        "%SYSTEM-F-INSFLPGS, insufficient fluid pages",
    ]


def test_lines_of_input(tmp_path: Path) -> None:
    program = compiled("filter", tmp_path)
    script = "echo 'hello there  ' > /tmp/lines; echo second >> /tmp/lines; /filter < /tmp/lines"
    done = run_guest("/bin/sh", "-c", script, options=["--add", str(program)]).expect(SUCCESS)
    assert done.text == FILTER


def test_what_the_shell_learns_of_an_end(tmp_path: Path) -> None:
    """A warning is 1, an error 2, a severe error 4; its message is printed once, and last."""
    program = compiled("outcome", tmp_path)
    hows = " ".join(f"'{how}'" for how, _, _ in OUTCOMES)
    script = f'for how in {hows}; do /outcome "$how" 2>&1; echo "status $?"; done'
    done = run_guest("/bin/sh", "-c", script, options=["--add", str(program)]).expect(SUCCESS)
    lines = []
    for how, status, message in OUTCOMES:
        lines.append(f"{how}:")
        if how == "handlers":
            lines.append("exit handler: status 00000024, 1")
            lines.append("exit handler: status 00000001, 0")
        lines += [message] * bool(message) + [f"status {status}"]
    assert done.text.splitlines() == lines


OWN_HANDLER = """
#include <signal.h>
#include <ssdef>
#include <stdlib>
static void mine(int number) { _Exit(number); }
int main(int argc, char **argv)
{
    if (argc > 1)
        signal(SIGSEGV, mine);
    *(volatile int *)8 = 1;
    return SS$_NORMAL;
}
"""


def test_statuses_and_faults_of_posix(tmp_path: Path) -> None:
    """_POSIX_EXIT, and sources without headers of OpenVMS, keep the statuses of C, and faults."""
    source = tmp_path / "three.c"
    source.write_text("#include <ssdef.h>\nint main(void) { return 3; }\n")
    command = [TOP / "scripts/cc", source, "-o"]
    subprocess.run([*command, tmp_path / "three", "-D_POSIX_EXIT"], check=True)
    subprocess.run([*command, tmp_path / "information"], check=True)
    source.write_text("int main(void) { return 3; }\n")
    subprocess.run([*command, tmp_path / "plain"], check=True)
    source.write_text("int main(void) { return *(volatile int *)8; }\n")
    subprocess.run([*command, tmp_path / "plain_fault"], check=True)
    source.write_text(OWN_HANDLER)
    subprocess.run([*command, tmp_path / "fault"], check=True)
    names = ("three", "information", "plain", "plain_fault", "fault")
    added = [word for name in names for word in ("--add", str(tmp_path / name))]
    script = "; ".join(f"/{name}; echo $?" for name in (*names, "fault own"))
    done = run_guest("/bin/sh", "-c", script, options=added).expect(SUCCESS)
    assert done.text.split() == ["3", "0", "3", "139", "4", "11"]
    reports = re.findall(r"^(\S+ \(\d+\): .*|%SYSTEM.*)$", done.console, re.MULTILINE)
    assert {report.split()[0] for report in reports} == {"plain_fault", "%SYSTEM-F-ACCVIO,"}
    assert "reason mask=04, virtual address=0000000000000008, PC=" in reports[-1]


@pytest.mark.parametrize(
    "programs",
    [LIBRARY, PROCESSES, EVENTS, MAILBOXES],
    ids=["library", "processes", "events", "mailboxes"],
)
def test_programs_one_after_the_other(programs: dict[str, tuple[str, int]], tmp_path: Path) -> None:
    options = []
    for name in programs:
        options += ["--add", str(compiled(name, tmp_path))]
    script = f"for p in {' '.join(programs)}; do /$p; echo ends with $?; done"
    done = run_guest("/bin/sh", "-c", script, options=options).expect(0)
    assert done.text == "".join(f"{text}ends with {end}\n" for text, end in programs.values())


def test_a_terminal_by_qio(tmp_path: Path) -> None:
    program = compiled("questionnaire", tmp_path)
    script = "echo Arthur > /tmp/a; echo 'the grail' >> /tmp/a; /questionnaire < /tmp/a"
    done = run_guest("/bin/sh", "-c", script, options=["--add", str(program)]).expect(SUCCESS)
    assert done.text == QUESTIONNAIRE


CONSTANT = """
#include <lib$routines.h>
#include <ssdef.h>
#include <stdio.h>
static __attribute__((noinline)) int always(void)
{
    lib$establish(lib$sig_to_ret);
    lib$signal(SS$_INSFMEM);
    return SS$_NORMAL;
}
int main(void)
{
    printf("%d\\n", always());
    return SS$_NORMAL;
}
"""


def test_a_handlers_result_where_the_code_has_but_one(tmp_path: Path) -> None:
    source, program = tmp_path / "always.c", tmp_path / "always"
    source.write_text(CONSTANT)
    subprocess.run([TOP / "scripts/cc", source, "-o", program], check=True)
    assert run_guest("/always", options=["--add", str(program)]).expect(0).text == "292\n"

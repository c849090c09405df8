"""/bin/sysman in the guest, and a start-up script that uses it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lib.guest import run_guest

RESERVATIONS = (
    "POOL 64 /ALLOCATE",
    "PROMISE 16",
    "G 8 /ALLOCATE /GROUP=12",
    "DRIVER 8 /ALLOCATE /NOGLOBAL_SECTION",
    '"A/B" 4 /NOPAGE_TABLES',
)
OPTIONS = [word for entry in RESERVATIONS for word in ("--reserve", entry)]


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    """The answers of the prompt to some lines, in one boot. Later lines see the effects of earlier
    ones."""
    lines = [
        "res show",
        "res show POOL",
        "res show pool",
        "res show PO*",
        "RESERVED_MEMORY FREE POOL",
        "res free POOL",
        "res free PROMISE/sys",
        "res free G",
        "res free G /group=9",
        "res free G/gr:12",
        "res free DRIVER /nog/sys",
        "res free DRIVER/noglobal",
        'res free "A/B" ! quoted',
        "reserved_memory sh",
        "res add X 1",
        "res",
        "par s gblpages",
        "par sh gbl*",
        "par show /dynamic",
        "par set gblpages 512K",
        "par show GBLPAGES",
        "par show rsvd_exec_1",
        "par set gblsections 50",
        "par set paged_lal_size %X1000",
        "par set rsvd_exec_1 2561",
        "par set gblpages 9z",
        "par set nosuch 1",
        "par set gblpages",
        'par "abc',
        "/x",
        "par show /nosuch",
        "help par set",
        "help nosuch",
        "a b c d e f g h i",
    ]
    script = "".join(f"{line}\nhelp exit\n" for line in lines)
    done = run_guest("/bin/sh", "-c", "sysman 2>&1", options=OPTIONS, stdin=script.encode()).expect(
        0
    )
    end = "EXIT \n    Leave. So does the end of input.\n"
    found = done.text.split(end)
    assert len(found) == len(lines) + 1 and found[-1] == ""
    return dict(zip(lines, found))


def test_reservations_are_shown(answers):
    shown = answers["res show"]
    assert re.search(r"^POOL +SYSGBL +64\.00 +8192 +0  Allocated$", shown, re.M)
    assert re.search(r"^POOL +SYSGBL +0\.07 +9 +0  Page table$", shown, re.M)
    assert re.search(r"^PROMISE +SYSGBL +16\.00 +2048 +0  Fluid$", shown, re.M)
    assert re.search(r"^G +12 +8\.00 +1024 +0  Allocated$", shown, re.M)
    assert re.search(r"^DRIVER +none +8\.00 +1024 +0  Allocated$", shown, re.M)
    assert answers["res show POOL"].count("\n") == 4  # heads, pages, tables, total
    assert "NOTFOUND" in answers["res show pool"]
    assert answers["res show PO*"] == answers["res show POOL"]
    assert answers["reserved_memory sh"] == "There are no memory reservations.\n"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("RESERVED_MEMORY FREE POOL", "%SYSMAN-I-FREED, POOL: 8201 pages (64.07 MB)"),
        ("res free POOL", "%SYSMAN-E-NOTFREED, POOL: no such reservation"),
        ("res free PROMISE/sys", "%SYSMAN-I-FREED, PROMISE: 2051 pages"),
        ("res free G", "%SYSMAN-E-NOTFREED"),
        ("res free G /group=9", "%SYSMAN-E-IVGROUP"),
        ("res free G/gr:12", "%SYSMAN-I-FREED, G: 1026 pages"),
        ("res free DRIVER /nog/sys", "%SYSMAN-E-CONFLICT"),
        ("res free DRIVER/noglobal", "%SYSMAN-I-FREED, DRIVER: 1024 pages"),
        ('res free "A/B" ! quoted', "%SYSMAN-I-FREED, A/B: 512 pages"),
        ("res add X 1", "%SYSMAN-E-NOSYSDISK"),
        ("res", "%SYSMAN-E-IVVERB, RESERVED_MEMORY needs one more word"),
        ("par s gblpages", "%SYSMAN-E-ABKEYW, 's' is ambiguous"),
        ("par set gblpages 512K", "%SYSMAN-I-SET, GBLPAGES is 524288"),
        ("par set gblsections 50", "%SYSMAN-E-NOTDYNAMIC"),
        ("par set paged_lal_size %X1000", "%SYSMAN-E-RANGE, PAGED_LAL_SIZE: 4096 is not between"),
        ("par set rsvd_exec_1 2561", "%SYSMAN-E-RANGE, RSVD_EXEC_1: 2561 is not between 0 and"),
        ("par set gblpages 9z", "%SYSMAN-E-IVNUM"),
        ("par set nosuch 1", "%SYSMAN-E-NOPARAM"),
        ("par set gblpages", "%SYSMAN-E-SYNTAX"),
        ('par "abc', "%SYSMAN-E-UNCLOSED"),
        ("/x", "%SYSMAN-E-IVVERB"),
        ("par show /nosuch", "%SYSMAN-E-IVQUAL"),
        ("help par set", "PARAMETERS SET name value\n"),
        ("help nosuch", "%SYSMAN-E-NOHELP"),
        ("a b c d e f g h i", "%SYSMAN-E-MAXPARM"),
    ],
)
def test_answers(answers, line, answer):
    assert answers[line].startswith(answer)


def test_parameters_are_shown(answers):
    assert {line.split()[0] for line in answers["par sh gbl*"].splitlines()[1:]} >= {
        "GBLPAGES",
        "GBLSECTIONS",
    }
    dynamic = answers["par show /dynamic"].splitlines()[1:]
    assert dynamic and all(line.endswith(" D") for line in dynamic)
    assert not any(line.startswith("GBLSECTIONS ") for line in dynamic)
    assert re.search(r"^GBLPAGES +524288 ", answers["par show GBLPAGES"], re.M)
    older = answers["par show rsvd_exec_1"]
    assert re.search(r"^PAGED_LAL_SIZE ", older, re.M) and older.count("\n") == 2


def test_one_shot_commands_and_their_status():
    script = "sysman par set gblpages 4096; echo $?; sysman par set nosuch 1; echo $?"
    done = run_guest("/bin/sh", "-c", script).expect(0)
    assert re.findall(r"^\d+$", done.text, re.M) == ["0", "1"]


STARTUP = """echo the start-up script, process $$
sysman reserved_memory free POOL
read line; echo "input: $?"
cd /tmp; x=1; false
"""


@pytest.fixture
def startup(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "startup").write_text(STARTUP)
    return ("--add", f"{tmp_path}/startup:/etc/startup", "--reserve", "POOL 64 /ALLOCATE")


def test_startup_script_runs_before_the_command(startup):
    """Its output is not part of the command's; the command is process 1 as usual, and has the
    input."""
    command = 'echo $$ $PWD "$x"; read line; echo $line; sysman res show; exit 7'
    done = run_guest("/bin/sh", "-c", command, options=startup, stdin=b"input\n").expect(7)
    assert done.text == "1 / \ninput\nThere are no memory reservations.\n"
    assert "%SYSMAN-I-FREED, POOL: 8201 pages (64.07 MB) are fluid again" in done.console
    assert "input: 1\n" in done.console.replace("\r", "")
    assert "sh: /etc/startup ended with status 1" in done.console


def test_startup_script_runs_before_the_prompt(startup):
    done = run_guest(options=startup, stdin=b"sysman res show\n").expect(0)
    assert done.text.index("I-FREED") < done.text.index("There are no memory reservations.")


@pytest.mark.parametrize(("command", "status"), [("/bin/nosuch", 127), ("/etc/startup", 126)])
def test_a_command_that_does_not_exist_keeps_its_status(startup, command, status, tmp_path):
    (tmp_path / "startup").chmod(0o644)
    run_guest(command, options=startup).expect(status)

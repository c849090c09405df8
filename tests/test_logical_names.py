"""define, deassign and show logical at the shell, and lists of many names and processes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.guest import Done

Shell = Callable[..., tuple[list[str], list[str]]]


@pytest.fixture
def shell(run: Callable[..., Done], tmp_path: Path) -> Shell:
    """Runs lines; returns their output, and the error messages on the console."""

    def go(*lines: str, status: int = 0) -> tuple[list[str], list[str]]:
        path = tmp_path / "commands"
        path.write_text("\n".join(lines) + "\n")
        done = run("/bin/sh", "/commands", options=["--add", f"{path}:/commands"]).expect(status)
        # The last line of the boot may still lack its end when the first complaint comes.
        said = re.findall(r"%[A-Z]+-[A-Z]-[^\n]*", done.console)
        return done.text.splitlines(), said

    return go


def test_translation_is_iterative(shell: Shell) -> None:
    text, said = shell(
        "define A B",
        "define/job B C,D",
        "define /SYSTEM C 'E F'",
        "define/translation_attributes=(TERMINAL) T A".replace("(", "'(").replace(")", ")'"),
        "show logical A",
        "show logical T/full",
        "show logical/job B",
        "define LOOP LOOP",
        "show logical LOOP",
        status=1,
    )
    assert text == [
        "(LNM$PROCESS_TABLE)",
        '  "A" = "B"',
        '1 "B" = "C" (LNM$JOB_00000001)',
        '2 "C" = "E F" (LNM$SYSTEM_TABLE)',
        '1 "B" = "D" (LNM$JOB_00000001)',
        "(LNM$PROCESS_TABLE)",
        '  "T" [super,terminal] = "A"',
        "(LNM$JOB_00000001)",
        '  "B" = "C"',
        '\t= "D"',
        "(LNM$PROCESS_TABLE)",
        '  "LOOP" = "LOOP"',
        *(f'{i} "LOOP" = "LOOP" (LNM$PROCESS_TABLE)' for i in range(1, 10)),
    ]
    assert said == ["%SHOW-W-TOOMANYLNAM, LOOP is followed no further"]


def test_wildcards_and_tables(shell: Shell) -> None:
    text, said = shell(
        "define/job AB 1",
        "define/group AC 2",
        "define/table='LNM$PROCESS' A 3",
        "define AB '[4]'",
        "define 'A*' 5",
        "show logical 'A%'",
        "echo --",
        "show logical '*B' /table='LNM$JOB'",
        "echo --",
        "show /job logical",
        "echo --",
        "show logical 'X*'",
        status=1,
    )
    one, two, three, four = "\n".join(text).split("\n--")
    assert one.splitlines() == [
        "(LNM$PROCESS_TABLE)",
        '  "AB" = "[4]"',
        '  "A*" = "5"',
        "",
        "(LNM$JOB_00000001)",
        '  "AB" = "1"',
        "",
        "(LNM$GROUP_000000)",
        '  "AC" = "2"',
    ]
    assert (
        two.strip().splitlines()
        == ["(LNM$JOB_00000001)", '  "AB" = "1"']
        == (three.strip().splitlines())
    )
    assert four == "" and said == ["%SHOW-S-NOTRAN, no translation for logical name X*"]


def test_modes_and_attributes(shell: Shell) -> None:
    text, _ = shell(
        "define/executive/system E 1",
        "define /name_attributes=no_alias,confine N 2",
        "define/user U 3; show logical U/full; show logical U",  # gone after the first program
        "define /trans=CONCEALED C 4",
        "show logical N/full",
        "show logical '[CE]' /full; show logical C/full; show logical E/full",
        "define N 5; show logical N/full",
        "deassign N; show logical N",
        status=1,
    )
    assert text == [
        "(LNM$PROCESS_TABLE)",
        '  "U" [user] = "3"',
        "(LNM$PROCESS_TABLE)",
        '  "C" [super,concealed] = "4"',
        "(LNM$SYSTEM_TABLE)",
        '  "E" [exec] = "1"',
        "%DCL-I-SUPERSEDE, previous value of N has been superseded",
        "(LNM$PROCESS_TABLE)",
        '  "N" [super] = "5"',
    ]


def test_deassign(shell: Shell) -> None:
    text, said = shell(
        "define A 1; define B 2; define/job C 3; define/executive D 4",
        "deassign A; show logical/process",
        "deassign/all; show logical/process",
        "deassign/job/all; show logical/job",
        "deassign C",
        status=1,
    )
    assert text == [
        "(LNM$PROCESS_TABLE)",
        '  "B" = "2"',
        '  "D" = "4"',
        "(LNM$PROCESS_TABLE)",
        '  "D" = "4"',
    ]
    assert said == ["%SYSTEM-F-NOLOGNAM, no logical name match: C"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("define A", "%DCL-W-INSFPRM, define [/qualifier...] name string[,string...]"),
        ("define/frob A B", "%DCL-W-IVQUAL, unknown qualifier or value: /frob"),
        ("define/name=terminal A B", "%DCL-W-IVQUAL, unknown qualifier or value: /name=terminal"),
        ("define/trans=CON A B", "%DCL-W-IVQUAL, unknown qualifier or value: /trans=CON"),
        ("define '/table=' A B", "%DCL-W-IVQUAL, unknown qualifier or value: /table="),
        ("define/table=NOWHERE A B", "%SYSTEM-F-NOLOGTAB, no logical name table match: A"),
        ("deassign A/all", "%SYSTEM-F-NOLOGNAM, no logical name match: A/all"),
        ("deassign", "%DCL-W-INSFPRM, deassign [/qualifier...] name, or /ALL"),
        ("deassign/all A", "%DCL-W-INSFPRM, deassign [/qualifier...] name, or /ALL"),
        ("show logical/table=NOWHERE", "%SHOW-W-NOLOGTAB, no logical name table NOWHERE"),
        ("show logical/table=NOWHERE A", "%SHOW-W-NOLOGTAB, no logical name table NOWHERE"),
        ("show logical/table", "%SHOW-W-IVQUAL, /table needs a value"),
        ("show logical/job=3", "%SHOW-W-IVQUAL, /job takes no value"),
        ("show logical A B", "%SHOW-W-MAXPARM, too many or too long words"),
    ],
)
def test_error_messages(shell: Shell, line: str, message: str) -> None:
    assert shell(line, status=1) == ([], [message])


def test_empty_strings_are_strings(shell: Shell) -> None:
    text, _ = shell("define A ''", "define B x,,y", "show logical A; show logical B")
    assert text == [
        "(LNM$PROCESS_TABLE)",
        '  "A" = ""',
        "(LNM$PROCESS_TABLE)",
        '  "B" = "x"',
        '\t= ""',
        '\t= "y"',
    ]


def test_an_empty_table_is_no_error(shell: Shell) -> None:
    assert shell("show logical/system", "show logical/table='LNM$SYSTEM'") == ([], [])


def test_confined_to_the_shell(shell: Shell) -> None:
    """A program that the shell starts gets copies of names, but not of confined ones."""
    text, _ = shell("define/name=confine A 1; define B 2; show logical/process")
    assert text == ["(LNM$PROCESS_TABLE)", '  "B" = "2"']


def test_many_names_are_listed_in_line(run: Callable[..., Done]) -> None:
    """Listing is linear: twice the names take at most three times the instructions, not four."""

    def kernel_seconds(names: int) -> float:
        commands = (
            f"/tests/tracing --fill {names}; sda pcs start trace; show logical/job > /dev/null;"
            "sda pcs stop trace; sda pcs show trace/summary/top=1; show logical/job > /tmp/l;"
            "wc /tmp/l"
        )
        text = run("/bin/sh", "-c", commands, smp=1, options=["--icount"]).expect(0).text
        assert re.search(rf"^ *{names + 1} ", text, re.M), text
        found = re.search(r"^Traced for ([\d.]+) seconds", text, re.M)
        assert found, text
        return float(found[1])

    assert kernel_seconds(4000) < 3 * kernel_seconds(2000)

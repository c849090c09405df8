"""scripts/run --schedule: the same number gives the same run to the instruction, another number
another run; and a short sweep over racing programs (`make schedules` is the long one)."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace

import pytest
from lib.guest import run_guest
from lib.processes import descendants, wait_for, words_of
from megalith.run.paths import TOP
from megalith.verify import schedules
from megalith.verify.records import write_figures
from megalith.verify.schedules import PLANTED, PROGRAMS, REPORT, Sweep

BY_NAME = {program.name: program for program in PROGRAMS}
RACE = BY_NAME[PLANTED]
MOST = 64  # schedules of the planted race until both outcomes were seen


def test_sweep() -> None:
    """Every program under one schedule or more; the planted bug shows in some and not in others."""
    sweep = Sweep(first=1, count=1)
    for one in sweep.each(jobs=2):
        assert not one.failed, one.story()
    number = sweep.planted()[1] + 1
    while sweep.planted()[0] in (0, sweep.planted()[1]) and number <= MOST:
        sweep.runs.append(schedules.run(RACE, number))
        number += 1
    lost, races = sweep.planted()
    assert 0 < lost < races, f"lost an addition in {lost} of {races} schedules"
    figures = sweep.figures()
    assert figures["distinct interleavings"] == figures["runs"], "two schedules were the same"
    # A schedule repeats: where the bug showed, and where many threads raced.
    shown = next(one for one in sweep.runs if one.lost)
    busy = next(one for one in sweep.runs if one.program.name == "stress_smp")
    for one in (shown, busy):
        assert schedules.repeats(one), one.repeat()
    write_figures("schedules", "quick", figures | {"runs repeated to the instruction": 2})


def test_the_command_alone_repeats_a_run() -> None:
    """The printed line repeats a run, not only this sweep."""
    assert "/tests/planted_race" in schedules.run(RACE, 5).repeat()
    ends = {}
    for smp in (2, 4):
        seen = set()
        for _ in range(2):
            done = run_guest("/tests/planted_race", smp=smp, options=["--schedule", "4000000000"])
            report = REPORT.search(done.console)
            assert report and report.group(1) == "4000000000", done.console
            seen.add((report.group(0), done.output, done.status))
        assert len(seen) == 1
        ends[smp] = seen
    assert ends[2] != ends[4]


def test_input_is_empty() -> None:
    done = run_guest("/bin/cat", options=["--schedule", "1"], stdin=b"never read").expect(0)
    assert done.output == b""


def test_a_failure_says_how_to_repeat_it() -> None:
    """A program that fails in every schedule: the sweep reports the failure."""
    program = replace(BY_NAME["share_section"], command=("/bin/sh", "-c", "echo not ok; exit 3"))
    one = schedules.run(program, 9)
    assert one.failed and one.status == 3 and one.digest
    assert "not ok" in one.story()
    assert "repeat with: scripts/run --schedule 9 -m 256M --validate" in one.story()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--schedule", "-1", "--", "/bin/echo"), "schedules have numbers"),
        (("--schedule", "4294967296", "--", "/bin/echo"), "schedules have numbers"),
        (("--schedule", "x", "--", "/bin/echo"), "schedules have numbers"),
        (("--schedule", "1"), "needs a COMMAND"),
        (("--schedule", "1", "--entropy", "/dev/zero", "--", "/bin/echo"), "with --entropy"),
        (("--schedule", "1", "--icount", "--", "/bin/echo"), "no --icount"),
        (("--schedule", "1", "--record", "x", "--", "/bin/echo"), "does not go with --schedule"),
    ],
)
def test_arguments_that_cannot_be_combined(words: tuple[str, ...], says: str) -> None:
    done = run_guest(options=words)
    assert done.status == 2 and says in done.console


def test_an_interrupt_ends_a_sweep() -> None:
    command = [TOP / "scripts/schedules", "--count", "50", "--jobs", "1"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stderr=pipe, text=True, start_new_session=True) as sweep:
        assert wait_for(lambda: "qemu" in " ".join(map(words_of, descendants(sweep.pid))))
        os.killpg(sweep.pid, signal.SIGINT)  # as ^C at a terminal
        try:
            errors = sweep.communicate()[1]
        finally:
            if sweep.poll() is None:
                os.killpg(sweep.pid, signal.SIGKILL)
    assert sweep.returncode == 130 and "Traceback" not in errors, errors

"""The kernel with the sampling data-race detector: it reports a planted race with both places, and
runs some programs at 2 and 4 CPUs without any report. `make test-races` runs all guest tests on
it."""

from __future__ import annotations

import re
import time

from lib.guest import races_in, run_guest
from lib.tap import check_tap
from megalith.run.marks import marked
from megalith.run.paths import TEST_KERNEL, TOP
from megalith.verify.records import found, write_figures

KERNEL = TOP / "build/races/megalith.elf"
OPTIONS = ("--kernel", str(KERNEL))

PROGRAMS = [("sched_kernel", 2), ("signals", 4), ("shared_fuzz", 4)]
# On two CPUs: a host of two cores runs no more of them at a time, and 64 threads that wake
# each other take twice as long on four. `make test-races` has both.
PROGRAMS += [("threads", 2)]
PROGRAMS += [("ast_load", 2), ("mailbox_load", 2)]


def planted() -> tuple[list[str], str]:
    """The reports on two processes that increment one word, and the console. Whether the two
    accesses meet is chance, so there are several attempts."""
    for _ in range(3):
        done = run_guest("/tests/plant_race", smp=2, options=OPTIONS, timeout=100, races=True)
        reports = [line for line in races_in(done.expect(0).console) if line.startswith("data")]
        if any("; with what was not seen" not in report for report in reports):
            break
    return reports, done.console


def test_planted_race_is_reported_by_function_and_line() -> None:
    reports, console = planted()
    places = [
        re.findall(r"(read|write) of 8 .*?by CPU (\d), pc \S+ (race\+0x\w+)", report)
        for report in reports
    ]
    pairs = [pair for pair in places if len(pair) == 2]
    assert pairs, console
    for one, other in pairs:
        assert "write" in (one[0], other[0])
        assert one[1] != other[1], "these are two CPUs"
    # Each pair of places is reported once.
    told = [tuple(sorted(place for _, _, place in pair)) for pair in places]
    assert len(told) == len(set(told))
    source = (TOP / "kernel/test/test.c").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "planted++" in text)
    for place in {place for pair in places for _, _, place in pair}:
        assert f"scripts/run: {place} is kernel/test/test.c:{line}\n" in console
    assert all(" race+0x" in report for report in reports), "nothing else is reported"


def test_kernel_without_the_detector_reports_nothing() -> None:
    options = ("--kernel", str(TEST_KERNEL))  # also where --kernel names another
    done = run_guest("/tests/plant_race", smp=2, options=options, timeout=100, races=True).expect(0)
    assert not races_in(done.console)


def test_asts_come_without_a_race() -> None:
    words = marked(TOP / "userland/tests/ast_load.c", "ARGS")
    done = run_guest("/tests/ast_load", *words, smp=2, options=OPTIONS, timeout=150, races=True)
    check_tap(done.expect(0).text)
    assert not races_in(done.console)


def test_programs_run_without_a_race() -> None:
    begin = time.monotonic()
    passed = 0
    reports: list[str] = []
    for name, cpus in PROGRAMS:
        words = marked(TOP / f"userland/tests/{name}.c", "ARGS")
        done = run_guest(
            f"/tests/{name}", *words, smp=cpus, options=OPTIONS, timeout=150, races=True
        )
        passed += check_tap(done.expect(0).text)
        reports += races_in(done.console)
    write_figures(
        "races",
        "quick",
        {
            "boots": len(PROGRAMS),
            "guest assertions passed": passed,
            "races reported": len(reports),
            "seconds": round(time.monotonic() - begin, 1),
        },
        found("races"),
    )
    assert not reports, "\n".join(reports)

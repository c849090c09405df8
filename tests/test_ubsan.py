"""The kernel built with UBSan's traps: it names the place of planted undefined behaviour, and runs
some programs without any trap. `make test-ubsan` runs all guest tests on it."""

from __future__ import annotations

import re
import time

from lib.guest import run_guest
from lib.tap import check_tap
from megalith.run.marks import marked, runs
from megalith.run.paths import TEST_KERNEL, TOP
from megalith.verify.records import found, write_figures

KERNEL = TOP / "build/ubsan/megalith.elf"

# One of each kind of work: memory, sections, processes and signals, files, names, bad arguments.
PROGRAMS = ["memory_services", "section_services", "process", "files", "logical_names"]
PROGRAMS += ["bad_arguments", "sched_kernel", "threads"]


def on_ubsan(*command: str, **how):
    options = ["--kernel", str(KERNEL), *how.pop("options", ())]
    return run_guest(*command, options=options, **how)


def test_planted_undefined_behaviour_is_named_by_function_and_line() -> None:
    done = on_ubsan("/tests/crash_kernel", "--shift", timeout=100).expect(125)
    assert re.search(r"sanitizer's trap\) in the kernel, pc shift_too_far\+0x", done.console)
    source = (TOP / "kernel/test/crash.c").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "odd <<= width" in text)
    assert f"scripts/run: that is kernel/test/crash.c:{line}\n" in done.console


def test_kernel_without_traps_reports_nothing() -> None:
    """So it was UBSan that ended the other run."""
    options = ["--kernel", str(TEST_KERNEL)]  # also where --kernel names another
    run_guest("/tests/crash_kernel", "--shift", timeout=100, options=options).expect(1)


def test_programs_run_without_a_trap() -> None:
    begin = time.monotonic()
    passed = 0
    for name in PROGRAMS:
        source = TOP / f"userland/tests/{name}.c"
        done = on_ubsan(
            f"/tests/{name}",
            *marked(source, "ARGS"),
            smp=None if "--smp" in marked(source, "RUN") else 4,
            options=runs(source)[0],
            timeout=100,
        )
        passed += check_tap(done.expect(0).text)
    write_figures(
        "ubsan",
        "quick",
        {
            "boots": len(PROGRAMS) + 1,
            "guest assertions passed": passed,
            "traps in a boot with one planted": 1,
            "seconds": round(time.monotonic() - begin, 1),
        },
        found("ubsan"),
    )

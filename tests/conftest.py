"""What all tests share: running things in the emulator through scripts/run, and TAP."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from megalith.marks import marked as marked
from megalith.verify import write_figures

TOP = Path(__file__).resolve().parent.parent

# `make test` has built everything: scripts/run need not look again at each start.
os.environ["MEGALITH_BUILT"] = "1"

TEST_KERNEL = TOP / "build/test/megalith.elf"  # make TEST=1: with kernel/test

slower = 1.0  # --slower

TAP_LINE = re.compile(r"^(not )?ok\b\s*(\d+)?\s*-?\s*(.*)$")
TAP_PLAN = re.compile(r"^1\.\.(\d+)")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kernel",
        metavar="FILE",
        help="run guest tests on this kernel: build/ubsan/megalith.elf (make test-ubsan)",
    )
    parser.addoption(
        "--figures",
        metavar="NAME",
        help="write what this run did to build/verification/NAME.json (make test-ubsan)",
    )
    parser.addoption(
        "--slower",
        metavar="FACTOR",
        type=float,
        help="give guest programs so many times their time: the kernel is slow (make test-races)",
    )


def write_planted(terminalreporter) -> None:
    """Of tests that plant something each (`record_property("plants", (name, what, all))`): when
    all of a name have run, how many were caught."""
    seen: dict[tuple[str, str, int], list[str]] = {}
    for how in ("passed", "failed"):
        for report in terminalreporter.stats.get(how, []):
            for key, value in getattr(report, "user_properties", []):
                if key == "plants":
                    seen.setdefault(tuple(value), []).append(how)
    for (name, what, every), hows in seen.items():
        if len(hows) == every:
            figures = {f"{what} planted": every, f"{what} caught": hows.count("passed")}
            write_figures(name, "full", figures)


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    """The figures of a run of many tests on another kernel, and of what was planted."""
    name = config.getoption("figures")
    if not config.getoption("kernel"):
        write_planted(terminalreporter)
    if not name:
        return
    count = {how: len(terminalreporter.stats.get(how, [])) for how in ("passed", "failed", "error")}
    write_figures(
        name,
        "full",
        {
            "tests passed": count["passed"],
            "tests failed": count["failed"] + count["error"],
            "seconds": round(time.time() - terminalreporter._session_start.time),
        },
        found(name),
    )


def found(name: str) -> list[str]:
    """What a tool has found since it is there: tests/found/NAME.txt, a sentence a line."""
    record = TOP / f"tests/found/{name}.txt"
    return record.read_text().splitlines() if record.exists() else []


def pytest_configure(config: pytest.Config) -> None:
    kernel = config.getoption("kernel")
    if kernel:
        os.environ["MEGALITH_KERNEL"] = str(Path(kernel).resolve(strict=True))
    if config.getoption("slower"):
        global slower
        slower = config.getoption("slower")


@dataclass(frozen=True)
class Done:
    """A finished scripts/run."""

    status: int
    output: bytes  # exactly what the command wrote to its standard output
    console: str  # the console, the command's standard error, and what scripts/run said

    @property
    def text(self) -> str:
        return self.output.decode()

    def expect(self, status: int) -> Done:
        """This run, which must have ended with this status."""
        if self.status != status:
            output = self.output[-4000:].decode(errors="replace")
            pytest.fail(
                f"status {self.status}, not {status}\n"
                f"--- output\n{output}\n--- console\n{self.console[-8000:]}",
                pytrace=False,
            )
        return self


def run_guest(
    *command: str | os.PathLike[str],
    smp: int | None = None,
    memory: str | None = None,
    options: tuple[str, ...] | list[str] = (),
    timeout: float = 60,
    stdin: bytes = b"",
    validate: bool = True,
    races: bool = False,
    kernel: str = "",
) -> Done:
    """Boots, runs COMMAND (none: the shell), and returns how it went. Never raises for a status.
    A data race that the kernel reports fails the test, unless it is looked for (`races`). kernel
    "test": the command asks what only a kernel with kernel/test does, as have those that --kernel
    names."""
    timeout *= slower
    words = [str(TOP / "scripts/run"), "--timeout", str(timeout)]
    if kernel == "test" and "MEGALITH_KERNEL" not in os.environ:
        words += ["--kernel", str(TEST_KERNEL)]
    # Every test is a leak test: at its end each page of the guest is counted exactly once.
    words += ["--validate"] if command and validate else []
    words += ["--smp", str(smp)] if smp else []
    words += ["-m", memory] if memory else []
    words += [*options]
    words += ["--", *map(str, command)] if command else []
    # scripts/run keeps the time itself; this limit only guards against its own failure.
    done = subprocess.run(words, input=stdin, capture_output=True, timeout=timeout + 60)
    console = done.stderr.decode(errors="replace")
    reports = [] if races else races_in(console)
    if reports:
        pytest.fail("\n".join(reports), pytrace=False)
    return Done(done.returncode, done.stdout, console)


def races_in(console: str) -> list[str]:
    """What the kernel with the detector (make RACES=1) has reported, and after it the lines that
    scripts/run found the places in."""
    reports = re.findall(r"data race: .*", console)
    places = re.findall(r"^scripts/run: \S+\+0x\w+ is .*", console, re.MULTILINE)
    return [*reports, *places] if reports else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Last what looks at the records of other tests."""
    items.sort(key=lambda item: item.path.name == "test_condition_matrix.py")


@pytest.fixture
def run() -> Callable[..., Done]:
    return run_guest


def check_tap(text: str) -> int:
    """Fails the test when a line of TAP says so, or lines are missing; returns how many passed."""
    failed: list[str] = []
    passed = planned = 0
    seen_plan = False
    for line in text.splitlines():
        plan = TAP_PLAN.match(line)
        result = TAP_LINE.match(line)
        if line.startswith("Bail out!"):
            failed.append(line)
        elif plan:
            planned, seen_plan = int(plan.group(1)), True
        elif result and result.group(1) and "# TODO" not in line:
            failed.append(line)
        elif result:
            passed += 1
    tail = "\n".join(text.splitlines()[-40:])
    if failed:
        pytest.fail("\n".join(failed) + f"\n--- output\n{tail}", pytrace=False)
    if not seen_plan or planned != passed or not passed:
        what = f"plan of {planned}" if seen_plan else "no plan"
        pytest.fail(f"{what}, {passed} passed\n--- output\n{tail}", pytrace=False)
    return passed

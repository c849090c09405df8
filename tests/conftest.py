"""Options of pytest, the figures of runs of many tests, and the fixture that boots."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib import choice, guest, limits, long, order, processes
from lib.guest import Done, run_guest
from megalith.run.paths import TOP
from megalith.verify.records import found, write_figures

# `make test` has built everything: scripts/run need not check again at each start.
os.environ["MEGALITH_BUILT"] = "1"
# Of the programs, those that the command names are enough (megalith/run/image.py).
os.environ["MEGALITH_INITRD"] = "small"
# The tools start hundreds of times, and are compiled once, whatever the environment says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PYTHONPYCACHEPREFIX"] = str(TOP / "build/pycache")


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
    parser.addoption("--check", action="store_true", help="only what `make check` runs")
    parser.addoption("--short", action="store_true", help="only what `make test` runs")
    parser.addoption("--limits", action="store_true", help="only tests with time limits")
    parser.addoption(
        "--needs",
        metavar="FILE",
        type=Path,
        help="write to FILE what must be built for the chosen tests (with --collect-only)",
    )


def write_planted(terminalreporter) -> None:
    """For tests that each plant something (`record_property("plants", (name, what, all))`): when
    all tests of a name have run, writes how many plants were caught."""
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
    """Writes the figures of a run of many tests on another kernel, and of planted errors."""
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


def pytest_configure(config: pytest.Config) -> None:
    processes.prepare(worker=hasattr(config, "workerinput"))
    kernel = config.getoption("kernel")
    if kernel:
        os.environ["MEGALITH_KERNEL"] = str(Path(kernel).resolve(strict=True))
    if config.getoption("slower"):
        guest.slower = config.getoption("slower")


@pytest.hookimpl(trylast=True)  # when only those that will run are left
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("check"):
        items[:] = filter(choice.checked, items)
    if config.getoption("short"):
        items[:] = long.short(items)
    if config.getoption("limits"):
        items[:] = filter(limits.limited, items)
    if to := config.getoption("needs"):
        to.write_text(" ".join(sorted(frozenset().union(*map(choice.needs, items)))))
    items.sort(key=order.place)


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist nobody asks
def pytest_xdist_make_scheduler(config: pytest.Config, log: Callable[..., None]):
    return order.Scheduling(config, log) if config.getoption("dist") == "load" else None


@pytest.fixture
def run() -> Callable[..., Done]:
    return run_guest


@pytest.fixture(autouse=True)
def _nothing_left_running() -> Iterator[None]:
    before = processes.there()
    yield
    processes.end_left(before)

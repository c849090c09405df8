"""Memory that is mostly untouched: 1,000 GiB start as fast, and cost as little, as one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from lib.guest import run_guest
from megalith.run.paths import TOP

MIB = 1 << 20

# Virtual time since power-on; under --icount one nanosecond is one instruction.
UPTIME = r"""
#include <stdio.h>
#include <time.h>
int main(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    printf("%ld\n", t.tv_sec * 1000000000L + t.tv_nsec);
    return 0;
}
"""


@pytest.fixture(scope="module")
def uptime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uptime")
    (folder / "uptime.c").write_text(UPTIME)
    subprocess.run([TOP / "scripts/cc", folder / "uptime.c", "-o", folder / "uptime"], check=True)
    return folder / "uptime"


BETWEEN = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print(f"touched {usage.ru_maxrss * 1024}")
sys.exit(os.waitstatus_to_exitcode(status))
"""


def host_memory(*words: str) -> tuple[int, bytes]:
    """The most memory that a scripts/run or its emulator had, and its output. A process between
    starts it: what is started by this one counts this one's memory as its own."""
    command = [str(TOP / "scripts/run"), "--timeout", "60", *words]
    between = [sys.executable, "-S", "-c", BETWEEN, *command]
    done = subprocess.run(between, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    output, _, touched = done.stdout.rpartition(b"touched ")
    return int(touched), output


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_only_touched_memory_uses_the_host(cpus: int) -> None:
    touched, output = host_memory("-m", "1000G", "--smp", str(cpus), "--", "/bin/show", "memory")
    assert touched < 256 * MIB
    assert re.search(rb"Main Memory \(99\d\.", output)  # without the PFN database


def test_boot_does_not_grow_with_memory(uptime: Path) -> None:
    """The UART occasionally waits for the host, so the shortest of three boots counts."""
    took = {}
    for size in ("1G", "1000G"):
        options = ["--icount", "--add", str(uptime)]
        boot = {"memory": size, "smp": 1, "options": options, "validate": False}  # slow
        runs = [run_guest("/uptime", **boot) for _ in range(3)]
        took[size] = min(int(run.expect(0).text) for run in runs)
    assert took["1000G"] <= 1.2 * took["1G"]


def test_reservation_leaves_the_host_alone() -> None:
    touched, _output = host_memory(
        "-m",
        "8G",
        "--reserve",
        "DBCACHE 4096 /ALLOCATE /ZERO /PAGE_TABLES",
        "--",
        "/bin/show",
        "memory",
        "/reserved",
    )
    assert touched < 256 * MIB


def test_impossible_reservations_are_named_and_boot_goes_on() -> None:
    reservations = ["TOO_LARGE 4000 /ALLOCATE", "PROMISE 3000", "FITS 64 /ALLOCATE"]
    options = [word for r in reservations for word in ("--reserve", r)]
    done = run_guest("/bin/show", "memory", "/reserved", memory="1G", options=options).expect(0)
    assert "TOO_LARGE" in done.console and "PROMISE" in done.console
    assert "FITS" in done.text and "TOO_LARGE" not in done.text and "PROMISE" not in done.text

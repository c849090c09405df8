"""Every single allocation inside every system call and service fails in turn
(userland/tests/failure): the call returns the right error, and nothing has changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lib.guest import run_guest
from lib.tap import check_tap
from megalith.verify.records import found, write_figures

# Names for every kind of section that the registry can produce. A section of more than 8 GiB
# shares level-2 pages.
RESERVED = (
    "FAIL_ALLOC 16 /ALLOCATE /ZERO /PAGE_TABLES",
    "FAIL_BARE 16 /ALLOCATE /ZERO /NOPAGE_TABLES",
    "FAIL_PROMISED 16 /NOALLOCATE",
    "FAIL_DRIVER 8 /ALLOCATE /NOGLOBAL_SECTION",
    "FAIL_SOFT 3 /NOALLOCATE /NOGLOBAL_SECTION",
)
OPTIONS = [word for entry in RESERVED for word in ("--reserve", entry)]
OPTIONS += ["-m", "64G", "--set", "NR_HUGEPAGES=8"]

LABELS = ("scenarios", "allocation failures injected", "sites reached")


def figure(label: str, text: str) -> int:
    line = re.search(rf"^# {label}: (\d+)", text, re.MULTILINE)
    assert line, text
    return int(line[1])


# The test kernel has more operations; the other one, which is the users', fails in the same places.
@pytest.mark.parametrize("cpus", [pytest.param(1, marks=pytest.mark.soak), 4])
def test_each_allocation_fails(cpus: int) -> None:
    kernel = "test" if cpus == 4 else ""
    done = run_guest("/tests/failure", smp=cpus, options=OPTIONS, timeout=400, kernel=kernel)
    if done.status in (124, 125):
        done.expect(0)
    check_tap(done.output.decode(errors="replace"))
    done.expect(0)
    if cpus == 4:
        figures = {"calls": figure("calls", done.text)}
        figures |= {label: figure(label, done.text) for label in LABELS}
        write_figures("allocation-failure", "full", figures, found("allocation-failure"))


# Apart, because most calls of the others are to find no disk.
def test_each_allocation_for_a_disk_fails(tmp_path: Path) -> None:
    disk = tmp_path / "vda"
    disk.write_bytes(bytes(1 << 20))
    done = run_guest("/tests/failure", "disk", smp=2, options=["--disk", str(disk)]).expect(0)
    check_tap(done.text)
    assert "a disk's write" in done.text

"""Disks: scripts/run --disk and --disk-fault, /dev/vda, partitions, errors, disks that fail."""

from __future__ import annotations

import random
import re
import struct
from pathlib import Path

import pytest
from lib import gpt
from lib.guest import run_guest
from lib.tap import check_tap

SECTOR = gpt.SECTOR
MIB = 1 << 20
PART_FIRST, PART = 64, 4 * MIB // SECTOR
PROCESSES, AREA, LANES, LANE = 4, 1024, 32, 16  # as in userland/tests/disk.c
ROUNDS = 40


def make_image(path: Path) -> Path:
    parts = {1: (PART_FIRST, PART), 3: (PART_FIRST + PART, MIB // SECTOR)}
    path.write_bytes(gpt.image(12 * MIB // SECTOR, parts))
    return path


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    return make_image(tmp_path / "a disk, partitioned")


def part_of(disk: Path) -> bytes:
    return disk.read_bytes()[PART_FIRST * SECTOR :][: PART * SECTOR]


def sector(number: int, version: int) -> bytes:
    """What make_sector() of disk.c makes."""
    base = number * 0x9E3779B97F4A7C15 + version * 0xBF58476D1CE4E5B9
    return struct.pack("<64Q", *((base + k) % (1 << 64) for k in range(64)))


def check_load(disk: Path) -> None:
    """What `disk load` has left there."""
    part = part_of(disk)
    for p in range(PROCESSES):
        want = b"".join(sector(p * AREA + k, 1000 + p) for k in range(AREA))
        assert part[p * AREA * SECTOR : (p + 1) * AREA * SECTOR] == want
    lane = b"".join(bytes([p + 1]) * LANE for p in range(PROCESSES))
    for k in range(LANES):
        at = (PROCESSES * AREA + k) * SECTOR
        assert part[at : at + len(lane)] == lane


def other_disk(tmp_path: Path) -> Path:
    other = tmp_path / "vdb"
    other.write_bytes(b"vdb".ljust(MIB, b"\0"))
    return other


# The queue, requests and their pages lie above 32 GiB in the second.
@pytest.mark.parametrize("cpus, memory", [(1, "256M"), (4, "40G")])
def test_disk(disk: Path, tmp_path: Path, cpus: int, memory: str) -> None:
    before = disk.read_bytes()
    options = ["--disk", str(disk), "--disk", f"{other_disk(tmp_path)}:ro"]
    done = run_guest("/tests/disk", smp=cpus, memory=memory, options=options, timeout=120).expect(0)
    check_tap(done.text)
    assert "vd" not in done.console
    after, end = disk.read_bytes(), (PART_FIRST + PART) * SECTOR
    assert after[: PART_FIRST * SECTOR] == before[: PART_FIRST * SECTOR]
    assert after[end:] == before[end:]


@pytest.mark.parametrize("cpus, how", [(1, ""), (4, ""), (2, ":ide")])
def test_aio(disk: Path, cpus: int, how: str) -> None:
    done = run_guest("/tests/aio", smp=cpus, options=["--disk", f"{disk}{how}"], timeout=120)
    check_tap(done.expect(0).text)


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_aio_load(disk: Path, cpus: int) -> None:
    options = ["--disk", str(disk)]
    done = run_guest("/tests/aio", "load", "24", smp=cpus, options=options, timeout=120)
    check_tap(done.expect(0).text)


@pytest.mark.parametrize("cpus", [1, 4])
def test_aio_slow(tmp_path: Path, cpus: int) -> None:
    """The disk takes a request in a second: time to unmap its memory, fork, and end."""
    slow = tmp_path / "slow"
    slow.write_bytes(b"\xa5" * (2 * MIB))
    options = ["--disk", str(slow), "--disk-fault", "throttling.iops-total=1"]
    done = run_guest("/tests/aio", "slow", smp=cpus, options=options, timeout=180)
    check_tap(done.expect(0).text)


def test_aio_errors(disk: Path) -> None:
    options = ["--disk", str(disk), "--disk-fault", fault("read_aio", iotype="read")]
    done = run_guest("/tests/aio", "error", options=options).expect(0)
    check_tap(done.text)
    assert "vda: a read failed" in done.console


def spoil(disk: Path, sector_number: int) -> None:
    """Change a byte of a sector."""
    with disk.open("r+b") as image:
        image.seek(sector_number * SECTOR + 40)
        byte = image.read(1)[0]
        image.seek(sector_number * SECTOR + 40)
        image.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("cpus, how", [(1, ""), (2, ""), (4, ""), (2, ":ide")])
def test_load(disk: Path, cpus: int, how: str) -> None:
    """On one CPU with a damaged header of the table, on two with damaged entries: there is a copy
    of both."""
    damaged = {1: 1, 2: 2}.get(cpus)
    if damaged:
        spoil(disk, damaged)
    options = ["--disk", f"{disk}{how}"]
    done = run_guest("/tests/disk", "load", str(ROUNDS), smp=cpus, options=options, timeout=120)
    check_tap(done.expect(0).text)
    assert ("first partition table is damaged; the second is used" in done.console) == bool(damaged)
    check_load(disk)


def test_whole(disk: Path, tmp_path: Path) -> None:
    """With both tables damaged the disk is used as a whole, as is one without a table, of any
    size."""
    spoil(disk, 1)
    spoil(disk, 12 * MIB // SECTOR - 1)
    plain, small, odd = (tmp_path / name for name in ("plain", "small", "odd"))
    plain.write_bytes(b"x" * MIB)
    small.write_bytes(b"x" * SECTOR)
    odd.write_bytes(b"x" * (MIB + 100))
    options = [word for image in (disk, plain, small, odd) for word in ("--disk", str(image))]
    done = run_guest("/bin/show", "device", options=options).expect(0)
    rows = [line.split() for line in done.text.splitlines()[2:]]
    sizes = [12 * MIB, MIB, SECTOR, MIB + SECTOR]
    assert [row[0] for row in rows] == ["vda", "vdb", "vdc", "vdd"]
    assert [int(row[3]) * SECTOR for row in rows] == sizes
    assert done.console.count("vd") == 2 and "used as a whole" in done.console
    assert "vda: the partition table is damaged: no configuration is read" in done.console


def fault(event: str, **more: object) -> str:
    options = {"event": event, "errno": 5} | more
    return ",".join(f"inject-error.0.{key}={value}" for key, value in options.items())


def test_ide(disk: Path, tmp_path: Path) -> None:
    """Both channels of the controller, which share an interrupt, beside a disk of the other
    kind."""
    plain, wide = tmp_path / "plain", tmp_path / "wide"
    plain.write_bytes(b"x" * MIB)
    wide.write_bytes(bytes(12 * MIB))
    with disk.open("r+b") as image:
        image.seek(PART_FIRST * SECTOR)
        image.write(random.Random(1).randbytes(PART * SECTOR))
    images = f"{wide}:ide", f"{disk}:ide", str(plain)
    options = [word for image in images for word in ("--disk", image)]
    script = "show device && cat /dev/vda /dev/vdc1 > /dev/vdb"
    done = run_guest("/bin/sh", "-c", script, smp=4, memory="40G", options=options).expect(0)
    names = [line.split()[0] for line in done.text.splitlines()[2:]]
    assert names == ["vda", "vdb", "vdc", "vdc1", "vdc3"]
    copied = plain.read_bytes() + part_of(disk)
    assert wide.read_bytes() == copied.ljust(12 * MIB, b"\0")


@pytest.mark.parametrize("how", ["", ":ide"])
@pytest.mark.parametrize(
    "kind, event", [("read", "read_aio"), ("write", "write_aio"), ("flush", "flush_to_disk")]
)
def test_errors(disk: Path, kind: str, event: str, how: str) -> None:
    before = part_of(disk)
    options = ["--disk", f"{disk}{how}", "--disk-fault", fault(event, iotype=kind)]
    done = run_guest("/tests/disk", "error", kind, options=options).expect(0)
    check_tap(done.text)
    assert f"vda: a {kind} failed" in done.console
    assert kind != "write" or part_of(disk) == before


def test_tried_again(disk: Path) -> None:
    """An error that does not come again is not told; show device counts it."""
    script = "/tests/disk once && show device vda /full"
    read = fault("read_aio", once="on", iotype="read", sector=40)
    write = fault("write_aio", once="on", iotype="write").replace("error.0", "error.1")
    options = ["--disk", str(disk), "--disk-fault", f"0:{read}", "--disk-fault", write]
    done = run_guest("/bin/sh", "-c", script, options=options).expect(0)
    tap, _, shown = done.text.partition("Device ")
    check_tap(tap)
    assert "    2 tried again, 0 given up, 0 with the device\n" in shown
    assert " 0 errors" in shown and "vda" not in done.console


@pytest.mark.parametrize("how", ["", ":ide"])
def test_killed(disk: Path, how: str) -> None:
    """Killed processes leave requests behind; the self-check at the end finds their pages."""
    options = ["--disk", f"{disk}{how}", "--disk-fault", "throttling.bps-total=1000000"]
    check_tap(run_guest("/tests/disk", "slow", options=options).expect(0).text)


def test_silent(disk: Path, tmp_path: Path) -> None:
    """A disk that answers nothing has failed after half a minute of the guest's clock, which does
    not wait for the host here."""
    options = ["--icount", "--disk", str(disk), "--disk", str(other_disk(tmp_path))]
    # The table, which is read twice, and the first read are the burst; the next one would be served
    # after a day.
    options += ["--disk-fault", "throttling.bps-read=1,throttling.bps-read-max=40000"]
    done = run_guest("/tests/disk", "silent", options=options, timeout=600).expect(0)
    check_tap(done.text)
    assert "vda: no answer: the device has failed" in done.console


def test_aio_silent(disk: Path) -> None:
    options = ["--icount", "--disk", str(disk)]
    options += ["--disk-fault", "throttling.bps-read=1,throttling.bps-read-max=40000"]
    done = run_guest("/tests/aio", "silent", options=options, timeout=600).expect(0)
    check_tap(done.text)


@pytest.mark.parametrize("cpus", [1, 4])
def test_qio(disk: Path, tmp_path: Path, cpus: int) -> None:
    options = ["--disk", str(disk), "--disk", f"{other_disk(tmp_path)}:ro"]
    done = run_guest("/tests/disk_qio", smp=cpus, options=options, timeout=120)
    check_tap(done.expect(0).text)


def test_qio_slow(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_bytes(b"\xa5" * (2 * MIB))
    options = ["--disk", str(slow), "--disk-fault", "throttling.iops-total=1"]
    done = run_guest("/tests/disk_qio", "slow", options=options, timeout=180)
    check_tap(done.expect(0).text)


def test_qio_errors(disk: Path) -> None:
    options = ["--disk", str(disk), "--disk-fault", fault("read_aio", iotype="read")]
    done = run_guest("/tests/disk_qio", "error", options=options).expect(0)
    check_tap(done.text)


def test_qio_half(disk: Path) -> None:
    # By IDE: of a virtio disk QEMU may make one read of both requests, which then both fail.
    options = ["--disk", f"{disk}:ide"]
    options += ["--disk-fault", fault("read_aio", iotype="read", sector=300)]
    done = run_guest("/tests/disk_qio", "half", options=options).expect(0)
    check_tap(done.text)


@pytest.mark.parametrize("cpus", [1, 4])
def test_fast_io(disk: Path, cpus: int) -> None:
    done = run_guest("/tests/fast_io", smp=cpus, options=["--disk", str(disk)], timeout=120)
    check_tap(done.expect(0).text)


def test_fast_io_slow(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_bytes(b"\xa5" * (2 * MIB))
    options = ["--disk", str(slow), "--disk-fault", "throttling.iops-total=1"]
    done = run_guest("/tests/fast_io", "slow", options=options, timeout=180)
    check_tap(done.expect(0).text)


def test_slow_ide_leaves_processor_idle(tmp_path: Path) -> None:
    """The thread of the disks sleeps while the controller is silent for more than a second."""
    slow = tmp_path / "slow"
    slow.write_bytes(b"\xa5" * (2 * MIB))
    options = ["--disk", f"{slow}:ide", "--disk-fault", "throttling.bps-total=2500"]
    done = run_guest("/tests/fast_io", "idle", options=options, timeout=180)
    check_tap(done.expect(0).text)


def test_fast_io_silent(disk: Path) -> None:
    options = ["--disk", str(disk)]
    options += ["--disk-fault", "throttling.bps-read=1,throttling.bps-read-max=45000"]
    done = run_guest("/tests/fast_io", "silent", options=options, timeout=600).expect(0)
    check_tap(done.text)


# Instructions of a read of 8 KiB with 32 under way. io_submit: half of a cached pread.
MOST_INSTRUCTIONS = {
    ("aio", "read 8 KiB, 32 under way, 32 at a time"): 1570,
    ("fast_io", "read 8 KiB, 32 under way, status areas"): 2000,
}


@pytest.mark.parametrize("program", ["aio", "fast_io"])
def test_cost_of_requests(disk: Path, program: str) -> None:
    done = run_guest(f"/tests/{program}", "cost", smp=1, options=["--icount", "--disk", str(disk)])
    rows = dict(re.findall(r"# (read 8 KiB, 32 under way.*?)\s+(\d+)$", done.expect(0).text, re.M))
    for (of, name), most in MOST_INSTRUCTIONS.items():
        if of == program:
            assert int(rows[name]) <= most, rows


def test_random_calls(tmp_path: Path) -> None:
    """Random system calls that use the disk, too, by its name: it is overwritten."""
    options = ["--disk", str(make_image(tmp_path / "vda"))]
    done = run_guest("/tests/syscall_fuzz", "3", "20", "1000", "4", "disk", smp=2, options=options)
    check_tap(done.expect(0).text)

"""Page files: processes that need more than all memory, disks that fail, processes that die."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lib import swap
from lib.guest import run_guest
from lib.tap import check_tap
from test_ext4 import DEFAULT, make_image

MIB = 1 << 20
MEMORY = 64 * MIB


def run(image: Path, *words: str, cpus: int = 1, options: list[str] | None = None) -> str:
    """What a mode of userland/tests/paging.c has said, in a machine with little memory."""
    disk = ["--disk", str(image), *(options or [])]
    done = run_guest(
        "/tests/paging", *words, smp=cpus, memory=f"{MEMORY // MIB}M", options=disk, timeout=300
    ).expect(0)
    check_tap(done.text)
    return done.console


def fault(event: str, **more: object) -> str:
    options = {"event": event, "errno": 5} | more
    return ",".join(f"inject-error.0.{key}={value}" for key, value in options.items())


def test_one(tmp_path: Path) -> None:
    image = swap.make(tmp_path / "swap", 8 * MEMORY)
    blank = tmp_path / "blank"
    blank.write_bytes(bytes(MIB))
    run(image, options=["--disk", str(blank)])


@pytest.mark.parametrize("cpus, accesses, times", [(1, 1000, 4), (4, 1500, 8)])
def test_load(tmp_path: Path, cpus: int, accesses: int, times: int) -> None:
    """Four processes with three threads each; the header is that of another machine."""
    image = swap.make(tmp_path / "swap", 16 * MEMORY, page=4096, bad=(40, 41, 9000))
    run(image, "load", str(accesses), str(times), cpus=cpus)


def test_shared(tmp_path: Path) -> None:
    """Memory with an object, of each kind, twice what there is; private memory of several."""
    run(swap.make(tmp_path / "swap", 8 * MEMORY), "shared", cpus=2)


def test_quota(tmp_path: Path) -> None:
    console = run(swap.make(tmp_path / "swap", MEMORY), "quota")
    assert "out of memory, killed (user 1000" in console


def test_tables(tmp_path: Path) -> None:
    """A fault that needs two pages where the limit leaves room for one; tables stay in memory."""
    image = swap.make(tmp_path / "swap", MEMORY)
    run(image, "tables", options=["--set", "USER_PAGES=600"])


def test_files_in_memory(tmp_path: Path) -> None:
    """No page file; the limit leaves room for one page where a fault needs two."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/file").write_bytes(bytes(4 * MIB))
    image = make_image(tmp_path / "image", tmp_path / "tree", "-O", DEFAULT)
    run(image, "cached", options=["--set", "USER_PAGES=600"])


def test_thrash(tmp_path: Path) -> None:
    """More is in use than memory and the page file have: no slot is left, or only for a moment."""
    console = run(swap.make(tmp_path / "swap", MEMORY // 2), "thrash", cpus=2)
    assert "out of memory, killed" in console


def test_reads_fail(tmp_path: Path) -> None:
    """A stretch of the disk cannot be read: SIGBUS there, and nowhere wrong contents."""
    image = swap.make(tmp_path / "swap", 8 * MEMORY)
    read = fault("read_aio", iotype="read", sector=64000)
    console = run(image, "fail", options=["--disk-fault", read])
    assert "vda: a read failed" in console


def test_writes_fail(tmp_path: Path) -> None:
    image = swap.make(tmp_path / "swap", 8 * MEMORY)
    write = fault("write_aio", iotype="write", sector=8000)
    console = run(image, "write", options=["--disk-fault", write])
    assert "vda: a write failed" in console


def test_killed(tmp_path: Path) -> None:
    run(swap.make(tmp_path / "swap", 8 * MEMORY), "kill", cpus=4)


def test_full(tmp_path: Path) -> None:
    console = run(swap.make(tmp_path / "swap", MEMORY), "full")
    assert "out of memory, killed" in console


@pytest.mark.parametrize("cpus, limit", [(1, -1), (2, 0), (4, -1)])
def test_calls(tmp_path: Path, cpus: int, limit: int) -> None:
    """exec from a disk, and reads and writes of files there, beside processes that page; also with
    the least limits that can be set."""
    files = make_image(tmp_path / "files", None, "-O", DEFAULT)
    options = ["--disk", str(swap.make(tmp_path / "swap", 8 * MEMORY)), "--disk", str(files)]
    options += ["--set", f"FREELIM={limit}", "--set", f"FREEGOAL={limit}"]
    done = run_guest(
        "/tests/paging_calls",
        "20",
        smp=cpus,
        memory=f"{MEMORY // MIB}M",
        options=options,
        timeout=300,
    )
    check_tap(done.expect(0).text)


def test_limits_above_memory(tmp_path: Path) -> None:
    """FREELIM and FREEGOAL beyond all memory: nothing goes while most of it is free."""
    image = swap.make(tmp_path / "swap", 64 * MIB)
    options = ["--disk", str(image), "--set", "FREELIM=134217728", "--set", "FREEGOAL=134217728"]
    script = "swapon /dev/vda && sleep 1 && show memory /files"
    done = run_guest(
        "/bin/sh", "-c", script, memory="512M", options=options, users_image=True
    ).expect(0)
    assert re.search(r"^  /dev/vda +(\d+) +\1 +0 +0 +0 +0$", done.text, re.M), done.text


def test_show(tmp_path: Path) -> None:
    """Without a page file nothing is shown but on demand; /proc says the same as show."""
    image = swap.make(tmp_path / "swap", 64 * MIB)
    script = "show memory && show memory /files && cat /proc/swaps /proc/meminfo"
    done = run_guest("/bin/sh", "-c", script, options=["--disk", str(image)]).expect(0)
    assert done.text.count("age files") == 1 and "There are no page files." in done.text
    assert "SwapTotal:             0 kB\nSwapFree:              0 kB\n" in done.text

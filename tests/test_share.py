"""Folders of the host as folders of the guest: scripts/run --share."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest
from lib.guest import run_guest
from lib.tap import check_tap
from megalith.run.paths import STRIPPED

PAGE = 8192
MIB = 1 << 20
FILES = 1300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files for userland/tests/share.c."""
    share = tmp_path / "a folder, shared"
    share.mkdir()
    (share / "from_host").write_text("text of the host\n")
    (share / "from_host").chmod(0o640)
    os.utime(share / "from_host", (1000000000, 1000000000))
    (share / "link_of_host").symlink_to("from_host")
    os.mkfifo(share / "fifo")
    return share


def pattern(n: int, seed: int) -> bytes:
    """What fill() of share.c makes."""
    out = bytearray()
    for _ in range(n):
        seed = (seed * 1103515245 + 12345) & 0xFFFFFFFF
        out.append(seed >> 16 & 0xFF)
    return bytes(out)


def check_folder(share: Path) -> None:
    """What share.c has left there."""
    big = bytearray(pattern(1 << 20, 1)[:10000])
    big += bytes(100000 - 10000) + b"endmore"
    assert (share / "big").read_bytes() == big
    mapped = (share / "mapped").read_bytes()
    assert len(mapped) == 40 * PAGE + 100
    assert mapped[40 * PAGE + 99 :] == b"E"
    assert mapped[5 * PAGE : 5 * PAGE + 6] == b"C\0\0\0\0\6"
    assert mapped[3 * PAGE : 3 * PAGE + 4] == b"W\0\0\4"
    for k in range(4):
        assert (share / f"own{k}").read_bytes() == pattern(100000, k)
    assert sorted(os.listdir(share / "many")) == sorted(f"f{k}" for k in range(1, FILES, 2))
    assert all((share / f"many/f{k}").read_text() == f"many/f{k}" for k in range(1, FILES, 2))
    assert (share / "sub2/file3").read_text() == "moved"
    state = (share / "sub2/file3").stat()
    assert (state.st_mode & 0o7777, state.st_mtime) == (0o604, 1234567890)
    assert os.readlink(share / "soft") == "sub2/file"
    assert sorted(os.listdir(share / "sub2")) == ["file3"]
    assert not any((share / name).exists() for name in ("fifo", "hard", "empty", "victim"))


# The queue and the pages lie above 4 GiB in the second.
@pytest.mark.parametrize("cpus, memory", [(1, "256M"), (4, "16G")])
def test_folder(folder: Path, cpus: int, memory: str) -> None:
    done = run_guest(
        "/tests/share",
        "/mnt/host",
        smp=cpus,
        memory=memory,
        options=["--share", f"{folder}:/mnt/host"],
        timeout=150,
    ).expect(0)
    check_tap(done.text)
    assert "9P:" not in done.console
    check_folder(folder)


def test_changes_of_the_host(folder: Path) -> None:
    """The host changes files, adds and renames them while the guest looks at the folder. A program
    is run from there."""
    (folder / "changing").write_text("one")
    (folder / "old").mkdir()
    (folder / "old/inner").write_text("inner")
    (folder / "program").write_bytes((STRIPPED / "tests/share").read_bytes())
    (folder / "program").chmod(0o755)

    def change() -> None:
        end = time.monotonic() + 60
        while not (folder / "ready").exists() and time.monotonic() < end:
            time.sleep(0.01)
        (folder / "changing").write_text("the second")
        (folder / "old").rename(folder / "renamed")
        (folder / "go").write_text("")

    host = threading.Thread(target=change)
    host.start()
    done = run_guest("/share/program", "/share", "host", options=["--share", str(folder)])
    host.join()
    check_tap(done.expect(0).text)


def test_memory(folder: Path) -> None:
    done = run_guest(
        "/tests/share", "/share", "memory", memory="160M", options=["--share", str(folder)]
    )
    check_tap(done.expect(0).text)
    assert "9P:" not in done.console
    assert (folder / "large").read_bytes() == b"".join(bytes([k + 1]) * MIB for k in range(90))


SLOW = """#!/bin/sh
for word do
    shift
    case $word in local,id=share*)
        word=$word,throttling.bps-total=4000,throttling.iops-total=1;;
    esac
    set -- "$@" "$word"
done
exec {emulator} "$@"
"""


def test_slow_server(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are left behind when processes are killed, and no page is lost."""
    (folder / "from_host").write_bytes(bytes(4 * MIB))
    emulator = tmp_path / "qemu-system-alpha"
    emulator.write_text(SLOW.format(emulator=shutil.which("qemu-system-alpha")))
    emulator.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = run_guest("/tests/share", "/share", "slow", options=["--share", str(folder)])
    check_tap(done.expect(0).text)


def test_read_only_folders(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    script = tmp_path / "script"
    script.write_text("cat /share/from_host\necho x > /share/x\necho y > /b/c/y\n")
    done = run_guest(
        "/bin/sh",
        "/script",
        options=["--share", f"{folder}:ro", "--share", f"{other}:/b/c", "--add", str(script)],
    )
    assert done.text == "text of the host\n"
    assert "Read-only file system" in done.console
    assert not (folder / "x").exists()
    assert (other / "y").read_text() == "y\n"

"""Saved states: written on a panic, a time-out, a silent end and on request; read back; damage is
reported."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from megalith.debug.layouts import Kernel
from megalith.debug.saved import NotMapped, SavedError, SavedState
from megalith.debug.stub import SavedStub
from megalith.run.control import command_of
from megalith.run.paths import TOP


def run(*arguments: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TOP / "scripts/run", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def panicked(tmp_path_factory) -> Path:
    """The state of a machine whose kernel was made to panic."""
    path = tmp_path_factory.mktemp("saved") / "panic.sda"
    done = run("--smp", "2", "--save", path, "--timeout", "60", "--", "/tests/crash_kernel")
    assert done.returncode == 125, done.stderr
    assert f"scripts/sda {path}" in done.stderr
    return path


def test_state_after_a_panic(panicked):
    with SavedState(panicked) as state:
        assert "a deliberate panic" in state.reason
        assert state.cpus == 2
        state.check()
        # The kernel's data in three ways: KSEG, physical memory, the loaded page tables.
        pid = Kernel(state.kernel(), state)
        assert [p.exe for p in pid.processes()] == ["/tests/crash_kernel"]
        assert state.programs == ["/tests/crash_kernel"]
        banner = state.read_virtual(0, state.symbols["cpus"], 64)
        assert banner == state.read_physical(state.symbols["cpus"] - 0xFFFFFC0000000000, 64)
        process = pid.processes()[0]
        image = state.read_virtual(process.root, 0x120000000, 4)
        assert image == b"\x7fELF"
        for cpu in range(2):
            registers = state.registers(cpu)
            state.read_virtual(state.root(cpu), registers["sp"], 64)
            assert registers["pc"] in range(state.symbols["_start"], state.symbols["_end"])


def test_missing_memory_is_not_mapped(panicked):
    with SavedState(panicked) as state:
        for va in (0, 0x120000000 + (1 << 33), 1 << 42, 0x123456789ABCDEF):
            with pytest.raises(NotMapped):
                state.read_virtual(state.root(0), va, 8)
        with pytest.raises(NotMapped):
            state.read_physical(state.memory_size - 4, 8)
        # Memory that was never written is not in the file, and reads as zero.
        written = set(state.chunks())
        unwritten = next(a for a in range(0, state.memory_size, 1 << 20) if a not in written)
        assert state.read_physical(unwritten, 8192) == bytes(8192)


def test_request_leaves_the_machine_running(tmp_path):
    machine = subprocess.Popen(
        [TOP / "scripts/run", "--timeout", "60", "--", "/bin/sh"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        machine.stdin.write("echo ready\n")
        machine.stdin.flush()
        assert machine.stdout.readline() == "ready\n"
        folder = folder_of(machine.pid)
        path = tmp_path / "state.sda"
        save = [TOP / "scripts/save", path, folder]
        done = subprocess.run(save, capture_output=True, text=True)
        assert done.returncode == 0 and str(path) in done.stdout, done
        done = subprocess.run(
            [TOP / "scripts/save", "/nowhere/x", folder], capture_output=True, text=True
        )
        assert done.returncode == 1 and "cannot be saved to /nowhere/x" in done.stderr, done
        pipe, link = tmp_path / "pipe", tmp_path / "link"
        os.mkfifo(pipe)
        link.symlink_to(pipe)
        for file in pipe, link:
            save = [TOP / "scripts/save", file, folder]
            done = subprocess.run(save, capture_output=True, text=True)
            assert done.returncode == 1 and "no regular file" in done.stderr, done
        assert pipe.is_fifo() and link.is_symlink()
        # What scripts/save prints for each machine when there are several.
        assert re.fullmatch(r"scripts/run .*-- /bin/sh.*", command_of(folder / "control"))
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(folder / "control"))
            connection.sendall(b"nonsense\n")
            assert "no request" in json.loads(connection.makefile().readline())["error"]
        machine.stdin.write("echo still here\nexit 3\n")
        machine.stdin.close()
        assert machine.stdout.readline() == "still here\n"
        assert machine.wait(20) == 3
    finally:
        machine.kill()
        machine.wait()
        machine.stdout.close()
    with SavedState(path) as state:
        assert state.reason == "saved on request"
        assert state.programs == ["/bin/sh"]
    assert not folder.exists()


def folder_of(pid: int) -> Path:
    """The folder of a running scripts/run's machine, where the emulator's initrd is."""
    for _ in range(100):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for child in children:
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            if b"-initrd" in words:
                return Path(words[words.index(b"-initrd") + 1].decode()).parent
        time.sleep(0.1)
    raise AssertionError("no emulator")


def test_state_after_a_time_out_and_none_after_success(tmp_path):
    path = tmp_path / "state.sda"
    done = run("--smp", "1", "--save", path, "--", "/bin/true")
    assert done.returncode == 0 and not path.exists(), done
    done = run("--smp", "1", "--save", path, "--timeout", "3", "--", "/bin/sleep", "60")
    assert done.returncode == 124, done
    with SavedState(path) as state:
        assert state.reason == "no end within 3 seconds"


def test_the_last_output_is_read_under_a_schedule_too(tmp_path):
    """There a thread carries the serial lines: the machine is kept, and the thread may be late."""
    for schedule in range(1, 5):
        options = ("--schedule", str(schedule), "-m", "256M", "--save", tmp_path / "no.sda")
        done = run(*options, "--timeout", "60", "--", "/bin/echo", "the end")
        assert (done.returncode, done.stdout) == (0, "the end\n"), done


def test_a_machine_is_off_before_its_monitor_is_asked(tmp_path):
    """On a busy host a short run is over before scripts/run talks to the emulator's monitor, which
    reports only what happens afterwards."""
    late = (
        "import runpy, time; from megalith.run import monitor, session;"
        "run = session.Session._relay;"
        "session.Session._relay = lambda self: (time.sleep(8), run(self))[1];"
        "runpy.run_module('megalith', run_name='__main__', alter_sys=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", late, "--schedule", "1", "-m", "256M"]
        + ["--save", tmp_path / "no.sda", "--", "/bin/echo", "the end"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": f"{TOP / 'scripts'}:{TOP}"},
    )
    assert (done.returncode, done.stdout) == (0, "the end\n"), done


def test_state_that_cannot_be_written(tmp_path):
    done = run("--save", tmp_path / "no" / "x", "--", "/bin/true")
    assert done.returncode == 2 and "cannot be written" in done.stderr
    # A pipe represents a device file, which must not be replaced.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = run("--save", pipe, "--", "/bin/true")
    assert done.returncode == 2 and "cannot be written" in done.stderr
    assert pipe.is_fifo()


def sda(*arguments: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run([TOP / "scripts/sda", *arguments], capture_output=True, text=True)


def test_long_reads_of_the_debugger_come_from_the_file(panicked):
    """They equal what GDB gets through the stub; for an invalid address GDB reports the error."""
    place, nothing = 0xFFFFFC0000310000, 0xFFFFFEFFFFFF0000
    code = "import gdb, mg_base; f = mg_base.saved_reader(); g = gdb.selected_inferior();"
    code += f"print('same', f({place}, 8192) == g.read_memory({place}, 8192).tobytes(),"
    code += f"f({nothing}, 8192))"
    done = sda(panicked, "-batch", "-ex", f"python {code}")
    assert "same True None" in done.stdout, done


def test_debugger_starts_at_the_panic(panicked):
    """On two CPUs it may be either; the number of GDB's thread is that of the CPU plus one."""
    with SavedState(panicked) as state:
        reason, cpu = state.reason, int(re.match(r"panic on CPU (\d):", state.reason)[1])
        state.reason = reason.replace(f"CPU {cpu}", f"CPU {1 - cpu}")
        other = SavedStub(state, None).answer(b"?")
    done = sda(panicked, "-batch", "-ex", "bt")
    assert f"{panicked}: {reason}, " in done.stdout, done
    assert re.search(r"^#\d+ .* panic_end ", done.stdout, re.MULTILINE), done
    assert other == f"T05thread:{2 - cpu:x};".encode()


def test_damage_is_reported(panicked, tmp_path):
    whole = panicked.read_bytes()
    bad = tmp_path / "bad.sda"

    bad.write_bytes(whole[: len(whole) // 2])
    done = sda(bad)
    assert done.returncode == 2 and "is no saved state, or it was cut short" in done.stderr, done

    with zipfile.ZipFile(panicked) as archive:
        info = next(i for i in archive.infolist() if i.filename.startswith("memory/"))
    middle = info.header_offset + 60 + info.compress_size // 2
    bad.write_bytes(whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :])
    done = sda("--check", bad)
    assert done.returncode == 2 and f"damaged at {info.filename}" in done.stderr, done
    with SavedState(bad) as state, pytest.raises(SavedError):
        state.read_physical(int(info.filename.removeprefix("memory/"), 16) << 20, 1 << 20)

    shutil.copy(TOP / "build/initrd.cpio", bad)
    done = sda(bad)
    assert done.returncode == 2 and "is no saved state" in done.stderr, done

    with zipfile.ZipFile(bad, "w") as archive:
        archive.writestr("manifest.json", '{"format": "Megalith saved state", "version": 99}')
    done = sda(bad)
    assert done.returncode == 2 and "of another version" in done.stderr, done

    done = sda(tmp_path / "none")
    assert done.returncode == 2 and "there is no" in done.stderr, done

    done = sda("--check", panicked)
    assert done.returncode == 0 and "whole" in done.stdout, done


def test_a_device_is_no_saved_state() -> None:
    """/dev/zero has no end in which to look for an archive's directory."""
    done = subprocess.run([TOP / "scripts/memmap", "/dev/zero"], capture_output=True, text=True)
    assert done.returncode != 0 and "/dev/zero is no saved state" in done.stderr, done

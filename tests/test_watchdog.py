"""The watchdog tells a CPU that is stuck (test_crash.py) from one that the host does not run."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from megalith.run import command as run_command
from megalith.run import frames
from megalith.run import options as run_options
from megalith.run.machine import Machine
from megalith.run.paths import TEST_KERNEL

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000
# The limits are a second for the first suspicion, two for the message and six for the end.
COMMAND = "/tests/crash_kernel --hurry; echo begin; sleep 4; echo end"


@contextmanager
def frozen(thread: int) -> Iterator[None]:
    """Stops one thread of another process."""
    libc = ctypes.CDLL(None, use_errno=True)

    def ptrace(request: int) -> None:
        if libc.ptrace(request, thread, None, None):
            raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")

    try:
        ptrace(PTRACE_SEIZE)
    except OSError as error:
        pytest.skip(f"threads cannot be traced here: {error}")
    ptrace(PTRACE_INTERRUPT)
    os.waitpid(thread, WALL)
    try:
        yield
    finally:
        ptrace(PTRACE_DETACH)


class Watched:
    """A machine whose console and frames are read until a text has been seen."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.seen = b""
        self.result: frames.Result | None = None
        self._decoder = frames.Decoder()
        self._open = [machine.com1, machine.com2]

    def read_until(self, text: bytes, silence: float | None = None) -> bool:
        """Returns also at the result, or when both lines have ended: the result may be in one of
        them still when the other has ended. False: nothing has come for `silence` seconds."""
        while text not in self.seen and self._open:
            ready = select.select(self._open, [], [], silence)[0]
            if not ready:
                return False
            for line in ready:
                data = line.recv(65536)
                if b"PANIC: end" in self.seen:
                    return True
                if not data:
                    self._open.remove(line)
                    continue
                if line is self.machine.com1:
                    self.seen += data
                    continue
                for frame in self._decoder.feed(data):
                    if frame.type == frames.OUTPUT:
                        self.seen += frame.payload
                    elif frame.type == frames.RESULT:
                        self.result = frames.Result.decode(frame.payload)
                        return True
        return True


def freeze_one(seconds: float) -> Watched | None:
    """A machine of two CPUs one of which was frozen until the other said so. None: nothing came,
    because the emulator's other threads were waiting for the frozen one (they do that when it must
    leave the code that they want to change); or it was frozen with a spinlock, for which the other
    one does not wait for longer than a second here."""
    words = ["--smp", "2", "--kernel", str(TEST_KERNEL), "--", "/bin/sh", "-c", COMMAND]
    options = run_options.parser().parse_args(words)
    with Machine(run_command.settings(options, options.command[1:], None)) as machine:
        watched = Watched(machine)
        watched.read_until(b"begin")
        time.sleep(0.3)  # then both CPUs are idle, most probably
        threads = {
            cpu["cpu-index"]: cpu["thread-id"] for cpu in machine.monitor.execute("query-cpus-fast")
        }
        with frozen(threads[1]):
            if not watched.read_until(b"CPU 1 has given no sign of life for ", seconds):
                return None
        watched.read_until(b"end")
        watched.read_until(b"nothing that is ever written")
    return None if b"PANIC: spinlock" in watched.seen else watched


def test_a_cpu_that_the_host_does_not_run_is_not_stuck() -> None:
    tries = (freeze_one(20) for _ in range(5))
    watched = next(w for w in tries if w)
    assert b"PANIC" not in watched.seen
    assert watched.result == frames.Result(frames.RESULT_EXIT, 0)


@pytest.mark.parametrize("smp", [1, 4])
def test_a_host_that_stands_still_is_no_stuck_cpu(smp: int) -> None:
    """A laptop that was closed, a host that swaps: all CPUs stop at once, for longer than a CPU may
    be stuck."""
    words = ["--smp", str(smp), "--kernel", str(TEST_KERNEL), "--", "/bin/sh", "-c", COMMAND]
    options = run_options.parser().parse_args(words)
    with Machine(run_command.settings(options, options.command[1:], None)) as machine:
        watched = Watched(machine)
        watched.read_until(b"begin")
        os.kill(machine.pid, signal.SIGSTOP)
        time.sleep(8)
        os.kill(machine.pid, signal.SIGCONT)
        watched.read_until(b"nothing that is ever written")
    assert b"PANIC" not in watched.seen, watched.seen
    assert watched.result == frames.Result(frames.RESULT_EXIT, 0)

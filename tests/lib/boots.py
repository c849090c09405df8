"""Runs of scripts/run without its start: of a boot's 0.35 s of processor time, the start of Python,
the imports and the reading of the initrd are nearly half.

A process that has done all that once (`Starter`) forks for each run. It is started for each worker,
has only one thread, and knows nothing of pytest, whose threads a fork would not have. test_run.py
starts scripts/run itself.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from dataclasses import dataclass

from megalith import __main__ as tool
from megalith.run import ends, image
from megalith.run.paths import SMALL_INITRD, TOP

REQUEST_MAX = 1 << 18  # bytes: the words and the environment
READ_SIZE = 1 << 16


@dataclass(frozen=True)
class Ended:
    """A run that has ended, as subprocess.run tells of it."""

    returncode: int
    stdout: bytes
    stderr: bytes


# ---- in the process that forks ----


def _run(request: dict, stdio: list[int], note: int) -> None:
    """In the child: the run, as a process of its own would do it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, fd in enumerate(stdio):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    os.nice(request["nice"])
    status = 1
    try:
        status = tool.main(request["words"])
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(note, b" %d" % (status & 0xFF))


def serve(control: socket.socket) -> None:
    ends.end_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children leave nothing to be waited for
    if SMALL_INITRD.is_file():
        image.files_of(SMALL_INITRD, SMALL_INITRD.stat().st_mtime_ns)
    gc.collect()
    gc.freeze()  # a collection in a child would copy the pages of all objects
    while True:
        message, fds, _, _ = socket.recv_fds(control, REQUEST_MAX, 4)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            try:
                os.write(fds[3], b"%d" % os.getpid())
                _run(json.loads(message), fds[:3], fds[3])
            finally:
                os._exit(0)
        for fd in fds:
            os.close(fd)


# ---- in the process that runs tests ----


class Starter:
    """The process that forks. It ends with the process that runs tests."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = f"{TOP / 'tests'}:{TOP / 'scripts'}:{TOP}"
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lib.boots", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=os.environ | {"PYTHONPATH": path},
            )

    def run(
        self, words: list[str], stdin: bytes, environment: dict[str, str], nice: int = 0
    ) -> Ended:
        """scripts/run with these arguments, its priority lowered by `nice`. The status is -9 if
        something has killed it."""
        request = {"words": words, "environment": environment, "nice": nice}
        request["folder"] = os.getcwd()
        ours, theirs = [], []
        for outward in (False, True, True, True):
            reader, writer = os.pipe()
            ours.append(reader if outward else writer)
            theirs.append(writer if outward else reader)
        socket.send_fds(self._control, [json.dumps(request).encode()], theirs)
        for fd in theirs:
            os.close(fd)
        out, errors, notes = bytearray(), bytearray(), bytearray()
        try:
            _exchange(ours[0], stdin, dict(zip(ours[1:], (out, errors, notes))))
        except BaseException:
            with contextlib.suppress(ProcessLookupError, IndexError):
                os.kill(int(notes.split()[0]), signal.SIGKILL)
            raise
        finally:
            for fd in ours[1:]:
                os.close(fd)
        told = notes.split()
        _wait(int(told[0]))
        return Ended(int(told[1]) if len(told) == 2 else -signal.SIGKILL, bytes(out), bytes(errors))


def _wait(pid: int) -> None:
    """Until a process whose files are closed has ended."""
    with contextlib.suppress(ProcessLookupError):
        fd = os.pidfd_open(pid)
        try:
            select.select([fd], [], [])
        finally:
            os.close(fd)


def _exchange(stdin: int, data: bytes, outputs: dict[int, bytearray]) -> None:
    """Writes the input and closes it; reads all outputs to their ends."""
    os.set_blocking(stdin, False)
    left = memoryview(data)
    with contextlib.ExitStack() as closing, selectors.DefaultSelector() as selector:
        closer = closing.enter_context(contextlib.ExitStack())
        closer.callback(os.close, stdin)
        selector.register(stdin, selectors.EVENT_WRITE)
        for fd in outputs:
            selector.register(fd, selectors.EVENT_READ)
        while selector.get_map():
            for key, _events in selector.select():
                if key.fd == stdin:
                    with contextlib.suppress(BlockingIOError):
                        try:
                            left = left[os.write(stdin, left) :] if left else left
                        except BrokenPipeError:  # who does not read it does not need it
                            left = left[:0]
                    if not left:
                        selector.unregister(stdin)
                        closer.close()
                elif got := os.read(key.fd, READ_SIZE):
                    outputs[key.fd] += got
                else:
                    selector.unregister(key.fd)


_starter: Starter | None = None


def starter() -> Starter:
    """This process's own."""
    global _starter
    if _starter is None:
        _starter = Starter()
    return _starter


def starters() -> set[int]:
    """Its number, if it is there: it outlives the tests, but not what it runs."""
    return {_starter.process.pid} if _starter else set()


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))

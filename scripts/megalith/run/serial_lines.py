"""A serial line of a machine whose run must be repeatable.

QEMU's sockets cannot be used for that: each byte that the guest sends is a separate write, a socket
accepts some hundreds of them unread, and then the byte waits until the host has time, which appears
in the log of a recording at a place that a replay does not find again. A file accepts everything at
once. So QEMU writes such a line to a file, and a thread here copies its contents to the socket that
the others use.

Input comes through a named pipe. While it records, QEMU 7.2 reads ahead even when the UART is full,
whose receiver then loses bytes. So a few bytes are sent at a time, and the next ones when the guest
has read these. How many it has read is found in its memory, which does not affect the guest.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

READ_SIZE = 65536
POLL_SECONDS = 0.004
# Half of the UART's FIFO.
CHUNK = 8


class FileLine:
    """Connects the socket `theirs` with the files that QEMU is given as `-chardev pipe,path=`."""

    def __init__(self, path: Path, theirs: socket.socket) -> None:
        self.path = path
        self._theirs = theirs
        self._output = path.with_suffix(".out")
        self._input = path.with_suffix(".in")
        self._carried = 0
        self._output.touch()
        os.mkfifo(self._input, 0o600)

    def start(self, ended: Callable[[], bool], taken: Callable[[], int] | None) -> None:
        """Called when the emulator has been started; `ended` says whether it has exited. `taken`
        returns how many bytes the guest has read from this line; without it no input is passed
        on."""
        threading.Thread(target=self._carry_output, args=(ended,), daemon=True).start()
        if taken is not None:
            threading.Thread(target=self._carry_input, args=(ended, taken), daemon=True).start()

    def carried(self) -> bool:
        """Whether everything that the emulator has written so far can be read from the socket."""
        return self._carried >= self._output.stat().st_size

    def _carry_output(self, ended: Callable[[], bool]) -> None:
        with open(self._output, "rb", buffering=0) as file:
            while True:
                over = ended()  # before the last read
                data = file.read(READ_SIZE)
                if data:
                    try:
                        self._theirs.sendall(data)
                    except OSError:
                        return  # there is no reader any more
                    self._carried += len(data)
                elif over:
                    self._theirs.shutdown(socket.SHUT_RDWR)
                    self._theirs.close()
                    return
                else:
                    time.sleep(POLL_SECONDS)

    def _carry_input(self, ended: Callable[[], bool], taken: Callable[[], int]) -> None:
        given = 0
        # For reading too, so that neither end waits for the other.
        with open(self._input, "r+b", buffering=0) as file:
            try:
                while data := self._theirs.recv(CHUNK):
                    file.write(data)
                    given += len(data)
                    while taken() < given:
                        if ended():
                            return
                        time.sleep(POLL_SECONDS / 4)
            except OSError:
                return

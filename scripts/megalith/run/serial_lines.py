"""A serial line of a machine whose run is to be the same each time.

QEMU's sockets will not do for that: each byte that the guest sends is a write of its own, a socket
takes some hundreds of them unread, and then the byte waits until this host finds time, in the log
of a recording at a place that a replay does not find again. A file takes everything at once. So
QEMU writes such a line to a file, and a thread here carries what is in it to the socket that others
hold.

Input comes through a named pipe. While it records, QEMU 7.2 reads ahead without regard to a full
UART, whose receiver then loses bytes. So a few bytes are given at a time, and the next when the
guest has taken these: how many it took is read in its memory, which the guest does not notice.
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
        """The emulator has been started; `ended` tells when it runs no more. `taken` tells how many
        bytes the guest has taken from this line; without it no input is passed on."""
        threading.Thread(target=self._carry_output, args=(ended,), daemon=True).start()
        if taken is not None:
            threading.Thread(target=self._carry_input, args=(ended, taken), daemon=True).start()

    def carried(self) -> bool:
        """Whether all that the emulator has written so far can be read from the socket."""
        return self._carried >= self._output.stat().st_size

    def _carry_output(self, ended: Callable[[], bool]) -> None:
        with open(self._output, "rb", buffering=0) as file:
            while True:
                over = ended()  # before the last look
                data = file.read(READ_SIZE)
                if data:
                    try:
                        self._theirs.sendall(data)
                    except OSError:
                        return  # nobody reads any more
                    self._carried += len(data)
                elif over:
                    self._theirs.shutdown(socket.SHUT_RDWR)
                    self._theirs.close()
                    return
                else:
                    time.sleep(POLL_SECONDS)

    def _carry_input(self, ended: Callable[[], bool], taken: Callable[[], int]) -> None:
        given = 0
        # For reading too: then neither end waits for the other.
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

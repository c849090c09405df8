"""A client for the parts of QEMU's monitor protocol (QMP) that are needed here."""

from __future__ import annotations

import json
import socket
import time


class MonitorError(Exception):
    """QEMU refused a command, did not answer in time, or has ended."""


class Monitor:
    """Speaks QMP over a connected socket; events() returns events received meanwhile."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""
        self._ready = False
        self._events: list[str] = []

    def fileno(self) -> int:
        return self._connection.fileno()

    def events(self) -> list[str]:
        """Names of the events that have arrived since the last call; does not wait. A monitor
        reports events only after the first execute()."""
        while True:
            self._connection.setblocking(False)
            try:
                data = self._connection.recv(65536)
            except (BlockingIOError, ConnectionError):
                break
            if not data:
                break
            self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        messages = [json.loads(line) for line in lines]
        self._events += [message["event"] for message in messages if "event" in message]
        events, self._events = self._events, []
        return events

    def _message(self, deadline: float) -> dict:
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                raise MonitorError("QEMU's monitor does not answer")
            self._connection.settimeout(left)
            try:
                data = self._connection.recv(65536)
            except TimeoutError:
                raise MonitorError("QEMU's monitor does not answer") from None
            except OSError as error:
                raise MonitorError(f"QEMU's monitor: {error}") from error
            if not data:
                raise MonitorError("QEMU has ended")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)

    def execute(self, command: str, seconds: float = 5.0, **arguments: object) -> object:
        """Runs one command and returns its result; negotiates with QEMU first if necessary."""
        deadline = time.monotonic() + seconds
        if not self._ready:
            while "QMP" not in self._message(deadline):
                pass
            self._ready = True
            self.execute("qmp_capabilities", seconds)
        request = {"execute": command, "arguments": arguments}
        try:
            self._connection.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise MonitorError(f"QEMU's monitor: {error}") from error
        while True:
            message = self._message(deadline)
            if "event" in message:
                self._events.append(message["event"])
            if "return" in message:
                return message["return"]
            if "error" in message:
                raise MonitorError(f"{command}: {message['error'].get('desc', message['error'])}")

    def human(self, line: str, seconds: float = 5.0) -> str:
        """Runs a command of the human monitor, and returns its text."""
        return str(self.execute("human-monitor-command", seconds, **{"command-line": line}))

"""Requests to a running scripts/run: a socket in its machine's folder, one JSON object in each
direction.

    {"save": "/path/of/file"}  ->  {"saved": "/path/of/file", "bytes": 1234}  or  {"error": "..."}

`scripts/save` is the client. scripts/run answers between two steps of relaying input and output. It
is the emulator's parent and may therefore read its memory, which other processes may not.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import socket
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

NAME = "control"
REQUEST_MAX = 65536
REQUEST_SECONDS = 5.0
ANSWER_SECONDS = 600.0


class Listener:
    """The server side in scripts/run: `answer` is called with each request and returns the
    reply."""

    def __init__(self, folder: Path, answer: Callable[[dict], dict]) -> None:
        self._answer = answer
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(folder / NAME))
        self._socket.listen()

    def fileno(self) -> int:
        return self._socket.fileno()

    def serve_one(self) -> None:
        """A client has connected: reads the request, answers, closes the connection."""
        connection, _ = self._socket.accept()
        with connection:
            connection.settimeout(REQUEST_SECONDS)
            with contextlib.suppress(OSError):  # the client has gone
                line = connection.makefile("rb").readline(REQUEST_MAX)
                if line:  # else a client only tested whether the socket is served
                    connection.sendall(json.dumps(self._reply(line)).encode() + b"\n")

    def _reply(self, line: bytes) -> dict:
        try:
            request = json.loads(line)
        except ValueError as error:
            return {"error": f"no request: {error}"}
        if not isinstance(request, dict):
            return {"error": "no request: no object"}
        return self._answer(request)

    def close(self) -> None:
        self._socket.close()


def machines() -> list[Path]:
    """The control sockets of all machines that run here."""
    found = []
    for path in sorted(Path(tempfile.gettempdir()).glob(f"megalith-*/{NAME}")):
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(str(path))
            found.append(path)
        except OSError:
            continue  # left by a scripts/run that was killed, or of another user
    return found


def command_of(path: Path) -> str:
    """The command line that started the machine of a control socket; empty if it cannot be found
    out."""
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(str(path))
            peer = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid, _, _ = struct.unpack("3i", peer)
        words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")[:-1]
        return shlex.join(["scripts/run", *words[words.index("megalith") + 1 :]])
    except (OSError, ValueError):
        return ""


def ask(path: Path, request: dict) -> dict:
    """Sends a request to a control socket and returns the answer; raises OSError, ValueError."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_SECONDS)
        connection.connect(str(path))
        connection.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(connection.makefile("rb").readline())


def main(arguments: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(
        prog="scripts/save",
        description="Saves the state of a running machine to a file for scripts/sda; the machine "
        "stands still meanwhile and goes on.",
    )
    p.add_argument("file", metavar="FILE", type=Path)
    p.add_argument(
        "folder",
        metavar="MACHINE",
        nargs="?",
        type=Path,
        help="its folder, /tmp/megalith-...; may be left out when there is one machine only",
    )
    options = p.parse_args(arguments)
    there = [options.folder / NAME] if options.folder else machines()
    if len(there) != 1:
        print("scripts/save: " + ("which one?" if there else "no machine runs"), file=sys.stderr)
        for path in there:
            print(f"  {path.parent}  {command_of(path)}", file=sys.stderr)
        return 2
    try:
        answer = ask(there[0], {"save": os.path.abspath(options.file)})
    except (OSError, ValueError) as error:
        print(f"scripts/save: {there[0].parent}: {error}", file=sys.stderr)
        return 1
    if "error" in answer:
        print(f"scripts/save: {answer['error']}", file=sys.stderr)
        return 1
    print(f"{answer['saved']}: {answer['bytes'] / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

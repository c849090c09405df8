"""A running guest with /tests/model_services, which is sent commands line by line."""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
import time

from megalith.run.paths import TOP

ANSWER_LIMIT = 60.0  # seconds


class Guest:
    def __init__(self, smp: int, reserve: list[str]) -> None:
        options = [word for entry in reserve for word in ("--reserve", entry)]
        self.console = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [
                str(TOP / "scripts/run"),
                *("--smp", str(smp), "-m", "1G", "--timeout", "3600", "--validate"),
                *options,
                "/tests/model_services",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.console,
            env={**os.environ, "MEGALITH_BUILT": "1"},
        )
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.held = b""
        self.log: list[str] = []
        assert self.line() == "ready", self.said()

    def said(self) -> str:
        """The console, for the message of a failure."""
        self.console.seek(0)
        return self.console.read()[-6000:].decode(errors="replace")

    def line(self) -> str:
        end = time.monotonic() + ANSWER_LIMIT
        while b"\n" not in self.held:
            if not self.selector.select(max(0.0, end - time.monotonic())):
                raise AssertionError(f"no answer to {self.log[-1:]}:\n{self.said()}")
            more = os.read(self.process.stdout.fileno(), 4096)
            if not more:
                raise AssertionError(f"the guest is gone after {self.log[-1:]}:\n{self.said()}")
            self.held += more
        line, self.held = self.held.split(b"\n", 1)
        return line.decode()

    def ask(self, *words: object) -> list[str]:
        """Sends a command, with numbers in hexadecimal; returns the words of the answer."""
        command = " ".join(f"{w:x}" if isinstance(w, int) else str(w) for w in words)
        self.log.append(command)
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        return self.line().split()

    def numbers(self, *words: object) -> list[int]:
        return [int(word, 16) for word in self.ask(*words)]

    def end(self) -> int:
        """Ends the guest; returns the status of scripts/run, which is 0 if the self-check found
        nothing."""
        self.process.stdin.write(b"quit\n")
        self.process.stdin.close()
        status = self.process.wait(timeout=ANSWER_LIMIT)
        self.process.stdout.close()
        self.selector.close()
        return status

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

"""Running things in the emulator through scripts/run."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import pytest
from megalith.run.paths import TEST_KERNEL

from lib import boots

slower = 1.0  # --slower


@dataclass(frozen=True)
class Done:
    """A finished scripts/run."""

    status: int
    output: bytes  # the exact standard output of the command
    console: str  # the console, the command's standard error, and what scripts/run said

    @property
    def text(self) -> str:
        return self.output.decode()

    def expect(self, status: int) -> Done:
        """This run, after checking that it ended with this status."""
        if self.status != status:
            output = self.output[-4000:].decode(errors="replace")
            pytest.fail(
                f"status {self.status}, not {status}\n"
                f"--- output\n{output}\n--- console\n{self.console[-8000:]}",
                pytrace=False,
            )
        return self


def run_guest(
    *command: str | os.PathLike[str],
    smp: int | None = None,
    memory: str | None = None,
    options: tuple[str, ...] | list[str] = (),
    timeout: float = 60,
    stdin: bytes = b"",
    validate: bool = True,
    races: bool = False,
    kernel: str = "",
    all_programs: bool = False,
    users_image: bool = False,
    nice: int = 0,
) -> Done:
    """Boots, runs COMMAND (none: the shell), and returns the result. Never raises for a status. A
    data race that the kernel reports fails the test, unless the test expects it (`races`). kernel
    "test": the command needs a kernel with kernel/test, which those of --kernel have too.
    all_programs: the command starts programs of /tests or /bench that its words do not name.
    users_image: the image that users have, with BusyBox, and not that of tests.
    nice: for a command that runs for a fixed time on more CPUs than the host has, so that it takes
    what other tests leave."""
    timeout *= slower
    words = ["--timeout", str(timeout)]
    if kernel == "test" and "MEGALITH_KERNEL" not in os.environ:
        words += ["--kernel", str(TEST_KERNEL)]
    # Every test is a leak test: at its end each page must be accounted for exactly once.
    words += ["--validate"] if command and validate else []
    words += ["--smp", str(smp)] if smp else []
    words += ["-m", memory] if memory else []
    words += ["--tests"] if all_programs else []
    words += [*options]
    words += ["--", *map(str, command)] if command else []
    # scripts/run enforces the time limit itself, by the guest's clock.
    environment = os.environ | ({"MEGALITH_INITRD": ""} if users_image else {})
    done = boots.starter().run(words, stdin, dict(environment), nice)
    console = done.stderr.decode(errors="replace")
    reports = [] if races else races_in(console)
    if reports:
        pytest.fail("\n".join(reports), pytrace=False)
    return Done(done.returncode, done.stdout, console)


def races_in(console: str) -> list[str]:
    """The reports of the kernel with the race detector (make RACES=1), and after them the lines in
    which scripts/run names the places."""
    reports = re.findall(r"data race: .*", console)
    places = re.findall(r"^scripts/run: \S+\+0x\w+ is .*", console, re.MULTILINE)
    return [*reports, *places] if reports else []

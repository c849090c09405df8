"""Sessions in documents: what a reader sees is what happens.

A fenced block with the word `session` holds commands with their output. `$ ` begins a command of
this machine, `megalith$ ` one in the guest that the last `scripts/run` has started. A line `...`
stands for any number of lines, `…` inside a line for any text. A page names what else differs from
run to run, for all of its sessions, by lines `<!-- varies: REGULAR EXPRESSION -->`: only what is
around such text is compared. With the line `<!-- the order of lines varies -->` each line that is
shown must be there, wherever, and what is shown without output must have none: what a program
prints and what the console says come by two ways. All
blocks of a page are one session, in one folder.

A fenced block with the word `sh` holds commands without output, each of which must succeed. They
find `hello.c`, and a folder `data` in the home folder. With the line `<!-- beside a machine that
runs -->` there is one, and no other.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from megalith.run.paths import TOP

ANY_ORDER = "<!-- the order of lines varies -->"
A_MACHINE = "<!-- beside a machine that runs -->"
BLOCK = re.compile(r"^```session\n(.*?)^```$", re.DOTALL | re.MULTILINE)
VARIES = re.compile(r"^<!-- varies: (.+) -->$", re.MULTILINE)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ALWAYS = (r"\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d", r"/tmp/megalith-\w+")
HOST, GUEST = "$ ", "megalith$ "


@dataclass
class Step:
    """A command, where it is in its page, and the lines that are shown of its output."""

    command: str
    line: int
    shown: list[str] = field(default_factory=list)
    guest: bool = False

    @property
    def boots(self) -> bool:
        """Does it start a machine for the guest's commands that follow?"""
        return self.command.startswith("scripts/run") and "--" not in shlex.split(self.command)


def steps_of(text: str) -> list[Step]:
    steps: list[Step] = []
    for block in BLOCK.finditer(text):
        number = text.count("\n", 0, block.start(1))
        continued = False
        for line in block[1].splitlines():
            number += 1
            if continued:
                steps[-1].command += "\n" + line
            elif line.startswith(HOST):
                steps.append(Step(line.removeprefix(HOST), number))
            elif line.startswith(GUEST):
                steps.append(Step(line.removeprefix(GUEST), number, guest=True))
            else:
                steps[-1].shown.append(line)
                continue
            continued = line.endswith("\\")
    return steps


def pattern_of(line: str, varies: list[str]) -> re.Pattern[str]:
    return re.compile(re.escape(plain(line, varies)).replace("…", ".*"))


def plain(line: str, varies: list[str]) -> str:
    for pattern in varies:
        line = re.sub(pattern, "~", line)
    return " ".join(line.split())


def difference(shown: list[str], real: list[str], varies: list[str]) -> str:
    """What is wrong with the lines that are shown of an output; empty: they are right."""
    rest = [plain(line, varies) for line in real if line.strip()]
    anywhere = False
    for line in filter(str.strip, shown):
        if line.strip() in ("...", "…"):
            anywhere = True
            continue
        pattern = pattern_of(line, varies)
        while anywhere and rest and not pattern.fullmatch(rest[0]):
            rest.pop(0)
        if not rest or not pattern.fullmatch(rest[0]):
            return f"shown: {line}\n     real: {rest[0] if rest else '(no more)'}"
        rest.pop(0)
        anywhere = False
    return "" if anywhere or not rest else f"not shown: {rest[0]}"


def missing(shown: list[str], real: list[str], varies: list[str]) -> str:
    """The same, in any order; where nothing is shown there is no output."""
    if real and not any(map(str.strip, shown)):
        return f"not shown: {real[0]}"
    rest = [plain(line, varies) for line in real]
    for line in shown:
        if line.strip() and line.strip() not in ("...", "…"):
            found = next((one for one in rest if pattern_of(line, varies).fullmatch(one)), None)
            if found is None:
                return f"shown: {line}\n     real: not there"
            rest.remove(found)
    return ""


def _run(command: str, folder: Path, stdin: str) -> list[str]:
    environment = os.environ | {"MEGALITH_INITRD": ""}
    done = subprocess.run(
        ["sh", "-c", f"{command}"],
        cwd=folder,
        input=stdin.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
    )
    return done.stdout.decode(errors="replace").replace("\r", "").splitlines()


def _by_command(lines: list[str], commands: list[Step]) -> list[list[str]]:
    """Divides what a machine has printed: what comes before the first command, and then what each
    has printed. A command that was not reached has printed nothing."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if len(parts) <= len(commands) and line == GUEST + commands[len(parts) - 1].command:
            parts.append([])
        elif line.strip() != GUEST.strip():  # the last prompt
            parts[-1].append(line)
    return parts + [[] for _ in range(len(commands) + 1 - len(parts))]


def prepare(folder: Path) -> None:
    """What a reader has: the tools where the commands look for them, and some files."""
    for name in ("scripts", "build", "userland", "sysman", "tests", "docs"):
        (folder / name).symlink_to(TOP / name)
    (folder / "hello.c").write_text(
        '#include <stdio.h>\nint main(void) { return puts("hi") < 0; }\n'
    )
    (folder / "data").mkdir()
    (folder / "data/words").write_text("three words here\n")


def failing_in(text: str, folder: Path) -> list[str]:
    """Runs the commands of a page; which do not succeed, and what they said."""
    prepare(folder)
    environment = os.environ | {"MEGALITH_INITRD": "", "HOME": str(folder)}
    if A_MACHINE not in text:
        return _failing(text, folder, environment)
    # Tools look for machines in the folder for temporary files. Paths of sockets are short.
    with tempfile.TemporaryDirectory() as private:
        environment["TMPDIR"] = private
        with _machine(folder, environment):
            return _failing(text, folder, environment)


@contextlib.contextmanager
def _machine(folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """A machine with one process, which has begun when this returns."""
    command = ["scripts/run", "-m", "128M", "--smp", "1", "--", "/bin/sh", "-c", "echo up; sleep"]
    command[-1] += " 100000"
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE) as machine:
        assert machine.stdout
        try:
            assert any(line.startswith(b"up") for line in machine.stdout), "it ends"
            yield
        finally:
            machine.terminate()


def _failing(text: str, folder: Path, environment: dict[str, str]) -> list[str]:
    wrong = []
    for block in COMMANDS.finditer(text):
        for command in block[1].replace("\\\n", "").splitlines():
            done = subprocess.run(
                ["sh", "-c", command],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                env=environment,
            )
            if done.returncode:
                wrong.append(f"{command}: status {done.returncode}\n{done.stderr[-2000:]}")
    return wrong


def wrong_in(text: str, folder: Path) -> list[str]:
    """Runs the sessions of a page; what is not as the page says."""
    prepare(folder)
    varies = [*ALWAYS, *VARIES.findall(text)]
    compare = missing if ANY_ORDER in text else difference
    steps, wrong, at = steps_of(text), [], 0
    while at < len(steps):
        first, guests = steps[at], []
        at += 1
        while first.boots and at < len(steps) and steps[at].guest:
            guests.append(steps[at])
            at += 1
        typed = "".join(step.command + "\n" for step in guests)
        lines = _run(first.command, folder, typed)
        for step, real in zip([first, *guests], _by_command(lines, guests), strict=True):
            if found := compare(step.shown, real, varies):
                wrong.append(f"line {step.line}: {step.command}\n    {found}")
    return wrong

"""scripts/run --record and --replay: the replay gives the same bytes and status, also after a
rebuild and under GDB; damaged files and options that cannot be combined are refused."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from megalith.run.paths import TOP
from megalith.run.recording import Recording, RecordingError

RUN = [str(TOP / "scripts/run"), "--timeout", "100"]

# Its output depends on when the input arrived, to the nanosecond.
TIMES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    unsigned char c;

    while (read(0, &c, 1) == 1) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("%02x %ld.%09ld\n", c, (long)now.tv_sec, now.tv_nsec);
    }
    fprintf(stderr, "to standard error\n");
    return 7;
}
"""


@dataclass(frozen=True)
class Ran:
    status: int
    output: bytes
    console: str


def scripts_run(*words: str | Path, stdin: bytes = b"") -> Ran:
    done = subprocess.run([*RUN, *map(str, words)], input=stdin, capture_output=True)
    return Ran(done.returncode, done.stdout, done.stderr.decode(errors="replace"))


def guest_part(console: str) -> str:
    """The console without the lines of scripts/run."""
    return re.sub(r"^scripts/run: .*\n", "", console, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("times")
    (folder / "times.c").write_text(TIMES)
    subprocess.run([TOP / "scripts/cc", folder / "times.c", "-o", folder / "times"], check=True)
    return folder / "times"


@pytest.fixture(scope="module")
def recorded(program: Path) -> tuple[Path, Ran]:
    """A recording of a run whose input came in parts, at the pace of this host."""
    path = program.parent / "times.rec"
    command = [*RUN, "--record", path, "--add", program, "-m", "128M", "--", "/times"]
    process = subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    # More than the UART's 16 bytes at once, and every value.
    for piece in (b"first", bytes(range(256)), b"last\n"):
        process.stdin.write(piece)
        process.stdin.flush()
        time.sleep(0.3)
    output, console = process.communicate()
    return path, Ran(process.returncode, output, console.decode(errors="replace"))


def test_replay_is_the_recorded_run(recorded: tuple[Path, Ran]) -> None:
    path, ran = recorded
    assert ran.status == 7, ran.console
    bytes_read = [int(line.split()[0], 16) for line in ran.output.splitlines()]
    assert bytes(bytes_read) == b"first" + bytes(range(256)) + b"last\n"
    assert "to standard error\n" in ran.console
    again = scripts_run("--replay", path, stdin=b"this input is nobody's")
    assert again.status == 7, again.console
    assert again.output == ran.output  # with all times in it
    assert guest_part(again.console) == guest_part(ran.console)


def test_replay_needs_nothing_of_the_build(recorded: tuple[Path, Ran]) -> None:
    """Kernel and initrd are in the file, so later builds do not matter."""
    path, ran = recorded
    script = (
        "import sys; from pathlib import Path; from megalith.__main__ import INSPECTION\n"
        "from megalith.run import command, image, options\n"
        "options.KERNEL = image.INITRD = image.SMALL_INITRD = Path('/nowhere')\n"
        f"sys.exit(command.main(INSPECTION, None, ['--replay', {str(path)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": f"{TOP}/scripts:{TOP}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
    )
    assert (done.returncode, done.stdout) == (7, ran.output), done.stderr


def test_replay_under_gdb(recorded: tuple[Path, Ran], tmp_path: Path) -> None:
    """Two debuggers stop at the same place of the same run, at the same time to the instruction,
    and the program's output is still that of the recording."""
    path, ran = recorded

    def debugged(socket: Path) -> tuple[str, str]:
        process = subprocess.Popen(
            [*RUN, "--replay", str(path), "--gdb-socket", str(socket)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(300):
            if socket.exists() or process.poll() is not None:
                break
            time.sleep(0.1)
        kernel = tmp_path / "kernel.elf"
        with zipfile.ZipFile(path) as archive:
            kernel.write_bytes(archive.read("kernel"))
        commands = ("break stream_read", "continue", "ignore 1 40", "continue")
        looks = ("print runqs[0].ticks", "print serial_received", "info registers sp ra")
        looks = (*looks, "bt 3", "echo @@end\\n")
        words = ["gdb-multiarch", "-nx", "-batch", str(kernel), "-x"]
        words += [str(TOP / "scripts/gdb/megalith.py"), "-ex", f"target remote {socket}"]
        for command in (*commands, *looks, "delete", "continue"):
            words += ["-ex", command]
        gdb = subprocess.run(words, capture_output=True, text=True)
        output, console = process.communicate()
        assert process.returncode == 7, (gdb.stdout, gdb.stderr, console)
        assert output == ran.output
        return gdb.stdout.partition("$1 =")[2].partition("@@end")[0], gdb.stdout

    seen, everything = debugged(tmp_path / "one")
    assert re.search(r"^ \d+", seen) and "stream_read" in seen, everything
    assert debugged(tmp_path / "two")[0] == seen


ENDLESS = "i=0; while true; do echo line $i; i=$((i+1)); done"


@pytest.mark.parametrize(
    ("command", "options", "status"),
    [
        (("/bin/sh", "-c", ENDLESS), ("--timeout", "0.1"), 124),
        (("/tests/crash_kernel",), (), 125),
    ],
    ids=["time is up", "panic"],
)
def test_runs_that_fail(
    command: tuple[str, ...], options: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    path = tmp_path / "x.rec"
    ran = scripts_run("-m", "128M", *options, "--record", path, "--", *command)
    assert ran.status == status, ran.console
    again = scripts_run("--replay", path)
    assert (again.status, again.output) == (status, ran.output), again.console
    if status == 124:
        assert b"line 100\n" in again.output
        assert "here the recording ends; the run had status 124" in again.console
    else:
        assert "a deliberate panic" in again.console


def test_interactive_session(tmp_path: Path) -> None:
    path = tmp_path / "shell.rec"
    typed = b"echo typed $((6 * 7)) into a shell whose line is longer than the FIFO\nexit 3\n"
    ran = scripts_run("-m", "128M", "--record", path, stdin=typed)
    assert ran.status == 3 and b"typed 42 into a shell" in ran.output, ran.console
    again = scripts_run("--replay", path)
    assert (again.status, again.output) == (3, ran.output)


def test_another_outcome_is_an_error(recorded: tuple[Path, Ran], tmp_path: Path) -> None:
    """A replay that differs from the recorded run is reported."""
    path = tmp_path / "other.rec"
    rewrite(recorded[0], path, lambda about: about["outcome"].update(output="0" * 64))
    again = scripts_run("--replay", path)
    assert again.status == 126 and "this is not what was recorded" in again.console


def rewrite(source: Path, target: Path, change) -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        about = json.loads(old.read("recording.json"))
        change(about)
        new.writestr("recording.json", json.dumps(about))
        for part in ("kernel", "initrd", "log"):
            new.writestr(part, old.read(part))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda about: about.update(format=99), "has format 99"),
        (lambda about: about.update(qemu="QEMU emulator version 1.0"), "recorded with QEMU"),
        (lambda about: about["sha256"].update(log="0"), "its log is not what was recorded"),
        (lambda about: about.pop("memory"), "no recording, or a damaged one"),
        (lambda about: about.update(outcome=[]), "no recording, or a damaged one"),
    ],
    ids=["format", "emulator", "digest", "missing", "shape"],
)
def test_files_that_do_not_match(recorded: tuple[Path, Ran], tmp_path: Path, change, says) -> None:
    path = tmp_path / "x.rec"
    rewrite(recorded[0], path, change)
    again = scripts_run("--replay", path)
    assert again.status == 126 and says in again.console, again.console


def test_damaged_files_are_errors(recorded: tuple[Path, Ran], tmp_path: Path) -> None:
    """Truncated anywhere, or a byte changed anywhere: refused, or (where the change is in a
    meaningless part of the zip archive, such as a time) replayed as recorded."""
    whole = recorded[0].read_bytes()
    good = Recording.load(recorded[0])
    path = tmp_path / "x.rec"
    dice = random.Random(5)
    refused = 0
    for number in range(24):
        data = bytearray(whole)
        if number % 2:
            data = data[: dice.randrange(len(data))]
        else:
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        path.write_bytes(data)
        try:
            assert Recording.load(path) == good
        except RecordingError as error:
            assert str(path) in str(error)
            refused += 1
    assert refused >= 20
    for data in (b"", b"PK", whole[: len(whole) // 2], b"\0" * 5000):
        path.write_bytes(data)
        begin = time.monotonic()
        again = scripts_run("--replay", path)
        assert again.status == 126 and "is no recording, or a damaged one" in again.console
        assert time.monotonic() - begin < 30
    assert scripts_run("--replay", tmp_path / "none").status == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--record", "x", "--smp", "2"), "does not go with --smp"),
        (("--record", "x", "--icount"), "does not go with --icount"),
        (("--record", "x", "--gdb"), "debug the replay"),
        (("--record", "x", "--disk", __file__), "does not go with --disk"),
        (("--record", "x", "--entropy", "/dev/urandom"), "does not go with --entropy"),
        (("--record", "x", "--save", "y"), "does not go with --save"),
        (("--replay", __file__, "--smp", "1"), "from the recording: no --smp"),
        (("--replay", __file__, "-m", "2G"), "from the recording: no -m"),
        (("--replay", __file__, "--record", "y"), "from the recording: no --record"),
        (("--replay", __file__, "--entropy", "none"), "from the recording: no --entropy"),
        (("--replay", __file__, "--icount"), "from the recording: no --icount"),
        (("--replay", __file__, "--", "/bin/echo"), "from the recording: no COMMAND"),
    ],
)
def test_options_that_cannot_be_combined(words: tuple[str, ...], says: str) -> None:
    ran = scripts_run(*words)
    assert ran.status == 2 and says in ran.console, ran.console


def test_nowhere_to_write(tmp_path: Path) -> None:
    """Reported before the machine is started."""
    ran = scripts_run("--record", tmp_path / "no/such/x.rec", "--", "/bin/echo")
    assert ran.status == 126 and "No such file" in ran.console and "Megalith" not in ran.console
    assert list(tmp_path.iterdir()) == []
    os.mkfifo(tmp_path / "pipe")  # for a device, which the file must not take the place of
    ran = scripts_run("--record", tmp_path / "pipe", "--", "/bin/echo")
    assert ran.status == 126 and "no regular file" in ran.console and "Megalith" not in ran.console
    assert (tmp_path / "pipe").is_fifo()

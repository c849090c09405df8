"""scripts/run at a terminal, and where its input is none: the line editor, the guest's idea of the
screen, what is shown, and how `make run` ends."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import termios
import time
from pathlib import Path

import pexpect
import pytest
from lib.guest import run_guest
from lib.processes import wait_for
from megalith.run.paths import TOP
from megalith.run.session import WithoutDevices

PROMPT = b"megalith$ "
REDRAWN = b"\x1b[K"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("sh") / "sh"
    sources = sorted((TOP / "userland/bin/sh").glob("*.c"))
    flags = "-std=gnu11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
    subprocess.run(["gcc", *flags.split(), *sources, "-o", program], check=True)
    return program


def until(fd: int, mark: bytes) -> bytes:
    seen = b""
    while mark not in seen:
        assert select.select([fd], [], [], 20)[0], seen
        seen += os.read(fd, 4096)
    return seen


@pytest.mark.parametrize("columns", [5, 12, 20, 30, 80])
def test_keys_seldom_repaint_a_line(shell: Path, columns: int) -> None:
    """What is typed at the end of a line is printed, and nothing else, until the screen is full."""
    pid, fd = pty.fork()
    if pid == 0:
        termios.tcsetwinsize(0, (24, columns))
        os.execve(shell, ["sh"], {"PATH": "/bin:/usr/bin", "ASAN_OPTIONS": "detect_leaks=0"})
    until(fd, b"$ ")
    typed = b"echo " + bytes(ord("a") + n % 26 for n in range(100))
    seen = b""
    for key in typed:
        os.write(fd, bytes([key]))
        assert select.select([fd], [], [], 20)[0]
        seen += os.read(fd, 4096)
    os.write(fd, b"\r")
    seen += until(fd, typed[5:] + b"\r\n")
    redrawn = seen.count(REDRAWN)
    half = max(columns, 8) // 4
    assert redrawn <= 1 + len(typed) // max(half - 1, 1), (redrawn, seen)
    os.write(fd, b"exit\r")
    os.close(fd)
    os.waitpid(pid, 0)


def test_the_guest_knows_the_size_of_the_terminal() -> None:
    """On a screen of 30 columns a line of 50 does not fit; on one of 80 it does."""
    for columns, fits in ((30, False), (80, True)):
        machine = pexpect.spawn(
            str(TOP / "scripts/run"), ["-m", "256M", "--smp", "1"], dimensions=(24, columns)
        )
        machine.expect_exact(PROMPT, timeout=120)
        machine.send(b"true " + b"x" * 50 + b"; echo done\r")
        machine.expect_exact(b"\r\ndone\r\n", timeout=120)
        assert (REDRAWN not in machine.before) == fits, machine.before
        machine.send(b"\x1d")
        machine.expect(pexpect.EOF)
        machine.close()


def test_input_that_is_no_terminal_meets_no_editor() -> None:
    done = run_guest(stdin=b"echo hi\nread x\nfor the command\necho got $x\necho last").expect(0)
    assert b"\x1b" not in done.output
    lines = done.output.replace(b"\r", b"").split(b"\n")
    session = lines[lines.index(b"megalith$ echo hi") :]
    assert session[:4] == [
        b"megalith$ echo hi",
        b"hi",
        b"megalith$ read x",
        b"megalith$ echo got $x",
    ]
    assert session[4:7] == [b"got for the command", b"megalith$ echo last", b"last"]


def test_nothing_is_lost_while_nobody_reads() -> None:
    """A pager, or a busy host, may not read for seconds: what programs print waits."""
    last = 30000  # more than the pipe and the machine's lines hold
    script = f"i=0; while [ $i -lt {last} ]; do i=$((i + 1)); echo $i; done\n"
    command = [TOP / "scripts/run", "-m", "256M", "--smp", "2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as machine:
        assert machine.stdin and machine.stdout
        machine.stdin.write(script.encode())
        machine.stdin.close()
        time.sleep(5)
        said = machine.stdout.read().decode().split()
    numbers = [int(word) for word in said if word.isdigit()]
    assert numbers[-last:] == list(range(1, last + 1))


def test_make_run_does_not_report_the_last_command(tmp_path: Path) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "-C", TOP, "run", "ARGS=-m 256M"],
        input=b"no-such-command\n",
        capture_output=True,
        env=clean,
    )
    assert done.returncode == 0, done.stderr
    assert b"no-such-command: not found" in done.stdout and b"Error" not in done.stderr


def test_other_ends_are_reported() -> None:
    """A command has its status, and so has a session that something else has ended."""
    assert run_guest("/bin/false", options=["--any-end"]).status == 1
    assert run_guest(stdin=b"exit 3\n", options=["--any-end"]).status == 0
    assert run_guest(stdin=b"/tests/crash_kernel\n", options=["--any-end"]).status == 125
    assert run_guest(stdin=b"sleep 100\n", options=["--any-end"], timeout=3).status == 124


def test_the_firmwares_list_is_left_out() -> None:
    pieces = [
        b"PCI: 00:01:0 cl",
        b"ass 0601\r\nPC",
        b"I: 00:02:0\r\n",
        b"Mega",
        b"lith\r\nPCI: mine\n",
    ]
    shown = WithoutDevices()
    assert b"".join(map(shown.feed, pieces)) == b"Megalith\r\nPCI: mine\n"
    done = run_guest("/bin/true").expect(0)
    assert done.console.startswith("Megalith on Alpha") and "PCI:" not in done.console


def test_a_time_limit_is_no_crash() -> None:
    """Of a machine whose clock goes on the registers say nothing."""
    done = run_guest("/bin/sleep", "100", timeout=2).expect(124)
    assert "no end within 2" in done.console
    assert "monitor shows it" not in done.console


def test_sda_finds_the_machine_that_waits(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}

    def sda(*words: str) -> subprocess.CompletedProcess[str]:
        command = [TOP / "scripts/sda", *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    def sockets(name: str) -> list[Path]:
        return list(tmp_path.glob(f"megalith-*/{name}"))

    none = sda()
    assert none.returncode == 2 and "no machine waits for GDB: start one" in none.stderr
    running: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(2):
            command = [TOP / "scripts/run", "--gdb", "-m", f"{256 + number}M", "--", "/bin/true"]
            running.append(subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment))
            assert wait_for(lambda n=number: len(sockets("gdb")) > n < len(sockets("control")))
        two = sda()
        assert two.returncode == 2 and "which machine?" in two.stderr
        assert two.stderr.count("--gdb -m 25") == 2 and "257M -- /bin/true" in two.stderr
        drawn = subprocess.run(
            [TOP / "scripts/memmap"], capture_output=True, text=True, env=environment
        )
        assert drawn.returncode == 2 and drawn.stderr.count("--gdb -m 25") == 2
        running[0].terminate()
        running[0].wait()
        last = sda("-c", "print 6 * 7")
        assert last.returncode == 0 and "$1 = 42" in last.stdout, last.stderr
    finally:
        for machine in running:
            machine.terminate()
            machine.wait()


@pytest.mark.parametrize("tool", ["sda", "memmap"])
def test_a_full_temporary_folder(tool: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    run_guest("/tests/crash_kernel", memory="64M", options=["--save", str(state)]).expect(125)
    words = [TOP / "scripts" / tool, *([] if tool == "memmap" else ["-c", "print 1"]), state]
    command = 'mount -t tmpfs -o size=16k none /mnt && TMPDIR=/mnt exec "$@"'
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", command, "sh"]
    if subprocess.run([*inside, "true"], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    done = subprocess.run([*inside, *words], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    if tool == "sda":  # memmap needs no room there for a state that is a file
        assert done.returncode == 2 and "scripts/sda: [Errno 28]" in done.stderr

"""scripts/run itself: output passed on byte for byte, and the statuses that report how a run
ended."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from lib.guest import run_guest
from lib.processes import wait_for
from megalith.run import command as run_command
from megalith.run import frames, image
from megalith.run import options as run_options
from megalith.run.machine import Machine
from megalith.run.monitor import MonitorError
from megalith.run.paths import TOP
from megalith.run.session import ConsoleLines

RUN = str(TOP / "scripts/run")
CROSS_CC = str(TOP / "scripts/cc")
IPL_ASTDEL = 2  # no preemption (kernel/sched/ipl.h)

CAT = r"""
#include <unistd.h>
int main(void)
{
    char buffer[4096];
    ssize_t n;

    while ((n = read(0, buffer, sizeof(buffer))) > 0)
        for (ssize_t done = 0; done < n;)
            done += write(1, buffer + done, n - done);
    return n != 0;
}
"""

ARGUMENTS = r"""
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    fprintf(stderr, "to standard error\n");
    for (int i = 1; i < argc; i++)
        fwrite(argv[i], 1, strlen(argv[i]) + 1, stdout);
    return argc;
}
"""

NULL = "int main(void) { *(volatile int *)0 = 1; return 0; }"

SPIN = "int main(void) { for (;;) ; }"


@pytest.mark.parametrize(
    ("words", "status", "built"),
    [(["--help"], 0, False), (["--smp", "9"], 2, False), (["--", "/bin/true"], 126, True)],
    ids=["help", "wrong", "build-fails"],
)
def test_arguments_are_read_before_the_build(
    tmp_path: Path, words: list[str], status: int, built: bool
) -> None:
    """Help and a wrong argument are answered at once. A build that fails is status 126."""
    note = tmp_path / "built"
    (tmp_path / "make").write_text(f"#!/bin/sh\necho built\ntouch '{note}'\nexit 2\n")
    (tmp_path / "make").chmod(0o755)
    env = {k: v for k, v in os.environ.items() if k != "MEGALITH_BUILT"}
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    done = subprocess.run([RUN, *words], env=env, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert note.exists() == built
    assert "built" not in done.stdout


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with these small programs, made by scripts/cc."""
    folder = tmp_path_factory.mktemp("programs")
    for name, text in (("copy", CAT), ("arguments", ARGUMENTS), ("null", NULL), ("spin", SPIN)):
        (folder / f"{name}.c").write_text(text)
        subprocess.run([CROSS_CC, folder / f"{name}.c", "-o", folder / name], check=True)
    return folder


def with_program(programs: Path, name: str, *words: str, **how):
    return run_guest(f"/{name}", *words, options=["--add", str(programs / name)], **how)


def test_status_and_arguments(programs: Path) -> None:
    words = ["one", "two words", "", "ü\n'\"", "x" * 3000]
    done = with_program(programs, "arguments", *words).expect(6)
    assert done.output == b"".join(os.fsencode(word) + b"\0" for word in words)
    assert "to standard error\n" in done.console


def test_every_byte_value_passes_in_both_directions(programs: Path) -> None:
    data = bytes(range(256)) * 128 + b"\xa5O\x01\x00" * 100 + b"no newline at the end"
    done = with_program(programs, "copy", stdin=data).expect(0)
    assert done.output == data


def test_empty_input_ends_at_once(programs: Path) -> None:
    assert with_program(programs, "copy").expect(0).output == b""


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_device_interrupts_reach_every_cpu(cpus: int) -> None:
    data = bytes((16384 + 65536) * cpus)
    done = run_guest("/tests/interrupt_cpu", options=["--smp", str(cpus)], stdin=data).expect(0)
    assert b"not ok" not in done.output and b"\n1.." in done.output


def test_killed_by_a_signal(programs: Path) -> None:
    with_program(programs, "null").expect(128 + signal.SIGSEGV)


def test_time_limit_expires(programs: Path) -> None:
    done = with_program(programs, "spin", timeout=2).expect(124)
    had = re.search(r"the guest's clock has counted ([0-9.]+) s", done.console)
    assert had and float(had[1]) < 4
    assert "no end within 2 seconds" in done.console
    assert "as QEMU's monitor shows it" not in done.console  # its clock goes on: it is at work


def test_command_that_cannot_be_started(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program\n" * 100)
    (tmp_path / "text").chmod(0o755)
    add = ["--add", str(tmp_path / "text")]
    for command, status, says in (
        ("/bin/no-such-program", 127, "no such file or directory"),
        ("/bin/echo/x", 126, "not a directory"),
        ("/bin", 126, "permission denied"),
        ("/text", 126, "not a program for this machine"),
        ("/" + "x" * 300, 126, "file name too long"),
    ):
        done = run_guest(command, options=add).expect(status)
        assert f"{command}: cannot be started: {says}\n" in done.console


def test_shell_ends_with_its_input() -> None:
    done = run_guest(timeout=60).expect(0)
    assert b"Megalith" in done.output


def test_shell_reads_standard_input() -> None:
    done = run_guest(stdin=b"echo typed $((6 * 7))\nexit 3\n").expect(3)
    assert b"typed 42" in done.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_machine_ends_with_scripts_run(programs: Path, number: signal.Signals) -> None:
    command = [RUN, "--add", str(programs / "spin"), "--", "/spin"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    process.stderr.read(1)  # the console has begun: there is an emulator
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 1
    process.send_signal(number)
    assert process.wait(20) == 128 + number
    process.stderr.close()
    assert not Path(f"/proc/{children[0]}").exists()


YES = ["/bin/sh", "-c", "while true; do echo y; done"]


def test_reader_of_the_output_has_gone() -> None:
    command = [RUN, "--timeout", "60", "--", *YES]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == b"y\n"
    process.stdout.close()
    assert process.wait(20) == 128 + signal.SIGPIPE
    process.stderr.close()


@pytest.mark.parametrize("command", [["--", "/bin/echo", "hi"], []])
def test_output_that_cannot_be_written(command: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [RUN, "--timeout", "60", *command],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 126
    assert b"scripts/run: standard output: No space left on device" in done.stderr


def test_output_that_does_not_block(programs: Path) -> None:
    data = bytes(range(256)) * 256
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)  # a sixteenth of the data
    os.set_blocking(writer, False)
    command = [RUN, "--timeout", "60", "--add", str(programs / "copy"), "--", "/copy"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=writer, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        sender = threading.Thread(target=lambda: (process.stdin.write(data), process.stdin.close()))
        sender.start()
        full = wait_for(lambda: not select.select([], [writer], [], 0)[1])
        os.close(writer)
        assert full
        with os.fdopen(reader, "rb") as output:
            assert output.read() == data
        sender.join()
    assert process.returncode == 0


def test_machines_side_by_side(programs: Path) -> None:
    command = [RUN, "--timeout", "60", "--add", str(programs / "copy"), "--", "/copy"]
    pipe = subprocess.PIPE
    both = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) for _ in range(2)]
    for number, process in enumerate(both):
        output, _console = process.communicate(f"machine {number}".encode())
        assert (process.returncode, output) == (0, f"machine {number}".encode())


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--smp", "5"], 2, "1 to 4 CPUs"),
        (["--smp", "0"], 2, "1 to 4 CPUs"),
        (["-m", "2000G"], 2, "64M to 1000G"),
        (["-m", "lots"], 2, "is no size"),
        (["--timeout", "-1"], 2, "is no number of seconds"),
        (["--add", "/no/such/file"], 2, "there is no file /no/such/file"),
        (["--disk", "/no/such/disk"], 2, "there is no file /no/such/disk"),
        (["--set", "NO_SUCH_PARAMETER=1"], 2, "NO_SUCH_PARAMETER"),
        (["--reserve", "NAME nonsense"], 2, "nonsense"),
        (["--set", "GBLSECTIONS=abc"], 2, "GBLSECTIONS: 'abc' is no number"),
        (["--config", "/no/such/config", "--", "/x"], 2, "there is no file /no/such/config"),
        (["--config", str(RUN), "--", "/x"], 2, "no configuration blob at offset 0"),
        (["--append", "x" * 300], 126, "255 bytes"),
    ],
)
def test_wrong_arguments(arguments: list[str], status: int, says: str) -> None:
    done = subprocess.run([RUN, *arguments], capture_output=True, text=True)
    assert done.returncode == status
    assert says in done.stderr and done.stdout == ""


def test_no_room_for_temporary_files() -> None:
    """An initrd of megabytes does not fit into a file of at most 64 KiB."""
    command = f"ulimit -f 64; exec {RUN} -- /bin/true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 126 and "Traceback" not in done.stderr
    assert "scripts/run: " in done.stderr and "File too large" in done.stderr


def test_a_socket_replaces_no_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    command = [RUN, "--gdb-socket", file, "--timeout", "3", "--", "/bin/true"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "is there, and no socket" in done.stderr
    assert file.read_text() == "mine"


def test_the_image_has_the_programs_that_the_command_names() -> None:
    words = ("/bin/sh", "-c", "ls /tests; /tests/wait_many")
    done = run_guest(*words, memory="64M", users_image=True).expect(0)
    listed, program = done.text.split("\nok 1 ", 1)
    assert "wait_many" in listed.split() and len(listed.split()) < 8 and "\n1.." in program
    done = run_guest("/bin/ls", "/tests", memory="256M", options=["--tests"]).expect(0)
    assert len(done.text.split()) > 40


def test_an_initrd_that_does_not_fit_is_refused() -> None:
    """The emulator would put it over the kernel, which then says nothing."""
    done = run_guest("/bin/true", memory="64M", options=["--tests"])
    assert done.status == 126 and "64 MiB of memory are not enough (-m)" in done.console


def test_a_program_is_what_has_a_source() -> None:
    """Neither headers nor beginnings of names are asked of make, which has no rule for them."""
    assert all(map(image.is_program, ("tests/wait_many", "tests/failure", "bench/pool")))
    for name in ("bench/alone", "bench/bench", "tests/s", "tests/nosuch"):
        assert not image.is_program(name)


# When nothing reads the console it is full, and the machine waits a second before it powers off.
LAST_SECOND = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    volatile uint32_t *writes =
        mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int console = open("/dev/console", O_WRONLY);
    static char zeros[256];
    uint32_t seen = 0;
    pid_t filler = fork();

    while (filler == 0) {
        if (write(console, zeros, 1) != 1)
            _exit(1);
        ++*writes;
    }
    for (unsigned same = 0; same < 50; same = *writes == seen ? same + 1 : 0, seen = *writes)
        usleep(10000);
    kill(filler, SIGKILL);
    if (waitpid(filler, 0, 0) != filler)
        return 1;
    for (int i = 0; i < 2; i++)
        if (fork() == 0)
            while (write(1, zeros, sizeof(zeros)) > 0)
                ;
    usleep(100000);
    _exit(0);
}
"""


def last_second(program: Path, smp: int) -> tuple[list[str], list[set[int]]]:
    """Frames after the result, and the IPLs of all CPUs, as often as they could be read."""
    # Nobody reads the console, which must have room for the firmware's lines of each device.
    words = ["--smp", str(smp), "--entropy", "none", "--add", str(program), "--", "/last_second"]
    options = run_options.parser().parse_args(words)
    decoder, behind, levels = frames.Decoder(), [], []
    result, deadline = False, time.monotonic() + 60
    with Machine(run_command.settings(options, options.command[1:], None)) as machine:
        while time.monotonic() < deadline:
            if select.select([machine.com2], [], [], 0.01)[0]:
                data = machine.com2.recv(65536)
                if not data:
                    break
                for frame in decoder.feed(data):
                    behind += [frame.type] if result else []
                    result = result or frame.type == frames.RESULT
            if result:
                try:
                    state = machine.monitor.human("info registers -a")
                except MonitorError:
                    break
                levels.append({int(ps, 16) & 7 for ps in re.findall(r" PS +([0-9a-f]{2})", state)})
    assert result
    return behind, levels


KILLED_WRITER = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile uint32_t *writes;
static pid_t writer(void)
{
    static char block[3000];
    pid_t pid = fork();

    while (pid == 0) {
        write(1, block, sizeof(block));
        ++*writes;
    }
    return pid;
}
int main(void)
{
    int console = open("/dev/console", O_WRONLY);
    uint32_t seen = 0;
    pid_t first, second;

    writes = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    first = writer(); /* it waits for the host, */
    for (unsigned same = 0; same < 100; same = *writes == seen ? same + 1 : 0, seen = *writes)
        usleep(10000);
    second = writer(); /* and this for its turn */
    usleep(100000);
    for (pid_t pid = second; pid; pid = pid == second ? first : 0) {
        kill(pid, SIGKILL);
        if (waitpid(pid, 0, 0) != pid)
            return 1;
    }
    write(console, "both have ended\n", 16);
    write(1, "end", 3);
    return 0;
}
"""


def test_who_writes_is_killed_while_the_host_does_not_read(tmp_path: Path) -> None:
    """And nothing is lost of what others write: the frame that was cut off is completed."""
    (tmp_path / "writer.c").write_text(KILLED_WRITER)
    program = tmp_path / "writer"
    subprocess.run([CROSS_CC, tmp_path / "writer.c", "-o", program], check=True)
    options = run_options.parser().parse_args(["--add", str(program), "--", "/writer"])
    decoder, found, console = frames.Decoder(), [], b""
    with Machine(run_command.settings(options, options.command[1:], None)) as machine:
        while b"both have ended" not in console:
            assert select.select([machine.com1], [], [], 120)[0], console
            console += machine.com1.recv(65536)
        while not found or found[-1].type != frames.RESULT:
            assert select.select([machine.com2], [], [], 120)[0]
            found += decoder.feed(machine.com2.recv(65536))
    output = b"".join(frame.payload for frame in found if frame.type == frames.OUTPUT)
    assert len(output) > 512 and output.strip(b"\0") == b"end"


@pytest.mark.parametrize("smp", [1, 2])
def test_nothing_follows_the_result(smp: int, tmp_path: Path) -> None:
    """The CPU that has sent it powers the machine off: no other process runs or sends anything."""
    (tmp_path / "last_second.c").write_text(LAST_SECOND)
    program = tmp_path / "last_second"
    subprocess.run([CROSS_CC, tmp_path / "last_second.c", "-o", program], check=True)
    for _ in range(5):  # on a busy host the second may be over before the first look
        behind, levels = last_second(program, smp)
        assert behind == []
        assert all(max(of_cpus) >= IPL_ASTDEL for of_cpus in levels), levels
        if levels:
            return
    pytest.fail("nobody could look at the CPUs")


def test_lines_of_the_console_are_not_cut_by_others() -> None:
    """What the program writes goes to the same place by another line of the machine."""
    end, fd = os.pipe()
    lines = ConsoleLines(fd)
    lines.feed(b"kernel: a mess")
    os.write(fd, b"program: done\n")
    lines.feed(b"age\r\nlogin: ")
    os.write(fd, b"program: more\n")
    assert (due := lines.due) is not None
    lines.feed(b"")
    assert lines.due == due  # from the first byte that waits, not from the last
    lines.flush()  # as the session does when that time has come
    assert lines.due is None
    os.close(fd)
    with open(end, "rb") as reader:
        assert reader.read() == (b"program: done\nkernel: a message\nprogram: more\nlogin: ")


def test_files_of_the_working_folder_are_not_imported(tmp_path: Path) -> None:
    """A file of the user's is no module of the tools, whatever it is called."""
    for name in ("random", "json", "shutil", "megalith", "sysman"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('mine')\n")
    tools = (
        "run",
        "sda",
        "memmap",
        "tbmap",
        "save",
        "sysman",
        "bench",
        "schedules",
        "profile",
        "planted",
    )
    for tool in tools:
        command = [TOP / "scripts" / tool, "--help"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, "mine" in done.stderr) == (0, False), (tool, done.stderr)


def test_a_path_in_the_guest_begins_with_a_slash(tmp_path: Path) -> None:
    (tmp_path / "hello").write_text("hi\n")
    words = [TOP / "scripts/run", "--add", f"{tmp_path}/hello:bin/hello", "--", "/bin/true"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"begins with a slash, as in {tmp_path}/hello:/bin/hello" in done.stderr

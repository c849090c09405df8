"""The source of entropy: a virtio-rng device, whose bytes come from the host, or in these tests
from a FIFO, which has as many as the test writes. Runs that are to be repeated have no such
device."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.guest import run_guest
from megalith.run.paths import TOP

PORTION = 32  # bytes that the kernel mixes in at a time
AVAILABLE = "/proc/sys/kernel/random/entropy_avail"

# What getrandom does before the first bytes have come, and when they come. 20 of them do not
# suffice; the program says when it wants which.
AWAITED = r"""
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

static void ignore(int sig) { (void)sig; }
static char b[32];

static void say(const char *what, long r)
{
    printf("%s: %ld %s\n", what, r, r < 0 ? strerrorname_np(errno) : "0");
    fflush(stdout);
}

int main(void)
{
    struct sigaction act = {.sa_handler = ignore};
    int fd = open("/dev/random", O_RDONLY | O_NONBLOCK), status;
    pid_t pid;

    say("nonblock", getrandom(b, 32, GRND_NONBLOCK));
    say("bad flags", getrandom(b, 32, 64));
    say("insecure", getrandom(b, 32, GRND_INSECURE));
    say("random", read(fd, b, 32));
    say("urandom", read(open("/dev/urandom", O_RDONLY), b, 32));
    sigaction(SIGALRM, &act, NULL);
    alarm(1);
    say("interrupted", getrandom(b, 32, 0));
    for (int k = 0; k < 3; k++) {
        if ((pid = fork()) == 0)
            _exit(getrandom(b, 32, 0) == 32 ? 7 : 1);
        if (k == 0) {
            usleep(100000);
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            say("killed", WTERMSIG(status));
            say("20 bytes, please", 0);
        }
    }
    sleep(1);
    say("not enough", getrandom(b, 32, GRND_NONBLOCK));
    say("12 bytes, please", 0);
    say("enough", getrandom(b, 32, 0));
    for (int k = 0; k < 2; k++) {
        wait(&status);
        say("a child", WEXITSTATUS(status));
    }
    say("nonblock", getrandom(b, 32, GRND_NONBLOCK));
    say("random", read(fd, b, 32));
    return 0;
}
"""

SAID = """\
nonblock: -1 EAGAIN
bad flags: -1 EINVAL
insecure: 32 0
random: -1 EAGAIN
urandom: 32 0
interrupted: -1 EINTR
killed: 9 0
20 bytes, please: 0 0
not enough: -1 EAGAIN
12 bytes, please: 0 0
enough: 32 0
a child: 7 0
a child: 7 0
nonblock: 32 0
random: 32 0
"""

DRAWN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
int main(int argc, char *argv[])
{
    unsigned long b;

    if (argc > 1)
        sleep(atoi(argv[1]));
    printf("%d ", getrandom(&b, sizeof(b), 0) == sizeof(b));
    printf("%016lx\n", b);
    return 0;
}
"""


def compiled(folder: Path, name: str, text: str) -> Path:
    source, program = folder / f"{name}.c", folder / name
    source.write_text("#define _GNU_SOURCE\n" + text)
    subprocess.run([TOP / "scripts/cc", source, "-o", program], check=True)
    return program


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("drawn"), "drawn", DRAWN)


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A FIFO and its end for writing, which is open all the time."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    end = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    yield path, end
    os.close(end)


def left_in(end: int) -> int:
    """How many bytes nobody has read."""
    try:
        return len(os.read(end, 65536))
    except BlockingIOError:
        return 0


def draw(program: Path, *options: str, seconds: str = "0") -> str:
    done = run_guest("/drawn", seconds, options=["--add", str(program), *options])
    words = done.expect(0).text.split()
    assert words[0] == "1"
    return words[1]


def test_there_is_a_source() -> None:
    assert run_guest("/bin/cat", AVAILABLE).expect(0).text == "256\n"


@pytest.mark.parametrize("options", [("--entropy", "none"), ("--icount",), ("--schedule", "3")])
def test_there_is_none(options: tuple[str, ...]) -> None:
    assert run_guest("/bin/cat", AVAILABLE, options=options).expect(0).text == "0\n"


def test_random_bytes_of_a_run_that_repeats(drawn: Path) -> None:
    """The same each time; those of other runs differ."""
    assert draw(drawn, "--schedule", "3") == draw(drawn, "--schedule", "3")
    assert draw(drawn) != draw(drawn)


def test_a_source_that_is_slow(tmp_path: Path, fifo: tuple[Path, int]) -> None:
    """Until the source has sent a whole portion, getrandom waits, and who waits can be interrupted
    and killed."""
    path, end = fifo
    program = compiled(tmp_path, "awaited", AWAITED)
    words = ["--timeout", "100", "--smp", "2", "--validate", "--entropy", path, "--add", program]
    with subprocess.Popen(
        [TOP / "scripts/run", *words, "--", "/awaited"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        said = ""
        for line in run.stdout:
            said += line
            if "please" in line:
                os.write(end, os.urandom(int(line.split()[0])))
        console = run.communicate()[1]
    assert run.returncode == 0, console
    assert said == SAID
    assert "the source of entropy is silent" in console


def test_bytes_are_mixed_in_again(drawn: Path, fifo: tuple[Path, int]) -> None:
    """At boot and every 60 seconds, here of virtual time."""
    path, end = fifo
    for seconds, least, most in (("0", 1, 1), ("30", 1, 1), ("200", 2, 4)):
        os.write(end, bytes(10 * PORTION))
        draw(drawn, "--icount", "--entropy", str(path), seconds=seconds)
        taken = 10 * PORTION - left_in(end)
        assert taken % PORTION == 0 and least <= taken // PORTION <= most, seconds


@pytest.mark.parametrize("name", ["/nowhere", __file__, "/dev"])
def test_what_is_no_source(name: str) -> None:
    done = run_guest("/bin/echo", options=["--entropy", name], validate=False)
    assert done.status == 2 and "no device or FIFO" in done.console

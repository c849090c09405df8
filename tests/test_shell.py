"""The shell: the same cases on a host build under sanitizers and, in one boot, on /bin/sh in the
guest."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import subprocess
import time
from pathlib import Path

import pexpect
import pytest

TOP = Path(__file__).parent.parent

# Script, its standard output, its exit status. Uses only files and programs that the guest has too.
CASES = [
    ("echo hello \"a  b\" 'c $x' d\\ e", "hello a  b c $x d e\n", 0),
    ('x=5; echo $x "${x}y" ${#x} ${nope:-default} ${x:+set}', "5 5y 1 default set\n", 0),
    ("echo $(echo nested $(echo deep)) `echo back`", "nested deep back\n", 0),
    ('for i in a b "c d"; do echo "<$i>"; done', "<a>\n<b>\n<c d>\n", 0),
    (
        "i=0; while [ $i -lt 5 ]; do i=$((i+1)); [ $i -eq 3 ] && continue; echo $i; done",
        "1\n2\n4\n5\n",
        0,
    ),
    ("if false; then echo no; elif true; then echo elif; else echo else; fi", "elif\n", 0),
    ("true && echo and || echo or; false && echo and || echo or", "and\nor\n", 0),
    ("! false; echo $?; (exit 3); echo $?", "0\n3\n", 0),
    ("sh -c -- 'echo $0 $1; exit 5' name one; echo $?", "name one\n5\n", 0),
    ("echo one | cat | cat", "one\n", 0),
    ("{ echo a; echo b; } | wc", "2 2 4\n", 0),
    ("echo out > f; echo more >> f; cat < f; rm f", "out\nmore\n", 0),
    ("cat /nonexistent 2>/dev/null; echo $?", "1\n", 0),
    ("{ echo lost; echo kept 1>&2; } 2>&1 >/dev/null", "kept\n", 0),
    ("(cd /tmp; pwd); cd /; pwd", "/tmp\n/\n", 0),
    ("X=1; export X; Y=2 sh -c 'echo $X$Y'; echo \"[$Y]\"", "12\n[]\n", 0),
    ("sh -c 'echo $# $0 \"$2\"; shift; echo \"$@\"' name p1 'p 2'", "2 name p 2\np 2\n", 0),
    ("echo /no/such/* '/bin/*'", "/no/such/* /bin/*\n", 0),
    (
        'x="a b c"; for w in $x; do echo $w; done; for w in "$x"; do echo $w; done',
        "a\nb\nc\na b c\n",
        0,
    ),
    ("echo a;echo b # comment", "a\nb\n", 0),
    ("until true; do echo never; done; echo done", "done\n", 0),
    (
        "for i in 1 2; do for j in 1 2 3; do [ $j = 2 ] && continue 2; echo $i$j; done; done",
        "11\n21\n",
        0,
    ),
    ("false; x=$?; echo $x; x=$(exit 3); echo $?; x=1; echo $?", "1\n3\n0\n", 0),
    ("(exit 7) & wait $!; echo $?", "7\n", 0),
    ("nosuchcommand 2>/dev/null; echo $?", "127\n", 0),
    (
        "echo $((2+3*4)) $(((2+3)*4)) $((7/2)) $((-7%3)) $((1<2)) $((1==2||3>2))",
        "14 20 3 -1 1 1\n",
        0,
    ),
    ('echo "quote \\" dollar \\$ back \\\\ tick \\`"', 'quote " dollar $ back \\ tick `\n', 0),
    ("for i in 1 2 3 4 5 6 7 8; do echo $i; done | { read a; read b; echo $b$a; }", "21\n", 0),
    ("kill -9 $$", "", 137),
    ("exit 4", "", 4),
    ("false", "", 1),
]

NOT_COMPLETE = [
    "if true",
    'echo "abc',
    "(",
    "echo a |",
    "echo ${",
    "&&",
    "while true; do",
    "| x",
    "fi",
    ") x",
    ";",
    "for 1 in a",
    "cat <<E\necho no\nE",
    "f() {\necho no\n}",
    "case a in\na) echo no;;\nesac",
]


@pytest.fixture(scope="module")
def shell(tmp_path_factory) -> Path:
    """The shell built for this host; wc, rm and the like are the host's."""
    program = tmp_path_factory.mktemp("sh") / "sh"
    sources = sorted((TOP / "userland/bin/sh").glob("*.c"))
    flags = "-std=gnu11 -g -O1 -Wall -Wextra -Werror"
    flags += " -fsanitize=address,undefined -fno-sanitize-recover=all"
    subprocess.run(["gcc", *flags.split(), *sources, "-o", program], check=True)
    return program


def environment(shell: Path) -> dict[str, str]:
    return {"PATH": f"{shell.parent}:/bin:/usr/bin", "ASAN_OPTIONS": "detect_leaks=0"}


@pytest.mark.parametrize(("script", "output", "status"), CASES)
def test_on_the_host(shell, tmp_path, script, output, status):
    done = subprocess.run(
        [shell, "-c", script],
        capture_output=True,
        text=True,
        env=environment(shell),
        cwd=tmp_path,
    )
    assert " ".join(done.stdout.split()) == " ".join(output.split())
    assert (done.returncode if done.returncode >= 0 else 128 - done.returncode) == status
    assert "Sanitizer" not in done.stderr


def test_in_the_guest(tmp_path):
    """All cases in one boot, with the real /bin/sh."""
    lines = (f"sh -c {shlex.quote(script)}; s=$?; echo; echo @@$s" for script, _, _ in CASES)
    (tmp_path / "script").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [
            TOP / "scripts/run",
            "--timeout",
            "60",
            "--add",
            f"{tmp_path / 'script'}:/script",
            "--",
            "/bin/sh",
            "/script",
        ],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    answers = re.findall(r"(.*?)\n@@(\d+)\n", done.stdout, re.DOTALL)
    assert [(text.split(), int(status)) for text, status in answers] == [
        (output.split(), status) for _, output, status in CASES
    ], done.stderr


@pytest.mark.parametrize("script", NOT_COMPLETE)
def test_broken_syntax_is_status_2(shell, script):
    done = subprocess.run(
        [shell, "-c", script], capture_output=True, text=True, env=environment(shell)
    )
    assert done.returncode == 2 and done.stdout == "" and "Sanitizer" not in done.stderr


def test_script_reads_its_own_input(shell):
    """A command can read the lines that follow it."""
    script = 'if true\nthen echo yes\nfi\necho "two\nlines"\nread x\nthis is data\necho got $x\n'
    done = subprocess.run(
        [shell], input=script, capture_output=True, text=True, env=environment(shell)
    )
    assert done.stdout == "yes\ntwo\nlines\ngot this is data\n"


def test_line_editor(shell):
    """Keys at a terminal: arrows, history, deletion, an interrupted line, the end of input."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(shell, ["sh"], environment(shell))

    def until(mark: bytes) -> bytes:
        seen = b""
        while not seen.endswith(mark):
            assert select.select([fd], [], [], 10)[0], seen
            seen += os.read(fd, 4096)
        return seen

    prompt = b"megalith$ "
    until(prompt)
    for keys, answer in [
        (b"echo hi\r", b"\r\nhi\r\n"),
        (b"\x1b[A\r", b"\r\nhi\r\n"),
        (b"ech there" + b"\x1b[D" * 6 + b"o\x05!\r", b"\r\nthere!\r\n"),
        (b"garbage\x15echo\x01\x06\x7fE\x7fe\x05 ok\r", b"\r\nok\r\n"),
        (b"wrong\x03", b"^C\r\n"),
        (b"if true\rthen echo yes; fi\r", b"\r\nyes\r\n"),
    ]:
        os.write(fd, keys)
        assert until(prompt).endswith(answer + prompt)
    os.write(fd, b"(exit 5)\r")
    until(prompt)
    os.write(fd, b"\x04")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5


INPUT = """
#include <descrip.h>
#include <lib$routines.h>
#include <rmsdef.h>
#include <stdio.h>

int main(void)
{
    char text[80];
    struct dsc$descriptor_s into = {sizeof(text), DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
    unsigned short length;
    int status;
    $DESCRIPTOR(prompt, "line: ");

    while ((status = lib$get_input(&into, &prompt, &length)) & 1)
        printf("got %.*s\\n", length, text);
    puts(status == RMS$_EOF ? "end of file" : "wrong");
    return 1;
}
"""


def test_session_on_the_guest_terminal(tmp_path):
    """A user at `make run`: history, interrupt key, end of input, completion."""
    (tmp_path / "input.c").write_text(INPUT)
    words = [TOP / "scripts/cc", tmp_path / "input.c", "-o", tmp_path / "input"]
    subprocess.run(words, check=True)
    machine = pexpect.spawn(
        str(TOP / "scripts/run"),
        ["-m", "256M", "--smp", "2", "--timeout", "100", "--add", str(tmp_path / "input")],
        timeout=60,
        encoding="utf-8",
        dimensions=(24, 80),
    )

    def answer(keys: str, wanted: str) -> None:
        machine.send(keys)
        machine.expect(wanted)
        machine.expect("megalith\\$ ")

    def begin(line: str) -> None:
        """Types a line that prints "begun" when it is under way: what is typed earlier would reach
        the program unedited, and an interrupt would not reach it."""
        machine.send(line + "\r")
        machine.expect("\r\nbegun\r\n")

    def copied(line: str) -> None:
        """Types a line for `cat`, which prints it a second time."""
        machine.send(line + "\r")
        machine.expect(f"{line}\r\n{line}\r\n")

    machine.expect("megalith\\$ ")
    answer("echo one two\r", "\r\none two\r\n")
    answer("\x1b[A\x1b[D\x1b[D\x1b[DX\r", "\r\none Xtwo\r\n")
    begin("sh -c 'echo begun; exec sleep 100'")
    answer("\x03", "\\^C")
    answer("echo $?\r", "\r\n130\r\n")
    # In the shell, in between, and often in a child, which is mostly about to end.
    for forever in ("true", "x=$(echo a)", *["/bin/true"] * 12):
        begin(f"echo begun; while true; do {forever}; done; echo not this")
        answer("\x03", "\\^C\r\n")
        answer("echo $?\r", "\r\n130\r\n")
    begin("echo begun; cat")
    copied("hello")
    answer("\x04", "")
    answer("ls /bi\t\r", "hexdump\r\n")
    answer("show mem\t/res\t\r", "show memory /reserved .*There are no memory reservations")
    answer("true; sda pcs sh\t\t/su\t\r", "sda pcs show trace /summary .*NOTLOADED")
    begin("echo begun; cat")
    copied("once more")
    answer("\x1a", "\\[1\\] stopped  cat\r\n")
    answer("echo $?\r", "\r\n146\r\n")
    begin("sh -c 'echo begun; exec sleep 100' | cat")
    answer("\x1a", "\\[2\\] stopped  sh -c 'echo begun; exec sleep 100' \\| cat\r\n")
    answer("jobs\r", "\\[2\\] stopped .*\\[1\\] stopped  cat\r\n")
    answer("bg\r", "\\[2\\] running ")
    answer("exit\r", "There are stopped jobs")
    machine.send("fg %1\r")
    machine.expect("cat\r\n")
    copied("again")
    answer("\x03", "\\^C")
    answer("sleep 100 &\r", "")
    machine.send("fg\r")
    machine.expect("sleep 100\r\n")
    answer("\x03", "\\^C")
    answer("echo $?\r", "\r\n130\r\n")
    answer("(cat <>/dev/tty) & sleep 1; jobs\r", "stopped  \\( cat \\)\r\n")
    answer("kill -9 $!; fg\r", "Killed")
    for name in ("sysman", "sda"):
        for key in ("\x1a", "\x04"):  # ^Z is the end of input there, and ^D too
            machine.send(name + "\r")
            machine.expect(f"{name.upper()}> ")
            answer(key, "")
            answer("echo status $?\r", "\r\nstatus 0\r\n")
    machine.send("/input\r")
    machine.expect("line: ")
    machine.send("some words\r")
    machine.expect("got some words\r\nline: ")
    answer("\x1a", "end of file\r\n")
    answer("stty_is_kept=1; cat </dev/null; echo fine\r", "\r\nfine\r\n")
    machine.send("fg\r")  # the pipeline in the background
    machine.expect("exec sleep 100' \\| cat\r\n")
    time.sleep(0.5)
    answer("\x03", "\\^C")
    answer("sleep 1 & wait; echo done\r", "\r\ndone\r\n")
    machine.send("exit 7\r")
    machine.expect(pexpect.EOF)
    machine.close()
    assert machine.exitstatus == 7

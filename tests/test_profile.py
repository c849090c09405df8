"""scripts/profile: instructions by function and call stack, of a program whose numbers are known,
and of two processes that wake each other."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from megalith.bench import profile
from megalith.run.paths import TOP

ROUNDS = 100_000
PROGRAM = """
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
static jmp_buf place;
__attribute__((noinline)) static void burn(long n)
{
    __asm__ volatile("1: subq %0, 1, %0\\n\\tbne %0, 1b" : "+r"(n));
}
__attribute__((noinline)) static void inner(void) { burn(ROUNDS); longjmp(place, 1); }
__attribute__((noinline)) static void on_signal(int number)
{
    burn(2 * ROUNDS);
    __asm__ volatile("" : : "r"(number)); /* no jump to burn() */
}
__attribute__((noinline)) static void outer(void)
{
    if (!setjmp(place))
        inner();
    burn(ROUNDS);
    raise(SIGUSR1);
    burn(ROUNDS);
}
int main(void)
{
    signal(SIGUSR1, on_signal);
    outer();
    burn(ROUNDS);
    return 3;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("profile")
    (folder / "hello.c").write_text(PROGRAM)
    flags = ["-O2", f"-DROUNDS={ROUNDS}", "-static", "-Wl,--no-relax"]
    words = ["alpha-linux-gnu-gcc", *flags, "hello.c", "-o", "known"]
    subprocess.run(words, cwd=folder, check=True)
    return folder / "known"


def burnt(stacks: profile.Stacks) -> dict[str, int]:
    """Loops in burn(), by the callers below main."""
    found: dict[str, int] = {}
    for stack, count in stacks.items():
        if stack[-1] == "burn":
            callers = ";".join(stack[stack.index("main") :])
            found[callers] = found.get(callers, 0) + round(count / 2 / ROUNDS)
    return found


def test_instructions_are_counted_by_call_stack(program: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "out"
    words = [str(TOP / "scripts/profile"), "-o", str(prefix), "--add", f"{program}:/known"]
    done = subprocess.run([*words, "--", "/known"], capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    stacks = profile.read(prefix.with_suffix(".folded").read_text().splitlines())
    assert {stack[0] for stack in stacks} <= {"known", "kernel"}
    handled = "main;outer;raise;"
    found = burnt(stacks)
    in_handler = {s: n for s, n in found.items() if "on_signal" in s}
    assert {s: n for s, n in found.items() if s not in in_handler} == {
        "main;outer;inner;burn": 1,
        "main;outer;burn": 2,  # after longjmp, and after the handler
        "main;burn": 1,
    }
    assert sum(in_handler.values()) == 2 and all(s.startswith(handled) for s in in_handler)
    # The kernel's work for a system call stands above the function that made it.
    sent = [s for s in stacks if "sys_kill_[k]" in s or "sys_tgkill_[k]" in s]
    assert sent and all("raise" in s for s in sent)
    assert "[unknown]" not in {stack[-1] for stack in stacks}
    line = next(t for t in done.stdout.splitlines() if t.startswith("burn"))
    assert line.split()[1] == "user" and int(line.split()[2].replace(",", "")) >= 12 * ROUNDS
    titles = [e.text for e in ET.parse(prefix.with_suffix(".svg")).iter() if "title" in e.tag]
    assert any(title and title.startswith("burn: ") for title in titles)


def test_one_function_with_all_that_runs_meanwhile() -> None:
    """The kernel switches between two processes here; each goes on with its own frames."""
    words = ["-m", "1G", "--", "/bench/rows", "pipe_round_trip"]
    stacks, status, said = profile.here(words, within="timed")
    assert status == 0
    row = json.loads(said)
    found = profile.Profile(stacks)
    assert found.total / row["times"] == pytest.approx(row["instructions"], rel=0.02)
    reads = [s for s in stacks if "pipe_read_[k]" in s]
    assert {("timed" in s, "start_echo" in s) for s in reads} == {(True, False), (False, True)}
    switches = {s for s in stacks if s[-1] == "context_switch_[k]" and s[0] == "rows"}
    assert any("timed" in s for s in switches) and any("start_echo" in s for s in switches)
    # A thread's trap frames are popped: no user function stands above the kernel's.
    for stack in stacks:
        places = [profile.is_kernel(name) for name in stack[1:] if name != profile.PALCODE]
        assert places == sorted(places), stack


def test_the_table_counts_a_recursive_function_once() -> None:
    found = profile.Profile(profile.read(["p;f;f;g_[k] 5", "p;f 2", "p;f;[PALcode] 1"]))
    assert found.own == {"g_[k]": 5, "f": 2, "[PALcode]": 1}
    assert found.whole["f"] == found.total == 8
    assert [found.of(w) for w in ("user", "kernel", "PALcode")] == [2, 5, 1]


def test_a_flame_graph_is_as_wide_as_its_counts() -> None:
    text = profile.flame_graph({("p", "a<b>"): 3, ("p", "c"): 1}, "it & more")
    space = "{http://www.w3.org/2000/svg}"
    widths = {
        group.findtext(f"{space}title", "").split(":")[0]: float(rect.get("width", 0))
        for group in ET.fromstring(text).iter(f"{space}g")
        for rect in group.iter(f"{space}rect")
    }
    assert widths == {"all": 1200, "p": 1200, "a<b>": 900, "c": 300}

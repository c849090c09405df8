"""What the console says of a program that a trap has ended: why, where, and who called it."""

from __future__ import annotations

import re

from lib.guest import run_guest
from megalith.run.crash_places import CrashPlaces

# Way to crash, signal, what the first line of the reason says, functions from the innermost on.
STORE = ["store", "middle", "outer"]
WAYS = {
    "null": (11, r"store at 0: nothing is mapped there \(a null pointer\?\)", [*STORE, "null"]),
    "read_only": (11, r"store at \w+9: the protection of the mapping .*", [*STORE, "read_only"]),
    "guard": (11, r"store at \w+64: no access at all .* \(a guard page\?\)", [*STORE, "guard"]),
    "past_mapping": (11, r"store at \w+: .*\(24 bytes past the end of a mapping\)", STORE),
    "past_file": (10, r"store at \w+2003: past the end of the file that .*", [*STORE, "past_file"]),
    "stack": (11, r"store at \w+: the stack may not become larger .*", ["deeper"] * 20),
    "nowhere": (
        11,
        r"fetch of an instruction at 8: nothing .*",
        ["(nothing is mapped)", "nowhere"],
    ),
    "zero": (8, r"integer division by zero", ["__divl", "divide", "zero"]),
    "illegal": (4, r"04000000 is no instruction", ["illegal", "main"]),
}
SCRIPT = "\n".join(f"/tests/crashes {way}; echo {way} $?; sleep 1" for way in WAYS)


def test_reports() -> None:
    done = run_guest("/bin/sh", "-c", SCRIPT, smp=2, timeout=120).expect(0)
    assert done.text.split() == [w for way in WAYS for w in (way, str(128 + WAYS[way][0]))]
    reports = re.split(r"^crashes \(\d+\): SIG\w+$", done.console, flags=re.MULTILINE)[1:]
    assert len(reports) == len(WAYS), done.console
    for report, (way, (sig, reason, functions)) in zip(reports, WAYS.items(), strict=True):
        assert re.search(rf"^  {reason}$", report, re.MULTILINE), (way, report)
        assert re.search(r"^    +v0 [0-9a-f]{16}  t0 [0-9a-f]{16}", report, re.MULTILINE), report
        found = re.findall(r"^  (?:at|from) \w+ (?:/\S+ )?(.*?)(?: \(.*)?$", report, re.MULTILINE)
        assert found[: len(functions)] == functions, (way, report)
        assert way == "stack" or "main" in found, (way, report)
        if functions[0] == "store":
            assert re.search(r"store \(userland/tests/crashes\.c:\d+\)$", report, re.M), report
        assert f"ended by signal {sig}\n" in report
    mapping = r"^  mapping: \w+-\w+ rw-s /tmp/short\+0$"
    assert re.search(mapping, reports[list(WAYS).index("past_file")], re.MULTILINE)


def test_signals_that_are_sent_or_handled_are_not_explained() -> None:
    script = "/tests/crashes sent; echo $?; /tests/crashes handled; echo $?"
    done = run_guest("/bin/sh", "-c", script).expect(0)
    assert done.text.split() == ["139", "11"]
    assert "SIGSEGV" not in done.console


def test_who_crashes_again_and_again_does_not_fill_the_console() -> None:
    script = "i=0; while [ $i -lt 40 ]; do /tests/crashes null; i=$((i+1)); done"
    script += "; sleep 5; /tests/crashes null"
    done = run_guest("/bin/sh", "-c", script, smp=2, options=["--icount", "--smp", "1"])
    reported = done.expect(139).console.count("crashes (") - 41  # each has a line at its end
    left_out = [int(n) for n in re.findall(r"^(\d+) more crashes were not", done.console, re.M)]
    assert 4 < reported <= 12 and reported + sum(left_out) == 41, done.console


def test_names_are_added_to_lines_in_any_pieces() -> None:
    asked = []

    def function(path: str, offset: int) -> str:
        asked.append((path, offset))
        return "main (a.c:1)"

    text = b"$ x\r\n  from 120001234 /bin/a+0x24\r\n  at 8 (nothing)\r\nno  at 1 /a+0x1\r\n$ "
    for size in (1, 3, 7, 1000):
        filter_ = CrashPlaces(function)
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        shown = b"".join(map(filter_.feed, pieces))
        assert shown == text.replace(b"+0x24", b"+0x24 main (a.c:1)")
    assert set(asked) == {("/bin/a", 0x20)}  # the call

"""Conformance programs (userland/conformance) and the lines that they must print.

NAME.expect has a line "case: result" for each case of NAME.c, recorded by `scripts/oracle`: it runs
the program under QEMU's user-mode emulation of Linux/Alpha and, built for this machine, on its own
Linux. Where the two differ, the emulation is at fault in nearly all cases: the line has the answer
of this machine and names the other ("# native; emulation: ..."). A line with any other origin,
"case: result # origin", was decided by hand, because neither is what a Linux/Alpha machine does or
because this system differs on purpose: the origin names the manual page or the reason. Such lines
are kept when the others are recorded anew.

`scripts/oracle [NAME...]` needs qemu-alpha (package qemu-user) and root, since some cases change
identities.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from megalith.run.paths import BUILD, TOP

SOURCES = TOP / "userland/conformance"
PROGRAMS = BUILD / "user/conformance"
SECONDS = 120
NATIVE = "native; emulation:"


def names() -> list[str]:
    return sorted(source.stem for source in SOURCES.glob("*.c"))


def results(output: str) -> dict[str, str]:
    """The cases of a program's output, in its order. A case that comes twice is an error."""
    found: dict[str, str] = {}
    for line in output.splitlines():
        case, separator, result = line.rpartition(": ")
        if not separator or case in found:
            raise ValueError(f"'{line}' is no result, or its case has one already")
        found[case] = result
    return found


def expected(name: str) -> dict[str, tuple[str, str]]:
    """Each case of NAME.expect: the result, and its origin, "" if it was recorded."""
    path = SOURCES / f"{name}.expect"
    found: dict[str, tuple[str, str]] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        text, _, origin = line.partition(" # ")
        case, _, result = text.rpartition(": ")
        found[case] = (result, origin)
    return found


def differences(name: str, output: str) -> list[str]:
    """What a run printed otherwise than expected."""
    wanted = {case: result for case, (result, _) in expected(name).items()}
    got = results(output)
    found = [
        f"{name}: {case}: {got.get(case, 'missing')}, expected {result}"
        for case, result in wanted.items()
        if got.get(case) != result
    ]
    found += [f"{name}: {case}: not in {name}.expect" for case in got if case not in wanted]
    return found


def run(command: list[str]) -> tuple[dict[str, str], str]:
    """The results of a program that runs in an empty folder of its own, and a complaint or ""."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        done = subprocess.run(command, capture_output=True, cwd=folder, timeout=SECONDS, text=True)
    status = f"status {done.returncode} {done.stderr.strip()}" if done.returncode else ""
    return results(done.stdout), status


def native(name: str) -> Path:
    """The program, built for this machine."""
    program = BUILD / "host/conformance" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    source = SOURCES / f"{name}.c"
    subprocess.run(
        ["gcc", "-std=gnu11", "-O1", "-w", source, "-lpthread", "-o", program], check=True
    )
    return program


def record(name: str) -> list[str]:
    """Writes NAME.expect. Returns remarks."""
    emulated, complaint = run(["qemu-alpha", str(PROGRAMS / name)])
    remarks = [f"{name}: emulation: {complaint}"] if complaint else []
    machine, complaint = run([str(native(name))])
    remarks += [f"{name}: native: {complaint}"] if complaint else []
    decided = expected(name)
    lines = []
    for case, result in machine.items():
        by_hand, origin = decided.get(case, ("", ""))
        if origin and not origin.startswith(NATIVE):
            lines.append(f"{case}: {by_hand} # {origin}\n")
            if by_hand == result:
                remarks.append(f"{name}: {case}: Linux agrees with '{origin}'")
        elif emulated.get(case) == result:
            lines.append(f"{case}: {result}\n")
        else:
            lines.append(f"{case}: {result} # {NATIVE} {emulated.get(case, 'nothing')}\n")
    (SOURCES / f"{name}.expect").write_text("".join(lines))
    return remarks


def main() -> int:
    if os.geteuid() or not shutil.which("qemu-alpha"):
        print("scripts/oracle: needs root, and qemu-alpha (package qemu-user)", file=sys.stderr)
        return 2
    for name in sys.argv[1:] or names():
        for remark in record(name):
            print(remark)
    return 0


if __name__ == "__main__":
    sys.exit(main())

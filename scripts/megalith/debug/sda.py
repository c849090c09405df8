"""scripts/sda: the debugger for a saved state, or for a machine that waits for it."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from megalith.debug.saved import SavedError, SavedState
from megalith.run import control
from megalith.run.ends import end
from megalith.run.paths import GDB_COMMANDS, KERNEL, TOP, symbols_of_socket

# Folder in which scripts/gdb looks for the programs of a saved state.
PROGRAMS_VARIABLE = "MEGALITH_PROGRAMS"
STATE_VARIABLE = "MEGALITH_STATE"  # tells scripts/gdb/mg_base.py the file


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="scripts/sda",
        description="The System Dump Analyzer: GDB with Megalith's commands (`help sda`), on a "
        "state saved by scripts/run --save or scripts/save, or on a machine started by "
        "scripts/run --gdb.",
    )
    p.add_argument(
        "-c",
        metavar="COMMAND",
        dest="commands",
        action="append",
        default=[],
        help="run this command, then end; may be given several times",
    )
    p.add_argument(
        "--check", action="store_true", help="read all of FILE, and say whether it is whole"
    )
    p.add_argument(
        "target",
        metavar="FILE|SOCKET",
        nargs="?",
        type=Path,
        help="may be left out when one machine waits for GDB",
    )
    p.add_argument(
        "gdb", metavar="GDB OPTIONS...", nargs=argparse.REMAINDER, help="more options for GDB"
    )
    return p


def extract(state: SavedState, folder: Path) -> Path:
    """Extracts the saved ELF files into a folder; returns the kernel's."""
    kernel = folder / "megalith.elf"
    kernel.write_bytes(state.kernel())
    for name in state.programs:
        path = folder / "programs" / name.lstrip("/")
        if folder in path.resolve().parents:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(state.program(name))
    return kernel


def symbols_of(socket: Path, folder: Path) -> Path:
    """Links the programs of a running machine to where those of a saved state would be; returns the
    kernel's file."""
    try:
        symbols = json.loads(symbols_of_socket(socket).read_text())
    except (OSError, ValueError):
        return KERNEL  # a machine that another program has started
    for name, file in symbols["programs"].items():
        path = folder / "programs" / name.lstrip("/")
        if folder in path.resolve().parents and Path(file).is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(file)
    return Path(symbols["kernel"])


def waiting() -> Path:
    """The socket of the one machine that waits for GDB. Raises SavedError."""
    there = [path for path in control.machines() if (path.parent / "gdb").is_socket()]
    if len(there) == 1:
        return there[0].parent / "gdb"
    if not there:
        raise SavedError(
            "no machine waits for GDB: start one with make debug or scripts/run --gdb, or name a "
            "state that scripts/run --save or scripts/save has written"
        )
    lines = (f"\n  {path.parent / 'gdb'}  {control.command_of(path)}" for path in there)
    raise SavedError("which machine?" + "".join(lines))


def gdb_command(kernel: Path, options: argparse.Namespace) -> list[str]:
    stub = shlex.join([sys.executable, "-P", "-m", "megalith.debug.stub", str(options.target)])
    command = ["gdb-multiarch", "-q", str(kernel), "-x", str(GDB_COMMANDS)]
    command += ["-ex", f"target remote | {stub}"]
    for line in options.commands:
        command += ["-ex", line]
    return command + (["-batch"] if options.commands else []) + options.gdb


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        return debug(options)
    except (SavedError, OSError) as error:  # of the latter, a full disk
        print(f"scripts/sda: {error}", file=sys.stderr)
        return 2


def install_debugger() -> None:
    """GDB is no part of what `make run` installs: it comes when it is first wanted. Raises
    SavedError."""
    if not shutil.which("gdb-multiarch"):
        if subprocess.run([TOP / "scripts/setup", "--debugger"], stdout=sys.stderr).returncode:
            raise SavedError("gdb-multiarch is missing, and scripts/setup cannot install it")


def debug(options: argparse.Namespace) -> int:
    """Runs GDB on the target, and returns its status. Raises SavedError, OSError."""
    install_debugger()
    environment = os.environ | {"PYTHONPATH": f"{TOP / 'scripts'}:{TOP}"}
    with tempfile.TemporaryDirectory(prefix="megalith-sda-") as name:
        folder = Path(name)
        if options.target is None:
            options.target = waiting()
        if not options.target.exists():
            raise SavedError(f"there is no {options.target}")
        environment[PROGRAMS_VARIABLE] = str(folder / "programs")
        if options.target.is_socket():
            kernel = symbols_of(options.target, folder)
        else:
            with SavedState(options.target) as state:
                if options.check:
                    state.check()
                    print(f"{options.target}: whole; {state.reason}, {state.date}")
                    return 0
                kernel = extract(state, folder)
                environment[STATE_VARIABLE] = str(options.target.resolve())
                if not options.commands:
                    print(f"{options.target}: {state.reason}, {state.date}", flush=True)
        # ^C is handled by GDB.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        command = gdb_command(kernel, options)
        try:
            return subprocess.run(
                command,
                env=environment,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            ).returncode
        except FileNotFoundError:
            print(f"scripts/sda: {command[0]} is not installed: run scripts/setup", file=sys.stderr)
            return 2


if __name__ == "__main__":
    end(main)

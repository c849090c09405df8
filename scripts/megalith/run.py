"""scripts/run: boots the kernel, runs one command or a shell, and exits as the command did.

The exit status is the command's own; 128 + n when signal n killed it; 124 when the time was up;
125 when the kernel panicked or hung, ended without a result, or found memory inconsistent
(--validate); 126 when it could not be built or
started, or standard output took no more; 141 when the reader of standard output had gone; 2 when
the arguments are wrong.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from megalith import machine as machines
from megalith.initrd import Archive
from megalith.machine import Machine, MachineError, Settings
from megalith.paths import BUILD, INITRD, TOP
from megalith.session import SIGNAL_BASE, Session

STATUS_CANNOT_START = 126

CONFIG = "boot/config"
COMMAND_LINE = "boot/cmdline"
STARTUP = "etc/startup"  # the start-up script, which the shell runs before the command


def _memory(text: str) -> int:
    try:
        size = machines.parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not machines.MEMORY_MIN <= size <= machines.MEMORY_MAX:
        raise argparse.ArgumentTypeError(f"{text}: memory is from 64M to 1000G")
    if size % (1 << 20):
        raise argparse.ArgumentTypeError(f"{text}: memory is a whole number of MiB")
    return size


def _cpus(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= machines.CPUS_MAX:
        raise argparse.ArgumentTypeError(f"{text}: the machine has 1 to {machines.CPUS_MAX} CPUs")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds")
    return seconds


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path


def _new_file(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} cannot be written")
    return path


def _source(text: str) -> Path:
    """A file that is only read through, which a pipe can be."""
    path = Path(text)
    if not path.exists() or path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path


def _addition(text: str) -> tuple[Path, str]:
    """FILE, or FILE:/path."""
    name, separator, target = text.rpartition(":/")
    if separator and not Path(text).is_file():
        return _file(name), target
    return _file(text), Path(text).name


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="scripts/run",
        description="Boots Megalith, and runs COMMAND as its first program, or a shell.",
        epilog="Exit status: the command's own, 128+n when signal n killed it, 124 when the time "
        "is up, 125 when the kernel panicked or hung, 126 when nothing could be started or "
        "standard output took no more, 141 when its reader had gone. At a terminal, ^] ends the "
        "machine.",
    )

    def option(*names: str, **how) -> None:
        p.add_argument(*names, **how)

    def several(name: str, metavar: str, to: str, **how) -> None:
        p.add_argument(name, metavar=metavar, dest=to, action="append", default=[], **how)

    option(
        "-m",
        metavar="SIZE",
        dest="memory",
        type=_memory,
        default=machines.GIB,
        help="memory, up to 1000G (default 1G)",
    )
    option("--smp", metavar="N", type=_cpus, help="CPUs, 1 to 4 (default 2; 1 with --icount)")
    option("--config", metavar="FILE", type=_source, help="configuration blob, as sysman writes it")
    several("--set", "PARAM=VALUE", "parameters", help="a system parameter for this boot")
    several(
        "--reserve",
        "'NAME SIZE [OPTIONS]'",
        "reservations",
        help="an entry of the reserved-memory registry",
    )
    several(
        "--add",
        "FILE[:/path]",
        "additions",
        type=_addition,
        help="a file for the initrd (default path: /name); one at /etc/startup is a shell script "
        "that runs before COMMAND",
    )
    several("--disk", "IMG", "disks", type=_file, help="a raw image, for a virtio disk")
    option(
        "--icount",
        action="store_true",
        help="count instructions: one is one nanosecond of virtual time",
    )
    option(
        "--validate",
        action="store_true",
        help="check all memory when COMMAND has ended: status 125 when a page is lost or doubled",
    )
    option("--gdb", action="store_true", help="wait for GDB before the first instruction")
    option("--gdb-socket", metavar="PATH", type=Path, help="where GDB's socket is to lie")
    option(
        "--save",
        metavar="FILE",
        type=_new_file,
        help="when the kernel panics, hangs, or switches itself off without a result, save the "
        "state to FILE for scripts/sda (scripts/save does it at any time)",
    )
    option("--timeout", metavar="SECONDS", type=_seconds, help="end the machine after that")
    option("--append", metavar="WORDS", default="", help="more of the kernel's command line")
    option(
        "command",
        nargs=argparse.REMAINDER,
        metavar="[--] COMMAND ARGS...",
        help="the first program and its arguments",
    )
    return p


def configuration(options: argparse.Namespace) -> bytes | None:
    """The configuration blob that the options ask for, or none. Raises SysmanError, OSError."""
    if not (options.config or options.parameters or options.reservations):
        return None
    if options.config and not (options.parameters or options.reservations):
        return options.config.read_bytes()  # as it is, however broken
    from sysman.configuration import Configuration

    wanted = Configuration.load(options.config) if options.config else Configuration()
    for parameter in options.parameters:
        wanted.set_parameter(parameter)
    for reservation in options.reservations:
        wanted.reserve(reservation)
    return wanted.to_bytes()


def initrd(options: argparse.Namespace, command: list[str]) -> bytes:
    archive = Archive()
    # What the kernel needs first stands first.
    blob = configuration(options)
    if blob is not None:
        archive.add(CONFIG, blob, 0o644)
    if command:
        if any(name.strip("/") == STARTUP for _, name in options.additions):
            command = ["/bin/sh", "--startup", *command]
        words = b"".join(os.fsencode(word) + b"\0" for word in command)
        archive.add(COMMAND_LINE, words, 0o644)
    archive.files |= Archive.from_bytes(INITRD.read_bytes()).files
    for path, name in options.additions:
        archive.add_file(path, name)
    return archive.to_bytes()


def settings(options: argparse.Namespace, command: list[str]) -> Settings:
    words = ["cmd"] if command else []
    if not options.icount:
        # The machine's clock counts from 0; with --icount it stays there, so that runs repeat.
        words.append(f"time={int(time.time())}")
    if options.validate:
        words.append("validate")
    words += options.append.split()
    line = " ".join(words)
    if len(os.fsencode(line)) > machines.COMMAND_LINE_MAX:
        raise MachineError(f"the kernel's command line holds {machines.COMMAND_LINE_MAX} bytes")
    return Settings(
        initrd=initrd(options, command),
        memory=options.memory,
        cpus=options.smp or (1 if options.icount else 2),
        command_line=line,
        disks=tuple(options.disks),
        icount=options.icount,
        gdb=options.gdb or options.gdb_socket is not None,
        gdb_socket=options.gdb_socket,
        keep=options.save is not None,
    )


def programs(options: argparse.Namespace) -> dict[str, Path]:
    """The programs of the initrd with their symbols: files by paths in the guest."""
    files = {f"/{p.parent.name}/{p.name}": p for p in (BUILD / "user").glob("*/*") if p.is_file()}
    return files | {f"/{name.lstrip('/')}": path for path, name in options.additions}


def _standard_input() -> int | None:
    try:
        os.fstat(0)
    except OSError:
        return None
    return 0


def _end_by_signal(number: int, _frame: FrameType | None) -> None:
    """Ends this program in good order, with the status that the signal itself would give."""
    sys.exit(SIGNAL_BASE + number)


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    # The machine goes with this program.
    signal.signal(signal.SIGTERM, _end_by_signal)
    signal.signal(signal.SIGHUP, _end_by_signal)
    from sysman.errors import SysmanError

    try:
        wanted = settings(options, command)
    except SysmanError as error:
        print(f"scripts/run: {error}", file=sys.stderr)
        return 2
    except (MachineError, ValueError, OSError) as error:
        print(f"scripts/run: {error}", file=sys.stderr)
        return STATUS_CANNOT_START
    try:
        with Machine(wanted) as machine:
            if machine.gdb_socket is not None:
                print(
                    f"scripts/run: waiting for GDB; in another terminal:\n"
                    f"  {TOP / 'scripts/sda'} {machine.gdb_socket}",
                    file=sys.stderr,
                    flush=True,
                )
            session = Session(
                machine,
                interactive=not command,
                seconds=options.timeout,
                stdin=_standard_input(),
                save=options.save,
                programs=lambda: programs(options),
            )
            return session.run()
    except MachineError as error:
        print(f"scripts/run: {error}", file=sys.stderr)
        return STATUS_CANNOT_START
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())

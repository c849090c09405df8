"""scripts/run: boots the kernel, runs one command or a shell, and exits with its status.

The exit status is that of the command; 128 + n when signal n killed it; 124 when the time limit
expired; 125 when the kernel panicked or hung, ended without a result, or found memory inconsistent
(--validate); 126 when it could not be built or started, or standard output could not be written;
141 when the reader of standard output had gone; 2 when the arguments are wrong.
"""

from __future__ import annotations

import argparse
import dataclasses
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from megalith.run import image
from megalith.run import machine as machines
from megalith.run import options as run_options
from megalith.run import recording as recordings
from megalith.run.machine import Machine, MachineError, Settings
from megalith.run.paths import (
    BUILD,
    BUSYBOX,
    TOP,
    symbols_of_socket,
)
from megalith.run.recording import RecordingError
from megalith.run.session import SIGNAL_BASE, STATUS_PANIC, STATUS_TIMEOUT, Inspection, Session

STATUS_CANNOT_START = 126

# A replay counts as stuck when it takes this much longer than the recorded run.
REPLAY_FACTOR = 4
REPLAY_SECONDS = 60

ENTROPY = Path("/dev/urandom")


def disks(options: argparse.Namespace) -> tuple[machines.Disk, ...]:
    """The disks with their faults; the system disk, which is made if it is missing, comes first."""
    made = [options.system_disk.ready()] if options.system_disk else []
    made += options.disks
    if sum(disk.ide for disk in made) > machines.IDE_CHANNELS:
        raise MachineError(f"the IDE controller has {machines.IDE_CHANNELS} channels")
    for number, faults in options.disk_faults:
        if number >= len(made):
            raise MachineError(f"--disk-fault: there is no disk {number}")
        made[number] = dataclasses.replace(made[number], faults=made[number].faults + faults)
    if options.disk_log:
        if not made or made[0].faults:
            raise MachineError("--disk-log: there is no first disk, or it has --disk-fault")
        options.disk_log.write_bytes(b"")
        made[0] = dataclasses.replace(made[0], log=options.disk_log)
    return tuple(made)


def default_cpus(options: argparse.Namespace) -> int:
    if options.schedule is not None:
        return machines.CPUS_MAX
    return 1 if options.icount or options.record else 2


def terminal_word() -> str:
    """For the console of the guest: the size of the terminal here; 0x0 where input is none."""
    try:
        columns, lines = os.get_terminal_size(0)
    except OSError:
        return "terminal=0x0"
    # A terminal that does not know its size gets what terminals usually have.
    return f"terminal={lines}x{columns}" if lines and columns else "terminal=24x80"


def entropy(options: argparse.Namespace) -> Path | None:
    """Where random bytes come from. A run that is to be repeated has no source of entropy: those of
    another run would differ, and whoever has a recording would have the keys made in it."""
    if "entropy" in options:
        return options.entropy
    exact = options.icount or options.schedule is not None or options.record is not None
    return None if exact or not os.access(ENTROPY, os.R_OK) else ENTROPY


def input_is_empty() -> bool:
    """Is standard input /dev/null? Then a run with --icount need not hear of its end, which would
    come at any moment and change what follows."""
    source = _standard_input()
    return source is None or os.fstat(source).st_rdev == os.stat(os.devnull).st_rdev


def settings(
    options: argparse.Namespace,
    command: list[str],
    before_stop: Callable[[Machine], None] | None,
    extra: str = "",
) -> Settings:
    """`extra`: words for the kernel besides those that the options give."""
    words = ["cmd"] if command else [terminal_word()]
    if options.schedule is not None:
        shift = Settings(b"", schedule=options.schedule).shift
        words += [f"schedule={options.schedule}", f"shift={shift}"]
    elif not options.icount:
        # The machine's clock counts from 0; with --icount it stays there, so that runs repeat.
        words.append(f"time={int(time.time())}")
    if options.validate:
        words.append("validate")
    empty = options.schedule is not None or (options.icount and bool(command) and input_is_empty())
    words += ["noinput"] if empty else []
    words += [f"share{n}={share.path}" for n, share in enumerate(options.shares)]
    words += extra.split() + options.append.split()
    line = " ".join(words)
    if len(os.fsencode(line)) > machines.COMMAND_LINE_MAX:
        raise MachineError(f"the kernel's command line holds {machines.COMMAND_LINE_MAX} bytes")
    initrd = image.initrd(options, command)
    if len(initrd) + machines.MEMORY_REST > options.memory:
        raise MachineError(
            f"the programs and files of this run are {len(initrd) >> 20} MiB, for which "
            f"{options.memory >> 20} MiB of memory are not enough (-m)"
        )
    return Settings(
        initrd=initrd,
        kernel=options.kernel,
        memory=options.memory,
        cpus=options.smp or default_cpus(options),
        command_line=line,
        disks=disks(options),
        shares=tuple(options.shares),
        input_is_empty=empty,
        entropy=entropy(options),
        icount=options.icount,
        schedule=options.schedule,
        plugin=options.plugin,
        gdb=options.gdb or options.gdb_socket is not None,
        gdb_socket=options.gdb_socket,
        keep=options.save is not None or before_stop is not None,
        before_stop=before_stop,
    )


def programs(options: argparse.Namespace) -> dict[str, Path]:
    """The programs of the initrd with their symbols: files by paths in the guest."""
    files = {f"/{p.parent.name}/{p.name}": p for p in (BUILD / "user").glob("*/*") if p.is_file()}
    if (BUSYBOX / "busybox.symbols").is_file():
        files["/bin/busybox"] = BUSYBOX / "busybox.symbols"
    return files | {f"/{name.lstrip('/')}": path for path, name in options.additions}


def _standard_input() -> int | None:
    try:
        os.fstat(0)
    except OSError:
        return None
    return 0


def _end_by_signal(number: int, _frame: FrameType | None) -> None:
    """Ends this program in an orderly way, with the status that the signal itself would give."""
    sys.exit(SIGNAL_BASE + number)


def record(
    options: argparse.Namespace, command: list[str], wanted: Settings, inspection: Inspection
) -> int:
    """Runs the machine and writes the recording."""
    path: Path = options.record
    beside = recordings.beside_of(path)
    emulator = recordings.emulator()
    beside.touch()  # finds out before the run whether the file can be written
    try:
        with tempfile.TemporaryDirectory(prefix="megalith-record-") as folder:
            log = Path(folder) / "log"
            kernel = wanted.kernel.read_bytes()  # read now: it may be rebuilt during the run
            (Path(folder) / "kernel").write_bytes(kernel)
            wanted = dataclasses.replace(wanted, record_log=log, kernel=Path(folder) / "kernel")
            begin = time.monotonic()
            with Machine(wanted) as machine:
                session = Session(
                    machine,
                    inspection,
                    interactive=not command,
                    seconds=options.timeout,
                    stdin=_standard_input(),
                )
                try:
                    status = session.run()
                except SystemExit as end:
                    status = int(end.code or 0)
                seconds = time.monotonic() - begin
                if not session.log_whole:
                    raise RecordingError("the emulator did not end its log: nothing is recorded")
            recordings.Recording(
                memory=wanted.memory,
                command_line=wanted.command_line,
                command=command,
                qemu=emulator,
                seconds=seconds,
                outcome=session.outcome(status),
                kernel=kernel,
                initrd=wanted.initrd,
                log=log.read_bytes(),
            ).save(path)
    finally:
        beside.unlink(missing_ok=True)
    print(f"scripts/run: recorded in {path}", file=sys.stderr)
    return status


def replay(options: argparse.Namespace, inspection: Inspection) -> int:
    """Replays a recording; status 126 when the result differs from what was recorded."""
    recording = recordings.Recording.load(options.replay)
    recording.check_emulator()
    with tempfile.TemporaryDirectory(prefix="megalith-replay-") as folder:
        kernel, log = Path(folder) / "megalith.elf", Path(folder) / "log"
        kernel.write_bytes(recording.kernel)
        log.write_bytes(recording.log)
        wanted = Settings(
            initrd=recording.initrd,
            kernel=kernel,
            memory=recording.memory,
            command_line=recording.command_line,
            replay_log=log,
            gdb=options.gdb or options.gdb_socket is not None,
            gdb_socket=options.gdb_socket,
        )
        seconds = options.timeout
        if seconds is None and not wanted.gdb:
            seconds = REPLAY_FACTOR * recording.seconds + REPLAY_SECONDS
        with Machine(wanted) as machine:
            announce_gdb(machine, {})
            session = Session(
                machine,
                inspection,
                interactive=recording.interactive,
                seconds=seconds,
                stdin=None,
                replayed=recording.outcome,
            )
            status = session.run()
    gave = session.outcome(status)
    if gave != recording.outcome and status != STATUS_TIMEOUT:
        was = recording.outcome
        print(
            f"scripts/run: this is not what was recorded: status {gave.status}, "
            f"{gave.output_bytes} bytes of output; then it was status {was.status}, "
            f"{was.output_bytes} bytes",
            file=sys.stderr,
        )
        return STATUS_CANNOT_START
    return status


def announce_gdb(machine: Machine, files: dict[str, Path]) -> None:
    """Prints how to attach a debugger to a waiting machine, and writes, beside the socket, where
    the debugger finds the symbols of the kernel and of programs."""
    if machine.gdb_socket is None:
        return
    symbols = {
        "kernel": str(machine.settings.kernel.resolve()),
        "programs": {name: str(path.resolve()) for name, path in files.items()},
    }
    symbols_of_socket(machine.gdb_socket).write_text(json.dumps(symbols))
    print(
        f"scripts/run: waiting for GDB; in another terminal:\n"
        f"  {TOP / 'scripts/sda'} {machine.gdb_socket}",
        file=sys.stderr,
        flush=True,
    )


def build(programs: set[str]) -> bool:
    """Builds what is out of date of what this run needs, one process at a time; make's output goes
    to standard error."""
    if os.environ.get("MEGALITH_BUILT"):
        return True
    BUILD.mkdir(exist_ok=True)
    clean = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    named = (f"build/initrd/{name}" for name in sorted(programs))
    make = ["make", "-s", "-C", str(TOP), "kernel", "initrd", *named]
    with open(BUILD / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return subprocess.run(make, env=clean, stdin=subprocess.DEVNULL, stdout=2).returncode == 0


def boot(
    options: argparse.Namespace, command: list[str], wanted: Settings, inspection: Inspection
) -> int:
    """Runs the machine to its end. Returns the status."""
    with Machine(wanted) as machine:
        announce_gdb(machine, programs(options))
        session = Session(
            machine,
            inspection,
            interactive=not command,
            seconds=options.timeout,
            stdin=_standard_input(),
            save=options.save,
            programs=lambda: programs(options),
        )
        status = session.run()
        return 0 if options.any_end and session.ended_by_itself() else status


def main(
    inspection: Inspection,
    before_stop: Callable[[Machine], None] | None,
    arguments: list[str] | None = None,
) -> int:
    """`before_stop` is called with a machine (except in a replay) that is about to be stopped."""
    options = run_options.parse(arguments)
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    # The machine ends with this program.
    signal.signal(signal.SIGTERM, _end_by_signal)
    signal.signal(signal.SIGHUP, _end_by_signal)
    from sysman.errors import SysmanError

    try:
        if not build(image.test_programs(options, command)):
            return STATUS_CANNOT_START
        if options.replay is not None:
            return replay(options, inspection)
        model = None
        if options.tb_model:
            sizes = (image.parameter(options, name) for name in ("VHPT_SIZE", "RADS"))
            model = inspection.tb_model(options.tb_model, *sizes)
        wanted = settings(options, command, before_stop, model.kernel_word if model else "")
        if options.record is not None:
            return record(options, command, wanted, inspection)
    except SysmanError as error:
        print(f"scripts/run: {error}", file=sys.stderr)
        return 2
    except (MachineError, RecordingError, ValueError, OSError) as error:
        print(f"scripts/run: {error}", file=sys.stderr)
        return STATUS_CANNOT_START
    except KeyboardInterrupt:
        return 130
    try:
        with tempfile.TemporaryDirectory(prefix="megalith-tb-") as folder:
            if model:
                plugin = model.plugin_option(wanted.kernel, wanted.memory, Path(folder))
                wanted = dataclasses.replace(wanted, plugin=plugin)
            status = boot(options, command, wanted, inspection)
            if model and not model.finish(wanted.kernel, programs(options), Path(folder)):
                return status or STATUS_PANIC
            return status
    except (MachineError, OSError) as error:
        print(f"scripts/run: {error}", file=sys.stderr)
        return STATUS_CANNOT_START
    except KeyboardInterrupt:
        return 130

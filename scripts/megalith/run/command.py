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
import re
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
from megalith.run import recording as recordings
from megalith.run import system_disk as system_disks
from megalith.run.machine import Machine, MachineError, Settings
from megalith.run.paths import (
    BUILD,
    BUSYBOX,
    KERNEL,
    TOP,
    symbols_of_socket,
)
from megalith.run.recording import RecordingError
from megalith.run.session import SIGNAL_BASE, STATUS_PANIC, STATUS_TIMEOUT, Inspection, Session

STATUS_CANNOT_START = 126
SCHEDULE_MAX = (1 << 32) - 1

# A replay counts as stuck when it takes this much longer than the recorded run.
REPLAY_FACTOR = 4
REPLAY_SECONDS = 60

ENTROPY = Path("/dev/urandom")


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


def _schedule(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > SCHEDULE_MAX:
        raise argparse.ArgumentTypeError(f"{text}: schedules have numbers from 0 to {SCHEDULE_MAX}")
    return int(text)


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path


def _new_file(text: str) -> Path:
    path = Path(text)
    if (path.exists() and not path.is_file()) or not os.access(path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} cannot be written")
    return path


def _socket(text: str) -> Path:
    """A path for a socket: it may replace an old socket, and nothing else."""
    path = Path(text)
    if path.is_symlink() or (path.exists() and not path.is_socket()):
        raise argparse.ArgumentTypeError(f"{text} is there, and no socket")
    return path


def _source(text: str) -> Path:
    """A file that is read once in sequence, so it may be a pipe."""
    path = Path(text)
    if not path.exists() or path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path


def _entropy(text: str) -> Path | None:
    """`none`, or what QEMU reads random bytes from, which has no end."""
    path = Path(text)
    if text == "none":
        return None
    if not (path.is_char_device() or path.is_fifo()) or not os.access(path, os.R_OK):
        raise argparse.ArgumentTypeError(f"{text} is no device or FIFO that can be read")
    return path


def _addition(text: str) -> tuple[Path, str]:
    """FILE, or FILE:/path."""
    name, separator, target = text.rpartition(":/")
    if separator and not Path(text).is_file():
        return _file(name), target
    file, separator, target = text.rpartition(":")
    if separator and not Path(text).is_file() and Path(file).is_file():
        raise argparse.ArgumentTypeError(
            f"{text}: a path in the guest begins with a slash, as in {file}:/{target or 'name'}"
        )
    return _file(text), Path(text).name


def _disk(text: str) -> machines.Disk:
    """IMG, IMG:ro, IMG:ide."""
    name, separator, how = text.rpartition(":")
    if not separator or how not in ("ro", "ide") or Path(text).is_file():
        name, how = text, ""
    return machines.Disk(_file(name), read_only=how == "ro", ide=how == "ide")


def _system_disk(text: str) -> system_disks.SystemDisk:
    try:
        return system_disks.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _disk_fault(text: str) -> tuple[int, tuple[str, ...]]:
    """The number of a disk, and options of QEMU."""
    found = re.fullmatch(r"(?:(\d+):)?([\w.-]+=[^,=]+(?:,[\w.-]+=[^,=]+)*)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is no N:KEY=VALUE,...")
    return int(found[1] or 0), tuple(found[2].split(","))


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


def _share(text: str) -> machines.Share:
    """DIR, DIR:/path, and either with :ro."""
    read_only = text.endswith(":ro") and not Path(text).is_dir()
    name = text.removesuffix(":ro") if read_only else text
    folder, separator, target = name.rpartition(":/")
    if not separator or Path(name).is_dir():
        folder, target = name, "share"
    if not Path(folder).is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {folder}")
    target = "/" + target.strip("/")
    if not re.fullmatch(r"(/[^/\s]+)+", target) or re.search(r"/\.{1,2}(/|$)", target):
        raise argparse.ArgumentTypeError(f"{target}: no path for a folder")
    return machines.Share(Path(folder), target, read_only)


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
        help="memory, 64M to 1000G (default 1G)",
    )
    option(
        "--kernel",
        metavar="FILE",
        type=_file,
        default=Path(os.environ.get("MEGALITH_KERNEL", KERNEL)),
        help="another kernel: build/test/megalith.elf (or MEGALITH_KERNEL in the environment)",
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
    option(
        "--system-disk",
        metavar="IMG[:files=SIZE,page=SIZE|:ro]",
        type=_system_disk,
        help="the image of a system disk, the first disk, which has the configuration, files "
        "(/disk) and a page file; made if it is missing (default: 4G of files, page file 1G; "
        "page=0: none)",
    )
    several(
        "--disk",
        "IMG[:ro|:ide]",
        "disks",
        type=_disk,
        help="a raw image as a disk: the first one is /dev/vda, its first partition /dev/vda1; ro: "
        "locked against writing; ide: at the IDE controller, and named after the others",
    )
    several(
        "--disk-fault",
        "[N:]KEY=VALUE[,KEY=VALUE...]",
        "disk_faults",
        type=_disk_fault,
        help="what QEMU does to requests for disk N (default 0, the first): options of its "
        "blkdebug driver (inject-error.0.event=read_aio,inject-error.0.errno=5) and of throttling "
        "(throttling.iops-total=10)",
    )
    option(
        "--disk-log",
        metavar="FILE",
        type=Path,
        help="have QEMU (its blklogwrites driver) write all that the first disk is asked to write "
        "or to flush to FILE, in order",
    )
    several(
        "--share",
        "DIR[:/path][:ro]",
        "shares",
        type=_share,
        help="a folder of this machine as a folder of the guest (default path: /share)",
    )
    option(
        "--entropy",
        metavar="FILE",
        type=_entropy,
        default=argparse.SUPPRESS,
        help="device or FIFO that random bytes come from, or none (default /dev/urandom; none "
        "with --icount, --schedule and --record, which are to be repeated)",
    )
    option(
        "--tests",
        action="store_true",
        help="all programs of /tests and /bench, not only those that COMMAND names",
    )
    option(
        "--icount",
        action="store_true",
        help="count instructions: one is one nanosecond of virtual time",
    )
    option(
        "--validate",
        action="store_true",
        help="check all memory when COMMAND has ended: status 125 if it is inconsistent",
    )
    option(
        "--record",
        metavar="FILE",
        type=Path,
        help="one CPU: record the run, input and interrupts included, for --replay",
    )
    option(
        "--replay",
        metavar="FILE",
        type=_file,
        help="repeat a recorded run exactly; only --gdb, --gdb-socket and --timeout apply",
    )
    option(
        "--schedule",
        metavar="N",
        type=_schedule,
        help="repeatable order of events of all CPUs (default 4): the same N, the same run to the "
        "instruction; the command's input is empty",
    )
    option("--gdb", action="store_true", help="wait for GDB before the first instruction")
    option("--gdb-socket", metavar="PATH", type=_socket, help="path of GDB's socket")
    option(
        "--save",
        metavar="FILE",
        type=_new_file,
        help="when the kernel panics, hangs, or powers itself off without a result, save the "
        "state to FILE for scripts/sda (scripts/save does it at any time)",
    )
    option(
        "--plugin",
        metavar="FILE[,ARGS]",
        default="",
        help="load a plugin into the emulator (scripts/profile has one)",
    )
    option(
        "--tb-model",
        metavar="CHIP[,...]",
        default="",
        help="run a model of the translation buffers of 21064, 21164, 21264, several with +, or "
        "all, and print what missed and where; then hints=on|off|both, asn=on|off|both, top=N "
        "(rows), json=FILE, pages=on (for scripts/tbmap), trace=FILE, check=on; with RADS above 1 "
        "also references outside of the home domain",
    )
    option("--timeout", metavar="SECONDS", type=_seconds, help="end the machine after that")
    option(
        "--any-end",
        action="store_true",
        help="status 0 when the shell has ended, whatever its last command gave (make run)",
    )
    option("--append", metavar="WORDS", default="", help="more of the kernel's command line")
    option(
        "command",
        nargs=argparse.REMAINDER,
        metavar="[--] COMMAND ARGS...",
        help="the first program and its arguments",
    )
    return p


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


def check(p: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends with status 2 when the options cannot be combined."""
    if options.replay is not None:
        fitting = ("replay", "gdb", "gdb_socket", "timeout", "any_end")
        for action in p._actions:
            name = action.dest
            if name in fitting or name == "help":
                continue
            if name == "entropy" and name not in options:
                continue
            if (getattr(options, name) or None) != (p.get_default(name) or None):
                what = action.option_strings[-1] if action.option_strings else "COMMAND"
                p.error(f"--replay takes all but --gdb and --timeout from the recording: no {what}")
    if options.record is not None:
        refused = {
            "--smp": (options.smp or 1) > 1 and "QEMU records machines with one CPU",
            "--schedule": options.schedule is not None
            and "the one command line is all that a schedule needs to be repeated",
            "--icount": options.icount and "a recording counts instructions in its own way",
            "--system-disk": options.system_disk is not None
            and "the contents of a disk are not recorded",
            "--disk": bool(options.disks) and "the contents of a disk are not recorded",
            "--share": bool(options.shares) and "the contents of a folder are not recorded",
            "--entropy": getattr(options, "entropy", None) is not None
            and "a recording would hold the keys that are made from it",
            "--gdb": (options.gdb or options.gdb_socket is not None)
            and "record first, and debug the replay",
            "--save": options.save is not None and "play the recording to where it is of interest",
        }
        for what, why in refused.items():
            if why:
                p.error(f"--record does not go with {what}: {why}")


def check_schedule(p: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """The same for the options of --schedule."""
    if options.schedule is None:
        return
    if getattr(options, "entropy", None) is not None:
        p.error("--schedule does not go with --entropy: each run would have other random bytes")
    if options.icount:
        p.error("--schedule counts instructions in its own way: no --icount")
    if not options.command or options.command == ["--"]:
        p.error("--schedule needs a COMMAND: what is typed would come at another time in each run")


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
    p = parser()
    options = p.parse_args(arguments)
    check(p, options)
    check_schedule(p, options)
    if options.tb_model and (options.plugin or options.record is not None):
        p.error("--tb-model does not go with --plugin and --record")
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

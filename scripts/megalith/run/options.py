"""scripts/run: its command line. What each word means, and which go together."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from megalith.run import machine as machines
from megalith.run import system_disk as system_disks
from megalith.run.paths import KERNEL

SCHEDULE_MAX = (1 << 32) - 1


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


def _check(p: argparse.ArgumentParser, options: argparse.Namespace) -> None:
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


def _check_schedule(p: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """The same for the options of --schedule."""
    if options.schedule is None:
        return
    if getattr(options, "entropy", None) is not None:
        p.error("--schedule does not go with --entropy: each run would have other random bytes")
    if options.icount:
        p.error("--schedule counts instructions in its own way: no --icount")
    if not options.command or options.command == ["--"]:
        p.error("--schedule needs a COMMAND: what is typed would come at another time in each run")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options of a command line; ends with status 2 when they are wrong."""
    p = parser()
    options = p.parse_args(arguments)
    _check(p, options)
    _check_schedule(p, options)
    if options.tb_model and (options.plugin or options.record is not None):
        p.error("--tb-model does not go with --plugin and --record")
    return options

"""One emulated machine: starts QEMU, gives access to it, and ends it.

Any number of machines can exist at once. Each has its own connected socket pairs for the two serial
lines and the monitor (no ports, no names), and a temporary folder for the initrd and GDB's socket,
which is removed when the machine is stopped.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from megalith.run.guest_memory import GuestMemory, data_address
from megalith.run.monitor import Monitor
from megalith.run.paths import KERNEL, symbols_of_socket
from megalith.run.serial_lines import FileLine

GIB = 1 << 30
KSEG = 0xFFFFFC0000000000  # where physical memory appears in the kernel's addresses
MEMORY_MIN = 64 << 20
MEMORY_REST = 16 << 20  # beside the initrd, which stays where the emulator has put it
MEMORY_MAX = 1000 * GIB
CPUS_MAX = 4
IDE_CHANNELS = 2  # a disk at each
# With larger values a CPU would spend its time on clock interrupts; with smaller ones a second
# takes long to emulate.
SCHEDULE_SHIFTS = (3, 4, 5, 6)
# The loader copies at most 256 bytes, including the terminating zero.
COMMAND_LINE_MAX = 255
PLUGIN_SECONDS = 20

PR_SET_PDEATHSIG = 1
PR_SET_THP_DISABLE = 41


class MachineError(Exception):
    """The emulator cannot be started, or its state cannot be saved, as requested."""


@dataclass(frozen=True)
class Share:
    """A folder of the host that appears in the guest."""

    folder: Path
    path: str = "/share"
    read_only: bool = False


@dataclass(frozen=True)
class Disk:
    """A raw image of a disk, and what QEMU is to do to requests for it."""

    image: Path
    read_only: bool = False
    ide: bool = False  # at the IDE controller, and not over virtio
    # Options of QEMU's blkdebug (inject-error.0.event=read_aio,...) and of its throttling
    # (throttling.iops-total=...), as --disk-fault gives them.
    faults: tuple[str, ...] = ()
    log: Path | None = None  # gets all writes and flushes, as QEMU's blklogwrites has them

    def options(self, number: int, channel: int) -> list[str]:
        """The drive and the device; `channel` is one of the IDE controller that is free."""
        name = str(self.image).replace(",", ",,")
        limits = [fault for fault in self.faults if fault.startswith("throttling.")]
        errors = [f"file.{fault}" for fault in self.faults if fault not in limits]
        place = f"if=ide,bus={channel},unit=0" if self.ide else "if=none"
        drive = [place, f"id=disk{number}", "werror=report,rerror=report", "format=raw"]
        if self.log:
            log = str(self.log).replace(",", ",,")
            drive += ["file.driver=blklogwrites", "file.file.driver=file"]
            drive += [f"file.file.filename={name}", "file.log.driver=file"]
            drive.append(f"file.log.filename={log}")
        elif errors:
            drive += ["file.driver=blkdebug", "file.image.driver=file"]
            drive += [f"file.image.filename={name}", *errors]
        else:
            drive.append(f"file={name}")
        drive += limits + ["readonly=on"] * self.read_only
        device = [] if self.ide else ["-device", f"virtio-blk-pci,drive=disk{number}"]
        return ["-drive", ",".join(drive), *device]


@dataclass(frozen=True)
class Settings:
    """The kind of machine to start, and its kernel, initrd and command line."""

    initrd: bytes
    kernel: Path = KERNEL
    memory: int = GIB
    cpus: int = 1
    command_line: str = ""
    disks: tuple[Disk, ...] = ()
    shares: tuple[Share, ...] = ()
    input_is_empty: bool = False  # which the kernel knows, by a word of its command line
    # Where the bytes of the guest's source of entropy come from; none: it has no such device.
    entropy: Path | None = None
    icount: bool = False
    # QEMU's log of a run with one CPU: to be written, or to be replayed.
    record_log: Path | None = None
    replay_log: Path | None = None
    # Number of the schedule, which determines the order of events (kernel/sched/perturb.h).
    schedule: int | None = None
    plugin: str = ""  # of QEMU: a file and its arguments, as -plugin takes them
    gdb: bool = False
    gdb_socket: Path | None = None
    keep: bool = False  # a machine that powers itself off is kept, so that it can be examined
    # Called with the machine before it is stopped, unless it has ended by itself (needs keep).
    before_stop: Callable[[Machine], None] | None = None

    @property
    def exact(self) -> bool:
        """Whether events on this host must not affect the run."""
        logs = (self.record_log, self.replay_log)
        return self.input_is_empty or any(log is not None for log in logs)

    @property
    def shift(self) -> int:
        """An instruction takes 1 << shift nanoseconds of virtual time. Schedules use different
        values, and so have different numbers of instructions between two clock ticks."""
        if self.schedule is None:
            return 0
        return SCHEDULE_SHIFTS[self.schedule % len(SCHEDULE_SHIFTS)]


def _prepare_child(parent: int) -> None:
    """In the child before exec: no huge pages for guest memory, and end with the parent.

    With transparent huge pages a first write to guest memory costs 2 MiB of the host's, not 8
    KiB.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it had ended before
        os._exit(1)


class Machine:
    """A QEMU process with its serial lines and monitor. Use it as a context manager, or call
    stop()."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.process: subprocess.Popen | None = None
        self.folder: Path | None = None
        self.gdb_socket: Path | None = None
        self.com1: socket.socket  # console and terminal
        self.com2: socket.socket  # frames
        self.monitor: Monitor
        self._sockets: list[socket.socket] = []
        self._lines: list[FileLine] = []

    def __enter__(self) -> Machine:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="megalith-"))
        try:
            self._launch()
        except BaseException:
            self.stop()
            raise

    def _launch(self) -> None:
        assert self.folder is not None
        initrd = self.folder / "initrd"
        initrd.write_bytes(self.settings.initrd)
        theirs: list[socket.socket] = []
        for _ in range(3):
            ours, other = socket.socketpair()
            self._sockets.append(ours)
            theirs.append(other)
        self.com1, self.com2, control = self._sockets
        self.monitor = Monitor(control)
        if self.settings.exact:
            self._lines = [FileLine(self.folder / f"com{n + 1}", theirs.pop(0)) for n in range(2)]
        command = self._command(initrd, [other.fileno() for other in theirs])
        try:
            with open(self.folder / "qemu.log", "wb") as log:
                self.process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[other.fileno() for other in theirs],
                    preexec_fn=partial(_prepare_child, os.getpid()),
                    # A ^C at the terminal is handled by the caller, which then ends the machine.
                    start_new_session=True,
                )
        except FileNotFoundError:
            raise MachineError(f"{command[0]} is not installed: run scripts/setup") from None
        finally:
            for other in theirs:
                other.close()
        for number, line in enumerate(self._lines):
            line.start(self.ended, self._taken(number) if self.settings.record_log else None)

    def _taken(self, line: int) -> Callable[[], int]:
        """Number of bytes that the guest's interrupt handler has read from a serial line, found in
        the guest's memory. Raises OSError when that is no longer possible."""
        place = data_address(self.settings.kernel, "serial_received") + 8 * line - KSEG
        memory = GuestMemory(self.pid, self.settings.memory)
        return lambda: int.from_bytes(memory.read(place, 8), "little")

    def _command(self, initrd: Path, fds: list[int]) -> list[str]:
        settings = self.settings
        # Guest memory is neither reserved nor shared: only written pages use memory of the host.
        backend = f"memory-backend-ram,id=ram,size={settings.memory},reserve=off,share=off"
        command = ["qemu-system-alpha", "-nodefaults", "-vga", "none", "-display", "none"]
        command += ["-object", backend, "-M", "clipper,memory-backend=ram"]
        command += ["-m", f"size={settings.memory // 1024}k", "-smp", str(settings.cpus)]
        command += ["-kernel", str(settings.kernel), "-initrd", str(initrd)]
        command += ["-append", settings.command_line, "-no-reboot"]
        # The interval clock ticks in virtual time: with --icount a run repeats exactly, and a
        # host under load does not change what the guest sees.
        command += ["-rtc", "base=2000-01-01,clock=vm"]
        names = ["com1", "com2", "control"]
        if settings.exact:
            for name in ("com1", "com2"):
                names.remove(name)
                command += ["-chardev", f"pipe,id={name},path={initrd.parent / name}"]
        for name, fd in zip(names, fds):
            command += ["-chardev", f"socket,id={name},fd={fd}"]
        command += ["-serial", "chardev:com1", "-serial", "chardev:com2"]
        command += ["-mon", "chardev=control,mode=control"]
        for number, disk in enumerate(settings.disks):
            command += disk.options(number, sum(other.ide for other in settings.disks[:number]))
        for number, share in enumerate(settings.shares):
            name = str(share.folder.resolve()).replace(",", ",,")
            # With privileges files belong to whom the guest says, without to who runs this.
            model = "passthrough" if os.geteuid() == 0 else "none"
            backend = f"local,id=share{number},path={name},security_model={model}"
            backend += ",multidevs=remap" + (",readonly=on" if share.read_only else "")
            command += ["-fsdev", backend]
            command += ["-device", f"virtio-9p-pci,fsdev=share{number},mount_tag=share{number}"]
        if settings.entropy is not None:
            name = str(settings.entropy).replace(",", ",,")
            command += ["-object", f"rng-random,id=entropy,filename={name}"]
            command += ["-device", "virtio-rng-pci,rng=entropy"]
        if settings.keep:
            command += ["-no-shutdown"]
        if settings.icount or settings.schedule is not None:
            command += ["-icount", f"shift={settings.shift},sleep=off"]
        for mode, log in (("record", settings.record_log), ("replay", settings.replay_log)):
            if log is not None:
                # Without sleep=off, with which QEMU 7.2 stops in the first idle moment.
                name = str(log).replace(",", ",,")
                command += ["-icount", f"shift=0,rr={mode},rrfile={name}"]
        if settings.plugin:
            command += ["-plugin", settings.plugin]
        if settings.gdb:
            assert self.folder is not None
            self.gdb_socket = settings.gdb_socket or self.folder / "gdb"
            path = str(self.gdb_socket).replace(",", ",,")
            command += ["-chardev", f"socket,id=gdb,path={path},server=on,wait=off"]
            command += ["-gdb", "chardev:gdb", "-S"]
        return command

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def ended(self) -> bool:
        """Whether the emulator has ended by itself (this does not say how the run ended)."""
        return self.process is None or self.process.poll() is not None

    def carried(self) -> bool:
        """Whether everything that the guest has sent so far can be read from com1 and com2."""
        return all(line.carried() for line in self._lines)

    def complaints(self) -> str:
        """What QEMU itself wrote to its standard error."""
        if self.folder is None:
            return ""
        return (self.folder / "qemu.log").read_text(errors="replace").strip()

    def memory_touched(self) -> int:
        """The largest amount of host memory, in bytes, that the emulator process has touched."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise MachineError("the emulator has ended")

    def request_end(self) -> None:
        """Asks the emulator to exit in an orderly way, without which the log of a recording is
        incomplete. It can only do so while its output is not blocked, so the caller must continue
        to read."""
        assert self.process is not None
        self.process.terminate()

    def wait_ended(self, seconds: float) -> bool:
        """Whether the emulator has ended within the given time."""
        assert self.process is not None
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> None:
        """Ends the emulator in any state, and removes its files. May be called twice."""
        if self.settings.before_stop is not None and not self.ended():
            self.settings.before_stop(self)
        if self.process is not None:
            if self.settings.plugin and not self.ended():
                self.request_end()  # plugins write their results then
                self.wait_ended(PLUGIN_SECONDS)
            self.process.kill()
            self.process.wait()
        for ours in self._sockets:
            ours.close()
        self._sockets = []
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            if self.settings.gdb_socket is not None:
                self.settings.gdb_socket.unlink(missing_ok=True)
                symbols_of_socket(self.settings.gdb_socket).unlink(missing_ok=True)
            self.folder = None


def parse_size(text: str) -> int:
    """Bytes in '512M', '8G', '1T'; a number without a unit is MiB, as in QEMU."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    upper = text.strip().upper().removesuffix("IB").removesuffix("B")
    unit = units["M"]
    if upper and upper[-1] in units:
        unit = units[upper[-1]]
        upper = upper[:-1]
    if not upper.isascii() or not upper.isdigit():
        raise ValueError(f"'{text}' is no size; write 512M or 8G")
    return int(upper) * unit

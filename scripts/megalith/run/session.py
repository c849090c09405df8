"""One run of a machine: relays input and output, and determines how it ended."""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import selectors
import signal
import termios
import time
import tty
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from megalith.run import frames
from megalith.run.control import Listener
from megalith.run.crash_places import CrashPlaces
from megalith.run.machine import Machine, MachineError
from megalith.run.progress import Progress
from megalith.run.recording import Outcome
from megalith.run.serial_lines import POLL_SECONDS

STATUS_INTERRUPTED = 130
STATUS_TIMEOUT = 124
STATUS_PANIC = 125
STATUS_NO_OUTPUT = 126
SIGNAL_BASE = 128

# Time by the guest's clock that the kernel has to power the machine off after the result record.
POWER_OFF_SECONDS = 10.0
# After a panic notice the console is read until its last line has come, and it has been silent this
# long: all CPUs of the machine spin meanwhile. The limit is for a panic that does not get so far.
PANIC_LAST_LINE = b"PANIC: end"
PANIC_QUIET_SECONDS = 0.05
PANIC_LIMIT_SECONDS = 60.0
# How long the rest of a line of the console may be in coming before its beginning is shown.
LINE_SECONDS = 0.2
LINE_MOST = 4096  # bytes of it that are waited for
# Interval at which the end of input is repeated to an interactive session.
END_OF_INPUT_EVERY = 1.0
# Interval at which a run whose limit has passed on the host is checked for its own progress.
PROGRESS_EVERY = 0.5
# Time by the guest's clock, or the emulator's, that a machine has to write the end of the log of a
# recording.
QUIT_SECONDS = 10.0

# First words of a report of the data-race detector (kernel/races).
RACE = b"data race:"

FIRMWARE_LINE = b"PCI: "
CONTROL_D = b"\x04"
ESCAPE = b"\x1d"  # ^] at a terminal ends the machine
READ_SIZE = 65536


class OutputError(Exception):
    """Standard output cannot be written any more: output of the command would be lost."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output: {error.strerror}")
        self.broken_pipe = isinstance(error, BrokenPipeError)


def write_all(fd: int, data: bytes) -> None:
    """Writes to a file descriptor that may be slow, or non-blocking. Raises OSError."""
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            select.select([], [fd], [])


def write_lossy(fd: int, data: bytes) -> None:
    """The same for messages: if they cannot be written, they are lost."""
    try:
        write_all(fd, data)
    except OSError:
        pass


class ConsoleLines:
    """Writes the console to a file descriptor that gets other lines, too, of the program and from
    here: whole lines where possible, so that the others do not end up inside one. What has no end
    of line yet is written when `due` is over, so that a prompt is seen."""

    def __init__(self, fd: int) -> None:
        self.due: float | None = None  # on the monotonic clock
        self._fd = fd
        self._rest = bytearray()

    def feed(self, data: bytes) -> None:
        before = len(self._rest)
        self._rest += data.replace(b"\r", b"")
        if end := self._rest.rfind(b"\n", before) + 1:
            self._write(end)
            self.due = None
        if len(self._rest) > LINE_MOST:
            self.flush()
        elif self._rest and self.due is None:
            self.due = time.monotonic() + LINE_SECONDS

    def flush(self) -> None:
        self._write(len(self._rest))
        self.due = None

    def _write(self, count: int) -> None:
        write_lossy(self._fd, bytes(self._rest[:count]))
        del self._rest[:count]


class WithoutDevices:
    """What comes on the console, without the lines in which the firmware lists the PCI devices,
    before the first line of the kernel."""

    def __init__(self) -> None:
        self._held: bytes | None = b""  # a line that is not whole yet; None: the list is over

    def feed(self, data: bytes) -> bytes:
        if self._held is None:
            return data
        self._held += data
        while self._held.startswith(FIRMWARE_LINE) and b"\n" in self._held:
            self._held = self._held.partition(b"\n")[2]
        if self._held[: len(FIRMWARE_LINE)] == FIRMWARE_LINE[: len(self._held)]:
            return b""  # it may be one more
        data, self._held = self._held, None
        return data


@dataclass(frozen=True)
class Inspection:
    """Functions that a session calls for a machine that failed, or whose state is to be saved. The
    package `debug` implements them, and megalith/__main__.py passes them in, because `run` does not
    import it.
    """

    # Registers and probable callers of these CPUs (None: all), as text.
    describe: Callable[[Machine, list[int] | None], str]
    # The source line that the reason of a panic names, or "".
    source_line: Callable[[Machine, str], str]
    # "function (file:line)" of a place in a program: its file, the offset in it. Or "".
    function: Callable[[Path, int], str]
    # A line for each place of the data races that were reported on the console.
    race_lines: Callable[[Machine, str], list[str]]
    # Writes the machine's state to a file, for this reason, with the programs by their paths in
    # the guest; returns its bytes. Raises MachineError.
    save: Callable[[Machine, Path, str, dict[str, Path]], int]
    # Prepares a model of translation buffers (scripts/run --tb-model), for these
    # parameters VHPT_SIZE and RADS. Raises ValueError.
    tb_model: Callable[[str, int, int], TbModel]


class TbModel(Protocol):
    """A model of translation buffers that runs beside a machine."""

    kernel_word: str  # for the kernel's command line

    def plugin_option(self, kernel: Path, memory: int, folder: Path) -> str:
        """What QEMU's -plugin takes; results are left in the folder."""

    def finish(self, kernel: Path, programs: dict[str, Path], folder: Path) -> bool:
        """Prints the results, after the machine's end, on standard error. False: the kernel did
        what it did not announce, or translations were wrong."""


@dataclass
class Session:
    """Runs `machine` (started) to its end, within `seconds` of its own clock if given
    (progress.py), and returns the exit status.

    With a command the frames on COM2 carry its input and output, and the console goes to standard
    error; without one the console is the terminal. A `stdin` of None is an input that has ended.
    `save` is the file for the state when the kernel panics, hangs, or powers the machine off
    without a result; clients of the machine's control socket can save it at any time. `programs`
    has the files with the symbols of the guest's programs, by path.

    In a replay only output is relayed, and `replayed` is how the recorded run ended. A machine that
    records is ended in an orderly way, and all its output is relayed.
    """

    machine: Machine
    inspection: Inspection
    interactive: bool
    seconds: float | None = None
    stdin: int | None = 0
    stdout: int = 1
    stderr: int = 2
    save: Path | None = None
    programs: Callable[[], dict[str, Path]] = dict
    replayed: Outcome | None = None
    result: frames.Result | None = None
    panic: frames.PanicNotice | None = None
    log_whole: bool = False  # of a recording: the emulator has written it to its end
    _decoder: frames.Decoder = field(default_factory=frames.Decoder)
    _pending: bytearray = field(default_factory=bytearray)
    _ready: bool = False
    _input_ended: bool = False
    _next_end: float = 0.0
    _next_check: float | None = None  # whether the time limit is over
    _quit: bool = False
    _off: bool = False
    _output_digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    _output_bytes: int = 0
    _deaf: bool = False  # standard output cannot be written any more
    _console_digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    _races: bytearray = field(default_factory=bytearray)  # the console, from the first report on
    _tail: bytearray = field(default_factory=bytearray)
    _console_end: bytes = b""
    _panic_shown: bool = False  # the last line of the panic has been read
    _lines: ConsoleLines = field(init=False)
    _shown: WithoutDevices = field(default_factory=WithoutDevices)
    _places: CrashPlaces = field(init=False)
    _files: dict[str, Path] | None = None  # of `programs`
    _progress: Progress = field(init=False)
    _farewell: Progress | None = None  # since the result record

    def __post_init__(self) -> None:
        self._progress = Progress(self.machine)
        self._lines = ConsoleLines(self.stderr)
        self._places = CrashPlaces(self._function)

    def run(self) -> int:
        """Relays until the machine has ended or must be ended. The caller stops the machine."""
        terminal = None
        if self.interactive and self.stdin is not None and os.isatty(self.stdin):
            self.say("^] ends this machine at once; type help for what there is to try")
            terminal = termios.tcgetattr(self.stdin)
            tty.setraw(self.stdin, termios.TCSADRAIN)
        try:
            status = self._relay()
        except KeyboardInterrupt:
            status = STATUS_INTERRUPTED
        except OutputError as error:
            status = self._after_output_error(error)
        except SystemExit as end:  # a signal: the run ends with its status after these steps
            self._finish_recording()
            raise end
        finally:
            self._lines.flush()
            if terminal is not None and self.stdin is not None:
                termios.tcsetattr(self.stdin, termios.TCSADRAIN, terminal)
        self._finish_recording()
        self._lines.flush()
        if self._races and not self.interactive:
            for place in self.inspection.race_lines(
                self.machine, self._races.decode(errors="replace")
            ):
                self.say(place)
        return status

    def ended_by_itself(self) -> bool:
        """Has the session at the terminal ended as its user wanted, by the shell or by ^]?"""
        shell = self.result is not None and self.result.kind == frames.RESULT_SHUTDOWN
        return self.interactive and self.panic is None and (shell or self._quit)

    def outcome(self, status: int) -> Outcome:
        """Result of the run, for a recording."""
        return Outcome(
            status,
            self._output_digest.hexdigest(),
            self._output_bytes,
            self._console_digest.hexdigest(),
            self.result is not None or self.panic is not None,
        )

    def _finish_recording(self) -> None:
        """Ends a machine that records in an orderly way, and relays its remaining output: it does
        not read requests of the monitor while a full serial line blocks it."""
        machine = self.machine
        if machine.settings.record_log is None:
            return
        ending = Progress(machine, anew=True)
        machine.request_end()
        lines = {machine.com1, machine.com2}
        while lines and not ending.beyond(QUIT_SECONDS):
            for line in select.select([*lines], [], [], PROGRESS_EVERY)[0]:
                data = self._receive(line)
                if data == b"":
                    lines.discard(line)
                elif data is not None:
                    try:
                        self._relay_from(line, data)
                    except OutputError:
                        self._deaf = True
        while not lines and not self.log_whole:
            self.log_whole = machine.wait_ended(PROGRESS_EVERY)
            if ending.beyond(QUIT_SECONDS):
                break

    def say(self, text: str) -> None:
        """Prints a line of this program, after the console output so far."""
        self._lines.flush()
        write_lossy(self.stderr, f"scripts/run: {text}\n".encode())

    def _describe(self, cpus: list[int] | None = None) -> None:
        """Prints the state of CPUs that do not respond (all of them by default)."""
        self._lines.flush()
        write_lossy(self.stderr, self.inspection.describe(self.machine, cpus).encode())

    def _output(self, data: bytes) -> None:
        self._output_digest.update(data)
        self._output_bytes += len(data)
        if self._deaf:
            return
        try:
            write_all(self.stdout, data)
        except OSError as error:
            raise OutputError(error) from error

    # ---- the loop ----

    def _relay(self) -> int:
        machine = self.machine
        self._next_check = time.monotonic() + self.seconds if self.seconds is not None else None
        ending: float | None = None  # when to give up on a machine whose result is known
        quiet: float | None = None  # when the console counts as silent after a panic
        for line in (machine.com1, machine.com2):
            line.setblocking(False)
        # select(2) knows regular files too, which epoll does not.
        assert machine.folder is not None
        with (
            selectors.SelectSelector() as selector,
            contextlib.closing(Listener(machine.folder, self._asked)) as listener,
        ):
            selector.register(machine.com1, selectors.EVENT_READ)
            selector.register(machine.com2, selectors.EVENT_READ)
            selector.register(listener, selectors.EVENT_READ)
            if machine.settings.keep:
                # From now on it reports events; the machine may be off already on a busy host.
                status = machine.monitor.execute("query-status")
                self._off = isinstance(status, dict) and status["status"] == "shutdown"
                selector.register(machine.monitor, selectors.EVENT_READ)
            open_lines = {machine.com1, machine.com2}
            while open_lines and not (machine.settings.keep and self._switched_off()):
                now = time.monotonic()
                if self._quit:
                    return STATUS_INTERRUPTED
                if self.replayed is not None:
                    # The end of the recording, which may be later than the end of the run. Only a
                    # debugger has a use for what a kernel does that has panicked and said so.
                    if machine.settings.gdb:
                        quiet = None
                    if quiet is not None and now >= quiet:
                        return self._after_panic()
                    if self._over(now):
                        return self._after_timeout()
                elif self.panic is not None:
                    times_up = [t for t in (quiet, ending) if t is not None and now >= t]
                    if times_up:
                        return self._after_panic()
                elif self.result is None and self._over(now):
                    return self._after_timeout()
                elif ending is not None and now >= ending and not self._gives_up():
                    ending = now + PROGRESS_EVERY
                elif ending is not None and now >= ending:
                    self.say("there is a result, but the machine does not switch off")
                    self._save("there is a result, but the machine does not switch off")
                    self._describe()
                    return STATUS_PANIC
                self._arrange_input(selector, now)
                check = self._next_check
                limits = (check, quiet, ending) if self.replayed is None else (check, quiet)
                times = [t for t in (*limits, self._lines.due) if t is not None]
                if self._input_ended and self.interactive:
                    times.append(self._next_end)
                wait = max(0.0, min(times) - now) if times else None
                for key, _events in selector.select(wait):
                    if key.fileobj in open_lines:
                        self._from_machine(key.fileobj, selector, open_lines)
                        if self.panic is not None and self._panic_shown:
                            quiet = time.monotonic() + PANIC_QUIET_SECONDS
                    elif key.fileobj == self.stdin:
                        self._from_stdin(selector)
                    elif key.fileobj is listener:
                        listener.serve_one()
                if self._lines.due is not None and time.monotonic() >= self._lines.due:
                    self._lines.flush()
                self._send(selector)
                if ending is None and self.panic is not None:
                    ending = time.monotonic() + PANIC_LIMIT_SECONDS
                if ending is None and self.result is not None:
                    ending = time.monotonic() + POWER_OFF_SECONDS
            carried = False
            while open_lines and not carried:  # the last output of a machine that is kept
                carried = machine.carried()  # before the last read
                for line in list(open_lines):
                    while line in open_lines and select.select([line], [], [], 0)[0]:
                        self._from_machine(line, selector, open_lines)
                if not carried:
                    time.sleep(POLL_SECONDS)
        return self._after_end()

    def _gives_up(self) -> bool:
        """Has the machine had its time to switch off?"""
        if self._farewell is None:
            self._farewell = Progress(self.machine, anew=True)
        return self._farewell.beyond(POWER_OFF_SECONDS)

    def _over(self, now: float) -> bool:
        """Is the time limit over? Looks at intervals."""
        if self.seconds is None or self._next_check is None or now < self._next_check:
            return False
        self._next_check = now + PROGRESS_EVERY
        return self._progress.beyond(self.seconds)

    @staticmethod
    def _receive(line) -> bytes | None:
        """Data that has arrived on a line; empty when the line has been closed, None when there is
        none yet."""
        try:
            return line.recv(READ_SIZE)
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""

    def _from_machine(self, line, selector, open_lines: set) -> None:
        data = self._receive(line)
        if data is None:
            return
        if data:
            self._relay_from(line, data)
        else:
            selector.unregister(line)
            open_lines.discard(line)

    def _relay_from(self, line, data: bytes) -> None:
        if line is self.machine.com2:
            for frame in self._decoder.feed(data):
                self._take(frame)
            return
        self._console_digest.update(data)
        self._console_end = self._console_end + data
        self._panic_shown = self._panic_shown or PANIC_LAST_LINE in self._console_end
        self._console_end = self._console_end[-len(PANIC_LAST_LINE) :]
        if not self._races:  # the words may arrive in two parts
            self._tail += data
            if RACE in self._tail:
                self._races += self._tail
            del self._tail[: -len(RACE)]
        else:
            self._races += data
        data = self._places.feed(self._shown.feed(data))
        if self.interactive:
            self._output(data)
        else:
            self._lines.feed(data)

    def _function(self, path: str, offset: int) -> str:
        if self._files is None:
            self._files = self.programs()
        program = self._files.get(path)
        return self.inspection.function(program, offset) if program else ""

    def _take(self, frame: frames.Frame) -> None:
        if frame.type == frames.OUTPUT:
            self._output(frame.payload)
        elif frame.type == frames.ERRORS:
            write_lossy(self.stderr, frame.payload)
        elif frame.type == frames.RESULT and self.result is None:
            self.result = frames.Result.decode(frame.payload)
        elif frame.type == frames.PANIC and self.panic is None:
            self.panic = frames.PanicNotice.decode(frame.payload)
        self._ready = True

    # ---- input ----

    def _arrange_input(self, selector, now: float) -> None:
        """Reads standard input only while the machine can accept input, so that none accumulates
        here; reports the end of input, at a terminal repeatedly."""
        if not self._ready or self.result is not None or self.panic is not None:
            return
        if self.replayed is not None or self.machine.settings.input_is_empty:
            return  # the input is in the recording, or known to be empty
        if self.stdin is None:
            self._end_input(now)
        if self._input_ended:
            if self.interactive and now >= self._next_end and not self._pending:
                self._pending += CONTROL_D
                self._next_end = now + END_OF_INPUT_EVERY
                self._send(selector)
            return
        listening = self.stdin in selector.get_map()
        if self._pending and listening:
            selector.unregister(self.stdin)
        elif not self._pending and not listening:
            selector.register(self.stdin, selectors.EVENT_READ)

    def _from_stdin(self, selector) -> None:
        assert self.stdin is not None
        limit = READ_SIZE if self.interactive else frames.PAYLOAD_MAX
        try:
            data = os.read(self.stdin, limit)
        except OSError:
            data = b""
        if not data:
            selector.unregister(self.stdin)
            self._end_input(time.monotonic())
        elif not self.interactive:
            self._pending += frames.encode(frames.INPUT, data)
        elif ESCAPE in data and os.isatty(self.stdin):  # also behind other keys
            self._quit = True
        else:
            self._pending += data

    def _end_input(self, now: float) -> None:
        if self._input_ended:
            return
        self._input_ended = True
        self._next_end = now
        if not self.interactive:
            self._pending += frames.encode(frames.INPUT_END)

    def _send(self, selector) -> None:
        """Writes as much as the machine accepts; the rest waits until the line can be written
        again."""
        line = self.machine.com1 if self.interactive else self.machine.com2
        if line not in selector.get_map():
            self._pending.clear()
            return
        try:
            while self._pending:
                del self._pending[: line.send(self._pending)]
        except BlockingIOError:
            pass
        except ConnectionError:
            self._pending.clear()
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._pending else 0)
        selector.modify(line, events)

    # ---- saved states ----

    def _asked(self, request: dict) -> dict:
        """A request on the control socket (megalith/run/control.py)."""
        if not isinstance(request.get("save"), str):
            return {"error": "what is asked for is not known"}
        path = Path(request["save"])
        try:
            size = self.inspection.save(self.machine, path, "saved on request", self.programs())
        except MachineError as error:
            return {"error": str(error)}
        return {"saved": str(path), "bytes": size}

    def _save(self, reason: str) -> None:
        """Saves the state to the file of --save, if there is one."""
        if self.save is None:
            return
        try:
            size = self.inspection.save(self.machine, self.save, reason, self.programs())
            self.say(f"state saved ({size / 1e6:.1f} MB): scripts/sda {self.save}")
        except MachineError as error:
            self.say(str(error))

    def _switched_off(self) -> bool:
        """Has the machine powered itself off? It is kept, so that it can be saved
        (Settings.keep)."""
        self._off = self._off or "SHUTDOWN" in self.machine.monitor.events()
        return self._off

    # ---- how it ended ----

    def _after_end(self) -> int:
        if self._decoder.stray:
            self.say(f"{self._decoder.stray} bytes on COM2 were in no frame")
        if self.panic is not None:
            return self._after_panic()
        if self.result is None and self.replayed is not None and not self.replayed.ended:
            complaints = self.machine.complaints()
            if complaints:
                self.say(complaints)
            self.say(f"here the recording ends; the run had status {self.replayed.status}")
            return self.replayed.status
        if self.result is None:
            self._save("the machine has ended without a result")
            complaints = self.machine.complaints()
            self.say("the machine has ended without a result" + (complaints and ": " + complaints))
            return STATUS_PANIC
        if self.result.kind == frames.RESULT_PANIC:
            return STATUS_PANIC
        if self.result.kind == frames.RESULT_SIGNAL:
            return SIGNAL_BASE + self.result.value
        return self.result.value & 0xFF

    def _after_output_error(self, error: OutputError) -> int:
        self._deaf = True
        if error.broken_pipe:  # the reader needs no more
            return SIGNAL_BASE + signal.SIGPIPE
        self.say(str(error))
        return STATUS_NO_OUTPUT

    def _after_timeout(self) -> int:
        self.say(f"no end within {self.seconds:g} seconds: {self._progress.describe()}")
        # A machine whose clock goes is at work, or waits: its registers say nothing of that.
        if self._progress.clock_seconds() < self.seconds:
            self._describe()
        self._save(f"no end within {self.seconds:g} seconds")
        return STATUS_TIMEOUT

    def _after_panic(self) -> int:
        assert self.panic is not None
        self.say(f"the kernel has panicked on CPU {self.panic.cpu}: {self.panic.reason}")
        place = self.inspection.source_line(self.machine, self.panic.reason)
        if place:
            self.say(f"that is {place}")
        silent = self.panic.silent()
        if silent:
            names = ", ".join(map(str, silent))
            self.say(f"CPU {names} did not answer the request to stop")
            self._describe(silent)
        self._save(f"panic on CPU {self.panic.cpu}: {self.panic.reason}")
        return STATUS_PANIC

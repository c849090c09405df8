"""Selection of the registers and memory that GDB shows: those of a CPU, or of a thread that is not
running.

The stub between GDB and the machine (scripts/megalith/debug/stub.py) can answer with the registers
and the address space of another thread. This module passes them to it: the registers that the
thread's last context switch saved on its kernel stack, and the level-1 page of its process. So
GDB's own commands (backtrace, frame, info locals, x) work in any thread, down into its program.

Where entry code did not store the user's stack pointer in its frame, the stub makes it appear
there: it is in the PCB of a thread that is not running, and after a panic in the PCB of every
thread.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

import gdb
from mg_base import (
    MASK,
    Command,
    NotThere,
    constant,
    each,
    enum_name,
    number,
    offset_of,
    program_path,
    read_quad,
    structure,
    text,
    value_at,
    variable,
)

TOP = Path(__file__).resolve().parent.parent.parent
PROGRAMS = os.environ.get("MEGALITH_PROGRAMS")

REGISTERS = 67
SP, PC = 30, 64
# The frame that context_switch (arch/alpha/hw/switch.S) stores at a thread's kernel SP: ra, s0-s5,
# fp, as GDB's register numbers.
SWITCH_FRAME = (26, 9, 10, 11, 12, 13, 14, 15)
THREAD_POINTER = 8
PS_USER = 8
CALL_PAL_RDUSP = b"\x3a\0\0\0"


# ---- processes, threads, CPUs ----


def processes():
    """Every process, in the order of creation. A walk that was in progress has a place in the list
    too."""
    places = each(variable("all", "kernel/proc/process.c"), "struct process_place", "link")
    return (place["process"].dereference() for place in places if place["process"])


def threads():
    """Every thread, in the order of creation."""
    return each(variable("all_threads", "kernel/sched/thread.c"), "struct thread", "all_link")


def find_process(argument: str) -> gdb.Value:
    pid = number(argument)
    for process in processes():
        if int(process["pid"]) == pid:
            return process
    raise NotThere(f"there is no process {pid}")


def find_thread(argument: str) -> gdb.Value:
    tid = number(argument)
    for thread in threads():
        if int(thread["tid"]) == tid:
            return thread
    raise NotThere(f"there is no thread {tid}")


def space_of(process: gdb.Value) -> gdb.Value:
    space = process["aspace"]
    if not int(space):
        raise NotThere(f"process {int(process['pid'])} has ended: it has no address space")
    return space


def cpu_block(index: int) -> gdb.Value:
    return variable("cpus")[index]


def cpu_thread(index: int) -> gdb.Value:
    """The thread that a CPU runs."""
    return cpu_block(index)["current"].cast(structure("thread").pointer()).dereference()


def selected_cpu() -> int:
    """The number of the selected CPU; QEMU and the stub number the threads of CPUs from 1."""
    thread = gdb.selected_thread()
    if thread is None:
        raise gdb.GdbError("no CPU: connect first (scripts/sda FILE or SOCKET)")
    return thread.num - 1


def selected_thread() -> gdb.Value:
    """The thread that GDB shows."""
    return context.thread if context.thread is not None else cpu_thread(selected_cpu())


def selected_process(argument: str | None = None) -> gdb.Value:
    """The process given, or the one that was selected, or that of the thread that is shown."""
    if argument is not None:
        return find_process(argument)
    if context.pid is not None:
        return find_process(str(context.pid))
    owner = selected_thread()["process"]
    if not int(owner):
        raise NotThere("this thread belongs to no process: name one")
    return owner.cast(structure("process").pointer()).dereference()


def current_root() -> int:
    """PFN of the level-1 page through which GDB now shows memory."""
    return context.root or int(selected_thread()["hw"]["pcb"]["ptbr"])


def is_running(thread: gdb.Value) -> bool:
    return enum_name(thread["state"], "thread_state", "THREAD_") == "running"


def running_on(thread: gdb.Value) -> int:
    """The CPU that a running thread is on."""
    for index in range(int(variable("cpu_count"))):
        if int(cpu_block(index)["current"]) == int(thread.address):
            return index
    raise NotThere(f"thread {int(thread['tid'])} is between two CPUs")


def has_panicked() -> bool:
    return int(variable("panic_owner", "kernel/base/panic.c")) != 0xFFFFFFFF


def user_frame(thread: gdb.Value) -> gdb.Value | None:
    """The frame of the outermost entry of a user thread, None if it has none now."""
    top = int(thread["hw"]["kstack_top"])
    if not int(thread["process"]) or not top:
        return None
    frame = value_at(top - structure("trapframe").sizeof, "trapframe")
    return frame if int(frame["ps"]) & PS_USER else None


# ---- the stub ----


def send(packet: str) -> bool:
    """Sends a packet to the stub; returns False if GDB is connected to QEMU directly."""
    return connection().send_packet(packet) == b"OK"


def connection() -> gdb.RemoteTargetConnection:
    there = gdb.selected_inferior().connection
    if not isinstance(there, gdb.RemoteTargetConnection):
        raise gdb.GdbError("no machine: connect first (scripts/sda FILE or SOCKET)")
    return there


class Context:
    """The selected thread."""

    def __init__(self) -> None:
        self.thread: gdb.Value | None = None  # None: the CPU that GDB has selected
        self.pid: int | None = None
        self.root = 0

    def show(self, root: int, registers: list[int] | None) -> None:
        image = b"".join(v.to_bytes(8, "little") for v in registers) if registers else b""
        if not send(f"Qmegalith.Context:{root:x};{image.hex()}"):
            raise gdb.GdbError(
                "what GDB is connected to shows CPUs only: attach with scripts/sda SOCKET"
            )
        forget_caches()

    def clear(self) -> None:
        self.thread, self.pid, self.root = None, None, 0
        send("Qmegalith.Context:off")
        forget_caches()


context = Context()


def forget_caches() -> None:
    gdb.execute("maintenance flush register-cache", to_string=True)
    gdb.execute("maintenance flush dcache", to_string=True)


def saved_registers(thread: gdb.Value) -> list[int]:
    """GDB's registers of a thread that is not running, as its last context switch saved them."""
    sp = int(thread["hw"]["pcb"]["ksp"])
    values = [0] * REGISTERS
    for i, register in enumerate(SWITCH_FRAME):
        values[register] = read_quad(sp + 8 * i)
    values[SP] = sp + 8 * len(SWITCH_FRAME)
    values[PC] = values[SWITCH_FRAME[0]]
    values[THREAD_POINTER] = int(thread.address)
    return values


def show_user_sp(thread: gdb.Value, running: bool, ask: bool = True) -> None:
    """Makes the stub show the user's stack pointer in the outermost frame of the thread. If the
    thread is running in the kernel, only PALcode has it: with `ask` the stub reads it from the CPU.
    If it is unknown it is shown as 0, which ends a backtrace after the place where the kernel was
    entered."""
    frame = user_frame(thread)
    if frame is None:
        return
    usp = int(thread["hw"]["pcb"]["usp"])
    if running and not has_panicked():
        if frame_is_full(frame):
            return
        usp = ask_user_sp(running_on(thread)) if ask else 0
    at = int(frame.address) + offset_of(structure("trapframe"), "usp")
    send(f"Qmegalith.Patch:{at:x};{usp & MASK:x}")


@functools.cache
def rdusp_at() -> int:
    """Address of the kernel instruction that reads the user's stack pointer."""
    start = int(variable_address("user_exit"))
    code = gdb.selected_inferior().read_memory(start, 256).tobytes()
    return start + next(i for i in range(0, 256, 4) if code[i : i + 4] == CALL_PAL_RDUSP)


def variable_address(name: str) -> int:
    return int(gdb.parse_and_eval(f"(unsigned long)&{name}"))


def ask_user_sp(index: int) -> int:
    """The user's stack pointer of a CPU that is in the kernel; 0 if the stub cannot read it."""
    before = gdb.selected_thread()
    gdb.execute(f"thread {index + 1}", to_string=True)
    pc = int(gdb.parse_and_eval("(unsigned long)$pc"))
    before.switch()
    if pc < int(gdb.parse_and_eval("(unsigned long)&_text_start")):
        return 0  # in PALcode, or in user mode, where SP is the user's
    answer = connection().send_packet(f"Qmegalith.Usp:{index + 1:x};{rdusp_at():x}")
    return int(answer, 16) if answer and not answer.startswith(b"E") else 0


def frame_is_full(frame: gdb.Value) -> bool:
    """Is this the frame of a system call for which entry code saves all registers at once?"""
    call = int(frame["orig_v0"])
    for table, first in (("posix_calls", 0), ("vms_calls", constant("VMS_FIRST"))):
        entries = variable(table)
        if first <= call <= first + entries.type.range()[1]:
            return int(entries[call - first]["flags"]) != 0
    return False


def thread_of(process: gdb.Value) -> gdb.Value | None:
    """The oldest thread of a process; None for a zombie."""
    for place in each(process["threads"], "struct uthread_place", "link"):
        if int(place["user"]):
            return place["user"]["thread"].dereference()
    return None


def pick_thread(thread: gdb.Value) -> None:
    """Makes GDB show this thread."""
    process = thread["process"]
    root = 0
    context.clear()
    if int(process):
        process = process.cast(structure("process").pointer()).dereference()
        load_program(process)
        if int(process["aspace"]):
            root = int(process["aspace"]["pt"]["root"]["n"])
        context.pid = int(process["pid"])
    if is_running(thread):
        cpu = running_on(thread)
        gdb.execute(f"thread {cpu + 1}", to_string=True)
        show_user_sp(thread, True)
        return
    show_user_sp(thread, False)
    context.show(root, saved_registers(thread))
    context.thread, context.root = thread, root


def pick_cpu(index: int) -> None:
    """Makes GDB show this CPU."""
    context.clear()
    gdb.execute(f"thread {index + 1}", to_string=True)
    thread = cpu_thread(index)
    show_user_sp(thread, True)
    if int(thread["process"]):
        load_program(thread["process"].cast(structure("process").pointer()).dereference())


def on_continue(_event: gdb.ThreadEvent) -> None:
    """The machine runs again: the stub has discarded the selection."""
    context.thread, context.pid, context.root = None, None, 0


def on_stop(_event: gdb.StopEvent) -> None:
    """The machine has stopped: make the users' stack pointers available to GDB's own backtrace."""
    try:
        for index in range(int(variable("cpu_count"))):
            if int(cpu_block(index)["current"]):
                show_user_sp(cpu_thread(index), True, ask=False)
    except (gdb.error, gdb.GdbError):
        pass  # before the kernel has set up these structures


# ---- programs ----

loaded: Path | None = None


def program_file(exe: str) -> Path | None:
    """The ELF file with the symbols of a program, by its path in the guest."""
    folders = ([Path(PROGRAMS)] if PROGRAMS else []) + [TOP / "build/user"]
    for folder in folders:
        path = folder / exe.lstrip("/")
        if path.is_file():
            return path
    return None


def load_program(process: gdb.Value) -> None:
    """Loads the symbols of the program that a process runs, in place of those of another
    program."""
    global loaded
    path = program_file(program_path(process))
    if path == loaded:
        return
    if loaded is not None:
        gdb.execute(f"remove-symbol-file {loaded}", to_string=True)
    loaded = None
    if path is not None:
        gdb.execute(f"add-symbol-file {path}", to_string=True)
        loaded = path


class SetProcess(Command):
    """sda set process PID: show registers, memory and symbols of this process.

    This selects its thread, even if it is not running: backtrace, frame, info locals and x continue
    from its kernel stack into its program. Symbols need the program's ELF file among the saved
    programs or in build/user.
    """

    name = "set process"

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if len(words) != 1:
            raise self.usage()
        process = find_process(words[0])
        thread = thread_of(process)
        if thread is None:
            raise NotThere(f"process {words[0]} has ended: it has no thread")
        pick_thread(thread)
        program = program_path(process)
        symbols = f"symbols of {loaded}" if loaded else "no symbols"
        print(f"process {int(process['pid'])} {text(process['name'])}: {program}, {symbols}")


class SetThread(Command):
    """sda set thread TID: show registers and memory of this kernel thread."""

    name = "set thread"

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if len(words) != 1:
            raise self.usage()
        thread = find_thread(words[0])
        pick_thread(thread)
        state = enum_name(thread["state"], "thread_state", "THREAD_")
        print(f"thread {int(thread['tid'])} {text(thread['name'])}: {state}")


class SetCpu(Command):
    """sda set cpu N: show registers and memory of this CPU again."""

    name = "set cpu"

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if len(words) != 1:
            raise self.usage()
        index = number(words[0])
        if index >= int(variable("cpu_count")):
            raise NotThere(f"there is no CPU {index}")
        pick_cpu(index)
        thread = cpu_thread(index)
        print(f"CPU {index}: thread {int(thread['tid'])} {text(thread['name'])}")


def register() -> None:
    for command in (SetProcess, SetThread, SetCpu):
        command()
    gdb.events.cont.connect(on_continue)
    gdb.events.stop.connect(on_stop)

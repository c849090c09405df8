"""Processes, threads, CPUs."""

from __future__ import annotations

import gdb
from mg_base import Command, NotThere, each, enum_name, number, read_quad, text, variable


def processes():
    """Every process, in the order of creation."""
    return each(variable("all", "kernel/proc/process.c"), "struct process", "all")


def threads():
    """Every thread, in the order of creation."""
    return each(variable("all_threads", "kernel/sched/thread.c"), "struct thread", "all_link")


def find_process(argument: str) -> gdb.Value:
    pid = number(argument)
    for process in processes():
        if int(process["pid"]) == pid:
            return process
    raise NotThere(f"there is no process {pid}")


def find_space(argument: str) -> gdb.Value:
    """The address space of a process."""
    space = find_process(argument)["aspace"]
    if not int(space):
        raise NotThere(f"process {number(argument)} has ended: it has no address space")
    return space


def current_thread() -> gdb.Value:
    """The thread of the selected CPU."""
    return cpu_block(selected_cpu())["current"].cast(gdb.lookup_type("struct thread").pointer())


def selected_cpu() -> int:
    """QEMU numbers a CPU's thread from 1."""
    thread = gdb.selected_thread()
    if thread is None:
        raise gdb.GdbError("no CPU: connect first (target remote ...)")
    return thread.num - 1


def cpu_block(index: int) -> gdb.Value:
    return variable("cpus")[index]


def current_root() -> int:
    """PFN of the level-1 page that the selected CPU has loaded: what its thread's PCB says."""
    return int(current_thread()["hw"]["pcb"]["ptbr"])


class Ps(Command):
    """megalith ps: the processes, their threads, states, and page counts."""

    name = "ps"

    def run(self, words: list[str]) -> None:
        print(
            "   pid  parent  state      pri  cpu  name             private  "
            "section   tables   faults"
        )
        for process in processes():
            parent = int(process["parent"]["pid"]) if int(process["parent"]) else 0
            line = f"{int(process['pid']):6}  {parent:6}  "
            if int(process["thread"]):
                thread = process["thread"]
                state = enum_name(thread["state"], "thread_state", "THREAD_")
                line += f"{state:9}  {int(thread['prio']):3}  {int(thread['last_cpu']):3}  "
            else:
                line += f"{'zombie':9}  {'':3}  {'':3}  "
            line += f"{text(process['name']):15}"
            if int(process["aspace"]):
                counts = process["aspace"]["counts"]
                for field in ("rss", "section_pages", "pt_pages", "faults"):
                    line += f"{int(counts[field]):9}"
            print(line)


class Threads(Command):
    """megalith threads: every thread. `megalith backtrace TID` says where one waits."""

    name = "threads"

    def run(self, words: list[str]) -> None:
        print("   tid  state      pri  cpu    switches  name             thread at")
        for thread in threads():
            state = enum_name(thread["state"], "thread_state", "THREAD_")
            print(
                f"{int(thread['tid']):6}  {state:9}  {int(thread['prio']):3}"
                f"  {int(thread['last_cpu']):3}  {int(thread['switches']):10}"
                f"  {text(thread['name']):15}  {int(thread.address):#x}"
            )


# The frame that context_switch (arch/alpha/hw/switch.S) leaves at a thread's kernel SP.
SWITCH_FRAME = ("$ra", "$s0", "$s1", "$s2", "$s3", "$s4", "$s5", "$fp")


class Backtrace(Command):
    """megalith backtrace TID: the stack of a thread that does not run now.

    The registers that its last switch saved are shown to GDB for a moment and put back
    afterwards, so
    this is for a machine that stands still.
    """

    name = "backtrace"

    def run(self, words: list[str]) -> None:
        if len(words) != 1:
            raise self.usage()
        tid = number(words[0])
        thread = next((t for t in threads() if int(t["tid"]) == tid), None)
        if thread is None:
            raise NotThere(f"there is no thread {tid}")
        if enum_name(thread["state"], "thread_state", "THREAD_") == "running":
            raise NotThere("it runs: select its CPU (info threads) and say backtrace")
        sp = int(thread["hw"]["pcb"]["ksp"])
        values = {name: read_quad(sp + 8 * i) for i, name in enumerate(SWITCH_FRAME)}
        values |= {"$sp": sp + 8 * len(SWITCH_FRAME), "$pc": values["$ra"]}
        frame = gdb.newest_frame()
        frame.select()
        before = {name: int(gdb.parse_and_eval(name)) for name in values}
        try:
            for name, value in values.items():
                gdb.execute(f"set {name} = {value:#x}", to_string=True)
            gdb.execute("backtrace")
        finally:
            for name, value in before.items():
                gdb.execute(f"set {name} = {value & 0xFFFFFFFFFFFFFFFF:#x}", to_string=True)


class Cpus(Command):
    """megalith cpus: what each CPU does: its thread, and whether it is idle."""

    name = "cpus"

    def run(self, words: list[str]) -> None:
        for i in range(int(variable("cpu_count"))):
            block = cpu_block(i)
            thread = block["current"].cast(gdb.lookup_type("struct thread").pointer())
            idle = ", idle" if int(block["idle"]) else ""
            print(
                f"CPU {i} (WHAMI {int(block['whami'])}): thread {int(thread['tid'])}"
                f" {text(thread['name'])}{idle}"
            )


class Break(Command):
    """megalith break FUNCTION: breakpoints at both entries of a function.

    A call within the kernel may skip the first two instructions, which load the GP; GDB places its
    breakpoint behind the prologue's first part, which other calls do not pass. This one catches
    both.
    """

    name = "break"

    def run(self, words: list[str]) -> None:
        if len(words) != 1:
            raise self.usage()
        start = int(gdb.parse_and_eval(words[0]).address)
        for offset in (0, 8):
            gdb.Breakpoint(f"*{start + offset:#x}")


def register() -> None:
    for command in (Ps, Threads, Backtrace, Cpus, Break):
        command()

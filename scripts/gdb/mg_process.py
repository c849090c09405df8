"""Processes, threads, CPUs, stacks."""

from __future__ import annotations

import re

import gdb
from mg_base import (
    Command,
    NotThere,
    Table,
    bits,
    c_string,
    each,
    enum_name,
    flags,
    heading,
    number,
    program_path,
    read_quad,
    structure,
    symbol_at,
    text,
    va_text,
    variable,
)
from mg_context import (
    context,
    cpu_block,
    cpu_thread,
    find_process,
    find_thread,
    is_running,
    pick_cpu,
    pick_thread,
    processes,
    running_on,
    saved_registers,
    selected_cpu,
    selected_process,
    selected_thread,
    thread_of,
    threads,
)

PRIVILEGES = flags(
    "PRV$M_",
    "CMKRNL SYSNAM GRPNAM GROUP PSWAPM SETPRV WORLD PRMGBL SYSGBL PFNMAP SYSPRV BYPASS",
)


MAP_RIGHTS = flags("MAP_", "R=r W=w X=x")


def thread_state(thread: gdb.Value | None) -> str:
    """The state as `show system` calls it: kernel/sys/info/process.c."""
    if thread is None:
        return "ENDED"
    state = enum_name(thread["state"], "thread_state", "THREAD_")
    if state == "running":
        return "CUR"
    if state == "dead":
        return "ENDED"
    if state != "waiting":
        return "COM"
    if int(thread["wants_name"]):
        return "MUTEX"
    process = thread["process"]
    if int(process):
        signals = process.cast(structure("process").pointer())["sig"]
        if int(signals) and int(signals["stopped"]):
            return "SUSP"
    if int(thread["sleeping"]):
        return "HIB"
    return "LEF" if int(thread["interruptible"]) == 1 else "RWAST"


class ShowSummary(Command):
    """sda show summary [/THREAD]: the processes; with /THREAD every thread of the kernel.

    State is as in `show system` (CUR, COM, MUTEX, LEF, HIB, RWAST, SUSP, ENDED). PCB is the address
    of the process's structure, KTB that of the thread's.
    """

    name = "show summary"
    qualifiers = {"thread": False}

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if words:
            raise self.usage()
        if "thread" in qualifiers:
            self.threads()
        else:
            self.processes()

    def processes(self) -> None:
        heading("Current process summary")
        table = Table(
            ("Pid", 5),
            ("Parent", 6),
            ("Process name", -15),
            ("State", -5),
            ("Pri", 3),
            ("CPU", 3),
            ("PCB", -17),
            ("KTB", -17),
            ("Private", 8),
            ("Section", 8),
            ("Tables", 6),
            ("Faults", 8),
        )
        count = 0
        for process in processes():
            thread = thread_of(process)
            cells: list[object] = [int(process["pid"]), int(process["ppid"])]
            cells += [text(process["name"]), thread_state(thread)]
            if thread is not None:
                cells += [int(thread["prio"]), int(thread["last_cpu"])]
            else:
                cells += ["", ""]
            cells += [va_text(int(process.address))]
            cells += [va_text(int(thread.address)) if thread is not None else ""]
            if int(process["aspace"]):
                counts, pt = process["aspace"]["counts"], process["aspace"]["pt"]
                cells += [int(pt["rss"]), int(counts["section_pages"])]
                cells += [int(pt["tables"]), int(counts["faults"])]
            table.row(*cells)
            count += 1
        print(f"{count} processes")

    def threads(self) -> None:
        heading("Current thread summary")
        table = Table(
            ("Tid", 5),
            ("Pid", 5),
            ("Thread name", -15),
            ("State", -5),
            ("Pri", 3),
            ("CPU", 3),
            ("KTB", -17),
            ("Switches", 9),
            ("Waits for", -16),
        )
        count = 0
        for thread in threads():
            owner = thread["process"]
            pid = ""
            if int(owner):
                pid = str(int(owner.cast(structure("process").pointer())["pid"]))
            table.row(
                int(thread["tid"]),
                pid,
                text(thread["name"]),
                thread_state(thread),
                int(thread["prio"]),
                int(thread["last_cpu"]),
                va_text(int(thread.address)),
                int(thread["switches"]),
                c_string(thread["wants_name"]),
            )
            count += 1
        print(f"{count} threads")


class ShowProcess(Command):
    """sda show process [PID] [/MAP] [/CHANNEL] [/ALL]: one process, or the one that is shown.

    /MAP adds the mappings of its address space, in the order of addresses, /CHANNEL its open files,
    /ALL both.
    """

    name = "show process"
    qualifiers = {"map": False, "channel": False, "all": False}

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if len(words) > 1:
            raise self.usage()
        process = selected_process(words[0] if words else None)
        self.identity(process)
        if "map" in qualifiers or "all" in qualifiers:
            self.map(process)
        if "channel" in qualifiers or "all" in qualifiers:
            self.channels(process)

    def identity(self, process: gdb.Value) -> None:
        pid = int(process["pid"])
        heading(
            f"Process index: {pid}   Name: {text(process['name'])}   Program: "
            f"{program_path(process) or '-'}"
        )
        thread = thread_of(process)
        space = process["aspace"]
        uic = f"[{int(process['uic_group']):o},{int(process['uic_member']):o}]"
        rows: list[tuple[str, object, str, object]] = [
            ("PCB address", va_text(int(process.address)), "Parent pid", int(process["ppid"])),
            ("State", thread_state(thread), "Process group", int(process["pgid"])),
            ("UIC", uic, "Session", int(process["sid"])),
        ]
        users = "/".join(str(int(process[f])) for f in ("uid", "euid", "suid"))
        groups = "/".join(str(int(process[f])) for f in ("gid", "egid", "sgid"))
        rows.append(("User ids", users, "Group ids", groups))
        if thread is not None:
            rows.append(("KTB address", va_text(int(thread.address)), "Thread", int(thread["tid"])))
            rows.append(("Priority", int(thread["prio"]), "CPU", int(thread["last_cpu"])))
            held = [c_string(thread["held"][i]["name"]) for i in range(int(thread["held_mutexes"]))]
            waits = c_string(thread["wants_name"])
            rows.append(("Mutexes held", ", ".join(held) or "none", "Waits for", waits or "-"))
        if int(space):
            counts, pt = space["counts"], space["pt"]
            rows += [
                (
                    "Address space",
                    va_text(int(space)),
                    "Level-1 page",
                    f"{int(pt['root']['n']):X}",
                ),
                (
                    "Private pages",
                    int(pt["rss"]),
                    "Section pages",
                    int(counts["section_pages"]),
                ),
                ("Page-table pages", int(pt["tables"]), "Page faults", int(counts["faults"])),
                (
                    "Virtual size",
                    f"{int(counts['vsize']) >> 10} KiB",
                    "Locked pages",
                    int(counts["locked"]),
                ),
                (
                    "Loaded on CPUs",
                    f"{int(pt['loaded']):#x}",
                    "Home RAD",
                    int(pt["home_rad"]),
                ),
            ]
        for left, first, right, second in rows:
            print(f"{left:<18}{first!s:<24}{right:<18}{second}")
        print(f"{'Privileges':<18}{bits(process['privileges'], PRIVILEGES) or 'none'}")
        if thread is None:
            print(f"{'Exit status':<18}{int(process['exit_status']):#x}")

    def map(self, process: gdb.Value) -> None:
        if not int(process["aspace"]):
            return
        heading("Address space map")
        table = Table(
            ("First address", -17),
            ("End", -17),
            ("Prot", -4),
            ("KiB", 12),
            ("Kind", -10),
            ("Object", -17),
            ("Section", -43),
        )
        for entry in each(process["aspace"]["entries"], "struct map_entry", "link"):
            start, end, prot = int(entry["start"]), int(entry["end"]), int(entry["prot"])
            rights = "".join(c if prot & bit else "-" for bit, c in MAP_RIGHTS)
            mapping = entry["smap"]
            section = ""
            if int(mapping) and int(mapping["section"]["gsd"]):
                section = text(mapping["section"]["gsd"]["name"])
            table.row(
                va_text(start),
                va_text(end),
                rights + ("l" if int(entry["locked"]) else ""),
                (end - start) >> 10,
                c_string(entry["ops"]["name"]) if int(entry["ops"]) else "?",
                va_text(int(entry["object"])) if int(entry["object"]) else "-",
                section,
            )

    def channels(self, process: gdb.Value) -> None:
        files = process["files"]
        if not int(files):
            return
        heading("Open files")
        table = Table(
            ("Fd", 4),
            ("File", -17),
            ("Kind", -10),
            ("Refs", 5),
            ("Flags", 8),
            ("Inode", 7),
            ("Position", 12),
        )
        for fd in range(int(files["size"])):
            file = files["file"][fd]
            if not int(file):
                continue
            inode = file["inode"]
            table.row(
                fd,
                va_text(int(file)),
                c_string(file["ops"]["name"]),
                int(file["refs"]),
                f"{int(file['flags']):#x}",
                int(inode["ino"]) if int(inode) else "-",
                int(file["pos"]),
            )


class ShowCpu(Command):
    """sda show cpu: for each CPU its thread, and the state and counters of its run queue."""

    name = "show cpu"

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        heading("CPU summary")
        table = Table(
            ("CPU", 3),
            ("Thread", 6),
            ("Pid", 5),
            ("Name", -15),
            ("State", -6),
            ("Ready", 5),
            ("Switches", 9),
            ("Ticks", 9),
            ("CPUDB", -17),
        )
        for index in range(int(variable("cpu_count"))):
            block, thread = cpu_block(index), cpu_thread(index)
            queue = variable("runqs")[index]
            owner = thread["process"]
            pid = int(owner.cast(structure("process").pointer())["pid"]) if int(owner) else "-"
            table.row(
                index,
                int(thread["tid"]),
                pid,
                text(thread["name"]),
                "idle" if int(block["idle"]) else "busy",
                int(queue["ready"]["count"]) + int(queue["fair_ready"]),
                int(queue["switches"]),
                int(queue["ticks"]),
                va_text(int(block.address)),
            )


def chosen_thread(words: list[str], qualifiers: dict[str, str]) -> gdb.Value | None:
    """The thread of /PROCESS=pid, /THREAD=tid or /CPU=n; None means the one that is shown."""
    if "process" in qualifiers:
        process = find_process(qualifiers["process"])
        thread = thread_of(process)
        if thread is None:
            raise NotThere(f"process {qualifiers['process']} has ended: it has no thread")
        return thread
    if "thread" in qualifiers:
        return find_thread(qualifiers["thread"])
    if "cpu" in qualifiers:
        index = number(qualifiers["cpu"])
        if index >= int(variable("cpu_count")):
            raise NotThere(f"there is no CPU {index}")
        return cpu_thread(index)
    return None


OUTERMOST = re.compile(r"^(#\d+ .* _start \(\)\n)Backtrace stopped: .*corrupt stack.*\n", re.M)
CHOICES = {"process": True, "thread": True, "cpu": True}


class ShowCallFrame(Command):
    """sda show call_frame [/PROCESS=pid | /THREAD=tid | /CPU=n]: the backtrace of a thread, running
    or not, through interrupts and system calls into its program.

    The default is the thread that is shown. The selection is restored afterwards.
    """

    name = "show call_frame"
    qualifiers = CHOICES

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if words:
            raise self.usage()
        thread = chosen_thread(words, qualifiers)
        if thread is None:
            thread = selected_thread()
        before_thread, before_cpu = context.thread, selected_cpu()
        try:
            pick_thread(thread)
            where = f"on CPU {running_on(thread)}" if is_running(thread) else "not running"
            heading(f"Call frames of thread {int(thread['tid'])} {text(thread['name'])}, {where}")
            said = gdb.execute("backtrace", to_string=True)
            # A program's _start has no caller; GDB would report a corrupt stack.
            print(OUTERMOST.sub(r"\1", said), end="")
        finally:
            if before_thread is not None:
                pick_thread(before_thread)
            else:
                pick_cpu(before_cpu)


class ShowStack(Command):
    """sda show stack [/PROCESS=pid | /THREAD=tid | /CPU=n] [/LONG]: the kernel stack of a thread,
    quadword by quadword from its stack pointer to its top, with the symbols that they point at.

    Without /LONG only quadwords that point into code or at named structures.
    """

    name = "show stack"
    qualifiers = CHOICES | {"long": False}

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if words:
            raise self.usage()
        thread = chosen_thread(words, qualifiers)
        if thread is None:
            thread = selected_thread()
        base, top = int(thread["hw"]["kstack_base"]), int(thread["hw"]["kstack_top"])
        sp = self.stack_pointer(thread)
        heading(f"Kernel stack of thread {int(thread['tid'])} {text(thread['name'])}")
        print(
            f"base {va_text(base)}  limit {va_text(int(thread['hw']['kstack_limit']))}  "
            f"top {va_text(top)}  SP {va_text(sp)}  {top - sp if base <= sp <= top else 0} bytes"
        )
        if not base <= sp <= top:
            raise NotThere(
                "its stack pointer is not on this stack now: it is in user mode, or on "
                "the emergency stack"
            )
        for at in range(sp, top, 8):
            value = read_quad(at)
            symbol = symbol_at(value)
            if symbol or "long" in qualifiers:
                arrow = "SP => " if at == sp else "      "
                print(f"{arrow}{va_text(at)}  {va_text(value)}  {symbol}".rstrip())

    def stack_pointer(self, thread: gdb.Value) -> int:
        if not is_running(thread):
            return saved_registers(thread)[30]
        gdb_thread = gdb.selected_thread()
        try:
            gdb.execute(f"thread {running_on(thread) + 1}", to_string=True)
            return int(gdb.parse_and_eval("(unsigned long)$sp"))
        finally:
            gdb_thread.switch()


def register() -> None:
    for command in (ShowSummary, ShowProcess, ShowCpu, ShowCallFrame, ShowStack):
        command()

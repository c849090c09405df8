"""GDB's remote protocol over standard input and output, for `target remote | ...`: for a saved
state, or between GDB and a machine that waits on a socket.

Both accept additional packets, which scripts/gdb sends:

    Qmegalith.Context:ROOT;REGISTERS    memory is that of the level-1 page ROOT (hexadecimal PFN,
                                        0: that of the CPU), registers are as given (hexadecimal,
                                        as in a g packet; empty: those of the CPU)
    Qmegalith.Context:off               the CPUs as they are
    Qmegalith.Patch:ADDRESS;VALUE       reads of this quadword return VALUE
    Qmegalith.Usp:THREAD;ADDRESS        the user's stack pointer of a CPU in kernel mode

With them GDB shows, with all its commands, a thread that is not running, or a process whose page
tables no CPU has loaded. When the machine continues, the settings are discarded.
"""

from __future__ import annotations

import os
import re
import select
import socket
import sys
from pathlib import Path

from megalith.debug.saved import (
    PAGE_SIZE,
    PT_SPACE,
    USER_TOP,
    Memory,
    NotMapped,
    SavedError,
    SavedState,
)
from megalith.run.machine import KSEG

REGISTERS = 67
PC = 64
REGISTER_NAMES = (
    *("v0", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "s0", "s1", "s2", "s3", "s4", "s5"),
    *("fp", "a0", "a1", "a2", "a3", "a4", "a5", "t8", "t9", "t10", "t11", "ra", "t12", "at", "gp"),
    *("sp", "zero"),
    *(f"f{i}" for i in range(31)),
    *("fpcr", "pc", "", "unique"),
)
PACKET_MAX = 0x1000
COUNTING = "Host - Guest clock"
RESUMES = re.compile(rb"[cCsS]|vCont;")


class Link:
    """Packets over a pair of file descriptors."""

    def __init__(self, fd_in: int, fd_out: int) -> None:
        self.fd = fd_in
        self._out = fd_out
        self._buffer = b""
        self._last = b""

    def send(self, body: bytes) -> None:
        self._last = b"$" + body + b"#%02x" % (sum(body) & 255)
        self.raw(self._last)

    def raw(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._out, data) :]

    def receive(self) -> list[bytes] | None:
        """Contents of the packets that have arrived, b"\\x03" for an interrupt; None at the end."""
        data = os.read(self.fd, 65536)
        if not data:
            return None
        self._buffer += data
        packets = []
        while self._buffer:
            first = self._buffer[:1]
            if first == b"$":
                end = self._buffer.find(b"#")
                if end < 0 or len(self._buffer) < end + 3:
                    break
                body = self._buffer[1:end]
                intact = self._buffer[end + 1 : end + 3] == b"%02x" % (sum(body) & 255)
                self._buffer = self._buffer[end + 3 :]
                self.raw(b"+" if intact else b"-")
                if intact:
                    packets.append(body)
                continue
            if first == b"-":
                self.raw(self._last)
            elif first == b"\x03":
                packets.append(first)
            self._buffer = self._buffer[1:]
        return packets


class Context:
    """The settings of Qmegalith.Context."""

    def __init__(self) -> None:
        self.root = 0
        self.registers = b""
        self.patches: dict[int, bytes] = {}

    def answer(self, packet: bytes) -> bytes | None:
        """The answer to one of our own packets; None for any other packet."""
        kind, _, text = packet.partition(b":")
        if kind == b"Qmegalith.Context":
            return self.set(text)
        if kind == b"Qmegalith.Patch":
            address, _, value = text.partition(b";")
            self.patches[int(address, 16)] = int(value, 16).to_bytes(8, "little").hex().encode()
            return b"OK"
        return None

    def patched(self, address: int, answer: bytes) -> bytes:
        """The answer (hexadecimal bytes) to a read at an address, changed by the patches."""
        end = address + len(answer) // 2
        for at, value in self.patches.items():
            if answer[:1] != b"E" and address - 7 <= at < end:
                first, last = max(at, address), min(at + 8, end)
                there = value[(first - at) * 2 : (last - at) * 2]
                answer = answer[: (first - address) * 2] + there + answer[(last - address) * 2 :]
        return answer

    def set(self, text: bytes) -> bytes:
        """Applies the packet; returns its answer."""
        if text == b"off":
            self.root, self.registers = 0, b""
            self.patches.clear()
            return b"OK"
        root, _, registers = text.partition(b";")
        if len(registers) not in (0, REGISTERS * 16):
            return b"E22"
        self.root, self.registers = int(root, 16), registers
        return b"OK"

    def answer_register(self, number: int) -> bytes:
        return self.registers[number * 16 : number * 16 + 16]

    def covers(self, address: int) -> bool:
        """Does an address belong to the memory of the context?"""
        return self.root != 0 and (address < USER_TOP or address >= PT_SPACE)


def read_partly(memory: Memory, root: int, address: int, length: int) -> bytes:
    """As many of the bytes as can be read; if there are none, an error answer."""
    out = b""
    while length > 0:
        n = min(length, PAGE_SIZE - address % PAGE_SIZE)
        try:
            out += memory.read_virtual(root, address, n)
        except NotMapped:
            break
        address, length = address + n, length - n
    return out.hex().encode() if out else b"E14"


class SavedStub:
    """Answers GDB from a saved state."""

    def __init__(self, state: SavedState, gdb: Link) -> None:
        self.state = state
        self.gdb = gdb
        self.context = Context()
        panicked = re.match(r"panic on CPU (\d+):", state.reason)
        self.cpu = min(int(panicked[1]), state.cpus - 1) if panicked else 0  # shown at first
        self.physical = False

    def serve(self) -> None:
        while True:
            packets = self.gdb.receive()
            if packets is None:
                return
            for packet in packets:
                if packet == b"k":
                    return
                self.gdb.send(self.answer(packet))

    def answer(self, packet: bytes) -> bytes:
        text = packet.decode("latin-1")
        kind = text[:1]
        own = self.context.answer(packet)
        if own is not None:
            return own
        if text.startswith("qSupported"):
            return b"PacketSize=%x" % PACKET_MAX
        if text == "?" or RESUMES.match(packet):
            if text != "?":
                self.gdb.send(b"O" + b"A saved state stands still.\n".hex().encode())
            return b"T05thread:%x;" % (self.cpu + 1)
        if kind == "H":
            number = int(text[2:], 16) if text[2:] != "-1" else 0
            if number > self.state.cpus:
                return b"E22"
            if number > 0:
                self.cpu = number - 1
            return b"OK"
        if kind == "T":
            return b"OK" if 1 <= int(text[1:], 16) <= self.state.cpus else b"E22"
        if text == "qfThreadInfo":
            return b"m" + ",".join(f"{n + 1:x}" for n in range(self.state.cpus)).encode()
        if text == "qsThreadInfo":
            return b"l"
        if text.startswith("qThreadExtraInfo,"):
            number = int(text.split(",")[1], 16)
            return f"CPU {number - 1}".encode().hex().encode()
        if text == "qC":
            return b"QC%x" % (self.cpu + 1)
        if text == "qAttached":
            return b"1"
        if text == "g":
            return self.context.registers or self.registers()
        if kind == "p":
            number = int(text[1:], 16)
            if number >= REGISTERS:
                return b"E22"
            everything = self.context.registers or self.registers()
            return everything[number * 16 : number * 16 + 16]
        if kind == "m":
            address, length = (int(part, 16) for part in text[1:].split(","))
            return self.memory(address, min(length, PACKET_MAX // 2))
        if kind in "GPMXZz" and kind:
            return b"E01"
        if kind == "D":
            return b"OK"
        if text.startswith("Qqemu.PhyMemMode:"):
            self.physical = text.endswith("1")
            return b"OK"
        return b""

    def registers(self) -> bytes:
        values = self.state.registers(self.cpu)
        return b"".join(
            values.get(name, 0).to_bytes(8, "little").hex().encode() for name in REGISTER_NAMES
        )

    def memory(self, address: int, length: int) -> bytes:
        try:
            if self.physical:
                return self.state.read_physical(address, length).hex().encode()
            own = self.context.root if self.context.covers(address) else 0
            root = own or self.state.root(self.cpu)
            return self.context.patched(address, read_partly(self.state, root, address, length))
        except NotMapped:
            return b"E14"


class LiveStub(Memory):
    """Relays packets between GDB and QEMU, and answers for a context itself.

    The user's stack pointer of a CPU that is in the kernel is in none of the registers that QEMU
    shows; only PALcode has it. So the CPU is made to execute one instruction, the PALcode call that
    reads it (at ADDRESS), and its PC and v0 are restored; all other CPUs are stopped, and no
    interrupt is taken. This is not done where QEMU counts instructions (--icount, schedules,
    recordings), because one more would change the run; only then does its monitor report the drift
    of its clocks.
    """

    def __init__(self, qemu: socket.socket, gdb: Link) -> None:
        self.qemu = Link(qemu.fileno(), qemu.fileno())
        self.gdb = gdb
        self.context = Context()
        self.waiting: list[bytes] = []
        self.selected = b"Hg0"  # GDB's choice of a CPU

    def serve(self) -> None:
        while True:
            ready, _, _ = select.select([self.gdb.fd, self.qemu.fd], [], [])
            if self.qemu.fd in ready:
                packets = self.qemu.receive()
                if packets is None:
                    return
                for packet in packets:
                    self.gdb.send(packet)
            if self.gdb.fd in ready:
                packets = self.gdb.receive()
                if packets is None:
                    return
                for packet in packets:
                    self.from_gdb(packet)

    def from_gdb(self, packet: bytes) -> None:
        if packet == b"\x03":
            self.qemu.raw(packet)
            return
        answer = self.own_answer(packet)
        if answer is None:
            self.qemu.send(packet)
        else:
            self.gdb.send(answer)

    def own_answer(self, packet: bytes) -> bytes | None:
        """The answer to a packet that is not passed to QEMU."""
        own = self.context.answer(packet)
        if own is not None:
            return own
        if packet.startswith(b"Qmegalith.Usp:"):
            thread, _, address = packet.partition(b":")[2].partition(b";")
            return self.user_sp(int(thread, 16), int(address, 16))
        if packet[:2] == b"Hg":
            self.selected = packet
        if RESUMES.match(packet):
            self.context.set(b"off")
        if self.context.registers:
            if packet == b"g":
                return self.context.registers
            if packet[:1] == b"p":
                return self.context.answer_register(int(packet[1:], 16)) or b"E22"
            if packet[:1] in (b"G", b"P"):
                return b"E01"
        if packet[:1] == b"m":
            address, length = (int(part, 16) for part in packet[1:].split(b","))
            if self.context.covers(address):
                return read_partly(self, self.context.root, address, length)
            if self.context.patches:
                return self.context.patched(address, self.ask(packet))
        elif packet[:1] in (b"M", b"X"):
            address = int(packet[1:].split(b",")[0], 16)
            if self.context.covers(address):
                return b"E01"
        return None

    def user_sp(self, thread: int, address: int) -> bytes:
        """The answer to Qmegalith.Usp: the pointer in hexadecimal, or an error."""
        counting = COUNTING in self.monitor("info jit")
        names = self.ask(b"qfThreadInfo")[1:].split(b",")
        if counting or not 1 <= thread <= len(names):
            return b"E22"
        name = names[thread - 1]
        self.ask(b"Hg" + name)
        before = self.ask(b"g")
        if len(before) != REGISTERS * 16:
            return b"E22"
        place = address.to_bytes(8, "little").hex().encode()
        changed = before[: PC * 16] + place + before[PC * 16 + 16 :]
        try:
            if self.ask(b"G" + changed) != b"OK" or self.ask(b"g") != changed:
                return b"E22"
            if not self.ask(b"vCont;s:" + name).startswith(b"T05"):
                return b"E22"
            answer = int.from_bytes(bytes.fromhex(self.ask(b"g")[:16].decode()), "little")
        finally:
            self.ask(b"G" + before)
            self.ask(self.selected)
        return b"%x" % answer

    def monitor(self, line: str) -> str:
        """The answer of QEMU's monitor to a line."""
        answer = self.ask(b"qRcmd," + line.encode().hex().encode())
        text = b""
        while answer.startswith(b"O") and answer != b"OK":
            text += bytes.fromhex(answer[1:].decode())
            answer = self.next_packet()
        return text.decode(errors="replace")

    def ask(self, packet: bytes) -> bytes:
        """QEMU's answer to a packet, while the machine is stopped."""
        self.qemu.send(packet)
        return self.next_packet()

    def next_packet(self) -> bytes:
        while not self.waiting:
            packets = self.qemu.receive()
            if packets is None:
                raise SavedError("the machine has ended")
            self.waiting += packets
        return self.waiting.pop(0)

    def read_physical(self, address: int, length: int) -> bytes:
        answer = self.ask(b"m%x,%x" % (KSEG + address, length))
        if answer.startswith(b"E"):
            raise NotMapped(f"there is no physical memory at {address:#x}")
        return bytes.fromhex(answer.decode())


def main(arguments: list[str]) -> int:
    target = Path(arguments[0])
    gdb = Link(0, 1)
    try:
        if target.is_socket():
            with socket.socket(socket.AF_UNIX) as qemu:
                qemu.connect(str(target))
                LiveStub(qemu, gdb).serve()
        else:
            with SavedState(target) as state:
                SavedStub(state, gdb).serve()
    except (SavedError, OSError) as error:
        print(f"{target}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

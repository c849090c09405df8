"""State of CPUs that do not respond, read through QEMU's monitor."""

from __future__ import annotations

import re
from dataclasses import dataclass

from megalith.debug.symbols import Symbols
from megalith.run.machine import Machine
from megalith.run.monitor import MonitorError

# Quadwords of the stack that are searched for return addresses.
STACK_WORDS = 256
STACK_SHOWN = 24

CPU_HEAD = re.compile(r"^CPU#(\d+)", re.MULTILINE)
REGISTER = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]*)\s+([0-9a-f]{16}|[0-9a-f]{2})\b")
PLACE = re.compile(r"\bpc (?P<name>\w[\w$.]*)\+(?P<offset>0x[0-9a-f]+)")
RACE_PLACE = re.compile(r"by CPU \d+, pc (0x[0-9a-f]{16}) (\w[\w$.]*\+0x[0-9a-f]+)")
WORDS = re.compile(r"0x([0-9a-f]{16})")


@dataclass(frozen=True)
class Cpu:
    number: int
    text: str
    registers: dict[str, int]


def cpus_of(machine: Machine) -> list[Cpu]:
    """The registers of every CPU, parsed from `info registers -a`."""
    text = machine.monitor.human("info registers -a")
    heads = list(CPU_HEAD.finditer(text))
    cpus = []
    for head, following in zip(heads, heads[1:] + [None]):
        body = text[head.end() : following.start() if following else len(text)]
        registers = {name: int(value, 16) for name, value in REGISTER.findall(body)}
        shown = [line for line in body.splitlines() if line and not re.match(r"f[0-9]", line)]
        cpus.append(Cpu(int(head.group(1)), "\n".join(shown), registers))
    return cpus


def _return_addresses(machine: Machine, cpu: Cpu, symbols: Symbols) -> list[int]:
    """Values on a CPU's stack that are addresses after a call: a superset of its backtrace."""
    line = f"x /{STACK_WORDS}gx {cpu.registers['sp']:#x}"
    answer = machine.monitor.execute(
        "human-monitor-command", **{"command-line": line, "cpu-index": cpu.number}
    )
    words = (int(word, 16) for word in WORDS.findall(str(answer)))
    # The address at the start of each line has no 0x, so only contents match.
    return [word for word in words if symbols.is_return_address(word)][:STACK_SHOWN]


def source_line(machine: Machine, reason: str) -> str:
    """The source line of the PC that a panic's reason names ("... pc function+0x10"), or ''."""
    found = PLACE.search(reason)
    if not found:
        return ""
    try:
        symbols = Symbols(machine.settings.kernel)
    except OSError:
        return ""
    start = symbols.address(found["name"])
    if start is None:
        return ""
    address = start + int(found["offset"], 16)
    return symbols.lines([address]).get(address, "")


def race_lines(machine: Machine, console: str) -> list[str]:
    """The places of the data races that a kernel has reported (make RACES=1), each once: its name
    and its source line."""
    named = dict(RACE_PLACE.findall(console))
    try:
        symbols = Symbols(machine.settings.kernel)
    except OSError:
        return []
    lines = symbols.lines([int(address, 16) for address in named])
    return [
        f"{name} is {lines[int(address, 16)]}"
        for address, name in named.items()
        if int(address, 16) in lines
    ]


def describe(machine: Machine, wanted: list[int] | None = None) -> str:
    """Registers, place and probable callers of the given CPUs (all of them by default)."""
    out: list[str] = []
    try:
        symbols = Symbols(machine.settings.kernel)
        for cpu in cpus_of(machine):
            if wanted is not None and cpu.number not in wanted:
                continue
            out.append(f"CPU {cpu.number}, as QEMU's monitor shows it:")
            out.append(cpu.text)
            places = [cpu.registers["PC"], cpu.registers["ra"]]
            out += [
                f"  {what} {place}" for what, place in zip(("pc", "ra"), symbols.describe(places))
            ]
            callers = _return_addresses(machine, cpu, symbols)
            out += [f"  on the stack: {place}" for place in symbols.describe(callers)]
    except (MonitorError, OSError, KeyError) as error:
        out.append(f"nothing more is known: {error}")
    return "\n".join(out) + "\n"

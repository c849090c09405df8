"""How far a guest has got. The time limit of a run counts the guest's own clock ticks, which do not
come while a busy host does not run the emulator; the host's clock is only the last resort."""

from __future__ import annotations

import os
import time
from functools import cached_property
from pathlib import Path

from megalith.run.guest_memory import GuestMemory, data_address
from megalith.run.machine import KSEG, Machine

TICKS_HZ = 1024  # docs/platform.md
# A guest whose clock stands still (all interrupts off) has used the emulator's time for this many
# times the limit on each CPU; by instruction count it has a clock of any speed.
EMULATOR_TIMES = 2
# A guest that does neither is given up when the host's clock has gone so far.
HOST_TIMES, HOST_SECONDS = 20, 60


class Progress:
    """Since the start of the machine, or since this object was made (`anew`)."""

    def __init__(self, machine: Machine, anew: bool = False) -> None:
        self._machine = machine
        self._begin = time.monotonic()
        self._clock_begin = self._emulator_begin = 0.0
        if anew:
            self._clock_begin, self._emulator_begin = self.clock_seconds(), self.emulator_seconds()

    @cached_property
    def _clock_place(self) -> int:
        """Physical address of the clock's count. To find it takes a part of a second, and several
        on a busy host, in which the guest goes on: once is enough."""
        return data_address(self._machine.settings.kernel, "clock_ticks") - KSEG

    def clock_seconds(self) -> float:
        """Time by the clock ticks of CPU 0; 0: it has taken none, or cannot be read."""
        try:
            memory = GuestMemory(self._machine.pid, self._machine.settings.memory)
            ticks = memory.read(self._clock_place, 8)
        except (OSError, KeyError, AttributeError):
            return 0.0
        return int.from_bytes(ticks, "little") / TICKS_HZ - self._clock_begin

    def emulator_seconds(self) -> float:
        """CPU time of the host that the emulator has used."""
        try:
            stat = Path(f"/proc/{self._machine.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK") - self._emulator_begin

    def host_seconds(self) -> float:
        return time.monotonic() - self._begin

    def beyond(self, seconds: float) -> bool:
        """Has the guest had that much time? A machine that a debugger controls is limited by the
        host's clock, because its own stands still while the debugger has it stopped."""
        settings = self._machine.settings
        host = self.host_seconds()
        if host < seconds:
            return False
        return (
            settings.gdb
            or self.clock_seconds() >= seconds
            or self.emulator_seconds() >= EMULATOR_TIMES * seconds * settings.cpus
            or host >= HOST_TIMES * seconds + HOST_SECONDS
        )

    def describe(self) -> str:
        return (
            f"the guest's clock has counted {self.clock_seconds():.1f} s, the emulator has used "
            f"{self.emulator_seconds():.1f} s of CPU time in {self.host_seconds():.1f} s"
        )

"""The protocol on COM2: frames of 0xA5, a type byte, a 16-bit little-endian length, the payload.

From the kernel: S ready for input, O and E bytes of the command's standard output and error,
R the result record, P the notice of a panic. To the kernel: I input bytes, X end of input.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

SYNC = 0xA5
PAYLOAD_MAX = 4096

READY = "S"
OUTPUT = "O"
ERRORS = "E"
RESULT = "R"
PANIC = "P"
FROM_KERNEL = READY + OUTPUT + ERRORS + RESULT + PANIC

INPUT = "I"
INPUT_END = "X"

RESULT_EXIT = 0
RESULT_SIGNAL = 1
RESULT_PANIC = 2
RESULT_SHUTDOWN = 3


@dataclass(frozen=True)
class Frame:
    type: str
    payload: bytes


@dataclass(frozen=True)
class Result:
    """How the first process ended."""

    kind: int
    value: int

    @classmethod
    def decode(cls, payload: bytes) -> Result:
        kind, value = struct.unpack("<BI", payload)
        return cls(kind, value)


@dataclass(frozen=True)
class PanicNotice:
    """The CPU that panicked, the CPUs that answered its stop request, and all CPUs."""

    cpu: int
    answered: int
    online: int
    reason: str

    @classmethod
    def decode(cls, payload: bytes) -> PanicNotice:
        cpu, answered, online = struct.unpack_from("<III", payload)
        return cls(cpu, answered, online, payload[12:].rstrip(b"\0").decode(errors="replace"))

    def silent(self) -> list[int]:
        """The CPUs that did not answer."""
        missing = self.online & ~self.answered & ~(1 << self.cpu)
        return [cpu for cpu in range(32) if missing >> cpu & 1]


def encode(kind: str, payload: bytes = b"") -> bytes:
    assert len(payload) <= PAYLOAD_MAX
    return struct.pack("<BBH", SYNC, ord(kind), len(payload)) + payload


class Decoder:
    """Divides a byte stream into frames. Bytes outside of frames are counted and skipped."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.stray = 0

    def feed(self, data: bytes) -> list[Frame]:
        self._buffer += data
        frames: list[Frame] = []
        at = 0
        while len(self._buffer) - at >= 4:
            sync, kind, length = struct.unpack_from("<BBH", self._buffer, at)
            if sync != SYNC or chr(kind) not in FROM_KERNEL or length > PAYLOAD_MAX:
                self.stray += 1
                at += 1
                continue
            if len(self._buffer) - at < 4 + length:
                break
            frames.append(Frame(chr(kind), bytes(self._buffer[at + 4 : at + 4 + length])))
            at += 4 + length
        del self._buffer[:at]
        return frames

"""What scripts/run --disk-log has recorded: all writes to a disk, and flushes, in order; and images
as a power cut would have left them."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from pathlib import Path

MAGIC, FLUSH, DISCARD = 0x6A736677736872, 1, 4


@dataclass(frozen=True)
class Write:
    """A write at an offset in bytes, or, without data, a flush."""

    offset: int
    data: bytes


def read_log(path: Path) -> list[Write]:
    """An entry is a sector with the place, the number of sectors, and flags; the data follows. The
    first sector has the number of entries, as far as they were counted when the machine ended."""
    data = path.read_bytes()
    magic, version, entries, sector = struct.unpack_from("<QQQI", data)
    assert (magic, version) == (MAGIC, 1)
    writes, at, count = [], sector, 0
    while at + sector <= len(data):
        first, sectors, flags, _ = struct.unpack_from("<QQQQ", data, at)
        nbytes = 0 if flags & DISCARD else sectors * sector
        if (flags == 0 and sectors == 0) or at + sector + nbytes > len(data):
            break
        at += sector
        count += 1
        if nbytes:
            writes.append(Write(first * sector, data[at : at + nbytes]))
        if flags & FLUSH:
            writes.append(Write(0, b""))
        at += nbytes
    assert count >= entries
    return writes


def cut(before: bytes, log: list[Write], at: int, draw: random.Random) -> bytes:
    """The image after the first `at` entries of the log, without some of those that no flush
    follows."""
    image = bytearray(before)
    flushed = max((k for k in range(at) if not log[k].data), default=0)
    for k, write in enumerate(log[:at]):
        if write.data and (k < flushed or draw.random() < 0.5):
            image[write.offset : write.offset + len(write.data)] = write.data
    return bytes(image)

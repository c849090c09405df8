"""The two copies of the configuration blob in a partition of the system disk; FORMAT.md defines
them."""

from __future__ import annotations

import struct

from .blob import crc32c
from .errors import SysmanError

MAGIC = b"MEGACOPY"
VERSION = 1
HEADER = struct.Struct("<8sIIQI36x")
CRC_AT = 24
UNIT = 8192
COPY_BYTES = 10 * UNIT  # the longest copy, rounded up to units
COPIES = 2


def room(nbytes: int) -> int:
    """Bytes of each copy in a partition of nbytes; 0: it is too small for any."""
    return min(nbytes // COPIES // UNIT * UNIT, COPY_BYTES)


def copy(sequence: int, blob: bytes) -> bytes:
    """A copy with this number."""
    sequence %= 1 << 64
    plain = HEADER.pack(MAGIC, VERSION, len(blob), sequence, 0) + blob
    return HEADER.pack(MAGIC, VERSION, len(blob), sequence, crc32c(plain)) + blob


def read_copy(data: bytes) -> tuple[int, bytes] | None:
    """The number and the blob of the copy at the beginning of data; None: there is no whole one."""
    if len(data) < HEADER.size:
        return None
    magic, version, length, sequence, _crc = HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION or length > len(data) - HEADER.size:
        return None
    blob = data[HEADER.size : HEADER.size + length]
    if copy(sequence, blob) != data[: HEADER.size + length]:
        return None
    return sequence, blob


def is_newer(sequence: int, than: int) -> bool:
    """Numbers wrap around."""
    return 0 < (sequence - than) % (1 << 64) < 1 << 63


def newest(partition: bytes) -> tuple[int, bytes]:
    """The number and blob of the newer whole copy. Raises SysmanError if there is none."""
    size = room(len(partition))
    found = [read_copy(partition[n * size : (n + 1) * size]) for n in range(COPIES if size else 0)]
    good = [one for one in found if one is not None]
    if not good:
        raise SysmanError("no copy of the configuration is good")
    if len(good) == COPIES and is_newer(good[1][0], good[0][0]):
        return good[1]
    return good[0]

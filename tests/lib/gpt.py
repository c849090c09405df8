"""Images with GUID partition tables (UEFI 2.10, 5.3), made independently of the kernel's reader."""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Mapping

SECTOR = 512
ENTRIES = 128
ENTRY_BYTES = 128
TABLE = ENTRIES * ENTRY_BYTES // SECTOR  # sectors of a table
LINUX = uuid.UUID("0FC63DAF-8483-4772-8E79-3D69D8477DE4").bytes_le
HEADER = "<8sIIIIQQQQ16sQIII"


def header(lba: int, other: int, sectors: int, table: int, entries: bytes) -> bytes:
    """A sector with the header that lies at lba, its copy at `other`."""
    usable = 2 + TABLE, sectors - 2 - TABLE
    disk = uuid.UUID(int=1).bytes_le

    def fields(crc: int) -> bytes:
        sums = table, ENTRIES, ENTRY_BYTES, zlib.crc32(entries)
        return struct.pack(
            HEADER, b"EFI PART", 0x10000, 92, crc, 0, lba, other, *usable, disk, *sums
        )

    return fields(zlib.crc32(fields(0))).ljust(SECTOR, b"\0")


def image(sectors: int, parts: Mapping[int, tuple[int, int]]) -> bytearray:
    """A disk of zeroes with both tables: partitions as number: (first sector, number of them)."""
    entries = bytearray(ENTRIES * ENTRY_BYTES)
    for number, (first, n) in parts.items():
        at = (number - 1) * ENTRY_BYTES
        entry = struct.pack(
            "<16s16sQQQ", LINUX, uuid.UUID(int=number).bytes_le, first, first + n - 1, 0
        )
        entries[at : at + len(entry)] = entry
    disk = bytearray(sectors * SECTOR)
    last = sectors - 1
    for lba, other, table in ((1, last, 2), (last, 1, last - TABLE)):
        disk[lba * SECTOR : (lba + 1) * SECTOR] = header(lba, other, sectors, table, bytes(entries))
        disk[table * SECTOR : (table + TABLE) * SECTOR] = entries
    return disk

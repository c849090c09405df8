"""Encoding and decoding of the configuration blob; FORMAT.md defines the format."""

from __future__ import annotations

import re
import struct

from .errors import SysmanError
from .registry import EXTENDS, Part, Reservation

MAGIC = b"MEGACONF"
VERSION = 1  # version of a blob in which no entry has further parts
VERSION_PARTS = 2  # version of any other blob
HEADER = struct.Struct("<8sIIIIII")
TABLE_ENTRY = struct.Struct("<IIII")
PARAMETER = struct.Struct("<32sq")
RESERVED = struct.Struct("<44sIIIQ")
SECTION_PARAMETERS = 1
SECTION_RESERVED = 2
MAX_RECORDS = {SECTION_PARAMETERS: 128, SECTION_RESERVED: 1000}
MAX_BYTES = 73728
RAD_NONE = 0xFFFFFFFF


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _crc_table()


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def encode(parameters: dict[str, int], reservations: list[Reservation]) -> bytes:
    """Returns the blob. A section without records is omitted."""
    sections = []
    if parameters:
        records = [PARAMETER.pack(n.encode("ascii"), v) for n, v in parameters.items()]
        sections.append((SECTION_PARAMETERS, records))
    if reservations:
        records = [
            RESERVED.pack(
                r.name.encode("ascii"),
                r.flags | (EXTENDS if i else 0),
                r.group or 0,
                RAD_NONE if part.rad is None else part.rad,
                part.size,
            )
            for r in reservations
            for i, part in enumerate(r.parts)
        ]
        sections.append((SECTION_RESERVED, records))
    table, body = b"", b""
    offset = HEADER.size + len(sections) * TABLE_ENTRY.size
    for kind, records in sections:
        if len(records) > MAX_RECORDS[kind]:
            what = "parameters" if kind == SECTION_PARAMETERS else "reservations, parts included"
            raise SysmanError(f"more than {MAX_RECORDS[kind]} {what}")
        content = b"".join(records)
        table += TABLE_ENTRY.pack(kind, offset, len(content), len(records))
        body += content
        offset += len(content)
    version = VERSION_PARTS if any(r.more for r in reservations) else VERSION
    return seal(
        HEADER.pack(MAGIC, version, HEADER.size, offset, 0, len(sections), 0) + table + body
    )


def seal(blob: bytes) -> bytes:
    """Returns the blob with a correct checksum (tests damage blobs and seal them again)."""
    blob = blob[:20] + bytes(4) + blob[24:]
    return blob[:20] + struct.pack("<I", crc32c(blob)) + blob[24:]


def decode(blob: bytes) -> tuple[list[tuple[str, int]], list[Reservation]]:
    """Returns the parameters and reservations. Raises SysmanError with the offset of an error."""

    def need(condition: bool, offset: int, what: str) -> None:
        if not condition:
            raise SysmanError(f"configuration blob: {what} at offset {offset}")

    need(len(blob) >= HEADER.size, len(blob), "ends too early")
    magic, version, header, total, checksum, count, zero = HEADER.unpack_from(blob)
    need(magic == MAGIC, 0, "no configuration blob")
    need(version in (VERSION, VERSION_PARTS), 8, f"unknown version {version}")
    need(header == HEADER.size, 12, "damaged header")
    need(total == len(blob) <= MAX_BYTES, 16, "wrong length")
    need(crc32c(blob[:20] + bytes(4) + blob[24:]) == checksum, 20, "wrong checksum")
    need(zero == 0, 28, "damaged header")
    need(
        count <= 2 and HEADER.size + count * TABLE_ENTRY.size <= total, 24, "damaged section table"
    )
    expect = HEADER.size + count * TABLE_ENTRY.size
    parameters: list[tuple[str, int]] = []
    reservations: list[Reservation] = []
    last = 0
    for i in range(count):
        at = HEADER.size + i * TABLE_ENTRY.size
        kind, offset, length, records = TABLE_ENTRY.unpack_from(blob, at)
        need(last < kind <= SECTION_RESERVED, at, "damaged section table")
        size = PARAMETER.size if kind == SECTION_PARAMETERS else RESERVED.size
        need(offset == expect and length <= total - offset, at + 4, "damaged section table")
        need(
            records * size == length and records <= MAX_RECORDS[kind],
            at + 12,
            "damaged section table",
        )
        last, expect = kind, offset + length
        for where in range(offset, expect, size):
            try:
                if kind == SECTION_PARAMETERS:
                    name, value = PARAMETER.unpack_from(blob, where)
                    parameters.append((_parameter_name(name), value))
                else:
                    _add_reservation(reservations, blob, where, version)
            except SysmanError as error:
                raise SysmanError(f"configuration blob: {error} at offset {where}") from None
    need(expect == total, expect, "wrong length")
    extended = any(r.more for r in reservations)
    need(extended == (version == VERSION_PARTS), 8, "a version that its entries do not ask for")
    return parameters, reservations


def _add_reservation(
    reservations: list[Reservation], blob: bytes, where: int, version: int
) -> None:
    name, flags, group, rad, size = RESERVED.unpack_from(blob, where)
    part = Part(size, None if rad == RAD_NONE else rad)
    extends = version == VERSION_PARTS and bool(flags & EXTENDS)
    flags &= ~EXTENDS if extends else ~0
    entry = Reservation.from_flags(_name(name), part.size, flags, group, part.rad)
    if entry.check().flags != flags or (entry.group or 0) != group:
        raise SysmanError("flags that exclude each other")
    if not extends:
        reservations.append(entry)
        return
    before = reservations[-1] if reservations else None
    if not before or before.scope != entry.scope or before.flags != flags:
        raise SysmanError("a further part without its entry")
    reservations[-1] = before.with_parts((*before.parts, part)).check()


def _name(field: bytes) -> str:
    name = field.rstrip(b"\0")
    if not name or b"\0" in name or len(name) == len(field) or not name.isascii():
        raise SysmanError("bad name")
    return name.decode("ascii")


def _parameter_name(field: bytes) -> str:
    name = _name(field)
    if not re.fullmatch(r"[A-Z0-9_$]+", name):
        raise SysmanError("bad name")
    return name

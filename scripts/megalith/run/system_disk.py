"""The image of a system disk, as `scripts/run --system-disk` makes it at first use.

A sparse file with a GUID partition table (UEFI 2.10, 5.3) of up to three partitions: the
configuration, a file system, and a page file.
"""

from __future__ import annotations

import os
import struct
import subprocess
import uuid
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from megalith.run.machine import Disk, MachineError, parse_size

if TYPE_CHECKING:
    from sysman.configuration import Configuration

SECTOR = 512
MIB = 1 << 20
GIB = 1 << 30
FIRST = MIB  # where the first partition begins, and what all begin at multiples of
CONFIG_BYTES = MIB
FILES_BYTES = 4 * GIB
PAGE_BYTES = GIB
FILES_MIN = 16 * MIB  # so that the file system has a journal
PAGE_MIN = MIB
PAGE_MAX = 32 * GIB  # that the kernel uses of one page file
FEATURES = (
    "has_journal,ext_attr,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,"
    "huge_file,dir_nlink,extra_isize,metadata_csum"
)
JOURNAL_MIB = 16  # mke2fs writes all of it, so a larger one makes a larger image
JOURNAL_FROM = 512 * MIB
SIZE_MAX = 1 << 43  # as large as a file system here may be

TYPE_CONFIG = uuid.UUID("601B1860-D19C-4765-81F5-E16094905E38")
TYPE_FILES = uuid.UUID("0FC63DAF-8483-4772-8E79-3D69D8477DE4")
TYPE_PAGE = uuid.UUID("0657FD6D-A4AB-43C4-84E5-0933C84B4F4F")

ENTRIES, ENTRY = 128, struct.Struct("<16s16sQQQ72s")
TABLE = ENTRIES * ENTRY.size // SECTOR  # sectors of a table
TABLE_AT = 2  # its first sector
COPIES_MOST = MIB  # bytes in which both copies are
HEADER = struct.Struct("<8sIIIIQQQQ16sQIII")
PAGE = 8192
SWAP = struct.Struct("<III16s16s")  # at 1024 of the first page
SWAP_END = b"SWAPSPACE2"


@dataclass(frozen=True)
class SystemDisk:
    """The image, and the sizes that it gets when it is made; page_bytes 0: no page file."""

    image: Path
    files_bytes: int = FILES_BYTES
    page_bytes: int = PAGE_BYTES
    read_only: bool = False

    def ready(self) -> Disk:
        """The disk, whose image is made if it is missing. Raises MachineError, OSError."""
        if not self.image.exists():
            make(self)
        return Disk(self.image, read_only=self.read_only)


def parse(text: str) -> SystemDisk:
    """IMG[:files=SIZE][,page=SIZE][,ro]. Raises ValueError."""
    name, separator, how = text.rpartition(":")
    if not separator or Path(text).exists():
        name, how = text, ""
    if Path(name).exists() and not Path(name).is_file():
        raise ValueError(f"{name} is there, and no file")
    if not how:
        return SystemDisk(Path(name))
    sizes = {"files": FILES_BYTES, "page": PAGE_BYTES}
    least = {"files": FILES_MIN, "page": PAGE_MIN}
    most = {"files": SIZE_MAX, "page": PAGE_MAX}
    read_only = False
    for word in how.split(","):
        key, equals, value = word.partition("=")
        if word == "ro":
            read_only = True
        elif equals and key in sizes:
            size = parse_size(value)
            none = key == "page" and size == 0
            if size % MIB or not (none or least[key] <= size <= most[key]):
                limits = f"at least {least[key] >> 20}M and at most {most[key] >> 30}G"
                raise ValueError(f"{word}: whole MiB, {limits}")
            sizes[key] = size
        else:
            raise ValueError(f"'{word}' is not files=SIZE, page=SIZE or ro")
    return SystemDisk(Path(name), sizes["files"], sizes["page"], read_only)


def configuration(path: Path) -> Configuration:
    """What the next boot reads from an image with sectors of 512 bytes, by the first table; empty
    if that cannot be said. Raises OSError."""
    from sysman import copies
    from sysman.configuration import Configuration
    from sysman.errors import SysmanError

    with path.open("rb") as image:
        image.seek(TABLE_AT * SECTOR)
        entries = image.read(ENTRIES * ENTRY.size)
        for at in range(0, len(entries) - ENTRY.size + 1, ENTRY.size):
            kind, _, first, last, _, _ = ENTRY.unpack_from(entries, at)
            if kind != TYPE_CONFIG.bytes_le or last < first:
                continue
            try:
                image.seek(first * SECTOR)
                partition = image.read(min((last - first + 1) * SECTOR, COPIES_MOST))
                return Configuration.from_bytes(copies.newest(partition)[1])
            except (SysmanError, OSError, OverflowError, ValueError):
                break  # a damaged table can name any place
    return Configuration()


def make(disk: SystemDisk) -> None:
    """Make the image. It appears under its name when it is complete."""
    from sysman import copies
    from sysman.configuration import Configuration

    if disk.read_only:
        raise MachineError(f"{disk.image}: there is no such file, and ro makes none")
    wanted = [
        ("configuration", TYPE_CONFIG, CONFIG_BYTES),
        ("files", TYPE_FILES, disk.files_bytes),
        ("page file", TYPE_PAGE, disk.page_bytes),
    ]
    parts, at = [], FIRST
    for name, kind, nbytes in wanted:
        if nbytes:
            parts.append((name, kind, at, nbytes))
            at += nbytes
    size = at + MIB  # room for the second table
    temporary = disk.image.with_name(f".{disk.image.name}.{os.getpid()}")
    with temporary.open("xb") as image:
        image.truncate(size)
    try:
        with temporary.open("r+b") as image:
            _write_tables(image, size, parts)
            for name, _kind, begin, nbytes in parts:
                image.seek(begin)
                if name == "configuration":
                    image.write(copies.copy(1, Configuration().to_bytes()))
                elif name == "page file":
                    _write_swap_header(image, begin, nbytes)
        _make_files(temporary, *parts[1][2:])
        with temporary.open("r+b") as image:
            os.fsync(image.fileno())  # a name is only given to what survives the host's end
        _give_name(temporary, disk.image)
    finally:
        temporary.unlink()


def _give_name(temporary: Path, image: Path) -> None:
    try:
        os.link(temporary, image)  # unlike a renaming this never replaces a file
    except FileExistsError:  # another run has made it meanwhile
        if not image.exists():
            raise MachineError(f"{image} is a link to a file that does not exist") from None


def _write_tables(image, size: int, parts: list[tuple[str, uuid.UUID, int, int]]) -> None:
    sectors = size // SECTOR
    entries = b"".join(
        ENTRY.pack(
            kind.bytes_le,
            uuid.uuid4().bytes_le,
            begin // SECTOR,
            (begin + nbytes) // SECTOR - 1,
            0,
            name.encode("utf-16le"),
        )
        for name, kind, begin, nbytes in parts
    ).ljust(ENTRIES * ENTRY.size, b"\0")
    identity = uuid.uuid4().bytes_le
    last = sectors - 1

    def header(lba: int, other: int, table: int, crc: int = 0) -> bytes:
        usable = 2 + TABLE, sectors - 2 - TABLE
        sums = table, ENTRIES, ENTRY.size, zlib.crc32(entries)
        fields = b"EFI PART", 0x10000, HEADER.size, crc, 0, lba, other, *usable, identity, *sums
        return HEADER.pack(*fields)

    # An MBR with one partition of the type "GPT", so that no other tool takes the disk for empty.
    protective = struct.pack(
        "<B3sB3sII", 0, b"\0\2\0", 0xEE, b"\xff\xff\xff", 1, min(last, 2**32 - 1)
    )
    image.seek(446)
    image.write(protective)
    image.seek(510)
    image.write(b"\x55\xaa")
    for lba, other, table in ((1, last, TABLE_AT), (last, 1, last - TABLE)):
        crc = zlib.crc32(header(lba, other, table))
        image.seek(lba * SECTOR)
        image.write(header(lba, other, table, crc))
        image.seek(table * SECTOR)
        image.write(entries)


def _write_swap_header(image, begin: int, nbytes: int) -> None:
    """As mkswap writes it, for pages of 8 KiB."""
    image.seek(begin + 1024)
    image.write(SWAP.pack(1, nbytes // PAGE - 1, 0, uuid.uuid4().bytes, b"pages"))
    image.seek(begin + PAGE - len(SWAP_END))
    image.write(SWAP_END)


def _make_files(image: Path, begin: int, nbytes: int) -> None:
    command = ["mke2fs", "-q", "-F", "-t", "ext4", "-L", "system", "-b", "4096", "-I", "256"]
    # Not those of this machine's configuration: newer ones could be unknown to the kernel.
    command += ["-O", f"none,{FEATURES}", "-E", f"offset={begin}"]
    if nbytes >= JOURNAL_FROM:
        command += ["-J", f"size={JOURNAL_MIB}"]
    command += [str(image), f"{nbytes >> 10}k"]
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=os.environ | {"PATH": path}
        )
    except FileNotFoundError:
        raise MachineError("mke2fs is not installed: e2fsprogs has it") from None
    if done.returncode:
        raise MachineError(f"mke2fs: {done.stderr.decode(errors='replace').strip()}")

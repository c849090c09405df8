"""cpio archives in the "newc" format, as the kernel's initrd reads them.

Archives are deterministic: no times, owner 0, inode numbers in the order of adding. The data of
each file begins at a multiple of 8 bytes, so that the kernel copies it to pages by quadwords.
"""

from __future__ import annotations

import stat
from pathlib import Path

TRAILER = "TRAILER!!!"
HEADER = 110


def _entry(at: int, name: str, mode: int, inode: int, data: bytes) -> bytes:
    """An entry at an offset in the archive; NULs behind its name align the data."""
    raw = name.encode() + b"\0"
    raw += b"\0" * (-(at + HEADER + len(raw)) % 8)
    links = 2 if stat.S_ISDIR(mode) else 1
    fields = (inode, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(raw), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields) + raw
    return header + data + b"\0" * (-len(data) % 4)


class Archive:
    """Files to be written into an initrd; a later file of the same name replaces the earlier."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[int, bytes]] = {}

    def add(self, name: str, data: bytes, mode: int = 0o755) -> None:
        name = name.strip("/")
        if not name or any(part in ("", ".", "..") for part in name.split("/")):
            raise ValueError(f"'{name}' is no path for a file in the initrd")
        self.files[name] = (stat.S_IFREG | mode, data)

    def add_link(self, name: str, target: str) -> None:
        """A symbolic link."""
        self.add(name, target.encode())
        self.files[name.strip("/")] = (stat.S_IFLNK | 0o777, target.encode())

    def add_file(self, path: Path, name: str) -> None:
        self.add(name, path.read_bytes(), path.stat().st_mode & 0o777)

    def to_bytes(self) -> bytes:
        out = bytearray()
        folders: set[str] = set()
        inode = 0
        for name, (mode, data) in self.files.items():
            parts = name.split("/")
            for depth in range(1, len(parts)):
                folder = "/".join(parts[:depth])
                if folder in self.files:
                    raise ValueError(f"'{folder}' is a file and a folder at once")
                if folder not in folders:
                    folders.add(folder)
                    inode += 1
                    out += _entry(len(out), folder, stat.S_IFDIR | 0o755, inode, b"")
            inode += 1
            out += _entry(len(out), name, mode, inode, data)
        out += _entry(len(out), TRAILER, 0, 0, b"")
        return bytes(out) + b"\0" * (-len(out) % 512)

    @classmethod
    def from_bytes(cls, raw: bytes) -> Archive:
        """Reads an archive that this module has written (files and links; folders are implied)."""
        archive = cls()
        at = 0
        while True:
            if raw[at : at + 6] != b"070701":
                raise ValueError(f"no cpio header at offset {at}")
            fields = [int(raw[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
            mode, size, name_size = fields[1], fields[6], fields[11]
            name = raw[at + HEADER : at + HEADER + name_size].rstrip(b"\0").decode()
            at += HEADER + name_size + (-(HEADER + name_size) % 4)
            if name == TRAILER:
                return archive
            if not stat.S_ISDIR(mode):
                archive.files[name] = (mode, raw[at : at + size])
            at += size + (-size % 4)

"""The shared libraries that a dynamically linked program of the guest needs, from the cross tool
chain's own folder."""

from __future__ import annotations

import os
import struct
from pathlib import Path

# Where the cross C library is installed; MEGALITH_LIBRARIES names folders to search before it.
SYSTEM_FOLDER = Path("/usr/alpha-linux-gnu/lib")
# The C library opens it by itself, when a thread is cancelled or ends by pthread_exit.
OPENED = "libgcc_s.so.1"

EM_ALPHA = 0x9026
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB = 1, 5


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _segments(data: bytes) -> list[tuple[int, ...]]:
    """Type, offset, address and bytes in the file of each program header; none: it is no program
    for Alpha."""
    if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18)[0] != EM_ALPHA:
        return []
    offset = struct.unpack_from("<Q", data, 32)[0]
    size, count = struct.unpack_from("<HH", data, 54)
    found = []
    for k in range(count):
        kind, _, at, address, _, nbytes = struct.unpack_from("<IIQQQQ", data, offset + k * size)
        found.append((kind, at, address, nbytes))
    return found


def interpreter(data: bytes) -> str:
    """The dynamic linker that a program names, or ""."""
    return next((_text(data, at) for kind, at, _, _ in _segments(data) if kind == PT_INTERP), "")


def needed(data: bytes) -> list[str]:
    """The libraries that a program or library names."""
    segments = _segments(data)
    entries: list[tuple[int, int]] = []
    for kind, at, _, nbytes in segments:
        if kind == PT_DYNAMIC:
            entries = list(struct.iter_unpack("<qQ", data[at : at + nbytes // 16 * 16]))
    strings = next((value for tag, value in entries if tag == DT_STRTAB), 0)
    for kind, at, address, nbytes in segments:
        if kind == PT_LOAD and address <= strings < address + nbytes:
            base = at + strings - address
            return [_text(data, base + value) for tag, value in entries if tag == DT_NEEDED]
    return []


def _find(name: str) -> Path | None:
    folders = [Path(f) for f in os.environ.get("MEGALITH_LIBRARIES", "").split(":") if f]
    paths = [folder / Path(name).name for folder in [*folders, SYSTEM_FOLDER]]
    return next((path for path in paths if path.is_file()), None)


def libraries_of(programs: list[bytes]) -> dict[str, Path]:
    """The files, by their paths in the guest, that these programs need to run: their dynamic
    linkers, and in /lib the libraries that they name, and those that these name. What is not
    installed is left out: it may be in the guest already."""
    found: dict[str, Path] = {}
    names: list[str] = []
    for data in programs:
        linker = interpreter(data)
        path = _find(linker) if linker else None
        if path:
            found[linker.lstrip("/")] = path
            names += [*needed(data), OPENED]
    while names:
        name = names.pop()
        path = _find(name)
        if path and f"lib/{name}" not in found:
            found[f"lib/{name}"] = path
            names += needed(path.read_bytes())
    return found

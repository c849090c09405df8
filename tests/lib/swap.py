"""Page files as mkswap prepares them, made independently of the kernel's reader."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

FIELDS = 1024  # where they begin


def make(path: Path, nbytes: int, page: int = 8192, bad: Sequence[int] = ()) -> Path:
    """A sparse image; page: of the machine on which mkswap ran; bad: pages of that size."""
    fields = struct.pack("<III", 1, nbytes // page - 1, len(bad)).ljust(12 + 32 + 468, b"\0")
    fields += struct.pack(f"<{len(bad)}I", *bad)
    with path.open("wb") as image:
        image.truncate(nbytes)
        image.seek(FIELDS)
        image.write(fields)
        image.seek(page - 10)
        image.write(b"SWAPSPACE2")
    return path

"""The C programs of this package, compiled when they are needed: the command for traces, and the
plugin for the emulator that is installed."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from megalith.run.paths import BUILD

FOLDER = Path(__file__).parent
FLAGS = ("-O3", "-g", "-Wall", "-Wextra", "-Werror")


def compiled(name: str, sources: Sequence[str], flags: Sequence[str] = ()) -> Path:
    """build/tb/NAME-DIGEST, compiled from these sources of this folder unless it is there. Raises
    OSError."""
    texts = [path.read_bytes() for path in sorted(FOLDER.glob("*.[ch]"))]
    mark = hashlib.sha256(b"".join(texts) + repr((FLAGS, flags)).encode()).hexdigest()[:16]
    target = BUILD / f"tb/{name}-{mark}"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        made = target.with_suffix(".new")
        files = [str(FOLDER / source) for source in sources]
        words = ["gcc", *FLAGS, *flags, *files, "-o", str(made)]
        if subprocess.run(words).returncode:
            raise OSError(f"{target.name} could not be compiled")
        made.rename(target)
    return target


def replay() -> Path:
    """The command that runs a trace through the model."""
    return compiled("replay", ["model.c", "vhpt.c", "replay.c"])

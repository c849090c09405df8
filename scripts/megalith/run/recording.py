"""A recording of one run, which `scripts/run --record FILE` writes and `--replay FILE` replays.

The file is a zip archive that contains everything that the run depends on, so it can be replayed
after the kernel was rebuilt, and on another host with the same QEMU:

    recording.json   machine, command line, how the run ended, digests of everything else
    kernel           the ELF image, with its symbols for the debugger
    initrd           with the command, the configuration and the files of --add
    log              QEMU's own log: every byte of input and every interrupt, by instruction count

Each part is checked against its digest before anything is started; a damaged file is an error.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from megalith.run.paths import renamed_onto

FORMAT = 1
PARTS = ("kernel", "initrd", "log")
DESCRIPTION = "recording.json"
# At this level kernel and initrd already shrink to a fifth; a higher one takes seconds for little.
COMPRESSION = 1


class RecordingError(Exception):
    """The file is not a recording, is damaged, or does not fit this host's QEMU."""


@dataclass(frozen=True)
class Outcome:
    """Result of a run: its status, and digests of its output (standard output or, in an interactive
    session, the terminal; and the console)."""

    status: int
    output: str
    output_bytes: int
    console: str
    ended: bool  # with a result or a panic, not by a time limit or a signal from outside


@dataclass(frozen=True)
class Recording:
    memory: int
    command_line: str
    command: list[str]
    qemu: str
    seconds: float  # how long the run took
    outcome: Outcome
    kernel: bytes
    initrd: bytes
    log: bytes

    @property
    def interactive(self) -> bool:
        return not self.command

    def save(self, path: Path) -> None:
        """Writes the file, completely or not at all. Raises OSError."""
        import zipfile  # takes as long as all of a short run's other preparations

        data = {part: getattr(self, part) for part in PARTS}
        about = {
            "format": FORMAT,
            "memory": self.memory,
            "command_line": self.command_line,
            "command": self.command,
            "qemu": self.qemu,
            "seconds": round(self.seconds, 3),
            "outcome": asdict(self.outcome),
            "sha256": {part: _digest(data[part]) for part in PARTS},
        }
        beside = beside_of(path)
        try:
            with zipfile.ZipFile(
                beside, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION
            ) as archive:
                archive.writestr(DESCRIPTION, json.dumps(about, indent=2) + "\n")
                for part in PARTS:
                    archive.writestr(part, data[part])
            beside.replace(renamed_onto(path))
        finally:
            beside.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path) -> Recording:
        """Reads and checks a file. Raises RecordingError, OSError."""
        import zipfile
        import zlib

        try:
            with zipfile.ZipFile(path) as archive:
                about = json.loads(archive.read(DESCRIPTION))
                if about["format"] != FORMAT:
                    raise RecordingError(
                        f"{path} has format {about['format']}, this program reads {FORMAT}"
                    )
                data = {part: archive.read(part) for part in PARTS}
            for part in PARTS:
                if _digest(data[part]) != about["sha256"][part]:
                    raise RecordingError(f"{path} is damaged: its {part} is not what was recorded")
            return cls(
                memory=int(about["memory"]),
                command_line=str(about["command_line"]),
                command=[str(word) for word in about["command"]],
                qemu=str(about["qemu"]),
                seconds=float(about["seconds"]),
                outcome=Outcome(**about["outcome"]),
                **data,
            )
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise RecordingError(f"{path} is no recording, or a damaged one: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise RecordingError(f"{path} is no recording, or a damaged one: {error!r}") from None

    def check_emulator(self) -> None:
        """Raises RecordingError when the host has another version of QEMU, which cannot read the
        log."""
        here = emulator()
        if here != self.qemu:
            raise RecordingError(f"recorded with {self.qemu}; this is {here}, whose log differs")


def beside_of(path: Path) -> Path:
    """Path of the temporary file in which a recording is assembled. Raises OSError."""
    path = renamed_onto(path)
    return path.with_name(f".{path.name}.part")


def emulator() -> str:
    """The emulator's name and version. Raises RecordingError."""
    try:
        done = subprocess.run(
            ["qemu-system-alpha", "--version"], capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RecordingError(f"qemu-system-alpha does not run: {error}") from None
    return done.stdout.partition("\n")[0].strip()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

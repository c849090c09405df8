"""A damaged configuration blob in a booting kernel: it is reported on the console and ignored as a
whole, and the boot continues."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from sysman import Configuration, blob

TOP = Path(__file__).parent.parent


def boot(tmp_path, data: bytes, *command: str) -> subprocess.CompletedProcess:
    file = tmp_path / "blob"
    file.write_bytes(data)
    return subprocess.run(
        [TOP / "scripts/run", "--timeout", "60", "--add", f"{file}:/boot/config", "--", *command],
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )


def good() -> bytes:
    configuration = Configuration()
    configuration.set_parameter("PAGED_LAL_SIZE=256")
    configuration.reserve("CACHE 64 /ALLOCATE /ZERO")
    return configuration.to_bytes()


def broken() -> dict[str, bytes]:
    data = good()
    rng = random.Random(1)
    samples = {
        f"byte {at} flipped": data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :]
        for at in (0, 8, 21, 60, 130)
    }
    samples |= {f"cut to {n}": data[:n] for n in (0, 1, 31, 63, len(data) - 1)}
    samples |= {f"{n} bytes of noise": rng.randbytes(n) for n in (40, 5000, 70000)}
    twice = bytearray(data)
    twice[32 + 12] = 2
    samples["a wrong count under a right checksum"] = blob.seal(bytes(twice))
    return samples


def test_good_blob_counts(tmp_path):
    done = boot(
        tmp_path, good(), "/bin/sh", "-c", "show memory/reserved; show parameter PAGED_LAL_SIZE"
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"CACHE" in done.stdout
    assert b" 256 " in done.stdout


@pytest.mark.parametrize("name", broken())
def test_broken_blob_is_named_and_ignored(tmp_path, name):
    done = boot(tmp_path, broken()[name], "/bin/show", "memory/reserved")
    assert done.returncode == 0, done.stderr.decode()
    assert b"configuration blob" in done.stderr and b"at offset" in done.stderr
    assert b"There are no memory reservations" in done.stdout


def test_unknown_and_wrong_parameters_keep_their_defaults(tmp_path):
    data = blob.encode({"NOSUCH": 1, "PAGED_LAL_SIZE": 9999, "GBLSECTIONS": 77}, [])
    done = boot(tmp_path, data, "/bin/show", "parameter")
    assert done.returncode == 0
    assert b"NOSUCH is unknown" in done.stderr
    assert b"PAGED_LAL_SIZE: 9999 is out of range" in done.stderr
    rows = {
        words[0]: words[1] for words in (line.split() for line in done.stdout.splitlines()) if words
    }
    assert rows[b"PAGED_LAL_SIZE"] == b"512" and rows[b"GBLSECTIONS"] == b"77"


def test_safe_mode_ignores_the_registry(tmp_path):
    configuration = Configuration.from_bytes(good())
    configuration.set_parameter("STARTUP_P1=MIN")
    done = boot(tmp_path, configuration.to_bytes(), "/bin/show", "memory/reserved")
    assert done.returncode == 0
    assert b"There are no memory reservations" in done.stdout
    assert b"STARTUP_P1" in done.stderr

"""The unit tests that run on this host, under sanitizers: tests/host/test_*.c; those under
ThreadSanitizer: tests/host/tsan_*.c."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from lib.tap import check_tap
from megalith.run.paths import TOP

FOLDER = TOP / "tests/host"
BUILT = Path(os.environ.get("MEGALITH_HOST_TESTS", TOP / "build/host"))
ABSENT = {"test_ext4"} if (TOP / "build/ext2fs/absent").exists() else set()
PROGRAMS = sorted(
    {path.stem for kind in ("test", "tsan") for path in FOLDER.glob(f"{kind}_*.c")} - ABSENT
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_host(name: str, tmp_path: Path) -> None:
    done = subprocess.run([BUILT / name], capture_output=True, text=True, cwd=TOP)
    if done.returncode:
        lines = (done.stdout + done.stderr).splitlines()
        bad = [line for line in lines if line.startswith("not ok")]
        pytest.fail(f"status {done.returncode}\n" + "\n".join(bad + lines[-40:]), pytrace=False)
    check_tap(done.stdout)

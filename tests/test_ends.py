"""Tools that are interrupted exit as shells expect it, without a message."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from megalith.run.paths import TOP


@pytest.mark.parametrize("tool", ["memmap", "planted"])
def test_interrupted(tool: str, tmp_path: Path) -> None:
    words = ["lock_unmap"]
    if tool == "memmap":  # a state that is never written
        words = [tmp_path / "state"]
        os.mkfifo(words[0])
    with subprocess.Popen(
        [TOP / "scripts" / tool, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"MEGALITH_BUILT": "1"},
    ) as running:
        time.sleep(2)
        assert running.poll() is None
        os.killpg(running.pid, signal.SIGINT)
        errors = running.communicate(timeout=100)[1]
    assert running.returncode == 130 and "Traceback" not in errors, errors

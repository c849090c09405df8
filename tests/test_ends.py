"""Tools that are interrupted exit as shells expect it, without a message."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from lib.processes import descendants, wait_for, words_of
from megalith.run.paths import TOP


@pytest.mark.parametrize("tool", ["memmap", "planted"])
def test_interrupted(tool: str, tmp_path: Path) -> None:
    words = ["lock_unmap"]
    opened: list[int] = []

    def at_work() -> bool:
        """Does the tool read its file, which is never written, or has it started something?"""
        if tool == "planted":
            return "/python" in words_of(running.pid) and bool(descendants(running.pid))
        try:
            opened.append(os.open(words[0], os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    if tool == "memmap":
        words = [str(tmp_path / "state")]
        os.mkfifo(words[0])
    with subprocess.Popen(
        [TOP / "scripts" / tool, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"MEGALITH_BUILT": "1"},
    ) as running:
        assert wait_for(at_work)
        assert running.poll() is None
        os.killpg(running.pid, signal.SIGINT)
        errors = running.communicate()[1]
    assert running.returncode == 130 and "Traceback" not in errors, errors
    for fd in opened:
        os.close(fd)

"""Tools that are interrupted exit as shells expect it, without a message."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from lib.processes import descendants, wait_for, words_of
from megalith.run.paths import TOP


@pytest.mark.parametrize("tool", ["memmap", "tbmap", "planted"])
def test_interrupted(tool: str, tmp_path: Path) -> None:
    words = ["lock_unmap"]
    asleep: list[str] = []  # what was seen of it, as long as it sleeps

    def at_work() -> bool:
        """Does the tool wait for its file, which nobody opens to write, or has it started
        something?"""
        if tool == "planted":
            return "/python" in words_of(running.pid) and bool(descendants(running.pid))
        status = Path(f"/proc/{running.pid}/status").read_text()
        switches = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.MULTILINE)
        if "/python" not in words_of(running.pid) or "State:\tS" not in status or not switches:
            asleep.clear()
        else:
            asleep.append(switches[1])
        return len(asleep) >= 20 and len(set(asleep[-20:])) == 1  # the same sleep for long

    if tool in ("memmap", "tbmap"):
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

"""What tests start ends with them (lib/processes.py)."""

from __future__ import annotations

import signal
import subprocess
import sys

from lib import processes
from megalith.run.paths import TOP

SCRIPT = """
import os, subprocess, sys, time
print(os.getpid(), flush=True)
subprocess.run([sys.argv[1], "--", "/bin/sleep", "1000"])
"""


def test_a_machine_ends_with_a_test_that_is_killed() -> None:
    words = [sys.executable, "-c", SCRIPT, TOP / "scripts/run"]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def emulators() -> set[int]:
        below = processes.descendants(running.pid)
        return {pid for pid in below if "qemu-system-alpha" in processes.words_of(pid)}

    try:
        assert processes.wait_for(emulators)
        below = processes.descendants(running.pid)
    finally:
        running.kill()
        running.wait()
    assert processes.wait_for(lambda: not below & processes.descendants(1))


def test_interrupts_reach_tools_though_the_tests_ignore_them() -> None:
    """As in a job in the background of a script."""
    words = [sys.executable, "-m", "pytest", "-n", "0", "tests/test_ends.py", "-k", "memmap"]
    done = subprocess.run(
        words,
        cwd=TOP,
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert done.returncode == 0, done.stdout


def test_a_test_that_leaves_a_process_fails(tmp_path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import subprocess\ndef test_it(): subprocess.Popen(['sleep', '1000'])\n"
    )
    (tmp_path / "conftest.py").write_text((TOP / "tests/conftest.py").read_text())
    words = [sys.executable, "-m", "pytest", "-n", "0", "--rootdir", tmp_path]
    words += ["-o", f"pythonpath={TOP}/scripts {TOP} {TOP}/tests", tmp_path / "test_it.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "left running: sleep 1000" in done.stdout, done.stdout

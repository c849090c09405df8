"""What tests start ends with them (lib/processes.py)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from lib import boots, processes
from lib.guest import run_guest
from megalith.run.ends import END_WITH_PARENT
from megalith.run.paths import TOP

STARTED = f"import subprocess; subprocess.run(['{TOP}/scripts/run', '--', '/bin/sleep', '1000'])"
FORKED = "from lib.guest import run_guest; run_guest('/bin/sleep', '1000')"


@pytest.mark.parametrize("script", [STARTED, FORKED], ids=["started", "forked"])
def test_a_machine_ends_with_a_test_that_is_killed(script: str) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": f"{TOP}/tests:{TOP}/scripts:{TOP}"},
    )

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


def test_a_process_that_has_ended_has_no_children() -> None:
    """It may end at any moment while its children are looked for."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert processes.children(ended.pid) == []


def test_a_tool_whose_test_has_ended_starts_nothing() -> None:
    """It may have ended before the tool could ask the kernel to be ended with it."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    environment = os.environ | {END_WITH_PARENT: str(ended.pid)}
    done = subprocess.run([TOP / "scripts/run", "--help"], capture_output=True, env=environment)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")


def test_a_run_that_is_killed_has_its_status() -> None:
    def kill() -> None:
        def runs() -> set[int]:
            return processes.descendants(os.getpid()) - boots.starters()

        assert processes.wait_for(lambda: len(runs()) > 1)  # the tool and its machine
        os.kill(min(runs()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    done = run_guest("/bin/sleep", "1000")
    killer.join()
    assert done.status == -signal.SIGKILL


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

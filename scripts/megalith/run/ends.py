"""How the tools end."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

# In the environment, the number of a process: tools end when their parent has ended, even if it was
# killed, and do nothing when that process is no longer above them. The tests set it.
END_WITH_PARENT = "MEGALITH_END_WITH_PARENT"

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Has the kernel kill this process when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _is_above(pid: int) -> bool:
    """Is that process the parent of this one, or the parent of that, and so on?"""
    above = os.getppid()
    while above not in (0, pid):
        try:
            stat = Path(f"/proc/{above}/stat").read_text()
        except OSError:  # it has just ended
            return False
        above = int(stat.rpartition(")")[2].split()[1])
    return above == pid


def begin() -> None:
    """Called first by tools that start others."""
    if above := os.environ.get(END_WITH_PARENT):
        end_with_parent()
        # The kernel says nothing of a parent that had ended before.
        if not _is_above(int(above)):
            os.kill(os.getpid(), signal.SIGKILL)


def end(main: Callable[[], int]) -> None:
    """Runs a tool: exits with the result of main; with 130, as in shells, when ^C ended it."""
    begin()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        # An object that was only half made may complain when it is deleted (zipfile does).
        sys.unraisablehook = lambda _: None
        sys.exit(130)

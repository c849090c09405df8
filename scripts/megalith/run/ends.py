"""How the tools end."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable

# In the environment: tools end when the process that started them has ended, even if it was killed.
# The tests set it.
END_WITH_PARENT = "MEGALITH_END_WITH_PARENT"

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Has the kernel kill this process when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def begin() -> None:
    """Called first by tools that start others."""
    if END_WITH_PARENT in os.environ:
        end_with_parent()


def end(main: Callable[[], int]) -> None:
    """Runs a tool: exits with the result of main; with 130, as in shells, when ^C ended it."""
    begin()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

"""How the tools end."""

import sys
from collections.abc import Callable


def end(main: Callable[[], int]) -> None:
    """Ends this program with what main returns; with 130, as shells say it, when ^C ended it."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

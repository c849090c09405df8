"""Exit of the tools."""

import sys
from collections.abc import Callable


def end(main: Callable[[], int]) -> None:
    """Exits with the result of main; with 130, as in shells, when ^C ended it."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

"""The names of functions in the reports of crashes that come on the console."""

from __future__ import annotations

import re
from collections.abc import Callable

LINE_MOST = 400
CALL = 4  # bytes

# "  at 120001234 /bin/show+0x1234", as kernel/proc/crash_report.c prints it.
PLACE = re.compile(rb"  (at|from) [0-9a-f]+ (/\S*?)\+(?:0x)?([0-9a-f]+)")


class CrashPlaces:
    """What comes on the console, with function and source line at the end of each line that names a
    place in a program. Nothing is held back but the end of a line."""

    def __init__(self, function: Callable[[str, int], str]) -> None:
        self._function = function  # of a file in the guest and an offset in it; or ""
        self._line = b""  # the line so far, as far as it matters
        self._held = b""  # a carriage return

    def feed(self, data: bytes) -> bytes:
        data, self._held = self._held + data, b""
        if data.endswith(b"\r"):
            data, self._held = data[:-1], b"\r"
        first, *others = data.split(b"\n")
        shown = [self._more(first)]
        for part in others:
            shown[-1] = self._ended(shown[-1])
            self._line = b""
            shown.append(self._more(part))
        return b"\n".join(shown)

    def _more(self, part: bytes) -> bytes:
        if len(self._line) <= LINE_MOST:
            self._line += part
        return part

    def _ended(self, part: bytes) -> bytes:
        """The last part of the line, with what is known of the place."""
        found = PLACE.fullmatch(self._line.rstrip(b"\r"))
        if not found:
            return part
        # Of a caller, what is of interest is the call before the return address.
        offset = int(found[3], 16) - (CALL if found[1] == b"from" else 0)
        name = self._function(found[2].decode(errors="replace"), offset)
        text = part.rstrip(b"\r")
        return text + (f" {name}".encode() if name else b"") + part[len(text) :]

"""The commands break and tbreak, for functions that are entered in two ways.

A function begins with two instructions that compute GP from t12. Calls within the kernel skip them,
because GP is the same everywhere; calls through pointers do not. GDB places the breakpoint of an
optimised function on its first instruction, which most calls do not execute. Both kinds of call
execute the third.
"""

import re

import gdb

LDAH_GP, LDA_GP = 0x27BB, 0x23BD  # upper halves of ldah gp,N(t12) and lda gp,N(gp)
LOADED = 8  # bytes

ARGUMENT = re.compile(
    r"(?P<place>.*?)(?:\s+thread\s+(?P<thread>\d+))?(?:(?:^|\s+)if\b\s*(?P<condition>.+))?$",
    re.DOTALL,
)


def behind_load(place: str) -> str:
    """The place, or the third instruction of the function that it names if that loads GP."""
    if not re.fullmatch(r"[A-Za-z_]\w*", place):
        return place
    try:
        function = gdb.parse_and_eval(place)
        if function.type.code != gdb.TYPE_CODE_FUNC:
            return place
        start = int(function.address)
        code = bytes(gdb.selected_inferior().read_memory(start, LOADED))
    except gdb.error:
        return place  # no such function, or a user program's that is not in memory
    upper = [int.from_bytes(code[i + 2 : i + 4], "little") for i in (0, 4)]
    return f"*{start + LOADED:#x}" if upper == [LDAH_GP, LDA_GP] else place


class Break(gdb.Command):
    """Set a breakpoint: break [LOCATION] [thread N] [if CONDITION], with LOCATION as in GDB.

    At a function that loads GP first, the breakpoint is after that load, where all calls arrive."""

    temporary = False

    def __init__(self, name: str, temporary: bool) -> None:
        super().__init__(name, gdb.COMMAND_BREAKPOINTS, gdb.COMPLETE_LOCATION)
        self.temporary = temporary

    def invoke(self, argument: str, _from_tty: bool) -> None:
        parts = ARGUMENT.fullmatch(argument.strip())
        place = parts["place"].strip() or f"*{gdb.selected_frame().pc():#x}"
        place = behind_load(place)
        try:
            gdb.decode_line(place)
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None
        made = gdb.Breakpoint(place, temporary=self.temporary)
        if parts["thread"]:
            made.thread = int(parts["thread"])
        if parts["condition"]:
            try:
                made.condition = parts["condition"]
            except gdb.error:
                made.delete()
                raise


def register() -> None:
    Break("break", False)
    Break("tbreak", True)

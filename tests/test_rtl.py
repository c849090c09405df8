"""The run-time library: conversions compared with Python's."""

from __future__ import annotations

import datetime
import random
import subprocess

from megalith.run.paths import TOP

SEED = 14
ORIGIN = datetime.datetime(1858, 11, 17)
END = (datetime.datetime(9999, 12, 31) - ORIGIN).days + 1
DAY = 86400 * 10**7


def fields(time: int) -> tuple[str, list[int]]:
    """Text and fields of a time, from Python's calendar."""
    ticks = abs(time)
    hundredths = ticks // 10**5 % 100
    of_day = ticks // 10**7 % 86400
    clock = [of_day // 3600, of_day // 60 % 60, of_day % 60, hundredths]
    line = "{:02}:{:02}:{:02}.{:02}".format(*clock)
    if time < 0:
        days = ticks // DAY
        return f"{days:4} {line}", [0, 0, days, *clock]
    date = ORIGIN + datetime.timedelta(days=ticks // DAY)
    month = date.strftime("%b").upper()
    return f"{date.day:2}-{month}-{date.year} {line}", [date.year, date.month, date.day, *clock]


def test_times_agree_with_python() -> None:
    chance = random.Random(SEED)
    times = [chance.randrange(END * DAY) for _ in range(100_000)]
    times += [-chance.randrange(1, 10_000 * DAY) for _ in range(10_000)]
    times += [n * DAY + k for n in range(0, END, 97) for k in (0, DAY - 1)]
    command = [TOP / "build/host/test_rtl_time", "convert"]
    text = "\n".join(map(str, times)) + "\n"
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(times)
    for time, line in zip(times, lines, strict=True):
        text, numbers = fields(time)
        back = abs(time) // 10**5 * 10**5 * (1 if time > 0 else -1)
        assert line == ",".join([text, *map(str, numbers), str(back)]), f"{time}, seed {SEED}"

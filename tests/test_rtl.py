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


def days(time: int) -> list[int]:
    """What LIB$DAY tells: days since the origin, and hundredths since midnight."""
    sign = -1 if time < 0 else 1
    return [sign * (abs(time) // DAY), sign * (abs(time) % DAY // 10**5)]


def parts(time: int) -> list[int]:
    """The day of the week, and what LIB$CVT_FROM_INTERNAL_TIME takes from an absolute time: of a
    year, a month and a week it counts from 1, of a day, an hour and a minute from 0."""
    date = ORIGIN + datetime.timedelta(microseconds=time // 10)
    midnight = date.replace(hour=0, minute=0, second=0, microsecond=0)
    weekday = date.isoweekday()
    found = [weekday, date.month]
    for begin in (
        midnight.replace(month=1, day=1),
        midnight.replace(day=1),
        midnight - datetime.timedelta(days=weekday - 1),
    ):
        since = date - begin
        found += [since // datetime.timedelta(seconds=unit) + 1 for unit in (86400, 3600, 60, 1)]
    of_day = (date - midnight) // datetime.timedelta(seconds=1)
    found += [date.hour, of_day // 60, of_day, date.minute, of_day % 3600, date.second]
    return [*found, (midnight - ORIGIN).days]


def units(time: int) -> list[int]:
    """A delta in weeks, days, hours, minutes and seconds, and the deltas that these are."""
    found = []
    for seconds in (7 * 86400, 86400, 3600, 60, 1):
        n = -time // (seconds * 10**7)
        found += [n, -n * seconds * 10**7]
    return found


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
        numbers += [back, *days(time), back, *(parts(time) if time >= 0 else units(time))]
        assert line == ",".join([text, *map(str, numbers)]), f"{time}, seed {SEED}"

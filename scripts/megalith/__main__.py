"""scripts/run: the command of `run`, connected with the functions of `debug` for machines that
failed, and with the collection of coverage counters in `verify` (MEGALITH_COVERAGE names the folder
for them). These are imported when they are needed: most runs only start and end a machine."""

import os
import sys
from pathlib import Path

from megalith.run import command, ends
from megalith.run.machine import Machine
from megalith.run.session import Inspection, TbModel


def describe(machine: Machine, cpus: list[int] | None) -> str:
    from megalith.debug import postmortem

    return postmortem.describe(machine, cpus)


def source_line(machine: Machine, reason: str) -> str:
    from megalith.debug import postmortem

    return postmortem.source_line(machine, reason)


def function(program: Path, offset: int) -> str:
    from megalith.debug import symbols

    return symbols.function_at(program, offset)


def race_lines(machine: Machine, console: str) -> list[str]:
    from megalith.debug import postmortem

    return postmortem.race_lines(machine, console)


def save(machine: Machine, path: Path, reason: str, programs: dict[str, Path]) -> int:
    from megalith.debug import saved

    return saved.save(machine, path, reason, programs)


def fetch_counters(machine: Machine) -> None:
    from megalith.verify import counters

    counters.fetch(machine, Path(os.environ["MEGALITH_COVERAGE"]))


def tb_model(text: str, vhpt_size: int, rads: int) -> TbModel:
    from megalith.tb import beside

    return beside.Beside(text, vhpt_size, rads)


INSPECTION = Inspection(describe, source_line, function, race_lines, save, tb_model)


def main(arguments: list[str] | None = None) -> int:
    ends.begin()
    collect = fetch_counters if "MEGALITH_COVERAGE" in os.environ else None
    return command.main(INSPECTION, collect, arguments)


if __name__ == "__main__":
    sys.exit(main())

"""scripts/run: the command of `run`, connected with the functions of `debug` for machines that
failed, and with the collection of coverage counters in `verify` (MEGALITH_COVERAGE names the folder
for them)."""

import os
import sys
from pathlib import Path

from megalith.debug import postmortem, saved
from megalith.run import command, ends
from megalith.run.machine import Machine
from megalith.run.session import Inspection
from megalith.verify import counters

INSPECTION = Inspection(
    postmortem.describe, postmortem.source_line, postmortem.race_lines, saved.save
)


def fetch_counters(machine: Machine) -> None:
    counters.fetch(machine, Path(os.environ["MEGALITH_COVERAGE"]))


if __name__ == "__main__":
    ends.begin()
    sys.exit(
        command.main(INSPECTION, fetch_counters if "MEGALITH_COVERAGE" in os.environ else None)
    )

"""The model of translation buffers beside one run of scripts/run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console

from megalith.tb import plan, report

RESULTS = "tb.json"


class Beside:
    """What `run` needs of the model (TbModel of megalith.run.session)."""

    def __init__(self, text: str, vhpt_size: int, rads: int) -> None:
        self.plan = plan.parse(text)
        self.plan.vhpt_size = vhpt_size
        self.plan.rads = rads
        self.kernel_word = self.plan.kernel_word

    def plugin_option(self, kernel: Path, memory: int, folder: Path) -> str:
        return plan.plugin_option(self.plan, kernel, memory, folder / RESULTS)

    def finish(self, kernel: Path, programs: dict[str, Path], folder: Path) -> bool:
        if not (folder / RESULTS).is_file():
            print("scripts/run: the model of translation buffers left no results", file=sys.stderr)
            return False
        text = (folder / RESULTS).read_text()
        names = report.Names(kernel, programs, plan.page_types(kernel))
        if self.plan.json:
            kinds = {"what": "kinds", "names": names.kinds}
            self.plan.json.write_text(f"{text}{json.dumps(kinds)}\n")
        console = Console(stderr=True, width=110, highlight=False, markup=False, soft_wrap=True)
        found = report.read(text)
        report.show(found, names, self.plan.top, console)
        wrong = report.complaints(found)
        for line in wrong:
            print(f"translation buffers: {line}", file=sys.stderr)
        return not wrong

"""docs/verification.md is generated from figures that runs wrote, and includes every check that
writes figures."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from megalith.run.paths import TOP
from megalith.verify import records, report
from megalith.verify.fuzz import findings
from megalith.verify.records import write_figures


def test_the_page_agrees_with_the_figures() -> None:
    subprocess.run([TOP / "scripts/verification", "--check"], check=True)


def test_every_check_that_writes_figures_has_its_place() -> None:
    written = set()
    for path in [*TOP.glob("tests/*.py"), *TOP.glob("scripts/megalith/**/*.py")]:
        if path.name != "test_verification.py":
            written |= set(re.findall(r'write_figures\(\s*"([\w-]+)"', path.read_text()))
    names = {name for tool in report.TOOLS for name in tool.names}
    assert len(written) >= 10 and written <= names
    for tool in report.TOOLS:
        assert (TOP / "tests" / tool.quick).is_file()
        target = re.escape(tool.full.split()[1])
        assert re.search(rf"^{target}:", (TOP / "Makefile").read_text(), re.M) or target == "fuzz"


def test_a_quick_run_does_not_replace_a_full_one(tmp_path: Path) -> None:
    def write(form: str, n: int) -> None:
        stem = "soak" if form == "full" else "soak-quick"
        write_figures("soak", form, {"runs": n}, path=tmp_path / f"{stem}.json")

    write("quick", 7)
    data = report.merged({}, report.records(tmp_path))
    assert "| soak, quick" in report.page(data) and "| 7 |" in report.page(data)
    write("full", 1234)
    data = report.merged(data, report.records(tmp_path))
    text = report.page(json.loads(json.dumps(data)))
    assert "| soak, full" in text and "| runs | 1,234 |" in text and "| 7 |" not in text


def test_findings_are_on_the_page() -> None:
    """Including what was found after the run whose figures are on the page."""
    text = report.PAGE.read_text()
    sentences = [
        line for path in records.FOUND.glob("*.txt") for line in path.read_text().splitlines()
    ]
    sentences += findings()
    assert len(sentences) > 20
    assert [sentence for sentence in sentences if f"* {sentence}\n" not in text] == []

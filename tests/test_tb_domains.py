"""scripts/run --tb-model with several domains of memory: references outside of the home domain are
those of programs that read a section of a known domain a known number of times."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from megalith.run.paths import TOP
from megalith.tb import report

READS = 5_000  # /bench/random reads twice as many quadwords
SECTIONS = {f"H{home}R{rad}": (home, rad) for home in (0, 1) for rad in (0, 1)}
MACHINE = ["-m", "512M", "--set", "RADS=2"]
for name, (_home, rad) in SECTIONS.items():
    MACHINE += ["--reserve", f"{name} 32 /ALLOCATE /ZERO /PAGE_TABLES /RAD={rad}"]


def run(folder: Path, *words: str) -> tuple[report.Found, str]:
    model = f"21264,top=30,json={folder}/counts"
    command = [TOP / "scripts/run", "--tb-model", model, *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return report.read((folder / "counts").read_text()), done.stderr


def readers() -> str:
    """A shell's command: a reader of each section, all at once."""
    return "".join(
        f"rad {home} /bench/random {name} {READS} 32 >/dev/null & "
        for name, (home, _rad) in SECTIONS.items()
    )


@pytest.mark.parametrize("cpus", (1, 4))
def test_reads_of_a_known_section_from_a_known_home(tmp_path: Path, cpus: int) -> None:
    words = ["--smp", str(cpus), *(["--icount"] if cpus == 1 else []), *MACHINE]
    found, said = run(tmp_path, *words, "--", "/bin/sh", "-c", f"{readers()} wait; true")
    of = {name: [p for p in found.places if p["section"] == name] for name in SECTIONS}
    for name, places in of.items():
        who = {(p["home"], p["rad"], p["program"], p["stream"]) for p in places}
        assert who == {(*SECTIONS[name], "random", 1)}
        assert len({p["pid"] for p in places}) == 1
        assert sum(p["references"] for p in places) == 2 * READS
    assert len({places[0]["pid"] for places in of.values()}) == len(SECTIONS)
    # Every load and store has a place.
    data = sum(place["references"] for place in found.places if place["stream"] == 1)
    assert data == found.of_cpus("accesses")
    total, far = report.outside(found, lambda p: p["section"])
    for name, (home, rad) in SECTIONS.items():
        outside = 2 * READS * (home != rad)
        assert (total[name], far[name]) == (2 * READS, outside)
        share = "100.0" if outside else "0.0"
        assert re.search(rf"(?m)^{name} +{2 * READS:,} +{outside:,} +{share}$", said)
    assert "References outside of the home domain" in said
    # A thread at its end has left its process: (0).
    assert len(re.findall(r"(?m)^random \([1-9]\d*\), home [01] +[\d,]+ +[\d,]+ ", said)) == 4


def test_with_one_domain_nothing_is_outside(tmp_path: Path) -> None:
    found, said = run(tmp_path, "--icount", "-m", "256M", "--", "/bin/true")
    assert found.places == [] and "home domain" not in said

"""Coverage: counters from a run of the guest and of a host test are converted to counts by line.
`make coverage` runs all tests in this way, and requires 90 % of the lines of `mm` and `sysman`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from lib.guest import run_guest
from megalith.run.paths import CROSS, TOP
from megalith.verify import coverage
from megalith.verify.counters import CoverageError, Layout, Store

# The counters of all files are read from the guest; the test uses only these.
GUEST_FILES = ("sysman/params.c", "kernel/sys/posix/path.c", "mm/space/region.c")


def line_of(name: str, text: str) -> int:
    lines = (TOP / name).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def lines_of(layout: Layout, counts: list[int]) -> coverage.Lines:
    written = layout.write_gcda(counts)
    wanted = [p for p in written if str(p).endswith(tuple(f"{name}.gcda" for name in GUEST_FILES))]
    assert len(wanted) == len(GUEST_FILES)
    return coverage.gcov(CROSS + "gcov", wanted)


def test_guest_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs add up, and code that only one program executes is reached by that program alone."""
    monkeypatch.setenv("MEGALITH_COVERAGE", str(tmp_path))
    options = ["--kernel", str(coverage.KERNEL)]
    layout = Layout(coverage.KERNEL)
    store = Store(tmp_path, layout)
    assert store.read() == (0, [0] * len(layout.addresses))

    run_guest("/bin/true", options=options, smp=4, timeout=100).expect(0)
    runs, first = store.read()
    assert runs == 1 and sum(map(bool, first)) > len(first) // 10
    call = line_of("kernel/sys/posix/path.c", "long sys_mkdir(")
    assert lines_of(layout, first)["kernel/sys/posix/path.c"][call] == 0

    run_guest("/bin/mkdir", "/tmp/x", options=options, smp=4, timeout=100).expect(0)
    runs, second = store.read()
    assert runs == 2 and all(b >= a for a, b in zip(first, second))
    reached = lines_of(layout, second)
    assert reached["kernel/sys/posix/path.c"][call] > 0
    text, folders, wrong = coverage.report(reached, {})
    assert not wrong and 0 < folders["mm"].guest < folders["mm"].lines
    assert "mm/space/region.c" in text and folders["mm"].host == 0


def test_a_panic_leaves_its_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEGALITH_COVERAGE", str(tmp_path))
    layout = Layout(coverage.KERNEL)
    options = ["--kernel", str(coverage.KERNEL)]
    run_guest("/tests/crash_kernel", options=options, timeout=100).expect(125)
    assert Store(tmp_path, layout).read()[0] == 1


def test_host_counters(tmp_path: Path) -> None:
    program = coverage.HOST / "test_config"
    subprocess.run([program], cwd=TOP, check=True, capture_output=True)
    [file] = coverage.HOST.rglob("sysman/config.c.gcda")
    lines = coverage.gcov("gcov", [file])["sysman/config.c"]
    assert sum(count > 0 for count in lines.values()) > len(lines) // 2


def test_a_kernel_without_counters_is_refused() -> None:
    with pytest.raises(CoverageError):
        Layout(TOP / "build/megalith.elf")


def test_a_kernel_that_is_not_built_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(coverage, "KERNEL", coverage.FOLDER / "no.elf")
    monkeypatch.setattr(coverage, "COUNTS", tmp_path)
    monkeypatch.setattr(coverage, "HOST", tmp_path)
    assert coverage.main(["--report"]) == 1
    assert capsys.readouterr().err == (
        "scripts/coverage: there is no build/coverage/no.elf: make COVERAGE=1 builds it\n"
    )


def test_marks() -> None:
    text = "a();\n/* uncovered: why */\nb(1,\n  2);\nc();\nd(); /* uncovered: other */\ne();\n"
    assert coverage.marked_lines(text) == {3: "why", 4: "why", 6: "other"}


def test_marks_in_the_kernel_have_reasons_and_are_few() -> None:
    """A mark is for a state that cannot occur: one line in a hundred would be too many."""
    marked = total = 0
    for folder in coverage.KERNEL_FOLDERS:
        for path in (TOP / folder).rglob("*.c"):
            text = path.read_text()
            marked += len(coverage.marked_lines(text))
            total += len(text.splitlines())
            assert "uncovered: */" not in text, path
    assert marked < total / 100


def test_blessed_figures_keep_the_bound() -> None:
    blessed = TOP / "docs/measured/verification.json"
    if not blessed.exists() or '"coverage"' not in blessed.read_text():
        pytest.skip("no figures of coverage have been blessed yet")
    text = json.dumps(json.loads(blessed.read_text()))
    for name in coverage.BOUND_FOLDERS:
        label = f"{name}: % of lines reached, guest and host"
        assert label in text
        value = float(text.split(json.dumps(label) + ": ")[1].split(",")[0].rstrip("}] "))
        assert value >= coverage.BOUND

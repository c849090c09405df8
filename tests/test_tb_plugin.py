"""The plugin of scripts/run --tb-model compiles for every version of QEMU's interface."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from megalith.tb import plan, programs


@pytest.mark.parametrize("version", (1, 2, 3))
def test_every_version_of_the_interface_compiles(tmp_path: Path, version: int) -> None:
    """Without optimization, as only the one of the installed emulator is ever loaded. What it needs
    of the emulator are functions of that version."""
    target = tmp_path / "plugin.so"
    flags = ["-O0", "-Wall", "-Wextra", "-Werror", *plan.plugin_flags(version)]
    sources = [str(programs.FOLDER / name) for name in plan.PLUGIN_SOURCES]
    subprocess.run(["gcc", *flags, *sources, "-o", str(target)], check=True)
    words = ["nm", "-D", "--undefined-only", str(target)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    needed = {name for name in said.split() if name.startswith("qemu_plugin_")}
    counters = {
        "qemu_plugin_num_vcpus",
        "qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu",
        "qemu_plugin_scoreboard_find",
        "qemu_plugin_scoreboard_new",
    }
    assert "qemu_plugin_register_vcpu_tb_trans_cb" in needed
    if version == 1:
        assert "qemu_plugin_register_vcpu_insn_exec_inline" in needed and not counters & needed
    else:
        assert counters <= needed

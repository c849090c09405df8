"""The models of concurrency (tests/models): no error in any interleaving, every planted fault
found, and each step refers to lines that are still in the kernel."""

import re

import pytest
from megalith.verify import spin


@pytest.mark.parametrize("variant", spin.SOUND["quick"], ids=str)
def test_a_model_is_sound(variant):
    verdict = spin.check(variant)
    assert verdict.errors == 0, verdict.what
    assert verdict.states > 10_000


@pytest.mark.parametrize("variant", spin.PLANTED, ids=str)
def test_a_planted_fault_is_found(variant):
    assert spin.check(variant).errors == 1


@pytest.mark.parametrize("model", spin.models())
def test_each_step_names_lines_of_the_kernel(model):
    steps = spin.steps(model)
    assert sorted(set(spin.labels(model))) == sorted(steps)
    for label, step in steps.items():
        assert step["step"]
        if step["file"]:
            assert spin.step_lines(step), label
        else:
            assert re.match("Walk|Access", label), f"{label} is no step of the hardware"


def test_every_fault_of_a_model_is_planted():
    for model in spin.models():
        text = (spin.FOLDER / f"{model}.pml").read_text()
        known = set(re.findall(r"^#if(?:n?def) (\w+)", text, re.MULTILINE))
        known -= {"VERSIONS", "CPUS", "TURNS", "ROUNDS", "TEMPORARY", "ALONE"}
        planted = {d for v in spin.PLANTED if v.model == model for d in v.defines}
        assert known <= planted

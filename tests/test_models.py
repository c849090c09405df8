"""The models of concurrency (tests/models): sound over every interleaving, every planted fault
found, and each step tied to lines that are still in the kernel."""

import re

import pytest
from megalith import models


@pytest.mark.parametrize("variant", models.SOUND["quick"], ids=str)
def test_a_model_is_sound(variant):
    verdict = models.check(variant)
    assert verdict.errors == 0, verdict.what
    assert verdict.states > 10_000


@pytest.mark.parametrize("variant", models.PLANTED, ids=str)
def test_a_planted_fault_is_found(variant):
    assert models.check(variant).errors == 1


@pytest.mark.parametrize("model", models.models())
def test_each_step_stands_for_lines_of_the_kernel(model):
    steps = models.steps(model)
    assert sorted(set(models.labels(model))) == sorted(steps)
    for label, step in steps.items():
        assert step["step"]
        if step["file"]:
            assert models.step_lines(step), label
        else:
            assert re.match("Walk|Access", label), f"{label} is no step of the hardware"


def test_every_fault_a_model_knows_is_planted():
    for model in models.models():
        text = (models.FOLDER / f"{model}.pml").read_text()
        known = set(re.findall(r"^#if(?:n?def) (\w+)", text, re.MULTILINE))
        known -= {"VERSIONS", "CPUS", "TURNS", "ROUNDS", "TEMPORARY", "ALONE"}
        planted = {d for v in models.PLANTED if v.model == model for d in v.defines}
        assert known <= planted

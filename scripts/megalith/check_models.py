"""scripts/models: checks the models of concurrency, or says which code a model stands for."""

import argparse
import sys

from rich.console import Console
from rich.table import Table

from megalith import models
from megalith.ends import end
from megalith.verify import write_figures


def show_steps(console: Console) -> None:
    for model in models.models():
        table = Table(title=model, title_justify="left", box=None)
        for column in ("step", "lines", "what it is"):
            table.add_column(column, overflow="fold")
        for label, step in models.steps(model).items():
            lines = ", ".join(str(n) for n in models.step_lines(step))
            table.add_row(label, f"{step['file']}:{lines}" if lines else "-", step["step"])
        console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/models", description=__doc__)
    parser.add_argument("--full", action="store_true", help="more CPUs and turns (minutes, 4 GB)")
    parser.add_argument("--steps", action="store_true", help="which lines each step stands for")
    arguments = parser.parse_args()
    console = Console(soft_wrap=True)
    if arguments.steps:
        show_steps(console)
        return 0
    form = "full" if arguments.full else "quick"
    states, wrong = 0, []
    for variant in models.SOUND[form]:
        verdict = models.check(variant, 3600)
        states += verdict.states
        console.print(
            f"{variant}: {verdict.states} states, depth {verdict.depth}, "
            f"errors {verdict.errors} {verdict.what}"
        )
        if verdict.errors:
            wrong.append(f"{variant}: {verdict.what}")
    found = []
    for variant in models.PLANTED:
        verdict = models.check(variant, 3600)
        console.print(f"{variant}: planted, {verdict.what or 'NOT FOUND'}")
        if verdict.errors:
            found.append(f"planted {variant}: {verdict.what}")
        else:
            wrong.append(f"{variant}: planted and not found")
    write_figures(
        "models",
        form,
        {
            "models": len(models.models()),
            "steps tied to code": sum(len(models.steps(m)) for m in models.models()),
            "variants without an error": len(models.SOUND[form]),
            "states": states,
            "planted faults": len(models.PLANTED),
            "planted faults found": len(found),
        },
        found,
    )
    for line in wrong:
        print(f"models: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    end(main)

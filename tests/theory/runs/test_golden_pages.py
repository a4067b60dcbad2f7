"""Golden pages: the commands at the heads of ``pages/*.txt`` print the pages below them, word by word."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterproof import theory
from clusterproof.algorithms import ALGORITHMS
from clusterproof.commands.application import main
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.synthetic.softmax import SoftmaxMixture

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w])")
ROUNDING = 1e-9
"""Lengths below this are rounding errors, which another machine has others of."""


def pages() -> Iterator[Any]:
    """Yield each command with its page; the first of each algorithm is its default and always compared."""
    for file in sorted((Path(__file__).parent / "pages").glob("*.txt")):
        blocks = re.split(r"^\$ clusterproof ", file.read_text(), flags=re.MULTILINE)[1:]
        for place, block in enumerate(blocks):
            command, _, page = block.partition("\n")
            marks = [pytest.mark.slow(reason="another setting")] if place else []
            yield pytest.param(command, page, id=command, marks=marks)


def apart(page: str) -> tuple[list[str], list[str]]:
    """Return the words of a page, without its numbers and wherever its lines end, and the numbers."""
    # of two lengths that are rounding one may be 0, which is not told
    told = re.sub(r", to within \S+", "", " ".join(page.split()))
    return NUMBER.sub("#", told).split(), NUMBER.findall(told)


def last_digit(number: str) -> float:
    """Return the size of the last digit of a number as it is written; 0 of a whole number, which is a count."""
    mantissa, mark, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals) if decimals or mark else 0.0


@pytest.mark.parametrize(("command", "golden"), list(pages()))
def test_a_page_is_the_golden_one(command: str, golden: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)) == 0
    page = capsys.readouterr().out
    (words, numbers), (golden_words, golden_numbers) = apart(page), apart(golden)
    assert words == golden_words
    for number, known in zip(numbers, golden_numbers, strict=True):
        allowed = 1.01 * max(last_digit(number), last_digit(known))
        assert float(number) == pytest.approx(float(known), rel=0, abs=max(allowed, ROUNDING))
    lines = page.splitlines()
    assert len(lines) <= 28 or "--verbose" in command  # which adds the theorems that are in the table only
    assert max(map(len, lines)) <= 80


def test_every_algorithm_has_a_golden_page() -> None:
    assert {command.values[0].split()[1] for command in pages()} == set(ALGORITHMS)


class WithBoth(SoftmaxMixture):
    """As GL-CFL asks: losses and gradients of all models."""

    def losses_and_gradients(self, models: Any, clients: Any, generator: np.random.Generator) -> Any:
        points = [np.repeat(model[None], len(clients), axis=0) for model in models]
        gradients = [self.gradients(point, clients, generator) for point in points]
        return self.losses(models, clients, generator), np.stack(gradients, axis=1)


@pytest.mark.parametrize(
    "algorithm", ["cfl", "per-fedavg", "local", "gradient-loss", "ifca", "fpfc", "fedavg"]
)
def test_a_task_without_known_optima_has_a_page_without_errors(algorithm: str) -> None:
    task = WithBoth(clients=6, clusters=2, features=3, classes=2, largest=30)
    options = {"clusters": 2} if algorithm in ("gradient-loss", "ifca") else {}
    page = theory.compare(task, run(ALGORITHMS[algorithm](step_size=0.1, **options), task, rounds=4))  # type: ignore[arg-type]
    assert str(page).startswith(f"{algorithm} on softmax with unknown optima")
    assert "2 clusters: 3 and 3 of m = 6 clients" in str(page)
    labels = [one.label for _, shown in page.sections for one in shown]
    assert "Error" not in labels
    assert ("Groups" in labels) == (algorithm in ("cfl", "gradient-loss", "ifca", "fpfc"))


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_of_no_round_nothing_holds(algorithm: str) -> None:
    for kind in (QuadraticMixture, RegressionMixture):
        task = kind.random(clusters=2, clients=6, dimension=2)
        options = {"momentum": 0.5} if algorithm == "cfl-mgd" else {}
        page = theory.compare(task, run(ALGORITHMS[algorithm](step_size=0.1, **options), task, rounds=0))  # type: ignore[arg-type]
        told = [one for one in page.theorems if one.claim != "cfl-mgd/remark-1"]
        assert not {"holds", "broken"} & {one.outcome for one in told}

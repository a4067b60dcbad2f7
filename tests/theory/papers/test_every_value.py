"""Claims for every value of their parameters: false neighbours get no word, and their loops are the methods' rounds."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterproof.checker import kernel
from clusterproof.checker.report.stored_evidence import read_evidence
from clusterproof.methods.averaging import fedavg
from clusterproof.methods.controls import fedlin, scaffold
from clusterproof.theory.papers import every_number_of_steps as rounds
from clusterproof.theory.papers.every_loss import clients_of

TABLE = Path(__file__).with_name("false_neighbours.tsv")
"""By name, a claim, what its text says, and what a false one says in its place."""
NEIGHBOURS = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]]


def shown(claim: str, text: str) -> dict[str, Any]:
    """Return what the stored evidence of a claim shows of a text, by the names of statements."""
    found: dict[str, Any] = {}
    stated = kernel.read(text)
    for record in read_evidence(claim.partition("/")[0]).of(claim):
        try:
            found[record["statement"]] = kernel.show(stated, record)[1]
        except kernel.Refused:
            found[record["statement"]] = kernel.Word.OPEN
    return found


@pytest.mark.parametrize(
    ("name", "claim", "true", "false"), NEIGHBOURS, ids=[name for name, *_ in NEIGHBOURS]
)
def test_a_false_neighbour_gets_no_word(name: str, claim: str, true: str, false: str) -> None:
    text = read_evidence(claim.partition("/")[0]).texts[claim]
    assert true in text, name
    assert kernel.Word.OPEN in shown(claim, text.replace(true, false)).values()


@pytest.mark.parametrize("claim", sorted({claim for _, claim, *_ in NEIGHBOURS}))
def test_the_neighbours_are_of_certified_claims(claim: str) -> None:
    text = read_evidence(claim.partition("/")[0]).texts[claim]
    assert set(shown(claim, text).values()) == {kernel.Word.CERTIFIED}


class Parabola:
    """curvature / 2 (x - centre)^2 of vectors with one entry."""

    def __init__(self, curvature: Fraction, centre: Fraction) -> None:
        self.curvature, self.centre = curvature, np.array([centre])

    def gradient(self, x: Any) -> Any:
        return self.curvature * (x - self.centre)

    def __call__(self, x: Any) -> Any:
        apart = x - self.centre
        return self.curvature / 2 * (apart @ apart)


class Mean:
    """The mean of two parabolas, with a start, and a point that is far away."""

    def __init__(self) -> None:
        self.parts = Parabola(Fraction(1), Fraction(0)), Parabola(Fraction(1, 2), Fraction(3))
        self.start, self.minimiser = np.array([Fraction(5)]), np.array([Fraction(1)])
        self.minimum = sum(part(self.minimiser) for part in self.parts) / 2
        self.distance = Fraction(4)

    def point(self) -> Any:
        return np.array([Fraction(7, 3)])


def by_fedavg(f: Any, steps: int) -> Any:
    end = fedavg(clients_of(f, steps), f.start, step_size=Fraction(1, 4))
    return (end - f.minimiser) @ (end - f.minimiser)


def by_fedlin(f: Any, steps: int) -> Any:
    end = fedlin(clients_of(f, steps), f.start, step_size=Fraction(1, 4 * steps))
    return (end - f.minimiser) @ (end - f.minimiser)


def by_scaffold(f: Any, steps: int) -> Any:
    star, first = f.minimiser, f.point() - f.minimiser
    model, control, controls = scaffold(
        clients_of(f, steps), f.start, 0 * star, [first, -first], step_size=Fraction(1, 4 * steps)
    )
    apart = [own - control - part.gradient(star) for own, part in zip(controls, f.parts, strict=True)]
    psi = (model - star) @ (model - star)
    return psi + Fraction(1, 16) * sum(each @ each for each in apart) / 2


QUARTER, HALF = Fraction(1, 4), Fraction(1, 2)
BY_METHODS: dict[str, tuple[Callable[..., Any], Callable[..., Any], dict[str, Any]]] = {
    "fedavg": (rounds.fedavg_every_number_of_steps, by_fedavg, {"length": QUARTER, "share": HALF}),
    "fedlin": (rounds.fedlin_every_number_of_steps, by_fedlin, {"pace": QUARTER}),
    "scaffold": (rounds.scaffold_every_number_of_steps, by_scaffold, {"pace": QUARTER}),
}


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("name", BY_METHODS)
def test_a_loop_makes_the_rounds_of_the_method(name: str, steps: int) -> None:
    claim, by_method, settings = BY_METHODS[name]
    f = Mean()
    sides = claim(curvature=HALF, f=f, steps=steps, **settings)
    assert sides.measured == by_method(f, steps)

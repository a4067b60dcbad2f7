"""Claims for every value of their parameters: false neighbours get no word, and their loops are the methods' rounds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import add, mul
from pathlib import Path
from typing import Any

import pytest

from clusterproof.checker import kernel
from clusterproof.checker.report.stored_evidence import read_evidence
from clusterproof.methods.averaging import fedavg
from clusterproof.methods.controls import fedlin, scaffold
from clusterproof.methods.exact import exact_clients
from clusterproof.theory.papers import every_number_of_steps as rounds

TABLE = Path(__file__).with_name("false_neighbours.tsv")
"""By name, a claim, what its text says, and what a false one says in its place."""
NEIGHBOURS = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]]


def shown(claim: str, text: str) -> dict[str, Any]:
    """Return what the stored evidence of a claim shows of a text, by the names of statements."""
    found: dict[str, Any] = {}
    stated = kernel.read(text)
    for record in read_evidence(claim.partition("/")[0]).of_claim(claim):
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


QUARTER, HALF = Fraction(1, 4), Fraction(1, 2)


class Parabola:
    """curvature / 2 (x - centre)^2 of a number."""

    def __init__(self, curvature: Fraction | int, centre: int) -> None:
        self.curvature, self.centre = curvature, centre

    def gradient(self, x: Fraction) -> Fraction:
        return self.curvature * (x - self.centre)

    def __call__(self, x: Fraction) -> Fraction:
        return self.curvature * (x - self.centre) ** 2 / 2


class Vector:
    """A vector with one entry for each of three clients; ``@`` is the mean of the clients' products."""

    def __init__(self, *entries: Fraction) -> None:
        self.entries = entries

    def __add__(self, other: Vector | int) -> Vector:
        return self if other == 0 else Vector(*map(add, self.entries, other.entries))  # type: ignore[union-attr]

    def __sub__(self, other: Vector) -> Vector:
        return self + other * -1

    def __mul__(self, factor: Any) -> Vector:
        return Vector(*(factor * entry for entry in self.entries))

    __rmul__ = __mul__

    def __neg__(self) -> Vector:
        return self * -1

    def __truediv__(self, divisor: Any) -> Vector:
        return self * (1 / Fraction(divisor))

    def __matmul__(self, other: Vector) -> Fraction:
        return sum(map(mul, self.entries, other.entries), Fraction(0)) / 3


class Clients:
    """Three parabolas, each at its own point."""

    parts = Parabola(1, 0), Parabola(HALF, 3), Parabola(QUARTER, -6)

    def gradient(self, points: Vector) -> Vector:
        return Vector(*(part.gradient(x) for part, x in zip(self.parts, points.entries, strict=True)))

    def __call__(self, points: Vector) -> Fraction:
        values = (part(x) for part, x in zip(self.parts, points.entries, strict=True))
        return sum(values, Fraction(0)) / 3

    def mean(self, vector: Vector) -> Vector:
        return Vector(*[sum(vector.entries, Fraction(0)) / 3] * 3)

    def point(self) -> Vector:
        return Vector(Fraction(7, 3), Fraction(-2), Fraction(1, 2))


class Mean:
    """The mean of three parabolas, with a start."""

    parts = Clients()
    start, minimiser, distance = Vector(*[Fraction(5)] * 3), Vector(*[Fraction(0)] * 3), Fraction(5)
    minimum = parts(minimiser)

    def gradient(self, point: Vector) -> Vector:
        return self.parts.mean(self.parts.gradient(point))

    def __call__(self, point: Vector) -> Fraction:
        return self.parts(point)


def listed_clients(steps: int) -> Any:
    return exact_clients([part.gradient for part in Clients.parts], [steps] * 3)


def by_fedavg(f: Mean, steps: int) -> Any:
    return fedavg(listed_clients(steps), f.start.entries[0], step_size=QUARTER) ** 2


def by_fedlin(f: Mean, steps: int) -> Any:
    return fedlin(listed_clients(steps), f.start.entries[0], step_size=Fraction(1, 4 * steps)) ** 2


def by_scaffold(f: Mean, steps: int) -> Any:
    free = f.parts.point() - f.parts.mean(f.parts.point())
    model, control, controls = scaffold(
        listed_clients(steps), f.start.entries[0], Fraction(0), free.entries, step_size=Fraction(1, 4 * steps)
    )
    apart = [
        own - control - part.gradient(Fraction(0)) for own, part in zip(controls, Clients.parts, strict=True)
    ]
    return model**2 + Fraction(1, 16) * sum(each**2 for each in apart) / 3


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

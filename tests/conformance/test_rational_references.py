"""Definitions against a second reference, written separately in rational arithmetic on scalar tasks."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.conformance import DEFINITIONS, ConformanceTask

ETA = Fraction(1, 20)


def local(a: Fraction, b: Fraction, x: Fraction, count: int, extra: Any = lambda y: 0) -> Fraction:
    """Descend on a (y - b)^2 / 2 with another term in the gradient."""
    y = x
    for _ in range(count):
        y -= ETA * (a * (y - b) + extra(y))
    return y


class Rational:
    """One scalar model, N clients; each method is a round of one algorithm."""

    def __init__(
        self, a: list[Fraction], b: list[Fraction], n: list[int], x: Fraction, steps: list[int]
    ) -> None:
        self.a, self.b, self.n, self.x, self.steps = a, b, n, x, steps
        self.c, self.ci, self.h, self.v = Fraction(0), [Fraction(0)] * len(a), Fraction(0), Fraction(0)

    def mean(self, values: dict[int, Fraction]) -> Fraction:
        total = sum(self.n[i] for i in values)
        return sum((self.n[i] * value for i, value in values.items()), Fraction(0)) / total

    def fedavg(self, S: list[int]) -> None:
        self.x = self.mean({i: local(self.a[i], self.b[i], self.x, self.steps[i]) for i in S})

    def fedprox(self, S: list[int]) -> None:
        x = self.x
        self.x = self.mean(
            {i: local(self.a[i], self.b[i], x, self.steps[i], lambda y: Fraction(7, 10) * (y - x)) for i in S}
        )

    def scaffold(self, S: list[int], option: str) -> None:
        x, ends, new = self.x, {}, list(self.ci)
        for i in S:
            shift = self.c - self.ci[i]
            ends[i] = local(self.a[i], self.b[i], x, self.steps[i], lambda y, shift=shift: shift)
            second = (x - ends[i]) / (self.steps[i] * ETA) - shift
            new[i] = self.a[i] * (x - self.b[i]) if option == "I" else second
        self.x, self.ci = self.mean(ends), new
        self.c = sum(new, Fraction(0)) / len(new)  # the mean of all controls, always

    def fednova(self, S: list[int]) -> None:
        ends = {i: local(self.a[i], self.b[i], self.x, self.steps[i]) for i in S}
        tau = self.mean({i: Fraction(self.steps[i]) for i in S})
        self.x += tau * self.mean({i: (ends[i] - self.x) / self.steps[i] for i in S})

    def feddyn(self, S: list[int]) -> None:
        x, alpha, ends = self.x, Fraction(4, 5), {}
        for i in S:
            ends[i] = local(
                self.a[i], self.b[i], x, self.steps[i], lambda y, i=i: alpha * (y - x) - self.ci[i]
            )
        for i in S:
            self.ci[i] -= alpha * (ends[i] - x)
        self.x = (
            self.mean(ends) - sum(self.ci, Fraction(0)) / len(self.ci) / alpha
        )  # h is the mean of all states

    def fedavgm(self, S: list[int]) -> None:
        ends = {i: local(self.a[i], self.b[i], self.x, self.steps[i]) for i in S}
        self.v = Fraction(3, 5) * self.v + self.x - self.mean(ends)
        self.x -= self.v


NUMBERS = st.integers(-12, 12).map(lambda number: Fraction(number, 4))


@pytest.mark.parametrize(
    "algorithm", ["fedavg", "fedprox", "scaffold I", "scaffold II", "fednova", "feddyn", "fedavgm"]
)
@given(data=st.data())
def test_every_round_is_the_rational_one(algorithm: str, data: st.DataObject) -> None:
    name, *option = algorithm.split()
    count = data.draw(st.integers(2, 4))
    a = [data.draw(st.integers(2, 10).map(lambda number: Fraction(number, 4))) for _ in range(count)]
    b = [data.draw(NUMBERS) for _ in range(count)]
    n = [data.draw(st.integers(1, 5)) for _ in range(count)]
    x, epochs, size = data.draw(NUMBERS), data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))
    exact = Rational(a, b, n, x, [epochs * -(-samples // size) for samples in n])
    task = ConformanceTask(
        curvatures=np.array(a, float)[:, None, None],
        optima=np.array(b, float)[:, None],
        samples=np.array(n),
        start=np.array([float(x)]),
    )
    settings = {**DEFINITIONS[name].defaults(), "local_epochs": epochs, "batch_size": size}
    run = DEFINITIONS[name](task, settings | ({"option": option[0]} if option else {}))
    subsets = st.lists(st.sampled_from(range(count)), min_size=1, unique=True)
    for participants in data.draw(st.lists(subsets, min_size=1, max_size=3)):
        getattr(exact, name)(participants, *option)
        run.round(participants)
        np.testing.assert_allclose(run.model, [float(exact.x)], rtol=1e-12, atol=1e-12)

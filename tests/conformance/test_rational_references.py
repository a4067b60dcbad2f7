"""Definitions against a second reference, written separately in rational arithmetic on scalar tasks."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clusterproof.conformance import DEFINITIONS, ConformanceTask

ETA, TAU = Fraction(1, 20), Fraction(1, 20)


def local(a: Fraction, b: Fraction, x: Fraction, count: int, extra: Any = lambda y: 0) -> Fraction:
    """Descend on a (y - b)^2 / 2 with another term in the gradient."""
    y = x
    for _ in range(count):
        y -= ETA * (a * (y - b) + extra(y))
    return y


class Rational:
    """One scalar model, N clients; each method is a round of one algorithm."""

    def __init__(
        self,
        a: list[Fraction],
        b: list[Fraction],
        n: list[int],
        x: Fraction,
        epochs: int,
        steps: list[int],
    ) -> None:
        self.a, self.b, self.n, self.x, self.epochs, self.steps = a, b, n, x, epochs, steps
        self.c, self.ci, self.h, self.v = Fraction(0), [Fraction(0)] * len(a), Fraction(0), Fraction(0)
        self.m, self.second, self.personal = Fraction(0), TAU**2, [x] * len(a)
        self.xs, self.us = [x, x + 2], [Fraction(0)] * 2
        self.theta: dict[Any, Fraction] = {}
        self.dual: dict[Any, Fraction] = {}
        self.groups, self.rounds = [list(range(len(a)))], 0

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

    def fedlin(self, S: list[int]) -> None:
        x, own = self.x, {i: self.a[i] * (self.x - self.b[i]) for i in S}
        shifts = {i: self.mean(own) - own[i] for i in S}
        self.x = self.mean(
            {i: local(self.a[i], self.b[i], x, self.steps[i], lambda y, i=i: shifts[i]) for i in S}
        )

    def proxskip(self, S: list[int]) -> None:
        ends = [
            local(self.a[i], self.b[i], self.x, self.steps[i], lambda y, i=i: -self.ci[i])
            for i in range(len(self.a))
        ]
        self.x = sum(ends, Fraction(0)) / len(ends)
        self.ci = [h + Fraction(2, 5) / ETA * (self.x - y) for h, y in zip(self.ci, ends, strict=True)]

    def ditto(self, S: list[int]) -> None:
        x = self.x
        for i in S:
            for _ in range(2 * self.steps[i] // self.epochs):
                pull = Fraction(9, 10) * (self.personal[i] - x)
                self.personal[i] -= Fraction(8, 100) * (self.a[i] * (self.personal[i] - self.b[i]) + pull)
        self.fedavg(S)

    def pfedme(self, S: list[int], theta: str) -> None:
        lam, ends = Fraction(9, 10), {}
        for i in S:
            w = point = self.x
            for _ in range(self.steps[i]):
                point = w if theta == "restarts" else point
                point = local(self.a[i], self.b[i], point, 4, lambda t, w=w: lam * (t - w))
                w -= Fraction(1, 2) * lam * (w - point)
            ends[i], self.personal[i] = w, point
        self.x = Fraction(3, 10) * self.x + Fraction(7, 10) * self.mean(ends)

    def fedbcd(self, S: list[int], variant: str) -> None:
        z, penalised = self.x, variant == "penalised"
        for i in S:
            mu = Fraction(7, 10) if penalised else Fraction(0)
            end = local(self.a[i], self.b[i], self.personal[i], self.steps[i], lambda y, mu=mu: mu * (y - z))
            # n pulls of 1/5 leave 4/5 of the distance n times
            self.personal[i] = end if penalised else z + Fraction(4, 5) ** self.steps[i] * (end - z)
        self.x = sum(self.personal, Fraction(0)) / len(self.personal)

    def per_fedavg(self, S: list[int], order: str) -> None:
        # a scalar quadratic: the gradient at y - r g(y) is a (1 - r a) (y - b), the Hessian's factor 1 - r a
        r, ends = Fraction(15, 100), {}
        for i in S:
            slope = self.a[i] * (1 - r * self.a[i]) ** (2 if order == "second-order" else 1)
            ends[i] = local(slope, self.b[i], self.x, self.steps[i])
        self.x = self.mean(ends)

    def fedadam(self, S: list[int], sign: bool = False) -> None:
        ends = {i: local(self.a[i], self.b[i], self.x, self.steps[i]) for i in S}
        delta = self.mean(ends) - self.x
        self.m = Fraction(8, 10) * self.m + Fraction(2, 10) * delta
        # at a tie rounding decides the sign
        assume(not sign or abs(self.second - delta**2) > Fraction(1, 10**12) * self.second)
        above = (self.second > delta**2) - (self.second < delta**2)
        new = self.second - Fraction(1, 10) * delta**2 * above
        self.second = new if sign else Fraction(9, 10) * self.second + Fraction(1, 10) * delta**2
        self.x += Fraction(2, 10) * self.m / (root(self.second) + TAU)

    def fedyogi(self, S: list[int]) -> None:
        self.fedadam(S, sign=True)

    def ifca(self, S: list[int], averaging: str, momentum: Fraction = Fraction(0)) -> None:
        losses = {i: [self.a[i] * (x - self.b[i]) ** 2 for x in self.xs] for i in S}
        # rounding could choose the other of two equal losses
        assume(all(abs(first - second) > Fraction(1, 10**6) for first, second in losses.values()))
        choices = {i: int(second < first) for i, (first, second) in losses.items()}
        xs, us = list(self.xs), list(self.us)
        for j in range(2):
            members = [i for i in S if choices[i] == j]
            if averaging == "gradient":
                gradients = [self.a[i] * (self.xs[j] - self.b[i]) for i in members]
                us[j] = momentum * self.us[j] + sum(gradients, Fraction(0)) / len(self.a)
                xs[j] = self.xs[j] - ETA * us[j]
                continue
            ends, speeds = {}, {}
            for i in members:
                y, u = self.xs[j], self.us[j]
                for _ in range(self.steps[i]):
                    u = momentum * u + self.a[i] * (y - self.b[i])
                    y -= ETA * u
                ends[i], speeds[i] = y, u
            if members:
                xs[j], us[j] = self.mean(ends), self.mean(speeds) if momentum else Fraction(0)
        self.xs, self.us = xs, us

    def fpfc(self, S: list[int], rule: str) -> None:
        m, rho, lam, xi, a = len(self.a), Fraction(7, 5), Fraction(1, 4), Fraction(3, 100), Fraction(16, 5)
        w, pairs = self.personal, [(i, j) for i in range(m) for j in range(i)]

        def signed(values: dict[Any, Fraction], i: int, j: int) -> Fraction:
            return values.get((i, j), -values.get((j, i), Fraction(0)))

        theta, v, ends = self.theta, self.dual, {}
        for i in S:
            zeta = (
                sum((w[j] + signed(theta, i, j) - signed(v, i, j) / rho for j in range(m)), Fraction(0)) / m
            )
            ends[i] = local(self.a[i], self.b[i], w[i], self.steps[i], lambda y, zeta=zeta: rho * (y - zeta))
        for i, end in ends.items():
            w[i] = end
        times = {"both": (0, 0, 1), "either": (0, 1, 1), "all": (1, 1, 1), "either-twice": (0, 1, 2)}[rule]
        for i, j in pairs:
            for _ in range(times[(i in S) + (j in S)]):
                delta = w[i] - w[j] + v.get((i, j), Fraction(0)) / rho
                length = abs(delta)
                # rounding decides at the ends of the cases only if they are not continuous, which they are
                if length <= xi + lam / rho:
                    shrunk = delta / (1 + lam / (xi * rho))
                elif length <= lam + lam / rho:
                    shrunk = delta - lam / rho * delta / length
                elif length <= a * lam:
                    shrunk = ((a - 1) * rho * delta - a * lam * delta / length) / ((a - 1) * rho - 1)
                else:
                    shrunk = delta
                theta[i, j], v[i, j] = shrunk, rho * (delta - shrunk)

    def gradient_loss(self, S: list[int]) -> None:
        weight, eta = Fraction(4, 5), Fraction(1, 5)
        trained: dict[int, dict[int, Fraction]] = {0: {}, 1: {}}
        for i in S:
            scores = []
            for x, move in zip(self.xs, self.us, strict=True):
                # on a line the cosine is a sign
                slope = -self.a[i] * (x - self.b[i]) * move
                similarity = (slope > 0) - (slope < 0)
                scores.append(weight * similarity - (1 - weight) * self.a[i] * (x - self.b[i]) ** 2 / 2)
                assume(slope == 0 or abs(slope) > Fraction(1, 10**6))
            assume(abs(scores[0] - scores[1]) > Fraction(1, 10**6))
            k = int(scores[1] > scores[0])
            trained[k][i] = self.xs[k] - eta * self.a[i] * (self.xs[k] - self.b[i])
        new = [self.mean(trained[k]) if trained[k] else self.xs[k] for k in (0, 1)]
        self.us, self.xs = [y - x for x, y in zip(self.xs, new, strict=True)], new

    def cfl(self, S: list[int]) -> None:
        moves = [local(*case, self.steps[i]) - self.personal[i] for i, case in self.cases()]
        groups = []
        for group in self.groups:
            mean = self.mean({i: moves[i] for i in group})
            largest = max(abs(moves[i]) for i in group)
            assume(
                min(abs(abs(mean) - Fraction(18, 100)), abs(largest - Fraction(3, 10))) > Fraction(1, 10**6)
            )
            assume(all(moves[i] == 0 or abs(moves[i]) > Fraction(1, 10**9) for i in group))
            split = self.rounds >= 1 and len(group) > 2 and abs(mean) < Fraction(18, 100)
            if split and largest > Fraction(3, 10):
                # on a line cosines are 1, 0 and -1: the cut is by the sign, and unique if there are two signs
                sides = [[i for i in group if sign * moves[i] > 0] for sign in (1, -1)]
                assume(len(sides[0]) + len(sides[1]) == len(group))
                groups += [side for side in sides if side]
            else:
                groups.append(group)
        self.groups, self.rounds = groups, self.rounds + 1
        for group in groups:
            mean = self.mean({i: moves[i] for i in group})
            for i in group:
                self.personal[i] += mean

    def sofl(self, S: list[int]) -> None:
        ends = {i: local(*case, self.steps[i]) for i, case in self.cases()}
        if self.rounds == 1:
            self.groups = [[i for i in ends if i % 2 == parity] for parity in (0, 1)]
        self.rounds += 1
        for group in self.groups:
            mean = self.mean({i: ends[i] for i in group})
            for i in group:
                self.personal[i] = mean

    def cases(self) -> list[tuple[int, tuple[Fraction, Fraction, Fraction]]]:
        return [(i, (self.a[i], self.b[i], self.personal[i])) for i in range(len(self.a))]

    def cfl_mgd(self, S: list[int], averaging: str) -> None:
        self.ifca(S, averaging, Fraction(6, 10))

    def local(self, S: list[int]) -> None:
        for i in S:
            self.personal[i] = local(self.a[i], self.b[i], self.personal[i], self.steps[i])

    def fedavgm(self, S: list[int]) -> None:
        ends = {i: local(self.a[i], self.b[i], self.x, self.steps[i]) for i in S}
        self.v = Fraction(3, 5) * self.v + self.x - self.mean(ends)
        self.x -= self.v


def root(value: Fraction) -> Fraction:
    """Return the square root to thirty digits."""
    return Fraction(math.isqrt(int(value * 10**60)), 10**30)


NUMBERS = st.integers(-12, 12).map(lambda number: Fraction(number, 4))


OPTIONS = {
    "scaffold": "option",
    "pfedme": "theta",
    "per-fedavg": "gradient",
    "fedbcd": "variant",
    "fpfc": "pair_rule",
    "ifca": "averaging",
    "cfl-mgd": "averaging",
}
PERSONAL = ("local", "fpfc", "cfl", "sofl")
"""Definitions whose model has a row for each client."""
FORMS = [
    *("fedavg", "fedprox", "scaffold I", "scaffold II", "fednova", "feddyn", "fedlin", "proxskip", "ditto"),
    *("pfedme continues", "pfedme restarts", "fedavgm", "fedadam", "fedyogi", "ifca model", "ifca gradient"),
    *(
        "cfl-mgd model",
        "cfl-mgd gradient",
        "fedbcd penalised",
        "fedbcd separate",
        "fpfc either",
        "fpfc both",
        "fpfc all",
        "fpfc either-twice",
        "gradient-loss",
        "cfl",
        "sofl",
        "per-fedavg second-order",
        "per-fedavg first-order",
        "local",
    ),
]


def test_every_definition_has_a_second_reference() -> None:
    assert {form.split()[0] for form in FORMS} == set(DEFINITIONS)


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_every_round_is_the_rational_one(form: str, data: st.DataObject) -> None:
    name, *option = form.split()
    definition = DEFINITIONS[name]
    count = data.draw(st.integers(2, 4))
    a = [data.draw(st.integers(2, 10).map(lambda number: Fraction(number, 4))) for _ in range(count)]
    b = [data.draw(NUMBERS) for _ in range(count)]
    n = [data.draw(st.integers(1, 5)) for _ in range(count)]
    x, epochs, size = data.draw(NUMBERS), data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))
    if name == "proxskip":  # K is the same for all
        n = [n[0]] * count
    weighting = data.draw(st.sampled_from(["samples", "clients"]))
    counted = n if weighting == "samples" else [1] * count
    exact = Rational(a, b, counted, x, epochs, [epochs * -(-samples // size) for samples in n])
    task = ConformanceTask(
        curvatures=np.array(a, float)[:, None, None],
        optima=np.array(b, float)[:, None],
        samples=np.array(n),
        start=np.array([float(x)]),
        starts=np.array(exact.xs, float)[:, None] if definition.clusters else None,
        groups=np.arange(count) % 2 if name == "sofl" else None,
    )
    own = {"pretraining": 1} if name == "sofl" else {}
    settings = {
        **definition.defaults(),
        **own,
        "local_epochs": epochs,
        "batch_size": size,
        "weighting": weighting,
    }
    run: Any = definition(task, settings | ({OPTIONS[name]: option[0]} if option else {}))
    subsets = st.lists(st.sampled_from(range(count)), min_size=1, unique=True)
    all_clients = st.just(list(range(count)))
    rounds = st.lists(all_clients if definition.needs_all_clients else subsets, min_size=1, max_size=3)
    for participants in data.draw(rounds):
        getattr(exact, name.replace("-", "_"))(participants, *option)
        run.round(participants)
        models = exact.xs if definition.clusters else exact.personal if name in PERSONAL else [exact.x]
        np.testing.assert_allclose(run.model.ravel(), np.array(models, float), rtol=1e-12, atol=1e-12)
        if name in ("ditto", "pfedme", "fedbcd"):
            np.testing.assert_allclose(
                run.personal[:, 0], np.array(exact.personal, float), rtol=1e-12, atol=1e-12
            )
        if name == "fpfc":
            for table, values in ((run.differences, exact.theta), (run.duals, exact.dual)):
                for (i, j), value in values.items():
                    found = [table[i, j, 0], -table[j, i, 0]]
                    np.testing.assert_allclose(found, float(value), rtol=1e-12, atol=1e-12)
        if name in ("cfl", "sofl"):
            together = [{int(k) for k in np.flatnonzero(run.groups == run.groups[i])} for i in range(count)]
            assert all(together[i] == set(group) for group in exact.groups for i in group)
        if name in ("scaffold", "proxskip"):
            np.testing.assert_allclose(run.controls[:, 0], np.array(exact.ci, float), rtol=1e-12, atol=1e-12)

"""Clients that are all alike, under option II with one local step: one exact heavy-ball path.

Every reading of the paper's chi_i, before or after averaging, is then the same; where such a path
breaks a statement, every reading of it is broken.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import CFLMGD, run
from synthetic import QuadraticMixture
from theory.counterexample import Evaluate, Instance, Number, confirm_equal, encode
from theory.two_clusters import exact_path


class AlikeClients:
    """N clients phi = a (chi - chi*)^2 / 2 in one cluster, eta = 1, from rest, in rational arithmetic.

    Attributes
    ----------
    clients, curvature, momentum
        |C_p| = N, eta L = a, beta.
    round
        t of the statement.
    """

    def __init__(self, instance: Instance) -> None:
        self.clients = Fraction(instance.get("clients", 1))
        self.curvature, self.momentum = Fraction(instance["curvature"]), Fraction(instance["momentum"])
        self.round = int(instance["round"])
        self._path = exact_path(
            self.curvature, self.momentum, Fraction(instance["start"]), max(1, self.round + 1)
        )

    def error(self, t: int) -> Fraction:
        """Give e_t = chi_p^t - chi*_p, the start for t < 0."""
        return self._path[max(t, 0)]

    def move(self, t: int) -> Fraction:
        """Give chi^t - chi^(t-1)."""
        return self.error(t) - self.error(t - 1)

    @property
    def growth(self) -> Fraction:
        """1 + eta L / |C_p|."""
        return 1 + self.curvature / self.clients

    @property
    def weight(self) -> Fraction:
        """beta (1 + beta)."""
        return self.momentum * (1 + self.momentum)

    @property
    def base(self) -> Fraction:
        """M = max(1 + eta L / |C_p|, beta (1 + beta))."""
        return max(self.growth, self.weight)

    def ratio(self, t: int) -> Fraction:
        """eps_t^2 / eps_(t-1)^2."""
        return self.error(t) ** 2 / self.error(t - 1) ** 2


def defined(evaluate: Evaluate) -> Callable[[Instance], bool]:
    """Make a filter for the instances on which no ratio is 0/0."""

    def admissible(instance: Instance) -> bool:
        try:
            evaluate(instance)
        except ZeroDivisionError:
            return False
        return True

    return admissible


def alike(starts: tuple[Fraction, ...] = (Fraction(1, 2),)) -> Any:
    """All instances: 1 to 4 clients, a in (0, 1], beta up to 9/10, t up to 6."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "clients": st.integers(1, 4),
            "curvature": st.sampled_from([Fraction(k, 10) for k in (10, 5, 4, 2, 1)]),
            "momentum": st.fractions(0, Fraction(9, 10), max_denominator=10),
            "start": st.sampled_from(starts),
            "round": st.integers(0, 6),
        }
    )


def run_alike(instance: Instance, t: int) -> float:
    """Run option II with one local step on the instance, e_t."""
    one = AlikeClients(instance)
    clients = int(one.clients)
    task = QuadraticMixture(
        hessians=np.full((clients, 1, 1), float(one.curvature)),
        centers=np.zeros((clients, 1)),
        labels=np.zeros(clients, dtype=int),
    )
    algorithm = CFLMGD(step_size=1.0, momentum=float(one.momentum), averaging="model")
    models = run(algorithm, task, rounds=max(t, 0), initial=np.array([[float(instance["start"])]])).models
    return float(models[-1, 0, 0])


def confirm_next(instance: Instance, measured: float) -> None:
    """Confirm |e_(t+1)| by a run of option II."""
    t = int(instance["round"])
    confirm_equal(f"|e_{t + 1}|", abs(run_alike(instance, t + 1)), measured)


def spell(claim: str) -> Callable[[Instance, Number, Number], str]:
    """Make the sentence for a broken statement about alike clients."""

    def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
        one = AlikeClients(instance)
        steps = ", ".join(f"e_{k} = {encode(one.error(k))}" for k in range(one.round + 2))
        return (
            f"|C_p| = {encode(one.clients)}, eta L = {encode(one.curvature)}, beta = {encode(one.momentum)}, t = "
            f"{one.round}: {steps}; {claim}: {float(measured):.5g} > {float(allowed):.5g}"
        )

    return sentence

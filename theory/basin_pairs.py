"""Pairs of models in the basin of Gaussian regression, and the exact error of choosing between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from synthetic import RegressionMixture
from theory.claim import Context
from theory.counterexample import Instance, Number, seek
from theory.verdict import Finding

MisclassificationBound = Callable[["Pair"], float]
"""A claimed upper bound on P(loss of the own model >= loss of the other)."""


class Pair:
    """Two models in the plane, one within the basin of each of two optima at distance Delta.

    Attributes
    ----------
    task
        Gaussian regression with Sigma = diag(1, 1 / kappa), or its transpose.
    models
        (2, 2): the own and the other model.
    sigma
        Largest standard deviation of one row's loss at the two models: Assumption 3, read where
        the statement needs it.
    """

    def __init__(self, instance: Instance) -> None:
        kappa = float(instance["condition_number"])
        variances = np.array([1.0, 1 / kappa]) if instance["steep_axis"] == 0 else np.array([1 / kappa, 1.0])
        separation = float(instance["separation"])
        self.task = RegressionMixture(
            optima=np.array([[0.0, 0.0], [separation, 0.0]]),
            covariance=variances,
            noise=float(instance["noise"]),
            labels=np.array([0, 1]),
            samples=int(instance["samples"]),
        )
        radius = self.task.basin_radius
        angles = np.pi * np.array([float(instance["own_angle"]), float(instance["other_angle"])])
        lengths = radius * np.array([float(instance["own_length"]), float(instance["other_length"])])
        offsets = lengths[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        self.models = self.task.optima + offsets
        self.sigma = math.sqrt(max(float(self.task.loss_variance(model, 0)) for model in self.models))

    @property
    def exact(self) -> float:
        """The exact probability of the wrong choice, from the F distribution."""
        return float(self.task.misclassification_probability(self.models, 0)[1])


def evaluator(bound: MisclassificationBound) -> Callable[[Instance], tuple[Number, Number]]:
    """Make the evaluation of an instance: exact probability, and what the bound allows."""

    def evaluate(instance: Instance) -> tuple[Number, Number]:
        pair = Pair(instance)
        return pair.exact, bound(pair) * (1 + 1e-9)

    return evaluate


def pairs() -> Any:
    """All instances: condition number 1 to 20, any noise, 1 to 200 rows, any place in the basin."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "condition_number": st.integers(1, 20),
            "separation": st.sampled_from([1, 2, Fraction(1, 2)]),
            "noise": st.fractions(0, 3, max_denominator=8),
            "samples": st.integers(1, 200),
            "steep_axis": st.sampled_from([0, 1]),
            "own_length": st.fractions(0, 1, max_denominator=4),
            "own_angle": st.fractions(0, 2, max_denominator=8),
            "other_length": st.fractions(0, 1, max_denominator=4),
            "other_angle": st.fractions(0, 2, max_denominator=8),
        }
    )


def check_pairs(bound: MisclassificationBound, context: Context, *, name: str, budget: int = 700) -> Finding:
    """Search the basin for a pair whose exact error exceeds a claimed bound.

    Parameters
    ----------
    bound
        The claimed bound.
    context
        Seed and number of pairs.
    name
        What the bound is called in the reason.
    budget
        Pairs to try by default.
    """
    tries = context.number_of_trials(budget)
    return seek(
        context,
        pairs(),
        evaluator(bound),
        violated=lambda instance, measured, allowed: (
            f"exact misclassification probability {float(measured):.4g} exceeds {name} = {float(allowed):.4g} at "
            + ", ".join(f"{key} {value}" for key, value in instance.items())
        ),
        consistent=f"exact F tail is within {name} at {tries} pairs of models in the basin; slack: smallest ratio",
        budget=budget,
    )

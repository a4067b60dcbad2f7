"""Assumption 5: unbiased gradients, as printed and with a fresh batch."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.claims import (
    Expectation,
    Replicates,
    Sides,
    Stream,
    choice,
    claim,
    equal,
    expectation,
    suppose,
)
from clusterproof.theory.exact.algebra import NotNegative, Number, Positive, Share

Row = Annotated[int, choice(-1, 1)]
"""y of a two-point law."""


@dataclass(frozen=True)
class TwoBatches:
    """A client that chooses on one of three batches, by any rule, and then draws the gradient from another one.

    Attributes
    ----------
    first, second, third
        Weights of the batches, whose shares of the sum are their probabilities.
    chosen_first, chosen_second, chosen_third
        Probability that the client chooses the model on each; a rule that draws nothing has 0 or 1.
    slope_first, slope_second, slope_third
        The gradient at the model on each.
    """

    first: Positive
    second: NotNegative
    third: NotNegative
    chosen_first: Share
    chosen_second: Share
    chosen_third: Share
    slope_first: Number
    slope_second: Number
    slope_third: Number

    def resampled(self) -> Sides:
        """Conclude that the mean gradient over the clients that chose the model equals that over all clients.

        The sum over the nine pairs of batches is written out: that it factorises is what is to be shown.
        """
        weights = (self.first, self.second, self.third)
        choices = (self.chosen_first, self.chosen_second, self.chosen_third)
        gradients = (self.slope_first, self.slope_second, self.slope_third)
        suppose(
            "the model is chosen on some batch", sum(w * c for w, c in zip(weights, choices, strict=True)) > 0
        )
        pairs = [
            (w * u * c, g)
            for w, c in zip(weights, choices, strict=True)
            for u, g in zip(weights, gradients, strict=True)
        ]
        given = sum(weight * gradient for weight, gradient in pairs) / sum(weight for weight, _ in pairs)
        mean = sum(w * g for w, g in zip(weights, gradients, strict=True)) / sum(weights)
        return equal((given, mean))


@claim(
    "cfl-mgd/assumption-5", label="Assumption 5", ill_posed=True, repaired_by="cfl-mgd/assumption-5-resampled"
)
def assumption_5(first: Row, second: Row) -> Sides:
    """E[g_i] equals the estimator that g_i is.

    Hypotheses
        None: it is one.

    Statement
        E[g_i] = (hat grad) phi_i(chi_p): both sides are random.

    Symbols
        g_i the client's gradient, from n' rows.

    Source
        Zhao et al. (2023), Assumption 5. The reading that we check instead, with the resampling of the paper's
        Section 5, is ``cfl-mgd/assumption-5-resampled``.
    """
    values = [Fraction(1, 4) - y for y in (first, second)]
    words = (
        "line 7 defines g_i as the right side, so it says that a random variable is its own mean; with y = +-1 and "
        f"chi = 1/4 the right side takes the values {values[0]} and {values[1]}"
    )
    return equal((values[0], values[1]), words=words)


@claim(
    "cfl-mgd/assumption-5-resampled", label="Assumption 5, fresh batch", judges="reading", replicates=100_000
)
def assumption_5_resampled(
    samples: Annotated[int, choice(4, 1)], stream: Stream, replicates: Replicates
) -> Expectation:
    """With a fresh batch, the gradient of a client that chose model p is unbiased for grad phi_p.

    Hypotheses
        Independent batches for assignment and gradient, as Section 5 of the paper resamples.

    Statement
        E[g_i | i in C_p] = grad phi_p(chi_p).

    Proof
        A batch is a value with a probability: over pairs of independent batches the sum of choice times
        gradient is a product. Each row's gradient has the mean grad phi_p, so that a batch's has.

    Source
        Zhao et al. (2023), Assumption 5 with the resampling of its Section 5. On the batch that chose, the gradient is
        biased: ``cfl-mgd/algorithm-line-7-resampling``.
    """
    task = RegressionMixture(
        optima=np.array([[0.0], [0.5]]),
        covariance=np.ones(1),
        noise=1.0,
        labels=np.array([0, 1]),
        samples=samples,
    )
    models = np.array([[-0.1], [0.4]])
    clients = np.zeros(replicates, dtype=int)
    chosen = np.argmin(task.losses(models, clients, stream), axis=-1) == 0
    suppose("some client chose its own model", chosen.any())
    fresh = task.gradients(np.broadcast_to(models[0], (replicates, 1)), clients, stream)[chosen, 0]
    return expectation(fresh, equal=float(task.expected_gradient(models[0], 0)[0]))


@assumption_5_resampled.proof("algebra")
def assumption_5_resampled_on_symbols(batches: TwoBatches) -> Sides:
    """In each coordinate, summed over the pairs of batches."""
    return batches.resampled()

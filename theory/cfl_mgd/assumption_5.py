"""Assumption 5: unbiased gradients, in the two readings that it can have."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from synthetic import RegressionMixture
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.verdict import Finding, Kind


def selected_gradient(own: Fraction, other: Fraction, samples: int) -> tuple[Fraction, Fraction] | None:
    """Mean gradient given that the own model was chosen, from one batch, by enumeration.

    y is -1 or 1 with probability 1/2 each, f(chi; y) = (chi - y)^2 / 2, so that chi* = 0 and
    grad phi(chi) = chi. None where the own model is never chosen.

    Returns
    -------
    tuple
        The conditional mean, and the probability of the choice.
    """
    total, chosen = Fraction(0), 0
    for batch in itertools.product((-1, 1), repeat=samples):
        mean = Fraction(sum(batch), samples)
        # the loss differs from (chi - mean)^2 / 2 by what both models share
        if (own - mean) ** 2 <= (other - mean) ** 2:
            total += own - mean
            chosen += 1
    return (total / chosen, Fraction(chosen, 2**samples)) if chosen else None


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """Bias of the gradient from the batch that chose the model, and 0."""
    own = Fraction(instance["own"])
    found = selected_gradient(own, Fraction(instance["other"]), int(instance["samples"]))
    return (Fraction(0) if found is None else abs(found[0] - own)), Fraction(0)


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    return (
        f"y = +-1 equally likely, f = (chi - y)^2 / 2, chi* = 0, n' = {int(instance['samples'])}, models "
        f"{encode(instance['own'])} (own) and {encode(instance['other'])}: given that the own one is chosen, the "
        f"gradient of the same batch is off by {float(measured):.4g}"
    )


@register(
    "cfl-mgd/assumption-5",
    label="Assumption 5",
    kind="hypothesis",
    repaired_by="cfl-mgd/assumption-5-resampled",
)
def assumption_5(context: Context) -> Finding:
    """E[g_i] equals the estimator that g_i is.

    Hypotheses
        None: it is one.

    Statement
        E[g_i] = (hat grad) phi_i(chi_p): both sides are random.

    Symbols
        g_i the client's gradient, from n' rows.

    Source
        Zhao et al. (2023), Assumption 5. The readings that we check instead have their own ids:
        ``cfl-mgd/assumption-5-resampled`` and ``cfl-mgd/assumption-5-same-batch``.

    Checked
        Line 7 defines g_i as the right side: the statement says that a random variable equals its
        mean. On the two-point law of ``cfl-mgd/assumption-5-same-batch`` g takes two values.
    """
    values = {float(Fraction(1, 4) - y) for y in (-1, 1)}
    return Finding(
        verdict=Kind.ILL_POSED if len(values) > 1 else Kind.CONSISTENT,
        reason="line 7 defines g_i as the right side, so it says that a random variable is its own mean; "
        f"with y = +-1 and chi = 1/4 the right side takes the values {sorted(values)}",
    )


@register("cfl-mgd/assumption-5-same-batch", label="Assumption 5, one batch", kind="hypothesis",
          replay=replay_with(evaluate), repaired_by="cfl-mgd/assumption-5-resampled")  # fmt: skip
def assumption_5_same_batch(context: Context) -> Finding:
    """Without resampling, the gradient of a client that chose model p is unbiased for grad phi_p.

    Hypotheses
        The same n' rows choose the model and give the gradient, as Algorithm 1 reads.

    Statement
        E[g_i | i in C_p] = grad phi_p(chi_p).

    Symbols
        n' ``samples``.

    Source
        Zhao et al. (2023), Assumption 5 with Algorithm 1. Identity.

    Checked
        Exactly, by enumerating all batches of a two-point law; hypothesis searches for the
        simplest models and n'.
    """
    from hypothesis import strategies as st

    instances = st.fixed_dictionaries(
        {
            "own": st.fractions(Fraction(-1, 2), Fraction(1, 2), max_denominator=4),
            "other": st.fractions(1, 2, max_denominator=4),
            "samples": st.integers(1, 5),
        }
    )
    return seek(context, instances, evaluate, violated=sentence, consistent="no bias found", budget=500)


@register("cfl-mgd/assumption-5-resampled", label="Assumption 5, fresh batch", kind="identity")
def assumption_5_resampled(context: Context) -> Finding:
    """With a fresh batch, the gradient of a client that chose model p is unbiased for grad phi_p.

    Hypotheses
        Independent batches for assignment and gradient, as Section 5 of the paper resamples.

    Statement
        E[g_i | i in C_p] = grad phi_p(chi_p).

    Symbols
        n' ``samples``.

    Source
        Zhao et al. (2023), Assumption 5 with the resampling of its Section 5. Identity.

    Checked
        On a regression with four rows a batch, where one and the same batch has a bias: clients
        draw losses, choose, and those that chose model 0 draw fresh gradients; each coordinate's
        mean lies within 6 standard errors of grad phi.
    """
    task = RegressionMixture(
        optima=np.array([[0.0], [0.5]]), covariance=np.ones(1), noise=1.0, labels=np.array([0, 1]), samples=4
    )
    models = np.array([[-0.1], [0.4]])
    count = max(2000, context.number_of_trials(200_000))
    stream = context.generator("draws")
    clients = np.zeros(count, dtype=int)
    chosen = np.argmin(task.losses(models, clients, stream), axis=-1) == 0
    fresh = task.gradients(np.broadcast_to(models[0], (count, 1)), clients, stream)[chosen, 0]
    truth = float(task.expected_gradient(models[0], 0)[0])
    error = float(fresh.std() / np.sqrt(max(1, chosen.sum())))
    off = abs(float(fresh.mean()) - truth)
    return Finding(
        verdict=Kind.VIOLATED if off > 6 * error else Kind.CONSISTENT,
        reason=f"mean fresh gradient of {int(chosen.sum())} clients that chose their own model is {fresh.mean():.4f} "
        f"+- {error:.4f}, grad phi is {truth:.4f}",
        measured=off,
        bound=6 * error,
        trials=count,
        failures=int(off > 6 * error),
    )

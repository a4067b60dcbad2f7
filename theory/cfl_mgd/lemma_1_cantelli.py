"""Lemma 1 with Cantelli's inequality: same assumptions, half the constant, never above 1."""

from __future__ import annotations

from theory.basin_pairs import Pair, check_pairs, evaluator
from theory.claim import Context, register
from theory.counterexample import replay_with
from theory.verdict import Finding


def cantelli_bound(pair: Pair) -> float:
    """64 sigma^2 / (64 sigma^2 + n' mu^2 Delta^4)."""
    task = pair.task
    variance = 64 * pair.sigma**2
    gap = task.samples * task.strong_convexity**2 * task.separation**4
    return variance / (variance + gap)


@register("cfl-mgd/lemma-1-cantelli", label="Lemma 1 (ours, Cantelli)", kind="upper",
          replay=replay_with(evaluator(cantelli_bound)))  # fmt: skip
def lemma_1_cantelli(context: Context) -> Finding:
    """A client prefers a given wrong model with probability at most 64 s^2 / (64 s^2 + n' mu^2 D^4).

    Hypotheses
        As Lemma 1: models in the paper's basin, sigma^2 (s^2 in the title) bounds the variance of
        one row's loss at the two models, Delta (D in the title) the separation.

    Statement
        P(phi_i(chi_p) >= phi_i(chi_p')) <= 64 sigma^2 / (64 sigma^2 + n' mu^2 Delta^4).

    Proof
        Cantelli's inequality for phi_i(chi_p) - phi_i(chi_p'), whose mean is at most -mu Delta^2 / 4
        by (28) and whose variance is at most 4 sigma^2 / n'.

    Symbols
        Delta ``separation``, n' ``samples``.

    Source
        Ours (audit of CFL-MGD, 2.2). Upper bound.

    Checked
        As Lemma 1.
    """
    return check_pairs(cantelli_bound, context, name="Cantelli's bound")

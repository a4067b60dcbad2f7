"""What Theorem 1, Lemma 2 and Remark 1 of Zhao et al. (2023), as printed, say of a run of CFL-MGD."""

from __future__ import annotations

import math

import numpy as np

from clusterproof.algorithms import Trace
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.bounds.trace_bound import ROUNDING, largest_length
from clusterproof.theory.exact.two_clusters import has_positive_probability
from clusterproof.theory.papers.cfl_mgd.theorem_1 import (
    FloorConstants,
    printed_conclusion,
    printed_floor,
)
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.bounded import (
    FEWEST_RUNS,
)
from clusterproof.theory.runs.page import LABEL, WIDTH, Entry, Outcome, TheoremOnRun, entry, three_digits
from clusterproof.theory.runs.picture import Curve
from clusterproof.theory.runs.slowest_factor import SlowestFactor

LEVEL = 0.01
"""lambda_0 = ... = lambda_4 of the printed theorem."""


def printed_entries(
    task: Mixture, trace: Trace, factor: SlowestFactor | None
) -> tuple[tuple[TheoremOnRun, ...], tuple[Entry, ...], tuple[Curve, ...]]:
    """Return what Theorem 1, Lemma 2 and Remark 1 of Zhao et al. (2023) say of the run, and the curves of Theorem 1."""
    errors = sections.replicated(np.asarray(trace.errors), trace)
    kappa, share, start = task.condition_number, float(task.proportions.min()), float(errors[0].max())
    regression = task if isinstance(task, RegressionMixture) else None
    exact = isinstance(task, QuadraticMixture) or (regression is not None and regression.data == "population")
    # of other tasks v and sigma are not known: without them rho_0 is a lower bound
    known = exact or regression is not None
    equals = "=" if known else ">="
    least = 16 * kappa * FloorConstants().c4
    remark = TheoremOnRun(
        "cfl-mgd/remark-1",
        "broken",
        None,
        None,
        f"false: rho >= 4 L/mu = {least:.3g}, whatever m and n'",
    )
    failing = failing_hypothesis(task, trace, start)
    if failing:
        words = f"does not apply: needs {failing}"
        theorems = tuple(
            TheoremOnRun(f"cfl-mgd/{name}", "does not apply", None, None, words)
            for name in ("theorem-1", "lemma-2")
        )
        entries: tuple[Entry, ...] = (
            entry("Theorem 1", words),
            entry("Lemma 2", "does not apply, as Theorem 1; false elsewhere"),
            entry("Remark 1", remark.words),
        )
        return (*theorems, remark), entries, ()
    loss, gradient = (0.0, 0.0) if exact or regression is None else sections.variances(regression)
    setting = Setting(
        proportions=tuple(task.proportions.tolist()),
        clients=task.clients,
        samples=int(getattr(task, "samples", 1)),
        rounds=trace.rounds,
        smoothness=task.smoothness,
        strong_convexity=task.strong_convexity,
        separation=task.separation,
        diameter=task.diameter,
        noise=0.0,
        trace=0.0,
        step_size=cfl_mgd_of(trace).step_size,
        momentum=cfl_mgd_of(trace).momentum,
        radius=task.basin_radius,
        start=(start,),
        misclassification=0.0,
    )
    floor = printed_floor(
        setting,
        round_number=1,
        gradient_deviation=math.sqrt(gradient),
        loss_deviation=math.sqrt(loss),
        failure=LEVEL,
    )
    rho = printed_conclusion(setting, floor)
    rounds = math.ceil(8 * kappa / share * math.log(task.separation / (2 * rho)))
    allowed = share / 32 * kappa**-1.5 * task.separation
    level = f" (lambda_i = {LEVEL:g})"
    words = f"says nothing: error <= rho {equals} {three_digits(rho)}{level}, the start has {start:.3g}"
    if len(words) > WIDTH - LABEL:
        words = words.replace(level, "")
    rate = 1 - share / (8 * kappa)
    lines = [
        words,
        f"its proof needs rho_0 <= {three_digits(allowed)} (A38); here rho_0 {equals} {three_digits(floor)}, and never "
        f"below l/4 = {share / 4:.3g}, however many samples; its T {'=' if known else '<='} {rounds} rounds",
        f"printed factor 1 - l mu/8L = {rate:.4f}{_rounds_in_one(factor, rate)}",
    ]
    theorem = TheoremOnRun("cfl-mgd/theorem-1", "says nothing", _quantile(errors[-1]), rho, words)
    # of too few clients the printed probability is negative, and no run breaks the lemma
    certain = exact and has_positive_probability(4 * task.clusters, round(share * task.clients))
    lemma = lemma_2_on_run(errors, rate, floor, known, certain, largest_length(trace))
    entries = (
        entry("Theorem 1", *lines),
        entry("Lemma 2", lemma.words),
        entry("Remark 1", remark.words),
    )
    level = "" if known else r"$\rho$, at least "
    curves = (
        Curve(
            "printed",
            rf"Theorem 1 as printed: error $\leq$ {level}{three_digits(rho)}",
            np.full(len(errors), rho),
        ),
        Curve(
            "printed factor", f"its factor alone, {rate:.4f} a round", start * rate ** np.arange(len(errors))
        ),
    )
    return (theorem, lemma, remark), entries, curves


def failing_hypothesis(task: Mixture, trace: Trace, start: float) -> str:
    """Return the first hypothesis of Theorem 1 that the run does not meet, with both values; empty if it meets all."""
    algorithm = cfl_mgd_of(trace)
    norm, scaled = float(np.linalg.norm(task.optima, axis=-1).max()), algorithm.step_size * task.smoothness
    conditions = (
        (task.clusters > 1, "two clusters", "1"),
        (algorithm.averaging == "gradient", "averaged gradients", "averaged models"),
        (algorithm.normalisation == "clients", "gradients divided by m", f"by the {algorithm.normalisation}"),
        (algorithm.participation == 1, "all clients", f"{100 * algorithm.participation:.3g} %"),
        (abs(scaled - 1) <= 1e-9, "eta = 1/L", f"{scaled:.4g}/L"),
        (not isinstance(task, RegressionMixture) or task.data != "fixed", "new samples", "fixed ones"),
        (_share_losses(task), "clients of a cluster that share their expected loss", "different ones"),
        (norm <= 1 + 1e-9, "norms of the optima <= 1", f"{norm:.3g}"),
        (start <= task.basin_radius * (1 + 1e-9), f"a start within {task.basin_radius:.3g}", f"{start:.3g}"),
    )
    return next((f"{words}, here {here}" for met, words, here in conditions if not met), "")


def _share_losses(task: Mixture) -> bool:
    """Whether the clients of a cluster of quadratics have the same Hessian and the same centre."""
    if not isinstance(task, QuadraticMixture):
        return True
    _, first = np.unique(task.labels, return_index=True)
    return all(np.array_equal(given, given[first[task.labels]]) for given in (task.hessians, task.centers))


def _rounds_in_one(factor: SlowestFactor | None, rate: float) -> str:
    """Compare the measured factor with the printed one, in rounds."""
    value = None if factor is None else factor.measured.value
    if value is None or not 0 < value < 1:
        return ""
    count = math.log(value) / math.log(rate)
    shown = f"{count:.0f}" if count >= 10 else f"{count:.2g}"
    return f"; a round here does {shown} of them" if count > 1 else f"; the run's is {value:.4f}"


def lemma_2_on_run(
    errors: np.ndarray, rate: float, floor: float, known: bool, deterministic: bool, unit: float
) -> TheoremOnRun:
    """Compare every round with the printed Lemma 2, error <= rate * error before + rho_0.

    Parameters
    ----------
    errors
        (rounds + 1, R, P).
    rate, floor
        1 - l mu / 8L and rho_0.
    known
        Whether ``floor`` is rho_0, and not below it.
    deterministic
        Whether nothing is random and the printed probability is positive, so that a run can break the lemma.
    unit
        What rounding is relative to.
    """
    claim, start = "cfl-mgd/lemma-2", float(errors[0].max())
    end, last = _quantile(errors[-1]), rate * float(errors[-2].max()) + floor if len(errors) > 1 else floor
    outcome: Outcome = "says nothing"
    words = f"says nothing here: it allows + {floor:.2g} in every round; false elsewhere"
    if floor < start:
        excess = errors[1:] - rate * errors[:-1] - floor
        if not known:
            outcome, words = (
                "inconclusive",
                f"inconclusive: rho_0 is at least {floor:.2g}, and not known; false elsewhere",
            )
        elif not (excess > ROUNDING * unit).any():
            outcome, words = "holds", f"holds here: it allows + {floor:.2g} in every round; false elsewhere"
        else:
            at, run, cluster = np.unravel_index(int(np.argmax(excess)), excess.shape)
            seen, bound = errors[at + 1, run, cluster], rate * errors[at, run, cluster] + floor
            outcome = "broken" if deterministic else "inconclusive"
            words = f"{outcome}: {seen:.3g} > {three_digits(bound)}, cluster {cluster + 1}, round {at + 1}"
    return TheoremOnRun(claim, outcome, end, last, words)


def _quantile(last: np.ndarray) -> float:
    """Return the 95 % quantile over runs of the largest error, or the largest of few runs."""
    largest = last.max(axis=-1)
    return float(np.quantile(largest, 0.95) if len(largest) >= FEWEST_RUNS else largest.max())

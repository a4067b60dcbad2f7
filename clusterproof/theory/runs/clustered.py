"""The page of CFL-MGD and of IFCA on tasks whose optima are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.gaussian import SHARES
from clusterproof.theory.bounds.setting import Setting, largest_radius
from clusterproof.theory.checker.claim import REGISTRY
from clusterproof.theory.checker.trace_bound import ROUNDING, TraceBound, largest_length
from clusterproof.theory.exact.exact_moments import error_moments
from clusterproof.theory.papers.cfl_mgd.theorem_1.printed_floor import (
    FloorConstants,
    printed_conclusion,
    printed_floor,
)
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.bounded import (
    FAILURE,
    FEWEST_RUNS,
    counted,
    needs,
    outcome_of,
    place,
    says_nothing,
    sentence,
    theorem_on_run,
)
from clusterproof.theory.runs.factor import (
    MeasuredFactor,
    last_rounds,
    measured_factor,
)
from clusterproof.theory.runs.law import Law, Recursion, compare_law, recursion_of
from clusterproof.theory.runs.page import Entry, Outcome, Page, TheoremOnRun, entry, three_digits

LEVEL = 0.01
"""lambda_0 = ... = lambda_4 of the printed theorem."""

BESIDE = ("cfl-mgd/theorem-a", "cfl-mgd/theorem-a-prime")
"""Theorems that are in the table of the page only."""


@dataclass(frozen=True)
class SlowestFactor:
    """The factor of the slowest cluster, and what is computed for the same rounds.

    Attributes
    ----------
    cluster
        Its number, from 0.
    measured
        Its factor.
    exact
        That of the same rounds without noise; None where it is not known.
    floor
        The noise floor as computed; None where it is not known, or the error is not known to rest there.
    of_all
        Whether every cluster has a factor.
    """

    cluster: int
    measured: MeasuredFactor
    exact: float | None
    floor: float | None
    of_all: bool


def clustered_page(task: Mixture, trace: Trace) -> Page:
    """Return the page of a run of CFL-MGD or IFCA with a model for each cluster, and known optima."""
    law, why = _law(task, trace)
    factor = slowest_factor(task, trace)
    run = entry("Run", sections.settings_line(task, trace), *sections.choices_lines(task, trace))
    head = (sections.task_entry(task), run, sections.error_entry(trace), factor_entry(trace, factor))
    differs = law is not None and (law.path_differs or law.noise_differs)
    theorem_d, shown_d = theorem_d_entry(task, trace, differs)
    name = str(trace.settings["algorithm"]["algorithm"])
    end = (law_entry(law, why, name if name == "ifca" else "cfl-mgd"), next_entry(name, task))

    def beside() -> tuple[TheoremOnRun, ...]:
        known = (claim_id for claim_id in BESIDE if claim_id in REGISTRY)
        return tuple(theorem_on_run(one, task, trace, law_differs=differs)[0] for one in known)

    if name == "ifca":
        basin = basin_on_run(task, trace)
        shown = (entry("Basin", basin.words), shown_d, *end)
        return Page(sections.title(trace), (("", head), ("Theorems", shown)), (basin, theorem_d), beside)
    printed, entries = printed_entries(task, trace, factor)
    blocks = (("", head), ("As printed (Zhao et al. 2023)", entries), ("Repaired", (shown_d, *end)))
    return Page(sections.title(trace), blocks, (*printed, theorem_d), beside)


def slowest_factor(task: Mixture, trace: Trace) -> SlowestFactor | None:
    """Measure the factor of every cluster, and return the largest; None if the replicates start apart.

    A cluster whose error does not fall comes first, then one without a linear phase; one that noise covers comes last.
    """
    starts = trace.models[0].reshape(-1, *trace.models.shape[-2:])
    if (starts != starts[0]).any():
        return None
    errors = sections.replicated(np.asarray(trace.errors), trace)
    factors = [measured_factor(errors[:, :, cluster]) for cluster in range(task.clusters)]
    recursion = _followed(task, trace)
    rests = [False] * task.clusters
    if recursion is not None and isinstance(task, RegressionMixture) and task.data == "fresh":
        left = np.linalg.norm(recursion.path(trace.rounds)[-1], axis=-1)
        rests = [bool(part <= one.floor / 2) for part, one in zip(left, factors, strict=True)]

    def speed(cluster: int) -> tuple[bool, bool, float]:
        one = factors[cluster]
        value = -1.0 if one.value is None else one.value
        return not one.falls, one.value is None and not rests[cluster], value

    slowest = max(range(task.clusters), key=speed)
    measured, exact, floor = factors[slowest], None, None
    if recursion is not None and measured.value is not None:
        lengths = np.linalg.norm(recursion.path(measured.rounds)[[0, -1], slowest], axis=-1)
        exact = float((lengths[1] / lengths[0]) ** (1 / measured.rounds))
    if recursion is not None and rests[slowest] and measured.falls and measured.floor_reached:
        floor = _computed_floor(recursion, slowest, trace.rounds)
    of_all = all(one.value is not None for one in factors)
    return SlowestFactor(slowest, measured, exact, floor, of_all)


def _followed(task: Mixture, trace: Trace) -> Recursion | None:
    """Return the recursion that the errors followed; None where it is not known, or a client was misassigned."""
    try:
        recursion = recursion_of(task, trace)
    except InvalidArgument:
        return None
    return recursion if (trace.assignments == trace.labels).all() else None


def _computed_floor(recursion: Recursion, cluster: int, rounds: int) -> float:
    """Return the exact root mean square error of the last rounds."""
    path, variance = error_moments(
        recursion.spectra[cluster],
        recursion.start[cluster],
        step=float(recursion.steps[cluster]),
        momentum=recursion.momentum,
        noise=recursion.noise,
        rows=float(recursion.rows[cluster]),
        rounds=rounds,
    )
    return float(np.sqrt((path + variance)[-last_rounds(rounds) :].mean()))


def factor_entry(trace: Trace, factor: SlowestFactor | None) -> Entry:
    """Return the entry Factor."""
    if factor is None:
        return entry("Factor", "none: the runs start from different models")
    one, rounds = factor.measured, trace.rounds
    if not one.falls and rounds:
        return entry("Factor", f"none: the error of cluster {factor.cluster + 1} does not fall")
    if one.value is None:
        if factor.floor is not None:
            return entry("Factor", f"none: noise from round {one.rounds + 1} on; more --samples")
        remedy = "" if one.floor_reached else "; more --rounds"
        return entry("Factor", f"none: less than 5 rounds above 4 x the last errors{remedy}")
    interval = (
        "no interval: one run"
        if one.interval is None
        else f"95 % interval {one.interval[0]:.4f} to {one.interval[1]:.4f}"
    )
    which = "slowest cluster" if factor.of_all else "slowest measured"
    lines = [f"{one.value:.4f} a round ({interval}), {which},"]
    exact = "" if factor.exact is None else f"; the same rounds without noise: {factor.exact:.4f}, exactly"
    lines.append(f"rounds 0 to {one.rounds}{exact}")
    if factor.floor is not None:
        lines.append(
            f"later its error stays at {one.floor:.2g}, the noise floor (computed: {factor.floor:.2g})"
        )
    elif not one.floor_reached or factor.exact is not None:
        lines.append(f"floor not reached in {sections.rounds_words(trace)}")
    else:
        lines.append(f"over the last {last_rounds(rounds)} rounds its error is {one.floor:.2g}")
    return entry("Factor", *lines)


def printed_entries(
    task: Mixture, trace: Trace, factor: SlowestFactor | None
) -> tuple[tuple[TheoremOnRun, ...], tuple[Entry, ...]]:
    """Return what Theorem 1, Lemma 2 and Remark 1 of Zhao et al. (2023) say of the run."""
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
        return (*theorems, remark), (
            entry("Theorem 1", words),
            entry("Lemma 2", "does not apply, as Theorem 1; false elsewhere"),
            entry("Remark 1", remark.words),
        )
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
    words = f"says nothing: error <= rho {equals} {three_digits(rho)} (lambda_i = {LEVEL:g}), the start has {start:.3g}"
    rate = 1 - share / (8 * kappa)
    lines = [
        words,
        f"its proof needs rho_0 <= {three_digits(allowed)} (A38); here rho_0 {equals} {three_digits(floor)}, and never "
        f"below l/4 = {share / 4:.3g}, however many samples; its T {'=' if known else '<='} {rounds} rounds",
        f"printed factor 1 - l mu/8L = {rate:.4f}{_rounds_in_one(factor, rate)}",
    ]
    theorem = TheoremOnRun("cfl-mgd/theorem-1", "says nothing", _quantile(errors[-1]), rho, words)
    lemma = lemma_2_on_run(errors, rate, floor, known, exact, largest_length(trace))
    entries = (
        entry("Theorem 1", *lines),
        entry("Lemma 2", lemma.words),
        entry("Remark 1", remark.words),
    )
    return (theorem, lemma, remark), entries


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
    return f"; one round of the run does {shown}" if count > 1 else f"; the run's is {value:.4f}"


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
        Whether nothing is random, so that the lemma's probability is 1.
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


def basin_on_run(task: Mixture, trace: Trace) -> TheoremOnRun:
    """Compare a run of IFCA with ``ifca/basin``: from within Delta/(1 + sqrt(L/mu)), exact losses find all clusters."""
    errors = sections.replicated(np.asarray(trace.errors), trace)
    claim, start, radius = "ifca/basin", float(errors[0].max()), largest_radius(task)
    algorithm = cfl_mgd_of(trace)
    if not isinstance(task, RegressionMixture):
        words = "does not apply: needs linear regression with exact losses"
        return TheoremOnRun(claim, "does not apply", None, None, words)
    if task.data != "population" and task.clusters > 1:
        words = (
            f"does not apply: needs exact losses (--data population); with them every start within "
            f"Delta/(1 + sqrt(L/mu)) = {radius:.3f} of the optima finds all clusters (this start: {start:.3g}; "
            f"the paper asks for {task.basin_radius:.3g})"
        )
        return TheoremOnRun(claim, "does not apply", None, None, words)
    scaled = algorithm.step_size * task.smoothness
    for met, needed, here in (
        (task.clusters > 1, "two clusters", "1"),
        (algorithm.averaging == "gradient", "averaged gradients", "averaged models"),
        (algorithm.participation == 1, "all clients", f"{100 * algorithm.participation:.3g} %"),
        (scaled <= 1 + 1e-12, "eta <= 1/L", f"{scaled:.4g}/L"),
        (start < radius, f"a start within Delta/(1 + sqrt(L/mu)) = {radius:.3f}", f"{start:.3g}"),
    ):
        if not met:
            words = f"does not apply: needs {needed}, here {here}"
            return TheoremOnRun(claim, "does not apply", None, None, words)
    contraction = 1 - algorithm.step_size * task.proportions * task.strong_convexity
    allowed = contraction ** np.arange(len(errors))[:, None, None] * errors[0]
    wrong, tolerance = int((trace.assignments != trace.labels).sum()), ROUNDING * largest_length(trace)
    limit, size, rounds = float(allowed[-1].max()), float(errors[-1].max()), trace.rounds
    if wrong or (errors > allowed * (1 + ROUNDING) + tolerance).any():
        words = f"broken: {wrong} choices of a cluster wrong, {_largest_excess(errors, allowed)}"
        return TheoremOnRun(claim, "broken", size, limit, words)
    ratio = f", {limit / size:.2g} x the error" if size > tolerance else ""
    words = (
        f"holds: every start within Delta/(1 + sqrt(L/mu)) = {radius:.3f} finds all clusters; no choice was wrong; "
        f"error <= {three_digits(limit)} after round {rounds}{ratio}"
    )
    return TheoremOnRun(claim, "holds", size, limit, words)


def _largest_excess(errors: np.ndarray, allowed: np.ndarray) -> str:
    at = np.unravel_index(int(np.argmax(errors - allowed)), errors.shape)
    return f"error {errors[at]:.3g} where {allowed[at]:.3g} is allowed, cluster {at[2] + 1}, round {at[0]}"


def theorem_d_entry(task: Mixture, trace: Trace, law_differs: bool) -> tuple[TheoremOnRun, Entry]:
    """Return what Theorem D says of the run: both its bound on the error and that on the deviation."""
    found, allowed = theorem_on_run("cfl-mgd/theorem-d", task, trace, law_differs=law_differs)
    if allowed is None:
        return found, entry("Theorem D", found.words)
    counts, compared = _counts_outside(trace, allowed)
    (before, early), (end, late) = counts
    runs = compared[0].measured.shape[1]
    outcome = outcome_of(counts, runs)
    if outcome == "holds" and says_nothing(compared[0]):
        outcome = "says nothing"
    tally = (
        f"runs outside: {before} of {runs} in some round (allowed {early * runs:.3g}), "
        f"{end} at the end ({late * runs:.3g})"
    )
    if outcome == "broken":
        worse = counts[0] if before * late >= end * early else counts[1]
        words = f"broken: {place(compared)}; {counted(worse[0], runs, worse[1])}"
        lines: Sequence[str] = (words,)
    elif outcome == "inconclusive":
        worse = counts[0] if before > early * runs else counts[1]
        words = f"inconclusive: {counted(worse[0], runs, worse[1])} outside; --replicates {10 * runs}"
        lines = (words,)
    else:
        words = sentence(outcome, compared[0], law_differs)
        lines = (words, tally)
    theorem = TheoremOnRun(found.claim, outcome, found.measured, found.bound, words)
    first, *rest = lines
    return theorem, entry("Theorem D", first, *rest)


def _counts_outside(
    trace: Trace, allowed: TraceBound
) -> tuple[tuple[tuple[int, float], tuple[int, float]], Any]:
    """Return the runs outside before the last round, and after it, each with its probability; and what is compared."""
    compared = allowed.compared(trace)
    outside = np.concatenate([one.above for one in compared], axis=-1).max(axis=-1) > 0  # (rounds + 1, R)
    probability = float(allowed.failure_probability)
    early = max(probability - SHARES[2] * FAILURE, 0.0)
    return ((int(outside[:-1].any(axis=0).sum()), early), (int(outside[-1].sum()), probability)), compared


def _law(task: Mixture, trace: Trace) -> tuple[Law | None, str]:
    """Compare the run with its exact law; without one, say why."""
    try:
        with np.errstate(all="ignore"):
            return compare_law(task, trace), ""
    except InvalidArgument as error:
        return None, needs(error).replace("does not apply", "not compared")


def law_entry(law: Law | None, why: str, name: str) -> Entry:
    """Return the entry Law."""
    if law is None:
        return entry("Law", why)
    parts = ["mean path (step, momentum, weights)"] if law.path_differs else []
    parts += [f"noise {law.noise:.3f} x"] if law.noise_differs else []
    if parts:
        return entry("Law", f"differs: {', '.join(parts)}")
    return entry("Law", f"the runs follow {name}'s exact law: noise {law.noise:.3f} x, mean path equal")


def next_entry(name: str, task: Mixture) -> Entry:
    """Return the entry Next: a command that goes on from here."""
    if name == "ifca" and isinstance(task, RegressionMixture) and task.data == "population":
        return entry("Next", "clusterproof run ifca                     new samples: a noise floor")
    if name == "ifca":
        return entry("Next", "clusterproof run ifca --data population   the basin with exact losses")
    return entry("Next", "clusterproof check cfl-mgd/lemma-2        where Lemma 2 is false")


def _quantile(last: np.ndarray) -> float:
    """Return the 95 % quantile over runs of the largest error, or the largest of few runs."""
    largest = last.max(axis=-1)
    return float(np.quantile(largest, 0.95) if len(largest) >= FEWEST_RUNS else largest.max())

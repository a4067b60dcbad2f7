"""GL-CFL and IFCA on the same data from the same models: which has purity 0.9 first, and by how many rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clusterproof.algorithms import GradientLoss, Trace, purity, run
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.bounds.numbers import short
from clusterproof.theory.claims.statistics import binomial_tail
from clusterproof.theory.papers.gradient_loss.race import APART, FEW, LIMIT, ONE_POINT, Setting
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.bounded import FEWEST_RUNS, SIGNIFICANCE, counted
from clusterproof.theory.runs.hypotheses import Need
from clusterproof.theory.runs.page import Outcome, TheoremOnRun

LEVEL = 0.9
"""Purity that ends a race."""

SHARE = 0.5
"""Largest probability of what the claims say to be the exception."""

Row = tuple[str, TheoremOnRun]

Counts = tuple[int, int]
"""Runs in which an event surely happened, and in which it may have."""


def lead_entries(algorithm: GradientLoss, task: Mixture, trace: Trace) -> list[Row]:
    """Return the claims on the rounds that the similarity saves, with their labels; printed ones first."""
    needs = _needs(algorithm, task, trace)
    unmet = next(((needed, here) for met, needed, here in needs if not met), None)
    labels = {
        "Sooner": "gradient-loss/sooner",
        "Passes": "gradient-loss/fewer-passes",
        "By": "gradient-loss/sooner#by a quarter",
        "One point": "gradient-loss/same-start",
    }
    if unmet is not None:
        words = f"does not apply: needs {unmet[0]}, here {unmet[1]}"
        return [("Sooner", TheoremOnRun(labels["Sooner"], "does not apply", None, None, words))]
    rounds = Race(arrivals(trace), arrivals(_baseline(algorithm, task, trace)), trace.rounds)
    if _distances(task, trace).max() <= 2 * ONE_POINT:
        happened = rounds.happens(lambda t, t_ifca: t_ifca - t > FEW, later=False)
        return [_judged("One point", labels["One point"], "T_IFCA - T > 2", happened, rounds)]
    later = rounds.happens(lambda t, t_ifca: t > t_ifca, later=True)
    passes = rounds.happens(lambda t, t_ifca: 12 * t > 6 * t_ifca, later=True)
    above = rounds.happens(lambda t, t_ifca: 4 * t > 3 * t_ifca, later=True)
    below = rounds.happens(lambda t, t_ifca: 20 * t < 11 * t_ifca, later=False)
    return [
        _judged("Sooner", labels["Sooner"], "T > T_IFCA", later, rounds),
        _judged("Passes", labels["Passes"], "12 T > 6 T_IFCA", passes, rounds),
        _interval(labels["By"], (above, below), rounds),
    ]


@dataclass(frozen=True, eq=False)
class Race:
    """First rounds with purity 0.9 of GL-CFL and of IFCA, (R,); ``last`` + 1 where the run ended before."""

    proposed: np.ndarray
    baseline: np.ndarray
    last: int

    def happens(self, event: Callable[[np.ndarray, np.ndarray], np.ndarray], *, later: bool) -> Counts:
        """Count the runs in which an event of (T, T_IFCA) surely happens, and in which it may.

        ``later`` says that it happens sooner with a larger T and a smaller T_IFCA, else the other way round.
        """
        low = [np.asarray(rounds, dtype=float) for rounds in (self.proposed, self.baseline)]
        high = [np.where(rounds > self.last, np.inf, rounds) for rounds in low]
        least, most = (low[0], high[1]), (high[0], low[1])
        if not later:
            least, most = most, least
        with np.errstate(invalid="ignore"):
            return int(event(*least).sum()), int(event(*most).sum())


def arrivals(trace: Trace) -> np.ndarray:
    """Return the first round of each run whose purity is at least 0.9, counted from 1; rounds + 1 without one, (R,)."""
    votes = sections.replicated(trace.assignments, trace)
    found = np.full(votes.shape[1], len(votes) + 1)
    for one in range(votes.shape[1]):
        for number in range(len(votes)):
            if purity(votes[number, one], trace.labels) >= LEVEL:
                found[one] = number + 1
                break
    return found


def _baseline(algorithm: GradientLoss, task: Mixture, trace: Trace) -> Trace:
    """Run IFCA, which is GL-CFL with weight 0, on the same batches from the same models."""
    settings = trace.settings
    return run(
        replace(algorithm, weight=0.0),
        task,
        rounds=trace.rounds,
        seed=settings["seed"],
        replicates=settings["replicates"],
        initial=trace.models[0],
    )


def _distances(task: Mixture, trace: Trace) -> np.ndarray:
    """Return the models' first distances from the pooled optimum, in units of the separation, (R, K)."""
    start = sections.replicated(trace.models, trace)[0]
    return np.asarray(np.linalg.norm(start - task.pooled_optimum, axis=-1) / task.separation)


def _needs(algorithm: GradientLoss, task: Mixture, trace: Trace) -> list[Need]:
    """Return the hypotheses of ``gradient-loss/sooner``, and what its checks have beyond them."""
    setting = Setting(distance=APART)
    if not isinstance(task, RegressionMixture):
        return [(False, "linear regression with new samples", sections.kind(trace))]
    sizes = np.bincount(task.labels)
    scaled, noise = algorithm.step_size * task.smoothness, task.noise / task.separation
    start = sections.replicated(trace.models, trace)[0]
    gaps = [np.linalg.norm(each[:, None] - each, axis=-1)[np.triu_indices(len(each), 1)] for each in start]
    apart = float(min(gap.min(initial=np.inf) for gap in gaps) / task.separation)
    distance = _distances(task, trace)
    shown = f"{short(float(distance.min()))} to {short(float(distance.max()))} of it"
    own = float(np.linalg.norm(start[..., None, :] - task.optima, axis=-1).min() / task.separation)
    from_one = distance.max() <= 2 * ONE_POINT
    near = (
        distance.min() >= APART / 2 and distance.max() <= 2 * APART and min(apart, own) >= APART / 2
    ) or from_one
    return [
        (task.data == "fresh", "new samples (--data fresh)", task.data),
        (task.clusters == 4 and task.clients == 40 and np.ptp(sizes) == 0, "40 clients in 4 clusters of 10",
         f"{task.clients} in {task.clusters}"),
        (task.samples == setting.rows, f"n' = {setting.rows}", str(task.samples)),
        (task.dimension == 20 and task.condition_number <= 1 + 1e-9, "d = 20 and L = mu",
         f"d = {task.dimension}, L/mu = {task.condition_number:.3g}"),
        (abs(noise - setting.noise) <= 1e-9, f"noise {setting.noise} Delta", f"{noise:.3g} Delta"),
        (abs(scaled - setting.step_size) <= 1e-9, f"eta = {setting.step_size}/L", f"{scaled:.4g}/L"),
        (algorithm.weight == 0.2, "lambda = 0.2", short(algorithm.weight)),
        (algorithm.similarity == "cosine" and algorithm.sign == "descent", "the cosine with the descent",
         f"{algorithm.similarity}, {algorithm.sign}"),
        (algorithm.loss_reduction == "mean", "the mean loss", "its sum"),
        (algorithm.empty_cluster == "when-empty", "--empty-cluster when-empty", algorithm.empty_cluster),
        (algorithm.participation == 1, "all clients", f"{100 * algorithm.participation:.3g} %"),
        (trace.models.shape[-2] == 4, "4 models", str(trace.models.shape[-2])),
        (bool(near), "models that start about Delta from the pooled optimum and apart", shown),
        (trace.rounds <= LIMIT, f"at most {LIMIT} rounds", str(trace.rounds)),
    ]  # fmt: skip


def _judged(label: str, claim: str, event: str, happened: Counts, race: Race) -> Row:
    """Compare how often an event happened with at most half of the runs."""
    runs = len(race.proposed)
    outcome = _outcome([happened], runs)
    words = f"{outcome}: {event} in {_counted(happened, runs)}"
    if label == "Sooner":
        words += f"; T = {_median(race.proposed)}, T_IFCA = {_median(race.baseline)} in the median"
    if outcome == "inconclusive":
        words += f"; --replicates {10 * runs}"
    return label, TheoremOnRun(claim, outcome, happened[0] / runs, SHARE, words)


def _interval(claim: str, ends: tuple[Counts, Counts], race: Race) -> Row:
    """Compare the median of T / T_IFCA with the interval that is stated."""
    runs, (above, below) = len(race.proposed), ends
    outcome = _outcome(ends, runs)
    words = f"{outcome}: T/T_IFCA > 0.75 in {above[0]}, < 0.55 in {_counted(below, runs)}"
    if outcome == "inconclusive":
        words += f"; --replicates {10 * runs}"
    return "By", TheoremOnRun(claim, outcome, max(above[0], below[0]) / runs, SHARE, words)


def _counted(happened: Counts, runs: int) -> str:
    unknown = happened[1] - happened[0]
    known = counted(happened[0], runs, SHARE)
    return f"{known}, {unknown} inconclusive" if unknown else known


def _outcome(counts: Sequence[Counts], runs: int) -> Outcome:
    """Return the outcome; a few runs say nothing for a probability of one half."""
    if any(binomial_tail(sure, runs, SHARE) <= SIGNIFICANCE for sure, _ in counts if sure):
        return "broken"
    usual = runs >= FEWEST_RUNS and all(possible <= SHARE * runs for _, possible in counts)
    return "holds" if usual else "inconclusive"


def _median(values: np.ndarray) -> str:
    return f"{float(np.median(values)):g}"

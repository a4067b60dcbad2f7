"""The page of GL-CFL: its groups, its rounds, and its lead over IFCA on the same data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from clusterproof.algorithms import purity, run
from clusterproof.algorithms.metrics import contingency
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.hypotheses import Need
from clusterproof.theory.bounds.numbers import many, short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.claims.statistics import binomial_tail
from clusterproof.theory.papers.gradient_loss.race import APART, FEW, LIMIT, ONE_POINT, Setting
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.grouped import IN_GROUPS, NO_ROUND, GroupRun, rest_entries, usual_needs
from clusterproof.theory.runs.judged import SIGNIFICANCE, counted
from clusterproof.theory.runs.page import Entry, Outcome, Page, Row, Said, entry, page_of, says
from clusterproof.theory.runs.run import FEWEST_RUNS, Run

LEVEL = 0.9
"""Purity that ends a race."""

SHARE = 0.5
"""Largest probability of what the claims say to be the exception."""

Counts = tuple[int, int]
"""Runs in which an event surely happened, and in which it may have."""


@dataclass(frozen=True, eq=False)
class Race:
    """First rounds with purity 0.9 of GL-CFL and of IFCA, (R,); ``last`` + 1 where the run ended before."""

    proposed: np.ndarray
    baseline: np.ndarray
    last: int

    def happens(self, event: Callable[[Any, Any], Any], *, later: bool) -> Counts:
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

    def judged(self, event: str, *happened: Counts, shown: str = "") -> Said:
        """Compare how often events happened with at most half of the runs; a few runs say nothing for that."""
        runs, sure = len(self.proposed), max(count for count, _ in happened)
        outcome: Outcome = "inconclusive"
        if any(binomial_tail(count, runs, SHARE) <= SIGNIFICANCE for count, _ in happened if count):
            outcome = "broken"
        elif runs >= FEWEST_RUNS and all(possible <= SHARE * runs for _, possible in happened):
            outcome = "holds"
        unknown = happened[-1][1] - happened[-1][0]
        words = f"{event} in {counted(happened[-1][0], runs, SHARE)}"
        words += f", {unknown} inconclusive" * bool(unknown) + shown
        words += f"; --replicates {10 * runs}" * (outcome == "inconclusive")
        return says(outcome, words, sure / runs, SHARE)


def lead_rows(of: Run) -> Sequence[Row]:
    """Return the claims on the rounds that the similarity saves; printed ones first."""
    if not all(need.met for need in _needs(of)):
        return (Row("Sooner", "gradient-loss/sooner", Said("inconclusive", ""), _needs),)
    algorithm, trace = of.algorithm, of.trace
    given = {name: trace.settings[name] for name in ("seed", "replicates")}
    # GL-CFL with weight 0 is IFCA; on the same batches from the same models
    ifca = run(replace(algorithm, weight=0.0), of.task, rounds=of.rounds, initial=trace.models[0], **given)
    race = Race(arrivals(of), arrivals(Run(of.task, ifca)), of.rounds)
    if _distances(of).max() <= 2 * ONE_POINT:
        few = race.happens(lambda t, t_ifca: t_ifca - t > FEW, later=False)
        return (Row("One point", "gradient-loss/same-start", race.judged("T_IFCA - T > 2", few)),)
    later = race.happens(lambda t, t_ifca: t > t_ifca, later=True)
    passes = race.happens(lambda t, t_ifca: 12 * t > 6 * t_ifca, later=True)
    above = race.happens(lambda t, t_ifca: 4 * t > 3 * t_ifca, later=True)
    below = race.happens(lambda t, t_ifca: 20 * t < 11 * t_ifca, later=False)
    medians = "; T = {:g}, T_IFCA = {:g} in the median".format(
        *(float(np.median(rounds)) for rounds in (race.proposed, race.baseline))
    )
    ends = f"T/T_IFCA > 0.75 in {above[0]}, < 0.55"
    return (
        Row("Sooner", "gradient-loss/sooner", race.judged("T > T_IFCA", later, shown=medians)),
        Row("Passes", "gradient-loss/fewer-passes", race.judged("12 T > 6 T_IFCA", passes)),
        Row("By", "gradient-loss/sooner#by a quarter", race.judged(ends, above, below)),
    )


def arrivals(of: Run) -> np.ndarray:
    """Return the first round of each run whose purity is at least 0.9, counted from 1; rounds + 1 without one, (R,)."""
    arrived = np.array([[purity(vote, of.trace.labels) >= LEVEL for vote in votes] for votes in of.votes])
    last = np.ones((1, of.runs), dtype=bool)
    return np.asarray(np.concatenate([arrived.reshape(-1, of.runs), last]).argmax(axis=0) + 1)


def _distances(of: Run) -> np.ndarray:
    """Return the models' first distances from the pooled optimum, in units of the separation, (R, K)."""
    away = np.linalg.norm(of.models[0] - of.task.pooled_optimum, axis=-1)
    return np.asarray(away / of.task.separation)


def _needs(of: Run) -> Iterator[Need]:
    """Yield the hypotheses of ``gradient-loss/sooner``, and what its checks have beyond them."""
    setting, task, algorithm = Setting(distance=APART), of.task, of.algorithm
    if not isinstance(task, RegressionMixture):
        yield Need(False, "linear regression with new samples", of.kind)
        return
    yield Need(task.data == "fresh", "new samples (--data fresh)", task.data)
    sizes = np.bincount(task.labels)
    tens = task.clusters == 4 and task.clients == 40 and np.ptp(sizes) == 0
    yield Need(bool(tens), "40 clients in 4 clusters of 10", f"{task.clients} in {task.clusters}")
    yield Need(task.samples == setting.rows, f"n' = {setting.rows}", str(task.samples))
    kappa, dimension = task.condition_number, task.dimension
    flat = dimension == 20 and kappa <= 1 + 1e-9
    yield Need(flat, "d = 20 and L = mu", f"d = {dimension}, L/mu = {kappa:.3g}")
    scaled, noise = algorithm.step_size * task.smoothness, float(task.noise / task.separation)
    near = abs(noise - setting.noise) <= 1e-9
    yield Need(near, f"noise {setting.noise} Delta", f"{noise:.3g} Delta")
    near = abs(scaled - setting.step_size) <= 1e-9
    yield Need(near, f"eta = {setting.step_size}/L", f"{scaled:.4g}/L")
    yield Need(algorithm.weight == 0.2, "lambda = 0.2", short(algorithm.weight))
    kinds = algorithm.similarity, algorithm.sign
    yield Need(kinds == ("cosine", "descent"), "the cosine with the descent", ", ".join(kinds))
    yield Need(algorithm.loss_reduction == "mean", "the mean loss", "its sum")
    empty = algorithm.empty_cluster
    yield Need(empty == "when-empty", "--empty-cluster when-empty", empty)
    share = algorithm.participation
    yield Need(share == 1, "all clients", f"{100 * share:.3g} %")
    count = of.models.shape[2]
    yield Need(count == 4, "4 models", str(count))
    distance, start = _distances(of), of.models[0]
    gaps = np.linalg.norm(start[:, :, None] - start[:, None], axis=-1)[:, *np.triu_indices(count, 1)]
    own = np.linalg.norm(start[..., None, :] - task.optima, axis=-1)
    apart = min(float(gaps.min(initial=np.inf)), float(own.min())) / task.separation
    near = distance.min() >= APART / 2 and distance.max() <= 2 * APART and apart >= APART / 2
    near = bool(near or distance.max() <= 2 * ONE_POINT)
    shown = f"{short(float(distance.min()))} to {short(float(distance.max()))} of it"
    yield Need(near, "models that start about Delta from the pooled optimum and apart", shown)
    yield Need(of.rounds <= LIMIT, f"at most {LIMIT} rounds", str(of.rounds))


def _purity_needs(run: GroupRun) -> Iterator[Need]:
    if run.rounds:
        sizes, ends = np.bincount(run.trace.labels), run.labels[-1]
        most = max(len(np.unique(end)) for end in ends)
        yield Need(bool((ends >= 0).all()), "a group of every client", "some never took part")
        equal = int(np.ptp(sizes)) == 0
        yield Need(equal, "true clusters of equal size", f"{sizes.min()} to {sizes.max()} clients")
        yield Need(most <= len(sizes), f"at most {len(sizes)} groups", str(most))


def _in_their_cluster(labels: np.ndarray, truth: np.ndarray) -> int:
    """Return the most clients in the true cluster that names theirs, over one-to-one namings."""
    from scipy.optimize import linear_sum_assignment

    table = contingency(labels, truth)
    return int(table[linear_sum_assignment(table, maximize=True)].sum())


def _purity(run: GroupRun) -> Said:
    """Compare the last purity with the share of clients in their cluster, which it is read as."""
    if not run.rounds:
        return NO_ROUND
    truth, ends = run.trace.labels, run.labels[-1]
    clients = len(truth)
    counted = np.array([round(purity(end, truth) * clients) for end in ends])
    correct = np.array([_in_their_cluster(end, truth) for end in ends])
    wrong, worst = int((counted > correct).sum()), int(np.argmax(counted - correct))
    shares, tag = (counted[worst] / clients, correct[worst] / clients), " (as read)"
    if wrong:
        where = f"; {wrong} of {len(ends)} runs" if len(ends) > 1 else ""
        words = f"{short(shares[0])}, but {correct[worst]} of {clients} right one to one{where}"
        return says("broken", words, *shares, tag)
    words = f"the share right one to one, {short(correct.min() / clients)} at least"
    return says("holds", words, *shares, tag)


def _purity_bound(run: GroupRun) -> Said:
    """Compare the last purity with the share of clients in their cluster, which it is at least."""
    if not run.rounds:
        return NO_ROUND
    truth, known = run.trace.labels, [end for end in run.labels[-1] if (end >= 0).any()]
    pairs = [(purity(end, truth), _in_their_cluster(end, truth) / (end >= 0).sum()) for end in known]
    value, share = max(pairs, key=lambda pair: pair[1] - pair[0])
    if share - value > ROUNDING:
        words = f"purity {short(value)} < {short(share)}, the share right one to one"
        return says("broken", words, value, share)
    shown = f"{short(value)} and {short(share)} at the closest"
    return says("holds", f"purity >= the share right one to one, here {shown}", value, share)


def _move(run: GroupRun, *, printed: bool) -> Said:
    """Compare moves with the sentence after (2): the average gradient as printed, or minus the rate times it."""
    step, furthest, largest = run.algorithm.step_size, 0.0, 0.0
    if not run.rounds:
        return NO_ROUND
    for number in range(run.rounds):
        for one in range(run.runs):
            mean = run.means(number, one, -run.updates(number, one) / step)
            moved = run.after[number, one] - run.received[number, one]
            away = float(np.abs(moved - (1.0 if printed else -step) * mean).max())
            furthest, largest = max(furthest, away), max(largest, float(np.abs(mean).max()))
    tolerance = 10 * ROUNDING * run.size * max(1.0, 1 / step)
    if largest <= 1e3 * tolerance:
        return says("inconclusive", "every mean gradient is rounding")
    if furthest <= tolerance:
        return says(
            "holds", f"every move is {'' if printed else '-alpha x '}the mean gradient", furthest, 0.0
        )
    words = f"move - mean gradient {short(furthest)}, gradient {short(largest)}"
    return says("broken", words, furthest, 0.0, " (misprint)")


def _margin_needs(run: GroupRun) -> Iterator[Need]:
    algorithm = run.algorithm
    yield Need(algorithm.similarity == "cosine", "--similarity cosine", algorithm.similarity)
    yield Need(algorithm.weight < 1, "lambda < 1", short(algorithm.weight))
    yield from (need for need in run.exact_needs() if not need.words.startswith("--empty-cluster"))


def _margin(run: GroupRun) -> Said:
    """Compare the losses of the chosen models with the least, in every round."""
    if not run.rounds:
        return NO_ROUND
    algorithm, task = run.algorithm, run.task
    clients, stream = np.arange(task.clients), np.random.default_rng(0)  # exact losses: nothing is drawn
    losses = np.asarray(task.losses(run.models[:-1], clients, stream))
    own = np.take_along_axis(losses, run.labels[..., None], axis=-1)[..., 0]
    excess = own - losses.min(axis=-1)
    samples = 1 if algorithm.loss_reduction == "mean" else getattr(task, "samples", 1)
    allowed, largest = 2 * algorithm.weight / (1 - algorithm.weight) / samples, float(excess.max())
    if largest > allowed + 100 * ROUNDING * float(np.abs(losses).max()):
        at = np.unravel_index(int(excess.argmax()), excess.shape)
        where = f"client {at[2] + 1}, round {at[0] + 1}"
        words = f"{short(largest)} > {short(allowed)} above the least loss, {where}"
        return says("broken", words, largest, allowed)
    words = f"a choice's loss is <= {short(allowed)} above the least, here {short(largest)}"
    return says("holds", words, largest, allowed)


def _lacking(run: GroupRun) -> np.ndarray:
    """Whether in each round of each run some model was not chosen, (rounds, R)."""
    models = np.arange(run.models.shape[2])
    chosen = (run.votes[..., None] == models).any(axis=2)
    return np.asarray(~chosen.all(axis=-1))


def _unchosen(run: GroupRun) -> Iterator[Need]:
    yield Need(bool(_lacking(run).any()), "a round with a model unchosen", "none")


def _pinning(run: GroupRun) -> Said:
    """Compare with ``gradient-loss/pinning``: in rounds in which a model was not chosen, every model moves."""
    lacking = _lacking(run)
    still = (np.abs(np.diff(run.models, axis=0)).max(axis=-1) == 0)[lacking]
    if still.any():
        stood = f"a model stood still in {int(still.any(axis=-1).sum())} of {len(still)} such rounds"
        return says("broken", stood, float(still.sum()), 0.0)
    return says("holds", f"every model moved in {many(len(still), 'round')} with a model unchosen", 0.0, 0.0)


PURITY = (
    Row("Purity", "gradient-loss/purity", _purity, _purity_needs),
    Row("", "gradient-loss/purity-bound", _purity_bound),  # arithmetic
)
EXACT = (
    Row("After (2)", "gradient-loss/equation-2", partial(_move, printed=True), usual_needs),
    *PURITY,
    Row("Its sign", "gradient-loss/equation-2-descent", partial(_move, printed=False), usual_needs),
    Row("Margin", "gradient-loss/loss-margin", _margin, _margin_needs),
    IN_GROUPS,
)
PINNING = Row("Pinning", "gradient-loss/pinning", _pinning, _unchosen)


def gradient_loss_page(run: GroupRun) -> Page:
    """Return the page of a run of GL-CFL."""
    algorithm = run.algorithm
    known = [facts.task_entry(run.task), _run_entry(run), facts.groups_entry(run, _empty_words(run))]
    if run.trace.errors is not None and run.rounds:
        chosen = np.concatenate([run.received[:1], run.after])
        errors = np.linalg.norm(chosen - run.task.client_optima, axis=-1)
        known += facts.error_entry(run, "largest distance from a client's optimum", errors)
    known += rest_entries(run)
    rows = EXACT if run.quadratics is not None else (*lead_rows(run), *PURITY)
    if algorithm.empty_cluster == "when-empty":
        rows = (*rows, PINNING)
    first = "clusterproof run gradient-loss                    against IFCA"
    if isinstance(run.task, RegressionMixture) and run.task.data == "fresh":
        first = "clusterproof run gradient-loss --task quadratic   exact rounds"
    following = entry("Next", first, "clusterproof check gradient-loss/purity           counted twice")
    return page_of(facts.title(run), known, rows, run, following)


def _run_entry(run: GroupRun) -> Entry:
    algorithm = run.algorithm
    step = facts.descent_words(algorithm, run.task.smoothness)
    score = [step, f"lambda {short(algorithm.weight)}", algorithm.similarity, f"sign {algorithm.sign}"]
    score += ["summed loss"] * (algorithm.loss_reduction == "sum")
    who = ", ".join([*facts.share_words(algorithm), f"empty models: {algorithm.empty_cluster}"])
    return entry("Run", ", ".join(score), f"{who}; {facts.runs_words(run)}")


def _empty_words(run: GroupRun) -> str:
    """Name models without clients after the last round, with the remedy."""
    if not run.rounds:
        return ""
    without = [np.setdiff1d(np.arange(run.trace.models.shape[-2]), end) + 1 for end in run.labels[-1]]
    lost = [one for one in without if len(one)]
    if not lost:
        return ""
    remedy = "; --empty-cluster when-empty" if run.algorithm.empty_cluster == "never" else ""
    if len(without) > 1:
        return f"a model without clients in {len(lost)} of {len(without)} runs{remedy}"
    if len(lost[0]) == 1:
        return f"model {lost[0][0]} has no clients in the end{remedy}"
    if len(lost[0]) > 5:
        return f"{len(lost[0])} models have no clients in the end{remedy}"
    return f"models {', '.join(map(str, lost[0]))} have no clients in the end{remedy}"

"""The page of GL-CFL: its groups, its rounds, and its lead over IFCA on the same data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from clusterproof.running import purity, run
from clusterproof.running.metrics import contingency
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.hypotheses import Need
from clusterproof.theory.bounds.numbers import many, short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.papers.gradient_loss.race import APART, FEW, LIMIT, ONE_POINT, Setting
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.grouped import IN_GROUPS, GroupRun, rest_entries, usual_needs
from clusterproof.theory.runs.outcomes import judged_events
from clusterproof.theory.runs.page import Entry, Page, entry, following
from clusterproof.theory.runs.run import Run
from clusterproof.theory.runs.theorem import Row, Said, page_of, says

LEVEL = 0.9
"""Purity that ends a race."""

SHARE = 0.5
"""Largest probability of what the claims say to be the exception."""


def happens(race: np.ndarray, last: int, ours: int, baseline: int, more_than: int = 0) -> tuple[int, int]:
    """Count the runs in which ours T + baseline T_IFCA > more_than surely, and in which that may be.

    ``race`` has T and T_IFCA, (2, R); a run that ended before, after its ``last`` round, has last + 1.
    """
    factors, late = np.array([[ours], [baseline]]), np.where(race > last, np.inf, race)
    with np.errstate(invalid="ignore"):
        least, most = (
            (factors * np.where(positive, race, late)).sum(axis=0) for positive in (factors > 0, factors < 0)
        )
    return int((least > more_than).sum()), int((most > more_than).sum())


def lead_rows(of: Run) -> Sequence[Row]:
    """Return the claims on the rounds that the similarity saves; printed ones first."""
    if not all(need.met for need in _needs(of)):
        return (Row("Sooner", "gradient-loss/sooner", Said("inconclusive", ""), _needs),)
    algorithm, trace = of.algorithm, of.trace
    given = {name: trace.settings[name] for name in ("seed", "replicates")}
    # GL-CFL with weight 0 is IFCA; on the same batches from the same models
    ifca = run(replace(algorithm, weight=0.0), of.task, rounds=of.rounds, initial=trace.models[0], **given)
    race = np.stack([arrivals(each) for each in (of, Run(of.task, ifca))])
    count, judge = partial(happens, race, of.rounds), partial(judged_events, runs=of.runs, rate=SHARE)
    if _distances(of).max() <= 2 * ONE_POINT:
        few = judge("T_IFCA - T > 2", count(-1, 1, FEW))
        return (Row("One point", "gradient-loss/same-start", few),)
    medians = "; T = {:g}, T_IFCA = {:g} in the median".format(*np.median(race, axis=1))
    above, below = count(4, -3), count(-20, 11)
    ends = f"T/T_IFCA > 0.75 in {above[0]}, < 0.55"
    rows = {
        "sooner": ("Sooner", judge("T > T_IFCA", count(1, -1), shown=medians)),
        "fewer-passes": ("Passes", judge("12 T > 6 T_IFCA", count(12, -6))),
        "sooner#by a quarter": ("By", judge(ends, above, below)),
    }
    return [Row(label, f"gradient-loss/{claim}", said) for claim, (label, said) in rows.items()]


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
    hypotheses: tuple[tuple[str, Any, Any], ...] = (
        ("new samples (--data fresh)", "fresh", task.data),
        ("4 clusters of 10 clients", [10] * 4, np.bincount(task.labels).tolist()),
        (f"n' = {setting.rows}", setting.rows, task.samples),
        ("d = 20", 20, task.dimension),
        ("L = mu", 1.0, float(task.condition_number)),
        (f"noise {setting.noise} Delta", setting.noise, float(task.noise / task.separation)),
        (f"eta = {setting.step_size}/L", setting.step_size, float(algorithm.step_size * task.smoothness)),
        ("lambda = 0.2", 0.2, float(algorithm.weight)),
        ("all clients", 1.0, float(algorithm.participation)),
        ("4 models", 4, of.models.shape[2]),
    )
    for words, wanted, here in hypotheses:
        real = isinstance(wanted, float)
        met = math.isclose(wanted, here, rel_tol=1e-9) if real else wanted == here
        yield Need(met, words, short(here) if real else str(here))
    options = {
        "similarity": "cosine",
        "sign": "descent",
        "loss_reduction": "mean",
        "empty_cluster": "when-empty",
    }
    yield from (of.option(*option) for option in options.items())
    distance, start = _distances(of), of.models[0]
    gaps = np.linalg.norm(start[:, :, None] - start[:, None], axis=-1)[:, *np.triu_indices(4, 1)]
    own = np.linalg.norm(start[..., None, :] - task.optima, axis=-1)
    apart = min(float(gaps.min()), float(own.min())) / task.separation
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


def _purities(run: GroupRun) -> np.ndarray:
    """Return the last purity, and the share of clients in the true cluster that names theirs one to one, (R, 2)."""
    from scipy.optimize import linear_sum_assignment

    truth, found = run.trace.labels, []
    for end in run.labels[-1]:
        table = contingency(end, truth)
        right = table[linear_sum_assignment(table, maximize=True)].sum()
        found.append((purity(end, truth), right / max(int((end >= 0).sum()), 1)))
    return np.array(found)


def _purity(run: GroupRun) -> Said:
    """Compare the last purity with the share of clients in their cluster, which it is read as."""
    shares, clients, tag = _purities(run), len(run.trace.labels), " (as read)"
    above = shares[:, 0] - shares[:, 1]
    wrong, (value, share) = int((above > ROUNDING).sum()), shares[int(np.argmax(above))].tolist()
    if wrong:
        where = f"; {wrong} of {run.runs} runs" * (run.runs > 1)
        words = f"{short(value)}, but {round(share * clients)} of {clients} right one to one{where}"
        return says("broken", words, value, share, tag)
    words = f"the share right one to one, {short(float(shares[:, 1].min()))} at least"
    return says("holds", words, value, share, tag)


def _purity_bound(run: GroupRun) -> Said:
    """Compare the last purity with the share of clients in their cluster, which it is at least."""
    shares = _purities(run)
    value, share = shares[int(np.argmax(shares[:, 1] - shares[:, 0]))].tolist()
    if share - value > ROUNDING:
        words = f"purity {short(value)} < {short(share)}, the share right one to one"
        return says("broken", words, value, share)
    shown = f"{short(value)} and {short(share)} at the closest"
    return says("holds", f"purity >= the share right one to one, here {shown}", value, share)


def _move(run: GroupRun, *, printed: bool) -> Said:
    """Compare moves with the sentence after (2): the average gradient as printed, or minus the rate times it."""
    step, furthest, largest = run.algorithm.step_size, 0.0, 0.0
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
    first = "run gradient-loss", "against IFCA"
    if isinstance(run.task, RegressionMixture) and run.task.data == "fresh":
        first = "run gradient-loss --task quadratic", "exact rounds"
    after = following(first, ("check gradient-loss/purity", "counted twice"))
    return page_of(facts.title(run), known, rows, run, after)


def _run_entry(run: GroupRun) -> Entry:
    algorithm = run.algorithm
    step = facts.descent_words(algorithm, run.task.smoothness)
    score = [step, f"lambda {short(algorithm.weight)}", algorithm.similarity, f"sign {algorithm.sign}"]
    score += ["summed loss"] * (algorithm.loss_reduction == "sum")
    who = ", ".join([*facts.share_words(algorithm), f"empty models: {algorithm.empty_cluster}"])
    return entry("Run", ", ".join(score), f"{who}; {facts.runs_words(run)}")


def _empty_words(run: GroupRun) -> str:
    """Name the models without clients after the last round of the first run that has some, with the remedy."""
    models = np.arange(run.models.shape[2])
    lost = [
        without for end in run.labels[-1:] for one in end if len(without := np.setdiff1d(models, one) + 1)
    ]
    if not lost:
        return ""
    names = f"model {', '.join(map(str, lost[0]))} has no clients in the end"
    where = f" in {len(lost)} of {run.runs} runs" * (run.runs > 1)
    remedy = "; --empty-cluster when-empty" if run.algorithm.empty_cluster == "never" else ""
    return names + where + remedy

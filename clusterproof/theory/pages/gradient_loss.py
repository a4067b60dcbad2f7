"""The page of GL-CFL: groups, rounds, and the number of rounds that it saves compared with IFCA on the same data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from clusterproof.running import purity
from clusterproof.running.metrics import contingency
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.hypotheses import Hypothesis, Value, all_met
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.pages.facts import Facts, GroupFacts, Next, Result
from clusterproof.theory.pages.grouped import IN_GROUPS, rest_facts, usual_needs
from clusterproof.theory.pages.judging import Theorem, judge_all, judged_events
from clusterproof.theory.pages.measured import error_facts, group_facts, run_facts, task_facts
from clusterproof.theory.pages.records import Outcome, Worst
from clusterproof.theory.papers.gradient_loss.race import FEW
from clusterproof.theory.runs.groups import GroupRun
from clusterproof.theory.runs.race import first_distances, happens, race_needs, race_of, starts_together
from clusterproof.theory.runs.run import Run

SHARE = 0.5
"""Largest probability of an exception that the claims allow."""

SHARE_RIGHT = "purity"


def _starts(of: Run) -> Mapping[str, Value]:
    """Return the distances between the initial models and the pooled optimum, in units of Delta."""
    if not isinstance(of.task, RegressionMixture) or of.task.clusters < 2:
        return {}
    distance = first_distances(of)
    return {"nearest start": float(distance.min()), "farthest start": float(distance.max())}


def lead_theorems(of: Run) -> tuple[Theorem, ...]:
    """Return the claims about the number of rounds that the similarity saves, printed claims first."""
    if not all_met(race_needs(of)):
        return (Theorem("gradient-loss/sooner", Outcome("inconclusive"), race_needs, _starts),)
    race = race_of(of)
    count, judge = partial(happens, race, of.rounds), partial(judged_events, runs=of.runs, rate=SHARE)
    if starts_together(of):
        few = replace(judge(count(-1, 1, FEW)), reason="T_IFCA - T > 2")
        return (Theorem("gradient-loss/same-start", few),)
    medians = np.median(race, axis=1)
    times: dict[str, Value] = {"median T": float(medians[0]), "median T_IFCA": float(medians[1])}
    above, below = count(4, -3), count(-20, 11)
    sooner = judge(count(1, -1))
    quarter = judge(above, below)
    found = {
        "sooner": replace(sooner, reason="T > T_IFCA", constants={**sooner.constants, **times}),
        "fewer-passes": replace(judge(count(12, -6)), reason="12 T > 6 T_IFCA"),
        "sooner#by a quarter": replace(
            quarter,
            reason="T/T_IFCA is no three quarters",
            constants={**quarter.constants, "runs above three quarters": above[0]},
        ),
    }
    return tuple(Theorem(f"gradient-loss/{claim}", said) for claim, said in found.items())


def _purity_needs(run: GroupRun) -> Iterator[Hypothesis]:
    if run.rounds:
        sizes, ends = np.bincount(run.trace.labels), run.labels[-1]
        most = max(len(np.unique(end)) for end in ends)
        yield Hypothesis("clients without a group", "=", 0, int((ends < 0).any(axis=0).sum()))
        yield Hypothesis("clusters of one size", "=", True, int(np.ptp(sizes)) == 0)
        yield Hypothesis("groups", "<=", len(sizes), most)


def _purities(run: GroupRun) -> np.ndarray:
    """Return the final purity, and the share of correct clients under a one-to-one assignment of clusters, (R, 2)."""
    from scipy.optimize import linear_sum_assignment

    truth, found = run.trace.labels, []
    for end in run.labels[-1]:
        table = contingency(end, truth)
        right = table[linear_sum_assignment(table, maximize=True)].sum()
        found.append((purity(end, truth), right / max(int((end >= 0).sum()), 1)))
    return np.array(found)


def _purity(run: GroupRun) -> Outcome:
    """Compare the final purity with the share of correct clients, which the paper calls purity."""
    shares, clients = _purities(run), len(run.trace.labels)
    above = shares[:, 0] - shares[:, 1]
    wrong, (value, share) = int((above > ROUNDING).sum()), shares[int(np.argmax(above))].tolist()
    known: dict[str, Value] = {
        "right": round(share * clients),
        "clients": clients,
        "wrong runs": wrong,
        "least share": float(shares[:, 1].min()),
    }
    return Outcome(
        "is broken" if wrong else "holds",
        quantity=SHARE_RIGHT,
        measured=value,
        allowed=share,
        constants=known,
        reason="purity counts a cluster twice" if wrong else "purity is the share",
    )


def _purity_bound(run: GroupRun) -> Outcome:
    """Compare the final purity with the share of correct clients, which must not exceed the purity."""
    shares = _purities(run)
    value, share = shares[int(np.argmax(shares[:, 1] - shares[:, 0]))].tolist()
    broken = share - value > ROUNDING
    return Outcome(
        "is broken" if broken else "holds",
        quantity=SHARE_RIGHT,
        measured=value,
        allowed=share,
        reason="purity is below the share" if broken else "purity is at least the share",
    )


def _move(run: GroupRun, *, printed: bool) -> Outcome:
    """Compare model changes with the average gradient (the sentence after (2)), or -step_size times this gradient."""
    step, furthest, largest = run.algorithm.step_size, 0.0, 0.0
    for number in range(run.rounds):
        for one in range(run.runs):
            mean = run.means(number, one, -run.updates(number, one) / step)
            moved = run.after[number, one] - run.received[number, one]
            away = float(np.abs(moved - (1.0 if printed else -step) * mean).max())
            furthest, largest = max(furthest, away), max(largest, float(np.abs(mean).max()))
    tolerance = 10 * ROUNDING * run.size * max(1.0, 1 / step)
    if largest <= 1e3 * tolerance:
        return Outcome("inconclusive", reason="every mean gradient is rounding")
    holds = furthest <= tolerance
    told = {True: "a move is the gradient", False: "a move is minus the step times the gradient"}
    return Outcome(
        "holds" if holds else "is broken",
        quantity="distance of a move from what is stated",
        measured=furthest,
        allowed=0.0,
        constants={"largest mean gradient": largest},
        reason=told[printed] if holds else "a move is something else",
    )


def _margin_needs(run: GroupRun) -> Iterator[Hypothesis]:
    yield run.option("similarity", "cosine")
    yield Hypothesis("--weight", "<", 1, float(run.algorithm.weight))
    yield from Run.exact_needs(run)  # this holds for any treatment of empty models


def _margin(run: GroupRun) -> Outcome:
    """Compare the losses of the chosen models with the smallest losses, in every round."""
    algorithm, task = run.algorithm, run.task
    clients, stream = np.arange(task.clients), np.random.default_rng(0)  # exact losses draw no random numbers
    losses = np.asarray(task.losses(run.models[:-1], clients, stream))
    own = np.take_along_axis(losses, run.labels[..., None], axis=-1)[..., 0]
    excess = own - losses.min(axis=-1)
    samples = 1 if algorithm.loss_reduction == "mean" else getattr(task, "samples", 1)
    allowed, largest = 2 * algorithm.weight / (1 - algorithm.weight) / samples, float(excess.max())
    found = Outcome(
        "holds", quantity="loss of a choice above the least", measured=largest, allowed=float(allowed)
    )
    if largest <= allowed + 100 * ROUNDING * float(np.abs(losses).max()):
        return found
    at = np.unravel_index(int(excess.argmax()), excess.shape)
    worst = Worst(found.quantity, largest, float(allowed), int(at[0]) + 1)
    known: dict[str, Value] = {"client": int(at[2]) + 1}
    return replace(found, outcome="is broken", worst=worst, constants=known)


def _lacking(run: GroupRun) -> np.ndarray:
    """Return for each round and run whether some model was not chosen, (rounds, R)."""
    models = np.arange(run.models.shape[2])
    chosen = (run.votes[..., None] == models).any(axis=2)
    return np.asarray(~chosen.all(axis=-1))


def _unchosen(run: GroupRun) -> Iterator[Hypothesis]:
    yield Hypothesis("rounds with a model unchosen", ">", 0, int(_lacking(run).sum()))


def _pinning(run: GroupRun) -> Outcome:
    """Compare with ``gradient-loss/pinning``: in a round in which some model was not chosen, every model changes."""
    lacking = _lacking(run)
    still = (np.abs(np.diff(run.models, axis=0)).max(axis=-1) == 0)[lacking]
    known: dict[str, Value] = {
        "rounds": len(still),
        "rounds with a model at rest": int(still.any(axis=-1).sum()),
    }
    return Outcome(
        "is broken" if still.any() else "holds",
        quantity="models at rest",
        measured=float(still.sum()),
        allowed=0.0,
        constants=known,
        reason="a model stood still" if still.any() else "every model moved",
    )


PURITY = (
    Theorem("gradient-loss/purity", _purity, _purity_needs),
    Theorem("gradient-loss/purity-bound", _purity_bound, on_page=lambda _: False),  # this is true for any run
)
EXACT = (
    Theorem("gradient-loss/equation-2", partial(_move, printed=True), usual_needs),
    *PURITY,
    Theorem("gradient-loss/equation-2-descent", partial(_move, printed=False), usual_needs),
    Theorem("gradient-loss/loss-margin", _margin, _margin_needs),
    IN_GROUPS,
)
PINNING = Theorem("gradient-loss/pinning", _pinning, _unchosen)


def gradient_loss_facts(run: GroupRun) -> Facts:
    """Return the facts of a run of GL-CFL."""
    results: list[Result] = [_groups(run)]
    if run.trace.errors is not None and run.rounds:
        chosen = np.concatenate([run.received[:1], run.after])
        errors = np.linalg.norm(chosen - run.task.client_optima, axis=-1)
        error = error_facts(run, "distance of the worst client's model from its optimum", errors)
        results += [] if error is None else [error]
    table = EXACT if run.quadratics is not None else (*lead_theorems(run), *PURITY)
    if run.algorithm.empty_cluster == "when-empty":
        table = (*table, PINNING)
    theorems, others = judge_all(table, run)
    first = Next("run gradient-loss", "the race against IFCA")
    if isinstance(run.task, RegressionMixture) and run.task.data == "fresh":
        first = Next("run gradient-loss --task quadratic", "exact rounds")
    commands = (first, Next("check gradient-loss/purity", "a cluster that is counted twice"))
    facts = (*results, *rest_facts(run))
    return Facts(task_facts(run), run_facts(run), facts, theorems, others, commands)


def _groups(run: GroupRun) -> GroupFacts:
    """Return the facts about groups, and the models that no client chose in the first run with such models."""
    found, models = group_facts(run), np.arange(run.models.shape[2])
    lost = [
        without for end in run.labels[-1:] for one in end if len(without := np.setdiff1d(models, one) + 1)
    ]
    if not lost:
        return found
    remedy = "--empty-cluster when-empty" if run.algorithm.empty_cluster == "never" else ""
    return replace(found, empty=tuple(int(one) for one in lost[0]), empty_runs=len(lost), remedy=remedy)

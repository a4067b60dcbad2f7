"""The page of GL-CFL: its groups, its rounds, and its lead over IFCA on the same data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clusterproof.algorithms import GradientLoss, Trace, purity
from clusterproof.algorithms.metrics import contingency
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.numbers import many, short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.affine_rounds import exact_quadratics
from clusterproof.theory.runs.gradient_loss_race import lead_entries
from clusterproof.theory.runs.group_rounds import GroupRun, group_run, rest_entry, rest_on_run, usual_needs
from clusterproof.theory.runs.groups import groups_entry, last_known
from clusterproof.theory.runs.hypotheses import refusal
from clusterproof.theory.runs.page import Entry, Page, TheoremOnRun, entry

PIN = "--empty-cluster when-empty"
"""Remedy of a model without clients."""


def gradient_loss_page(task: Mixture, trace: Trace) -> Page:
    """Return the page of a run of GL-CFL."""
    algorithm = dynamics_of(trace)
    assert isinstance(algorithm, GradientLoss)
    run = group_run(algorithm, task, trace)
    facts = [sections.task_entry(task), _run_entry(algorithm, task, trace)]
    facts.append(groups_entry(trace, *_empty_words(algorithm, trace)))
    if trace.errors is not None and trace.rounds:
        chosen = np.concatenate([run.received[:1], run.after])
        errors = np.linalg.norm(chosen - task.client_optima, axis=-1)
        errors = errors if trace.models.ndim == 4 else errors[:, 0]
        distance = "largest distance from a client's optimum"
        facts.append(sections.error_entry(replace(trace, errors=errors), distance))
    facts += rest_entry(run)
    named = [("Purity", purity_on_run(trace)), ("Bound", purity_bound_on_run(trace))]
    if exact_quadratics(task) is not None:
        named[:0] = [("After (2)", move_on_run(run, printed=True))]
        named += [
            ("Its sign", move_on_run(run, printed=False)),
            ("Margin", margin_on_run(run)),
            ("In groups", rest_on_run(run)),
        ]
    else:
        named[:0] = lead_entries(algorithm, task, trace)
    if algorithm.empty_cluster == "when-empty":
        named.append(("Pinning", pinning_on_run(trace)))
    shown = [entry(label, one.words) for label, one in named if label != "Bound"]  # arithmetic
    theorems = tuple(one for _, one in named)
    return Page(sections.title(trace), (("", tuple(facts)), ("Theorems", (*shown, _next(task)))), theorems)


def _run_entry(algorithm: GradientLoss, task: Mixture, trace: Trace) -> Entry:
    score = [f"lambda {short(algorithm.weight)}", algorithm.similarity, f"sign {algorithm.sign}"]
    if algorithm.loss_reduction == "sum":
        score.append("summed loss")
    who = []
    if algorithm.participation < 1:
        who.append(f"{100 * algorithm.participation:.3g} % of the clients a round")
    who.append(f"empty models: {algorithm.empty_cluster}")
    rounds = f"{sections.rounds_words(trace)}, {sections.runs_words(trace)}"
    step = sections.descent_words(algorithm, task.smoothness)
    return entry("Run", f"{step}, {', '.join(score)}", f"{', '.join(who)}; {rounds}")


def _empty_words(algorithm: GradientLoss, trace: Trace) -> tuple[str, ...]:
    """Name models without clients after the last round, with the remedy."""
    labels, models = last_known(trace), trace.models.shape[-2]
    if not len(labels):
        return ()
    without = [np.setdiff1d(np.arange(models), end) for end in labels[-1]]
    lost = [one for one in without if len(one)]
    if not lost:
        return ()
    remedy = f"; {PIN}" if algorithm.empty_cluster == "never" else ""
    if len(without) > 1:
        return (f"a model without clients in {len(lost)} of {len(without)} runs{remedy}",)
    names = ", ".join(str(model + 1) for model in lost[0][:5])
    if len(lost[0]) > 5:
        names = str(len(lost[0]))
        return (f"{names} models have no clients in the end{remedy}",)
    return (
        (f"model {names} has no clients in the end{remedy}",)
        if len(lost[0]) == 1
        else (f"models {names} have no clients in the end{remedy}",)
    )


def _in_their_cluster(labels: np.ndarray, truth: np.ndarray) -> int:
    """Return the most clients in the true cluster that names theirs, over one-to-one namings."""
    from scipy.optimize import linear_sum_assignment

    table = contingency(labels, truth)
    return int(table[linear_sum_assignment(table, maximize=True)].sum())


def purity_on_run(trace: Trace) -> TheoremOnRun:
    """Compare the last purity with the share of clients in their cluster, which it is read as."""
    claim, sizes = "gradient-loss/purity", np.bincount(trace.labels)
    labels = last_known(trace)
    if not len(labels):
        return TheoremOnRun(claim, "inconclusive", None, None, "inconclusive: no round was run")
    ends = labels[-1]
    most = max(len(np.unique(end)) for end in ends)
    for met, needed, here in (
        (bool((ends >= 0).all()), "a group of every client", "some never took part"),
        (int(np.ptp(sizes)) == 0, "true clusters of equal size", f"{sizes.min()} to {sizes.max()} clients"),
        (most <= len(sizes), f"at most {len(sizes)} groups", str(most)),
    ):
        if not met:
            return TheoremOnRun(
                claim, "does not apply", None, None, f"does not apply: needs {needed}, here {here}"
            )
    clients = len(trace.labels)
    counted = [round(purity(end, trace.labels) * clients) for end in ends]
    correct = [_in_their_cluster(end, trace.labels) for end in ends]
    wrong = [one for one, (more, fewer) in enumerate(zip(counted, correct, strict=True)) if more > fewer]
    worst = int(np.argmax(np.subtract(counted, correct)))
    shares = counted[worst] / clients, correct[worst] / clients
    if wrong:
        where = f"; {len(wrong)} of {len(ends)} runs" if len(ends) > 1 else ""
        words = (
            f"broken (as read): {short(shares[0])}, but {correct[worst]} of {clients} right one to one{where}"
        )
        return TheoremOnRun(claim, "broken", *shares, words)
    words = f"holds (as read): the share right one to one, {short(min(correct) / clients)} at least"
    return TheoremOnRun(claim, "holds", *shares, words)


def purity_bound_on_run(trace: Trace) -> TheoremOnRun:
    """Compare the last purity with the share of clients in their cluster, which it is at least."""
    claim, labels = "gradient-loss/purity-bound", last_known(trace)
    if not len(labels):
        return TheoremOnRun(claim, "inconclusive", None, None, "inconclusive: no round was run")
    pairs = []
    for end in labels[-1]:
        known = end >= 0
        if known.any():
            pairs.append((purity(end, trace.labels), _in_their_cluster(end, trace.labels) / known.sum()))
    lacking = [share - value for value, share in pairs]
    worst = int(np.argmax(lacking))
    value, share = pairs[worst]
    if lacking[worst] > ROUNDING:
        words = f"broken: purity {short(value)} < {short(share)}, the share right one to one"
        return TheoremOnRun(claim, "broken", value, share, words)
    words = (
        f"holds: purity >= the share right one to one, here {short(value)} and {short(share)} at the closest"
    )
    return TheoremOnRun(claim, "holds", value, share, words)


def move_on_run(run: GroupRun, *, printed: bool) -> TheoremOnRun:
    """Compare moves with the sentence after (2): the average gradient as printed, or minus the rate times it."""
    claim = f"gradient-loss/equation-2{'' if printed else '-descent'}"
    refused = refusal(claim, usual_needs(run), run)
    if refused is not None:
        return refused
    assert run.moves is not None
    gradients = np.einsum("mij,...mj->...mi", run.moves, run.received - run.centers) / run.algorithm.step_size
    furthest, largest = 0.0, 0.0
    factor = 1.0 if printed else -run.algorithm.step_size
    for labels, each, before, after in zip(run.labels, gradients, run.received, run.after, strict=True):
        for one in range(labels.shape[0]):
            chosen = labels[one][:, None] == labels[one]
            mean = chosen @ each[one] / chosen.sum(axis=1)[:, None]
            away = float(np.abs(after[one] - before[one] - factor * mean).max())
            furthest, largest = max(furthest, away), max(largest, float(np.abs(mean).max()))
    tolerance = 10 * ROUNDING * run.size * max(1.0, 1 / run.algorithm.step_size)
    if largest <= 1e3 * tolerance:
        return TheoremOnRun(
            claim, "inconclusive", None, None, "inconclusive: every mean gradient is rounding"
        )
    if furthest <= tolerance:
        words = f"holds: every move is {'' if printed else '-alpha x '}the mean gradient"
        return TheoremOnRun(claim, "holds", furthest, 0.0, words)
    words = f"broken (misprint): move - mean gradient {short(furthest)}, gradient {short(largest)}"
    return TheoremOnRun(claim, "broken", furthest, 0.0, words)


def margin_on_run(run: GroupRun) -> TheoremOnRun:
    """Compare the losses of the chosen models with the least, in every round."""
    claim, algorithm = "gradient-loss/loss-margin", run.algorithm
    needs = [
        (algorithm.similarity == "cosine", "--similarity cosine", algorithm.similarity),
        (algorithm.weight < 1, "lambda < 1", short(algorithm.weight)),
        *[need for need in usual_needs(run) if not need[1].startswith("--empty-cluster")],
    ]
    unmet = [(needed, here) for met, needed, here in needs if not met]
    if unmet:
        words = f"does not apply: needs {unmet[0][0]}, here {unmet[0][1]}"
        return TheoremOnRun(claim, "does not apply", None, None, words)
    if not len(run.labels):
        return TheoremOnRun(claim, "inconclusive", None, None, "inconclusive: no round was run")
    models = sections.replicated(run.trace.models, run.trace)[:-1]
    clients = np.arange(run.task.clients)
    losses = np.asarray(run.task.losses(models, clients, np.random.default_rng(0)))  # exact: nothing is drawn
    own = np.take_along_axis(losses, run.labels[..., None], axis=-1)[..., 0]
    excess = own - losses.min(axis=-1)
    samples = 1 if algorithm.loss_reduction == "mean" else getattr(run.task, "samples", 1)
    allowed, largest = 2 * algorithm.weight / (1 - algorithm.weight) / samples, float(excess.max())
    if largest > allowed + 100 * ROUNDING * float(np.abs(losses).max()):
        at = np.unravel_index(int(excess.argmax()), excess.shape)
        where = f"client {at[2] + 1}, round {at[0] + 1}"
        words = f"broken: {short(largest)} > {short(allowed)} above the least loss, {where}"
        return TheoremOnRun(claim, "broken", largest, allowed, words)
    words = f"holds: a choice's loss is <= {short(allowed)} above the least, here {short(largest)}"
    return TheoremOnRun(claim, "holds", largest, allowed, words)


def pinning_on_run(trace: Trace) -> TheoremOnRun:
    """Compare with ``gradient-loss/pinning``: in rounds in which a model was not chosen, every model moves."""
    claim, models = "gradient-loss/pinning", sections.replicated(trace.models, trace)
    votes = sections.replicated(trace.assignments, trace)
    count = models.shape[2]
    lacking = np.array(
        [[len(np.setdiff1d(np.arange(count), vote)) > 0 for vote in each] for each in votes], dtype=bool
    ).reshape(votes.shape[:2])
    if not lacking.any():
        words = "does not apply: needs a round with a model unchosen, here none"
        return TheoremOnRun(claim, "does not apply", None, None, words)
    still = (np.abs(np.diff(models, axis=0)).max(axis=-1) == 0)[lacking]
    rounds = int(lacking.sum())
    if still.any():
        words = f"broken: a model stood still in {int(still.any(axis=-1).sum())} of {rounds} such rounds"
        return TheoremOnRun(claim, "broken", float(still.sum()), 0.0, words)
    words = f"holds: every model moved in {many(rounds, 'round')} with a model unchosen"
    return TheoremOnRun(claim, "holds", 0.0, 0.0, words)


def _next(task: Mixture) -> Entry:
    if isinstance(task, RegressionMixture) and task.data == "fresh":
        first = "clusterproof run gradient-loss --task quadratic   exact rounds"
    else:
        first = "clusterproof run gradient-loss                    against IFCA"
    return entry("Next", first, "clusterproof check gradient-loss/purity           counted twice")

"""The page of a run of FPFC: groups, and mean residuals compared with Theorem 1, as printed and as repaired."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from clusterproof.algorithms.fpfc import group_averages
from clusterproof.checker.claims.statistics import CLAIM_SIGNIFICANCE, binomial_tail
from clusterproof.common import InvalidArgument
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.bounds.hypotheses import Hypothesis, Value, unmet
from clusterproof.theory.bounds.numbers import short
from clusterproof.theory.pages.facts import Facts, GroupFacts, Next, Result, Told
from clusterproof.theory.pages.judging import named, refused
from clusterproof.theory.pages.measured import group_facts, run_facts, task_facts
from clusterproof.theory.pages.page import Page
from clusterproof.theory.pages.records import Above, Curve, Outcome, ResidualPicture, Role
from clusterproof.theory.papers.fpfc.theorem_1 import Constants
from clusterproof.theory.runs.bound import FAILURE, bound
from clusterproof.theory.runs.fpfc import FusionRun

SETTLED = 0.1
"""The first rounds dominate a mean if the second half of the rounds contributes at most this share to the sum."""

MOST_STEPS = 1000
"""Largest number of local steps that the page proposes."""

MODELS, DUALS, MAPPING = "mean |grad_w L_0|^2", "mean |grad_v L_0|^2", "largest |G|^2"
PRINTED = {
    "fpfc/theorem-1-models": MODELS,
    "fpfc/theorem-1-participation": DUALS,
    "fpfc/theorem-1-mapping": MAPPING,
}
REPAIRED = {
    "fpfc/repaired-models": MODELS,
    "fpfc/one-term": MODELS,
    "fpfc/repaired-duals": DUALS,
    "fpfc/repaired-mapping": MAPPING,
}
"""The bounded quantity of each claim."""

OPTIONS = {
    "--penalty": "--penalty scad",
    "--start": "--start common",
    "pairs with a participant updated": "--pair-rule either",
    "rounds": "--rounds 300",
    "clients": "--clients 40",
    "quadratic losses": "--task quadratic",
}
"""For each hypothesis on the kind of run, an option with which the run satisfies the hypothesis."""


def held(run: FusionRun, quantity: str, values: np.ndarray, bounds: np.ndarray) -> tuple[Outcome, int]:
    """Compare means over rounds of values (rounds + 1, R) with bounds (R,).

    The function returns the outcome, and the index of the run that is nearest to its bound.
    """
    means = values[1:].mean(axis=0)
    outside, nearest = int((~(means <= bounds * (1 + 1e-9))).sum()), int(np.argmax(means / bounds))
    mean, limit, start = (float(each[nearest]) for each in (means, bounds, values[0]))
    few = FAILURE**run.runs > CLAIM_SIGNIFICANCE  # there are too few runs to show a break
    above = () if run.sure else (Above("in the mean", outside, run.runs, math.floor(FAILURE * run.runs)),)
    known: dict[str, Value] = {"falls like K^": _fall(values[1:, nearest])}
    found = Outcome(
        "holds",
        quantity=quantity,
        measured=mean,
        allowed=limit,
        start=start,
        above=above,
        constants=known,
    )
    if outside and (run.sure or binomial_tail(outside, run.runs, FAILURE) <= CLAIM_SIGNIFICANCE):
        return replace(found, outcome="is broken"), nearest
    if start and limit >= start:
        return replace(found, outcome="says nothing", reason="more than at the start"), nearest
    if not run.sure and (
        few or outside > FAILURE * run.runs
    ):  # so many runs can be above the bound by chance
        least = math.ceil(math.log(CLAIM_SIGNIFICANCE) / math.log(FAILURE)) if few else 2 * run.runs
        return replace(found, outcome="inconclusive", remedy=f"--replicates {least}"), nearest
    return found, nearest


def _printed(run: FusionRun) -> Iterator[Outcome]:
    """Yield the three inequalities of Theorem 1, as printed."""
    one, series = run.setting, run.series
    values = {MODELS: (series.models, one.first), DUALS: (series.duals, one.second)}
    for claim, quantity in PRINTED.items():
        if quantity == MAPPING:
            yield named(claim, _mapping(run, one.mapping_bound))
            continue
        found = _mean(run, quantity, *values[quantity])
        if quantity == MODELS:
            found = replace(found, constants={**found.constants, **_numbers(run)})
        yield named(claim, found)


def _numbers(run: FusionRun) -> dict[str, Value]:
    """Return the constants of Theorem 1 for the run."""
    one = run.setting
    known: dict[str, Value] = {"q": one.power, "D_0": float(run.height.max()) + one.start}
    if run.admissible:
        known |= {"C_1": one.first, "C_2": one.second}
    return known


def _mean(run: FusionRun, quantity: str, values: np.ndarray, factor: float) -> Outcome:
    means = values[1:].mean(axis=0)
    worst = int(means.argmax())
    if not run.admissible:
        known: dict[str, Value] = {"falls like K^": _fall(values[1:, worst])}
        return Outcome(
            "does not apply",
            quantity=quantity,
            measured=float(means[worst]),
            hypotheses=run.needs,
            constants=known,
        )
    if factor > 0:
        found = held(run, quantity, values, run.printed(factor))[0]
    else:
        found = _negative(run, float(means[worst]), worst, _fall(values[1:, worst]))
    return replace(found, hypotheses=run.needs)


def _negative(run: FusionRun, mean: float, worst: int, fall: float | None) -> Outcome:
    """Return the outcome for C_1 <= 0. The bound is then at most 0, so every positive mean square breaks it."""
    one = run.setting
    scale, other = (float(run.height[worst]) + one.start) / run.rounds, one.first_of(one.power)
    known: dict[str, Value] = {"C_1": one.first, "falls like K^": fall}
    reason = "C_1 is negative"
    if other > 0 and run.sure:
        known |= {"C_1 with q": other, "bound with q": other * scale}
        reason = (
            "C_1 is negative, kept with q" if mean <= other * scale else "C_1 is negative, not kept with q"
        )
    return Outcome(
        "is broken", quantity=MODELS, measured=mean, allowed=one.first * scale, constants=known, reason=reason
    )


def _mapping(run: FusionRun, limit: float) -> Outcome:
    """Return the outcome for |G|^2 if pairs follow the paper's rule, in which case a bound holds for all models."""
    known: dict[str, Value] = {"falls like K^": 0.0}
    measured = float(run.series.mapping[1:].max())
    concavity = Hypothesis("a", ">", 2, float(run.setting.penalty.concavity))
    needs = (*run.needs, concavity)
    found = Outcome("does not apply", quantity=MAPPING, measured=measured, hypotheses=needs, constants=known)
    if not run.admissible or not concavity.met:
        return found
    return replace(found, outcome="says nothing", allowed=limit, reason="met before the first round")


def _repaired(run: FusionRun) -> Iterator[Outcome]:
    """Yield the repaired inequalities."""
    one = run.setting
    for claim, quantity in REPAIRED.items():
        try:
            limits = run.last(
                np.asarray(bound(claim, run.task, run.trace, failure_probability=FAILURE).bound)
            )
        except InvalidArgument as error:
            yield named(claim, replace(_refused(run, error), quantity=quantity))
            continue
        if quantity == MAPPING:
            largest = float(run.series.mapping[1:].max())
            found = Outcome(
                "says nothing",
                quantity=quantity,
                measured=largest,
                allowed=float(limits[0]),
                reason="met before the first round",
            )
        else:
            found = held(run, quantity, run.series.duals if quantity == DUALS else run.series.models, limits)[
                0
            ]
        if quantity == MODELS:
            factors: dict[str, Value] = {"A_T": one.local_steps_factor, "B": one.pairs_factor}
            found = replace(found, constants={**found.constants, **factors})
        yield named(claim, found)


def _refused(run: FusionRun, error: InvalidArgument) -> Outcome:
    """Return the outcome of a repaired bound that does not apply, depending on the argument that the error names."""
    unmet_by = {
        "pair_rule": Hypothesis("--pair-rule", "=", "all", run.algorithm.pair_rule),
        "concavity": Hypothesis("a", ">", 2, float(run.setting.penalty.concavity)),
    }
    if error.argument in unmet_by:
        return Outcome("does not apply", hypotheses=(unmet_by[error.argument],))
    return refused(error)


def _fall(values: np.ndarray) -> float | None:
    """Estimate the power of K with which the running mean of values (rounds,) changes in the second half of a run."""
    counts = np.arange(1, len(values) + 1)
    means, half = np.cumsum(values) / counts, slice(len(values) // 2, None)
    if len(values) < 4 or not ((means[half] > 0) & np.isfinite(means[half])).all():
        return None
    slope = float(np.polyfit(np.log(counts[half]), np.log(means[half]), 1)[0])
    return slope if slope < -0.005 else 0.0


def _last_round(run: FusionRun) -> list[Told]:
    """Return a note on bounds of expectations, or on the last round if the first rounds dominate the mean."""
    if not run.sure:
        return [Told("bounds of expectations", {"times": round(1 / FAILURE), "failure": FAILURE})]
    values = run.series.models[1:]
    late = values[len(values) // 2 :].sum(axis=0)
    if len(values) < 4 or not (late <= SETTLED * values.sum(axis=0)).all() or not values[0].all():
        return []
    return [Told("the last round alone", {"round": run.rounds, "last round": float(values[-1].max())})]


def fusion_page(run: FusionRun) -> Page:
    """Return the page of a run of FPFC."""
    task, about = task_facts(run, _constants(run)), run_facts(run, run.client_smoothness)
    about = replace(about, settings={**about.settings, **_penalty(run)})
    results: list[Result] = _groups(run)
    scope = tuple(run.scope())
    failing = unmet(scope)
    if failing is not None:
        said = _excluded(failing, scope)
        theorems = tuple(
            named(claim, replace(said, quantity=quantity)) for claim, quantity in (PRINTED | REPAIRED).items()
        )
        option = Next(f"run fpfc {OPTIONS[failing.name]}", "what Theorem 1 is about")
        return Page(Facts(task, about, tuple(results), theorems, (), (option,)))
    theorems = (*_printed(run), *_repaired(run))
    results += _last_round(run)
    found = _next_option(run)
    facts = Facts(task, about, tuple(results), theorems, (), (found,) if found else ())
    return Page(facts, picture=_picture(run))


def _excluded(failing: Hypothesis, scope: tuple[Hypothesis, ...]) -> Outcome:
    """Return the outcome for a run to which no theorem applies."""
    if failing.name == "quadratic losses":
        return Outcome("inconclusive", hypotheses=scope, reason="no lower bound of F*")
    if failing.name in ("rounds", "clients"):
        return Outcome("says nothing", hypotheses=scope, reason="nothing to bound")
    return Outcome("does not apply", hypotheses=scope)


def _next_option(run: FusionRun) -> Next | None:
    """Return an option that alone would change the outcome of the theorem, and the purpose of the option."""
    one, steps, rho = run.setting, run.local_steps, run.algorithm.augmentation
    least = 2 * one.penalty.lipschitz
    if not rho > least:
        return Next(f"run fpfc --augmentation {math.floor(least) + 1}", "rho > 2 L_g")
    if run.admissible and one.first > 0:
        counts, sign, shows = range(steps - 1, 0, -1), -1, "C_1 < 0: the bound is broken"
    elif one.weak_convexity < rho:
        counts, sign, shows = range(steps + 1, MOST_STEPS), 1, "C_1 > 0"
    else:
        step_size = short(0.9 / (one.smoothness + 2 * rho), 2)
        return Next(f"run fpfc --step-size {step_size}", "a step below 1/(L_f + 2 rho)")
    found = next((number for number in counts if _sign(one, number) == sign), None)
    return None if found is None else Next(f"run fpfc --local-steps {found}", shows)


def _sign(setting: Constants, local_steps: int) -> int:
    """Return the sign of C_1 for this number of local steps, or 0 if the hypotheses are not satisfied."""
    tried = replace(setting, algorithm=replace(setting.algorithm, local_steps=local_steps))
    return int(math.copysign(1, tried.first)) if tried.admissible else 0


def _constants(run: FusionRun) -> dict[str, float]:
    task = run.task
    if not isinstance(task, QuadraticMixture):
        return {}
    return {
        "L": float(task.client_smoothness),
        "mu": float(np.linalg.eigvalsh(task.hessians).min()),
        "spread": float(np.linalg.norm(task.centers - task.optima[task.labels], axis=-1).max()),
    }


def _penalty(run: FusionRun) -> dict[str, Value]:
    """Return the parameters of SCAD, or an empty mapping for another penalty."""
    if run.algorithm.penalty != "scad":
        return {}
    penalty = run.setting.penalty
    return {"smoothing": float(penalty.smoothing), "concavity": float(penalty.concavity)}


def _groups(run: FusionRun) -> list[Result]:
    """Return the facts about groups after the last round, with distances between their mean models and the optima."""
    if run.rounds == 0:
        return []
    truth, ends = run.task.labels, run.votes[-1]
    found: GroupFacts = replace(group_facts(run), purity=None, least_purity=None)
    if run.trace.errors is None:
        return [found]
    means = np.stack([group_averages(one, end) for one, end in zip(run.models[-1], ends, strict=True)])
    distances = np.linalg.norm(means[:, :, None] - run.task.optima, axis=-1)
    away = float(distances.min(axis=-1).max())
    if found.right == found.runs:
        away = float(distances[:, np.arange(run.task.clients), truth].max())
    return [replace(found, distance=away)]


def _picture(run: FusionRun) -> ResidualPicture:
    """Return the content of the figure, for the run whose mean is largest relative to the printed bound."""
    one, counts = run.setting, np.arange(1, run.rounds + 1)
    means = run.series.models[1:].mean(axis=0)
    shown = int(np.argmax(means / (run.height + one.start)))
    alone = run.series.models[1:, shown]
    which = f"worst of {run.runs} runs" if run.runs > 1 else "run"
    curves = [
        Curve("run", "run", f"{which}: mean over rounds 1 to $K$", np.cumsum(alone) / counts),
        Curve("round alone", "round alone", "round $K$ alone", alone),
    ]
    bounds: list[tuple[Role, str, float, float]] = []
    if run.admissible and 0 < one.first < math.inf:
        bounds.append(("printed", "bound as printed", float(run.printed(one.first)[shown]), one.start))
    limits = [float(limit[shown]) for limit in _repaired_limits(run)]
    if limits:
        bounds.append(("repaired", "repaired", min(limits), one.repaired_start))
    ratios: dict[Role, str] = {}
    for role, name, end, smoothing in bounds:
        written = short(end * run.rounds / (float(run.height[shown]) + smoothing))
        curves.append(Curve(role, name, rf"{name}, ${written}\,D_0/K$", end * run.rounds / counts))
        if means[shown] > 0:
            ratios[role] = short(end / float(means[shown]), 2)
    groups = 1 + (np.diff(np.sort(run.votes, axis=-1), axis=-1) != 0).sum(axis=-1)
    return ResidualPicture(tuple(curves), ratios, groups, len(np.unique(run.trace.labels)))


def _repaired_limits(run: FusionRun) -> Iterator[np.ndarray]:
    """Yield the repaired bounds on the models after the last round, (R,), that apply to the run."""
    for claim in ("fpfc/repaired-models", "fpfc/one-term"):
        try:
            yield run.last(np.asarray(bound(claim, run.task, run.trace, failure_probability=FAILURE).bound))
        except InvalidArgument:
            continue

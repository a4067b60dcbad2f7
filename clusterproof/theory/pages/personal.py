"""The pages of Per-FedAvg, FedBCD and LOCAL, with fixed points on exact quadratics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from clusterproof.algorithms import FedBCD, Local, PerFedAvg
from clusterproof.theory.bounds.hypotheses import Hypothesis, Value
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.pages.facts import ErrorFacts, Facts, Law, Next, Rest, Result
from clusterproof.theory.pages.judging import Theorem, judge_all
from clusterproof.theory.pages.measured import comes_to_rest, error_facts, rate_of, run_facts, task_facts
from clusterproof.theory.pages.records import Outcome
from clusterproof.theory.runs.affine_run import AffineRun
from clusterproof.theory.runs.run import AT_REST


def rest_on_run(run: AffineRun) -> Outcome:
    """Compare a run with the closed form of its fixed point.

    The closed form is the fixed point of the run if each round is a round of the algorithm, and rounds contract
    towards the closed form.
    """
    assert run.affine is not None
    off = run.affine.leads_to_rest
    if off > 100 * ROUNDING * run.size:
        name = "distance from the stated point"
        return Outcome("is broken", quantity=name, measured=off, allowed=0.0, reason="a round leads away")
    return comes_to_rest(run, run.distances)


def _optimum_on_run(run: AffineRun) -> Outcome:
    """Compare a run with the reading that first-order Per-FedAvg minimises F."""
    gap, end = run.gap, float(run.distances[-1].max())
    found = Outcome(
        "is broken",
        quantity="distance from the minimiser of F",
        measured=gap,
        allowed=0.0,
        reason="its rest is elsewhere",
    )
    if gap == 0:
        return replace(found, outcome="holds", reason="its rest is there")
    if end > gap / 2:
        known: dict[str, Value] = {"gap": gap}
        return replace(
            found, outcome="inconclusive", measured=end, allowed=gap, constants=known, reason="not at rest"
        )
    return found


def _needs(
    run: AffineRun, option: str = "", value: str = "", *, one_step: bool = False
) -> Iterator[Hypothesis]:
    """Yield the hypotheses of a claim about one variant of an algorithm."""

    def known() -> Iterator[Hypothesis]:
        if option:
            yield run.option(option, value)
        if one_step:
            yield Hypothesis("local steps", "=", 1, run.local_steps)
        yield from run.usual_needs()
        if isinstance(run.algorithm, PerFedAvg):
            yield Hypothesis("alpha L", "<", 1, float(run.inner_step * run.client_smoothness))

    return run.right_rounds(known())


def _rests(claim: str, option: str = "", value: str = "") -> Theorem:
    return Theorem(f"baselines/{claim}", rest_on_run, partial(_needs, option=option, value=value))


THEOREMS: dict[str, tuple[Theorem, ...]] = {
    "per-fedavg": (
        Theorem(
            "baselines/per-fedavg-fo-optimum",
            _optimum_on_run,
            partial(_needs, option="gradient", value="first-order", one_step=True),
        ),
        _rests("per-fedavg-fo", "gradient", "first-order"),
        _rests("per-fedavg-hf", "gradient", "second-order"),
    ),
    "fedbcd": (
        _rests("fedbcd", "variant", "penalised"),
        _rests("fedbcd-separate", "variant", "separate"),
    ),
    "local": (_rests("local"),),
}


def personal_facts(run: AffineRun) -> Facts:
    """Return the facts of a run of Per-FedAvg, FedBCD or LOCAL."""
    algorithm, local = run.algorithm, isinstance(run.algorithm, Local)
    name = (
        "distance of the worst client from its cluster's optimum"
        if local
        else "distance from the common optimum"
    )
    error = error_facts(run, name)
    results: list[Result] = []
    if error is not None:
        results.append(error if local or run.quadratics is None else _near(run, error))
    if run.affine is not None:
        results += _rest(run)
    theorems, others = judge_all(THEOREMS[algorithm.name], run)
    about = run_facts(run, run.client_smoothness)
    about = replace(about, settings={**about.settings, **_defaults(run)})
    return Facts(task_facts(run), about, tuple(results), theorems, others, tuple(_commands(run)))


def _defaults(run: AffineRun) -> dict[str, Value]:
    """Return the values that an algorithm chooses for settings that are None."""
    algorithm = run.algorithm
    if isinstance(algorithm, PerFedAvg):
        return {"inner_step_size": run.inner_step}
    if isinstance(algorithm, FedBCD):
        return {"proximal" if algorithm.variant == "penalised" else "pull": run.strength}
    return {}


def _near(run: AffineRun, error: ErrorFacts) -> ErrorFacts:
    """Add the distances of final models to the clusters' optima and, after a personal step, to the clients' optima."""
    task, last, stepped = run.task, run.models[-1], None
    away = np.linalg.norm(last - task.optima, axis=-1)
    if isinstance(run.algorithm, PerFedAvg):
        assert run.quadratics is not None
        hessians, centers = run.quadratics
        moved = last - run.inner_step * np.einsum("mij,...mj->...mi", hessians, last - centers)
        left = np.linalg.norm(moved - task.client_optima, axis=-1)
        stepped = float(left.min()), float(left.max())
    return replace(error, nearest=float(away.min()), farthest=float(away.max()), stepped=stepped)


def _rest(run: AffineRun) -> list[Result]:
    """Return the facts about the fixed point, the factor, and whether rounds follow the settings."""
    assert run.affine is not None
    radius, end, size = run.affine.radius, float(run.distances[-1].max()), AT_REST * run.size
    point, distance, known = _point(run)
    rest = Rest(point, distance, end, size, radius, constants=known)
    if radius is not None and radius >= 1:
        return [rest]
    rate = rate_of("distance from where the rounds rest", run.distances, size, radius)
    return [rest, rate, *departure(run.difference)]


def departure(difference: tuple[int, float] | None) -> list[Result]:
    """Return the fact that a round differs from the algorithm's round, with the distance."""
    if difference is None:
        return []
    return [Law("path", "differs", round=difference[0], distance=difference[1])]


def _point(run: AffineRun) -> tuple[str, float | None, dict[str, float]]:
    """Return the name of the fixed point, its distance to the common optimum, and other distances."""
    assert run.affine is not None
    algorithm, task = run.algorithm, run.task
    if isinstance(algorithm, Local):
        away = np.linalg.norm(run.rest - task.client_optima, axis=-1)
        return "the clients' own optima", None, {"nearest": float(away.min()), "farthest": float(away.max())}
    common = float(np.linalg.norm(run.rest[0] - task.pooled_optimum))
    if isinstance(algorithm, PerFedAvg):
        return "beside the minimiser of F", common, {"gap": run.gap}
    if algorithm.variant == "separate":
        return "the rounds", common, {}
    assert run.quadratics is not None
    away = np.linalg.norm(run.affine.rest[1:] - run.quadratics[1], axis=-1)
    own = {"nearest": float(away.min()), "farthest": float(away.max())}
    return "the minimiser of the penalised sum", common, own


def _commands(run: AffineRun) -> list[Next]:
    """Return commands to try next."""
    algorithm = run.algorithm
    if run.quadratics is None:
        return [Next(f"run {algorithm.name}", "its fixed point on quadratics")]
    if isinstance(algorithm, Local):
        some = Next("run fedbcd --proximal 0.1", "a common model that pulls")
        return [some, Next("run fpfc", "groups that share a model")]
    if isinstance(algorithm, FedBCD):
        some = Next("run fedbcd --variant separate", "another fixed point")
        if algorithm.variant == "separate":
            some = Next("run fedbcd --local-steps 5", "the rest of one step")
        return [some, Next("check baselines/fedbcd", "50 drawn tasks")]
    some = Next("run per-fedavg --gradient second-order", "the minimiser of F")
    if algorithm.gradient == "second-order":
        some = Next("run per-fedavg", "a rest beside F's minimum")
    return [some, Next("check baselines/per-fedavg-fo-optimum", "an example of two clients")]

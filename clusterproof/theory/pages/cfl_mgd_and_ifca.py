"""The page of CFL-MGD and IFCA, for runs with one model per cluster on tasks with known optima."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.running.matching import models_of
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.gaussian import SHARES
from clusterproof.theory.bounds.hypotheses import Hypothesis, Value, unmet
from clusterproof.theory.bounds.setting import largest_radius
from clusterproof.theory.bounds.trace_bound import ROUNDING, Compared, TraceBound, largest_length
from clusterproof.theory.pages.facts import Choices, Facts, Law, Lost, Next, Rate, Result
from clusterproof.theory.pages.judging import (
    Theorem,
    count,
    judge_all,
    judged,
    named,
    of_another_law,
    outcome_of_claim,
    quantile,
)
from clusterproof.theory.pages.measured import (
    error_curve,
    error_facts,
    run_facts,
    start_curve,
    task_facts,
)
from clusterproof.theory.pages.page import Page
from clusterproof.theory.pages.records import Curve, ErrorPicture, Outcome, Worst
from clusterproof.theory.papers.cfl_mgd import on_runs
from clusterproof.theory.papers.cfl_mgd.floor import C_4
from clusterproof.theory.papers.cfl_mgd.repaired.theorem_1_without_noise import allowed_share
from clusterproof.theory.papers.ifca.basin import contraction
from clusterproof.theory.runs.bound import FAILURE
from clusterproof.theory.runs.cfl_mgd_and_ifca import ClusterRun
from clusterproof.theory.runs.factor import last_rounds
from clusterproof.theory.runs.run import FEWEST_RUNS

BESIDE = ("cfl-mgd/theorem-a",)
"""Theorems without a paragraph, which appear only in the table of the page."""

D = "cfl-mgd/theorem-d"
OPTION_1: dict[str, Value] = {
    "averaging": "gradient",
    "normalisation": "clients",
    "momentum_owner": "server",
    "update_order": "momentum-first",
    "reset_momentum": False,
}
"""Settings of CFL-MGD that our theorem for the case without noise requires."""


def _printed_needs(run: ClusterRun) -> Iterator[Hypothesis]:
    return on_runs.needs_of(run.task, run.trace)


def _theorem_1(run: ClusterRun) -> Outcome:
    one = run.printed
    known: dict[str, Value] = {
        "rho_0": one.floor,
        "rho_0 allowed by (A38)": one.allowed,
        "l/4": float(run.task.proportions.min()) / 4,
        "T": one.rounds,
        "lambda_i": on_runs.LEVEL,
        "1 - l mu/(8 L)": one.factor,
    }
    value = None if run.factor is None else run.factor.measured.value
    if value is not None and 0 < value < 1:
        known["printed rounds in one"] = float(np.log(value) / np.log(one.factor))
    return Outcome(
        "says nothing",
        measured=quantile(run.errors[-1].max(axis=-1)),
        allowed=one.conclusion,
        start=run.start,
        constants=known,
        reason="proof of Theorem 1" if one.known else "proof of Theorem 1, at least",
    )


def lemma_2_on_run(run: ClusterRun) -> Outcome:
    """Compare every round with the printed Lemma 2: error <= rate * previous error + rho_0."""
    errors, one = run.errors, run.printed
    last = one.factor * float(errors[-2].max()) + one.floor if len(errors) > 1 else one.floor
    found = Outcome(
        "holds",
        measured=quantile(errors[-1].max(axis=-1)),
        allowed=last,
        start=float(errors[0].max()),
        constants={"rho_0": one.floor},
        reason="Lemma 2 holds here",
    )
    if one.floor >= errors[0].max():
        return replace(found, outcome="says nothing", reason="Lemma 2 says nothing")
    if not one.known:
        return replace(found, outcome="inconclusive", reason="rho_0 is not known")
    excess = errors[1:] - one.factor * errors[:-1] - one.floor
    if not (excess > ROUNDING * largest_length(run.trace)).any():
        return found
    at, number, cluster = np.unravel_index(int(np.argmax(excess)), excess.shape)
    seen, limit = errors[at + 1, number, cluster], one.factor * errors[at, number, cluster] + one.floor
    worst = Worst("error", float(seen), float(limit), int(at) + 1, int(cluster) + 1)
    if one.certain:
        return replace(found, outcome="is broken", worst=worst, reason="")
    return replace(found, outcome="inconclusive", worst=worst, reason="chance may decide")


def _remark_1(run: ClusterRun) -> Outcome:
    least = 16 * run.task.condition_number * float(C_4)
    return Outcome("is broken", constants={"4 L/mu": least}, reason="the bound does not vanish")


PRINTED = (
    Theorem("cfl-mgd/theorem-1", _theorem_1, _printed_needs, of_no_round=True),
    Theorem("cfl-mgd/lemma-2", lemma_2_on_run, _printed_needs, of_no_round=True),
    Theorem("cfl-mgd/remark-1", _remark_1, of_no_round=True),
)


def _without_noise_needs(run: ClusterRun) -> Iterator[Hypothesis]:
    task, algorithm = run.task, run.algorithm
    yield Hypothesis("exact losses", "=", True, on_runs.is_exact(task))
    yield Hypothesis("one loss a cluster", "=", True, on_runs.share_losses(task))
    for option, value in OPTION_1.items():
        yield Hypothesis(f"--{option.replace('_', '-')}", "=", value, getattr(algorithm, option))
    yield Hypothesis("participation", "=", 1, float(algorithm.participation))
    yield Hypothesis("mu < L", "=", True, bool(task.strong_convexity < task.smoothness))
    longest, room = float(_lengths(run).max()), 1 - float(algorithm.momentum)
    yield Hypothesis("eta L l_max", "<=", room, longest, "1 - momentum")
    yield Hypothesis("wrong choices", "=", 0, int((run.votes != task.labels).sum()))


def _lengths(run: ClusterRun) -> np.ndarray:
    """Return eta L l_p for each cluster."""
    return np.asarray(run.algorithm.step_size * run.task.smoothness * run.task.proportions)


def _without_noise(run: ClusterRun) -> Outcome:
    """Compare with ``cfl-mgd/theorem-1-without-noise``."""
    task, errors = run.task, run.errors
    curvature = float(task.strong_convexity / task.smoothness)
    shares = allowed_share(_lengths(run), float(run.algorithm.momentum), curvature, len(errors) - 1)
    allowed, tolerance = shares[:, None] * errors[0], ROUNDING * largest_length(run.trace)
    found = Outcome(
        "holds",
        measured=quantile(errors[-1].max(axis=-1)),
        allowed=float(allowed[-1].max()),
        start=run.start,
        reason="" if errors[-1].max() > tolerance else "rounding",
    )
    if not (errors > allowed * (1 + ROUNDING) + tolerance).any():
        return found
    at = np.unravel_index(int(np.argmax(errors - allowed)), errors.shape)
    worst = Worst("error", float(errors[at]), float(allowed[at]), int(at[0]), int(at[2]) + 1)
    return replace(found, outcome="is broken", worst=worst)


WITHOUT_NOISE = Theorem(
    "cfl-mgd/theorem-1-without-noise",
    _without_noise,
    lambda run: run.right_rounds(_without_noise_needs(run)),
    on_page=lambda run: on_runs.is_exact(run.task),
)


def _basin_needs(run: ClusterRun) -> Iterator[Hypothesis]:
    task, algorithm = run.task, run.algorithm
    yield Hypothesis("linear regression", "=", True, isinstance(task, RegressionMixture))
    yield Hypothesis("exact losses", "=", True, run.exact or task.clusters == 1)
    yield Hypothesis("clusters", ">=", 2, task.clusters)
    yield Hypothesis("--averaging", "=", "gradient", algorithm.averaging)
    yield Hypothesis("participation", "=", 1, float(algorithm.participation))
    yield Hypothesis("eta L", "<=", 1, float(algorithm.step_size * task.smoothness))
    yield Hypothesis("start", "<", float(largest_radius(task)), run.start, "Delta/(1 + sqrt(L/mu))")


def _basin(run: ClusterRun) -> Outcome:
    """Compare with ``ifca/basin``: IFCA finds all clusters from initial models within Delta/(1 + sqrt(L/mu))."""
    task, errors = run.task, run.errors
    kept = contraction(
        run.algorithm.step_size, task.proportions, task.strong_convexity, np.arange(len(errors))
    )
    allowed = kept[:, None] * errors[0]
    wrong, tolerance = int((run.votes != task.labels).sum()), ROUNDING * largest_length(run.trace)
    found = Outcome(
        "holds",
        measured=float(errors[-1].max()),
        allowed=float(allowed[-1].max()),
        constants={"wrong choices": wrong},
        reason="" if errors[-1].max() > tolerance else "rounding",
    )
    if not wrong and not (errors > allowed * (1 + ROUNDING) + tolerance).any():
        return found
    at = np.unravel_index(int(np.argmax(errors - allowed)), errors.shape)
    worst = Worst("error", float(errors[at]), float(allowed[at]), int(at[0]), int(at[2]) + 1)
    return replace(found, outcome="is broken", worst=worst, reason="wrong choices")


def _radii(run: ClusterRun) -> dict[str, Value]:
    known = {"start": run.start, "the paper's basin": float(run.task.basin_radius)}
    return {"our basin": float(largest_radius(run.task)), **known}


BASIN = Theorem("ifca/basin", _basin, _basin_needs, _radii)


def clustered_page(run: ClusterRun) -> Page:
    """Return the page of a run of CFL-MGD or IFCA with one model per cluster and known optima."""
    theorems, others = judge_all((BASIN,) if run.is_ifca else (*PRINTED, WITHOUT_NOISE), run)
    theorem_d, bound, compared = _theorem_d(run)
    results: list[Result] = [_choices(run)]
    error = error_facts(run, "distance of the worst model from the optimum of its cluster")
    results += [] if error is None else [error]
    facts = Facts(
        task_facts(run),
        run_facts(run),
        (*results, rate_facts(run), _law(run)),
        (*theorems, theorem_d),
        others,
        _next(run),
    )

    def beside() -> tuple[Outcome, ...]:
        known = (claim_id for claim_id in BESIDE if claim_id in REGISTRY)
        return tuple(outcome_of_claim(one, run, law_differs=run.law_differs)[0] for one in known)

    curves: tuple[Curve, ...] = ()
    if bound is not None:
        curves = (_curve_d(run, theorem_d, bound, compared[0]),)
    if not run.is_ifca and theorems[0].outcome != "does not apply":
        curves = (*curves, *_printed_curves(run))
    return Page(facts, beside, _picture(run, curves))


def _theorem_d(run: ClusterRun) -> tuple[Outcome, TraceBound | None, list[Compared]]:
    """Return the joint outcome of Theorem D's bounds on the error and on the deviation, and both bounds."""
    found, allowed = outcome_of_claim(D, run, law_differs=run.law_differs)
    if allowed is None:
        return found, None, []
    compared, probability = allowed.compared(run.trace), float(allowed.failure_probability)
    early = max(probability - SHARES[2] * FAILURE, 0.0)
    above = (
        count("before the last round", compared, early, slice(None, -1)),
        count("at the end", compared, probability, slice(-1, None)),
    )
    found = judged(compared, above)
    twice = named(
        D, replace(found, constants={"failure of the first bound": early, "failure at the end": probability})
    )
    return of_another_law(twice) if run.law_differs else twice, allowed, compared


def _choices(run: ClusterRun) -> Choices:
    """Return which clusters were found, the number of wrong choices, and the initial probability of a wrong choice.

    The last choices determine which model belongs to which cluster. If they do not, a model belongs to the cluster
    whose optimum is nearest to the initial model.
    """
    task, trace = run.task, run.trace
    ended, took_part = trace.last_assignments.reshape(-1, task.clients), run.votes >= 0
    of_cluster = models_of(ended, trace.labels, task.clusters)
    chosen = np.where(took_part, np.take_along_axis(of_cluster[None], np.maximum(run.votes, 0), axis=2), -1)
    last = np.where(ended >= 0, np.take_along_axis(of_cluster, np.maximum(ended, 0), axis=1), -1)
    wrong, total = int((took_part & (chosen != trace.labels)).sum()), int(took_part.sum())
    lost = tuple(_lost_clusters(last, trace.labels, task.clusters))
    chance = None
    if isinstance(task, RegressionMixture) and task.data == "fresh":
        first = run.models[0, 0]
        chances = [task.misclassification_probability(first, p).sum() for p in range(task.clusters)]
        chance = min(1.0, float(max(chances)))
    found = not lost and trace.rounds > 0 and bool((last >= 0).all())
    return Choices(task.clusters, found, wrong, total, chance, lost)


def _lost_clusters(last: np.ndarray, labels: np.ndarray, clusters: int) -> Iterator[Lost]:
    """Yield each lost cluster, counted from 1, and the models that its clients chose, from the last choices (R, m)."""
    for cluster in range(clusters):
        chosen = last[:, labels == cluster]
        known = (chosen >= 0).sum(axis=1)
        where = (known > 0) & (2 * (chosen == cluster).sum(axis=1) <= known)
        if where.any():
            others = chosen[where]
            model = np.bincount(others[(others >= 0) & (others != cluster)]).argmax() + 1
            yield Lost(cluster + 1, chosen.shape[1], int(where.sum()), int(model))


def rate_facts(run: ClusterRun) -> Rate:
    """Return the factor of the slowest cluster."""
    found = run.factor
    if found is None:
        return Rate("error", reason="the runs start from different models")
    one = found.measured
    low, high = (None, None) if one.interval is None else one.interval
    rate = Rate(
        "error",
        one.value,
        0,
        one.rounds,
        low,
        high,
        exact=found.exact,
        limit=found.limit,
        floor=one.floor,
        computed_floor=found.floor,
        floor_reached=one.floor_reached,
        window=last_rounds(run.rounds),
        cluster=found.cluster + 1,
        of_all=found.of_all,
    )
    if not one.falls and run.rounds:
        return replace(rate, value=None, reason="the error does not fall")
    if one.value is not None:
        return rate
    if found.floor is not None:
        return replace(rate, reason="noise covers the error", remedy="more --samples")
    remedy = "" if one.floor_reached else "more --rounds"
    return replace(rate, reason="too few rounds above noise", remedy=remedy)


def _law(run: ClusterRun) -> Law:
    failing = unmet(run.law_needs)
    if run.law is None:
        reason = "no Gaussian noise above rounding" if failing is None else ""
        return Law("law", "not compared", unmet=failing, reason=reason)
    one = run.law
    outcome = "differs" if run.law_differs else "follows"
    return Law("law", outcome, one.noise, one.path_differs, one.noise_differs)  # type: ignore[arg-type]


def _next(run: ClusterRun) -> tuple[Next, ...]:
    theorem_d = Next(f"show {D}", "Theorem D with its proof")
    if not run.is_ifca:
        return Next("check cfl-mgd/lemma-2", "where Lemma 2 is false"), theorem_d
    if run.exact:
        return Next("run ifca", "new samples"), theorem_d
    return Next("run ifca --data population", "the basin with exact losses"), theorem_d


# ---- the picture


def _curve_d(run: ClusterRun, found: Outcome, bound: TraceBound, compared: Compared) -> Curve:
    """Return bounds on the largest error: for all rounds before the last round together, and for the last round."""
    every = np.asarray(bound.bound, dtype=float)
    values, last = every.reshape(len(every), -1).max(axis=1), float(compared.allowed[-1].max())
    values[-1] = np.nan
    told = str(found.outcome)
    if found.outcome == "holds" and found.ratio is not None and not found.reason:
        of = "the run's error" if run.runs == 1 else "the error of the worst run"
        of = "the error that 95 % of the runs stay below" if run.runs >= FEWEST_RUNS else of
        told = f"at the end {last / (found.measured or 1.0):.2g} times {of}"
    source = "" if run.is_ifca else " (ours)"
    return Curve("repaired", "Theorem D", f"Theorem D{source}: {told}", values, last=last)


def _printed_curves(run: ClusterRun) -> tuple[Curve, Curve]:
    """Return a curve for rho of Theorem 1, and a curve for the factor of Theorem 1 without rho."""
    one, rounds = run.printed, np.arange(len(run.errors))
    level = "" if one.known else r"$\rho$, at least "
    words = rf"Theorem 1 (reading): error $\leq$ {level}{one.conclusion:.3g}"
    alone = f"the factor of Theorem 1 alone, {one.factor:.4f} a round"
    return (
        Curve("printed", "Theorem 1", words, np.full(len(rounds), one.conclusion)),
        Curve("printed factor", "factor of Theorem 1", alone, run.start * one.factor**rounds),
    )


def _picture(run: ClusterRun, bounds: tuple[Curve, ...]) -> ErrorPicture:
    """Return the content of the figure: the largest error of a model in the runs and without noise, and bounds."""
    errors, several = run.errors.max(axis=-1), run.task.clusters > 1
    roles = {one.role for one in bounds}
    parts = [f"{run.name.upper()}: error of the run{'s' * (run.runs > 1)}"]
    parts += ["Theorem 1"] * ("printed" in roles)
    parts += ["Theorem D"] * ("repaired" in roles)
    title = " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
    curves, measured = [error_curve(errors)], None
    if run.factor is not None:
        path, one = run.factor.without_noise, run.factor.measured
        if path is not None and not run.exact:  # an exact run equals this path
            exact = path.max(axis=-1)
            curves.append(Curve("without noise", "without noise", "without noise", exact))
        if one.value is not None:
            measured = f"{'slowest cluster: ' * several}{one.value:.4f} a round", one.rounds
    quantity = r"error $\max_p \|\chi_p^t - \chi_p^*\|$" if several else r"error $\|\chi^t - \chi^*\|$"
    return ErrorPicture(title, quantity, (*curves, *bounds, start_curve(errors)), measured)

"""The pages of Per-FedAvg, FedBCD and LOCAL: their fixed points, the way there, and what is stated of both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import FedBCD, Local, PerFedAvg, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.numbers import apart, short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.affine_rounds import (
    AffineRounds,
    exact_quadratics,
    first_difference,
    inner_step,
    parameter_of,
    rounds_of,
)
from clusterproof.theory.runs.hypotheses import AT_REST, MOVED, Need, refusal
from clusterproof.theory.runs.page import Entry, Page, TheoremOnRun, entry

FEWEST = 3
"""A factor is measured over at least so many rounds."""


@dataclass(frozen=True, eq=False)
class Setting:
    """A run on quadratics, where its rounds are known.

    Attributes
    ----------
    rounds
        None off exact quadratics, with some of the clients, or where a sample weighs.
    distances
        Of the models from the fixed point, (rounds + 1, R).
    size
        Largest entry of a model or of a client's minimiser.
    difference
        The first round that leads elsewhere, and by how much; None if none does.
    """

    algorithm: Any
    task: Mixture
    trace: Trace
    rounds: AffineRounds | None
    distances: np.ndarray
    size: float
    difference: tuple[int, float] | None


def personal_page(task: Mixture, trace: Trace) -> Page:
    """Return the page of a run of Per-FedAvg, FedBCD or LOCAL."""
    setting = setting_of(task, trace)
    algorithm = setting.algorithm
    run = entry("Run", f"{_options(algorithm, task)}; {_who(algorithm)}", _rounds_line(trace))
    facts = [sections.task_entry(task), run]
    if exact_quadratics(task) is not None and not isinstance(algorithm, Local):
        facts.append(_model_entry(setting))
    if trace.errors is not None:
        local = isinstance(algorithm, Local)
        distance = "largest distance from a cluster's optimum"
        facts.append(sections.error_entry(trace, distance if local else "distance from the common optimum"))
    facts += _rest_entries(setting)
    theorems, shown = _judged(setting)
    title = sections.title(trace)
    return Page(title, (("", tuple(facts)), ("Theorems", (*shown, _next(setting)))), theorems)


def setting_of(task: Mixture, trace: Trace) -> Setting:
    """Return the rounds of a run, and how they compare with its algorithm's."""
    algorithm: Any = dynamics_of(trace)
    rounds = rounds_of(algorithm, task)
    models = sections.replicated(trace.models, trace)
    size = float(np.abs(models).max())
    if rounds is None:
        return Setting(algorithm, task, trace, None, np.empty((len(models), 0)), size, None)
    distances = np.linalg.norm(models - rounds.rest, axis=(-1, -2))
    size = max(size, float(np.abs(rounds.centers).max()))
    known = all(met for met, _, _ in _stable(algorithm, task))
    difference = first_difference(rounds, trace) if known else None
    return Setting(algorithm, task, trace, rounds, distances, size, difference)


def _options(algorithm: Any, task: Mixture) -> str:
    smoothness = _client_smoothness(task)
    parts = [sections.descent_words(algorithm, smoothness)]
    if isinstance(algorithm, PerFedAvg):
        inner = sections.descent_words(
            replace(algorithm, step_size=inner_step(algorithm), local_steps=1), smoothness
        )
        parts = [algorithm.gradient, *parts, f"personal {inner}"]
    elif isinstance(algorithm, FedBCD):
        name = "mu" if algorithm.variant == "penalised" else "pull"
        parts = [f"{algorithm.variant}, {name} {short(parameter_of(algorithm))}", *parts]
        if algorithm.server_step_size != 1:
            parts.append(f"server's step {short(algorithm.server_step_size)}")
    if getattr(algorithm, "weighting", "clients") == "samples":
        parts.append("samples weigh")
    return ", ".join(parts)


def _who(algorithm: Any) -> str:
    share = algorithm.participation
    return "all clients" if share == 1 else f"{100 * share:.3g} % of the clients a round"


def _rounds_line(trace: Trace) -> str:
    return f"{sections.rounds_words(trace)}, {sections.runs_words(trace)}"


def _client_smoothness(task: Mixture) -> float:
    """Return the largest curvature of a client's loss, or of a cluster's where that is not known."""
    found = exact_quadratics(task)
    return float(np.linalg.eigvalsh(found[0]).max()) if found is not None else task.smoothness


def _model_entry(setting: Setting) -> Entry:
    """Say how far the last models are from the clusters' optima, and from the clients' after a personal step."""
    task, last = setting.task, sections.replicated(setting.trace.models, setting.trace)[-1]
    away = np.linalg.norm(last - task.optima, axis=-1)
    lines = [f"one for all clients, {_range(away)} from the clusters' optima"]
    if isinstance(setting.algorithm, PerFedAvg):
        quadratics = exact_quadratics(task)
        assert quadratics is not None
        hessians, centers = quadratics
        gradients = np.einsum("mij,...mj->...mi", hessians, last - centers)
        stepped = last - inner_step(setting.algorithm) * gradients
        lines.append(
            f"after a client's step {_range(np.linalg.norm(stepped - task.client_optima, axis=-1))} from them"
        )
    return entry("Model", *lines)


def _range(values: np.ndarray) -> str:
    low, high = (short(float(value)) for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _rest_entries(setting: Setting) -> list[Entry]:
    """Return the entries Rest and Factor, where the fixed point is known."""
    rounds, algorithm, trace = setting.rounds, setting.algorithm, setting.trace
    if rounds is None:
        return []
    lines = [_where(setting)]
    radius = rounds.radius
    if radius is not None and radius >= 1:
        return [entry("Rest", *lines, f"no run comes there: a round multiplies the way by {radius:.4g}")]
    if setting.difference is not None:
        number, size = setting.difference
        lines.append(
            f"but round {number} ends {short(size)} from where {algorithm.name} with these options leads"
        )
    end = float(setting.distances[-1].max())
    at_rest = end <= AT_REST * setting.size
    lines.append(f"the run ends {'there' if at_rest else f'{short(end)} from it'}")
    return [entry("Rest", *lines), _factor(setting, trace)]


def _where(setting: Setting) -> str:
    """Say what the fixed point minimises, and how far it is from the optima."""
    rounds, algorithm, task = setting.rounds, setting.algorithm, setting.task
    assert rounds is not None
    rest, centers = rounds.rest, rounds.centers
    if isinstance(algorithm, Local):
        away = np.linalg.norm(rest - task.client_optima, axis=-1)
        return f"each client's own optimum, {_range(away)} from its cluster's, exactly"
    common = short(float(np.linalg.norm(rest[0] - task.pooled_optimum)))
    if isinstance(algorithm, PerFedAvg):
        gap = short(_gap(setting))
        return (
            f"fixed point {common} from the common optimum, {gap} from the minimiser of F(w) = "
            "mean phi_i(w - alpha grad phi_i(w)), exactly"
        )
    if algorithm.variant == "separate":
        return f"fixed point {common} from the common optimum, exactly"
    quadratics = exact_quadratics(task)
    assert quadratics is not None
    own = affine_rounds.pulled(quadratics[0], centers, rest[0], parameter_of(algorithm))
    return (
        f"minimises sum phi_i(x_i) + mu/2 |x_i - z|^2: z is {common} from the common optimum, the x_i "
        f"{_range(np.linalg.norm(own - centers, axis=-1))} from the clients' own, exactly"
    )


def _gap(setting: Setting) -> float:
    """Return the distance of Per-FedAvg's fixed point from the minimiser of F, 0 up to rounding."""
    assert setting.rounds is not None
    quadratics = exact_quadratics(setting.task)
    assert quadratics is not None
    hessians, centers = quadratics
    shrink = np.eye(centers.shape[1]) - inner_step(setting.algorithm) * hessians
    minimiser = affine_rounds.weighted_mean(shrink @ hessians @ shrink, centers)
    gap = float(np.linalg.norm(setting.rounds.rest[0] - minimiser))
    return gap if gap > AT_REST * setting.size else 0.0


def _factor(setting: Setting, trace: Trace) -> Entry:
    """Return the factor by which the distance from the fixed point falls in a round, of the slowest run."""
    assert setting.rounds is not None
    radius = setting.rounds.radius
    limit = "" if radius is None else f"limit, exactly: {radius:.4f}"
    slowest = setting.distances[:, int(np.argmax(setting.distances[-1]))]
    far = np.flatnonzero(slowest > AT_REST * setting.size)
    last = int(far[-1]) if len(far) else 0
    first = last // 2
    if last - first < FEWEST:
        rested = f"at rest from round {last + 1} on" if len(far) < len(slowest) else "too few rounds"
        return entry("Factor", f"none: {rested}{f' ({limit})' if limit else ''}")
    value = float((slowest[last] / slowest[first]) ** (1 / (last - first)))
    words = f"{value:.4f} a round towards the fixed point, rounds {first} to {last}"
    return entry("Factor", words, *([f"({limit})"] if limit else []))


def _judged(setting: Setting) -> tuple[tuple[TheoremOnRun, ...], tuple[Entry, ...]]:
    """Return the claims about the algorithm, readings of papers first."""
    algorithm = setting.algorithm
    if isinstance(algorithm, PerFedAvg):
        named = [("Optimum", _optimum_on_run(setting))]
        named += [(f"{kind} rest", _personal_rest(setting, kind)) for kind in ("FO", "HF")]
    elif isinstance(algorithm, FedBCD):
        kinds = (("At rest", "penalised", "fedbcd"), ("FedBCD-I", "separate", "fedbcd-separate"))
        named = [(label, _block_rest(setting, variant, claim)) for label, variant, claim in kinds]
    else:
        named = [("At rest", rest_on_run("baselines/local", _usual(setting), setting))]
    return tuple(one for _, one in named), tuple(entry(label, one.words) for label, one in named)


def _stable(algorithm: Any, task: Mixture) -> list[Need]:
    """Return the hypothesis on the step size."""
    added = (
        parameter_of(algorithm) if isinstance(algorithm, FedBCD) and algorithm.variant == "penalised" else 0.0
    )
    scaled = algorithm.step_size * (_client_smoothness(task) + added)
    name = "L + mu" if added else "L"
    needed, here = apart(2.0, scaled)
    return [
        (
            scaled < 2,
            f"eta < {needed}/({name})" if added else f"eta < {needed}/L",
            f"{here}/({name})" if added else f"{here}/L",
        )
    ]


def _usual(setting: Setting) -> list[Need]:
    """Return the hypotheses of all these claims."""
    task, algorithm = setting.task, setting.algorithm
    kind = sections.kind(setting.trace)
    weighted = getattr(algorithm, "weighting", "clients") == "samples" and np.ptp(task.client_samples) > 0
    return [
        (exact_quadratics(task) is not None, "quadratics without noise (--task quadratic)", kind),
        (algorithm.participation == 1, "all clients", f"{100 * algorithm.participation:.3g} %"),
        (not weighted, "equal weights", "those of samples"),
        *_stable(algorithm, task),
        (setting.rounds is not None, "one fixed point", "none or several"),
    ]


def _inner(setting: Setting) -> Need:
    scaled = inner_step(setting.algorithm) * _client_smoothness(setting.task)
    needed, here = apart(1.0, scaled)
    return scaled < 1, f"alpha < {needed}/L", f"{here}/L"


def _personal_rest(setting: Setting, kind: str) -> TheoremOnRun:
    name, needed = {
        "FO": ("baselines/per-fedavg-fo", "first-order"),
        "HF": ("baselines/per-fedavg-hf", "second-order"),
    }[kind]
    given = setting.algorithm.gradient
    needs = [(given == needed, f"--gradient {needed}", given), *_usual(setting), _inner(setting)]
    return rest_on_run(name, needs, setting)


def _block_rest(setting: Setting, variant: str, claim: str) -> TheoremOnRun:
    given = setting.algorithm.variant
    needs = [(given == variant, f"--variant {variant}", given), *_usual(setting)]
    return rest_on_run(f"baselines/{claim}", needs, setting)


def _optimum_on_run(setting: Setting) -> TheoremOnRun:
    """Compare with the reading that first-order Per-FedAvg minimises F."""
    claim, algorithm = "baselines/per-fedavg-fo-optimum", setting.algorithm
    needs = [
        (algorithm.gradient == "first-order", "--gradient first-order", algorithm.gradient),
        (algorithm.local_steps == 1, "1 local step", str(algorithm.local_steps)),
        *_usual(setting),
        _inner(setting),
    ]
    refused = refusal(claim, needs, setting)
    if refused is not None:
        return refused
    gap, end = _gap(setting), float(setting.distances[-1].max())
    known = f"(Fallah et al. 2020, as read): {algorithm.name} rests"
    if gap == 0:
        return TheoremOnRun(claim, "holds", gap, 0.0, f"holds {known} at the minimiser of F")
    if end > gap / 2:
        words = (
            f"inconclusive: {short(end)} from its fixed point, which is {short(gap)} from the minimiser of F"
        )
        return TheoremOnRun(claim, "inconclusive", end, gap, words)
    words = f"broken {known} {short(gap)} from the minimiser of F, exactly"
    return TheoremOnRun(claim, "broken", gap, 0.0, words)


def rest_on_run(claim: str, needs: Iterable[Need], setting: Setting) -> TheoremOnRun:
    """Compare a run with the closed form of its fixed point: whether each round leads there.

    A run whose rounds are the stated ones, which contract to the closed form, is one that rests there.
    """
    refused = refusal(claim, needs, setting)
    if refused is not None:
        return refused
    assert setting.rounds is not None
    off = setting.rounds.leads_to_rest()
    if off > 100 * ROUNDING * setting.size:
        words = f"broken: a round leads {short(off)} away from the stated point"
        return TheoremOnRun(claim, "broken", off, 0.0, words)
    end, number = float(setting.distances[-1].max()), setting.trace.rounds
    nearer = float(-np.diff(setting.distances, axis=0).min())
    if end <= AT_REST * setting.size:
        words = f"holds: at rest, {short(end)} from the stated point after round {number}"
    elif nearer > MOVED * setting.size and end < setting.distances[0].max():
        words = f"holds: every round is the stated one; {short(end)} from its rest after round {number}"
    else:
        words = f"inconclusive: {short(end)} from the stated point after round {number}; more --rounds"
        return TheoremOnRun(claim, "inconclusive", end, 0.0, words)
    return TheoremOnRun(claim, "holds", end, 0.0, words)


def _next(setting: Setting) -> Entry:
    """Name commands that show something else."""
    algorithm = setting.algorithm
    if exact_quadratics(setting.task) is None:
        return entry("Next", f"clusterproof run {algorithm.name}   on quadratics: its fixed point, exactly")
    commands = {
        "per-fedavg": ("run per-fedavg --gradient second-order", "minimises F"),
        "fedbcd": ("run fedbcd --variant separate", "another fixed point"),
        "local": ("run fedbcd --proximal 0.1", "where a common model pulls"),
    }
    if getattr(algorithm, "gradient", "") == "second-order":
        commands["per-fedavg"] = ("run per-fedavg", "not at F's minimum")
    if getattr(algorithm, "variant", "") == "separate":
        commands["fedbcd"] = ("run fedbcd --local-steps 5", "rests where one step does")
    command, remark = commands[algorithm.name]
    checks = {
        "per-fedavg": ("check baselines/per-fedavg-fo-optimum", "two clients"),
        "fedbcd": ("check baselines/fedbcd", "on 50 drawn tasks"),
        "local": ("run fpfc", "groups share a model"),
    }
    check, more = checks[algorithm.name]
    width = max(len(command), len(check)) + 3
    return entry("Next", f"clusterproof {command:<{width}}{remark}", f"clusterproof {check:<{width}}{more}")

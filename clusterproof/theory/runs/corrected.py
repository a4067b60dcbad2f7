"""The pages of SCAFFOLD and FedLin, whose rounds lead to the common optimum: the factor of a round and its bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clusterproof.algorithms import Scaffold, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.numbers import apart
from clusterproof.theory.bounds.trace_bound import ROUNDING, Compared
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.client_losses import gradients_at
from clusterproof.theory.runs.common_model import (
    MEASURED,
    Condition,
    Law,
    OneModelRun,
    does_not_apply,
    error_words,
    factor_entry,
    judged_on,
    law_of,
    model_entry,
    next_entry,
    one_model_run,
    ours,
    run_entry,
    task_entry,
    unmet,
)
from clusterproof.theory.runs.page import Entry, Page, TheoremOnRun, entry

LARGEST = 500
"""Rows of the matrix of a round up to which its spectral radius is computed."""


def corrected_page(task: Mixture, trace: Trace) -> Page:
    """Return the page of a run of SCAFFOLD or FedLin."""
    of = one_model_run(task, trace)
    is_scaffold = isinstance(of.algorithm, Scaffold)
    measure = {"psi": _psi(of)} if is_scaffold and not of.random else None
    law = law_of(of, measure)
    theorems, shown = (_scaffold_theorem if is_scaffold else _fedlin_theorems)(of, law)
    facts = (
        task_entry(of),
        run_entry(of, *([f"option {of.algorithm.option}"] if is_scaffold else [])),
        model_entry(of),
        entry("Error", error_words(of)),
        factor_entry(of, of.errors, "towards the common optimum", _radius(of)),
    )
    blocks = (("", facts), ("Theorems", (*shown, entry("Law", law.words), _next(of))))
    return Page(sections.title(trace), blocks, theorems)


def _radius(of: OneModelRun) -> float | None:
    """Return the spectral radius of a round on quadratics; None where it is not known, or its matrix large."""
    groups, algorithm = of.losses.groups, of.algorithm
    if groups is None or of.random or np.ptp(of.weights):
        return None
    share = groups.shares(of.weights)
    step, steps = algorithm.step_size, algorithm.local_steps
    if not isinstance(algorithm, Scaffold):
        matrix = affine_rounds.fedlin_map(groups.hessians, step_size=step, local_steps=steps, shares=share)
    elif (1 + len(groups.hessians)) * of.task.dimension > LARGEST:
        return None
    else:
        matrix = affine_rounds.scaffold_map(
            groups.hessians,
            step_size=step,
            local_steps=steps,
            option=algorithm.option,
            server_step_size=algorithm.server_step_size,
            shares=share,
        )
    return affine_rounds.radius(matrix) if np.isfinite(matrix).all() else None


def round_conditions(of: OneModelRun) -> tuple[Condition, ...]:
    """Return the hypotheses of the theorems about one round."""
    losses = of.losses
    pace = of.algorithm.step_size * losses.smoothness * of.local_steps
    return (
        *of.averaging_conditions,
        (losses.strong_convexity < losses.smoothness, "mu < L", "mu = L"),
        (pace <= 1 + ROUNDING, "eta L K <= 1", apart(pace, 1.0)[0]),
    )


def _rate(of: OneModelRun) -> float:
    """Return (1 - eta mu)^K, of lengths."""
    return float((1 - of.algorithm.step_size * of.losses.strong_convexity) ** of.local_steps)


def _control_weight(of: OneModelRun) -> float:
    """Return what Psi of SCAFFOLD has before its mean over clients."""
    return float((of.local_steps * of.algorithm.step_size) ** 2 / (3 if of.algorithm.option == "I" else 1))


def _psi(of: OneModelRun) -> Callable[[Any, Any], np.ndarray]:
    """Return the function that evaluates Psi of SCAFFOLD on its state."""
    weight, gradients = _control_weight(of), of.losses.gradients

    def psi(state: Any, task: Any) -> np.ndarray:
        distance = np.square(state.models[..., 0, :] - task.pooled_optimum).sum(axis=-1)
        controls = np.square(state.controls - state.control - gradients).sum(axis=-1)
        return np.asarray(distance + weight * controls.mean(axis=-1))

    return psi


def _scaffold_theorem(of: OneModelRun, law: Law) -> tuple[tuple[TheoremOnRun, ...], tuple[Entry, ...]]:
    """Compare with ``scaffold/sharp`` or ``scaffold/sharp-option-1``."""
    claim = "scaffold/sharp-option-1" if of.algorithm.option == "I" else "scaffold/sharp"
    needed = unmet(round_conditions(of))
    if needed:
        found = does_not_apply(claim, needed)
        return (found,), (entry("One round", found.words),)
    rate, weight = _rate(of), _control_weight(of)
    start = np.sqrt(of.errors[0] ** 2 + weight * of.losses.heterogeneity**2)
    kept = rate ** np.arange(of.trace.rounds + 1)
    compared, lines = [of.compared(kept[:, None] * start)], []
    psi = None if law.differs or not law.measured else law.measured.get("psi")
    if psi is not None:
        roots = np.sqrt(np.broadcast_to(np.asarray(psi).reshape(len(psi), -1), of.errors.shape))
        allowed = np.concatenate([roots[:1], rate * roots[:-1]])
        compared.append(of.compared(allowed, roots, "sqrt Psi"))
        lines.append(_largest_ratio(of, roots, "sqrt Psi", rate))
    third = "/3" if of.algorithm.option == "I" else ""
    lines.append(f"Psi = |x - x*|^2 + (K eta)^2{third} mean |c_i - c - g_i*|^2")
    found = judged_on(of, claim, compared, law)
    return (found,), (entry("One round", ours(found), *lines),)


def _largest_ratio(of: OneModelRun, values: np.ndarray, name: str, rate: float) -> str:
    """Return the largest factor of a length in a round, beside what is allowed."""
    counted = values[:-1] > MEASURED * of.unit
    allowed = f"{name} in a round: factor <= (1 - eta mu)^K = {rate:.4f}"
    if not counted.any():
        return allowed
    ratio = float((values[1:][counted] / values[:-1][counted]).max())
    return f"{allowed}; here <= {ratio:.4f}"


def _fedlin_theorems(of: OneModelRun, law: Law) -> tuple[tuple[TheoremOnRun, ...], tuple[Entry, ...]]:
    """Compare with the printed rate and with ``fedlin/sharp``."""
    printed, line = _printed_rate(of, law)
    shown = [entry("Rate", f"(Mitra et al. 2021, recalled) {printed.words}", *line)]
    claim, needed = "fedlin/sharp", unmet(round_conditions(of))
    if needed:
        found = does_not_apply(claim, needed)
        return (printed, found), (*shown, entry("One round", found.words))
    rate = _rate(of)
    kept = rate ** np.arange(of.trace.rounds + 1)
    allowed = np.concatenate([of.errors[:1], _after_a_round(of, rate)])
    compared = [of.compared(kept[:, None] * of.errors[0]), of.compared(allowed, name="error after a round")]
    found = judged_on(of, claim, compared, law)
    ratio = _largest_ratio(of, of.errors, "error", rate)
    return (printed, found), (*shown, entry("One round", ours(found), ratio))


def _after_a_round(of: OneModelRun, rate: float) -> np.ndarray:
    """Return the error that ``fedlin/sharp`` allows after each round, from that before it, (rounds, R)."""
    spared = (of.local_steps * of.algorithm.step_size) ** 2 * (1 - rate**2) / 3
    gradients = of.losses.gradients
    assert gradients is not None
    result = []
    for model, error in zip(of.models[:-1], of.errors[:-1], strict=True):
        found = gradients_at(of.task, model)
        apart_ = np.square(found - found.mean(axis=-2, keepdims=True) - gradients).sum(axis=-1).mean(axis=-1)
        result.append(np.sqrt(np.maximum(rate**2 * error**2 - spared * apart_, 0.0)))
    return np.reshape(result, (of.trace.rounds, of.errors.shape[1]))


def _printed_rate(of: OneModelRun, law: Law) -> tuple[TheoremOnRun, list[str]]:
    """Compare the gap with ``fedlin/rate``: f(x_T) - f* <= (1 - mu / (6 L))^T (f(x_0) - f*)."""
    claim, losses, steps = "fedlin/rate", of.losses, of.local_steps
    step, printed = of.algorithm.step_size, 1 / (6 * losses.smoothness * steps)
    shown = apart(printed, step)
    needed = unmet(
        (
            *of.averaging_conditions,
            (losses.strong_convexity < losses.smoothness, "mu < L", "mu = L"),
            (abs(step / printed - 1) <= 1e-9, f"steps of 1/(6 L K) = {shown[0]}", shown[1]),
        )
    )
    if needed:
        return does_not_apply(claim, needed), []
    if losses.groups is None:
        words = "inconclusive: f - f* is evaluated on quadratics only"
        return TheoremOnRun(claim, "inconclusive", None, None, words), []
    away = of.models - of.task.pooled_optimum
    curved = np.einsum("tri,ij,trj->tr", away, losses.groups.mean_hessian, away)
    roots = np.sqrt(np.maximum(curved, 0.0) / 2)
    rate = 1 - losses.strong_convexity / (6 * losses.smoothness)
    allowed = rate ** (np.arange(of.trace.rounds + 1) / 2)[:, None] * roots[0]
    unit = of.unit * float(np.sqrt(losses.smoothness / 2))
    compared = Compared("sqrt(f - f*)", roots[..., None], allowed[..., None], unit)
    found = judged_on(of, claim, [compared], law)
    counted = roots[:-1] > MEASURED * unit
    if not counted.any():
        return found, []
    largest = float(np.square(roots[1:][counted] / roots[:-1][counted]).max())
    return found, [f"f - f* in a round: factor <= 1 - mu/6L = {rate:.4f}; here <= {largest:.4f}"]


def _next(of: OneModelRun) -> Entry:
    name = of.algorithm.name
    if name == "fedlin":
        return next_entry(
            ("run fedlin --step-size 0.2", "a longer step"),
            ("check fedlin/rate", "tests of this rate"),
        )
    other = "II" if of.algorithm.option == "I" else "I"
    return next_entry(
        (f"run scaffold --option {other}", "the other controls"),
        ("check scaffold/option-1-diverges", "where option I diverges"),
    )

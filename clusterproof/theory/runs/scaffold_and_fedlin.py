"""The pages of SCAFFOLD and FedLin, whose rounds lead to the common optimum: the factor of a round and its bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from clusterproof.algorithms import Scaffold
from clusterproof.theory.bounds.hypotheses import Need
from clusterproof.theory.bounds.numbers import apart
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.papers.fedlin import recalled_rate
from clusterproof.theory.papers.scaffold.rounds import contraction
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.one_model import MEASURED, OneModelRun, error_entry, factor_entry, head, tail
from clusterproof.theory.runs.page import Page
from clusterproof.theory.runs.theorem import Row, Said, page_of, says

LARGEST = 500
"""Rows of the matrix of a round up to which its spectral radius is computed."""


class CorrectedRun(OneModelRun):
    """A run of SCAFFOLD or FedLin."""

    @cached_property
    def radius(self) -> float | None:
        """The spectral radius of a round on quadratics; None where it is not known, or its matrix large."""
        groups, algorithm = self.groups, self.algorithm
        if groups is None or self.random or np.ptp(self.weights):
            return None
        given: dict[str, Any] = {"step_size": algorithm.step_size, "local_steps": algorithm.local_steps}
        given["shares"] = groups.shares(self.weights)
        if isinstance(algorithm, Scaffold):
            if (1 + len(groups.hessians)) * self.task.dimension > LARGEST:
                return None
            given |= {"option": algorithm.option, "server_step_size": algorithm.server_step_size}
        round_map = affine_rounds.scaffold_map if "option" in given else affine_rounds.fedlin_map
        matrix = round_map(groups.hessians, **given)
        return affine_rounds.radius(matrix) if np.isfinite(matrix).all() else None

    @property
    def rate(self) -> float:
        """(1 - eta mu)^K, of lengths, as the claims have it."""
        step_size = self.algorithm.step_size
        return float(contraction(step_size, self.curvatures[1], self.local_steps) ** 0.5)

    @property
    def control_weight(self) -> float:
        """What Psi of SCAFFOLD has before its mean over clients: (K eta)^2, a third of it with option I."""
        third = 3 if self.algorithm.option == "I" else 1
        return float((self.local_steps * self.algorithm.step_size) ** 2 / third)

    @property
    def measure(self) -> dict[str, Callable[..., object]]:
        """Psi of SCAFFOLD."""
        return {"psi": self._psi} if isinstance(self.algorithm, Scaffold) else {}

    def _psi(self, state: Any, task: Any) -> np.ndarray:
        distance = np.square(state.models[..., 0, :] - task.pooled_optimum).sum(axis=-1)
        controls = np.square(state.controls - state.control - self.gradients).sum(axis=-1)
        return np.asarray(distance + self.control_weight * controls.mean(axis=-1))


def _curved(of: CorrectedRun) -> Iterator[Need]:
    yield from of.plain_means()
    yield Need(of.curvatures[1] < of.curvatures[0], "mu < L", "mu = L")


def round_needs(of: CorrectedRun) -> Iterator[Need]:
    """Yield the hypotheses of the theorems about one round."""
    yield from _curved(of)
    pace = of.algorithm.step_size * of.curvatures[0] * of.local_steps
    yield Need(pace <= 1 + ROUNDING, "eta L K <= 1", apart(pace, 1.0)[0])


def _scaffold(of: CorrectedRun) -> Said:
    """Compare with ``scaffold/sharp`` or ``scaffold/sharp-option-1``."""
    rate = of.rate
    start = np.sqrt(of.distances[0] ** 2 + of.control_weight * of.heterogeneity**2)
    compared, lines = [of.compared(rate ** np.arange(of.rounds + 1)[:, None] * start)], []
    psi = None if of.law.differs or not of.law.measured else of.law.measured.get("psi")
    if psi is not None:
        roots = np.sqrt(np.broadcast_to(np.asarray(psi).reshape(len(psi), -1), of.distances.shape))
        compared.append(of.compared(np.concatenate([roots[:1], rate * roots[:-1]]), roots, "sqrt Psi"))
        lines.append(_largest_ratio(of, roots, "sqrt Psi"))
    third = "/3" * (of.algorithm.option == "I")
    lines.append(f"Psi = |x - x*|^2 + (K eta)^2{third} mean |c_i - c - g_i*|^2")
    return replace(of.judged(compared), lines=tuple(lines))


def _ratios(values: np.ndarray, unit: float) -> np.ndarray:
    """Return the factors of lengths (rounds + 1, R) in a round, where they are measured."""
    counted = values[:-1] > MEASURED * unit
    return np.asarray(values[1:][counted] / values[:-1][counted])


def _largest_ratio(of: CorrectedRun, values: np.ndarray, name: str) -> str:
    """Return the largest factor of a length in a round, beside what is allowed."""
    ratios = _ratios(values, of.unit)
    here = f"; here <= {float(ratios.max()):.4f}" if ratios.size else ""
    return f"{name} in a round: factor <= (1 - eta mu)^K = {of.rate:.4f}{here}"


def _fedlin(of: CorrectedRun) -> Said:
    """Compare with ``fedlin/sharp``, over all rounds, and in each round with the term that it has to spare."""
    rate, spared = of.rate, (of.local_steps * of.algorithm.step_size) ** 2 * (1 - of.rate**2) / 3
    after = np.empty((of.rounds, of.runs))
    for number, (model, error) in enumerate(zip(of.path[:-1], of.distances[:-1], strict=True)):
        found = of.gradients_at(model)
        away = np.square(found - found.mean(axis=-2, keepdims=True) - of.gradients).sum(axis=-1)
        after[number] = np.sqrt(np.maximum(rate**2 * error**2 - spared * away.mean(axis=-1), 0.0))
    kept = rate ** np.arange(of.rounds + 1)[:, None] * of.distances[0]
    each = of.compared(np.concatenate([of.distances[:1], after]), name="error after a round")
    return replace(of.judged([of.compared(kept), each]), lines=(_largest_ratio(of, of.distances, "error"),))


def _printed_steps(of: CorrectedRun) -> Iterator[Need]:
    yield from _curved(of)
    step, printed = of.algorithm.step_size, 1 / (6 * of.curvatures[0] * of.local_steps)
    shown = apart(printed, step)
    yield Need(abs(step / printed - 1) <= 1e-9, f"steps of 1/(6 L K) = {shown[0]}", shown[1])


def _printed_rate(of: CorrectedRun) -> Said:
    """Compare the gap with ``fedlin/rate``: f(x_T) - f* <= (1 - mu / (6 L))^T (f(x_0) - f*)."""
    if of.groups is None:
        return says("inconclusive", "f - f* is evaluated on quadratics only")
    share = of.groups.shares(np.ones(of.task.clients))
    hessian = np.einsum("g,gij->ij", share, of.groups.hessians)
    away = of.path - of.task.pooled_optimum
    roots = np.sqrt(np.maximum(np.einsum("tri,ij,trj->tr", away, hessian, away), 0.0) / 2)
    rate, unit = float(recalled_rate(*of.curvatures)), float(np.sqrt(of.curvatures[0] / 2))
    allowed = rate ** (np.arange(of.rounds + 1) / 2)[:, None] * roots[0]
    found = of.judged([of.compared(allowed, roots, "sqrt(f - f*)", unit)])
    ratios = _ratios(roots, of.unit * unit)
    if not ratios.size:
        return found
    words = f"f - f* in a round: factor <= 1 - mu/6L = {rate:.4f}; here <= {float(ratios.max()) ** 2:.4f}"
    return replace(found, lines=(words,))


FEDLIN: tuple[Row, ...] = (
    Row("Rate", "fedlin/rate", _printed_rate, _printed_steps, source="(Mitra et al. 2021, recalled) "),
    Row("One round", "fedlin/sharp", _fedlin, round_needs, ours=True),
)
SCAFFOLD = {"I": "scaffold/sharp-option-1", "II": "scaffold/sharp"}


def corrected_page(of: CorrectedRun) -> Page:
    """Return the page of a run of SCAFFOLD or FedLin."""
    rows, settings, option = FEDLIN, [], getattr(of.algorithm, "option", "")
    commands = ("run fedlin --step-size 0.2", "a longer step"), ("check fedlin/rate", "tests of this rate")
    if option:
        rows = (Row("One round", SCAFFOLD[option], _scaffold, round_needs, ours=True),)
        settings, other = [f"option {option}"], {"I": "II", "II": "I"}[option]
        diverges = "check scaffold/option-1-diverges", "where option I diverges"
        commands = (f"run scaffold --option {other}", "the other controls"), diverges
    factor = factor_entry(of, of.distances, "towards the common optimum", of.radius)
    known = (*head(of, *settings), error_entry(of), factor)
    return page_of(facts.title(of), known, rows, of, *tail(of, *commands))

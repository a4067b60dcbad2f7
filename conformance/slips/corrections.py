"""Mistakes in FedProx, FedNova and FedLin."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import Definition
from clusterproof.conformance.slips.base import addition, factor, missing, replacement


def _norm(run: Definition, value: np.ndarray, **_: Any) -> np.ndarray:
    """Return the gradient of mu / 2 ||y - x||, as automatic differentiation has it (0 at x)."""
    difference = value / run.settings["proximal"]
    length = float(np.linalg.norm(difference))
    return value / (2 * length) if length else 0 * value


def _last_tensor(_run: Definition, value: np.ndarray, **_: Any) -> np.ndarray:
    return np.concatenate([0 * value[:1], value[1:]])


def _proximal(run: Definition) -> float:
    return float(run.settings["proximal"])


FEDPROX = (
    missing("prox-zero", "pull", "the proximal term has no effect"),
    factor(
        "mu-taken-as-one", "pull", lambda run: 1 / _proximal(run), "mu is taken as 1 whatever it is set to"
    ),
    factor("prox-doubled", "pull", 2.0, "the proximal term is mu ||y - x||^2: the factor 1/2 is missing"),
    factor("prox-halved", "pull", 0.5, "the gradient of the proximal term has a factor 1/2"),
    factor("prox-sign", "pull", -1.0, "the proximal term has the opposite sign"),
    factor(
        "prox-times-step",
        "pull",
        lambda run: run.step_size,
        "the proximal term is multiplied by the step size twice",
    ),
    factor("mu-squared", "pull", _proximal, "the proximal term has mu squared"),
    replacement("norm-not-squared", "pull", _norm, "the proximal term has the norm, not its square"),
    replacement(
        "prox-last-tensor-only", "pull", _last_tensor, "only the last parameter tensor has a proximal term"
    ),
    addition(
        "prox-to-zero",
        "pull",
        lambda run, received, **_: _proximal(run) * received,
        "the proximal term pulls to 0, not to the received model",
    ),
    addition(
        "prox-to-start",
        "pull",
        lambda run, received, **_: _proximal(run) * (received - run.task.start),
        "the proximal term pulls to the model before the first round, not to the received one",
    ),
)

FEDNOVA = (
    replacement(
        "tau-counts-epochs",
        "K",
        lambda run, value, **_: float(run.settings["local_epochs"]),
        "K_i counts epochs, not gradient steps",
    ),
    replacement(
        "tau-counts-samples",
        "K",
        lambda run, value, client: float(run.settings["local_epochs"] * run.task.samples[client]),
        "K_i counts samples, not gradient steps",
    ),
    replacement("no-normalisation", "K", lambda *_, **__: 1.0, "changes are averaged without normalisation"),
    replacement(
        "tau-unweighted",
        "tau",
        lambda _run, value, counts: float(counts.mean()),
        "tau is the plain mean of K_i, not the weighted one",
    ),
    replacement(
        "tau-effective-one", "tau", lambda *_, **__: 1.0, "the normalised mean is not multiplied by tau"
    ),
    replacement("tau-sum", "tau", lambda _run, value, counts: float(counts.sum()), "tau is the sum of K_i"),
    replacement(
        "tau-largest", "tau", lambda _run, value, counts: float(counts.max()), "tau is the largest K_i"
    ),
)

FEDLIN = (
    factor("correction-sign", "correction", -1.0, "the correction has the opposite sign"),
    missing("correction-missing", "correction", "local steps are not corrected"),
    missing("correction-without-client", "client part", "the client's gradient is missing in the correction"),
    replacement(
        "mean-not-weighted",
        "server part",
        lambda run, value: sum(run.sent.values()) / len(run.sent),
        "the mean gradient has equal weights",
    ),
)

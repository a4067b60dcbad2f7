"""Mistakes in FedProx, FedNova and FedLin."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import Definition
from clusterproof.conformance.slips.base import (
    changed,
    constant,
    epochs,
    factor,
    missing,
    replaced,
    samples_of_epochs,
    setting,
)
from clusterproof.conformance.slips.general import other_weights


def _norm(run: Definition, value: np.ndarray, **_: Any) -> Any:
    """Return the gradient of mu / 2 ||y - x||, as automatic differentiation has it (0 at x)."""
    difference = value / run.settings["proximal"]
    length = float(np.linalg.norm(difference))
    return value / (2 * length) if length else 0 * value


def _last_tensor(_run: Definition, value: np.ndarray, **_: Any) -> Any:
    return np.concatenate([0 * value[:1], value[1:]])


def _pull_to_zero(run: Definition, value: np.ndarray, received: np.ndarray, **_: Any) -> Any:
    return value + run.settings["proximal"] * received


def _pull_to_start(run: Definition, value: np.ndarray, received: np.ndarray, **_: Any) -> Any:
    return value + run.settings["proximal"] * (received - run.task.start)


def _mean_of_sent(run: Any, _value: np.ndarray) -> Any:
    participants = list(run.sent)
    return other_weights(run, np.empty(0), participants) @ np.array(list(run.sent.values()))


FEDPROX = (
    missing("prox-zero", "pull", "the proximal term has no effect"),
    factor("mu-taken-as-one", "pull", setting("proximal", -1), "mu is taken as 1 whatever it is set to"),
    factor("prox-doubled", "pull", 2.0, "the proximal term is mu ||y - x||^2: the factor 1/2 is missing"),
    factor("prox-halved", "pull", 0.5, "the gradient of the proximal term has a factor 1/2"),
    factor("prox-sign", "pull", -1.0, "the proximal term has the opposite sign"),
    factor("prox-times-step", "pull", setting("step_size"), "the proximal term has the step size twice"),
    factor("mu-squared", "pull", setting("proximal"), "the proximal term has mu squared"),
    replaced("norm-not-squared", "pull", _norm, "the proximal term has the norm, not its square"),
    replaced("prox-last-tensor-only", "pull", _last_tensor, "only the last tensor has a proximal term"),
    changed("prox-to-zero", "pull", _pull_to_zero, "the proximal term pulls to 0, not to the received model"),
    changed("prox-to-start", "pull", _pull_to_start, "the proximal term pulls to the first x"),
)

FEDNOVA = (
    replaced("tau-counts-epochs", "K", epochs, "K_i counts epochs, not gradient steps"),
    replaced("tau-counts-samples", "K", samples_of_epochs, "K_i counts samples, not gradient steps"),
    replaced("no-normalisation", "K", constant(1.0), "changes are averaged without normalisation"),
    replaced("tau-unweighted", "tau", lambda _run, _, counts: counts.mean(), "tau is the plain mean of K_i"),
    replaced("tau-effective-one", "tau", constant(1.0), "the normalised mean is not multiplied by tau"),
    replaced("tau-sum", "tau", lambda _run, _, counts: counts.sum(), "tau is the sum of K_i"),
    replaced("tau-largest", "tau", lambda _run, _, counts: counts.max(), "tau is the largest K_i"),
)

FEDLIN = (
    factor("correction-sign", "correction", -1.0, "the correction has the opposite sign"),
    missing("correction-missing", "correction", "local steps are not corrected"),
    missing("correction-without-client", "client part", "the correction has no gradient of the client"),
    replaced("other-weights-of-gradients", "server part", _mean_of_sent, "gradients have other weights"),
)

"""Mistakes in FedAvgM, FedAdam and FedYogi."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import Definition
from clusterproof.conformance.slips.base import changed, constant, factor, missing, replaced, setting


def damped(run: Definition, value: np.ndarray, **_: Any) -> Any:
    """Return (1 - beta) times a value."""
    return (1.0 - run.settings["momentum"]) * value


def _nesterov(_run: Definition, value: np.ndarray, delta: np.ndarray, beta: float) -> Any:
    return delta + beta * value


def _adam_moment(run: Any, _value: np.ndarray, delta: np.ndarray, beta2: float) -> Any:
    return beta2 * run.v + (1 - beta2) * delta**2


MOMENTUM = (
    missing("momentum-reset", "old v", "the momentum starts at 0 in every round"),
    factor("momentum-applied-twice", "momentum", setting("momentum"), "beta is applied twice"),
    factor("momentum-sign", "momentum", -1.0, "beta has the opposite sign"),
)

FEDAVGM = (
    changed("momentum-damped", "delta", damped, "the momentum adds (1 - beta) times the mean change"),
    *MOMENTUM,
    replaced("momentum-nesterov", "step", _nesterov, "the step is Nesterov's, Delta + beta v"),
    replaced("momentum-scales-model-step", "step", damped, "the step is multiplied by 1 - beta"),
)

ADAPTIVE = (
    replaced("v-starts-at-zero", "v start", constant(0.0), "v starts at 0, not at tau^2"),
    replaced("v-starts-at-tau", "v start", lambda run, _: run.settings["tau"], "v starts at tau, not tau^2"),
    replaced("bias-corrected", "bias correction", constant("adam"), "m and v are divided by 1 - beta^t"),
    replaced("tau-inside-root", "scale", lambda _run, _, v, tau: np.sqrt(v + tau), "tau is under the root"),
    replaced("tau-missing", "scale", lambda _run, _, v, tau: np.sqrt(v), "tau is missing in the denominator"),
    replaced("delta-not-damped", "damping", constant(1.0), "m adds Delta, not (1 - beta1) Delta"),
    replaced("betas-exchanged", "beta1", lambda run, _: run.settings["beta2"], "beta2 is used for beta1"),
)

YOGI = (
    factor("yogi-sign", "sign", -1.0, "Yogi's sign is the opposite one"),
    replaced("yogi-is-adam", "yogi", _adam_moment, "v is Adam's, not Yogi's"),
)

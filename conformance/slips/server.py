"""Mistakes in FedAvgM, FedAdam and FedYogi."""

from __future__ import annotations

import numpy as np

from clusterproof.conformance.slips.base import Slip, factor, missing, replacement

FEDAVGM = (
    Slip(
        "momentum-damped",
        "the momentum adds (1 - beta) times the mean change",
        {"delta": lambda run, value: (1 - run.settings["momentum"]) * value},
    ),
    factor(
        "momentum-applied-twice",
        "momentum",
        lambda run: float(run.settings["momentum"]),
        "beta is applied twice",
    ),
    missing("momentum-reset", "old v", "the momentum starts at 0 in every round"),
    Slip(
        "momentum-nesterov",
        "the step is Nesterov's, Delta + beta v",
        {"step": lambda _run, value, delta, beta: delta + beta * value},
        frozenset({"step"}),
    ),
    factor("momentum-sign", "momentum", -1.0, "beta has the opposite sign"),
    replacement(
        "momentum-scales-model-step",
        "step",
        lambda run, value, delta, beta: (1 - beta) * value,
        "the step is multiplied by 1 - beta",
    ),
)

ADAPTIVE = (
    replacement("v-starts-at-zero", "v start", lambda *_: 0.0, "v starts at 0, not at tau^2"),
    replacement(
        "v-starts-at-tau", "v start", lambda run, value: run.settings["tau"], "v starts at tau, not at tau^2"
    ),
    replacement("bias-corrected", "bias correction", lambda *_: "adam", "m and v are divided by 1 - beta^t"),
    replacement(
        "tau-inside-root",
        "scale",
        lambda _run, value, v, tau: np.sqrt(v + tau),
        "tau is added under the root",
    ),
    replacement(
        "tau-missing", "scale", lambda _run, value, v, tau: np.sqrt(v), "tau is missing in the denominator"
    ),
    replacement(
        "delta-not-damped", "damping", lambda *_: 1.0, "m adds the whole mean change, not 1 - beta1 of it"
    ),
    replacement(
        "betas-exchanged",
        "beta1",
        lambda run, value: run.settings["beta2"],
        "beta2 is used in place of beta1",
    ),
)

YOGI = (
    factor("yogi-sign", "sign", -1.0, "Yogi's sign is the opposite one"),
    replacement(
        "yogi-is-adam",
        "yogi",
        lambda run, value, delta, beta2: beta2 * run.v + (1 - beta2) * delta**2,
        "v is Adam's, not Yogi's",
    ),
)

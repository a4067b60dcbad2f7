"""Mistakes in SCAFFOLD, ProxSkip and FedDyn."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import Definition
from clusterproof.conformance.slips.base import Slip, factor, missing, replacement


def _alpha(run: Definition) -> float:
    return float(run.settings["alpha"])


def _weighted_change(
    run: Any, value: np.ndarray, participants: list[int], changes: dict[int, np.ndarray]
) -> Any:
    weights = run.weights(participants)
    return sum(p * changes[i] for p, i in zip(weights, participants, strict=True))


def _shared(run: Any, value: np.ndarray, client: int, **_: Any) -> None:
    """All clients hold one and the same array, so that what one stores the next ones read."""
    run.controls = np.array([run.line("stored control", run.memory["new"], client=client)] * run.task.clients)


def _remember_new(run: Any, value: np.ndarray, client: int, new: np.ndarray) -> np.ndarray:
    run.memory["new"] = new
    return value


SCAFFOLD = (
    replacement(
        "controls-start-as-model",
        "control start",
        lambda run, value: run.x.copy(),
        "the controls start as copies of the model, not at 0",
    ),
    factor(
        "correction-sign",
        "correction",
        -1.0,
        "local steps use g + c_i - c: the correction has the opposite sign",
    ),
    missing(
        "correction-without-server", "server part", "local steps use g - c_i: the server's control is missing"
    ),
    missing(
        "correction-without-client", "client part", "local steps use g + c: the client's control is missing"
    ),
    missing("correction-missing", "correction", "local steps are not corrected by the controls"),
    factor(
        "correction-times-step",
        "correction",
        lambda run: run.step_size,
        "the correction is multiplied by the step size twice",
    ),
    replacement(
        "other-option",
        "option",
        lambda _run, value: "I" if value == "II" else "II",
        "the controls are updated by the other option",
    ),
    factor("gradient-sign", "gradient", -1.0, "local steps ascend: the gradient has the opposite sign"),
    replacement(
        "option-I-at-local-model",
        "option I",
        lambda run, value, client, local: run.task.gradient(client, local),
        "option I takes the gradient at the local model, not at the received one",
    ),
    replacement(
        "K-counts-batches",
        "K",
        lambda run, value, client: float(run.batches(client)),
        "K in the control's update counts the batches of one epoch",
    ),
    replacement(
        "K-counts-epochs",
        "K",
        lambda run, value, client: float(run.settings["local_epochs"]),
        "K in the control's update counts epochs",
    ),
    replacement(
        "K-counts-samples",
        "K",
        lambda run, value, client: float(run.settings["local_epochs"] * run.task.samples[client]),
        "K in the control's update counts samples",
    ),
    factor(
        "step-missing-in-control",
        "drift",
        lambda run: run.step_size,
        "the step size is missing in the control's update",
    ),
    factor("drift-sign", "drift", -1.0, "the control's update has y - x for x - y"),
    missing(
        "server-control-not-subtracted", "subtracted control", "the control's update does not subtract c"
    ),
    missing("own-control-not-kept", "own control", "the control's update does not start from c_i"),
    replacement(
        "new-control-sent-for-change",
        "control change",
        lambda _run, value, client, new: new,
        "the server adds the new controls, not their changes",
    ),
    missing(
        "change-always-zero",
        "control change",
        "the change of a control is computed after it was overwritten, so it is 0",
    ),
    Slip(
        "controls-averaged-over-participants",
        "the server's control moves by the mean over participants, not by (1/N) of their sum",
        {"control step": lambda run, value, participants, **_: run.task.clients / len(participants) * value},
    ),
    replacement(
        "server-control-weighted",
        "control step",
        _weighted_change,
        "the changes of the controls are averaged with the weights of the models",
    ),
    factor(
        "server-step-on-control",
        "control step",
        lambda run: float(run.settings["server_step_size"]),
        "the server's step size is applied to the control as well",
    ),
    replacement(
        "own-control-not-stored",
        "controls",
        lambda run, value, participants: run.controls,
        "the clients' new controls are not stored",
    ),
    Slip(
        "controls-shared-by-aliasing",
        "all clients' controls are one and the same array",
        {
            "control change": _remember_new,
            "control stored": _shared,
            "controls": lambda run, value, **_: run.controls,
        },
        frozenset({"controls"}),
    ),
)

PROXSKIP = (
    factor("shift-sign", "shift", -1.0, "local steps use g + h_i for g - h_i"),
    missing("shift-missing", "shift", "local steps are not shifted by h_i"),
    factor("shift-change-sign", "shift change", -1.0, "h_i moves along x_i - x for x - x_i"),
    missing("shift-not-kept", "kept shift", "h_i does not go on from its old value"),
    factor(
        "probability-missing",
        "rate",
        lambda run: 1 / float(run.settings["probability"]),
        "p is missing in the update of h_i",
    ),
    factor(
        "step-missing-in-shift",
        "rate",
        lambda run: run.step_size,
        "the step size is missing in the update of h_i",
    ),
)

FEDDYN = (
    missing(
        "penalty-without-gradient",
        "penalty",
        "the linear and the quadratic term have no effect (computed on detached tensors?)",
    ),
    factor("linear-sign", "linear", -1.0, "the linear term has the opposite sign"),
    missing("linear-missing", "linear", "the linear term is missing"),
    factor("linear-times-alpha", "linear", _alpha, "the linear term is multiplied by alpha again"),
    missing("quadratic-missing", "quadratic", "the quadratic term is missing"),
    factor(
        "quadratic-doubled",
        "quadratic",
        2.0,
        "the quadratic term is alpha ||y - x||^2: the factor 1/2 is missing",
    ),
    factor("quadratic-halved", "quadratic", 0.5, "the gradient of the quadratic term has a factor 1/2"),
    Slip(
        "quadratic-to-zero",
        "the quadratic term pulls to 0, not to the received model",
        {"quadratic": lambda run, value, y: value + _alpha(run) * run.x},
    ),
    factor("state-sign", "state change", -1.0, "the clients' states move with the opposite sign"),
    missing("linear-not-kept", "kept state", "a client's state does not go on from its old value"),
    Slip(
        "h-over-participants",
        "h is divided by the number of participants, not of all clients",
        {"h change": lambda run, value, participants, **_: run.task.clients / len(participants) * value},
    ),
    Slip(
        "sum-of-models-minus-model",
        "h uses the sum of the models minus one x, not minus an x for each",
        {
            "h change": lambda run, value, participants, received: (
                value - _alpha(run) / run.task.clients * (len(participants) - 1) * received
            )
        },
    ),
    factor("h-sign", "h change", -1.0, "h moves with the opposite sign"),
    Slip(
        "h-one-round-late",
        "the model is computed with the h of the round before",
        {"offset": lambda run, value, before: value + (run.h - before) / _alpha(run)},
    ),
    factor("h-not-over-alpha", "offset", _alpha, "h is not divided by alpha"),
    missing("h-missing", "offset", "h is missing in the model"),
)

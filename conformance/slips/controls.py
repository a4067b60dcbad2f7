"""Mistakes in SCAFFOLD, ProxSkip and FedDyn."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import Definition
from clusterproof.conformance.slips.base import (
    Slip,
    changed,
    epochs,
    factor,
    missing,
    replaced,
    samples_of_epochs,
    setting,
)


def _other_option(_run: Definition, value: str) -> str:
    return "I" if value == "II" else "II"


def _gradient_at_local(run: Definition, _value: np.ndarray, client: int, local: np.ndarray) -> Any:
    return run.task.gradient(client, local)


def _batches(run: Definition, _value: float, client: int) -> Any:
    return float(run.batches(client))


def _over_participants(run: Definition, value: np.ndarray, participants: list[int], **_: Any) -> Any:
    """Return a sum that was divided by N, divided by the number of participants."""
    return run.task.clients / len(participants) * value


def _weighted_change(
    run: Definition, _value: np.ndarray, participants: list[int], changes: dict[int, np.ndarray]
) -> Any:
    samples = run.task.samples
    return sum(samples[i] * changes[i] for i in participants) / samples[participants].sum()


def _remember_new(run: Definition, value: np.ndarray, client: int, new: np.ndarray) -> Any:
    run.memory["new"] = new
    return value


def _move_control(run: Any, _value: None, change: np.ndarray, **_: Any) -> None:
    run.control = run.control + change / run.task.clients


def _shared(run: Any, value: np.ndarray, client: int, **_: Any) -> None:
    """Let all clients hold one and the same array, so that what one stores the next ones read."""
    run.controls = np.array([run.line("stored control", run.memory["new"], client=client)] * run.task.clients)


def _old_controls(run: Any, _value: np.ndarray, participants: list[int]) -> Any:
    return run.controls


SCAFFOLD = (
    replaced("controls-start-as-model", "control start", lambda run, _: run.x.copy(), "c starts as x"),
    factor("correction-sign", "correction", -1.0, "local steps use g + c_i - c for g - c_i + c"),
    missing("correction-without-server", "server part", "local steps use g - c_i: c is missing"),
    missing("correction-without-client", "client part", "local steps use g + c: c_i is missing"),
    missing("correction-missing", "correction", "local steps are not corrected by the controls"),
    factor("correction-times-step", "correction", setting("step_size"), "the correction has eta twice"),
    replaced("other-option", "option", _other_option, "the controls are updated by the other option"),
    factor("gradient-sign", "gradient", -1.0, "local steps ascend: the gradient has the opposite sign"),
    replaced(
        "option-I-at-local-model",
        "option I",
        _gradient_at_local,
        "option I takes the gradient at y_i, not at the received x",
    ),
    replaced("K-counts-batches", "K", _batches, "K in the control's update counts the batches of one epoch"),
    replaced("K-counts-epochs", "K", epochs, "K in the control's update counts epochs"),
    replaced("K-counts-samples", "K", samples_of_epochs, "K in the control's update counts samples"),
    factor("step-missing-in-control", "drift", setting("step_size"), "eta is missing in c_i's update"),
    factor("drift-sign", "drift", -1.0, "the control's update has y - x for x - y"),
    missing("server-control-not-subtracted", "subtracted control", "c_i's update does not subtract c"),
    missing("own-control-not-kept", "own control", "the control's update does not start from c_i"),
    replaced(
        "new-control-sent-for-change",
        "control change",
        lambda _run, _, client, new: new,
        "the server adds the new controls c_i+, not their changes",
    ),
    missing("change-always-zero", "control change", "c_i's change is 0: taken after it was overwritten"),
    changed(
        "controls-averaged-over-participants",
        "control step",
        _over_participants,
        "c moves by the mean over participants, not by (1/N) of their sum",
    ),
    replaced(
        "server-control-weighted",
        "control step",
        _weighted_change,
        "c moves by the mean of the changes with weights n_i",
    ),
    factor("server-step-on-control", "control step", setting("server_step_size"), "gamma is applied to c"),
    Slip(
        "server-control-updated-in-loop",
        "c moves inside the loop over clients: a client trains with a c that those before it in the round changed",
        {"control stored": _move_control, "control step": lambda _run, value, **_: 0 * value},
        frozenset({"control step"}),
    ),
    replaced("own-control-not-stored", "controls", _old_controls, "the clients' new controls are not stored"),
    Slip(
        "controls-shared-by-aliasing",
        "all clients' controls are one array: what a client stores there is the control of the others, too",
        {"control change": _remember_new, "control stored": _shared, "controls": _old_controls},
        frozenset({"controls"}),
    ),
)

PROXSKIP = (
    factor("shift-sign", "shift", -1.0, "local steps use g + h_i for g - h_i"),
    missing("shift-missing", "shift", "local steps are not shifted by h_i"),
    factor("shift-change-sign", "shift change", -1.0, "h_i moves along x_i - x for x - x_i"),
    missing("shift-not-kept", "kept shift", "h_i does not go on from its old value"),
    factor("probability-missing", "rate", setting("probability", -1), "p is missing in the update of h_i"),
    factor("step-missing-in-shift", "rate", setting("step_size"), "eta is missing in the update of h_i"),
)


def _pull_to_zero(run: Definition, value: np.ndarray, y: np.ndarray) -> Any:
    return value + run.settings["alpha"] * run.x


def _one_model_subtracted(
    run: Definition, value: np.ndarray, participants: list[int], received: np.ndarray
) -> Any:
    return value - run.settings["alpha"] / run.task.clients * (len(participants) - 1) * received


def _old_h(run: Any, value: np.ndarray, before: np.ndarray) -> Any:
    return value + (run.h - before) / run.settings["alpha"]


FEDDYN = (
    missing("penalty-without-gradient", "penalty", "both terms have no effect (detached?)"),
    factor("linear-sign", "linear", -1.0, "the linear term has the opposite sign"),
    missing("linear-missing", "linear", "the linear term is missing"),
    factor("linear-times-alpha", "linear", setting("alpha"), "the linear term is multiplied by alpha again"),
    missing("quadratic-missing", "quadratic", "the quadratic term is missing"),
    factor("quadratic-doubled", "quadratic", 2.0, "the quadratic term lacks the factor 1/2"),
    factor("quadratic-halved", "quadratic", 0.5, "the gradient of the quadratic term has a factor 1/2"),
    changed("quadratic-to-zero", "quadratic", _pull_to_zero, "the quadratic term pulls to 0, not x"),
    factor("state-sign", "state change", -1.0, "the clients' states move with the opposite sign"),
    missing("linear-not-kept", "kept state", "a client's state does not go on from its old value"),
    changed("h-over-participants", "h change", _over_participants, "h is divided by |S|, not by N"),
    changed("sum-of-models-minus-model", "h change", _one_model_subtracted, "h has sum y_i minus one x"),
    factor("h-sign", "h change", -1.0, "h moves with the opposite sign"),
    changed("h-one-round-late", "offset", _old_h, "the model is computed with the h of the round before"),
    factor("h-not-over-alpha", "offset", setting("alpha"), "h is not divided by alpha"),
    missing("h-missing", "offset", "h is missing in the model"),
)

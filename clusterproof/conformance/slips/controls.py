"""Mistakes in SCAFFOLD, ProxSkip and FedDyn."""

from typing import Any

import numpy as np

from clusterproof.conformance.slips.general import (
    Slip,
    not_squared,
    other_form,
    over,
    passes_over_samples,
    state_by_position,
    times,
)


def _over_participants(run: Any, value: np.ndarray, participants: list[int]) -> Any:
    """Return a sum that was divided by N, divided by the number of participants."""
    return run.task.clients / len(participants) * value


def _weighted_change(run: Any, participants: list[int], changes: dict[int, np.ndarray]) -> Any:
    return np.average(list(changes.values()), axis=0, weights=run.task.samples[participants])


def _mean_of_participants(run: Any, participants: list[int], changes: dict[int, np.ndarray]) -> Any:
    return np.mean([run.controls[i] + changes[i] for i in participants], axis=0) - run.control


def _move_server_control(run: Any, value: np.ndarray, change: np.ndarray) -> Any:
    run.control = run.control + change / run.task.clients
    return value


def _store_for_all(run: Any, value: np.ndarray) -> Any:
    run.controls = np.array([value] * run.task.clients)
    return value


def _gradient_at_received(run: Any, client: int) -> Any:
    return run.task.gradient(client, run.x)


def _remember_participants(run: Any, value: Any, participants: list[int]) -> None:
    run.memory["participants"] = participants
    value(participants)


def _refreshed_with_clients(run: Any, value: np.ndarray) -> Any:
    """Return c after the participants' c_i have become g_i(x)."""
    changes = [run.task.gradient(i, run.x) - run.controls[i] for i in run.memory["participants"]]
    return value + sum(changes) / run.task.clients


def _from_moved_model(run: Any, value: Any, participants: list[int]) -> None:
    """Carry out a round whose new controls have the model that the server has moved to in place of x."""
    before = run.x
    value(participants)
    for i in participants:
        if run.settings["option"] == "I":
            change = run.task.gradient(i, run.x) - run.task.gradient(i, before)
        else:
            change = (run.x - before) / (run.steps(i) * run.step_size)
        run.controls[i] += change
        run.control = run.control + change / run.task.clients


def _states_from_moved_model(run: Any, value: Any, participants: list[int]) -> None:
    before = run.x
    value(participants)
    run.linear[participants] += run.settings["alpha"] * (run.x - before)


def _remember_received(run: Any, value: np.ndarray) -> Any:
    run.memory["received"] = value
    return value


def _first_from_mean(run: Any, participants: list[int], changes: dict[int, np.ndarray]) -> Any:
    """Return the step of c if the first participant's control is taken from the mean of the models."""
    received, first = run.memory["received"], participants[0]
    if run.settings["option"] == "II":
        mean = received + (run.x - received) / run.settings["server_step_size"]
        drift = (received - mean) / (run.steps(first) * run.step_size)
        changes = {**changes, first: drift - run.control}
        run.memory["first"] = first, run.controls[first] + changes[first]
    return sum(changes.values()) / run.task.clients


def _stored_with_first(run: Any, value: np.ndarray) -> Any:
    if "first" in run.memory:
        client, control = run.memory["first"]
        value[client] = control
    return value


SCAFFOLD = {
    "controls-start-as-model": Slip({"control start": "x"}, "c starts as x"),
    "correction-sign": Slip({"correction": -1}, "local steps use g + c_i - c for g - c_i + c"),
    "correction-without-server": Slip({"server part": 0}, "local steps use g - c_i: c is missing"),
    "correction-without-client": Slip({"client part": 0}, "local steps use g + c: c_i is missing"),
    "server-part-sign": Slip({"server part": -1}, "local steps use g - c_i - c: c has the opposite sign"),
    "client-part-sign": Slip({"client part": -1}, "local steps use g + c_i + c: c_i has the opposite sign"),
    "correction-missing": Slip(
        {"correction": 0}, "controls have no effect: local steps lack them, or they stay at 0"
    ),
    "correction-times-step": Slip({"correction": times("step_size")}, "the correction has eta twice"),
    "other-option": Slip({"option": other_form("option")}, "the controls are updated by the other option"),
    "gradient-sign": Slip({"gradient": -1}, "local steps ascend: the gradient has the opposite sign"),
    "option-I-at-local-model": Slip(
        {"option I": lambda run, client, local: run.task.gradient(client, local)},
        "option I takes the gradient at y_i, not at the received x",
    ),
    "K-counts-batches": Slip({"K": "batches"}, "K in the control's update counts the batches of one epoch"),
    "K-missing": Slip({"K": lambda: 1}, "K is missing in the control's update"),
    "K-counts-epochs": Slip({"K": "local_epochs"}, "K in the control's update counts epochs"),
    "K-counts-samples": Slip({"K": passes_over_samples}, "K in the control's update counts samples"),
    "step-missing-in-control": Slip({"drift": times("step_size")}, "eta is missing in c_i's update"),
    "drift-sign": Slip({"drift": -1}, "the control's update has y - x for x - y"),
    "server-control-not-subtracted": Slip({"subtracted control": 0}, "c_i's update does not subtract c"),
    "subtracted-control-sign": Slip({"subtracted control": -1}, "c_i's update adds c, not subtracts it"),
    "control-step-sign": Slip({"control step": -1}, "c moves by c_i - c_i+, not by c_i+ - c_i"),
    "drift-missing": Slip(
        {"drift": 0},
        "c_i's update lacks (x - y_i) / (K eta): it is left out, or x is no copy and moves with y_i",
    ),
    "controls-refreshed-first": Slip(
        {"client part": _gradient_at_received, "option": lambda: "I"},
        "c_i becomes g_i(x) before the local steps, which then use the new c_i",
    ),
    "all-controls-refreshed-first": Slip(
        {
            "round": _remember_participants,
            "server part": _refreshed_with_clients,
            "client part": _gradient_at_received,
            "option": lambda: "I",
        },
        "c_i becomes g_i(x), and c moves with it, before the local steps, which then use the new c_i and c",
    ),
    "controls-from-moved-model": Slip(
        {"round": _from_moved_model},
        "c_i's update has the server's new model for the received x: x moves before c_i is computed",
    ),
    "own-control-not-kept": Slip({"own control": 0}, "the control's update does not start from c_i"),
    "new-control-sent-for-change": Slip({"control change": "new"}, "the server adds c_i+, not c_i+ - c_i"),
    "change-always-zero": Slip(
        {"control change": 0}, "c does not move: c_i's change is left out, or taken after c_i was overwritten"
    ),
    "controls-averaged-over-participants": Slip(
        {"control step": _over_participants},
        "c moves by the mean over participants, not by (1/N) of their sum",
    ),
    "server-control-summed": Slip(
        {"control step": lambda run, value: run.task.clients * value}, "c moves by the sum, without 1/N"
    ),
    "server-control-from-participants": Slip(
        {"control step": _mean_of_participants}, "c becomes the mean of the participants' c_i+"
    ),
    "server-control-weighted": Slip({"control step": _weighted_change}, "c moves by a mean weighted by n_i"),
    "server-step-on-control": Slip({"control step": times("server_step_size")}, "gamma is applied to c"),
    "server-control-updated-in-loop": Slip(
        {"stored control": _move_server_control, "control step": 0},
        "c moves inside the loop over clients: a client trains with a c that those before it in the round changed",
    ),
    "server-control-share-times-sum": Slip(
        {"control step": lambda value, participants: len(participants) * value},
        "c moves by (|S|/N) times the sum of the changes, not times their mean",
    ),
    "mean-aliased-to-first-model": Slip(
        {"start": _remember_received, "control step": _first_from_mean, "controls": _stored_with_first},
        "the mean model is written into the first participant's, from which its control is then taken",
    ),
    "state-by-position": state_by_position("controls"),
    "own-control-not-stored": Slip({"controls": lambda run: run.controls}, "new controls are not stored"),
    "controls-shared-by-aliasing": Slip(
        {"stored control": _store_for_all, "controls": lambda run: run.controls},
        "all clients' controls are one array: what a client stores there is the control of the others, too",
    ),
}

PROXSKIP = {
    "shift-sign": Slip({"shift": -1}, "local steps use g + h_i for g - h_i"),
    "shift-missing": Slip({"shift": 0}, "h_i has no effect: local steps do not use it, or it stays at 0"),
    "shift-change-sign": Slip({"shift change": -1}, "h_i moves along x_i - x for x - x_i"),
    "shift-from-received-model": Slip(
        {"shift change": lambda run, rate, local: rate * (run.x - local)},
        "h_i's update has the received x for the mean: h_i is computed before x moves",
    ),
    "shift-not-kept": Slip({"kept shift": 0}, "h_i does not go on from its old value"),
    "probability-missing": Slip({"rate": over("probability")}, "p is missing in the update of h_i"),
    "step-missing-in-shift": Slip({"rate": times("step_size")}, "eta is missing in the update of h_i"),
}


def _one_model_subtracted(run: Any, value: np.ndarray, alpha: float, participants: list[int]) -> Any:
    return value - alpha / run.task.clients * (len(participants) - 1) * run.x


def _mean_for_first(run: Any, value: dict[int, np.ndarray], participants: list[int]) -> Any:
    weights = run.weights(participants)
    return {**value, participants[0]: sum(p * value[i] for p, i in zip(weights, participants, strict=True))}


FEDDYN = {
    "penalty-without-gradient": Slip({"penalty": 0}, "both terms have no effect (detached?)"),
    "first-round-plain": Slip(
        {"penalty": lambda run, value, client: value if run.linear[client].any() else 0 * value},
        "both terms are missing in a client's first round",
    ),
    "alpha-by-samples": Slip(
        {"penalty": lambda run, value, client: value * run.task.samples.mean() / run.task.samples[client]},
        "alpha of a client is divided by its share of all samples times N, as in some public code",
    ),
    "linear-sign": Slip({"linear": -1}, "the linear term has the opposite sign"),
    "linear-missing": Slip({"linear": 0}, "the linear term has no effect: it is missing, or L_i stays at 0"),
    "linear-times-alpha": Slip({"linear": times("alpha")}, "the linear term is multiplied by alpha again"),
    "quadratic-missing": Slip({"quadratic": 0}, "the quadratic term is missing"),
    "quadratic-doubled": Slip({"quadratic": 2}, "the quadratic term lacks the factor 1/2"),
    "quadratic-halved": Slip({"quadratic": 0.5}, "the gradient of the quadratic term has a factor 1/2"),
    "norm-not-squared": Slip(
        {"quadratic": not_squared("alpha")}, "the quadratic term has the norm, not its square"
    ),
    "quadratic-to-zero": Slip({"quadratic": lambda alpha, y: alpha * y}, "the quadratic term pulls to 0"),
    "states-from-moved-model": Slip(
        {"round": _states_from_moved_model},
        "L_i's update has the server's new model for the received x: x moves before L_i is computed",
    ),
    "state-sign": Slip({"state change": -1}, "the clients' states move with the opposite sign"),
    "linear-not-kept": Slip({"kept state": 0}, "a client's state does not go on from its old value"),
    "h-over-participants": Slip({"h change": _over_participants}, "h is divided by |S|, not by N"),
    "sum-of-models-minus-model": Slip(
        {"h change": _one_model_subtracted},
        "h has sum y_i minus one x, the other reading of the paper's line",
    ),
    "h-share-times-sum": Slip(
        {"h change": lambda value, participants: len(participants) * value},
        "h moves by alpha |S|/N times the sum of the changes, not times their mean",
    ),
    "mean-aliased-to-first-model": Slip(
        {"models of states": _mean_for_first},
        "the mean model is written into the first participant's, from which its state is then taken",
    ),
    "state-by-position": state_by_position("linear"),
    "h-sign": Slip({"h change": -1}, "h moves with the opposite sign"),
    "h-one-round-late": Slip({"offset": lambda alpha, before: -before / alpha}, "x has the last round's h"),
    "h-not-over-alpha": Slip({"offset": times("alpha")}, "h is not divided by alpha"),
    "h-missing": Slip({"offset": 0}, "h is missing in the model"),
}

"""Mistakes in IFCA and CFL-MGD."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.conformance.slips.base import Slip, factor, missing, replacement


def _last_choice(run: Any, value: int, client: int, losses: list[float]) -> int:
    """Choose by the models of the round before."""
    last: int = run.memory.get(("choice", client), value)
    run.memory["choice", client] = value
    return last


def _all_weights(run: Any, value: np.ndarray, members: list[int], participants: list[int]) -> np.ndarray:
    weights = run.weights(participants)
    return np.array([weights[list(participants).index(i)] for i in members])


IFCA = (
    replacement(
        "worst-cluster-chosen",
        "choice",
        lambda _run, value, client, losses: int(np.argmax(losses)),
        "clients choose the model of largest loss",
    ),
    replacement("always-cluster-0", "choice", lambda *_, **__: 0, "every client chooses the first model"),
    replacement("choice-of-last-round", "choice", _last_choice, "clients use the choice of the round before"),
    replacement(
        "empty-cluster-to-zero",
        "empty",
        lambda _run, value, cluster: 0 * value,
        "the model of a cluster without members becomes 0",
    ),
    replacement(
        "gradient-mean-of-members",
        "divisor",
        lambda _run, value, participants, members: max(1, len(members)),
        "the sum of the gradients is divided by the number of members, not of all clients",
    ),
    replacement(
        "divided-by-participants",
        "divisor",
        lambda _run, value, participants, members: len(participants),
        "the sum of the gradients is divided by the number of participants, not of all clients",
    ),
    replacement(
        "weights-of-all-clusters",
        "member weights",
        _all_weights,
        "weights of the members are shares of all participants and do not add up to 1",
    ),
    replacement(
        "first-model-averaged-over-all",
        "members",
        lambda _run, value, cluster, participants: list(participants) if cluster == 0 else value,
        "the first model is averaged over all participants",
    ),
    replacement(
        "other-averaging",
        "averaging",
        lambda _run, value: "gradient" if value == "model" else "model",
        "the other kind of averaging is used",
    ),
)

CFL_MGD = (
    missing("momentum-reset", "old momentum", "the momentum starts at 0 in every round"),
    factor("momentum-sign", "momentum", -1.0, "beta has the opposite sign"),
    factor(
        "momentum-applied-twice",
        "momentum",
        lambda run: float(run.settings["momentum"]),
        "beta is applied twice",
    ),
    Slip(
        "gradient-damped",
        "the momentum adds (1 - beta) times the gradient",
        {"gradient": lambda run, value, **_: (1 - run.settings["momentum"]) * value},
    ),
)

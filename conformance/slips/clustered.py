"""Mistakes in IFCA and CFL-MGD."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import Definition
from clusterproof.conformance.slips.base import changed, constant, missing, replaced
from clusterproof.conformance.slips.server import MOMENTUM, damped


def _last_choice(run: Definition, value: int, client: int, losses: list[float]) -> Any:
    """Choose by the models of the round before."""
    last: int = run.memory.get(("choice", client), value)
    run.memory["choice", client] = value
    return last


def _worst(_run: Definition, _value: int, client: int, losses: list[float]) -> Any:
    return int(np.argmax(losses))


def _all_weights(run: Definition, _value: np.ndarray, members: list[int], participants: list[int]) -> Any:
    weights = run.weights(participants)
    return np.array([weights[list(participants).index(i)] for i in members])


def _all_in_first(_run: Definition, value: list[int], cluster: int, participants: list[int]) -> Any:
    return list(participants) if cluster == 0 else value


def _members(_run: Definition, _value: int, participants: list[int], members: list[int]) -> Any:
    return max(1, len(members))


def _participants(_run: Definition, _value: int, participants: list[int], **_: Any) -> Any:
    return len(participants)


def _other_averaging(_run: Definition, value: str) -> str:
    return "gradient" if value == "model" else "model"


IFCA = (
    replaced("worst-cluster-chosen", "choice", _worst, "clients choose the model of largest loss"),
    replaced("always-cluster-0", "choice", constant(0), "every client chooses the first model"),
    replaced("choice-of-last-round", "choice", _last_choice, "clients use the choice of the round before"),
    missing("empty-cluster-to-zero", "empty", "the model of a cluster without members becomes 0"),
    replaced("gradient-mean-of-members", "divisor", _members, "gradients are divided by the members, not N"),
    replaced("divided-by-participants", "divisor", _participants, "gradients are divided by |S|, not by N"),
    replaced(
        "weights-of-all-clusters",
        "member weights",
        _all_weights,
        "members' weights are shares of S and add up to less than 1",
    ),
    replaced("first-model-averaged-over-all", "members", _all_in_first, "the first model is averaged over S"),
    replaced("other-averaging", "averaging", _other_averaging, "the other kind of averaging is used"),
)

CFL_MGD = (
    *MOMENTUM,
    changed("gradient-damped", "gradient", damped, "the momentum adds (1 - beta) times the gradient"),
)

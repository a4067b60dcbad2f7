"""Mistakes that the code of any algorithm with local steps and a mean can have."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import Definition
from clusterproof.conformance.slips.base import Slip, addition, factor, replacement


def _batch_length(run: Definition, client: int, step: int) -> int:
    """Return how many rows the batch of a local step has."""
    samples, size = int(run.task.samples[client]), run.settings["batch_size"]
    if size is None:
        return samples
    place = step % run.batches(client)
    return int(min(size, samples - place * size))


def _accumulated(run: Definition, value: np.ndarray, step: int, **_: Any) -> np.ndarray:
    total = value if step == 0 else run.memory["accumulated"] + value
    run.memory["accumulated"] = total
    return total


def _from_the_one_before(run: Definition, value: np.ndarray, **_: Any) -> np.ndarray:
    before: np.ndarray | None = run.memory.get("one before")
    return value if before is None else before


def _remember_the_one_before(run: Definition, value: np.ndarray, **_: Any) -> np.ndarray:
    run.memory["one before"] = value
    return value


def _forget_the_one_before(run: Definition, value: np.ndarray, **_: Any) -> np.ndarray:
    run.memory["one before"] = None
    return value


def _old_start(run: Definition, value: np.ndarray, client: int) -> np.ndarray:
    old: np.ndarray = run.memory.get(("old", client), value)
    return old


def _remember_old(run: Definition, value: np.ndarray, client: int) -> np.ndarray:
    run.memory["old", client] = value
    return value


def _other_weights(run: Definition, value: np.ndarray, participants: list[int]) -> np.ndarray:
    if run.settings["weighting"] == "samples":
        return np.full(len(participants), 1 / len(participants))
    counts = run.task.samples[participants].astype(float)
    weights: np.ndarray = counts / counts.sum()
    return weights


def _share(run: Definition, participants: list[int]) -> float:
    """Return the participants' share of all clients, or of all samples where samples weigh."""
    if run.settings["weighting"] == "samples":
        samples = run.task.samples
        return float(samples[participants].sum() / samples.sum())
    return len(participants) / run.task.clients


def _first_twice(run: Definition, value: np.ndarray, participants: list[int]) -> np.ndarray:
    return value * np.where(np.arange(len(value)) == 0, 2.0, 1.0)


def _last_only(run: Definition, value: np.ndarray, participants: list[int]) -> np.ndarray:
    return np.where(np.arange(len(value)) == len(value) - 1, 1.0, 0.0)


def _as_models(run: Definition, weights: np.ndarray, total: float) -> np.ndarray:
    """Return what a mean of models has in addition to a mean of changes, where weights are to add up to ``total``."""
    return (total - 1) * run.x


LOCAL_STEPS = (
    Slip(
        "epochs-ignored",
        "clients make one pass over their data whatever local_epochs is",
        {"steps": lambda run, value, **_: value / run.settings["local_epochs"]},
    ),
    Slip(
        "first-batch-only",
        "each epoch ends after its first batch",
        {"steps": lambda run, value, client: value / run.batches(client)},
    ),
    Slip(
        "one-epoch-more",
        "clients make one pass more than local_epochs",
        {"steps": lambda run, value, client: value + run.batches(client)},
    ),
    Slip(
        "loss-summed",
        "the loss is summed over the rows of a batch instead of averaged",
        {"gradient": lambda run, value, client, step, **_: _batch_length(run, client, step) * value},
    ),
    Slip(
        "loss-summed-over-outputs",
        "the loss is summed over the rows and outputs of a batch instead of averaged",
        {
            "gradient": lambda run, value, client, step, **_: (
                _batch_length(run, client, step) * run.task.dimension * value
            )
        },
    ),
    Slip(
        "gradients-not-zeroed",
        "gradients are added to those of the steps before (no zero_grad)",
        {"gradient": _accumulated},
    ),
    replacement(
        "gradient-at-received-model",
        "gradient",
        lambda run, value, client, **_: run.task.gradient(client, run.x),
        "every local step uses the gradient at the received model",
    ),
    Slip(
        "clients-in-a-row",
        "a client starts where the client before it ended, not from the received model",
        {
            "received": _forget_the_one_before,
            "start": _from_the_one_before,
            "local model": _remember_the_one_before,
        },
        frozenset({"start"}),
    ),
    Slip(
        "own-old-start",
        "a client starts from its own model of the last round, not from the received one",
        {"start": _old_start, "local model": _remember_old},
        frozenset({"start"}),
    ),
)
"""Mistakes of the clients."""

MEANS = (
    replacement(
        "other-weights",
        "weights",
        _other_weights,
        "the mean uses other weights: equal ones in place of n_i, or n_i in place of the declared ones",
    ),
    Slip(
        "absent-counted",
        "the sum of the changes is divided by the total of all clients, not of the participants",
        {"weights": lambda run, value, participants: _share(run, participants) * value},
    ),
    Slip(
        "absent-counted-model",
        "the participants' models are added with weights of all clients, which do not add up to 1",
        {
            "change": lambda run, value, participants, weights, **_: (
                _share(run, participants) * value + _as_models(run, weights, _share(run, participants))
            )
        },
    ),
    Slip(
        "first-counted-twice",
        "the first participant is counted twice",
        {"weights": _first_twice},
    ),
    Slip(
        "first-counted-twice-model",
        "the sum of the models starts with the first participant's, which is then added again",
        {
            "change": lambda run, value, participants, weights, local: (
                value + weights[0] * local[participants[0]]
            )
        },
    ),
    Slip(
        "sum-for-mean",
        "the changes are added without weights",
        {"weights": lambda _run, value, **_: np.ones(len(value))},
        frozenset({"weights"}),
    ),
    Slip(
        "last-change-only",
        "only the last participant's change is taken, with its weight: the sum is overwritten",
        {"weights": lambda run, value, participants: value * _last_only(run, value, participants)},
    ),
    replacement("last-client-only", "weights", _last_only, "only the last participant's model is taken"),
)
"""Mistakes of the mean."""

SERVER_STEPS = (
    replacement(
        "server-step-ignored", "server step", lambda *_, **__: 1.0, "the server's step size has no effect"
    ),
    factor(
        "server-step-twice",
        "server step",
        lambda run: float(run.settings[str(run.server_step)]),
        "the server's step size is applied twice",
    ),
    addition(
        "server-step-on-model",
        "new model",
        lambda run, change, gamma: (gamma - 1) * run.x,
        "the server's step size multiplies the averaged model, not the change",
    ),
)
"""Mistakes of the server's step."""

"""Mistakes that the code of any algorithm with local steps and a mean can have."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import Definition
from clusterproof.conformance.slips.base import Slip, changed, constant, factor, replaced


def _summed(run: Definition, value: np.ndarray, client: int, step: int, **_: Any) -> Any:
    """Return the gradient of the loss summed over the rows of a local step's batch."""
    samples, size = int(run.task.samples[client]), run.settings["batch_size"]
    rows = samples if size is None else min(size, samples - step % run.batches(client) * size)
    return rows * value


def _summed_over_outputs(run: Definition, value: np.ndarray, **quantities: Any) -> Any:
    return run.task.dimension * _summed(run, value, **quantities)


def _accumulated(run: Definition, value: np.ndarray, step: int, **_: Any) -> Any:
    total = value if step == 0 else run.memory["accumulated"] + value
    run.memory["accumulated"] = total
    return total


def _at_received(run: Definition, _value: np.ndarray, client: int, **_: Any) -> Any:
    return run.task.gradient(client, run.x)


def _from_the_one_before(run: Definition, value: np.ndarray, **_: Any) -> Any:
    before: np.ndarray | None = run.memory.get("one before")
    return value if before is None else before


def _remember_the_one_before(run: Definition, value: np.ndarray, **_: Any) -> Any:
    run.memory["one before"] = value
    return value


def _forget_the_one_before(run: Definition, value: np.ndarray, **_: Any) -> Any:
    run.memory["one before"] = None
    return value


def _old_start(run: Definition, value: np.ndarray, client: int) -> Any:
    return run.memory.get(("old", client), value)


def _remember_old(run: Definition, value: np.ndarray, client: int) -> Any:
    run.memory["old", client] = value
    return value


def _one_epoch(run: Definition, value: float, client: int) -> Any:
    return value / run.settings["local_epochs"]


def _one_batch(run: Definition, value: float, client: int) -> Any:
    return value / run.batches(client)


def _one_epoch_more(run: Definition, value: float, client: int) -> Any:
    return value + run.batches(client)


LOCAL_STEPS = (
    changed("epochs-ignored", "steps", _one_epoch, "clients make one pass whatever local_epochs is"),
    changed("first-batch-only", "steps", _one_batch, "each epoch ends after its first batch"),
    changed("one-epoch-more", "steps", _one_epoch_more, "clients make one pass more than local_epochs"),
    changed("loss-summed", "gradient", _summed, "the loss is summed over the rows of a batch, not averaged"),
    changed(
        "loss-summed-over-outputs",
        "gradient",
        _summed_over_outputs,
        "the loss is summed over the rows and outputs of a batch, not averaged",
    ),
    changed("gradients-not-zeroed", "gradient", _accumulated, "gradients add up (no zero_grad)"),
    replaced("gradient-at-received-model", "gradient", _at_received, "all local steps use g_i(x)"),
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


def other_weights(run: Definition, _value: np.ndarray, participants: list[int]) -> Any:
    """Return equal weights for n_i, or n_i for the declared ones."""
    if run.settings["weighting"] == "samples":
        return np.full(len(participants), 1 / len(participants))
    counts = run.task.samples[participants].astype(float)
    return counts / counts.sum()


def _share(run: Definition, participants: list[int]) -> Any:
    """Return the participants' share of all clients, or of all samples where samples weigh."""
    if run.settings["weighting"] == "samples":
        samples = run.task.samples
        return float(samples[participants].sum() / samples.sum())
    return len(participants) / run.task.clients


def _absent_counted(run: Definition, value: np.ndarray, participants: list[int]) -> Any:
    return _share(run, participants) * value


def _absent_counted_model(run: Definition, value: np.ndarray, participants: list[int], **_: Any) -> Any:
    """Return the change if models, not changes, are added with weights that add up to the share."""
    share = _share(run, participants)
    return share * value + (share - 1) * run.x


def _first_twice(_run: Definition, value: np.ndarray, participants: list[int]) -> Any:
    return value * np.where(np.arange(len(value)) == 0, 2.0, 1.0)


def _first_model_twice(
    _run: Definition,
    value: np.ndarray,
    participants: list[int],
    weights: np.ndarray,
    local: dict[int, np.ndarray],
) -> Any:
    return value + weights[0] * local[participants[0]]


def _first_model_added(
    _run: Definition, value: np.ndarray, participants: list[int], local: dict[int, np.ndarray], **_: Any
) -> Any:
    return value + local[participants[0]]


def _ones(_run: Definition, value: np.ndarray, **_: Any) -> Any:
    return np.ones(len(value))


def _last_only(_run: Definition, value: np.ndarray, participants: list[int]) -> Any:
    return np.where(np.arange(len(value)) == len(value) - 1, 1.0, 0.0)


def _last_change_only(run: Definition, value: np.ndarray, participants: list[int]) -> Any:
    return value * _last_only(run, value, participants)


MEANS = (
    replaced(
        "other-weights",
        "weights",
        other_weights,
        "the mean uses other weights: equal ones in place of n_i, or n_i in place of the declared ones",
    ),
    changed("absent-counted", "weights", _absent_counted, "changes are divided by all clients' total"),
    changed(
        "absent-counted-model",
        "change",
        _absent_counted_model,
        "the participants' models are added with weights of all clients, which do not add up to 1",
    ),
    changed("first-counted-twice", "weights", _first_twice, "the first participant is counted twice"),
    changed(
        "first-counted-twice-model",
        "change",
        _first_model_twice,
        "the sum of the models starts with the first one's share, which is then added again",
    ),
    changed(
        "first-model-not-zeroed",
        "change",
        _first_model_added,
        "the sum of the models starts with the first model instead of 0",
    ),
    replaced("sum-for-mean", "weights", _ones, "the changes are added without weights"),
    changed("last-change-only", "weights", _last_change_only, "only the last change is taken, weighted"),
    replaced("last-client-only", "weights", _last_only, "only the last participant's model is taken"),
)
"""Mistakes of the mean."""


def _gamma_on_model(run: Definition, value: np.ndarray, change: np.ndarray, gamma: float) -> Any:
    return value + (gamma - 1) * run.x


def _server_step(run: Definition) -> Any:
    return float(run.settings[str(run.server_step)])


SERVER_STEPS = (
    replaced("server-step-ignored", "server step", constant(1.0), "the server's step size has no effect"),
    factor("server-step-twice", "server step", _server_step, "the server's step size is applied twice"),
    changed("server-step-on-model", "new model", _gamma_on_model, "gamma multiplies the mean model"),
)
"""Mistakes of the server's step."""

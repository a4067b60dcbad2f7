"""What a slip is, and the mistakes that the code of any algorithm with local steps and a mean can have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import Change, Definition


@dataclass(frozen=True)
class Slip:
    """A known mistake.

    Attributes
    ----------
    changes
        Changes by the name of the line; a change that needs state between calls keeps it in ``run.memory``.
    sentence
        What code with this mistake does, to help its author find it.
    """

    changes: Mapping[str, Change]
    sentence: str


def times(setting: str) -> Change:
    """Return the change that multiplies a line by a setting."""
    return lambda run, value: run.settings[setting] * value


def over(setting: str) -> Change:
    """Return the change that divides a line by a setting."""
    return lambda run, value: np.divide(value, run.settings[setting])


def not_squared(setting: str, *parts: slice) -> Change:
    """Return the change from the gradient of mu / 2 ||y - x||^2 to that of mu / 2 ||y - x||, 0 at x as in autograd.

    With ``parts`` of the model it is the sum of their norms.
    """

    def change(run: Definition, value: np.ndarray) -> Any:
        pieces = [value[part] for part in parts or (slice(None),)]
        lengths = [float(np.linalg.norm(piece / run.settings[setting])) for piece in pieces]
        directions = zip(pieces, lengths, strict=True)
        return np.concatenate([piece / (2 * length) if length else 0 * piece for piece, length in directions])

    return change


def other_form(setting: str) -> Change:
    """Return the change to the other of a setting's two admissible forms."""
    return lambda run, value: next(form for form in run.variants[setting] if form != value)


def passes_over_samples(run: Definition, client: int, local_epochs: int) -> Any:
    """Return the number of local steps if each sample was a batch."""
    return local_epochs * run.task.samples[client]


def state_by_position(*names: str) -> Slip:
    """Return the slip that gives the k-th participant the k-th state, whichever client it is."""

    def change(run: Definition, value: Any, participants: list[int]) -> None:
        kept = {name: getattr(run, name).copy() for name in names}
        places = np.arange(len(participants))
        for name, states in kept.items():
            getattr(run, name)[participants] = states[places]
        value(participants)
        for name, states in kept.items():
            states[places] = getattr(run, name)[participants]
            setattr(run, name, states)

    return Slip({"round": change}, "states belong to places in the list of participants, not to clients")


def _half(value: np.ndarray) -> Any:
    return np.asarray(value, dtype="float16").astype(float)


def _added_up(run: Definition, value: np.ndarray) -> Any:
    run.memory["sum"] = run.memory.get("sum", 0.0) + value
    return run.memory["sum"]


def _with_old_total(run: Definition, value: np.ndarray, participants: list[int]) -> Any:
    samples = run.task.samples if run.settings["weighting"] == "samples" else np.ones(run.task.clients)
    total = samples[participants].sum()
    run.memory["total"] = run.memory.get("total", 0.0) + total
    return value * total / run.memory["total"]


def _summed(run: Definition, value: np.ndarray, client: int, step: int) -> Any:
    """Return the gradient times the number of rows in the batch of a local step."""
    samples, size = int(run.task.samples[client]), run.settings["batch_size"]
    return (samples if size is None else min(size, samples - step % run.batches(client) * size)) * value


def _accumulated(run: Definition, value: np.ndarray, step: int) -> Any:
    run.memory["accumulated"] = value if step == 0 else run.memory["accumulated"] + value
    return run.memory["accumulated"]


def _forget_the_one_before(run: Definition, value: np.ndarray) -> Any:
    run.memory.pop("one before", None)
    return value


def _remember(run: Definition, value: np.ndarray, client: int) -> Any:
    run.memory["one before"] = run.memory["old", client] = value
    return value


LOCAL_STEPS = {
    "epochs-ignored": Slip({"steps": over("local_epochs")}, "clients make one pass whatever local_epochs is"),
    "first-batch-only": Slip(
        {"steps": lambda run, value, client: value / run.batches(client)},
        "local_epochs is the number of steps: each epoch ends after its first batch, or batch_size has no effect",
    ),
    "one-epoch-more": Slip(
        {"steps": lambda run, value, client: value + run.batches(client)},
        "clients make one pass more than local_epochs",
    ),
    "loss-summed": Slip({"gradient": _summed}, "the loss is summed over the rows of a batch, not averaged"),
    "loss-summed-over-outputs": Slip(
        {"gradient": lambda run, value, client, step: len(value) * _summed(run, value, client, step)},
        "the loss is summed over the rows and outputs of a batch, not averaged",
    ),
    "gradients-not-zeroed": Slip({"gradient": _accumulated}, "gradients add up (no zero_grad)"),
    "gradients-in-half-precision": Slip({"gradient": _half}, "gradients are rounded to float16"),
}
"""Mistakes of the local steps."""

STARTS = {
    "gradient-at-received-model": Slip(
        {"gradient": lambda run, client: run.task.gradient(client, run.x)}, "all local steps use g_i(x)"
    ),
    "clients-in-a-row": Slip(
        {
            "start": lambda run, value: run.memory.get("one before", value),
            "local model": _remember,
            "change": _forget_the_one_before,
        },
        "a client starts where the client before it ended, not from the received model",
    ),
    "own-old-start": Slip(
        {
            "start": lambda run, value, client: run.memory.get(("old", client), value),
            "local model": _remember,
        },
        "a client starts from its own model of the last round, not from the received one",
    ),
}
"""Mistakes of what the local steps start from."""


def other_weights(run: Definition, participants: list[int]) -> Any:
    """Return equal weights for n_i, or n_i for the declared ones."""
    equal, samples = np.ones(len(participants)), run.task.samples[participants]
    counts = equal if run.settings["weighting"] == "samples" else samples
    return counts / counts.sum()


def _share(run: Definition, participants: list[int]) -> float:
    """Return the participants' share of all clients, or of all samples where samples weigh."""
    equal, samples = np.ones(run.task.clients), run.task.samples
    counts = samples if run.settings["weighting"] == "samples" else equal
    return float(counts[participants].sum() / counts.sum())


def _absent_counted_model(run: Definition, value: np.ndarray, participants: list[int]) -> Any:
    """Return the change if models, not changes, are added with weights that add up to the share."""
    share = _share(run, participants)
    return share * value + (share - 1) * run.x


def _of_models(run: Definition, value: np.ndarray, weights: np.ndarray) -> Any:
    """Return the change if models, not changes, are added with the weights, which need not add up to 1."""
    return value + (weights.sum() - 1) * run.x


def _ones(value: np.ndarray) -> Any:
    return np.ones(len(value))


def _share_each(run: Definition, value: np.ndarray) -> Any:
    return np.full(len(value), len(value) / run.task.clients)


MEANS = {
    "other-weights": Slip(
        {"weights": other_weights},
        "the mean uses other weights: equal ones in place of n_i, or n_i in place of the declared ones",
    ),
    "absent-counted": Slip(
        {"weights": lambda run, value, participants: _share(run, participants) * value},
        "the mean over the participants is divided by all clients' total",
    ),
    "absent-counted-model": Slip(
        {"change": _absent_counted_model},
        "the participants' models are added with weights of all clients, which do not add up to 1",
    ),
    "first-counted-twice": Slip(
        {"weights": lambda value: np.array([2 * value[0], *value[1:]])},
        "the first participant has twice its weight, and the weights add up to more than 1",
    ),
    "first-counted-twice-model": Slip(
        {"change": lambda value, participants, weights, local: value + weights[0] * local[participants[0]]},
        "the sum of the models starts with the first one's share, which is then added again",
    ),
    "first-model-not-zeroed": Slip(
        {"change": lambda value, participants, local: value + local[participants[0]]},
        "the sum of the models starts with the first model instead of 0",
    ),
    "sum-for-mean": Slip(
        {"weights": _ones}, "the sum over the participants, unweighted, takes the place of the mean"
    ),
    "sum-for-mean-model": Slip(
        {"weights": _ones, "change": _of_models}, "the participants' models are added, unweighted"
    ),
    "last-change-only": Slip(
        {"weights": lambda value: value * np.eye(len(value))[-1]},
        "of the mean only the last participant's term is taken, with its weight",
    ),
    "last-client-only": Slip(
        {"weights": lambda value: np.eye(len(value))[-1]}, "only the last participant's model is taken"
    ),
    "share-times-sum": Slip(
        {"weights": _share_each},
        "each of the k clients of a mean has the weight k/N: weights do not add up to 1",
    ),
    "share-times-sum-model": Slip(
        {"weights": _share_each, "change": _of_models},
        "the models of the k clients of a mean have the weight k/N: weights do not add up to 1",
    ),
    "sum-not-reset": Slip({"change": _added_up}, "the sum of the changes is not set to 0 between rounds"),
    "total-not-reset": Slip(
        {"weights": _with_old_total}, "the sum of the weights is not set to 0 between rounds"
    ),
    "total-not-reset-model": Slip(
        {"weights": _with_old_total, "change": _of_models},
        "models are divided by a sum of weights that is not set to 0 between rounds",
    ),
    "step-size-on-change": Slip(
        {"change": times("step_size")},
        "the mean change is multiplied by the step size of the local steps, too",
    ),
    "models-sent-in-half-precision": Slip({"local model": _half}, "local models are rounded to float16"),
}
"""Mistakes of the mean."""

SERVER_STEPS = {
    "server-step-ignored": Slip({"server step": lambda: 1.0}, "the server's step size has no effect"),
    "server-step-twice": Slip({"server step": lambda value: value**2}, "the server's step is applied twice"),
}
"""Mistakes of the server's step."""

SERVER_MODELS = SERVER_STEPS | {
    "server-model-trained-in-place": Slip(
        {
            "start": lambda run, value: run.memory.get("one before", value),
            "local model": _remember,
            "new model": lambda run, value: run.memory.pop("one before", value),
        },
        "clients train the server's model itself, one after the other, not copies: x is what the last one leaves",
    ),
    "server-model-trained-in-place-and-averaged": Slip(
        {
            "start": lambda run, value: run.memory.get("one before", value),
            "local model": _remember,
            "new model": lambda run, value, gamma: (
                value + (1 - gamma) * (run.memory.pop("one before", run.x) - run.x)
            ),
        },
        "clients train the server's model itself, one after the other, not copies, and gamma moves what the last one "
        "leaves towards the mean",
    ),
    "server-step-on-model": Slip(
        {"new model": lambda run, value, gamma: value + (gamma - 1) * run.x},
        "gamma multiplies the mean model",
    ),
}
"""... where it moves a model along the mean change."""

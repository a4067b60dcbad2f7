"""Definitions of three algorithms that have no method in ``methods``: CFL, SoFL and GL-CFL.

A round of CFL or SoFL compares all updates with each other, and a round of GL-CFL compares gradients with changes of
models. A method cannot express these comparisons. The package ``algorithms`` computes the same rounds with arrays, and
imports nothing from this module. So ``conform`` can compare also the classes of this library with these definitions.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clusterproof.methods.exact import descend, mean, members, shares


def averaged(models: Any, updates: Any, groups: Any, weights_of: Callable[[Any], Any]) -> Any:
    """Return the models after each group has moved by the mean update of its clients."""
    after = models.copy()
    for group in np.unique(groups):
        members = [i for i in sorted(updates) if groups[i] == group]
        if members:
            change = weights_of(members) @ np.array([updates[i] for i in members])
            after[groups == group] = models[groups == group] + change
    return after


def is_ready(sent: Any, weights: Any, reference: float, settings: Mapping[str, Any]) -> bool:
    """Return whether the updates of a group have a small mean and at least one large update."""
    norms = np.linalg.norm(sent, axis=1)
    mean, largest = float(np.linalg.norm(weights @ sent)), float(norms.max())
    small, large = settings["mean_threshold"], settings["client_threshold"]
    if settings["thresholds"] == "relative":
        small, large = largest / 10, reference / 4
    return bool(mean < small and largest > large)


def bipartition(similarities: np.ndarray, linkage: str) -> np.ndarray:
    """Merge the two most similar of n clusters until there are only two.

    Return booleans (n,), True for one of the two.

    The similarity of two clusters is the largest similarity of two members for single linkage, and the smallest for
    complete linkage.
    """
    similarity = np.max if linkage == "single" else np.min
    parts = [[i] for i in range(len(similarities))]
    while len(parts) > 2:
        pairs = [(i, j) for i in range(len(parts)) for j in range(i)]
        i, j = max(pairs, key=lambda pair: similarity(similarities[np.ix_(parts[pair[0]], parts[pair[1]])]))
        parts[j] += parts.pop(i)
    return np.isin(np.arange(len(similarities)), parts[1])


def halves(sent: np.ndarray, settings: Mapping[str, Any]) -> np.ndarray | None:
    """Split a group with the given updates into two; return booleans (n,), or None if noise explains the split."""
    lengths = np.linalg.norm(sent, axis=1)
    units = sent / np.where(lengths > 0, lengths, 1.0)[:, None]
    cosines = np.clip(units @ units.T, -1, 1)
    side = bipartition(cosines, settings["linkage"])
    across = float(cosines[np.ix_(side, ~side)].max())
    return side if np.sqrt((1 - across) / 2) > settings["noise_ratio"] else None


def cfl_round(
    gradients: Any,
    participants: Any,
    models: Any,
    groups: Any,
    reference: float,
    step_size: Any,
    steps: Any,
    weights_of: Callable[[Any], Any],
    settings: Mapping[str, Any],
    finished: int,
) -> tuple[Any, Any, Any]:
    """Return models and groups after a round, and the largest update of the first round.

    The paper does not define rounds with absent clients. Here, if the participants of a group meet the conditions for a
    split, the absent clients of the group also train in this round. The group is split if all its clients together meet
    the conditions.
    """

    def update(i: int) -> Any:
        return descend(gradients[i], models[i], step_size, steps[i]) - models[i]

    def ready(members: Any) -> bool:
        sent = np.array([updates[i] for i in members])
        return len(members) > 2 and is_ready(sent, weights_of(members), reference, settings)

    updates = {i: update(i) for i in participants}
    if finished == 0:
        reference = max(float(np.linalg.norm(each)) for each in updates.values())
    before, groups = groups, groups.copy()
    for group in np.unique(before) if finished >= settings["warm_up"] else ():
        if ready([i for i in participants if before[i] == group]):
            members = np.flatnonzero(before == group)
            updates |= {i: update(i) for i in members.tolist() if i not in updates}
            side = halves(np.array([updates[i] for i in members]), settings)
            if ready(members) and side is not None:
                groups[members[side]] = groups.max() + 1
    return averaged(models, updates, groups, weights_of), groups, reference


def sofl_round(
    gradients: Any,
    models: Any,
    groups: Any,
    clustered: bool,
    step_size: Any,
    steps: Any,
    weights_of: Callable[[Any], Any],
    groups_of_task: Any,
    settings: Mapping[str, Any],
    finished: int,
) -> tuple[Any, Any, bool]:
    """Return models and groups after a round, and whether clients have been grouped."""
    method = settings["method"]

    def update(i: int) -> Any:
        def direction(y: Any) -> Any:
            if method == "fedprox":
                return gradients[i](y) + settings["proximal"] * (y - models[i])
            # to first order, with half of eta as the inner step
            return gradients[i](y - step_size / 2 * gradients[i](y) if method == "per-fedavg" else y)

        return descend(direction, models[i], step_size, steps[i]) - models[i]

    updates = {i: update(i) for i in range(len(models))}
    due = finished >= settings["pretraining"]
    if due and settings["trigger"] == "stationary":
        sent = np.array(list(updates.values()))
        due = bool(np.linalg.norm(sent.mean(axis=0)) < 0.1 * np.linalg.norm(sent, axis=1).max())
    if (
        due and not clustered
    ):  # split into the groups that the run reports; the definition itself uses the groups of the task
        clustered = True
        after = (
            groups_of_task
            if "reported" not in settings
            else settings["reported"]["groups"][finished + 1 :][:1]
        )
        groups = groups if after is None or len(after) == 0 else np.reshape(after, -1)
    return averaged(models, updates, groups, weights_of), groups, clustered


def likeness(gradient: Any, change: Any, step_size: Any, count: int, settings: Mapping[str, Any]) -> float:
    """Return S_ik, computed by (3), or as the negative distance in the paper's text below (3).

    With the printed sign, (3) uses the gradient instead of the negative gradient.
    """
    descent = settings["sign"] == "descent"
    if settings["similarity"] == "euclidean":
        apart = gradient + change / step_size if descent else count * gradient - change
        return -float(np.linalg.norm(apart))
    product, lengths = gradient @ change, np.linalg.norm(gradient) * np.linalg.norm(change)
    cosine = float(product / lengths) if lengths else 0.0
    return -cosine if descent else cosine


def gradient_loss_round(
    losses: Any,
    gradients: Any,
    models: Any,
    moves: Any,
    step_size: Any,
    batches: Any,
    settings: Mapping[str, Any],
    finished: int,
    weights: Any,
) -> tuple[Any, Any, Any]:
    """Return the models after a round, their changes, and each participant's choice (lines 3 to 14 of Algorithm 1)."""
    weight, rule, summed = settings["weight"], settings["empty_cluster"], settings["loss_reduction"] == "sum"

    def score(i: int, k: int) -> Any:  # (4); batches are the numbers of samples in a client's mini-batch
        count = batches[i] if summed else 1  # (1)
        alike = likeness(gradients[i](models[k]), moves[k], step_size, count, settings)
        return weight * (alike if finished else 0.0) - (1 - weight) * count * losses[i](models[k])

    every = range(len(models))
    chosen = [max(every, key=lambda k: score(i, k)) for i in range(len(losses))]
    trained = list(chosen)
    if rule == "always" or (rule == "when-empty" and len(set(chosen)) < len(models)):
        trained[: len(models)] = every[
            : len(chosen)
        ]  # as in II-C, but with the first participants instead of random ones

    def moved(k: int) -> Any:  # (5) and (7)
        ends = [descend(gradient, models[k], step_size, 1) for gradient in members(gradients, trained, k)]
        return mean(ends, shares(weights, trained, k)) if ends else models[k]

    after = [moved(k) for k in every]
    return after, [new - old for new, old in zip(after, models, strict=True)], chosen  # (2)

"""Draw the participants of a round."""

from __future__ import annotations

import numpy as np
from array_api_compat import device

from clusterproof.common.arrays import Array, array_namespace, like
from clusterproof.common.validation import check_number


def check_participation(participation: float) -> None:
    """Raise an error unless the argument is a fraction in (0, 1].

    Raises
    ------
    InvalidArgument
        If the fraction is outside (0, 1].
    """
    remedy = "give the fraction of clients that take part in each round, such as 0.1"
    check_number("participation", participation, above=0, at_most=1, remedy=remedy)


def participant_count(participation: float, clients: int) -> int:
    """Return the number of participants among m clients: max(1, round(participation * m))."""
    return max(1, round(participation * clients))


def draw_participants(
    participation: float, clients: int, models: Array, generator: np.random.Generator
) -> Array:
    """Draw the participants of one round, uniformly and without replacement.

    Parameters
    ----------
    participation
        Fraction of clients, see ``participant_count``.
    clients
        Number of clients (m).
    models
        Server models (..., P, d), which determine the replicate axes and the array library.
    generator
        Source of randomness, unused at full participation.

    Returns
    -------
    Array
        Sorted client indices: (k,) with k = m at full participation, otherwise (..., k).
    """
    count = participant_count(participation, clients)
    if count == clients:
        return array_namespace(models).arange(clients, device=device(models))
    keys = generator.random((*models.shape[:-2], clients))
    chosen = np.argpartition(keys, count, axis=-1)[..., :count]
    return like(np.sort(chosen, axis=-1), models)

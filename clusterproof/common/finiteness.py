"""Check that the clients' models are finite."""

from __future__ import annotations

import numpy as np

from clusterproof.common.arrays import Array, array_namespace, to_numpy
from clusterproof.common.validation import InvalidArgument


def check_finite(points: Array, clients: Array, step_size: float) -> None:
    """Raise ``InvalidArgument`` if a client's model is not finite, before it is averaged.

    Parameters
    ----------
    points
        Models of the participants, (..., k, d).
    clients
        Indices of the participants, (..., k).
    step_size
        Step size of the algorithm, for the message.

    Raises
    ------
    InvalidArgument
        If an entry is infinite or NaN; the message names the client.
    """
    xp = array_namespace(points)
    finite = xp.all(xp.isfinite(points), axis=-1)
    if bool(xp.all(finite)):
        return
    finite_models = to_numpy(finite)
    client = int(np.broadcast_to(to_numpy(clients), finite_models.shape)[~finite_models][0])
    raise InvalidArgument(
        "step_size",
        step_size,
        f"must keep every client's model finite, and client {client}'s is not",
        "lower it below 2 / the largest curvature, or fix that client's data",
    )

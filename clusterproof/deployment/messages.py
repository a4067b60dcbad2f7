"""What the server asks, what a client must answer, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

MOST_SAMPLES = 2**53
"""More examples than any client has."""


@dataclass(frozen=True)
class Request:
    """A question to one client.

    Attributes
    ----------
    method
        One of those that ``expected`` knows.
    arrays
        Such as ``models`` (P, d) or ``point`` (d,).
    numbers
        Parameters of local training, by name.
    turn
        How many questions the algorithm has asked in the round before: who draws mini-batches draws new ones.
    """

    method: str
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    numbers: Mapping[str, float | int] = field(default_factory=dict)
    turn: int = 0


@dataclass(frozen=True)
class Reply:
    """A client's answer.

    Attributes
    ----------
    arrays
        By name, as ``expected`` says.
    samples
        How many examples it rests on. The update rules weigh clients equally, so that it moves nothing.
    """

    arrays: Mapping[str, np.ndarray]
    samples: int


Exchange: TypeAlias = Callable[[Mapping[int, Request]], Mapping[int, Reply]]
"""Sends each client its request and gives the replies that came in time."""


class Refusal(ValueError):
    """A reply that cannot be one: its message says why."""


def expected(request: Request, clusters: int, dimension: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays that answer a request, by name; ``assignment`` is an integer, all others are real.

    Parameters
    ----------
    request
        What was asked.
    clusters, dimension
        P, the number of models in the request, and d.
    """
    model, models = (dimension,), (clusters, dimension)
    if request.method == "losses":
        return {"losses": (clusters,)}
    if request.method == "gradient":
        return {"gradient": model}
    if request.method == "losses-and-gradients":
        return {"losses": (clusters,), "gradients": models}
    if request.method == "local-training":
        return {"point": model, **({"buffer": model} if "buffer" in request.arrays else {})}
    if request.method == "cluster-training":
        return {
            "assignment": (),
            "point": model,
            **({"buffer": model} if "buffers" in request.arrays else {}),
        }
    raise ValueError(request.method)


def check_reply(reply: Reply, request: Request, clusters: int, dimension: int) -> None:
    """Require that a reply can be one to this request.

    Raises
    ------
    Refusal
        If an array is missing, superfluous or of a wrong shape or kind, a number is not finite, the cluster is
        outside 0 .. P - 1 or not the one that was asked for, or the number of examples is impossible.
    """
    shapes = expected(request, clusters, dimension)
    if set(reply.arrays) != set(shapes):
        raise Refusal(f"sent {_names(reply.arrays)} instead of {_names(shapes)}")
    for name, shape in shapes.items():
        array, kind = reply.arrays[name], "i" if name == "assignment" else "f"
        if array.shape != shape:
            raise Refusal(f"sent {name} of shape {array.shape} instead of {shape}")
        if array.dtype.kind != kind:
            raise Refusal(f"sent {name} of type {array.dtype}")
        if not np.isfinite(array).all():
            raise Refusal(f"sent {name} with entries that are not finite")
    if "assignment" in shapes:
        cluster = int(reply.arrays["assignment"])
        if not 0 <= cluster < clusters:
            raise Refusal(f"chose cluster {cluster}, outside 0 .. {clusters - 1}")
        if "assignment" in request.arrays and cluster != int(request.arrays["assignment"]):
            raise Refusal(f"trained cluster {cluster} instead of {int(request.arrays['assignment'])}")
    if isinstance(reply.samples, bool) or not isinstance(reply.samples, int):
        raise Refusal(f"counts {reply.samples!r} examples, which is no integer")
    if not 1 <= reply.samples <= MOST_SAMPLES:
        raise Refusal(f"counts {reply.samples} examples, outside 1 .. 2^53")


def _names(arrays: Mapping[str, object]) -> str:
    return ", ".join(sorted(arrays)) or "nothing"

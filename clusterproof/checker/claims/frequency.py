"""Conclusions about the probability of an event, which the checker estimates from replicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from clusterproof.checker.claims.sides import check_words
from clusterproof.common import InvalidArgument


@dataclass(frozen=True)
class Frequency:
    """The statement that the probability of an event is at most, or exactly, ``allowed``.

    Attributes
    ----------
    events
        Whether the event happened in each independent replicate, (replicates,).
    allowed
        Probability, in [0, 1].
    exactly
        Whether the probability must equal ``allowed``; otherwise it may be smaller.
    words
        As in ``Sides``.
    """

    events: np.ndarray
    allowed: float
    exactly: bool = False
    words: str | Callable[[], str] = field(default="", compare=False)


def probability(
    events: np.ndarray,
    *,
    at_most: float | None = None,
    equal: float | None = None,
    words: str | Callable[[], str] = "",
) -> Frequency:
    """State that the probability of an event is at most, or equal to, a number.

    The checker calls the statement false only if every probability in the exact confidence interval contradicts it.

    Parameters
    ----------
    events
        Whether the event happened in each independent replicate, (replicates,).
    at_most, equal
        The allowed probability, in [0, 1]; give one of the two.
    words
        As in ``Sides``.

    Raises
    ------
    InvalidArgument
        If both numbers are given, or neither; if the number is not a probability; or if an entry of ``events`` is not a
        boolean.
    """
    check_words(words)
    happened = np.asarray(events)
    if happened.dtype != bool and not np.isin(happened, (0, 1)).all():
        raise InvalidArgument(
            "events",
            happened.dtype.name,
            "must be booleans, 0 or 1",
            "write a comparison, such as errors > 0.1",
        )
    allowed = at_most if equal is None else equal
    if allowed is None or (at_most is not None and equal is not None):
        raise InvalidArgument(
            "at_most", at_most, "must be given, unless `equal` is given", "give exactly one of the two"
        )
    if not 0 <= allowed <= 1:
        raise InvalidArgument(
            "allowed",
            allowed,
            "must be a probability",
            'add suppose("0 <= p <= 1", 0 <= p <= 1) with your quantity in place of p',
        )
    return Frequency(happened.astype(bool), float(allowed), equal is not None, words)

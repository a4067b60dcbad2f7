"""Loops and values of which a proof knows what their author says: elsewhere they are what Python makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, TypeVar

from clusterproof.common import InvalidArgument
from clusterproof.common.validation import brief

State = TypeVar("State")


def known(make: Callable[[], State], says: Callable[[State], Any]) -> State:
    """Return what ``make`` returns: a proof knows of it only what ``says`` returns.

    Parameters
    ----------
    make
        Returns a number, or a tuple or frozen record of numbers.
    says
        Of a proof, and not looked at elsewhere: takes the value, and returns a comparison, or a tuple of them, which
        the proof shows on every branch that leads to the value.
    """
    return make()


def iterate(
    step: Callable[..., State],
    start: State,
    rounds: int | Sequence[Any],
    *,
    invariant: Callable[[State, Any], Any] | None = None,
) -> State:
    """Apply a step to a state in every round, and return the last state.

    Parameters
    ----------
    step
        Takes the state, and the round's entry if ``rounds`` is a sequence; returns the next state.
    start
        The first state: for a proof a number, or a tuple or frozen record of numbers.
    rounds
        Number of rounds, or a sequence with an entry for each.
    invariant
        Of a proof for every number of rounds, and not looked at elsewhere: takes a state and the number of rounds
        that led to it, and returns a comparison, or a tuple of them, such as ``(state >= 0, state <= rounds)``. It is
        shown of the start, and in every round of the next state if it holds of the one before; what it says of the
        last state is what the proof of the line knows.

    Raises
    ------
    InvalidArgument
        If ``rounds`` is neither an integer nor a sequence.
    """
    if isinstance(rounds, Sequence):
        for entry in rounds:
            start = step(start, entry)
        return start
    try:
        count = index(rounds)
    except TypeError:
        rule = "must be an integer or a sequence"
        raise InvalidArgument("rounds", brief(rounds), rule, "correct it") from None
    for _ in range(count):
        start = step(start)
    return start

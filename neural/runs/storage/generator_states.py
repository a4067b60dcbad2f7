"""Where the random streams of a run stand, as plain numbers, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from clusterproof.algorithms.randomness import Randomness


def generator_states(randomness: Randomness) -> dict[str, Any]:
    """Give the state of every stream as plain JSON values."""
    return {field.name: _plain(getattr(randomness, field.name)) for field in fields(randomness)}


def randomness_from(states: Mapping[str, Any]) -> Randomness:
    """Make streams that go on where those went that ``generator_states`` was given.

    Raises
    ------
    KeyError, TypeError, ValueError, OverflowError
        If the values are not those of such streams.
    """
    return Randomness(**{field.name: _restored(states[field.name]) for field in fields(Randomness)})


def _plain(generator: np.random.Generator) -> dict[str, Any]:
    state = generator.bit_generator.state
    return {**state, "state": {name: words.tolist() for name, words in state["state"].items()}}


def _restored(plain: Mapping[str, Any]) -> np.random.Generator:
    bits = np.random.SFC64()
    words = np.array(plain["state"]["state"], dtype=np.uint64)
    if words.shape != (4,):
        raise ValueError("a stream's state has four words")
    state: Any = {**plain, "state": {"state": words}}
    bits.state = state
    return np.random.Generator(bits)

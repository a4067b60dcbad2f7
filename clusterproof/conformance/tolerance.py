"""Tolerances for the distance between a run in floating point and the reference in float64."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Snapshot = Mapping[str, np.ndarray]
"""The quantities of an implementation or of the reference after a round, indexed by name."""


def unit(rounds: int, expected: np.ndarray, dtype: str) -> float:
    """Return the largest error that rounding can explain after t rounds: 300 eps (1 + t) max(1, ||expected||_inf)."""
    largest = float(np.abs(expected[np.isfinite(expected)]).max(initial=1.0))
    return least_unit(rounds, dtype) * largest


def least_unit(rounds: int, dtype: str) -> float:
    """Return ``unit`` for entries of size at most 1."""
    return 300 * float(np.finfo(dtype).eps) * (1 + rounds)


def fixed_point_tolerance(dtype: str) -> float:
    """Return the allowed distance between a run and a fixed point in closed form."""
    return 1e4 * float(np.finfo(dtype).eps) + 1e-9


def is_bounded(snapshot: Snapshot) -> bool:
    """Return whether every entry is finite and at most 1e8 in absolute value.

    Only these rounds of a run are compared.
    """
    return all(bool((np.abs(value) <= 1e8).all()) for value in snapshot.values())


def by_appearance(groups: np.ndarray) -> np.ndarray:
    """Renumber groups (N,) as 0, 1, ... in the order of their first clients; return floats."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(float)


@dataclass(frozen=True)
class Difference:
    """The first entry that differs by more than rounding.

    Attributes
    ----------
    quantity, round
        The quantity, and the number of the round (0 is the start).
    index
        Index of the entry in the array: (coordinate,), (client or cluster, coordinate), or (client, client,
        coordinate).
    observed, expected
        The value of the run and the value of the reference.
    """

    quantity: str
    round: int
    index: tuple[int, ...]
    observed: float
    expected: float

    def __str__(self) -> str:
        """Describe the difference: quantity, round, index and both values."""
        of_clients = ("controls", "personal", "group_models", "differences", "duals")
        owner = "client" if self.quantity in of_clients else "model"
        names: tuple[str, ...] = (owner, owner, "coordinate")[-len(self.index) :]
        names = ("client",) if self.quantity in ("assignments", "groups") else names
        place = ", ".join(f"{name} {number}" for name, number in zip(names, self.index, strict=True))
        values = f"observed {self.observed:.6g}, expected {self.expected:.6g}"
        return f"{self.quantity} after round {self.round}, {place} (counted from 0): {values}"


@np.errstate(all="ignore")
def first_difference(
    observed: Sequence[Snapshot],
    expected: Sequence[Snapshot],
    dtype: str,
    *,
    allowed: float = 1.0,
) -> Difference | None:
    """Return the first difference above the allowed units in a quantity that both runs have, or None.

    If a run stopped early, only its rounds are compared. All controls of a run may have the opposite sign, because the
    sign is a convention. Groups may have other numbers.
    """
    signs: dict[str, float] = {}
    for name in {"control", "controls"} & observed[0].keys() & expected[0].keys():
        products = [
            np.vdot(found[name], wanted[name]) for found, wanted in zip(observed, expected, strict=False)
        ]
        signs[name] = -1.0 if sum(product for product in products if np.isfinite(product)) < 0 else 1.0
    for number, (found, wanted) in enumerate(zip(observed, expected, strict=False)):
        near = min(allowed, 1.0) * least_unit(number, dtype)
        for name in [name for name in wanted if name in found]:
            value, reference = signs.get(name, 1.0) * found[name], wanted[name]
            if name == "groups" and not np.array_equal(value, reference):
                value, reference = by_appearance(value), by_appearance(reference)
            distances = np.abs(value - reference)
            if distances.max(initial=0.0) <= near:  # this is below any unit
                continue
            scale = unit(number, reference, dtype)
            # a non-finite value counts as infinitely far from a finite value, and as equal to another non-finite value
            units = np.where(np.isfinite(distances), distances / scale, np.inf)
            units = np.where(np.isfinite(value) | np.isfinite(reference), units, 0.0)
            if units.max(initial=0.0) > allowed:
                index = tuple(int(axis) for axis in np.unravel_index(int(units.argmax()), units.shape))
                return Difference(name, number, index, float(value[index]), float(reference[index]))
    return None

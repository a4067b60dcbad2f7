"""Groups of clients: connected components of the relation "close"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Search: TypeAlias = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From a relation (R, m, m) to the labels and the parents of its groups, (R, m) each."""


@dataclass(frozen=True)
class Groups:
    """Connected components of a relation, with a tree of each that tells when they are still what they were.

    Attributes
    ----------
    labels
        Group of every client, numbered by first appearance, (R, m).
    parents
        A client that every client is close to, on the way to the first of its group; the first's is itself, (R, m).
    """

    labels: np.ndarray
    parents: np.ndarray

    @classmethod
    def of(cls, near: np.ndarray) -> Groups:
        """Search a relation: booleans (R, m, m), symmetric."""
        return cls(*components(near))

    def after(self, near: np.ndarray, *, joined: bool, search: Search | None = None) -> Groups:
        """Groups of a relation that has changed; these, where every tree stands and nothing joins two of them.

        Parameters
        ----------
        near
            Booleans (R, m, m), symmetric.
        joined
            Whether two clients of different groups are close now.
        search
            Does what ``components`` does, which is what is used where None.
        """
        runs, clients = self.labels.shape
        standing = near[np.arange(runs)[:, None], np.arange(clients), self.parents].all()
        return self if standing and not joined else Groups(*(search or components)(near))


def grouped(near: np.ndarray) -> np.ndarray:
    """Connected components of the relation "close", numbered by first appearance, (R, m).

    Parameters
    ----------
    near
        Booleans (R, m, m), symmetric.
    """
    return Groups.of(near).labels


def components(near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Search a relation for the labels and parents of its ``Groups``: booleans (R, m, m), symmetric."""
    runs, clients, _ = near.shape
    labels = np.empty((runs, clients), dtype=np.int64)
    parents = np.empty_like(labels)
    for run in range(runs):
        label, outside = 0, np.ones(clients, dtype=bool)
        for first in range(clients):
            if not outside[first]:
                continue
            outside[first], waiting = False, [first]
            labels[run, first], parents[run, first] = label, first
            while waiting:
                one = waiting.pop()
                found = np.flatnonzero(near[run, one] & outside)
                labels[run, found], parents[run, found], outside[found] = label, one, False
                waiting.extend(found.tolist())
            label += 1
    return labels, parents

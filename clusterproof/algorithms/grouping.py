"""Groups of clients: connected components of the graph of close pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Groups:
    """Connected components of a graph, with a spanning tree of each to detect unchanged components.

    Attributes
    ----------
    labels
        Group of every client, numbered by first appearance, (R, m).
    parents
        Parent of every client in the spanning tree of its group, whose root is the group's first client, (R, m).
    """

    labels: np.ndarray
    parents: np.ndarray

    @classmethod
    def of(cls, near: np.ndarray) -> Groups:
        """Return the connected components of the graph ``near``, symmetric booleans (R, m, m)."""
        return cls(*components(near))

    def after(self, near: np.ndarray, *, joined: bool) -> Groups:
        """Return the groups of a changed graph ``near`` (R, m, m).

        The groups are unchanged, and not computed again, if all edges of the spanning trees remain and no edge
        connects two groups. ``joined`` is whether such an edge exists.
        """
        runs, clients = self.labels.shape
        trees_remain = near[np.arange(runs)[:, None], np.arange(clients), self.parents].all()
        return self if trees_remain and not joined else Groups(*components(near))


def grouped(near: np.ndarray) -> np.ndarray:
    """Return the connected components of ``near`` (R, m, m), symmetric, numbered by first appearance, (R, m)."""
    return Groups.of(near).labels


def components(near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels and parents of the ``Groups`` of ``near``, symmetric booleans (R, m, m)."""
    runs, clients, _ = near.shape
    labels = np.empty((runs, clients), dtype=np.int64)
    parents = np.empty_like(labels)
    for run in range(runs):
        label, unvisited = 0, np.ones(clients, dtype=bool)
        for first in range(clients):
            if not unvisited[first]:
                continue
            unvisited[first], queue = False, [first]
            labels[run, first], parents[run, first] = label, first
            while queue:
                client = queue.pop()
                neighbours = np.flatnonzero(near[run, client] & unvisited)
                labels[run, neighbours], parents[run, neighbours] = label, client
                unvisited[neighbours] = False
                queue.extend(neighbours.tolist())
            label += 1
    return labels, parents

"""SoFL's elbow: sums of squares of the clients and of the map's winners by the number of clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms.second_clustering import cluster_winners, elbow, within_sums
from clusterproof.common.validation import require
from clusterproof.figures.client_updates import Grid, OfUpdates

NOISY, EXACT = "fresh", "population"


class Curves(NamedTuple):
    """Sums of squares and the numbers of clusters chosen from them.

    Attributes
    ----------
    clients
        Least sums of squared distances to 1, 2, ... centres, in squared lengths of the longest update.
    winners
        The same sums for the winning neurons.
    elbows
        Elbows of the two curves, as printed.
    guarded
        Number of clusters by the silhouette of the clients.
    neurons
        Number of winning neurons.
    """

    clients: np.ndarray
    winners: np.ndarray
    elbows: tuple[int, int]
    guarded: int
    neurons: int


class WinnersElbow(OfUpdates):
    """Choices of the number of clusters, for the updates of 60 clients in 4 clusters after some rounds of FedAvg."""

    name = "winners-elbow"
    title = "SoFL's elbow of the clients and of the map's winners"
    alt = (
        "Sums of squares of clients and of winning neurons over the number of clusters. With noise the elbow of the "
        "winners is at the true number; with expected losses there are as many winners as clusters, and it is below."
    )
    claims = ("sofl/elbow-below-chord", "sofl/elbow-exact-winners")

    grid: Grid = 5

    def curves(self, data: str) -> Curves:
        """Train SoFL's map on the updates after FedAvg, and choose a number of clusters.

        Raises
        ------
        InvalidArgument
            If scikit-learn is not installed.
        """
        require("id", self.name, "sklearn")
        neurons, vectors, found = self.train_map(data, data)
        flat = neurons.reshape(-1, vectors.shape[1])
        distinct = flat[np.unique(found)]
        clients, winners = within_sums(vectors, self.seed), within_sums(distinct, self.seed)
        guarded = cluster_winners(vectors, found, flat, "silhouette", self.seed)
        chosen = elbow(clients), elbow(winners)
        return Curves(clients, winners, chosen, int(guarded.max()) + 1, len(distinct))

    def compute(self) -> dict[str, Curves]:
        """Return both curves, on fresh data and on expected losses."""
        return {data: self.curves(data) for data in (NOISY, EXACT)}

    def draw(self, data: dict[str, Curves]) -> style.Figure:
        """Draw both curves for a map with more winners than clusters, and for one with as many."""
        clusters = self.task().clusters
        results = "; ".join(
            f"{panel}: {one.neurons} winners, elbow {one.elbows[1]} (of the clients {one.elbows[0]}), "
            f"silhouette {one.guarded}"
            for panel, one in zip("ab", data.values(), strict=True)
        )
        words = (
            f"Within-cluster sums of squares, relative to one cluster, of the clients' updates and of the winning "
            f"neurons of a {self.grid} x {self.grid} map (neurons start as updates), after {self.source}. Elbow: "
            f"farthest below the chord of the curve's ends; guarded: best cosine silhouette of the clients, one "
            f"cluster below 0.25. {results}. The last point of a curve is never an elbow."
        )
        figure, panels = style.new_figure(self.caption(words), panels=2, height=4.3)
        noisy, exact = (f"{one.neurons} winners, {clusters} clusters" for one in data.values())
        titles = (f"a  Fresh data: {noisy}", f"b  Expected losses: {exact}")
        for panel, one, title in zip(panels, data.values(), titles, strict=True):
            relative = [(one.clients / one.clients[0], "clients"), (one.winners / one.winners[0], "winners")]
            for (curve, name), look in zip(relative, style.LOOKS, strict=False):
                numbers = np.arange(1, len(curve) + 1)
                panel.plot(numbers, curve, **look, label=f"WCSS of the {name}", gid=name)
            panel.axvline(clusters, **style.LEVEL, label="true number", gid="truth")
            for name, label, choice, marker, size in (
                ("elbow", "elbow of the winners, as printed", one.elbows[1], "o", 9),
                ("guarded", "guarded: silhouette of the clients", one.guarded, "s", 12),
            ):
                mark: style.Look = {"fillstyle": "none", "zorder": 5, "label": label, "gid": name}
                style.draw_marks(panel, [choice], [curve[choice - 1]], style.BLACK, marker, size, **mark)
            axes: style.Look = {"xticks": range(1, 11), "xlim": (0.5, 10.5), "ylim": (-0.08, 1.05)}
            squares = "sum of squares / that of one cluster"
            style.label_axes(panel, title, "number of clusters $k$", squares, **axes)
        style.add_legend(panels, 3)
        return figure

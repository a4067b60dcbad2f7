"""SoFL's self-organising map of clients' updates: its U-matrix, and the elbows for clients and for winners."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms.second_clustering import cluster_winners, elbow, within_sums
from clusterproof.algorithms.self_organising_map import distance_map
from clusterproof.common.validation import require
from clusterproof.figures.client_updates import Grid, OfUpdates
from clusterproof.running import purity

STARTS = ("random", "sample")


class Landscape(NamedTuple):
    """A trained map.

    Attributes
    ----------
    neurons
        Neurons, (grid, grid, e), in units of the longest update's length.
    heights
        Mean distance between each neuron and its neighbours, (grid, grid).
    winners
        Row-major index of each client's winning neuron, (m,).
    """

    neurons: np.ndarray
    heights: np.ndarray
    winners: np.ndarray


class UMatrix(OfUpdates):
    """U-matrices of maps that are trained on updates of 60 clients in 4 clusters after some rounds of FedAvg."""

    name = "u-matrix"
    title = "U-matrix of SoFL's self-organising map on the updates of clients"
    alt = (
        "Two square maps of neurons, shaded by the distance to the neighbouring neurons, from random neurons and from "
        "clients' updates. The marks of the four clusters of clients lie in separate cells."
    )
    claims = ("sofl/equation-10",)

    grid: Grid = 8

    def landscape(self, initialisation: str) -> Landscape:
        """Train the map on the updates after FedAvg, where ``initialisation`` is the parameter of ``SoFL``."""
        neurons, _, winners = self.train_map(initialisation, initialisation=initialisation)
        return Landscape(neurons, distance_map(neurons), winners)

    def compute(self) -> dict[str, Landscape]:
        """Train the map with both initialisations."""
        return {start: self.landscape(start) for start in STARTS}

    def draw(self, data: dict[str, Landscape]) -> style.Figure:
        """Draw the U-matrix for both initialisations, with every client at its winning neuron."""
        labels, maps = self.task().labels, list(data.values())
        found = [f"{len(set(one.winners))} winners, purity {purity(one.winners, labels):.3g}" for one in maps]
        words = (
            f"Map of {self.grid} x {self.grid} neurons trained on the updates that clients send after {self.source}. "
            f"Cosine winners, 300 updates, $\\eta_0 = 0.1$ and $\\sigma_0 = 1.5$ decaying to a third, as printed. "
            f"Grey: mean Euclidean distance of a neuron to its neighbours, in lengths of the longest update. A mark is "
            f"a client, in the cell of its neuron; colour and shape are its true cluster. a: {found[0]}; b: {found[1]}."
        )
        figure, panels = style.new_figure(self.caption(words), panels=2, height=4.6)
        highest = max(float(one.heights.max()) for one in maps)
        titles = ("a  From random unit vectors", "b  From clients' updates")
        for panel, one, title in zip(panels, maps, titles, strict=True):
            mesh = self._paint(panel, one, labels, highest)
            ticks = range(0, self.grid, max(1, self.grid // 8))
            places: style.Look = {"x_ticks": ticks, "y_ticks": ticks}
            style.label_axes(panel, title, "column of the map", "row of the map", **places)
        style.add_colour_bar(mesh, panels, "distance to the neighbouring neurons", shrink=0.8)
        style.add_legend(panels, 4)
        return figure

    def _paint(self, panel: style.Axes, one: Landscape, truth: np.ndarray, highest: float) -> Any:
        """Shade the cells of the neurons, and draw a mark for every client in the cell of its winning neuron."""
        edges = np.arange(self.grid + 1) - 0.5
        scale: style.Look = {"cmap": "Greys", "vmin": 0.0, "vmax": highest, "rasterized": True}
        mesh = panel.pcolormesh(edges, edges, one.heights, **scale)
        places = np.empty((len(truth), 2))
        for neuron in np.unique(one.winners):
            clients = np.flatnonzero(one.winners == neuron)
            side = int(np.ceil(np.sqrt(len(clients))))
            for position, client in enumerate(clients):
                down, right = divmod(position, side)
                row, column = divmod(int(neuron), self.grid)
                places[client] = (column - 0.5 + (right + 0.5) / side, row - 0.5 + (down + 0.5) / side)
        marks = {"linestyle": "none", "markeredgecolor": "white", "markeredgewidth": 0.4}
        for cluster, look in enumerate(style.SOLID[:4]):
            gid, label = f"clients {cluster}", f"cluster {cluster + 1}"
            panel.plot(*places[truth == cluster].T, **{**look, **marks}, label=label, gid=gid)
        panel.set_aspect("equal")
        panel.invert_yaxis()
        return mesh


NOISY, EXACT = "fresh", "population"


class Curves(NamedTuple):
    """Within-cluster sums of squares, and the numbers of clusters at their elbows.

    Attributes
    ----------
    clients
        Smallest sums of squared distances to 1, 2, ... centres, in units of the longest update's squared length.
    winners
        The same sums for the winning neurons.
    elbows
        Number of clusters at the elbow of each curve, as in the paper.
    guarded
        Number of clusters according to the silhouette of the clients.
    neurons
        Number of winning neurons.
    """

    clients: np.ndarray
    winners: np.ndarray
    elbows: tuple[int, int]
    guarded: int
    neurons: int


class WinnersElbow(OfUpdates):
    """The number of clusters that each of several rules chooses, from the updates of 60 clients in 4 clusters."""

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
        """Compute both curves, once on random data and once on expected losses."""
        return {data: self.curves(data) for data in (NOISY, EXACT)}

    def draw(self, data: dict[str, Curves]) -> style.Figure:
        """Draw both curves for a map with more winners than clusters, and for a map with one winner per cluster."""
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

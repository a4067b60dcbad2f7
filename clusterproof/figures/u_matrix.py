"""U-matrix of SoFL's self-organising map on the updates of clients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms.self_organising_map import distance_map
from clusterproof.figures.client_updates import Grid, OfUpdates
from clusterproof.running import purity

STARTS = ("random", "sample")


class Landscape(NamedTuple):
    """A trained map.

    Attributes
    ----------
    neurons
        Neurons, (grid, grid, e), in units of the longest update.
    heights
        Mean distance of each neuron to its neighbours, (grid, grid).
    winners
        Neuron of each client in row-major order, (m,).
    """

    neurons: np.ndarray
    heights: np.ndarray
    winners: np.ndarray


class UMatrix(OfUpdates):
    """Maps trained on the updates of 60 clients in 4 clusters after some rounds of FedAvg."""

    name = "u-matrix"
    title = "U-matrix of SoFL's self-organising map on the updates of clients"
    alt = (
        "Two square maps of neurons, shaded by the distance to the neighbouring neurons, from random neurons and from "
        "clients' updates. The marks of the four clusters of clients lie in separate cells."
    )
    claims = ("sofl/equation-10",)

    grid: Grid = 8

    def landscape(self, initialisation: str) -> Landscape:
        """Train the map on the updates after FedAvg, with the named initialisation of ``SoFL``."""
        neurons, _, winners = self.train_map(initialisation, initialisation=initialisation)
        return Landscape(neurons, distance_map(neurons), winners)

    def compute(self) -> dict[str, Landscape]:
        """Train the map from both starts."""
        return {start: self.landscape(start) for start in STARTS}

    def draw(self, data: dict[str, Landscape]) -> style.Figure:
        """Draw the map's landscape from both starts, with each client at its neuron."""
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
        """Shade the neurons and draw every client's mark in the cell of its neuron."""
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

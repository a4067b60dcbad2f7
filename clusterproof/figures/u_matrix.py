"""U-matrix of SoFL's self-organising map on the updates of clients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import SoFL, generator, purity
from clusterproof.algorithms import self_organising_map as som
from clusterproof.figures.client_updates import LOCAL_STEPS, PRETRAINING, STEP_SIZE, after_fedavg, make_task
from clusterproof.figures.illustration import Illustration

STARTS = ("random", "sample")
GRID = 8


class Landscape(NamedTuple):
    """A trained map."""

    neurons: np.ndarray
    """(GRID, GRID, e), in units of the longest update."""
    heights: np.ndarray
    """Mean distance of each neuron to its neighbours, (GRID, GRID)."""
    winners: np.ndarray
    """Neuron of each client in row-major order, (m,)."""


def compute(seed: int, initialisation: str) -> Landscape:
    """Train the map on the updates that follow FedAvg, with the initialisation of a name in ``SoFL``."""
    local: dict[str, Any] = {"step_size": STEP_SIZE, "local_steps": LOCAL_STEPS}
    sent = after_fedavg(make_task(seed), seed, "u-matrix", rounds=PRETRAINING, **local)
    algorithm = SoFL(step_size=STEP_SIZE, local_steps=LOCAL_STEPS, grid=GRID, initialisation=initialisation)
    neurons, data = algorithm.train_map(sent, generator(seed, "figures/u-matrix", initialisation))
    return Landscape(neurons, som.distance_map(neurons), som.best_matching_units(neurons, data))


def draw(seed: int) -> style.Figure:
    """Draw the map's landscape from both starts, with each client at its neuron."""
    task = make_task(seed)
    maps = [compute(seed, start) for start in STARTS]
    found = [
        f"{len(np.unique(one.winners))} winners, purity {purity(one.winners, task.labels):.3g}"
        for one in maps
    ]
    caption = (
        f"Map of {GRID} x {GRID} neurons trained on the updates that clients send after {PRETRAINING} rounds "
        f"of FedAvg ({LOCAL_STEPS} local steps, $\\eta = {STEP_SIZE:g}$) on Gaussian regression: "
        f"{style.describe(task)}, $\\Delta = {task.separation:g}$. Cosine winners, 300 updates, "
        f"$\\eta_0 = 0.1$ and $\\sigma_0 = 1.5$ decaying to a third, as printed. Grey: mean Euclidean "
        f"distance of a neuron to its neighbours, in lengths of the longest update. A mark is a client, in "
        f"the cell of its neuron; colour and shape are its true cluster. a: {found[0]}; b: {found[1]}. "
        f"Seed {seed}."
    )
    figure, panels = style.new_figure(caption, panels=2, height=4.6)
    highest = max(float(one.heights.max()) for one in maps)
    titles = ("a  Neurons start as random unit vectors", "b  Neurons start as clients' updates")
    for panel, one, title in zip(panels, maps, titles, strict=True):
        mesh = _paint(panel, one, task.labels, highest)
        style.label_axes(panel, title, "column of the map", "row of the map")
    style.add_colour_bar(mesh, panels, "distance to the neighbouring neurons", shrink=0.8)
    style.add_legend(panels, 4)
    return figure


def _paint(panel: style.Axes, one: Landscape, truth: np.ndarray, highest: float) -> Any:
    """Shade the neurons and set every client's mark into the cell of its neuron."""
    edges = np.arange(GRID + 1) - 0.5
    mesh = panel.pcolormesh(edges, edges, one.heights, cmap="Greys", vmin=0.0, vmax=highest, rasterized=True)
    places = np.empty((len(truth), 2))
    for neuron in np.unique(one.winners):
        clients = np.flatnonzero(one.winners == neuron)
        side = int(np.ceil(np.sqrt(len(clients))))
        for position, client in enumerate(clients):
            down, right = divmod(position, side)
            row, column = divmod(int(neuron), GRID)
            places[client] = (column - 0.5 + (right + 0.5) / side, row - 0.5 + (down + 0.5) / side)
    marks = {"linestyle": "none", "markeredgecolor": "white", "markeredgewidth": 0.4}
    for cluster, look in enumerate(style.RUNS):
        gid, label = f"clients {cluster}", f"cluster {cluster + 1}"
        panel.plot(*places[truth == cluster].T, **{**look, **marks}, label=label, gid=gid)
    panel.set_aspect("equal")
    style.set_ticks(panel, x=range(GRID), y=range(GRID))
    panel.invert_yaxis()
    return mesh


FIGURE = Illustration(
    "u-matrix",
    "U-matrix of SoFL's self-organising map on the updates of clients",
    draw,
    ("sofl/equation-10",),
)

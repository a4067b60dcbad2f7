"""U-matrix of SoFL's self-organising map on the updates of clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import SoFL, generator, purity
from clusterproof.algorithms.parts import self_organising_map as som
from clusterproof.figures import client_updates, style
from clusterproof.figures.illustration import Illustration
from clusterproof.synthetic import RegressionMixture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STARTS = ("random", "sample")
GRID = 8
STEP_SIZE, LOCAL_STEPS, PRETRAINING = 0.2, 5, 20


@dataclass(frozen=True)
class Landscape:
    """A trained map.

    Attributes
    ----------
    neurons
        (GRID, GRID, e), in units of the longest update.
    heights
        Mean distance of each neuron to its neighbours, (GRID, GRID).
    winners
        Neuron of each client in row-major order, (m,).
    """

    neurons: np.ndarray
    heights: np.ndarray
    winners: np.ndarray


def make_task(seed: int) -> RegressionMixture:
    """60 clients in 4 clusters with fresh data."""
    return RegressionMixture.random(
        clusters=4, clients=60, dimension=10, separation=2.0, noise=0.5, samples=100, seed=seed
    )


def compute(seed: int, initialisation: str) -> Landscape:
    """Train the map on the updates that follow FedAvg.

    Parameters
    ----------
    seed
        Of the task, the training and the map.
    initialisation
        Of the neurons, as in ``SoFL``.
    """
    sent = client_updates.after_fedavg(
        make_task(seed), seed, "u-matrix",
        rounds=PRETRAINING, step_size=STEP_SIZE, local_steps=LOCAL_STEPS,
    )  # fmt: skip
    algorithm = SoFL(step_size=STEP_SIZE, local_steps=LOCAL_STEPS, grid=GRID, initialisation=initialisation)
    neurons, data = algorithm.train_map(sent, generator(seed, "figures/u-matrix", initialisation))
    return Landscape(neurons, som.distance_map(neurons), som.best_matching_units(neurons, data))


def draw(seed: int) -> Figure:
    """Draw the map's landscape from both starts, with each client at its neuron.

    Parameters
    ----------
    seed
        Of everything.
    """
    task = make_task(seed)
    maps = [compute(seed, start) for start in STARTS]
    found = [f"{len(np.unique(one.winners))} winners, purity {purity(one.winners, task.labels):.3g}"
             for one in maps]  # fmt: skip
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
    bar = figure.colorbar(mesh, ax=panels, shrink=0.8)
    bar.set_label("distance to the neighbouring neurons", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=4, fontsize=8, frameon=False)
    return style.settled(figure)


def _paint(panel: Axes, one: Landscape, truth: np.ndarray, highest: float) -> Any:
    """Shade the neurons and set every client's mark into the cell of its neuron."""
    edges = np.arange(GRID + 1) - 0.5
    mesh = panel.pcolormesh(edges, edges, one.heights, cmap="Greys", vmin=0.0, vmax=highest, rasterized=True)
    places = np.empty((len(truth), 2))
    for neuron in np.unique(one.winners):
        here = np.flatnonzero(one.winners == neuron)
        side = int(np.ceil(np.sqrt(len(here))))
        for position, client in enumerate(here):
            down, right = divmod(position, side)
            row, column = divmod(int(neuron), GRID)
            places[client] = (column - 0.5 + (right + 0.5) / side, row - 0.5 + (down + 0.5) / side)
    for cluster, (colour, marker) in enumerate(style.RUNS):
        own = places[truth == cluster]
        panel.plot(
            own[:, 0], own[:, 1], color=colour, marker=marker, markersize=4.2, linestyle="none",
            markeredgecolor="white", markeredgewidth=0.4, label=f"cluster {cluster + 1}",
            gid=f"clients {cluster}",
        )  # fmt: skip
    panel.set_aspect("equal")
    panel.set_xticks(range(GRID))
    panel.set_yticks(range(GRID))
    panel.invert_yaxis()
    return mesh


FIGURE = Illustration(
    "u-matrix",
    "U-matrix of SoFL's self-organising map on the updates of clients",
    draw,
    ("sofl/equation-10",),
)

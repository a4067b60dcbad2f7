"""SoFL's elbow: sums of squares of the clients and of the map's winners over the number of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clusterproof.algorithms import SoFL, generator
from clusterproof.algorithms.parts import self_organising_map as som
from clusterproof.algorithms.parts.second_clustering import cluster_winners, elbow, within_sums
from clusterproof.figures import client_updates, style
from clusterproof.figures.illustration import Illustration
from clusterproof.synthetic import RegressionMixture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLUSTERS = 4
NOISY, EXACT = "fresh", "population"
STEP_SIZE, LOCAL_STEPS, PRETRAINING = 0.2, 5, 20


@dataclass(frozen=True)
class Curves:
    """Sums of squares and what is chosen from them.

    Attributes
    ----------
    clients, winners
        Least sums of squared distances to 1, 2, ... centres, in squared lengths of the longest update.
    elbows
        Of the two curves, as printed.
    guarded
        Number of clusters by the silhouette of the clients.
    neurons
        Number of winning neurons, of which the curve looks at up to ten clusters.
    """

    clients: np.ndarray
    winners: np.ndarray
    elbows: tuple[int, int]
    guarded: int
    neurons: int


def make_task(seed: int, data: str) -> RegressionMixture:
    """60 clients in 4 clusters."""
    return RegressionMixture.random(
        clusters=CLUSTERS, clients=60, dimension=10, separation=2.0, noise=0.5, samples=100, data=data,
        seed=seed,
    )  # fmt: skip


def compute(seed: int, data: str) -> Curves:
    """Train SoFL's map on the updates that follow FedAvg, and choose a number of clusters.

    Parameters
    ----------
    seed
        Of the task, the training, the map and k-means.
    data
        Of the task; ``"population"`` makes the updates of a cluster equal.

    Raises
    ------
    InvalidArgument
        If scikit-learn, the extra ``cluster``, is not installed.
    """
    task = make_task(seed, data)
    algorithm = SoFL(step_size=STEP_SIZE, local_steps=LOCAL_STEPS)
    algorithm.model_count(task)  # asks for scikit-learn
    sent = client_updates.after_fedavg(
        task, seed, "winners-elbow", rounds=PRETRAINING, step_size=STEP_SIZE, local_steps=LOCAL_STEPS
    )
    neurons, vectors = algorithm.train_map(sent, generator(seed, "figures/winners-elbow", data))
    found = som.best_matching_units(neurons, vectors)
    flat = neurons.reshape(-1, vectors.shape[1])
    distinct = flat[np.unique(found)]
    clients, winners = within_sums(vectors, seed), within_sums(distinct, seed)
    guarded = cluster_winners(vectors, found, flat, "silhouette", seed)
    return Curves(clients, winners, (elbow(clients), elbow(winners)), int(guarded.max()) + 1, len(distinct))


def draw(seed: int) -> Figure:
    """Draw both curves where the map has more winners than clusters, and where it has as many.

    Parameters
    ----------
    seed
        Of everything.
    """
    noisy, exact = (compute(seed, data) for data in (NOISY, EXACT))
    task = make_task(seed, NOISY)
    size = SoFL(step_size=STEP_SIZE).grid
    numbers = "; ".join(
        f"{panel}: {one.neurons} winners, "
        f"elbow {one.elbows[1]} (of the clients {one.elbows[0]}), silhouette {one.guarded}"
        for panel, one in (("a", noisy), ("b", exact))
    )
    caption = (
        f"Within-cluster sums of squares, relative to one cluster, of the clients' updates and of the winning "
        f"neurons of a {size} x {size} map (neurons start as updates), after {PRETRAINING} rounds "
        f"of FedAvg ({LOCAL_STEPS} local steps, $\\eta = {STEP_SIZE:g}$) on Gaussian regression: "
        f"{style.describe(task)}, $\\Delta = {task.separation:g}$. Elbow: farthest below the chord of the "
        f"curve's ends; guarded: best cosine silhouette of the clients, one cluster below 0.25. {numbers}. "
        f"The last point of a curve is never an elbow. Seed {seed}."
    )
    figure, panels = style.new_figure(caption, panels=2, height=4.3)
    titles = ("a  Fresh data: winners to spare", "b  Expected losses: one winner a cluster")
    for panel, one, title in zip(panels, (noisy, exact), titles, strict=True):
        _draw_curves(panel, one)
        style.label_axes(panel, title, "number of clusters $k$", "sum of squares / that of one cluster")
        panel.set_xticks(range(1, 11))
        panel.set_xlim(0.5, 10.5)
        panel.set_ylim(-0.08, 1.05)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=3, fontsize=8, frameon=False)
    return style.settled(figure)


def _draw_curves(panel: Axes, one: Curves) -> None:
    """Draw the curves relative to their first points, the choices and the truth."""
    for name, curve, (colour, marker), dashes in (
        ("clients", one.clients, style.RUNS[0], "-"),
        ("winners", one.winners, style.RUNS[1], "--"),
    ):
        panel.plot(
            np.arange(1, len(curve) + 1), curve / curve[0], color=colour, marker=marker, markersize=4.5,
            linestyle=dashes, label=f"WCSS of the {name}", gid=name,
        )  # fmt: skip
    panel.axvline(CLUSTERS, color=style.BLACK, linestyle=":", label="true number", gid="truth")
    relative = one.winners / one.winners[0]
    for name, label, choice, marker, size in (
        ("elbow", "elbow of the winners, as printed", one.elbows[1], "o", 9),
        ("guarded", "guarded: silhouette of the clients", one.guarded, "s", 12),
    ):
        panel.plot(
            [choice], [relative[choice - 1]], color=style.BLACK, marker=marker, markersize=size,
            fillstyle="none", markeredgewidth=1.2, linestyle="none", label=label, gid=name, zorder=5,
        )  # fmt: skip


FIGURE = Illustration(
    "winners-elbow",
    "SoFL's elbow of the clients and of the map's winners",
    draw,
    ("sofl/elbow-below-chord", "sofl/elbow-exact-winners"),
)

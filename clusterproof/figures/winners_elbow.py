"""SoFL's elbow: sums of squares of the clients and of the map's winners over the number of clusters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import SoFL, generator
from clusterproof.algorithms import self_organising_map as som
from clusterproof.algorithms.second_clustering import cluster_winners, elbow, within_sums
from clusterproof.figures.client_updates import LOCAL_STEPS, PRETRAINING, STEP_SIZE, after_fedavg, make_task
from clusterproof.figures.illustration import Illustration

NOISY, EXACT = "fresh", "population"


class Curves(NamedTuple):
    """Sums of squares and what is chosen from them."""

    clients: np.ndarray
    """Least sums of squared distances to 1, 2, ... centres, in squared lengths of the longest update."""
    winners: np.ndarray
    """The same of the winning neurons."""
    elbows: tuple[int, int]
    """Of the two curves, as printed."""
    guarded: int
    """Number of clusters by the silhouette of the clients."""
    neurons: int
    """Number of winning neurons."""


def compute(seed: int, data: str) -> Curves:
    """Train SoFL's map on the updates that follow FedAvg, and choose a number of clusters.

    Raises
    ------
    InvalidArgument
        If scikit-learn, the extra ``cluster``, is not installed.
    """
    task = make_task(seed, data)
    algorithm = SoFL(step_size=STEP_SIZE, local_steps=LOCAL_STEPS)
    algorithm.model_count(task)  # asks for scikit-learn
    sent = after_fedavg(
        task, seed, "winners-elbow", rounds=PRETRAINING, step_size=STEP_SIZE, local_steps=LOCAL_STEPS
    )
    neurons, vectors = algorithm.train_map(sent, generator(seed, "figures/winners-elbow", data))
    found = som.best_matching_units(neurons, vectors)
    flat = neurons.reshape(-1, vectors.shape[1])
    distinct = flat[np.unique(found)]
    clients, winners = within_sums(vectors, seed), within_sums(distinct, seed)
    guarded = cluster_winners(vectors, found, flat, "silhouette", seed)
    return Curves(clients, winners, (elbow(clients), elbow(winners)), int(guarded.max()) + 1, len(distinct))


def draw(seed: int) -> style.Figure:
    """Draw both curves where the map has more winners than clusters, and where it has as many."""
    noisy, exact = (compute(seed, data) for data in (NOISY, EXACT))
    task = make_task(seed, NOISY)
    size = SoFL(step_size=STEP_SIZE).grid
    results = "; ".join(
        f"{panel}: {one.neurons} winners, "
        f"elbow {one.elbows[1]} (of the clients {one.elbows[0]}), silhouette {one.guarded}"
        for panel, one in (("a", noisy), ("b", exact))
    )
    caption = (
        f"Within-cluster sums of squares, relative to one cluster, of the clients' updates and of the winning "
        f"neurons of a {size} x {size} map (neurons start as updates), after {PRETRAINING} rounds "
        f"of FedAvg ({LOCAL_STEPS} local steps, $\\eta = {STEP_SIZE:g}$) on Gaussian regression: "
        f"{style.describe(task)}, $\\Delta = {task.separation:g}$. Elbow: farthest below the chord of the "
        f"curve's ends; guarded: best cosine silhouette of the clients, one cluster below 0.25. {results}. "
        f"The last point of a curve is never an elbow. Seed {seed}."
    )
    figure, panels = style.new_figure(caption, panels=2, height=4.3)
    titles = ("a  Fresh data: winners to spare", "b  Expected losses: one winner a cluster")
    for panel, one, title in zip(panels, (noisy, exact), titles, strict=True):
        relative = [(one.clients / one.clients[0], "clients"), (one.winners / one.winners[0], "winners")]
        for (curve, name), look in zip(relative, style.LOOKS, strict=False):
            numbers = np.arange(1, len(curve) + 1)
            panel.plot(numbers, curve, **look, label=f"WCSS of the {name}", gid=name)
        panel.axvline(task.clusters, **style.LEVEL, label="true number", gid="truth")
        mark: dict[str, Any] = {"color": style.BLACK, "fillstyle": "none", "linestyle": "none", "zorder": 5}
        for name, label, choice, marker, size in (
            ("elbow", "elbow of the winners, as printed", one.elbows[1], "o", 9),
            ("guarded", "guarded: silhouette of the clients", one.guarded, "s", 12),
        ):
            look = {**mark, "marker": marker, "markersize": size, "label": label, "gid": name}
            panel.plot([choice], [curve[choice - 1]], **look)
        style.label_axes(panel, title, "number of clusters $k$", "sum of squares / that of one cluster")
        panel.set_xticks(range(1, 11))
        panel.set_xlim(0.5, 10.5)
        panel.set_ylim(-0.08, 1.05)
    style.add_legend(panels, 3)
    return figure


FIGURE = Illustration(
    "winners-elbow",
    "SoFL's elbow of the clients and of the map's winners",
    draw,
    ("sofl/elbow-below-chord", "sofl/elbow-exact-winners"),
)

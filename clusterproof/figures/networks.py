"""Training curves: accuracies of CFL-MGD and other methods from the stored Table 2, and losses of convex models.

The training losses correspond to Figure 4a of the CFL-MGD paper and Figure 4 of the GL-CFL paper.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.algorithms import CFLMGD, IFCA, FedAvg, FedBCD, GradientLoss
from clusterproof.common import generator
from clusterproof.common.validation import require
from clusterproof.experiments.paper_table import RESULTS
from clusterproof.experiments.tables import TABLES
from clusterproof.figures.curves import draw_column
from clusterproof.figures.illustration import Illustration
from clusterproof.running import run

if TYPE_CHECKING:
    import polars

    from clusterproof.algorithms import Algorithm
    from clusterproof.neural.task import ImageTask


STORED = RESULTS / "cfl-mgd-table-2-mnist.parquet"
"""The stored table. The README in the same folder states the command that writes the table."""


class AccuracyCFLMGD(Illustration):
    """Accuracies of stored runs. This figure has no parameters."""

    name = "accuracy-cfl-mgd"
    title = "Accuracy of CFL-MGD and its rivals on images, with the paper's"
    alt = (
        "Test accuracy on rotated MNIST by round: the clustered algorithms end above FedAvg and FedBCD. Stars at the "
        "end are the accuracies that the paper prints."
    )

    def compute(self) -> polars.DataFrame:
        """Read the stored accuracies."""
        import polars

        return polars.read_parquet(STORED).filter(column="accuracy %")

    def draw(self, data: polars.DataFrame) -> style.Figure:
        """Draw the accuracies on MNIST, and the numbers in the paper's Table 2 at the end of the curves."""
        seeds = data["seed"].n_unique()
        runs = "One run" if seeds == 1 else f"Means of {seeds} runs"
        words = (
            "Test accuracy round by round on rotated MNIST, 2400 clients with 100 images each, a tenth takes part, "
            r"$P = 4$, 10 local steps of $\eta = 0.1$, $\beta = 0.9$, one hidden layer of 200. "
            f"Stars at the end: the paper's Table 2, after 300 rounds; its FedBCD has three layers, so it has no star. "
            f"{runs} each, stored by clusterproof table cfl-mgd/table-2."
        )
        figure, (panel,) = style.new_figure(self.caption(words, random=False), height=4.4)
        table = TABLES["cfl-mgd/table-2"].from_values(json.loads(data["settings"][0]))
        draw_column(panel, data, table, "accuracy %")
        axes: style.Look = {"ylim": (0, 100), "x_ticks": [0, 100, 200, 300]}
        style.label_axes(panel, "MNIST", "communication round", "test accuracy, %", **axes)
        style.add_legend([panel], 3)
        return figure


STEP_SIZE, LOCAL_STEPS, MOMENTUM, WEIGHT, SPREAD = 0.1, 10, 0.9, 0.2, 0.1
CLUSTERS, CLIENTS, SAMPLES, DEVICES = 4, 16, 90, 5

UNUSED = generator(0, "figures/training-loss", "every sample is taken")

LOCAL: dict[str, Any] = {"step_size": STEP_SIZE, "local_steps": LOCAL_STEPS}
ROTATED: dict[str, Algorithm[Any]] = {
    "CFL-MGD": CFLMGD(clusters=CLUSTERS, averaging="model", momentum=MOMENTUM, **LOCAL),
    "IFCA": IFCA(clusters=CLUSTERS, averaging="model", **LOCAL),
    "FedAvg": FedAvg(**LOCAL),
    "FedBCD": FedBCD(**LOCAL),
}
OVERLAPPING: dict[str, Algorithm[Any]] = {
    "GL-CFL": GradientLoss(clusters=CLUSTERS, step_size=STEP_SIZE, weight=WEIGHT),
    "IFCA": IFCA(clusters=CLUSTERS, step_size=STEP_SIZE),
}


def make_task(name: str, seed: int, **options: int) -> ImageTask:
    """Make a task in which scikit-learn's digits are divided among clients, and the network is a softmax regression.

    Parameters
    ----------
    name, options
        Name and options of the partition.
    seed
        Seed of the division.

    Raises
    ------
    InvalidArgument
        If torch is not installed. The message names the extra to install.
    """
    require("id", "training-loss", "torch")
    from clusterproof.neural.data.loading import load
    from clusterproof.neural.networks import network
    from clusterproof.neural.partitions import partition
    from clusterproof.neural.task import ImageTask

    divided = partition(name, load("digits"), seed=seed, **options)
    return ImageTask(partition=divided, network=network("mlp", (1, 8, 8), 10, hidden=()), dtype="float64")


def losses_of(task: ImageTask, models: np.ndarray) -> np.ndarray:
    """Return the training loss of every client with every model, (rounds, m, P), for models (rounds, P, d)."""
    import torch

    arguments = torch.arange(task.clients), UNUSED
    return np.stack([task.losses(of_round, *arguments).numpy() for of_round in torch.as_tensor(models)])


def gradients_of(task: ImageTask, points: np.ndarray) -> np.ndarray:
    """Return the gradient of every client's training loss at the client's model, (m, d), for models (m, d)."""
    import torch

    return np.asarray(task.gradients(torch.as_tensor(points), torch.arange(task.clients), UNUSED))


def trained(
    task: ImageTask, algorithms: dict[str, Algorithm[Any]], seed: int, rounds: int
) -> dict[str, np.ndarray]:
    """Run each algorithm from the same random models, and return models (rounds + 1, P, d), indexed by name."""
    import torch

    initial = torch.as_tensor(start(task, seed))
    found = {}
    for name, algorithm in algorithms.items():
        own = initial[: algorithm.model_count(task)]
        found[name] = np.asarray(run(algorithm, task, rounds=rounds, seed=seed, initial=own).models)
    return found


def start(task: ImageTask, seed: int) -> np.ndarray:
    """Draw the common initial models, (P, d)."""
    stream = generator(seed, "figures/training-loss", "start")
    return stream.normal(0, SPREAD, (CLUSTERS, task.dimension))


def known_clusters(task: ImageTask, seed: int, iterations: int) -> np.ndarray:
    """Run gradient descent in each true cluster, from one initial model, and return models (iterations + 1, P, d)."""
    models, labels = [start(task, seed)], np.asarray(task.labels)
    for _ in range(iterations):
        gradients = gradients_of(task, models[-1][labels])
        means = [gradients[labels == cluster].mean(axis=0) for cluster in range(CLUSTERS)]
        models.append(models[-1] - STEP_SIZE * np.stack(means))
    return np.stack(models)


@cache
def one_model(seed: int, ridge: float = 1e-3) -> tuple[float, float]:
    """Return a radius R, and a lower bound on the mean loss of any single model w with ||w|| <= R.

    The mean loss L over all rotations is convex. With the gradient g at v, L(w) >= L(v) + <g, w - v> >= L(v) - <g, v> -
    R ||g|| for ||w|| <= R. If v minimises L + ridge ||v||^2 / 2 and R = ||v||, the last expression equals L(v).
    """
    import torch
    from scipy.optimize import minimize

    task = make_task("rotations", seed, clusters=CLUSTERS, clients=CLIENTS, samples=SAMPLES)

    def loss(model: np.ndarray) -> tuple[float, np.ndarray]:
        arguments = torch.arange(task.clients), UNUSED
        losses, gradients = task.losses_and_gradients(torch.as_tensor(model)[None], *arguments)
        return float(losses.mean()), np.asarray(gradients.mean(dim=(0, 1)))

    def ridged(model: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = loss(model)
        return value + ridge * float(model @ model) / 2, gradient + ridge * model

    model = minimize(ridged, np.zeros(task.dimension), jac=True, method="L-BFGS-B").x
    value, gradient = loss(model)
    radius = float(np.linalg.norm(model))
    return radius, value - float(gradient @ model) - radius * float(np.linalg.norm(gradient))


class TrainingLoss(Illustration):
    """Training losses of softmax regression on scikit-learn's digits.

    Parameters
    ----------
    rounds
        Number of rounds in the left panel.
    iterations
        Number of iterations in the other panels.
    """

    name = "training-loss"
    title = "Training loss of CFL-MGD, GL-CFL and their rivals, with what one model can reach"
    alt = (
        "Left: on rotated digits the losses of CFL-MGD and IFCA fall below the dotted line that no single model can "
        "pass; FedAvg and FedBCD stay above. Middle and right: loss and test accuracy of GL-CFL and IFCA on "
        "overlapping classes."
    )

    rounds: Annotated[int, Meta(ge=6, le=10_000)] = 60
    iterations: Annotated[int, Meta(ge=6, le=10_000)] = 60

    def compute(self) -> dict[str, Any]:
        """Compute the curves of the three panels, indexed by name, and radius and lower bound for a single model."""
        seed = self.seed
        rotated = make_task("rotations", seed, clusters=CLUSTERS, clients=CLIENTS, samples=SAMPLES)
        runs = trained(rotated, ROTATED, seed, self.rounds).items()
        left = {name: losses_of(rotated, models).min(axis=-1).mean(axis=-1) for name, models in runs}
        overlapping = make_task("classes", seed, clients_per_cluster=DEVICES)
        middle, right = {}, {}
        for name, models in trained(overlapping, OVERLAPPING, seed, self.iterations).items():
            losses = losses_of(overlapping, models)
            middle[name] = losses.min(axis=-1).mean(axis=-1)
            right[name] = served(overlapping, models, losses.argmin(axis=-1))
        oracle = known_clusters(overlapping, seed, self.iterations)
        own = np.broadcast_to(np.asarray(overlapping.labels), (len(oracle), overlapping.clients))
        chosen = np.take_along_axis(losses_of(overlapping, oracle), own[..., None], axis=-1)[..., 0]
        truths = (chosen.mean(axis=-1), served(overlapping, oracle, own))
        return {"panels": (left, middle, right), "truths": truths, "one model": one_model(seed)}

    def draw(self, data: dict[str, Any]) -> style.Figure:
        """Draw losses with the lower bound for a single model, and losses of GL-CFL and of the true clusters."""
        radius, least = data["one model"]
        words = (
            "Softmax regression on scikit-learn's digits in the place of networks on MNIST, so that losses are convex. "
            f"Training loss: each client's least of the models. a: four rotations, {CLIENTS} clients with {SAMPLES} "
            f"images, {LOCAL_STEPS} local steps of $\\eta = {STEP_SIZE:g}$, $\\beta = {MOMENTUM:g}$, $P = {CLUSTERS}$; "
            f"FedBCD: its common model. Dotted: {least:.2f}, below which no single model of norm up to "
            f"{radius:.1f} comes. b, c: classes that overlap, {CLUSTERS * DEVICES} devices, $\\alpha = "
            f"{STEP_SIZE:g}$, $\\lambda = {WEIGHT:g}$, sign of the descent; IFCA divides by all devices. Dotted: "
            f"descent in the true clusters. One random start."
        )
        figure, panels = style.new_figure(self.caption(words), panels=3, height=4.2)
        names = list(ROTATED) + [name for name in OVERLAPPING if name not in ROTATED]
        looks = dict(zip(names, style.LOOKS, strict=False))
        for panel, curves in zip(panels, data["panels"], strict=True):
            for name, values in curves.items():
                style.draw_curve(panel, np.arange(len(values)), values, looks[name], name, marks=6)
        panels[0].axhline(least, **style.LEVEL, gid="least of one model")
        for panel, truth in zip(panels[1:], data["truths"], strict=True):
            panel.plot(truth, **style.LEVEL, gid="true clusters")
        loss, accuracy = "training loss", "test accuracy, %"
        style.label_axes(panels[0], "a  Rotated digits", "communication round", loss, yscale="log")
        style.label_axes(panels[1], "b  Overlapping classes", "iteration", loss)
        style.label_axes(panels[2], "c  Overlapping classes", "iteration", accuracy, ylim=(0, 100))
        style.add_legend(panels, 5)
        return figure


def served(task: ImageTask, models: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the mean accuracy in percent, (rounds,), of models (rounds, P, d) that clients chose, (rounds, m)."""
    import torch

    accuracies = np.stack([task.scores(of_round).accuracies.numpy() for of_round in torch.as_tensor(models)])
    return np.asarray(100 * np.take_along_axis(accuracies, chosen[..., None], axis=-1)[..., 0].mean(axis=-1))

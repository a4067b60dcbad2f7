"""GL-CFL's Figures 4 and 5 as a table: iterations to purity 0.9 and to accuracy 0.8, and savings."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from clusterproof.experiments.comparison import Comparison, Curve, Row, Table
from clusterproof.experiments.reproducible_table import ReproducibleTable, Request, Results
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.gradient_loss.rows import COLUMNS, HELD, LAST, Group, start_row
from clusterproof.experiments.tables.gradient_loss.runs import (
    BATCH_SIZE,
    EMPTY_CLUSTER,
    JITTER,
    NETWORKS,
    SMALL_CLIENTS,
    STARTS,
    STEP_SIZES,
    Problem,
    arms,
    choices_of,
    compute,
    make_unit,
)
from clusterproof.experiments.tables.training_run import require_data
from clusterproof.neural.data.loading import DATASETS, load
from clusterproof.theory.papers.gradient_loss.cost import CLUSTERS
from clusterproof.theory.papers.gradient_loss.cost import units as units_of_work

SEEDS = 5

DATA = ("mnist", "fashion-mnist", "cifar10", "emnist")
ALL = tuple(Problem(*setting) for setting in product(DATA, NETWORKS, STEP_SIZES))
MINIATURE = (*(Problem(data, "MLP") for data in DATA), Problem("mnist", "CNN"))
"""Of all."""


def notes_of(request: Request) -> list[str]:
    """Return notes on all runs of a request."""
    batch_size = request.chosen("batch-size", BATCH_SIZE)
    always = request.chosen("empty-cluster", EMPTY_CLUSTER) != EMPTY_CLUSTER
    own, other = units_of_work(CLUSTERS)
    pinned = "in each iteration" if always else "when a cluster is empty"
    return [
        "GL-CFL as it can be meant: mean loss over the mini-batch in (1), S = 0 in the first iteration, and the "
        "sign that scores the true cluster best; (3) as printed is in rows of its own. IFCA is lambda = 0 on the "
        f"same mini-batches. In both, {pinned}, K random devices are pinned to the K clusters for "
        "that iteration (section II-C); purity is that of the votes before.",
        f"Mini-batches of {batch_size}, one local step. Purity, ARI and accuracy are means over the last {LAST} "
        f"iterations; held: the first of {HELD} iterations in a row. A run that does not arrive counts as one "
        "more iteration than were run, which bounds its percentage from one side, and the cell is not judged; "
        "where neither method arrives there is no percentage, and where nobody does, no number.",
        f"With K = {CLUSTERS} an iteration of GL-CFL costs a device {own} forward passes, and 2 K + 1 models down and "
        f"up; one of IFCA costs {other} and K + 1. A saving of less than {100 - 100 * other / own:.0f} % of the "
        "iterations saves no work.",
        "The first iteration of GL-CFL is IFCA's own, so that at most 1 - 2 / T of IFCA's T iterations can be "
        "saved: the ceiling. 99 % asks for a baseline of 200 iterations or more.",
        f"The paper does not say how the models start. Apart: each by PyTorch's default law. At one point: all "
        f"from one such draw, plus N(0, {JITTER:g}^2) in each coordinate: the losses then differ by the clusters "
        "alone. The percentages saved in IFCA's row are against IFCA apart.",
        "The paper prints one number a data set, 'up to', without seeds, spread, step size, batch size or "
        "number of iterations; lambda and network of Fig. 5 are not stated, nor is to which network the 14 % of "
        "Fig. 4 belong. They stand beside lambda = 0.2.",
    ]


def units(request: Request, problems: tuple[Problem, ...]) -> list[Unit]:
    """Return the units of a request."""
    notes: dict[str, str] = {}
    for problem in problems:
        if problem.data not in notes:
            require_data(problem.data)
            notes[problem.data] = load(problem.data).note if DATASETS[problem.data].optional else ""
    return [
        make_unit(arm, seed, request, notes[problem.data])
        for problem in problems
        for arm in arms(problem, request.scale)
        for seed in range(request.seeds)
    ]


def assemble(request: Request, results: Results, name: str, problems: tuple[Problem, ...]) -> Table:
    """Return the table."""
    rows: list[Row] = []
    comparisons: list[Comparison] = []
    curves: list[Curve] = []
    for problem in problems:
        apart, together = (Group(problem, start, request, results) for start in STARTS)
        for arm in arms(problem, request.scale):
            group = apart if arm.start == "apart" else together
            rows.append(
                start_row(apart, together) if group is together and not arm.weight else group.row(arm)
            )
        for group in (apart, together):
            comparisons.append(group.comparison())
            curves += [group.curve(weight) for weight in (0.0, 0.2)]
    return Table(
        name,
        "Iterations that the gradient's direction saves in clustering",
        "Lin, Chen, Yang, Wu and Liu (2023), section III-B and Figures 4 and 5",
        COLUMNS,
        rows,
        comparisons,
        curves,
        [*notes_of(request), *_notes(request, results)],
        {
            "rounds": {problem.name: problem.rounds(request) for problem in problems},
            "batch_size": request.chosen("batch-size", BATCH_SIZE),
            "empty_cluster": request.chosen("empty-cluster", EMPTY_CLUSTER),
        },
    )


def _notes(request: Request, results: Results) -> list[str]:
    """Return notes on this run."""
    listed = sorted({str(result["note"]) for result in results.values()} - {""})
    if request.scale == "small":
        listed.append(
            f"A miniature: {SMALL_CLIENTS} devices a cluster, few iterations, lambda = 0.2; nothing is judged."
        )
    return listed


def iterations_table(name: str, title: str, *problems: Problem) -> ReproducibleTable:
    """Return a table of problems; a miniature has a subset of them."""

    def chosen(request: Request) -> tuple[Problem, ...]:
        if problems == ALL and request.scale == "small":
            return MINIATURE
        return tuple(
            replace(problem, step_size=request.chosen("step-size", problem.step_size)) for problem in problems
        )

    return ReproducibleTable(
        name,
        title,
        SEEDS,
        lambda request: units(request, chosen(request)),
        compute,
        lambda request, results: assemble(request, results, name, chosen(request)),
        choices_of(problems),
    )


TABLE = iterations_table(
    "gradient-loss/iterations",
    "GL-CFL, Figures 4 and 5: iterations to purity and accuracy, all data, networks and step sizes",
    *ALL,
)
MNIST_MLP_SMALL_STEP = iterations_table(
    "gradient-loss/mnist-mlp-small-step",
    "GL-CFL, the same on MNIST, perceptron with step 0.01",
    Problem("mnist", "MLP", 0.01),
)
ONE_PROBLEM = tuple(
    iterations_table(
        f"gradient-loss/{data}-{network.lower()}",
        f"GL-CFL, the same on {title}, {'perceptron' if network == 'MLP' else 'convolutions'}",
        Problem(data, network),
    )
    for data, title in zip(DATA, ("MNIST", "Fashion-MNIST", "CIFAR-10", "EMNIST"), strict=True)
    for network in NETWORKS
)

"""SoFL's Tables 3, 4 and 5: each number as the accuracy of the server's model and after local training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from clusterproof.experiments.comparison import HALF_A_POINT, Cell, Comparison, Curve, Printed, Row, Table
from clusterproof.experiments.cost_notes import Shape, cost_in_passes, cost_notes, parameters_of
from clusterproof.experiments.reproducible_table import ReproducibleTable, Request, Results
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.sofl.choices import choices_of
from clusterproof.experiments.tables.sofl.runs import (
    CIFAR_10,
    CLASSES,
    MAP_STARTS,
    METHODS,
    MNIST,
    SHARES,
    Column,
    Data,
    algorithm_settings,
    compute,
    cost_of_the_map,
    length,
    make_unit,
    settled,
)
from clusterproof.experiments.tables.training_run import make_algorithm, require_data
from clusterproof.neural.partitions.groups import CLIENTS
from clusterproof.theory.papers.sofl.tables import TABLE_3, TABLE_4, TABLE_5, TEST_IMAGES

KINDS = {"server": "server's model", "local": "after local training"}
"""The two accuracies, and what they are called."""


def columns_of(number: int, data: Data) -> list[Column]:
    """The columns of Table 3, 4 or 5 on a data set."""
    if number == 3:
        unit = 0.01 if data.name == MNIST.name else 0.1
        return [Column(skew, data, skew, 4, TABLE_3[skew, data.title], unit) for skew in ("feature", "label")]
    if number == 4:
        return [
            Column(f"K = {clusters}", data, "label", clusters, TABLE_4[data.title, clusters])
            for clusters in (2, 4, 8)
        ]
    return [
        Column(f"phi = {float(phi):g}", data, "label", 4, printed, concentration=float(phi))
        for (title, phi), printed in TABLE_5.items()
        if title == data.title
    ]


ONCE = ("FedAvg", "SoFL")
"""Methods that are run under the other reading too, for the first seed, in Table 3 on MNIST."""


def runs_of(number: int, data: Data, seeds: int) -> list[tuple[str, str, int]]:
    """Reading of the division, method and number of seeds of every row."""
    rows = [(data.share, method, seeds) for method in data.methods]
    (other,) = SHARES.keys() - {data.share}
    return rows + [(other, method, 1) for method in ONCE if (number, data.name) == (3, MNIST.name)]


def units(request: Request, number: int, data: Data) -> list[Unit]:
    """Every method in every column for every seed, under each reading of the division.

    Raises
    ------
    InvalidArgument
        If the data are missing or the run ends before the clustering.
    """
    require_data(data.name)
    data = settled(data, request)
    return [
        make_unit(column, method, share, seed, request)
        for share, method, seeds in runs_of(number, data, request.seeds)
        for column in columns_of(number, data)
        for seed in range(seeds)
    ]


def assemble(request: Request, results: Results, number: int, data: Data) -> Table:
    """Compare both accuracies with each printed number."""
    data = settled(data, request)
    images, rounds, clustering = length(data, request)
    judged = request.as_long_as_the_papers
    columns = columns_of(number, data)
    names = [f"{column.name}, {what}" for column in columns for what in KINDS.values()]

    def last(column: Column, method: str, share: str, seeds: int) -> list[Mapping[str, Any]]:
        unit = f"{method}, {column.name}, {share}"
        return [results[unit, seed]["curve"][-1] for seed in range(seeds)]

    rows = []
    for share, method, seeds in runs_of(number, data, request.seeds):
        cells: dict[str, Cell] = {}
        parts = []
        for column in columns:
            found = last(column, method, share, seeds)
            own = {kind: accuracy_cell(column, method, kind, found, judged) for kind in KINDS}
            cells |= {f"{column.name}, {what}": own[kind] for kind, what in KINDS.items()}
            parts.append(explain(column, method, own["server"], own["local"], found))
        rows.append(Row(method, SHARES[share], cells, " ".join(parts)))
    ours = {column.name: last(column, "SoFL", data.share, request.seeds) for column in columns}
    comparisons = [
        _gain(column, other, kind, ours[column.name], last(column, other, data.share, request.seeds))
        for column in columns
        for other in data.methods
        if other != "FedProx" and not other.startswith("SoFL")
        for kind in KINDS
    ]
    return Table(
        id=_id(number, data),
        title=f"SoFL on {data.title}: accuracy (%) of the clients, measured in two ways",
        source=f"Zhang and Qiao (2024), Electronics 13, 3682, Table {number}, {data.title}",
        columns=dict.fromkeys(names, 2),
        rows=rows,
        comparisons=comparisons,
        curves=_curves(request, results, columns) if number == 3 else [],
        notes=[
            *_notes(data, images, rounds, clustering, number, judged),
            *_costs(data, columns, rounds, clustering),
        ],
        settings={
            "seeds": request.seeds,
            "rounds": rounds,
            "scale": request.scale,
            "images": images,
            "clustering_round": clustering,
            "local_epochs": data.epochs,
            "batch_size": 100,
            "step_size": data.step_size,
            "network": dict(data.network),
            "methods": {name: METHODS[name] for name in data.methods},
            "cfl_thresholds": data.thresholds,
            "participation": data.participation,
            "share": data.share,
            "grid": data.grid,
            "map_start": data.map_start,
            "weighting": data.weighting,
            "ifca_restarts": data.ifca_restarts,
            "ifca_least_share": data.ifca_least_share,
            "cfl_noise_ratio": data.cfl_noise_ratio,
            "devices": sorted({str(result["device"]) for result in results.values()}),
        },
    )


def explain(
    column: Column, method: str, server: Cell, local: Cell, found: Sequence[Mapping[str, Any]]
) -> str:
    """State which of the two accuracies the paper's number is near, and what the clustering found."""
    said = (
        f"{column.name}: {server.mean:.1f} % of the server's model, {local.mean:.1f} % after local training"
    )
    gaps = {"first": server.difference or 0.0, "second": local.difference or 0.0}
    nearer, farther = sorted(gaps, key=lambda name: abs(gaps[name]))
    paper = float(column.printed[_paper(method)])
    said += (
        f"; the paper's {paper:g} % is nearer to the {nearer} "
        f"({gaps[nearer]:+.1f} against {gaps[farther]:+.1f} points)"
    )
    ceiling = column.ceiling(method)
    if ceiling is not None:
        error = 100 * math.sqrt(ceiling / 100 * (1 - ceiling / 100) / TEST_IMAGES[column.data.title])
        above = paper - ceiling
        where = f"{above:.1f} points, {above / error:.1f} standard errors of its test images, above"
        said += f" and is {where if above > 0 else 'below'} the {ceiling:g} % that one model can reach"
    counts = sorted({int(record["clusters"]) for record in found})
    if counts[-1] > 1:
        rand = float(np.mean([record["rand"] for record in found]))
        span = " to ".join(map(str, counts[:: max(1, len(counts) - 1)]))
        said += f"; {span} clusters for {column.clusters}, adjusted Rand index {rand:.2f}"
    return said + "."


def _paper(method: str) -> str:
    """Return the method whose printed number is compared with a row; SoFL and CFL have two rows each."""
    return method.partition(",")[0]


def accuracy_cell(
    column: Column, method: str, kind: str, found: Sequence[Mapping[str, Any]], judged: bool
) -> Cell:
    """One accuracy next to the paper's."""
    ceiling = column.ceiling(method) if kind == "server" else None
    return Cell(
        tuple(float(record[kind]) for record in found),
        Printed(float(column.printed[_paper(method)]), resolution=column.unit, negligible=HALF_A_POINT),
        () if ceiling is None else (ceiling,) * len(found),
        judged,
    )


def _gain(
    column: Column,
    other: str,
    kind: str,
    ours: Sequence[Mapping[str, Any]],
    theirs: Sequence[Mapping[str, Any]],
) -> Comparison:
    printed = float(column.printed["SoFL"] - column.printed[_paper(other)])
    name = f"SoFL - {other}, {column.name}, {KINDS[kind]} (paper {printed:+.2f})"
    return Comparison(name, tuple(float(a[kind]) - float(b[kind]) for a, b in zip(ours, theirs, strict=True)))


def _curves(request: Request, results: Results, columns: Sequence[Column]) -> list[Curve]:
    """Figure 9: the accuracies by round, of every method."""
    lines = []
    data = columns[0].data
    for method in data.methods:
        runs = {
            column.name: [
                results[f"{method}, {column.name}, {data.share}", seed]["curve"]
                for seed in range(request.seeds)
            ]
            for column in columns
        }
        rounds = [record["round"] for record in runs[columns[0].name][0]]
        cells = tuple(
            {
                f"{name}, {what}": Cell(tuple(float(curve[index][kind]) for curve in curves), judged=False)
                for name, curves in runs.items()
                for kind, what in KINDS.items()
            }
            for index in range(len(rounds))
        )
        lines.append(Curve(f"{method}, {SHARES[data.share]}", "round", tuple(rounds), cells))
    return lines


def _notes(data: Data, images: int, rounds: int, clustering: int, number: int, judged: bool) -> list[str]:
    notes = [
        "The paper says neither which of the two accuracies it prints nor its step size, widths, rounds, "
        f"grid of the map and how images are divided among the groups. Here: step size {data.step_size:g}, "
        f"{_widths(data)}, {rounds} rounds with the clustering after round {clustering}, a "
        f"{data.grid}x{data.grid} map that starts at {MAP_STARTS[data.map_start]}, {images} images in all. "
        f"{100 * data.participation:g} % of the clients take part in a round and are averaged with "
        + ("equal weights." if data.weighting == "clients" else "weights n_m / n, by IFCA with equal ones."),
        "Under shifted labels a single model cannot reach more than 1/K on average: of the K right answers "
        "to an image in K groups it gives one. The bound is on the mean over draws of the test images.",
        "SoFL counts clusters at the elbow of the map's winners, as printed; guarded, by the clients' "
        "silhouette, which may keep each winner a cluster or all clients together.",
        "CFL splits a cluster whose mean update is shorter than a tenth of its largest"
        f"{_thresholds(data)}; none is printed"
        + (
            "."
            if data.cfl_noise_ratio is None
            else f". It is cut only if its test passes with gamma_max = {data.cfl_noise_ratio:g}."
        ),
        "IFCA starts from independent models, "
        + (
            "without the restarts of its authors' code"
            if data.ifca_restarts == 1
            else f"the best of {data.ifca_restarts} starts by the training loss after ten rounds"
        )
        + (
            "."
            if data.ifca_least_share is None
            else f", each drawn until every model is the best for {100 * data.ifca_least_share:g} % of the clients."
        ),
    ]
    if number == 4:
        notes.append(
            "K = 8 has 24 clients, three a group, and shifts 0 to 7: 20 clients cannot be divided by 8."
        )
    if number == 5:
        notes.append("Sizes follow a Dirichlet law inside each group, none below a tenth of an equal share.")
    if not judged:
        notes.append("Shorter or smaller than the paper's runs: no verdicts.")
    return notes


def _costs(data: Data, columns: Sequence[Column], rounds: int, clustering: int) -> list[str]:
    """Account for the runs of a table, once for each number of groups."""
    notes: list[str] = []
    for clusters in sorted({column.clusters for column in columns}):
        clients = clusters * -(-CLIENTS // clusters)
        shape = Shape(clients, clusters, parameters_of(data.network, data.image_shape, CLASSES))
        ran = {
            method: (
                cost_in_passes(make_algorithm(algorithm_settings(data, method, clusters, clustering)), shape),
                rounds,
            )
            for method in data.methods
        }
        notes += cost_notes(ran, shape.dimension, where=f"K = {clusters}")
    return [*notes, cost_of_the_map(data.grid)]


def _thresholds(data: Data) -> str:
    if data.thresholds is None:
        return ""
    mean, client = data.thresholds
    return f", or, with thresholds, than {mean:g} while the largest is longer than {client:g}"


def _widths(data: Data) -> str:
    hidden = ", ".join(map(str, data.network["hidden"]))
    if "channels" not in data.network:
        return f"{hidden} hidden units"
    known = " (LeNet-5)" if data.network == CIFAR_10.network else ""
    return f"{', '.join(map(str, data.network['channels']))} channels and {hidden} hidden units{known}"


def _id(number: int, data: Data) -> str:
    return f"sofl/table-{number}-{data.name}"


def _table(number: int, data: Data, title: str) -> ReproducibleTable:
    return ReproducibleTable(
        id=_id(number, data),
        title=title,
        seeds=3,
        units=partial(units, number=number, data=data),
        compute=compute,
        assemble=partial(assemble, number=number, data=data),
        choices=choices_of(data),
    )


TABLE_3_MNIST = _table(
    3, MNIST, "SoFL, Table 3 on MNIST: rotated and relabelled groups; server's model and after local training"
)
TABLE_4_MNIST = _table(
    4,
    MNIST,
    "SoFL, Table 4 on MNIST: 2, 4 and 8 relabelled groups",
)
TABLE_5_MNIST = _table(
    5,
    MNIST,
    "SoFL, Table 5 on MNIST: relabelled groups of clients of unequal sizes",
)
TABLE_3_CIFAR = _table(
    3,
    CIFAR_10,
    "SoFL, Table 3 on CIFAR-10; full scale wants a GPU",
)
TABLE_4_CIFAR = _table(
    4,
    CIFAR_10,
    "SoFL, Table 4 on CIFAR-10; full scale wants a GPU",
)
TABLE_5_CIFAR = _table(
    5,
    CIFAR_10,
    "SoFL, Table 5 on CIFAR-10; full scale wants a GPU",
)

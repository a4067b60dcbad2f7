"""SoFL's Tables 3, 4 and 5: each number as the accuracy of the server's model and after local training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.experiments.comparison import HALF_A_POINT, Cell, Curve, Printed, Row, Table
from clusterproof.experiments.cost_notes import Shape, cost_in_passes, cost_notes, parameters_of
from clusterproof.experiments.reproducible_table import ReproducibleTable, Request, Results, in_words
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.sofl.choices import choices_of
from clusterproof.experiments.tables.sofl.runs import (
    CIFAR_10,
    CLASSES,
    METHODS,
    MNIST,
    SHARES,
    Column,
    Data,
    algorithm_settings,
    compute,
    cost_of_the_map,
    make_unit,
    settled,
)
from clusterproof.experiments.tables.training_run import compare, curve_by_round, make_algorithm, require_data
from clusterproof.neural.partitions.groups import CLIENTS
from clusterproof.theory.papers.sofl.tables import TABLE_3, TABLE_4, TABLE_5

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


STATED = (
    "rounds",
    "images",
    "step_size",
    "network",
    "cfl_thresholds",
    "participation",
    "share",
    "grid",
    "map_start",
    "weighting",
    "ifca_restarts",
    "ifca_least_share",
    "cfl_noise_ratio",
)
"""What the JSON states of the settings."""

Curves: TypeAlias = list[Sequence[Mapping[str, Any]]]
"""Measurements of a run by seed and round."""

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
    if data.rounds <= data.clustering_round:
        if request.rounds is not None:
            rule = f"must be more than {data.clustering_round}, the round of the clustering"
            raise InvalidArgument("rounds", request.rounds, rule, "give more, or leave it out")
        written = f"clustering-round={data.clustering_round}"
        rule = f"must be less than the {data.rounds} rounds"
        raise InvalidArgument("choose", written, rule, "give --rounds, too")
    return [
        make_unit(column, method, share, seed, request)
        for share, method, seeds in runs_of(number, data, request.seeds)
        for column in columns_of(number, data)
        for seed in range(seeds)
    ]


def assemble(request: Request, results: Results, number: int, data: Data) -> Table:
    """Compare both accuracies with each printed number."""
    data = settled(data, request)
    judged = request.as_long_as_the_papers
    columns = columns_of(number, data)

    def curves(column: Column, method: str, share: str = data.share, seeds: int = request.seeds) -> Curves:
        unit = f"{method}, {column.name}, {share}"
        return [results[unit, seed]["curve"] for seed in range(seeds)]

    rows = []
    for share, method, seeds in runs_of(number, data, request.seeds):
        cells: dict[str, Cell] = {}
        parts = []
        for column in columns:
            found = [curve[-1] for curve in curves(column, method, share, seeds)]
            own = {kind: accuracy_cell(column, method, kind, found, judged) for kind in KINDS}
            cells |= {f"{column.name}, {what}": own[kind] for kind, what in KINDS.items()}
            parts.append(explain(column, method, own["server"], own["local"], found))
        rows.append(Row(method, SHARES[share], cells, " ".join(parts)))
    comparisons = []
    for column in columns:
        ours = [curve[-1] for curve in curves(column, "SoFL")]
        for other in data.methods:
            if other == "FedProx" or other.startswith("SoFL"):
                continue
            theirs = [curve[-1] for curve in curves(column, other)]
            printed = float(column.printed["SoFL"] - column.printed[_paper(other)])
            for kind, what in KINDS.items():
                name = f"SoFL - {other}, {column.name}, {what} (paper {printed:+.2f})"
                comparisons.append(compare(name, [a[kind] for a in ours], [b[kind] for b in theirs]))
    return Table(
        id=_id(number, data),
        title=f"SoFL on {data.title}: accuracy (%) of the clients, measured in two ways",
        source=f"Zhang and Qiao (2024), Electronics 13, 3682, Table {number}, {data.title}",
        columns={f"{column.name}, {what}": 2 for column in columns for what in KINDS.values()},
        rows=rows,
        comparisons=comparisons,
        curves=[
            _figure_9(
                f"{method}, {SHARES[data.share]}", {each.name: curves(each, method) for each in columns}
            )
            for method in data.methods
            if number == 3
        ],
        notes=[*_notes(data, number, judged), *_costs(data, columns)],
        settings={
            "clustering_round": data.clustering_round,
            "local_epochs": data.epochs,
            "batch_size": 100,
            "methods": {name: METHODS[name] for name in data.methods},
            **{name: getattr(data, name) for name in STATED},
        },
    )


def explain(
    column: Column, method: str, server: Cell, local: Cell, found: Sequence[Mapping[str, Any]]
) -> str:
    """State which of the two accuracies the paper's number is near, and what the clustering found."""
    gaps = {KINDS["server"]: server.difference or 0.0, KINDS["local"]: local.difference or 0.0}
    nearer, farther = sorted(gaps, key=lambda name: abs(gaps[name]))
    paper = float(column.printed[_paper(method)])
    said = (
        f"{column.name}: of the two, '{nearer}' is nearer to the paper's {paper:g} % "
        f"({gaps[nearer]:+.1f} against {gaps[farther]:+.1f} points)"
    )
    ceiling = column.ceiling(method)
    if ceiling is not None:
        # the paper states neither the sizes of its clients nor, for K other than 4, its groups: no standard error
        above = paper - ceiling
        where = f"{above:.1f} points above" if above > 0 else "below"
        said += (
            f" and is {where} the {ceiling:g} % that one model can reach in equal groups with distinct shifts"
        )
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


def _figure_9(name: str, runs: Mapping[str, Curves]) -> Curve:
    """Figure 9: the accuracies of a method by round, from the curves of each column."""
    parts = [
        curve_by_round(name, curves, {f"{column}, {what}": kind for kind, what in KINDS.items()})
        for column, curves in runs.items()
    ]
    cells = tuple(
        {column: cell for part in parts for column, cell in part.cells[index].items()}
        for index in range(len(parts[0].points))
    )
    return replace(parts[0], cells=cells)


def _notes(data: Data, number: int, judged: bool) -> list[str]:
    stated = {name: getattr(data, name) for name in ("clustering_round", *STATED)}
    notes = [
        "The paper says neither which of the two accuracies it prints nor its step size, widths, rounds, "
        f"grid of the map and how images are divided among the groups. Here: {in_words(stated)}.",
        "Under shifted labels a single model cannot reach more than 1/K on average: of the K right answers "
        "to an image in K groups it gives one. The bound is on the mean over draws of the test images.",
        "SoFL counts clusters at the elbow of the map's winners, as printed; guarded, by the clients' "
        "silhouette, which may keep each winner a cluster or all clients together.",
        "CFL splits a cluster whose mean update is shorter than a tenth of its largest, or, with thresholds, shorter "
        "than the first while the largest is longer than the second; with a noise ratio, only if its test passes. "
        "None is printed. IFCA starts from independent models and counts clients, whatever the weighting.",
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


def _costs(data: Data, columns: Sequence[Column]) -> list[str]:
    """Account for the runs of a table, once for each number of groups."""
    notes: list[str] = []
    for clusters in sorted({column.clusters for column in columns}):
        clients = clusters * -(-CLIENTS // clusters)
        shape = Shape(clients, clusters, parameters_of(data.network, data.image_shape, CLASSES))
        ran = {
            method: (
                cost_in_passes(make_algorithm(algorithm_settings(data, method, clusters)), shape),
                data.rounds,
            )
            for method in data.methods
        }
        notes += cost_notes(ran, shape.dimension, where=f"K = {clusters}")
    return [*notes, cost_of_the_map(data.grid)]


def _id(number: int, data: Data) -> str:
    return f"sofl/table-{number}-{data.name}"


TITLES = {
    (
        3,
        MNIST.name,
    ): "SoFL, Table 3 on MNIST: rotated and relabelled groups; server's model and after local training",
    (4, MNIST.name): "SoFL, Table 4 on MNIST: 2, 4 and 8 relabelled groups",
    (5, MNIST.name): "SoFL, Table 5 on MNIST: relabelled groups of clients of unequal sizes",
}
ALL = tuple(
    ReproducibleTable(
        id=_id(number, data),
        title=TITLES.get((number, data.name), f"SoFL, Table {number} on CIFAR-10; full scale wants a GPU"),
        seeds=3,
        units=partial(units, number=number, data=data),
        compute=compute,
        assemble=partial(assemble, number=number, data=data),
        choices=choices_of(data),
    )
    for data in (MNIST, CIFAR_10)
    for number in (3, 4, 5)
)

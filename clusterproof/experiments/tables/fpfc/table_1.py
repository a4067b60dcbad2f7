"""Table 1 of FPFC: softmax regressions of a hundred devices in four clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.experiments.choices import Choice, count, number
from clusterproof.experiments.comparison import HALF_A_POINT, Curve, Printed, Row, Table
from clusterproof.experiments.reproducible_table import ReproducibleTable, Request, Results
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.fpfc.table_1_methods import (
    MODELS,
    RUNS,
    THRESHOLDS,
    Scenario,
    Training,
)
from clusterproof.experiments.tables.training_run import cells_of, compare

ROUNDS = 2000
"""Value of the public code."""

SMALL_ROUNDS = 60
SMALL_DATA = {"clients": 20, "clusters": 4, "features": 10, "classes": 4, "largest": 600}
"""A small task for runs of seconds."""

CURVE_SEEDS = 1
"""Seeds of the strengths that no row of the table has."""

COLUMNS = {"Acc %": 2, "before averaging": 2, "Num": 2, "ARI": 2}
KEYS = {"Acc %": "accuracy", "Num": "clusters", "ARI": "index"}
"""Keys of the results, by column."""


def _printed(accuracy: float, spread: float, *clustering: float) -> dict[str, Printed]:
    """A row of the paper: three runs, population deviations; "0.06" after a percentage is 6 points."""
    row = {"Acc %": Printed(accuracy, 100 * spread, 3, True, 0.01, HALF_A_POINT)}
    for name, value, deviation in zip(("Num", "ARI"), clustering[::2], clustering[1::2], strict=False):
        row[name] = Printed(value, deviation, 3, True, 0.01)
    return row


PAPER = {
    "LOCAL": _printed(84.97, 0.06),
    "FedAvg": _printed(30.35, 0.05),
    "Per-FedAvg": _printed(56.28, 0.06),
    "IFCA": _printed(60.42, 0.17, 2.33, 0.94, 0.47, 0.33),
    "CFL": _printed(86.60, 0.05, 42.0, 4.55, 0.28, 0.11),
    "FPFC-l1": _printed(83.85, 0.06, 5.67, 2.87, 0.63, 0.21),
    "FPFC": _printed(89.46, 0.04, 4.00, 0.00, 1.00, 0.00),
}
"""Table 1 of Yu, Liu, Sun and Wang (2023)."""


@dataclass(frozen=True)
class Method:
    """A run of the table.

    Attributes
    ----------
    run, options
        Name of the run and its arguments.
    cost
        Approximate processor time in seconds.
    uses
        Names of the fields of ``Training`` on which the run depends.
    in_table
        Whether all seeds are run.
    """

    run: str
    options: Mapping[str, Any]
    cost: float
    uses: tuple[str, ...] = ()
    in_table: bool = True


DESCENT = ("step_size", "local_steps", "participation")
ONE_STEP = ("step_size", "participation")
FUSION = (*DESCENT, "augmentation")

STRENGTHS = (0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 2.0)
"""Values of lambda of the curve."""


def fpfc(strength: float) -> str:
    """Return the name of FPFC's run with a strength."""
    return f"fpfc, lambda {strength:g}"


METHODS: dict[str, Method] = {
    "local": Method("local", {}, 220, ("step_size", "local_steps")),
    "fedavg": Method("fedavg", {}, 200, DESCENT),
    "fine-tuned": Method("fine-tuned", {}, 205, DESCENT),
    "per-fedavg, first-order": Method("per-fedavg", {"gradient": "first-order"}, 80, DESCENT),
    "per-fedavg, second-order": Method("per-fedavg", {"gradient": "second-order"}, 130, DESCENT),
    "ifca, published": Method("ifca", {"published": True}, 30, ONE_STEP),
    "ifca, members' mean": Method("ifca", {"published": False}, 90, DESCENT),
    "cfl, absent as zero": Method("cfl", {"published": True, "everybody": False}, 40, ONE_STEP),
    "cfl, everybody": Method("cfl", {"published": True, "everybody": True}, 30, ONE_STEP),
    "cfl, absent left out": Method("cfl", {"published": False, "everybody": False}, 50, ONE_STEP),
    "fpfc-l1, lambda 0.2": Method("fpfc", {"penalty": "l1", "strength": 0.2}, 85, FUSION),
    "fpfc-l1, lambda 0.6": Method("fpfc", {"penalty": "l1", "strength": 0.6}, 85, FUSION),
    **{
        fpfc(strength): Method(
            "fpfc", {"penalty": "scad", "strength": strength}, 80, FUSION, strength in (0.6, 0.7)
        )
        for strength in STRENGTHS
    },
    "oracle": Method("oracle", {}, 10),
    "data": Method("data", {}, 10),
}
"""All runs by name."""


@dataclass(frozen=True)
class Line:
    """A row of the table.

    Attributes
    ----------
    name, settings
        Texts of the row.
    method
        Name of the run.
    published
        Whether the settings are those of the public code.
    threshold
        Threshold nu of FPFC.
    """

    name: str
    settings: str
    method: str
    published: bool = False
    threshold: float | None = None


def lines(training: Training) -> tuple[Line, ...]:
    """Return the rows in the paper's order; under each method the published settings, then sound ones."""
    steps, meta = training.local_steps, training.meta_steps
    return (
        Line("LOCAL", f"{steps} gradient steps a round", "local", True),
        Line("FedAvg", f"{steps} passes, batches of 100", "fedavg", True),
        Line("Per-FedAvg", "as coded: FedAvg and a step", "fine-tuned", True),
        Line("Per-FedAvg", f"first-order meta-gradient, {meta} steps", "per-fedavg, first-order"),
        Line("Per-FedAvg", f"second-order meta-gradient, {meta} steps", "per-fedavg, second-order"),
        Line("IFCA", "as coded: sums over all participants", "ifca, published", True),
        Line("IFCA", f"members' mean, {steps} local steps", "ifca, members' mean"),
        Line("CFL", "as coded: absent clients are zeros", "cfl, absent as zero", True),
        Line("CFL", "as coded, but everybody in each round", "cfl, everybody"),
        Line("CFL", "absent clients left out, relative thresholds", "cfl, absent left out"),
        Line("FPFC-l1", "lambda 0.2, nu 4 (README)", "fpfc-l1, lambda 0.2", True, 4.0),
        Line("FPFC-l1", "lambda 0.6, nu 2 (main.py)", "fpfc-l1, lambda 0.6", True, 2.0),
        Line("FPFC-l1", "lambda 0.6, nu 0.1", "fpfc-l1, lambda 0.6", threshold=0.1),
        Line("FPFC", "lambda 0.6, nu 0.1 (README)", fpfc(0.6), True, 0.1),
        Line("FPFC", "lambda 0.6, nu 3 (main.py)", fpfc(0.6), True, 3.0),
        Line("FPFC", "lambda 0.7, nu 0.1", fpfc(0.7), threshold=0.1),
        Line("Oracle", "true clusters known", "oracle"),
    )


PAIRS = (
    (("FPFC 0.6", fpfc(0.6), 0.1), ("LOCAL", "local", None)),
    (("FPFC 0.7", fpfc(0.7), 0.1), ("LOCAL", "local", None)),
    (("FPFC 0.7", fpfc(0.7), 0.1), ("FPFC 0.6", fpfc(0.6), 0.1)),
    (("FPFC 0.6", fpfc(0.6), 0.1), ("FPFC-l1 0.6", "fpfc-l1, lambda 0.6", 0.1)),
    (("FPFC 0.6", fpfc(0.6), 0.1), ("CFL as coded", "cfl, absent as zero", None)),
    (("FPFC 0.6", fpfc(0.6), 0.1), ("CFL everybody", "cfl, everybody", None)),
    (("FPFC 0.7", fpfc(0.7), 0.1), ("CFL everybody", "cfl, everybody", None)),
    (("FPFC 0.7", fpfc(0.7), 0.1), ("CFL absent left out", "cfl, absent left out", None)),
    (("CFL everybody", "cfl, everybody", None), ("CFL as coded", "cfl, absent as zero", None)),
    (("CFL everybody", "cfl, everybody", None), ("Oracle", "oracle", None)),
    (("Per-FedAvg as coded", "fine-tuned", None), ("FedAvg", "fedavg", None)),
    (("Per-FedAvg FO", "per-fedavg, first-order", None), ("Per-FedAvg as coded", "fine-tuned", None)),
)
"""Differences of two runs on the same seeds."""


CODE = "Not in the paper; the default is the public code's. A row that depends on it has no verdict then."
CHOICES = (
    Choice("step-size", Training.step_size, number(above=0), f"alpha. {CODE}"),
    Choice(
        "local-steps",
        Training.local_steps,
        count(),
        f"T_i: gradient steps, of FedAvg passes, and half as many of Per-FedAvg. {CODE}",
    ),
    Choice(
        "participation",
        Training.participation,
        number(above=0, at_most=1),
        f"Share of clients a round. {CODE}",
    ),
    Choice(
        "augmentation",
        Training.augmentation,
        number(above=FPFC(step_size=1.0).fusion_penalty.weakest_augmentation),
        f"rho of FPFC. {CODE}",
    ),
)
"""Settings that the paper does not specify; lambda and nu are in the rows and curves."""


def rounds_of_request(request: Request) -> int:
    """Return the rounds of methods with partial participation."""
    return request.rounds or (SMALL_ROUNDS if request.scale == "small" else ROUNDS)


def changes(request: Request) -> dict[str, Any]:
    """Fields of ``Training`` with values other than the defaults."""
    return dict(asdict(request.settle(Training())).items() - asdict(Training()).items())


def units(request: Request) -> list[Unit]:
    """Return the units: every method on every seed, strengths of the curve only on the first few seeds."""
    data = SMALL_DATA if request.scale == "small" else {}
    units = []
    for name, method in METHODS.items():
        training = {field: value for field, value in changes(request).items() if field in method.uses}
        settings = {
            "run": method.run,
            **method.options,
            "rounds": rounds_of_request(request),
            "data": data,
            **({"training": training} if training else {}),
        }
        seeds = range(request.seeds if method.in_table else min(CURVE_SEEDS, request.seeds))
        units += [Unit(name, seed, settings, method.cost) for seed in seeds]
    return units


def compute(unit: Unit) -> Mapping[str, Any]:
    """Run one method on one data set."""
    options = dict(unit.settings)
    run, rounds, data = (options.pop(name) for name in ("run", "rounds", "data"))
    training = Training(**options.pop("training", {}))
    return RUNS[run](Scenario(unit.seed, rounds, data, training), **options)


@dataclass(frozen=True)
class Seen:
    """Results of all methods on the same seeds.

    Attributes
    ----------
    results
        Results of the units.
    seeds
        Number of seeds.
    """

    results: Results
    seeds: int

    def of(self, method: str) -> list[Mapping[str, Any]]:
        """Return the results of a method, one per seed."""
        return [self.results[method, seed] for seed in range(self.seeds)]

    def measured(self, method: str, threshold: float | None = None) -> list[Mapping[str, Any]]:
        """Return the accuracy and clustering of a method, of FPFC at a threshold of grouping, one per seed."""
        found = self.of(method)
        return found if threshold is None else [result["thresholds"][f"{threshold:g}"] for result in found]

    def accuracies(self, method: str, threshold: float | None = None) -> np.ndarray:
        """Return the accuracies in percent, one per seed."""
        return np.array([result["accuracy"] for result in self.measured(method, threshold)])


def about_data(seen: Seen) -> str:
    """State how difficult the data sets are compared with others of the same law."""
    own = seen.accuracies("data")
    others = np.array([score for result in seen.of("data") for score in result["others"]])
    return (
        f"The classifiers that made our data are right on {own.mean():.1f} % of the test samples "
        f"({', '.join(f'{score:.1f}' for score in own)}); on {len(others)} other data sets of the same law that is "
        f"{others.mean():.1f} ± {others.std(ddof=1):.1f}. Compare rows with the ceiling before levels with the paper's."
    )


def assemble(request: Request, results: Results) -> Table:
    """Return the results next to the paper's table."""
    seen = Seen(results, request.seeds)
    rounds = rounds_of_request(request)
    as_published = request.scale == "full" and rounds == ROUNDS
    changed = changes(request)
    training = Training(**changed)
    rows = []
    for line in lines(training):
        as_coded = line.published and not changed.keys() & METHODS[line.method].uses
        printed, judged = PAPER.get(line.name, {}), as_published and as_coded
        found = seen.measured(line.method, line.threshold)
        cells = {
            column: replace(cell, printed=printed.get(column), judged=judged)
            for column, cell in cells_of(found, KEYS).items()
        }
        if line.method != "oracle":
            ceiling = tuple(seen.accuracies("oracle").tolist())
            cells["Acc %"] = replace(cells["Acc %"], ceiling=ceiling)
        if line.threshold is not None:
            cells |= cells_of(seen.of(line.method), {"before averaging": "own_accuracy"})
        rows.append(Row(line.name, line.settings, cells))
    first_seeds = Seen(results, min(CURVE_SEEDS, request.seeds))
    which = "seed 0" if first_seeds.seeds == 1 else f"seeds 0 to {first_seeds.seeds - 1}"
    by_strength = [cells_of(first_seeds.measured(fpfc(strength), 0.1), KEYS) for strength in STRENGTHS]
    title = f"FPFC, nu 0.1, over the strength of the penalty ({which})"
    curves = [Curve(title, "lambda", STRENGTHS, tuple(by_strength))]
    for method in (fpfc(0.6), fpfc(0.7), "fpfc-l1, lambda 0.2", "fpfc-l1, lambda 0.6"):
        title = f"{method.replace('fpfc', 'FPFC')}, over the threshold of grouping"
        by_threshold = [cells_of(seen.measured(method, threshold), KEYS) for threshold in THRESHOLDS]
        curves.append(Curve(title, "nu", THRESHOLDS, tuple(by_threshold)))
    return Table(
        "fpfc/table-1",
        "softmax regressions of a hundred devices in four clusters",
        "Yu, Liu, Sun and Wang (2023), Table 1; settings of the public code"
        + (", but for what is chosen" if changed else ""),
        COLUMNS,
        rows,
        [
            compare(f"{first[0]} - {second[0]}", seen.accuracies(*first[1:]), seen.accuracies(*second[1:]))
            for first, second in PAIRS
        ],
        curves,
        [
            "Acc is the unweighted mean over clients of the test accuracy, in percent; of FPFC after the means "
            "weighted by samples within groups. A run of the paper is one data set; its seeds are not known.",
            about_data(seen),
            "Rows that are not as in the public code have the paper's numbers beside them, and no verdict.",
        ],
        {
            "rounds": rounds,
            **asdict(training),
            "models_of_ifca": MODELS,
            "precision": "single",
            "seeds_of_the_curve_of_strengths": first_seeds.seeds,
        },
    )


TABLE = ReproducibleTable(
    "fpfc/table-1",
    "FPFC, Table 1: softmax regressions of a hundred devices in four clusters",
    5,
    units,
    compute,
    assemble,
    CHOICES,
)

"""Table 1 of FPFC: softmax regressions of a hundred devices in four clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.costs import cost_of_a_round
from clusterproof.experiments.choices import Choice, Count, Number
from clusterproof.experiments.comparison import Cell, Comparison, Curve, Printed, Row, Table
from clusterproof.experiments.cost_notes import cost_notes
from clusterproof.experiments.reproducible_table import ReproducibleTable, Request, Results
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.fpfc import table_1_sentences as sentences
from clusterproof.experiments.tables.fpfc.table_1_methods import (
    MODELS,
    RUNS,
    THRESHOLDS,
    Scenario,
    Training,
    algorithm_of,
    rounds_of,
)
from clusterproof.experiments.tables.fpfc.table_1_printed import PAPER
from clusterproof.experiments.tables.fpfc.table_1_sentences import Seen
from clusterproof.synthetic.softmax import SoftmaxMixture

ROUNDS = 2000
"""Value of the public code."""

SMALL_ROUNDS = 60
SMALL_DATA = {"clients": 20, "clusters": 4, "features": 10, "classes": 4, "largest": 600}
"""A small task for runs of seconds."""

CURVE_SEEDS = 1
"""Seeds of the strengths that no row of the table has."""

COLUMNS = {"Acc %": 2, "before averaging": 2, "Num": 2, "ARI": 2}


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
    explain
        Function that returns the sentence of the row.
    printed
        Printed row.
    published
        Whether the settings are those of the public code.
    threshold
        Threshold nu of FPFC.
    """

    name: str
    settings: str
    method: str
    explain: Callable[[Seen], str]
    printed: Mapping[str, Printed] = field(default_factory=dict)
    published: bool = False
    threshold: float | None = None


def _published(name: str, settings: str, method: str, explain: Callable[[Seen], str], **options: Any) -> Line:
    return Line(name, settings, method, explain, PAPER[name], published=True, **options)


def _sound(name: str, settings: str, method: str, explain: Callable[[Seen], str], **options: Any) -> Line:
    return Line(name, settings, method, explain, PAPER[name], **options)


def _fusion(method: str, threshold: float) -> dict[str, Any]:
    explain = partial(sentences.about_fusion, method=method, threshold=threshold)
    return {"method": method, "explain": explain, "threshold": threshold}


def lines(training: Training) -> tuple[Line, ...]:
    """Return the rows in the paper's order; under each method the published settings, then sound ones."""
    steps = training.local_steps
    return (
        _published("LOCAL", f"{steps} gradient steps a round", "local", sentences.about_local),
        _published("FedAvg", f"{steps} passes, batches of 100", "fedavg", sentences.about_fedavg),
        _published("Per-FedAvg", "as coded: FedAvg and a step", "fine-tuned", sentences.about_fine_tuned),
        *(
            _sound(
                "Per-FedAvg",
                f"{order} meta-gradient, {training.meta_steps} steps",
                f"per-fedavg, {order}",
                partial(sentences.about_meta, method=f"per-fedavg, {order}", training=training),
            )
            for order in ("first-order", "second-order")
        ),
        _published(
            "IFCA", "as coded: sums over all participants", "ifca, published", sentences.about_shared_ifca
        ),
        _sound(
            "IFCA",
            f"members' mean, {steps} local steps",
            "ifca, members' mean",
            partial(sentences.about_ifca, steps=steps),
        ),
        _published(
            "CFL", "as coded: absent clients are zeros", "cfl, absent as zero", sentences.about_absent
        ),
        _sound(
            "CFL",
            "as coded, but everybody in each round",
            "cfl, everybody",
            partial(sentences.about_cfl, method="cfl, everybody"),
        ),
        _sound(
            "CFL",
            "absent clients left out, relative thresholds",
            "cfl, absent left out",
            partial(sentences.about_cfl, method="cfl, absent left out"),
        ),
        _published("FPFC-l1", "lambda 0.2, nu 4 (README)", **_fusion("fpfc-l1, lambda 0.2", 4.0)),
        _published("FPFC-l1", "lambda 0.6, nu 2 (main.py)", **_fusion("fpfc-l1, lambda 0.6", 2.0)),
        _sound("FPFC-l1", "lambda 0.6, nu 0.1", **_fusion("fpfc-l1, lambda 0.6", 0.1)),
        _published("FPFC", "lambda 0.6, nu 0.1 (README)", **_fusion(fpfc(0.6), 0.1)),
        _published("FPFC", "lambda 0.6, nu 3 (main.py)", **_fusion(fpfc(0.6), 3.0)),
        _sound("FPFC", "lambda 0.7, nu 0.1", **_fusion(fpfc(0.7), 0.1)),
        Line("Oracle", "true clusters known", "oracle", sentences.about_oracle),
    )


LINES = lines(Training())

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
    Choice("step-size", Training.step_size, Number(above=0), f"alpha. {CODE}"),
    Choice(
        "local-steps",
        Training.local_steps,
        Count(),
        f"T_i: gradient steps, of FedAvg passes, and half as many of Per-FedAvg. {CODE}",
    ),
    Choice(
        "participation",
        Training.participation,
        Number(above=0, at_most=1),
        f"Share of clients a round. {CODE}",
    ),
    Choice(
        "augmentation",
        Training.augmentation,
        Number(above=FPFC(step_size=1.0).fusion_penalty.weakest_augmentation),
        f"rho of FPFC. {CODE}",
    ),
)
"""Settings that the paper does not specify; lambda and nu are in the rows and curves."""


def changes(request: Request) -> dict[str, Any]:
    """Fields of ``Training`` with values other than the defaults."""
    given = {name.replace("-", "_"): value for name, value in request.choices.items()}
    return {name: value for name, value in given.items() if value != getattr(Training, name)}


def units(request: Request) -> list[Unit]:
    """Return the units: every method on every seed, strengths of the curve only on the first few seeds."""
    small = request.scale == "small"
    rounds = (SMALL_ROUNDS if small else ROUNDS) if request.rounds is None else request.rounds
    changed = changes(request)

    def settings(method: Method) -> dict[str, Any]:
        training = {name: value for name, value in changed.items() if name in method.uses}
        return {
            "run": method.run,
            **method.options,
            "rounds": rounds,
            "data": SMALL_DATA if small else {},
            **({"training": training} if training else {}),
        }

    return [
        Unit(name, seed, settings(method), method.cost)
        for name, method in METHODS.items()
        for seed in range(request.seeds)
        if method.in_table or seed < CURVE_SEEDS
    ]


def compute(unit: Unit) -> Mapping[str, Any]:
    """Run one method on one data set."""
    options = dict(unit.settings)
    run, rounds, data = (options.pop(name) for name in ("run", "rounds", "data"))
    training = Training(**options.pop("training", {}))
    return RUNS[run](Scenario(unit.seed, rounds, data, training), **options)


def assemble(request: Request, results: Results) -> Table:
    """Return the results next to the paper's table."""
    seen = Seen(results, request.seeds)
    as_published = request.scale == "full" and request.rounds in (None, ROUNDS)
    changed = changes(request)
    training = Training(**changed)
    rows = []
    for line in lines(training):
        as_coded = line.published and not changed.keys() & METHODS[line.method].uses
        judged = as_published and as_coded
        cells = _cells(seen.measured(line.method, line.threshold), line.printed, judged)
        ceiling = tuple(seen.accuracies("oracle").tolist()) if line.method != "oracle" else ()
        cells["Acc %"] = Cell(cells["Acc %"].values, line.printed.get("Acc %"), ceiling, judged)
        if line.threshold is not None:
            own = tuple(result["own_accuracy"] for result in seen.of(line.method))
            cells["before averaging"] = Cell(own)
        rows.append(Row(line.name, line.settings, cells, line.explain(seen)))
    comparisons = [
        Comparison(
            f"{first[0]} - {second[0]}",
            tuple((seen.accuracies(*first[1:]) - seen.accuracies(*second[1:])).tolist()),
        )
        for first, second in PAIRS
    ]
    first_seeds = Seen(results, min(CURVE_SEEDS, request.seeds))
    which = "seed 0" if first_seeds.seeds == 1 else f"seeds 0 to {first_seeds.seeds - 1}"
    curves = [
        Curve(
            f"FPFC, nu 0.1, over the strength of the penalty ({which})",
            "lambda",
            STRENGTHS,
            tuple(_cells(first_seeds.measured(fpfc(strength), 0.1)) for strength in STRENGTHS),
        ),
        *(
            Curve(
                f"{name}, over the threshold of grouping",
                "nu",
                THRESHOLDS,
                tuple(_cells(seen.measured(method, threshold)) for threshold in THRESHOLDS),
            )
            for name, method in (
                ("FPFC, lambda 0.6", fpfc(0.6)),
                ("FPFC, lambda 0.7", fpfc(0.7)),
                ("FPFC-l1, lambda 0.2", "fpfc-l1, lambda 0.2"),
                ("FPFC-l1, lambda 0.6", "fpfc-l1, lambda 0.6"),
            )
        ),
    ]
    rounds = results["local", 0]["history"][-1][0]
    return Table(
        "fpfc/table-1",
        "softmax regressions of a hundred devices in four clusters",
        "Yu, Liu, Sun and Wang (2023), Table 1; settings of the public code"
        + (", but for what is chosen" if changed else ""),
        COLUMNS,
        rows,
        comparisons,
        curves,
        [
            "Acc is the unweighted mean over clients of the test accuracy, in percent; of FPFC after the means "
            "weighted by samples within groups. A run of the paper is one data set; its seeds are not known.",
            sentences.about_data(seen),
            "Rows that are not as in the public code have the paper's numbers beside them, and no verdict.",
            *_costs(training, rounds, SMALL_DATA if request.scale == "small" else {}),
        ],
        {
            "seeds": request.seeds,
            "rounds": rounds,
            "scale": request.scale,
            **asdict(training),
            "models_of_ifca": MODELS,
            "precision": "single",
            "seeds_of_the_curve_of_strengths": first_seeds.seeds,
        },
    )


def _costs(training: Training, rounds: int, data: Mapping[str, Any]) -> list[str]:
    """Return the cost of every method of the table, with full batches or mini-batches."""
    task = SoftmaxMixture(**data)
    ran = {}
    for name, method in METHODS.items():
        if not method.in_table or method.run in ("oracle", "data"):
            continue
        cost = cost_of_a_round(algorithm_of(method.run, training, **method.options), task)
        if method.run == "fine-tuned":
            # one step on all samples before the passes
            cost = replace(cost, forward=cost.forward + 1, backward=cost.backward + 1)
        ran[name] = (cost, rounds_of(rounds, training, all_clients=bool(method.options.get("everybody"))))
    return cost_notes(ran, task.dimension)


def _cells(
    found: list[Mapping[str, Any]], printed: Mapping[str, Printed] | None = None, judged: bool = False
) -> dict[str, Cell]:
    """Return the cells of what was measured on the seeds."""
    printed = {} if printed is None else printed
    names = {"accuracy": "Acc %", "clusters": "Num", "index": "ARI"}
    return {
        column: Cell(tuple(float(result[name]) for result in found), printed.get(column), (), judged)
        for name, column in names.items()
        if name in found[0]
    }


TABLE = ReproducibleTable(
    "fpfc/table-1",
    "FPFC, Table 1: softmax regressions of a hundred devices in four clusters",
    5,
    units,
    compute,
    assemble,
    CHOICES,
)

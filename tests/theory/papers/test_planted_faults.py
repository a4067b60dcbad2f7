"""Faults planted where no row, run or proof holds a claim's line: the line must break.

They are lines on random runs, numbers of samples, and equations between a run and a formula. Of every other line a
fault makes its record stale, or changes its verdict in the catalogue or its row of ``exact_points``.
"""

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from planted_sides import is_broken
from planting import with_parameters

from clusterproof.algorithms import CFL, Trained, averaging, cfl, clustered
from clusterproof.algorithms import bipartition as parts
from clusterproof.algorithms import gradient_loss as gradient_loss_module
from clusterproof.algorithms import self_organising_map as som
from clusterproof.common import arrays
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.bounds import statements
from clusterproof.theory.exact import affine_rounds, prescribed_samples
from clusterproof.theory.papers.cfl_mgd import floor
from clusterproof.theory.papers.cfl_mgd.appendix import a3_to_a14 as counts
from clusterproof.theory.papers.fpfc.theorem_1 import Constants
from clusterproof.theory.papers.gradient_loss import only_losses, race
from clusterproof.theory.papers.ifca import success
from clusterproof.theory.papers.sofl import elbow, equations_3_6, label_shift, theorem_1_parts

pytestmark = pytest.mark.slow(reason="checks each claim with a fault planted in it")

Plant = Callable[..., Any]
Fault = Callable[[Any], Any]
"""Makes the faulty from the true one."""


def scaled(factor: Any) -> Fault:
    """Make a function that returns a multiple of what the true one does."""
    return lambda true: lambda *arguments, **named: factor * true(*arguments, **named)


def times(factor: float) -> Fault:
    """Make a property that is a multiple of the true one."""
    return lambda true: property(lambda self: factor * true.fget(self))


def having(**options: Any) -> Fault:
    """Make an algorithm that has these parameters whatever is asked for."""
    return lambda true: with_parameters(true, **options)


def constant(value: Any) -> Fault:
    return lambda _: value


def printed_descent(
    task: Any, points: Any, clients: Any, generator: Any, descent: Any, *, buffers: Any
) -> Any:
    """Take local steps by the buffer of the step before."""
    for _ in range(descent.steps):
        gradients = task.gradients(points, clients, generator)
        points, buffers = points - descent.step_size * buffers, descent.momentum * buffers + gradients
    return Trained(points, buffers, descent.steps)


def argmax(losses: Any) -> Any:
    """Choose the model of largest loss."""
    return np.argmax(losses, axis=-1)


def forgetful(true: Callable[..., Any]) -> Any:
    """Make a server that has a smaller momentum than the clients."""

    def wrong(*arguments: Any, momentum: Fraction, reading: str, **named: Any) -> Any:
        kept = momentum / 2 if reading == "server" else momentum
        return true(*arguments, momentum=kept, reading=reading, **named)

    return wrong


CFL_MGD: list[tuple[str, Any, str, Fault]] = [
    *(
        (line, clustered, "CFLMGD", having(update_order="as-printed"))
        for line in ("equation-3#(3)", "equation-9-broadcast", "division-by-clients")
    ),
    *(
        (line, QuadraticMixture, "local_steps", constant(printed_descent))
        for line in ("algorithm-line-20", "equation-3#(4)", "equation-3#(7)")
    ),
    ("model-averaging-recursion#every round", QuadraticMixture, "local_steps", constant(printed_descent)),
    ("equation-8", arrays, "argmin_smallest_index", constant(argmax)),
    ("equation-10-line-16", clustered, "CFLMGD", having(reset_momentum=True)),
    ("equation-32-fixed-clusters", prescribed_samples, "exact_run", forgetful),
    (
        "pairwise-error#expected loss",
        statements,
        "largest_radius",
        constant(lambda task: task.separation / 2),
    ),
    ("appendix-a4#(A4)", counts, "CONSTANT", constant(2)),
    (
        "appendix-a35#(A36)",
        floor,
        "FloorConstants",
        lambda true: lambda: true(c3=0.51),
    ),
]
FPFC: list[tuple[str, Any, str, Fault]] = [
    ("repaired-duals", Constants, "second", times(0.38)),
    ("repaired-duals#opposed clients", Constants, "repaired_start", times(0.0)),
    ("repaired-duals", Constants, "pair_participation", times(20.0)),
    ("repaired-models#alike clients", Constants, "participation", times(20.0)),
    ("one-term#alike clients", Constants, "local_steps_factor", times(0.93)),
    ("one-term-large-augmentation#alike clients", Constants, "first_step_factor", times(0.95)),
    ("theorem-1-models-positive#alike clients", Constants, "first", times(1 / 40)),
    ("theorem-1-models-positive#opposed clients", Constants, "start", times(0.0)),
]


def fixed_race(baseline: int, proposed: int) -> Fault:
    """Let every race end like this."""
    return lambda _: (
        lambda setting, stream, replicates, **_: (
            np.full(replicates, baseline),
            np.full(replicates, proposed),
        )
    )


def with_weights(largest: float) -> Fault:
    """Give the entrants of a race the weights that are left to a sum."""
    return lambda true: lambda setting, weight, *rest: true(setting, largest - weight, *rest)


GRADIENT_LOSS: list[tuple[str, Any, str, Fault]] = [
    ("equations-4-7", averaging, "average_by_cluster", scaled(1.001)),
    ("equations-4-7", arrays, "argmin_smallest_index", constant(argmax)),
    ("equation-3-descent", gradient_loss_module, "GradientLoss", having(sign="as-printed")),
    ("equation-3-euclidean-descent", gradient_loss_module, "GradientLoss", having(sign="as-printed")),
    ("loss-margin", gradient_loss_module, "GradientLoss", having(loss_reduction="mean")),
    ("pinning", gradient_loss_module, "GradientLoss", having(empty_cluster="never")),
    ("weight-at-start#higher", race.Setting, "rounds", with_weights(0.6)),
    ("weight-at-start#by 0.03", race.Setting, "rounds", with_weights(0.6)),
    ("training-loss", race.Setting, "rounds", with_weights(0.2)),
    ("sooner#sooner", race, "race", lambda true: lambda *one, **named: true(*one, **named)[::-1]),
    ("same-start#at most two", race, "race", fixed_race(5, 2)),
    (
        "what-clusters#[4] by updates",
        only_losses,
        "clusters_of",
        lambda _: lambda task: (task.centers[:, 0] > 3).astype(object),
    ),
]


def a_millionth_off(after: Callable[..., Any]) -> Any:
    """Move the neurons after an update."""
    return lambda *row: tuple((place + Fraction(1, 10**6), hits, won) for place, hits, won in after(*row))


def sum_over_all_data(state: Any, clients: Any, updates: np.ndarray) -> Any:
    """The aggregation with weights 1/m, as line 30 is printed."""
    members = state.assignments
    models = state.models + np.stack([updates[members == own].sum(axis=0) / len(members) for own in members])
    return dataclasses.replace(state, models=models)


def slower(train: Callable[..., Any]) -> Any:
    """Learn at a rate that is off by a millionth, which no rounding is."""
    return lambda *one, learning_rate, **named: train(*one, learning_rate=learning_rate * (1 - 1e-6), **named)


def printed_schedule(decayed: Callable[..., Any]) -> Any:
    return lambda start, t, updates, _: decayed(start, t, updates, "as-printed")


SOFL: list[tuple[str, Any, str, Fault]] = [
    ("running-mean", theorem_1_parts, "after", a_millionth_off),
    ("aggregation-in-cluster", cfl, "average_in_clusters", constant(sum_over_all_data)),
    ("equation-10", som, "train", slower),
    (
        "equation-10#(14), (15): falls",
        equations_3_6,
        "mean_of",
        constant(lambda group: tuple(2 * x + 9 for x in group[0])),
    ),
    (
        "label-shift-ceiling",
        label_shift,
        "ceiling",
        constant(lambda shifts, weights, classes: Fraction(1, len(weights))),
    ),
    ("theorem-1-robbins-monro", som, "decayed", printed_schedule),
    (
        "guarded-count",
        elbow,
        "counted",
        constant(lambda task, seed: int(task.labels.max())),
    ),
]


def as_positions(true: Any) -> Any:
    """Number the cut clients by their position in the cluster, as the public notebook."""

    def cut(self: CFL, members: np.ndarray, ids: np.ndarray, *rest: Any) -> None:
        copy = members.copy()
        true(self, copy, ids, *rest)
        positions = np.flatnonzero(copy[ids] != members[ids])
        if members.max() + 1 < len(members):
            members[positions] = members.max() + 1

    return cut


SLIGHTLY = scaled(1 + 1e-6)
OTHERS: list[tuple[str, Any, str, Fault]] = [
    ("baselines/fedavg", affine_rounds, "weighted_mean", SLIGHTLY),
    ("baselines/per-fedavg-hf", affine_rounds, "weighted_mean", SLIGHTLY),
    ("baselines/local", affine_rounds, "local_rest", SLIGHTLY),
    ("cfl/two-clusters", parts, "cosine_similarities", SLIGHTLY),
    ("cfl/client-ids", CFL, "split", as_positions),
    ("ifca/monotone-in-basin#noise", success, "NOISES", constant((0.25, 1.0, 4.0))),
    *(
        (
            f"ifca/{name}",
            success,
            "Cell",
            lambda cell: lambda separation, noise, clusters=2: cell(separation, noise, 1.0, clusters),
        )
        for name in ("certain-in-basin", "cfl-mgd-in-basin")
    ),
]
PAPERS = {"cfl-mgd": CFL_MGD, "fpfc": FPFC, "gradient-loss": GRADIENT_LOSS, "sofl": SOFL}
FAULTS = [(f"{paper}/{line}", *fault) for paper, table in PAPERS.items() for line, *fault in table] + OTHERS

SEEDS = {"gradient-loss/sooner#sooner": 0}
EVALUATIONS = {"cfl-mgd/appendix-a4#(A4)": 1000, "sofl/theorem-1-robbins-monro": 1}


@pytest.mark.parametrize(
    ("claim_id", "place", "name", "fault"), FAULTS, ids=[f"{each[0]} {each[2]}" for each in FAULTS]
)
def test_a_planted_fault_is_found(claim_id: str, place: Any, name: str, fault: Fault, plant: Plant) -> None:
    plant(place, name, fault(getattr(place, name)))
    assert is_broken(claim_id, SEEDS.get(claim_id, 1), EVALUATIONS.get(claim_id))

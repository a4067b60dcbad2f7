"""Several runs in one figure: their medians and bounds by another route, and labels that say what differs."""

from functools import cache

import numpy as np
import pytest
from drawings import entries, from_one_start, line, regression

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, IFCA, FedAvg
from clusterproof.common import InvalidArgument
from clusterproof.figures.error_per_round import ErrorPerRound
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture

MOMENTA = (0.0, 0.5, 0.9)
SMALL = {"rounds": 12, "replicates": 20, "clients": 40, "dimension": 20}


def traced(task, momentum, rounds=12):
    return from_one_start(CFLMGD(step_size=1.0, momentum=momentum), task, rounds=rounds, replicates=20)


@cache
def three_momenta():
    return ErrorPerRound(momentum=MOMENTA, **SMALL).plot()


@pytest.mark.parametrize("momentum", MOMENTA)
def test_curves_are_the_medians_of_the_runs_and_bounds_those_of_the_theory(momentum):
    (panel,) = three_momenta().axes
    task = regression()
    trace = traced(task, momentum)
    name = rf"$\beta$ = {momentum:g}"
    ordered = np.sort(np.linalg.norm(trace.models - task.optima, axis=-1).max(axis=-1), axis=1)
    np.testing.assert_allclose(line(panel, name)[1], (ordered[:, 9] + ordered[:, 10]) / 2, rtol=1e-12)
    bound = theory.bound("cfl-mgd/theorem-d", task, trace, failure_probability=0.05)
    rounds, drawn = line(panel, f"Theorem D, {name}")
    np.testing.assert_array_equal(rounds, np.arange(13))
    np.testing.assert_allclose(drawn[:-1], bound.bound.reshape(13, -1).max(axis=1)[:-1], rtol=1e-12)
    assert line(panel, f"last Theorem D, {name}")[1] == np.max(bound.last)


@pytest.mark.slow(reason="a second or more")
def test_the_legend_names_the_runs_by_what_differs_and_every_bound_once():
    named = [rf"$\beta$ = {momentum:g}" for momentum in MOMENTA]
    assert entries(three_momenta()) == [*named, "Theorem D", "Theorem 1"]
    assert "Changed from the defaults: clients = 40, momentum = (0, 0.5, 0.9)," in three_momenta().caption
    repaired = ErrorPerRound(momentum=MOMENTA, bounds="repaired", **SMALL).plot()
    assert entries(repaired) == [*named, "Theorem D"]
    without = ErrorPerRound(momentum=MOMENTA, bounds="none", **SMALL).plot()
    assert entries(without) == named
    (panel,) = without.axes
    assert len(panel.get_lines()) == 3


def test_what_coincides_is_drawn_once():
    """IFCA is CFL-MGD without momentum."""
    figure = ErrorPerRound(algorithm=("cfl-mgd", "ifca"), momentum=0, **SMALL).plot()
    (panel,) = figure.axes
    assert line(panel, "cfl-mgd")[1][0] == line(panel, "ifca")[1][0]  # one start; the samples are others
    assert entries(figure) == ["cfl-mgd", "ifca", "Theorem D", "Theorem 1"]
    assert [each.get_gid() for each in panel.get_lines() if str(each.get_gid()).startswith("Theorem D")] == [
        "Theorem D, cfl-mgd"
    ]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", ["cfl-mgd", "ifca", "fedavg", "scaffold", "fedlin"])
def test_every_algorithm_has_a_run(algorithm):
    (panel,) = ErrorPerRound(algorithm=algorithm, step_size=0.1, kappa=10, **SMALL).plot().axes
    error = line(panel, "run")[1]
    assert len(error) == 13
    assert error[-1] < error[0]


def test_traces_of_different_tasks_are_named_by_what_differs():
    traces = [traced(regression(condition_number=kappa), 0.5, rounds=3) for kappa in (4.0, 100.0)]
    assert entries(traces[0].plot(traces[1])) == ["condition number 4", "condition number 100"]
    traces = [
        traced(regression(separation=apart, clients=clients), 0.5, rounds=3)
        for apart, clients in ((1.6, 40), (2.0, 50))
    ]
    assert entries(traces[0].plot(traces[1])) == ["clients 40, separation 1.6", "clients 50, separation 2"]
    tasks = [
        QuadraticMixture.random(
            clusters=2, clients=6, dimension=3, condition_number=kappa, spread=0.1, seed=0
        )
        for kappa in (3.0, 10.0)
    ]
    traces = [run(CFLMGD(step_size=0.5, momentum=0.5), task, rounds=2, seed=0) for task in tasks]
    assert entries(traces[0].plot(traces[1])) == [
        f"condition number {task.condition_number:.4g}" for task in tasks
    ]


def test_distances_to_different_optima_are_not_drawn_on_one_axis():
    """FedAvg's errors are distances to the optimum of the mean, those of IFCA to the clusters' optima."""
    with pytest.raises(InvalidArgument, match="fedavg to the optimum of the mean of all losses"):
        ErrorPerRound(algorithm=("fedavg", "ifca"))
    ErrorPerRound(algorithm=("fedavg", "ifca"), clusters=1)
    ErrorPerRound(algorithm=("fedavg", "scaffold"))
    apart, single = regression(), regression(clusters=1, proportions=None)
    own, mean = IFCA(step_size=1.0), FedAvg(step_size=1.0)
    with pytest.raises(InvalidArgument, match="ifca to the optimum of a cluster"):
        run(mean, apart, rounds=1).plot(run(own, apart, rounds=1))
    run(mean, single, rounds=1).plot(run(own, single, rounds=1))


def test_bounds_of_ones_own_stand_beside_a_run_and_a_single_model_has_no_number():
    trace = run(FedAvg(step_size=1.0), regression(clusters=1, proportions=None), rounds=3, seed=0)
    (panel,) = trace.plot().axes
    assert panel.figure.legends == []
    assert "_p" not in panel.get_ylabel()
    (panel,) = trace.plot(bounds={"Lemma 1": [4, 3, 2, 1], "floor": 0.5}).axes
    assert entries(panel.figure) == ["run", "Lemma 1", "floor"]
    np.testing.assert_array_equal(line(panel, "bound Lemma 1"), [[0, 1, 2, 3], [4, 3, 2, 1]])
    np.testing.assert_array_equal(line(panel, "bound floor")[1], [0.5] * 4)
    assert entries(traced(regression(), 0.5, rounds=2).plot())[0] == "model 0"
    for wrong in ({"Lemma 1": [1, 2]}, {"Lemma 1": "high"}, [1, 2, 3, 4], dict.fromkeys("abcde", 1.0)):
        with pytest.raises(InvalidArgument, match="bounds"):
            trace.plot(bounds=wrong)

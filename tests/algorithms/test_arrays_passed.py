"""Arrays of every type at every entry are computed or refused by name; a model that is not finite ends the run."""

import numpy as np
import pytest
import torch

from clusterproof import theory
from clusterproof.algorithms import ALGORITHMS, FPFC, SCAD, FedAdam, FedAvg, FedYogi, GroupL1
from clusterproof.algorithms.penalties import SmoothedSCAD
from clusterproof.common import InvalidArgument
from clusterproof.running import Diverged, adjusted_rand_index, cluster_count, purity, run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture, TwoPointMixture

TASK = QuadraticMixture.random(clusters=2, clients=6, dimension=2, seed=3, spread=0.3, condition_number=3.0)
MASKED = np.ma.array([[2.0, -3.0]], mask=[[0, 1]])


@pytest.mark.parametrize(
    "name", ["fpfc", "scaffold", "fedbcd", "proxskip", "fedavg", "ifca", "fedlin", "cfl"]
)
@pytest.mark.parametrize("kind", [int, bool, np.float16, np.uint8, list])
def test_a_start_of_any_type_is_that_of_its_floating_numbers(name, kind):
    algorithm = ALGORITHMS[name](step_size=0.1)
    count = algorithm.model_count(TASK)
    start = np.array([[1.0, 0.0]] * count)
    given = start.tolist() if kind is list else start.astype(kind)
    expected, found = (run(algorithm, TASK, rounds=3, seed=0, initial=each) for each in (start, given))
    assert found.models.dtype == np.float64
    np.testing.assert_array_equal(found.models, expected.models)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (MASKED, "masked"),
        ([MASKED[0]], "masked"),
        (np.array([[2, -3]], object), "not of type object"),
        (np.array([[2j, -3]]), "not of type complex128"),
        ([["2", "-3"]], "not of type <U2"),
        ([[2.0], [1.0, 2.0]], "array of real numbers"),
        (torch.tensor([[2j, -3]]), "not of type torch.complex64"),
    ],
    ids=str,
)
def test_a_start_of_something_else_is_refused_by_name(start, words):
    with pytest.raises(InvalidArgument, match=words) as raised:
        run(FPFC(step_size=0.1), TASK, rounds=1, initial=start)
    assert raised.value.argument == "initial"
    assert "\n" not in str(raised.value)


def test_penalties_of_whole_lengths_are_those_of_floating_ones():
    penalty = SCAD(strength=0.6)
    values = penalty.value(np.array([0, 1, 2, 3, 10]))
    np.testing.assert_allclose(values, [0, 0.57037, 0.83704, 0.846, 0.846], atol=1e-5)
    lengths = [0, 1, 2, 3, 10]
    for each in (penalty, GroupL1(strength=0.6), SmoothedSCAD(strength=0.6, smoothing=0.2)):
        for given in (lengths, np.array(lengths), np.array(lengths, np.float16)):
            floats = np.array(lengths, float)
            np.testing.assert_array_equal(each.value(given), each.value(floats))
            np.testing.assert_array_equal(each.derivative(given), each.derivative(floats))
            points, whole = floats[:, None], np.array(given)[:, None]
            np.testing.assert_array_equal(each.prox(whole, 1.0), each.prox(points, 1.0))
            residuals = (each.stationarity_residual(p, 0 * p) for p in (whole, points))
            np.testing.assert_array_equal(*residuals)
    with pytest.raises(InvalidArgument, match="masked"):
        penalty.value(MASKED)


def test_partitions_are_lists_or_arrays_of_one_shape():
    assert adjusted_rand_index([0, 0, 1], [1, 1, 0]) == purity([0, 0, 1], [1, 1, 0]) == 1
    assert cluster_count([0, 3, -1]) == 2
    two = np.array([[0, 0, 1, 1], [1, 1, 0, 0]])
    for wrong in ((two, two), ([0, 1], [0, 1, 1]), ([0.5, 1.0], [0, 1]), (MASKED[0], [0, 1])):
        for measure in (adjusted_rand_index, purity):
            with pytest.raises(InvalidArgument, match=r"^(assignments|labels) is "):
                measure(*wrong)


QUADRATIC = {"hessians": np.ones((4, 1, 1)), "centers": [[1], [1], [-1], [-1]], "labels": [0, 0, 1, 1]}


@pytest.mark.parametrize(
    ("argument", "value", "words"),
    [
        ("centers", np.ma.array([[1.0], [1e20], [-1.0], [-1.0]], mask=[[0], [1], [0], [0]]), "masked"),
        ("labels", [0, 0, 1, 10**12], r"0 \.\. P - 1 occurs"),
        ("labels", np.array([0, 0, 1, 1], object), "not of type object"),
        ("centers", [["1"], ["1"], ["-1"], ["-1"]], "not of type <U2"),
        ("centers", np.ones((4, 1), complex), "not of type complex128"),
        ("client_samples", [1.5, 1, 1, 1], "not of type float64"),
    ],
)
def test_arrays_of_tasks_are_refused_by_name(argument, value, words):
    with pytest.raises(InvalidArgument, match=words) as raised:
        QuadraticMixture(**{**QUADRATIC, argument: value})
    assert raised.value.argument == argument


def test_attributes_of_tasks_are_arrays():
    regression = RegressionMixture(
        optima=[[0, 0], [1, 0]], covariance=[1, 2], noise=0, labels=[0, 1], samples=1
    )
    two = TwoPointMixture(
        optima=[[0], [1]],
        noise_gradients=[1],
        centers=(0,),
        rarity=0.5,
        labels=torch.tensor([0, 1]),
        samples=1,
    )
    quadratic = QuadraticMixture(**QUADRATIC)
    for task, names in (
        (regression, ("optima", "covariance")),
        (two, ("optima", "noise_gradients", "centers")),
        (quadratic, ("hessians", "centers", "optima")),
    ):
        assert task.labels.dtype == np.int64
        assert {getattr(task, name).dtype for name in names} == {np.dtype(float)}


TRACE = run(FedAvg(step_size=0.1), TASK, rounds=1)
SWAPPED = {
    "run(task, algorithm)": (lambda: run(TASK, FedAvg(step_size=0.1), rounds=1), "algorithm", "Write run"),
    "a class": (lambda: run(FedAvg, TASK, rounds=1), "algorithm", r"Make an instance, FedAvg\("),
    "a name": (lambda: run("fedavg", TASK, rounds=1), "algorithm", "'fedavg'"),
    "a class of tasks": (
        lambda: run(FedAvg(step_size=0.1), QuadraticMixture, rounds=1),
        "task",
        r"Make an instance, QuadraticMixture\(",
    ),
    "compare(trace, task)": (lambda: theory.compare(TRACE, TASK), "task", "Give the task"),
    "assert_holds(task, trace, id)": (
        lambda: theory.assert_holds(TASK, TRACE, "cfl-mgd/theorem-d"),
        "id",
        "such as 'my-paper/lemma-2'",
    ),
    "assert_holds(id, trace, task)": (
        lambda: theory.assert_holds("cfl-mgd/theorem-d", TRACE, TASK),
        "task",
        "Give the task",
    ),
    "assert_same_law(trace, task)": (lambda: theory.assert_same_law(TRACE, TASK), "task", "Give the task"),
    "assert_same_law(algorithm=class)": (
        lambda: theory.assert_same_law(TASK, TRACE, algorithm=FedAvg),
        "algorithm",
        "Make an instance",
    ),
}


@pytest.mark.parametrize("call", SWAPPED)
def test_arguments_in_the_wrong_order_are_named(call):
    function, argument, words = SWAPPED[call]
    with pytest.raises(InvalidArgument, match=words) as raised:
        function()
    assert raised.value.argument == argument
    assert "must be an instance of" in raised.value.rule
    assert "\n" not in str(raised.value)


TASK_DIVERGENCE = QuadraticMixture.random(clusters=2, clients=6, dimension=2, spread=0.5, seed=1)


class Broken(QuadraticMixture):
    """Client 4 answers with a gradient that is not a number."""

    def gradients(self, points, clients, generator):
        answered = super().gradients(points, clients, generator)
        return np.where((clients == 4)[..., None], np.nan, answered)

    def losses_and_gradients(self, models, clients, generator):
        losses, gradients = super().losses_and_gradients(models, clients, generator)
        return losses, np.where((clients == 4)[..., None, None], np.nan, gradients)


BROKEN = Broken(
    hessians=TASK_DIVERGENCE.hessians, centers=TASK_DIVERGENCE.centers, labels=TASK_DIVERGENCE.labels
)


COMPARED = ("cfl", "fpfc", "gradient-loss", "sofl")
"""Those that compare clients, and look at every client's model before that."""


@pytest.mark.parametrize("replicates", [None, 2])
@pytest.mark.parametrize("name", COMPARED)
def test_a_client_that_is_not_finite_is_named_before_clients_are_compared(name, replicates):
    with pytest.raises(InvalidArgument, match=r"step_size is 0.5.*client 4.*Lower it"):
        run(ALGORITHMS[name](step_size=0.5), BROKEN, rounds=2, replicates=replicates)


@pytest.mark.parametrize("replicates", [None, 2])
@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in COMPARED])
def test_the_round_is_named_in_which_a_model_is_not_a_number(name, replicates):
    options = {"momentum": 0.5} if name == "cfl-mgd" else {}
    with pytest.raises(Diverged, match=r"step_size is 0.5, but it led in round 1 to NaN in model") as ended:
        run(ALGORITHMS[name](step_size=0.5, **options), BROKEN, rounds=2, replicates=replicates)
    assert ended.value.rounds == 0


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in ALGORITHMS.values()
        # a step of FedYogi's server does not grow with the clients' changes
        if "local_steps" in kind.__dataclass_fields__ and kind not in (FedAdam, FedYogi)
    ],
)
def test_a_step_that_is_too_large_ends_the_run_when_numbers_overflow(kind):
    options = {"momentum": 0.5} if kind.name == "cfl-mgd" else {}
    if kind.name in ("cfl-mgd", "ifca"):
        options["averaging"] = "model"
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(
            InvalidArgument, match=r"step_size is 50.0, but it (must keep every client|led in round)"
        ),
    ):
        run(kind(step_size=50.0, local_steps=50, **options), TASK_DIVERGENCE, rounds=20)

"""Bounds next to a run: the table marks the smallest that holds, and the figure draws all of them."""

from typing import Any

import numpy as np
import pytest

from clusterproof import (
    BoundComparison,
    FedAvg,
    InvalidArgument,
    QuadraticMixture,
    bound,
    claim,
    compare,
    run,
    theory,
)
from clusterproof.theorem import Sides, at_most, choice, expectation, suppose

TASK = QuadraticMixture.random(clusters=1, clients=3, dimension=2, condition_number=4, seed=0)


@pytest.fixture
def claims(registry: Any) -> None:
    """Three statements on gradient descent with step 1 / L: contraction by 1 - 1/kappa, none, and twice as fast."""

    def rate(factor: float) -> Any:
        def allowed(task: Any, trace: Any) -> Any:
            suppose("one cluster", task.clusters == 1)
            return factor ** np.arange(trace.rounds + 1)[:, None] * trace.errors[0].max()

        return allowed

    for name, factor in (("slow", 1.0), ("right", 0.75), ("false", 0.1)):
        # annotations of a local function cannot be strings
        def statement(number):  # type: ignore[no-untyped-def]
            return at_most(number, two=2)

        statement.__qualname__, statement.__doc__ = name, "A rate."
        statement.__annotations__ = {"number": ANNOTATION, "return": Sides}
        claim(f"toy/{name}", bound=rate(factor))(statement)


from typing import Annotated  # noqa: E402

ANNOTATION = Annotated[int, choice(1)]


@pytest.mark.parametrize("replicates", [None, 4])
def test_the_smallest_bound_that_holds_is_the_tightest(claims: None, replicates: int | None) -> None:
    trace = run(FedAvg(step_size=1.0), TASK, rounds=3, replicates=replicates)
    comparison = compare(trace, TASK)
    assert list(comparison.bounds) == ["toy/slow", "toy/right", "toy/false"]
    assert comparison.tightest == (
        "toy/slow",
        "toy/right",
        "toy/right",
        "toy/right",
    )  # all equal at the start
    frame = comparison.frame()
    assert len(frame) == 4 * 3
    assert trace.errors is not None
    for row in frame.iter_rows(named=True):
        errors = trace.errors[row["round"]]
        assert row["error"] == errors.max()
        factor = {"toy/slow": 1.0, "toy/right": 0.75, "toy/false": 0.1}[row["claim"]]
        assert row["bound"] == pytest.approx(trace.errors[0].max() * factor ** row["round"])
        assert row["broken"] == (row["claim"] == "toy/false" and row["round"] > 0)
        assert row["tightest"] == (row["claim"] == comparison.tightest[row["round"]])
    assert "(broken)" in repr(comparison)
    assert "toy/right" in comparison._repr_html_()


def test_a_bound_of_several_models_is_as_large_as_the_largest() -> None:
    bounds = {"toy/uneven": np.array([[1.0, 9.0]]), "toy/even": np.array([[5.0, 5.0]])}
    kept = {name: np.zeros((1, 2), dtype=bool) for name in bounds}
    trace = run(FedAvg(step_size=1.0), TASK, rounds=0)
    sure = dict.fromkeys(bounds, 0.0)
    assert BoundComparison(trace, np.zeros((1, 2)), bounds, kept, sure, {}).tightest == ("toy/even",)


def test_claims_that_do_not_apply_are_left_out_or_refused(claims: None) -> None:
    two = QuadraticMixture.random(clusters=2, clients=4, dimension=2, seed=0)
    trace = run(FedAvg(step_size=1.0), two, rounds=1)
    comparison = compare(trace, two)
    assert comparison.bounds == {}
    assert comparison.tightest == (None, None)
    assert "one cluster" in comparison.left_out["toy/right"]
    with pytest.raises(InvalidArgument, match="one cluster"):
        compare(trace, two, ["toy/right"])
    with pytest.raises(InvalidArgument, match="must be a list of ids"):
        compare(trace, two, "toy/right")
    with pytest.raises(InvalidArgument, match="on which the trace was run"):
        compare(trace, TASK)


def test_a_bound_on_an_expectation_is_left_out_or_refused(claims: None) -> None:
    trace = run(FedAvg(step_size=0.1), TASK, rounds=2, replicates=2, initial=np.ones((1, 2)))

    @claim("toy/mean", bound=lambda task, trace: expectation(trace.errors[1:, :, 0].T, at_most=np.ones(2)))
    def statement() -> Sides:
        return at_most(1, one=1)

    assert "expectation over replicates" in compare(trace, TASK).left_out["toy/mean"]
    with pytest.raises(InvalidArgument, match="expectation over replicates"):
        compare(trace, TASK, ["toy/mean"])


def test_the_figure_draws_every_bound_and_the_run(claims: None) -> None:
    trace = run(FedAvg(step_size=1.0), TASK, rounds=5, replicates=3)
    comparison = compare(trace, TASK)
    for theme in ("light", "dark"):
        (panel,) = comparison.plot(theme=theme).axes
        curves = {line.get_gid(): line for line in panel.lines}
        assert set(curves) == {"median 0", "bound toy/slow", "bound toy/right", "bound toy/false"}
        np.testing.assert_allclose(
            curves["bound toy/right"].get_ydata(), comparison.bounds["toy/right"][:, 0]
        )
        assert curves["bound toy/right"].get_label() == "toy/right (tightest)"


def test_bounds_of_the_catalogue_are_those_of_bound(claims: None) -> None:
    trace = run(FedAvg(step_size=1.0), TASK, rounds=2)
    alone = compare(trace, TASK, ["toy/right"])
    np.testing.assert_array_equal(alone.bounds["toy/right"], bound("toy/right", TASK, trace).bound)
    assert theory.compare is compare


def test_the_numbers_of_a_comparison_by_hand(registry: Any) -> None:
    trace = run(FedAvg(step_size=1.0), TASK, rounds=1)
    errors = np.array([[9.0, 9.0], [0.0, 2.0]])
    rows = {"toy/a": [1.0, 5.0], "toy/b": [3.0, 4.0], "toy/c": [0.0, 1.0]}
    bounds = {name: np.array([[9.0, 9.0], row]) for name, row in rows.items()}
    broken = {name: np.array([[False, False], [False, name == "toy/c"]]) for name in rows}
    comparison = BoundComparison(trace, errors, bounds, broken, dict.fromkeys(rows, 0.0), {"toy/d": "why"})
    # of what is kept to, the largest of both models is smallest
    facts = "error after the last round 2, toy/a 5, toy/b 4 (tightest), toy/c 1 (broken), left out 1"
    assert repr(comparison) == f"<BoundComparison: {facts}>"
    last = [row for row in comparison.frame().iter_rows(named=True) if row["round"] == 1]
    assert [row["ratio"] for row in last] == [None] * 3 + [5 / 2, 4 / 2, 1 / 2]
    assert [row["tightest"] for row in last] == [False, False, True, False, True, False]
    assert [row["broken"] for row in last] == [False, False, False, False, False, True]


def test_a_bound_is_broken_where_some_replicate_is_above_it(registry: Any) -> None:
    centers = np.array([[0.0], [1.0], [5.0]])
    task = QuadraticMixture(hessians=np.ones((3, 1, 1)), centers=centers, labels=np.zeros(3, dtype=int))
    trace = run(FedAvg(step_size=0.3, participation=0.4), task, rounds=3, replicates=5)
    assert trace.errors is not None
    mean = trace.errors.mean(axis=1, keepdims=True)

    def statement(number):  # type: ignore[no-untyped-def]
        return at_most(number, two=2)

    statement.__doc__ = "A rate."
    statement.__annotations__ = {"number": ANNOTATION, "return": Sides}
    claim("toy/mean", bound=lambda task, trace: mean)(statement)
    comparison = compare(trace, task, ["toy/mean"])
    assert comparison.broken["toy/mean"][:, 0].tolist() == [False, True, True, True]
    np.testing.assert_allclose(comparison.errors, trace.errors.max(axis=1))
    np.testing.assert_allclose(comparison.bounds["toy/mean"], mean[:, 0])
    assert comparison.failure_probabilities == {"toy/mean": 0.0}

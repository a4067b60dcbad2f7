"""No true bound is called violated: not by rounding, and not by what is outside the setting."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from leaderboard_settings import A
from test_leaderboard import values

from clusterproof import QuadraticMixture
from clusterproof.theory.leaderboard import leaderboard, rows, violations
from clusterproof.theory.leaderboard.setting import Setting


@pytest.mark.parametrize(("distance", "strong_convexity"), [(0, "1/10"), (0, "1/1000"), ("1e-9", "1/1000")])
def test_gradients_that_cancel_but_for_rounding_refute_no_theorem(
    distance: object, strong_convexity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one local step FedAvg is gradient descent, which stays at x*; the drift bound is 0 there."""
    monkeypatch.setattr(rows, "exact_worst_case", lambda *_, **__: (None, None))
    monkeypatch.setattr(rows, "_one_round", lambda *_: dict.fromkeys((1, 1000), (None, None)))
    start = {"smoothness": 1, "strong_convexity": strong_convexity, "heterogeneity": 1, "distance": distance}
    for step_size in ("1/64", "1/2"):
        found = leaderboard("fedavg", client_class="strong", **start, step_size=step_size, rounds=[1, 1000])  # type: ignore[arg-type]
        assert [row["column"] for row in found if row["value"] is not None].count("drift") == 2
        assert violations(found) == []


@pytest.mark.parametrize(("factor", "refuted"), [(1.0, False), (1 - 1e-6, True)])
def test_a_bound_that_is_a_millionth_too_small_is_refuted(factor: float, refuted: bool) -> None:
    setting = Setting(
        algorithm="fedavg",
        client_class="strong",
        smoothness=Fraction(1),
        strong_convexity=Fraction(1, 10),
        local_steps=4,
        step_size=Fraction(1, 64),
        server_step_size=Fraction(1),
        sampling=Fraction(0),
        proximal=Fraction(0),
        probability=Fraction(0),
        option="",
        heterogeneity=Fraction(1),
        distance=Fraction(0),
        rounds=1,
    )
    values: dict[str, tuple[float | None, str | None]] = {
        "mine": (1e-4 * factor, None),
        "worst-quadratic": (1e-4, "an instance"),
        "exact": (None, None),
        "expected": (None, None),
    }
    assert bool(violations(rows.judged(setting, values, ["mine"]))) is refuted


SCALE = {"smoothness": 1, "heterogeneity": 1}


@pytest.mark.parametrize(
    ("algorithm", "client_class", "setting"),
    [
        # gradients that cancel: a step forgets 1e-9 of the distance, and its rounding must not be larger
        ("fedavg", "strong", {"strong_convexity": 0, "step_size": "1/1000", "distance": 0, "rounds": 1000}),
        (
            "fedavg",
            "strong",
            {"strong_convexity": "1/1000", "step_size": "1e-5", "distance": 0, "rounds": 1000},
        ),
        # controls whose mean is rounding: it is never forgotten
        (
            "proxskip",
            "quadratic",
            {
                **{"strong_convexity": "1/100", "step_size": "1/10", "probability": "3/20"},
                **{"distance": 0, "rounds": 15_000},
            },
        ),
    ],
)
def test_rounding_that_piles_up_refutes_no_theorem(
    algorithm: str, client_class: str, setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # the certificates of single rounds judge no bound, and take most of the time
    monkeypatch.setattr(rows, "_one_round", lambda *_: defaultdict(lambda: (None, None)))
    found = leaderboard(algorithm, client_class=client_class, **SCALE, **setting)
    assert any(row["column"] in ("drift", "proxskip/sharp") and row["value"] is not None for row in found)
    assert violations(found) == []


def test_a_run_of_proxskip_starts_at_one_point() -> None:
    """Then E mean |x_1^i - x*|^2 <= mean |v_i - eta grad f_i(x*)|^2 with v_i of length (1 - eta mu) D at most."""
    mu, eta, zeta, probability = 0.1, 0.1, 10.0, 0.1
    setting = {"smoothness": 1, "strong_convexity": mu, "step_size": eta, "probability": probability}
    rows = leaderboard("proxskip", client_class="strong", heterogeneity=zeta, distance=1, rounds=1, **setting)
    found = values(rows, 1)
    bound = (1 - eta * mu) ** 2 + eta**2 * (1 - mu) * zeta + (eta * zeta) ** 2
    assert found["worst-quadratic"] is not None
    assert found["exact"] is not None
    assert found["worst-quadratic"] * (1 - 1e-5) <= found["exact"] <= bound
    apart = (1 - probability) * (1 - eta * mu + eta * zeta) ** 2  # x_i - x* opposite to the gradients
    assert found["one-round-strong"] == pytest.approx(apart, rel=1e-3)


def test_a_task_a_billionth_steeper_than_the_setting_judges_no_bound() -> None:
    task = QuadraticMixture(
        hessians=np.full((2, 1, 1), 1 + 9.9e-10), centers=np.ones((2, 1)), labels=np.zeros(2, int)
    )
    setting = {"smoothness": 1, "strong_convexity": "0.1", "step_size": "1.999", "probability": 1}
    rows = leaderboard(
        "proxskip", client_class="strong", heterogeneity=0, distance=1, rounds=1000, task=task, **setting
    )
    (row,) = (row for row in rows if row["column"] == "expected")
    assert "a billionth" in str(row["reason"])
    assert violations(rows) == []


def test_no_worst_case_at_a_sampling_that_no_number_of_clients_has() -> None:
    rows = leaderboard("fedavg", **{**A, "sampling": "2/3"}, client_class="strong", rounds=1)
    assert values(rows, 1)["exact"] is None


@pytest.mark.parametrize(("clients", "possible"), [(2, False), (3, True), (4, False)])
def test_a_task_judges_bounds_if_copies_of_its_clients_have_the_sampling(
    clients: int, possible: bool
) -> None:
    """A quarter is (N - S) / (S (N - 1)) for two of three clients and three of nine, and nothing else."""
    task = QuadraticMixture(
        hessians=np.ones((clients, 1, 1)),
        centers=np.linspace(0, 1, clients)[:, None],
        labels=np.zeros(clients, int),
    )
    setting = {**A, "strong_convexity": "0.5", "sampling": "1/4"}
    rows = leaderboard("fedavg", **setting, client_class="strong", rounds=[1], task=task)
    (row,) = (row for row in rows if row["column"] == "expected")
    assert row["value"] is not None
    assert ("no number of participants" in str(row["reason"])) == (not possible)


@pytest.mark.slow(reason="a second or more")
def test_what_overflows_has_no_value_and_no_warning() -> None:
    setting = {**A, "local_steps": 999, "step_size": 10_000}
    rows = leaderboard("fedavg", client_class="strong", rounds=3, **setting)
    (row,) = (row for row in rows if row["column"] == "worst-quadratic")
    assert row["value"] is None
    assert "above the largest" in str(row["reason"])
    assert violations(rows) == []

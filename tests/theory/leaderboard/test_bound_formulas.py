"""Bounds of the leaderboard against their printed formulas, at the limit of each hypothesis; true ones hold."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from leaderboard_settings import A
from test_leaderboard import values

from clusterproof import InvalidArgument, QuadraticMixture
from clusterproof.theory.leaderboard import bounds, leaderboard, rows, violations
from clusterproof.theory.leaderboard.bounds import Bound
from clusterproof.theory.leaderboard.setting import Setting, TaskClass
from clusterproof.theory.rates.round_rate import make_round

F = Fraction


def setting_of(algorithm: str, **changes: Any) -> Setting:
    """All numbers differ, so that each of them matters; arguments of other algorithms are left out."""
    numbers: dict[str, Any] = {"smoothness": 2, "strong_convexity": "1/5", "step_size": "1/40"}
    numbers |= {"local_steps": 1, "probability": "3/10"} if algorithm == "proxskip" else {"local_steps": 3}
    numbers |= {"option": "II"} if algorithm == "scaffold" else {}
    numbers |= changes
    return Setting.from_round(
        make_round(algorithm, client_class="strong", **numbers), TaskClass.STRONG, F(3, 7), F(5, 3), 4
    )


D2, ZETA2 = F(25, 9), F(9, 49)
KEPT = F(199, 200)  # 1 - step_size mu


@pytest.mark.parametrize(
    ("bound", "changes", "expected"),
    [
        (
            bounds.nastya,
            {"step_size": "1/100"},
            (1 - F(3, 100) / 10) ** 4 * D2 + F(9, 2) / 10**4 * 3 * 2 * 5 * 4 * ZETA2,
        ),
        (
            bounds.nastya,
            {"step_size": "1/100", "server_step_size": "1/2"},
            (1 - F(3, 200) / 10) ** 4 * D2 + F(9, 2) / 10**4 * 3 * 2 * 5 * 4 * ZETA2,
        ),
        (
            bounds.drift,
            {},
            (KEPT**12 * F(5, 3) + sum(KEPT ** (3 * k) for k in range(4)) * F(1, 1600) * 2 * 3 * F(3, 7)) ** 2,
        ),
        (bounds.scaffold_sharp, {}, KEPT**24 * (D2 + F(9, 1600) * ZETA2)),
        (bounds.scaffold_sharp, {"option": "I"}, KEPT**24 * (D2 + F(3, 1600) * ZETA2)),
        (bounds.proxskip_theorem_6, {}, F(199, 200) ** 4 * (D2 + F(1, 144) * ZETA2)),
        (bounds.proxskip_theorem_6, {"probability": "1/20"}, F(399, 400) ** 4 * (D2 + F(1, 4) * ZETA2)),
        (bounds.proxskip_sharp, {}, KEPT**8 * (D2 + F(1, 144) * ZETA2)),
        (bounds.proxskip_sharp, {"probability": "1/20"}, F(399, 400) ** 4 * (D2 + F(1, 4) * ZETA2)),
        (bounds.proxskip_sharp, {"step_size": "6/5"}, F(7, 5) ** 8 * (D2 + 16 * ZETA2)),
    ],
)
def test_each_bound_is_its_printed_formula(bound: Bound, changes: dict[str, Any], expected: Fraction) -> None:
    value, remark = bound(setting_of(bound.algorithm, **changes))
    assert value == pytest.approx(float(expected), rel=1e-12)
    assert remark == bound.remark


@pytest.mark.parametrize(
    ("bound", "changes", "name", "limit"),
    [
        (bounds.nastya, {}, "step_size", F(1, 96)),  # 1 / (16 L K)
        (bounds.nastya, {"server_step_size": "1/4"}, "step_size", F(1, 30)),  # 1 / (5 K L)
        (bounds.nastya, {"step_size": "1/1000"}, "server_step_size", F(125, 12)),
        (bounds.drift, {}, "step_size", F(10, 11)),
        (bounds.scaffold_sharp, {"option": "I"}, "step_size", F(1, 6)),
        (bounds.proxskip_theorem_6, {}, "step_size", F(1, 2)),
    ],
)
def test_each_hypothesis_holds_up_to_its_limit(
    bound: Bound, changes: dict[str, Any], name: str, limit: Fraction
) -> None:
    for number, holds in ((limit, True), (limit * F(10**6 + 1, 10**6), False)):
        value, reason = bound(setting_of(bound.algorithm, **(changes | {name: str(number)})))
        assert (value is not None) == holds, reason
        assert holds or "hypothesis fails" in str(reason)
    if bound.algorithm == "fedavg":
        value, reason = bound(setting_of("fedavg", step_size="1/200", sampling="1/9"))
        assert "all clients take part" in str(reason)


@pytest.mark.parametrize("mu", [F(1, 5), F(0)])
@pytest.mark.parametrize("steps", [2, 3, 8])
def test_the_weaker_condition_of_option_ii(steps: int, mu: Fraction) -> None:
    """Term by term: sigma_n = 1 - (1 + q + ... + q^(n-1)) / K, q = 1 - step_size mu."""
    answers = set()
    for k in range(20, 131, 3):
        step = F(k, 20 * 2 * steps)  # eta L K from 1 to 6.4
        steep, flat = 2 * step, mu * step
        sigma = [1 - sum((1 - flat) ** j for j in range(n)) / F(steps) for n in range(1, steps + 1)]
        room = (2 - steep - flat) * ((1 - flat) ** (2 * steps) - sigma[-1] ** 2)
        holds = k == 20 or (steep + flat < 2 and (steep - flat) * sum(x * x for x in sigma) <= room)
        setting = setting_of("scaffold", strong_convexity=mu, step_size=step, local_steps=steps)
        value, _ = bounds.scaffold_sharp(setting)
        assert (value is not None) == holds
        answers.add(holds)
    assert answers == {True, False}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (math.inf, "the bound is infinite"),
        (F(10**400), "the bound is infinite"),
        (0, None),
    ],
)
def test_values_at_the_ends_of_the_numbers(value: float | Fraction, reason: str | None) -> None:
    assert Bound("mine", "fedavg", "strong", lambda setting: value)(setting_of("fedavg")) == (
        None if reason else value,
        reason,
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rounds": []}, "^rounds is "),
        ({"rounds": [3, 0]}, "^rounds is 0"),
        ({"server_step_size": 0}, "^server_step_size is .*must be greater than 0"),
        ({"step_size": 0}, "^step_size is "),
    ],
)
def test_settings_without_rounds_or_steps_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        leaderboard("fedavg", **{**A, "client_class": "strong", "rounds": 1, **changed})


def test_the_program_over_functions_says_nothing_of_quadratics_and_a_start_at_the_optimum_is_one() -> None:
    how = {"client_class": "quadratic", "rounds": 1}
    for change in ({"distance": 0}, {"heterogeneity": 0}):
        rows = {row["column"]: row for row in leaderboard("fedavg", **{**A, **change}, **how)}  # type: ignore[arg-type]
        assert rows["exact"]["value"] is None
        assert "quadratic" in str(rows["exact"]["reason"])
        assert rows["worst-quadratic"]["value"] is not None


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

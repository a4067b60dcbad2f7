"""The library's bounds of the leaderboard against their printed formulas, and each hypothesis at its limit."""

import math
from fractions import Fraction
from typing import Any

import pytest
from leaderboard_settings import A

from clusterproof import InvalidArgument
from clusterproof.theory.leaderboard import bounds, leaderboard
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

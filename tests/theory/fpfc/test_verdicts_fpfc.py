"""Verdicts on FPFC's Theorem 1: by hand, replayed, over seeds, and with planted faults."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from listed_once import listed_once

from clusterproof import theory
from clusterproof.algorithms import FPFC, InvalidArgument, Randomness, costs
from clusterproof.algorithms.parts.penalties import SCAD, SmoothedSCAD
from clusterproof.synthetic import QuadraticMixture
from clusterproof.synthetic.softmax import SoftmaxMixture
from clusterproof.theory.fpfc import (
    bipartition_cost,
    conditions,
    conditions_literal,
    constants,
    large_augmentation,
    mapping_content,
    one_term,
    partial_participation,
    repaired,
    repaired_moments,
    repaired_steps,
    rival,
    window,
)
from clusterproof.theory.fpfc.constants import Constants
from clusterproof.theory.fpfc.measured import augmented_lagrangian, objective, run_averages, unit_prox_lengths
from clusterproof.theory.fpfc.theorem_1_models import setting_of
from clusterproof.theory.statement.proof import certify
from clusterproof.theory.statement.sides import Outside
from clusterproof.theory.verdict import Kind

Plant = Callable[..., Any]

TRUE = [
    "fpfc/repaired-models",
    "fpfc/one-term",
    "fpfc/one-term-large-augmentation",
    "fpfc/repaired-mapping",
    "fpfc/repaired-duals",
    "fpfc/repaired-proof",
    "fpfc/descent",
    "fpfc/local-steps",
    "fpfc/window",
    "fpfc/bipartition",
]
FALSE = [
    "fpfc/theorem-1-models",
    "fpfc/theorem-1-mapping",
    "fpfc/theorem-1-duals",
    "fpfc/theorem-1-participation",
    "fpfc/conditions-literal",
    "fpfc/convex",
    "fpfc/bipartition-cost",
    "fpfc/one-term-waiting",
]


def test_every_claim_is_here() -> None:
    assert {claim.id for claim in theory.claims("fpfc")} == {
        *TRUE,
        *FALSE,
        "fpfc/conditions",
        "fpfc/theorem-1-mapping-content",
        "fpfc/table-1-cfl",
    }


@pytest.mark.parametrize("claim_id", FALSE)
def test_counterexamples_are_found_and_replayed(claim_id: str) -> None:
    verdict = theory.check(claim_id)
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.repaired_by in TRUE
    stored = json.loads(json.dumps(theory.as_json(verdict)))
    again = theory.replay(claim_id, stored["counterexample"])
    assert again.verdict is Kind.VIOLATED
    assert again.measured == pytest.approx(verdict.measured)
    for key, value in stored["counterexample"].items():
        with pytest.raises(InvalidArgument, match=key):
            theory.replay(claim_id, {**stored["counterexample"], key: -value})


@pytest.mark.parametrize(
    ("change", "hypothesis"),
    [
        ({"pair_rule": "both"}, "pairs with a participant"),
        ({"start": "own"}, "from a common start"),
        ({"augmentation": 1e-3}, "2 L_g|two minima"),
        ({"step_size": 10.0}, "L_f"),
    ],
)
@pytest.mark.parametrize("claim_id", ["fpfc/repaired-models", "fpfc/descent"])
def test_settings_that_the_theorem_does_not_speak_of_are_refused(
    claim_id: str, change: dict[str, Any], hypothesis: str
) -> None:
    written = repaired.write_setting(repaired.draw_setting(np.random.default_rng(0)))
    rule = {"pair_rule": "all"} if claim_id == "fpfc/descent" else {}
    assert theory.replay(claim_id, {"case": written, "seed": 0, **rule}).verdict is Kind.CONSISTENT
    with pytest.raises(InvalidArgument, match=f"{hypothesis}|must be what"):
        theory.replay(claim_id, {"case": {**written, **change}, "seed": 0, **rule})


@pytest.mark.parametrize("share", [1.01, 1.9])
def test_steps_just_above_one_over_the_curvature_of_h_are_outside(share: float) -> None:
    """alpha (L_f + rho) <= 1 is the hypothesis; a step up to twice that still descends, and is not spoken of."""
    setting, task = repaired.draw_setting(np.random.default_rng(0))
    curvature = task.client_smoothness + setting.algorithm.augmentation
    for alpha in (1 / curvature, share / curvature):
        one = replace(setting, algorithm=replace(setting.algorithm, step_size=alpha))
        if alpha == 1 / curvature:
            repaired.suppose_the_hypotheses(one)
        else:
            with pytest.raises(Outside, match="alpha"):
                repaired.suppose_the_hypotheses(one)


# a check of one term takes long: ``benchmarks.verdicts_over_seeds`` tries its seeds
@pytest.mark.parametrize("claim_id", [name for name in TRUE if not name.startswith("fpfc/one-term")])
def test_no_false_alarm_over_seeds(claim_id: str) -> None:
    with listed_once():
        for seed in range(10):
            verdict = theory.check(claim_id, seed=seed, trials=4)
            assert verdict.verdict is Kind.CONSISTENT, (seed, verdict.reason)


def test_cfl_with_all_clients_is_more_accurate_for_as_many_uploads() -> None:
    assert not theory.find_claim("fpfc/table-1-cfl").quick
    verdict = theory.check("fpfc/table-1-cfl")
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.counterexample == {"data_seed": 0, "strength": 0.6}
    again = theory.replay("fpfc/table-1-cfl", json.loads(json.dumps(verdict.counterexample)))
    assert again.verdict is Kind.VIOLATED
    assert again.measured == verdict.measured
    for seed in range(3):
        ours, theirs = rival.fpfc(seed, 0.6), rival.cfl(seed)
        assert theirs.adjusted_rand_index == 1
        assert theirs.clusters == 4
        assert theirs.accuracy > ours.accuracy + 0.01
    assert rival.ROUNDS * 6 == rival.uploads() == rival.uploads() // 20 * 20


def test_equal_accuracies_are_no_counterexample(plant: Plant) -> None:
    plant(rival, "cfl", lambda seed: rival.fpfc(seed, 0.6))
    assert theory.check("fpfc/table-1-cfl", trials=1).verdict is Kind.CONSISTENT


def test_a_missed_cluster_is_no_counterexample(plant: Plant) -> None:
    plant(rival, "fpfc", lambda seed, strength: rival.Outcome(0.5, 4, 1.0))
    plant(rival, "cfl", lambda seed: rival.Outcome(0.9, 3, 0.7 if seed == 1 else 1.0))
    with pytest.raises(Outside, match="CFL finds the true clusters"):
        rival.table_1_cfl(0, 0.6)


def test_the_first_term_alone_is_reached_and_the_second_one_adds_next_to_nothing() -> None:
    """In sum E w_k^2 = c^2 (1 - p g)^k for clients that do not feel each other, g = theta (2 - theta)."""
    clients, share, rounds = 6, 0.1, 400
    shrinking = 1 - share * (2 - share) / clients
    expected = shrinking * (1 - shrinking**rounds)
    setting = repaired_moments.weakly_coupled(clients, share)
    gap = clients * setting.smoothness / 2 * partial_participation.minimiser(clients) ** 2
    found = repaired_moments.expected_models(clients, share, rounds) * rounds / (setting.repaired_first * gap)
    assert found == pytest.approx(expected, rel=1e-2)
    assert setting.repaired_second < 1e-4 * setting.repaired_first


def test_the_pairs_term_is_not_needed_for_losses_that_are_convex_and_not_quadratic() -> None:
    """Softmax regressions; M_i = grad h_i by the anchors that the server sends, not by the pairs' residuals."""
    task = SoftmaxMixture(clusters=2, clients=5, features=3, classes=3, largest=40, seed=2)
    everybody, nothing = np.arange(5), np.random.default_rng(0)
    # half of ||(x, 1)||^2, x in the unit cube
    smoothness = 2.0
    for local_steps in (1, 4):
        algorithm = FPFC(
            step_size=1 / (smoothness + 2.5),
            local_steps=local_steps,
            strength=0.3,
            smoothing=0.25,
            augmentation=2.5,
            threshold=0.5,
        )
        start = 4 * np.random.default_rng(1).standard_normal((1, task.dimension))
        state = algorithm.initialise(start, task)
        plain, augmented = [], []
        for _ in range(60):
            anchors = algorithm.anchors(state, everybody)
            points = np.asarray(state.models)
            plain.append(float(algorithm.residuals(state, task, nothing).models) ** 2)
            squares = 0.0
            for _ in range(local_steps):
                slopes = task.gradients(points, everybody, nothing) + 2.5 * (points - anchors)
                squares += float((slopes**2).sum())
                points = points - algorithm.step_size * slopes
            augmented.append(squares)
            state = algorithm.step(state, task, Randomness.from_seed(0))
            assert np.asarray(state.models) == pytest.approx(points, abs=1e-9)
        assert max(plain[1:]) > 1e-4
        assert (np.cumsum(plain[1:]) <= np.cumsum(augmented)[1:] * (1 + 1e-12)).all()


def test_one_term_is_not_claimed_where_a_pair_waits() -> None:
    waits = repaired.draw_setting(np.random.default_rng(1))
    assert waits[0].participation < 1
    written = repaired.write_setting(waits)
    with pytest.raises(InvalidArgument, match="every pair is updated in every round"):
        theory.replay("fpfc/one-term", {"case": written, "seed": 0})
    with pytest.raises(Outside, match="every pair"):
        one_term.one_term(waits, np.random.default_rng(0))


def test_what_a_round_ends_with_is_what_the_next_one_begins_with() -> None:
    """The norms telescope: a of a round is the gradient at the new models with the multipliers of before."""
    setting, task = one_term.draw_every_pair(np.random.default_rng(2))
    found = one_term.follow_norms(setting, task, np.random.default_rng(3))
    assert found.before[1:] == pytest.approx(found.after[:-1], rel=1e-9, abs=1e-9)
    assert found.before[0] == pytest.approx(found.plain[0])
    assert np.abs(found.before - found.plain).max() > 1e-3


def test_a_clients_norms_may_rise_where_a_pair_waits() -> None:
    """The line that removes the pairs' term is about pairs that are updated in every round."""
    stream, rises = np.random.default_rng(0), []
    for _ in range(10):
        setting, task = repaired.draw_setting(stream)
        found = one_term.follow_norms(setting, task, stream)
        rises.append((found.plain + found.after - found.before - found.slopes).max() / found.slopes.max())
    assert max(rises) > 1e-6


def test_expected_gradients_are_means_of_runs() -> None:
    setting = repaired_moments.weakly_coupled(3, 0.1)
    found = run_averages(
        setting.algorithm,
        repaired_moments.alike(setting),
        np.zeros((1, 1)),
        rounds=40,
        replicates=400,
        seed=3,
    )
    assert found.models == pytest.approx(repaired_moments.expected_models(3, 0.1, 40), rel=0.02)


def test_what_stands_for_the_least_objective_is_the_least_of_all_replicates() -> None:
    """Of runs with other participants the lowest end: any other makes D_0, and with it the bound, too small."""
    task = QuadraticMixture.random(clusters=2, clients=6, dimension=2, spread=0.3, seed=1)
    algorithm = FPFC(
        step_size=0.1, strength=0.6, smoothing=0.3, augmentation=5.0, threshold=0.4, participation=0.3
    )
    start = np.full((1, 2), 3.0)
    found = run_averages(algorithm, task, start, rounds=4, replicates=5, seed=2)
    randomness = Randomness.from_seed(2, "fpfc", "theorem-1")
    state = algorithm.initialise(np.broadcast_to(start, (5, 1, 2)), task)
    for _ in range(4):
        state = algorithm.step(state, task, randomness)
    penalty, ends = SCAD(strength=0.6, concavity=3.7), []
    for models in np.asarray(state.models):
        away = models - task.centers
        losses = sum(float(one @ own @ one) / 2 for one, own in zip(away, task.hessians, strict=True))
        gaps = np.array([np.linalg.norm(one - other) for one in models for other in models])
        ends.append(losses + float(penalty.value(gaps).sum()) / 12)
    assert found.end == pytest.approx(min(ends))
    assert np.mean(ends) > 1.01 * min(ends)


def test_the_objective_is_least_at_the_start_of_two_opposed_clients() -> None:
    setting, task = repaired_moments.opposed(1.0)
    grid = np.linspace(-3, 3, 301)
    models = np.stack(np.meshgrid(grid, grid), axis=-1)[..., None]
    start = objective(setting.algorithm, task, np.zeros((1, 2, 1)))
    assert objective(setting.algorithm, task, models.reshape(-1, 2, 1)).min() >= start - 1e-12


def test_the_audits_literal_instance_meets_the_conditions_with_a_negative_bound() -> None:
    """L_f = 13.57, rho = 5, T = 10: c = .666, L_f / (1 - 2c) = -40.9, bound on T -3.4."""
    setting = conditions_literal.setting_of(2, 13.57, 10)
    assert conditions_literal.literally_admissible(setting)
    assert setting.contraction == pytest.approx(0.666, abs=1e-3)
    assert 13.57 / (1 - 2 * setting.contraction) == pytest.approx(-40.9, abs=0.1)
    assert 2 * np.log(2) / np.log(setting.contraction) == pytest.approx(-3.4, abs=0.05)
    assert conditions_literal.literal_first(setting) == pytest.approx(-2.6e5, rel=0.05)


def test_the_printed_conditions_cannot_be_met() -> None:
    verdict = theory.check("fpfc/conditions")
    assert verdict.verdict is Kind.VACUOUS
    (step,) = conditions.conditions.parts[1:]
    certify(step.space, step.conclude)
    stream = np.random.default_rng(0)
    for _ in range(2000):
        smooth, convex = np.sort(10 ** stream.uniform(-3, 3, 2))[::-1]
        step = stream.uniform(0, 1) / (smooth + convex)
        assert 1 - 2 * step * convex * smooth / (smooth + convex) >= 0.5 - 1e-12


def test_the_first_inequality_fails_at_the_audits_instance() -> None:
    """m = 24, lambda = 0.6, xi = 0.3, T = 3, rho = 13.94: q = .3560, denominator -5.70, C_1 = -81.3."""
    algorithm = FPFC(
        step_size=0.03346, local_steps=3, strength=0.6, smoothing=0.3, augmentation=13.94, threshold=0.4
    )
    smoothness = 1 / 0.03346 - 2 * 13.94 + 2e-3
    setting = Constants(algorithm, 24, smoothness, 1e-3 * smoothness)
    assert setting.admissible
    assert setting.power == pytest.approx(0.3560, abs=2e-4)
    assert setting.first_denominator == pytest.approx(-5.70, abs=0.03)
    assert setting.first == pytest.approx(-81.3, abs=0.8)


def test_the_constants_are_those_of_the_statement() -> None:
    setting = setting_of(clients=3, rho=5, share=0.5, local_steps=4)
    c = 1 - 2 / (1 + 10 - 1e-3) * (5 - 1e-3) * 6 / (6 + 5 - 1e-3)
    r = 1 / (c**-2 - 1)
    assert setting.contraction == pytest.approx(c, rel=1e-12)
    assert setting.inexactness == pytest.approx(r, rel=1e-12)
    denominators = 5 - 1 - 2 * r * 6, 25 - 2 * 5 - 2 * 4
    assert setting.first == pytest.approx(
        6 * (r**2 * 36 + 25) / denominators[0] + 12 * 125 / denominators[1], rel=1e-12
    )
    assert setting.second == pytest.approx(4 / (3 * 5 * denominators[1]), rel=1e-12)
    assert setting.mapping_bound == pytest.approx(9 * 0.36 * 0.09 / 0.81, rel=1e-12)
    assert setting.start == pytest.approx(3 * 0.3 * 0.6 / 4, rel=1e-12)


def test_pairs_take_part_as_often_as_counted() -> None:
    algorithm = FPFC(
        step_size=0.1, strength=0.6, smoothing=0.3, augmentation=5.0, threshold=0.4, participation=0.3
    )
    setting = Constants(algorithm, 10, 1.0, 0.0)
    stream = np.random.default_rng(0)
    drawn = np.array([stream.permutation(10)[:3] for _ in range(20_000)])
    assert setting.pair_participation == pytest.approx((drawn < 2).any(axis=1).mean(), abs=0.01)


@pytest.mark.parametrize("concavity", [1.2, 1.8, 2.0, 2.5, 3.7])
def test_the_unit_proximal_map_is_a_global_minimiser(concavity: float) -> None:
    penalty = SCAD(strength=1.0, concavity=concavity)
    grid = np.linspace(0, 6, 6001)
    for length in np.linspace(0, 6, 101):
        found = unit_prox_lengths(penalty, np.array([length]))[0]
        value = penalty.value(found) + 0.5 * (found - length) ** 2
        assert value <= (penalty.value(grid) + 0.5 * (grid - length) ** 2).min() + 1e-12


def test_the_second_inequality_says_nothing_about_the_method() -> None:
    for seed in range(3):
        verdict = theory.check("fpfc/theorem-1-mapping-content", seed=seed, trials=40)
        assert verdict.verdict is Kind.VACUOUS
        assert verdict.rejected is not None
        assert set(verdict.rejected) == {"||G||^2 is above its bound"}


def test_the_mapping_of_a_pair_is_largest_where_the_proof_says() -> None:
    """At t = lambda xi / (lambda + xi) theta + v has length lambda, and the proximal map gives 0."""
    lam, xi = 1.5, 0.5
    worst = lam * xi / (lam + xi)
    for length in (worst, *np.linspace(0, 8, 400)):
        setting = mapping_content.Setting(lam, 3.0, xi, 2, np.array([length]))
        target = length + (
            lam / xi * length if length <= xi else SCAD(strength=lam, concavity=3.0).slope(length)
        )
        grid = np.linspace(0, 12, 24_001)
        values = SCAD(strength=lam, concavity=3.0).value(grid) + (grid - target) ** 2 / 2
        assert np.sqrt(setting.squared_mapping / 2) == pytest.approx(
            abs(length - grid[values.argmin()]), abs=6e-4
        )
        assert setting.squared_mapping <= 2 * worst**2 * (1 + 1e-12)
    alone = mapping_content.Setting(lam, 3.0, xi, 2, np.array([worst]))
    assert alone.squared_mapping == pytest.approx(2 * worst**2)
    assert alone.bound == pytest.approx(4 * worst**2)


@pytest.mark.parametrize("concavity", [1.2, 1.5, 2.0])
def test_the_second_inequality_is_false_for_a_concavity_of_at_most_2_and_not_claimed_there(
    concavity: float,
) -> None:
    lam, xi, lengths = 1.0, 0.5, np.linspace(0, 5, 501)
    slopes = SmoothedSCAD(strength=lam, concavity=concavity, smoothing=xi).slope(lengths)
    grid = np.linspace(0, 6, 6001)
    plain = SCAD(strength=lam, concavity=concavity)
    ends = [grid[(plain.value(grid) + (grid - z) ** 2 / 2).argmin()] for z in lengths + slopes]
    worst = float(lengths[np.abs(ends - lengths).argmax()])
    outside = mapping_content.Setting(lam, concavity, xi, 2, np.array([worst]))
    assert 2 * np.abs(ends - lengths).max() ** 2 > 4 * (lam * xi / (lam + xi)) ** 2
    for claim in (mapping_content.mapping_content, repaired.repaired_mapping):
        with pytest.raises(Outside, match="a > 2"):
            claim(outside)


def test_the_third_inequality_fails_by_more_than_a_hundred_times() -> None:
    verdict = theory.check("fpfc/theorem-1-duals")
    assert verdict.measured is not None
    assert verdict.bound is not None
    assert verdict.measured > 100 * verdict.bound
    # two clients at 1 and -1 without multipliers: zeta is their mean, and they rest where the gradient of
    # f_i + rho / 2 (w - zeta)^2 is 0, w_i = +-1 / (1 + rho); the mean square is 2 (2 w)^2 / 16
    assert verdict.measured == pytest.approx(2 * (2 / 6) ** 2 / 16, rel=0.01)


@pytest.mark.parametrize("clients", [2, 5])
def test_expected_residuals_are_means_of_runs(clients: int) -> None:
    setting, rounds, replicates = partial_participation.setting_of(clients), 60, 400
    centre = partial_participation.minimiser(clients)
    task = QuadraticMixture(
        hessians=np.full((clients, 1, 1), 1000.0),
        centers=np.full((clients, 1), centre),
        labels=np.zeros(clients, dtype=int),
    )
    found = run_averages(
        setting.algorithm, task, np.zeros((1, 1)), rounds=rounds, replicates=replicates, seed=3
    )
    assert found.duals == pytest.approx(partial_participation.expected_duals(clients, rounds), rel=0.03)
    assert found.start == pytest.approx(clients * 500 * centre**2)


def test_what_the_third_inequality_lacks_grows_with_the_clients_and_is_the_pairs_participation() -> None:
    ratios = {}
    for clients in (4, 6, 8):
        sides = partial_participation.theorem_1_participation(clients, 400)
        ratios[clients] = float(sides.measured / sides.allowed)
    assert ratios[4] < 1 < ratios[6] < ratios[8]
    for clients, ratio in ratios.items():
        assert 0.35 < ratio * 2 / clients < 0.42


def test_the_third_inequality_stands_once_the_factor_is_there(plant: Plant) -> None:
    true = Constants.second
    plant(Constants, "second", property(lambda self: true.__get__(self) / self.pair_participation))
    assert theory.check("fpfc/theorem-1-participation").verdict is Kind.CONSISTENT


def test_maps_that_are_not_those_of_the_algorithm_are_found_out(plant: Plant) -> None:
    true = partial_participation.round_maps
    plant(partial_participation, "round_maps", lambda setting: 1.01 * true(setting))
    with pytest.raises(ArithmeticError, match="one path"):
        theory.check("fpfc/theorem-1-participation")


def test_the_augmented_lagrangian_at_a_common_start_is_the_objective_with_smoothing() -> None:
    task = QuadraticMixture.random(clusters=2, clients=6, dimension=3, spread=0.3, seed=1)
    algorithm = FPFC(step_size=0.1, strength=0.6, smoothing=0.3, augmentation=5.0, threshold=0.4)
    start = np.ones((1, 3))
    state = algorithm.initialise(start, task)
    expected = float(objective(algorithm, task, np.asarray(state.models))) + 6 * 0.3 * 0.6 / 4
    assert augmented_lagrangian(algorithm, task, state) == pytest.approx(expected, rel=1e-13)


def test_windows_are_neither_all_empty_nor_all_wide() -> None:
    """Of the clients of a cluster, the pair that is farthest apart sets the least strength."""
    task = QuadraticMixture(
        hessians=np.ones((4, 1, 1)),
        centers=np.array([[0.0], [0.2], [8.0], [8.1]]),
        labels=np.array([0, 0, 1, 1]),
    )
    least, largest = window.window(task, 3.7)
    assert least == pytest.approx(4 / 2 * 0.2)
    assert largest == pytest.approx((8.05 - 0.1) / 3.7)


def test_the_algorithm_returns_the_oracle_inside_the_window_and_not_outside() -> None:
    task = QuadraticMixture.random(clusters=3, clients=12, dimension=3, separation=6, spread=0.05, seed=3)
    least, largest = window.window(task, 3.7)
    assert least < 0.8 * largest
    distances = {}
    for strength in (0.2 * least, 0.5 * (least + largest), 3 * largest):
        algorithm = FPFC(step_size=0.3, strength=strength, smoothing=1e-4 * strength, start="own")
        state = algorithm.initialise(task.centers, task)
        for _ in range(600):
            state = algorithm.step(state, task, Randomness.from_seed(0))
        distances[strength] = np.abs(np.asarray(state.models) - task.client_optima).max()
    below, inside, _ = distances.values()
    assert inside < 1e-3
    assert below > 0.01


def times(factor: float) -> Callable[[Any], Any]:
    """Make a property that is a multiple of the true one."""
    return lambda true: property(lambda self: factor * true.fget(self))


def one(_: Any) -> Any:
    """Make a property that is 1."""
    return property(lambda self: 1.0)


def without(factor: str) -> Callable[[Any], Any]:
    """Make a property that is the true one times another of the setting."""
    return lambda true: property(lambda self: true.fget(self) * getattr(self, factor))


FAULTS: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    ("fpfc/repaired-duals", Constants, "pair_participation", one),
    ("fpfc/repaired-duals", Constants, "repaired_start", times(0.0)),
    ("fpfc/repaired-duals", Constants, "second", times(0.38)),
    ("fpfc/repaired-models", Constants, "repaired_first", times(0.95)),
    ("fpfc/repaired-models", Constants, "repaired_first", without("participation")),
    ("fpfc/repaired-models", Constants, "repaired_start", times(0.0)),
    ("fpfc/one-term", Constants, "repaired_first", times(0.93)),
    ("fpfc/one-term", Constants, "repaired_first", without("participation")),
    ("fpfc/one-term", Constants, "repaired_start", times(0.0)),
    ("fpfc/one-term", repaired_steps, "dense", lambda true: lambda *a: (true(*a)[0], 1.05 * true(*a)[1])),
    ("fpfc/one-term", one_term, "lost_and_kept", lambda true: lambda lost, slopes: true(lost, slopes[:1])),
    ("fpfc/one-term-large-augmentation", Constants, "repaired_first", times(0.95)),
    ("fpfc/one-term-large-augmentation", Constants, "repaired_first", without("participation")),
    ("fpfc/one-term-large-augmentation", large_augmentation, "LARGEST", lambda true: 2 * true),
    ("fpfc/repaired-proof", Constants, "second_denominator", times(8.0)),
    ("fpfc/repaired-proof", Constants, "local_smoothness", times(0.0)),
    ("fpfc/repaired-proof", SmoothedSCAD, "lipschitz", times(0.5)),
    ("fpfc/repaired-duals", Constants, "second", times(0.1)),
    ("fpfc/repaired-mapping", constants, "mapping_bound", lambda true: lambda *a: 0.99 * true(*a)),
    ("fpfc/repaired-mapping", Constants, "mapping_bound", times(0.6)),
    ("fpfc/repaired-duals", Constants, "pair_participation", times(20.0)),
    ("fpfc/repaired-models", Constants, "participation", times(20.0)),
    ("fpfc/theorem-1-mapping-content", mapping_content.Setting, "bound", times(0.4)),
    ("fpfc/descent", SmoothedSCAD, "shrinkage", lambda true: lambda *a: np.sqrt(true(*a))),
    ("fpfc/window", window, "window", lambda true: lambda *a: (0.5 * true(*a)[0], true(*a)[1])),
]


@pytest.mark.parametrize(("claim_id", "owner", "name", "fault"), FAULTS)
def test_a_planted_fault_is_found(
    plant: Plant, claim_id: str, owner: Any, name: str, fault: Callable[[Any], Any]
) -> None:
    plant(owner, name, fault(getattr(owner, name)))
    verdict = theory.check(claim_id, seed=1)
    assert verdict.verdict is Kind.VIOLATED, verdict.measured


def test_a_cut_that_is_not_the_best_is_seen(plant: Plant) -> None:
    true = bipartition_cost.weakest_link
    plant(bipartition_cost, "weakest_link", lambda similarities: (similarities.min(), true(similarities)[1]))
    assert theory.check("fpfc/bipartition").verdict is Kind.VIOLATED


def test_a_server_that_leaves_pairs_alone_would_be_cheaper_than_a_bipartition(plant: Plant) -> None:
    true = costs.cost_of_a_round
    plant(
        costs,
        "cost_of_a_round",
        lambda algorithm, task: replace(true(algorithm, task), server=task.clients),
    )
    assert theory.check("fpfc/bipartition-cost").verdict is Kind.CONSISTENT

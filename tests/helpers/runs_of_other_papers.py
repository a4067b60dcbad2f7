"""Runs of the algorithms for the other papers' claims: each asserts what its claim computes or returns its measure."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from prescribed_runs import assert_agree

from clusterproof.algorithms import FPFC, FedAvg, PerFedAvg, Randomness, Scaffold, run
from clusterproof.algorithms import self_organising_map as som
from clusterproof.algorithms.participation import draw_participants
from clusterproof.algorithms.second_clustering import elbow, within_sums
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.baselines.averaging import kept_at_rest, pair
from clusterproof.theory.papers.baselines.cfl import stationary_cosines
from clusterproof.theory.papers.fpfc import fusion
from clusterproof.theory.papers.fpfc import partial_participation as participation
from clusterproof.theory.papers.fpfc.simplex import SMOOTHING, Simplex
from clusterproof.theory.papers.sofl import cells, distortion, theorem_1


def fedavg_at_rest(curvature: Fraction, step: Fraction, local_steps: int) -> float:
    """Distance of the last model from the optimum."""
    task = pair(curvature)
    algorithm = FedAvg(step_size=float(step), local_steps=local_steps)
    return float(np.abs(kept_at_rest(algorithm, task, [task.pooled_optimum])[0] - task.pooled_optimum).max())


def per_fedavg_at_rest(curvature: Fraction, inner: Fraction) -> float:
    """Distance of the last model from the minimiser, which is computed from the Hessians."""
    task, alpha = pair(curvature), float(inner)
    shrink = 1 - alpha * task.hessians
    outer = shrink * task.hessians * shrink
    optimum = np.asarray((outer[:, 0] * task.centers).sum(axis=0) / outer[:, 0].sum(axis=0))
    algorithm = PerFedAvg(step_size=0.5, inner_step_size=alpha)
    return float(np.abs(kept_at_rest(algorithm, task, [optimum])[0] - optimum).max())


def cosines_at_rest(minimiser_0: int, minimiser_1: int, minimiser_2: int) -> float:
    """Largest distance of a cosine across clusters from -1/2."""
    centers = np.array([[float(minimiser_0)], [float(minimiser_1)], [float(minimiser_2)]])
    task = QuadraticMixture(hessians=np.ones((3, 1, 1)), centers=centers, labels=np.arange(3))
    return float(np.abs(stationary_cosines(task, 0.5, 1)[np.triu_indices(3, 1)] + 0.5).max())


def fusion_with_a_convex_penalty(spread: Fraction, strength: Fraction) -> None:
    """Where FPFC-l1 ends, all clients taking part."""
    minimisers = fusion.minimisers_of(spread)
    task = QuadraticMixture(
        hessians=np.ones((4, 1, 1)),
        centers=np.array(minimisers, dtype=float)[:, None],
        labels=np.array(fusion.LABELS),
    )
    algorithm = FPFC(step_size=0.5, local_steps=10, penalty="l1", strength=float(strength))
    models = run(algorithm, task, rounds=400, initial=np.zeros((1, 1))).models[-1, :, 0]
    assert_agree(models, fusion.minimiser(minimisers, strength))


def pairs_on_the_parabola(clients: int, ratio: float, share: float) -> None:
    """No pair leaves the parabola of the smoothed penalty, so that rounds are linear maps."""
    instance = Simplex(clients, ratio, share)
    algorithm, task = instance.setting.algorithm, instance.task
    state = algorithm.initialise(np.zeros((1, clients)), task)
    randomness = Randomness.from_seed(0, "fpfc", "simplex")
    for done in range(1, instance.rounds + 1):
        state = algorithm.step(state, task, randomness)
        if not done % (2 * clients) or done == instance.rounds:
            assert float(algorithm.difference_lengths(state).max()) <= SMOOTHING


def residuals_on_a_path(clients: int, rounds: int) -> None:
    """||grad_v L_0|| of a hundred rounds with one participant each, by the maps of the rounds."""
    setting = participation.setting_of(clients)
    algorithm = setting.algorithm
    centre = participation.minimiser(clients)
    task = QuadraticMixture(
        hessians=np.full((clients, 1, 1), participation.CURVATURE),
        centers=np.full((clients, 1), centre),
        labels=np.zeros(clients, dtype=int),
    )
    maps, forms = participation.round_maps(setting), participation.residual_rows(setting)
    state = algorithm.initialise(np.zeros((1, 1)), task)
    position = np.zeros(maps.shape[-1])
    position[:clients] = -centre
    randomness, lots = Randomness.from_seed(0), Randomness.from_seed(0).participation
    stream = np.random.default_rng(0)  # the gradients of quadratics draw nothing
    for _ in range(100):
        (active,) = draw_participants(algorithm.participation, clients, state.models, lots)
        state = algorithm.step(state, task, randomness)
        position = maps[active] @ position
        expected = float(np.sqrt(2 * ((forms @ position) ** 2).sum()) / (2 * clients))
        assert_agree(algorithm.residuals(state, task, stream).duals, expected)


def growth_of_scaffold(flat: Fraction, pace: Fraction, local_steps: int) -> None:
    """The error grows over the last hundred rounds."""
    task = QuadraticMixture(
        hessians=np.array([[[1.0]], [[float(flat)]]]),
        centers=np.array([[0.0], [1.0]]),
        labels=np.zeros(2, int),
    )
    algorithm = Scaffold(step_size=float(pace), local_steps=local_steps, option="I")
    models = np.asarray(run(algorithm, task, rounds=200).models)[:, 0]
    errors = np.abs(models - task.pooled_optimum[0])
    assert errors[-20:].max() > errors[80:100].max()


def map_of_three_points(length: int) -> None:
    """No map that is trained with SoFL's schedule, from twenty starts, is below the least distortion that is stated."""
    points = distortion.points_at(length)
    samples = np.array(points, dtype=float)
    least = float(distortion.least_distortion(points, one_direction=True))
    for seed in range(20):
        stream = np.random.default_rng(seed)
        neurons = som.train(
            som.initial_neurons(samples, (1, 2), "sample", stream),
            samples,
            som.sample_order(len(samples), 300, stream),
            learning_rate=0.1,
            radius=1.5,
        )
        chosen = neurons[0, som.best_matching_units(neurons, samples)]
        assert float(((samples - chosen) ** 2).sum()) >= least


def map_from_the_winners(**coordinates: int) -> int:
    """Number of winners, each of which the map gives the clients of one true cluster; the elbow gives fewer."""
    winners = np.array([[coordinates[f"{axis}{k}"] for axis in "xy"] for k in (1, 2, 3)], dtype=float)
    assert elbow(within_sums(winners, 0)) < len(winners)
    clients = np.repeat(winners, 3, axis=0)
    order = som.sample_order(len(clients), 300, np.random.default_rng(0))
    neurons = som.train(winners[None], clients, order, learning_rate=0.1, radius=0.0)
    units = som.best_matching_units(neurons, clients)
    assert units.tolist() == np.repeat(np.arange(len(winners)), 3).tolist()
    return len(np.unique(units))


def ends_of_short_and_long_runs(learning_rate: Fraction, near: Fraction) -> float:
    """The exact moments are those of all short runs, and after 20 000 updates near their limit, which is returned."""
    row = cells.FrozenRow(np.array(theorem_1.SAMPLES, dtype=float), np.array([0, 0, 1, 1]), 1.25 * np.eye(2))
    limits = []
    for weight in {Fraction(0), near} - {Fraction(1)}:
        limits.append(float(theorem_1.end_of_long_runs(learning_rate / 3, weight)))
        radius = 3 / np.sqrt(-2 * np.log(float(weight))) if weight else 0.0
        schedule: dict[str, Any] = {"learning_rate": float(learning_rate), "radius": radius}
        schedule["schedule"] = "as-printed"
        for updates in (1, 3, 5):
            orders = cells.mean_over_orders(row, updates, **schedule)
            assert_agree(orders.max(), cells.errors_after(row, updates, **schedule).max())
        end = float(cells.errors_after(row, 20_000, **schedule).max())
        assert abs(end - limits[-1]) <= 0.03 * limits[-1]
    return min(limits)


RUNS: dict[str, Callable[..., float | None]] = {
    "baselines/fedavg-optimum": fedavg_at_rest,
    "baselines/per-fedavg-fo-optimum": per_fedavg_at_rest,
    "cfl/stationary-cosine-anywhere": cosines_at_rest,
    "fpfc/convex": fusion_with_a_convex_penalty,
    "fpfc/one-term-waiting": pairs_on_the_parabola,
    "fpfc/theorem-1-participation": residuals_on_a_path,
    "scaffold/option-1-diverges": growth_of_scaffold,
    "sofl/elbow-exact-winners": map_from_the_winners,
    "sofl/mean-square-distortion": map_of_three_points,
    "sofl/theorem-1-at-the-end": ends_of_short_and_long_runs,
}

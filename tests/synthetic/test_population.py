"""A pooled population has the law of its clients one by one."""

import numpy as np
import pytest
from scipy import stats

from clusterproof.algorithms import CFLMGD, IFCA, FedAvg, InvalidArgument, generator, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.population import RegressionPopulation, run_pooled

SIZES = (120, 40)


def mixture(clusters: int = 2, **given: object) -> RegressionMixture:
    options = {"dimension": 3, "separation": 1.0, "noise": 1.0, "samples": 8, "seed": 3, **given}
    return RegressionMixture.random(
        clusters=clusters, clients=160, proportions=[3, 1] if clusters == 2 else None, **options
    )


@pytest.mark.parametrize("clusters", [2, 3])
def test_models_have_the_law_of_a_run_with_every_client(clusters: int) -> None:
    """Kolmogorov and Smirnov's test of each coordinate after three rounds, against ``run`` on all clients."""
    task = mixture(clusters)
    sizes = tuple(np.bincount(task.labels))
    algorithm = CFLMGD(step_size=0.8, momentum=0.4)
    initial = task.optima + 0.2
    population = RegressionPopulation(task, sizes, clusters)
    options = {"rounds": 3, "replicates": 600, "initial": initial}
    pooled = run_pooled(algorithm, population, seed=1, **options).models[-1]
    single = run(algorithm, task, seed=2, **options).models[-1]
    values = [
        stats.ks_2samp(pooled[:, p, i], single[:, p, i]).pvalue for p in range(clusters) for i in range(3)
    ]
    assert min(values) > 0.01 / len(values)


def test_the_choice_of_two_is_the_f_tail_and_that_of_three_its_shares() -> None:
    """Shares against choices among clients that compare their losses, drawn row by row."""
    stream = generator(5, "test")
    for clusters in (2, 3):
        task = mixture(clusters)
        direct = RegressionMixture(
            optima=task.optima,
            covariance=task.covariance,
            noise=1.0,
            labels=np.repeat(np.arange(clusters), 20_000),
            samples=8,
            sampling="direct",
        )
        models = task.optima + 0.1
        chosen = direct.losses(models, np.arange(direct.clients), stream).argmin(axis=-1)
        counted = np.array(
            [np.bincount(chosen[direct.labels == q], minlength=clusters) for q in range(clusters)]
        )
        population = RegressionPopulation(task, (10**9,) * clusters, clusters)
        shares = population.choice_shares(models, stream)
        np.testing.assert_allclose(shares.sum(axis=-1), 1)
        common = (20_000 * shares + counted) / 40_000
        spread = np.sqrt(
            (common * (1 - common) + 5e-5) * (1 / 20_000 + (1 / population.draws if clusters > 2 else 0))
        )
        assert (np.abs(shares - counted / 20_000) < 4.5 * spread).all()


def test_a_share_that_is_drawn_has_the_error_that_is_said() -> None:
    task = mixture(3)
    population = RegressionPopulation(task, (10**9,) * 3, 3, draws=500)
    models = np.broadcast_to(task.optima + 0.1, (2000, 3, 3))
    shares = population.draw_choices(models, generator(1, "test"))[:, 0, 0] / 10**9
    share = shares.mean()
    expected = share * (1 - share) * (1 / 10**9 + 1 / 500 - 1 / 5e11)
    assert abs(shares.var() / expected - 1) < 4 * np.sqrt(2 / 2000)


def test_who_is_drawn_one_by_one_is_counted_and_others_are_drawn_by_the_shares() -> None:
    """Up to as many clients as are drawn the counts are theirs; the exact shares of two models are no counts."""
    loud = mixture(3, noise=30.0)
    population = RegressionPopulation(loud, (50, 49, 500), 3, draws=50)
    counts, shares = (
        ask(loud.optima, generator(1, "test")) for ask in (population.draw_choices, population.choice_shares)
    )
    np.testing.assert_allclose(counts[:2], shares[:2] * [[50], [49]], rtol=1e-12)
    assert (counts > 0).all()
    assert counts.sum(axis=-1).tolist() == [50, 49, 500]
    assert np.abs(counts[2] - shares[2] * 500).max() > 0.5
    two = RegressionPopulation(mixture(), (5, 4), 2)
    drawn = two.draw_choices(np.broadcast_to(mixture().optima + 5, (200, 2, 3)), generator(1, "test"))
    assert (np.ptp(drawn[..., 0], axis=0) > 0).all()


def test_equal_models_go_to_the_first() -> None:
    population = RegressionPopulation(mixture(), SIZES, 2)
    shares = population.choice_shares(np.ones((2, 3)), generator(0, "test"))
    np.testing.assert_array_equal(shares, [[1, 0], [1, 0]])


def test_a_billion_clients_leave_the_path_of_expectations() -> None:
    """With 10^9 clients a round is what the expected gradients make of the exact shares, to 1e-3."""
    task = mixture()
    sizes = (7 * 10**8, 3 * 10**8)
    population = RegressionPopulation(task, sizes, 2)
    trace = run_pooled(IFCA(step_size=1.0), population, rounds=10, initial=task.optima + 0.1)
    models = task.optima + 0.1
    for _ in range(10):
        shares = population.choice_shares(models, generator(0, "unused"))
        step = [
            sum(sizes[q] / 1e9 * shares[q, p] * task.expected_gradient(models[p], q) for q in range(2))
            for p in range(2)
        ]
        models = models - np.array(step)
    np.testing.assert_allclose(trace.models[-1], models, atol=1e-3)


def test_what_is_not_pooled_is_refused() -> None:
    task = mixture()
    population = RegressionPopulation(task, SIZES, 2)
    for algorithm in (
        FedAvg(step_size=0.1),
        IFCA(step_size=0.1, averaging="model"),
        IFCA(step_size=0.1, participation=0.5),
        CFLMGD(step_size=0.1, momentum=0.5, normalisation="cluster"),
        CFLMGD(step_size=0.1, momentum=0.5, momentum_owner="client"),
        CFLMGD(step_size=0.1, momentum=0.5, empty_cluster="freeze"),
        IFCA(step_size=0.1, clusters=3),
    ):
        with pytest.raises(InvalidArgument):
            run_pooled(algorithm, population, rounds=1)
    with pytest.raises(InvalidArgument, match="must have fresh data"):
        RegressionPopulation(mixture(data="fixed"), SIZES, 2)
    with pytest.raises(InvalidArgument, match="must be 2 numbers"):
        RegressionPopulation(task, (5,), 2)
    for change in ({"sizes": (5, 0)}, {"models": 0}, {"draws": 0}):
        with pytest.raises(InvalidArgument) as refusal:
            RegressionPopulation(**{"task": task, "sizes": SIZES, "models": 2, **change})
        assert refusal.value.argument == min(change)


def test_all_clients_choose_the_only_model() -> None:
    population = RegressionPopulation(mixture(), SIZES, 1)
    chosen = population.draw_choices(np.zeros((4, 1, 3)), generator(0, "unused"))
    assert chosen.tolist() == [[[120], [40]]] * 4
    pairs = RegressionPopulation(mixture(), SIZES, 3)
    assert pairs.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert len(pairs.labels) == pairs.clients
    choices = pairs.losses(np.zeros((2, 3, 3)), np.arange(6), generator(0, "unused")).argmin(axis=-1)
    assert choices.tolist() == [[0, 1, 2, 0, 1, 2]] * 2
    assert (pairs.settings["sizes"], pairs.settings["draws"]) == ([120, 40], 100_000)
    assert pairs.settings["task"] == "regression-population"
    pooled = RegressionPopulation(mixture(), SIZES, 2)
    first, other = (run_pooled(IFCA(step_size=0.5), pooled, rounds=1, seed=seed).models for seed in (0, 1))
    assert (first[0] != other[0]).all()

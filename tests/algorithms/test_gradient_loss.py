"""GL-CFL's scores, its pinning, and how it relates to IFCA."""

import numpy as np
import pytest

from clusterproof.algorithms import IFCA, GradientLoss, InvalidArgument, Randomness, run
from clusterproof.synthetic import LogisticMixture, QuadraticMixture, RegressionMixture
from clusterproof.synthetic.wrapped import WrappedTask

TASK = QuadraticMixture.random(
    clusters=3, clients=9, dimension=3, condition_number=4, spread=0.6, separation=1.5, seed=2
)
SHARED = QuadraticMixture.random(clusters=3, clients=12, dimension=4, condition_number=5, seed=1)
FAR = np.array([[0.2, 0.1, 0.0], [-0.3, 0.4, 0.1], [50.0, 50.0, 50.0]])


def state_after(algorithm, task, rounds, initial, seed=0):
    randomness = Randomness.from_seed(seed)
    state = algorithm.initialise(initial, task)
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
    return state


def similarities(algorithm, task, state):
    clients = np.arange(task.clients)
    _, gradients = task.losses_and_gradients(state.models, clients, np.random.default_rng(0))
    return algorithm.similarities(state, gradients)


def own(task, values):
    return values[np.arange(task.clients), task.labels]


def others(task, values):
    return values[task.labels[:, None] != np.arange(task.clusters)]


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
@pytest.mark.parametrize("sign", ["descent", "as-printed"])
def test_without_weight_it_is_ifca_with_one_local_step(similarity, sign):
    start = TASK.pooled_optimum + np.random.default_rng(0).standard_normal((3, 3))
    kept = {"rounds": 15, "initial": start}
    found = run(GradientLoss(step_size=0.6, weight=0.0, similarity=similarity, sign=sign), TASK, **kept)
    expected = run(IFCA(step_size=0.6, averaging="model"), TASK, **kept)
    np.testing.assert_allclose(found.models, expected.models, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(found.assignments, expected.assignments)


def test_the_first_round_is_decided_by_the_loss():
    start = TASK.pooled_optimum + np.random.default_rng(3).standard_normal((3, 3))
    ifca = run(IFCA(step_size=0.6), TASK, rounds=1, initial=start)
    for similarity in ("cosine", "euclidean"):
        found = run(
            GradientLoss(step_size=0.6, weight=0.9, similarity=similarity), TASK, rounds=1, initial=start
        )
        np.testing.assert_array_equal(found.assignments, ifca.assignments)
        algorithm = GradientLoss(step_size=0.6, weight=0.9, similarity=similarity)
        assert not similarities(algorithm, TASK, algorithm.initialise(start, TASK)).any()


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_a_pure_noiseless_cluster_moves_against_its_clients_gradients(similarity):
    """One spherical Hessian: -G is parallel to the last move; the printed sign says -1, the worst score."""
    spherical = QuadraticMixture(
        hessians=np.ones((6, 1, 1)) * np.eye(2),
        centers=np.repeat([[0.0, 0.0], [3.0, 0.0]], 3, axis=0),
        labels=[0, 0, 0, 1, 1, 1],
    )
    start = spherical.optima + np.array([[0.0, 0.5], [0.3, 0.4]])
    descent, printed = (
        GradientLoss(step_size=0.5, similarity=similarity, sign=sign, weight=0.1)
        for sign in ("descent", "as-printed")
    )
    state = state_after(descent, spherical, 1, start)
    assert (state.assignments == spherical.labels).all()
    right, wrong = (similarities(each, spherical, state) for each in (descent, printed))
    if similarity == "cosine":
        np.testing.assert_allclose(own(spherical, right), 1.0, rtol=0, atol=1e-15)
        np.testing.assert_allclose(own(spherical, wrong), -1.0, rtol=0, atol=1e-15)
        assert (others(spherical, wrong) > -1 + 1e-3).all()
    else:
        # the move was -G of now, and D / alpha is -2 G: -||G + D / alpha|| = -||G||, -||G - D|| = -2 ||G||
        gradient_norms = np.linalg.norm(
            spherical.gradients(state.models[spherical.labels], np.arange(6), None), axis=-1
        )
        np.testing.assert_allclose(own(spherical, right), -gradient_norms, rtol=1e-14)
        np.testing.assert_allclose(own(spherical, wrong), -2 * gradient_norms, rtol=1e-14)


def test_the_cosine_is_zero_if_the_update_or_the_gradient_is_zero():
    task = QuadraticMixture(hessians=np.ones((3, 1, 1)), centers=[[0.0], [0.0], [4.0]], labels=[0, 0, 1])
    algorithm = GradientLoss(step_size=0.5)
    state = state_after(algorithm, task, 1, np.array([[0.0], [100.0]]))
    assert (state.assignments == 0).all()
    assert state.moves[1, 0] == 0.0
    found = similarities(algorithm, task, state)
    assert (found[:, 1] == 0).all()
    assert np.isfinite(found).all()
    still = state_after(algorithm, task, 3, np.array([[0.0], [4.0]]))
    assert (similarities(algorithm, task, still) == 0).all()
    assert still.assignments.tolist() == [0, 0, 1]


@pytest.mark.parametrize("rule", ["never", "when-empty", "always"])
@pytest.mark.parametrize(
    "task",
    [TASK, QuadraticMixture(hessians=np.ones((4, 1, 1)), centers=np.ones((4, 1)), labels=[0] * 4)],
    ids=["mixture", "identical"],
)
def test_all_equal_models_and_identical_clients_give_numbers(task, rule):
    algorithm = GradientLoss(step_size=0.5, clusters=3, empty_cluster=rule, weight=0.5)
    start = np.zeros((3, task.dimension))
    trace = run(algorithm, task, rounds=20, initial=start)
    assert np.isfinite(trace.models).all()
    assert (trace.assignments[0] == 0).all()  # ties go to the first
    assert (rule == "never") == bool((trace.models[1, 1:] == 0).all())


def test_pinning_trains_every_cluster_and_leaves_the_votes_alone():
    kept = {"rounds": 1, "initial": FAR, "replicates": 50}
    free, needed, always = (
        run(GradientLoss(step_size=0.5, empty_cluster=rule), TASK, **kept)
        for rule in ("never", "when-empty", "always")
    )
    assert (free.models[1, :, 2] == FAR[2]).all()
    for pinned in (needed, always):
        np.testing.assert_array_equal(pinned.assignments, free.assignments)
        # one client alone was pinned to the far model: it takes that client's step, and all occur
        steps = FAR[2] - 0.5 * TASK.gradients(np.broadcast_to(FAR[2], (9, 3)), np.arange(9), None)
        client = np.abs(pinned.models[1, :, 2, None] - steps).max(axis=-1)
        assert (client.min(axis=1) < 1e-12).all()
        assert set(client.argmin(axis=1)) == set(range(9))


def test_pinning_when_empty_does_nothing_while_every_cluster_has_clients():
    kept = {"rounds": 10, "initial": SHARED.optima + 0.05}
    free, needed, always = (
        run(GradientLoss(step_size=0.5, empty_cluster=rule), SHARED, **kept)
        for rule in ("never", "when-empty", "always")
    )
    assert free.models.tobytes() == needed.models.tobytes()
    assert (free.models != always.models).any()


def test_as_many_participants_as_clusters_are_enough_to_pin_one_to_each():
    algorithm = GradientLoss(step_size=0.5, participation=1 / 3, empty_cluster="always")
    assert algorithm.model_count(TASK) == 3
    state = state_after(algorithm, TASK, 1, FAR)
    assert len(state.clients) == 3
    assert (state.models != FAR).any(axis=-1).all()


def test_who_takes_part_does_not_depend_on_who_is_pinned():
    def participants(rule):
        algorithm = GradientLoss(step_size=0.5, participation=1 / 3, empty_cluster=rule)
        return [state_after(algorithm, TASK, rounds, FAR).clients.tolist() for rounds in (1, 2, 3)]

    assert participants("always") == participants("never")


def test_more_clusters_than_participants_cannot_be_pinned():
    algorithm = GradientLoss(step_size=0.5, participation=0.2, empty_cluster="always")
    with pytest.raises(InvalidArgument, match=r"empty_cluster = 'always': .*3 clusters, and 2 take part"):
        run(algorithm, TASK, rounds=1)


@pytest.mark.parametrize("kind", [RegressionMixture, LogisticMixture])
def test_summed_losses_weigh_as_much_as_the_batch_has_samples(kind):
    """weight S - (1 - weight) n L has the order of weight' S - (1 - weight') L, weight' = w / (w + n (1 - w))."""
    task = kind.random(clusters=3, clients=9, dimension=3, samples=8, data="population")
    weight = 0.9
    summed = GradientLoss(step_size=0.3, weight=weight, loss_reduction="sum")
    mean = GradientLoss(step_size=0.3, weight=weight / (weight + 8 * (1 - weight)))
    start = np.random.default_rng(0).standard_normal((3, 3))
    first, second = (run(each, task, rounds=12, initial=start) for each in (summed, mean))
    np.testing.assert_array_equal(first.assignments, second.assignments)
    assert first.models.tobytes() == second.models.tobytes()
    state = state_after(mean, task, 1, start)
    losses, gradients = task.losses_and_gradients(state.models, np.arange(9), np.random.default_rng(0))
    expected = weight * mean.similarities(state, gradients) - (1 - weight) * 8 * losses
    np.testing.assert_allclose(summed.scores(state, losses, gradients, task), expected, rtol=0, atol=1e-14)


def test_the_sum_scales_the_gradient_of_the_printed_distance_alone():
    task = RegressionMixture.random(clusters=2, clients=4, dimension=2, samples=8, data="population")
    state = state_after(GradientLoss(step_size=0.3), task, 1, np.array([[1.0, 0.0], [0.0, 2.0]]))
    _, gradients = task.losses_and_gradients(state.models, np.arange(4), np.random.default_rng(0))
    printed = GradientLoss(step_size=0.3, similarity="euclidean", sign="as-printed")
    expected = -np.linalg.norm(8 * gradients - state.moves, axis=-1)
    np.testing.assert_allclose(printed.similarities(state, gradients, 8), expected, rtol=1e-14)
    descent = GradientLoss(step_size=0.3, similarity="euclidean")
    expected = -np.linalg.norm(gradients + state.moves / 0.3, axis=-1)
    np.testing.assert_allclose(descent.similarities(state, gradients, 8), expected, rtol=1e-14)


def test_a_sum_needs_a_number_of_samples_and_the_task_one_batch():
    with pytest.raises(
        InvalidArgument, match="loss_reduction = 'sum': needs a task with a number of samples"
    ):
        run(GradientLoss(step_size=0.5, loss_reduction="sum"), TASK, rounds=1)

    class Bare(WrappedTask):
        task = TASK
        losses = gradients = None

    with pytest.raises(InvalidArgument, match="task = 'Bare': must have `losses_and_gradients`"):
        run(GradientLoss(step_size=0.5), Bare(), rounds=1)


def test_choice_and_step_use_one_batch():
    """A client that chose a model saw rows on which it does well: E[G | choice] is not E[G]."""
    task = RegressionMixture(optima=[[0.0], [1.0]], covariance=[1.0], noise=0.5, labels=[0, 1, 1], samples=4)
    start = np.array([[-0.1], [0.9]])
    trace = run(GradientLoss(step_size=1.0), task, rounds=1, replicates=20_000, initial=start)
    alone = (trace.assignments[0] == [0, 1, 1]).all(axis=-1)
    gradient = start[0] - trace.models[1, alone, 0]
    deviation = (gradient - task.expected_gradient(start[0], 0)).ravel()
    assert abs(deviation.mean()) > 5 * deviation.std() / np.sqrt(len(deviation))


def test_devices_are_pinned_in_the_replicates_that_have_an_empty_cluster_alone():
    near = SHARED.client_optima[[0, 4, 8]] if len(set(SHARED.labels[[0, 4, 8]])) == 3 else SHARED.optima
    far = near + np.array([[0.0], [0.0], [1000.0]])
    starts = np.stack([near, far, near])
    after = {
        rule: state_after(GradientLoss(step_size=0.3, empty_cluster=rule), SHARED, 1, starts).models
        for rule in ("never", "when-empty", "always")
    }
    for replicate in (0, 2):
        np.testing.assert_array_equal(after["when-empty"][replicate], after["never"][replicate])
        assert (after["always"][replicate] != after["never"][replicate]).any()
    np.testing.assert_array_equal(after["never"][1, 2], far[2])
    assert (after["when-empty"][1, 2] != far[2]).any()
    np.testing.assert_array_equal(after["when-empty"][1], after["always"][1])


def test_a_move_is_that_of_the_last_round_and_nothing_where_a_model_stood_still():
    """With three participants of nine a model that has moved often finds nobody in the next round."""
    algorithm = GradientLoss(step_size=0.3, participation=0.3)
    state = algorithm.initialise(TASK.optima + 0.5, TASK)
    randomness, rests = Randomness.from_seed(0), 0
    for _ in range(30):
        after = algorithm.step(state, TASK, randomness)
        np.testing.assert_array_equal(after.moves, after.models - state.models)
        rests += int((state.moves.any(axis=-1) & ~after.moves.any(axis=-1)).sum())
        state = after
    assert rests > 5

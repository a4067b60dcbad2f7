"""Measurements against closed forms of synthetic mixtures, and against torch's own derivatives of a network."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import binomtest
from small_images import client_data, load, module, random_partition

from clusterproof.algorithms import InvalidArgument, generator
from clusterproof.experiments.diagnosis.curvature import curvature
from clusterproof.experiments.diagnosis.observation import Budget, measure
from clusterproof.experiments.diagnosis.task_variants import one_sample_each, task_variants
from clusterproof.neural.networks import MLP
from clusterproof.neural.task import ImageTask
from clusterproof.synthetic import LogCoshMixture, QuadraticMixture, RegressionMixture

# torch's own, when it derives forwards for the first time
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

COVARIANCES = np.array([np.diag([1.0, 0.5, 0.2]), [[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.4]]])


def regression(**options):
    """Two clusters whose curvatures, variances and sizes all differ."""
    given = {
        "optima": np.array([[1.0, 0.0, 0.5], [-0.5, 0.3, 0.0]]),
        "covariance": COVARIANCES,
        "noise": 0.4,
        "labels": np.array([0] * 5 + [1] * 9),
        "samples": 6,
    }
    return RegressionMixture(**{**given, **options})


def quadratics(clients=12, dimension=5, seed=0):
    """A Hessian for each client, so that a mean over clients differs from a sum and from any one."""
    stream = np.random.default_rng(seed)
    roots = stream.standard_normal((clients, dimension, dimension + 2))
    labels = np.arange(clients) % 2
    centers = np.where(labels == 0, 2.0, -2.0)[:, None] + 0.3 * stream.standard_normal((clients, dimension))
    return QuadraticMixture(hessians=roots @ np.swapaxes(roots, 1, 2), centers=centers, labels=labels)


def observed(task, models, assignments=None, *, budget=None, round_number=0, step_size=0.1, seed=0):
    return measure(
        task_variants(task),
        models,
        np.asarray(task.labels) if assignments is None else assignments,
        round_number=round_number,
        step_size=step_size,
        budget=Budget() if budget is None else budget,
        seed=seed,
    )


class TestRegression:
    """Everything that the theory needs is known in closed form."""

    task = regression()
    models = task.optima + np.array([[0.1, -0.2, 0.1], [0.0, 0.3, -0.1]])

    @pytest.fixture(scope="class")
    @classmethod
    def seen(cls):
        budget = Budget(loss_draws=40_000, chunk=400)
        return observed(cls.task, cls.models, budget=budget)

    def test_curvature_is_that_of_each_clusters_covariance(self, seen):
        for cell in seen.clusters:
            truth = np.linalg.eigvalsh(COVARIANCES[cell.cluster])
            np.testing.assert_allclose(cell.curvature.value, truth[[0, -1]], rtol=1e-9)
            np.testing.assert_allclose(cell.curvature.others.value, truth[[0, -1]], rtol=1e-9)

    def test_separation_is_the_distance_of_the_models(self, seen):
        assert seen.separation == pytest.approx(np.linalg.norm(self.models[0] - self.models[1]))

    def test_loss_variance_within_its_error_and_three_percent(self, seen):
        for cell in seen.clusters:
            truth = np.array([self.task.loss_variance(model, cell.cluster) for model in self.models])
            assert (np.abs(cell.loss_variance.value - truth) <= 5 * cell.loss_variance.error).all()
            np.testing.assert_allclose(cell.loss_variance.value, truth, rtol=0.06)
            assert (cell.loss_variance.error < 0.03 * truth).all()

    def test_gaps_and_gradients_are_those_of_the_expected_losses(self, seen):
        for cell in seen.clusters:
            losses = np.array([self.task.expected_loss(model, cell.cluster) for model in self.models])
            np.testing.assert_allclose(cell.gaps.value, losses - losses[cell.model], atol=1e-12)
            gradient = self.task.expected_gradient(self.models[cell.cluster], cell.cluster)
            assert cell.gradient_norm == pytest.approx(np.linalg.norm(gradient))

    def test_variance_of_the_difference_is_that_of_drawn_rows(self, seen):
        # f(chi_q) - f(chi_p) with y = x.theta + s eps, row by row
        stream = np.random.default_rng(5)
        for cell in seen.clusters:
            x = stream.multivariate_normal(np.zeros(3), COVARIANCES[cell.cluster], 400_000)
            y = x @ self.task.optima[cell.cluster] + 0.4 * stream.standard_normal(400_000)
            losses = 0.5 * (y[:, None] - x @ self.models.T) ** 2
            other = 1 - cell.model
            truth = (losses[:, other] - losses[:, cell.model]).var()
            assert cell.difference_variance.value[other] == pytest.approx(truth, rel=0.06)
            assert cell.difference_variance.value[cell.model] == 0


def test_wrong_choices_follow_the_exact_probability():
    task = regression(labels=np.arange(600) % 2, samples=3)
    models = task.optima + np.array([[0.1, -0.2, 0.1], [0.0, 0.3, -0.1]])
    seen = observed(task, models, budget=Budget(choices=600, loss_draws=10))
    for cell in seen.clusters:
        assert cell.asked == 300
        truth = float(task.misclassification_probability(models, cell.cluster)[1 - cell.cluster])
        assert 0.01 < truth < 0.4
        assert binomtest(cell.wrong, cell.asked, truth).pvalue > 1e-3


def test_swapped_models_are_matched_by_the_clients_choices():
    task = regression()
    models = task.optima[::-1].copy()
    seen = observed(task, models, 1 - task.labels)
    assert [cell.model for cell in seen.clusters] == [1, 0]
    for cell in seen.clusters:
        np.testing.assert_allclose(
            cell.curvature.value, np.linalg.eigvalsh(COVARIANCES[cell.cluster])[[0, -1]], rtol=1e-9
        )
        assert cell.gradient_norm == pytest.approx(0, abs=1e-12)
        assert cell.gaps.value[cell.model] == cell.difference_variance.value[cell.model] == 0
    assert seen.run_wrong == 0
    # a quarter of one cluster's clients elsewhere, and some that never chose
    misassigned = np.where(task.labels == 0, 1, 0)
    misassigned[[0, 5]] = [0, 1]
    misassigned[[1, 6, 7]] = -1
    assert observed(task, models, misassigned).run_wrong == pytest.approx(2 / 11)


def test_more_models_than_clusters_and_fewer():
    task = regression()
    extra = np.concatenate([task.optima, [[9.0, 9.0, 9.0]]])
    seen = observed(task, extra)
    assert [cell.model for cell in seen.clusters] == [0, 1]
    assert seen.separation == pytest.approx(task.separation)
    three = RegressionMixture(
        optima=np.eye(3) * 2, covariance=np.ones(3), noise=0.1, labels=np.arange(9) % 3, samples=50
    )
    seen = observed(three, three.optima[:2], np.minimum(three.labels, 1))
    assert len(seen.clusters) == 2
    # the cluster without a model has three clients: whatever they choose is wrong
    assert seen.run_wrong == pytest.approx(3 / 9)


class TestQuadratic:
    """Nothing is random but the client: variances over the cluster's clients are exact."""

    task = quadratics()
    models = task.optima + 0.1 * np.arange(10).reshape(2, 5)

    @pytest.fixture(scope="class")
    @classmethod
    def seen(cls):
        return observed(cls.task, cls.models)

    def test_curvature_is_that_of_the_mean_hessian(self):
        few = observed(self.task, self.models, budget=Budget(clients=6, others=0))
        for cell in few.clusters:
            truth = np.linalg.eigvalsh(self.task.cluster_hessians[cell.cluster])
            np.testing.assert_allclose(cell.curvature.value, truth[[0, -1]], rtol=1e-8)
            np.testing.assert_allclose(cell.curvature.outer, truth[[0, -1]], rtol=1e-8)
            assert cell.curvature.others.count == 0

    def test_variances_and_gradients_are_exact(self):
        for cell in observed(self.task, self.models, budget=Budget(loss_draws=6)).clusters:
            gradient = self.task.expected_gradient(self.models[cell.cluster], cell.cluster)
            assert cell.gradient_norm == pytest.approx(np.linalg.norm(gradient))
            truth = [self.task.loss_variance(model, cell.cluster) for model in self.models]
            np.testing.assert_allclose(cell.loss_variance.value, truth, rtol=1e-10)
            assert (cell.loss_variance.error == 0).all()

    def test_the_rest_of_the_cluster_completes_the_quotients(self, seen):
        for cell in seen.clusters:
            # four were asked and the two others tried: together the whole cluster
            spectrum = np.linalg.eigvalsh(self.task.cluster_hessians[cell.cluster])
            assert cell.curvature.others.count == 0
            assert spectrum[0] <= cell.curvature.others.value[0] <= spectrum[-1]
            assert spectrum[0] <= cell.curvature.others.value[1] <= spectrum[-1]
            assert cell.curvature.others.value[1] < cell.curvature.value[1] * 1.5

    def test_quotients_of_a_few_others_are_unbiased_with_an_honest_error(self):
        task = quadratics(clients=60, seed=3)
        models = task.optima.copy()
        inside, found, truth = 0, [], []
        for seed in range(40):
            some = observed(task, models, budget=Budget(clients=4, others=8), seed=seed)
            every = observed(task, models, budget=Budget(clients=4, others=26), seed=seed)
            for few, all_of_it in zip(some.clusters, every.clusters, strict=True):
                one, other = few.curvature.others, all_of_it.curvature.others
                assert other.count == 0
                assert (one.error > 0).all()
                inside += int((np.abs(one.value - other.value) <= 3 * one.error).sum())
                found.append(one.value)
                truth.append(other.value)
        assert inside >= 0.9 * 160
        np.testing.assert_allclose(np.mean(found, axis=0), np.mean(truth, axis=0), rtol=0.05)


def test_quotients_of_other_clients_are_weighted_by_the_share_of_those_not_asked():
    """3 of 15 clients were asked, 4 of the other 12 tried: a sample without replacement."""
    task = quadratics(clients=30, seed=1)
    asked, others = np.array([0, 2, 4]), np.array([6, 8, 10, 12])
    found = curvature(task, task.optima[0], asked, others, 15, seed=0, products=5, chunk=3)
    for k, vector in enumerate(found.vectors):
        first, second = (
            np.array([vector @ task.hessians[client] @ vector for client in clients])
            for clients in (asked, others)
        )
        assert found.others.value[k] == pytest.approx(0.2 * first.mean() + 0.8 * second.mean())
        error = 0.8 * second.std(ddof=1) / np.sqrt(4) * np.sqrt(1 - 4 / 12)
        assert found.others.error[k] == pytest.approx(error)
    other = curvature(task, task.optima[0], asked, others, 15, seed=1, products=2, chunk=3)
    again = curvature(task, task.optima[0], asked, others, 15, seed=2, products=2, chunk=3)
    assert not np.isclose(other.value, again.value).any()  # of other starts


def test_a_log_cosh_loss_is_curved_as_at_its_optimum():
    task = LogCoshMixture.random(
        clusters=2, clients=8, dimension=6, condition_number=10.0, separation=2.0, samples=100, seed=0
    )
    seen = observed(task, task.optima.copy(), budget=Budget(loss_draws=50))
    for cell in seen.clusters:
        # every second derivative is mu at the optimum, and L far away
        np.testing.assert_allclose(cell.curvature.value, task.strong_convexity, rtol=1e-9)
    far = observed(task, task.optima + 50.0, budget=Budget(loss_draws=50))
    np.testing.assert_allclose(far.clusters[0].curvature.value, task.smoothness, rtol=1e-9)


class TestNetwork:
    """A small perceptron on random images, against torch's autograd on plain modules."""

    task = ImageTask(
        partition=random_partition([7, 5, 9, 6, 8, 7], image_shape=(1, 2, 3)),
        network=MLP((1, 2, 3), 3, hidden=(4,)),
        batch_size=4,
        dtype="float64",
    )
    models = 2 * task.initial_models(2, (), generator(1, "models"))

    @pytest.fixture(scope="class")
    @classmethod
    def seen(cls):
        budget = Budget(clients=3, products=43, loss_draws=4000, chunk=200)
        return observed(cls.task, cls.models, budget=budget)

    def loss_of(self, clients):
        """Return the mean over clients of their mean cross-entropy, as a function of a flat vector, by torch alone."""
        network = module(self.task.network).double()
        held = [client_data(self.task.partition.train, client, torch.float64) for client in clients]
        names = [(name, value.shape) for name, value in network.named_parameters()]

        def loss(vector):
            parts, start = {}, 0
            for name, shape in names:
                parts[name] = vector[start : start + shape.numel()].view(shape)
                start += shape.numel()
            each = [
                torch.nn.functional.cross_entropy(torch.func.functional_call(network, parts, (x,)), y)
                for x, y in held
            ]
            return torch.stack(each).mean()

        return loss

    def members(self, cluster):
        return np.flatnonzero(self.task.labels == cluster)

    def test_curvature_is_that_of_the_full_hessian(self, seen):
        for cell in seen.clusters:
            loss = self.loss_of(self.members(cell.cluster))
            hessian = torch.func.hessian(loss)(self.models[cell.model]).numpy()
            truth = np.linalg.eigvalsh(hessian)
            assert truth[0] < 0 < truth[-1]  # a network's loss is not convex
            assert cell.curvature.value[0] == pytest.approx(truth[0], abs=1e-6 * truth[-1])
            assert cell.curvature.value[1] == pytest.approx(truth[-1], rel=1e-8)

    def test_gradient_is_torchs(self, seen):
        for cell in seen.clusters:
            gradient = torch.func.grad(self.loss_of(self.members(cell.cluster)))(self.models[cell.model])
            assert cell.gradient_norm == pytest.approx(gradient.norm().item(), rel=1e-10)

    def test_variances_are_those_of_single_images(self, seen):
        network = module(self.task.network).double()
        for cell in seen.clusters:
            load(network, self.models[cell.model])
            losses = []
            for client in self.members(cell.cluster):
                for image, target in zip(
                    *client_data(self.task.partition.train, client, torch.float64), strict=True
                ):
                    loss = torch.nn.functional.cross_entropy(network(image[None]), target[None])
                    losses.append(loss.item())
            found = cell.loss_variance.value[cell.model]
            assert abs(found - np.var(losses)) <= 5 * cell.loss_variance.error[cell.model]
            assert cell.loss_variance.error[cell.model] < 0.05 * found

    def test_gaps_are_differences_of_torchs_losses(self, seen):
        for cell in seen.clusters:
            loss = self.loss_of(self.members(cell.cluster))
            values = np.array([loss(model).item() for model in self.models])
            np.testing.assert_allclose(cell.gaps.value, values - values[cell.model], atol=1e-12)

    def test_single_precision_agrees_to_its_accuracy(self, seen):
        single = observed(replace(self.task, dtype="float32"), self.models.float(), budget=Budget(clients=3))
        for coarse, fine in zip(single.clusters, seen.clusters, strict=True):
            np.testing.assert_allclose(
                coarse.curvature.value, fine.curvature.value, atol=1e-3 * fine.curvature.value[1]
            )

    def test_samples_of_a_choice_and_of_a_gradient(self):
        found = task_variants(self.task)
        assert (found.choice_samples, found.gradient_samples, found.held) == (5, 4, 5)
        assert task_variants(replace(self.task, batch_size=6)).gradient_samples == 5
        apart = found.single
        assert apart.clients == 42
        assert np.bincount(apart.labels).tolist() == [7 + 9 + 8, 5 + 6 + 7]


def test_one_sample_each_keeps_every_pair_of_image_and_class():
    held = random_partition([3, 1, 2]).train
    apart = one_sample_each(held)
    pairs = [
        (held.indices[client, position], held.targets[client, position], held.labels[client])
        for client in range(3)
        for position in range(held.sizes[client])
    ]
    assert list(zip(apart.indices[:, 0], apart.targets[:, 0], apart.labels, strict=True)) == pairs


def test_the_same_seed_gives_the_same_measurements_and_another_other_clients():
    task = regression()
    one, same, other = (observed(task, task.optima + 0.1, seed=seed) for seed in (0, 0, 1))
    assert (one.clusters[0].loss_variance.value == same.clusters[0].loss_variance.value).all()
    assert (one.clusters[0].loss_variance.value != other.clusters[0].loss_variance.value).any()
    task, few = quadratics(clients=60), Budget(clients=4, others=8, loss_draws=20)
    one, later, other = (
        observed(task, task.optima, budget=few, round_number=done, seed=seed).clusters[0]
        for done, seed in ((0, 0), (1, 0), (0, 1))
    )
    assert (one.gaps.value == later.gaps.value).all()  # of the same clients
    assert (one.loss_variance.value != later.loss_variance.value).any()
    assert one.gaps.value[1] != other.gaps.value[1]


def test_a_task_without_hessians_is_refused():
    class Flat:
        pass

    with pytest.raises(InvalidArgument, match="hessian_products"):
        task_variants(Flat())


def test_fresh_batches_in_hessian_products_are_refused():
    task = regression(samples=5)
    seen = replace(task_variants(task), whole=task)
    with pytest.raises(InvalidArgument, match="one symmetric matrix"):
        measure(seen, task.optima + 0.1, task.labels, round_number=0, step_size=0.1, budget=Budget())

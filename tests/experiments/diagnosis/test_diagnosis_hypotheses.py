"""Answers about hypotheses against tasks on which the truth is known, or the run itself shows it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from clusterproof.algorithms import CFLMGD, IFCA, Randomness
from clusterproof.experiments.diagnosis.evidence import Answer, Evidence, Scope
from clusterproof.experiments.diagnosis.hypotheses import (
    HYPOTHESES,
    algorithm,
    contraction,
    enough_data,
    enough_samples,
    fresh_batches,
    heavy_ball,
    initialisation,
    loss_gap,
    misclassification,
    misclassification_without_convexity,
    repaired_basin,
    small_optima,
    step_size,
    strong_convexity,
)
from clusterproof.experiments.diagnosis.observation import Budget, measure
from clusterproof.experiments.diagnosis.task_variants import task_variants
from clusterproof.synthetic import QuadraticMixture, RegressionMixture

HOLDS, FAILS, UNDECIDED = Answer.HOLDS, Answer.FAILS, Answer.UNDECIDED


@dataclass(frozen=True, eq=False)
class Saddles:
    """Clients with (chi - c)' A_i (chi - c) / 2, A_i of any sign, which a mixture refuses."""

    quadratic: QuadraticMixture
    bend: np.ndarray
    """Added to each client's Hessian, (m, d, d)."""

    def __getattr__(self, name):
        return getattr(self.quadratic, name)

    def losses(self, models, clients, generator):
        offsets = models[None] - self.quadratic.centers[clients][:, None]
        bent = 0.5 * np.einsum("kpi,kij,kpj->kp", offsets, self.bend[clients], offsets)
        return self.quadratic.losses(models, clients, generator) + bent

    def gradients(self, points, clients, generator):
        bent = np.einsum("kij,kj->ki", self.bend[clients], points - self.quadratic.centers[clients])
        return self.quadratic.gradients(points, clients, generator) + bent

    def hessian_products(self, points, directions, clients, generator):
        bent = np.einsum("kij,kj->ki", self.bend[clients], directions)
        return self.quadratic.hessian_products(points, directions, clients, generator) + bent


def quadratic(condition_number=4.0, separation=2.0, clients=8, **options):
    return QuadraticMixture.random(
        clusters=2,
        clients=clients,
        dimension=5,
        condition_number=condition_number,
        separation=separation,
        seed=2,
        **options,
    )


def evidence(task, path, *, rate=0.5, rounds=20, start=None, budget=None, variants=None, **options):
    """Judge models (T, P, d), measured at rounds 1, 2, ...; ``variants`` are other fields of the task's."""
    seen = replace(task_variants(task), **(variants or {}))
    observations = tuple(
        measure(
            seen,
            models,
            np.asarray(task.labels),
            round_number=index + 1,
            step_size=rate,
            budget=Budget() if budget is None else budget,
        )
        for index, models in enumerate(path)
    )
    method = CFLMGD(step_size=rate, **{"momentum": 0.5, **options})
    return Evidence(observations=observations, start=start, variants=seen, algorithm=method, rounds=rounds)


def with_variants(judged, **fields):
    return replace(judged, variants=replace(judged.variants, **fields))


class TestCurvatureHypotheses:
    def test_a_strongly_convex_quadratic(self):
        task = quadratic()
        judged = evidence(task, [task.optima + 0.1, task.optima.copy()])
        assert judged.strong_convexity == pytest.approx(0.25)
        for bounds, truth in ((judged.smoothness_range, 1.0), (judged.strong_convexity_range, 0.25)):
            assert bounds == pytest.approx((truth, truth))
        found = strong_convexity(judged)
        assert (found.answer, found.scope) == (HOLDS, Scope.LOCAL)

    def test_negative_curvature_of_every_client_fails(self):
        mixture = quadratic(clients=60)
        stream = np.random.default_rng(0)
        # -0.5 along one axis, more or less in each client
        axis = np.zeros((60, 5, 5))
        axis[:, 0, 0] = -1.5 + 0.1 * stream.standard_normal(60)
        found = strong_convexity(evidence(Saddles(mixture, axis), [mixture.optima + 0.1]))
        assert found.answer is FAILS
        assert "negative curvature" in found.reason
        assert found.numbers["at_most"] < 0

    def test_negative_curvature_of_the_asked_client_alone_does_not_fail(self):
        mixture = quadratic(clients=60, condition_number=2.0)
        # each client is bent along a direction of its own, down by more than it is curved up
        directions = np.random.default_rng(1).standard_normal((60, 5))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        bend = -1.2 * directions[:, :, None] * directions[:, None, :]
        judged = evidence(Saddles(mixture, bend), [mixture.optima + 0.1], budget=Budget(clients=1, others=8))
        means = [(mixture.hessians + bend)[mixture.labels == cluster].mean(axis=0) for cluster in range(2)]
        truth = min(np.linalg.eigvalsh(mean)[0] for mean in means)
        assert judged.strong_convexity < 0 < truth
        assert strong_convexity(judged).answer is UNDECIDED
        assert judged.strong_convexity_range[1] >= truth


class TestStart:
    def test_radius_of_assumption_4(self):
        task = quadratic(condition_number=4.0, separation=2.0)
        direction = np.ones((2, 5)) / np.sqrt(5)
        # sqrt(1/4) / 4 * 2 = 0.25
        for distance, answer in ((0.24, HOLDS), (0.26, FAILS), (0.6, FAILS)):
            judged = evidence(task, [task.optima.copy()], start=task.optima + distance * direction)
            found = initialisation(judged)
            assert (found.answer, found.scope) == (answer, Scope.STAND_IN)
            assert found.numbers["start_distance"] == pytest.approx(distance)
        assert "Delta / 4" in found.reason

    def test_unseen_start_is_not_decidable(self):
        task = quadratic()
        assert initialisation(evidence(task, [task.optima.copy()])).answer is UNDECIDED

    def test_basin_of_the_repaired_theorems(self):
        task = quadratic(condition_number=4.0, separation=2.0)
        direction = np.ones((2, 5)) / np.sqrt(5)
        # 2 / (1 + sqrt 4) = 2/3, reached by the start or on the way
        for start, middle, answer in ((0.6, 0.1, HOLDS), (0.7, 0.1, FAILS), (0.1, 0.7, FAILS)):
            judged = evidence(
                task,
                [task.optima + middle * direction, task.optima.copy()],
                start=task.optima + start * direction,
            )
            found = repaired_basin(judged)
            assert found.answer is answer
            assert found.numbers["distance"] == pytest.approx(max(start, middle))
            assert repaired_basin(replace(judged, start=None)).numbers["distance"] == pytest.approx(middle)

    def test_the_remaining_distance_is_a_lower_bound(self):
        task = quadratic(condition_number=4.0)
        last = task.optima + np.random.default_rng(0).standard_normal((2, 5))
        found = initialisation(evidence(task, [last], start=last))
        assert 0 < found.numbers["stand_in_error"] <= np.linalg.norm(last - task.optima, axis=1).max()

    def test_norm_of_the_optima(self):
        task = quadratic()
        near = task.optima / np.linalg.norm(task.optima, axis=1).max()
        assert small_optima(evidence(task, [near * 0.99])).answer is HOLDS
        assert small_optima(evidence(task, [near * 1.01])).answer is FAILS


def regression(samples, noise=0.5, **options):
    return RegressionMixture.random(
        clusters=2,
        clients=200,
        dimension=4,
        condition_number=2.0,
        separation=2.0,
        noise=noise,
        samples=samples,
        **options,
    )


class TestSamples:
    def test_wrong_choices_stay_below_both_bounds_where_models_are_optima(self):
        task = regression(4, noise=0.3)
        judged = evidence(task, [task.optima.copy()], budget=Budget(loss_draws=20_000))
        ours = misclassification_without_convexity(judged)
        truth = np.mean(
            [task.misclassification_probability(task.optima, cluster)[1 - cluster] for cluster in range(2)]
        )
        assert ours.numbers["at_least"] <= truth <= ours.numbers["at_most"]
        assert truth <= ours.numbers["bound"] <= 1
        assert ours.answer is HOLDS
        printed = misclassification(judged)
        largest = max(task.loss_variance(model, cluster) for model in task.optima for cluster in range(2))
        bound = 128 * 2 * float(largest) / (0.5**2 * 2**4 * 4)
        assert printed.numbers["bound"] == pytest.approx(bound, rel=0.1)
        assert printed.answer is Answer.VACUOUS
        assert "says nothing" in printed.reason

    def test_a_few_clients_cannot_confirm_a_small_bound(self):
        task = regression(50, noise=0.1)
        for choices, answer in ((20, UNDECIDED), (200, HOLDS)):
            judged = evidence(task, [task.optima.copy()], budget=Budget(choices=choices, loss_draws=5000))
            found = misclassification_without_convexity(judged)
            assert found.numbers["rate"] == 0
            assert 0.02 < found.numbers["bound"] < 0.05
            assert found.answer is answer

    def test_a_rate_above_the_bound_fails(self):
        task = regression(4, noise=0.3)
        judged = evidence(task, [task.optima.copy()], budget=Budget(loss_draws=5000))
        cells = tuple(replace(cell, wrong=cell.asked) for cell in judged.last.clusters)
        worse = replace(judged, observations=(replace(judged.last, clusters=cells),))
        assert misclassification_without_convexity(worse).answer is FAILS
        assert misclassification(worse).answer is Answer.VACUOUS  # its bound is above 1

    def test_a_bound_on_a_probability_that_reaches_one_is_vacuous(self):
        task = regression(1, noise=3.0)
        judged = evidence(task, [task.optima.copy()], budget=Budget(loss_draws=5000))
        cells = tuple(
            replace(cell, gaps=replace(cell.gaps, value=0 * cell.gaps.value)) for cell in judged.last.clusters
        )
        level = replace(judged, observations=(replace(judged.last, clusters=cells),))
        found = misclassification_without_convexity(level)
        assert found.numbers["bound"] >= 1
        assert found.answer is Answer.VACUOUS

    def test_a_worse_own_model_has_no_gap(self):
        task = regression(50)
        swapped = task.optima[::-1].copy()  # matched by the labels, not by the losses
        assert loss_gap(evidence(task, [swapped])).answer is FAILS
        equal = evidence(task, [task.optima[[0, 0]]])
        assert loss_gap(equal).answer is FAILS
        assert misclassification_without_convexity(equal).numbers["bound"] == 1
        assert loss_gap(evidence(task, [task.optima.copy()])).answer is HOLDS
        assert misclassification_without_convexity(evidence(task, [swapped])).numbers["bound"] == 1

    def test_disjoint_batches(self):
        task = quadratic()
        samples = {"choice_samples": 5, "gradient_samples": 5}
        judged = evidence(task, [task.optima.copy()], rounds=10, variants=samples)
        assert fresh_batches(judged).answer is HOLDS  # nothing is held: every batch is fresh
        assert fresh_batches(with_variants(judged, held=100)).answer is HOLDS  # n = 2 n' T
        assert fresh_batches(with_variants(judged, held=99)).answer is FAILS
        two_steps = replace(judged.algorithm, averaging="model", local_steps=2)
        assert fresh_batches(with_variants(replace(judged, algorithm=two_steps), held=100)).answer is FAILS

    def test_data_and_dimension(self):
        task = quadratic(clients=8)  # d = 5, l = 1/2
        judged = evidence(task, [task.optima.copy()])
        assert enough_data(with_variants(judged, gradient_samples=2)).answer is HOLDS  # 8
        assert enough_data(with_variants(judged, gradient_samples=1)).answer is FAILS  # 4


class TestSteps:
    @pytest.mark.parametrize(("rate", "answer"), [(0.99, HOLDS), (1.01, FAILS)])
    def test_step_of_theorem_1(self, rate, answer):
        task = quadratic()
        assert step_size(evidence(task, [task.optima.copy()], rate=rate)).answer is answer

    @pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
    @pytest.mark.parametrize("normalisation", ["clients", "cluster"])
    @pytest.mark.parametrize("factor", [0.97, 1.03])
    def test_stability_is_what_the_run_shows(self, momentum, normalisation, factor):
        task = quadratic()
        share = 1.0 if normalisation == "cluster" else 0.5
        rate = factor * 2 * (1 + momentum) / share  # L = 1
        method = CFLMGD(step_size=rate, momentum=momentum, normalisation=normalisation)
        state = method.initialise(task.optima + 1e-9, task)
        randomness = Randomness.from_seed(0, "stability")
        for _ in range(300):
            state = method.step(state, task, randomness)
        errors = np.abs(state.models - task.optima).max(axis=-1)
        judged = evidence(
            task, [task.optima.copy()], rate=rate, momentum=momentum, normalisation=normalisation
        )
        found = heavy_ball(judged)
        assert found.answer is (HOLDS if factor < 1 else FAILS)
        assert (errors < 1e-9).all() if factor < 1 else (errors > 1e-7).all()
        assert (found.numbers["steepest"] < 1) == (factor < 1)

    def test_local_steps_take_the_whole_step(self):
        task = quadratic()
        judged = evidence(task, [task.optima.copy()], rate=1.0, averaging="model", local_steps=5)
        assert heavy_ball(judged).numbers["step_times_smoothness"] == pytest.approx(1.0)
        assert "5 local steps" in heavy_ball(judged).reason
        options = {"rate": 1.0, "normalisation": "participants", "participation": 0.6}
        found = heavy_ball(evidence(task, [task.optima.copy()], **options))
        assert found.numbers["step_times_smoothness"] == pytest.approx(0.5)

    def test_an_error_grows_along_negative_curvature_as_said(self):
        mixture = quadratic(clients=60)
        bend = np.zeros((60, 5, 5))
        bend[:, 0, 0] = -1.5
        judged = evidence(Saddles(mixture, bend), [mixture.optima.copy()], rate=0.5, momentum=0.5)
        factors = []
        for cluster in range(2):
            hessian = (mixture.hessians + bend)[mixture.labels == cluster].mean(axis=0)
            error, buffer, lengths = 1e-9 * np.ones(5), np.zeros(5), []
            for _ in range(200):  # one cluster's heavy ball, l_p = 1/2
                buffer = 0.5 * buffer + 0.5 * hessian @ error
                error = error - 0.5 * buffer
                lengths.append(np.linalg.norm(error))
            factors.append(lengths[-1] / lengths[-2])
        assert heavy_ball(judged).numbers["flattest"] == pytest.approx(max(factors), rel=1e-6)
        assert max(factors) > 1


class TestTheorem1:
    @pytest.mark.parametrize(
        ("options", "answer", "word"),
        [
            ({}, HOLDS, "speaks of this"),
            ({"averaging": "model", "local_steps": 10}, FAILS, "10 local steps"),
            ({"participation": 0.1}, FAILS, "0.1"),
            ({"normalisation": "participants"}, FAILS, "participants"),
        ],
    )
    def test_which_algorithm(self, options, answer, word):
        task = quadratic()
        found = algorithm(evidence(task, [task.optima.copy()], **options))
        assert found.answer is answer
        assert found.scope is Scope.EXACT
        assert word in found.reason


class TestUnequalClusters:
    """Three clusters of 5, 3 and 2 clients with spectra of their own: L = 3, mu = 0.4, and nothing is 1 or 2."""

    labels = np.array([0, 1, 2, 0, 1, 0, 2, 0, 1, 0])
    spectra = np.array([[0.4, 1.1, 3.0], [0.7, 1.5, 2.2], [0.9, 1.3, 1.8]])
    stream = np.random.default_rng(6)
    turns = np.linalg.qr(stream.standard_normal((3, 3, 3)))[0]
    hessians = np.einsum("pij,pj,pkj->pik", turns, spectra, turns)
    centers = 1.5 * np.eye(3)[labels] + 0.75 * stream.standard_normal((10, 3))
    task = QuadraticMixture(hessians=hessians[labels], centers=centers, labels=labels)
    middle = task.optima + 0.5 * stream.standard_normal((3, 3))
    last = task.optima + 0.2 * stream.standard_normal((3, 3))
    start = last + np.outer([0.3, 0.7, 0.5], [0.6, 0.0, 0.8])

    def judged(self):
        found = evidence(
            self.task,
            [self.middle, self.last],
            start=self.start,
            variants={"choice_samples": 7, "gradient_samples": 5, "held": 11},
            momentum=0.6,
            participation=0.75,
        )
        first, second = found.observations
        return replace(
            found, observations=(replace(first, step_size=0.3), replace(second, step_size=0.2)), rounds=13
        )

    def losses(self, models, cluster):
        """The clients' losses at all models, (k, P)."""
        return np.array(
            [
                [(model - c) @ self.hessians[cluster] @ (model - c) / 2 for model in models]
                for c in self.centers[self.labels == cluster]
            ]
        )

    def test_numbers_are_those_of_the_conditions(self):
        judged, counts = self.judged(), (5, 3, 2)
        found = {row.__name__: row(judged).numbers for row in HYPOTHESES}
        separation = min(np.linalg.norm(self.last[p] - self.last[q]) for p, q in ((0, 1), (0, 2), (1, 2)))
        variances, gaps, bounds, wrong = [], [], [], 0
        for models in (self.middle, self.last):
            for p in range(3):
                losses = self.losses(models, p)
                differences = np.delete(losses - losses[:, [p]], p, axis=1)
                variances += list(losses.var(axis=0))
                gaps += list(differences.mean(axis=0))
                if models is self.last:
                    wrong += int((losses.argmin(axis=1) != p).sum())
                    spread = differences.var(axis=0)
                    bounds.append(min(1, (spread / (spread + 7 * differences.mean(axis=0) ** 2)).sum()))
        assert 0 < wrong < 5
        assert max(bounds) < 1
        least, most = stats.binomtest(wrong, 10).proportion_ci(0.99)
        errors = self.last - self.task.optima
        away = [np.linalg.norm(self.hessians[p] @ errors[p]) / self.spectra[p, -1] for p in range(3)]
        steps = 0.3 * 0.75 * np.array(counts) / 10  # eta l_p, of three quarters of the clients
        rates = [
            np.abs(np.linalg.eigvals([[1.6 - a, -0.6], [1, 0]])).max()
            for a in ((steps * self.spectra[:, -1]).max(), (steps * 2 / 3 * self.spectra[:, 0]).min())
        ]
        needed, scale = max(variances) / 0.4**2 / separation**4, (steps * self.spectra[:, -1]).max()
        far = max(0.7, np.linalg.norm(self.middle - self.last, axis=1).max())
        expected = {
            "algorithm": [0.75],
            "strong_convexity": [0.4] * 3,
            "initialisation": [0.7, separation, max(away)],
            "enough_samples": [7, max(variances), separation, 256 * 2 * needed],
            "small_optima": [np.linalg.norm(self.last, axis=1).max()],
            "fresh_batches": [11, (7 + 5) * 13],
            "enough_data": [2 * 5, 3],
            "loss_gap": [*[min(gaps)] * 3, 0.4 * separation**2 / 4],
            "misclassification": [wrong / 10, least, most, 128 * 3 * needed / 7],
            "misclassification_without_convexity": [
                wrong / 10,
                least,
                most,
                np.average(bounds, weights=counts),
            ],
            "step_size": [0.3 * 3] * 3,
            "heavy_ball": [*[scale] * 3, *rates],
            "contraction": [0.2 / 4, separation],
            "repaired_basin": [far, separation],
        }
        assert found.keys() == expected.keys()
        for name, numbers in expected.items():
            assert list(found[name].values()) == pytest.approx(numbers, rel=1e-9), name

    @pytest.mark.parametrize("factor", [0.98, 1.02])
    def test_limits_are_those_of_the_conditions(self, factor):
        judged = self.judged()
        separation, met = judged.last.separation, HOLDS if factor < 1 else FAILS
        direction = np.outer([0.1, 1.0, 0.2], [0.6, 0.0, 0.8])
        still = replace(judged, observations=judged.observations[1:])
        for row, limit in (
            (initialisation, np.sqrt(0.4 / 3.0) * separation / 4),
            (repaired_basin, separation / (1 + np.sqrt(3.0 / 0.4))),
        ):
            assert row(replace(still, start=self.last + factor * limit * direction)).answer is met
        needed = 256 * 2 * judged.loss_variance / (0.4**2 * separation**4)
        answer = enough_samples(with_variants(judged, choice_samples=needed * factor)).answer
        assert answer is (FAILS if factor < 1 else UNDECIDED)
        # l / 4 at most l / 32 (mu / L)^(3/2) Delta
        size = factor * 8 * (3.0 / 0.4) ** 1.5 / separation
        far = replace(still, observations=(replace(still.last, models=self.last * size),))
        assert contraction(far).answer is (FAILS if factor < 1 else UNDECIDED)


def test_without_mu_everything_that_needs_one_fails_or_is_not_decidable():
    mixture = quadratic(clients=60, condition_number=1.0, separation=20.0)
    bend = np.zeros((60, 5, 5))
    bend[:, 0, 0] = -1.5
    judged = evidence(Saddles(mixture, bend), [mixture.optima.copy()], start=mixture.optima + 0.01)
    answers = {row.__name__: row(judged).answer for row in HYPOTHESES}
    for needs_mu in ("strong_convexity", "initialisation", "enough_samples", "contraction", "repaired_basin"):
        assert answers[needs_mu] is FAILS
    assert answers["misclassification"] is UNDECIDED
    assert answers["step_size"] is HOLDS


def test_ifca_has_no_momentum_and_the_same_step():
    task = quadratic()
    judged = replace(evidence(task, [task.optima.copy()], rate=1.0), algorithm=IFCA(step_size=1.0))
    assert heavy_ball(judged).required == "below 2"
    assert heavy_ball(judged).numbers["step_times_smoothness"] == pytest.approx(0.5)
    assert IFCA(step_size=1.0).model_count(task) == 2

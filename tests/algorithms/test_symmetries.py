"""What holds of every algorithm: order, names, axes and units do not matter, everyone is placed, clusters are found."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from option_combinations import EVERY, describe, make_some

from clusterproof.algorithms import ALGORITHMS, CFL, FPFC, FedAdam, FedYogi, GradientLoss, ProxSkip, SoFL
from clusterproof.common import Randomness
from clusterproof.experiments.synthetic_runs import make_algorithm
from clusterproof.running import run
from clusterproof.synthetic import TASKS, QuadraticMixture, RegressionMixture, strategies
from clusterproof.synthetic.wrapped import WrappedTask


class Moved(WrappedTask):
    """Client i has the loss ``loss`` f_o(i)(R' (x - shift) / length) with R the rotation and o the order.

    The task itself is asked in its own order of clients, so that a task that draws samples draws the same ones.
    """

    def __init__(self, task, *, order=None, rotation=None, shift=0.0, length=1.0, loss=1.0):
        self.task, self.loss, self.length, self.shift = task, loss, length, shift
        self.order = np.arange(task.clients) if order is None else np.asarray(order)
        self.rotation = np.eye(task.dimension) if rotation is None else rotation

    @property
    def labels(self):
        return self.task.labels[self.order]

    @property
    def client_samples(self):
        return np.asarray(self.task.client_samples)[self.order]

    @property
    def samples(self):
        return getattr(self.task, "samples", None)

    def image(self, points):
        return self.length * points @ self.rotation.T + self.shift

    def back(self, points):
        return (points - self.shift) @ self.rotation / self.length

    def asked(self, member, generator, clients, *values):
        """What the task answers to its own clients in ascending order, in the order of ``clients``."""
        own = self.order[clients]
        ascending = np.argsort(own)
        answers = getattr(self.task, member)(*(one[ascending] for one in values), own[ascending], generator)
        return answers[np.argsort(ascending)]

    def of_models(self, member, models, clients, generator):
        own = self.order[clients]
        ascending = np.argsort(own)
        answers = getattr(self.task, member)(self.back(models), own[ascending], generator)
        place = np.argsort(ascending)
        return tuple(one[place] for one in (answers if isinstance(answers, tuple) else (answers,)))

    def losses(self, models, clients, generator):
        return self.loss * self.of_models("losses", models, clients, generator)[0]

    def gradients(self, points, clients, generator):
        answers = self.asked("gradients", generator, clients, self.back(points))
        return self.loss / self.length * answers @ self.rotation.T

    def losses_and_gradients(self, models, clients, generator):
        losses, gradients = self.of_models("losses_and_gradients", models, clients, generator)
        return self.loss * losses, self.loss / self.length * gradients @ self.rotation.T

    def hessian_products(self, points, directions, clients, generator):
        answers = self.asked(
            "hessian_products", generator, clients, self.back(points), directions @ self.rotation
        )
        return self.loss / self.length**2 * answers @ self.rotation.T


EVERY_ONE = {kind: {} for kind in ALGORITHMS.values()} | dict(EVERY)
"""One combination of options for each algorithm."""
TASK = QuadraticMixture.random(
    clusters=3, clients=9, dimension=3, condition_number=4, spread=0.6, separation=1.5, seed=2
)
DRAWN = {name: kind.random(clusters=2, clients=6, dimension=3, seed=5) for name, kind in TASKS.items()}
CASES = [
    *(pytest.param(case, TASK, id=describe(case)) for case in EVERY),
    *(
        pytest.param(case, task, id=f"{describe(case)}-{name}")
        for case in EVERY_ONE.items()
        for name, task in DRAWN.items()
        if case[0] is not SoFL  # its k-means is slow and sees no task
    ),
]
ROUNDS = 5


class Keys:
    """A stream of keys of the clients, in another order, so that the same clients take part and are assigned."""

    def __init__(self, generator, order):
        self.generator, self.order = generator, order

    def random(self, shape):
        keys = self.generator.random(shape)
        return keys[..., self.order] if shape[-1] == len(self.order) else keys

    def __getattr__(self, name):
        return getattr(self.generator, name)


def make(combination, task):
    """The algorithm with some participants, or all where the server draws lots among them; and a start."""
    kind, options = combination
    lots = options.get("empty_cluster", "never") in ("always", "when-empty") or kind is SoFL
    options = {"momentum": 0.6, **options} if "momentum" in kind.__dataclass_fields__ else options
    algorithm = make_some(kind, participation=1.0 if lots else 0.7, **{"step_size": 0.4, **options})
    if "proximal" in vars(algorithm) and vars(algorithm).get("variant") == "penalised":
        algorithm = replace(algorithm, proximal=algorithm.proximal or 0.1)
    noise = np.random.default_rng(3).standard_normal((algorithm.model_count(task), task.dimension))
    return algorithm, task.pooled_optimum + noise


def states(algorithm, task, start, order):
    """The states after each round, with the keys of the clients in this order."""
    streams = Randomness.from_seed(0, "symmetries")
    keys = {name: Keys(getattr(streams, name), order) for name in ("participation", "clustering")}
    streams, state, found = replace(streams, **keys), algorithm.initialise(start, task), []
    for _ in range(ROUNDS):
        state = algorithm.step(state, task, streams)
        found.append(state)
    return found


def assignments(state, task, order=None):
    """Every client's cluster, -1 for an absent one, (m,)."""
    spread = np.full(task.clients, -1)
    spread[state.clients] = state.assignments
    return spread if order is None else spread[order]


def compare(found, expected, task, image, order=None, names=None):
    for one, other in zip(found, expected, strict=True):
        models = image(other.models)
        owned = order is not None and len(models) == task.clients
        models = models[order] if owned else models if names is None else models[names]
        np.testing.assert_allclose(one.models, models, rtol=0, atol=1e-9 * max(1, np.abs(models).max()))
        clusters = assignments(one, task), assignments(other, task, order)
        if names is not None:
            clusters = (np.append(names, -1)[clusters[0]], clusters[1])
        if owned:  # the server numbers its clusters as it finds them, and a lone client is its own
            clusters = [each[:, None] == each[None] for each in clusters]
        np.testing.assert_array_equal(*clusters)


@pytest.mark.parametrize(("combination", "task"), CASES)
def test_order_of_clients_names_of_clusters_axes_origin_and_units_do_not_matter(combination, task):
    algorithm, start = make(combination, task)
    kind, lots = combination[0], combination[1].get("empty_cluster") in ("always", "when-empty")
    same = np.arange(task.clients)
    expected = states(algorithm, Moved(task), start, same)

    if kind is not SoFL:  # its map and its k-means depend on the order
        order = np.random.default_rng(4).permutation(task.clients)
        own = len(start) == task.clients and algorithm.target == "clients"
        found = states(algorithm, Moved(task, order=order), start[order] if own else start, order)
        compare(found, expected, task, lambda models: models, order)
    if kind.target == "clusters" and not lots:  # which assign a client to the first cluster, whichever it is
        names = np.random.default_rng(5).permutation(len(start))
        found = states(algorithm, Moved(task), start[names], same)
        compare(found, expected, task, lambda models: models, names=names)
    in_axes = kind in (FedAdam, FedYogi)  # whose steps are entry by entry
    # the first neurons of SoFL may be drawn in given axes, too
    if not in_axes and (kind is not SoFL or algorithm.initialisation != "random"):
        rotation = np.linalg.qr(np.random.default_rng(6).standard_normal((3, 3)))[0]
        moved = Moved(task, rotation=rotation, shift=np.array([3.0, -2.0, 5.0]))
        compare(states(algorithm, moved, moved.image(start), same), expected, task, moved.image)
    # a score of GL-CFL adds a loss to a cosine; SCAD's strength is both a derivative and a length
    if kind is not GradientLoss and getattr(algorithm, "penalty", None) != "scad":
        scaled = Moved(task, loss=8.0, length=2.0)
        found = states(in_units(algorithm), scaled, scaled.image(start), same)
        compare(found, expected, task, scaled.image)


def in_units(algorithm):
    """Losses times 8 and models times 2: curvatures are multiplied by 2, step sizes by 1/2, gradients by 4."""
    factors = {
        **dict.fromkeys(("step_size", "inner_step_size", "outer_step_size", "personal_step_size"), 0.5),
        **dict.fromkeys(("proximal", "augmentation", "mean_threshold", "client_threshold", "threshold"), 2),
        **dict.fromkeys(("alpha", "lam", "eta", "tau"), 2),
        "strength": 4,
    }
    given = {name: getattr(algorithm, name, None) for name in factors}
    return replace(
        algorithm, **{name: factors[name] * value for name, value in given.items() if value is not None}
    )


@settings(max_examples=3)
@given(
    strategies.quadratic_mixtures(clusters=(1, 3), clients=(3, 7), spread=(0, 1)),
    st.sampled_from([1.0, 0.5]),
    st.integers(0, 3),
)
def test_every_round_assigns_each_participant_to_one_model(task, share, seed):
    for kind, options in EVERY:
        lots = options.get("empty_cluster") in ("when-empty", "always")
        participation = 1.0 if lots else share  # fewer participants than clusters cannot be pinned
        algorithm = make_some(kind, step_size=0.5, participation=participation, **options)
        trace = run(algorithm, task, rounds=5, seed=seed, replicates=2)
        count = max(1, round(participation * task.clients))
        if isinstance(algorithm, CFL | SoFL | FPFC | ProxSkip):
            count = task.clients  # the server also places absent clients, or there are none
        assert ((trace.assignments >= 0).sum(axis=-1) == count).all(), algorithm
        assert trace.assignments.max() < trace.models.shape[-2], algorithm
        assert np.isfinite(trace.models).all(), algorithm
        assert (trace.cluster_count >= 1).all(), algorithm


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("name", ["ifca", "cfl-mgd", "gradient-loss", "cfl", "sofl", "fpfc"])
def test_clustered_algorithms_find_the_four_clusters_of_sixty_clients(name):
    """Optima at the corners of a simplex; SoFL's guard may merge clusters whose updates are alike."""
    task = RegressionMixture(
        optima=2 * np.eye(4, 10),
        covariance=np.linspace(0.4, 1.0, 10),
        noise=0.5,
        labels=np.arange(60) % 4,
        samples=50,
    )
    trace = run(make_algorithm(name, {}, task), task, rounds=60, replicates=5)
    assert np.median(trace.adjusted_rand_index) == 1.0
    assert np.median(trace.cluster_count) == 4

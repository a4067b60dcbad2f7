"""Rounds on arrays are the methods' rounds client by client, in fractions and floats, on all tasks."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from clusterproof.algorithms import CFLMGD, FPFC, IFCA, FedAvg, FedLin, FedProx, Local, ProxSkip, Scaffold
from clusterproof.algorithms.penalties import SmoothedSCAD
from clusterproof.common import Randomness
from clusterproof.methods import averaging, clustered, pairs
from clusterproof.methods.controls import fedlin, proxskip, scaffold
from clusterproof.methods.exact import descend, exact_clients, mean
from clusterproof.synthetic import LogisticMixture, QuadraticMixture

CLIENTS = 4


def quadratics(dimension):
    """Clients whose Hessians do not commute and, as all numbers, have few binary digits: fractions stay short."""
    stream = np.random.default_rng(dimension)
    roots = stream.integers(-2, 3, (CLIENTS, dimension, dimension)) / 4
    return QuadraticMixture(
        hessians=roots @ np.swapaxes(roots, -1, -2) + np.eye(dimension) / 4,
        centers=stream.integers(-9, 10, (CLIENTS, dimension)) / 4,
        labels=np.arange(CLIENTS) % 2,
        client_samples=np.array([1, 5, 2, 4]),
    )


LOGISTIC = LogisticMixture.random(
    clusters=2, clients=CLIENTS, dimension=2, condition_number=8, support=12, data="population", seed=2
)


def signed_rows(task, client):
    """The rows y x of a client's logistic loss."""
    label = task.labels[client]
    return task.targets[label][:, None] * task.features[label]


def loss(task, client, model):
    if isinstance(task, LogisticMixture):
        margins = signed_rows(task, client) @ model
        return np.log1p(np.exp(-margins)).mean() + task.ridge / 2 * model @ model
    away = model - task.centers[client]
    return away @ task.hessians[client] @ away / 2


def gradient(task, client, model):
    if isinstance(task, LogisticMixture):
        rows = signed_rows(task, client)
        return task.ridge * model - (rows / (1 + np.exp(rows @ model))[:, None]).mean(axis=0)
    return task.hessians[client] @ (model - task.centers[client])


exact = np.vectorize(Fraction, otypes=[object])


def kind_of(task, fractions):
    """Return a task's gradients and losses at a client's point, starts and settings in one kind of numbers."""
    if not fractions:
        return (
            [lambda w, i=i: gradient(task, i, w) for i in range(CLIENTS)],
            [lambda w, i=i: loss(task, i, w) for i in range(CLIENTS)],
            (lambda value: value),
        )
    a, b = exact(task.hessians), exact(task.centers)
    return (
        [lambda w, i=i: a[i] @ (w - b[i]) for i in range(CLIENTS)],
        [lambda w, i=i: (w - b[i]) @ a[i] @ (w - b[i]) / 2 for i in range(CLIENTS)],
        lambda value: exact(value) if isinstance(value, np.ndarray) else Fraction(value),
    )


# A round of each definition on a state s, of participants with gradients g and losses f, and the algorithm's settings a


def averaged(a, g, f, s, who, p):
    clients = exact_clients(g, a.steps, weights=p)
    s.models = [averaging.fedavg(clients, s.models[0], step_size=a.step_size, server_step_size=a.server)]


def proximal(a, g, f, s, who, p):
    clients = exact_clients(g, a.steps, weights=p)
    s.models = [averaging.fedprox(clients, s.models[0], step_size=a.step_size, proximal=a.proximal)]


def corrected(a, g, f, s, who, p):
    controls = [s.controls[i] for i in who]
    clients = exact_clients(g, a.steps, weights=p, count=CLIENTS)
    settings = {"step_size": a.step_size, "option": a.option, "server_step_size": a.server}
    x, s.control[0], after = scaffold(clients, s.models[0], s.control[0], controls, **settings)
    s.models = [x]
    for i, control in zip(who, after, strict=True):
        s.controls[i] = control


def shifted(a, g, f, s, who, p):
    s.models = [fedlin(exact_clients(g, a.steps), s.models[0], step_size=a.step_size)]


def skipping(a, g, f, s, who, p):
    settings = {"step_size": a.step_size, "probability": a.probability, "communicates": a.communicates}
    own, controls = proxskip(exact_clients(g, a.steps), s.personal, s.controls, **settings)
    s.models, s.personal, s.controls = [mean(own)], own, controls


def by_cluster(a, g, f, s):
    """Return the participants, and the settings with their choices."""
    on = exact_clients(g, a.steps, count=CLIENTS, losses=f)
    return on, {"step_size": a.step_size, "chosen": on.chosen(s.models)}


def chosen(a, g, f, s, who, p):
    on, settings = by_cluster(a, g, f, s)
    s.models = clustered.ifca(on, s.models, **settings, averaging=a.averaging)


def option_1(a, g, f, s, who, p):
    on, settings = by_cluster(a, g, f, s)
    s.models, s.buffers = clustered.cfl_mgd_option_1(on, s.models, s.buffers, **settings, momentum=a.momentum)


def option_2(a, g, f, s, who, p):
    on, settings = by_cluster(a, g, f, s)
    s.models, s.buffers = clustered.cfl_mgd_option_2(on, s.models, s.buffers, **settings, momentum=a.momentum)


def fused(a, g, f, s, who, p):
    def shrink(delta):
        length = abs(delta[0]) if len(delta) == 1 else math.hypot(*delta)
        return pairs.shrinkage(length, a.strength, a.concavity, a.smoothing, a.augmentation) * delta

    settings = {"step_size": a.step_size, "augmentation": a.augmentation, "participants": who}
    on = exact_clients(g, a.steps)
    s.models, s.differences, s.duals = pairs.fpfc(
        on, s.models, s.differences, s.duals, **settings, shrink=shrink
    )


def alone(a, g, f, s, who, p):
    for i, own, steps in zip(who, g, a.steps, strict=True):
        s.models[i] = descend(own, s.models[i], a.step_size, steps)


SOME = {"step_size": 0.25, "local_steps": 2, "participation": 0.5}
ROUNDS = [
    *((FedAvg(**SOME, weighting=w, server_step_size=0.75), averaged) for w in ("clients", "samples")),
    *((FedProx(**SOME, weighting=w, proximal=0.5), proximal) for w in ("clients", "samples")),
    *(
        (Scaffold(**SOME, option=option, weighting=w, server_step_size=0.75), corrected)
        for option in ("I", "II")
        for w in ("clients", "samples")
    ),
    (FedLin(**SOME), shifted),
    (ProxSkip(step_size=0.25, probability=0.5), skipping),
    (IFCA(step_size=0.25, averaging="gradient", participation=0.5), chosen),
    (IFCA(**SOME, averaging="model"), chosen),
    (CFLMGD(step_size=0.25, momentum=0.75, normalisation="clients", participation=0.5), option_1),
    (CFLMGD(**SOME, momentum=0.75, averaging="model"), option_2),
    (
        FPFC(
            **SOME,
            penalty="scad",
            strength=0.25,
            concavity=3.5,
            smoothing=0.125,
            augmentation=1.5,
            threshold=0.25,
        ),
        fused,
    ),
    (Local(**SOME), alone),
]
"""An algorithm, and a round of its definition."""
TASKS = {
    "fractions, scalars": (quadratics(1), True),
    "fractions, vectors": (quadratics(2), True),
    "floats, vectors": (quadratics(3), False),
    "floats, logistic": (LOGISTIC, False),
}
RENAMED = {"server_step_size": "server"}


def settings_of(algorithm, number):
    """Return an algorithm's settings, of which the numbers are of one kind."""
    given = {RENAMED.get(name, name): value for name, value in vars(algorithm).items()}
    return SimpleNamespace(
        **{name: number(value) if isinstance(value, float) else value for name, value in given.items()}
    )


def compare(algorithm, round_, task, fractions, rounds=4):
    """Assert that some rounds of the algorithm and of its definition lead to the same states."""
    gradients, losses, number = kind_of(task, fractions)
    randomness = Randomness.from_seed(1)
    models = np.random.default_rng(0).integers(-8, 9, (algorithm.model_count(task), task.dimension)) / 4
    state, zero = algorithm.initialise(models, task), number(np.zeros(task.dimension))
    s = SimpleNamespace(
        models=list(number(np.asarray(state.models))),
        personal=[number(models[0])] * CLIENTS,
        control=[zero],
        controls=[zero] * CLIENTS,
        buffers=[zero for _ in models],
        differences=[[zero] * CLIENTS for _ in range(CLIENTS)],
        duals=[[zero] * CLIENTS for _ in range(CLIENTS)],
    )
    a = settings_of(algorithm, number)
    for _ in range(rounds):
        before, state = state, algorithm.step(state, task, randomness)
        who = sorted(int(client) for client in state.clients)
        if isinstance(algorithm, FPFC):  # whose server places all clients
            who = np.flatnonzero((state.models != before.models).any(axis=1)).tolist()
        if hasattr(algorithm, "probability"):
            a.communicates = bool((state.personal == state.personal[0]).all())
        g, f = ([each[i] for i in who] for each in (gradients, losses))
        sizes = task.client_samples[who] if getattr(a, "weighting", "") == "samples" else np.ones(len(who))
        p = [number(float(size)) / number(float(sizes.sum())) for size in sizes]
        a.steps = [getattr(algorithm, "local_steps", 1)] * len(who)
        round_(a, g, f, s, who, p)
        for name in ("models", "personal", "control", "controls", "buffers"):
            if hasattr(state, name):
                found = np.asarray(getattr(state, name))
                expected = np.array(getattr(s, name), dtype=float).reshape(found.shape)
                # each of a few hundred operations rounds numbers of at most 8
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def is_case(algorithm, name):
    """Leave out lengths of vectors, which are irrational, and weights by samples where clients have none."""
    if isinstance(algorithm, FPFC):
        return name != "fractions, vectors"
    return getattr(algorithm, "weighting", "") != "samples" or name != "floats, logistic"


CASES = [(*row, name) for row in ROUNDS for name in TASKS if is_case(row[0], name)]


@pytest.mark.parametrize(
    ("algorithm", "round_", "task"), CASES, ids=lambda value: getattr(value, "name", None)
)
def test_the_library_s_rounds_are_those_of_the_definition(algorithm, round_, task):
    compare(algorithm, round_, *TASKS[task])


def test_the_shrinkage_is_that_of_the_penalty():
    """On lengths that are denser than a thousandth of any end of a piece."""
    penalty, lengths = SmoothedSCAD(strength=0.25, concavity=3.5, smoothing=0.125), np.linspace(1e-4, 1, 9000)
    found = [pairs.shrinkage(length, 0.25, 3.5, 0.125, 1.5) for length in lengths]
    np.testing.assert_allclose(found, penalty.shrinkage(lengths, 1.5), rtol=0, atol=1e-12)

"""Two-sample tests of the exact-in-law sampler against drawing every row.

Each function returns p-values by name; a sampler with the right law has uniform ones.
"""

import itertools
from dataclasses import replace

import numpy as np
from scipy import stats

from clusterproof.synthetic import RegressionMixture

DRAWS = 10_000


def rotated(spectrum, seed):
    size = len(spectrum)
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]
    matrix = turn @ np.diag(spectrum) @ turn.T
    return (matrix + matrix.T) / 2


LABELS = np.array([0, 0, 1, 1, 1])
OPTIMA = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, -0.5]])
MODELS = np.array([[0.8, 0.2, 0.1], [0.1, 0.7, -0.2], [0.5, 0.5, 0.5], [-0.3, 0.1, 0.9]])
DIAGONAL = np.array([1.0, 0.5, 0.1])
FULL = np.stack([rotated([1.0, 0.5, 0.1], 1), rotated([2.0, 0.3, 0.2], 2)])


def configuration(models, **changes):
    arguments = {"optima": OPTIMA, "covariance": DIAGONAL, "noise": 0.5, "labels": LABELS, "samples": 10}
    partial = changes.pop("partial", False)
    return RegressionMixture(**{**arguments, **changes}), np.array(models), partial


CONFIGURATIONS = {
    "two models": configuration(MODELS[:2]),
    "full covariances of each cluster": configuration(MODELS[:3], covariance=FULL),
    "fewer samples than models": configuration(MODELS, samples=2),
    "one sample": configuration(MODELS[:3], samples=1, covariance=FULL),
    "no noise and more models than dimensions": configuration(
        [[0.8], [0.1], [-0.4]], optima=[[1.0], [0.0]], covariance=[0.7], noise=0.0, samples=5
    ),
    "no noise and a model at the optimum": configuration(
        [OPTIMA[0], MODELS[1], MODELS[2]], noise=0.0, covariance=FULL, samples=4
    ),
    "partial participation": configuration(MODELS[:2], samples=3, covariance=FULL, partial=True),
    "many samples": configuration(MODELS[:2], samples=60),
}


SOME = ("full covariances of each cluster", "fewer samples than models", "partial participation")
"""Configurations in which a wrong sampler is seen."""


def compare(first, second):
    """P-value of the Kolmogorov-Smirnov test; 1 for two equal constants."""
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return float(first[0] == second[0])
    return float(stats.ks_2samp(first, second, method="asymp").pvalue)


def compare_counts(first, second, categories):
    table = np.array([np.bincount(values, minlength=categories) for values in (first, second)])
    table = table[:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0


def participants(task, partial):
    if not partial:
        return np.arange(task.clients)
    keys = np.random.default_rng(0).random((DRAWS, task.clients))
    return np.sort(np.argsort(keys, axis=-1)[:, :3], axis=-1)


def both_samplings(name, ask):
    """Ask the exact and the direct version of a configuration, each with its own generator."""
    task, models, partial = CONFIGURATIONS[name]
    clients = participants(task, partial)
    wide = np.broadcast_to(models, (DRAWS, *models.shape))
    return [
        ask(replace(task, sampling=sampling), wide, clients, np.random.default_rng(seed))
        for seed, sampling in ((11, "exact"), (12, "direct"))
    ]


def loss_p_values(name):
    """Return the losses, their differences, their minimum and which model is chosen, client by client."""
    exact, direct = both_samplings(name, lambda task, *arguments: task.losses(*arguments))
    found = {}
    count = exact.shape[-1]
    for client in range(exact.shape[-2]):
        one, two = exact[:, client], direct[:, client]
        for p in range(count):
            found[f"loss of model {p}, client {client}"] = compare(one[:, p], two[:, p])
        for p, q in itertools.combinations(range(count), 2):
            found[f"loss {p} - {q}, client {client}"] = compare(one[:, p] - one[:, q], two[:, p] - two[:, q])
        found[f"smallest loss, client {client}"] = compare(one.min(axis=-1), two.min(axis=-1))
        found[f"choice, client {client}"] = compare_counts(one.argmin(-1), two.argmin(-1), count)
    return found


def vector_p_values(first, second, name):
    """Coordinates, norms and products of neighbouring coordinates of vectors (draws, d)."""
    found = {}
    for j in range(first.shape[-1]):
        found[f"{name}, coordinate {j}"] = compare(first[:, j], second[:, j])
    for j in range(first.shape[-1] - 1):
        products = [vectors[:, j] * vectors[:, j + 1] for vectors in (first, second)]
        found[f"{name}, product {j}"] = compare(*products)
    found[f"{name}, norm"] = compare(*(np.linalg.norm(vectors, axis=-1) for vectors in (first, second)))
    return found


def gradient_p_values(name):
    """Each client's gradient at a point of its own."""
    count = len(CONFIGURATIONS[name][1])

    def ask(task, models, clients, generator):
        chosen = np.arange(clients.shape[-1]) % count
        return task.gradients(models[:, chosen], clients, generator)

    exact, direct = both_samplings(name, ask)
    found = {}
    for client in range(exact.shape[-2]):
        found |= vector_p_values(exact[:, client], direct[:, client], f"gradient, client {client}")
    return found


def sum_p_values(name):
    """Pooled sums: clusters of unequal size, with clients of either kind in one of them."""

    def ask(task, models, clients, generator):
        assignments = np.minimum(np.arange(clients.shape[-1]) // 2, 1)
        assignments = np.broadcast_to(assignments, (DRAWS, clients.shape[-1]))
        return task.gradient_sums(models, clients, assignments, generator)

    exact, direct = both_samplings(name, ask)
    found = {}
    for p in range(exact.shape[-2]):
        found |= vector_p_values(exact[:, p], direct[:, p], f"sum of model {p}")
    return found


def all_p_values(kinds=(loss_p_values, gradient_p_values, sum_p_values), configurations=CONFIGURATIONS):
    """Every test of every configuration, or of some."""
    found = {}
    for name in configurations:
        for kind in kinds:
            found |= {f"{name}: {test}": value for test, value in kind(name).items()}
    return found


def bonferroni(found):
    """Return the smallest p-value times the number of tests."""
    return min(found.values()) * len(found)

"""Theorem D and the norm inequality W against their printed statements, evaluated a second time.

r_t uses y_k of rounds k < t only. So the statement is evaluated at the library's own y_k, round by round: if every r_t
is at least bias + W there, then by induction the whole bound holds, and the recursion amplifies no error.
W is a least value over b, c, g and eps. The library's search leaves the numbers that it found: the statement's formula
at these must give the library's r up to its own rounding upwards (``ROUNDED``), which detects a wrong term of any form.
Where only the bound is known, W lies between the infimum that ``tube_statements`` finds and 2 % above it.
"""

import math
from typing import Any

import numpy as np
import pytest
import statements
import tube_statements
from test_bounds_from_statements import directions, distances
from tube_statements import (
    Arguments,
    ball_quantile,
    first_form,
    gamma,
    least_norm,
    scale_factor,
    second_form,
    third_form,
)

from clusterproof import theory
from clusterproof.algorithms import CFLMGD
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds import norm_inequality
from clusterproof.theory.bounds.gaussian import along_eigenvectors, gaussian_dynamics
from clusterproof.theory.bounds.norm_inequality import NormBound, norm_bound
from clusterproof.theory.bounds.theorem_d import theorem_d, theorem_d_recorded

# The library rounds W upwards by up to this, so as to be safe.
ROUNDED = 5e-4
# Its search is so close to the infimum.
SEARCHED = 0.02
SHARES = (0.2, 0.4, 0.4)  # delta_1, delta_2 and delta_3 of a failure probability


def assert_proved(
    found: NormBound,
    at: tuple[int, ...],
    needed: Arguments,
    level: float,
    dimension: int,
) -> None:
    """The radius follows from the statement's formula at the search's own b, c, g and eps."""
    fields = ("form", "radius", "inverse_variance", "tilt", "factor", "truncation")
    form, radius, b, c, g, eps = (np.asarray(getattr(found, name))[at].item() for name in fields)
    if needed.tr == 0:
        assert radius == 0
        return
    if form == 1:
        value = first_form(needed.tr, needed.op, level, b, c, g, eps)
        least = scale_factor(needed.scale, c, b, ball_quantile(dimension, eps))
    elif form == 2:
        value = second_form(needed.tr, needed.op, level, dimension, needed.v, needed.eps_1, b, g, eps)
        least = scale_factor(needed.scale, value / b, b, ball_quantile(dimension, eps))
    else:
        assert dimension == 1
        value, least = third_form(needed.tr, needed.scale, level, c), gamma(needed.scale * c)
    assert least <= g * (1 + 1e-9)
    assert value * (1 - 1e-9) <= radius <= value * (1 + ROUNDED)


def assert_nearly_least(radius: float, needed: Arguments, level: float, dimension: int) -> None:
    """The radius is admitted by the norm inequality, and the search for it was not poor."""
    least = least_norm(needed.tr, needed.op, needed.scale, level, dimension, needed.v, needed.eps_1)
    # y is multiplied by 1 + 1e-9, and r is recovered by subtraction
    assert least * (1 - 1e-7) <= radius <= least * (1 + SEARCHED) + 1e-9


@pytest.mark.parametrize(
    ("tr", "op", "scale", "level", "dimension"),
    [
        (20.0, 1.0, 0.02, math.log(50), 20),
        (1.0, 1.0, 0.1, math.log(50), 1),
        (4.0, 4.0, 3.0, math.log(20), 1),
        (100.0, 1.0, 2.0, math.log(100), 100),
        (3.0, 2.0, 0.05, math.log(1e6), 2),
        (1e-6, 9e-7, 1e-4, 2.0, 3),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_norm_inequality(
    tr: float, op: float, scale: float, level: float, dimension: int, known: bool
) -> None:
    """With and without the profile v, of which a tenth of op is eps_1."""
    profile, slack = None, 0.0
    if known:
        slack = op / 10 if dimension > 1 else 0.0
        profile = np.full(dimension, (tr - op) / max(dimension - 1, 1))
        profile[0] = op - slack
    needed = Arguments(0.0, tr, op, scale, profile, slack)
    found = norm_bound(tr, op, scale, level, dimension, profile=profile, slack=slack)
    assert_proved(found, (), needed, level, dimension)
    assert_nearly_least(float(found.radius), needed, level, dimension)
    b, c, g, eps = 0.7 * math.sqrt(op * tr / level), 1.3 / math.sqrt(op), 1.4, 0.05
    np.testing.assert_allclose(
        norm_inequality.second_form(
            tr, op, level, dimension, b=b, g=g, truncation=eps, profile=profile, slack=slack
        ),
        second_form(tr, op, level, dimension, profile, slack, b, g, eps),
        rtol=1e-12,
    )
    small = min(scale, 0.5 / (c + math.sqrt(ball_quantile(dimension, eps) / b)))
    factor = scale_factor(small, c, b, ball_quantile(dimension, eps))
    np.testing.assert_allclose(
        norm_inequality.first_form(tr, op, small, level, dimension, b=b, c=c, truncation=eps),
        first_form(tr, op, level, b, c, factor, eps),
        rtol=1e-9,
    )


# own clients, d, kappa, n', noise, momentum, step, T, ||e_0||, failure probability, kind of covariance
TUBES = [
    ((5,), 1, 1.0, 50, 0.5, 0.0, 1.0, 1, 0.2, 0.05, "common"),
    ((20, 20), 4, 4.0, 2000, 0.5, 0.5, 1.0, 20, 0.2, 0.05, "common"),
    ((30, 10), 5, 1.0, 200, 0.0, 0.9, 1.0, 15, 0.2, 0.3, "rotated"),
    ((1000, 600, 400), 3, 1.5, 14, 0.7, 0.5, 1.0, 6, 0.3, 0.2, "different"),
    ((1000, 600, 400), 3, 1.5, 14, 1.1, 0.5, 0.4, 4, 0.3, 0.2, "steep"),
    ((400, 300, 200, 100), 4, 2.0, 40, 0.5, 0.9, 0.5, 12, 0.3, 0.01, "rotated"),
    ((10000, 10000), 10, 1.0, 14, 0.7, 0.0, 1.0, 8, 0.3, 0.05, "common"),
]


def tube_task(
    own: tuple[int, ...], dimension: int, kappa: float, samples: int, noise: float, kind: str
) -> tuple[RegressionMixture, np.ndarray, np.ndarray]:
    """A regression, its eigenvalues (P, d) and eigenvectors (P, d, d)."""
    P = len(own)
    spectrum = np.geomspace(1 / kappa, 1, dimension) if dimension > 1 else np.ones(1)
    spectra = np.array([spectrum * (1 - 0.1 * p * (kind in ("different", "steep"))) for p in range(P)])
    spectra *= 2.5 if kind == "steep" else 1.0  # L is not 1
    vectors = np.array([np.eye(dimension)] * P)
    if kind == "rotated":
        vectors[:] = np.linalg.qr(np.cos(np.arange(dimension**2)).reshape(dimension, dimension))[0]
    optima = np.zeros((P, dimension))
    for p in range(P):
        optima[p, p % dimension] = 2.0 + p
    covariance = np.einsum("pij,pj,pkj->pik", vectors, spectra, vectors)
    task = RegressionMixture(
        optima=optima,
        covariance=spectrum if kind == "common" else (covariance + covariance.swapaxes(1, 2)) / 2,
        noise=noise,
        labels=np.repeat(np.arange(P), own),
        samples=samples,
    )
    return task, spectra, vectors


def misassignment(task: RegressionMixture, spectra: np.ndarray, reach: np.ndarray) -> list[Any]:
    """pi_k from the widest y_k of every round; ``reach`` is (T + 1, P)."""
    return [
        statements.worst_pairwise_error(
            spectra.max(), spectra.min(), distances(task)[0], task.noise, max(y), task.samples
        )
        for y in reach[:-1]
    ]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("tube", TUBES)
def test_theorem_d(tube: tuple) -> None:
    own, dimension, kappa, samples, noise, momentum, step, T, start, delta, kind = tube
    task, spectra, vectors = tube_task(own, dimension, kappa, samples, noise, kind)
    P, m = len(own), sum(own)
    displacement = directions((P, dimension), start)
    algorithm = CFLMGD(step_size=step, momentum=momentum)
    trace = run(algorithm, task, rounds=T, seed=0, initial=task.optima + displacement)
    allowed = theory.bound("cfl-mgd/theorem-d", task, trace, failure_probability=delta)
    np.testing.assert_allclose(allowed.failure_probability, delta, rtol=1e-12)
    deltas = tuple(share * delta for share in SHARES)
    found = theorem_d(
        gaussian_dynamics(task, algorithm),
        along_eigenvectors(task, task.optima + displacement),
        rounds=T,
        failure=deltas,
    )
    # ``bound`` allows for the rounding of the models. Its last row is the sharper bound after round T.
    np.testing.assert_allclose(allowed.bound[:-1], found.reach[:-1], rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(allowed.deviation[:-1], found.deviation[:-1], rtol=1e-8, atol=1e-11)
    # models that follow the path to rounding are within the bound, and no bound is raised by much more
    path = np.linalg.norm(allowed.reference - task.optima, axis=-1)
    assert allowed.bound[0] - allowed.deviation[0] - path[0] == pytest.approx(1e-9 * path[0], rel=1e-3)
    np.testing.assert_allclose(allowed.bound[-1], allowed.last, rtol=1e-8, atol=1e-11)
    everywhere, at_last = math.log(P * T / deltas[1]), math.log(P / deltas[2])
    pairwise = misassignment(task, spectra, allowed.bound)
    sizes = {"clients": m, "rows": samples, "step": step, "L": spectra.max(), "diameter": distances(task)[1]}
    for p in range(P):
        path, impulse = tube_statements.constant_responses(step * own[p] / m * spectra[p], momentum, T)
        free = path * (vectors[p].T @ displacement[p])
        reference = task.optima[p] + free @ vectors[p].T
        np.testing.assert_allclose(allowed.reference[:, p], reference, atol=1e-10)
        growth = np.linalg.norm(free, axis=1)
        n_in, n_out = np.array([statements.counts(own[p], m, P, T, pi, deltas[0]) for pi in pairwise]).T
        looked_at = {1, T - 1} if p == 0 else set()
        for t in range(1, T + 1):
            past = tube_statements.theorem_d_past(
                t, impulse, own=own[p], reach=allowed.bound[:, p], n_in=n_in, n_out=n_out, **sizes
            )
            needed = tube_statements.arguments(past, spectra[p], spectra, noise)
            assert_proved(found.searches[t - 1], (p,), needed, everywhere, dimension)
            radius = found.searches[t - 1].radius[p]
            np.testing.assert_allclose(found.deviation[t, p], needed.bias + radius, rtol=1e-8, atol=1e-300)
            np.testing.assert_allclose(found.reach[t, p], growth[t] + found.deviation[t, p], rtol=1e-8)
            if t in looked_at and t < T:
                assert_nearly_least(allowed.deviation[t, p] - needed.bias, needed, everywhere, dimension)
        assert_proved(found.searches[T], (p,), needed, at_last, dimension)
        assert_nearly_least(allowed.last[p] - growth[T] - needed.bias, needed, at_last, dimension)
        np.testing.assert_allclose(allowed.deviation[T, p], found.last_deviation[p], rtol=1e-8, atol=1e-11)
        np.testing.assert_allclose(found.last_reach[p], allowed.last[p], rtol=1e-8, atol=1e-11)
    if kind == "common" and own == (2000, 2000):
        assert n_in.max() > 1


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("own", "samples", "start", "kind"),
    [((20,), 20_000, 0.1, "common"), ((3000, 2000), 9, 0.7, "common"), ((3000, 2000), 9, 0.7, "different")],
)
def test_theorem_d_over_a_long_run(own: tuple[int, ...], samples: int, start: float, kind: str) -> None:
    """Without noise in y all falls below 1e-20, and rounds 100 ago weigh as much as the last one."""
    T, momentum, delta = 160, 0.3, (0.01, 0.02, 0.02)
    task, spectra, vectors = tube_task(own, 2, 1.0, samples, 0.0, kind)
    P, m = len(own), sum(own)
    displacement = directions((P, 2), start)
    algorithm = CFLMGD(step_size=1.3, momentum=momentum)
    tube = theorem_d(
        gaussian_dynamics(task, algorithm),
        along_eigenvectors(task, task.optima + displacement),
        rounds=T,
        failure=delta,
    )
    pairwise = misassignment(task, spectra, tube.reach)
    for p in range(P):
        path, impulse = tube_statements.constant_responses(1.3 * own[p] / m * spectra[p], momentum, T)
        growth = np.linalg.norm(path * (vectors[p].T @ displacement[p]), axis=1)
        n_in, n_out = np.array([statements.counts(own[p], m, P, T, pi, delta[0]) for pi in pairwise]).T
        assert P == 1 or n_in[0] > 0
        for t in range(1, T + 1):
            past = tube_statements.theorem_d_past(
                t,
                impulse,
                own=own[p],
                clients=m,
                rows=samples,
                step=1.3,
                L=1.0,
                reach=tube.reach[:, p],
                diameter=distances(task)[1],
                n_in=n_in,
                n_out=n_out,
            )
            needed = tube_statements.arguments(past, spectra[p], spectra, 0.0)
            assert_proved(tube.searches[t - 1], (p,), needed, math.log(P * T / delta[1]), 2)
            radius = tube.searches[t - 1].radius[p]
            drift = tube.deviation[t, p] - radius
            assert needed.bias + radius <= tube.deviation[t, p] * (1 + 1e-12)
            assert drift <= needed.bias * (1 + 1e-8) + 1e-8 * radius + 1e-20
            np.testing.assert_allclose(tube.reach[t, p], growth[t] + tube.deviation[t, p], rtol=1e-8)
    assert tube.reach[-1].max() < 1e-20


# own clients, kappa, n', noise, momentum, T, participation, options, failure probability; ||e_0|| = .125, eta 1, d 4
PARTIAL = [
    ((20, 20), 4.0, 2000, 0.5, 0.3, 8, 0.5, {"normalisation": "cluster"}, 0.05),
    ((30, 10), 4.0, 2000, 0.5, 0.9, 8, 0.5, {"normalisation": "clients"}, 0.3),
    ((20, 20), 4.0, 2000, 0.5, 0.5, 8, 0.1, {"normalisation": "cluster", "empty_cluster": "freeze"}, 0.05),
    ((20, 20), 4.0, 2000, 0.5, 0.5, 8, 0.1, {"normalisation": "clients", "empty_cluster": "coast"}, 0.05),
    ((6,), 1.0, 100, 0.5, 0.9, 20, 0.5, {"normalisation": "participants"}, 0.05),
    (
        (15, 25),
        4.0,
        2000,
        0.5,
        0.9,
        4,
        0.2,
        {"averaging": "model", "local_steps": 3, "reset_momentum": True},
        0.2,
    ),
    ((15, 10, 15), 1.0, 2000, 0.5, 0.5, 6, 0.1, {"averaging": "model", "local_steps": 2}, 0.05),
]


def recorded_clusters(trace: Any, clusters: int) -> np.ndarray:
    """k_(t,p), participants of each cluster by their true labels, (T, replicates, P)."""
    took_part = trace.assignments >= 0
    return np.stack([(took_part & (trace.labels == p)).sum(-1) for p in range(clusters)], axis=-1)


def recorded_divisor(algorithm: CFLMGD, k: np.ndarray, clients: int, drawn: int) -> np.ndarray:
    """N_t of one cluster: m, K or k_t; k_t in option II."""
    if algorithm.averaging == "model" or algorithm.normalisation == "cluster":
        return k
    return np.full_like(k, clients if algorithm.normalisation == "clients" else drawn)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("partial", PARTIAL)
def test_theorem_d_on_the_record(partial: tuple) -> None:
    own, kappa, samples, noise, momentum, T, participation, options, delta = partial
    task, spectra, _ = tube_task(own, 4, kappa, samples, noise, "common")
    P, m = len(own), sum(own)
    displacement = directions((P, 4), 0.125)
    algorithm = CFLMGD(step_size=1.0, momentum=momentum, participation=participation, **options)
    trace = run(algorithm, task, rounds=T, seed=0, replicates=2, initial=task.optima + displacement)
    allowed = theory.bound("cfl-mgd/theorem-d", task, trace, failure_probability=delta)
    counts = recorded_clusters(trace, P)
    K, H = int(counts[0, 0].sum()), algorithm.local_steps
    deltas = tuple(share * delta for share in SHARES)
    tube = theorem_d_recorded(
        gaussian_dynamics(task, algorithm),
        along_eigenvectors(task, task.optima + displacement),
        counts,
        failure=deltas,
    )
    everywhere, at_last = math.log((2 if H > 1 else 1) * P * T / deltas[1]), math.log(P / deltas[2])
    inside = math.log(2 * K * T * (H - 1) / deltas[1]) if H > 1 else 0.0
    failures = []
    for i in range(2):
        pairwise = misassignment(task, spectra, allowed.bound[:, i]) if P > 1 else [0] * T
        failures.append(deltas[1] + deltas[2] + K * (P - 1) * float(sum(pairwise)))
        for p in range(P):
            chain, k = i * P + p, counts[:, i, p]
            divisor = recorded_divisor(algorithm, k, m, K)
            share = np.repeat(k / np.where(k > 0, divisor, 1), H)
            freezes = algorithm.averaging == "model" or algorithm.empty_cluster == "freeze"
            path, response = tube_statements.varying_responses(
                share[:, None] * spectra[p],
                momentum,
                np.repeat((k == 0) & freezes, H),
                (np.arange(T * H) % H == 0) & algorithm.reset_momentum,
            )
            free = path * displacement[p]
            np.testing.assert_allclose(allowed.reference[:, i, p] - task.optima[p], free[::H], atol=1e-10)
            growth = np.linalg.norm(free, axis=1)
            reach = tube.steps[:, chain]
            np.testing.assert_allclose(reach[::H][:-1], allowed.bound[:-1, i, p], rtol=1e-8, atol=1e-11)
            for t in range(1, T * H + 1):
                if t % H and k[t // H] == 0:  # nobody of the cluster takes local steps
                    continue
                past = tube_statements.participation_past(
                    t,
                    response[t, :t],
                    members=k,
                    divisor=divisor,
                    rows=samples,
                    step=1.0,
                    local_steps=H,
                    reach=reach,
                    inside=t % H > 0,
                )
                needed = tube_statements.arguments(past, spectra[p], spectra, noise)
                level = inside if t % H else everywhere
                assert_proved(tube.searches[t - 1], (chain,), needed, level, 4)
                np.testing.assert_allclose(
                    reach[t], growth[t] + tube.searches[t - 1].radius[chain], rtol=1e-8, atol=1e-300
                )
                if i == 0 and t == H * (T // 2):
                    assert_nearly_least(allowed.deviation[t // H, i, p], needed, everywhere, 4)
            assert_proved(tube.searches[-1], (chain,), needed, at_last, 4)
            np.testing.assert_allclose(
                [allowed.last[i, p] - growth[-1], allowed.deviation[T, i, p]],
                tube.searches[-1].radius[chain],
                rtol=1e-7,
                atol=1e-11,
            )
    np.testing.assert_allclose(allowed.failure_probability, max(failures), rtol=1e-6)

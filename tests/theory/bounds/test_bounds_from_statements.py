"""Theorem A against its printed statement, which ``helpers/statements.py`` evaluates."""

import math
from fractions import Fraction

import numpy as np
import pytest
import statements
from statements import real

from clusterproof import theory
from clusterproof.algorithms import CFLMGD
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.bounds.theorem_a import BoundParts, TheoremA, contractions

# Double precision against 30 digits, over at most 40 rounds of a stable recursion.
RELATIVE = 1e-9


def setting_of_numbers(
    sizes: tuple[int, ...],
    kappa: float,
    momentum: float,
    rounds: int,
    noise: float,
    pi: float,
    samples: int,
    step: float,
    start: float,
    radius: float = 0.9,
) -> Setting:
    """A setting with d = 5, at a basin radius of ``radius`` times the largest one."""
    return Setting(
        proportions=tuple(count / sum(sizes) for count in sizes),
        clients=sum(sizes),
        samples=samples,
        rounds=rounds,
        smoothness=2.0,
        strong_convexity=2.0 / kappa,
        separation=2.0,
        diameter=3.0,
        noise=noise,
        trace=float(np.geomspace(2.0 / kappa, 2.0, 5).sum()),
        step_size=step,
        momentum=momentum,
        radius=radius * 2.0 / (1 + math.sqrt(kappa)),
        start=tuple(start * (1 + p / 7) for p in range(len(sizes))),
        misclassification=pi,
        failure=(0.02, 0.1, 0.07),
    )


def common_arguments(setting: Setting, sizes: tuple[int, ...], p: int) -> dict[str, object]:
    """Counts, noise and sizes of cluster p."""
    m, P, T = setting.clients, len(sizes), setting.rounds
    delta_1, delta_2, delta_3 = setting.failure
    n_in, n_out = statements.counts(sizes[p], m, P, T, setting.misclassification, delta_1)
    s2, tau2 = statements.gradient_noise(
        sizes[p],
        m,
        setting.samples,
        setting.smoothness,
        setting.trace,
        setting.noise,
        real(setting.diameter) + setting.radius,
        n_in,
    )
    return {
        "eta": setting.step_size,
        "L": setting.smoothness,
        "m": m,
        "n_in": n_in,
        "n_out": n_out,
        "D": setting.diameter,
        "B": setting.radius,
        "P": P,
        "T": T,
        "start": setting.start[p],
        "s2": s2,
        "tau2": tau2,
        "delta_2": delta_2,
        "delta_3": delta_3,
    }


def assert_parts(parts: BoundParts, p: int, all_rounds: list[object], last: object) -> None:
    """The parts' column p is the statement's, at every round and after the last."""
    np.testing.assert_allclose(parts.all_rounds[:, p], np.array(all_rounds, dtype=float), rtol=RELATIVE)
    np.testing.assert_allclose(parts.last_round[p], float(last), rtol=RELATIVE)


# own clients, kappa, momentum, T, noise, pi, n', step, start. L = 2, Delta = 2, D = 3. Few different dynamics: a
# certificate takes long to find.
CERTIFIED = [
    ((20,), 4.0, 0.5, 12, 0.5, 0.0, 10**6, 0.5, 0.1),
    ((20,), 4.0, 0.5, 1, 0.0, 0.0, 10**3, 0.5, 0.1),
    ((300, 300), 4.0, 0.3, 5, 0.5, 1e-4, 10**7, 0.5, 0.05),
    ((250, 750), 1.0, 0.0, 5, 0.5, 1e-3, 10**6, 0.5, 0.1),
    ((10, 10, 10), 1.0, 0.9, 30, 0.2, 0.0, 10**7, 0.5, 0.2),
    ((200, 200, 200, 200), 1.0, 0.0, 8, 0.3, 1e-3, 10**6, 0.5, 0.1),
]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("numbers", CERTIFIED)
def test_theorem_a(numbers: tuple) -> None:
    """Each cluster's bound is the statement's at the certificate that is the best after T of those that fit."""
    sizes = numbers[0]
    setting = setting_of_numbers(*numbers)
    parts = TheoremA().parts(setting)
    for p in range(len(sizes)):
        candidates = []
        share = Fraction(sizes[p], sum(sizes))
        for certificate in contractions(
            setting.momentum, numbers[1], share, setting.step_size * setting.smoothness
        ):
            result = statements.theorem_a(
                r=certificate.rate,
                C0=certificate.start,
                C1=certificate.disturbance,
                is_norm=certificate.is_norm,
                **common_arguments(setting, sizes, p),
            )
            if result is not None:
                candidates.append(result)
        if not candidates:
            assert not parts.applicable
            continue
        # At T the bound on all rounds holds, too, and with less failure probability: the smaller of both is the last.
        bound, last = min(candidates, key=lambda pair: min(pair[0][-1], pair[1]))
        assert_parts(parts, p, bound, min(bound[-1], last))


def gaussian_task(
    sizes: tuple[int, ...], dimension: int, kappa: float, noise: float, samples: int
) -> tuple[RegressionMixture, np.ndarray]:
    """A regression with L = 1 and optima at distances of at least 2, and the eigenvalues of its covariance."""
    spectrum = np.geomspace(1 / kappa, 1, dimension) if dimension > 1 else np.ones(1)
    optima = np.zeros((len(sizes), dimension))
    for p in range(len(sizes)):
        optima[p, p % dimension] = 2.0 + p
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return RegressionMixture(
        optima=optima, covariance=spectrum, noise=noise, labels=labels, samples=samples
    ), spectrum


def directions(shape: tuple[int, ...], length: float) -> np.ndarray:
    """Displacements of a given length in fixed irregular directions."""
    vectors = np.cos(1 + 2.3 * np.arange(math.prod(shape))).reshape(shape)
    return length * vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def distances(task: RegressionMixture) -> tuple[float, float]:
    """Delta and D from the optima; infinite and 0 for one cluster."""
    optima = task.optima
    pairs = [np.linalg.norm(optima[p] - optima[q]) for p in range(len(optima)) for q in range(p)]
    return min(pairs, default=math.inf), max(pairs, default=0.0)


@pytest.mark.slow(reason="a second or more")
def test_bound_on_a_run() -> None:
    """A third of the failure probability is delta_1, the rest delta_2; without misassigned clients no radius enters."""
    sizes, kappa, noise, samples, delta, momentum, rounds = (20, 20), 4.0, 0.5, 10**6, 0.06, 0.3, 9
    task, spectrum = gaussian_task(sizes, 3, kappa, noise, samples)
    displacement = directions((2, 3), 0.05) * np.array([[1.0], [1.5]])
    algorithm = CFLMGD(step_size=1.0, momentum=momentum)
    trace = run(algorithm, task, rounds=rounds, seed=0, initial=task.optima + displacement)
    allowed = theory.bound("cfl-mgd/theorem-a", task, trace, failure_probability=delta)
    s2, tau2 = statements.gradient_noise(20, 40, samples, 1.0, float(spectrum.sum()), noise, 3.0, 0)
    common = {"eta": 1.0, "L": 1.0, "m": 40, "n_in": 0, "n_out": 0, "D": 2.0, "P": 2, "T": rounds}
    common |= {"s2": s2, "tau2": tau2, "delta_2": 2 * delta / 3, "delta_3": 0.1, "B": 0.66}
    for p in range(2):
        common |= {"start": float(np.linalg.norm(displacement[p]))}
        results = [
            statements.theorem_a(r=c.rate, C0=c.start, C1=c.disturbance, is_norm=c.is_norm, **common)
            for c in contractions(momentum, kappa, Fraction(1, 2), 1.0)
        ]
        differences = [
            np.abs(allowed.bound[:, p] / np.array(result[0], dtype=float) - 1).max()
            for result in results
            if result is not None
        ]
        assert min(differences) < RELATIVE
    assert 2 * delta / 3 <= allowed.failure_probability <= delta * (1 + 1e-12)


def test_a_start_outside_the_basin_does_not_meet_the_hypotheses() -> None:
    """With momentum 0 and kappa = 1 the basin is B = 0.9, and at round 0 the bound is at least ||e_0||."""
    inside, outside = (
        TheoremA().parts(setting_of_numbers((20,), 1.0, 0.0, 1, 0.5, 0.0, 10**6, 0.5, start))
        for start in (0.1, 1.0)
    )
    assert inside.applicable
    assert outside.all_rounds_failure < 1
    assert not outside.applicable

"""Theorems A, B and B1 against their printed statements, which ``helpers/statements.py`` evaluates."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
import statements
from statements import real

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.bound_parts import BoundParts
from clusterproof.theory.bounds.corollary_b1 import CorollaryB1
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.bounds.statements import admissible
from clusterproof.theory.bounds.theorem_a import TheoremA, contractions
from clusterproof.theory.bounds.theorem_b import TheoremB
from clusterproof.theory.checker.sides import Outside

# Double precision against 30 digits, over at most 40 rounds of a stable recursion.
RELATIVE = 1e-9

# own clients, kappa, momentum, T, noise, pi, n', step, start. L = 2, Delta = 2, D = 3.
NUMBERS = [
    ((20,), 1.0, 0.0, 1, 0.5, 0.0, 500, 0.5, 0.1),
    ((20,), 4.0, 0.5, 12, 0.5, 0.0, 10**6, 0.5, 0.1),
    ((10, 30), 1.0, 0.0, 12, 0.0, 0.0, 10**6, 0.5, 0.1),
    ((10, 30), 4.0, 0.3, 40, 0.5, 0.0, 10**7, 0.5, 0.05),
    ((10, 30), 4.0, 0.9, 20, 0.5, 0.0, 10**7, 0.5, 0.05),
    ((5, 10, 15), 1.0, 0.9, 30, 0.2, 0.0, 10**7, 0.4, 0.2),
    ((5, 10, 15), 50.0, 0.5, 6, 0.5, 0.0, 10**8, 0.5, 0.02),
    ((400, 600), 1.0, 0.2, 5, 0.5, 1e-3, 10**6, 0.5, 0.1),
    ((100, 200, 300, 400), 1.0, 0.0, 8, 0.3, 1e-3, 10**6, 0.25, 0.1),
    ((500, 300, 200), 4.0, 0.5, 10, 0.2, 1e-7, 10**7, 0.5, 0.02),
]


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
    """What Theorems A and B share: counts, noise and sizes of cluster p."""
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


@pytest.mark.parametrize("numbers", NUMBERS)
def test_theorem_b(numbers: tuple) -> None:
    sizes = numbers[0]
    setting = setting_of_numbers(*numbers)
    parts = TheoremB().parts(setting)
    inside = True
    for p in range(len(sizes)):
        bound, last = statements.theorem_b(
            own=sizes[p],
            beta=setting.momentum,
            mu=setting.strong_convexity,
            **common_arguments(setting, sizes, p),
        )
        assert_parts(parts, p, bound, last)
        inside &= max(bound) <= setting.radius
    delta_1, delta_2, delta_3 = setting.failure
    assert parts.applicable == inside
    assert delta_2 <= parts.all_rounds_failure <= (delta_1 + delta_2) * (1 + 1e-12)
    np.testing.assert_allclose(parts.last_round_failure - parts.all_rounds_failure, delta_3, rtol=1e-9)


# As NUMBERS, with few different dynamics: a certificate takes long to find.
CERTIFIED = [
    ((20,), 4.0, 0.5, 12, 0.5, 0.0, 10**6, 0.5, 0.1),
    ((20,), 4.0, 0.5, 1, 0.0, 0.0, 10**3, 0.5, 0.1),
    ((20, 20), 4.0, 0.3, 40, 0.5, 0.0, 10**7, 0.5, 0.05),
    ((300, 300), 4.0, 0.3, 5, 0.5, 1e-4, 10**7, 0.5, 0.05),
    ((20, 20), 50.0, 0.5, 6, 0.5, 0.0, 10**9, 0.5, 0.01),
    ((10, 30), 1.0, 0.0, 12, 0.0, 0.0, 10**6, 0.5, 0.1),
    ((250, 750), 1.0, 0.0, 5, 0.5, 1e-3, 10**6, 0.5, 0.1),
    ((10, 10, 10), 1.0, 0.9, 30, 0.2, 0.0, 10**7, 0.5, 0.2),
    ((10, 10, 20), 1.0, 0.0, 20, 0.3, 0.0, 10**5, 0.5, 0.1),
    ((200, 200, 200, 200), 1.0, 0.0, 8, 0.3, 1e-3, 10**6, 0.5, 0.1),
]


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


# own clients (equal ones and unequal ones), kappa, T, noise, pi, n', start; step 1/L, momentum (1 - sqrt(l / kappa))^2.
TUNED = [
    ((20,), 1.0, 1, 0.5, 0.0, 10**5, 0.1),
    ((20,), 4.0, 20, 0.5, 0.0, 10**8, 0.05),
    ((20, 20), 1.0, 12, 0.5, 0.0, 10**6, 0.1),
    ((20, 20), 4.0, 40, 0.0, 0.0, 10**9, 0.1),
    ((10, 30), 1.0, 10, 0.2, 1e-6, 10**8, 0.2),
    ((10, 30), 50.0, 5, 0.5, 0.0, 10**10, 0.02),
    ((5, 10, 15), 1.0, 8, 0.5, 1e-5, 10**8, 0.2),
    ((5, 10, 15), 4.0, 30, 0.0, 1e-9, 10**9, 0.05),
    ((1, 2, 3, 4), 1.0, 15, 0.3, 1e-7, 10**9, 0.1),
    ((4, 4, 4, 4), 4.0, 25, 0.5, 1e-8, 10**10, 0.05),
]


@pytest.mark.parametrize("tuned", TUNED)
def test_corollary_b1(tuned: tuple) -> None:
    sizes, kappa, rounds, noise, pi, samples, start = tuned
    momentum = (1 - math.sqrt(min(sizes) / sum(sizes) / kappa)) ** 2
    setting = setting_of_numbers(sizes, kappa, momentum, rounds, noise, pi, samples, 0.5, start)
    parts = CorollaryB1().parts(setting)
    delta_2, delta_3 = setting.failure[1:]
    inside = True
    for p in range(len(sizes)):
        bound, last = statements.corollary_b1(
            own=sizes[p],
            least=min(sizes),
            m=sum(sizes),
            n=samples,
            P=len(sizes),
            T=rounds,
            mu=2.0 / kappa,
            L=2.0,
            B=setting.radius,
            start=setting.start[p],
            trace=setting.trace,
            s=noise,
            delta_2=delta_2,
            delta_3=delta_3,
        )
        assert_parts(parts, p, bound, last)
        # (2 / sqrt(3)) ||e_0|| + sqrt(PT / delta_2) S_p <= B, and S_p is what the bound has beyond the path at 0
        inside &= bound[0] <= setting.radius
    misassigned = rounds * sum(sizes) * (len(sizes) - 1) * pi
    np.testing.assert_allclose(parts.all_rounds_failure, delta_2 + misassigned, rtol=1e-9)
    np.testing.assert_allclose(parts.last_round_failure, delta_2 + delta_3 + misassigned, rtol=1e-9)
    assert parts.applicable == inside
    left = (1 - delta_2 - delta_3) * pi / misassigned if misassigned else 0.0
    for share in (0.99, 1.01):  # the failure probability is to be below 1
        likely = dataclasses.replace(setting, misclassification=share * left)
        assert CorollaryB1().parts(likely).applicable == (inside and (share < 1 or left == 0))


# own clients, d, kappa, momentum, T, noise, n', step, start, delta
GAUSSIAN = [
    ((20, 20), 1, 1.0, 0.0, 1, 0.5, 50, 1.0, 0.3, 0.05),
    ((5, 35), 3, 4.0, 0.9, 40, 0.5, 2000, 1.0, 0.1, 0.2),
    ((10, 10), 2, 1.0, 0.5, 6, 0.0, 400, 1.0, 0.3, 0.05),
    ((10, 10), 3, 4.0, 0.5, 9, 0.5, 1000, 1.0, 0.2, 0.1),
    ((30, 10), 4, 4.0, 0.9, 12, 0.5, 4000, 1.0, 0.1, 0.05),
    ((30, 10), 2, 50.0, 0.0, 25, 0.2, 4000, 1.0, 0.1, 0.3),
    ((30, 20, 10), 3, 1.0, 0.0, 5, 0.7, 60, 1.0, 0.3, 0.05),
    ((30, 20, 10), 3, 2.0, 0.9, 30, 0.3, 3000, 0.7, 0.2, 0.1),
    ((8, 8, 8, 8), 2, 1.0, 0.5, 20, 0.5, 200, 0.5, 0.3, 0.05),
    ((40, 30, 20, 10), 3, 50.0, 0.5, 8, 0.1, 20000, 1.0, 0.05, 0.2),
]


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


@pytest.mark.parametrize("rounds", [1, 9])
@pytest.mark.parametrize("name", ["theorem-a", "theorem-b", "corollary-b1"])
def test_bound_on_a_run(name: str, rounds: int) -> None:
    """A third of the failure probability is delta_1, the rest delta_2; without misassigned clients no radius enters."""
    sizes, kappa, noise, samples, delta = (20, 20), 4.0, 0.5, 10**6, 0.06
    task, spectrum = gaussian_task(sizes, 3, kappa, noise, samples)
    displacement = directions((2, 3), 0.05) * np.array([[1.0], [1.5]])
    momentum = (1 - math.sqrt(0.5 / kappa)) ** 2 if name == "corollary-b1" else 0.3
    trace = run(
        CFLMGD(step_size=1.0, momentum=momentum),
        task,
        rounds=rounds,
        seed=0,
        initial=task.optima + displacement,
    )
    allowed = theory.bound(f"cfl-mgd/{name}", task, trace, failure_probability=delta)
    trace_of = float(spectrum.sum())
    for p in range(2):
        start = float(np.linalg.norm(displacement[p]))
        s2, tau2 = statements.gradient_noise(20, 40, samples, 1.0, trace_of, noise, 3.0, 0)
        common = {
            "eta": 1.0,
            "L": 1.0,
            "m": 40,
            "n_in": 0,
            "n_out": 0,
            "D": 2.0,
            "P": 2,
            "T": rounds,
            "start": start,
        }
        common |= {"s2": s2, "tau2": tau2, "delta_2": 2 * delta / 3, "delta_3": 0.1, "B": 0.66}
        if name == "theorem-b":
            bounds = [statements.theorem_b(own=20, beta=momentum, mu=1 / kappa, **common)[0]]
        elif name == "theorem-a":
            results = [
                statements.theorem_a(r=c.rate, C0=c.start, C1=c.disturbance, is_norm=c.is_norm, **common)
                for c in contractions(momentum, kappa, Fraction(1, 2), 1.0)
            ]
            bounds = [result[0] for result in results if result is not None]
        else:  # here the radius enters, through v^2: the bound lies between those of the least and the largest
            least, largest = (
                np.array(
                    statements.corollary_b1(
                        own=20,
                        least=20,
                        m=40,
                        n=samples,
                        P=2,
                        T=rounds,
                        mu=1 / kappa,
                        L=1.0,
                        B=radius,
                        start=start,
                        trace=trace_of,
                        s=noise,
                        delta_2=2 * delta / 3,
                        delta_3=0.1,
                    )[0],
                    dtype=float,
                )
                for radius in (0.0, 2 / 3)
            )
            assert (least <= allowed.bound[:, p]).all()
            assert (allowed.bound[:, p] <= largest).all()
            continue
        differences = [
            np.abs(allowed.bound[:, p] / np.array(bound, dtype=float) - 1).max() for bound in bounds
        ]
        assert min(differences) < RELATIVE
    assert 2 * delta / 3 <= allowed.failure_probability <= delta * (1 + 1e-12)


@pytest.mark.parametrize("bound", [TheoremA(), TheoremB()])
def test_a_start_outside_the_basin_does_not_meet_the_hypotheses(bound: TheoremA | TheoremB) -> None:
    """With momentum 0 and kappa = 1 the basin is B = 0.9, and at round 0 the bound is at least ||e_0||."""
    inside, outside = (
        bound.parts(setting_of_numbers((20,), 1.0, 0.0, 1, 0.5, 0.0, 10**6, 0.5, start))
        for start in (0.1, 1.0)
    )
    assert admissible(inside) is inside
    assert outside.all_rounds_failure < 1
    with pytest.raises(Outside, match="stays in the basin"):
        admissible(outside)

"""SCAFFOLD's and FedLin's sharp rounds: random rounds, the algebra, forged certificates."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted_sides import altered_source, loaded, refuted_lines

from clusterproof import theory
from clusterproof.theory import Kind
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.papers.scaffold import sharp as multipliers
from clusterproof.theory.papers.scaffold.option_1 import summed_shares
from clusterproof.theory.papers.scaffold.sharp import closed_form

F = Fraction


def gradients(rows: np.ndarray, mu: float, points: np.ndarray) -> np.ndarray:
    """Of mu |x|^2 / 2 + sum over j of log cosh <w_j, x> for every client, (m, d)."""
    inner = np.einsum("mij,mj->mi", rows, points)
    return np.asarray(mu * points + np.einsum("mij,mi->mj", rows, np.tanh(inner)))


def losses(rows: np.ndarray, mu: float, points: np.ndarray) -> np.ndarray:
    """The losses of which ``gradients`` are the gradients, (m,)."""
    inner = np.einsum("mij,mj->mi", rows, points)
    return np.asarray(mu * (points**2).sum(axis=1) / 2 + np.log(np.cosh(inner)).sum(axis=1))


@pytest.mark.slow(reason="several seconds")
def test_random_rounds_of_log_cosh_losses_do_not_exceed_the_theorems() -> None:
    stream = np.random.default_rng(2)
    largest = dict.fromkeys(("II", "I", "FedLin"), 0.0)
    gained = dict.fromkeys(largest, 0.0)
    for _ in range(200):
        clients, d, count = (int(stream.integers(*ends)) for ends in ((2, 5), (1, 4), (1, 41)))
        rows = stream.standard_normal((clients, d, d)) * stream.uniform(0, 2)
        smoothest = max(np.linalg.eigvalsh(each.T @ each)[-1] for each in rows)
        mu = smoothest / stream.uniform(0.02, 100)
        eta = stream.uniform(0.1, 1) / (mu + smoothest) / count
        optimum, x = stream.standard_normal((2, d)) * stream.choice([0.1, 1, 10])
        every = np.ones((clients, 1))
        at_optimum = gradients(rows, mu, every * optimum)
        shift, at_optimum = at_optimum.mean(axis=0), at_optimum - at_optimum.mean(axis=0)
        factor = (1 - eta * mu) ** (2 * count)

        def gap(points: np.ndarray) -> float:
            """Mean of f_i minus its tangent at x*; f - f* where all points are one."""
            tangent = gradients(rows, mu, every * optimum) * (points - optimum)  # noqa: B023
            differences = losses(rows, mu, points) - losses(rows, mu, every * optimum)  # noqa: B023
            return float((differences - tangent.sum(axis=1)).mean())

        for name in largest:
            controls = stream.standard_normal((clients, d)) * stream.choice([0.0, 0.1, 1])
            if name == "FedLin":
                controls = gradients(rows, mu, every * x) - shift
            control, y, seen, gaps = controls.mean(axis=0), every * x, [], []
            for _ in range(count):
                gaps.append(gap(y))
                seen.append(gradients(rows, mu, y) - shift)
                y = y - eta * (seen[-1] - controls + control)
            after = np.mean(seen, axis=0) if name == "II" else seen[0]
            weight = (count * eta) ** 2 / (1 if name == "II" else 3)
            # FedLin's bonus is that both sides have the disagreement of the gradients at x
            ends = [
                (((z - optimum) ** 2).sum(), ((c - c.mean(axis=0) - at_optimum) ** 2).sum(axis=1).mean())
                for z, c in ((x, controls), (y.mean(axis=0), after))
            ]
            before, left = (distance + weight * error for distance, error in ends)
            largest[name] = max(largest[name], left / (factor * before))
            # of convex clients a quarter of the controls' error, and the gaps in place of the rate
            weight *= 1 if name == "II" else 3 / 4
            before, left = (distance + weight * error for distance, error in ends)
            gain = 2 * eta * sum(gaps) if name == "II" else eta * count * gaps[0] / 4
            gained[name] = max(gained[name], (left + gain) / before)
    assert max(*largest.values(), *gained.values()) <= 1 + 1e-12
    assert min(*largest.values(), *gained.values()) > 0.5


@pytest.mark.parametrize(
    "steps",
    [
        (1, 2, 3),
        pytest.param((4, 6, 8, 12, 16), marks=pytest.mark.slow(reason="certificates of many local steps")),
    ],
)
def test_a_rate_lowered_by_a_millionth_is_refused(steps: tuple[int, ...]) -> None:
    for count in steps:
        for option in ("I", "II"):
            for condition in (F(5, 4), F(10), F(100)):
                certificate = closed_form(count, F(1), condition, option)
                assert not any(certificate.failures())
                lower = certificate.rate - (1 - certificate.rate) / 10**6
                forged = replace(certificate, rate=lower, constant=lower * certificate.weight)
                assert any(forged.failures())


@pytest.mark.slow(reason="expands polynomials with sympy")
def test_the_algebra_of_the_proofs() -> None:
    """(1) and (2) of the local path for K = 1 .. 4, with sympy."""
    sympy = pytest.importorskip("sympy")
    e, delta, mu, t = sympy.symbols("e delta mu t")
    p = 1 - mu
    for count in range(1, 5):
        v = sympy.symbols(f"v0:{count}")
        points = [e]
        for each in v:
            points.append(p * points[-1] - each + delta)
        w = [p ** (count - 1 - k) * v[k] for k in range(count)]
        q, total = count * delta, [sum(p**j for j in range(k)) for k in range(count + 1)]
        beta = [p ** (count - k) * total[k] / count for k in range(count + 1)]
        z = p**count * e - t * q
        for k in range(count + 1):
            path = p**count * e + beta[k] * q - sum(w[:k])
            assert sympy.expand(p ** (count - k) * points[k] - path) == 0
        right = z**2 + sum(
            -2 * p ** (count - k) * points[k] * w[k] + w[k] ** 2 + 2 * (beta[k] + t) * q * w[k]
            for k in range(count)
        )
        assert sympy.expand((z - sum(w)) ** 2 - right) == 0


def test_the_form_of_option_1_as_printed_in_the_proof_by_hand() -> None:
    """xi_k^2 / A_k for eta L K = 1: their sum, whose supremum is .21613, and the share of each step."""
    largest = 0.0
    for count in (1, 2, 3, 4, 5, 8, 20, 100):
        for m in (0.0, 1e-6, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999999):
            mu, b, s = m / count, (count - m) / (1 - m), (1 - m) ** 0.5
            p, last, used = 1 - mu, count - 1, 0.0
            for k in range(count):
                n = last - k
                xi = sum(p**-j for j in range(1, k + 1)) / count - n / (2 * count)
                a = b * (2 - mu * n * p**k / 2 - p ** (k + 1) / 2) - 1 - n * p ** (k + 1)
                allowed = 1 / (3 * count)
                if k == 0:
                    a = b * (2 + n * (1 - 2 * mu) / 2) - 1 - n * p - count**2 / 3 * p ** (-2 * last)
                else:
                    difference = summed_shares(k, last, s) - summed_shares(k - 1, last, s)
                    allowed = 2 * difference / (3 * count**2 * last**2)
                assert a > 0
                assert xi**2 / a <= allowed * (1 + 1e-9)
                used += xi**2 / a
            largest = max(largest, used)
    assert 0.21 < largest <= 0.21614


def test_the_sums_of_shares() -> None:
    for s in (F(0), F(1, 3), F(1)):
        for last in range(1, 7):
            terms = [
                (3 * last - 2 * j) * ((1 - s) * j**2 + s * (j - F(last - j, 2)) ** 2)
                for j in range(1, last + 1)
            ]
            assert [summed_shares(F(k), last, s) for k in range(last + 1)] == [
                sum(terms[:k]) for k in range(last + 1)
            ]


FAULTS = {
    "sharp-option-1": [
        ("- (1 - p) * self.product", "+ (1 - p) * self.product", {"one local step"}),
        ("- earlier * (later + 1) * p", "- earlier * later * p", {"one local step"}),
        ("unit * (1 + p * neighbour)", "unit * p * neighbour", {"one local step"}),
        ("3 * later**2 / (4 * count)", "3 * later**2 / count", {"first local step"}),
        ("(2 - n_c + 2", "(2 - 2 * n_c + 3", {"first local step"}),
        ("THIRD * (count / power)", "THIRD * 2 * (count / power)", {"first local step"}),
        ("(2 - c) / (2 + c)\n", "(2 - 2 * c) / (2 + c)\n", {"powers"}),
        ("least=(later + 3 * k) / 2", "least=(2 * later + 3 * k) / 2", {"curvature"}),
        ("1 - (k + 2) * step", "1 - k * step", {"inverse powers"}),
        ("39 * last", "38 * last", {"share"}),
        ("- s * later / 2\n", "- s * later\n", {"share"}),
        ("2 * difference *", "difference *", {"share"}),
        ("later + 1 / (3 * count), third", "later + 1 / (2 * count), third", {"sum"}),
    ],
    "convex": [
        ("1, 1, count / 4)", "1, 1, count / 2)", {"first local step"}),
        ("- QUARTER * count**2", "- 2 * QUARTER * count**2", {"first local step"}),
        ("/ (2 * count)) ** 2", "/ count) ** 2", {"sum"}),
        ("(count + larger) * w", "(count - 1 + larger) * w", {"one local step of II"}),
        ("used=k / count**2", "used=k / (2 * count**2)", {"one local step of II"}),
    ],
}
"""For each fault the steps that it leaves without a proof."""
EVERY_FAULT = [(claim, *fault) for claim, faults in FAULTS.items() for fault in faults]


def refuted_with(
    claim: str, printed: str, instead: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> set[str]:
    """Return the steps of the claim that are refuted."""
    module = f"papers.scaffold.{claim.removeprefix('sharp-').replace('-', '_')}"
    loaded(module, altered_source(module, printed, instead, folder), monkeypatch)
    steps = theory.find_claim(f"scaffold/{claim}").statements[1:]
    return {each.name for each in steps if refuted_lines(each, 300)}


@pytest.mark.slow(reason="several seconds")
@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(("claim", "printed", "instead", "steps"), EVERY_FAULT)
def test_a_fault_refutes_a_step_of_a_proof(
    claim: str, printed: str, instead: str, steps: set[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert refuted_with(claim, printed, instead, monkeypatch, tmp_path) >= steps


@pytest.mark.parametrize(
    ("claim", "named"), [("fedlin/sharp", "scaffold/sharp-option-1"), ("fedlin/convex", "scaffold/convex")]
)
def test_fedlin_has_the_steps_of_the_proof_that_it_names(claim: str, named: str) -> None:
    own, theirs = ({each.name for each in theory.find_claim(name).statements} for name in (claim, named))
    assert own == theirs - {"one local step of II"}


def test_option_1_diverges_by_hand() -> None:
    """a = (1, 1/1000), eta = 1 / L, K = 10: the determinant on (x, c_1 - c_2) is 2.2365, the radius 1.4955."""
    first, second = F(1), F(1, 1000)
    covered = [1 - (1 - a) ** 10 for a in (first, second)]
    determinant = (covered[1] / second - covered[0] / first) * (first - second) / 4
    assert float(determinant) == pytest.approx(2.2365, abs=5e-5)
    matrix = affine_rounds.scaffold_map(
        np.array([[[1.0]], [[1e-3]]]), step_size=1.0, local_steps=10, option="I"
    )
    assert affine_rounds.radius(matrix) ** 2 == pytest.approx(float(determinant), rel=1e-6)
    found = theory.replay("scaffold/option-1-diverges", {"flat": "1/1000", "pace": 1, "local_steps": 10})
    assert found.verdict == "violated"
    assert found.measured == pytest.approx(1.4955, abs=5e-5)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("factor", [F(1), F(999, 1000)])
def test_every_certificate_of_the_proofs_is_checked(plant: Callable[..., Any], factor: Fraction) -> None:
    """A rate 0.1 % smaller in one of the cases only."""

    def last_smaller(*case: Any) -> Any:
        found = closed_form(*case)
        return replace(found, rate=factor * found.rate) if case == (3, F(1, 10), F(100), "II") else found

    plant(multipliers, "closed_form", last_smaller)
    found = theory.check("scaffold/multipliers")
    assert found.verdict is (Kind.CONSISTENT if factor == 1 else Kind.VIOLATED)
    if factor != 1:
        assert found.counterexample == {
            "local_steps": 3,
            "pace": "1/10",
            "condition": 100,
            "option": "II",
        }

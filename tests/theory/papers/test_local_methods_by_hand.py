"""Both sides of the claims on local methods, from their printed statements: plain loops, and all outcomes of chance."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sides_by_hand import compare, sides_at, sides_of_proof

from clusterproof.theory.claims import Outside

IN_TURN = np.array([[2], [-4], [2]]) / 3  # 1, -1 and 1, minus their mean
# three clients in the plane, mu |d|^2 / 2 + s_i h(<a_i, d>), where h' is the identity up to a knee
L, MU = 2.0, 0.3
ROUND = {"clients": 3, "smoothness": L, "strong_convexity": Fraction(3, 10), "turn": 1, "first": 0.75}
ROUND |= {"first_knee": Fraction(1, 3), "second": Fraction(2, 5), "second_knee": -0.5}
BENT = [(1.275, (1.0, 0.0), 1 / 3), (0.68, (0.6, 0.8), -1 / 2), (1.275, (1.0, 0.0), 1 / 3)]


def losses_and_gradients(points: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean loss of clients at their points, minus the tangents at x*, and its gradients."""
    losses, rows = [], []
    for (strength, along, knee), d in zip(BENT, points, strict=True):
        inner = float(np.dot(along, d))
        bent = min(inner, knee) if knee > 0 else max(inner, knee)
        rows.append(MU * d + strength * bent * np.array(along))
        losses.append(MU * d @ d / 2 + strength * (inner**2 - (inner - bent) ** 2) / 2)
    return float(np.mean(losses)), np.array(rows)


def local_path(model: np.ndarray, corrections: np.ndarray, eta: float, steps: int) -> list[np.ndarray]:
    path = [np.tile(model, (3, 1))]
    for _ in range(steps):
        path.append(path[-1] - eta * (losses_and_gradients(path[-1])[1] - corrections))
    return path


def square(vectors: np.ndarray) -> float:
    return float((vectors**2).sum())


MODEL = np.array([1.5, -1.0])
ROUND |= {"x": 1.5, "y": -1.0, "pace": 0.75, "local_steps": 4, "rounds": 3, "iterations": 2}
ROUND |= {"gradient_x": 1.0, "gradient_y": -0.5, "control_x": 1.0, "control_y": -0.5, "spread": 0.5}
ROUND |= {"noise_x": 1.0, "noise_y": 0.5, "step_length": 0.75, "probability": 0.75}


def test_rounds_of_fedavg_scaffold_and_fedlin() -> None:
    eta, at_optimum, x = 0.75 / L, IN_TURN * (1.0, -0.5), MODEL
    for _ in range(3):
        x = local_path(x, -at_optimum, eta, 4)[-1].mean(axis=0)
    kept, once = (1 - eta * MU) ** 4, eta**2 * L * 6 * np.sqrt(square(at_optimum) / 3)
    bound = {"start": kept**3 * np.sqrt(3.25), "drift": (1 + kept + kept**2) * once}
    compare("fedavg/drift", ROUND, np.sqrt(square(x)), **bound)
    sides_at("fedavg/drift", ROUND | {"pace": 1.625})  # 2 L / (L + mu) is 1.74
    with pytest.raises(Outside, match="gamma"):
        sides_at("fedavg/drift", ROUND | {"pace": 1.75})
    length, start, rho = 0.75 / L, np.tile(MODEL, (3, 1)), (1 - 0.75 / L / 4 * MU) ** 8
    gap, gradients = losses_and_gradients(start)
    controls, apart = IN_TURN * (1.0, -0.5), gradients - gradients.mean(axis=0)
    path = local_path(MODEL, controls, length / 4, 4)
    found = [losses_and_gradients(points) for points in path[:-1]]
    gaps, seen = [loss for loss, _ in found], [gradients - gradients.mean(axis=0) for _, gradients in found]
    for claim, branch, share, after, gained in (
        ("sharp", "", 1, np.mean(seen, axis=0), 0),
        ("sharp-option-1", "", 1 / 3, seen[0], 0),
        ("convex", "I", 1 / 4, seen[0], length * gaps[0] / 4),
        ("convex", "II", 1, np.mean(seen, axis=0), 2 * length / 4 * sum(gaps)),
    ):
        weight, last = share * length**2 / 3, path[-1].mean(axis=0)
        psi, end = square(MODEL) + weight * square(controls), square(last) + weight * square(after)
        bound = {"before": psi, "gained": -gained} if branch else {"rate": rho * psi}
        compare(f"scaffold/{claim}", ROUND, end, branch, **bound)
    model, end = MODEL, square(local_path(MODEL, apart, length / 4, 4)[-1].mean(axis=0))
    spared = -(length**2) * (1 - rho) * square(apart) / 9
    compare("fedlin/sharp", ROUND, end, contraction=rho * 3.25, spared=spared)
    compare("fedlin/convex", ROUND, end, before=3.25, gap=-length * gap / 4)
    for _ in range(2):
        _, gradients = losses_and_gradients(np.tile(model, (3, 1)))
        model = local_path(model, gradients - gradients.mean(axis=0), 1 / (6 * L * 4), 4)[-1].mean(axis=0)
    last, _ = losses_and_gradients(np.tile(model, (3, 1)))
    compare("fedlin/rate", ROUND | {"rounds": 2}, last, rate=(1 - MU / (6 * L)) ** 2 * gap)


@pytest.mark.parametrize("steps", [3, 7])
def test_the_radius_of_a_round_of_scaffold_option_1(steps: int) -> None:
    """Curvatures 1 and 1/10 and eta = 3/4, x* = 0."""
    a, eta, states = np.array([1, 0.1]), 0.75, np.eye(3)
    matrix = []
    for x, *c in states:
        y = np.full(2, x)
        for _ in range(steps):
            y = y - eta * (a * y - np.array(c) + np.mean(c))
        matrix.append([y.mean(), *(a * x)])
    radius = float(np.abs(np.linalg.eigvals(np.array(matrix))).max())
    compare(
        "scaffold/option-1-diverges",
        {"flat": Fraction(1, 10), "pace": 0.75, "local_steps": steps},
        radius,
        one=1,
    )


@pytest.mark.parametrize(("length", "p"), [(0.75, 0.75), (0.75, 0.25), (1.75, 0.75)])
def test_iterations_of_proxskip(length: float, p: float) -> None:
    gamma, start = length / L, MODEL + IN_TURN * (0.5, 0.0)
    numbers = ROUND | {"step_length": length, "probability": p}

    def psi(iterations: int, noise: np.ndarray) -> float:
        states = [(1.0, start, IN_TURN * (1.0, -0.5))]
        for _ in range(iterations):
            before, states = states, []
            for (chance, x, h), sign in product(before, (1, -1)):
                points = x - gamma * (losses_and_gradients(x)[1] + sign * noise - h)
                mean = np.tile(points.mean(axis=0), (3, 1))
                states.append((chance * p / 2, mean, h + p / gamma * (mean - points)))
                states.append((chance * (1 - p) / 2, points, h))
        return sum(chance * (square(x) + (gamma / p) ** 2 * square(h)) for chance, x, h in states)

    none, noise, coins = np.zeros((3, 2)), IN_TURN * (1.0, 0.5) + 0.5, 1 - p**2
    first, sharp, printed = psi(0, none), max((1 - gamma * MU) ** 2, (1 - gamma * L) ** 2), 1 - gamma * MU
    rate = max(sharp, coins)
    compare("proxskip/sharp", numbers, psi(1, none), start=rate * first)
    bound = {"start": rate**2 * first, "noise": gamma**2 * square(noise) * (1 + rate)}
    compare("sproxskip/additive", numbers, psi(2, noise), **bound)
    if length <= 1:
        rate = max(printed, coins)
        compare("proxskip/theorem-6", numbers, psi(2, none), start=rate**2 * first)


PROVED = """fedavg/drift fedlin/convex fedlin/sharp proxskip/sharp
    proxskip/theorem-6 scaffold/convex scaffold/sharp scaffold/sharp-option-1 sproxskip/additive"""


@pytest.mark.parametrize("claim_id", PROVED.split())
def test_a_proof_at_an_instance_has_the_sides_of_its_claim(claim_id: str) -> None:
    for p in (0.25, 0.75):
        numbers = ROUND | {"probability": p, "iterations": 3}
        for branch, proved in sides_of_proof(claim_id, numbers).items():
            compare(claim_id, numbers, float(proved.measured), branch, **proved.terms)


@pytest.mark.parametrize("p", [0.125, 0.875])
def test_theorem_8_on_sproxskip(p: float) -> None:
    """Curvatures 3/4 (1 -+ 1/2), gradients -+3/2 at 0, from -1/2: all draws of three iterations."""
    gamma, ends = 0.75 * min(4 / 3, 1 / (2 * 0.75 * 1.25)), []
    for draws in product(((0.375, -1.5), (1.125, 1.5)), repeat=3):
        x = -0.5
        for a, c in draws:
            x -= gamma * (a * x - c)
        ends.append(x**2)
    numbers = {"strong_convexity": 0.75, "spread": 0.5, "noise": 1.5, "start": -0.5, "iterations": 3}
    rate = max(1 - gamma * 0.75, 1 - p**2)
    bound = {"start": rate**3 / 4, "floor": gamma**2 * 2 * 1.5**2 / min(gamma * 0.75, p**2)}
    compare("sproxskip/repaired", numbers | {"pace": 0.75, "probability": p}, np.mean(ends), **bound)
    for wrong in ({"pace": 0.75, "probability": 0.0}, {"pace": 0.0, "probability": p}):
        with pytest.raises(Outside, match="p > 0 and gamma > 0"):
            sides_at("sproxskip/repaired", numbers | wrong)


PICKS: dict[int, list[tuple[int, ...]]] = {0: [(0, 1)], 1: [(0,), (1,)], 2: list(product((0, 1), repeat=2))}


@pytest.mark.parametrize(("theorem", "drawn", "c"), [(1, 0, 0), (2, 1, 1), (2, 2, 1 / 2), (3, 1, 1)])
def test_fedavg_on_clients_that_differ(theorem: int, drawn: int, c: float) -> None:
    """Curvatures 1 and 5/2, minimisers 0 and 3/2, noise +-s, w_1 = 3, E = 3, T = 6: all participants and noises."""
    a, b, s2, gamma, w, largest, t = (1.0, 2.5), (0.0, 1.5), 0.5, 8 * 2.5, np.array([3.0]), 0.0, 1
    for steps in (2, 3):
        ends = [w[:, None], w[:, None]]
        for _ in range(steps):
            eta, t = 2 / (gamma + t), t + 1
            for k in (0, 1):
                gradient = a[k] * (ends[k] - b[k])
                largest = max(largest, (gradient**2).mean() + s2)
                ends[k] = np.concatenate(
                    [ends[k] - eta * (gradient + s) for s in (s2**0.5, -(s2**0.5))], axis=1
                )
        both = np.broadcast_arrays(ends[0][:, :, None], ends[1][:, None, :])
        w = np.concatenate([np.mean([both[k] for k in pick], axis=0).ravel() for pick in PICKS[drawn]])
    best, rate = 2.5 * 1.5 / 3.5, 2 * 2.5 / (gamma + 6 - 1)
    bound = {"start": rate * gamma / 4 * (3 - best) ** 2, "noise": rate * s2 / 2}
    bound["drift"] = rate * 32 * largest
    bound["heterogeneity"] = rate * 6 * 2.5 * (best**2 + 2.5 * (best - 1.5) ** 2) / 4
    bound |= {"sampling": rate * 36 * largest * c} if c else {}
    numbers = {"curvature": 2.5, "center": 1.5, "noise": 0.5, "start": 3.0, "rounds": 2, "drawn": drawn}
    numbers["local_steps"] = 3
    compare(f"fedavg/theorem-{theorem}", numbers, 3.5 / 4 * ((w - best) ** 2).mean(), **bound)


def test_fedavg_with_a_fixed_step_rests_away_from_the_optimum() -> None:
    def rest(a: list[float], b: list[float], eta: float) -> float:
        w = np.zeros(len(a))
        for step in range(1, 1801):
            w = w - eta * np.array(a) * (w - b)
            w = w if step % 3 else np.full(len(a), w.mean())
        return float(w[0])

    away = abs(rest([1, 2], [-1, 1], 1 / 12) - 1 / 3)
    compare("fedavg/theorem-4", {"local_steps": 3, "pace": 0.25}, away, bias=2 / 12 / 9)
    sides = sides_at("fedavg/exact-bias", {"local_steps": 3, "step": 0.25, "center": 1.5})
    assert [*map(float, sides.pairs[0])] == pytest.approx([rest([1, 2, 4], [-1, 1.5, 1], 0.25)] * 2)


@pytest.mark.parametrize(
    ("first", "second", "steps"), [(3, -3, 2), (3, -3, 3), (3, 1, 2), (1, 0, 3), (0, 1, 4)]
)
def test_fedavg_rests_at_the_optimum_only_by_chance(first: int, second: int, steps: int) -> None:
    """a = (1, 2, 3): with E = 2 where the sum of a_k^2 b_k, -2 (b_1 + b_2), is 0."""
    a, b, eta, w = (
        np.array([1, 2, 3]),
        np.array([first, second, -(first + 2 * second) / 3]),
        1 / 8,
        np.zeros(3),
    )
    for _ in range(steps):
        w = w - eta * a * (w - b)
    rests = int(abs(w.mean()) < 1e-12)
    assert rests == (steps == 2 and first + second == 0)
    numbers = {"first": first, "second": second, "local_steps": steps, "step": 0.125}
    compare("fedavg/fixed-steps-fail", numbers, rests, none=0)
    with pytest.raises(Outside, match="differ"):
        sides_at("fedavg/fixed-steps-fail", numbers | {"first": 0, "second": 0})


def test_local_gradient_descent_of_khaled() -> None:
    """Curvatures 1 and 3/4, minimisers 0 and 2, so that x* = 6/7; from -3, averaged every third step."""
    a, b, best, s, x = np.array([1, 3 / 4]), np.array([0, 2]), 6 / 7, 0.75, np.array([-1.5, 1.0])
    spread = ((a * (best - b)) ** 2).mean()
    numbers = {"curvature": 0.75, "center": 2.0, "start": -3.0, "gap": 3, "epochs": 2, "root": 6}
    numbers |= {"x": -1.5, "y": 1.0, "step": s, "pace": s}

    def gap(x: float) -> float:
        return float((a * (x - b) ** 2).mean() - (a * (best - b) ** 2).mean()) / 2

    def path(step: float, steps: int) -> list[np.ndarray]:
        points = [np.full(2, -3.0)]
        for t in range(1, steps):
            after = points[-1] - step * a * (points[-1] - b)
            points.append(np.full(2, after.mean()) if t % 3 == 0 else after)
        return points

    bound = {"before": (best + 1 / 4) ** 2, "variance": s * (1 + 2 * s) * x.var()}
    bound["descent"] = -2 * s * (1 - 2 * s) * gap(-1 / 4)
    compare("local-gd/lemma-1", numbers, ((x - s * a * (x - b)).mean() - best) ** 2, **bound)
    s, start = s / 12, (3 + best) ** 2
    gaps = sum(gap(each.mean()) for each in path(s, 3))
    bound = {"descent": 5 * 9 * s**2 * gaps, "spread": 8 * 27 * s**2 * spread}
    compare("local-gd/lemma-2", numbers, sum(each.var() for each in path(s, 3)), **bound)
    bound = {"start": 2 * start / (s * 6), "floor": 24 * s**2 * spread * 9}
    compare("local-gd/theorem-1", numbers, gap(float(np.mean(path(s, 6)))), **bound)
    bound = {"start": 8 * start / np.sqrt(4 * 36), "floor": 3 * 4 * spread * 9 / (2 * 36)}
    compare("local-gd/corollary-1", numbers, gap(float(np.mean(path(1 / 12, 36)))), **bound)


def test_the_gain_of_fedprox() -> None:
    def rho(mu: float, b: float, k: int) -> float:
        """Theorem 4 with gamma = 0, mu-bar = mu and L = 1."""
        lost = b + b**2 / 2 + b**2 / k * (2 * np.sqrt(2 * k) + 2)
        return float(1 / mu - b * np.sqrt(2) / (mu * np.sqrt(k)) - lost / mu**2)

    a, b = np.array([1, 0.5]), np.array([0, 3])
    ends, gradients = (a * b + 20 * 5) / (a + 20), a * (5 - b)
    drawn = [ends[list(clients)].mean() for clients in product((0, 1), repeat=5)]
    losses = [(a * (w - b) ** 2).mean() / 2 for w in (5, *drawn)]
    gain = rho(20, np.sqrt((gradients**2).mean()) / gradients.mean(), 5) * gradients.mean() ** 2
    numbers = {"curvature": 0.5, "center": 3, "model": 5, "proximal": 20, "drawn": 5}
    compare("fedprox/theorem-4", numbers, losses[0] - np.mean(losses[1:]), gain=gain)
    compare("fedprox/corollary-7", {"dissimilarity": 3, "drawn": 50}, rho(54, 3, 50), printed=1 / 216)
    numbers = {"dissimilarity": 2.5, "times": 17, "drawn": 200, "proximal": 64}  # 17 (5/2)^2 = 106.25
    compare("fedprox/corollary-7-repaired", numbers, rho(37.5, 2.5, 107), printed=1 / (24 * 6.25))
    compare("fedprox/remark-5", numbers, 2 * 6.25, clients=200)

"""Both sides of the claims on CFL-MGD's method and assumptions, by plain loops over the printed lines."""

import itertools
import math
from fractions import Fraction
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from typing import Any

import numpy as np
import pytest
from sides_by_hand import all_sides_with, assert_pairs, assert_sides, sides_at, sides_with, statement_of

from clusterproof.synthetic import QuadraticMixture, RegressionMixture, direct_simulation
from clusterproof.theory.claims import Excluded, Outside
from clusterproof.theory.papers.cfl_mgd.method.equations_3_4_7 import Descent

HESSIANS = np.array([[[0.9, 0.2], [0.2, 0.5]], [[0.4, -0.1], [-0.1, 0.8]], [[0.7, 0.3], [0.3, 0.6]]])
CENTERS = np.array([[1.0, -0.5], [-0.25, 0.75], [0.5, 2.0]])
ONE_CLUSTER = QuadraticMixture(hessians=HESSIANS, centers=CENTERS, labels=np.zeros(3, dtype=int))


def gradients(points: np.ndarray) -> np.ndarray:
    return np.array([a @ (x - c) for a, x, c in zip(HESSIANS, points, CENTERS, strict=True)])


@pytest.mark.parametrize(("beta", "eta"), [(0.7, 0.6), (0.35, 0.9)])
def test_equations_3_4_7_and_12_on_three_clients(beta: float, eta: float) -> None:
    descent = Descent(task=ONE_CLUSTER, step_size=eta, momentum=beta)
    start = np.random.default_rng(1).standard_normal((3, 2))
    x, u, moves = start[0], np.zeros((3, 2)), []
    for _ in range(12):
        u = beta * u + gradients(np.tile(x, (3, 1)))
        moves.append(eta * u.mean(axis=0))
        x = x - moves[-1]
    found = all_sides_with("equation-3", descent, np.random.default_rng(1))
    assert_pairs(found["(3)"], np.array(moves))
    for value in ({"step_size": 0.0}, {"momentum": 1.0}):
        other = all_sides_with("equation-3", Descent(**(vars(descent) | value)), np.random.default_rng(1))
        assert other["(3)"] == Excluded("eta > 0 and beta < 1")
    points, u, path = start, np.zeros((3, 2)), []
    for _ in range(12):
        u = beta * u + gradients(points)
        points = points - eta * u
        path.append(points)
    for line in ("(4)", "(7)"):
        assert_pairs(found[line], np.array(path))
    x, v, single = np.random.default_rng(1).standard_normal((1, 2))[0], np.zeros(2), []
    steepest = max(np.linalg.eigvalsh(a)[-1] for a in HESSIANS)
    for _ in range(8):
        v = beta * v + gradients(np.tile(x, (3, 1))).mean(axis=0)
        x = x - eta / steepest * v
        single.append(x)
    assert_pairs(
        sides_with("equation-12-shifted", ONE_CLUSTER, eta, beta, np.random.default_rng(1)), np.array(single)
    )


def client_round(
    points: list[F], momenta: list[F], beta: F, owner: str
) -> tuple[list[F], list[F], list[int]]:
    """A round of option I, eta = 1, for clients at -1/2, 0, 1/2 and 1: models, momenta and choices."""
    places = [F(-1, 2), F(0), F(1, 2), F(1)]
    chosen = [min((0, 1), key=lambda p: abs(points[p] - c)) for c in places]
    drawn = [points[p] - c for p, c in zip(chosen, places, strict=True)]
    if owner == "server":
        sums = [sum((g for g, q in zip(drawn, chosen, strict=True) if q == p), F(0)) for p in (0, 1)]
        momenta = [beta * u + total / 4 for u, total in zip(momenta, sums, strict=True)]
        return [x - u for x, u in zip(points, momenta, strict=True)], momenta, chosen
    momenta = [beta * u + g for u, g in zip(momenta, drawn, strict=True)]
    own = [[u for u, q in zip(momenta, chosen, strict=True) if q == p] for p in (0, 1)]
    points = [x - sum(each, F(0)) / 4 for x, each in zip(points, own, strict=True)]
    if owner == "line 15":
        momenta = [sum(own[p], F(0)) / len(own[p]) for p in chosen]
    return points, momenta, chosen


def test_whose_momentum_a_switching_client_has() -> None:
    beta, found, chosen = F(3, 10), [], []
    for owner in ("line 15", "own", "server"):
        points, momenta = [F(-1, 4), F(-1)], [F(0)] * (2 if owner == "server" else 4)
        for _ in range(2):
            points, momenta, choices = client_round(points, momenta, beta, owner)
            chosen.append(choices)
        found.append(points[0])
    assert chosen[0] != chosen[1]
    line_15, own, server = found
    sides = sides_at("algorithm-line-15-momentum-of-switchers", {"momentum": beta})
    assert_sides(sides, [(line_15, own), (own, server), (line_15, server)])


@pytest.mark.parametrize(("beta", "rounds"), [(F(1, 5), 11), (F(2, 5), 13)])
def test_two_readings_of_line_2(beta: F, rounds: int) -> None:
    """u' = beta u + e / 2 and e' = e - u' by the indices of lines 8 and 15, and e' = e - u a round late."""
    indexed = delayed = (F(1, 4), F(0))
    for _ in range(rounds):
        e, u = indexed
        indexed = (e - beta * u - e / 2, beta * u + e / 2)
        e, u = delayed
        delayed = (e - u, beta * u + e / 2)
    one = {"momentum": beta, "rounds": rounds}
    assert_sides(sides_at("algorithm-line-8", one), [(abs(indexed[0]), abs(delayed[0]))])
    assert_sides(sides_at("algorithm-line-8-delayed", one), abs(delayed[0]), start=F(1, 4))


def test_line_20_is_4_from_any_momentum() -> None:
    """Both of its equations are met by (4), whose u is updated first; the planted delay breaks them."""
    stream = np.random.default_rng(5)
    chi, u = stream.standard_normal(CENTERS.shape), stream.standard_normal(CENTERS.shape)
    models, momenta = [], []
    for _ in range(12):
        u = 0.4 * u + gradients(chi)
        chi = chi - 0.7 * u
        models.append(chi)
        momenta.append(u)
    descent = Descent(task=ONE_CLUSTER, step_size=0.7, momentum=0.4)
    found = all_sides_with("algorithm-line-20", descent, np.random.default_rng(5))
    assert_pairs(found["models"], np.array(models))
    assert_pairs(found["momenta"], np.array(momenta))


def test_line_8_asks_that_no_client_changes_its_cluster() -> None:
    path, u = [F(1, 4)], F(0)
    for _ in range(14):
        path, u = [*path, path[-1] - u], F(9, 10) * u + path[-1] / 2
    first = next(t for t, e in enumerate(path) if abs(e) >= F(3, 4))
    for claim in ("algorithm-line-8", "algorithm-line-8-delayed"):
        sides_at(claim, {"momentum": F(9, 10), "rounds": first - 1})
        with pytest.raises(Outside, match="own cluster"):
            sides_at(claim, {"momentum": F(9, 10), "rounds": first})


def option_two(
    curvatures: list[Any], centers: list[Any], beta: Any, x: Any, settings: tuple[int, int, bool]
) -> Any:
    """Option II with eta = 1, for H local steps, T rounds and with u set to 0 in each round or passed on."""
    steps, rounds, reset = settings
    u = 0 * x
    for _ in range(rounds):
        ends = []
        for a, c in zip(curvatures, centers, strict=True):
            y, v = x, 0 * u if reset else u
            for _ in range(steps):
                v = beta * v + a * (y - c)
                y = y - v
            ends.append((y, v))
        x, u = (sum(each) / len(ends) for each in zip(*ends, strict=True))
    return x


def test_option_2_on_scalar_clients() -> None:
    passed, reset = (
        abs(option_two([0.01, 1.0], [0.0, 0.0], 0.9, 0.5, (5, 60, each))) for each in (False, True)
    )
    sides = sides_at("algorithm-line-12-option-2-momentum", {"momentum": 0.9, "local_steps": 5})
    assert_sides(sides, [(passed, reset)])
    pair = tuple(option_two([1.0], [1.0], 0.3, 0.5, (3, 2, each)) for each in (False, True))
    assert_sides(sides_at("equation-10", {"local_steps": 3, "momentum": "3/10"}), [pair])
    sides = sides_at("algorithm-lines-15-16-weights", {"rows": 3})
    assert_sides(sides, [(1 / 2, 3 / 4)])
    for claim, flat, center, beta, steps, rounds, constant in (
        ("rate", F(1, 100), F(0), F(4, 5), 3, 40, F(1000)),
        ("limit", F(1, 10), F(2), F(1, 2), 4, 7, F(1)),
    ):
        one = {"flat": flat, "center": center, "momentum": beta, "local_steps": steps, "rounds": rounds}
        best = flat * center / (flat + 1)
        end = option_two([flat, F(1)], [center, F(0)], beta, best + F(1, 2), (steps, rounds, False))
        found = sides_at(f"model-averaging-{claim}", one | {"constant": constant})
        assert_sides(found, abs(end - best), order=constant / 2 / rounds)


def test_lines_3_and_5_on_two_clusters() -> None:
    """Five of ten clients move their models by 1/2 each over m, or over |M_t|; a tie is chosen by the first."""
    found = sides_at("algorithm-line-3-participation", {"clients": 10, "participation": 0.5})
    assert_sides(found, [(5 * 0.5 / 10, 5 * 0.5 / 5)])
    for second, used in ((0.0, 1), (-0.001, 2)):
        assert_sides(sides_at("algorithm-line-5-ties", {"second": second}), used, both=2)


def test_a_batch_that_chose_and_then_gives_the_gradient() -> None:
    """All batches of three rows +-1 for which (1/4 - mean)^2 <= (1 - mean)^2."""
    means = [F(sum(batch), 3) for batch in itertools.product((-1, 1), repeat=3)]
    chosen = [F(1, 4) - mean for mean in means if abs(F(1, 4) - mean) <= abs(1 - mean)]
    one = {"own": "1/4", "other": 1, "samples": 3}
    for claim in ("assumption-5-same-batch", "algorithm-line-7-resampling"):
        assert_sides(sides_at(claim, one), [(sum(chosen) / len(chosen), F(1, 4))])
    # chi_2 = chi*_2 = 1, Delta = 1, Var (1 - y)^2 / 2 = 1: two samples are enough for the constant 1, and one is not
    for samples, bias in ((2, F(1, 3)), (4, F(1, 15))):
        found = sides_at("assumption-5-same-batch", {"own": 0, "other": 1, "samples": samples})
        assert_sides(found, [(bias, 0)])
    with pytest.raises(Outside, match="sigma"):
        sides_at("assumption-5-same-batch", {"own": 0, "other": 1, "samples": 1})


@pytest.mark.parametrize("rows", [1234, 1300, 2001])
def test_whole_rounds_that_define_their_own_samples(rows: int) -> None:
    implied = {t: 16 * math.log(math.sqrt(rows / (2 * t))) for t in range(1, 200)}
    rounded = sum(math.ceil(each) == t for t, each in implied.items())
    sides = (
        sides_at("algorithm-rounds-and-samples", {"rows": rows}, line=name)
        for name in ("rounded up", "to the letter")
    )
    for found, count in zip(sides, (rounded, 0), strict=True):
        assert_sides(found, [(count, 1)])


def test_equation_1_as_meant() -> None:
    labels = np.array([0, 1, 0])
    task = QuadraticMixture(hessians=HESSIANS, centers=CENTERS, labels=labels)
    offsets = np.random.default_rng(2).standard_normal((2, 2))
    optima = [np.linalg.solve(HESSIANS[0] + HESSIANS[2], HESSIANS[0] @ CENTERS[0] + HESSIANS[2] @ CENTERS[2])]
    optima.append(CENTERS[1])
    means = np.zeros((2, 2))
    for p in (0, 1):
        means[p] = gradients(np.tile(optima[p] + offsets[p], (3, 1)))[labels == p].mean(axis=0)
    found = all_sides_with("equation-1-mean", task, np.random.default_rng(2))
    assert_pairs(found["(1), gradient"], means, np.zeros((2, 2)))
    ends = np.linalg.eigvalsh([(HESSIANS[0] + HESSIANS[2]) / 2, HESSIANS[1]])
    quotients = [g @ d / (d @ d) for g, d in zip(means, offsets, strict=True)]
    assert_sides(found["(1), least curvature"], quotients, mu=ends.min())
    assert_sides(found["(1), largest curvature"], quotients, smoothness=ends.max())


def test_choices_that_reproduce_themselves_under_9() -> None:
    """Two clients and models in their first round: chi_p = chi_p^0 - sum of u_i / 2."""
    counts = {}
    starting = [(F(1, 2), F(0)), (F(-1, 2), F(3, 2))]
    for places, starts in itertools.product([(F(-1), F(1)), (F(-1), F(2)), (F(-3, 2), F(1))], starting):
        u = [min((abs(chi - c), chi - c) for chi in starts)[1] for c in places]
        counts[places, starts] = 0
        for r in itertools.product((0, 1), repeat=2):
            chi = [starts[p] - sum((u[i] for i in (0, 1) if r[i] == p), F(0)) / 2 for p in (0, 1)]
            counts[places, starts] += all(
                abs(chi[r[i]] - places[i]) < abs(chi[1 - r[i]] - places[i]) for i in (0, 1)
            )
    assert len(set(counts.values())) > 1
    for (places, starts), count in counts.items():
        one = {"first_center": places[0], "second_center": places[1], "first": starts[0], "second": starts[1]}
        assert_sides(sides_at("equation-9", one), count, one=1)
    with pytest.raises(Outside, match="best model"):
        sides_at("equation-9", {"first_center": -1, "second_center": 1, "first": "1/2", "second": "3/2"})


def test_equation_13_on_scalars_and_three_clients() -> None:
    one = {"model": "1/2", "first": "-1", "second": "3/2"}
    assert_sides(
        sides_at("equation-13", one), F(1, 4) + (F(3, 2) + 1) / 2, distance=F(1, 4), smoothness=F(1, 4)
    )
    task = QuadraticMixture(hessians=HESSIANS, centers=CENTERS, labels=np.array([0, 1, 0]))
    steps = np.random.default_rng(3).standard_normal((40, 1, 2))
    optima = task.optima[[0, 1, 0]]
    norms = np.array([np.linalg.norm(gradients(optima + d), axis=-1) for d in steps])
    reach = [[np.linalg.eigvalsh(a)[-1] * np.linalg.norm(d) for a in HESSIANS] for d in steps]
    rest = np.linalg.norm(gradients(optima), axis=-1)
    found = sides_with("equation-13-lipschitz", task, np.random.default_rng(3))
    assert_sides(found, norms, distance=reach, rest=rest)


def test_curvature_and_variances_of_a_regression() -> None:
    """Assumptions 1 to 3 where Sigma = diag(9/10, 2/5) or diag(1/2, 7/10), s = 3/5."""
    spectra, optima = np.array([[0.9, 0.4], [0.5, 0.7]]), np.array([[0.9, 0.1], [-0.5, 0.7]])
    task = RegressionMixture(
        optima=optima,
        covariance=np.array([np.diag(each) for each in spectra]),
        noise=0.6,
        labels=np.array([0, 1, 1]),
        samples=4,
    )
    stream = np.random.default_rng(4)
    stream.standard_normal((2, 40, 2))  # the points
    steps = stream.standard_normal((2, 40, 2)) * 10.0 ** stream.uniform(-2, 1, (2, 40, 1))
    length = np.linalg.norm(steps, axis=-1)
    changes = np.linalg.norm(steps * spectra[:, None], axis=-1)
    assert_sides(sides_with("assumption-1", task, np.random.default_rng(4)), changes, smoothness=0.9 * length)
    found = sides_with("assumption-2", task, np.random.default_rng(4))
    gaps = (spectra[:, None] * steps**2).sum(axis=-1) / 2
    np.testing.assert_allclose(found.measured, gaps, rtol=1e-8, atol=1e-10)
    assert_sides(found, found.measured, strong_convexity=0.2 * length**2)
    # Var of x (x'e - noise): (s^2 + e'Sigma e) tr Sigma + |Sigma e|^2, and of its square over 2: tau^4 / 2
    d = np.random.default_rng(4).standard_normal(2)
    with pytest.raises(Outside, match="variance"):
        sides_with("assumption-3", Fraction(3, 2), Fraction(2, 5), Fraction(3, 5))
    far = 100 * d / np.linalg.norm(d)
    variance = (0.36 + spectra[0] @ far**2) * 1.3 + ((spectra[0] * far) ** 2).sum()
    found = sides_with("assumption-3", task, np.random.default_rng(4), statement="along a ray", line="growth")
    assert_sides(found, variance, growth=0.4 * 1.3 * 100**2)
    stream, gap = np.random.default_rng(4), float(np.linalg.norm(optima[0] - optima[1]))
    directions = stream.standard_normal((60, 2, 2))
    radius = math.sqrt(0.4 / 0.9) * gap / 4
    lengths = radius * stream.choice([1.0, 0.5, 0.0], (60, 2))
    models = optima + lengths[..., None] * directions / np.linalg.norm(directions, axis=-1, keepdims=True)
    offsets = models[:, None] - optima[:, None]  # (60, clients of, at model, d)
    tau = 0.36 + (spectra[:, None] * offsets**2).sum(axis=-1)
    gradient = tau * spectra.sum(axis=-1)[:, None] + ((spectra[:, None] * offsets) ** 2).sum(axis=-1)
    names = {"own": {"floor": 0.36 * 1.3, "growth": (0.9 * 1.3 + 0.81) * lengths**2}}
    reach = (gap + radius) ** 2
    names["foreign"] = {"false_members": 1.3 * (0.36 + 0.9 * reach) + 0.81 * reach}
    names["loss"] = {"spread": (0.36 + 0.9 * reach) ** 2 / 2}
    measured = {"own": np.stack([gradient[:, p, p] for p in (0, 1)], axis=-1)}
    measured["foreign"] = np.stack([gradient[:, 0, 1], gradient[:, 1, 0]])
    measured["loss"] = np.moveaxis(tau**2 / 2, 1, 0)
    for name, terms in names.items():
        assert_sides(
            sides_with("assumption-3-ball", task, np.random.default_rng(4), line=name),
            measured[name],
            **terms,
        )


ROWS = RegressionMixture(
    optima=np.array([[0.9, 0.1], [-0.5, 0.7]]),
    covariance=np.diag([0.9, 0.4]),
    noise=0.6,
    labels=np.array([0, 1, 0]),
    samples=4,
)


def test_losses_of_drawn_rows_and_choices_by_them() -> None:
    """(2) as meant, (21), Lemma 1's exact form and Assumption 5, from the same draws."""
    stream = np.random.default_rng(6)
    models, of = ROWS.optima + stream.standard_normal((2, 2)), np.zeros(2, dtype=int)
    x, errors = direct_simulation.draw_data(of, ROWS.covariances, ROWS.noise, 4, stream)
    means = np.zeros((2, 2))
    for client, p in np.ndindex(2, 2):
        residuals = x[client] @ (ROWS.optima[0] - models[p]) + errors[client]
        means[client, p] = sum(residuals**2) / 8
    found = sides_with("equation-1-mean", ROWS, np.random.default_rng(6), statement="(2)")
    assert_pairs(found, means / (1 + means))
    for name in ("joined", "P = 2"):
        assert_pairs(sides_with("equation-21", ROWS, np.random.default_rng(6), line=name), 0)
    stream = np.random.default_rng(6)
    models = ROWS.optima + ROWS.basin_radius * stream.uniform(-1, 1, (2, 2))
    x, errors = direct_simulation.draw_data(np.zeros(9, dtype=int), ROWS.covariances, ROWS.noise, 4, stream)
    wrong = []
    for z, e in zip(x, errors, strict=True):
        own, other = (((z @ (ROWS.optima[0] - chi) + e) ** 2).mean() for chi in models)
        wrong.append(own >= other)
    frequency: Any = statement_of("lemma-1-exact").function(ROWS, np.random.default_rng(6), 9)
    assert frequency.events.tolist() == wrong
    assert frequency.exactly
    assert frequency.allowed == pytest.approx(ROWS.misclassification_probability(models, 0)[1])
    expected: Any = statement_of("assumption-5-resampled").function(1, np.random.default_rng(6), 40)
    assert expected.sense == "equal"
    assert float(expected.allowed) == pytest.approx(-0.1)
    one = RegressionMixture(
        optima=np.array([[0.0], [0.5]]), covariance=np.ones(1), noise=1.0, labels=np.array([0, 1]), samples=1
    )
    stream, clients = np.random.default_rng(6), np.zeros(40, dtype=int)
    losses = one.losses(np.array([[-0.1], [0.4]]), clients, stream)
    drawn = one.gradients(np.full((40, 1), -0.1), clients, stream)[:, 0]
    own = [gradient for gradient, (first, second) in zip(drawn, losses, strict=True) if first <= second]
    np.testing.assert_array_equal(expected.samples, own)


def test_the_units_of_assumption_4() -> None:
    """The optima of a task of separation 2 are at most 2 from 0, its copy's about 100 sqrt(3)."""
    ((near, far),) = sides_at("assumption-4", {"shift": 100.0, "drawn_with": 3}).pairs
    task = RegressionMixture.random(
        clusters=2, clients=10, dimension=3, condition_number=4.0, separation=2.0, samples=200, seed=3
    )
    norms = [max(math.hypot(*(optimum + shift)) for optimum in task.optima) for shift in (0, 100)]
    assert (near, far) == pytest.approx(norms)

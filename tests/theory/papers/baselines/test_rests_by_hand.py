"""Both sides of the claims on where the baselines rest, from their statements: rounds in plain loops."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from plain_loops import server_of
from sides_by_hand import assert_sides, sides_at

from clusterproof.algorithms import CFLMGD, FedAvg, FedBCD, FedProx, PerFedAvg
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Outside
from clusterproof.theory.papers.baselines import averaging, cfl_stationary, personal, resting

HESSIANS = np.array(
    [
        [[0.9, 0.1], [0.1, 0.4]],
        [[0.5, -0.2], [-0.2, 0.7]],
        [[0.3, 0.0], [0.0, 0.6]],
        [[0.6, 0.25], [0.25, 0.6]],
        [[0.8, -0.1], [-0.1, 0.3]],
    ]
)
CENTERS = np.array([[1.0, -2.0], [3.0, 0.5], [201.0, 1.0], [198.0, -1.5], [199.5, 3.0]])


def task_of(sizes: list[int], clients: slice = slice(None), **changed: Any) -> QuadraticMixture:
    fields = {"hessians": HESSIANS[clients], "centers": CENTERS[clients]}
    return QuadraticMixture(**fields | {"labels": np.repeat(np.arange(len(sizes)), sizes)} | changed)


ONE, TWO = task_of([3], slice(2, 5)), task_of([2, 3])


def largest_eigenvalue(task: QuadraticMixture) -> float:
    return max(float(np.linalg.eigvalsh(hessian)[-1]) for hessian in task.hessians)


def rest(algorithm: Any, task: QuadraticMixture) -> tuple[np.ndarray, Any]:
    """Rounds of plain loops from the mean minimisers, until nothing moves."""
    choices = {client: int(cluster) for client, cluster in enumerate(task.labels)}
    models = [task.centers[task.labels == cluster].mean(axis=0) for cluster in sorted(set(choices.values()))]
    server = server_of(algorithm, task, models)
    for _ in range(3000):
        before, models = models, server.round(algorithm, task, models, choices)
        if np.abs(np.array(models) - before).max() < 1e-14:
            break
    return np.array(models), server


def compare(claim: str, instance: dict[str, Any], *expected: Any, name: str = "") -> None:
    """Compare both sides of each equation, models first."""
    found = sides_at(claim if "/" in claim else f"baselines/{claim}", instance, line=name)
    assert len(found.pairs) == len(expected)
    for pair, value in zip(found.pairs, expected, strict=True):
        for side in pair:
            np.testing.assert_allclose(side, value, rtol=1e-10, atol=1e-10)


def test_rests_of_one_model_for_all() -> None:
    top, one = largest_eigenvalue(ONE), {"task": ONE, "local_steps": 3}
    step: Any = {"step_size": 1 / top, "local_steps": 3}
    compare("fedavg", one, rest(FedAvg(**step), ONE)[0][0])
    inner: Any = {"inner_step_size": 0.3 / top}
    for order, claim in (("second-order", "hf"), ("first-order", "fo")):
        model = rest(PerFedAvg(gradient=order, **step, **inner), ONE)[0][0]
        compare(f"per-fedavg-{claim}", one | {"inner": "3/10"}, model)
    pulled: Any = {"step_size": 1 / (top + 0.35), "local_steps": 3, "proximal": 0.35}
    compare("fedprox", one | {"proximal": "7/20"}, rest(FedProx(**pulled), ONE)[0][0])
    common: Any = np.zeros(2)
    for _ in range(400):
        exact = [
            np.linalg.solve(a + 0.35 * np.eye(2), a @ b + 0.35 * common)
            for a, b in zip(ONE.hessians, ONE.centers, strict=True)
        ]
        common = sum(exact) / 3
    compare("fedprox-exact", {"task": ONE, "proximal": "7/20"}, common)
    bcd = one | {"proximal": "7/20", "server": "1/2"}
    compare("fedbcd", bcd, common, exact)
    models, server = rest(FedBCD(server_step_size=0.5, **pulled), ONE)
    compare("fedbcd", bcd, models[0], server.personal)
    models, server = rest(FedBCD(variant="separate", pull=0.3, **step), ONE)
    compare("fedbcd-separate", one | {"pull": "3/10"}, models[0], server.personal)
    compare("local", one, ONE.centers)


def test_rests_of_two_clusters() -> None:
    top, one = largest_eigenvalue(TWO), {"task": TWO, "local_steps": 3}
    optima, _ = rest(CFLMGD(step_size=1 / top, momentum=0.3), TWO)
    compare("cfl-mgd-gradient", {"task": TWO, "momentum": "3/10"}, optima, np.zeros((2, 2)))
    algorithm = CFLMGD(step_size=0.2 / top, momentum=0.3, averaging="model", local_steps=3)
    models, server = rest(algorithm, TWO)
    compare("cfl-mgd-model", one | {"momentum": "3/10"}, models, server.buffers)
    for steps in (1, 3):
        inside = [
            rest(FedAvg(step_size=1 / top, local_steps=steps), part)[0][0]
            for part in (task_of([2], slice(0, 2)), task_of([3], slice(2, 5)))
        ]
        instance = {"task": TWO, "local_steps": steps}
        compare("clustered", instance, inside, name="ifca")
        compare("clustered", instance, [inside[k] for k in (0, 0, 1, 1, 1)], name="cfl")
    compare("clustered", {"task": TWO, "local_steps": 1}, optima, name="gradient-loss")
    with pytest.raises(AssertionError):  # it is excluded there
        compare("clustered", one, optima, name="gradient-loss")


def at(*centers: float, curvature: float = 0.5, labels: tuple[int, ...] = (0, 0, 1, 1)) -> QuadraticMixture:
    hessians = np.full((len(labels), 1, 1), curvature)
    return QuadraticMixture(hessians=hessians, centers=np.array(centers)[:, None], labels=np.array(labels))


@pytest.mark.parametrize(
    ("claim", "inside", "outside", "hypothesis"),
    [
        ("fedavg", at(0, 1, 2, 3, curvature=0.25), at(0, 1, 2, 3, curvature=0.249), "eigenvalues"),
        ("fedavg", at(0, 1, 2, 3, curvature=1.0), at(0, 1, 2, 3, curvature=1.001), "eigenvalues"),
        ("fedavg", at(-999, 1, 2, 3), at(-1001, 1, 2, 3), "1000"),
        ("fedavg", at(1000, 1, 2, 3), at(1001, 1, 2, 3), "1000"),
        # spreads of 1 and 2: the separation must be above 30
        ("cfl-mgd-gradient", at(0, 2, 29.01, 33.01), at(0, 2, 28.99, 32.99), "far apart"),
        ("cfl-mgd-gradient", at(0, 0, 10.01, 10.01), at(0, 0, 10, 10), "far apart"),
        ("cfl-mgd-model", at(0, 2, 29.01, 33.01), at(0, 2, 28.99, 32.99), "far apart"),
        ("clustered", at(0, 2, 58.0, 62.0), at(0, 2, 28.99, 32.99), "far apart"),
        ("clustered", at(0, 2, 58.0, 62.0), at(0, 2, 1, 60, labels=(0, 0, 0, 1)), "two clients at least"),
        ("clustered", at(0, 2, 58.0, 62.0), at(0, 2, 60, 120, labels=(0, 0, 1, 2)), "two clusters"),
    ],
)
def test_each_hypothesis_on_both_of_its_sides(claim: str, inside: Any, outside: Any, hypothesis: str) -> None:
    numbers = {"fedavg": {"local_steps": 2}, "clustered": {"local_steps": 2}}
    more = numbers.get(claim, {"momentum": "1/5"} | ({"local_steps": 2} if claim.endswith("model") else {}))
    found = sides_at(
        f"baselines/{claim}", {"task": inside} | more, line="cfl" if claim == "clustered" else ""
    )
    for left, right in found.pairs:
        np.testing.assert_allclose(left, right, atol=1e-9)
    with pytest.raises(Outside, match=hypothesis):
        sides_at(f"baselines/{claim}", {"task": outside} | more)


@pytest.mark.parametrize("curvature", [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)])
@pytest.mark.parametrize(("size", "steps"), [(Fraction(1, 2), 2), (Fraction(3, 4), 3)])
def test_drift_of_two_clients_in_fractions(curvature: Fraction, size: Fraction, steps: int) -> None:
    """A round is affine in w: its values at 0 and 1 give the rest."""
    clients, optimum = ((curvature, -1), (Fraction(1), 1)), (1 - curvature) / (1 + curvature)
    ends: dict[str, list[Fraction]] = {"fedavg": [], "first": [], "second": []}
    for start in (0, 1):
        locals_, first, second = [], Fraction(0), Fraction(0)
        for a, b in clients:
            w = Fraction(start)
            for _ in range(steps):
                w -= size * a * (w - b)
            locals_.append(w)
            ahead = a * (start - size * a * (start - b) - b)  # the gradient after a personal step
            first, second = first + ahead / 2, second + (1 - size * a) * ahead / 2
        ends["fedavg"].append(sum(locals_) / Fraction(2) - start)
        ends["first"].append(first)
        ends["second"].append(second)
    zeros = {name: low / (low - high) for name, (low, high) in ends.items()}
    one = {"curvature": curvature, "step": size, "local_steps": steps}
    assert_sides(sides_at("baselines/fedavg-optimum", one), [(zeros["fedavg"], optimum)])
    gap = averaging.run_to_rest(curvature, size, steps)
    assert gap == pytest.approx(float(abs(zeros["fedavg"] - optimum)), rel=1e-9)
    found = sides_at("baselines/per-fedavg-fo-optimum", {"curvature": curvature, "inner": size})
    assert_sides(found, [(zeros["first"], zeros["second"])])
    gap = personal.run_to_rest(curvature, size)
    assert gap == pytest.approx(float(abs(zeros["first"] - zeros["second"])), rel=1e-9)


def test_cosines_of_the_updates_at_rest() -> None:
    model = rest(FedAvg(step_size=0.7, local_steps=2), ONE)[0][0]
    updates = []
    for a, b in zip(ONE.hessians, ONE.centers, strict=True):
        point = model
        for _ in range(2):
            point = point - 0.7 * a @ (point - b)
        updates.append(point - model)
    cosines = [[x @ y / np.linalg.norm(x) / np.linalg.norm(y) for y in updates] for x in updates]
    np.testing.assert_allclose(cfl_stationary.stationary_cosines(ONE, 0.7, 2), cosines, atol=1e-9)
    stream, labels = np.random.default_rng(5), np.array([0, 0, 1, 1, 2, 2, 3, 3])
    found = cfl_stationary.stationary_cosine(4, 2, 2.5, 0.3, 0.8, 2, stream)
    assert_sides(found, [(np.where(labels[:, None] == labels, 1, -1 / 3),) * 2])
    found, labels = cfl_stationary.two_clusters(2, 3, 4, 0.8, 2, stream), np.array([0, 0, 1, 1, 1])
    assert_sides(found, [(np.where(labels[:, None] == labels, 1, -1),) * 2])
    corners = cfl_stationary.simplex(4)
    np.testing.assert_allclose(corners @ corners.T, np.eye(4) - 1 / 4, atol=1e-12)
    half, one = Fraction(-1, 2), {"minimiser_0": -4, "minimiser_1": 3, "minimiser_2": 2}
    assert_sides(sides_at("cfl/stationary-cosine-anywhere", one), [(-1, half), (-1, half), (1, half)])
    assert cfl_stationary.run_to_rest(-4, 3, 2) == pytest.approx(1.5)
    for other, hypothesis in (({"minimiser_2": 3}, "of their own"), ({"minimiser_2": 10}, "no update is 0")):
        with pytest.raises(Outside, match=hypothesis):
            sides_at("cfl/stationary-cosine-anywhere", one | other)


def test_sizes_of_the_drawn_tasks() -> None:
    sizes, least = set(), 1.0
    for seed in range(120):
        task = resting.draw_task(np.random.default_rng(seed))
        sizes |= {("clients", task.clients), ("dimension", task.dimension), ("clusters", task.clusters)}
        least = min(least, float(np.linalg.eigvalsh(task.hessians).min()))
    drawn = [("clients", one) for one in range(1, 7)] + [("dimension", one) for one in range(1, 5)]
    assert sizes == {*drawn, ("clusters", 1)}
    assert 0.25 <= least < 0.3

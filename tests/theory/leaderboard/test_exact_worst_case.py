"""The exact worst case against PEPit and drawn clients, and expected distances over all choices of participants."""

import re
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from leaderboard_settings import A
from test_leaderboard import values

from clusterproof.methods.averaging import fedavg, fedprox
from clusterproof.methods.exact import ExactClients, SolvingClient, exact_clients
from clusterproof.theory.leaderboard import leaderboard
from clusterproof.theory.leaderboard.quadratics import moments_of, squared_distances
from clusterproof.theory.leaderboard.setting import Setting, TaskClass
from clusterproof.theory.leaderboard.worst_cases import exact_worst_case
from clusterproof.theory.rates.round_rate import make_round


@pytest.mark.parametrize(
    ("algorithm", "clients"),
    [
        ("scaffold", 2),
        *(
            pytest.param(*case, marks=pytest.mark.slow(reason="models and solves with another package"))
            for case in product(["fedavg", "fedprox", "scaffold", "proxskip"], [2, 3])
            if case != ("scaffold", 2)
        ),
    ],
)
def test_the_exact_worst_case_is_that_of_pepit(algorithm: str, clients: int) -> None:
    """PEPit models every client by itself; nothing is averaged over permutations."""
    pepit = pytest.importorskip("PEPit")
    smooth = pytest.importorskip("PEPit.functions").SmoothStronglyConvexFunction
    proximal_step = pytest.importorskip("PEPit.primitive_steps").proximal_step
    problem = pepit.PEP()
    mu, eta, p, m = 0.1, 0.5, 0.5, 0.5
    losses = [problem.declare_function(smooth, mu=mu, L=1.0) for _ in range(clients)]
    mean = sum(losses[1:], losses[0]) / clients
    optimum = mean.stationary_point()
    at = [loss.gradient(optimum) for loss in losses]
    start = problem.set_initial_point()
    problem.set_initial_condition((start - optimum) ** 2 <= 1)
    problem.add_constraint(sum((g**2 for g in at[1:]), at[0] ** 2) / clients <= 9)

    def average(points: list[Any]) -> Any:
        return sum(points[1:], points[0]) / len(points)

    model, controls, worst = start, [0 * start] * clients, None
    if algorithm == "proxskip":
        branches = [(1.0, [start] * clients, controls)]
        for _ in range(2):
            following = []
            for share, points, shifts in branches:
                moved = [
                    x - eta * (f.gradient(x) - h) for f, x, h in zip(losses, points, shifts, strict=True)
                ]
                centre = average(moved)
                met = [h + p / eta * (centre - x) for h, x in zip(shifts, moved, strict=True)]
                following += [(share * p, [centre] * clients, met), (share * (1 - p), moved, shifts)]
            branches = following
        worst = sum(share * average([(x - optimum) ** 2 for x in points]) for share, points, _ in branches)
    else:
        for _ in range(2):
            ends, shift = [], average(controls)
            for index, loss in enumerate(losses):
                point = model
                if algorithm == "fedprox":
                    point = proximal_step(model, loss, 1 / m)[0]
                else:
                    for _ in range(2):
                        corrected = shift - controls[index] if algorithm == "scaffold" else 0 * start
                        point = point - eta * (loss.gradient(point) + corrected)
                ends.append(point)
            if algorithm == "scaffold":
                controls = [c - shift + (model - y) / (2 * eta) for c, y in zip(controls, ends, strict=True)]
            model = average(ends)
        worst = (model - optimum) ** 2
    problem.set_performance_metric(worst)
    expected = problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)
    setting = {
        **A,
        "heterogeneity": "3",
        "local_steps": 1 if algorithm == "proxskip" else 2,
        "step_size": "1/2",
        "proximal": "1/2" if algorithm == "fedprox" else None,
        "probability": "1/2" if algorithm == "proxskip" else None,
    }
    found = values(leaderboard(algorithm, client_class="strong", rounds=2, **setting), 2)
    assert found["exact"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("client_class", "algorithm", "rounds", "local_steps", "why"),
    [
        ("convex", "scaffold", 1, 1, "class convex"),
        ("quadratic", "scaffold", 1, 1, "class quadratic"),
        ("strong", "scaffold", 4, 7, "more than 24 local gradients in all; --exact computes up to 40"),
        ("strong", "scaffold", 41, 1, "more than 24 local gradients in all$"),
        ("strong", "proxskip", 5, 1, "more than 24 local gradients in all; --exact computes up to 40"),
        ("strong", "proxskip", 6, 1, "more than 24 local gradients in all$"),
    ],
)
def test_where_the_exact_worst_case_is_out_of_reach(
    client_class: str, algorithm: str, rounds: int, local_steps: int, why: str
) -> None:
    """ProxSkip's R iterations are a tree of 2^R - 1 gradients."""
    option = {"probability": "1/2"} if algorithm == "proxskip" else {"option": "II"}
    given = {name: A[name] for name in ("smoothness", "strong_convexity", "step_size")} | option
    round_ = make_round(algorithm, client_class="strong", local_steps=local_steps, **given)
    setting = Setting.from_round(round_, TaskClass(client_class), Fraction(1), Fraction(1), rounds)
    value, reason = exact_worst_case(setting, round_, rounds, more=False)
    assert value is None
    assert re.search(why, str(reason))


CLIENTS, DIMENSION, STEP, SERVER, PULL = 3, 2, 0.25, 1.5, 0.5
STREAM = np.random.default_rng(0)
ROOTS = STREAM.standard_normal((CLIENTS, DIMENSION, DIMENSION)) / 3
HESSIANS = ROOTS @ np.swapaxes(ROOTS, 1, 2) + np.eye(DIMENSION) / 5
GRADIENTS = STREAM.standard_normal((CLIENTS, DIMENSION))
GRADIENTS -= GRADIENTS.mean(axis=0)
START = STREAM.standard_normal(DIMENSION)


def averaged(chosen: tuple[int, ...], model: np.ndarray) -> Any:
    own = [lambda x, i=i: HESSIANS[i] @ x + GRADIENTS[i] for i in chosen]
    return fedavg(exact_clients(own, [2] * len(chosen)), model, step_size=STEP, server_step_size=SERVER)


def solved(chosen: tuple[int, ...], model: np.ndarray) -> Any:
    """The minimisers of f_i + PULL / 2 |. - x|^2, whose gradients are 0."""
    solving = [
        SolvingClient(
            lambda x, i=i: np.linalg.solve(HESSIANS[i] + PULL * np.eye(DIMENSION), PULL * x - GRADIENTS[i])
        )
        for i in chosen
    ]
    return fedprox(ExactClients(solving, CLIENTS), model, step_size=None, proximal=PULL)


@pytest.mark.parametrize("participants", [1, 2, 3])
@pytest.mark.parametrize("rule", [averaged, solved])
def test_fedavg_and_fedprox(rule: Any, participants: int) -> None:
    sampling = (CLIENTS - participants) / (participants * (CLIENTS - 1))
    named = {"strong_convexity": "1/100", "sampling": sampling}
    if rule is averaged:
        round_ = make_round("fedavg", local_steps=2, step_size=STEP, server_step_size=SERVER, **named)
    else:
        round_ = make_round("fedprox", proximal=PULL, **named)
    moments = moments_of(round_, HESSIANS, GRADIENTS, START)
    ((once, twice),) = squared_distances([moments], [1, 2])
    choices = list(combinations(range(CLIENTS), participants))
    first = [rule(chosen, START) for chosen in choices]
    second = [rule(chosen, model) for chosen, model in product(choices, first)]
    assert once == pytest.approx(np.mean([x @ x for x in first]), rel=1e-12)
    assert twice == pytest.approx(np.mean([x @ x for x in second]), rel=1e-12)

"""Lines of the drift against long runs written out, and against linear algebra."""

from functools import cache

import numpy as np
import pytest
from drawings import drawn, figure_of
from drawings import line as line_of

from clusterproof.theory.exact import affine_rounds

pytestmark = pytest.mark.slow(reason="the figure takes seconds")
ETA, ALPHA, MU, BETAS = 0.3, 0.5, 1.0, {"0": 0.0, "0.5": 0.5, "0.9": 0.9}


def line(panel, gid):
    return line_of(drawn("drift").axes[panel], gid)


@cache
def problem():
    """One client a cluster stands for its equals."""
    task = figure_of("drift").task()
    return task.covariances.matrices, task.optima


def distance(model):
    hessians, optima = problem()
    best = np.linalg.solve(hessians.sum(axis=0), np.einsum("pij,pj->i", hessians, optima))
    return np.linalg.norm(model - best)


def average(local, rounds, size=3):
    """Average the clients' local maps (A, b, received) -> sent until nothing moves."""
    state = np.zeros(size)
    for _ in range(rounds):
        state = np.mean([local(a, b, state) for a, b in zip(*problem(), strict=True)], axis=0)
    return state


def descend(steps, gradient):
    def local(a, b, received):
        w = received
        for _ in range(steps):
            w = w - ETA * gradient(a, b, w, received)
        return w

    return local


def momentum(steps, beta):
    def local(a, b, received):
        w, u = received[:3], received[3:]
        for _ in range(steps):
            u = beta * u + a @ (w - b)
            w = w - ETA * u
        return np.concatenate([w, u])

    return local


GRADIENTS = {
    "FedAvg": lambda a, b, w, received: a @ (w - b),
    "FedProx, inexact": lambda a, b, w, received: a @ (w - b) + MU * (w - received),
    "Per-FedAvg, FO": lambda a, b, w, received: a @ (w - ALPHA * a @ (w - b) - b),
    "Per-FedAvg, HF": lambda a, b, w, received: (np.eye(3) - ALPHA * a) @ a @ (w - ALPHA * a @ (w - b) - b),
}


@pytest.mark.parametrize("steps", [1, 6, 19])
@pytest.mark.parametrize("name", GRADIENTS)
def test_lines_over_local_steps_are_where_long_runs_end(name, steps):
    end = average(descend(steps, GRADIENTS[name]), rounds=600 // steps + 100)
    parameters, drifts = line(0, f"closed {name}")
    assert drifts[parameters == steps].item() == pytest.approx(distance(end), abs=1e-8)


@pytest.mark.parametrize("steps", [1, 6, 19])
@pytest.mark.parametrize("beta", BETAS)
def test_lines_of_momentum_are_where_long_runs_end(beta, steps):
    end = average(momentum(steps, BETAS[beta]), rounds=600 // steps + 100, size=6)[:3]
    parameters, drifts = line(0, rf"closed CFL-MGD II, $\beta = {beta}$")
    assert drifts[parameters == steps].item() == pytest.approx(distance(end), abs=1e-8)


@pytest.mark.parametrize("index", [0, 100])
def test_the_exact_line_is_where_exact_local_minimisers_rest_and_is_that_of_the_joint_minimiser(index):
    parameters, drifts = line(1, "closed FedProx, exact")
    mu = parameters[index]

    def solve(a, b, received):
        return np.linalg.solve(a + mu * np.eye(3), a @ b + mu * received)

    end = average(solve, rounds=1000)
    assert drifts[index] == pytest.approx(distance(end), abs=1e-8)
    # FedBCD minimises over all x_i and z together: one linear system
    hessians, optima = problem()
    system, right = np.zeros((15, 15)), np.zeros(15)
    for client in range(4):
        own = slice(3 * client, 3 * client + 3)
        system[own, own] = hessians[client] + mu * np.eye(3)
        system[own, 12:] = system[12:, own] = -mu * np.eye(3)
        system[12:, 12:] += mu * np.eye(3)
        right[own] = hessians[client] @ optima[client]
    common = np.linalg.solve(system, right)[12:]
    assert line(1, "closed FedBCD")[1][index] == pytest.approx(distance(common), abs=1e-10)


@pytest.mark.parametrize("index", [0, 100])
def test_the_inexact_line_over_the_strength_is_where_eight_steps_end(index):
    parameters, drifts = line(1, "closed FedProx, inexact")

    def gradient(a, b, w, received):
        return a @ (w - b) + parameters[index] * (w - received)

    end = average(descend(8, gradient), rounds=2000)
    assert drifts[index] == pytest.approx(distance(end), abs=1e-8)


@pytest.mark.parametrize("panel", [0, 1])
def test_the_marks_are_ends_of_runs_and_lie_on_the_lines(panel):
    marked = [
        each.get_gid().removeprefix("runs ")
        for each in drawn("drift").axes[panel].get_lines()
        if str(each.get_gid()).startswith("runs ")
    ]
    assert len(marked) == (7, 3)[panel]
    for name in marked:
        ran, ends = line(panel, f"runs {name}")
        parameters, drifts = line(panel, f"closed {name}")
        on_line = np.interp(np.log(ran), np.log(parameters), drifts)
        np.testing.assert_allclose(ends, on_line, atol=1e-5)  # a mark may lie between two points


def test_one_step_has_no_drift_and_many_tend_to_the_mean_of_the_optima():
    for name in ("FedAvg", "FedProx, inexact", r"CFL-MGD II, $\beta = 0.9$"):
        assert line(0, f"closed {name}")[1][0] < 1e-14
    _, (limit, _) = line(0, "mean of optima")
    assert limit == pytest.approx(distance(problem()[1].mean(axis=0)))
    hessians, optima = problem()
    many = affine_rounds.fedavg_rest(hessians, optima, step_size=ETA, local_steps=5000)
    assert distance(many) == pytest.approx(limit, abs=1e-9)

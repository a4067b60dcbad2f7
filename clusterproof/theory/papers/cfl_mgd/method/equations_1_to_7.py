"""Claims on (1)-(7) and line 20 of Algorithm 1: the objective, momentum, averages, and clusters without clients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.algorithms import Descent as Steps
from clusterproof.checker.claims import (
    Excluded,
    Sides,
    Stream,
    Z,
    among,
    at_least,
    at_most,
    claim,
    drawn,
    equal,
    given,
    reals,
    suppose,
)
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture, direct_simulation
from clusterproof.theory.exact.random_tasks import (
    random_clients,
    random_quadratics,
    random_regression,
    share_of_largest,
)


@claim(
    "cfl-mgd/equation-1",
    label="(1), (2)",
    repaired_by="cfl-mgd/equation-1-mean",
    ill_posed=True,
    expected="ill-posed",
    places="(2)",
)
def objective(clusters: int = Z[2:], clients_each: int = Z[1:]) -> dict[str, Sides]:
    """The loss of a client is a mean over its samples, and the loss of a cluster is a sum over its clients.

    Statement
        |D_p| / |D| is the share of the data that cluster p owns, C*_p are its clients, and Y are the samples of a
        client.

    Lines
        (1)
            phi_p(chi) = (|D_p| / |D|) sum_(i in C*_p) phi_i(chi). This contradicts Assumptions 1-3 and (26), where
            phi_p is the expectation over D_p. For equal clusters, the claim compares the two factors of the mean loss
            of a cluster.
        (2)
            phi_i(chi; Y) = (1 / |Y|) sum_(y in Y) f(chi; y), f(.; y): chi -> R^d. This is a misprint: R^d has no
            order, and hence no smallest loss. R^d should be R.

    Source
        Zhao et al. (2023), (1), (2) and the line after it. ``cfl-mgd/equation-1-mean`` states (1) and (2) as meant.
    """
    factor = Fraction(1, clusters) * clients_each
    return {
        "(1)": equal(
            (factor, 1),
            words=lambda: (
                f"phi_p has two definitions: with m = {clusters * clients_each} and {clusters} equal clusters (1) is "
                f"{float(factor):g} times the expected loss of Assumptions 1-3"
            ),
        )
    }


@objective.line("(2)")
def loss_of_a_client(
    first_x: int = Z[0:], first_y: int = Z[0:], second_x: int = Z[0:], second_y: int = Z[0:]
) -> Sides:
    """Check (2) for two models at given distances from the client's minimiser. In R^2, neither has the smaller loss."""
    first, second = (first_x**2, first_y**2), (second_x**2, second_y**2)
    least = [all(a <= b for a, b in zip(*pair, strict=True)) for pair in ((first, second), (second, first))]
    return at_least(
        int(any(least)),
        one=1,
        words=lambda: (
            f"(8) needs a smallest loss: of two models with the losses {[x / 2 for x in first]} and "
            f"{[x / 2 for x in second]} in R^2 neither has it, and a gradient would be a d x d matrix; R is meant"
        ),
    )


@claim(
    "cfl-mgd/equation-1-mean",
    label="(1), (2), as meant",
    source="reading",
    expected="consistent, tight within 2",
    places="(2)",
)
def objective_as_meant(
    task: Annotated[QuadraticMixture, drawn(partial(random_clients, clusters=2, clients=(4, 11)))],
    stream: Stream,
) -> dict[str, Sides]:
    """With the mean over the cluster's clients, (1) is the expected loss in the assumptions.

    Hypotheses
        All clients have equal amounts of data.

    Statement
        For phi_p(chi) = (1 / |C*_p|) sum_(i in C*_p) phi_i(chi), the gradient vanishes at chi*_p and the curvature lies
        between mu and L, as in the assumptions. In (2), f(.; y): R^d -> R.

    Source
        Ours, based on Zhao et al. (2023), (1), and (2) with R for R^d.
    """
    directions = stream.standard_normal(task.optima.shape)
    means, expected, at_optimum = np.zeros((3, *task.optima.shape))
    for cluster, optimum in enumerate(task.optima):
        members = np.flatnonzero(task.labels == cluster)
        for client in members:
            offset = optimum + directions[cluster] - task.centers[client]
            means[cluster] += task.hessians[client] @ offset / len(members)
        expected[cluster] = task.expected_gradient(optimum + directions[cluster], cluster)
        at_optimum[cluster] = task.expected_gradient(optimum, cluster)
    quotients = (means * directions).sum(axis=-1) / (directions**2).sum(axis=-1)
    return {
        "(1), gradient": equal((means, expected), (at_optimum, 0.0), rounding=1e-9),
        "(1), least curvature": at_least(quotients, mu=task.strong_convexity),
        "(1), largest curvature": at_most(quotients, smoothness=task.smoothness),
    }


def few_rows(stream: np.random.Generator) -> RegressionMixture:
    """Draw a regression with at most 40 samples per client."""
    task = random_regression(stream)
    return replace(task, covariance=task.covariances.matrices, samples=min(task.samples, 40))


@objective_as_meant.line("(2)", evaluations=30)
def scalar_loss_of_a_client(task: Annotated[RegressionMixture, drawn(few_rows)], stream: Stream) -> Sides:
    """Compute the loss of each sample separately, and return the mean."""
    models = task.optima + stream.standard_normal(task.optima.shape)
    labels = np.zeros(2, dtype=int)
    features, errors = direct_simulation.draw_data(labels, task.covariances, task.noise, task.samples, stream)
    optima = task.optima[labels]
    losses = direct_simulation.losses(models, optima, features, errors)
    means = np.zeros_like(losses)
    for client, number in np.ndindex(means.shape):
        for x, error in zip(features[client], errors[client], strict=True):
            residual = float(x @ optima[client]) + float(error) - float(x @ models[number])
            means[client, number] += 0.5 * residual**2 / task.samples
    return equal((losses / (1 + means), means / (1 + means)), rounding=1e-10)


STEPS = 12
THREE_CLIENTS = partial(
    random_quadratics, clusters=(1, 1), dimension=(1, 5), condition_number=10.0, spread=1.0
)


@dataclass(frozen=True)
class Descent:
    """Gradient descent with momentum on the quadratic losses of the clients in one cluster."""

    task: Annotated[QuadraticMixture, drawn(THREE_CLIENTS)]
    step_size: Annotated[float, reals(0, 1)]
    momentum: Annotated[float, reals(0, 1)]

    def gradients(self, models: np.ndarray) -> np.ndarray:
        """Return each client's gradient at its model, (m, d)."""
        return np.asarray(np.einsum("mij,mj->mi", self.task.hessians, models - self.task.centers))

    def local_step(
        self, models: np.ndarray, buffers: np.ndarray, stream: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return models and buffers (m, d) after one local step of the library."""
        step, clients = Steps(self.step_size, momentum=self.momentum), np.arange(self.task.clients)
        points, moved, _ = self.task.local_steps(models, clients, stream, step, buffers=buffers)
        return np.asarray(points), np.asarray(moved)

    def moves_of_option_1(self, start: np.ndarray) -> Sides:
        """Compare the model changes of option I with eta times the clients' mean momentum, computed with (3)."""
        algorithm = CFLMGD(step_size=self.step_size, momentum=self.momentum, momentum_owner="client")
        models = run(algorithm, self.task, rounds=STEPS, initial=start).models[:, 0]
        buffers, moves = np.zeros_like(self.task.centers), []
        for model in models[:-1]:
            buffers = self.momentum * buffers + self.gradients(model)
            moves.append(self.step_size * buffers.mean(axis=0))
        return equal((models[:-1] - models[1:], np.stack(moves)), rounding=share_of_largest(1e-10, models))


@claim(
    "cfl-mgd/equation-3",
    label="(3), (4), (7)",
    evaluations=300,
    expected="consistent, no sharpness",
    places="introduction; (4); (7); algorithm 1, input; algorithm 1, line 8; algorithm 1, line 20",
)
def momentum_descent(descent: Descent, stream: Stream) -> dict[str, Sides | Excluded]:
    """By (3), (4) and (7), a client's new momentum is beta times its old momentum plus its gradient.

    Hypotheses
        u_i^0 = 0 and chi^(-1) = chi^0. The paper does not state this condition at (7). With u^0 = 1, (7) and (4)
        differ in the first step.

    Statement
        The lines are about option I with one cluster, and about the local steps of option II.

    Lines
        (3)
            u_i^t = beta u_i^(t-1) + grad phi_i(chi_p^(t-1)). The gradient is evaluated at the model that the round
            broadcast, as in (4), (9) and (32). Lines 7, 8 and 15 of Algorithm 1 agree with this, but line 2 does not,
            see ``cfl-mgd/algorithm-line-8``.
        (4)
            u_i^t = beta u_i^(t-1) + grad phi_i(chi_i^(t-1)), chi_i^t = chi_i^(t-1) - eta u_i^t. Line 20 of Algorithm 1
            prints the same equations, see ``cfl-mgd/algorithm-line-20``.
        (7)
            chi^t = chi^(t-1) - eta grad phi(chi^(t-1)) + beta (chi^(t-1) - chi^(t-2)). This recursion has the same
            models as (4).

    Source
        Zhao et al. (2023), (3), (4) and (7).
    """
    suppose("one cluster", descent.task.clusters == 1)
    start = stream.standard_normal(descent.task.centers.shape)
    models, buffers, single = start, np.zeros_like(start), [start, start]
    by_algorithm, of_algorithm = start, np.zeros_like(start)
    path, local = [], []
    for _ in range(STEPS):
        buffers = descent.momentum * buffers + descent.gradients(models)
        models = models - descent.step_size * buffers
        path.append(models)
        before, now = single[-2:]
        single.append(now - descent.step_size * descent.gradients(now) + descent.momentum * (now - before))
        by_algorithm, of_algorithm = descent.local_step(by_algorithm, of_algorithm, stream)
        local.append(by_algorithm)
    rounding = share_of_largest(1e-10, np.stack(local))
    return {
        "(3)": given(
            "eta > 0 and beta < 1",
            descent.step_size > 0 and descent.momentum < 1,
            lambda: descent.moves_of_option_1(start[:1]),
        ),
        "(4)": equal((np.stack(local), np.stack(path)), rounding=rounding),
        "(7)": equal((np.stack(local), np.stack(single[2:])), rounding=rounding),
    }


@claim(
    "cfl-mgd/algorithm-line-20",
    label="Algorithm 1, line 20",
    evaluations=200,
    expected="consistent, no sharpness",
    headline=True,
)
def algorithm_line_20(descent: Descent, stream: Stream) -> dict[str, Sides]:
    """Line 20 states (4): for any initial momentum, both of its equations hold at every local step.

    Hypotheses
        u_i^(0) is an arbitrary vector, because line 11 passes u_p to the client.

    Statement
        chi_i^(s) = chi_i^(s-1) - eta u_i^(s) and u_i^(s) = beta u_i^(s-1) + grad phi_i(chi_i^(s-1)).

    Source
        Zhao et al. (2023), Algorithm 1, line 20, and the last two lines of (10). The first equation contains u^(s),
        so u is updated before the model, although the equation for u is printed second. With u^(s-1) instead of u^(s)
        (``update_order="as-printed"``), the gradient would be delayed by one step.
    """
    models, buffers = stream.standard_normal((2, *descent.task.centers.shape))
    steps = []
    for _ in range(STEPS):
        after, momenta = descent.local_step(models, buffers, stream)
        printed = descent.momentum * buffers + descent.gradients(models)
        steps.append((after, models - descent.step_size * momenta, momenta, printed))
        models, buffers = after, momenta
    path, expected, moved, expected_momenta = map(np.stack, zip(*steps, strict=True))
    return {
        "models": equal((path, expected), rounding=share_of_largest(1e-10, path)),
        "momenta": equal((moved, expected_momenta), rounding=share_of_largest(1e-10, moved)),
    }


@claim(
    "cfl-mgd/equation-5",
    label="(5), (6)",
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/equation-10-line-16"),
    ill_posed=True,
    expected="ill-posed",
    places="(6); algorithm 1, line 15; algorithm 1, line 16",
)
def averages(start: Fraction = among(Fraction(10), Fraction(100))) -> dict[str, Sides]:
    """Gradient averaging and model averaging define a model and a momentum for every cluster in every round.

    Statement
        r_ip is the one-hot assignment. The check counts the clients that choose the model ``start`` rather than the
        model 1/2, out of two clients at each of the optima 1 and -1. A mean over no clients is 0 / 0.

    Lines
        (5)
            chi_p^t = chi_p^(t-1) - (eta/m) sum_i r_ip u_i^t and u_p^t = sum_i r_ip u_i^t / sum_i r_ip. If each
            cluster has one momentum, as in (32), the first equation of (5) is defined for clusters without clients.
            Theorem D uses this reading. The claim ``cfl-mgd/division-by-clients`` is about the divisor m.
        (6)
            chi_p^t = sum_i r_ip chi_i^t / sum_i r_ip and u_p^t = sum_i r_ip u_i^t / sum_i r_ip.

    Source
        Zhao et al. (2023), (5), (6) and lines 15, 16. These are definitions.
    """
    # in the first round, two clients at 1 and two at -1 choose between the model 1/2 and the second model
    chosen = 2 * len([c for c in (1, -1) if abs(start - c) < abs(Fraction(1, 2) - c)])
    words = f"a model at {start} among optima +-1 is chosen by {chosen} clients, so that"
    coasts = f"{words} u_p is 0/0; read: the model coasts on its momentum"
    keeps = f"{words} chi_p and u_p are 0/0; read: model and momentum are kept"
    return {
        "(5)": at_least(chosen, one=1, words=coasts),
        "(6)": at_least(chosen, one=1, words=keeps),
    }

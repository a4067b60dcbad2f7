"""(3)-(7): momentum, averages, and a cluster that nobody chose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD, run
from clusterproof.algorithms import Descent as Steps
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import (
    Excluded,
    Sides,
    Stream,
    at_least,
    choice,
    claim,
    drawn,
    equal,
    given,
    reals,
    suppose,
)
from clusterproof.theory.exact.rounding import share_of_largest

STEPS = 12


def scattered_clients(stream: np.random.Generator) -> QuadraticMixture:
    """Draw three scattered quadratic clients of one cluster."""
    dimension = int(stream.integers(1, 6))
    return QuadraticMixture.random(
        clusters=1,
        clients=3,
        dimension=dimension,
        condition_number=1.0 + 9.0 * (dimension > 1),
        spread=1.0,
        seed=int(stream.integers(2**31)),
    )


@dataclass(frozen=True)
class Descent:
    """Momentum descent of quadratic clients of one cluster."""

    task: Annotated[QuadraticMixture, drawn(scattered_clients)]
    step_size: Annotated[float, reals(0, 1)]
    momentum: Annotated[float, reals(0, 1)]

    def gradients(self, models: np.ndarray) -> np.ndarray:
        """Each client's gradient at its model, (m, d)."""
        offsets = models - self.task.centers
        return np.stack([a @ offset for a, offset in zip(self.task.hessians, offsets, strict=True)])


def local_step(
    descent: Descent, models: np.ndarray, buffers: np.ndarray, stream: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Models and buffers (m, d) after one step of the algorithms' own local update."""
    step = Steps(descent.step_size, momentum=descent.momentum)
    clients = np.arange(descent.task.clients)
    points, moved, _ = descent.task.local_steps(models, clients, stream, step, buffers=buffers)
    return np.asarray(points), np.asarray(moved)


def by_the_algorithms(descent: Descent, start: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    """Models of the algorithms' own local update, (STEPS, m, d)."""
    models, buffers, path = start, np.zeros_like(start), []
    for _ in range(STEPS):
        models, buffers = local_step(descent, models, buffers, stream)
        path.append(models)
    return np.stack(path)


def moves_of_option_1(descent: Descent, start: np.ndarray) -> Sides:
    """Compare the moves of option I with eta times the clients' mean momentum by (3)."""
    algorithm = CFLMGD(step_size=descent.step_size, momentum=descent.momentum, momentum_owner="client")
    models = run(algorithm, descent.task, rounds=STEPS, initial=start).models[:, 0]
    buffers = np.zeros_like(descent.task.centers)
    moves = []
    for model in models[:-1]:
        buffers = descent.momentum * buffers + descent.gradients(model)
        moves.append(descent.step_size * buffers.mean(axis=0))
    return equal((models[:-1] - models[1:], np.stack(moves)), rounding=share_of_largest(1e-10, models))


@claim("cfl-mgd/equation-3", label="(3), (4), (7)", evaluations=300)
def momentum_descent(descent: Descent, stream: Stream) -> dict[str, Sides | Excluded]:
    """A client's momentum is beta times the old one plus its gradient, in three forms.

    Hypotheses
        u_i^0 = 0, which the paper does not state at (7): with u^0 = 1 the forms differ in the first step;
        chi^(-1) = chi^0.

    Statement
        Option I for one cluster, and the local steps of option II:

    Lines
        (3)
            u_i^t = beta u_i^(t-1) + grad phi_i(chi_p^(t-1)), at the model that the round broadcast, as (4), (9) and
            (32). With lines 7 and 15 of Algorithm 1 line 8 is the same; line 2 is not: ``cfl-mgd/algorithm-line-8``.
        (4)
            u_i^t = beta u_i^(t-1) + grad phi_i(chi_i^(t-1)), chi_i^t = chi_i^(t-1) - eta u_i^t. Line 20 of Algorithm 1
            prints the same: ``cfl-mgd/algorithm-line-20``.
        (7)
            chi^t = chi^(t-1) - eta grad phi(chi^(t-1)) + beta (chi^(t-1) - chi^(t-2)), the same models as (4).

    Source
        Zhao et al. (2023), (3), (4) and (7).
    """
    suppose("one cluster", descent.task.clusters == 1)
    start = stream.standard_normal(descent.task.centers.shape)
    models, buffers, single = start, np.zeros_like(start), [start, start]
    path = []
    for _ in range(STEPS):
        buffers = descent.momentum * buffers + descent.gradients(models)
        models = models - descent.step_size * buffers
        path.append(models)
        before, now = single[-2:]
        move = descent.momentum * (now - before)
        single.append(now - descent.step_size * descent.gradients(now) + move)
    local = by_the_algorithms(descent, start, stream)
    rounding = share_of_largest(1e-10, local)
    return {
        "(3)": given(
            "eta > 0 and beta < 1",
            descent.step_size > 0 and descent.momentum < 1,
            lambda: moves_of_option_1(descent, start[:1]),
        ),
        "(4)": equal((local, np.stack(path)), rounding=rounding),
        "(7)": equal((local, np.stack(single[2:])), rounding=rounding),
    }


@claim("cfl-mgd/algorithm-line-20", label="Algorithm 1, line 20", evaluations=200)
def algorithm_line_20(descent: Descent, stream: Stream) -> dict[str, Sides]:
    """Line 20 is (4), from any momentum: both of its equations hold at every local step.

    Hypotheses
        u_i^(0) is any vector, as line 11 passes u_p on.

    Statement
        chi_i^(s) = chi_i^(s-1) - eta u_i^(s) and u_i^(s) = beta u_i^(s-1) + grad phi_i(chi_i^(s-1)).

    Source
        Zhao et al. (2023), Algorithm 1, line 20, and the last two lines of (10). The index of u in the first
        equation is s, so that u is updated before the model, though its equation is listed below. With u^(s-1) in its
        place, ``update_order="as-printed"``, the gradient is delayed by a step; that is not what is printed.
    """
    models = stream.standard_normal(descent.task.centers.shape)
    buffers = stream.standard_normal(descent.task.centers.shape)
    path, expected, momenta, expected_momenta = [], [], [], []
    for _ in range(STEPS):
        next_models, next_buffers = local_step(descent, models, buffers, stream)
        path.append(next_models)
        expected.append(models - descent.step_size * next_buffers)
        momenta.append(next_buffers)
        expected_momenta.append(descent.momentum * buffers + descent.gradients(models))
        models, buffers = next_models, next_buffers
    return {
        "models": equal(
            (np.stack(path), np.stack(expected)), rounding=share_of_largest(1e-10, np.stack(path))
        ),
        "momenta": equal(
            (np.stack(momenta), np.stack(expected_momenta)),
            rounding=share_of_largest(1e-10, np.stack(momenta)),
        ),
    }


Start = Annotated[float, choice(10.0, 100.0)]
"""Start of the second model; the optima are +-1."""


def fewest_members(averaging: str, start: float) -> int:
    """Fewest clients that choose the second model in one of five rounds."""
    task = QuadraticMixture(
        hessians=np.ones((4, 1, 1)),
        centers=np.array([[1.0], [1.0], [-1.0], [-1.0]]),
        labels=np.array([0, 0, 1, 1]),
    )
    algorithm = CFLMGD(step_size=1.0, momentum=0.5, averaging=averaging)
    trace = run(algorithm, task, rounds=5, initial=np.array([[0.5], [start]]))
    return int((trace.assignments == 1).sum(axis=-1).min())


@claim(
    "cfl-mgd/equation-5",
    label="(5), (6)",
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/equation-10-line-16"),
    ill_posed=True,
)
def averages(start: Start) -> dict[str, Sides]:
    """Both kinds of averaging give every cluster a model and a momentum in every round.

    Statement
        With r_ip the one-hot assignment:

    Lines
        (5)
            chi_p^t = chi_p^(t-1) - (eta/m) sum_i r_ip u_i^t and u_p^t = sum_i r_ip u_i^t / sum_i r_ip. Its first line
            with one momentum a cluster, as (32), needs no average: Theorem D reads it so. On its division by m:
            ``cfl-mgd/division-by-clients``.
        (6)
            chi_p^t = sum_i r_ip chi_i^t / sum_i r_ip and u_p^t = sum_i r_ip u_i^t / sum_i r_ip.

    Source
        Zhao et al. (2023), (5), (6) and lines 15, 16. Definitions.
    """
    by_gradients, by_models = (fewest_members(averaging, start) for averaging in ("gradient", "model"))
    words = "a model at {:g} among optima +-1 is chosen by {} clients, so that {} 0/0; read: {}"
    return {
        "(5)": at_least(
            by_gradients,
            one=1,
            words=words.format(start, by_gradients, "u_p is", "the model coasts on its momentum"),
        ),
        "(6)": at_least(
            by_models,
            one=1,
            words=words.format(start, by_models, "chi_p and u_p are", "model and momentum are kept"),
        ),
    }

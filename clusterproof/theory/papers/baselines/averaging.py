"""Fixed points of FedAvg, FedProx, Per-FedAvg, FedBCD and LOCAL on quadratics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import Algorithm, FedAvg, FedBCD, FedProx, Local, PerFedAvg, State
from clusterproof.checker.claims import Q, Sides, Z, among, claim, drawn, equal, suppose
from clusterproof.common import Randomness, generator
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact import affine_rounds

TOLERANCE = 1e-10
"""Largest allowed distance between the last state of a run and the closed form of its fixed point."""

STILL = 1e-14
"""A run counts as converged if the relative change of its state's arrays in a round is at most this number."""

LONGEST = 20000
"""Largest number of rounds of a run."""

INSTANCES = 80
"""Number of tasks for the comparison with each closed form."""


def rest(algorithm: Algorithm[Any], task: QuadraticMixture, initial: np.ndarray) -> State:
    """Run from initial models (P, d) until the state no longer changes, and return the last state."""
    randomness = Randomness.from_seed(0)
    state: State = algorithm.initialise(initial, task)
    before = kept(state)
    for _ in range(LONGEST):
        state = algorithm.step(state, task, randomness)
        after = kept(state)
        moves = [
            np.abs(new - old).max() / (1 + np.abs(new).max()) for new, old in zip(after, before, strict=True)
        ]
        if max(moves) <= STILL:
            break
        before = after
    return state


def kept(state: State) -> list[np.ndarray]:
    """Return the models and all other arrays of an algorithm's state."""
    arrays = [getattr(state, name, None) for name in ("models", "personal", "buffers")]
    return [np.array(array) for array in arrays if array is not None]


def draw_task(stream: np.random.Generator, *, clusters: int = 1, fewest: int = 1) -> QuadraticMixture:
    """Draw clients with different Hessians and centres.

    If there are several clusters, the clients within a cluster are equal.

    Eigenvalues lie in [1/4, 1], and centres have a normal distribution. If there are several clusters, their centres
    are far apart, so the algorithms find the true clusters in the first round.

    Parameters
    ----------
    stream
        Random generator, which draws up to six clients per cluster in up to four dimensions.
    clusters
        Number of clusters of equal size.
    fewest
        Smallest number of clients of a cluster.
    """
    clients, dimension = int(stream.integers(fewest, 7)), int(stream.integers(1, 5))
    count, condition = clusters * clients, float(stream.choice([1, 2, 4]))
    rotations = np.linalg.qr(stream.standard_normal((count, dimension, dimension)))[0]
    spectra = stream.uniform(1 / condition, 1, (count, dimension))
    hessians = (rotations * spectra[:, None, :]) @ np.swapaxes(rotations, -1, -2)
    labels = np.repeat(np.arange(clusters), clients)
    centers = stream.standard_normal((count, dimension))
    centers[:, 0] += 100.0 * labels
    return QuadraticMixture(
        hessians=(hessians + np.swapaxes(hessians, -1, -2)) / 2, centers=centers, labels=labels
    )


Task = Annotated[QuadraticMixture, drawn(draw_task)]
STRENGTH = Q[Fraction(1, 20) : 1 : 20]


def suppose_moderate(task: QuadraticMixture) -> None:
    """Suppose that runs converge within ``ROUNDS`` rounds, and to values much larger than rounding errors."""
    eigenvalues = np.linalg.eigvalsh(task.hessians)
    inside = eigenvalues.min() >= 0.25 - 1e-12 and eigenvalues.max() <= 1 + 1e-12
    suppose("the A_i have eigenvalues in [1/4, 1]", inside)
    suppose("all b_i are within 1000 of 0", np.abs(task.centers).max() <= 1000)


def start_of(task: QuadraticMixture, count: int) -> np.ndarray:
    """Return random initial models of the task."""
    return task.initial_models(count, (), generator(0, "baselines", "start"))


def kept_at_rest(
    algorithm: Algorithm[Any], task: QuadraticMixture, forms: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Return the arrays of the converged state of a run, models first, in the shapes of the closed forms."""
    state = rest(algorithm, task, start_of(task, algorithm.model_count(task)))
    return [array.reshape(form.shape) for array, form in zip(kept(state), forms, strict=False)]


def rests_at(algorithm: Algorithm[Any], task: QuadraticMixture, *forms: np.ndarray) -> Sides:
    """State that the state of a run converges to the closed forms."""
    suppose_moderate(task)
    resting = kept_at_rest(algorithm, task, forms)
    return equal(*zip(resting, forms, strict=False), rounding=TOLERANCE)


@claim(
    "baselines/fedavg",
    label="FedAvg",
    source="ours",
    evaluations=INSTANCES,
    expected="consistent, no sharpness",
    headline=True,
    places="cfl-mgd/section 6.3",
)
def fedavg(task: Task, local_steps: int = Z[1:8]) -> Sides:
    """FedAvg with H local steps has the fixed point (sum Q_i)^-1 sum Q_i b_i with Q_i = I - (I - eta A_i)^H.

    Hypotheses
        phi_i(w) = (w - b_i)' A_i (w - b_i) / 2 with A_i symmetric positive definite, and eta < 2 / max L_i. All clients
        take part with equal weights.

    Statement
        A round is w -> w - mean Q_i (w - b_i), and its fixed point is (sum Q_i)^-1 sum Q_i b_i. For H = 1 the fixed
        point is the optimum. As H -> infinity it tends to the unweighted mean of the b_i.

    Source
        Ours. FedAvg is Algorithm 1 of McMahan et al. (2017).
    """
    step = 1 / task.client_smoothness
    form = affine_rounds.fedavg_rest(task.hessians, task.centers, step_size=step, local_steps=local_steps)
    return rests_at(FedAvg(step_size=step, local_steps=local_steps), task, form)


@claim(
    "baselines/fedprox",
    label="FedProx, H steps",
    source="ours",
    evaluations=INSTANCES,
    expected="consistent, no sharpness",
)
def fedprox(task: Task, proximal: Fraction = STRENGTH, local_steps: int = Z[1:8]) -> Sides:
    """FedProx's fixed point with H steps has the weights (I - (I - eta (A_i + mu I))^H) (A_i + mu I)^-1 A_i.

    Hypotheses
        The hypotheses of ``baselines/fedavg`` hold, with eta < 2 / (max L_i + mu).

    Statement
        The fixed point is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i.

    Source
        Ours. FedProx is Algorithm 2 of Li et al. (2020), with H gradient steps on each local problem.
    """
    strength = float(proximal)
    step = 1 / (task.client_smoothness + strength)
    form = affine_rounds.fedprox_rest(
        task.hessians, task.centers, proximal=strength, step_size=step, local_steps=local_steps
    )
    return rests_at(FedProx(step_size=step, proximal=strength, local_steps=local_steps), task, form)


@claim(
    "baselines/fedprox-exact",
    label="FedProx, exact",
    source="ours",
    evaluations=INSTANCES,
    expected="consistent, no sharpness",
)
def fedprox_exact(task: Task, proximal: Fraction = STRENGTH) -> Sides:
    """FedProx's fixed point with exactly solved local problems has the weights (A_i + mu I)^-1 A_i.

    Hypotheses
        The hypotheses of ``baselines/fedprox`` hold, with H -> infinity.

    Statement
        The fixed point is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i. As mu -> infinity it tends to the optimum,
        and as mu -> 0 to the unweighted mean of the b_i.

    Source
        Ours. The algorithm is Algorithm 2 of Li et al. (2020) with gamma = 0.
    """
    strength = float(proximal)
    step = 1 / (task.client_smoothness + strength)
    slowest = 1 - step * (float(np.linalg.eigvalsh(task.hessians).min()) + strength)
    steps = max(1, math.ceil(math.log(1e-15) / math.log(slowest))) if slowest > 1e-15 else 1
    form = affine_rounds.fedprox_rest(task.hessians, task.centers, proximal=strength)
    return rests_at(FedProx(step_size=step, proximal=strength, local_steps=steps), task, form)


def pair(curvature: Fraction) -> QuadraticMixture:
    """Return two scalar clients: minimiser -1 with the given curvature, and minimiser 1 with curvature 1."""
    return QuadraticMixture(
        hessians=np.array([[[float(curvature)]], [[1.0]]]),
        centers=np.array([[-1.0], [1.0]]),
        labels=np.array([0, 0]),
    )


CURVATURE = Q[Fraction(1, 4) : 1 : 4]


def rest_of_two(curvature: Fraction, step: Fraction, local_steps: int) -> Fraction:
    """Return the fixed point of FedAvg on ``pair``."""
    weight, other = (1 - (1 - step * a) ** local_steps for a in (curvature, Fraction(1)))
    return (other - weight) / (other + weight)


@claim(
    "baselines/fedavg-optimum",
    label="FedAvg, optimum",
    source="reading",
    repaired_by="baselines/fedavg",
    expected="violated",
    headline=(
        "FedAvg with two local steps misses the minimiser of the mean loss. With curvatures 1/2 "
        "and 1, minimisers -1 and 1 and step size 1, it comes to rest at 1/7 instead of 1/3."
    ),
    rank=1,
    places="cfl-mgd/introduction",
)
def fedavg_optimum(
    curvature: Fraction = CURVATURE, step: Fraction = CURVATURE, local_steps: int = Z[1:]
) -> Sides:
    """FedAvg minimises the mean of the clients' losses.

    Hypotheses
        The losses are convex quadratics, the step size is constant, all clients take part, and there is no noise.

    Statement
        For every number of local steps, FedAvg converges to the minimiser of mean phi_i. The check compares the closed
        form of FedAvg's fixed point (``baselines/fedavg``) with the minimiser, for two clients in one dimension.

    Source
        McMahan et al. (2017), which we did not read. The mean loss is their objective. The reading adds that FedAvg
        with a constant step size converges to the minimiser of the mean loss. With H > 1 and clients with different
        curvatures, the fixed point differs from the minimiser (client drift).
    """
    optimum = (1 - curvature) / (1 + curvature)
    return equal((rest_of_two(curvature, step, local_steps), optimum))


INNER = Q[Fraction(1, 10) : Fraction(1, 2) : 10]
"""Inner step size alpha, in units of 1 / L."""


def personal_rest(task: QuadraticMixture, inner: Fraction, local_steps: int, *, second_order: bool) -> Sides:
    """State that Per-FedAvg converges to the closed form of its fixed point."""
    inner_step, step = float(inner) / task.client_smoothness, 1 / task.client_smoothness
    form = affine_rounds.per_fedavg_rest(
        task.hessians,
        task.centers,
        step_size=step,
        inner_step_size=inner_step,
        local_steps=local_steps,
        second_order=second_order,
    )
    algorithm = PerFedAvg(
        step_size=step,
        inner_step_size=inner_step,
        local_steps=local_steps,
        gradient="second-order" if second_order else "first-order",
    )
    return rests_at(algorithm, task, form)


@claim(
    "baselines/per-fedavg-hf",
    label="Per-FedAvg HF",
    source="ours",
    evaluations=INSTANCES,
    expected="consistent, no sharpness",
    headline=True,
)
def per_fedavg_second_order(task: Task, inner: Fraction = INNER, local_steps: int = Z[1:4]) -> Sides:
    """Per-FedAvg's fixed point with the Hessian has Q_i = I - (I - beta (I - alpha A_i) A_i (I - alpha A_i))^tau.

    Hypotheses
        The hypotheses of ``baselines/fedavg`` hold, with alpha L_i < 1.

    Statement
        The fixed point is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i. For one local step, tau = 1, the fixed point
        minimises mean phi_i(w - alpha grad phi_i(w)).

    Source
        Ours. The algorithm is Algorithm 1 of Fallah et al. (2020).
    """
    return personal_rest(task, inner, local_steps, second_order=True)


@claim(
    "baselines/per-fedavg-fo",
    label="Per-FedAvg FO",
    source="ours",
    evaluations=INSTANCES,
    expected="consistent, no sharpness",
)
def per_fedavg_first_order(task: Task, inner: Fraction = INNER, local_steps: int = Z[1:4]) -> Sides:
    """First-order Per-FedAvg's fixed point has Q_i = I - (I - beta A_i (I - alpha A_i))^tau.

    Hypotheses
        The hypotheses of ``baselines/per-fedavg-hf`` hold.

    Statement
        The fixed point is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i. Per-FedAvg with the Hessian has another fixed
        point.

    Source
        Ours. The first-order approximation is in Section 5 of Fallah et al. (2020).
    """
    return personal_rest(task, inner, local_steps, second_order=False)


def personal_rest_of_two(curvature: Fraction, inner: Fraction, power: int) -> Fraction:
    """Return the fixed point for minimisers -1 and 1 and weights a (1 - alpha a)^power. The first order has power 1."""
    weight, other = (a * (1 - inner * a) ** power for a in (curvature, Fraction(1)))
    return (other - weight) / (weight + other)


@claim(
    "baselines/per-fedavg-fo-optimum",
    label="Per-FedAvg FO, optimum",
    source="reading",
    repaired_by="baselines/per-fedavg-hf",
    expected="violated",
    headline=(
        "First-order Per-FedAvg misses the minimiser of its objective. With curvatures 1/2 and "
        "1, minimisers -1 and 1 and alpha = 1/2, it comes to rest at 1/7 instead of -1/17."
    ),
    rank=2,
)
def per_fedavg_first_order_optimum(
    curvature: Fraction = CURVATURE, inner: Fraction = Q[Fraction(1, 4) : Fraction(3, 4) : 4]
) -> Sides:
    """First-order Per-FedAvg minimises the mean loss after one personal step.

    Hypotheses
        The hypotheses of ``baselines/per-fedavg-fo`` hold, with tau = 1.

    Statement
        The fixed point minimises F(w) = mean phi_i(w - alpha grad phi_i(w)). The check compares the closed forms of
        both points for two clients in one dimension.

    Source
        Fallah et al. (2020), which we did not read: the authors define F and offer the first-order variant to
        minimise F. The reading adds that the variant converges to the minimiser of F.
    """
    end, optimum = (personal_rest_of_two(curvature, inner, power) for power in (1, 2))
    return equal((end, optimum))


@claim(
    "baselines/fedbcd",
    label="FedBCD",
    source="ours",
    evaluations=INSTANCES,
    expected="consistent, no sharpness",
    places="cfl-mgd/section 6.3",
)
def fedbcd(
    task: Task,
    proximal: Fraction = Q[Fraction(1, 4) : 1 : 20],
    local_steps: int = Z[1:8],
    server: Fraction = among(Fraction(1), Fraction(1, 2)),
) -> Sides:
    """Penalised FedBCD has the fixed point of exact FedProx, for all numbers of local steps and server step sizes.

    Hypotheses
        The hypotheses of ``baselines/fedprox`` hold. Clients continue from their own models in the next round. The step
        size of the server is in (0, 1].

    Statement
        z is the fixed point in ``baselines/fedprox-exact``. With the paper's rho, mu is 2 rho, because the paper's
        penalty has no factor 1/2. Moreover x_i = (A_i + mu I)^-1 (A_i b_i + mu z).

    Source
        Ours. FedBCD is the algorithm of Wu et al. (2021).
    """
    strength = float(proximal)
    algorithm = FedBCD(
        step_size=1 / (task.client_smoothness + strength),
        proximal=strength,
        local_steps=local_steps,
        server_step_size=float(server),
    )
    return rests_at(
        algorithm, task, *affine_rounds.fedbcd_rest(task.hessians, task.centers, proximal=strength)
    )


@claim(
    "baselines/fedbcd-separate",
    label="FedBCD-I",
    source="ours",
    evaluations=INSTANCES,
    expected="consistent, no sharpness",
    places="cfl-mgd/section 6.3",
)
def fedbcd_separate(
    task: Task,
    pull: Fraction = Q[Fraction(1, 10) : Fraction(2, 5) : 10],
    local_steps: int = Z[1:4],
) -> Sides:
    """FedBCD-I's fixed point has the weights (I - c M_i)^-1 (I - M_i) with M_i = (I - eta A_i)^n.

    Hypotheses
        The hypotheses of ``baselines/fedavg`` hold. A client takes n steps on the loss, and then n steps x <- x -
        pull (x - z).

    Statement
        z = (sum Q_i)^-1 sum Q_i b_i with the stated Q_i and c = (1 - pull)^n; x_i = z + c Q_i (b_i - z).
        In contrast to the penalised variant, z depends on n.

    Source
        Ours. The algorithm is FedBCD-I of Wu et al. (2021).
    """
    step = 1 / task.client_smoothness
    algorithm = FedBCD(step_size=step, local_steps=local_steps, variant="separate", pull=float(pull))
    forms = affine_rounds.fedbcd_separate_rest(
        task.hessians, task.centers, step_size=step, local_steps=local_steps, pull=float(pull)
    )
    return rests_at(algorithm, task, *forms)


@claim(
    "baselines/local",
    label="LOCAL",
    source="ours",
    evaluations=INSTANCES,
    expected="consistent, no sharpness",
)
def local(task: Task, local_steps: int = Z[1:8]) -> Sides:
    """At the fixed point of LOCAL, the model of every client minimises the client's own loss.

    Hypotheses
        The hypotheses of ``baselines/fedavg`` hold.

    Statement
        w_i = b_i for every client.

    Source
        Ours. LOCAL is a baseline in Table 1 of the paper on FPFC.
    """
    algorithm = Local(step_size=1 / task.client_smoothness, local_steps=local_steps)
    return rests_at(algorithm, task, affine_rounds.local_rest(task.centers))

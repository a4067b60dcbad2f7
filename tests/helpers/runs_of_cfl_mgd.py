"""Runs of the algorithm for claims on CFL-MGD: each asserts what the claim computes, or returns what it measures."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from prescribed_runs import assert_agree, assert_played, run_prescribed, run_scalar_clients

from clusterproof.algorithms import CFLMGD, Trace, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact.affine_rounds import round_map
from clusterproof.theory.exact.identical_clients import IdenticalClients
from clusterproof.theory.exact.prescribed_samples import exact_run
from clusterproof.theory.exact.two_point_losses import TwoPointLosses
from clusterproof.theory.papers.cfl_mgd import theorem_1
from clusterproof.theory.papers.cfl_mgd.appendix.a1_to_a9 import ScalarRun
from clusterproof.theory.papers.cfl_mgd.appendix.a26_to_a34 import scripts
from clusterproof.theory.papers.cfl_mgd.floor import C_4
from clusterproof.theory.papers.cfl_mgd.method.algorithm_1 import CENTERS, START, STARTS, second_models
from clusterproof.theory.papers.cfl_mgd.model_averaging import clients as two_clients_of


def two_cluster_task(clients: int, own: int) -> QuadraticMixture:
    """Two clusters of scalar quadratics at +-1, the first with ``own`` clients."""
    labels = np.repeat([0, 1], [own, clients - own])
    centers = np.where(labels == 0, 1.0, -1.0)[:, None]
    return QuadraticMixture(hessians=np.ones((clients, 1, 1)), centers=centers, labels=labels)


def run_two_clusters(clients: int, own: int, algorithm: CFLMGD, start: float, rounds: int) -> Trace:
    """A run from models at distance ``start`` from their optima, towards each other."""
    initial = np.array([[1.0 - start], [-1.0 + start]])
    return run(algorithm, two_cluster_task(clients, own), rounds=rounds, initial=initial)


def last_error(clients: int, own: int, start: float, rounds: int, **options: Any) -> float:
    """|e_T| of model 1 on two scalar clusters."""
    algorithm = CFLMGD(step_size=1.0, **options)
    return float(np.asarray(run_two_clusters(clients, own, algorithm, start, rounds).errors)[-1, 0])


def next_error(clients: int, own: int, momentum: Fraction, start: Fraction, round_: int) -> float:
    return last_error(clients, own, float(start), round_ + 1, momentum=float(momentum))


def next_error_of_two(momentum: Fraction, round_: int) -> float:
    return last_error(2, 1, 0.5, round_ + 1, momentum=float(momentum))


def delayed(momentum: Fraction, rounds: int, order: str = "as-printed") -> float:
    """|e_T| with the delayed gradient."""
    return last_error(2, 1, float(START), rounds, momentum=float(momentum), update_order=order)


def difference_of_delays(momentum: Fraction, rounds: int) -> float:
    return abs(delayed(momentum, rounds, "momentum-first") - delayed(momentum, rounds))


def small_constant(clients: int, own: int, momentum: Fraction) -> float:
    """The least of |e_T| / rho over the constants."""
    return min(
        last_error(clients, own, 0.5, theorem_1.rounds_of(c, clients, own), momentum=float(momentum))
        / float(16 * c)
        for c in theorem_1.CONSTANTS
    )


def large_separation(clients: int, own: int, momentum: Fraction, separation: Fraction) -> float:
    rounds = theorem_1.rounds_of(2 * C_4 / separation, clients, own)
    return float(separation / 2) * last_error(clients, own, 0.5, rounds, momentum=float(momentum))


def owners_of_the_momentum(momentum: Fraction) -> None:
    """chi_1^(2) with momentum of the clients, as line 15, and of the server."""
    line_15, _, server = second_models(momentum)
    for owner, exact in (("client", line_15), ("server", server)):
        models = run_scalar_clients(CENTERS, STARTS, momentum=momentum, rounds=2, owner=owner).models
        assert_agree(models[2, 0, 0], exact)


def switching_client(
    own: int, center: Fraction, other_center: Fraction, momentum: Fraction, first: Fraction, second: Fraction
) -> None:
    """All models with the clients' and with the server's momentum."""
    centers, starts = [center] * own + [other_center], [first, second]
    for reading, owner in (("line 15", "client"), ("server", "server")):
        trace = run_scalar_clients(centers, starts, momentum=momentum, rounds=2, owner=owner)
        exact = exact_run(centers, starts, momentum=momentum, rounds=2, reading=reading)
        assert_agree(trace.models[..., 0], exact.models)


def prescribed(run: ScalarRun) -> None:
    """Models, choices, gradients and buffers on the batches."""
    assert_played(*run.samples)


def every_outcome(
    clients: int, round_: int, momentum: Fraction, start: Fraction, rarity: Fraction, level: Fraction
) -> None:
    """The same, for every outcome of the gradient batches."""
    for _weight, choices, gradients, initial in scripts(clients, round_, start, rarity):
        assert_played(choices, gradients, initial, momentum)


def false_member(clients: int, round_: int, momentum: Fraction, start: Fraction, **_: Any) -> None:
    """Without noise: the false member's buffer in round t is more than (A32) allows it."""
    ordinary = [*[Fraction(1)] * (clients - 1), Fraction(-1)]
    choices = [ordinary] * round_ + [[Fraction(1)] * clients]
    rounds = assert_played(choices, [ordinary] * (round_ + 1), [Fraction(1), -1 + start], momentum)
    assert rounds.assignments[round_] == [0] * clients
    assert abs(rounds.buffers[round_][-1]) > 3


def choices_on_every_batch(law: TwoPointLosses, **_: Any) -> None:
    """A round with one client for each possible batch: one joins cluster 1 exactly where phi_i(chi_1) <= phi_i(chi_2).

    f differs from (chi + 1 + z)^2 / 2 by a number without chi.
    """
    (rare, common), (other, own) = law.noise, law.models
    means = [(k * rare + (law.samples - k) * common) / law.samples for k in range(law.samples + 1)]
    batches = [-1 - mean for mean in means]
    seen = run_prescribed([batches], [batches], law.models, Fraction(0)).assignments[0]
    errs = [(own - other) * mean >= law.expected[0] - law.expected[1] for mean in means]
    assert seen.tolist() == [0 if wrong else 1 for wrong in errs]


def run_identical(identical: IdenticalClients, rounds: int) -> np.ndarray:
    """Errors e_0 .. e_T of option II with one local step, (T + 1,)."""
    task = QuadraticMixture(
        hessians=np.full((identical.clients, 1, 1), float(identical.curvature)),
        centers=np.zeros((identical.clients, 1)),
        labels=np.zeros(identical.clients, dtype=int),
    )
    algorithm = CFLMGD(step_size=1.0, momentum=float(identical.momentum), averaging="model")
    initial = np.array([[float(identical.start)]])
    return np.asarray(run(algorithm, task, rounds=rounds, initial=initial).models)[:, 0, 0]


def identical_path(identical: IdenticalClients, round_: int) -> None:
    """e_0 .. e_(t+1)."""
    exact = [identical.error(t) for t in range(round_ + 2)]
    assert_agree(run_identical(identical, round_ + 1), exact)


def gradients_of_the_task(model: Fraction, first: Fraction, second: Fraction) -> float:
    """Left side of (13) with the gradients of the task itself."""
    task = QuadraticMixture(
        hessians=np.ones((2, 1, 1)),
        centers=np.array([[float(first)], [float(second)]]),
        labels=np.zeros(2, dtype=int),
    )
    models = np.full((2, 1), float(model))
    gradients = task.gradients(models, np.arange(2), np.random.default_rng(0))
    return abs(float(model) - float(task.optima[0, 0])) + float(np.abs(gradients).mean())


def scalar_option_2(
    curvatures: Any,
    centers: Any,
    start: float,
    rounds: int,
    momentum: Fraction,
    local_steps: int,
    **options: Any,
) -> np.ndarray:
    """Models of option II with eta = 1 on scalar clients of one cluster, (rounds + 1,)."""
    task = QuadraticMixture(
        hessians=np.array(curvatures, dtype=float)[:, None, None],
        centers=np.array(centers, dtype=float)[:, None],
        labels=np.zeros(len(curvatures), dtype=int),
    )
    algorithm = CFLMGD(
        step_size=1.0, momentum=float(momentum), averaging="model", local_steps=local_steps, **options
    )
    initial = np.array([[float(start)]])
    return np.asarray(run(algorithm, task, rounds=rounds, initial=initial).models)[:, 0, 0]


def option_2(
    flat: Fraction, center: Fraction, momentum: Fraction, local_steps: int, rounds: int, constant: Fraction
) -> float:
    """|chi^T - chi*|; the constant enters the bound only."""
    curvatures, centers = two_clients_of(flat, center)
    optimum = float(sum(a * c for a, c in zip(curvatures, centers, strict=True)) / sum(curvatures))
    models = scalar_option_2(curvatures, centers, optimum + 0.5, rounds, momentum, local_steps)
    return abs(float(models[-1]) - optimum)


def growth_of_option_2(flat: Fraction, momentum: Fraction, local_steps: int, factor: float = 1.0) -> None:
    """Over 200 rounds the models grow by ``factor`` rho(M) a round."""
    rate = (
        factor
        * round_map(
            np.array([[[float(flat)]], [[1.0]]]),
            np.zeros((2, 1)),
            step_size=1.0,
            momentum=float(momentum),
            local_steps=local_steps,
        ).rate
    )
    rounds = 200
    models = np.abs(scalar_option_2((flat, 1), (0, 0), 0.5, rounds, momentum, local_steps))
    # a complex pair makes single rounds irregular; the envelope over 40 rounds does not
    first, last = models[100:140].max(), models[-40:].max()
    observed = (last / first) ** (1 / (rounds - 140 + 1))
    assert abs(math.log(observed) - math.log(rate)) <= 0.02


def starts_of_a_round(momentum: Fraction, local_steps: int) -> float:
    """Option II for 30 rounds with and without reset."""
    passed_on, reset = (
        scalar_option_2((0.01, 1), (0, 0), 0.5, 30, momentum, local_steps, reset_momentum=each)[-1]
        for each in (False, True)
    )
    return abs(abs(passed_on) - abs(reset))


def weights_of_rows(rows: int) -> float:
    """The limits of option II with a client at 0 and one at 1, or one at 1 for each row."""
    alone, copied = (
        scalar_option_2([0.5] * (1 + n), [0] + [1] * n, 0.0, 80, Fraction(0), 1)[-1] for n in (1, rows)
    )
    return abs(float(alone - copied))


def first_moves(clients: int, participation: Fraction) -> float:
    """The models' displacement in a round of option I, by its two divisors."""
    moves = []
    for divisor in ("clients", "participants"):
        algorithm = CFLMGD(
            step_size=1.0, momentum=0.5, participation=float(participation), normalisation=divisor
        )
        models = run_two_clusters(clients, clients // 2, algorithm, 0.5, 1).models
        moves.append(float(np.abs(models[1] - models[0]).sum()))
    return abs(moves[0] - moves[1])


def used_models(second: Fraction) -> int:
    """Models that some client chooses within 60 rounds from 0 and a second start."""
    initial = np.array([[0.0], [float(second)]])
    trace = run(CFLMGD(step_size=1.0, momentum=0.0), two_cluster_task(4, 2), rounds=60, initial=initial)
    return len(np.unique(trace.assignments))


def fewest_members(start: Fraction) -> int:
    """Fewest clients that choose the second model in one of five rounds, by both kinds of averaging."""
    initial = np.array([[0.5], [float(start)]])
    return min(
        int(
            (run(algorithm, two_cluster_task(4, 2), rounds=5, initial=initial).assignments == 1)
            .sum(axis=-1)
            .min()
        )
        for algorithm in (
            CFLMGD(step_size=1.0, momentum=0.5, averaging=kind) for kind in ("gradient", "model")
        )
    )


RUNS = {
    "cfl-mgd/algorithm-line-12-option-2-momentum": starts_of_a_round,
    "cfl-mgd/algorithm-line-15-momentum-of-switchers": owners_of_the_momentum,
    "cfl-mgd/algorithm-line-3-participation": first_moves,
    "cfl-mgd/algorithm-line-5-ties": used_models,
    "cfl-mgd/algorithm-line-8": difference_of_delays,
    "cfl-mgd/algorithm-line-8-delayed": delayed,
    "cfl-mgd/algorithm-lines-15-16-weights": weights_of_rows,
    "cfl-mgd/appendix-a1": prescribed,
    "cfl-mgd/appendix-a15": choices_on_every_batch,
    "cfl-mgd/appendix-a18": prescribed,
    "cfl-mgd/appendix-a27": prescribed,
    "cfl-mgd/appendix-a29": every_outcome,
    "cfl-mgd/appendix-a29#(A32)": false_member,
    "cfl-mgd/appendix-a35": next_error,
    "cfl-mgd/equation-12": identical_path,
    "cfl-mgd/equation-12#(13)": gradients_of_the_task,
    "cfl-mgd/equation-32": switching_client,
    "cfl-mgd/equation-5": fewest_members,
    "cfl-mgd/lemma-2": next_error,
    "cfl-mgd/model-averaging-limit": option_2,
    "cfl-mgd/model-averaging-rate": option_2,
    "cfl-mgd/model-averaging-stability": growth_of_option_2,
    "cfl-mgd/per-step-contraction": next_error_of_two,
    "cfl-mgd/theorem-1-large-separation": large_separation,
    "cfl-mgd/theorem-1-small-constant": small_constant,
}

"""Runs of the algorithm for claims on CFL-MGD: each asserts what the claim computes, or returns what it measures."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from prescribed_runs import assert_agree, assert_played, run_prescribed, run_scalar_clients

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact.identical_clients import IdenticalClients
from clusterproof.theory.exact.two_clusters import run_two_clusters
from clusterproof.theory.exact.two_point_losses import TwoPointLosses
from clusterproof.theory.papers.cfl_mgd import theorem_1
from clusterproof.theory.papers.cfl_mgd.appendix.a1_to_a9 import ScalarRun
from clusterproof.theory.papers.cfl_mgd.appendix.a26_to_a34 import FalseMemberRun, LongFalseMemberRun
from clusterproof.theory.papers.cfl_mgd.equations_32_33_37 import ROUNDS, Switcher
from clusterproof.theory.papers.cfl_mgd.lemma_2 import TwoClusters
from clusterproof.theory.papers.cfl_mgd.method.algorithm_averages import CENTERS, STARTS, second_models
from clusterproof.theory.papers.cfl_mgd.method.algorithm_choices import START
from clusterproof.theory.papers.cfl_mgd.model_averaging_rate import clients as two_clients_of
from clusterproof.theory.papers.cfl_mgd.model_averaging_recursion import TwoClients


def last_error(clients: int, own: int, start: float, rounds: int, **options: Any) -> float:
    """|e_T| of model 1 on two scalar clusters."""
    algorithm = CFLMGD(step_size=1.0, **options)
    return float(np.asarray(run_two_clusters(clients, own, algorithm, start, rounds).errors)[-1, 0])


def next_error(pair: TwoClusters) -> float:
    start, momentum = float(pair.start), float(pair.momentum)
    return last_error(pair.clients, pair.own, start, pair.round + 1, momentum=momentum)


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
    rounds = theorem_1.rounds_apart(clients, own, separation)
    return float(separation / 2) * last_error(clients, own, 0.5, rounds, momentum=float(momentum))


def owners_of_the_momentum(momentum: Fraction) -> None:
    """chi_1^(2) with momentum of the clients, as line 15, and of the server."""
    line_15, _, server = second_models(momentum)
    for owner, exact in (("client", line_15), ("server", server)):
        models = run_scalar_clients(CENTERS, STARTS, momentum=momentum, rounds=2, owner=owner).models
        assert_agree(models[2, 0, 0], exact)


def switching_client(switcher: Switcher) -> None:
    """All models with the clients' and with the server's momentum."""
    starts = [switcher.first, switcher.second]
    for reading, owner in (("line 15", "client"), ("server", "server")):
        trace = run_scalar_clients(
            switcher.centers, starts, momentum=switcher.momentum, rounds=ROUNDS, owner=owner
        )
        assert_agree(trace.models[..., 0], switcher.play(reading).models)


def prescribed(run: ScalarRun) -> None:
    """Models, choices, gradients and buffers on the batches."""
    assert_played(*run.samples)


def every_outcome(one: FalseMemberRun, **_: Any) -> None:
    """The same, for every outcome of the gradient batches."""
    for _weight, choices, gradients, initial in one.scripts:
        assert_played(choices, gradients, initial, one.momentum)


def false_member(one: LongFalseMemberRun) -> None:
    """Without noise: the false member's buffer in round t is more than (A32) allows it."""
    ordinary = [*[Fraction(1)] * (one.clients - 1), Fraction(-1)]
    choices = [ordinary] * one.round + [[Fraction(1)] * one.clients]
    initial = [Fraction(1), -1 + one.start]
    rounds = assert_played(choices, [ordinary] * (one.round + 1), initial, one.momentum)
    assert rounds.assignments[one.round] == [0] * one.clients
    assert abs(rounds.buffers[one.round][-1]) > 3


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


def option_2(
    flat: Fraction, center: Fraction, momentum: Fraction, local_steps: int, rounds: int, constant: Fraction
) -> float:
    """|chi^T - chi*|; the constant enters the bound only."""
    curvatures, centers = (np.array(numbers, dtype=float) for numbers in two_clients_of(flat, center))
    task = QuadraticMixture(
        hessians=curvatures[:, None, None], centers=centers[:, None], labels=np.zeros(2, dtype=int)
    )
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum), averaging="model", local_steps=local_steps)
    return float(np.asarray(run(algorithm, task, rounds=rounds, initial=task.optima + 0.5).errors)[-1, 0])


def growth_of_option_2(two_clients: TwoClients) -> None:
    """Over 200 rounds the models grow by rho(M) a round."""
    task = QuadraticMixture(
        hessians=two_clients.hessians, centers=np.zeros((2, 1)), labels=np.zeros(2, dtype=int)
    )
    algorithm = CFLMGD(
        step_size=1.0,
        momentum=float(two_clients.momentum),
        averaging="model",
        local_steps=two_clients.local_steps,
    )
    rounds = 200
    models = np.abs(run(algorithm, task, rounds=rounds, initial=np.array([[0.5]])).models[:, 0, 0])
    # a complex pair makes single rounds irregular; the envelope over 40 rounds does not
    first, last = models[100:140].max(), models[-40:].max()
    observed = (last / first) ** (1 / (rounds - 140 + 1))
    assert abs(math.log(observed) - math.log(two_clients.rate)) <= 0.02


RUNS = {
    "cfl-mgd/algorithm-line-15-momentum-of-switchers": owners_of_the_momentum,
    "cfl-mgd/algorithm-line-8": difference_of_delays,
    "cfl-mgd/algorithm-line-8-delayed": delayed,
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
    "cfl-mgd/lemma-2": next_error,
    "cfl-mgd/model-averaging-limit": option_2,
    "cfl-mgd/model-averaging-rate": option_2,
    "cfl-mgd/model-averaging-stability": growth_of_option_2,
    "cfl-mgd/per-step-contraction": next_error_of_two,
    "cfl-mgd/theorem-1-large-separation": large_separation,
    "cfl-mgd/theorem-1-small-constant": small_constant,
}

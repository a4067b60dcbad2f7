"""Checks of Theorem D for partial participation, every divisor, and option II with local steps."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Annotated

import numpy as np

from clusterproof.checker.claims import Sides, at_most, equal, suppose
from clusterproof.checker.claims.ranges import choice, integers, rationals, reals
from clusterproof.checker.claims.space import Replicates, Stream
from clusterproof.running import run
from clusterproof.theory.bounds.audit_settings import PARTICIPATION, participation_experiment
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.run_bound import theorem_d_on
from clusterproof.theory.bounds.statements import SmallTask, tuned
from clusterproof.theory.bounds.theorem_d import participant_range, theorem_d_recorded
from clusterproof.theory.bounds.theorem_d import theorem_d as bound_before
from clusterproof.theory.exact.heavy_ball import propagators
from clusterproof.theory.papers.cfl_mgd.repaired.theorem_d import FAILURE, theorem_d

Kind = Annotated[str, choice(*PARTICIPATION)]
Steps = Annotated[int, integers(1, 5)]
Clients = Annotated[int, integers(2, 40)]
Marked = Annotated[int, integers(1, lambda clients: clients)]
Drawn = Annotated[int, integers(1, lambda clients: clients)]
Slope = Annotated[float, reals(-3, 3)]
Tail = Annotated[float, choice(0.3, 0.01, 1e-6)]
Positive = Annotated[Fraction, rationals(Fraction(1, 2), 5, 2, upwards=True)]
Number = Annotated[Fraction, rationals(0, 5, 2, upwards=True)]


@theorem_d.step("partial participation", replicates=300, evaluations=5)
def partial_participation(kind: Kind, replicates: Replicates, stream: Stream) -> dict[str, Sides]:
    """Compare runs in which half or a quarter of the clients takes part with both bounds of Theorem D."""
    setting = participation_experiment(kind)
    initial = setting.initial(stream, 1)[0]
    trace = run(
        setting.algorithm,
        setting.task,
        rounds=setting.rounds,
        seed=int(stream.integers(2**31)),
        replicates=replicates,
        initial=initial,
    )
    bound = theorem_d_on(setting.task, trace, failure_probability=sum(FAILURE))
    norms = np.linalg.norm(initial - setting.task.optima, axis=-1)
    before = bound_before(
        gaussian_dynamics(setting.regression, setting.algorithm),
        norms,
        rounds=setting.rounds,
        failure=FAILURE,
    )
    suppose("the bounds stay in the basin", before.applicable)
    suppose("the record gives a two-sided bound", bound.reference is not None and bound.deviation is not None)
    distance = np.linalg.norm(trace.models - np.asarray(bound.reference), axis=-1)
    failure = sum(FAILURE) + float(before.misassignment.max())
    return {
        "on the record": at_most(
            np.moveaxis(distance, 1, 0),
            noise=np.moveaxis(np.asarray(bound.deviation), 1, 0),
            failure=bound.failure_probability,
        ),
        "before the run": at_most(
            # before the first round, both sides are the initial error
            np.moveaxis(np.asarray(trace.errors), 1, 0)[:, 1:],
            reach=before.reach[None, 1:],
            failure=failure,
        ),
    }


@theorem_d.step("full participation", evaluations=20)
def full_participation(task: SmallTask) -> Sides:
    """With full participation, the bound for a given record of participants equals the bound before the run."""
    dynamics, norms = gaussian_dynamics(task, tuned(task)), np.full(task.clusters, task.basin_radius / 2)
    expected = bound_before(dynamics, norms, rounds=6, failure=FAILURE)
    suppose("the bound stays in the basin", expected.applicable)
    participants = np.broadcast_to(dynamics.own, (6, 1, task.clusters))
    found = theorem_d_recorded(dynamics, norms, participants, failure=FAILURE, counted=True)
    return equal((found.reach, expected.reach), rounding=1e-9)


@theorem_d.step("counts of participants", evaluations=200)
def counts(clients: Clients, marked: Marked, drawn: Drawn, tail: Tail) -> Sides:
    """Bound before the run: the exact P(fewer than k_- or more than k_+ own participants) is at most the tail."""
    suppose("others are there", marked < clients)
    fewest, most = (
        int(one[0]) for one in participant_range(np.array([marked, clients - marked]), drawn, tail)
    )
    law = hypergeometric(clients, marked, drawn)
    beyond = sum((chance for count, chance in law.items() if not fewest <= count <= most), Fraction(0))
    return at_most(beyond, tail=Fraction(tail))


def hypergeometric(clients: int, marked: int, drawn: int) -> dict[int, Fraction]:
    """Return P(k), the probability that the drawn clients contain exactly k marked clients."""
    least, largest = max(0, drawn - clients + marked), min(marked, drawn)
    every = comb(clients, drawn)
    return {
        k: Fraction(comb(marked, k) * comb(clients - marked, drawn - k), every)
        for k in range(least, largest + 1)
    }


@theorem_d.step("fluctuation", evaluations=200)
def fluctuation(clients: Clients, marked: Marked, drawn: Drawn, slope: Slope) -> Sides:
    """Bound before the run: log E exp(x (k - E k)) is at most x^2 / 2 times K (1 - (K - 1) / m) / 4."""
    law = hypergeometric(clients, marked, drawn)
    mean = drawn * marked / clients
    exponents = np.array([slope * (k - mean) for k in law])
    moment = float(np.array([float(chance) for chance in law.values()]) @ np.exp(exponents))
    proxy = drawn / 4 * (1 - (drawn - 1) / clients)
    # at slope 0, both sides are 0, and the probabilities sum to 1 up to rounding
    return at_most(float(np.log(moment)), proxy=slope**2 / 2 * proxy, rounding=1e-12)


@theorem_d.step("worst counts")
def worst_counts(present: Positive, more: Number, false_members: Number, fewer: Number) -> dict[str, Sides]:
    """i / (a + i) increases in i and decreases in a, and i / (a + i)^2 is largest for i = a (i clients misassigned)."""
    most = false_members + fewer

    def share(i: Fraction, a: Fraction) -> Fraction:
        return i / (a + i)

    def square(i: Fraction, a: Fraction) -> Fraction:
        return i / (a + i) ** 2

    small = present + most  # at least as many own participants as misassigned members
    return {
        "drift": at_most(share(false_members, present + more), worst=share(most, present)),
        "noise, own": at_most(square(most, present + more), worst=square(most, present)),
        "noise, false members": at_most(square(false_members, small), worst=square(most, small)),
        "noise, many false members": at_most(square(present + more, present), worst=square(present, present)),
    }


@theorem_d.step("counted drift", evaluations=40)
def counted_drift(task: SmallTask, stream: Stream) -> Sides:
    """If a members are correct and i are misassigned, the mean has an error of at most i / (a + i) L (D + 2 y)."""
    suppose(
        "the clusters share a covariance",
        bool((task.covariances.matrices[0] == task.covariances.matrices).all()),
    )
    hessian = task.covariances.matrices[0]
    own, most = (int(one) for one in stream.integers(1, 30, size=2))
    false_members = int(stream.integers(0, most + 1))
    error = stream.standard_normal(task.dimension)
    error *= stream.uniform(0, task.basin_radius) / np.linalg.norm(error)
    far = task.optima[0] - task.optima[stream.integers(1, task.clusters, size=false_members)] + error
    mean = (own * hessian @ error + (far @ hessian).sum(axis=0)) / (own + false_members)
    away = float(np.linalg.norm(mean - hessian @ error))
    reach = task.diameter + 2 * float(np.linalg.norm(error))
    return at_most(away, drift=most / (own + most) * task.smoothness * reach)


@theorem_d.step("own noise", evaluations=20)
def own_noise(task: SmallTask, local_steps: Steps, stream: Stream) -> dict[str, Sides]:
    """Under option II, the mean over a cluster's members follows the recursion with the mean of their noise.

    Within a round, each member has its own noise.
    """
    momentum, members, modes = tuned(task).momentum, 4, task.dimension
    curvature = task.covariances.eigenvalues[0] / task.smoothness
    noise = stream.standard_normal((3 * local_steps, members, modes))
    start = stream.standard_normal(modes)
    response, impulse = propagators(curvature, momentum, len(noise))
    mean, buffer = start, np.zeros(modes)
    mean_gaps, member_gaps = [], []
    for step, disturbances in enumerate(noise):
        begin = step - step % local_steps
        if step == begin:
            points, buffers = np.tile(mean, (members, 1)), np.tile(buffer, (members, 1))
        buffers = momentum * buffers + curvature * points + disturbances
        points = points - buffers
        before, inside = impulse[step - begin + 1 : step + 1][::-1], impulse[: step - begin + 1][::-1]
        shared = response[step + 1] * start - np.einsum("kj,kj->j", before, noise[:begin].mean(axis=1))
        formula = shared - np.einsum("kj,kij->ij", inside, noise[begin : step + 1])
        member_gaps.append((points, formula))
        if step == begin + local_steps - 1:
            mean, buffer = points.mean(axis=0), buffers.mean(axis=0)
            every = np.einsum("kj,kj->j", impulse[: step + 1][::-1], noise[: step + 1].mean(axis=1))
            mean_gaps.append((mean, response[step + 1] * start - every))
    return {"mean": equal(*mean_gaps, rounding=1e-9), "member": equal(*member_gaps, rounding=1e-9)}


@theorem_d.step("union of participants", evaluations=5)
def union_of_participants(kind: Kind) -> dict[str, Sides]:
    """The failure probabilities of all uses of the norm inequality, also at local steps, have the stated sum."""
    one = participation_experiment(kind)
    dynamics, norms = gaussian_dynamics(one.regression, one.algorithm), np.full(one.task.clusters, 0.125)
    tube = bound_before(dynamics, norms, rounds=one.rounds, failure=FAILURE)
    suppose("the bound stays in the basin", tube.applicable)
    everywhere, inside, last = tube.evaluations
    at_rounds, at_steps, at_last = tube.levels
    # count one use for each possible participant of a cluster, because the record states who takes part
    slots = dynamics.participants * inside / one.task.clusters
    return {
        "all rounds": at_most(everywhere * at_rounds + slots * at_steps, delta_2=FAILURE[1]),
        "last round": at_most(last * at_last, delta_3=FAILURE[2]),
    }

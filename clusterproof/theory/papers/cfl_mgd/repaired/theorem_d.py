"""The claims for Theorem D and for the steps of its proof."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.checker.claims import Sides, at_most, claim, equal, suppose
from clusterproof.checker.claims.ranges import choice, integers, rationals
from clusterproof.checker.claims.space import Replicates, Stream
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.audit_settings import Experiment, crowded_experiment, experiment
from clusterproof.theory.bounds.gaussian import along_eigenvectors, gaussian_dynamics, reference_models
from clusterproof.theory.bounds.run_bound import theorem_d_on
from clusterproof.theory.bounds.statements import SmallTask, tuned
from clusterproof.theory.bounds.theorem_d import theorem_d as bound_before
from clusterproof.theory.exact.heavy_ball import propagators

FAILURE = (0.01, 0.02, 0.02)
Place = Annotated[str, choice("S1", "S2", "S3", "crowded")]
Tuned = Annotated[bool, choice(False, True)]
Rounds = Annotated[int, integers(1, 30)]


def experiment_at(place: str, tuned_momentum: bool) -> Experiment:
    """Return the setting with a given name, which may be the setting with misassigned clients."""
    if place == "crowded":
        return crowded_experiment()
    return experiment(place, None if tuned_momentum else 0.0)


@claim(
    "cfl-mgd/theorem-d",
    label="Theorem D",
    source="ours",
    replicates=400,
    quick=False,
    bound=theorem_d_on,
    evaluations=30,
    expected="consistent, tight within 2",
    headline=True,
    places="abstract; contribution 2; (5); algorithm 1, line 3; section 5; (11); section 7; (A27); "
    "(A29); (A30); (A31); (A32); (A34); (A38)",
)
def theorem_d(
    place: Place, tuned_momentum: Tuned, replicates: Replicates, stream: Stream
) -> dict[str, Sides]:
    """On Gaussian regression, a run stays within a computed radius of the noise-free run, with probability 1 - delta.

    Hypotheses
        The server updates its momentum before the models. Samples are Gaussian and new in every round. A client uses
        independent samples for the choice of a cluster and for the gradient. K of the m clients take part in a round,
        drawn uniformly without replacement and independently of all data. Under option I the sum of gradients is
        divided by m, by K or by the number of participants in the cluster. Under option II, with H local steps, all
        clients of a cluster have the same covariance. The momentum is in [0, 1), the step size is arbitrary, and the
        initial models are deterministic. The bound stays below B* = Delta / (1 + sqrt(kappa)).

    Statement
        With probability at least 1 - delta_1 - delta_2, for all t <= T and all p: ||e_t - Pi_t(alpha_p Sigma_p) e_0||
        <= r_(t,p) and ||e_t|| <= ||Pi_t e_0|| + r_(t,p). With probability at least 1 - delta_1 - delta_2 - delta_3, a
        second, smaller bound on the error after round T also holds. The radius r is computed round by round from the
        bounds on earlier rounds. For the drift by misassigned clients, it uses binomial quantiles of their number,
        and for the noise it uses Lemma N. Under option II, and on request under option I, the bound does not count
        misassigned clients: the probability of any misassignment is added to the failure probability. If K < m, there
        are two bounds. The bound for a given record of participants has this form, with the known step size eta k / N
        of every round. The bound before the run depends on the divisor. Under option II, or with division by the
        number of participants in the cluster, it uses the smallest count k_- that a hypergeometric tail does not
        exclude. Otherwise, it uses the mean step size and a term for the fluctuation of the step size.

    Remarks
        The kernel proves only single steps of the proof. The table in ``docs/explanation/theorem-d.md`` states for each
        line of the proof whether it is proved or only checked on instances.

    Proof
        Set the noise to 0 from the first round in which a bound fails. Then the error follows a linear recursion.
        Lemma R (``cfl-mgd/row-lemma``) and Lemma N (``cfl-mgd/norm-inequality``) bound its martingale part, and Lemma
        P (``cfl-mgd/pairwise-error``) bounds the counts. Take a union bound over rounds and clusters. By induction no
        bound fails. Conditionally on the record of participants, the samples have the same distribution as before.
        The mean over a cluster's participants follows the recursion of T H steps. Within a round, the noise of a
        single client replaces the noise of the mean. A centred hypergeometric count is sub-Gaussian (Hoeffding 1963,
        Serfling 1974). The full proof is in ``docs/explanation/theorem-d.md``.

    Symbols
        m is ``clients``, n' is ``samples``, H is ``local_steps``, and alpha_p = eta l_p. Pi_t is the noise-free
        response, K the number of participants, and k_(t,p) the number of participants of cluster p in round t.

    Source
        Ours. The claim replaces Theorem 1 of Zhao et al. (2023) for Gaussian regression. The bound is two-sided: a
        run whose error is too small also violates it.
    """
    setting = experiment_at(place, tuned_momentum)
    initial = setting.initial(stream, 1)[0]
    trace = run(
        setting.algorithm,
        setting.task,
        rounds=setting.rounds,
        seed=int(stream.integers(2**31)),
        replicates=replicates,
        initial=initial,
    )
    dynamics, start = (
        gaussian_dynamics(setting.regression, setting.algorithm),
        along_eigenvectors(setting.regression, initial),
    )
    tube = bound_before(dynamics, start, rounds=setting.rounds, failure=FAILURE)
    suppose("the bound stays in the basin", tube.applicable)
    curvature = setting.algorithm.step_size * setting.task.proportions[:, None] * dynamics.spectra
    response, _ = propagators(curvature, setting.algorithm.momentum, setting.rounds)
    path = reference_models(setting.regression, start, response)
    distance = np.moveaxis(np.linalg.norm(trace.models - path[:, None], axis=-1), 1, 0)
    errors = np.moveaxis(np.asarray(trace.errors), 1, 0)
    lengths = np.linalg.norm(path - setting.task.optima, axis=-1)
    return {
        "deviation": at_most(distance, noise=tube.deviation[None], failure=sum(FAILURE[:2])),
        "errors": at_most(
            # before the first round, both sides are the initial error
            errors[:, 1:],
            path=lengths[None, 1:],
            noise=tube.deviation[None, 1:],
            failure=sum(FAILURE[:2]),
        ),
        "two-sided": at_most(np.abs(errors - lengths), noise=tube.deviation[None], failure=sum(FAILURE[:2])),
        "last round": at_most(distance[:, -1], noise=tube.last_deviation[None], failure=sum(FAILURE)),
    }


Own = Annotated[Fraction, rationals(0, 5, 2, upwards=True)]
Number = Annotated[Fraction, rationals(-2, 2, 2, upwards=True, downwards=True)]
Share = Annotated[Fraction, rationals(0, 1, 4)]
Clients = Annotated[int, choice(1, 2, 3, 4)]
Exceeded = Annotated[int, choice(0, 1, 2, 3)]


@theorem_d.step("mean gradient")
def mean_gradient(
    own: Own, missing_members: Number, false_members: Number, curvature: Number, e: Number, far: Number
) -> Sides:
    """Step D2: the mean gradient is the mean gradient without misassignments plus mis_t.

    The check has one direction. The expected gradient of a misassigned client is the curvature of its true cluster
    times the distance from the optimum of that cluster. Here this curvature is twice the curvature of cluster p.
    """
    clients = own + 5
    total = ((own - missing_members) * curvature * e + false_members * 2 * curvature * far) / clients
    drift = (false_members * 2 * curvature * far - missing_members * curvature * e) / clients
    return equal((total, own / clients * curvature * e + drift))


@theorem_d.step("recursion in three rounds")
def recursion_on_symbols(
    momentum: Number, a: Number, e: Number, first: Number, second: Number, third: Number
) -> Sides:
    """Step D4: e_3 = Pi_3 e_0 + h_2 x_0 + h_1 x_1 + h_0 x_2 for all disturbances x = mis + zeta."""

    def follow(start: Fraction, before: Fraction, inflow: tuple[Fraction | int, ...]) -> Fraction:
        now = start
        for inflowing in inflow:
            now, before = (1 + momentum - a) * now - momentum * before + inflowing, now
        return now

    zero = 0 * a
    formula = follow(zero + 1, zero + 1, (0, 0, 0)) * e
    for left, disturbance in zip((2, 1, 0), (first, second, third), strict=True):
        formula = formula + follow(zero + 1, zero, (0,) * left) * disturbance
    return equal((follow(e, e, (first, second, third)), formula))


@theorem_d.step("recursion", evaluations=40)
def recursion(task: SmallTask, rounds: Rounds, stream: Stream) -> Sides:
    """Step D4: for given disturbances, the error is the noise-free error plus the response to each disturbance."""
    momentum = tuned(task).momentum
    curvature = task.covariances.eigenvalues[0] / task.smoothness * task.proportions[0]
    start, noise = stream.standard_normal(len(curvature)), stream.standard_normal((rounds, len(curvature)))
    now = before = start
    for disturbance in noise:
        now, before = (1 + momentum - curvature) * now - momentum * before + disturbance, now
    response, impulse = propagators(curvature, momentum, rounds)
    formula = response[-1] * start + (impulse[:rounds][::-1] * noise).sum(axis=0)
    return equal((now, formula), rounding=1e-9)


@theorem_d.step("drift", evaluations=40)
def drift(task: SmallTask, rounds: Rounds, stream: Stream) -> Sides:
    """Step D5: if the bounds on counts and errors hold, misassigned clients contribute at most bias_t."""
    spectrum, clients = task.covariances.eigenvalues[0], task.clients
    step, momentum = tuned(task).step_size, tuned(task).momentum
    _, impulse = propagators(step * task.proportions[0] * spectrum, momentum, rounds)
    total, bias = np.zeros(len(spectrum)), 0.0
    for response in impulse[:rounds]:
        widest = float(stream.uniform(0, task.basin_radius))
        most = stream.integers(0, clients, size=2)
        false_members, missing_members = (int(stream.integers(0, count + 1)) for count in most)
        errors = _within(widest, len(spectrum), stream)
        away = task.optima[0] - task.optima[stream.integers(1, task.clusters, size=false_members)] + errors
        mis = (spectrum * away).sum(axis=0) - missing_members * spectrum * errors
        total += step * response * mis / clients
        reach = task.diameter + widest
        bias += (
            step * task.smoothness / clients * np.abs(response).max() * (most[0] * reach + most[1] * widest)
        )
    return at_most(float(np.linalg.norm(total)), bias=float(bias))


def _within(radius: float, dimension: int, stream: np.random.Generator) -> np.ndarray:
    """Draw an error from the sphere with a given radius."""
    direction = stream.standard_normal(dimension)
    return np.asarray(radius * direction / np.linalg.norm(direction))


@theorem_d.step("covariance", evaluations=40)
def covariance(task: SmallTask, rounds: Rounds, stream: Stream) -> dict[str, Sides]:
    """Step D6: if the errors satisfy their bounds, the noise covariance has at most the stated trace and norm."""
    suppose("the covariance is diagonal", task.covariances.diagonals is not None)
    spectrum, rows = task.covariances.eigenvalues[0], gaussian_dynamics(task, tuned(task)).rows
    _, impulse = propagators(spectrum / task.smoothness, tuned(task).momentum, rounds)
    total, profile, slack = np.zeros((len(spectrum),) * 2), np.zeros(len(spectrum)), 0.0
    for response in impulse[:rounds]:
        widest = float(stream.uniform(0, 2))
        error = stream.standard_normal(len(spectrum))
        error[-1] += 10 * stream.integers(
            2
        )  # half of the draws are along the direction with the largest curvature, where equality holds
        error *= widest / np.linalg.norm(error)
        weighted = spectrum * error
        exact = (task.noise**2 + error @ weighted) * np.diag(spectrum) + np.outer(weighted, weighted)
        total += response[:, None] * exact * response
        profile += rows.variance(widest) * spectrum * response**2
        slack += float(rows.rank_one(widest) * np.max(np.abs(response) * spectrum) ** 2)
    return {
        "trace": at_most(float(np.trace(total)), profile=float(profile.sum()), error=slack),
        "norm": at_most(float(np.linalg.eigvalsh(total)[-1]), profile=float(profile.max()), error=slack),
    }


@theorem_d.step("domination")
def domination(
    clients: Clients, exceeded: Exceeded, most: Share, a: Share, b: Share, c: Share, d: Share
) -> Sides:
    """Step D8: the number of wrong independent choices is stochastically dominated by Bin(n, pi)."""
    suppose("the count can be exceeded", exceeded < clients)
    chances = [most * share for share in (a, b, c, d)[:clients]]
    return at_most(_exceeds(chances, exceeded), binomial=_exceeds([most] * clients, exceeded))


def _exceeds(chances: list[Fraction], exceeded: int) -> Fraction:
    """Return P(more than ``exceeded`` of the independent events occur), as a sum over all combinations of events."""
    total = 0 * chances[0]
    for happens in itertools.product((False, True), repeat=len(chances)):
        if sum(happens) > exceeded:
            probability = 0 * chances[0] + 1
            for chance, yes in zip(chances, happens, strict=True):
                probability = probability * (chance if yes else 1 - chance)
            total = total + probability
    return total


@theorem_d.step("union", evaluations=8)
def union(place: Place, tuned_momentum: Tuned) -> dict[str, Sides]:
    """Steps D7 and D8: the failure probabilities of all uses of a bound sum to at most delta_1, delta_2, delta_3."""
    setting = experiment_at(place, tuned_momentum)
    task: RegressionMixture = setting.regression
    norms = np.array(setting.setting.start)
    dynamics = gaussian_dynamics(task, setting.algorithm)
    tube = bound_before(dynamics, norms, rounds=setting.rounds, failure=FAILURE)
    everywhere, _, last = tube.evaluations
    at_rounds, _, at_last = tube.levels
    counts = 2 * setting.rounds * task.clusters * tube.count_tail
    return {
        "counts": at_most(counts, delta_1=FAILURE[0]),
        "all rounds": at_most(everywhere * at_rounds, delta_2=FAILURE[1]),
        "last round": at_most(last * at_last, delta_3=FAILURE[2]),
    }

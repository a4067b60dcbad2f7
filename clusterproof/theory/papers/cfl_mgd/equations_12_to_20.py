"""Claims on (12)-(20): the convergence argument for model averaging."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims import (
    Excluded,
    Q,
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
from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.exact.random_tasks import (
    random_clients,
    random_mixture,
    random_quadratics,
    share_of_largest,
)
from clusterproof.theory.exact.scalar_clusters import IdenticalClients


def shifted_formula(identical: IdenticalClients, t: int) -> Fraction:
    """Return the right side of the first line of (12): e_t - eta a e_(t-1) + beta (chi^(t-1) - chi^(t-2))."""
    last, move = identical.error(t - 1), identical.move(t - 1)
    return identical.error(t) - identical.curvature * last + identical.momentum * move


BREAKS_16 = {
    "clients": 1,
    "curvature": Fraction(1, 3),
    "momentum": Fraction(7, 8),
    "start": Fraction(1, 2),
    "round_": 3,
}
BREAKS_17 = BREAKS_16 | {"curvature": Fraction(1, 5), "round_": 4}
"""Instances that break (16) and (17); few random instances do."""


@claim(
    "cfl-mgd/equation-12",
    label="(12)-(18)",
    error_kind={"(12)": "misprint"},
    repaired_by={
        "(12)": "cfl-mgd/equation-12-shifted",
        "(13)": "cfl-mgd/equation-12-shifted",
        "": "cfl-mgd/model-averaging-recursion",
        "after (17)": "cfl-mgd/lemma-h",
    },
    evaluations=1000,
    example=(BREAKS_16, BREAKS_17),
    expected="violated",
    places="(13); (14); (15); (16); (17); after (17); (18); after (18)",
)
def equations_12_to_18(identical: IdenticalClients, round_: int = Z[0:6]) -> dict[str, Sides | Excluded]:
    """The error of model averaging follows a recursion with ratios of old errors.

    Hypotheses
        Option II has one local step, losses are L-smooth, there is no noise, and eta L <= 1. Initially chi^(-1) =
        chi^0 and eps_(-1) = eps_(-2) = eps_0. By (6), the mean of the chi_i^t is chi_p^t. In (16) and (17) eps_0 <=
        1/2, which is the radius of the basin for Delta = 2. In the line after (17) eps_0 <= 1.

    Statement
        Let eps_t = ||chi_p^t - chi*_p||. The lines are:

    Lines
        (12)
            eps_(t+1) = ||chi_p^t - eta mean grad phi_i(chi_i^(t-1)) + beta mean (chi_i^(t-1) - chi_i^(t-2)) - chi*||.
            This is a misprint: by (7) the gradient is evaluated at chi_i^t, and the momentum term is beta (chi_i^t -
            chi_i^(t-1)).
        (13)
            eta mean ||grad phi_i(chi_i^(t-1))|| <= eta L mean ||chi_i^(t-1) - chi*_p||. False: the derivation needs
            grad phi_i(chi*_p) = 0 for every client. If all clients are equal, the last inequality of (13) is true:
            then |e_(t+1)| <= |e_t| + a |e_(t-1)| + beta |chi^(t-1) - chi^(t-2)| for a <= 1.
        (14), its =
            eta L ||chi^t - chi*|| = (eta L / |C_p|) ||chi^t - chi*||. False: the line replaces the sum of |C_p| equal
            terms by one term.
        (14)
            eps_(t+1) <= (1 + eta L / |C_p|) eps_t + beta ||chi^(t-1) - chi^(t-2)||. False: the last displacement,
            chi^t - chi^(t-1), is missing in (12) and in all later lines. The derivation uses (6), by which chi_p^t is
            the mean of the clients' models.
        (15), its =
            beta ||chi^(t-1) - chi^(t-2)|| = beta (1 + beta) ||chi^(t-1) - chi^(t-2)||^2 / ||chi^(t-2) -
            chi^(t-1)||^2. False: the ratio is 1, so the right side is the number beta (1 + beta), which does not
            depend on the displacement.
        (16)
            eps_(t+1) <= (1 + eta L / |C_p|) eps_t + beta (1 + beta) eps_(t-1)^2 / eps_(t-2)^2. False for the same
            reason as (15).
        (17)
            eps_(t+1) <= M eps_t + (beta (1 + beta) / M) eps_(t-1)^2 / eps_(t-2)^2, M = max(1 + eta L / |C_p|, beta (1
            + beta)). False: in addition to the mistake of (16), the last term is divided by M > 1.
        after (17)
            eps_(t+1) <= eps_t for t = floor(log2(1 / eps_0)). False with momentum.
        (18)
            M^(t+1) eps_(-1) + sum_(k<t) (beta (1 + beta) / M)^(t-k) eps_k^2 / eps_(k-1)^2 <= M^(t+1) eps_(-1) + (beta
            (1 + beta) / (M - 1)) sum_(k<t-1) [(eps_k / eps_(k-1) - beta / M)^2 - beta^2 / M^2] eps_(k-1)^2 + (beta^2
            / (M - 1)) eps_(t-1)^2. False: the sum on the left depends only on ratios of errors, but the last sums on
            the right vanish if all errors are scaled to 0.

    Source
        Zhao et al. (2023), (12) to (18), and after (17): "If we take t = floor(log_2 eps_0^-1), we have eps_(t+1) <=
        eps_t, i.e., {eps_t} is monotonically decreasing." The last line of (17), M^(t+1) eps_(-1) plus further terms,
        increases with t. Lemma H (``cfl-mgd/lemma-h``) is a true bound on the growth of an error.
    """
    one, t = identical, round_
    after, now, move = abs(one.error(t + 1)), abs(one.error(t)), one.move(t - 1)
    kept, formula = one.growth * now, abs(shifted_formula(one, t))
    misprint = f"a misprint, the indices of (7) are one later: |e_{t + 1}| = {after} here, by (12) {formula}"
    near = (
        "the start is within the basin of Assumption 4, Delta = 2, and eps_(t-2) is not 0",
        one.start <= Fraction(1, 2) and one.error(t - 2) != 0,
    )
    is_named = 2**t * one.start <= 1 < 2 ** (t + 1) * one.start  # t = floor(log2(1 / eps_0))
    no_ratio_is_0_by_0 = all(one.error(k) != 0 for k in range(t + 1))
    return {
        "(12)": equal((after, formula), words=misprint),
        "(14), its =": equal((one.curvature * now, one.curvature / one.clients * now)),
        "(14)": at_most(after, growth=kept, move=one.momentum * abs(move)),
        "(15), its =": given(
            "the ratio is not 0/0",
            move != 0,
            lambda: equal((one.momentum * abs(move), one.weight * move**2 / move**2)),
        ),
        "(16)": given(*near, lambda: at_most(after, growth=kept, ratio=one.weight * one.ratio(t - 1))),
        "(17)": given(
            *near,
            lambda: at_most(after, growth=one.base * now, ratio=one.weight / one.base * one.ratio(t - 1)),
        ),
        "after (17)": given(
            "eps_0 <= 1, t = floor(log2(1 / eps_0)), and no error up to eps_t is 0",
            one.start <= 1 and is_named and no_ratio_is_0_by_0,
            lambda: at_most(after, before=now),
        ),
        "(18)": given(
            "t >= 1, and no eps_k is 0 before t - 1",
            t >= 1 and all(one.error(k - 1) != 0 for k in range(t)),
            lambda: squares_for_ratios(one, t),
        ),
    }


def squares_for_ratios(one: IdenticalClients, t: int) -> Sides:
    """Compare the first line of (18) with its second line."""
    base, shift = one.base, one.momentum / one.base
    start = base ** (t + 1) * abs(one.error(-1))
    ratios = sum(((one.weight / base) ** (t - k) * one.ratio(k) for k in range(t)), Fraction(0))
    errors = Fraction(0)
    for k in range(t - 1):
        quotient = abs(one.error(k)) / abs(one.error(k - 1))
        errors += ((quotient - shift) ** 2 - shift**2) * one.error(k - 1) ** 2
    last = one.momentum**2 / (base - 1) * one.error(t - 1) ** 2
    return at_most(start + ratios, start=start, errors=one.weight / (base - 1) * errors, last=last)


PLACE = Q[-2:2:2]
SCATTERED = partial(random_quadratics, clusters=(2, 3), dimension=(2, 5), condition_number=20.0, spread=0.3)


def lipschitz_term(model: Fraction, first: Fraction, second: Fraction) -> Fraction:
    """Return eta L mean ||chi_i - chi*_p|| in (13) for clients at ``first`` and ``second``, with eta = L = 1."""
    return abs(model - (first + second) / 2)


@equations_12_to_18.line("(13)")
def distances_for_gradients(
    model: Fraction = PLACE, first: Fraction = PLACE, second: Fraction = PLACE
) -> Sides:
    """Return the step in (12) for two clients, with eta = L = 1."""
    distance = abs(model - (first + second) / 2)
    return at_most(
        distance + (abs(model - first) + abs(model - second)) / 2,
        distance=distance,
        smoothness=lipschitz_term(model, first, second),
    )


@claim(
    "cfl-mgd/equation-12-shifted",
    label="(12), (13), as meant",
    source="ours",
    evaluations=60,
    expected="consistent, tight within 2",
    places="(13)",
)
def one_local_step(
    task: Annotated[QuadraticMixture, drawn(random_clients)],
    share: Annotated[float, reals(Fraction(1, 10), 1)],
    momentum: Annotated[float, reals(0, Fraction(9, 10))],
    stream: Stream,
) -> dict[str, Sides]:
    """With one local step, the displacement of the mean model is a step along the mean gradient plus its own momentum.

    Hypotheses
        Option II has H = 1, all clients take part, and no client changes its cluster. chi^(-1) = chi^0, and phi_i is
        L_i-smooth.

    Statement
        The lines hold for H = 1. The claim ``cfl-mgd/model-averaging-recursion`` treats H > 1.

    Lines
        (12)
            chi_p^(t+1) = chi_p^t - eta mean grad phi_i(chi_p^t) + beta (chi_p^t - chi_p^(t-1)), hence ||chi_p^(t+1) -
            chi*|| <= ||chi_p^t - chi*|| + eta ||mean grad|| + beta ||chi_p^t - chi_p^(t-1)||.
        (13)
            ||grad phi_i(chi)|| <= L_i ||chi - chi*|| + ||grad phi_i(chi*)|| for any chi*. The last term vanishes if
            all clients of a cluster have the same expected loss. Equality occurs along the steepest direction.

    Source
        Ours, based on (12) of Zhao et al. (2023), with the indices of (7), and on (13).
    """
    suppose("one cluster", task.clusters == 1)
    step_size = share / task.client_smoothness
    algorithm = CFLMGD(step_size=step_size, momentum=momentum, averaging="model")
    models = run(algorithm, task, rounds=8, initial=stream.standard_normal((1, task.dimension))).models[:, 0]
    before, now, path = models[0], models[0], []
    for _ in models[1:]:
        gradients = [a @ (now - c) for a, c in zip(task.hessians, task.centers, strict=True)]
        following = now - step_size * np.mean(gradients, axis=0) + momentum * (now - before)
        before, now = now, following
        path.append(now)
    return {"(12)": equal((models[1:], np.stack(path)), rounding=share_of_largest(1e-9, models))}


@one_local_step.line("(13)", evaluations=30)
def gradients_of_clients(task: Annotated[QuadraticMixture, drawn(SCATTERED)], stream: Stream) -> Sides:
    """Compare a gradient's norm with L_i times the distance plus the norm of the gradient at the cluster's optimum."""
    steps = stream.standard_normal((40, 1, task.dimension))
    optima = task.client_optima
    at_optimum, displaced = (
        np.linalg.norm(np.einsum("mij,...mj->...mi", task.hessians, models - task.centers), axis=-1)
        for models in (optima, optima + steps)
    )
    steepest = np.linalg.eigvalsh(task.hessians).max(axis=-1)
    return at_most(displaced, distance=steepest * np.linalg.norm(steps, axis=-1), rest=at_optimum)


@one_local_step.line("(13), expected losses", evaluations=60)
def expected_losses(task: Annotated[Mixture, drawn(random_mixture)], stream: Stream) -> Sides:
    """Check (13) for the clusters' expected losses, where the last term vanishes."""
    steps = stream.standard_normal((40, task.dimension))
    norms = [
        np.linalg.norm(task.expected_gradient(optimum + steps, cluster), axis=-1)
        for cluster, optimum in enumerate(task.optima)
    ]
    return at_most(np.stack(norms), distance=task.smoothness * np.linalg.norm(steps, axis=-1), rest=0.0)


@claim(
    "cfl-mgd/equation-19",
    label="(19), (20)",
    says_nothing="(M^(t+2) - 1) / (M - 1) = 1 + M + ... + M^(t+1) >= 1 and M^(T+3) / (M - 1) >= 27/4: the right sides "
    "are at least eps_0 by themselves, for every eps_0 <= 1",
    repaired_by="cfl-mgd/model-averaging-recursion",
    expected="vacuous",
    places="(20); after (20)",
)
def equations_19_and_20(
    base: Fraction = Q[1::10],
    t: int = among(*range(12)),
    start: Fraction = Q[0:1:10],
    first_term: Fraction = Q[0::1],
) -> dict[str, Sides]:
    """The initial error is at most a term of order 1 / T plus the initial error times a factor above 1.

    Hypotheses
        The hypotheses of (18) hold, and t <= log2(1 / eps_0), so that eps_0 <= 1. The initial momentum is 0, so
        eps_(-1) = eps_0.

    Statement
        eps_0 <= (2 M^3 / beta) (1 / (T + 2)) (eta L / |C_p| + beta (1 + beta)) log2(1 / eps_0) + A eps_0, with M as in
        (17), and A = (M^(t+2) - 1) / (M - 1) in (19), A = M^(T+3) / (M - 1) in (20).

    Proved for
        t = 0, ..., 11, where the first term is replaced by an arbitrary number of at least 0.

    Source
        Zhao et al. (2023), (19), and (20), "the upper bound of the rate of convergence". Both bound eps_0, not eps_T.
        Section 7 derives the rate O~(1/T) from (20), and ``cfl-mgd/model-averaging-rate`` checks this rate.

    Proof that they say nothing
        Both inequalities are true for every eps_0 <= 1, because the first term is not negative and A > 1. In (19), A
        = 1 + M + ... + M^(t+1). In (20), A >= M^3 / (M - 1) >= 27/4, since 4 M^3 - 27 (M - 1) = (2 M - 3)^2 (M + 3).
    """
    coefficient = sum((base**k for k in range(1, t + 2)), start=base**0)
    return {
        "(19)": at_least(first_term + coefficient * start, start=start),
        "(20), square": equal((4 * base**3 - 27 * (base - 1), (2 * base - 3) ** 2 * (base + 3))),
        "(20), growth": at_least(base**4, same=base**3),
    }

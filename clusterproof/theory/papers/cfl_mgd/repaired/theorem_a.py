"""Lemma P bounds the probability that a client chooses the wrong one of two models.

Theorem A bounds the error of runs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims import Excluded, Sides, at_least, at_most, claim, equal, suppose
from clusterproof.checker.claims.ranges import choice, rationals
from clusterproof.checker.claims.space import Replicates, Stream
from clusterproof.theory.bounds import statements
from clusterproof.theory.bounds.audit_settings import Experiment, experiment, log_cosh_experiment
from clusterproof.theory.bounds.statements import Momentum, Share, SmallTask, tuned
from clusterproof.theory.bounds.theorem_a import TheoremA

BOUND = TheoremA()
"""The bound that the claim states."""
LOG_COSH = {"S4": (0.0, 20_000), "S4 at 2/5": (0.4, 20_000), "S4 at 3/5": (0.6, 1_000_000)}
"""Momentum and number of samples in the settings with losses that are not quadratic."""
NOISELESS = "S1+"
"""Name of the setting with two clusters of equal size, momentum 0, and so many samples that the noise is nearly 0."""
REGRESSIONS = {"S1": ("S1", 0.0), "S1 tuned": ("S1", None), NOISELESS: (NOISELESS, 0.0)}
Place = Annotated[str, choice(*REGRESSIONS, *LOG_COSH)]


def experiment_at(place: str) -> Experiment:
    """Return the setting with a given name."""
    return log_cosh_experiment(*LOG_COSH[place]) if place in LOG_COSH else experiment(*REGRESSIONS[place])


@claim(
    "cfl-mgd/theorem-a",
    label="Theorem A",
    source="ours",
    quick=False,
    bound=BOUND.bound_trace,
    expected="consistent, tight within 2",
    places="abstract; contribution 2; (11)",
    headline=True,
)
def theorem_a(place: Place, replicates: Replicates, stream: Stream) -> dict[str, Sides]:
    """On smooth, strongly convex losses, the error of option I is at most an explicit bound with a proved rate.

    Hypotheses
        Option I has the server's momentum and full participation, step_size <= 1/L, and momentum in [0, 1). Each
        client draws two new independent batches of n' samples per round, one for the assignment and one for the
        gradient. The expected losses phi_p are L-smooth and mu-strongly convex. In the basin {||chi_p - chi*_p|| <= B
        for all p}, B < Delta / (1 + sqrt(kappa)), the gradient variance of model p is at most v_*^2 + v_1^2 ||e||^2
        for clients of cluster p, and at most v_x^2 for other clients. The pairwise misclassification probability is
        at most pi. There is a Lyapunov function V >= ||e||^2 with V(next) <= r^2 V for the noise-free map with step
        alpha_p = eta l_p on every such phi. Initially V <= C_0^2 ||e_0||^2, and a disturbance delta increases sqrt(V)
        by at most C_1 ||delta||.

    Statement
        Take binomial quantiles n_in and n_out at level delta_1 / 2TP, s^2 = (l_p m v_*^2 + n_in v_x^2) / (m^2 n'),
        tau^2 = l_p v_1^2 / (m n'), r_bar = r + C_1 eta L n_out / m < 1, b_bar = C_1 eta (n_in / m) L (D + B), R_t =
        r_bar^t C_0 ||e_0|| + b_bar (1 - r_bar^t) / (1 - r_bar), gamma = 1 if V is a squared norm and 1 - r_bar
        otherwise, and x > 0 the root of x^2 = (P C_1^2 eta^2 / (gamma delta_2)) sum_(k<T) [s^2 + tau^2 (R_k + x)^2].
        If max_t R_t + x <= B, then with probability at least 1 - delta_1 - delta_2, for all t <= T and all p,
        ||chi_p^t - chi*_p|| <= R_t + x. With probability at least 1 - delta_1 - delta_2 - delta_3, for all p,
        ||chi_p^T - chi*_p|| <= sqrt(P / delta_3) y_T, y_0 = C_0 ||e_0||, y_(t+1)^2 = (r_bar y_t + b_bar)^2 + C_1^2
        eta^2 (s^2 + tau^2 y_t^2).

    Remarks
        The kernel does not prove this theorem. It certifies the rates in the theorem: ``heavy_ball_rate(...,
        disturbance=True)`` has claims that state r, C_0 and C_1. It also certifies the case without noise and wrong
        assignments (``cfl-mgd/theorem-1-without-noise``), and for momentum 0 with an error of at most delta in each
        gradient. Theorem A itself is compared with runs in six settings. Its two moment bounds and pi are checked on
        random tasks. The bounds on the counts, the union bound and the inequalities of Ville, Minkowski and Markov
        have only a proof by hand.

    Proof
        sqrt(V) grows by at most b_bar + C_1 eta ||noise|| beyond the factor r_bar. If sqrt(V) is a norm, the squared
        distance of z_t to the ball of radius R_t is a supermartingale up to its noise. In general A_(t+1)^2 <= r_bar
        A_t^2 + a_t^2 / (1 - r_bar). Apply Ville's inequality up to the first round outside the bound, and a union
        bound over clusters. For round T, apply the inequalities of Minkowski and Markov.

    Symbols
        eta is ``step_size``, beta ``momentum``, l_p ``proportions``, m ``clients``, n' ``samples``, T ``rounds``, Delta
        ``separation``, D ``diameter``, and B ``radius``. ``clusterproof improve --algorithm cfl-mgd`` computes r and
        C_0.

    Source
        Ours. The claim replaces Theorem 1.
    """
    experiment = experiment_at(place)
    return statements.runs(BOUND.best_parts(experiment.setting), experiment, replicates, stream)


@theorem_a.step("moments", evaluations=32)
def moments(task: SmallTask, momentum: Momentum) -> dict[str, Sides]:
    """The certified rate bounds the error without noise, and y_t^2 bounds the second moment of the error."""
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=momentum)
    parts = statements.small_parts(BOUND, task, algorithm)
    suppose("there is a certificate for every cluster", np.isfinite(parts.mean).all())
    return {
        "envelope": statements.envelope(parts, task, algorithm),
        "variance": statements.variance(parts, task, algorithm),
    }


@theorem_a.step("misclassification", evaluations=40)
def misclassification(task: SmallTask, share: Share, stream: Stream) -> dict[str, Sides | Excluded]:
    """In the basin, a client chooses a wrong model with probability at most pi."""
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.0)
    return statements.misclassification(task, algorithm, share, stream)


Positive = Annotated[Fraction, rationals(Fraction(1, 4), 3, 4, upwards=True)]
Own = Annotated[Fraction, rationals(0, 3, 4, upwards=True)]
Beyond = Annotated[Fraction, rationals(lambda a: a, 6, 4, upwards=True)]


@claim(
    "cfl-mgd/pairwise-error",
    label="Lemma P",
    source="ours",
    quick=False,
    tight=True,
    evaluations=40,
    expected="consistent, tight within 2",
    places="abstract; lemma 1; section 7",
)
def pairwise_error(task: SmallTask, share: Share, stream: Stream) -> dict[str, Sides | Excluded]:
    """In the basin, a client prefers a given wrong model with probability at most pi(B), and equality can occur.

    Hypotheses
        Samples are Gaussian, and the client chooses with n' samples. ||chi_p - theta_p|| and ||chi_q - theta_q|| are
        at most B < B* = Delta / (1 + sqrt(kappa)).

    Statement
        P(the mean squared residual of chi_q is at most the mean squared residual of chi_p) <= pi(B) = I_(1 / (1 +
        rho))(n'/2, n'/2), with a = sqrt(L) B, b = sqrt(mu) (Delta - B): rho = (s^2 + b^2) / (s^2 + a^2) if s^2 <= a
        b, and otherwise (1 + u) / (1 - u), u = (b - a) / sqrt(4 s^2 + (b - a)^2).

    Proof
        (1) Let tau_p^2 and tau_q^2 be the variances of a sample's two residuals, c their covariance, A = tau_q^2 -
        tau_p^2 and Q^2 = (tau_p^2 + tau_q^2)^2 - 4 c^2. The difference of the sums of squares is (Q + A) X / 2 - (Q -
        A) Y / 2 with independent chi^2_n' variables X and Y, so the probability decreases in A / Q. (2) c >= s^2 - a
        b. If a b >= s^2, A / Q is smallest for c = 0, and otherwise for c = s^2 - a b. (3) Both smallest values
        decrease in a and increase in b, and they agree for a b = s^2. Hence the probability is largest for the stated
        a and b.

    Symbols
        s is ``noise``, n' is ``samples``, and I is the regularised incomplete beta function.

    Source
        Ours. The bound cannot be improved: equality holds if the correct model is displaced along the direction with
        the largest curvature, and the wrong model along the direction with the smallest.
    """
    return statements.misclassification(task, tuned(task), share, stream)


@pairwise_error.step("largest covariance")
def largest_covariance(a: Own, b: Beyond, s: Positive) -> Sides:
    """Step (2): for c = s^2 - a b, Q^2 = (a + b)^2 (4 s^2 + (b - a)^2)."""
    both = 2 * s**2 + a**2 + b**2
    return equal((both**2 - 4 * (s**2 - a * b) ** 2, (a + b) ** 2 * (4 * s**2 + (b - a) ** 2)))


@pairwise_error.step("no covariance")
def no_covariance(a: Own, b: Beyond, s: Positive, c: Positive) -> Sides:
    """Step (2): for every c, Q is at most its value for c = 0, and A is not negative."""
    both = 2 * s**2 + a**2 + b**2
    return at_least((b**2 - a**2) * both**2, any_covariance=(b**2 - a**2) * (both**2 - 4 * c**2))


@pairwise_error.step("the cases agree")
def cases_agree(a: Positive, b: Beyond) -> Sides:
    """Step (3): for s^2 = a b, both values of (A / Q)^2 agree."""
    s_squared = a * b
    first = (b**2 - a**2) ** 2 / (2 * s_squared + a**2 + b**2) ** 2
    return equal((first, (b - a) ** 2 / (4 * s_squared + (b - a) ** 2)))


@pairwise_error.step("monotone without covariance")
def monotone_without(a: Own, b: Beyond, s: Positive, more: Own) -> dict[str, Sides]:
    """Step (3): (b^2 - a^2) / (2 s^2 + a^2 + b^2) decreases in a and increases in b."""

    def ratio(near: Fraction, far: Fraction) -> Fraction:
        return (far**2 - near**2) / (2 * s**2 + near**2 + far**2)

    return {
        "a": at_most(ratio(a + more, b), nearer=ratio(a, b)),
        "b": at_least(ratio(a, b + more), nearer=ratio(a, b)),
    }


@pairwise_error.step("monotone with covariance")
def monotone_with(gap: Own, s: Positive, more: Own) -> Sides:
    """Step (3): (b - a)^2 / (4 s^2 + (b - a)^2) increases in b - a."""

    def ratio(apart: Fraction) -> Fraction:
        return apart**2 / (4 * s**2 + apart**2)

    return at_least(ratio(gap + more), nearer=ratio(gap))

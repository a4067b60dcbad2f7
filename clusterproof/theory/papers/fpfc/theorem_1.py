"""Claims on the printed Theorem 1: its constants (c, q, C_1, C_2), its conditions and its inequalities."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.penalties import SmoothedSCAD
from clusterproof.checker.claims import Q, Sides, Z, among, at_least, at_most, claim, equal, suppose
from clusterproof.theory.bounds.hypotheses import Hypothesis, all_met
from clusterproof.theory.papers.fpfc.scalar_rounds import STRENGTH, ScalarSetting


@dataclass(frozen=True)
class Constants:
    """A setting of Theorem 1.

    Attributes
    ----------
    algorithm
        FPFC with SCAD.
    clients
        The number m of clients.
    smoothness
        The smoothness L_f of every client's loss.
    weak_convexity
        The constant L_- > 0, which may be any positive number for convex losses.
    """

    algorithm: FPFC
    clients: int
    smoothness: float
    weak_convexity: float

    @property
    def penalty(self) -> SmoothedSCAD:
        """The smoothed SCAD."""
        penalty = self.algorithm.fusion_penalty
        if not isinstance(penalty, SmoothedSCAD):
            raise TypeError("Theorem 1 is about SCAD")
        return penalty

    @property
    def local_smoothness(self) -> float:
        """The smoothness L_h = L_f + rho of the local objectives."""
        return self.smoothness + self.algorithm.augmentation

    @property
    def contraction(self) -> float:
        """The constant c, by which one local step multiplies the squared distance."""
        convexity, smoothness = self.algorithm.augmentation - self.weak_convexity, self.local_smoothness
        return 1 - 2 * self.algorithm.step_size * convexity * smoothness / (smoothness + convexity)

    @property
    def power(self) -> float:
        """The number q = c^(T/2), by which T local steps multiply the distance."""
        return float(self.contraction ** (self.algorithm.local_steps / 2))

    @property
    def inexactness(self) -> float:
        """The value (c^(-T/2) - 1)^-1, which is one reading of (c - T/2)^-1. The other reading is ``power``."""
        return self.power / (1 - self.power)

    @property
    def admissible(self) -> bool:
        """Whether the hypotheses ``printed_needs`` and alpha <= 1 / (L_f + 2 rho - L_-) are satisfied."""
        shortest = self.smoothness + 2 * self.algorithm.augmentation - self.weak_convexity
        return self.algorithm.step_size * shortest <= 1 + 1e-12 and all_met(printed_needs(self))

    @property
    def second_denominator(self) -> float:
        """The number rho^2 - L_g rho - 2 L_g^2, which is positive for rho > 2 L_g."""
        rho, lipschitz = self.algorithm.augmentation, self.penalty.lipschitz
        return rho**2 - lipschitz * rho - 2 * lipschitz**2

    def first_denominator_of(self, inexactness: float) -> float:
        """Return rho - L_f - 2 r L_h with r = ``inexactness``."""
        pull = self.algorithm.augmentation - self.smoothness
        return pull - 2 * inexactness * self.local_smoothness

    @property
    def least_augmentation(self) -> float:
        """The largest rho for which C_1's first denominator is not positive, L_f (1 + q) / (1 - 3q) or infinity."""
        return self.smoothness * (1 + self.power) / (1 - 3 * self.power) if self.power < 1 / 3 else math.inf

    def first_of(self, inexactness: float) -> float:
        """Return C_1 with r = ``inexactness``, or infinity if its first denominator is 0."""
        rho, denominator = self.algorithm.augmentation, self.first_denominator_of(inexactness)
        if denominator == 0:
            return math.inf
        inexact = 6 * ((inexactness * self.local_smoothness) ** 2 + rho**2) / denominator
        return (inexact + 12 * rho**3 / self.second_denominator) / self.participation

    @property
    def first(self) -> float:
        """The constant C_1 with r = (c^(-T/2) - 1)^-1."""
        return self.first_of(self.inexactness)

    @property
    def second(self) -> float:
        """The constant C_2 of the third inequality."""
        return self.penalty.lipschitz**2 / (
            self.clients * self.algorithm.augmentation * self.second_denominator
        )

    @property
    def first_step_factor(self) -> float:
        """The constant A_1 = 2 / (alpha p (2 - alpha L_h)), from the Lagrangian's decrease in the first step."""
        algorithm = self.algorithm
        return 2 / (
            algorithm.step_size * self.participation * (2 - algorithm.step_size * self.local_smoothness)
        )

    @property
    def local_steps_factor(self) -> float:
        """The constant A = 2 L_h / (p (1 - (1 - alpha L_h)^(2T))), from the Lagrangian's decrease in T local steps."""
        shrinking = (1 - self.algorithm.step_size * self.local_smoothness) ** 2
        # a geometric sum, which is accurate also if alpha L_h is small
        return self.first_step_factor / sum(shrinking**step for step in range(self.algorithm.local_steps))

    @property
    def pairs_factor(self) -> float:
        """The constant B = 4 (1 - 1/m) rho L_g^2 / (P den) of the repaired theorem."""
        pull = 4 * (1 - 1 / self.clients) * self.algorithm.augmentation * self.penalty.lipschitz**2
        return pull / (self.pair_participation * self.second_denominator)

    @property
    def largely_augmented(self) -> bool:
        """Whether rho >= 8 L_g. In this case the bound does not need the constant B."""
        return self.algorithm.augmentation >= 8 * self.penalty.lipschitz * (1 - 1e-12)

    @property
    def mapping_bound(self) -> float:
        """The number m^2 lambda^2 xi^2 / (lambda + xi)^2."""
        strength, smoothing = self.penalty.strength, self.penalty.smoothing
        return (self.clients * strength * smoothing / (strength + smoothing)) ** 2

    @property
    def start(self) -> float:
        """The term m xi lambda / 4, which the printed bound adds to F(w^0) - F*."""
        return self.clients * self.penalty.smoothing * self.penalty.strength / 4

    @property
    def repaired_start(self) -> float:
        """The term (m - 1) xi lambda / 4, with m - 1 because a client has no pair with itself."""
        return (self.clients - 1) * self.penalty.smoothing * self.penalty.strength / 4

    @property
    def active(self) -> int:
        """Number of participants of a round."""
        return max(1, round(self.algorithm.participation * self.clients))

    @property
    def participation(self) -> float:
        """Probability p_i that a client takes part, which is equal for all clients."""
        return self.active / self.clients

    @property
    def pair_participation(self) -> float:
        """Probability P-hat that at least one of two clients takes part."""
        absent = math.comb(self.clients - 2, self.active) / math.comb(self.clients, self.active)
        return 1 - absent


def printed_setting(setting: Constants) -> Constants:
    """Return a setting of convex losses with the smallest L_- that the step size allows. Any positive L_- is valid."""
    algorithm = setting.algorithm
    least = max(0.0, setting.smoothness + 2 * algorithm.augmentation - 1 / algorithm.step_size)
    return replace(setting, weak_convexity=least if least * algorithm.step_size > 1e-12 else 0.0)


def printed_needs(setting: Constants) -> tuple[Hypothesis, ...]:
    """Return the hypotheses of Theorem 1 on rho, T and alpha, with c^(T/2) instead of c and log(1/c) instead of log c.

    If L_- >= rho, the hypotheses on q are omitted, because q is then not a power of a number below 1.
    """
    algorithm, penalty = setting.algorithm, setting.penalty
    rho, power, convexity = float(algorithm.augmentation), setting.power, setting.weak_convexity
    needs = [
        Hypothesis("rho", ">", 2 * penalty.strength / penalty.smoothing, rho, "2 lambda/xi"),
        Hypothesis("rho", ">", 2 / (penalty.concavity - 1), rho, "2/(a - 1)"),
    ]
    if convexity > 0:
        longest = 1 / setting.local_smoothness
        needs.append(Hypothesis("alpha", "<", longest, float(algorithm.step_size), "1/(L_f + rho)"))
        needs.append(Hypothesis("rho", ">", convexity, rho, "L_-"))
    if convexity < rho:
        needs.append(Hypothesis("q", "<", 0.5, power))
        if power < 0.5:
            needs.append(Hypothesis("rho", ">", setting.smoothness / (1 - 2 * power), rho, "L_f/(1 - 2q)"))
    return tuple(needs)


CONDITION, STEP = Q[1::3], Q[:1:10]
"""The values of L / mu and of alpha (L + mu), which is at most 1."""


def contraction(condition: Fraction, step: Fraction) -> Fraction:
    """Return c = 1 - 2 alpha mu L / (L + mu)."""
    return 1 - 2 * step * condition / (condition + 1) ** 2


@claim(
    "fpfc/conditions",
    label="Theorem 1, conditions",
    source="reading",
    repaired_by="fpfc/repaired-models",
    expected="vacuous",
    headline=(
        "The condition rho > L_f / (1 - 2c) of Theorem 1 excludes nothing or everything, because "
        "every allowed step size has c >= 1/2. It should have c^(T/2) in place of c."
    ),
    rank=4,
)
def conditions(condition: Fraction = CONDITION, step: Fraction = STEP) -> Sides:
    """The conditions on the step size and rho > L_f / (1 - 2c) > 0 can be satisfied together.

    Hypotheses
        mu = rho - L_- > 0, L = L_f + rho, 0 < alpha <= 1 / (L + mu), c = 1 - 2 alpha mu L / (L + mu).

    Statement
        There are admissible alpha and rho with rho > L_f / (1 - 2c) > 0.

    Proof
        No such alpha and rho exist: 1 - c <= 2 mu L / (L + mu)^2 <= 1/2 because (L + mu)^2 - 4 mu L = (L - mu)^2 >=
        0. So c >= 1/2 and 1 - 2c <= 0. The bound on rho is negative, so that every rho satisfies it, or infinite, so
        that no rho does. Similarly, since log c < 0, every T_i satisfies T_i > 2 log 2 / log c.

    Source
        Yu et al. (2023), Theorem 1, a reading. The text has "T_i > 2 log 2 / log c" and "rho > max{L_f / (1 - 2c), 2
        lambda / xi, 2 / (a - 1), L_-}". The reading adds that L_f / (1 - 2c) is positive, as one expects of a bound
        on rho. If the bound may be negative, the conditions can be satisfied. For another reading, T_i > 2 log 2 /
        log(1/c) and rho > L_f / (1 - 2 c^(T/2)), see ``fpfc/theorem-1-models`` and
        ``fpfc/theorem-1-models-positive``.
    """
    suppose("rho > L_f / (1 - 2c) > 0", contraction(condition, step) < Fraction(1, 2))
    return at_least(1 - 2 * contraction(condition, step), nothing=0)


@conditions.step("c >= 1/2")
def slow_contraction(condition: Fraction = CONDITION, step: Fraction = STEP) -> Sides:
    """No admissible step multiplies the squared distance by less than 1/2."""
    return at_least(contraction(condition, step), half=Fraction(1, 2))


WEAK_CONVEXITY = 1e-3
"""The constant L_- of convex losses, which may be any positive number."""


SMOOTHINGS = among(*(Fraction(hundredths, 100) for hundredths in (30, 50, 48, 42, 36)))
START = Fraction(2)
"""The common initial model of the clients. Their minimisers alternate between 1 and -1."""


@claim(
    "fpfc/theorem-1-models",
    label="Theorem 1, first inequality",
    source="reading",
    repaired_by="fpfc/repaired-models",
    # C_1 is negative for both values of r
    example={
        "clients": 2,
        "augmentation": Fraction(23, 4),
        "smoothing": Fraction(1, 2),
        "local_steps": 3,
        "rounds": 1,
    },
    expected="violated",
    headline=(
        "The first inequality of Theorem 1 bounds an average squared gradient by -0.75. Here it is "
        "7.08. The constant C_1 is negative for the augmentation rho = 23/4, the smoothing xi = "
        "1/2 and 3 local steps."
    ),
    rank=1,
)
def theorem_1_models(
    clients: int = Z[2:6],
    augmentation: Fraction = Q[2:40:4],
    smoothing: Fraction = SMOOTHINGS,
    local_steps: int = Z[1:8],
    rounds: int = Z[1:5],
) -> Sides:
    """With c^(T/2) instead of c, the mean of E||grad_w L_0||^2 is at most C_1 (F(w^0) - F* + m xi lambda / 4) / K.

    Hypotheses
        Losses are L_f-smooth with Hessians at least -L_-, all models start at one point, p_i > 0, 0 < alpha <= 1 / (L_f
        + 2 rho - L_-), T_i > 2 log 2 / log(1/c), xi < lambda, rho > max(L_f / (1 - 2 c^(T/2)), 2 lambda / xi, 2 / (a -
        1), L_-).

    Statement
        The title states the claim, for the mean over K rounds, with C_1 = (1 / p) [6 (r^2 L_h^2 + rho^2) / (rho - L_f
        - 2 r L_h) + 12 rho^3 / (rho^2 - L_g rho - 2 L_g^2)]. Here L_h = L_f + rho and L_g = max(lambda / xi, 1 / (a
        - 1)). L_0 is defined in ``fpfc/theorem-1-duals``, and c in ``fpfc/conditions``. The number r is (c^(-T/2) -
        1)^-1 or c^(T/2), and the check takes the larger bound of the two. The check encloses the root c^(T/2) between
        two fractions. The hypotheses must hold at both ends, and the check takes the largest bound for all r between
        the ends. F(w^0) replaces F(w^0) - F*, or 0 does if C_1 is negative, which makes the bound larger, as well.

    Source
        Yu et al. (2023), Theorem 1, a reading. The text has "T_i > 2 log 2 / log c", "rho > max{L_f / (1 - 2c), 2
        lambda / xi, 2 / (a - 1), L_-}" and, in C_1, "(c - T/2)^-2 L_h^2" and "2 (c - T/2)^-1 L_h". It does not define
        L_h, L_g and L_0. The reading replaces log c by log(1/c), c by c^(T/2) in 1 - 2c, and (c - T/2)^-1 by r. The
        literal conditions are weaker: since c > 1/2, L_f / (1 - 2c) and 2 log 2 / log c are negative. So every
        instance that satisfies the hypotheses above satisfies the literal conditions. The first denominator of C_1 is
        positive in two cases. With r = (c^(-T/2) - 1)^-1 it needs q = c^(T/2) < 1/3 and rho > L_f (1 + q) / (1 - 3q).
        With r = q it needs rho > L_f (1 + 2q) / (1 - 2q). The hypotheses require only rho > L_f / (1 - 2q) and q <
        1/2. So C_1 can be negative, but a mean square cannot. The verdict "violated" rests on C_1 <= 0 for both
        values of r, and on the exponent T/2. We do not refute two other readings of C_1. With r = (c^-T - 1)^-1 the
        first denominator is positive under the hypotheses. With the literal (c - T/2)^-1, C_1 is positive at the
        first instance of the search. If the denominator is positive, the inequality is true, see
        ``fpfc/theorem-1-models-positive``.
    """
    setting = ScalarSetting(augmentation, smoothing, local_steps)
    setting.suppose_the_printed()
    low, high = setting.power
    readings = ((low / (1 - low), high / (1 - high)), (low, high))
    ends = [setting.first_denominator(r) for reading in readings for r in reading]
    suppose("C_1 is a number", ends[0] * ends[1] > 0 and ends[2] * ends[3] > 0)
    first = max(setting.most_of_first(*reading) for reading in readings)
    minimisers = [Fraction((-1) ** i) for i in range(clients)]
    measured = setting.mean_squared_gradient(minimisers, START, rounds)
    # the largest right-hand side over all F* between 0, the sum of the clients' minima, and F(w^0)
    gap = sum((START - b) ** 2 / 2 for b in minimisers) if first > 0 else 0
    factor = first / rounds
    return at_most(measured, descent=factor * gap, smoothing=factor * clients * smoothing * STRENGTH / 4)


POSITIVE = Q[Fraction(1, 4) :: 4]


@claim(
    "fpfc/theorem-1-mapping",
    label="Theorem 1, second inequality",
    source="reading",
    says_nothing="a pair adds at most (lambda xi / (lambda + xi))^2 to ||G||^2 for every theta with its v, before the "
    "first round too",
    repaired_by="fpfc/repaired-models",
    expected="vacuous",
    headline=(
        "The second inequality of Theorem 1 says nothing about the algorithm: every theta meets "
        "it together with its v, even before the first round."
    ),
    rank=3,
)
def theorem_1_mapping(
    share: Fraction = Q[0:1:4],
    strength: Fraction = POSITIVE,
    smoothing: Fraction = POSITIVE,
    concavity_above_2: Fraction = POSITIVE,
) -> dict[str, Sides]:
    """E||G||^2 is at most m^2 lambda^2 xi^2 / (lambda + xi)^2 after every round.

    Hypotheses
        The hypotheses of ``fpfc/theorem-1-models`` hold, and a > 2, as in the definition of SCAD (Fan and Li, 2001).

    Statement
        The title states the claim, for G = theta - prox(theta + v) with the proximal map of unsmoothed SCAD and unit
        step size. Only this reading leads to the printed bound. The check has lambda, xi and a - 2 of at least 1/4.

    Proof that it says nothing
        Initially and after every update of a pair, v_ij is the gradient of the smoothed penalty at theta_ij. For
        every such theta and v the inequality holds, for all models and losses. If t = ||theta_ij|| > xi, the unit
        proximal map of theta + v returns theta_ij. If t <= xi, theta + v has length (1 + lambda / xi) t, and the map
        returns 0 or shortens the vector by lambda. So the distance between theta and the result is the smaller of t
        and lambda (1 - t / xi), which is at most lambda xi / (lambda + xi). There are m (m - 1) ordered pairs. So the
        inequality is true before the first round, when G = 0, and after any number of rounds. The bound depends only
        on the smoothing, and does not decrease with K.

    Source
        Yu et al. (2023), Theorem 1, which refers to SCAD by Fan and Li. For a <= 2 the inequality is false. Before
        the theorem, the paper prints "G(omega, theta, v) = theta - prox_{L_0}(theta)", which contains neither v nor a
        step size. The other two inequalities measure the distance from a stationary point, see
        ``fpfc/repaired-models`` and ``fpfc/repaired-duals``. The claim ``fpfc/repaired-mapping`` has m (m - 1)
        instead of m^2, and checks the inequality on runs.
    """
    worst = strength * smoothing / (strength + smoothing)
    # theta + v has length at most lambda, and its proximal point is 0
    short = share * worst
    # theta + v has a length from lambda to 2 lambda, and its proximal point is shorter by lambda
    middle = worst + share * (smoothing - worst)
    point = (1 + strength / smoothing) * middle - strength
    # on SCAD's concave part, v has the length (a lambda - ||theta||) / (a - 1), and the proximal point is theta
    a = 2 + concavity_above_2
    concave = strength + share * (a - 1) * strength
    target = concave + (a * strength - concave) / (a - 1)
    return {
        "theta + v is short": at_most((1 + strength / smoothing) * short, strength=strength),
        "theta of length 0 to the worst": at_most(short, worst=worst),
        "theta from there to xi": at_most(middle - point, worst=worst),
        "theta beyond lambda": equal((((a - 1) * target - a * strength) / (a - 2), concave)),
    }


@claim(
    "fpfc/theorem-1-duals",
    label="Theorem 1, third inequality, only pairs of two participants",
    source="reading",
    repaired_by="fpfc/repaired-duals",
    expected="violated",
    headline=(
        "The third inequality of Theorem 1 is false if only pairs of two participants move. With "
        "2 clients, one of them in each of 1000 rounds, 0.0139 exceeds the bound 0.0000623."
    ),
    rank=2,
    places="algorithm 1, line 5",
)
def theorem_1_duals(clients: int = Z[2:4], rounds: int = among(1000, 2000)) -> Sides:
    """If pairs of two participants are updated, E||grad_v L_0||^2 is at most C_2 (F(w^0) - F* + m xi lambda / 4) / K.

    Hypotheses
        The hypotheses of ``fpfc/theorem-1-models`` hold. theta_ij and v_ij are updated if both i and j are in A_k,
        and stay unchanged otherwise.

    Statement
        The title states the claim, for the mean over K rounds and any participation probabilities, with C_2 = L_g^2 /
        (m rho (rho^2 - L_g rho - 2 L_g^2)). L_0 is the augmented Lagrangian without its quadratic term. It contains
        the sum over ordered pairs, divided by 2m.

    Source
        Yu et al. (2023), Algorithm 1 and Theorem 1, a reading. Line 5 has "For i, j in A_k (i < j), server computes"
        and "For i not in A_k and j not in A_k: theta_ij^(k+1) = theta_ij^k". It does not state what happens to a pair
        of one participant and one absent client. In this reading, such a pair does not change. In
        ``fpfc/theorem-1-participation`` it changes, as in the public code. The paper does not define L_0. If L_0 had
        the sum over unordered pairs, the left-hand side would double. With one client per round, which Assumption 3
        allows, no pair ever has two participants. Then theta and v stay 0, and the models move apart. The left-hand
        side tends to a positive number, so no constant makes the bound true. The check evaluates the left-hand side
        at the expected models, which by Jensen's inequality is no larger than the printed left-hand side.
    """
    rho = Fraction(5)
    setting = ScalarSetting(rho, Fraction(3, 10), 10)
    setting.suppose_the_printed()
    opposed = clients // 2 * (clients - clients // 2)
    measured = opposed * setting.least_squared_difference(clients, rounds) / (2 * clients**2)
    factor = setting.lipschitz**2 / (clients * rho * setting.second_denominator) / rounds
    # F* is at least 0, and F(w^0) equals half the number of clients
    descent, smoothing = Fraction(clients, 2), clients * setting.smoothing * STRENGTH / 4
    return at_most(measured, descent=factor * descent, smoothing=factor * smoothing)

"""Claims on SCAFFOLD with option I: the best possible rate of a round, and step sizes at which it diverges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import Sides, at_least, at_most, choice, claim, equal, integers, rationals
from clusterproof.methods.controls import scaffold
from clusterproof.methods.exact import exact_clients
from clusterproof.theory.bounds.round_theorems import RoundCase, contraction_theorem
from clusterproof.theory.exact.algebra import AtLeastOne, NotNegative, Number, Share
from clusterproof.theory.exact.planar_clients import PlanarClients
from clusterproof.theory.papers.scaffold.rounds import (
    Start,
    contraction,
    psi_and_next,
    rate_of,
    step_size_of,
    weight_of,
)

THIRD = Fraction(1, 3)
ZeroOrOne = Annotated[int, choice(0, 1)]
UpToThird = Annotated[Any, rationals(0, THIRD, 9)]


SHARP_OPTION_1 = contraction_theorem(
    claim="scaffold/sharp-option-1",
    algorithm="scaffold",
    needs=RoundCase.needs_short_rounds,
    rate=rate_of,
    weight=lambda case: weight_of(case) / 3,
)


@claim(
    "scaffold/sharp-option-1",
    label="SCAFFOLD I, one round",
    source="ours",
    tight=True,
    evaluations=60,
    expected="consistent, tight within 2",
    headline=True,
)
def sharp_option_1(clients: PlanarClients, start: Start) -> Sides:
    """A round of SCAFFOLD I multiplies Psi by at most (1 - eta mu)^(2K) if the controls have a third of their weight.

    Statement
        Psi+ <= (1 - eta mu)^(2K) Psi with Psi = ||x - x*||^2 + (K eta)^2 / 3 mean ||c_i - c - g_i*||^2.

    Proof
        Let p, d_k, q, v_k and w_k = p^n eta v_k, n = K - 1 - k, be as in ``scaffold/sharp``. Let h be eta times the
        client's loss, minus its tangent at x* and minus mu ||d||^2 / 2. Let C_k be the sum of p^-j over j = 1 .. k,
        and z_k = p^(K-k) d_k - p^K C_k q / K, so that z_0 = p^K (x - x*), z_(k+1) = z_k - w_k and mean z_K = x+ - x*.
        A step decreases ||z_k||^2 - lambda_(k,k-1) h(d_k) by the interpolation inequalities between d_k, x* and
        d_(k+1) times multipliers, and by B_k ||w_k||^2 - 2 p^K xi_k <q, w_k> with xi_k = (C_k - n/2) / K: the step
        "one local step". Both lambda_(0,-1) and lambda_(K,K-1) are 0. So mean ||z_K||^2 + (K^2 / 3) mean ||eta
        v_0||^2, which is Psi+ or more, is at most p^(2K) (||x - x*||^2 + u mean ||q||^2), by 2 <a, w> <= ||a||^2 / A
        + A ||w||^2, with u the sum of xi_k^2 / A_k, A_k = B_k but A_0 = B_0 - (K^2 / 3) p^(2-2K): the step "round",
        for A_k > 0, multipliers >= 0 and u <= 1/3.

        Let m = K eta mu, s^2 = 1 - m and b = p / (eta (L - mu)), so that s > 0 and s^2 b >= K - m. For k = 0, xi_0^2
        / A_0 <= 1 / (3K) by the step "first local step", as p^(K-1) >= (2 - (K-1) c) / (2 + (K-1) c) for p = (2 - c)
        / (2 + c): the step "powers", from p^0 = 1. For k >= 1, s^2 A_k >= (n + 3k) / 2, the step "curvature". s C_k
        is in [s k, k], as p^-j >= 1 and C_k^2 (1 - (k + 1) eta mu) <= k^2, the step "inverse powers", from C_0 = 0;
        hence xi_k^2 / A_k <= 2 (T_k - T_(k-1)) / (3 K^2 (K-1)^2), the step "share", with T_k from ``summed_shares``
        and T_0 = 0. The sum is at most 1/3 for K >= 2, the step "sum"; for K = 1, xi_0 = 0.

    Source
        Ours. Both sides are equal for f_i = mu ||.||^2 / 2 and c_i = g_i*. SCAFFOLD is Algorithm 1 of Karimireddy et
        al. (2020), with option I.

    Hypotheses
        The f_i are L-smooth and mu-strongly convex with 0 <= mu < L, eta_g = 1, and eta L K <= 1. Any number of clients
        take part, all in every round, with exact gradients; c = mean c_i.
    """
    before, after = psi_and_next(clients, start, "I", THIRD)
    eta = step_size_of(clients, start.pace, start.local_steps)
    rate = contraction(eta, clients.strong_convexity, start.local_steps)
    return at_most(after, rate=rate * before, decrease_from=before)


def weights(earlier: Any, later: Any, p: Any, power: Any, unused: Any = 0) -> tuple[Any, Any, Any]:
    """Return lambda_{*k}, lambda_{k*} and lambda_{k+1,k} divided by p^(2n + 1), for n = ``later`` and p^k = ``power``.

    ``earlier`` is 0 for k = 0 and 1 otherwise. ``unused`` is the part of lambda_{k*} that the proof does not use.
    """
    neighbour = later * power
    from_optimum = 2 - (1 - p) * neighbour
    to_optimum = from_optimum + neighbour - earlier * (later + 1) * p * power
    return from_optimum, to_optimum - unused, neighbour


def curvature(multipliers: tuple[Any, Any, Any], p: Any, b: Any, unit: Any = 1) -> Any:
    """Return B_k times ``unit``, computed from ``weights``. Here ``b`` is b times ``unit``."""
    from_optimum, to_optimum, neighbour = multipliers
    return b * (from_optimum + to_optimum) / 2 - unit * (1 + p * neighbour)


@dataclass(frozen=True)
class Gradient:
    """The square of eta v_k, its products with d_k and q / K, h at d_k and d_(k+1), and 1 / (eta (L - mu))."""

    square: Number
    product: Number
    correction: Number
    loss: Number
    next_loss: Number
    inverse: Number

    def lost(self, multipliers: tuple[Any, Any, Any], p: Any) -> Any:
        """Return the sum of the interpolation inequalities times ``weights``."""
        from_optimum, to_optimum, neighbour = multipliers
        least, tangent = (
            self.square * self.inverse / 2,
            self.correction - (1 - p) * self.product - self.square,
        )
        lost = from_optimum * (self.product - self.loss - least) + to_optimum * (self.loss - least)
        return lost + neighbour * (self.next_loss - self.loss - tangent)


@sharp_option_1.step("one local step", evaluations=30)
def one_local_step(
    earlier: ZeroOrOne, n: Number, p: Number, power: Number, c: Number, v: Gradient, z: Number
) -> Sides:
    """Check one local step, divided by p^(2n): ``z`` is ||z_k||^2, ``c`` is C_k; the others are as in ``weights``."""
    every, scaled = weights(earlier, n, p, power), p * power
    after = z - 2 * (p * v.product - scaled * c * v.correction) + v.square
    form = curvature(every, p, p * v.inverse) * v.square - 2 * scaled * (c - n / 2) * v.correction
    left = after - n * scaled * v.next_loss + p * v.lost(every, p) + form
    return equal((z - earlier * (n + 1) * p * scaled * v.loss, left))


@sharp_option_1.step("round", needed=False)
def whole_round(
    distance: NotNegative, controls: NotNegative, rate: NotNegative, used: UpToThird, lost: NotNegative
) -> Sides:
    """Sum the inequalities of all local steps.

    ``distance`` and ``controls`` are ||x - x*||^2 and mean ||q_i||^2, ``rate`` is p^(2K), and ``used`` is u. ``lost``
    is the sum of the omitted nonnegative terms: slacks of interpolation inequalities, squares and variances.
    """
    return at_most(rate * (distance + used * controls) - lost, rate=rate * (distance + THIRD * controls))


def both(multipliers: tuple[Any, Any, Any]) -> dict[str, Sides]:
    """State that lambda_{*k} and lambda_{k*} are at least p^(2n + 1)."""
    return {"from x*": at_least(multipliers[0], least=1), "to x*": at_least(multipliers[1], least=1)}


@sharp_option_1.step("first local step", evaluations=30)
def first_local_step(
    half: ZeroOrOne, share: Share, later: NotNegative, larger: NotNegative, above: Share
) -> dict[str, Sides]:
    """Check A_0 >= 3n^2 / (4K) + 1/2 with n = K - 1, which implies xi_0^2 / A_0 <= 1 / (3K).

    m is (``half`` + ``share``) / 2, (1 - m) b is K - m + ``larger``, and p^n is between the bound of "powers" and 1.
    """
    count, m = later + 1, (half + share) / 2
    p, n_c = 1 - m / count, 2 * later * m / (2 * count - m)
    power = (2 - n_c + 2 * n_c * above) / (2 + n_c)
    every = weights(0, later, p, 1)
    a_0 = curvature(every, p, count - m + larger, 1 - m) - (1 - m) * THIRD * (count / power) ** 2
    return {
        "A_0": at_least(a_0, least=(1 - m) * (3 * later**2 / (4 * count) + Fraction(1, 2))),
        **both(every),
    }


@sharp_option_1.step("powers")
def powers(j: NotNegative, c: NotNegative) -> Sides:
    """Prove p^j >= (2 - j c) / (2 + j c) for j + 1 from j, with p = (2 - c) / (2 + c): c = 2 eta mu / (2 - eta mu)."""
    product = (2 - j * c) / (2 + j * c) * (2 - c) / (2 + c)
    return at_least(product, after=(2 - (j + 1) * c) / (2 + (j + 1) * c))


@sharp_option_1.step("curvature", evaluations=30)
def later_curvature(
    k: AtLeastOne, later: NotNegative, m: Share, power: Share, larger: NotNegative
) -> dict[str, Sides]:
    """Check that (1 - m) A_k is at least (n + 3k) / 2, for (1 - m) b = K - m + ``larger``."""
    count = k + later + 1
    p = 1 - m / count
    every = weights(1, later, p, power)
    a_k = curvature(every, p, count - m + larger, 1 - m)
    return {"A_k": at_least(a_k, least=(later + 3 * k) / 2), **both(every)}


@sharp_option_1.step("inverse powers")
def inverse_powers(k: NotNegative, sigma: Share) -> Sides:
    """Prove the bound on C_(k+1) = (C_k + 1) / p, times p sigma, from C_k <= k / sigma, sigma^2 = 1 - (k+1) eta mu."""
    step = (1 - sigma**2) / (k + 1)
    return at_most((k + sigma) ** 2 * (1 - (k + 2) * step), allowed=((k + 1) * sigma * (1 - step)) ** 2)


def summed_shares(k: Any, last: Any, s: Any) -> Any:
    """Return T_k, the sum of (3n + j) ((1 - s) j^2 + s (j - n/2)^2) over j = 1, ..., k; n + j = K - 1 = ``last``."""
    first = k * (k + 1) / 2
    second, third = first * (2 * k + 1) / 3, first**2
    quarter = 39 * last * second - 18 * third - 20 * last**2 * first + 3 * last**3 * k
    return (1 - s) * (3 * last * second - 2 * third) + s * quarter / 4


@sharp_option_1.step("share", evaluations=30)
def share_of_step(
    side: ZeroOrOne, smaller: NotNegative, apart: NotNegative, s: Share, above: Share, larger: NotNegative
) -> Sides:
    """Check 3 (K - 1)^2 (s K xi_k)^2 <= 2 (T_k - T_(k-1)) s^2 A_k, for s^2 A_k = (n + 3k) / 2 + ``larger``.

    ``smaller`` is min{k, n/2}, ``apart`` is |k - n/2|, and s C_k is between s k and k.
    """
    k, later = smaller + side * apart, 2 * (smaller + (1 - side) * apart)
    last = k + later
    difference = summed_shares(k, last, s) - summed_shares(k - 1, last, s)
    scaled = k * (s + (1 - s) * above) - s * later / 2
    return at_most(3 * last**2 * scaled**2, allowed=2 * difference * ((later + 3 * k) / 2 + larger))


@sharp_option_1.step("sum", evaluations=30)
def shares_together(last: AtLeastOne, s: Share) -> Sides:
    """Sum the shares of all local steps, with K - 1 = ``last``."""
    count = last + 1
    later = 2 * summed_shares(last, last, s) / (3 * last**2 * count**2)
    return at_most(later + 1 / (3 * count), third=THIRD)


def two_rounds(curvatures: tuple[Any, ...], step_size: Any, local_steps: int) -> tuple[Any, Any]:
    """Return p and q of x_(t+1) = p x_t + q x_(t-1) for clients a_i w^2 / 2, with the controls a_i x_(t-1)."""

    def gradient_of(a: Any) -> Callable[[Any], Any]:
        return lambda w: a * w

    clients = exact_clients([gradient_of(each) for each in curvatures], [local_steps] * len(curvatures))
    none = [Fraction(0) for _ in curvatures]
    first, control, controls = scaffold(
        clients, Fraction(1), Fraction(0), none, step_size=step_size, option="I"
    )
    second, _, _ = scaffold(clients, Fraction(0), control, controls, step_size=step_size, option="I")
    return first, second


@claim(
    "scaffold/option-1-diverges",
    label="SCAFFOLD I, any steps",
    source="ours",
    repaired_by="scaffold/sharp-option-1",
    evaluations=60,
    expected="violated",
    headline=(
        "SCAFFOLD with option I can diverge at step size 1/L. With curvatures 1/100 and 1 and 6 "
        "local steps, a round multiplies the error by 1.096."
    ),
    rank=1,
)
def option_1_diverges(
    flat: Annotated[Fraction, choice(*(Fraction(1, 10**k) for k in range(4)))],
    pace: Annotated[Fraction, rationals(Fraction(1, 4), 1, 4)],
    local_steps: Annotated[int, integers(1, 12, upwards=True)],
) -> Sides:
    """For every K, SCAFFOLD I with eta_g = 1 does not diverge for any step size up to 1 / L.

    Hypotheses
        There are two clients phi_i(w) = a_i (w - b_i)^2 / 2 with 0 < a_2 <= a_1 = L. Both take part in every round,
        and eta <= 1 / L.

    Statement
        The spectral radius of a round is at most 1. In other words: a round is x_(t+1) = p x_t + q x_(t-1), and the
        roots of z^2 = p z + q are in the unit disc. This is true if and only if |q| <= 1 and |p| + q <= 1.

    Source
        Ours. Karimireddy et al. (2020) call option I more stable for some applications, so their readers may expect
        this claim. The paper's theorems do not imply it: their step size is at most 1 / (81 L K eta_g), which
        excludes the counterexample. For eta L = 1 the spectral radius tends to more than 1 as a_2 -> 0 for every K >=
        6.
    """
    first, second = two_rounds((Fraction(1), flat), pace, local_steps)
    return at_most(max(abs(second), abs(first) + second), one=1)

"""SCAFFOLD I contracts by (1 - eta mu)^(2K) in a round: the theorem, and its proof for every K and N on symbols."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.theory.checker import Sides, at_least, at_most, choice, equal, rationals
from clusterproof.theory.exact.algebra import AtLeastOne, NotNegative, Number, Share
from clusterproof.theory.exact.planar_clients import PlanarClients, mean, squares
from clusterproof.theory.papers.scaffold.rounds import PAPER, Round, Start, inner

THIRD = Fraction(1, 3)
ZeroOrOne = Annotated[int, choice(0, 1)]


@PAPER.claim("sharp-option-1", label="SCAFFOLD I, one round (ours)", kind="tight", budget=60)
def sharp_option_1(clients: PlanarClients, start: Start) -> Sides:
    """A round of SCAFFOLD I contracts by (1 - eta mu)^(2K), too, with a third of the controls' weight.

    Statement
        Psi+ <= (1 - eta mu)^(2K) Psi with Psi = ||x - x*||^2 + (K eta)^2 / 3 mean ||c_i - c - g_i*||^2.

    Proof
        Let p, d_k, q, v_k and w_k = p^(K-1-k) eta v_k be as in ``scaffold/sharp``, delta = q / K, n = K - 1 - k, h the
        client's loss minus its tangent at x* and mu ||d||^2 / 2, times eta, C_k the sum of p^-j over j = 1 .. k, and
        z_k = p^(K-k) d_k - p^K C_k delta, so that z_0 = p^K (x - x*), z_K = p^K (x - x*) - sum of w_k and z_(k+1) =
        z_k - w_k. The step "one local step": ||z_k||^2 - lambda_(k,k-1) h(d_k) loses the interpolation inequalities
        between d_k, x* and d_(k+1) times multipliers, and B_k ||w_k||^2 - 2 p^K xi_k <q, w_k> with xi_k = (C_k - n/2)
        / K. At k = K the multiplier is 0. So, from 2 <a, w> <= ||a||^2 / A + A ||w||^2, mean ||z_K||^2 + (K^2 / 3)
        mean ||eta v_0||^2 <= p^(2K) (||x - x*||^2 + u mean ||q||^2), u the sum of xi_k^2 / A_k, A_k = B_k except for
        A_0 = B_0 - (K^2 / 3) p^(2-2K), and the left side is Psi+ or more: the proof "round", if u <= 1/3, A_k > 0 and
        no multiplier is negative.

        Let m = K eta mu, s^2 = 1 - m and b = p / (eta (L - mu)), so that s > 0 and s^2 b >= K - m. For k = 0 the step
        "first local step": xi_0^2 / A_0 <= 1 / (3K), as p^(K-1) >= (2 - (K-1) c) / (2 + (K-1) c) with p = (2 - c) /
        (2 + c): the step "powers". For k >= 1 the steps "curvature", s^2 A_k >= (n + 3k) / 2, and "share": xi_k^2 /
        A_k is at most 2 / (3 K^2 (K-1)^2) times T_k - T_(k-1), the summand of ``summed_shares``, as s C_k is in [s k,
        k]: p^-j >= 1, and C_k^2 (1 - (k + 1) eta mu) <= k^2 by the step "inverse powers". These add up to u <= 1/3:
        the step "sum" for K >= 2; for K = 1, xi_0 = 0.

    Source
        Ours. Upper bound of one round, attained by f_i = mu ||.||^2 / 2 and c_i = g_i*. SCAFFOLD is Algorithm 1 of
        Karimireddy et al. (2020), with option I.

    Checked
        Proved symbolically, the inductions over local steps one step at a time, for any K and N in any dimension. The
        round in rational arithmetic, on clients in the plane whose losses are not quadratic. ``scaffold/multipliers``
        checks the certificate for K up to 16.
    """
    round_ = Round(clients, start)
    before, after = round_.psi("I", THIRD)
    return at_most(after, rate=round_.rate * before)


def weights(earlier: Any, later: Any, p: Any, power: Any) -> tuple[Any, Any, Any]:
    """lambda_{*k}, lambda_{k*} and lambda_{k+1,k} over p^(2n + 1), with n = ``later`` and p^k = ``power``.

    ``earlier`` is 0 for k = 0, and otherwise 1.
    """
    neighbour = later * power
    from_optimum = 2 - (1 - p) * neighbour
    return from_optimum, from_optimum + neighbour - earlier * (later + 1) * p * power, neighbour


def curvature(earlier: Any, later: Any, p: Any, power: Any) -> tuple[Any, Any]:
    """B_k is b = p / (eta (L - mu)) times the first, minus the second; arguments as in ``weights``."""
    from_optimum, to_optimum, neighbour = weights(earlier, later, p, power)
    return (from_optimum + to_optimum) / 2, 1 + p * neighbour


def multipliers(local_steps: int, p: Any) -> list[tuple[Any, ...]]:
    """lambda_{*k}, lambda_{k*} and lambda_{k+1,k} for k = 0 .. K - 1, in units of the step; p = 1 - mu."""
    every = [(k, local_steps - 1 - k) for k in range(local_steps)]
    return [tuple(p ** (2 * n + 1) * each for each in weights(min(k, 1), n, p, p**k)) for k, n in every]


@dataclass(frozen=True)
class LocalStep:
    """Local step k: ``weights`` with p^n = ``left``, 1 / (eta (L - mu)), C_k; <d_k, eta v_k>, ||eta v_k||^2 and so on.

    ``loss`` and ``next_loss`` are h at d_k and d_(k+1), ``correction`` is <delta, eta v_k>.
    """

    earlier: ZeroOrOne
    later: Number
    p: Number
    power: Number
    left: Number
    inverse: Number
    inverses: Number
    product: Number
    square: Number
    correction: Number
    loss: Number
    next_loss: Number

    @property
    def lost(self) -> Any:
        """The interpolation inequalities times their multipliers."""
        from_optimum, to_optimum, neighbour = weights(self.earlier, self.later, self.p, self.power)
        tangent = self.correction - (1 - self.p) * self.product - self.square
        half = self.square * self.inverse / 2
        lost = from_optimum * (self.product - self.loss - half) + to_optimum * (self.loss - half)
        return self.p * self.left**2 * (lost + neighbour * (self.next_loss - self.loss - tangent))


@sharp_option_1.step("one local step", prove=True, exhaustible=100, budget=30)
def one_local_step(step: LocalStep, before: Number) -> Sides:
    """Add what a local step loses; ``before`` is ||z_k||^2."""
    p, left, n = step.p, step.left, step.later
    gained, spent = curvature(step.earlier, n, p, step.power)
    rate, unit = p * step.power * left, p * left**2
    after = before + 2 * rate * left * step.inverses * step.correction - (2 * unit * step.product)
    after += left**2 * step.square - unit * n * step.power * step.next_loss
    start = before - step.earlier * unit * (n + 1) * p * step.power * step.loss
    form = (p * step.inverse * gained - spent) * left**2 * step.square
    form -= 2 * rate * (step.inverses - n / 2) * left * step.correction
    return equal((start, after + step.lost + form))


def sums(round_: Round) -> dict[str, Any]:
    """Return the sums of a round."""
    p, count, eta = round_.kept, round_.start.local_steps, round_.step_size
    mu, span = (
        round_.clients.strong_convexity,
        eta * (round_.clients.smoothness - round_.clients.strong_convexity),
    )
    q, w, points = round_.length * round_.controls, round_.scaled_gradients(), round_.path[0]
    h = [eta * (round_.clients.values(d) - mu * squares(d) / 2) for d in points]
    first = p ** (1 - count) * w[0]
    total = np.sum(w, axis=0)
    lost = mean(squares(total)) - squares(mean(total)) + THIRD * count**2 * squares(mean(first))
    used = inverses = Fraction(0)
    for k in range(count):
        n, v = count - 1 - k, p ** (k + 1 - count) * w[k]
        inverses += p**-k if k else 0
        products = inner(points[k], v), squares(v), inner(q / count, v)
        step = LocalStep(min(k, 1), n, p, p**k, p**n, 1 / span, inverses, *products, h[k], h[k + 1])
        gained, spent = curvature(step.earlier, n, p, step.power)
        a = p / span * gained - spent - (THIRD * (count * p**-n) ** 2 if k == 0 else 0)
        xi = (inverses - Fraction(n, 2)) / count
        lost += mean(step.lost + a * squares(w[k] - p**count * xi / a * q))
        used += xi**2 / a
    sizes = {"distance": squares(round_.model).item(), "controls": mean(squares(q))}
    return {**sizes, "rate": round_.rate, "used": used, "lost": np.asarray(lost).item()}


UpToThird = Annotated[Any, rationals(0, THIRD, 9)]


@sharp_option_1.proof("round", at=lambda clients, start: sums(Round(clients, start)))
def whole_round(
    distance: NotNegative, controls: NotNegative, rate: NotNegative, used: UpToThird, lost: NotNegative
) -> Sides:
    """The local steps added up, with what they leave out.

    ``distance`` and ``controls`` are ||x - x*||^2 and mean ||q_i||^2, ``rate`` is p^(2K), ``used`` is u, and ``lost``
    is what is left out: interpolation, squares and variances.
    """
    return at_most(rate * (distance + used * controls) - lost, rate=rate * (distance + THIRD * controls))


@sharp_option_1.step("first local step", prove=True, exhaustible=100, budget=30)
def first_local_step(
    half: ZeroOrOne, share: Share, later: NotNegative, larger: NotNegative, above: Share
) -> dict[str, Sides]:
    """(1 - m) A_0 is at least (1 - m) (3n^2 / (4K) + 1/2), so that xi_0^2 / A_0 <= 1 / (3K), for n = K - 1.

    m is (``half`` + ``share``) / 2, (1 - m) b is K - m + ``larger``, and p^n between the bound of "powers" and 1.
    """
    count, m = later + 1, (half + share) / 2
    p, n_c = 1 - m / count, 2 * later * m / (2 * count - m)
    power = (2 - n_c + 2 * n_c * above) / (2 + n_c)
    gained, spent = curvature(0, later, p, 1)
    a_0 = (count - m + larger) * gained - (1 - m) * (spent + THIRD * (count / power) ** 2)
    from_optimum, to_optimum, _ = weights(0, later, p, 1)
    return {
        "A_0": at_least(a_0, least=(1 - m) * (3 * later**2 / (4 * count) + Fraction(1, 2))),
        "from x*": at_least(from_optimum, least=1),
        "to x*": at_least(to_optimum, least=1),
    }


@sharp_option_1.step("powers", prove=True)
def powers(j: NotNegative, c: NotNegative) -> Sides:
    """From p^j >= (2 - j c) / (2 + j c) to j + 1, with p = (2 - c) / (2 + c): c = 2 eta mu / (2 - eta mu)."""
    return at_least(
        (2 - j * c) / (2 + j * c) * (2 - c) / (2 + c), after=(2 - (j + 1) * c) / (2 + (j + 1) * c)
    )


@sharp_option_1.step("curvature", prove=True, exhaustible=100, budget=30)
def later_curvature(
    k: AtLeastOne, later: NotNegative, m: Share, power: Share, larger: NotNegative
) -> dict[str, Sides]:
    """(1 - m) A_k is at least (n + 3k) / 2, for (1 - m) b = K - m + ``larger``."""
    count = k + later + 1
    p = 1 - m / count
    gained, spent = curvature(1, later, p, power)
    from_optimum, to_optimum, _ = weights(1, later, p, power)
    return {
        "A_k": at_least((count - m + larger) * gained - (1 - m) * spent, least=(later + 3 * k) / 2),
        "from x*": at_least(from_optimum, least=1),
        "to x*": at_least(to_optimum, least=1),
    }


@sharp_option_1.step("inverse powers", prove=True)
def inverse_powers(k: NotNegative, sigma: Share) -> Sides:
    """From C_k <= k / sigma to C_(k+1) = (C_k + 1) / p, with sigma^2 = 1 - (k+1) eta mu: both sides times p sigma."""
    step = (1 - sigma**2) / (k + 1)
    return at_most((k + sigma) ** 2 * (1 - (k + 2) * step), allowed=((k + 1) * sigma * (1 - step)) ** 2)


def summed_shares(k: Any, last: Any, s: Any) -> Any:
    """T_k: the sum over j = 1 .. k of (3n + j) ((1 - s) j^2 + s (j - n/2)^2), with n = K - 1 - j, ``last`` = K - 1."""
    first = k * (k + 1) / 2
    second, third = first * (2 * k + 1) / 3, first**2
    largest = 3 * last * second - 2 * third
    least = 39 * last * second - 18 * third - 20 * last**2 * first + 3 * last**3 * k
    return (1 - s) * largest + s * least / 4


@sharp_option_1.step("share", prove=True, exhaustible=100, budget=30)
def share_of_step(
    side: ZeroOrOne, smaller: NotNegative, apart: NotNegative, s: Share, above: Share, larger: NotNegative
) -> Sides:
    """(s K xi_k)^2 <= 2 (T_k - T_(k-1)) s^2 A_k / (3 (K - 1)^2), for s^2 A_k = (n + 3k) / 2 + ``larger``.

    ``smaller`` is min{k, n/2} and ``apart`` |k - n/2|; s C_k is between s k and k.
    """
    k, later = smaller + side * apart, 2 * (smaller + (1 - side) * apart)
    last = k + later
    difference = summed_shares(k, last, s) - summed_shares(k - 1, last, s)
    xi = k * (s + (1 - s) * above) - s * later / 2
    return at_most(3 * last**2 * xi**2, allowed=2 * difference * ((later + 3 * k) / 2 + larger))


@sharp_option_1.step("sum", prove=True, exhaustible=100, budget=30)
def shares_together(last: AtLeastOne, s: Share) -> Sides:
    """The shares together are at most 1/3, for K - 1 = ``last``."""
    count = last + 1
    later = 2 * summed_shares(last, last, s) / (3 * last**2 * count**2)
    return at_most(later + 1 / (3 * count), third=THIRD)

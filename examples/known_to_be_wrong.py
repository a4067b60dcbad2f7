"""Ten published theorems that are known to be wrong, each with a true statement in its place.

Nine are theorems, lemmas, propositions and corollaries; the tenth is an inequality on which a proof rests. Kingma and
Ba's were read in a transcription of the paper; the others are stated as their corrections restate them.
docs/explanation/known-to-be-wrong.md names the source that was read for each. Run with: clusterproof check
examples/known_to_be_wrong.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log, pi, prod, sqrt
from typing import Any

import numpy as np

from clusterproof.theorem import Function, Q, Sides, Z, among, at_most, claim, functions, sequences, suppose

ALPHA = Q[Fraction(1, 10) : 1 : 10]


def online(large: int, alpha: Fraction, cycles: int, keep_maximum: bool) -> tuple[float, float, float]:
    """Run Adam or AMSGrad with beta_1 = 0 and beta_2 = 1 / (1 + C^2) on [-1, 1], from 1.

    The losses are C x, -x and -x in turn, alpha_t = alpha / sqrt(t). Return the regret; sqrt(v_T), with Adam's
    correction for its start or as AMSGrad's maximum; and |g_1:T|.
    """
    decay = 1 / (1 + large**2)
    x, regret, v, greatest, squares = 1.0, 0.0, 0.0, 0.0, 0.0
    for t in range(1, 3 * cycles + 1):
        gradient = large if t % 3 == 1 else -1
        regret += gradient * (x + 1)  # the best fixed point is -1
        squares += gradient**2
        v = decay * v + (1 - decay) * gradient**2
        greatest = max(greatest, v) if keep_maximum else v / (1 - decay**t)
        x = min(1.0, max(-1.0, x - float(alpha) / sqrt(t) * gradient / sqrt(greatest)))
    return regret, sqrt(greatest), sqrt(squares)


@claim(
    "known-to-be-wrong/adam-converges",
    label=(
        "Kingma and Ba 2015, Theorem 4.1: Adam's regret is at most a sum of three terms, which is O(sqrt "
        "T); here T = 3 * cycles, and each cycle has the losses large * x, -x and -x"
    ),
    evaluations=300,
    repaired_by="known-to-be-wrong/adam-converges-corrected",
)
def adam(large: int = Z[3:6], alpha: Fraction = ALPHA, cycles: int = Z[1:400]) -> Sides:
    """Adam's regret is O(sqrt T).

    Statement
        R(T) <= D^2 sqrt(T v_T) / (2 alpha (1 - beta_1))
              + alpha (1 + beta_1) G |g_1:T| / ((1 - beta_1) sqrt(1 - beta_2) (1 - gamma)^2)
              + D^2 G sqrt(1 - beta_2) / (2 alpha (1 - beta_1) (1 - lambda)^2),
        in one dimension, with gamma = beta_1^2 / sqrt(beta_2) < 1; here beta_1 = gamma = 0, lambda = 1/2, D = 2, G = C.
        R(T) is the regret after T rounds, v_T the last second moment, |g_1:T| the norm of all gradients, D the diameter
        of [-1, 1], and C = large the largest slope. So beta_2 = 1 / (1 + C^2). The step sizes are alpha / sqrt(t).

    Source
        Kingma and Ba (ICLR 2015), Theorem 4.1. The losses, and the projection onto [-1, 1], which bounds the points as
        the theorem assumes, come from the correction: Reddi, Kale and Kumar (ICLR 2018), Theorem 1.
    """
    regret, root, norm = online(large, alpha, cycles, keep_maximum=False)
    keeps = sqrt(1 - 1 / (1 + large**2))
    return at_most(
        regret,
        distance=2 * sqrt(3 * cycles) * root / float(alpha),
        gradients=float(alpha) * large * norm / keeps,
        momentum=8 * large * keeps / float(alpha),
    )


@claim(
    "known-to-be-wrong/adam-converges-corrected",
    label=(
        "Reddi, Kale and Kumar 2018, in our form: on these losses, AMSGrad's regret is at most a sum of "
        "two terms"
    ),
    evaluations=300,
)
def amsgrad(large: int = Z[3:6], alpha: Fraction = ALPHA, cycles: int = Z[1:400]) -> Sides:
    """AMSGrad's regret is at most D^2 sqrt(T v_T) / (2 alpha) + alpha sqrt(1 + log T) |g_1:T| / (2 sqrt(1 - beta_2)).

    Statement
        Here v_T is the largest second moment so far, |g_1:T| the norm of all T = 3 cycles gradients, and D = 2 the
        diameter of [-1, 1]. beta_2 = 1 / (1 + large^2).

    Source
        Reddi, Kale and Kumar (ICLR 2018) for AMSGrad, whose v_T is a maximum; this form, for beta_1 = 0, is ours, by
        their proof.
    """
    regret, root, norm = online(large, alpha, cycles, keep_maximum=True)
    return at_most(
        regret,
        distance=2 * sqrt(3 * cycles) * root / float(alpha),
        gradients=float(alpha) * sqrt(1 + log(3 * cycles)) * norm / (2 * sqrt(1 - 1 / (1 + large**2))),
    )


POWER = among(Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1))


def weighted(power: Fraction, length: int) -> tuple[float, float]:
    """Return the sum of |g_t| / sqrt(t) and |g_1:T| for g_t = t^-power."""
    gradients = [float(t) ** -float(power) for t in range(1, length + 1)]
    return sum(g / sqrt(t) for t, g in enumerate(gradients, 1)), sqrt(sum(g**2 for g in gradients))


@claim(
    "known-to-be-wrong/adam-lemma",
    label=(
        "Kingma and Ba 2015, Lemma 10.3: the sum of |g_t|/sqrt(t) is at most 2 G times the norm of (g_1, "
        "..., g_T); here g_t = t^-power, G = 1 and T = length"
    ),
    evaluations=300,
    repaired_by="known-to-be-wrong/adam-lemma-corrected",
)
def adam_lemma(power: Fraction = POWER, length: int = Z[1:100]) -> Sides:
    """The sum of |g_t| / sqrt(t) is at most 2 G |g_1:T| for numbers of absolute value at most G.

    Statement
        Here G = 1 and g_t = t^-power.

    Source
        Kingma and Ba (ICLR 2015), Lemma 10.3. Bock, Goppold and Weiss (2018) find mistakes in the convergence proof.
    """
    measured, norm = weighted(power, length)
    return at_most(measured, twice=2 * norm)


@claim(
    "known-to-be-wrong/adam-lemma-corrected",
    label=(
        "Cauchy and Schwarz, in place of the lemma: the sum of |g_t|/sqrt(t) is at most sqrt(1 + log T) "
        "times the norm of (g_1, ..., g_T)"
    ),
    evaluations=300,
)
def adam_lemma_corrected(power: Fraction = POWER, length: int = Z[1:100]) -> Sides:
    """The sum of |g_t| / sqrt(t) is at most sqrt(1 + log T) |g_1:T|.

    Source
        The inequality of Cauchy and Schwarz; Reddi, Kale and Kumar (ICLR 2018) use it in the place of the lemma.
    """
    measured, norm = weighted(power, length)
    return at_most(measured, root=sqrt(1 + log(length)) * norm)


SIGNS = sequences(among(-1, 1), lambda rounds: rounds)


def signed(rounds: int, losses: Sequence[int], alpha: Fraction) -> tuple[float, float]:
    """Run AMSGrad with beta_1 = 0, beta_2 = 1/2 and alpha_t = alpha / sqrt(t) on the losses s_t x, on [-1, 1], from 0.

    Return the regret R(T) and its upper bound, D^2 sqrt(T v_T) / (2 alpha) + alpha sqrt(1 + log T) |g_1:T| / (2 sqrt(1
    - beta_2)).
    """
    x, paid, v = 0.0, 0.0, 0.0
    for t, slope in enumerate(losses, 1):
        paid += slope * x
        v = (v + slope**2) / 2  # it grows, and is its own maximum
        x = min(1.0, max(-1.0, x - float(alpha) / sqrt(t) * slope / sqrt(v)))
    distance = 2 * sqrt(rounds * v) / float(alpha)
    return paid + abs(sum(losses)), distance + float(alpha) * sqrt((1 + log(rounds)) * rounds / 2)


@claim(
    "known-to-be-wrong/average-regret",
    label=(
        "Tran and Phong 2019, Corollary 4.5: AMSGrad's average regret R(T)/T tends to 0, because |R(T)| "
        "is at most the upper bound of R(T)"
    ),
    source="reading",
    evaluations=300,
    repaired_by="known-to-be-wrong/average-regret-corrected",
)
def average_regret(
    rounds: int = Z[1:100],
    losses: tuple[int, ...] = SIGNS,
    alpha: Fraction = among(Fraction(1, 2), Fraction(1)),
) -> Sides:
    """AMSGrad's average regret R(T) / T tends to 0.

    Statement
        An upper bound of R(T) is proved, and is o(T); if R(T) / T tends to 0 for that reason, |R(T)| is at most the
        bound. Here D = 2, beta_1 = 0 and beta_2 = 1/2.

    Source
        Tran and Phong (IEEE Access 7, 2019), Corollary 4.5. Refuted by a formalisation of the paper in Lean:
        R(T) <= -T / 2 infinitely often, with losses whose sign changes after 2, 4, 8, ... rounds.
    """
    regret, bound = signed(rounds, losses, alpha)
    return at_most(abs(regret), upper=bound)


@claim(
    "known-to-be-wrong/average-regret-corrected",
    label=(
        "Tran and Phong 2019, Theorem 4.4: the limit superior of R(T)/T is at most 0, because R(T) is at "
        "most its upper bound"
    ),
    evaluations=300,
)
def average_regret_corrected(
    rounds: int = Z[1:100],
    losses: tuple[int, ...] = SIGNS,
    alpha: Fraction = among(Fraction(1, 2), Fraction(1)),
) -> Sides:
    """The limit superior of R(T) / T is at most 0: R(T) itself is at most the bound.

    Source
        Tran and Phong (2019), Theorem 4.4, as the formalisation restates it; this form, for beta_1 = 0, is ours.
    """
    regret, bound = signed(rounds, losses, alpha)
    return at_most(regret, upper=bound)


RATIOS = sequences(among(Fraction(1), Fraction(1, 2), Fraction(1, 4)), lambda rounds: rounds)
GRADIENTS = sequences(Z[-1:1], lambda rounds: rounds)
KEPT = among(Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def feedback(rounds: int, kept: Fraction, ratios: Sequence[Fraction], gradients: Sequence[int]) -> Fraction:
    """Return the last error e_t of SGD with error feedback and the compressor C(p) = c p.

    p_t = g_t + (eta_t-1 / eta_t) e_t and e_t+1 = p_t - C(p_t), from e_0 = 0; the ratios are eta_t / eta_t-1.
    """
    error = Fraction(0)
    for t in range(rounds):
        error = (1 - kept) * (gradients[t] + error / ratios[t])
    return error


@claim(
    "known-to-be-wrong/error-feedback",
    label=(
        "Zheng, Huang and Kwok 2019: SGD with error feedback that keeps the share c = kept of each vector has "
        "a bounded error e_t for all learning rates eta_t, with the ratios eta_t/eta_(t-1); as such a bound we "
        "try e_t^2 <= 1000 (1/c - 1)^2"
    ),
    source="reading",
    evaluations=300,
    repaired_by="known-to-be-wrong/error-feedback-corrected",
)
def error_feedback(
    rounds: int = Z[1:10],
    kept: Fraction = KEPT,
    ratios: tuple[Fraction, ...] = RATIOS,
    gradients: tuple[int, ...] = GRADIENTS,
) -> Sides:
    """With error feedback the error of compressed SGD is bounded for all learning rates.

    Statement
        The bound depends only on delta, with 1 - delta = (1 - c)^2, and on G = 1: |e_t|^2 <= A ((1 - c) / c)^2 G^2. The
        theorem's constant was not read; here A = 1000. For constant learning rates A = 1 is right.

    Source
        Zheng, Huang and Kwok (NeurIPS 2019). Refuted, and replaced, by Tran Thi Phuong and Le Trieu Phong
        (International Journal of Computational Intelligence Systems 14, 2021).
    """
    error = feedback(rounds, kept, ratios, gradients)
    return at_most(error**2, constant=1000 * ((1 - kept) / kept) ** 2)


@claim(
    "known-to-be-wrong/error-feedback-corrected",
    label=(
        "Tran Thi Phuong and Le Trieu Phong 2021, in our form: the error is at most the sum of (1 - "
        "kept)^(t - s) eta_s/eta_(t-1) over s < t, for learning rates eta_s"
    ),
    evaluations=300,
)
def error_feedback_corrected(
    rounds: int = Z[1:10],
    kept: Fraction = KEPT,
    ratios: tuple[Fraction, ...] = RATIOS,
    gradients: tuple[int, ...] = GRADIENTS,
) -> Sides:
    """The bound depends on the learning rates: eta_t-1 |e_t| <= G times the sum of (1 - c)^(t - s) eta_s over s < t.

    Source
        Tran Thi Phuong and Le Trieu Phong (2021) give a bound for arbitrary learning rates; this form is ours.
    """
    error = feedback(rounds, kept, ratios, gradients)
    rates = [prod(ratios[: s + 1]) for s in range(rounds)]
    total = sum(rate * (1 - kept) ** (rounds - s) for s, rate in enumerate(rates))
    return at_most(abs(rates[-1] * error), rates=total)


CONVEX = functions(strong_convexity=1, smoothness=4)


@claim(
    "known-to-be-wrong/gradient-flow",
    label=(
        "Geshkovski et al. 2024, section 3.2: gradient flow of E from u to v has 2 c |u - v|^2 <= E(u) - E(v), "
        "where E is gradient dominated with constant c; here f = E is 1-strongly convex, so c = 1, u is the start "
        "and v the minimiser"
    ),
    source="reading",
    evaluations=200,
    repaired_by="known-to-be-wrong/gradient-flow-corrected",
)
def gradient_flow(f: Function = CONVEX) -> Sides:
    """Where E is gradient dominated with constant c, gradient flow from u to v has 2 c |u - v|^2 <= E(u) - E(v).

    Statement
        Strongly convex functions are gradient dominated, and their flow ends at x*: here c = 1, u = x_0 and v = x*.

    Source
        Geshkovski, Koubbi, Polyanskiy and Rigollet (2024), Dynamic metastability in the self-attention model, the
        quantitative inequality of section 3.2, there of ascent. Refuted by a formalisation in Lean, with E = x^2 / 2.
    """
    return at_most(2 * f.distance**2, gap=f(f.start) - f.minimum)


@claim(
    "known-to-be-wrong/gradient-flow-corrected",
    label=(
        "A formalisation of the same paper: gradient flow from u to v has c |u - v|^2/2 <= E(u) - E(v); here the "
        "class of f = E is the 1-strongly convex, 4-smooth functions"
    ),
    evaluations=200,
)
def gradient_flow_corrected(f: Function = CONVEX) -> Sides:
    """Gradient flow from u to v has c |u - v|^2 / 2 <= E(u) - E(v).

    Source
        The same formalisation.
    """
    return at_most(f.distance**2 / 2, gap=f(f.start) - f.minimum)


PRICES = sequences(Q[0:10:1], 5)


@claim(
    "known-to-be-wrong/delayed-prices",
    label=(
        "Low and Lapsley 1999, inequality (29): the sum of y_i z is at most the sum of y_i^2, plus z^2, "
        "for y and z of at least 0"
    ),
    evaluations=300,
    repaired_by="known-to-be-wrong/delayed-prices-corrected",
)
def delayed_prices(y: tuple[Fraction, ...] = PRICES, z: Fraction = Q[0:40:1]) -> Sides:
    """The sum of y_i z is at most the sum of y_i^2, plus z^2, for y and z of at least 0.

    Statement
        "The convex function sum y_i^2 + z^2 - sum y_i z attains a unique minimum at the origin"; here with 5 entries.

    Source
        Low and Lapsley (IEEE/ACM Transactions on Networking 7, 1999), inequality (29), which proves Lemma 6 and
        Theorem 2, on asynchronous flow control. Refuted by Karbowski (2002), with y = (5, 4, 3, 4, 5) and z = 10.
    """
    return at_most(sum(y) * z, squares=sum(each**2 for each in y), newest=z**2)


@claim(
    "known-to-be-wrong/delayed-prices-corrected",
    label=(
        "Karbowski 2002, in our form: the sum of y_i z is at most the sum of y_i^2, plus n z^2/4, for n "
        "entries"
    ),
    evaluations=300,
)
def delayed_prices_corrected(y: tuple[Fraction, ...] = PRICES, z: Fraction = Q[0:40:1]) -> Sides:
    """The sum of y_i z is at most the sum of y_i^2, plus n z^2 / 4, for n entries.

    Source
        The sum of (y_i - z / 2)^2 is at least 0; this form is ours. Karbowski (2002) corrects the proof.
    """
    return at_most(sum(y) * z, squares=sum(each**2 for each in y), newest=Fraction(5, 4) * z**2)


DATA = sequences(Z[-4:4], 4)
GAP = among(Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2))
Pair = tuple[Fraction, Fraction]
TINY = Fraction(1, 10**6)


def curvature(value: Callable[[Pair], Fraction], at: Pair) -> Fraction:
    """Return the second difference of a function at a pair of numbers, in the direction (1, -1)."""
    first, second = at
    ends = value((first + TINY, second - TINY)) + value((first - TINY, second + TINY))
    return (ends - 2 * value(at)) / TINY**2


def memberships(data: Sequence[int], centres: Pair) -> list[list[Fraction]]:
    """Return the squared memberships of the data in either cluster, with fuzziness 2."""
    suppose("no centre is one of the data", not set(data) & set(centres))
    closeness = [[1 / (x - centre) ** 2 for centre in centres] for x in data]
    return [[(each / sum(both)) ** 2 for each in both] for both in closeness]


def spread(data: Sequence[int], centres: Pair) -> Fraction:
    """Return the sum of u_ki^2 (x_k - v_i)^2 at the memberships that minimise it."""
    first, second = centres
    return sum((1 / (1 / (x - first) ** 2 + 1 / (x - second) ** 2) for x in data), Fraction(0))


def fuzzy_cycle(data: Sequence[int], centres: Pair) -> Pair:
    """Return the centres after one cycle of fuzzy c-means."""
    weights = list(zip(*memberships(data, centres), strict=True))
    first, second = (
        sum((w * x for w, x in zip(each, data, strict=True)), Fraction(0)) / sum(each) for each in weights
    )
    return first, second


@claim(
    "known-to-be-wrong/fuzzy-means",
    label=(
        "Bezdek 1980: fuzzy c-means converges to a local minimum of its objective, so minus the "
        "curvature at a fixed point is at most 0 (0.001 allows for an error of the computed curvature); "
        "here two cluster centres start at centre and centre + gap, and rest after one cycle"
    ),
    source="reading",
    evaluations=300,
    repaired_by="known-to-be-wrong/fuzzy-means-corrected",
)
def fuzzy_means(data: tuple[int, ...] = DATA, centre: Fraction = Q[-2:2:4], gap: Fraction = GAP) -> Sides:
    """Fuzzy c-means converges to a local minimum of its objective.

    Statement
        Two centres, on the line, with fuzziness 2: if a cycle leads to centres that a second one does not change, the
        curvature of the objective there, minimised over the memberships, is at least 0 in the direction (1, -1). The
        curvature is a second difference with step 10^-6; 1/1000 allows for its error.

    Source
        Bezdek (IEEE Transactions on Pattern Analysis and Machine Intelligence 2, 1980). Refuted by Bezdek, Hathaway,
        Sabin and Tucker (1987), "Convergence theory for fuzzy c-means: counterexamples and repairs"; the data are ours.
    """
    centres = fuzzy_cycle(data, (centre, centre + gap))
    suppose("a second cycle changes nothing", fuzzy_cycle(data, centres) == centres)
    return at_most(-curvature(lambda at: spread(data, at), centres), error=Fraction(1, 1000))


@claim(
    "known-to-be-wrong/fuzzy-means-corrected",
    label=(
        "Bezdek et al. 1987: a subsequence converges to a local minimum or a saddle point; here: an "
        "iteration that changes the centres lowers the objective"
    ),
    evaluations=300,
)
def fuzzy_means_corrected(
    data: tuple[int, ...] = DATA, centre: Fraction = Q[-2:2:4], gap: Fraction = GAP
) -> Sides:
    """A subsequence of fuzzy c-means converges to a local minimum or a saddle point.

    Statement
        In a cycle that leads from the centres v_i to v_i', the objective falls by at least the sum of s_i |v_i' -
        v_i|^2, where s_i is the sum of the squared memberships in cluster i.

    Source
        Bezdek, Hathaway, Sabin and Tucker (1987); the inequality is ours.
    """
    before = (centre, centre + gap)
    weights = [sum(each) for each in zip(*memberships(data, before), strict=True)]
    after = fuzzy_cycle(data, before)
    suppose("no new centre is one of the data", not set(data) & set(after))
    moved = sum(w * (new - old) ** 2 for w, new, old in zip(weights, after, before, strict=True))
    return at_most(spread(data, after) + moved, before=spread(data, before))


HEADS = sequences(Z[0:4], 3)
COIN = Q[Fraction(1, 10) : Fraction(2, 5) : 10]
APART = among(Fraction(0), Fraction(1, 10), Fraction(2, 5))


def chances(heads: Sequence[int], coins: Pair) -> list[list[Fraction]]:
    """Return the likelihood of either coin for each series of four tosses, without the binomial coefficient."""
    return [[coin**count * (1 - coin) ** (4 - count) for coin in coins] for count in heads]


def likelihood(heads: Sequence[int], coins: Pair) -> Fraction:
    """Return the likelihood of two coins, each of which is tossed in a series with probability 1/2."""
    return prod(((first + second) / 2 for first, second in chances(heads, coins)), start=Fraction(1))


def coin_cycle(heads: Sequence[int], coins: Pair) -> tuple[Pair, list[Fraction]]:
    """Return the coins after one step of EM, and how many series belong to each in expectation."""
    shares = [[each / sum(both) for each in both] for both in chances(heads, coins)]
    counts = [sum(each) for each in zip(*shares, strict=True)]
    first, second = (
        sum((w * count for w, count in zip(each, heads, strict=True)), Fraction(0)) / (4 * total)
        for each, total in zip(zip(*shares, strict=True), counts, strict=True)
    )
    suppose("both coins have two sides", 0 < first < 1 and 0 < second < 1)
    return (first, second), counts


@claim(
    "known-to-be-wrong/em-maximum",
    label=(
        "Dempster, Laird and Rubin 1977: the EM algorithm converges to a local maximum of the "
        "likelihood, so the curvature at a fixed point is at most 0 (0.001 allows for an error of the "
        "computed curvature); here one of two coins, with probabilities of heads that start at coin and coin + "
        "apart and rest after one step, is tossed four times in each of three series"
    ),
    source="reading",
    evaluations=300,
    repaired_by="known-to-be-wrong/em-maximum-corrected",
)
def em_maximum(heads: tuple[int, ...] = HEADS, coin: Fraction = COIN, apart: Fraction = APART) -> Sides:
    """The EM algorithm converges to a local maximum of the likelihood.

    Statement
        Three series of four tosses, each of one of two coins: if a step leads to coins that a second one does not
        change, the curvature of the likelihood there is at most 0 in the direction (1, -1), relative to the likelihood.
        The curvature is a second difference with step 10^-6; 1/1000 allows for its error.

    Source
        Dempster, Laird and Rubin (Journal of the Royal Statistical Society B 39, 1977). Wu (Annals of Statistics 11,
        1983) finds the flaw of their proof, and proves that limits are stationary; the tosses are ours.
    """
    coins, _ = coin_cycle(heads, (coin, coin + apart))
    suppose("a second step changes nothing", coin_cycle(heads, coins)[0] == coins)
    bend = curvature(lambda at: likelihood(heads, at), coins) / likelihood(heads, coins)
    return at_most(bend, error=Fraction(1, 1000))


@claim(
    "known-to-be-wrong/em-maximum-corrected",
    label="Wu 1983: the likelihood never falls; here: a step of EM that changes the coins raises it",
    evaluations=300,
)
def em_maximum_corrected(
    heads: tuple[int, ...] = HEADS, coin: Fraction = COIN, apart: Fraction = APART
) -> Sides:
    """The likelihood never falls, and a step that changes the coins raises it; the limits are stationary.

    Statement
        Its logarithm rises by at least 2 n times the sum of R_j (p_j' - p_j)^2, with n = 4 tosses in a series and R_j
        series of coin j in expectation.

    Source
        Dempster, Laird and Rubin (1977) and Wu (1983); the inequality is ours, by Pinsker's.
    """
    before = (coin, coin + apart)
    after, counts = coin_cycle(heads, before)
    moved = sum(r * (new - old) ** 2 for r, new, old in zip(counts, after, before, strict=True))
    return at_most(float(8 * moved), rise=log(likelihood(heads, after) / likelihood(heads, before)),
                   rounding=1e-9)  # fmt: skip


def rotation(twelfths: int) -> Any:
    """Return the rotation of the plane by an angle in twelfths of pi."""
    cos, sin = np.cos(pi * twelfths / 12), np.sin(pi * twelfths / 12)
    return np.array([[cos, -sin], [sin, cos]])


def displaced(first: int, second: int, inner: int, outer: int) -> tuple[Any, Any]:
    """Return the singular values of I - W for two rotations W of R^4 that lead from a plane U to a plane V.

    The second is the direct rotation, by the principal angles of U and V. The first turns U by the inner angle and its
    complement by the outer one before.
    """
    direct, turned = np.zeros((4, 4)), np.zeros((4, 4))
    for k, angle in enumerate((first, second)):
        direct[np.ix_((k, k + 2), (k, k + 2))] = rotation(angle)
    turned[:2, :2], turned[2:, 2:] = rotation(inner), rotation(outer)
    one = np.eye(4)
    return np.linalg.svd(one - direct @ turned, compute_uv=False), np.linalg.svd(
        one - direct, compute_uv=False
    )


@claim(
    "known-to-be-wrong/direct-rotation",
    label=(
        "Davis and Kahan 1970, Proposition 4.4: of all orthogonal W that map a subspace U onto V, the direct "
        "rotation has the least norm of I - W; here planes U and V of R^4 with the principal angles first and "
        "second, the trace norm, and a W that first turns U by inner and its complement by outer, in twelfths of pi"
    ),
    evaluations=300,
    repaired_by="known-to-be-wrong/direct-rotation-corrected",
)
def direct_rotation(
    first: int = Z[0:4], second: int = Z[0:4], inner: int = Z[-6:6], outer: int = Z[-6:6]
) -> Sides:
    """Of all orthogonal W with W U = V, the direct rotation has the least |I - W| in every unitarily invariant norm.

    Statement
        If the principal angles are at most pi / 3, in a real space. Here in R^4 and in the trace norm; angles are in
        twelfths of pi.

    Source
        Davis and Kahan (SIAM Journal on Numerical Analysis 7, 1970), Proposition 4.4. Refuted by a draft and its
        formalisation in Lean (Crall and Wang 2026), with both angles pi / 4 and the trace norm.
    """
    other, direct = displaced(first, second, inner, outer)
    return at_most(direct.sum(), other=other.sum(), rounding=1e-9)


@claim(
    "known-to-be-wrong/direct-rotation-corrected",
    label=(
        "Crall and Wang 2026, a draft: the direct rotation has the least norm of I - W in Q-norms; here "
        "the Frobenius norm"
    ),
    evaluations=300,
)
def direct_rotation_corrected(
    first: int = Z[0:4], second: int = Z[0:4], inner: int = Z[-6:6], outer: int = Z[-6:6]
) -> Sides:
    """The direct rotation has the least |I - W| in Q-norms, such as the Frobenius norm.

    Source
        The same draft, for every angle.
    """
    other, direct = displaced(first, second, inner, outer)
    return at_most((direct**2).sum(), other=(other**2).sum(), rounding=1e-9)


PLANE = sequences(Z[-3:3], 2)


def right_angle(
    left: Sequence[int], right: Sequence[int], left_hat: Sequence[int], right_hat: Sequence[int]
) -> Fraction:
    """Return the squared sine of the angle between the right singular vectors of u v' and u_hat v_hat'."""
    suppose("both matrices have rank 1", all(any(each) for each in (left, right, left_hat, right_hat)))
    inner = sum(a * b for a, b in zip(right, right_hat, strict=True))
    return 1 - Fraction(inner**2, sum(a * a for a in right) * sum(b * b for b in right_hat))


@claim(
    "known-to-be-wrong/singular-subspaces",
    label=(
        "Yu, Wang and Samworth 2015, Theorem 3 with the printed convention that sigma_(s+1)^2 is minus infinity for "
        "s = rank A: the squared sine between the right singular vectors of two matrices is at most a bound, which "
        "is 0 here, because it divides by sigma_s^2 - sigma_(s+1)^2; the matrices are left right' and left_hat "
        "right_hat'"
    ),
    repaired_by="known-to-be-wrong/singular-subspaces-corrected",
)
def singular_subspaces(
    left: tuple[int, ...] = PLANE,
    right: tuple[int, ...] = PLANE,
    left_hat: tuple[int, ...] = PLANE,
    right_hat: tuple[int, ...] = PLANE,
) -> Sides:
    """The right singular subspaces r to s of A and A_hat are near: their sines are bounded by the gaps of A.

    Statement
        |sin Theta|_F <= 2 (2 sigma_1 + |D|) min(sqrt(d) |D|, |D|_F) / min(sigma_r-1^2 - sigma_r^2,
        sigma_s^2 - sigma_s+1^2), D = A_hat - A, d = s - r + 1, with sigma_0^2 infinite, and sigma_s+1^2 minus infinity
        if s = rank A. Here of u v' and u_hat v_hat' on R^2 and r = s = 1: the bound is 0.

    Source
        Yu, Wang and Samworth (Biometrika 102, 2015), Theorem 3 with its convention as printed. Refuted by a
        formalisation in Lean (2026), with the projections onto the two axes.
    """
    return at_most(right_angle(left, right, left_hat, right_hat), printed=0)


@claim(
    "known-to-be-wrong/singular-subspaces-corrected",
    label="The same theorem with sigma_(s+1) = 0 for s = rank A, if s is less than the number of columns",
    evaluations=300,
)
def singular_subspaces_corrected(
    left: tuple[int, ...] = PLANE,
    right: tuple[int, ...] = PLANE,
    left_hat: tuple[int, ...] = PLANE,
    right_hat: tuple[int, ...] = PLANE,
) -> Sides:
    """The singular subspaces are near with sigma_s+1 = 0 for s = rank A, if s is less than the number of columns.

    Source
        The same formalisation: the convention that the paper's proof uses.
    """
    angle = sqrt(right_angle(left, right, left_hat, right_hat))
    matrix = np.outer(left, right)
    change = float(np.linalg.norm(np.outer(left_hat, right_hat) - matrix, 2))
    largest = float(np.linalg.norm(matrix, 2))
    return at_most(angle, bound=2 * (2 * largest + change) * change / largest**2, rounding=1e-9)

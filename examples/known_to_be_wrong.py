"""Ten theorems and beliefs of the literature that are known to be wrong, each with what is right in its place.

Kingma and Ba's theorem and lemma were read in a transcription of the paper; the others are stated as their
corrections restate them. Run with: clusterproof check examples/known_to_be_wrong.py
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import factorial, log, sqrt
from typing import Annotated, Any

import numpy as np

from clusterproof.theorem import (
    Function,
    Operator,
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    claim,
    equal,
    expectation,
    functions,
    integers,
    operators,
    rationals,
    sets,
    suppose,
)

Q = Fraction
Rounds = Annotated[int, integers(1, 5)]


@claim(
    "known-to-be-wrong/heavy-ball-converges",
    judges="reading",
    evaluations=200,
    repaired_by="known-to-be-wrong/heavy-ball-converges-corrected",
)
def heavy_ball(f: Annotated[Function, functions(smoothness=25, strong_convexity=1)]) -> Sides:
    """Heavy ball with Polyak's step and momentum converges on every smooth and strongly convex function.

    Statement
        mu = 1, L = 25: alpha = 4 / (sqrt L + sqrt mu)^2 = 1/9 and beta = ((sqrt kappa - 1) / (sqrt kappa + 1))^2 = 4/9.
        If it converges from every start, three points that follow each other for ever are the minimiser.

    Source
        A belief: Polyak (1964) proves the rate near the minimiser of a twice differentiable function. Refuted by
        Lessard, Recht and Packard (2016), by a cycle of three points; Goujaud, Taylor and Dieuleveut (2023) find
        cycles for many other tunings.
    """
    first, second = before, x = f.start, f.point()
    for _ in range(3):
        before, x = x, x - Q(1, 9) * f.gradient(x) + Q(4, 9) * (x - before)
    suppose("x_3 = x_0", equal((before, first)))
    suppose("x_4 = x_1", equal((x, second)))
    return at_most(f.distance**2, minimiser=0)


@claim("known-to-be-wrong/heavy-ball-converges-corrected")
def heavy_ball_corrected(
    root: Annotated[int, integers(2, 6)],
    share: Annotated[Fraction, choice(Q(0), Q(1, 2), Q(1))],
    before: Annotated[int, integers(-3, 3)],
    now: Annotated[int, integers(-3, 3)],
) -> dict[str, Sides]:
    """On quadratic functions it converges: a norm of two successive points falls by the factor beta.

    Statement
        mu = 1, L = kappa = root^2, curvature lambda between them, V(x, y) = x^2 - (1 + beta - alpha lambda) x y
        + beta y^2. V(x_k+1, x_k) = beta V(x_k, x_k-1), and V is at least 0.

    Source
        Polyak (1964), for quadratic functions; this form is ours.
    """
    curvature = 1 + share * (root**2 - 1)
    trace, momentum = (
        1 + Q(root - 1, root + 1) ** 2 - Q(4, (root + 1) ** 2) * curvature,
        Q(root - 1, root + 1) ** 2,
    )

    def form(x: Fraction, y: Fraction) -> Fraction:
        return x**2 - trace * x * y + momentum * y**2

    return {
        "contraction": equal(
            (form(trace * now - momentum * before, Q(now)), momentum * form(Q(now), Q(before)))
        ),
        "positive": at_most(trace**2, product=4 * momentum),
    }


def accelerated(f: Any, rounds: int) -> tuple[Any, Any]:
    """Return the last two points of Nesterov's method with step 1 / L and momentum k / (k + 3)."""
    before = x = y = f.start
    for k in range(rounds):
        before, x = x, y - f.gradient(y) / f.smoothness
        y = x + Q(k, k + 3) * (x - before)
    return before, x


@claim(
    "known-to-be-wrong/acceleration-descends",
    judges="reading",
    evaluations=200,
    repaired_by="known-to-be-wrong/acceleration-descends-corrected",
)
def acceleration(f: Annotated[Function, functions(smoothness=1)], rounds: Rounds) -> Sides:
    """Nesterov's accelerated gradient method lowers the value in every round, as gradient descent does.

    Source
        A belief. Beck and Teboulle (2009, IEEE Transactions on Image Processing 18) note that it is wrong, and give a
        method that does.
    """
    before, x = accelerated(f, rounds)
    return at_most(f(x), before=f(before))


@claim("known-to-be-wrong/acceleration-descends-corrected", evaluations=200)
def acceleration_corrected(f: Annotated[Function, functions(smoothness=1)], rounds: Rounds) -> Sides:
    """After k rounds the value is at most 2 L |x_0 - x*|^2 / (k + 1)^2 above the least.

    Source
        Beck and Teboulle (2009, SIAM Journal on Imaging Sciences 2), Theorem 4.4; with this momentum Su, Boyd and
        Candes (2016).
    """
    _, x = accelerated(f, rounds)
    return at_most(f(x) - f.minimum, rate=2 * f.smoothness * f.distance**2 / (rounds + 1) ** 2)


Monotone = Annotated[Operator, operators(lipschitz=1)]
Step = Annotated[Fraction, choice(Q(1, 4), Q(1, 2), Q(1))]


@claim(
    "known-to-be-wrong/descent-ascent-converges",
    judges="reading",
    evaluations=200,
    repaired_by="known-to-be-wrong/descent-ascent-converges-corrected",
)
def descent_ascent(A: Monotone, step: Step) -> Sides:
    """Gradient descent-ascent with a small step comes no farther from a saddle point of a convex-concave function.

    Statement
        For the monotone, 1-Lipschitz operator A of the gradients: |x - s A x - x*| <= |x - x*|.

    Source
        A belief, from minimisation, where it is right. Korpelevich (1976) introduced the extragradient method, because
        it fails on bilinear functions.
    """
    x = A.start - step * A(A.start)
    return at_most((x - A.solution) @ (x - A.solution), before=A.distance**2)


@claim("known-to-be-wrong/descent-ascent-converges-corrected", evaluations=200)
def extragradient(A: Monotone, step: Step) -> Sides:
    """The extragradient method with a step of at most 1 / L comes no farther from any zero of the operator.

    Source
        Korpelevich (1976), as restated in textbooks.
    """
    x = A.start - step * A(A.start - step * A(A.start))
    return at_most((x - A.solution) @ (x - A.solution), before=A.distance**2)


Clients = Annotated[Function, functions(smoothness=1, strong_convexity=Q(1, 4), count=2)]


@claim(
    "known-to-be-wrong/fedavg-converges",
    judges="reading",
    evaluations=200,
    repaired_by="known-to-be-wrong/fedavg-converges-corrected",
)
def fedavg(f: Clients) -> Sides:
    """FedAvg with a constant step ends at the minimiser of the clients' mean loss.

    Statement
        Two clients, two local steps of 1/2, L = 1: a model that a round does not change is the minimiser.

    Source
        A belief. Li, Huang, Yang, Wang and Zhang (ICLR 2020), Theorem 4, refute it.
    """
    models = []
    for client in f.parts:
        x = f.start
        for _ in range(2):
            x = x - client.gradient(x) / 2
        models.append(x)
    suppose("the round changes nothing", equal((sum(models) / 2, f.start)))
    return at_most(f.distance**2, minimiser=0)


@claim("known-to-be-wrong/fedavg-converges-corrected", evaluations=30)
def fedavg_corrected(f: Clients) -> Sides:
    """With corrections of the local gradients, c - c_i, a model that a round does not change is the minimiser.

    Source
        Mitra, Jaafar, Pappas and Hassani (2021), FedLin; Karimireddy et al. (2020), SCAFFOLD with c_i at the model.
    """
    models = []
    for client in f.parts:
        x, correction = f.start, f.gradient(f.start) - client.gradient(f.start)
        for _ in range(2):
            x = x - (client.gradient(x) + correction) / 2
        models.append(x)
    suppose("the round changes nothing", equal((sum(models) / 2, f.start)))
    return at_most(f.distance**2, minimiser=0)


@claim(
    "known-to-be-wrong/alternating-projections",
    judges="reading",
    evaluations=200,
    repaired_by="known-to-be-wrong/alternating-projections-corrected",
)
def alternating_projections(pair: Annotated[Any, sets() + sets()]) -> Sides:
    """Alternating projections onto two convex sets end at the point of both that is nearest to the start.

    Statement
        If y = P_B P_A x lies in A and B, it is the projection of x: <x - y, z - y> <= 0 for z in both.

    Source
        Right for subspaces (von Neumann 1933, printed 1949); that it is wrong for convex sets is why Dykstra (1983) and
        Boyle and Dykstra (1986) changed the method.
    """
    A, B = pair.parts
    x, z = pair.start, pair.minimiser
    y = B.project(A.project(x))
    suppose("y lies in A", equal((A.project(y), y)))
    return at_most((x - y) @ (z - y), right_angle=0)


@claim("known-to-be-wrong/alternating-projections-corrected", evaluations=200)
def dykstra(pair: Annotated[Any, sets() + sets()]) -> Sides:
    """If Dykstra's method stands still after its first cycle, it has found the projection of the start.

    Source
        Boyle and Dykstra (1986): it always converges to the projection.
    """
    A, B = pair.parts
    x, z = pair.start, pair.minimiser
    first = A.project(x)
    y = B.project(first)
    suppose("P_A (y + x - P_A x) = y", equal((A.project(y + x - first), y)))
    return at_most((x - y) @ (z - y), right_angle=0)


Large = Annotated[int, integers(3, 6)]
Alpha = Annotated[Fraction, rationals(Q(1, 10), 1, 10)]
Cycles = Annotated[int, integers(1, 400)]


def online(large: int, alpha: Fraction, cycles: int, keep_maximum: bool) -> tuple[float, float, float]:
    """Run Adam or AMSGrad with beta_1 = 0 and beta_2 = 1 / (1 + C^2) on [-1, 1], from 1.

    The losses are C x, -x and -x in turn, alpha_t = alpha / sqrt(t). Returned are the regret, sqrt(v_T), with Adam's
    correction for its start or as AMSGrad's maximum, and |g_1:T|.
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
    evaluations=300,
    repaired_by="known-to-be-wrong/adam-converges-corrected",
)
def adam(large: Large, alpha: Alpha, cycles: Cycles) -> Sides:
    """Adam's regret is O(sqrt T).

    Statement
        R(T) <= D^2 sqrt(T v_T) / (2 alpha (1 - beta_1))
              + alpha (1 + beta_1) G |g_1:T| / ((1 - beta_1) sqrt(1 - beta_2) (1 - gamma)^2)
              + D^2 G sqrt(1 - beta_2) / (2 alpha (1 - beta_1) (1 - lambda)^2),
        in one dimension, with gamma = beta_1^2 / sqrt(beta_2) < 1; here beta_1 = gamma = 0, lambda = 1/2, D = 2, G = C.

    Source
        Kingma and Ba (ICLR 2015), Theorem 4.1. The losses, and the projection onto [-1, 1], which bounds the points as
        the theorem assumes, are those of the correction: Reddi, Kale and Kumar (ICLR 2018), Theorem 1.
    """
    regret, root, norm = online(large, alpha, cycles, keep_maximum=False)
    keeps = sqrt(1 - 1 / (1 + large**2))
    return at_most(
        regret,
        distance=2 * sqrt(3 * cycles) * root / float(alpha),
        gradients=float(alpha) * large * norm / keeps,
        momentum=8 * large * keeps / float(alpha),
    )


@claim("known-to-be-wrong/adam-converges-corrected", evaluations=300)
def amsgrad(large: Large, alpha: Alpha, cycles: Cycles) -> Sides:
    """AMSGrad's regret is at most D^2 sqrt(T v_T) / (2 alpha) + alpha sqrt(1 + log T) |g_1:T| / (2 sqrt(1 - beta_2)).

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


Power = Annotated[Fraction, choice(Q(0), Q(1, 4), Q(1, 2), Q(3, 4), Q(1))]
Length = Annotated[int, integers(1, 100)]


def weighted(power: Fraction, length: int) -> tuple[float, float]:
    """Return the sum of |g_t| / sqrt(t) and |g_1:T| for g_t = t^-power."""
    gradients = [float(t) ** -float(power) for t in range(1, length + 1)]
    return sum(g / sqrt(t) for t, g in enumerate(gradients, 1)), sqrt(sum(g**2 for g in gradients))


@claim("known-to-be-wrong/adam-lemma", evaluations=300, repaired_by="known-to-be-wrong/adam-lemma-corrected")
def adam_lemma(power: Power, length: Length) -> Sides:
    """The sum of |g_t| / sqrt(t) is at most 2 G |g_1:T| for numbers of absolute value at most G.

    Statement
        Here G = 1 and g_t = t^-power.

    Source
        Kingma and Ba (ICLR 2015), Lemma 10.3. Bock, Goppold and Weiss (2018) find mistakes in the convergence proof.
    """
    measured, norm = weighted(power, length)
    return at_most(measured, twice=2 * norm)


@claim("known-to-be-wrong/adam-lemma-corrected", evaluations=300)
def adam_lemma_corrected(power: Power, length: Length) -> Sides:
    """The sum of |g_t| / sqrt(t) is at most sqrt(1 + log T) |g_1:T|.

    Source
        The inequality of Cauchy and Schwarz; Reddi, Kale and Kumar (ICLR 2018) use it in the place of the lemma.
    """
    measured, norm = weighted(power, length)
    return at_most(measured, root=sqrt(1 + log(length)) * norm)


Entry = Annotated[int, integers(1, 2)]
Signed = Annotated[int, integers(-2, 2)]


def multiply(x: Sequence[Any], y: Sequence[Any]) -> Any:
    """Return an inner product."""
    return sum(a * b for a, b in zip(x, y, strict=True))


def admm(
    columns: Sequence[Sequence[int]], x_2: Any, x_3: Any, multiplier: Sequence[Any]
) -> tuple[Any, Any, list[Any]]:
    """Run one cycle of the alternating direction method for three scalars: min 0 subject to A x = 0."""
    state = [Q(0), x_2, x_3]

    def residual() -> list[Any]:
        return [multiply(row, state) for row in zip(*columns, strict=True)]

    for number, column in enumerate(columns):
        state[number] = Q(0)
        rest = [m - r for m, r in zip(multiplier, residual(), strict=True)]
        state[number] = multiply(column, rest) * Q(1, multiply(column, column))
    return state[1], state[2], [m - r for m, r in zip(multiplier, residual(), strict=True)]


@claim(
    "known-to-be-wrong/three-blocks",
    judges="reading",
    evaluations=300,
    repaired_by="known-to-be-wrong/three-blocks-corrected",
)
def three_blocks(
    a_1: Entry, a_2: Entry, a_3: Entry, b_1: Entry, b_2: Entry, b_3: Entry, c_1: Entry, c_2: Entry, c_3: Entry
) -> Sides:
    """The alternating direction method of multipliers converges with three blocks, as it does with two.

    Statement
        One cycle on min 0 subject to A x = 0, with penalty 1, is linear in x_2, x_3 and the multiplier; if it converges
        from every start, no eigenvalue exceeds 1 in absolute value.

    Source
        A belief. Chen, He, Ye and Yuan (2016) refute it, by A = [1 1 1; 1 1 2; 1 2 2] and the value 1.0278.
    """
    columns = [(a_1, a_2, a_3), (b_1, b_2, b_3), (c_1, c_2, c_3)]
    images = []
    for k in range(5):
        x_2, x_3, *multiplier = (Q(k == i) for i in range(5))
        first, second, rest = admm(columns, x_2, x_3, multiplier)
        images.append([float(entry) for entry in (first, second, *rest)])
    radius = float(np.abs(np.linalg.eigvals(np.array(images))).max())
    return at_most(radius, one=1, rounding=1e-6)


@claim("known-to-be-wrong/three-blocks-corrected", evaluations=300)
def three_blocks_corrected(
    a_1: Entry, a_2: Entry, a_3: Entry, b_1: Signed, b_2: Signed, b_3: Signed, c_1: Signed, c_2: Signed, c_3: Signed,
    start: Annotated[int, integers(-2, 2)],
) -> Sides:  # fmt: skip
    """If A_2 and A_3 are orthogonal, a cycle never increases |A_2 x_2 + A_3 x_3|^2 + |multiplier|^2.

    Source
        Chen, He, Ye and Yuan (2016): it converges if two of the matrices are orthogonal; here two blocks are one then.
        The norm is that of the proof for two blocks (Boyd et al. 2011, appendix A).
    """
    columns = [(a_1, a_2, a_3), (b_1, b_2, b_3), (c_1, c_2, c_3)]
    suppose("A_2 and A_3 are orthogonal", multiply(columns[1], columns[2]) == 0)
    suppose("A_2 and A_3 are not 0", any(columns[1]) and any(columns[2]))

    def norm(x_2: Any, x_3: Any, multiplier: Sequence[Any]) -> Any:
        image = [b * x_2 + c * x_3 for b, c in zip(*columns[1:], strict=True)]
        return multiply(image, image) + multiply(multiplier, multiplier)

    first = (Q(1), Q(start), [Q(1), Q(-start), Q(2)])
    return at_most(norm(*admm(columns, *first)), before=norm(*first))


Identity = Annotated[int, integers(0, 12)]
Crossed = Annotated[int, integers(0, 6)]
Ones = Annotated[int, integers(0, 4)]


def orders(count: int, identity: int, crossed: int, ones: int) -> tuple[Fraction, Fraction]:
    """Spectral norms of the mean product of n matrices over all orders, and of the n-th power of their mean.

    A_k = identity I - crossed (e_k 1' + 1 e_k') + ones 1 1', which is p I + q 1 1' in the mean.
    """
    unit, one = np.array(np.eye(count), dtype=int).astype(object), np.ones(count, dtype=int).astype(object)
    matrices = [
        identity * unit - crossed * (np.outer(e, one) + np.outer(one, e)) + ones * np.outer(one, one)
        for e in unit
    ]
    products = {0: unit}  # of every subset, the sum of its products
    for subset in range(1, 2**count):
        members = [k for k in range(count) if subset >> k & 1]
        products[subset] = sum(matrices[k] @ products[subset ^ (1 << k)] for k in members)

    def norm(matrix: Any) -> int:
        p, q = matrix[0, 0] - matrix[0, 1], matrix[0, 1]
        return int(max(abs(p), abs(p + count * q)))

    without = Q(norm(products[2**count - 1]), factorial(count))
    return without, Q(norm(sum(matrices)), count) ** count


def suppose_positive(count: int, identity: int, crossed: int, ones: int) -> None:
    """Suppose that A_k is at least 0: its eigenvalues are a, and a + x for x^2 - t x - (n - 1) b^2 = 0."""
    trace = count * ones - 2 * crossed
    suppose("A_k is positive semidefinite", 2 * identity + trace >= 0
            and identity**2 + identity * trace - (count - 1) * crossed**2 >= 0)  # fmt: skip


@claim("known-to-be-wrong/recht-re", judges="reading", repaired_by="known-to-be-wrong/recht-re-corrected",
       example=[{"count": 5, "identity": 10, "crossed": 5, "ones": 2}])  # fmt: skip
def recht_re(
    count: Annotated[int, integers(2, 5)], identity: Identity, crossed: Crossed, ones: Ones
) -> Sides:
    """Sampling without replacement is at least as good as with it: |E A_s(1) ... A_s(n)| <= |(E A_k)^n|.

    Statement
        For positive semidefinite A_1, ..., A_n, the mean over all orders s on the left and over k on the right.

    Source
        Recht and Re (2012), a conjecture. Refuted by Lai and Lim (ICML 2020) for n = 5, and by De Sa (NeurIPS 2020) for
        every n >= 5; these matrices are ours.
    """
    suppose_positive(count, identity, crossed, ones)
    without, power = orders(count, identity, crossed, ones)
    return at_most(without, replacement=power)


@claim("known-to-be-wrong/recht-re-corrected")
def recht_re_corrected(
    count: Annotated[int, integers(2, 3)], identity: Identity, crossed: Crossed, ones: Ones
) -> Sides:
    """For two or three positive semidefinite matrices it is right.

    Source
        Recht and Re (2012) for n = 2, Lai and Lim (2020) for n = 3.
    """
    suppose_positive(count, identity, crossed, ones)
    without, power = orders(count, identity, crossed, ones)
    return at_most(without, replacement=power)


Short = Annotated[Fraction, rationals(Q(1, 10), 1, 10)]


@claim(
    "known-to-be-wrong/sign-descends",
    judges="reading",
    replicates=10_000,
    evaluations=300,
    repaired_by="known-to-be-wrong/sign-descends-corrected",
)
def sign_descends(
    rare: Annotated[Fraction, choice(Q(1, 4), Q(1, 2), Q(3, 4))],
    step: Short,
    stream: Stream,
    replicates: Replicates,
) -> Any:
    """A step along the sign of an unbiased stochastic gradient lowers a convex function in expectation, if it is short.

    Statement
        f(x) = x / 4 on [-1, 1], from 0; the gradient is (5/4 - p) / p with probability p, and -1 otherwise.

    Source
        A belief. Karimireddy, Rebjock, Stich and Jaggi (ICML 2019), Counterexample 1, refute it, with p = 1/4.
    """
    drawn = np.where(stream.random(replicates) < float(rare), float((Q(5, 4) - rare) / rare), -1.0)
    after = -float(step) * np.sign(drawn) / 4
    return expectation(after, at_most=0.0, range=(-0.25, 0.25))


@claim("known-to-be-wrong/sign-descends-corrected", replicates=10_000, evaluations=300)
def sign_descends_corrected(
    spread: Annotated[Fraction, choice(Q(1, 8), Q(1), Q(8))],
    step: Short,
    stream: Stream,
    replicates: Replicates,
) -> Any:
    """It does if the noise is symmetric with a single peak, here normal.

    Source
        Bernstein, Zhao, Azizzadenesheli and Anandkumar (ICLR 2019), for such noise.
    """
    drawn = 0.25 + float(spread) * stream.standard_normal(replicates)
    after = -float(step) * np.sign(drawn) / 4
    return expectation(after, at_most=0.0, range=(-0.25, 0.25))

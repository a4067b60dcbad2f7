"""Claims on the rate of one iteration of ProxSkip."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import Sides, at_most, claim, equal, known, rationals, suppose
from clusterproof.methods.controls import proxskip
from clusterproof.methods.exact import exact_clients
from clusterproof.theory.bounds.hypotheses import Hypothesis
from clusterproof.theory.bounds.round_theorems import RoundCase, contraction_theorem
from clusterproof.theory.exact.algebra import NotNegative
from clusterproof.theory.exact.algebra import Share as Part
from clusterproof.theory.exact.planar_clients import (
    Coordinate,
    PlanarClients,
    Vector,
    combined,
    counts,
    deviations,
    gradient_step,
    square,
    total,
)


@dataclass(frozen=True)
class Start:
    """Positions, controls and steps of two kinds of clients.

    Clients of one kind are equal, now and after every iteration.

    Attributes
    ----------
    x, y
        Mean of the x_i - x*.
    spread_x, spread_y
        Deviations of ``x`` and ``y`` from the mean, with alternating signs, minus their own mean.
    control_x, control_y
        The vectors h_i - g_i*, in the same form.
    step_length
        The number gamma L.
    probability
        The probability p of communication.
    """

    x: Coordinate
    y: Coordinate
    spread_x: Coordinate
    spread_y: Coordinate
    control_x: Coordinate
    control_y: Coordinate
    step_length: Annotated[Fraction, rationals(0, 2, 4, upwards=True)]
    probability: Annotated[Fraction, rationals(0, 1, 4)]


def sharp_rate(flat: Any, steep: Any, probability: Any) -> Any:
    """Return max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2}, from 1 - gamma mu and 1 - gamma L."""
    return max(flat**2, steep**2, 1 - probability**2)


def printed_rate(flat: Any, _: Any, probability: Any) -> Any:
    """Return max{1 - gamma mu, 1 - p^2}, from 1 - gamma mu."""
    return max(flat, 1 - probability**2)


def short_steps_of(case: RoundCase) -> Iterator[Hypothesis]:
    """Yield the hypotheses of Theorem 6."""
    yield from case.exact_rounds
    yield Hypothesis("step size", "<=", float(1 / case.smoothness), float(case.step_size), "1/L", case.room)


def _slopes(case: RoundCase) -> tuple[Any, Any]:
    """Return 1 - gamma mu and 1 - gamma L."""
    return 1 - case.step_size * case.strong_convexity, 1 - case.step_size * case.smoothness


def _weight(case: RoundCase) -> Any:
    """Return (gamma / p)^2, the weight of the mean of |h_i - g_i*|^2."""
    return (case.step_size / case.probability) ** 2


THEOREM_6 = contraction_theorem(
    claim="proxskip/theorem-6",
    algorithm="proxskip",
    needs=short_steps_of,
    rate=lambda case: printed_rate(*_slopes(case), case.probability),
    weight=_weight,
)
SHARP = contraction_theorem(
    claim="proxskip/sharp",
    algorithm="proxskip",
    needs=lambda case: iter(case.exact_rounds),
    rate=lambda case: sharp_rate(*_slopes(case), case.probability),
    weight=_weight,
)


def one_iteration(
    clients: PlanarClients,
    start: Start,
    noise: tuple[Vector, Vector] | None = None,
    *,
    short_steps: bool = False,
) -> tuple[Any, ...]:
    """Return the rate, Psi, E Psi+, the sum of ||x_i - x* - gamma (grad f_i(x_i) - g_i*)||^2, and three other sums.

    The rate is the best possible rate, or the rate in Theorem 6 if ``short_steps`` is true (gamma <= 1 / L). The
    three other sums are over gamma^2 / p^2 ||h_i - g_i*||^2, over ||x_i - x*||^2, and over the noise. The gradient
    error of clients of a kind is ``noise`` or minus ``noise``, with equal probability. A vector is a pair of numbers,
    and an iteration treats both numbers in the same way. A pair of values has one value for each kind of clients.
    """
    p, number = start.probability, counts(clients)
    suppose("gamma > 0 and p > 0", start.step_length > 0 and p > 0)
    gamma = known(
        lambda: start.step_length / clients.smoothness,
        lambda step: (step > 0, step * clients.smoothness <= start.step_length),
    )
    weight = known(lambda: gamma / p, lambda quotient: quotient > 0)
    suppose("gamma > 0", weight * p > 0)
    flat, steep = known(
        lambda: (1 - gamma * clients.strong_convexity, 1 - gamma * clients.smoothness),
        lambda of: (of[1] >= 1 - start.step_length, of[0] >= of[1], of[0] <= 1) if short_steps else (),
    )
    rate = known(
        lambda: printed_rate(flat, steep, p) if short_steps else sharp_rate(flat, steep, p),
        lambda most: (most >= flat**2, most >= steep**2, most >= flat * steep, most >= 1 - p**2),
    )
    apart = deviations(number, (start.spread_x, start.spread_y))
    models = known(lambda: tuple(combined((1, (start.x, start.y)), (1, one)) for one in apart), lambda _: ())
    moved = tuple(gradient_step(clients, kind, models[kind], flat, steep, rate) for kind in range(2))
    controls = deviations(number, (start.control_x, start.control_y))

    def of(vectors: Sequence[Vector]) -> Any:
        return total(number, [square(one) for one in vectors])

    def gradient(kind: int, axis: int, sign: int) -> Callable[[Any], Any]:
        error = 0 if noise is None else sign * noise[kind][axis]
        return lambda x: (x - moved[kind][axis]) / (weight * p) + error

    def after(communicates: bool, sign: int) -> Any:
        (x, along_x), (y, along_y) = [
            proxskip(
                exact_clients(
                    [gradient(0, axis, sign), gradient(1, axis, sign)],
                    [1, 1],
                    weights=[each / (number[0] + number[1]) for each in number],
                ),
                [one[axis] for one in models],
                [one[axis] for one in controls],
                step_size=weight * p,
                probability=p,
                communicates=communicates,
            )
            for axis in range(2)
        ]
        return of(list(zip(x, y, strict=True))) + weight**2 * of(list(zip(along_x, along_y, strict=True)))

    signs, weighed = (1,) if noise is None else (1, -1), weight**2 * of(controls)
    expected = sum(p * after(True, sign) + (1 - p) * after(False, sign) for sign in signs) / len(signs)
    added = () if noise is None else ((weight * p) ** 2 * of(noise),)
    return rate, of(models) + weighed, expected, of(moved), weighed, of(models), *added


def contraction(
    clients: PlanarClients,
    start: Start,
    noise: tuple[Vector, Vector] | None = None,
    *,
    short_steps: bool = False,
) -> tuple[Any, Any, Any, Any]:
    """Return the rate, Psi, E Psi+ and the noise of an iteration. In a proof, ``proxskip/identity`` provides them."""
    rate, before, after, *parts = one_iteration(clients, start, noise, short_steps=short_steps)
    p = start.probability

    def by_identity(found: tuple[Any, ...]) -> tuple[bool, ...]:
        moved, controls, models, *added, before, after = found
        kept = (1 - p**2) * controls
        return (
            moved <= rate * models,
            controls >= 0,
            *(each >= 0 for each in added),
            before == models + controls,
            after == moved + kept + sum(added),
        )

    _, _, _, *added, before, after = known(lambda: (*parts, before, after), by_identity)
    return rate, before, after, sum(added)


@claim("proxskip/identity", label="(P)", source="ours", evaluations=40, expected="certified")
def identity(clients: PlanarClients, start: Start) -> Sides:
    """The expected Psi after an iteration is the sum of squares after gradient steps, plus 1 - p^2 times the controls.

    Hypotheses
        The f_i are differentiable, but need not be convex. gamma > 0, p is in (0, 1], and N >= 1. The sum of the h_i
        is 0.

    Statement
        E Psi+ = sum ||(x_i - gamma grad f_i(x_i)) - (x* - gamma g_i*)||^2
        + (1 - p^2) (gamma^2 / p^2) sum ||h_i - g_i*||^2.

    Proved for
        The clients of ``PlanarClients``: any number of each of two kinds, in the plane, with L = 1 or 2. Clients of one
        kind have the same loss, a quadratic up to a knee, and the same state.

    Source
        Ours; ProxSkip is Algorithm 1 of Variance Reduced ProxSkip (2022). The claim is an identity.

    Symbols
        Psi = sum over i of ||x_i - x*||^2 + (gamma^2 / p^2) ||h_i - g_i*||^2. The sign + marks values after one
        iteration, and the index 0 marks initial values. E is the expectation over the coin tosses, and g_i* = grad
        f_i(x*).
    """
    _, _, expected, moved, controls, *_ = one_iteration(clients, start)
    return equal((expected, moved + (1 - start.probability**2) * controls))


@claim(
    "proxskip/sharp",
    label="One-step rate",
    source="ours",
    tight=True,
    evaluations=60,
    expected="certified",
    headline=True,
)
def sharp(clients: PlanarClients, start: Start) -> Sides:
    """One iteration multiplies Psi by at most max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2}, the best factor.

    Hypotheses
        The f_i are L-smooth and mu-strongly convex, gradients are exact, gamma > 0, p is in (0, 1], and N >= 1. The sum
        of the h_i is 0.

    Statement
        E Psi+ <= max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2} Psi.

    Proved for
        The clients of ``PlanarClients``: any number of each of two kinds, in the plane, with L = 1 or 2. Clients of one
        kind have the same loss, a quadratic up to a knee, and the same state.

    Source
        Ours. For gamma <= 2 / (L + mu) the rate is the rate of RandProx (Condat and Richtarik), recalled from memory.
        Equality holds for f_i = mu ||.||^2 / 2 or L ||.||^2 / 2 with h_i = g_i*, and, if N >= 2, for x_i = x*.
        Asymptotic rates are smaller. The claim implies Psi_T <= rate^T Psi_0 in expectation.
    """
    rate, before, after, _ = contraction(clients, start)
    return at_most(after, start=rate * before, decrease_from=before)


@claim(
    "proxskip/theorem-6",
    label="Theorem 6, as transcribed",
    source="reading",
    evaluations=50,
    expected="certified",
    headline=(
        "ProxSkip converges at the rate max{1 - gamma mu, 1 - p^2}: proved for two kinds of "
        "clients, any number of each."
    ),
)
def theorem_6(clients: PlanarClients, start: Start) -> Sides:
    """ProxSkip converges linearly with the rate max{1 - gamma mu, 1 - p^2}.

    Hypotheses
        The f_i are L-smooth and mu-strongly convex, gradients are exact, 0 < gamma <= 1 / L, and p is in (0, 1]. The
        sum of the h_i is 0.

    Statement
        E Psi_T <= max{(1 - gamma mu)^T, (1 - p^2)^T} Psi_0, with Psi as in ``proxskip/identity``. The check has T = 1
        and an arbitrary state. So the statement for every T follows by induction, with expectations conditional on
        the past.

    Proved for
        The clients of ``PlanarClients``: any number of each of two kinds, in the plane, with L = 1 or 2. Clients of one
        kind have the same loss, a quadratic up to a knee, and the same state.

    Source
        Variance Reduced ProxSkip (2022), Theorem 6, which we read in a transcription. If 1 - gamma mu is the maximum,
        the best possible exponent is twice as large: ``proxskip/sharp`` has (1 - gamma mu)^2.
    """
    suppose("gamma <= 1 / L", start.step_length <= 1)
    rate, before, after, _ = contraction(clients, start, short_steps=True)
    return at_most(after, start=rate * before, decrease_from=before)


@theorem_6.step("induction", needed=False)
def induction(before: NotNegative, spare: NotNegative, rate: Part, lost: NotNegative) -> Sides:
    """Check the induction step from T - 1 to T.

    ``before`` is E Psi_(T-1), and its bound is ``before`` + ``spare``. ``lost`` is ``rate`` times ``before``, minus E
    Psi_T.
    """
    return at_most(rate * before - lost, start=rate * (before + spare))

"""Claims on FPFC's theorem for two clients that always take part, for every loss, penalty, T and number of rounds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import Sides, Z, at_most, claim, iterate, known, rationals, suppose
from clusterproof.theory.papers.fpfc.two_clients import (
    Length,
    Lipschitz,
    Smoothness,
    Three,
    TwoClients,
    denominator,
    square,
    suppose_the_hypotheses,
)

Fall = Annotated[Fraction, rationals(0, lambda smoothness: 1 / (2 * smoothness), 8)]
"""The number 1 / A: the local steps decrease h_i by at least ||M_i||^2 / A."""


# ---- multipliers


def of_fall(client: int, now: int, hypothesis: int) -> Callable[..., dict[str, Any]]:
    """Return the multipliers that prove that a local step from the client's point ``now`` decreases h_i."""

    def multipliers(smoothness: Any, length: Any) -> dict[str, Any]:
        fall, gradient = f"hypothesis {hypothesis}", f"hypothesis {hypothesis + 1}"
        return {f"{client}:{now},{now + 1}:0": 2 * smoothness, fall: 1, gradient: 2 * length - length**2}

    return multipliers


def of_gradient(client: int, now: int, hypothesis: int) -> Callable[..., dict[str, Any]]:
    """Return the multipliers that prove a lower bound on the norm of h_i's gradient after a local step."""

    def multipliers(smoothness: Any, length: Any) -> dict[str, Any]:
        weight = 2 * (1 - length) * smoothness / length
        pairs = {f"{client}:{now},{now + 1}:0": weight, f"{client}:{now + 1},{now}:0": weight}
        return {**pairs, f"hypothesis {hypothesis + 1}": (1 - length) ** 2}

    return multipliers


def of_local_steps(inner: str, now: int, hypothesis: int) -> dict[str, Any]:
    """Return the multipliers for a local step of both clients, indexed by the names of the proof's parts."""
    name = f"{inner}round"
    return {
        **{f"{inner}start {place}": [] for place in range(4)},
        f"{name} 0": of_fall(0, now, hypothesis),
        f"{name} 1": of_gradient(0, now, hypothesis),
        f"{name} 2": of_fall(1, now, hypothesis + 2),
        f"{name} 3": of_gradient(1, now, hypothesis + 2),
    }


def of_pair(now: int, weight: Any) -> dict[str, Any]:
    """Return the multipliers for the update of the pair, for gradients and values of phi at the old and new theta."""
    half, new = Fraction(1, 2), now + 2
    values = {f"2:{now + 1},{now}:0": half, f"2:{new},{new + 1}:0": half}
    return {**values, f"2:{now},{new}:0": half + weight, f"2:{new},{now}:0": weight}


def of_one_round(lipschitz: Any, smoothness: Any) -> dict[str, Any]:
    """Return the multipliers for the statement about one round."""
    steps = {"hypothesis 0": 1 / (2 * smoothness), "hypothesis 2": 1 / (2 * smoothness)}
    return steps | of_pair(1, lipschitz / (1 + lipschitz))


def of_steps_in_a_round(smoothness: Any) -> dict[str, Any]:
    """Return the multipliers that prove how much all local steps decrease h_1 + h_2."""
    return {"hypothesis 1": 1 / (2 * smoothness), "hypothesis 3": 1 / (2 * smoothness)}


def of_a_round(lipschitz: Any) -> dict[str, Any]:
    """Return the multipliers for the potential before the round and after the local steps, and for the pair."""
    return {"hypothesis 0": 1, "hypothesis 5": 1, "hypothesis 6": 1} | of_pair(3, 1 / (2 * lipschitz))


def of_a_round_for_duals(lipschitz: Any) -> dict[str, Any]:
    """Return the multipliers for the potential in the line about duals."""
    pair = of_pair(3, 1 / (2 * lipschitz))
    return (
        {"hypothesis 0": 1}
        | {name: lipschitz**2 * value for name, value in pair.items()}
        | {"hypothesis 5": lipschitz**2, "hypothesis 6": lipschitz**2}
    )


def of_the_end_for_duals(lipschitz: Any) -> dict[str, Any]:
    """Return the multipliers, for the statement on duals, that bound the penalty by the pair's terms in L_rho."""
    per_constant = 2 * (1 + lipschitz) * denominator(lipschitz)
    half = lipschitz**2 / (2 * per_constant)
    return {"hypothesis 0": 1 / per_constant, "2:4,3:0": half, "2:3,5:0": half}


def of_the_end() -> dict[str, Any]:
    """Return the multipliers for F after one more gradient step, which decreases both losses.

    They also prove that the penalty is at most the pair's terms in L_rho.
    """
    return {"0:2,3:0": 1, "1:2,3:0": 1, "2:4,3:0": Fraction(1, 2), "2:3,5:0": Fraction(1, 2)}


# ---- claims


@claim(
    "fpfc/round-every-loss",
    label="proof of Theorem 1, one round, every loss",
    source="ours",
    expected="certified",
    places="approach; algorithm 1, line 3; algorithm 1, line 5",
    multipliers={**of_local_steps("", 2, 0), "line 0": of_one_round},
)
def one_round(
    lipschitz: Lipschitz, smoothness: Smoothness, length: Length, f: Three, steps: int = Z[1:]
) -> Sides:
    """A round decreases the augmented Lagrangian as steps 1 and 2 of the proof state, for every loss, penalty and T.

    Hypotheses
        There are two clients, and both take part. Their losses are L_f-smooth with L_f > 0. The penalty g is
        L_g-smooth with L_g > 0. The losses and the penalty need not be convex or bounded from below, and g need not
        be a function of the distance. rho > 2 L_g, and 0 < z = alpha L_h <= 1. The models and theta are arbitrary
        points, and v = grad g(theta), as after every update. The unit of the losses is such that rho - L_g = 1; all
        other rho follow by scaling the losses and the penalty.

    Statement
        L_rho decreases by at least (1 - (1 - z)^(2T)) / (2 L_h) sum_i ||M_i||^2 + den / (4 rho) ||d theta||^2 for
        every T. M_i is grad_{w_i} L_rho before the round, L_h = L_f + rho and den = rho^2 - L_g rho - 2 L_g^2.

    Proof
        The local steps decrease h_1 + h_2, which majorises L_rho as a function of the models. The update of the pair
        decreases L_rho.

    Source
        Ours, from the proof of Theorem 1 of Yu et al. (2023). ``fpfc/repaired-proof`` checks these steps on random
        tasks with more clients and with absent clients.
    """
    suppose_the_hypotheses(smoothness, lipschitz, length)
    two, models, state = TwoClients(f, smoothness, lipschitz), (f.start, f.point()), f.point()
    before = two.lagrangian(models, state)
    after, remaining, squares, _ = two.after_local_steps(models, state, length, steps)
    new = two.updated(after, state)
    moved = two.pair(new)[0] - two.pair(state)[0]
    return at_most(
        two.lagrangian(after, new),
        before=before,
        local_steps=-(1 - remaining) / (2 * smoothness) * (squares[0] + squares[1]),
        pair=-denominator(lipschitz) / (4 * (1 + lipschitz)) * square(moved),
    )


def next_round(two: TwoClients, now: Any, length: Any, steps: Any, fall: Any) -> Any:
    """Return the models and the pair's state after a round, and check a bound on the change of h_1 + h_2."""
    x, y, state, _ = now
    after, remaining, squares, change = two.after_local_steps((x, y), state, length, steps)
    suppose("(1 - z)^(2T) <= 1 - 2 L_h / A", remaining <= 1 - 2 * two.smoothness * fall)
    lowered = -fall * (squares[0] + squares[1])
    known(lambda: change, lambda value: (value <= lowered, change <= value))
    return *after, two.updated(after, state)


@claim(
    "fpfc/rounds-every-loss",
    label="Theorem 1, first inequality, two clients, every loss",
    source="ours",
    expected="certified",
    headline=True,
    places="approach; assumption 1; assumption 2; assumption 3",
    multipliers={
        **of_local_steps("inner ", 3, 1),
        "start 0": [],
        "inner value 0": of_steps_in_a_round,
        "inner value 1": [],
        "round 0": of_a_round,
        "value 0": of_the_end,
        "line 0": lambda: {"hypothesis 0": 1, "hypothesis 1": 1},
    },
)
def all_rounds(
    lipschitz: Lipschitz,
    smoothness: Smoothness,
    length: Length,
    fall: Fall,
    f: Three,
    steps: int = Z[1:],
    rounds: int = Z[1:],
) -> Sides:
    """The sum of ||grad_w L_0||^2 over K rounds is at most (A + B) (L_rho - F), for every loss, penalty, T and K.

    Hypotheses
        The hypotheses of ``fpfc/round-every-loss`` hold in each of K rounds. A is any number of at least 2 L_h / (1 -
        (1 - z)^(2T)).

    Statement
        sum_{k=1..K} ||grad_w L_0^k||^2 <= (A + B) (L_rho^0 - F(u)). Here B = 2 rho L_g^2 / den, and F is the
        objective with the penalty g. The point u is the end of one more gradient step on L_rho with step size 1 / L_h
        from the final models w^K. F(u) is at least F*. FPFC starts with theta = v = 0 and equal models, so that
        L_rho^0 = F(w^0). So the claim implies the first inequality of ``fpfc/repaired-models`` for two clients that
        always take part.

        *duals*: sum_{k=1..K} ||grad_v L_0^k||^2 <= C_2 (L_rho^0 - F(w^K)), with C_2 = L_g^2 / (2 rho den). This is
        the inequality of ``fpfc/repaired-duals`` for two clients that always take part.

    Proof
        The potential is the sum of ||grad_w L_0||^2 over the past rounds, divided by A + B, plus L_rho - sum_i
        ||M_i||^2 / A. It never exceeds L_rho^0, by ``fpfc/round-every-loss``, ||d v|| <= L_g ||d theta|| and steps 4
        and 6 of ``fpfc/repaired-proof``. After the last round, L_rho - sum_i ||M_i||^2 / (2 L_h) is at least F(u), by
        step 5.

    Source
        Ours. The claim replaces Theorem 1 of Yu et al. (2023) for two clients that always take part.
    """
    suppose_the_hypotheses(smoothness, lipschitz, length)
    two, den = TwoClients(f, smoothness, lipschitz), denominator(lipschitz)
    weight = den * fall / (den + 2 * (1 + lipschitz) * lipschitz**2 * fall)  # 1 / (A + B)
    start, pair = (f.start, f.point()), f.point()
    first = two.lagrangian(start, pair)

    def next_state(now: Any) -> Any:
        x, y, state = next_round(two, now, length, steps, fall)
        _, dual = two.pair(state)
        added = square(two.gradient(0, x) + dual / 2) + square(two.gradient(1, y) - dual / 2)
        return x, y, state, now[3] + added

    def potential(now: Any, passed: Any) -> Any:
        x, y, state, total = now
        slopes = two.slopes((x, y), state)
        left = first - two.lagrangian((x, y), state)
        return weight * total <= left + fall * (square(slopes[0]) + square(slopes[1]))

    x, y, state, total = iterate(next_state, (*start, pair, 0 * first), rounds, invariant=potential)
    slopes = two.slopes((x, y), state)
    last = x - slopes[0] / smoothness, y - slopes[1] / smoothness
    least = two.lagrangian((x, y), state) - (square(slopes[0]) + square(slopes[1])) / (2 * smoothness)
    end = known(lambda: two.objective(last), lambda value: value <= least)
    return at_most(weight * total, start=first, end=-end)


@all_rounds.line(
    "duals",
    multipliers={
        **of_local_steps("inner ", 3, 1),
        "start 0": [],
        "inner value 0": of_steps_in_a_round,
        "inner value 1": [],
        "round 0": of_a_round_for_duals,
        "line 0": of_the_end_for_duals,
    },
)
def duals_of_all_rounds(
    lipschitz: Lipschitz,
    smoothness: Smoothness,
    length: Length,
    f: Three,
    steps: int = Z[1:],
    rounds: int = Z[1:],
) -> Sides:
    """Check the statement on duals, where ||grad_v L_0||^2 = ||w_1 - w_2 - theta||^2 / 8."""
    suppose_the_hypotheses(smoothness, lipschitz, length)
    two, per_constant = TwoClients(f, smoothness, lipschitz), 2 * (1 + lipschitz) * denominator(lipschitz)
    start, pair = (f.start, f.point()), f.point()
    first = two.lagrangian(start, pair)

    def next_state(now: Any) -> Any:
        x, y, state = next_round(two, now, length, steps, 0)
        return x, y, state, now[3] + square(x - y - two.pair(state)[0]) / 8

    def potential(now: Any, passed: Any) -> Any:
        x, y, state, total = now
        return per_constant * total <= lipschitz**2 * (first - two.lagrangian((x, y), state))

    x, y, _, total = iterate(next_state, (*start, pair, 0 * first), rounds, invariant=potential)
    return at_most(total, constant=lipschitz**2 / per_constant * (first - two.objective((x, y))))

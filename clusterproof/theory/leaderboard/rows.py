"""The rows of a leaderboard, one for each bound or computed quantity and number of rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from clusterproof.checker.report.sentences import digits_apart
from clusterproof.common.calls import checked
from clusterproof.common.validation import check_choice, check_count, check_list
from clusterproof.theory.leaderboard.bounds import ENTERED, load_bounds
from clusterproof.theory.leaderboard.quadratics import expected_errors, worst_quadratics
from clusterproof.theory.leaderboard.setting import Setting, TaskClass
from clusterproof.theory.leaderboard.worst_cases import exact_worst_case, lyapunov_bounds, one_round_bounds
from clusterproof.theory.rates.parameters import exact
from clusterproof.theory.rates.round_rate import MAX_SEARCHED, make_round
from clusterproof.theory.rates.rounds import Algorithm, ClientClass, Round

ONE_ROUND = {"one-round-convex": ClientClass.CONVEX, "one-round-strong": ClientClass.STRONG}
COMPUTED = (*ONE_ROUND, "exact", "worst-quadratic", "expected")
"""Names of computed columns. All other columns are bounds from the library or from users."""

MARGIN = {
    "expected": (1e-6, 1e-10, 1e-12),
    "worst-quadratic": (1e-8, 1e-10, 1e-12),
    "exact": (1e-5, 0.0, 1e-6),
}
"""Margins by which the value of a column must exceed a bound that it violates. Each column has three numbers:

1. Relative margin of the value, because a task may be outside the setting by 1e-12.
2. Margin of the square root, in units of D + R M. Here M = eta_g K eta zeta* is the largest change of a model if
gradients cancel at x* up to rounding.
3. Margin of the value, in units of (D + M)^2, for rounding errors in second moments and for the solver.
"""

MAX_ROUNDS = 100_000
ROUNDS = (1, 3, 10, 30, 100, 300, 1000)


class Row(TypedDict):
    """One row of a leaderboard.

    Attributes
    ----------
    round
        Number of rounds R.
    column
        Name of the bound or of the computed quantity.
    value
        Bound on, or value of, E|x_R - x*|^2, or None if there is none.
    reason
        The hypothesis that is not satisfied, the reason for a missing value, or a remark. Otherwise None.
    violated
        Whether the row is a violated bound, that is, an instance or the exact worst case exceeds it.
    """

    round: int
    column: str
    value: float | None
    reason: str | None
    violated: bool


@checked
def leaderboard(
    algorithm: str,
    *,
    client_class: str = "strong",
    smoothness: object = 1,
    strong_convexity: object = "1/10",
    local_steps: int = 4,
    step_size: object = "1/64",
    heterogeneity: object = 1,
    distance: object = 1,
    sampling: object = 0,
    server_step_size: object = 1,
    proximal: object = None,
    probability: object = None,
    option: str | None = None,
    rounds: int | Sequence[int] = ROUNDS,
    task: object = None,
    module: str | Path | None = None,
    more_steps: bool = False,
) -> list[Row]:
    """Compare bounds on E|x_R - x*|^2 with each other, with the best possible bounds, and with values on instances.

    Parameters
    ----------
    algorithm
        ``"fedavg"``, ``"fedprox"`` (clients solve local problems exactly, so local steps and step size are not used),
        ``"scaffold"`` or ``"proxskip"`` (a round is one iteration, and the distance is a mean over clients).
    client_class
        ``"strong"``: every client is L-smooth and mu-strongly convex. ``"convex"``: clients are convex and L-smooth,
        and their mean is mu-strongly convex. ``"quadratic"``: each client has one of two scalar quadratic losses.
    smoothness, strong_convexity, local_steps, step_size
        L, mu, K and eta, as numbers or strings such as ``"1/64"``. All values are exact.
    heterogeneity, distance
        zeta*, the root of the mean of |grad f_i(x*)|^2, and |x_0 - x*|. Control (N - S) / (S (N - 1)) if S of N
        clients take part in a round.
    server_step_size, proximal, probability, option
        eta_g, m of FedProx (by default L), p of ProxSkip (by default 1 / K), and "I" or "II" for SCAFFOLD (by default
        "II").
    rounds
        Numbers of rounds.
    task
        A ``QuadraticMixture`` or ``NoisyQuadraticMixture`` for the column ``expected``, whose initial model is 0. If
        the task belongs to the setting, every bound below the error on the task is violated.
    module
        File or module that defines bounds with ``leaderboard_bound``. The file or module is executed.
    more_steps
        Whether to compute the exact worst case for up to 40 local gradients in total instead of 24. This takes about
        ten seconds.

    Returns
    -------
    list of dict
        ``{"round", "column", "value", "reason", "violated"}`` for every number of rounds and every column: the entered
        bounds,
        ``one-round-convex`` and ``one-round-strong`` (the best certified bound that proofs of single rounds give),
        ``exact`` (the worst case over the class "strong", computed by a solver), ``worst-quadratic`` (the largest error
        found on quadratics) and ``expected`` (the error on ``task``).

    Raises
    ------
    InvalidArgument
        If an argument is out of range.
    """
    check_choice("client_class", client_class, [str(name) for name in TaskClass], remedy="choose one of them")
    if not isinstance(rounds, int):
        check_list("rounds", rounds, int, "give numbers of rounds, such as (1, 3, 10)")
    numbers = [rounds] if isinstance(rounds, int) else list(rounds)
    for number in numbers or [0]:
        check_count(
            "rounds", number, at_least=1, at_most=MAX_ROUNDS, remedy="give numbers of rounds, such as 1,3,10"
        )
    numbers = sorted(set(numbers))
    check_count("local_steps", local_steps, at_least=1, at_most=10**4, remedy="choose 1")
    prox = algorithm == Algorithm.FEDPROX
    proximal, probability = with_defaults(algorithm, smoothness, local_steps, proximal, probability)
    if algorithm == Algorithm.PROXSKIP:
        local_steps = 1
    task_class = TaskClass(client_class)
    round_ = make_round(
        algorithm,
        client_class="convex" if task_class is TaskClass.CONVEX else "strong",
        smoothness=smoothness,
        strong_convexity=strong_convexity,
        local_steps=1 if prox else local_steps,
        step_size=None if prox else step_size,
        sampling=sampling,
        server_step_size=server_step_size,
        proximal=proximal,
        probability=probability,
        option=option,
    )
    lengths = exact("heterogeneity", heterogeneity), exact("distance", distance)
    settings = {number: Setting.from_round(round_, task_class, *lengths, number) for number in numbers}
    setting = settings[numbers[0]]
    own = [bound for bound in ENTERED if bound.algorithm == algorithm]
    if module is not None:
        loaded = load_bounds(module, [*COMPUTED, *(bound.id for bound in ENTERED)])
        own += [bound for bound in loaded if bound.algorithm == algorithm]
    best = {column: _one_round(setting, round_, kind, numbers) for column, kind in ONE_ROUND.items()}
    worst = worst_quadratics(setting, round_, numbers)
    expected = None if task is None else expected_errors(setting, round_, task, numbers)
    rows: list[Row] = []
    for place, number in enumerate(numbers):
        values = {bound.id: bound(settings[number]) for bound in own}
        values |= {column: found[number] for column, found in best.items()}
        values["exact"] = exact_worst_case(setting, round_, number, more=more_steps)
        values["worst-quadratic"] = worst[number]
        if expected is None:
            values["expected"] = (None, "no task was given")
        else:
            known, reason = expected
            values["expected"] = (None if known is None else known[place], reason)
        rows += judged(settings[number], values, [bound.id for bound in own])
    return rows


def with_defaults(
    algorithm: str, smoothness: object, local_steps: int, proximal: object, probability: object
) -> tuple[object, object]:
    """Return m of FedProx and p of ProxSkip, with the defaults L and 1 / K."""
    if algorithm == Algorithm.FEDPROX and proximal is None:
        proximal = smoothness
    if algorithm == Algorithm.PROXSKIP and probability is None:
        probability = f"1/{local_steps}"
    return proximal, probability


def _one_round(
    setting: Setting, round_: Round, kind: ClientClass, numbers: list[int]
) -> dict[int, tuple[float | None, str | None]]:
    """Return, for a class, the name of the column with the best bound that proofs of single rounds imply."""

    def nothing(reason: str) -> dict[int, tuple[float | None, str | None]]:
        return dict.fromkeys(numbers, (None, reason))

    if kind is ClientClass.STRONG and setting.client_class == TaskClass.CONVEX:
        return nothing("hypothesis fails: every client is strongly convex")
    if round_.local_steps > MAX_SEARCHED:
        return nothing(f"certificates have at most {MAX_SEARCHED} local steps")
    if kind is ClientClass.CONVEX and round_.algorithm is Algorithm.PROXSKIP:
        return nothing("no certificate: clients start a round at different points")
    of_class = replace(round_, client_class=kind)
    found = (lyapunov_bounds if round_.controls else one_round_bounds)(setting, of_class, numbers)
    missing = "no certificate was found; this does not show divergence"
    return {number: (found[number], None) if number in found else (None, missing) for number in numbers}


def judged(
    setting: Setting, values: dict[str, tuple[float | None, str | None]], bounds: Sequence[str]
) -> Iterable[Row]:
    """Yield the rows for the setting's number of rounds, and mark the bounds that a computed value exceeds."""
    moved = float(setting.server_step_size * setting.local_steps * setting.step_size * setting.heterogeneity)
    distance = float(setting.distance)
    for column, (value, reason) in values.items():
        violated = False
        if column in bounds and value is not None:
            for truth, (relative, of_root, of_value) in MARGIN.items():
                attained, instance = values[truth]
                if truth == "expected" and instance is not None:
                    continue  # the task is not an instance of the setting
                if attained is None:
                    continue
                rounded = of_root * (distance + setting.rounds * moved)
                margin = relative * attained + 2 * rounded * math.sqrt(max(attained, 0)) + rounded**2
                if attained > value + margin + of_value * (distance + moved) ** 2:
                    names = {"exact": "the exact worst case, by the solver,", "expected": "the given task"}
                    what = names.get(truth, instance)
                    digits = digits_apart(attained, value, 6)
                    reason = (
                        f"violated: {what} has E|x_R - x*|^2 = {attained:.{digits}g} > {value:.{digits}g}"
                    )
                    violated = True
                    break
        if value is not None and not math.isfinite(value):
            value, reason = None, f"above the largest floating-point number: {reason or column}"
        yield Row(round=setting.rounds, column=column, value=value, reason=reason, violated=violated)


def violations(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of violated bounds."""
    return [row for row in rows if row["violated"]]

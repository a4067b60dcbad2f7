"""(24)-(28): the inequalities that Lemma 1 is made of."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from synthetic import Mixture, QuadraticMixture
from theory.basin_pairs import Pair, pairs
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.loss_tails import at_most, exceeds, midpoint
from theory.random_tasks import random_mixture
from theory.verdict import Finding, Kind


def evaluate_24(instance: Instance) -> tuple[Number, Number]:
    """Exact P(xi), and the exact sum of the two tails at a multiple of the paper's delta."""
    pair = Pair(instance)
    delta = float(instance["multiple"]) * midpoint(pair)
    return pair.exact, (exceeds(pair, 0, delta) + at_most(pair, 1, delta)) * (1 + 1e-9)


@register("cfl-mgd/equation-24", label="(24)", kind="upper", replay=replay_with(evaluate_24))
def equation_24(context: Context) -> Finding:
    """The wrong choice is at most as likely as the own loss above delta or the other's below.

    Hypotheses
        Any delta >= 0; the proof takes the mean of the two expected losses.

    Statement
        P(xi^(1,p)) <= P(phi_i(chi_1) > delta) + P(phi_i(chi_p) <= delta).

    Symbols
        phi_i the loss on n' ``samples``.

    Source
        Zhao et al. (2023), (24). Upper bound: if phi_i(chi_1) >= phi_i(chi_p) and phi_i(chi_1) <= delta,
        then phi_i(chi_p) <= delta.

    Checked
        Gaussian regression, exactly: the F tail against two chi-square tails, at pairs of models in
        the basin and 0 to 3 times the paper's delta, hypothesis searching for the largest ratio.
    """
    from hypothesis import strategies as st

    multiples = st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(3, 2), Fraction(3), Fraction(0)])
    instances = st.builds(lambda pair, multiple: {**pair, "multiple": multiple}, pairs(), multiples)
    return seek(
        context, instances, evaluate_24,
        violated=lambda instance, measured, allowed: (
            f"P(xi) = {float(measured):.4g} exceeds the two tails' {float(allowed):.4g} at "
            + ", ".join(f"{name} {encode(number)}" for name, number in instance.items())
        ),
        consistent="the exact probability is within the exact sum of tails; slack: smallest ratio", budget=300,
    )  # fmt: skip


@register("cfl-mgd/equation-25", label="(25)", kind="identity")
def equation_25(context: Context) -> Finding:
    """A loss above the mean of the two expected losses exceeds its own mean by half their gap.

    Hypotheses
        delta = (phi^1(chi_1) + phi^1(chi_p)) / 2.

    Statement
        phi_i(chi_1) > delta iff phi_i(chi_1) - phi^1(chi_1) > (phi^1(chi_p) - phi^1(chi_1)) / 2, and
        phi_i(chi_p) <= delta iff phi_i(chi_p) - phi^1(chi_p) <= -(phi^1(chi_p) - phi^1(chi_1)) / 2.

    Symbols
        phi^1 the expected loss of cluster 1.

    Source
        Zhao et al. (2023), (25) and the line after it. Identity of events.

    Checked
        Both equivalences in rational arithmetic on random losses and means, ties included.
    """
    stream = context.generator("numbers")
    trials = context.number_of_trials(2000)
    wrong = 0
    for numbers in stream.integers(0, 12, (trials, 4)):
        own, other, mean_own, mean_other = (Fraction(int(number), 4) for number in numbers)
        delta, half = (mean_own + mean_other) / 2, (mean_other - mean_own) / 2
        wrong += (own > delta) != (own - mean_own > half)
        wrong += (other <= delta) != (other - mean_other <= -half)
    return Finding(
        verdict=Kind.VIOLATED if wrong else Kind.CONSISTENT,
        reason=f"{wrong} of {2 * trials} equivalences fail in rational arithmetic",
        trials=2 * trials,
        failures=wrong,
    )


def basin_models(task: Mixture, stream: np.random.Generator) -> np.ndarray:
    """Models (60, P, d) in and on the paper's basins; the first ones on the lines between the optima."""
    offsets = stream.standard_normal((60, *task.optima.shape))
    distances = np.linalg.norm(task.optima[:, None] - task.optima, axis=-1) + np.diag(
        [np.inf] * task.clusters
    )
    nearest = task.optima[distances.argmin(axis=-1)]
    offsets[:5] = nearest - task.optima
    offsets /= np.linalg.norm(offsets, axis=-1, keepdims=True)
    lengths = stream.choice([1.0, 0.5, 0.1], (60, task.clusters, 1))
    lengths[:5] = 1.0
    return np.asarray(task.optima + task.basin_radius * lengths * offsets)


def loss_ratios(task: Mixture, stream: np.random.Generator) -> dict[str, float]:
    """Smallest slack of each line of (26)-(28) on one task, as ratios that must be at least 1."""
    models = basin_models(task, stream)
    mu, steep, separation = task.strong_convexity, task.smoothness, task.separation
    slack = dict.fromkeys(("convexity", "26", "smoothness", "27", "28"), np.inf)

    def keep(name: str, ratios: np.ndarray) -> None:
        slack[name] = min(slack[name], float(ratios.min()))

    for own in range(task.clusters):
        # rounding of the difference of two losses is given back to the claim
        least = float(task.expected_loss(task.optima[own], own))
        rounding = 1e-13 * (1 + least)
        gaps = np.stack([task.expected_loss(models[:, p], own) - least for p in range(task.clusters)])
        lengths = np.linalg.norm(models - task.optima[own], axis=-1)
        keep("smoothness", (0.5 * steep * lengths[:, own] ** 2 + rounding) / gaps[own])
        keep("27", (mu * separation**2 / 32 + rounding) / (0.5 * steep * lengths[:, own] ** 2))
        for p in set(range(task.clusters)) - {own}:
            keep("convexity", (gaps[p] + rounding) / (0.5 * mu * lengths[:, p] ** 2))
            keep("26", 0.5 * mu * lengths[:, p] ** 2 / (9 / 32 * mu * separation**2))
            keep("28", (gaps[p] - gaps[own] + rounding) / (0.25 * mu * separation**2))
    return slack


def judge_ratios(context: Context, names: tuple[str, ...], what: str) -> Finding:
    """Judge inequalities between expected losses by their smallest slack over random tasks."""
    stream = context.generator("tasks")
    trials = context.number_of_trials(60)
    # the first task has kappa = 1, where models between the optima attain the bounds
    tasks: list[Mixture] = [QuadraticMixture.random(clusters=2, clients=4, dimension=2)]
    tasks += [random_mixture(stream) for _ in range(trials - 1)]
    drawn = [loss_ratios(task, stream) for task in tasks]
    worst = [min(slack[name] for name in names) for slack in drawn]
    failures = sum(not ratio >= 1 - 1e-9 for ratio in worst)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"{what} over {trials} regressions, quadratics and ridge-logistic losses, 60 tuples of models each; "
        "slack is the smallest ratio of the two sides",
        slack=min(worst),
        trials=trials,
        failures=failures,
    )


@register("cfl-mgd/equation-26", label="(26)", kind="tight")
def equation_26(context: Context) -> Finding:
    """Another cluster's model costs cluster 1 at least 9 mu Delta^2 / 32 above its least loss.

    Hypotheses
        Assumption 2; ||chi_p - chi*_p|| <= (1/4) sqrt(mu/L) Delta in the round at hand.

    Statement
        phi^1(chi_p) >= phi^1(chi*_1) + (mu/2) ||chi_p - chi*_1||^2 >= phi^1(chi*_1) + (9 mu / 32) Delta^2.

    Symbols
        mu ``strong_convexity``, Delta ``separation``.

    Source
        Zhao et al. (2023), (26). Lower bound, attained for kappa = 1 with chi_p between the optima.

    Checked
        Both steps on random tasks at models in and on the basin, some on the lines between optima.
    """
    return judge_ratios(context, ("convexity", "26"), "both steps of (26)")


def evaluate_27(instance: Instance) -> tuple[Number, Number]:
    """(L/2) ||chi_1 - chi*_1|| and mu Delta^2 / 32 with L = kappa, mu = 1 and a rational distance."""
    # sqrt(kappa) is the instance's number, so that the basin's radius is rational
    root, separation = Fraction(instance["root_of_kappa"]), Fraction(instance["separation"])
    distance = Fraction(instance["share"]) * separation / (4 * root)
    return root**2 / 2 * distance, separation**2 / 32


@register("cfl-mgd/equation-27", label="(27)", kind="upper", replay=replay_with(evaluate_27),
          repaired_by="cfl-mgd/equation-27-squared")  # fmt: skip
def equation_27(context: Context) -> Finding:
    """The own model costs at most (L/2) ||chi_1 - chi*_1||, and that at most mu Delta^2 / 32.

    Hypotheses
        Assumptions 1 and 4: ||chi_1 - chi*_1|| <= (1/4) sqrt(mu/L) Delta.

    Statement
        phi^1(chi_1) <= phi^1(chi*_1) + (L/2) ||chi_1 - chi*_1|| <= phi^1(chi*_1) + (mu/32) Delta^2, the
        distance not squared.

    Symbols
        L ``smoothness``, mu ``strong_convexity``, Delta ``separation``.

    Source
        Zhao et al. (2023), (27) as printed. Upper bound. Meant is the square:
        ``cfl-mgd/equation-27-squared``.

    Checked
        The second inequality with mu = 1, L = kappa and a model at a share of the basin's radius, in
        rational arithmetic; hypothesis finds the simplest violation.
    """
    from hypothesis import strategies as st

    instances = st.fixed_dictionaries(
        {
            "root_of_kappa": st.integers(1, 5),
            "separation": st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2)]),
            "share": st.fractions(0, 1, max_denominator=4),
        }
    )
    return seek(
        context, instances, evaluate_27,
        violated=lambda instance, measured, allowed: (
            f"mu = 1, L = {encode(Fraction(instance['root_of_kappa']) ** 2)}, Delta = "
            f"{encode(instance['separation'])}, model at {encode(instance['share'])} of the basin's radius: "
            f"(L/2) ||chi_1 - chi*_1|| = {float(measured):g} > mu Delta^2 / 32 = {float(allowed):g}"
        ),
        consistent="no instance breaks it",
    )  # fmt: skip


@register("cfl-mgd/equation-27-squared", label="(27), as meant", kind="tight")
def equation_27_squared(context: Context) -> Finding:
    """The own model costs cluster 1 at most mu Delta^2 / 32 above its least loss.

    Hypotheses
        Assumption 1; ||chi_1 - chi*_1|| <= (1/4) sqrt(mu/L) Delta.

    Statement
        phi^1(chi_1) <= phi^1(chi*_1) + (L/2) ||chi_1 - chi*_1||^2 <= phi^1(chi*_1) + (mu/32) Delta^2.

    Symbols
        L ``smoothness``, mu ``strong_convexity``, Delta ``separation``.

    Source
        Zhao et al. (2023), (27) with its square. Upper bound, attained on the rim of the basin.

    Checked
        Both steps on random tasks at models in and on the basin.
    """
    return judge_ratios(context, ("smoothness", "27"), "both steps of (27) with the square")


@register("cfl-mgd/equation-28", label="(28)", kind="tight")
def equation_28(context: Context) -> Finding:
    """Another cluster's model costs cluster 1 at least mu Delta^2 / 4 more than its own.

    Hypotheses
        Assumptions 1 and 2, all models in the paper's basin in the round at hand.

    Statement
        phi^1(chi_p) - phi^1(chi_1) >= (mu/4) Delta^2.

    Symbols
        mu ``strong_convexity``, Delta ``separation``.

    Source
        Zhao et al. (2023), (28): 9/32 - 1/32 = 1/4. Lower bound, attained for kappa = 1.

    Checked
        Random tasks at models in and on the basin, some on the lines between optima.
    """
    return judge_ratios(context, ("28",), "(28)")

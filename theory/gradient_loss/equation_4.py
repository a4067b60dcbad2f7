"""(4): what the combined score is and is not."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import IFCA, GradientLoss, run
from algorithms.gradient_loss import MovingState
from synthetic import QuadraticMixture, RegressionMixture
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, seek
from theory.gradient_loss.scalar import best, exact_rounds, score, sign
from theory.identities import judge_largest, two_readings
from theory.verdict import Finding, Kind


def distance_from_ifca(stream: np.random.Generator) -> float:
    """Largest difference of the runs of lambda = 0 and of IFCA, infinite where a choice differs."""
    clusters = int(stream.integers(2, 5))
    task = QuadraticMixture.random(
        clusters=clusters, clients=4 * clusters, dimension=3, condition_number=4.0, spread=0.4,
        seed=int(stream.integers(2**31)),
    )  # fmt: skip
    start = task.pooled_optimum + stream.standard_normal((clusters, 3))
    step = float(stream.uniform(0.05, 1))
    found = run(GradientLoss(step_size=step, weight=0.0), task, rounds=6, initial=start)
    expected = run(IFCA(step_size=step, averaging="model"), task, rounds=6, initial=start)
    if not np.array_equal(found.assignments, expected.assignments):
        return math.inf
    return float(np.abs(found.models - expected.models).max())


@register("gradient-loss/equation-4-ifca", label="(4), lambda = 0", kind="identity")
def equation_4_ifca(context: Context) -> Finding:
    """With weight 0 the method is its baseline, IFCA with model averaging and one local step.

    Hypotheses
        Losses and gradients without noise, so that both see the same data; no pinning.

    Statement
        lambda = 0 gives s_i = argmin_k L_ik, hence IFCA's choices and models in every round.

    Symbols
        lambda ``weight``.

    Source
        Lin et al. (2023), (4)-(7); the baseline is reference [5]. Identity.

    Checked
        Runs of both algorithms on random quadratics from the same starts: every choice, and every
        model to 1e-10.
    """
    return judge_largest(context, distance_from_ifca, "distance of the two runs' models", trials=50)


@register("gradient-loss/loss-margin", label="(4), margin (ours)", kind="upper")
def loss_margin(context: Context) -> Finding:
    """A device never chooses a model whose loss is more than 2 lambda / (1 - lambda) above the least.

    Hypotheses
        The cosine similarity with either sign; lambda < 1.

    Statement
        L_(i, s_i) - min_k L_ik <= 2 lambda / (1 - lambda), with mean losses: 1/2 for lambda = 0.2. With the
        sum of (1) over B rows the mean loss may differ by 1 / B of that: 1/100 for B = 50.

    Symbols
        lambda ``weight``, B ``samples``, ``loss_reduction``.

    Source
        Ours. The similarities of two models differ by at most 2.

    Checked
        Second rounds of the algorithm on random regression batches, mean and summed loss, all lambda:
        the excess loss of every device's choice over 2 lambda / (1 - lambda), or over B times more.
    """
    stream = context.generator("instances")
    trials = context.number_of_trials(100)
    failures, tightest, place = 0, math.inf, (0.0, 0.0)
    for _ in range(trials):
        excess, allowed = largest_excess(stream)
        failures += not excess <= allowed * (1 + 1e-12)
        if excess > 0 and allowed / excess < tightest:
            tightest, place = allowed / excess, (excess, allowed)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest excess of the chosen model's loss against its margin, where nearest, over {trials} tasks",
        measured=place[0],
        bound=place[1],
        slack=None if math.isinf(tightest) else tightest,
        trials=trials,
        failures=failures,
    )


def largest_excess(stream: np.random.Generator) -> tuple[float, float]:
    """Largest loss of a chosen model above the least, in a second round, and what it may be."""
    clusters, rows = int(stream.integers(2, 5)), int(stream.integers(1, 20))
    task = RegressionMixture.random(
        clusters=clusters, clients=20, dimension=4, samples=rows, separation=float(stream.uniform(0.1, 2)),
        seed=int(stream.integers(2**31)),
    )  # fmt: skip
    reduction = str(stream.choice(["mean", "sum"]))
    algorithm = GradientLoss(
        step_size=0.3, weight=float(stream.uniform(0.05, 0.9)), loss_reduction=reduction,
        sign=str(stream.choice(["descent", "as-printed"])),
    )  # fmt: skip
    models, moves = stream.standard_normal((2, clusters, 4))
    clients = np.arange(task.clients)
    losses, gradients = task.losses_and_gradients(models, clients, stream)
    state = MovingState(models, None, None, moves, np.asarray(1))
    chosen = np.argmax(np.asarray(algorithm.scores(state, losses, gradients, task)), axis=-1)
    excess = losses[clients, chosen] - losses.min(axis=-1)
    margin = 2 * algorithm.weight / (1 - algorithm.weight)
    return float(excess.max()), margin / (1 if reduction == "mean" else rows)


def first_round(instance: Instance) -> tuple[Number, Number]:
    """Whether S = 0 and Delta w = w^0 make a device choose differently at t = 0: (0 or 1, 0)."""
    models = [Fraction(instance["model_0"]), Fraction(instance["model_1"])]
    center, weight = Fraction(instance["center"]), Fraction(instance["weight"])
    losses = [(w - center) ** 2 / 2 for w in models]
    alone = [score(weight, 0, loss) for loss in losses]
    from_zero = [
        score(weight, -sign(w - center) * sign(w), loss) for w, loss in zip(models, losses, strict=True)
    ]
    if alone[0] == alone[1] or from_zero[0] == from_zero[1]:
        return 0, 0
    return int(best(alone) != best(from_zero)), 0


@register("gradient-loss/equation-3-first-round", label="(2) and (3), t = 0", kind="definition",
          repaired_by="gradient-loss/equations-4-7")  # fmt: skip
def equation_3_first_round(context: Context) -> Finding:
    """In every iteration, the first included, a device compares its gradient with the last move.

    Hypotheses
        t = 0, where Algorithm 1 begins.

    Statement
        Delta w_k^(t-1) = w_k^t - w_k^(t-1) and S_ik = G_ik . Delta w_k / (|G_ik| |Delta w_k|) for t = 0, .., T - 1.

    Symbols
        t the round; ``rounds`` of the algorithm's state.

    Source
        Lin et al. (2023), (2), (3) and Algorithm 1, line 2. There is no w^(-1); (3) is 0 / 0 where a model
        did not move or a gradient vanishes, too. Read: S = 0 in all three cases, so that the first
        round is IFCA's.

    Checked
        One device and two models, exactly: whether it chooses alike with S = 0 and with w^(-1) = 0. (3) in
        floats with Delta w = 0 is not a number.
    """
    from hypothesis import strategies as st

    point = st.fractions(-2, 2, max_denominator=4)
    with np.errstate(invalid="ignore"):
        undefined = bool(np.isnan(np.float64(1.0) * np.float64(0.0) / np.float64(0.0)))
    finding = seek(
        context,
        st.fixed_dictionaries(
            {
                "center": point,
                "model_0": point,
                "model_1": point,
                "weight": st.fractions(Fraction(1, 10), Fraction(1, 2), max_denominator=10),
            }
        ),
        first_round,
        violated=lambda one, *_: (
            f"minimiser {encode(one['center'])}, models {encode(one['model_0'])} and {encode(one['model_1'])}, "
            f"lambda = {encode(one['weight'])}: the device chooses one model with S = 0 and the other with w^(-1) = 0, "
            f"and as printed (3) is {'not a number' if undefined else 'defined'}; read: S = 0"
        ),
        consistent="both readings choose the same model on every instance",
    )
    return two_readings(finding)


def rates(instance: Instance) -> tuple[Number, Number]:
    """Distance of the models after a round with alpha and with lambda as the learning rate, and 0."""
    weight, step = Fraction(instance["weight"]), Fraction(instance["step"])
    one, other = (
        exact_rounds([Fraction(0)], [Fraction(1)], weight=weight, step=rate, rounds=1)[0].after[0]
        for rate in (step, weight)
    )
    return abs(one - other), 0


@register("gradient-loss/algorithm-input", label="Algorithm 1, line 1", kind="definition",
          repaired_by="gradient-loss/equations-4-7")  # fmt: skip
def algorithm_input(context: Context) -> Finding:
    """The input of Algorithm 1 is the number of clusters, rounds and devices, and the learning rate lambda.

    Hypotheses
        None: it is a definition.

    Statement
        "Input: .. learning rate lambda, K initial cluster models": the rate of (5) is alpha, which is not
        among the inputs, and lambda is the weight of (4).

    Symbols
        lambda ``weight``, alpha ``step_size``.

    Source
        Lin et al. (2023), Algorithm 1, line 1. Read: the input is alpha and lambda, a rate and a weight.

    Checked
        One device with curvature 1 and one model, exactly: the model after a round with rate alpha and
        with rate lambda.
    """
    from hypothesis import strategies as st

    rate: Any = st.fractions(Fraction(1, 10), Fraction(1, 2), max_denominator=10)
    finding = seek(
        context,
        st.fixed_dictionaries({"weight": rate, "step": rate}),
        rates,
        violated=lambda one, measured, _: (
            f"alpha = {encode(one['step'])} and lambda = {encode(one['weight'])}: the models after one round differ by "
            f"{float(measured):.3g} with one and the other as the learning rate; read: alpha"
        ),
        consistent="both readings give the same models on every instance",
    )
    return two_readings(finding)

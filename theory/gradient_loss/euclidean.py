"""The other similarity that the text after (3) names: minus, or one over, a Euclidean distance."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import GradientLoss
from algorithms.gradient_loss import MovingState
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.gradient_loss.scalar import best, score, state_with
from theory.identities import judge_largest, two_readings
from theory.verdict import Finding


def instances() -> Any:
    """Give a device's gradients, two clusters' last average gradients, and alpha, as a strategy."""
    from hypothesis import strategies as st

    number = st.fractions(-2, 2, max_denominator=2)
    return st.fixed_dictionaries(
        {
            "own": number,
            "other": number,
            "other_average": number,
            "step": st.fractions(Fraction(1, 10), 1, max_denominator=10),
        }
    )


def printed(instance: Instance) -> tuple[Fraction, Fraction]:
    """-|G - Delta w| with a cluster whose average gradient is G, and with the other one."""
    own, other, average, step = (
        Fraction(instance[name]) for name in ("own", "other", "other_average", "step")
    )
    return -abs(own + step * own), -abs(other + step * average)


def excess(instance: Instance) -> tuple[Number, Number]:
    """By how much the other cluster beats the one that moved by the very gradient; 0 is allowed."""
    same, other = printed(instance)
    return other - same, 0


def confirm(instance: Instance, measured: float) -> None:
    """Ask the algorithm for its similarities."""
    own, other, average, step = (
        Fraction(instance[name]) for name in ("own", "other", "other_average", "step")
    )
    state = state_with([Fraction(0)] * 2, [-step * own, -step * average])
    gradients = np.array([[[float(own)], [float(other)]]])
    algorithm = GradientLoss(step_size=float(step), clusters=2, similarity="euclidean", sign="as-printed")
    found = np.asarray(algorithm.similarities(state, gradients))[0]
    confirm_equal("excess", float(found[1] - found[0]), measured)


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Tell the instance."""
    same, other = printed(instance)
    return (
        f"alpha = {encode(instance['step'])}: a device with gradient {encode(instance['own'])} has S = {encode(same)} "
        f"with the cluster whose average gradient was just that, and {encode(other)} with one where its gradient is "
        f"{encode(instance['other'])} and the average was {encode(instance['other_average'])}"
    )


@register("gradient-loss/equation-3-euclidean", label="after (3)", kind="lower", replay=replay_with(excess),
          repaired_by="gradient-loss/equation-3-euclidean-descent")  # fmt: skip
def equation_3_euclidean(context: Context) -> Finding:
    """Minus the distance of gradient and move is largest where the two agree in size and direction.

    Hypotheses
        None.

    Statement
        S_ik = -||G_ik - Delta w_k|| considers magnitude and direction: no cluster scores above one whose
        average gradient of the last round is the device's own gradient.

    Symbols
        G_ik gradient at model k, Delta w_k = -alpha times the average gradient;
        ``similarity="euclidean"``, ``sign="as-printed"``.

    Source
        Lin et al. (2023), text after (3). G has the units of a gradient and Delta w those of a model.

    Checked
        Gradients in one dimension, exactly. The found instance is put to the algorithm.
    """
    return seek(
        context,
        instances(),
        excess,
        violated=sentence,
        consistent="the agreeing cluster has the largest similarity on every instance",
        confirm=confirm,
    )


def shortfall(stream: np.random.Generator) -> float:
    """By how much another cluster beats the agreeing one, and the agreeing one misses 0."""
    models, dimension = int(stream.integers(2, 5)), int(stream.integers(1, 6))
    gradients, averages = stream.standard_normal((2, models, dimension))
    averages[0] = gradients[0]
    algorithm = GradientLoss(
        step_size=float(10 ** stream.uniform(-3, 0)), clusters=models, similarity="euclidean"
    )
    moves = -algorithm.step_size * averages
    state = MovingState(np.zeros_like(moves), None, None, moves, np.asarray(1))
    found = np.asarray(algorithm.similarities(state, gradients[None]))[0]
    return float(max(abs(found[0]), (found[1:] - found[0]).max()))


@register("gradient-loss/equation-3-euclidean-descent", label="after (3), repaired (ours)", kind="lower")
def equation_3_euclidean_descent(context: Context) -> Finding:
    """Minus the distance of the gradient from the average gradient is largest where the two agree.

    Hypotheses
        None.

    Statement
        S_ik = -||G_ik + Delta w_k / alpha|| is 0 where G_ik is the average gradient of cluster k in the
        last round, and below 0 elsewhere.

    Symbols
        alpha ``step_size``; ``similarity="euclidean"``, ``sign="descent"``.

    Source
        Ours; replaces the printed distance. Delta w_k / alpha is minus the average gradient, by
        ``gradient-loss/equation-2-descent``.

    Checked
        The algorithm's similarities for random gradients in up to 5 dimensions, alpha from 0.001 to 1.
    """
    return judge_largest(context, shortfall, "S of another cluster above the agreeing one's", trials=200)


def readings(instance: Instance) -> tuple[Number, Number]:
    """Whether -d and 1 / d make a device choose differently: (0 or 1, 0)."""
    losses = [Fraction(instance["loss_0"]), Fraction(instance["loss_1"])]
    distances = [Fraction(instance["distance_0"]), Fraction(instance["distance_1"])]
    weight = Fraction(instance["weight"])
    minus = [score(weight, -d, loss) for d, loss in zip(distances, losses, strict=True)]
    inverse = [score(weight, 1 / d, loss) for d, loss in zip(distances, losses, strict=True)]
    if minus[0] == minus[1] or inverse[0] == inverse[1]:
        return 0, 0
    return int(best(minus) != best(inverse)), 0


@register("gradient-loss/equation-3-inverse", label="after (3), inverse", kind="definition",
          repaired_by="gradient-loss/equation-3-euclidean-descent")  # fmt: skip
def equation_3_inverse(context: Context) -> Finding:
    """The inverse of the distance is the similarity, that is, minus the distance.

    Hypotheses
        None: it is a definition.

    Statement
        "treat the inverse of distance as similarity (i.e. S_ik = -d(G_ik, Delta w_k))".

    Symbols
        d the Euclidean distance, lambda ``weight``.

    Source
        Lin et al. (2023), text after (3). The words say 1 / d and the formula -d. Read: -d; 1 / d is
        infinite where gradient and move agree.

    Checked
        For losses and distances of two models, exactly: whether (4) makes the same choice with -d and
        with 1 / d. Either decreases in d, and alone they would order the clusters alike.
    """
    from hypothesis import strategies as st

    positive = st.fractions(Fraction(1, 2), 4, max_denominator=2)
    finding = seek(
        context,
        st.fixed_dictionaries(
            {
                "loss_0": positive,
                "loss_1": positive,
                "distance_0": positive,
                "distance_1": positive,
                "weight": st.fractions(Fraction(1, 10), Fraction(1, 2), max_denominator=10),
            }
        ),
        readings,
        violated=lambda one, *_: (
            f"losses {encode(one['loss_0'])} and {encode(one['loss_1'])}, distances {encode(one['distance_0'])} and "
            f"{encode(one['distance_1'])}, lambda = {encode(one['weight'])}: (4) chooses one model with -d and the "
            "other with 1 / d; read: -d"
        ),
        consistent="both readings choose the same model on every instance",
    )
    return two_readings(finding)

"""Claims on (4) and (5), on (2) and (3) in the first round, and on (7)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from clusterproof.algorithms import GradientLoss
from clusterproof.algorithms.gradient_loss import MovingState
from clusterproof.checker.claims import Q, Sides, Stream, Z, among, at_most, claim, equal, suppose
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.papers.gradient_loss.scalar import (
    POINT,
    STEP,
    WEIGHT,
    best,
    exact_rounds,
    score,
    sign,
)


@claim(
    "gradient-loss/loss-margin",
    label="(4), margin",
    source="ours",
    evaluations=100,
    expected="consistent, tight within 2",
)
def loss_margin(
    stream: Stream,
    rows: int = Z[1:19],
    weight: Fraction = Q[Fraction(1, 20) : Fraction(9, 10) : 20],
    reduction: str = among("mean", "sum"),
    sign: str = among("descent", "as-printed"),
) -> Sides:
    """A client never chooses a model whose loss is more than 2 lambda / (1 - lambda) above the smallest loss.

    Hypotheses
        The similarity is the cosine with either sign, and lambda < 1. The task is a regression with 20 clients and
        batches of ``rows`` samples.

    Statement
        L_(i, s_i) - min_k L_ik <= 2 lambda / (1 - lambda) for mean losses, which is 1/2 for lambda = 0.2. If the loss
        is the sum (1) over B samples, the mean losses differ by at most this bound divided by B, which is 1/100 for B
        = 50.

    Source
        Ours. The similarities of two models differ by at most 2.
    """
    clusters, separation, seed = int(stream.integers(2, 5)), stream.uniform(0.1, 2), stream.integers(2**31)
    task = RegressionMixture.random(
        clusters=clusters, clients=20, dimension=4, samples=rows, separation=separation, seed=int(seed)
    )
    algorithm = GradientLoss(step_size=0.3, weight=float(weight), loss_reduction=reduction, sign=sign)
    models, moves = stream.standard_normal((2, clusters, 4))
    losses, gradients = task.losses_and_gradients(models, np.arange(20), stream)
    state = MovingState(models, None, None, moves, np.asarray(1))
    chosen = np.argmax(np.asarray(algorithm.scores(state, losses, gradients, task)), axis=-1)
    excess = losses[np.arange(20), chosen] - losses.min(axis=-1)
    return at_most(excess, margin=float(2 * weight / (1 - weight) / (1 if reduction == "mean" else rows)))


@claim(
    "gradient-loss/equation-3-first-round",
    label="(2) and (3), t = 0",
    repaired_by="gradient-loss/equations-4-7",
    ill_posed=True,
    expected="ill-posed",
    headline=True,
)
def equation_3_first_round(
    center: Fraction = POINT, model_0: Fraction = POINT, model_1: Fraction = POINT, weight: Fraction = WEIGHT
) -> Sides:
    """In every iteration, also the first, a client compares its gradient with the last model change.

    Hypotheses
        t = 0, where Algorithm 1 begins.

    Statement
        Delta w_k^(t-1) = w_k^t - w_k^(t-1) and S_ik = G_ik . Delta w_k / (|G_ik| |Delta w_k|) for t = 0, .., T - 1.

    Source
        Lin et al. (2023), (2), (3) and Algorithm 1, line 2. There is no w^(-1). (3) is also 0 / 0 if a model did not
        change, or if a gradient is 0. In our reading, S = 0 in all three cases, so the first round is a round of
        IFCA.
    """
    pairs = [(w, (w - center) ** 2 / 2) for w in (model_0, model_1)]
    without = [score(weight, 0, loss) for _, loss in pairs]
    from_zero = [score(weight, -sign(w - center) * sign(w), loss) for w, loss in pairs]
    suppose("no two scores tie", without[0] != without[1] and from_zero[0] != from_zero[1])
    return equal(
        (best(without), best(from_zero)),
        words="the device chooses one model with S = 0 and the other with w^(-1) = 0, and as printed (3) is 0 / 0; "
        "read: S = 0",
    )


@claim(
    "gradient-loss/equation-5-batch",
    label="(1) and (5), batch size",
    source="ours",
    evaluations=100,
    expected="certified",
    places="(5)",
)
def equation_5_batch(
    step: Fraction = Q[Fraction(1, 10) : Fraction(19, 10) : 10], rows: int = Z[1:]
) -> dict[str, Sides]:
    """A step of (5) on the summed loss of (1) is a step on the mean loss with the learning rate alpha |Z|.

    Hypotheses
        l(w, z) = (w - z)^2 / 2, all samples equal the minimiser 0, w = 1, and 1/10 <= alpha <= 19/10.

    Statement
        w - alpha grad L with L of (1) is w - alpha |Z| grad (L / |Z|). The step does not increase the distance from
        the minimiser if and only if alpha <= 2 / |Z|, because w^2 changes by alpha |Z| (alpha |Z| - 2). So a learning
        rate for the mean must be divided by |Z| for use with the sum.

    Source
        Ours, about (1) and (5) of Lin et al. (2023). The paper states neither its batch sizes nor its learning rates.
        The algorithm uses the mean loss in the step for either ``loss_reduction``.
    """
    after = 1 - step * (rows * 1)
    (of_mean,) = exact_rounds([Fraction(0)], [Fraction(1)], step=step * rows, rounds=1)
    return {
        "step": equal((after, of_mean.after[0])),
        "not away": equal((after**2 - 1, step * rows * (step * rows - 2))),
    }


@claim(
    "gradient-loss/algorithm-line-12",
    label="Algorithm 1, line 12",
    error_kind="misprint",
    ill_posed=False,
    repaired_by="gradient-loss/equations-4-7",
    expected="violated",
    headline=(
        "Line 12 uploads the update of the previous round. On the loss x^2/2, from 1 and with "
        "learning rate 1/2, two rounds end at 1/2. By (5)-(7) they end at 1/4."
    ),
    rank=5,
)
def algorithm_line_12(center: Fraction = POINT, start: Fraction = POINT, step: Fraction = STEP) -> Sides:
    """The clients upload w_i^t, and the server averages by (7).

    Hypotheses
        There are one client and two rounds. The paper does not define w_i^0, and the check takes w_i^0 = w^0.

    Statement
        Line 11 updates the local model by (5), line 12 uploads s_i^t and w_i^t, and line 14 averages by (7). In (7),
        w_i^(t+1) is the update of iteration t. The claim is that w_i^t and w_i^(t+1) lead to the same models.

    Source
        Lin et al. (2023), Algorithm 1, line 12: "Upload s_i^t and w_i^t", but in Section II-B3 the client "transmits
        its updated FL model parameters w_i^(t+1)". Line 12 has a misprint: with w_i^0 = w^0, every second round would
        leave the models unchanged. In our reading, clients upload w_i^(t+1).
    """
    model = update = start
    for _ in range(2):  # line 12 uploads the update of the previous round
        model, update = update, model - step * (model - center)
    return equal((exact_rounds([center], [start], step=step, rounds=2)[-1].after[0], model))

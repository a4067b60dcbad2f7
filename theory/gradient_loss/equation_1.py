"""(1): the loss of a mini-batch as a sum, and what that does to (4)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import GradientLoss
from algorithms.gradient_loss import MovingState
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.gradient_loss.scalar import best, rows_task, score, sign, state_with
from theory.identities import judge_largest
from theory.verdict import Finding


def instances() -> Any:
    """Give two models, their last moves, lambda and a number of rows, as a hypothesis strategy."""
    from hypothesis import strategies as st

    point = st.fractions(-2, 2, max_denominator=4)
    move = st.sampled_from([Fraction(1), Fraction(-1)])
    return st.fixed_dictionaries(
        {
            "model_0": point,
            "model_1": point,
            "move_0": move,
            "move_1": move,
            "weight": st.fractions(Fraction(1, 10), Fraction(1, 2), max_denominator=10),
            "rows": st.integers(1, 100),
        }
    )


def scores(instance: Instance, rows: int) -> list[Fraction]:
    """Argument of (4) of the two models on ``rows`` copies of the row x = 1, y = 0, loss summed."""
    numbers = {name: Fraction(value) for name, value in instance.items()}
    models = [numbers[f"model_{k}"] for k in range(2)]
    moves = [numbers[f"move_{k}"] for k in range(2)]
    return [
        score(numbers["weight"], -sign(w) * sign(move), rows * w**2 / 2)
        for w, move in zip(models, moves, strict=True)
    ]


def changed(instance: Instance) -> tuple[Number, Number]:
    """Whether the choice on many copies of a row differs from that on one: (0 or 1, 0)."""
    one, many = scores(instance, 1), scores(instance, int(instance["rows"]))
    if any(each[0] == each[1] for each in (one, many)):
        return 0, 0
    return int(best(one) != best(many)), 0


def confirm(instance: Instance, _measured: float) -> None:
    """Ask the algorithm for its scores of the summed loss."""
    numbers = [Fraction(instance[name]) for name in ("model_0", "model_1", "move_0", "move_1")]
    for rows in (1, int(instance["rows"])):
        task = rows_task(rows)
        algorithm = GradientLoss(
            step_size=1.0, clusters=2, weight=float(instance["weight"]), loss_reduction="sum"
        )
        state = state_with(numbers[:2], numbers[2:])
        losses, gradients = task.losses_and_gradients(state.models, np.arange(1), np.random.default_rng(0))
        found = algorithm.scores(state, losses, gradients, task)[0]
        for k, expected in enumerate(scores(instance, rows)):
            confirm_equal(f"score of model {k} on {rows} rows", float(found[k]), float(expected))


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Tell the instance."""
    one, many = scores(instance, 1), scores(instance, int(instance["rows"]))
    return (
        f"lambda = {encode(instance['weight'])}: the scores of the two models are {float(one[0]):.3g} and "
        f"{float(one[1]):.3g} on one row, and {float(many[0]):.3g} and {float(many[1]):.3g} on {instance['rows']} "
        "copies of it: the similarity, which is at most 1, no longer counts"
    )


@register("gradient-loss/equation-1", label="(1) and (4)", kind="identity", replay=replay_with(changed),
          repaired_by="gradient-loss/equation-1-mean")  # fmt: skip
def equation_1(context: Context) -> Finding:
    """The weight of (4) sets how much the similarity counts against the loss of (1).

    Hypotheses
        Descent sign; lambda in [0.1, 0.5], as in Fig. 4.

    Statement
        s_i maximises lambda S_ik - (1 - lambda) L_ik, where lambda controls the importance of the two:
        the same data written down several times give the same choice.

    Symbols
        L_ik = sum over the mini-batch of l(w_k, z), S_ik cosine, lambda ``weight``; the printed sum is
        ``loss_reduction="sum"``.

    Source
        Lin et al. (2023), (1) and (4). The sum grows with the mini-batch and S_ik does not.

    Checked
        Two models in one dimension and a mini-batch of equal rows, exactly: whether the choice on many
        copies is that on one. The found scores are compared with the algorithm's.
    """
    return seek(
        context,
        instances(),
        changed,
        violated=sentence,
        consistent="no mini-batch changes the choice when it is copied",
        confirm=confirm,
    )


@register("gradient-loss/equation-1-mean", label="(1) with the mean (ours)", kind="identity")
def equation_1_mean(context: Context) -> Finding:
    """With the mean loss, a mini-batch and several copies of it give the same scores.

    Hypotheses
        None.

    Statement
        L_ik = (1 / |Z_i|) sum over Z_i of l(w_k, z) and its gradient do not change when Z_i is copied;
        lambda S_ik - (1 - lambda) L_ik, hence the choice, does not either.

    Symbols
        L_ik, S_ik and lambda as in ``gradient-loss/equation-1``; ``loss_reduction="mean"``.

    Source
        Ours; replaces the sum in (1). Identity.

    Checked
        Scores of the algorithm on random regression batches, both similarities and both signs, and on
        two to fifty copies of the same batches, to 1e-10.
    """
    return judge_largest(context, copied_scores, "change of a score when the batch is copied", trials=100)


def copied_scores(stream: np.random.Generator) -> float:
    """Largest change of the algorithm's scores when a random batch is copied."""
    models, dimension = int(stream.integers(2, 5)), int(stream.integers(1, 6))
    algorithm = GradientLoss(
        step_size=float(stream.uniform(0.1, 1)),
        clusters=models,
        weight=float(stream.uniform(0, 1)),
        similarity=str(stream.choice(["cosine", "euclidean"])),
        sign=str(stream.choice(["descent", "as-printed"])),
    )
    features = stream.standard_normal((int(stream.integers(1, 8)), dimension))
    targets = stream.standard_normal(len(features))
    points, moves = stream.standard_normal((2, models, dimension))
    copies = int(stream.integers(2, 51))
    state = MovingState(points, np.arange(1), np.zeros(1, dtype=int), moves, np.asarray(1))
    found = []
    for count in (1, copies):
        x, y = np.tile(features, (count, 1)), np.tile(targets, count)
        residuals = points @ x.T - y
        task = rows_task(len(y))
        losses = (residuals**2).mean(axis=1)[None] / 2
        gradients = (residuals @ x / len(y))[None]
        found.append(algorithm.scores(state, losses, gradients, task))
    return float(np.abs(found[0] - found[1]).max())

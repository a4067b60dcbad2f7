"""(2): the last move of a cluster's model, and what it is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import GradientLoss, Randomness, run
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.gradient_loss.scalar import confirm_rounds, exact_rounds
from theory.identities import judge_largest
from theory.verdict import Finding


def instances() -> Any:
    """Give a cluster of two devices, its model and a learning rate, as a hypothesis strategy."""
    from hypothesis import strategies as st

    point = st.fractions(-2, 2, max_denominator=2)
    return st.fixed_dictionaries(
        {
            "first": point,
            "second": point,
            "start": point,
            "step": st.fractions(Fraction(1, 10), 1, max_denominator=10),
        }
    )


def move_and_gradient(instance: Instance) -> tuple[Fraction, Fraction]:
    """Delta w of the first round of one cluster, and the mean gradient of its devices."""
    first, second, start, step = (Fraction(instance[name]) for name in ("first", "second", "start", "step"))
    one = exact_rounds([first, second], [start], weight=Fraction(1, 5), step=step, rounds=1)[0]
    return one.after[0] - one.before[0], start - (first + second) / 2


def missed(instance: Instance) -> tuple[Number, Number]:
    """|Delta w - mean gradient|, and 0."""
    move, gradient = move_and_gradient(instance)
    return abs(move - gradient), 0


def confirm(instance: Instance, _measured: float) -> None:
    """Run the algorithm on the two devices."""
    first, second, start, step = (Fraction(instance[name]) for name in ("first", "second", "start", "step"))
    weight = Fraction(1, 5)
    history = exact_rounds([first, second], [start], weight=weight, step=step, rounds=1)
    confirm_rounds([first, second], [start], history, weight=weight, step=step)
    move, _ = move_and_gradient(instance)
    confirm_equal("Delta w", float(history[0].after[0] - history[0].before[0]), float(move))


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Tell the instance."""
    move, gradient = move_and_gradient(instance)
    return (
        f"devices with minimisers {encode(instance['first'])} and {encode(instance['second'])}, model "
        f"{encode(instance['start'])}, alpha = {encode(instance['step'])}: the average gradient is "
        f"{encode(gradient)} and Delta w = {encode(move)} = -alpha times it: wrong sign and wrong scale"
    )


@register("gradient-loss/equation-2", label="(2)", kind="identity", replay=replay_with(missed),
          repaired_by="gradient-loss/equation-2-descent")  # fmt: skip
def equation_2(context: Context) -> Finding:
    """The last move of a cluster's model is the average gradient of its devices.

    Hypotheses
        The models are updated by (5) and (7).

    Statement
        Delta w_k^(t-1) = w_k^t - w_k^(t-1) is the average gradient of all devices in cluster k at
        iteration t - 1.

    Symbols
        alpha ``step_size``; Delta w ``moves`` of the algorithm's state.

    Source
        Lin et al. (2023), (2) and the sentence after it.

    Checked
        One cluster of two devices in one dimension, exactly: the move against the mean gradient. The
        found instance is run.
    """
    return seek(
        context,
        instances(),
        missed,
        violated=sentence,
        consistent="the move is the average gradient on every instance",
        confirm=confirm,
    )


def distance_of_moves(stream: np.random.Generator) -> float:
    """Largest distance of a recorded move from -alpha times the members' mean gradient, over a run."""
    clusters = int(stream.integers(1, 4))
    task = QuadraticMixture.random(
        clusters=clusters, clients=9, dimension=int(stream.integers(1, 5)), spread=0.5,
        seed=int(stream.integers(2**31)),
    )  # fmt: skip
    algorithm = GradientLoss(step_size=float(stream.uniform(0.05, 1)), weight=float(stream.uniform(0, 1)))
    state = algorithm.initialise(task.initial_models(clusters, (), stream), task)
    randomness, worst = Randomness.from_seed(0), 0.0
    for _ in range(5):
        before = np.array(state.models)
        state = algorithm.step(state, task, randomness)
        for k in range(clusters):
            members = np.flatnonzero(np.asarray(state.assignments) == k)
            gradients = np.einsum("nij,nj->ni", task.hessians[members], before[k] - task.centers[members])
            expected = -algorithm.step_size * gradients.mean(axis=0) if len(members) else 0 * before[k]
            worst = max(worst, float(np.abs(np.array(state.moves)[k] - expected).max()))
    return worst


@register("gradient-loss/equation-2-descent", label="(2) with its sign (ours)", kind="identity")
def equation_2_descent(context: Context) -> Finding:
    """The last move of a cluster's model is minus the learning rate times the average gradient.

    Hypotheses
        One local step, (5), and the uniform average (7).

    Statement
        w_k^t - w_k^(t-1) = -alpha (1 / |M_k|) sum over M_k of grad L_ik^(t-1); 0 where M_k is empty.

    Symbols
        alpha ``step_size``, M_k the devices that chose k.

    Source
        Ours; (5) inserted into (7). Identity.

    Checked
        The moves that the algorithm keeps against plain loops over its members, every round of runs
        on random quadratics, to 1e-10.
    """
    return judge_largest(context, distance_of_moves, "distance of a move from -alpha mean G", trials=50)


def plain_rounds(
    task: QuadraticMixture, algorithm: GradientLoss, start: np.ndarray, rounds: int
) -> tuple[list[np.ndarray], list[list[int]]]:
    """Models and choices by loops over (1)-(7), one device and one model at a time, mean loss."""
    models, before = [start], None
    choices: list[list[int]] = []
    for _ in range(rounds):
        now = models[-1]
        chosen, points = [], []
        for hessian, center in zip(task.hessians, task.centers, strict=True):
            scores = []
            for k, w in enumerate(now):
                gradient = hessian @ (w - center)
                loss = 0.5 * (w - center) @ gradient
                similarity = 0.0
                if before is not None:
                    move = w - before[k]
                    if algorithm.sign == "descent":
                        move = -move
                    length = np.linalg.norm(gradient) * np.linalg.norm(move)
                    similarity = gradient @ move / length if length > 0 else 0.0
                scores.append(algorithm.weight * similarity + (1 - algorithm.weight) * -loss)
            chosen.append(int(np.argmax(scores)))
            w = now[chosen[-1]]
            points.append(w - algorithm.step_size * hessian @ (w - center))
        members = [[p for p, c in zip(points, chosen, strict=True) if c == k] for k in range(len(now))]
        after = [np.mean(each, axis=0) if each else now[k] for k, each in enumerate(members)]
        models.append(np.stack(after))
        choices.append(chosen)
        before = now
    return models, choices


def distance_of_runs(stream: np.random.Generator) -> float:
    """Largest distance of a run's models from the loops', infinite where a choice differs."""
    clusters = int(stream.integers(1, 4))
    task = QuadraticMixture.random(
        clusters=clusters, clients=6, dimension=int(stream.integers(2, 4)), spread=0.5, condition_number=3.0,
        seed=int(stream.integers(2**31)),
    )  # fmt: skip
    algorithm = GradientLoss(
        step_size=float(stream.uniform(0.05, 1)),
        weight=float(stream.uniform(0, 1)),
        sign=str(stream.choice(["descent", "as-printed"])),
    )
    start = task.pooled_optimum + stream.standard_normal((clusters, task.dimension))
    trace = run(algorithm, task, rounds=4, initial=start)
    models, choices = plain_rounds(task, algorithm, start, 4)
    if not np.array_equal(trace.assignments, choices):
        return float("inf")
    return float(np.abs(trace.models - np.stack(models)).max())


@register("gradient-loss/equations-4-7", label="(4)-(7)", kind="definition")
def equations_4_7(context: Context) -> Finding:
    """A round is the devices' choice, one gradient step of each, and the mean of each cluster.

    Hypotheses
        The mean loss for the sum in (1); the devices of a cluster, M_k, are those that chose it in
        this round; a cluster without devices keeps its model.

    Statement
        s_i = argmax_k (lambda S_ik - (1 - lambda) L_ik); w_i = w_(s_i) - alpha grad L_(i s_i);
        M_k = {i : s_i = k}; w_k = (1 / |M_k|) sum over M_k of w_i.

    Symbols
        lambda ``weight``, alpha ``step_size``.

    Source
        Lin et al. (2023), (4)-(7). Definition. S_ik by (3) with either sign, and 0 where (3) is 0 / 0.

    Checked
        Runs of the algorithm on random quadratics against plain loops: every choice, and every model
        to 1e-10.
    """
    return judge_largest(context, distance_of_runs, "distance of a run's models from the loops'", trials=50)

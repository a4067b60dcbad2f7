"""(3): the printed cosine scores the own cluster worst, the cosine with the descent best."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import GradientLoss, Randomness
from algorithms.gradient_loss import MovingState
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.gradient_loss.scalar import exact_rounds, scalar_task, sign
from theory.identities import judge_largest
from theory.verdict import Finding, Kind

CENTERS = (Fraction(-1), Fraction(1))


def instances() -> Any:
    """Give starts of two models next to their devices' minimisers -1 and 1, and a learning rate."""
    from hypothesis import strategies as st

    start = st.fractions(-1, 1, max_denominator=4)
    return st.fixed_dictionaries(
        {
            "start_0": start.map(lambda x: CENTERS[0] + x / 2),
            "start_1": start.map(lambda x: CENTERS[1] + x / 2),
            "step": st.fractions(Fraction(1, 10), Fraction(1, 2), max_denominator=10),
        }
    )


def printed_similarities(instance: Instance) -> list[list[int]]:
    """S_ik by (3) as printed in the second round, one row a device; none where (3) is 0 / 0 or a choice wrong."""
    starts = [Fraction(instance["start_0"]), Fraction(instance["start_1"])]
    one = exact_rounds(CENTERS, starts, weight=Fraction(1, 5), step=Fraction(instance["step"]), rounds=1)[0]
    if one.choices != (0, 1) or one.tied:
        return []
    found = [
        [sign(w - center) * sign(w - old) for w, old in zip(one.after, one.before, strict=True)]
        for center in CENTERS
    ]
    return found if all(map(all, found)) else []


def excess(instance: Instance) -> tuple[Number, Number]:
    """Largest S of another cluster minus S of the own cluster, and 0."""
    found = printed_similarities(instance)
    return max((found[i][1 - i] - found[i][i] for i in range(len(found))), default=0), 0


def confirm(instance: Instance, measured: float) -> None:
    """Ask the algorithm for its similarities after one round."""
    algorithm = GradientLoss(step_size=float(instance["step"]), sign="as-printed")
    task = scalar_task(CENTERS)
    initial = np.array([[float(instance["start_0"])], [float(instance["start_1"])]])
    found = similarities_after_a_round(algorithm, task, initial)[0]
    confirm_equal("excess", max(found[0, 1] - found[0, 0], found[1, 0] - found[1, 1]), measured)


def similarities_after_a_round(
    algorithm: GradientLoss, task: QuadraticMixture, initial: np.ndarray
) -> tuple[np.ndarray, MovingState]:
    """S_ik of the second round, (m, K), and the state in which it is taken."""
    state = algorithm.step(algorithm.initialise(initial, task), task, Randomness.from_seed(0))
    clients = np.arange(task.clients)
    _, gradients = task.losses_and_gradients(np.array(state.models), clients, np.random.default_rng(0))
    return np.asarray(algorithm.similarities(state, gradients)), state


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Tell the instance."""
    found = printed_similarities(instance)
    device = max(range(2), key=lambda i: found[i][1 - i] - found[i][i])
    return (
        f"devices with minimisers -1 and 1, models {encode(instance['start_0'])} and {encode(instance['start_1'])}, "
        f"alpha = {encode(instance['step'])}: both choose rightly, and in the next round device {device} has S = "
        f"{found[device][device]} with its own cluster and {found[device][1 - device]} with the other"
    )


@register("gradient-loss/equation-3", label="(3)", kind="lower", replay=replay_with(excess),
          repaired_by="gradient-loss/equation-3-descent")  # fmt: skip
def equation_3(context: Context) -> Finding:
    """The printed similarity of a device's gradient with the last move is largest in its own cluster.

    Hypotheses
        All devices chose rightly in the last round; no noise; equal curvatures.

    Statement
        S_ik = G_ik . Delta w_k / (|G_ik| |Delta w_k|) is at its largest for the device's cluster k, which
        is why (4) maximises it.

    Symbols
        G_ik gradient at model k, Delta w_k = w_k^t - w_k^(t-1); ``sign="as-printed"``.

    Source
        Lin et al. (2023), (3) and (4). Delta w points against the gradients: see
        ``gradient-loss/equation-2``.

    Checked
        Two devices in one dimension, one a cluster, exactly: S of the other cluster minus S of the own
        one in the second round. The found instance is put to the algorithm.
    """
    return seek(
        context,
        instances(),
        excess,
        violated=sentence,
        consistent="the own cluster has the largest similarity on every instance",
        confirm=confirm,
    )


def random_start(
    stream: np.random.Generator, condition_number: float
) -> tuple[QuadraticMixture, np.ndarray, float]:
    """Draw a noiseless mixture, models inside the basins of their clusters, and a learning rate."""
    clusters, dimension = int(stream.integers(2, 5)), int(stream.integers(1, 7))
    task = QuadraticMixture.random(
        clusters=clusters, clients=3 * clusters, dimension=dimension,
        condition_number=condition_number if dimension > 1 else 1.0, seed=int(stream.integers(2**31)),
    )  # fmt: skip
    return task, task.initial_models(clusters, (), stream), float(stream.uniform(0.05, 0.95))


def distance_from_worst(stream: np.random.Generator) -> float:
    """Largest |S_true + 1| over the devices, with the printed sign."""
    task, initial, step = random_start(stream, 1.0)
    found, state = similarities_after_a_round(GradientLoss(step_size=step, sign="as-printed"), task, initial)
    if not np.array_equal(np.asarray(state.assignments), task.labels):
        return float("inf")
    return float(np.abs(found[np.arange(task.clients), task.labels] + 1).max())


@register("gradient-loss/equation-3-worst", label="(3) as printed (ours)", kind="identity")
def equation_3_worst(context: Context) -> Finding:
    """Without noise the printed similarity of a device with its own cluster is -1, the least there is.

    Hypotheses
        The devices of a cluster have one minimiser and the Hessian a I, alpha a < 1; all chose rightly
        in the last round, whose models were not yet at rest.

    Statement
        S_(i, true) = -1 = min over all vectors of the cosine.

    Symbols
        S_ik of (3) with ``sign="as-printed"``, alpha ``step_size``.

    Source
        Ours. Delta w = -alpha a (w - b), and the next gradient a (1 - alpha a)(w - b) is parallel to it.

    Checked
        |S_(i, true) + 1| of every device after one round of the algorithm on random noiseless mixtures
        of 2 to 4 clusters in up to 6 dimensions, to 1e-12.
    """
    return judge_largest(
        context, distance_from_worst, "|S_true + 1| of a device", trials=100, tolerance=1e-12
    )


def kantorovich(smallest: float, largest: float) -> float:
    """Least cosine of v and M v, over all v, for a symmetric M with eigenvalues in a positive range."""
    return 2 * math.sqrt(smallest * largest) / (smallest + largest)


@register("gradient-loss/equation-3-descent", label="(3) with its sign (ours)", kind="lower")
def equation_3_descent(context: Context) -> Finding:
    """With the descent sign the own cluster's similarity is near its largest value, 1.

    Hypotheses
        As ``gradient-loss/equation-3-worst``, but any Hessian with eigenvalues in [mu, L], the same
        for the devices of a cluster; alpha L < 1.

    Statement
        cos(-G_ik, Delta w_k) >= 2 sqrt(r s) / (r + s) with r = 1 - alpha L and s = 1 - alpha mu for the
        device's own cluster: exactly 1 where L = mu, and then no cluster scores higher.

    Symbols
        ``sign="descent"``; alpha ``step_size``, L ``smoothness``, mu ``strong_convexity``.

    Source
        Ours; replaces (3). With e = w - b, Delta w = -alpha A e and the next gradient (I - alpha A) A e:
        Kantorovich's inequality for I - alpha A.

    Checked
        S_(i, true) of every device after one round of the algorithm on random noiseless mixtures, equal
        curvatures in every second.
    """
    stream = context.generator("instances")
    trials = context.number_of_trials(100)
    failures, tightest, place = 0, math.inf, (1.0, 1.0)
    for trial in range(trials):
        condition = 1.0 if trial % 2 else float(10 ** stream.uniform(0, 1.5))
        task, initial, step = random_start(stream, condition)
        found, _ = similarities_after_a_round(GradientLoss(step_size=step), task, initial)
        own = float(found[np.arange(task.clients), task.labels].min())
        allowed = kantorovich(1 - step * task.smoothness, 1 - step * task.strong_convexity)
        failures += not own >= allowed - 1e-12
        if own - allowed < tightest:
            tightest, place = own - allowed, (own, allowed)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"least similarity of a device with its own cluster against 2 sqrt(rs) / (r + s), where they are "
        f"nearest, over {trials} mixtures",
        measured=place[0],
        bound=place[1],
        trials=trials,
        failures=failures,
    )

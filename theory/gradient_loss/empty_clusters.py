"""(7) and Section II-C: clusters without devices."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import GradientLoss, run
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.gradient_loss.scalar import confirm_rounds, exact_rounds, scalar_task
from theory.verdict import Finding, Kind

WEIGHT = Fraction(1, 5)
ROUNDS = 8


def readings_of_the_rule(rounds: int, seed: int) -> dict[str, np.ndarray]:
    """Models after some rounds with each rule, from two models of which the second is far away."""
    task = scalar_task([Fraction(-1), Fraction(-1), Fraction(1), Fraction(1)])
    ends = {}
    for rule in ("never", "when-empty", "always"):
        algorithm = GradientLoss(step_size=0.5, weight=float(WEIGHT), empty_cluster=rule)
        trace = run(algorithm, task, rounds=rounds, seed=seed, initial=np.array([[0.0], [10.0]]))
        ends[rule] = trace.models[-1, :, 0]
    return ends


@register("gradient-loss/equation-7-empty", label="(7), empty cluster", kind="definition",
          repaired_by="gradient-loss/pinning")  # fmt: skip
def equation_7_empty(context: Context) -> Finding:
    """The model of each cluster is the mean of the models of its devices.

    Hypotheses
        Some cluster has no device, which Section II-C grants.

    Statement
        w_k^(t+1) = (1 / |M_k|) sum over M_k of w_i^(t+1), for all k.

    Symbols
        M_k the devices that chose k; ``empty_cluster``.

    Source
        Lin et al. (2023), (7). With |M_k| = 0 it is 0 / 0. Read: the model stays, as Section II-C says of
        such a cluster, unless devices are pinned to it.

    Checked
        Four devices choose the first of two models: (7) in floats gives no number for the second, keeping
        it gives 10, and pinning a device moves it.
    """
    ends = readings_of_the_rule(1, context.seed)
    with np.errstate(invalid="ignore"):
        printed = np.float64(0.0) / np.float64(0.0)
    differs = bool(np.isnan(printed)) and ends["never"][1] != ends["when-empty"][1]
    return Finding(
        verdict=Kind.ILL_POSED if differs else Kind.CONSISTENT,
        reason=f"for a cluster without devices (7) is {printed}; keeping its model leaves it at "
        f"{ends['never'][1]:g}, pinning a device moves it to {ends['when-empty'][1]:g}; read: it stays",
        measured=float(abs(ends["never"][1] - ends["when-empty"][1])),
        bound=0.0,
    )


@register("gradient-loss/empty-cluster-rule", label="Section II-C", kind="definition",
          repaired_by="gradient-loss/pinning")  # fmt: skip
def empty_cluster_rule(context: Context) -> Finding:
    """K random devices are allocated, one to each cluster, so that no cluster is empty.

    Hypotheses
        None: it is a definition.

    Statement
        "we can randomly select K devices and allocate one device to one cluster .. we only need to make
        sure that each cluster will have one device per FL training iteration".

    Symbols
        K the number of clusters; ``empty_cluster``.

    Source
        Lin et al. (2023), Section II-C. In which rounds, before or after the vote, and whether purity
        counts the allocated or the voted cluster, is not said; the baseline is not said to have it. Read:
        after the vote, in rounds in which a cluster is empty (``"when-empty"``) or in all
        (``"always"``), and purity is that of the votes.

    Checked
        Models after 20 rounds under both rules on four devices and two models.
    """
    ends = readings_of_the_rule(20, context.seed)
    distance = float(np.abs(ends["when-empty"] - ends["always"]).max())
    return Finding(
        verdict=Kind.ILL_POSED if distance > 1e-6 else Kind.CONSISTENT,
        reason=f"after 20 rounds the models of the rule in rounds with an empty cluster and of the rule in all rounds "
        f"differ by {distance:.3g}: pinning in all rounds keeps training on wrong devices; read: both are options",
        measured=distance,
        bound=0.0,
    )


def devices(instance: Instance) -> tuple[list[Fraction], list[Fraction], Fraction]:
    """Minimisers, starts and step of an instance."""
    centers = [Fraction(-1)] * int(instance["left"]) + [Fraction(1)] * int(instance["right"])
    starts = [Fraction(instance["start_0"]), Fraction(instance["start_1"])]
    return centers, starts, Fraction(instance["step"])


def returns(instance: Instance) -> tuple[Number, Number]:
    """How many devices choose a model in a round after one in which it had none, and 0."""
    centers, starts, step = devices(instance)
    history = exact_rounds(centers, starts, weight=WEIGHT, step=step, rounds=ROUNDS)
    empty: set[int] = set()
    back = 0
    for one in history:
        if one.tied:
            break
        back = max(back, sum(choice in empty for choice in one.choices))
        empty |= set(range(len(starts))) - set(one.choices)
    return back, 0


def confirm(instance: Instance, _measured: float) -> None:
    """Run the algorithm."""
    centers, starts, step = devices(instance)
    history = exact_rounds(centers, starts, weight=WEIGHT, step=step, rounds=ROUNDS)
    confirm_rounds(centers, starts, history, weight=WEIGHT, step=step)


@register("gradient-loss/empty-for-good", label="Section II-C, cause", kind="upper", replay=replay_with(returns),
          repaired_by="gradient-loss/pinning")  # fmt: skip
def empty_for_good(context: Context) -> Finding:
    """A cluster that has no device in one iteration is not chosen in the following ones.

    Hypotheses
        Two models, devices with minimisers -1 and 1, lambda = 0.2, no pinning, no ties.

    Statement
        When a model is not updated, the device will not select its cluster in the following iterations;
        the number of clusters is reduced.

    Symbols
        alpha ``step_size``, lambda ``weight``.

    Source
        Lin et al. (2023), Section II-C.

    Checked
        Exactly, in one dimension: devices that return to a model that had none, within 8 rounds. The
        found run is compared with the algorithm's.
    """
    from hypothesis import strategies as st

    start: Any = st.fractions(-4, 4, max_denominator=2)
    instances = st.fixed_dictionaries(
        {
            "left": st.integers(1, 4),
            "right": st.integers(1, 4),
            "start_0": start,
            "start_1": start,
            "step": st.sampled_from([Fraction(1, 2), Fraction(1, 4), Fraction(1)]),
        }
    )
    return seek(
        context,
        instances,
        returns,
        violated=lambda one, measured, _: (
            f"{one['left']} device(s) with minimiser -1 and {one['right']} with 1, models {encode(one['start_0'])} and "
            f"{encode(one['start_1'])}, alpha = {encode(one['step'])}: one model has no device in some round and "
            f"{measured} later, since the other model moved away from them"
        ),
        consistent="no device returned to a model that had none",
        confirm=confirm,
    )


@register("gradient-loss/pinning", label="Section II-C (ours)", kind="identity")
def pinning(context: Context) -> Finding:
    """With pinning in rounds with an empty cluster, every model is trained in every round.

    Hypotheses
        At least K participants; the gradients of the devices at the models do not vanish.

    Statement
        Where some cluster has nobody after the vote, K distinct random devices are sent to clusters 1 ..
        K, one to each: no cluster is empty, and every model moves.

    Symbols
        K ``clusters``; ``empty_cluster="when-empty"``.

    Source
        Ours; the rule of Section II-C with its gaps filled.

    Checked
        Rounds of runs on random quadratics, started with one model far from all devices, in which some
        model stood still.
    """
    stream = context.generator("instances")
    trials = context.number_of_trials(40)
    failures = rescued = 0
    for _ in range(trials):
        clusters = int(stream.integers(2, 5))
        task = QuadraticMixture.random(
            clusters=clusters, clients=3 * clusters, dimension=3, spread=0.5, seed=int(stream.integers(2**31))
        )
        initial = task.pooled_optimum + stream.standard_normal((clusters, 3))
        initial[-1] += 50.0
        algorithm = GradientLoss(step_size=float(stream.uniform(0.1, 0.9)), empty_cluster="when-empty")
        trace = run(algorithm, task, rounds=8, seed=int(stream.integers(2**31)), initial=initial)
        moved = np.abs(np.diff(trace.models, axis=0)).max(axis=-1) > 0
        failures += not moved.all()
        rescued += sum(len(np.unique(chosen)) < clusters for chosen in trace.assignments)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"runs in which a model stood still; {rescued} of {8 * trials} rounds had an empty cluster",
        measured=float(failures),
        bound=0.0,
        trials=trials,
        failures=failures,
    )

"""(12)-(16): the first steps of the convergence argument for model averaging."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from algorithms import CFLMGD, run
from synthetic import QuadraticMixture
from theory.alike_clients import AlikeClients, alike, confirm_next, defined, run_alike, spell
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.random_tasks import random_mixture
from theory.verdict import Finding, Kind


def shifted_formula(one: AlikeClients) -> Fraction:
    """Right side of (12), first line: e_t - eta a e_(t-1) + beta (chi^(t-1) - chi^(t-2))."""
    t = one.round
    return one.error(t) - one.curvature * one.error(t - 1) + one.momentum * one.move(t - 1)


def evaluate_12(instance: Instance) -> tuple[Number, Number]:
    """Distance of the two sides of (12), and 0."""
    one = AlikeClients(instance)
    return abs(abs(one.error(one.round + 1)) - abs(shifted_formula(one))), Fraction(0)


def confirm_12(instance: Instance, measured: float) -> None:
    """Confirm the left side by a run; the right one is arithmetic on the same run."""
    t, beta = int(instance["round"]), float(instance["momentum"])
    e = [run_alike(instance, max(k, 0)) for k in (t + 1, t, t - 1, t - 2)]
    right = e[1] - float(instance["curvature"]) * e[2] + beta * (e[2] - e[3])
    confirm_equal("(12)", abs(abs(e[0]) - abs(right)), measured)


@register("cfl-mgd/equation-12", label="(12)", kind="identity", replay=replay_with(evaluate_12),
          repaired_by="cfl-mgd/equation-12-shifted")  # fmt: skip
def equation_12(context: Context) -> Finding:
    """The averaged model moves by the gradient and the momentum of the round before.

    Hypotheses
        Option II, L-smooth losses, no noise; chi^(-1) = chi^0.

    Statement
        ||chi_p^(t+1) - chi*|| = ||mean chi_i^t - eta mean grad phi_i(chi_i^(t-1))
        + beta mean (chi_i^(t-1) - chi_i^(t-2)) - chi*||, means over C_p.

    Symbols
        eta ``step_size``, beta ``momentum``.

    Source
        Zhao et al. (2023), (12), first line; its second is the triangle inequality. By (7) the
        gradient is at chi_i^t and the momentum chi_i^t - chi_i^(t-1): ``cfl-mgd/equation-12-shifted``.

    Checked
        On equal scalar clients with one local step in rational arithmetic; hypothesis finds the
        simplest difference of the two sides, and option II is run on it.
    """
    return seek(
        context, alike(), evaluate_12, violated=spell("the two sides of (12) differ by"),
        consistent="the two sides agree", confirm=confirm_12,
    )  # fmt: skip


@register("cfl-mgd/equation-12-shifted", label="(12), as meant", kind="identity")
def equation_12_shifted(context: Context) -> Finding:
    """With one local step the mean model moves by the mean gradient and its own momentum.

    Hypotheses
        Option II, H = 1, full participation, no client changes its cluster; chi^(-1) = chi^0.

    Statement
        chi_p^(t+1) = chi_p^t - eta mean grad phi_i(chi_p^t) + beta (chi_p^t - chi_p^(t-1)), hence
        ||chi_p^(t+1) - chi*|| <= ||chi_p^t - chi*|| + eta ||mean grad|| + beta ||chi_p^t - chi_p^(t-1)||.
        For H > 1: ``cfl-mgd/model-averaging-recursion``.

    Symbols
        eta ``step_size``, beta ``momentum``, H ``local_steps``.

    Source
        Zhao et al. (2023), (12) with the indices of (7). Identity.

    Checked
        Runs of option II on random quadratics, a Hessian and a centre for each client, against the
        recursion at every round.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(60)
    worst, failures = 0.0, 0
    for _ in range(trials):
        clients, dimension = int(stream.integers(2, 7)), int(stream.integers(1, 5))
        roots = stream.standard_normal((clients, dimension, dimension))
        hessians = 0.1 * np.eye(dimension) + roots @ np.swapaxes(roots, -1, -2) / (4 * dimension)
        hessians = (hessians + np.swapaxes(hessians, -1, -2)) / 2
        centers = stream.standard_normal((clients, dimension))
        task = QuadraticMixture(hessians=hessians, centers=centers, labels=np.zeros(clients, dtype=int))
        step, momentum = float(stream.uniform(0.1, 1) / task.smoothness), float(stream.uniform(0, 0.9))
        algorithm = CFLMGD(step_size=step, momentum=momentum, averaging="model")
        models = run(algorithm, task, rounds=8, initial=stream.standard_normal((1, dimension))).models[:, 0]
        before, now = models[0], models[0]
        for model in models[1:]:
            gradient = sum(a @ (now - c) for a, c in zip(hessians, centers, strict=True)) / clients
            before, now = now, now - step * gradient + momentum * (now - before)
            distance = float(np.abs(now - model).max())
            worst = max(worst, distance)
            failures += not distance <= 1e-9
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest distance of option II with H = 1 from the recursion over {trials} tasks and 8 rounds",
        measured=worst,
        bound=1e-9,
        trials=trials,
        failures=failures,
    )


def evaluate_13(instance: Instance) -> tuple[Number, Number]:
    """Last line of (12) and right side of (13) for two clients at c_1, c_2, all models at chi."""
    chi, first, second = (Fraction(instance[name]) for name in ("model", "first", "second"))
    distance = abs(chi - (first + second) / 2)
    return distance + (abs(chi - first) + abs(chi - second)) / 2, distance + distance


def confirm_13(instance: Instance, measured: float) -> None:
    """Confirm the gradients on the task itself."""
    centers = np.array([[float(instance["first"])], [float(instance["second"])]])
    task = QuadraticMixture(hessians=np.ones((2, 1, 1)), centers=centers, labels=np.zeros(2, dtype=int))
    models = np.full((2, 1), float(instance["model"]))
    gradients = task.gradients(models, np.arange(2), np.random.default_rng(0))
    distance = abs(float(instance["model"]) - float(task.optima[0, 0]))
    confirm_equal("(13)", distance + float(np.abs(gradients).mean()), measured)


@register("cfl-mgd/equation-13", label="(13)", kind="upper", replay=replay_with(evaluate_13),
          repaired_by="cfl-mgd/equation-13-lipschitz")  # fmt: skip
def equation_13(context: Context) -> Finding:
    """What (12) ends with is at most the same with L times the distance for the gradient's norm.

    Hypotheses
        Each phi_i is L-smooth; chi*_p minimises the mean of the phi_i.

    Statement
        eta mean ||grad phi_i(chi_i^(t-1))|| <= eta L mean ||chi_i^(t-1) - chi*_p||, the other terms of
        (12) and (13) being the same.

    Symbols
        eta ``step_size``, L ``smoothness``; means over C_p.

    Source
        Zhao et al. (2023), the step from (12) to (13). Upper bound. It needs grad phi_i(chi*_p) = 0 for
        every client: ``cfl-mgd/equation-13-lipschitz``. The end of (13) alone is not refuted by equal
        clients: there |e_(t+1)| <= |e_t| + a |e_(t-1)| + beta |chi^(t-1) - chi^(t-2)| for a <= 1.

    Checked
        Two scalar clients with different minimisers, eta = L = 1, in a first round from chi, where
        chi^(-1) = chi^0 makes the momentum terms vanish; hypothesis finds the simplest.
    """
    from hypothesis import strategies as st

    place = st.fractions(-2, 2, max_denominator=2)
    return seek(
        context, st.fixed_dictionaries({"model": place, "first": place, "second": place}), evaluate_13,
        violated=lambda instance, measured, allowed: (
            f"phi_i = (chi - c_i)^2 / 2, c = ({encode(instance['first'])}, {encode(instance['second'])}), both models "
            f"at {encode(instance['model'])}, eta = L = 1: |e| + mean |grad phi_i| = {float(measured):g} > "
            f"2 |e| = {float(allowed):g}"
        ),
        consistent="the step holds", confirm=confirm_13,
    )  # fmt: skip


@register("cfl-mgd/equation-13-lipschitz", label="(13), as meant", kind="upper")
def equation_13_lipschitz(context: Context) -> Finding:
    """A client's gradient is at most L times the distance plus its norm at the cluster's optimum.

    Hypotheses
        phi_i is L_i-smooth; chi* is any point.

    Statement
        ||grad phi_i(chi)|| <= L_i ||chi - chi*|| + ||grad phi_i(chi*)||; the last term is absent where
        all clients of a cluster have the same expected loss.

    Symbols
        L_i largest curvature of client i.

    Source
        Ours on Zhao et al. (2023), (13). Upper bound, attained along the steepest direction.

    Checked
        Random quadratics with scattered clients, and the clusters' expected losses of regression
        and logistic tasks, where the last term vanishes.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(60)
    worst = 0.0
    for _ in range(trials):
        task = random_mixture(stream)
        steps = stream.standard_normal((40, task.dimension))
        for cluster, optimum in enumerate(task.optima):
            norms = np.linalg.norm(task.expected_gradient(optimum + steps, cluster), axis=-1)
            worst = max(worst, float((norms / (task.smoothness * np.linalg.norm(steps, axis=-1))).max()))
        if isinstance(task, QuadraticMixture):
            client = int(stream.integers(task.clients))
            optimum, steep = (
                task.optima[task.labels[client]],
                float(np.linalg.eigvalsh(task.hessians[client]).max()),
            )
            rest = float(np.linalg.norm(task.hessians[client] @ (optimum - task.centers[client])))
            norms = np.linalg.norm((optimum + steps - task.centers[client]) @ task.hessians[client], axis=-1)
            worst = max(worst, float((norms / (steep * np.linalg.norm(steps, axis=-1) + rest)).max()))
    failures = int(worst > 1 + 1e-9)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest gradient over the bound, {trials} tasks",
        measured=worst,
        bound=1.0,
        slack=1 / worst,
        trials=trials,
        failures=failures,
    )


def evaluate_14(instance: Instance) -> tuple[Number, Number]:
    """|e_(t+1)| and (1 + eta L / |C|) |e_t| + beta |chi^(t-1) - chi^(t-2)|, the end of (14)."""
    one = AlikeClients(instance)
    t = one.round
    return abs(one.error(t + 1)), one.growth * abs(one.error(t)) + one.momentum * abs(one.move(t - 1))


def lines_of_14(instance: Instance) -> tuple[Fraction, Fraction]:
    """Second terms of the two lines of (14) that its "=" compares."""
    one = AlikeClients(instance)
    t = one.round
    inner = one.error(t - 1) - one.curvature * one.error(t - 2) + one.momentum * one.move(t - 2)
    return one.curvature * abs(inner), one.curvature / one.clients * abs(one.error(t))


@register("cfl-mgd/equation-14", label="(14)", kind="upper", replay=replay_with(evaluate_14),
          repaired_by="cfl-mgd/model-averaging-recursion")  # fmt: skip
def equation_14(context: Context) -> Finding:
    """A round of model averaging grows the distance by 1 + eta L / |C_p| and an old move at most.

    Hypotheses
        As (12) and (13); eta = 1/L at most.

    Statement
        ||chi_p^(t+1) - chi*|| <= (1 + eta L / |C_p|) mean ||chi_i^t - chi*||
        + beta mean ||chi_i^(t-1) - chi_i^(t-2)||.

    Symbols
        |C_p| the number of clients of the cluster.

    Source
        Zhao et al. (2023), (14). Upper bound. Its "=" sums |C_p| equal terms to one, and takes
        chi^(t-1) for chi^t; and the newest move, chi^t - chi^(t-1), is missing since (12).

    Checked
        Runs of equal scalar clients in rational arithmetic; hypothesis finds the simplest violation
        and option II is run on it. The two sides of the "=" are evaluated for four clients.
    """
    four: Instance = {
        "clients": 4,
        "curvature": Fraction(1, 2),
        "momentum": 0,
        "start": Fraction(1, 2),
        "round": 0,
    }
    before, after = lines_of_14(four)
    spelled = spell("end of (14)")

    def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
        return (
            f"{spelled(instance, measured, allowed)}; with |C_p| = 4, eta L = |e| = 1/2, beta = 0 the '=' of (14) says "
            f"{float(before):g} = {float(after):g}"
        )

    return seek(
        context, alike(), evaluate_14, violated=sentence, consistent="no run breaks it", confirm=confirm_next
    )


def evaluate_15(instance: Instance) -> tuple[Number, Number]:
    """|e_(t+1)| and (1 + eta L / |C|) |e_t| + beta (1 + beta) ||move||^2 / ||move||^2, the end of (15)."""
    one = AlikeClients(instance)
    t = one.round
    ratio = one.move(t - 1) ** 2 / one.move(t - 1) ** 2
    return abs(one.error(t + 1)), one.growth * abs(one.error(t)) + one.weight * ratio


@register("cfl-mgd/equation-15", label="(15)", kind="upper", replay=replay_with(evaluate_15),
          repaired_by="cfl-mgd/model-averaging-recursion")  # fmt: skip
def equation_15(context: Context) -> Finding:
    """A round of model averaging grows the distance by 1 + eta L / |C_p| and a ratio at most.

    Hypotheses
        As (14).

    Statement
        ||chi_p^(t+1) - chi*|| <= (1 + eta L / |C_p|) ||chi_p^t - chi*|| + beta (1 + beta)
        ||chi_p^(t-1) - chi_p^(t-2)||^2 / ||chi_p^(t-2) - chi_p^(t-1)||^2.

    Symbols
        As (14). The ratio is 1, or 0/0 at rest.

    Source
        Zhao et al. (2023), (15). Upper bound. It replaces the mean of distances by the distance of
        the mean, which is smaller (Jensen), and a length by a number: it cannot survive scaling.

    Checked
        Runs of equal scalar clients from 1/2, 2 or 10 in rational arithmetic, where the ratio is
        defined; hypothesis finds the simplest violation, and option II is run on it.
    """
    starts = (Fraction(1, 2), Fraction(2), Fraction(10))
    return seek(
        context, alike(starts).filter(defined(evaluate_15)), evaluate_15, violated=spell("end of (15)"),
        consistent="no run breaks it", confirm=confirm_next,
    )  # fmt: skip


def evaluate_16(instance: Instance) -> tuple[Number, Number]:
    """|e_(t+1)| and (1 + eta L / |C|) |e_t| + beta (1 + beta) eps_(t-1)^2 / eps_(t-2)^2."""
    one = AlikeClients(instance)
    t = one.round
    return abs(one.error(t + 1)), one.growth * abs(one.error(t)) + one.weight * one.ratio(t - 1)


@register("cfl-mgd/equation-16", label="(16)", kind="upper", replay=replay_with(evaluate_16),
          repaired_by="cfl-mgd/model-averaging-recursion")  # fmt: skip
def equation_16(context: Context) -> Finding:
    """A round of model averaging grows the error by 1 + eta L / |C_p| and a ratio of old errors at most.

    Hypotheses
        As (15); eps_(-1) = eps_(-2) = eps_0 at rest, and no eps_(t-2) is 0.

    Statement
        eps_(t+1) <= (1 + eta L / |C_p|) eps_t + beta (1 + beta) eps_(t-1)^2 / eps_(t-2)^2.

    Symbols
        eps_t = ||chi_p^t - chi*_p||.

    Source
        Zhao et al. (2023), (16). Upper bound.

    Checked
        Runs of equal scalar clients from 1/2, within the basin of Assumption 4 for Delta = 2, in
        rational arithmetic; hypothesis finds the simplest violation, and option II is run on it.
    """
    return seek(
        context, alike().filter(defined(evaluate_16)), evaluate_16, violated=spell("(16)"),
        consistent="no run breaks it", confirm=confirm_next,
    )  # fmt: skip

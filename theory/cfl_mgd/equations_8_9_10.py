"""(8), (9) and (10): choosing a cluster, and the update rules of Section 5."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from algorithms import CFLMGD, run
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.counterexample import Instance, decode, encode
from theory.search import smallest_counterexample
from theory.verdict import Finding, Kind


@register("cfl-mgd/equation-8", label="(8)", kind="definition")
def equation_8(context: Context) -> Finding:
    """Every client chooses the model with the smallest loss.

    Hypotheses
        None: it is a definition. Ties are left open: ``cfl-mgd/algorithm-line-5-ties``.

    Statement
        p_hat = argmin_(p in [P]) phi_i(chi_p^t).

    Symbols
        P ``clusters``.

    Source
        Zhao et al. (2023), (8) and line 5. Definition.

    Checked
        The first round's choices of the algorithm on random tasks without sampling noise against
        expected losses compared one by one.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(100)
    wrong = 0
    for _ in range(trials):
        clusters, dimension = int(stream.integers(2, 5)), int(stream.integers(1, 5))
        task = QuadraticMixture.random(
            clusters=clusters, clients=3 * clusters, dimension=max(dimension, 2), condition_number=4.0, spread=0.5,
            seed=int(stream.integers(2**31)),
        )  # fmt: skip
        models = task.optima[stream.permutation(clusters)] + stream.standard_normal(task.optima.shape)
        chosen = run(CFLMGD(step_size=1.0, momentum=0.5), task, rounds=1, initial=models).assignments[0]
        for client, choice in enumerate(chosen):
            best, least = -1, np.inf
            for number, model in enumerate(models):
                offset = model - task.centers[client]
                loss = float(offset @ task.hessians[client] @ offset) / 2
                if loss < least:
                    best, least = number, loss
            wrong += best != int(choice)
    return Finding(
        verdict=Kind.VIOLATED if wrong else Kind.CONSISTENT,
        reason=f"{wrong} clients of {trials} tasks chose another model than the one of smallest loss",
        trials=trials,
        failures=wrong,
    )


def solutions(instance: Instance) -> list[tuple[int, ...]]:
    """Give the assignments r that reproduce themselves under (9) read to the letter.

    Two scalar clients, two models, eta = 1, first round: chi_p(r) = chi_p^0 - (1/m) sum r_ip u_i with
    u_i the gradient at the model that client i had before, and r_i the nearest of chi(r).
    """
    centers = [Fraction(instance["first_center"]), Fraction(instance["second_center"])]
    start = [Fraction(instance["first"]), Fraction(instance["second"])]
    if any(abs(start[0] - c) == abs(start[1] - c) for c in centers):
        return []  # a tie before the round would be another ambiguity
    momenta = [min((abs(chi - c), chi - c) for chi in start)[1] for c in centers]
    found = []
    for choice in itertools.product((0, 1), repeat=2):
        moved = [
            chi - sum((momenta[i] for i in range(2) if choice[i] == p), Fraction(0)) / 2
            for p, chi in enumerate(start)
        ]
        distances = [[abs(chi - c) for chi in moved] for c in centers]
        if all(row[choice[i]] < row[1 - choice[i]] for i, row in enumerate(distances)):
            found.append(choice)
    return found


def replay(counterexample: dict[str, int | float | str]) -> tuple[float, float]:
    """Count the solutions of a stored instance."""
    return float(len(solutions({name: decode(value) for name, value in counterexample.items()}))), 1.0


@register("cfl-mgd/equation-9", label="(9)", kind="definition", replay=replay,
          repaired_by="cfl-mgd/equation-9-broadcast")  # fmt: skip
def equation_9(context: Context) -> Finding:
    """The gradient update of cluster p uses the clients that prefer the model after the update.

    Hypotheses
        None: it is a definition.

    Statement
        C_p^t = {i : p = argmin phi_i(chi_p^t)}, chi_p^t = chi_p^(t-1) - (eta/m) sum_i r_ip u_i^t,
        u_i^t = beta u_i^(t-1) + g_i^(t-1): the first line needs chi^t, the second gives it from r^t.

    Symbols
        r_ip = 1 for i in C_p^t.

    Source
        Zhao et al. (2023), (9). Definition. Read with C_p from the model that was broadcast:
        ``cfl-mgd/equation-9-broadcast``.

    Checked
        Two scalar clients and two models: all four assignments are tried in the circular
        equations; hypothesis finds the simplest instance that more than one of them solves.
    """
    from hypothesis import strategies as st

    quarter = st.fractions(-2, 2, max_denominator=4)
    names = ("first_center", "second_center", "first", "second")
    tries = context.number_of_trials(2000)
    found: Instance | None = smallest_counterexample(
        st.fixed_dictionaries(dict.fromkeys(names, quarter)),
        lambda instance: len(solutions(instance)) > 1,
        seed=context.seed,
        budget=tries,
    )
    if found is None:
        return Finding(
            verdict=Kind.CONSISTENT, reason="no instance has two solutions", trials=tries, failures=0
        )
    count = len(solutions(found))
    written = {name: encode(number) for name, number in found.items()}
    return Finding(
        verdict=Kind.ILL_POSED,
        reason=f"circular: clients at {written['first_center']} and {written['second_center']}, models "
        f"{written['first']} and {written['second']}, eta = 1: {count} assignments {solutions(found)} satisfy (9); "
        "read: clients choose among the models that were broadcast",
        measured=float(count),
        bound=1.0,
        counterexample=written,
    )


@register("cfl-mgd/equation-9-broadcast", label="(9), as meant", kind="identity")
def equation_9_broadcast(context: Context) -> Finding:
    """The gradient update of cluster p uses the clients that chose the model that was broadcast.

    Hypotheses
        Full participation; u_i^0 = 0; after a round u_i is the mean of its cluster (line 15).

    Statement
        C_p = {i : p = argmin phi_i(chi_p^(t-1))}, u_i^t = beta u_i^(t-1) + grad phi_i(chi_p^(t-1)),
        chi_p^t = chi_p^(t-1) - (eta/m) sum_(i in C_p) u_i^t.

    Symbols
        eta ``step_size``, beta ``momentum``; ``momentum_owner="client"``.

    Source
        Zhao et al. (2023), (9) with the index of lines 2 and 5. Identity.

    Checked
        Option I as printed against plain loops on random quadratics whose clients are scattered
        so widely that many change their cluster.
    """
    return against_loops(context, averaging="gradient")


@register("cfl-mgd/equation-10", label="(10)", kind="definition",
          repaired_by="cfl-mgd/equation-10-line-16")  # fmt: skip
def equation_10(context: Context) -> Finding:
    """The model update of cluster p is the mean of H local steps of its clients.

    Hypotheses
        None: it is a definition.

    Statement
        chi_p^(t+1) = sum_i r_ip chi_i^t / sum_i r_ip, chi_i^s = chi_i^(s-1) - eta u_i^s,
        u_i^s = beta u_i^(s-1) + grad phi_i(chi_i^(s-1)), s = 1 .. H, starting at chi_p^t.

    Symbols
        H ``local_steps``; where u_i^(s) starts is not said.

    Source
        Zhao et al. (2023), (10). Definition. Line 16 writes chi_p^t, which is the same update
        under a shifted index, and averages u: ``cfl-mgd/equation-10-line-16``.

    Checked
        Two starts of u_i that (10) allows, the mean of line 16 and zero, are run on random
        quadratics: their models differ from the second round on.
    """
    stream = context.generator("tasks")
    distances = []
    for _ in range(context.number_of_trials(20)):
        task = random_quadratic(stream)
        initial = task.optima + stream.standard_normal(task.optima.shape)
        models = [
            run(
                CFLMGD(step_size=0.5, momentum=0.5, averaging="model", local_steps=2, reset_momentum=reset),
                task, rounds=2, initial=initial,
            ).models
            for reset in (False, True)
        ]  # fmt: skip
        distances.append(float(np.abs(models[0] - models[1]).max()))
    return Finding(
        verdict=Kind.ILL_POSED if min(distances) > 1e-9 else Kind.CONSISTENT,
        reason=f"(10) does not say where u_i starts in a round: from line 16's mean and from zero the models of round "
        f"2 differ by {min(distances):.2g} at least over {len(distances)} tasks; read: the mean, as line 16",
        measured=min(distances),
        bound=1e-9,
    )


@register("cfl-mgd/equation-10-line-16", label="(10), as line 16", kind="identity")
def equation_10_line_16(context: Context) -> Finding:
    """Option II averages models and momenta after H local steps that start from both averages.

    Hypotheses
        Full participation; an empty cluster keeps model and momentum.

    Statement
        chi_i^0 = chi_p, u_i^0 = u_p, H steps of (4); then chi_p and u_p become the means of chi_i^H
        and u_i^H over the clients of the cluster. Writing the result chi_p^t (line 16) or
        chi_p^(t+1) (10) is the same.

    Symbols
        H ``local_steps``.

    Source
        Zhao et al. (2023), (6), (10), lines 11, 12 and 16. Identity.

    Checked
        Option II against plain loops on random quadratics with scattered clients.
    """
    return against_loops(context, averaging="model")


def random_quadratic(stream: np.random.Generator) -> QuadraticMixture:
    """Draw a quadratic mixture whose clients are scattered as widely as the clusters."""
    return QuadraticMixture.random(
        clusters=2, clients=8, dimension=2, condition_number=4.0, spread=1.0, seed=int(stream.integers(2**31))
    )


def plain_round(
    task: QuadraticMixture,
    models: np.ndarray,
    momenta: np.ndarray,
    *,
    step: float,
    momentum: float,
    steps: int,
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Move every client ``steps`` local steps from its chosen model, one by one.

    Returns
    -------
    tuple
        End points and momenta (m, d), and the chosen models.
    """
    ends, chosen = [], []
    momenta = momenta.copy()
    for client in range(task.clients):
        offsets = models - task.centers[client]
        losses = [float(offset @ task.hessians[client] @ offset) for offset in offsets]
        chosen.append(losses.index(min(losses)))
        chi = models[chosen[-1]]
        for _ in range(steps):
            gradient = task.hessians[client] @ (chi - task.centers[client])
            momenta[client] = momentum * momenta[client] + gradient
            chi = chi - step * momenta[client]
        ends.append(chi)
    return np.stack(ends), momenta, chosen


def against_loops(context: Context, *, averaging: str) -> Finding:
    """Compare the algorithm with plain loops over the paper's lines on random quadratics."""
    stream = context.generator("tasks")
    trials = context.number_of_trials(60)
    worst, failures, moved = 0.0, 0, 0
    for _ in range(trials):
        task = random_quadratic(stream)
        step, momentum = float(stream.uniform(0.1, 1)), float(stream.uniform(0, 0.9))
        local_steps = int(stream.integers(1, 4)) if averaging == "model" else 1
        models = task.optima + stream.standard_normal(task.optima.shape)
        owner = {"momentum_owner": "client"} if averaging == "gradient" else {"local_steps": local_steps}
        algorithm = CFLMGD(step_size=step, momentum=momentum, averaging=averaging, **owner)
        trace = run(algorithm, task, rounds=6, initial=models)
        buffers, own = np.zeros_like(models), np.zeros((task.clients, task.dimension))
        before: list[int] | None = None
        for after in trace.models[1:]:
            if averaging == "model":
                chosen = plain_round(task, models, own, step=step, momentum=momentum, steps=0)[2]
                own = np.stack([buffers[p] for p in chosen])
            ends, own, chosen = plain_round(
                task, models, own, step=step, momentum=momentum, steps=local_steps
            )
            models = models.copy()
            for p in range(task.clusters):
                members = [i for i, choice in enumerate(chosen) if choice == p]
                if not members:
                    continue
                buffers[p] = own[members].mean(axis=0)
                if averaging == "model":
                    models[p] = ends[members].mean(axis=0)
                else:
                    models[p] -= step / task.clients * own[members].sum(axis=0)
                    own[members] = buffers[p]
            moved += before is not None and before != chosen
            before = chosen
            distance = float(np.abs(models - after).max())
            worst = max(worst, distance)
            failures += not distance <= 1e-9
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest distance of the run from plain loops over {trials} tasks and 6 rounds; clients changed their "
        f"cluster in {moved} rounds",
        measured=worst,
        bound=1e-9,
        trials=trials,
        failures=failures,
    )

"""Find known mistakes that explain a run up to rounding, for clients with quadratic losses and without noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.algorithms import Algorithm
from clusterproof.running import Trace
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture

MOST_STEPS = 20_000
"""Largest number of local steps in a run that we compare with mistakes. Definitions compute every step in Python."""


def likely_mistake(
    algorithm: Algorithm[Any],
    task: Mixture,
    participants: np.ndarray,
    models: np.ndarray,
    assignments: np.ndarray,
    own: Trace,
    replicate: int,
) -> str:
    """Return the end of a sentence that names the known mistakes that explain a run up to rounding.

    Parameters
    ----------
    algorithm, task
        The declared algorithm, and the task of the run. Nothing is random except the participants.
    participants
        Indices of the participants, (rounds, R, k).
    models, assignments
        Models and assignments of the run, (rounds + 1, R, P, d) and (rounds, R, m).
    own
        The library's run, from the same initial models and with the same participants.
    replicate
        Index of the replicate to examine.

    Returns
    -------
    str
        The end of the sentence. It is empty if no known mistake explains the whole run, the losses are not quadratic,
        or the run is long. It is also empty if ``conformance`` has no definition of the algorithm, or if the library's
        run differs from the definition.
    """
    from clusterproof.conformance.constants import explain_by_constants
    from clusterproof.conformance.definitions import DEFINITIONS, KNOWN_MISTAKES
    from clusterproof.conformance.probes import Observed, Probe, agree
    from clusterproof.conformance.tasks import ConformanceTask
    from clusterproof.conformance.tolerance import first_difference

    clients, definition = _as_quadratics(task), DEFINITIONS.get(algorithm.name)
    local_steps, schedule = getattr(algorithm, "local_steps", 1), participants[:, replicate].tolist()
    several = definition is not None and bool(definition.clusters)
    if clients is None or definition is None or local_steps * participants[:, 0].size > MOST_STEPS:
        return ""
    if not several and models.shape[2] > 1:  # one model per client
        return ""
    given = {name: value for name, value in vars(algorithm).items() if value is not None}
    given["local_epochs"] = local_steps
    settings = {name: given.get(name, default) for name, default in definition.defaults().items()}
    starts = own.models[0, replicate] if several else own.models[0, replicate, 0]
    conforming = ConformanceTask.from_quadratic_mixture(clients, starts)
    single = bool((models.astype(np.float32) == models).all())

    def observed(run_models: np.ndarray, run_assignments: np.ndarray, rounds: int) -> Observed:
        shown = [{"model": each.reshape(starts.shape)} for each in run_models[: rounds + 1, replicate]]
        for state, chosen in zip(shown[1:], run_assignments[:, replicate], strict=False):
            state["assignments"] = chosen.astype(float)
        probe = Probe("run", "", conforming, settings, tuple(map(tuple, schedule[:rounds])))
        return Observed(probe, shown, "float32" if single else "float64")

    whole, right = (
        observed(*each, len(schedule)) for each in ((models, assignments), (own.models, own.assignments))
    )
    difference = first_difference(whole.states, right.states, whole.dtype)
    if difference is None or not agree(definition, [right], "float64"):
        return ""
    runs = [observed(models, assignments, max(1, difference.round)), whole]
    mistakes = KNOWN_MISTAKES[definition.name].items()
    found = [
        f"{mistake.sentence} ({name})"
        for name, mistake in mistakes
        if agree(definition, runs, whole.dtype, mistakes=[mistake])
    ]
    if not found:
        constants = reversed(list(explain_by_constants(definition, runs, whole.dtype)))  # settings come last
        found = [f"{sentence} ({names[0]})" for names, sentence in constants]
    return f"; it is as if {', or '.join(found[:3])}" if found else ""


def _as_quadratics(task: Mixture) -> QuadraticMixture | None:
    """Return the clients' losses without noise as quadratics, up to constants, or None if they are not quadratic."""
    if type(task) is QuadraticMixture:
        return task
    if type(task) is RegressionMixture and task.data == "population":
        hessians = task.covariances.matrices[task.labels]
        return QuadraticMixture(hessians=hessians, centers=task.optima[task.labels], labels=task.labels)
    return None

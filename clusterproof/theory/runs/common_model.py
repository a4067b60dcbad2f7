"""What the pages of algorithms with one model share: task, run, model, error, factor, and the path of its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import Algorithm, InvalidArgument, Trace, run
from clusterproof.algorithms.participation import participant_count
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.numbers import apart, many, short
from clusterproof.theory.bounds.trace_bound import ROUNDING, Compared, largest_length
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.bounded import judged
from clusterproof.theory.runs.client_losses import ClientLosses, losses_of
from clusterproof.theory.runs.page import Entry, TheoremOnRun, entry

RESOLUTION = 1e-9
"""Differences of two paths below this share of the models' lengths are rounding."""

MEASURED = 1e-10
"""Distances below this share of ``OneModelRun.unit`` are not measured."""

FEWEST_ROUNDS = 5
"""A factor is measured over at least so many rounds."""

Condition = tuple[bool, str, str]
"""Whether a hypothesis is met, what it needs, and what the run has."""


@dataclass(frozen=True, eq=False)
class OneModelRun:
    """A run of an algorithm with one model, with what its page needs.

    Attributes
    ----------
    task, trace
        The run.
    algorithm
        Whose recursion it followed.
    losses
        Of the clients.
    models
        The models, (rounds + 1, R, d).
    errors
        Their distances from the common optimum, (rounds + 1, R).
    """

    task: Mixture
    trace: Trace
    algorithm: Any
    losses: ClientLosses
    models: np.ndarray
    errors: np.ndarray

    @property
    def name(self) -> str:
        """Name of the algorithm of the run."""
        return str(self.trace.settings["algorithm"]["algorithm"])

    @property
    def participants(self) -> int:
        """Number of clients in a round."""
        return participant_count(getattr(self.algorithm, "participation", 1.0), self.task.clients)

    @property
    def local_steps(self) -> int:
        """Gradient steps of a client in a round."""
        return int(getattr(self.algorithm, "local_steps", 1))

    @property
    def weights(self) -> np.ndarray:
        """Weights of the clients in an average, (m,)."""
        by_samples = getattr(self.algorithm, "weighting", "clients") == "samples"
        return np.asarray(self.task.client_samples if by_samples else np.ones(self.task.clients), dtype=float)

    @property
    def random(self) -> str:
        """What is random in a round, as "exact gradients, here noisy ones"; empty if nothing is."""
        return unmet(self.exact_conditions)

    @property
    def exact_conditions(self) -> tuple[Condition, ...]:
        """The hypotheses that make a run of an algorithm without coins deterministic."""
        share = f"{self.participants} of {self.task.clients}"
        return (
            (not getattr(self.algorithm, "reshuffle", False), "full gradients", "one sample a step"),
            (self.participants == self.task.clients, "all clients in every round", share),
            (not self.losses.inexact, "exact gradients", self.losses.inexact),
        )

    @property
    def averaging_conditions(self) -> tuple[Condition, ...]:
        """The hypotheses of theorems about exact gradients of all clients, whose server takes the plain mean."""
        server = getattr(self.algorithm, "server_step_size", 1.0)
        return (
            *self.exact_conditions,
            (not np.ptp(self.weights), "clients of equal weight", "weights n_i / n"),
            (server == 1, "server step size 1", f"{server:.4g}"),
        )

    @property
    def unit(self) -> float:
        """Length that rounding errors of the run and of the common optimum are 1e-12 of."""
        condition = self.losses.smoothness / self.losses.strong_convexity
        steps = self.trace.rounds * self.local_steps
        return largest_length(self.trace) * (condition + 1e-3 * steps)

    def compared(
        self, allowed: np.ndarray, measured: np.ndarray | None = None, name: str = "error"
    ) -> Compared:
        """Compare lengths (rounds + 1, R), by default the errors, with what is allowed."""
        values = self.errors if measured is None else measured
        bound = np.broadcast_to(allowed, values.shape)
        return Compared(name, values[..., None], bound[..., None], self.unit)

    def same_start(self) -> bool:
        """Whether all replicates start from one model."""
        return bool((self.models[0] == self.models[0, 0]).all())


def one_model_run(task: Mixture, trace: Trace) -> OneModelRun:
    """Return a run with what its page needs."""
    models = sections.replicated(trace.models, trace)[:, :, 0]
    errors = sections.replicated(np.asarray(trace.errors), trace)[..., 0]
    return OneModelRun(task, trace, dynamics_of(trace), losses_of(task), models, errors)


def unmet(conditions: Iterable[Condition]) -> str:
    """Return the first hypothesis that is not met, with what the run has; empty if all are."""
    return next((f"{needed}, here {here}" for met, needed, here in conditions if not met), "")


def at_most(name: str, limit: float, here: float) -> Condition:
    """Return the hypothesis that a number is at most a limit, up to rounding."""
    shown = apart(limit, here)
    return here <= limit * (1 + ROUNDING), f"{name} = {shown[0]}", shown[1]


def does_not_apply(claim: str, needed: str) -> TheoremOnRun:
    """Return the row of a theorem one of whose hypotheses is not met."""
    return TheoremOnRun(claim, "does not apply", None, None, f"does not apply: needs {needed}")


def task_entry(of: OneModelRun) -> Entry:
    """Return the entry Task."""
    task, losses = of.task, of.losses
    heterogeneity = (
        f"clients' gradients at the common optimum: {losses.heterogeneity:#.3g} (root of mean square)"
        if losses.gradients is not None
        else ""
    )
    if losses.groups is None or losses.inexact:
        lines = sections.task_entry(task).lines
        return entry("Task", *lines, *([heterogeneity] if heterogeneity else []))
    apart_words = f"distance of two optima at least {task.separation:.4g}; " if task.clusters > 1 else ""
    lines = (
        f"{sections.sizes_words(task)}, d = {task.dimension}, no noise",
        f"{apart_words}L = {losses.smoothness:.4g}, mu = {losses.strong_convexity:.4g}",
        heterogeneity,
    )
    return entry("Task", *lines)


def run_entry(of: OneModelRun, *more: str) -> Entry:
    """Return the entry Run; ``more`` are settings of one algorithm."""
    scaled = of.algorithm.step_size * of.losses.smoothness
    size = "1/L" if abs(scaled - 1) <= ROUNDING else f"{scaled:.4g}/L"
    if getattr(of.algorithm, "reshuffle", False):
        first = f"{of.local_steps} reshuffled pass{'es' * (of.local_steps > 1)} with steps of {size}"
    elif hasattr(of.algorithm, "local_steps"):
        first = f"{many(of.local_steps, 'local step')} of {size}"
    else:
        first = f"step {size}"
    parts = [first, *more]
    server = getattr(of.algorithm, "server_step_size", 1.0)
    parts += [f"server step {server:.4g}"] if server != 1 else []
    parts += ["weights n_i / n"] if np.ptp(of.weights) else []
    all_clients = of.participants == of.task.clients
    parts += ["all clients" if all_clients else f"{of.participants} of {of.task.clients} clients a round"]
    parts += [sections.rounds_words(of.trace)]
    parts += [sections.runs_words(of.trace)] if of.models.shape[1] > 1 else []
    return entry("Run", ", ".join(parts))


def model_entry(of: OneModelRun) -> Entry:
    """Return the entry Model: how far it ends from the optima of the clusters."""
    distances = np.linalg.norm(of.models[-1][:, None] - of.task.optima, axis=-1)
    low, high = f"{distances.min():.3g}", f"{distances.max():.3g}"
    between = low if low == high else f"{low} to {high}"
    whose = "the clusters' optima" if of.task.clusters > 1 else "the cluster's optimum"
    return entry("Model", f"one for all clients, {between} from {whose}")


def error_words(of: OneModelRun) -> str:
    """Return the distances from the common optimum at the start and at the end."""
    first, last = (float(np.median(of.errors[at])) for at in (0, -1))
    spread = ""
    if of.models.shape[1] > 1 and np.ptp(of.errors[-1]) > 0:
        spread = f" (median; largest {_length(float(of.errors[-1].max()))})"
    return (
        f"distance from the common optimum: {_length(first)} at the start, {_length(last)} at the end{spread}"
    )


def _length(value: float) -> str:
    return short(value, 3 if value >= 1e-3 else 2)


@dataclass(frozen=True)
class Law:
    """Whether the models of a run are those of its settings.

    Attributes
    ----------
    words
        The sentence of the page.
    differs
        Whether they are not.
    measured
        What was evaluated on the states of the settings' run; empty where none was made.
    """

    words: str
    differs: bool = False
    measured: Mapping[str, np.ndarray] | None = None


def law_of(of: OneModelRun, measure: Mapping[str, Callable[..., object]] | None = None) -> Law:
    """Compare a run with the deterministic path of its settings from its start.

    Parameters
    ----------
    of
        The run.
    measure
        As for ``run``; evaluated on the path.
    """
    if of.random:
        return Law(f"not compared: needs {of.random}")
    runs = None if of.same_start() else of.models.shape[1]
    start = of.models[0, :1] if runs is None else of.models[0][:, None]
    algorithm: Algorithm[Any] = of.algorithm
    try:
        path = run(
            algorithm, of.task, rounds=of.trace.rounds, replicates=runs, initial=start, measure=measure or {}
        )
    except InvalidArgument:  # it diverges
        return Law("not compared: the models of its settings overflow")
    models = sections.replicated(path.models, path)[:, :, 0]
    differs, words = same_path(of, models)
    return Law(words, differs, path.measured)


def same_path(of: OneModelRun, path: np.ndarray) -> tuple[bool, str]:
    """Return whether the models differ from a path (rounds + 1, R, d) by more than rounding, and the sentence."""
    away = np.linalg.norm(of.models - path, axis=-1).max(axis=-1)
    length = np.maximum.accumulate(np.linalg.norm(path, axis=-1).max(axis=-1)) + largest_length(of.trace)
    wrong = np.flatnonzero(~(away <= RESOLUTION * length))
    if len(wrong):
        first = int(wrong[0])
        return True, f"differs: {short(float(away[first]))} from the path of its settings in round {first}"
    within = f", to within {short(float(away.max()), 2)}" if away.any() else ""
    return False, f"the run follows {of.name}'s exact path{within}"


def factor_entry(
    of: OneModelRun, distances: np.ndarray, towards: str, limit: float | None, more: str = ""
) -> Entry:
    """Return the entry Factor of a deterministic run: over the last half of its rounds above rounding.

    Parameters
    ----------
    of
        The run.
    distances
        From where it converges, (rounds + 1, R).
    towards
        What that is.
    limit
        The exact factor after many rounds; None where it is not known.
    more
        A further sentence.
    """
    exact = [] if limit is None else [f"(limit, exactly: {limit:.4f})"]
    tail = [*exact, more] if more else exact
    if of.random:
        return entry("Factor", f"none: needs {of.random}")
    largest = distances.max(axis=1)
    if not np.isfinite(largest).all():
        return entry("Factor", "none: the models overflow", *tail)
    below = np.flatnonzero(largest < MEASURED * of.unit)
    end = int(below[0]) - 1 if len(below) else of.trace.rounds
    start = end // 2
    if end - start < FEWEST_ROUNDS:
        return entry("Factor", "none: less than 10 rounds above rounding", *tail)
    value = float((largest[end] / largest[start]) ** (1 / (end - start)))
    grows = "; it grows" if value > 1 else ""
    return entry("Factor", f"{value:.4f} a round {towards}, rounds {start} to {end}{grows}", *tail)


def judged_on(
    of: OneModelRun, claim: str, compared: Sequence[Compared], law: Law, failure: float = 0.0
) -> TheoremOnRun:
    """Judge what a theorem allows; nothing holds, and nothing is broken, of a run that is not one of its settings."""
    if of.trace.rounds == 0:
        return TheoremOnRun(claim, "says nothing", None, None, "says nothing of a run without rounds")
    found = judged(claim, compared, failure, law.differs)
    if not law.differs:
        return found
    words = found.words
    if found.outcome == "broken":
        words = words.replace("broken:", "inconclusive: not a run of its settings:")
    return replace(found, outcome="inconclusive", words=words)


def ours(found: TheoremOnRun) -> str:
    """Return the sentence about a theorem of this library."""
    return found.words if found.outcome == "does not apply" else f"{found.words} (ours)"


def next_entry(*commands: tuple[str, str]) -> Entry:
    """Return the entry Next: commands, each with what it shows."""
    return entry("Next", *(f"clusterproof {command:<32} {shows}" for command, shows in commands))

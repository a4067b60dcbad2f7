"""Runs of algorithms with one model: their clients' losses, the path of their settings, and what their pages share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clusterproof.common import InvalidArgument, generator
from clusterproof.synthetic import NoisyQuadraticMixture, RegressionMixture
from clusterproof.synthetic.quadratic import ExactQuadratics
from clusterproof.theory.bounds.hypotheses import Need, unmet
from clusterproof.theory.bounds.numbers import many, short
from clusterproof.theory.bounds.trace_bound import ROUNDING, Compared, largest_length
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.outcomes import judged
from clusterproof.theory.runs.page import Entry, entry, following
from clusterproof.theory.runs.run import Run
from clusterproof.theory.runs.theorem import Said

MEASURED = 1e-10
"""Distances below this share of ``OneModelRun.unit`` are not measured."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Clients with quadratic losses, by groups that have the same Hessian.

    Attributes
    ----------
    members
        Group of each client, (m,).
    hessians
        A_g, (G, d, d).
    centers
        b_i of each client, (m, d).
    """

    members: np.ndarray
    hessians: np.ndarray
    centers: np.ndarray

    def shares(self, weights: np.ndarray) -> np.ndarray:
        """Return the sums over groups of weights of clients, (G,), which have the sum 1."""
        return np.asarray(np.bincount(self.members, weights=weights) / weights.sum())

    def mean_centers(self, weights: np.ndarray) -> np.ndarray:
        """Return each group's weighted mean of the b_i, (G, d)."""
        totals = np.zeros((len(self.hessians), self.centers.shape[1]))
        np.add.at(totals, self.members, weights[:, None] * self.centers)
        return np.asarray(totals / np.bincount(self.members, weights=weights)[:, None])


@dataclass(frozen=True)
class Path:
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


class OneModelRun(Run):
    """A run of an algorithm with one model; L and mu are those of every single client's loss."""

    @cached_property
    def path(self) -> np.ndarray:
        """The models, (rounds + 1, R, d)."""
        return self.models[:, :, 0]

    @cached_property
    def distances(self) -> np.ndarray:
        """The errors: distances from the common optimum, (rounds + 1, R)."""
        return self.errors[..., 0]

    @cached_property
    def groups(self) -> Groups | None:
        """The quadratics, apart from the noise of their gradients; None of other losses."""
        task = self.task
        if isinstance(task, ExactQuadratics):
            rows = task.hessians.reshape(task.clients, -1)
            _, first, members = np.unique(rows, axis=0, return_index=True, return_inverse=True)
            return Groups(members.ravel(), task.hessians[first], task.centers)
        if isinstance(task, RegressionMixture):
            return Groups(task.labels, np.asarray(task.covariances.matrices), task.optima[task.labels])
        return None

    @cached_property
    def curvatures(self) -> tuple[float, float]:
        """L and mu."""
        if isinstance(self.task, ExactQuadratics) and self.groups is not None:
            spectra = np.linalg.eigvalsh(self.groups.hessians)
            return float(spectra.max()), float(spectra.min())
        return self.task.smoothness, self.task.strong_convexity

    @cached_property
    def kinds(self) -> np.ndarray:
        """Clients with the same number have the same loss, (m,)."""
        if not isinstance(self.task, ExactQuadratics) or self.groups is None:
            return self.task.labels
        both = np.column_stack([self.groups.members, self.task.centers])
        return np.unique(both, axis=0, return_inverse=True)[1].ravel()

    @cached_property
    def inexact(self) -> str:
        """What the clients' gradients are if they are not those of their losses; empty if they are."""
        task, data = self.task, getattr(self.task, "data", "")
        if data == "fixed":
            return "those of fixed samples"
        if isinstance(task, NoisyQuadraticMixture):
            return "noisy ones" if task.covariance.any() else ""
        if data == "population" or isinstance(task, ExactQuadratics):
            return ""
        variance = getattr(task, "gradient_variance", None)
        if variance is not None and not any(
            np.max(variance(task.pooled_optimum, cluster)) > 0 for cluster in range(task.clusters)
        ):
            return ""
        return "those of new samples" if data else "noisy ones"

    def gradients_at(self, model: np.ndarray) -> np.ndarray:
        """Return the clients' gradients at models (..., d), exact where the task's are, (..., m, d)."""
        shape = (*model.shape[:-1], self.task.clients, self.task.dimension)
        points = np.broadcast_to(model[..., None, :], shape)
        return np.asarray(
            self.task.gradients(points, np.arange(self.task.clients), generator(0, "gradients"))
        )

    @cached_property
    def gradients(self) -> np.ndarray | None:
        """g_i* = grad f_i(x*), (m, d), at the common optimum x*; None where gradients are not exact."""
        return None if self.inexact else self.gradients_at(self.task.pooled_optimum)

    @cached_property
    def heterogeneity(self) -> float:
        """zeta*, the root of the mean of ||g_i*||^2."""
        assert self.gradients is not None
        return float(np.sqrt(np.square(self.gradients).sum(axis=-1).mean()))

    def exact_rounds(self) -> Iterator[Need]:
        """Yield the hypotheses that make a run of an algorithm without coins deterministic."""
        yield Need(not getattr(self.algorithm, "reshuffle", False), "full gradients", "one sample a step")
        share = f"{self.participants} of {self.task.clients}"
        yield Need(self.participants == self.task.clients, "all clients in every round", share)
        yield Need(not self.inexact, "exact gradients", self.inexact)

    @cached_property
    def random(self) -> str:
        """What is random in a round, as "exact gradients, here noisy ones"; empty if nothing is."""
        return unmet(self.exact_rounds())

    def plain_means(self) -> Iterator[Need]:
        """Yield the hypotheses of theorems about exact gradients of all clients, whose server takes the plain mean."""
        yield from self.exact_rounds()
        yield Need(not np.ptp(self.weights), "clients of equal weight", "weights n_i / n")
        server = getattr(self.algorithm, "server_step_size", 1.0)
        yield Need(server == 1, "server step size 1", f"{server:.4g}")

    @cached_property
    def unit(self) -> float:
        """Length that rounding errors of the run and of the common optimum are 1e-12 of."""
        smoothness, convexity = self.curvatures
        steps = self.rounds * self.local_steps
        return largest_length(self.trace) * (smoothness / convexity + 1e-3 * steps)

    def compared(
        self, allowed: np.ndarray, measured: np.ndarray | None = None, name: str = "error", unit: float = 1.0
    ) -> Compared:
        """Compare lengths (rounds + 1, R), by default the errors, with what is allowed; in units of some length."""
        values = self.distances if measured is None else measured
        bound = np.broadcast_to(allowed, values.shape)
        return Compared(name, values[..., None], bound[..., None], self.unit * unit)

    def judged(self, compared: Sequence[Compared], failure: float = 0.0) -> Said:
        """Judge what a theorem allows; nothing holds, and nothing is broken, of a run that is not of its settings."""
        found = judged(compared, failure, self.law.differs)
        if not self.law.differs:
            return found
        words = found.words
        if found.outcome == "broken":
            words = words.replace("broken:", "inconclusive: not a run of its settings:")
        return replace(found, outcome="inconclusive", words=words)

    @cached_property
    def law(self) -> Path:
        """The run beside the deterministic path of its settings from its start."""
        if self.random:
            return Path(f"not compared: needs {self.random}")
        try:
            found = self.rerun(measure=self.measure)
        except InvalidArgument:  # it diverges
            return Path("not compared: the models of its settings overflow")
        return replace(self.follows(Run(self.task, found).models), measured=found.measured)

    def follows(self, models: np.ndarray) -> Path:
        """Return whether the models differ from those of a path (rounds + 1, R, 1, d) by more than rounding."""
        wrong = self.departure(models)
        if wrong is not None:
            return Path(f"differs: {short(wrong[1])} from the path of its settings in round {wrong[0]}", True)
        away = float(np.linalg.norm(self.models - models, axis=-1).max())
        within = f", to within {short(away, 2)}" if away else ""
        return Path(f"the run follows {self.name}'s exact path{within}")

    @property
    def measure(self) -> dict[str, Callable[..., object]]:
        """Functions that are evaluated on the states of that path."""
        return {}


def head(of: OneModelRun, *settings: str) -> list[Entry]:
    """Return the entries Task, Run and Model; ``settings`` are those of one algorithm."""
    return [_task_entry(of), _run_entry(of, *settings), _model_entry(of)]


def _task_entry(of: OneModelRun) -> Entry:
    task, more = of.task, ""
    if of.gradients is not None:
        more = f"clients' gradients at the common optimum: {of.heterogeneity:#.3g} (root of mean square)"
    if of.groups is None or of.inexact:
        return entry("Task", *facts.task_entry(task).lines, more)
    apart = f"distance of two optima at least {task.separation:.4g}; " if task.clusters > 1 else ""
    curvatures = f"{apart}L = {of.curvatures[0]:.4g}, mu = {of.curvatures[1]:.4g}"
    return entry("Task", f"{facts.sizes_words(task)}, d = {task.dimension}, no noise", curvatures, more)


def _run_entry(of: OneModelRun, *settings: str) -> Entry:
    algorithm, count = of.algorithm, of.local_steps
    scaled = algorithm.step_size * of.curvatures[0]
    size = "1/L" if abs(scaled - 1) <= ROUNDING else f"{scaled:.4g}/L"
    first = f"{many(count, 'local step')} of {size}" if hasattr(algorithm, "local_steps") else f"step {size}"
    if getattr(algorithm, "reshuffle", False):
        first = f"{count} reshuffled pass{'es' * (count > 1)} with steps of {size}"
    server = getattr(algorithm, "server_step_size", 1.0)
    every = of.participants == of.task.clients
    parts = [first, *settings]
    parts += [f"server step {server:.4g}"] if server != 1 else []
    parts += ["weights n_i / n"] if np.ptp(of.weights) else []
    parts += ["all clients" if every else f"{of.participants} of {of.task.clients} clients a round"]
    parts += [facts.runs_words(of) if of.runs > 1 else many(of.rounds, "round")]
    return entry("Run", ", ".join(parts))


def _model_entry(of: OneModelRun) -> Entry:
    distances = np.linalg.norm(of.path[-1][:, None] - of.task.optima, axis=-1)
    low, high = f"{distances.min():.3g}", f"{distances.max():.3g}"
    between = low if low == high else f"{low} to {high}"
    whose = "the clusters' optima" if of.task.clusters > 1 else "the cluster's optimum"
    return entry("Model", f"one for all clients, {between} from {whose}")


def error_entry(of: OneModelRun, *more: str) -> Entry:
    """Return the entry Error: distances from the common optimum at the start and at the end, and what more is said."""
    first, last = (_length(float(np.median(of.distances[at]))) for at in (0, -1))
    spread = ""
    if of.runs > 1 and np.ptp(of.distances[-1]) > 0:
        spread = f" (median; largest {_length(float(of.distances[-1].max()))})"
    words = f"distance from the common optimum: {first} at the start, {last} at the end{spread}"
    return entry("Error", words, *more)


def _length(value: float) -> str:
    return short(value, 3 if value >= 1e-3 else 2)


def factor_entry(of: OneModelRun, distances: np.ndarray, towards: str, limit: float | None) -> Entry:
    """Return the entry Factor, as that of ``facts``, of a run without random numbers."""
    if of.random:
        return entry("Factor", f"none: needs {of.random}")
    return facts.factor_entry(distances, MEASURED * of.unit, towards, limit)


def tail(of: OneModelRun, *commands: tuple[str, str]) -> tuple[Entry, Entry]:
    """Return the entries Law, and Next: commands, each with what it shows."""
    return entry("Law", of.law.words), following(*commands)

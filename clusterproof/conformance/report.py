"""The report on the comparison of code with a definition."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from clusterproof.conformance.diagnosis import Hypothesis
from clusterproof.conformance.page import page
from clusterproof.conformance.probes import Observed
from clusterproof.conformance.tolerance import Difference

STATUS = {"conforms": 0, "differs": 1, "unusable": 2, "inconclusive": 3, "variant": 4}
"""Exit status of ``clusterproof conform`` for each verdict; a wrong call also has status 2."""


@dataclass(frozen=True)
class Check:
    """The result of one probe or check.

    Attributes
    ----------
    name
        Name of the probe or check, which is also part of a test's id.
    outcome
        ``"passed"``, ``"failed"`` or ``"skipped"``.
    sentence
        The difference, or the reason why the check was skipped.
    since
        Number of the round after which the run differs, or 0 if the run agrees.
    """

    name: str
    outcome: str
    sentence: str = ""
    since: int = 0


@dataclass(frozen=True)
class Localisation:
    """The first probe that fails, and the first entry that differs in the run on this probe."""

    probe: str
    meaning: str
    difference: Difference


@dataclass(frozen=True)
class Reached:
    """Smallest and largest sizes of the runs, and the largest norms in the runs.

    Attributes
    ----------
    clients, participants, rounds, samples
        Pairs (smallest, largest): clients of a task, participants of a round, rounds of a run, samples of a client.
    model, move, gradient
        Largest norm of a model, largest change of an entry of a model in a round, and largest norm of a client's
        gradient at the initial model.
    """

    clients: tuple[int, int]
    participants: tuple[int, int]
    rounds: tuple[int, int]
    samples: tuple[int, int]
    model: float
    move: float
    gradient: float


@dataclass(frozen=True, eq=False)
class Report:
    """Whether an implementation conforms to the definition of an algorithm.

    Attributes
    ----------
    implementation
        Name of the class or function that was compared.
    algorithm, equation, source, paper_was_read, quantities
        Name, equation and source of the definition, whether we compared it with the original paper, and its quantities.
    verdict
        ``"conforms"``, ``"differs"``, or ``"variant"`` if the code conforms to an admissible form other than the
        declared form. The verdict is ``"unusable"`` if the code cannot be run as required. It is ``"inconclusive"`` if
        no probe could be run, or if the runs cannot distinguish the algorithm from FedAvg.
    sentence
        The reason for the verdict, or the likely cause of a difference.
    likely
        Hypotheses about the cause of a difference. Each hypothesis explains every run by itself.
    unseen
        Known mistakes that an agreeing implementation may still contain, because the runs cannot detect them.
    checks
        The result of every probe and check.
    localised
        The first entry that differs from the definition, or None if all runs agree.
    settings, changed
        The declared settings, and the settings of a variant that differ from the declared form.
    supports
        Features that the implementation can vary.
    declared, dtype
        The declared type, or None, and the type that determines the tolerance.
    runs
        The observed run on each probe.
    reached
        Sizes of the runs, or None if there are no runs.
    not_compared
        Quantities of the definition that the runs do not have as attributes.
    not_varied
        Settings that had the same value in all runs, and ``"participation"`` if all clients always took part. Settings
        that select a form are not listed.
    traceback
        Traceback of the error that an unusable implementation raised; an empty string if it raised no error.
    """

    implementation: str
    algorithm: str
    equation: str
    source: str
    paper_was_read: bool
    quantities: tuple[str, ...]
    settings: Mapping[str, Any]
    supports: tuple[str, ...]
    declared: str | None
    dtype: str
    verdict: str = "inconclusive"
    sentence: str = "no probe could be run"
    likely: tuple[Hypothesis, ...] = ()
    unseen: tuple[Hypothesis, ...] = ()
    checks: tuple[Check, ...] = ()
    localised: Localisation | None = None
    changed: Mapping[str, Any] = field(default_factory=dict)
    runs: Sequence[Observed] = field(default=(), repr=False)
    reached: Reached | None = None
    not_compared: tuple[str, ...] = ()
    not_varied: tuple[str, ...] = ()
    traceback: str = field(default="", repr=False)

    @property
    def status(self) -> int:
        """The exit status of the command."""
        return STATUS[self.verdict]

    def __str__(self) -> str:
        """Return the printed page, see ``page``."""
        return page(self)

    def json(self) -> str:
        """Return the report as JSON, with every number of the runs."""
        return msgspec.json.format(msgspec.json.encode(self, enc_hook=np.ndarray.tolist), indent=1).decode()


def with_runs(report: Report, runs: Sequence[Observed]) -> Report:
    """Return a report with runs, with their sizes, and with the quantities not compared and the settings not varied."""
    settings = [run.probe.settings for run in runs]
    constant = [
        name
        for name, value in settings[0].items()
        if not isinstance(value, (str, bool)) and len({repr(one[name]) for one in settings}) == 1
    ]
    everybody = all(len(clients) == run.probe.task.clients for run in runs for clients in run.probe.schedule)
    return replace(
        report,
        runs=runs,
        reached=_reached(runs),
        not_compared=tuple(name for name in report.quantities if name not in runs[0].states[0]),
        not_varied=(*["participation"] * everybody, *constant),
    )


def _reached(runs: Sequence[Observed]) -> Reached:
    tasks = [run.probe.task for run in runs]
    schedules = [run.probe.schedule for run in runs]
    models = [np.atleast_2d(state["model"]) for run in runs for state in run.states]
    moves = [
        np.abs(after["model"] - before["model"]).max()
        for run in runs
        for before, after in zip(run.states, run.states[1:], strict=False)
    ]
    gradients = [
        np.linalg.norm(task.gradient(i, model))
        for task, run in zip(tasks, runs, strict=True)
        for model in np.atleast_2d(run.states[0]["model"])
        for i in range(task.clients)
    ]
    return Reached(
        clients=_ends(task.clients for task in tasks),
        participants=_ends(len(clients) for schedule in schedules for clients in schedule),
        rounds=_ends(map(len, schedules)),
        samples=_ends(int(n) for task in tasks for n in task.samples),
        model=max(float(np.linalg.norm(model, axis=1).max()) for model in models),
        move=float(max(moves, default=0.0)),
        gradient=float(max(gradients)),
    )


def _ends(numbers: Iterable[int]) -> tuple[int, int]:
    found = list(numbers)
    return min(found), max(found)

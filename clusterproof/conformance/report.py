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
    """One comparison.

    Attributes
    ----------
    name
        Name of the probe or check, used in ids of tests.
    outcome
        ``"passed"``, ``"failed"`` or ``"skipped"``.
    sentence
        The difference, or the reason why the check was skipped.
    since
        Number of the round after which the run differs; 0 if it agrees.
    """

    name: str
    outcome: str
    sentence: str = ""
    since: int = 0


@dataclass(frozen=True)
class Localisation:
    """The first probe that fails, and the first entry that differs in it."""

    probe: str
    meaning: str
    difference: Difference


@dataclass(frozen=True)
class Reached:
    """The smallest and the largest sizes of the runs, and the largest numbers in them.

    Attributes
    ----------
    clients, participants, rounds, samples
        Pairs (smallest, largest): clients of a task, participants of a round, rounds of a run, samples of a client.
    model, move, gradient
        Largest norm of a model, largest change of a model's entry in a round, and largest norm of a client's gradient
        at the start.
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
        The definition, whether it was compared with the paper's own text, and the quantities that can be compared.
    verdict
        ``"conforms"``; ``"variant"`` if the code conforms to an admissible form that is not the declared one;
        ``"differs"``. It is ``"unusable"`` if the code cannot be run as required. It is ``"inconclusive"`` if no probe
        could be run, or the runs cannot tell the algorithm from FedAvg.
    sentence
        The verdict's reason, or the likely cause.
    likely
        Hypotheses about the cause; each alone explains every run.
    unseen
        Known mistakes that the runs do not rule out although they agree.
    checks
        Every comparison.
    localised
        First place where the runs differ; None if they agree.
    settings, changed
        Declared settings, and settings of the admissible form that was found in place of the declared form.
    supports
        Features that the implementation can vary.
    declared, dtype
        The declared type, if there is one, and the type that determines the tolerance.
    runs
        The observed run on each probe.
    reached
        Sizes that the runs reached; None if there are no runs.
    not_compared
        Quantities of the definition that the runs do not offer.
    not_varied
        Settings, and participation, that had one value in all runs; forms are not listed.
    traceback
        Traceback of the error that an unusable implementation raised; empty if it raised none.
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
        """Return the page, see ``page``."""
        return page(self)

    def json(self) -> str:
        """Return the report with every number of its runs."""
        return msgspec.json.format(msgspec.json.encode(self, enc_hook=np.ndarray.tolist), indent=1).decode()


def with_runs(report: Report, runs: Sequence[Observed]) -> Report:
    """Return the report with its runs, and with the sizes and settings that they reached, compared and varied."""
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

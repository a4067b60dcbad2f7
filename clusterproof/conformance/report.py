"""What was found, for the person whose code it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from clusterproof.conformance.diagnosis import Hypothesis
from clusterproof.conformance.probes import Observed
from clusterproof.conformance.tolerance import Difference

STATUS = {"conforms": 0, "differs": 1, "unusable": 2, "inconclusive": 3, "variant": 4}
"""Exit status of ``clusterproof conform`` for each verdict; a wrong call is 2, too."""


MOST_LISTED = 4
"""Hypotheses that a report prints."""


def _range(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"


def _listed(hypotheses: Sequence[Hypothesis]) -> list[str]:
    """Return a line for each of the first hypotheses, and for the number of others."""
    more = len(hypotheses) - MOST_LISTED
    return [f"  - {one}" for one in hypotheses[:MOST_LISTED]] + [f"  - {more} more"] * (more > 0)


@dataclass(frozen=True)
class Check:
    """One comparison.

    Attributes
    ----------
    name
        As in ids of tests.
    outcome
        ``"passed"``, ``"failed"`` or ``"skipped"``.
    sentence
        What differs, or why it was skipped.
    since
        The round of a run after which it differs; 0 if it does not.
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

    def __str__(self) -> str:
        """Return the probe with what it tests, and the entry."""
        return f"first failing probe: {self.probe}, which tests {self.meaning}; {self.difference}"


@dataclass(frozen=True, eq=False)
class Report:
    """Whether an implementation conforms to the definition of an algorithm.

    Attributes
    ----------
    algorithm, equation, source, paper_was_read, quantities
        The definition, whether it was compared with the paper's own text, and what can be compared.
    verdict
        ``"conforms"``; ``"variant"``: to another admissible form than the declared one; ``"differs"``;
        ``"unusable"``: it cannot be run as it must be; ``"inconclusive"``: no probe could be run, or those that ran
        cannot tell the algorithm from FedAvg.
    sentence
        The verdict's reason, or the likely cause.
    likely
        Hypotheses about the cause, each of which alone explains every run.
    unseen
        Known mistakes that the runs, though they agree, do not rule out.
    checks
        Every comparison.
    localised
        Where the runs differ first; None if they do not.
    settings, changed
        Settings that were declared, and those of the admissible form that was found in their place.
    supports
        What the implementation can vary.
    declared, dtype
        The type that was declared, if one was, and the one that the tolerance belongs to.
    runs
        What was observed on which probe.
    traceback
        Of what an unusable implementation raised; empty if it raised nothing.
    """

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
    traceback: str = field(default="", repr=False)

    @property
    def status(self) -> int:
        """The exit status of the command."""
        return STATUS[self.verdict]

    def __str__(self) -> str:
        """Return at most 25 lines: verdict, cause, where, and what passed, failed and was skipped."""
        read = "compared" if self.paper_was_read else "from memory, not compared"
        lines = [
            f"{self.verdict}: {self.algorithm} (definition {read} with the paper's text)",
            *(f"  {line}" for line in self.cause()),
        ]
        if self.unseen:
            lines += ["  these runs do not rule out", *(f"  {line}" for line in _listed(self.unseen))]
        if self.localised is not None:
            lines.append(f"  {self.localised}")
        failed = "differ from the declared form" if self.verdict == "variant" else "failed"
        for outcome, label in (("passed", "passed"), ("failed", failed)):
            names = [check.name for check in self.checks if check.outcome == outcome]
            if names:
                lines.append(f"  {label}: {', '.join(names)}")
        skipped = [check for check in self.checks if check.outcome == "skipped"]
        lines += [f"  skipped {check.name}: {check.sentence}" for check in skipped]
        lines += [f"  {line}" for line in (self.reached(), self.not_compared(), self.not_varied()) if line]
        declared = ", ".join(f"{name} = {value}" for name, value in self.settings.items())
        lines.append(f"  definition ({self.source}): {self.equation}{declared and f', where {declared}'}")
        return "\n".join(lines)

    def cause(self) -> list[str]:
        """Return the verdict's reason, and the likely causes if there are several."""
        return [self.sentence, *_listed(self.likely if len(self.likely) > 1 else ())]

    def reached(self) -> str:
        """Return the numbers of clients, participants, rounds and samples of the runs, and the largest norms."""
        if not self.runs:
            return ""
        tasks = [run.probe.task for run in self.runs]
        schedules = [run.probe.schedule for run in self.runs]
        clients = _range([task.clients for task in tasks])
        participants = _range([len(clients) for schedule in schedules for clients in schedule])
        rounds, samples = (
            _range([*map(len, schedules)]),
            _range([int(n) for task in tasks for n in task.samples]),
        )
        models = [state["model"] for run in self.runs for state in run.states]
        moves = [
            np.abs(after["model"] - before["model"]).max()
            for run in self.runs
            for before, after in zip(run.states, run.states[1:], strict=False)
        ]
        gradients = [
            np.linalg.norm(task.gradient(i, model))
            for task, run in zip(tasks, self.runs, strict=True)
            for model in np.atleast_2d(run.states[0]["model"])
            for i in range(task.clients)
        ]
        norm = max(float(np.linalg.norm(np.atleast_2d(model), axis=1).max()) for model in models)
        return (
            f"reached: {clients} clients, {participants} of them in a round, {rounds} rounds, {samples} samples of a "
            f"client; models to norm {norm:.3g}, entries that move by {max(moves, default=0.0):.3g} in a round, "
            f"gradients at the start to norm {max(gradients):.3g}"
        )

    def not_compared(self) -> str:
        """Return the quantities of the definition that the runs do not hand out."""
        if not self.runs:
            return ""
        missing = [name for name in self.quantities if name not in self.runs[0].states[0]]
        return f"Not compared: {', '.join(missing)}. The code does not hand them out." if missing else ""

    def not_varied(self) -> str:
        """Return what was the same in all runs, forms excepted: absent clients, and numbers with one value."""
        if not self.runs:
            return ""
        settings = [run.probe.settings for run in self.runs]
        names = [
            f"{name} = {value}"
            for name, value in settings[0].items()
            if not isinstance(value, (str, bool)) and len({repr(one[name]) for one in settings}) == 1
        ]
        if all(len(clients) == run.probe.task.clients for run in self.runs for clients in run.probe.schedule):
            names = ["participation", *names]
        return f"Not varied: {', '.join(names)}. A mistake in these would not show." if names else ""

    def json(self) -> str:
        """Return the report with every number of its runs."""
        return msgspec.json.format(msgspec.json.encode(self, enc_hook=np.ndarray.tolist), indent=1).decode()

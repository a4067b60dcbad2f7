"""What was found, for the person whose code it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from clusterproof.conformance.diagnosis import Hypothesis
from clusterproof.conformance.probes import Observed
from clusterproof.conformance.tolerance import Difference

STATUS = {"conforms": 0, "differs": 1, "unusable": 2, "undecided": 3, "variant": 4}
"""Exit status of ``clusterproof conform`` for each verdict; a wrong call is 2, too."""


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
    seconds
        Time of the implementation's run.
    """

    name: str
    outcome: str
    sentence: str = ""
    seconds: float = 0.0


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
    algorithm, equation, source
        The definition, and whether it was compared with the paper's own text.
    verdict
        ``"conforms"``; ``"variant"``: to another admissible form than the declared one; ``"differs"``;
        ``"unusable"``: it cannot be run as it must be; ``"undecided"``: no probe could be run, or those that ran
        cannot tell the algorithm from FedAvg.
    sentence
        The verdict's reason, or the likely cause.
    likely
        Hypotheses about the cause, each of which alone explains every run.
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
    settings: Mapping[str, Any]
    supports: tuple[str, ...]
    declared: str | None
    dtype: str
    verdict: str = "undecided"
    sentence: str = "no probe could be run"
    likely: tuple[Hypothesis, ...] = ()
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
        lines = [f"{self.verdict}: {self.algorithm}", f"  {self.sentence}"]
        if self.localised is not None:
            lines.append(f"  {self.localised}")
        failed = "differ from the declared form" if self.verdict == "variant" else "failed"
        for outcome, label in (("passed", "passed"), ("failed", failed)):
            names = [check.name for check in self.checks if check.outcome == outcome]
            if names:
                lines.append(f"  {label}: {', '.join(names)}")
        skipped = [check for check in self.checks if check.outcome == "skipped"]
        lines += [f"  skipped {check.name}: {check.sentence}" for check in skipped]
        declared = ", ".join(f"{name} = {value}" for name, value in self.settings.items())
        lines.append(f"  definition ({self.source}): {self.equation}{declared and f', where {declared}'}")
        return "\n".join(lines)

    def json(self) -> str:
        """Return the report with every number of its runs."""
        return msgspec.json.format(msgspec.json.encode(self, enc_hook=np.ndarray.tolist), indent=1).decode()

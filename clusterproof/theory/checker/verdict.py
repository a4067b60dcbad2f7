"""What a check says: six verdicts, with the evidence for each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from clusterproof.algorithms.drawable import Drawable
from clusterproof.algorithms.notebook import html_table


class Kind(StrEnum):
    """What a verdict says of a claim."""

    CERTIFIED = "certified"
    """Proved for every instance of the stated class, by a certificate that was re-checked in
    exact arithmetic or by an identity that was checked symbolically."""

    CONSISTENT = "consistent"
    """Not refuted, by evidence that would have refuted it."""

    VIOLATED = "violated"
    """A concrete admissible instance meets the hypotheses and breaks the conclusion."""

    VACUOUS = "vacuous"
    """No instance meets the hypotheses, or the conclusion says less than they do."""

    ILL_POSED = "ill-posed"
    """The statement as printed has no single meaning."""

    INCONCLUSIVE = "inconclusive"
    """Not refuted, by evidence that would not have refuted it."""


JUDGES = ("printed", "reading", "ours")
"""What a claim may judge: what its paper states, a meaning given to an ambiguous or informal sentence, or ours."""

FAILURES = ("false statement", "misprint", "wording")
"""What a counterexample to a claim may show."""


def source_of(label: str, judges: str, failure: str = "false statement") -> str:
    """Give a statement's place in the paper, whether it is a reading or ours, and what failed if no statement did."""
    word = {"printed": "", "reading": ", reading", "ours": " (ours)"}[judges]
    return f"{label}{word}" + ("" if failure == "false statement" else f" ({failure})")


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """Interval for a failure probability (Clopper and Pearson's), or for an expectation.

    Attributes
    ----------
    level
        Probability with which the interval covers, after division by the claims of a report.
    lower, upper
        Its ends.
    """

    level: float
    lower: float
    upper: float


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a claim's own check returns; ``Verdict`` adds who, when and on which seed.

    Attributes
    ----------
    verdict
        One of the six.
    reason
        One sentence: what the numbers mean, and the inequality or instance that decides.
    measured, bound, slack
        The observed quantity, what the claim allows, and the ratio bound / measured at the
        tightest place that was looked at; each None where it has no meaning.
    trials, failures
        Independent repetitions of a statement about probability, and how many of them broke it.
    confidence
        For claims about probabilities and, without ``trials``, expectations.
    counterexample
        Defining numbers of the smallest instance that breaks the claim, or shows it to be ill-posed.
    instances
        Distinct instances within the hypotheses that were evaluated.
    exhausted
        Whether those, or a proof, are all that the statement's ranges hold.
    rejected
        Draws that were no instances, by the hypothesis that they broke first; 0 for one that excluded none.
    needed
        By hypothesis, whether an instance that meets all others breaks the statement; None where no tried instance
        is outside it alone. None in its place where the verdict rests on an instance, or there are no hypotheses.
    sharpness
        Least factor at which all evaluated instances still hold on everything that is allowed (``"all"``),
        and on each term by name: at most 1, 0 where it was never needed, None where so few
        repetitions cannot tell. None in its place where it has no meaning.
    tightness
        Of each factor of ``sharpness``: ``"ratio"``, allowed over measured at the worst instance (None where it was not
        exercised), that ``"instance"``, ``"identities"``, the entries (rounds, coordinates) left out because both sides
        are the same number there at every instance, and for everything that is allowed ``"typical"``, the ratio that
        half of the instances are within, of each the median over its entries; None where it is infinite.
        None where the verdict rests on an instance.
    proof
        How the printed statement was proved for every instance: ``"exhausted"``, ``"symbols"`` (its own function, on
        symbols), ``"separate"`` (another function, which gives the same sides at the instances that were tried); None
        where it was not.
    steps
        Names of what was proved of its argument only.
    """

    verdict: Kind
    reason: str
    measured: float | None = None
    bound: float | None = None
    slack: float | None = None
    trials: int | None = None
    failures: int | None = None
    confidence: Confidence | None = None
    counterexample: dict[str, Any] | None = None
    instances: int | None = None
    exhausted: bool | None = None
    rejected: dict[str, int] | None = None
    needed: dict[str, bool | None] | None = None
    sharpness: dict[str, float | None] | None = None
    tightness: dict[str, dict[str, Any]] | None = None
    proof: str | None = None
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict(Finding, Drawable):
    """A finding with its claim, seed and cost: the object that ``check --json`` writes.

    Attributes
    ----------
    claim, paper, label
        The claim's id, its paper, and the statement's label there.
    judges, failure
        Whether the claim is what the paper states, a reading or ours, and what a counterexample shows: as in ``Claim``.
    seed
        The check's random numbers are those of this seed and the claim's id.
    repaired_by
        Ids of the claims that replace a false, vacuous or ill-posed one.
    seconds
        Wall-clock time of the check.
    requested_trials
        The trials that the user asked for; None for the check's own number.
    version
        Of Clusterproof.
    """

    drawn_by: ClassVar[str] = "verdict_figure"

    claim: str
    paper: str
    label: str
    judges: str = "printed"
    failure: str = "false statement"
    seed: int
    repaired_by: tuple[str, ...]
    seconds: float
    requested_trials: int | None = None
    version: str = ""

    @property
    def source(self) -> str:
        """The label, whether it is a reading or ours, and what was refuted if no statement was."""
        failed = (self.failure,) if self.verdict is Kind.VIOLATED else ()
        return source_of(self.label, self.judges, *failed)

    def __repr__(self) -> str:
        return f"<Verdict on {self.claim}: {self.verdict}; {self.reason}>"

    def _repr_html_(self) -> str:
        example = self.counterexample
        return html_table(
            f"{self.claim}: {self.verdict}",
            {
                "source": self.source or None,
                "reason": self.reason,
                "measured": self.measured,
                "bound": self.bound,
                "sharpness": self.sharpness,
                "instances": self.instances,
                "counterexample": None if example is None else example.get("code", example),
                "repaired by": ", ".join(self.repaired_by) or None,
                "seed": self.seed,
            },
        )


NEEDED = 1e-3
"""A factor below this says that a term was never needed."""


def idle_parts(finding: Finding) -> list[str]:
    """Terms of a consistent statement that no evaluated instance needed."""
    factors = finding.sharpness or {}
    return [name for name, factor in factors.items() if factor is not None and factor < NEEDED]

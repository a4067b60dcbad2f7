"""The words, and who may say them: *certified*, *vacuous* and an exact *violated* are returned by ``replay`` alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from clusterproof.checker.kernel.evaluation import FUEL, Outside, Refused, limited
from clusterproof.checker.kernel.induction import induction
from clusterproof.checker.kernel.rules import RULES
from clusterproof.checker.kernel.statement import Statement


class Word(StrEnum):
    """What is said of a claim."""

    CERTIFIED = "certified"
    """Every instance that meets the hypotheses holds, and there is one."""
    CONSISTENT = "consistent"
    """Not refuted on the instances that were tried."""
    VIOLATED = "violated"
    """An instance meets the hypotheses and breaks the conclusion."""
    VACUOUS = "vacuous"
    """No instance meets the hypotheses."""
    ILL_POSED = "ill-posed"
    """The printed statement has no single meaning."""
    INCONCLUSIVE = "inconclusive"
    """Nothing is shown."""


@dataclass(frozen=True)
class Shown:
    """What a piece of evidence shows.

    Attributes
    ----------
    word
        certified, vacuous, violated or inconclusive.
    why
        If inconclusive, what is missing.
    """

    word: Word
    why: str = ""


WORDS = {
    "instance": Word.VIOLATED,
    "exhausted": Word.CERTIFIED,
    "signs": Word.CERTIFIED,
    "squares": Word.CERTIFIED,
    "induction": Word.CERTIFIED,
    "dual": Word.CERTIFIED,
    "empty": Word.VACUOUS,
}


def replay(
    statement: Statement, evidence: Mapping[str, Any], *, says_nothing: bool = False, fuel: int = FUEL
) -> Shown:
    """Say the word that a record of evidence supports.

    Parameters
    ----------
    statement
        What it must speak of: its digest is compared.
    evidence
        ``rule``, ``line``, ``digest``, and the rule's data.
    says_nothing
        Whether the statement is that a conclusion holds of everything, whatever its hypotheses: shown, it is vacuous.
    fuel
        Steps after which the replay stops.
    """
    if not isinstance(evidence, Mapping) or evidence.get("digest") != statement.digest:
        return Shown(Word.INCONCLUSIVE, "the evidence is of another statement")
    rule = (
        (RULES | {"induction": induction}).get(evidence["rule"])
        if type(evidence.get("rule")) is str
        else None
    )
    if rule is None:
        return Shown(Word.INCONCLUSIVE, "the rule is unknown")
    with limited(fuel):
        try:
            fields = _Fields(evidence)
            shown, why = rule(statement, fields["line"], fields), "the evidence does not show it"
        except Outside as outside:
            shown, why = False, f"the instance does not meet the hypothesis: {outside}"
        except Refused as refused:
            shown, why = False, str(refused)
        except (
            Exception
        ) as error:  # where the function has no value, or the evidence another form, nothing is shown
            shown, why = False, f"{type(error).__name__} {_first_words(error)}".rstrip()
    if not shown:
        return Shown(Word.INCONCLUSIVE, why)
    word = WORDS[evidence["rule"]]
    return Shown(Word.VACUOUS if says_nothing and word is Word.CERTIFIED else word)


class _Fields(dict[str, Any]):
    """The fields of a record of evidence."""

    def __missing__(self, name: str) -> Any:
        raise Refused(f"the evidence has no {name}")


def _first_words(error: Exception) -> str:
    """Return the beginning of an error's text; empty if it has none, as of a number that is too long to be written."""
    try:
        return str(error)[:200]
    except Exception:  # whatever its text is made of
        return ""

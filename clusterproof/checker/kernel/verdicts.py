"""Verdicts on a claim and on each of its lines, from its text and its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from clusterproof.checker.kernel import evidence
from clusterproof.checker.kernel.evaluation import FUEL, Outside, Refused, limited
from clusterproof.checker.kernel.families import family
from clusterproof.checker.kernel.induction import induction, potential, signs, squares
from clusterproof.checker.kernel.reading import Claim, read
from clusterproof.checker.kernel.rules import dual, empty, exhausted, instance
from clusterproof.checker.kernel.statement import printed

RULES = {
    each.__name__: each
    for each in (instance, exhausted, signs, squares, dual, empty, induction, potential, family)
}
OF_CLAIM = 8
"""The evidence for a claim may take this many times as many steps as one piece of evidence."""
POTENTIAL = "potential"
"""Name of the step that the invariants of all loops hold. It becomes a line only if it is violated."""
Place = tuple[str, str]
"""The name of a statement, and the name of one of its lines."""


class Word(StrEnum):
    """The kernel's verdict on a line or on a claim."""

    CERTIFIED = "certified"
    """Every instance that meets the hypotheses satisfies the line, and at least one instance meets them."""
    VIOLATED = "violated"
    """One instance meets the hypotheses and breaks the line."""
    ILL_POSED = "ill-posed"
    """One instance breaks the line, and the claim's author has marked the line as ambiguous in this case."""
    VACUOUS = "vacuous"
    """No instance meets the hypotheses; or the line is certified, and its author has marked it as vacuous then."""
    OPEN = "open"
    """The evidence decides nothing."""


@dataclass(frozen=True)
class Judgement:
    """The kernel's verdicts on a text.

    Attributes
    ----------
    word
        The verdict on the claim.
    lines
        The verdict on each line.
    why
        For each piece of evidence, the reason why the kernel rejects it, or an empty string if the kernel accepts it.
    digest
        SHA-256 hash of the text.
    """

    word: Word
    lines: Mapping[Place, Word]
    why: tuple[str, ...]
    digest: str


def judge(text: str, records: Iterable[Any], *, fuel: int = FUEL) -> Judgement:
    """Judge the claim that a text states, given evidence.

    Parameters
    ----------
    text
        The text, which is read as the docstring of the kernel describes.
    records
        Pieces of evidence as JSON values, in the format that the module ``evidence`` describes.
    fuel
        Largest number of steps for reading the text, and for judging each piece of evidence. All evidence together may
        take ``OF_CLAIM`` times as many steps.

    Raises
    ------
    Refused
        If the text does not state a claim of the language. The message contains the place, the reason, and a remedy.
    """
    return judge_claim(read(text, fuel=fuel), records, fuel=fuel)


def judge_claim(claim: Claim, records: Iterable[Any], *, fuel: int = FUEL) -> Judgement:
    """Judge a claim that has been read from its text; the parameters are as in ``judge``."""
    lines = {
        (name, line): Word.OPEN for name, statement in claim.statements.items() for line in statement.lines
    }
    why, left = [], OF_CLAIM * fuel
    for record in records:
        most = min(fuel, left)
        with limited(most) as remaining:
            try:
                place, word = _shown(claim, record)
            except Refused as refused:
                why.append(str(refused))
            else:
                why.append("")
                lines[place] = word
        left -= most - remaining[0]
    return Judgement(_together(claim, lines), lines, tuple(why), claim.digest)


def show(claim: Claim, record: Any, *, fuel: int = FUEL) -> tuple[Place, Word]:
    """Check a piece of evidence, and return the line that it is about and the verdict that it proves.

    Raises
    ------
    Refused
        If the evidence proves no verdict.
    """
    with limited(fuel):
        return _shown(claim, record)


def _shown(claim: Claim, record: Any) -> tuple[Place, Word]:
    try:
        name, line, rule, data = _decoded(record)
        statement = claim.statements.get(name)
        if statement is None or line not in _names(claim, name, rule):
            raise Refused(f"the claim has no line {line!r} of a statement {name!r}")
        if not RULES[rule](statement, line, data):
            raise Refused("the evidence does not show it")
    except Outside as outside:
        raise Refused(f"the instance does not meet the hypothesis: {outside}") from None
    except Refused:
        raise
    except Exception as error:  # if the function has no value, nothing is proved
        raise Refused(f"{type(error).__name__} {_message(error)}".rstrip()) from None
    if rule in ("instance", "potential"):
        return (name, line), Word.ILL_POSED if line in statement.ill_posed else Word.VIOLATED
    return (name, line), Word.VACUOUS if rule == "empty" or claim.says_nothing else Word.CERTIFIED


def _names(claim: Claim, name: str, rule: str) -> tuple[str, ...]:
    """Return the names of all lines of a statement to which a rule can be applied."""
    if rule != "potential":
        return claim.statements[name].lines
    own = printed(name, POTENTIAL)
    taken = (printed(key, line) for key, each in claim.statements.items() for line in each.lines)
    return () if own in taken else (POTENTIAL,)


def _decoded(record: Any) -> tuple[str, str, str, dict[str, Any]]:
    """Split a piece of evidence into the statement, the line, the rule, and the fields for this rule."""
    if type(record) is not dict or not evidence.HEAD.keys() <= record.keys():
        raise Refused(f"a record of evidence must have the fields {', '.join(evidence.HEAD)}")
    name, line, rule = (decode(record[field]) for field, decode in evidence.HEAD.items())
    if rule not in RULES:
        raise Refused(f"the rule must be one of {', '.join(RULES)}")
    rest = {field: code for field, code in record.items() if field not in evidence.HEAD}
    return name, line, rule, evidence.FIELDS[rule](rest)


def _message(error: Exception) -> str:
    """Return the message of an error, or an empty string if computing the message fails."""
    try:
        return str(error)
    except Exception:  # for example, a number with too many digits
        return ""


def role_of(claim: Claim, place: Place) -> str:
    """Return the role of a line; a potential has a role of its own."""
    name, line = place
    statement = claim.statements[name]
    return statement.role if line in statement.lines else POTENTIAL


def _together(claim: Claim, lines: Mapping[Place, Word]) -> Word:
    """Combine the verdicts on the lines to the verdict on the claim; potentials do not affect it."""
    of_role: dict[str, set[Word]] = {"statement": set(), "lemma": set(), "step": set(), POTENTIAL: set()}
    for place, word in lines.items():
        of_role[role_of(claim, place)].add(word)
    for word in (Word.VIOLATED, Word.ILL_POSED):
        if any(word in of_role[role] for role in ("statement", "lemma", "step")):
            return word
    if Word.OPEN in of_role["statement"]:
        return Word.OPEN
    if Word.VACUOUS in of_role["statement"]:
        return Word.VACUOUS
    return Word.CERTIFIED if of_role["lemma"] <= {Word.CERTIFIED} else Word.OPEN

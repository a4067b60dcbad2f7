"""Check a report by evaluating everything in it again: nothing that it states is taken for granted.

On another processor a search may take another way and end at another instance. A number that is recorded of an instance
is therefore also right where that instance gives it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import msgspec

from clusterproof.theory.checker.catalogue import check, find_claim, is_close, replay, version
from clusterproof.theory.checker.claim import CLAIM_SIGNIFICANCE, Context
from clusterproof.theory.checker.claim_parts import factor_names
from clusterproof.theory.checker.conclusions import WHOLE
from clusterproof.theory.checker.evaluation import Evaluation, evaluate
from clusterproof.theory.checker.report import Recorded, to_json
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.survey import ratios
from clusterproof.theory.checker.verdict import NEEDED, Finding, Kind

RELATIVE = 1e-6
"""Relative difference up to which two numbers are the same on another processor."""
ROUNDING = 1e-8
"""The same, absolutely, for the sides of an identity, which are zero but for rounding."""
SEARCHED = 0.05
"""Relative difference of a tightness that a search found."""
DRAWN = 0.4
"""Relative difference of what a few random instances give: the rounding of one decides which are drawn after it."""
COUNTED = 0.2
"""Relative difference of how many of them are tried, and break a statement."""
TIMED = 12
"""Instances that a search beyond open ends may try more on a faster machine."""
DEVIATIONS = 6.0
"""Of a number of repetitions, in which random numbers may make two processors differ."""

NAMES = ("paper", "label", "repaired_by", "transcribed")
"""What a verdict has of its claim."""
ANSWERS = ({True}, {False}, {None}, {True, None}, {False, None})
"""Two answers to whether a hypothesis is needed that agree: a limit of time may leave one out."""
OPEN_ENDS = re.compile(r", and beyond the ranges: [^;]*")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def lacking(entries: list[Recorded]) -> list[str]:
    """Names of the fields that a report of an older version does not have."""
    fields = {
        "seed": any(entry.seed is None for entry in entries),
        "number of trials": any(entry.requested_trials is msgspec.UNSET for entry in entries),
        "version": any(entry.version is None for entry in entries),
    }
    return [name for name, missing in fields.items() if missing]


def disagreement(entry: Recorded) -> tuple[Finding, str]:
    """Evaluate a recorded verdict again.

    Parameters
    ----------
    entry
        Of a report. A counterexample is evaluated on its instance, and the claim is checked again with the recorded
        seed and number of trials. Of a report of another version only the verdict and its two sides are compared.

    Returns
    -------
    Finding
        What came out.
    str
        What differs from the record; empty where nothing does.

    Raises
    ------
    InvalidArgument
        If the claim is unknown, or the counterexample is no instance of it or has other sides.
    """
    finding = None
    if entry.counterexample is not None:
        finding = replay(entry.claim, entry.counterexample, recorded=(entry.measured, entry.bound))
    if finding is not None and (finding.verdict != entry.verdict or entry.version != version()):
        return finding, "" if finding.verdict == entry.verdict else f"recorded as {entry.verdict}"
    trials = entry.requested_trials if isinstance(entry.requested_trials, int) else None
    found = check(entry.claim, seed=entry.seed or 0, trials=trials)
    decided_by_one = entry.verdict in (Kind.VIOLATED, Kind.ILL_POSED)
    if finding is None and decided_by_one and find_claim(entry.claim).reexamine is not None:
        return found, f"recorded as {entry.verdict} without its counterexample"
    if finding is None and found.verdict != entry.verdict:
        return found, f"recorded as {entry.verdict}"
    now: dict[str, Any] = json.loads(to_json([found]))[0]
    if finding is None:
        differences = _of_check(entry, now)
    else:
        differences = _of_counterexample(entry, now, json.loads(to_json(asdict(finding))))
    compared = now.keys() if entry.version == version() else ("measured", "bound")
    try:
        name = next((name for name in differences if name in compared), None)
    except (AttributeError, KeyError, TypeError) as error:
        return finding or found, f"its fields are not those of a report ({type(error).__name__}: {error})"
    if name is None:
        return finding or found, ""
    known = f", and is {now[name]!r}" if finding is None else ""
    return finding or found, f"{name} is recorded as {entry.record.get(name)!r}{known}"


def _of_counterexample(entry: Recorded, now: Mapping[str, Any], again: Mapping[str, Any]) -> Iterator[str]:
    """Yield fields that differ from those of the check, and of the evaluation of the counterexample.

    Where the check finds another one, its numbers of instances are not those of the record.
    """
    record = entry.record
    yield from (name for name in NAMES if record.get(name, ...) != now[name])
    yield from (name for name in ("sharpness", "needed", "proof") if record.get(name, ...) is not None)
    if not _surveyed(entry, record.get("tightness") or {}, now["tightness"] or {}):
        yield "tightness"
    known = [again]
    if record["counterexample"] == now["counterexample"]:
        known.append(now)
        yield from (name for name in ("steps", "exhausted") if record.get(name, ...) != now[name])
        yield from _counts(record, now)
        if record.get("reason") != now["reason"]:
            yield "reason"
    for name in ("trials", "failures"):
        if record.get(name, ...) not in [one[name] for one in known]:
            yield name
    if not any(_alike(record.get("confidence"), one["confidence"]) for one in known):
        yield "confidence"
    slacks = [one["slack"] for one in known]
    if again["measured"] and again["bound"] is not None:
        slacks[0] = again["bound"] / again["measured"]
    if not any(is_close(record.get("slack"), value) for value in slacks):
        yield "slack"


def _surveyed(entry: Recorded, recorded: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether each ratio is what its instance gives, and about as bad as what the survey finds, as are its counts."""
    if recorded.keys() != found.keys():
        return False
    for name, there in found.items():
        here = recorded[name]
        relative = {"typical": DRAWN, "instances": COUNTED, "broken": COUNTED}
        if here.keys() != there.keys() or not all(
            is_close(here[key], there[key], relative[key], float(key != "typical"))
            for key in here.keys() & relative.keys()
        ):
            return False
        given = [
            one.worst
            for part, evaluation in _evaluated(entry, here)
            for several in (False, True)
            if (one := ratios(part, evaluation, several=several).get(name)) is not None
        ]
        if here["instance"] is None or there["ratio"] is None:
            right = (here["ratio"], here["instance"]) == (there["ratio"], there["instance"])
        else:
            right = any(is_close(here["ratio"], ratio, RELATIVE, ROUNDING) for ratio in given)
            right &= here["ratio"] <= there["ratio"] + DRAWN * abs(there["ratio"]) + ROUNDING
        if not right:
            return False
    return True


def _of_check(entry: Recorded, now: Mapping[str, Any]) -> Iterator[str]:
    """Yield fields that are neither what the check finds nor what the instances of the record give."""
    record = entry.record
    factors, ratios = record.get("sharpness") or {}, record.get("tightness") or {}
    repeated = now["trials"] is not None
    searched = RELATIVE if now["exhausted"] and not repeated else SEARCHED
    at = {key: list(_values(entry, ratio)) for key, ratio in ratios.items()}
    anywhere = [one for several in at.values() for one in several]
    for name in ("measured", "bound"):
        relative = DRAWN if repeated and not ratios else RELATIVE
        right = [now[name], *(one[name] for one in anywhere)]
        if not any(is_close(record.get(name), value, relative, ROUNDING) for value in right):
            yield name
    slacks = [now["slack"], *(1 / one[WHOLE] for one in anywhere if one[WHOLE])]
    if not any(is_close(record.get("slack"), value, searched) for value in slacks):
        yield "slack"
    for name in ("trials", "failures"):
        if not is_close(record.get(name), now[name], 0.0, DEVIATIONS * math.sqrt(2 * (now[name] or 0))):
            yield name
    intervals = [one for each in anywhere for one in each["intervals"]]
    if not (
        _alike(record.get("confidence"), now["confidence"], DRAWN)
        or any(_alike(record.get("confidence"), one, RELATIVE) for one in intervals)
    ):
        yield "confidence"
    yield from (
        name for name in (*NAMES, "proof", "steps", "exhausted") if record.get(name, ...) != now[name]
    )
    empty = [name for name in ("sharpness", "tightness", "needed") if not record.get(name)]
    yield from (name for name in empty if record.get(name, ...) != now[name])
    yield from _counts(record, now)
    if _words(record.get("reason")) != _words(now["reason"]):
        yield "reason"
    needed, known = record.get("needed") or {}, now["needed"] or {}
    if needed.keys() != known.keys() or any({needed[name], known[name]} not in ANSWERS for name in known):
        yield "needed"
    found = now["sharpness"] or {}
    if not factors.keys() == ratios.keys() == found.keys():
        yield "sharpness"
        return
    for key, factor in factors.items():
        here, there = ratios[key], now["tightness"][key]
        given = [
            one[key]
            for one in (anywhere if here["instance"] is None else at[key])
            if one.get(key) is not None
        ]
        shown = any(is_close(factor, one, searched) for one in given)
        if given and factor is not None and found[key] is not None:
            shown |= max(factor, found[key], min(given)) < NEEDED  # of no weight, whatever the digits
        if not (shown or is_close(factor, found[key], searched)):
            yield "sharpness"
        same = here.keys() == there.keys() and here.get("identities") == there.get("identities")
        same &= is_close(here["ratio"], 1 / factor if factor else None)
        same &= is_close(here.get("typical"), there.get("typical"), DRAWN)
        if not (same and (shown or here["instance"] == there["instance"])):
            yield "tightness"


def _counts(record: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield numbers of instances, and code, that differ by more than a faster machine explains."""
    timed = TIMED if OPEN_ENDS.search(now["reason"]) else 0.0
    if not is_close(record.get("instances"), now["instances"], 0.0, timed):
        yield "instances"
    if not _alike(record.get("rejected"), now["rejected"], 0.0, timed):
        yield "rejected"
    if record.get("code") != now["code"]:
        yield "code"


def _evaluated(entry: Recorded, ratio: Any) -> Iterator[tuple[Statement, Evaluation]]:
    """Evaluate an instance of a tightness, for each part of the statement that has it."""
    claim, instance = find_claim(entry.claim), (ratio or {}).get("instance")
    if instance is None or claim.parts is None:
        return
    trials = entry.requested_trials if isinstance(entry.requested_trials, int) else None
    context = Context(entry.seed or 0, trials, CLAIM_SIGNIFICANCE / len(claim.parts.parts), claim.id)
    for part in claim.parts.parts:
        with suppress(Exception):  # it is no instance of this part
            yield part, evaluate(part, context, part.space.decode(instance))


def _values(entry: Recorded, ratio: Any) -> Iterator[dict[str, Any]]:
    """Yield the sides and the factors that an instance of a tightness gives, for each part that has it."""
    for part, one in _evaluated(entry, ratio):
        worst = max(one.judged.values(), key=lambda each: float(each.factors.get(WHOLE) or -1.0))
        values: dict[str, Any] = {WHOLE: one.used, "measured": worst.measured, "bound": worst.allowed}
        values["intervals"] = [
            asdict(judged.interval) for judged in one.judged.values() if judged.interval is not None
        ]
        for conclusion, judged in one.judged.items():
            for term, factor in judged.factors.items():
                for several in (False, True):
                    names = factor_names(part, conclusion, term, several=several)
                    values |= dict.fromkeys((name for name in names if name != WHOLE), factor)
        yield values


def _words(reason: Any) -> str:
    """Remove the numbers from a reason, and how far a search beyond open ends went."""
    return NUMBER.sub("", OPEN_ENDS.sub("", str(reason)))


def _alike(recorded: Any, found: Any, relative: float = RELATIVE, absolute: float = 1e-12) -> bool:
    """Whether two records of numbers, or two missing ones, are the same up to rounding."""
    if not isinstance(recorded, Mapping) or not isinstance(found, Mapping):
        return recorded is None and found is None
    return recorded.keys() == found.keys() and all(
        is_close(recorded[name], found[name], relative, absolute) for name in found
    )

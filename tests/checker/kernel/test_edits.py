"""Edited evidence: it is refused, or it is true evidence itself; it costs little, and nothing raises."""

import copy
import random
import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Annotated, Any

import pytest
from families_by_hand import BY_HAND, WRONG_POTENTIAL, gaps_and_distances, wrong_potential
from kernel_statements import OPEN, TooLong, at_most_seconds, frozen_of, read_instance, replayed

from clusterproof.checker import catalogue, kernel
from clusterproof.checker.claims import Sides, at_most, rationals
from clusterproof.checker.claims.judge import judge
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.kernel import verdicts
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.kernel.numbers import write
from clusterproof.checker.report.stored_evidence import read_evidence
from clusterproof.checker.search.evidence import evidence_of
from clusterproof.checker.search.strategy import search

Share = Annotated[Fraction, rationals(0, 1, 4)]
Number = Annotated[Fraction, rationals(-9, 9, 4)]


# ---- the records


def means(x: Number, y: Number) -> Sides:
    return at_most(2 * x * y, bound=x**2 + y**2)


def variance(x: Number, y: Number, z: Number) -> Sides:
    return at_most(((x + y + z) / 3) ** 2, bound=(x**2 + y**2 + z**2) / 3)


def centred(p: Share) -> Sides:
    return at_most(p * (1 - p), bound=Fraction(1, 4))


Record = tuple[Any, kernel.Claim, dict[str, Any]]
"""A statement, the claim of which it is as the kernel reads it, and evidence."""
WORDS = dict.fromkeys(verdicts.RULES, kernel.Word.CERTIFIED)
WORDS |= {"instance": kernel.Word.VIOLATED, "potential": kernel.Word.VIOLATED, "empty": kernel.Word.VACUOUS}


@cache
def records() -> dict[str, list[Record]]:
    """Evidence by its rule: what is shipped, sums of squares of statements above, and multipliers by hand."""
    found: dict[str, list[Record]] = defaultdict(list)
    for paper in sorted({claim.paper for claim in catalogue()}):
        kept = read_evidence(paper)
        for claim in catalogue(paper):
            statements = {each.name: each for each in claim.statements}
            stated = kernel.read(kept.texts[claim.id]) if kept.of_claim(claim.id) else None
            for record in kept.of_claim(claim.id):
                if not (
                    claim.says_nothing or record["line"] in stated.statements[record["statement"]].ill_posed
                ):
                    found[record["rule"]].append((statements[record["statement"]], stated, record))
    for function in (means, variance, centred):
        of, frozen = Statement("", function), frozen_of(function)
        stated = kernel.read(frozen.text)
        evidence = evidence_of(search(of, 0, 1e-9, frozen=frozen), "", stated)
        assert evidence is not None
        found[evidence[0]["rule"]].append((of, stated, evidence[0]))
    for function, by_hand in {**BY_HAND, wrong_potential: WRONG_POTENTIAL}.items():
        stated = kernel.read(frozen_of(function).text)
        record = {"statement": "", "line": "", **by_hand}
        found[by_hand["rule"]].append((Statement("", function), stated, record))
    return dict(found)


# ---- edits

NUMBERS: list[Any] = [0, "1/3", "-2/7", 10**30, -(10**30), "1" + "0" * 5000, f"1/1{'0' * 4000}"]
OTHERS: list[Any] = [0.5, float("nan"), True, False, None, "text", "1/0", [], [[]], {}, [1, "1/2"]]
RULES = [*verdicts.RULES, "", None, 1, 0.5, True]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where something can be edited."""
    items = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    for key, entry in items:
        if path or key != "statement":
            yield (*path, key)
            yield from places(entry, (*path, key))


def edited(value: Any, stream: random.Random) -> Any:
    """Edit a number, a text or what holds them."""
    others = stream.choice([NUMBERS, OTHERS])
    if type(value) is bool or value is None:
        return stream.choice([not value, *others])
    if type(value) is int or (type(value) is str and value[-1:].isdigit()):
        try:
            exact = Fraction(value)
        except ValueError:
            return stream.choice(others)
        changed = stream.choice([exact + 1, exact - 1, exact * Fraction(101, 100), -exact])
        return stream.choice([write(changed), write(changed), *others[:2]])
    if type(value) is list and value and stream.random() < 0.9:
        i, j = stream.randrange(len(value)), stream.randrange(len(value))
        if (way := stream.randrange(4)) == 0:
            return [*value[:i], *value[i + 1 :]]
        if way == 1:
            return [*value[:i], value[i], *value[i:]]
        if way == 2:
            return value[::-1]
        swapped = list(value)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        return swapped
    if type(value) is dict and value and stream.random() < 0.9:
        name, other = stream.choice(list(value)), stream.choice(list(value))
        if (way := stream.randrange(3)) == 0:
            return {key: entry for key, entry in value.items() if key != name}
        if way == 1:
            return {f"{key}x" if key == name else key: entry for key, entry in value.items()}
        return {**value, name: value[other], other: value[name]}
    return stream.choice(others)


def edit(evidence: dict[str, Any], stream: random.Random) -> tuple[Any, dict[str, Any]]:
    """Return where evidence was edited, and the edited one."""
    made = copy.deepcopy(evidence)
    *way, last = path = stream.choice(list(places(made)))
    inside: Any = made
    for key in way:
        inside = inside[key]
    if path == ("rule",):
        made["rule"] = stream.choice(RULES)
    elif path == ("line",):
        made["line"] = stream.choice([*{line for _, line in proved()}, f"{made['line']} ", *OTHERS])
    elif way and stream.random() < 0.1:
        del inside[last]
    else:
        inside[last] = edited(inside[last], stream)
    return path, made


# ---- what is true of an edited record


@cache
def proved() -> dict[tuple[str, str], kernel.Word]:
    """By text and line, the word that the unedited record supports."""
    return {
        (stated.digest + evidence["statement"], evidence["line"]): WORDS[rule]
        for rule, several in records().items()
        for _, stated, evidence in several
    }


def breaks_its_potential(function: dict[str, Any], rounds: int) -> bool:
    """Return whether (n + 1) (f(x_n) - f*) + |x_n - x*|^2 / 2 is more than |x_0 - x*|^2 / 2 in some round."""
    several = gaps_and_distances(function, rounds)
    return any((n + 1) * gap + apart > several[0][1] for n, (gap, apart) in enumerate(several))


def breaks(of: Any, line: str, code: dict[str, Any]) -> bool | None:
    """Return whether the claim's own function breaks a line at an instance; None if it is none of the line."""
    instance = read_instance(of, code)
    if not of.space.holds(instance):
        return None
    try:
        judged = judge(of.lines(instance), 1e-9, instance)
    except Outside:
        return None
    return judged[line].broken if line in judged else None


def is_true(of: Any, stated: kernel.Claim, evidence: dict[str, Any], word: kernel.Word) -> bool:
    """Return whether an accepted record says what is so."""
    own = stated.digest + evidence["statement"]
    if evidence["rule"] == "potential":
        return breaks_its_potential(evidence["instance"]["f"], evidence["instance"]["rounds"])
    if word is kernel.Word.VIOLATED:
        return breaks(of, evidence["line"], evidence["instance"]) is True
    if (
        evidence["rule"] in ("signs", "squares")
        and breaks(of, evidence["line"], evidence["witness"]) is not False
    ):
        return False
    if evidence["rule"] == "empty":  # no instance has any line
        return word in {known for (digest, _), known in proved().items() if digest == own}
    return proved().get((own, evidence["line"])) is word


# ---- the tests

COUNT = 200


def outcomes() -> tuple[list[tuple[Any, ...]], int]:
    """Replay edits; return (rule, path, statement, record, word or error, seconds) of each, and the memory in bytes."""
    stream = random.Random(2026)
    by_rule = records()
    proved()
    found: list[tuple[Any, ...]] = []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(COUNT):
        rule = stream.choice(sorted(by_rule))
        of, language, evidence = stream.choice(by_rule[rule])
        path, made = edit(evidence, stream)
        begun = time.process_time()
        said: Any
        try:
            with at_most_seconds(2 * SECONDS):
                said = replayed(language, made).word
        except (Exception, TooLong) as error:
            said = error
        found.append((rule, path, of, language, made, said, time.process_time() - begun))
    return found, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


SECONDS = 3
"""The whole fuel takes about one second of processor time; more is left for slow and busy machines."""


def test_every_rule_has_records_which_show_their_words() -> None:
    assert records().keys() == WORDS.keys()
    for rule, several in records().items():
        for of, language, evidence in several[:3]:
            shown = replayed(language, evidence)
            assert shown.word is WORDS[rule], (evidence, shown.why)
            assert is_true(of, language, evidence, shown.word)


def test_an_edit_never_raises_is_refused_or_true_and_takes_little_time_and_memory() -> None:
    found, memory = outcomes()
    assert [each for each in found if type(each[5]) is not kernel.Word] == []
    assert [(rule, path, seconds) for rule, path, *_, seconds in found if seconds > SECONDS] == []
    assert memory < 500e6
    accepted = [each for each in found if each[5] is not OPEN]
    false = [each for each in accepted if not is_true(*each[2:6])]
    assert false == []
    unchanged = [
        each for each in accepted if each[4] in [e for several in records().values() for _, _, e in several]
    ]
    assert len(accepted) - len(unchanged) < COUNT / 5  # most edits break a record


@pytest.mark.slow(reason="each record under each rule takes half a minute")
def test_a_record_takes_little_time_under_each_rule() -> None:
    for several in records().values():
        for _, language, evidence in several[:3]:
            for rule in verdicts.RULES:
                begun = time.process_time()
                replayed(language, {**evidence, "rule": rule})
                assert time.process_time() - begun < SECONDS, (language.name, evidence["line"], rule)

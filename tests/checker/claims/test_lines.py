"""Chains: lines and their verdicts, which one decides, what `given` leaves out, and steps of a proof."""

from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from toy_claims import Digit, Share, Unit, decided, stated

from clusterproof import check, replay
from clusterproof.checker import Kind, Verdict
from clusterproof.checker.claims import (
    Excluded,
    Outside,
    Sides,
    at_least,
    at_most,
    equal,
    expectation,
    given,
    probability,
    suppose,
)
from clusterproof.checker.report.decide import decide
from clusterproof.checker.report.tables import evidence
from clusterproof.checker.report.verdict import records, unite
from clusterproof.common import InvalidArgument

pytestmark = pytest.mark.usefixtures("registry")


def kinds(verdict: Verdict) -> dict[str, str]:
    return {line.name: line.verdict for line in verdict.lines}


def chain(x: Digit) -> dict[str, Sides]:
    """The second line is false at 7, 8 and 9, the third at 9 only, and the fourth at 1, too."""
    return {
        "start": at_most(x, nine=9),
        "second": at_most(x, six=6),
        "third": at_most(x, eight=8),
        "fourth": at_most(int(x in (1, 9)), nothing=0),
    }


def test_the_first_false_line_decides_and_a_later_one_says_whether_it_is_false_alone() -> None:
    found = decided(chain)
    assert kinds(found) == {
        "start": "certified",
        "second": "violated",
        "third": "violated",
        "fourth": "violated",
    }
    assert (found.name, found.counterexample) == ("second", {"x": 7, "line": "second"})
    assert [line.only_where for line in found.lines] == [None, None, "second", None]
    assert [line.counterexample["x"] for line in found.lines[2:] if line.counterexample] == [9, 1]
    said = evidence(found)
    for words in (
        "the first line that is violated is second",
        "third fails only where it does, at 10 instances",
        "also fourth",
    ):
        assert words in said


def test_a_line_is_checked_written_and_replayed_by_its_name() -> None:
    stated(chain)
    line = check("toy/one#third")
    assert (line.claim, line.verdict, line.measured, line.bound) == ("toy/one#third", "violated", 9, 8)
    with pytest.raises(InvalidArgument, match="must be one of its lines: start, second, third, fourth"):
        check("toy/one#fifth")
    assert replay("toy/one", {"x": 9, "line": "third"}).verdict is Kind.VIOLATED
    assert replay("toy/one", {"x": 8, "line": "third"}).verdict is Kind.CONSISTENT
    with pytest.raises(InvalidArgument, match="must be one of the lines"):
        replay("toy/one", {"x": 9, "line": "fifth"})
    names = [record["claim"] for record in records(check("toy/one"))]
    assert names == ["toy/one", *(f"toy/one#{name}" for name in ("start", "second", "third", "fourth"))]


@pytest.mark.parametrize("order", [("loose", "near", "far"), ("far", "near", "loose")])
def test_the_numbers_are_those_of_the_line_that_comes_nearest(order: tuple[str, ...]) -> None:
    def several(x: Digit) -> dict[str, Sides]:
        lines = {
            "loose": at_most(x, ninety=90),
            "near": at_most(x, ten=10),
            "far": at_most(x, hundred=100),
        }
        return {name: lines[name] for name in order}

    found = decided(several)
    assert (found.name, found.measured, found.bound, found.worst) == ("near", 9, 10, 0.9)


def test_the_least_certain_line_decides_if_none_is_false() -> None:
    def proved(x: Unit) -> dict[str, Sides]:
        return {"proved": at_most(x, one=1)}

    def tried(x: Unit) -> Sides:
        return at_most(np.abs(x), one=1)

    for evaluations, verdict in ((29, "inconclusive"), (100, "consistent")):
        claim = stated(proved, evaluations=evaluations // 2)
        claim.line("tried", evaluations=evaluations // 2)(tried)
        found = decide(claim)
        assert kinds(found) == {"proved": "certified", "tried": verdict}
        assert (found.name, found.verdict) == ("tried", verdict)


def halves(x: Digit) -> dict[str, Sides | Excluded]:
    return {
        "always": at_most(x, nine=9),
        "even": given("x is even", x % 2 == 0, lambda: at_most(x // 2, half=Fraction(x, 2))),
        "never": given("x < 0", x < 0, lambda: at_most(1, nothing=0)),
    }


def test_a_line_that_some_instances_have_is_judged_at_these_and_what_none_has_is_vacuous() -> None:
    found = decided(halves)
    assert kinds(found) == {"always": "certified", "even": "certified", "never": "vacuous"}
    assert [line.instances for line in found.lines] == [10, 5, 0]
    assert '5 others do not meet "x is even"' in found.lines[1].reason
    assert found.lines[2].reason == 'no instance meets "x < 0"'
    assert found.verdict is Kind.VACUOUS
    with pytest.raises(InvalidArgument, match="that the instance has"):
        replay("toy/one", {"x": 3, "line": "even"})


def test_a_hypothesis_within_a_line_is_one_of_that_line_alone() -> None:
    def inner(x: Digit) -> dict[str, Sides | Excluded]:
        def less() -> Sides:
            suppose("x < 5", x < 5)
            return at_most(x, four=4)

        return {"all": at_most(x, nine=9), "less": given("x > 0", x > 0, less)}

    found = decided(inner)
    assert kinds(found) == {"all": "certified", "less": "certified"}
    assert [line.instances for line in found.lines] == [10, 4]


def test_a_hypothesis_that_fails_may_not_be_caught() -> None:
    def caught(x: Digit) -> dict[str, Sides | Excluded]:
        def line() -> Sides:
            with suppress(Outside):
                suppose("x < 5", x < 5)
            suppose("x < 7", x < 7)
            return at_most(x, nine=9)

        return {"one": given("x > 0", x > 0, line)}

    with pytest.raises(
        InvalidArgument, match='must not catch the exception of a failing hypothesis: "x < 5"'
    ):
        decided(caught)


def test_a_further_space_is_a_line_of_its_own() -> None:
    def first(x: Digit) -> Sides:
        return at_most(x, nine=9)

    made = stated(first)

    @made.line("fractions", evaluations=60)
    def fractions(share: Share) -> dict[str, Sides]:
        return {"low": at_most(share, one=1), "high": at_most(share, half=Fraction(1, 2))}

    found = decide(made)
    assert kinds(found) == {"": "certified", "fractions: low": "certified", "fractions: high": "violated"}
    assert found.counterexample == {"share": 1, "line": "fractions: high"}
    assert replay("toy/one", found.counterexample).verdict is Kind.VIOLATED
    with pytest.raises(InvalidArgument, match="must differ from the other lines' names in toy/one"):
        made.line("fractions")


@pytest.mark.parametrize(
    ("needed", "proved", "expected"),
    [
        (True, True, Kind.CERTIFIED),
        (True, False, Kind.CONSISTENT),
        (False, False, Kind.CERTIFIED),
        (True, None, Kind.VIOLATED),
        (False, None, Kind.VIOLATED),
    ],
)
def test_a_claim_is_certified_only_if_its_lemmas_are(
    needed: bool, proved: bool | None, expected: Kind
) -> None:
    def theorem(x: Digit) -> Sides:
        return at_most(x, nine=9)

    made = stated(theorem)

    def lemma(y: Unit) -> Sides:
        return at_most(y, one=1 if proved is not None else Fraction(1, 2))

    def outside(y: Unit) -> Sides:
        return at_most(np.abs(y), one=1)

    made.step("lemma", needed=needed, evaluations=60)(outside if proved is False else lemma)

    found = decide(made)
    assert found.verdict is expected
    assert ("the proof is not complete: lemma" in found.reason) == (expected is Kind.CONSISTENT)
    assert (found.proof is None) == (expected is not Kind.CERTIFIED)


def test_an_earlier_line_that_fails_alone_hides_no_later_one_that_fails_elsewhere() -> None:
    def lines(x: Digit, y: Digit) -> dict[str, Sides]:
        suppose("x > 0", x > 0)
        return {"first": at_most(y, eight=8), "second": at_most(x * (y > 8) + 9 * (x == y == 5), eight=8)}

    found = decided(lines)
    assert found.lines[1].only_where is None
    assert found.lines[1].counterexample == {"x": 5, "y": 5, "line": "second"}


def test_a_line_that_fails_with_one_earlier_line_or_another_fails_only_where_neither_does() -> None:
    def lines(x: Digit) -> dict[str, Sides]:
        third = at_most(int(x in (0, 9)), nothing=0)
        return {"first": at_most(x, eight=8), "second": at_least(x, one=1), "third": third}

    assert [line.only_where for line in decided(lines).lines] == [None, None, None]


def test_seeds_are_united_to_the_simplest_counterexample_or_the_least_certain_verdict() -> None:
    def rare(x: Unit, *, most: float = 0.6) -> Sides:
        suppose("x < 1", abs(x) < 1)
        return at_most(abs(x), bound=most)

    seeds = [decided(rare, seed, evaluations=60) for seed in range(3)]
    united = unite(seeds)
    assert {verdict.verdict for verdict in (united, *seeds)} == {Kind.VIOLATED}
    assert len(str(united.counterexample)) == min(len(str(verdict.counterexample)) for verdict in seeds)
    rare.__kwdefaults__["most"] = 1.0
    few, many = (decided(rare, evaluations=count) for count in (10, 60))
    united = unite([many, few])
    assert united.verdict is few.verdict is Kind.INCONCLUSIVE
    assert united.instances == (few.instances or 0) + (many.instances or 0)


def test_a_line_may_have_a_kind_and_a_repair_of_its_own() -> None:
    made = stated(
        chain,
        source={"": "reading", "second": "printed"},
        error_kind={"second": "misprint"},
        repaired_by={"second": "toy/other", "third": ("toy/one", "toy/other")},
        ill_posed={"fourth": True},
    )
    stated(chain, "other")
    assert (made.source, made.error_kind, made.repaired_by) == (
        "reading",
        "false statement",
        ("toy/other", "toy/one"),
    )
    found = check("toy/one")
    own = {line.name: (line.source, line.error_kind, line.repaired_by) for line in found.lines}
    assert own == {
        "start": ("reading", "false statement", ()),
        "second": ("printed", "misprint", ("toy/other",)),
        "third": ("reading", "false statement", ("toy/one", "toy/other")),
        "fourth": ("reading", "false statement", ()),
    }
    assert kinds(found)["fourth"] == "ill-posed"
    assert replay("toy/one", {"x": 1, "line": "fourth"}).verdict is Kind.ILL_POSED
    assert (found.source, found.error_kind, found.repaired_by) == ("printed", "misprint", made.repaired_by)
    assert "the first line that is violated is second (misprint); third (reading) fails" in evidence(found)
    written = {record["claim"]: record for record in records(found)}
    assert written["toy/one#third"]["repaired_by"] == ("toy/one", "toy/other")
    # the claim has no label
    assert check("toy/one#second").heading == f"{made.title.rstrip('.')} (misprint)"


@pytest.mark.parametrize(
    ("fact", "value", "words"),
    [
        ("source", {"fifth": "reading"}, "must name lines of toy/one: start, second, third, fourth"),
        ("repaired_by", {"second": "toy/nothing"}, "must be the id of a claim"),
    ],
)
def test_a_fact_of_a_line_that_is_not_there_is_refused(fact: str, value: dict[str, str], words: str) -> None:
    stated(chain, **{fact: value})
    with pytest.raises(InvalidArgument, match=words):
        check("toy/one")


def test_a_word_of_a_line_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="must be one of printed, reading, ours"):
        stated(chain, source={"second": "guess"})


def test_the_words_of_a_line_are_a_sentence_or_a_function() -> None:
    def conclusions(words: Any) -> list[Any]:
        return [
            lambda: at_most(1, 0, words=words),
            lambda: at_least(0, 1, words=words),
            lambda: equal((1, 0), words=words),
            lambda: probability(np.ones(3), at_most=0.5, words=words),
            lambda: expectation(np.ones(3), at_most=0.5, words=words),
        ]

    for state in conclusions(9):
        with pytest.raises(InvalidArgument, match=r'^words is 9, but it must be a sentence.* Write words="'):
            state()
    for words in ("one exceeds the bound", lambda: "one exceeds the bound"):
        assert [state().words for state in conclusions(words)] == [words] * 5

"""How many claims are of the kernel's language, and of how many it says the word, by the records that it replays."""

from functools import cache

import pytest

from clusterproof import theory
from clusterproof.theory import kernel
from clusterproof.theory.claims.in_language import language_of
from clusterproof.theory.report.stored_evidence import read_evidence
from clusterproof.theory.report.stored_verdicts import read_verdicts


@cache
def decided() -> dict[tuple[str, str, str], kernel.Word]:
    """Return the word of each record on a line of a claim; steps and lemmas have their own."""
    words = {}
    statements = {
        (claim.id, each.name): language_of(each)
        for claim in theory.catalogue()
        for each in claim.statements
        if each.role == "statement"
    }
    for paper in {claim.paper for claim in theory.catalogue()}:
        for record in read_evidence(paper).evidence:
            language = statements.get((record["claim"], record["statement"]))
            if language is not None:
                assert not isinstance(language, str)
                line = record["claim"], record["statement"], record["line"]
                words[line] = kernel.replay(language, record).word
    return words


def test_half_of_the_claims_have_a_statement_in_the_language() -> None:
    found = [
        claim.id
        for claim in theory.catalogue()
        if any(
            not isinstance(language_of(each), str) for each in claim.statements if each.role == "statement"
        )
    ]
    assert len(found) >= 110


@pytest.mark.slow(reason="replays every record")
def test_the_kernel_says_the_words_of_many_claims_and_lines() -> None:
    words = decided()
    assert kernel.Word.INCONCLUSIVE not in words.values()
    assert len(words) >= 110
    verdicts = {claim.id: str(read_verdicts()[claim.id]["verdict"]) for claim in theory.catalogue()}
    # a line of a vacuous claim may be shown to hold whatever is measured
    of_claims = {of for (of, *_), word in words.items() if verdicts[of] in (word.value, "vacuous")}
    assert len(of_claims) >= 40


@pytest.mark.slow(reason="replays every record")
def test_every_line_of_a_certified_claim_is_shown_by_the_kernel() -> None:
    words, verdicts = decided(), read_verdicts()
    certified = [claim for claim in theory.catalogue() if verdicts[claim.id]["verdict"] == "certified"]
    assert certified
    for claim in certified:
        for each in claim.statements:
            if each.role == "statement":
                of = {word for (name, of, _), word in words.items() if (name, of) == (claim.id, each.name)}
                assert of == {kernel.Word.CERTIFIED}, (claim.id, each.name)

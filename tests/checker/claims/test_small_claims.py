"""Statements, true ones and their false neighbours, and the word that each must get."""

from contextlib import suppress
from pathlib import Path

import pytest
from attempts import verdict_on
from kernel_statements import blocks_of, executed

from clusterproof.common import InvalidArgument

BLOCKS = [
    pytest.param(file, *first.partition(": ")[::2], source, id=first.partition(": ")[0])
    for file in ("statements.txt", "functions.txt")
    for first, _, source in blocks_of(Path(__file__).with_name(file))
]
"""The first line of a block has the word, a name, and perhaps a part of the reason; *uncertified* is any
other word, and *refuted* violated by a function that is not of the language."""


@pytest.mark.parametrize(("file", "first", "reason", "source"), BLOCKS)
def test_a_statement_gets_its_word(file: str, first: str, reason: str, source: str) -> None:
    word, statement = first.split()[0], executed(source, file)["statement"]
    basis = {"violated": "exact", "refuted": "intervals"}.get(word)
    if word == "uncertified":
        with suppress(InvalidArgument, ZeroDivisionError):
            assert verdict_on(statement, evaluations=60).verdict != "certified"
        return
    found = verdict_on(statement, evaluations=60)
    assert found.verdict == ("violated" if basis else word), found.reason
    assert reason in found.reason
    assert (found.proof is not None) == (word in ("certified", "vacuous"))
    assert basis in (None, found.basis)


PAIRS = [
    pytest.param(first.split()[0], *constants.split(", ", 1), source, id=first.partition(":")[0])
    for first, constants, source in blocks_of(Path(__file__).with_name("pairs.txt"))
]
"""With the first C a statement is true, and proved by sums of squares or tried; with the second it is false."""


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("how", "true", "false", "source"), PAIRS)
def test_a_statement_is_refuted_with_a_smaller_constant(how: str, true: str, false: str, source: str) -> None:
    found, *others = (
        verdict_on(executed(f"{source}\nC = {constant}\n", "pairs.txt")["statement"], seed, evaluations=count)
        for constant, seed, count in ((true, 0, 60), (false, 0, None), (false, 1, None))
    )
    if how == "squares":
        assert (found.verdict, found.proof, found.exhausted) == ("certified", "squares", True)
    assert found.verdict in ("certified", "consistent")
    assert [each.verdict for each in others] == ["violated"] * 2

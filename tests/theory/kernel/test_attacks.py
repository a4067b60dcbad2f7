"""No false statement is certified or vacuous, whatever evidence is given for it."""

from collections.abc import Callable
from typing import Any

import pytest
from false_statements import FALSE

from clusterproof.theory import kernel
from clusterproof.theory.claims.in_language import language_of
from clusterproof.theory.claims.statement import Statement

FIRST = {"n": 1, "x": 0}


def evidence(rule: str, statement: kernel.Statement) -> dict[str, Any]:
    """Evidence of a rule as complete as anybody can write it without a proof."""
    witness = {name: FIRST[name] for name in statement.space.ranges}
    return {
        "rule": rule,
        "line": "",
        "digest": statement.digest,
        "witness": witness,
        "blocks": [],
        "settings": [],
    }


@pytest.mark.parametrize("function", FALSE, ids=lambda function: function.__name__)
def test_a_false_statement_is_not_certified(function: Callable[..., Any]) -> None:
    language = language_of(Statement("", function))
    if isinstance(language, str):
        return  # not of the language: nothing is ever certified of it
    for rule in ("exhausted", "signs", "squares", "dual", "empty"):
        for listed in (False, True):
            shown = kernel.replay(language, {**evidence(rule, language), "listed": listed})
            assert shown.word is kernel.Word.INCONCLUSIVE, rule


def test_most_of_them_are_refused_with_the_line() -> None:
    refused = [language_of(Statement("", function)) for function in FALSE]
    texts = [text for text in refused if isinstance(text, str)]
    assert len(texts) >= len(FALSE) - 5
    assert all("line " in text or "default" in text for text in texts), texts

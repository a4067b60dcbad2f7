"""Attempts to fool the kernel by its language, its symbols and its functions of a class, each with evidence."""

import time
from collections.abc import Callable
from typing import Any

import attacks_dual
import attacks_induction
import attacks_language
import attacks_symbols
import pytest

from clusterproof.theory import kernel
from clusterproof.theory.claims.in_language import language_of
from clusterproof.theory.claims.statement import Statement

BY_DESIGN = {
    "division_of_ints": "the division of two ints is a fraction in the language",
}
ATTEMPTS = [
    pytest.param(function, make, id=f"{module.__name__.removeprefix('attacks_')}-{name}")
    for module in (attacks_language, attacks_symbols, attacks_dual, attacks_induction)
    for name, function, make in module.ATTACKS
    if name.partition("/")[0] not in BY_DESIGN
]
REFUTED_BY = {"F": ("certified", "vacuous"), "T": ("violated",)}
"""By the first letter of an attempt's docstring, false or true, the words that would be wrong; others take long."""


@pytest.mark.parametrize(("function", "make"), ATTEMPTS)
def test_no_attempt_gets_a_wrong_word(function: Callable[..., Any], make: Callable[..., Any]) -> None:
    language = language_of(Statement("", function))
    if isinstance(language, str):
        return  # refused where it is compiled
    began = time.process_time()
    shown = kernel.replay(language, make(language))
    assert shown.word not in REFUTED_BY.get((function.__doc__ or "F")[0], ()), shown
    assert time.process_time() - began < 5  # the whole fuel takes about one second

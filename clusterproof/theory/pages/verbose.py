"""The additions of ``--verbose``: further theorems, every hypothesis and number, and the meaning of every symbol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterproof.theory.pages.facts import Facts
from clusterproof.theory.pages.glossary import shown, table, word
from clusterproof.theory.pages.layout import paragraph, rows
from clusterproof.theory.pages.outcomes import Outcome
from clusterproof.theory.pages.theorem_words import alike, name_of, theorem_table, theorem_words
from clusterproof.theory.pages.words import parts


def verbose_page(facts: Facts, further: Sequence[Outcome]) -> str:
    """Return the page, its further theorems, every hypothesis, every number, and the meaning of every symbol."""
    told_parts, others = list(parts(facts, "all")), [*facts.others, *further]
    if others:
        told_parts += ["", "Further theorems", theorem_table(others)]
        said = set[str]()
        told_parts += [paragraph(theorem_words(group, said), "", "  ") for group in alike(others)]
    every = [*facts.theorems, *others]
    if needs := list(_hypothesis_rows(every)):
        told_parts += ["", "Hypotheses", rows([("theorem", "met", "here", "needs"), *needs])]
    if numbers := list(_number_rows(every)):
        told_parts += ["", "Numbers", rows([("theorem", "name", "value"), *numbers], right=(2,))]
    told_parts += ["", "Symbols", rows(list(_symbol_rows(facts, every)))]
    return "\n".join(told_parts)


def _hypothesis_rows(theorems: Sequence[Outcome]) -> Iterator[tuple[str, ...]]:
    for one in theorems:
        for each in one.hypotheses:
            required, actual = each.sides()
            term = f"{each.term} = " if each.term else ""
            needed = f"{each.name} {each.relation} {term}{required}"
            if isinstance(each.required, bool):
                name = each.name if each.required == (each.relation == "=") else f"not {each.name}"
                needed, actual = word("properties", name), "yes" if each.met else "no"
            yield name_of(one.claim), "yes" if each.met else "no", actual, needed


def _number_rows(theorems: Sequence[Outcome]) -> Iterator[tuple[str, ...]]:
    for one in theorems:
        for name, value in one.constants.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield name_of(one.claim), name, shown(name, value)


def _symbol_rows(facts: Facts, theorems: Sequence[Outcome]) -> Iterator[tuple[str, str]]:
    """Yield every symbol of the page with its meaning."""
    names = {"d", *facts.task.constants}
    for one in theorems:
        names |= {name for name, value in one.constants.items() if isinstance(value, int | float)}
        names |= {each.name for each in one.hypotheses if each.numeric}
    for result in facts.results:
        names |= set(getattr(result, "constants", {}))
    for name in names:
        word("symbols", name)  # a name without a meaning is an error
    return ((name, meaning) for name, meaning in table("symbols").items() if name in names)

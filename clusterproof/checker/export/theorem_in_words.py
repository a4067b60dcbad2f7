"""The theorem of a file in English: the quantities with their ranges, the hypotheses, and the conclusion."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from clusterproof.checker.export.claim_tree import ClaimTree
from clusterproof.checker.export.expressions import Expression
from clusterproof.checker.export.formulas import Exporter
from clusterproof.checker.export.ranges_in_words import Notation, ranges_of
from clusterproof.checker.export.rocq_text import Scope, comment
from clusterproof.checker.export.source_in_words import definitions_of, plain
from clusterproof.checker.kernel import printed
from clusterproof.checker.kernel.evaluation import limited
from clusterproof.checker.kernel.reading import read
from clusterproof.checker.kernel.vocabulary import Sides

SIGNS = {"at_most": "<=", "at_least": ">=", "equal": "="}
OPTIONS = ("words", "failure", "rounding", "decrease_from")
"""Arguments of a line that are no part of its bound."""
BEGINS = {
    "instance": "There are values of these quantities",
    "exhausted": "For all values of these quantities",
    "nowhere": "There are no values of these quantities",
    "empty": "There are no values of these quantities",
    "dual": "In every real inner product space, for all values of these quantities",
    "family": "In every real inner product space, for all values of these quantities",
}
"""Beginning of the sentence for each rule; the sentences for other rules begin as for ``exhausted``."""
FALSE = ("instance",)
NONE = ("nowhere", "empty")
EXISTING = ("exhausted", "signs", "squares", "induction")
"""Rules whose theorems also state that some values meet the hypotheses."""
WIDTH = 110
MOST, LONGEST = 4, 12
"""Largest numbers of entries of a line, and of signs of a fraction, that are printed at an instance."""


def in_words(text: str, record: Mapping[str, Any], rule: str, quoted: Mapping[str, str]) -> str:
    """Write the theorem as a comment.

    Parameters
    ----------
    text, record
        Text of a claim, and the evidence for a line.
    rule
        The rule of the evidence; "nowhere" for an empty finite space.
    quoted
        The docstrings of the line's helpers, by name.
    """
    exporter = Exporter(text, record["statement"], record)
    ranges = [f"- {each}" for each in ranges_of(exporter, PLAIN)]
    parts = [f"{BEGINS.get(rule, BEGINS['exhausted'])}:", *ranges] if ranges else ["Without quantities,"]
    tree = ClaimTree(text)
    supposed = list(dict.fromkeys(_hypotheses(tree, record)))
    hypothesis = "hypothesis" if len(supposed) == 1 else "hypotheses"
    if rule in NONE:
        parts += [f"that meet the {hypothesis}", *(f"- {each}" for each in supposed)]
    else:
        if supposed:
            parts += [f"that meet the {hypothesis}", *(f"- {each}" for each in supposed)]
        line = printed(record["statement"], record["line"])
        own = f' "{line}"' if line else ""
        if rule in FALSE:
            parts.append(f"{'and ' * bool(supposed)}at which the line{own} is false:")
        else:
            parts.append(f"the line{own} is true:")
        parts += [f"- {each}" for each in _conclusion(tree, record)]
    space = read(text).statements[record["statement"]].space
    definitions = definitions_of(tree, record["statement"], record["line"], space.function)
    if definitions:
        parts += ["where", *(f"- {each}" for each in definitions)]
    if quoted:
        parts += ["In the source's words", *(f'- {name}: "{words}"' for name, words in quoted.items())]
    if rule in FALSE:
        parts += _at_instance(text, record)
    if rule in EXISTING and ranges:
        parts.append("And there are such values." if supposed else "And there are values in these ranges.")
    return comment("\n".join(["In words.", *(line for part in parts for line in _wrapped(part))]))


def _wrapped(part: str) -> list[str]:
    """Set a part of the sentence, or an entry of a list with its indentation."""
    own = part.removeprefix("- ")
    if own == part:
        return textwrap.wrap(part, WIDTH, initial_indent="   ", subsequent_indent="   ")
    space = " " * (5 + len(own) - len(own.lstrip()))
    return textwrap.wrap(own.lstrip(), WIDTH, initial_indent=f"{space}- ", subsequent_indent=f"{space}    ")


def _at_instance(text: str, record: Mapping[str, Any]) -> list[str]:
    """Return the values of an instance, and the two sides of the line there."""
    statement = read(text).statements[record["statement"]]
    values = statement.space.read(record["instance"])
    with limited(10**9):
        lines, _ = statement.evaluated(values)
    line = lines[record["line"]]
    shown = [f"- {name} = {value}" for name, value in values.items() if name != statement.space.function]
    parts = ["The theorem shows this at", *shown] if shown else []
    if statement.space.function is not None:
        parts.append(
            f"The function {statement.space.function} is given by a table of its points, gradients and values."
        )
    assert isinstance(line, Sides)
    sides = [f"{_short(measured)} {line.sign} {_short(sum(more))}" for measured, *more in line.entries]
    return [*parts, "There the line would be", *(f"- {each}" for each in sides[:MOST])]


def _short(value: Any) -> str:
    """Return a number with at most four digits, after its fraction if this is short."""
    text = str(value)
    return text if len(text) <= LONGEST else f"about {float(value):.4g}"


# ---- the parts of the source


def _hypotheses(tree: ClaimTree, record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the hypotheses of a statement, and the additional hypotheses of a line."""
    inner = {
        id(node): f" (in each call of {part.name})"
        for own in tree.used_by(record["statement"])
        for part in ast.walk(own)
        if isinstance(part, ast.FunctionDef) and part is not own
        for node in ast.walk(part)
    }
    for call in _calls(tree, record["statement"], ("suppose",)):
        if isinstance(call.args[0], ast.Constant | ast.JoinedStr) and len(call.args) > 1:
            yield f"{_quoted(call.args[0])}: {plain(call.args[1])}{inner.get(id(call), '')}"
        else:
            yield plain(call.args[0])
    for call in _of_line(tree, record, ("given",)):
        yield f"{_quoted(call.args[0])}: {plain(call.args[1])}"


def _conclusion(tree: ClaimTree, record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the conclusion with the names of its terms, and the terms, unless the source has several lines."""
    calls = _of_line(tree, record, tuple(SIGNS))
    if len(calls) != 1:
        return
    (call,) = calls
    assert isinstance(call.func, ast.Name)
    sign = SIGNS[call.func.id]
    terms = {each.arg: each.value for each in call.keywords if each.arg and each.arg not in OPTIONS}
    if sign == "=":
        yield from map(_equation, call.args)
        return
    measured, *bounds = map(plain, call.args)
    for (
        name,
        value,
    ) in terms.items():  # a term that the source names like a value in it stands without its name
        is_own = any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value))
        bounds.append(plain(value) if is_own else name)
    yield f"{measured} {sign} {' + '.join(bounds)}"
    yield from (
        f"{name} = {plain(value)}" for name, value in terms.items() if name in bounds and plain(value) != name
    )


def _equation(node: ast.expr) -> str:
    """Return an argument of ``equal``: a pair, or a generator of pairs."""
    match node:
        case ast.Tuple(sides):
            return " = ".join(map(plain, sides))
        case ast.Starred(ast.GeneratorExp(ast.Tuple(sides), [ast.comprehension(target, iterated, [])])):
            return f"{' = '.join(map(plain, sides))}, for each {plain(target)} in {plain(iterated)}"
    return plain(node)


def _calls(tree: ClaimTree, statement: str, words: tuple[str, ...]) -> list[ast.Call]:
    nodes = (node for own in tree.used_by(statement) for node in ast.walk(own))
    return [node for node in nodes if _is_call(node, words)]  # type: ignore[misc]  # they are calls


def _is_call(node: ast.AST, words: tuple[str, ...]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in words


def _of_line(tree: ClaimTree, record: Mapping[str, Any], words: tuple[str, ...]) -> list[ast.Call]:
    """Return the calls of the given functions in the entry of a line, or everywhere if there is a single line."""
    if not record["line"]:
        return _calls(tree, record["statement"], words)
    entries = [
        value
        for own in tree.used_by(record["statement"])
        for node in ast.walk(own)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == record["line"]
    ]
    return [node for entry in entries for node in ast.walk(entry) if _is_call(node, words)]  # type: ignore[misc]


def _quoted(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


# ---- plain notation


def _number(value: Any) -> str:
    if not isinstance(value, Expression):
        return str(value)
    scope = Scope([], {})
    scope.quantities = _Same()
    return scope.text(value)


class _Same(dict[str, str]):
    """The names of the source."""

    def __missing__(self, name: str) -> str:
        return name


PLAIN = Notation(str, _number, str, str, "<=")

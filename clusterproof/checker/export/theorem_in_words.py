"""The theorem of a file in English: the quantities with their ranges, the hypotheses, and the conclusion."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from clusterproof.checker.export.claim_tree import ClaimTree
from clusterproof.checker.export.expressions import Expression
from clusterproof.checker.export.formulas import Exporter
from clusterproof.checker.export.ranges_in_words import Notation, ranges_of
from clusterproof.checker.export.rocq_text import Scope, comment
from clusterproof.checker.kernel import printed

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


def in_words(text: str, record: Mapping[str, Any], rule: str) -> str:
    """Write the theorem as a comment.

    Parameters
    ----------
    text, record
        Text of a claim, and the evidence for a line.
    rule
        The rule of the evidence; "nowhere" for an empty finite space.
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
    if rule in EXISTING and ranges:
        parts.append("And there are such values." if supposed else "And there are values in these ranges.")
    return comment("\n".join(["In words.", *(line for part in parts for line in _wrapped(part))]))


def _wrapped(part: str) -> list[str]:
    indent = "  " if part.startswith("- ") else ""
    return textwrap.wrap(part, WIDTH, initial_indent="   " + indent, subsequent_indent="   " + 2 * indent)


# ---- the parts of the source


def _hypotheses(tree: ClaimTree, record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the hypotheses of a statement, and the additional hypotheses of a line."""
    for call in _calls(tree, record["statement"], ("suppose",)):
        if isinstance(call.args[0], ast.Constant | ast.JoinedStr) and len(call.args) > 1:
            yield f"{_quoted(call.args[0])}: {_plain(call.args[1])}"
        else:
            yield _plain(call.args[0])
    for call in _of_line(tree, record, ("given",)):
        yield f"{_quoted(call.args[0])}: {_plain(call.args[1])}"


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
        yield from (
            " = ".join(map(_plain, each.elts)) if isinstance(each, ast.Tuple) else _plain(each)
            for each in call.args
        )
        return
    measured, *bounds = map(_plain, call.args)
    for (
        name,
        value,
    ) in terms.items():  # a term that the source names like a value in it stands without its name
        is_own = any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value))
        bounds.append(_plain(value) if is_own else name)
    yield f"{measured} {sign} {' + '.join(bounds)}"
    yield from (
        f"{name} = {_plain(value)}"
        for name, value in terms.items()
        if name in bounds and _plain(value) != name
    )


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


def _plain(node: ast.expr) -> str:
    return re.sub(r"\bFraction\((-?\w+), (\w+)\)", r"\1/\2", ast.unparse(node))


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

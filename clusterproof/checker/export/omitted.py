"""The parts of a claim that a theorem omits, as phrases that complete the sentence "Not in this theorem: ..."."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.export.claim_tree import ClaimTree
from clusterproof.checker.kernel import printed
from clusterproof.checker.kernel.ranges import Choice, End, Interval, OfClass, Range, Tuples
from clusterproof.checker.kernel.reading import read
from clusterproof.checker.kernel.worlds import ANY

RANDOM = re.compile(
    r"probab|expect|random|varianc|stochastic|(?<!no )(?<!without )nois[ey]|\bE \|", re.IGNORECASE
)
LIMIT = re.compile(
    r"-> *(?:0|infinity|oo)\b|\blimit\b|asymptotic|first order in|\bO\(|\bOmega\(", re.IGNORECASE
)
"""Words of a docstring about randomness and limits. The language of the kernel has neither."""
LOOPS = ("iterate",)


def stated_line(text: str, record: Mapping[str, Any]) -> str:
    """Return which part of a claim the theorem about a record is, as a sentence."""
    statement = read(text).statements[record["statement"]]
    line = printed(record["statement"], record["line"])
    noun = f'line "{line}"' if statement.role == "statement" else f'step "{line}" of the proof'
    own = f"the claim's {noun}" if line else "the claim"
    if record["line"] in statement.ill_posed and record["rule"] == "instance":
        marked = f"the {noun}" if line else "the line"
        return f"This file shows that {marked} of the check is false at one instance."
    if record["rule"] == "instance":
        return f"This file shows that {own} is false."
    if record["rule"] == "empty":
        return f"This file shows that nothing meets the hypotheses of {own}."
    return f"This file states {own}."


def omitted(claim: Claim[..., Any], text: str, record: Mapping[str, Any]) -> list[str]:
    """Return the phrases for the theorem about one line.

    Parameters
    ----------
    claim, text
        The claim, and its text.
    record
        The evidence for the line.
    """
    return [
        *_other_lines(text, record),
        *_other_values(text, record),
        *_other_objects(text, record),
        *_words_of_docstring(f"{claim.title}\n{claim.text}"),
    ]


def _other_lines(text: str, record: Mapping[str, Any]) -> Iterator[str]:
    own = printed(record["statement"], record["line"])
    lines, steps = list[str](), list[str]()
    for name, statement in read(text).statements.items():
        group = lines if statement.role == "statement" else steps
        group += [each for line in statement.lines if (each := printed(name, line)) != own]
    if "" in lines:
        lines.remove("")
        yield "the claim's own statement"
    if lines:
        quoted = [f'"{each}"' for each in lines]
        yield f"the claim's other line{'s' * (len(lines) > 1)} {_list(quoted)}"
    if steps:  # a hypothesis may have the same label
        quoted = [f'the step "{each}"' for each in steps]
        yield f"{_list(quoted)} of the proof"


def _other_values(text: str, record: Mapping[str, Any]) -> Iterator[str]:
    ranges = read(text).statements[record["statement"]].space.ranges
    if record["rule"] == "instance":
        yield "other values of the quantities: the line is false at one instance"
        return
    for own, allowed in ranges.items():
        yield from _outside(own, allowed)


def _outside(own: str, allowed: Range) -> Iterator[str]:
    """Yield the values that a range leaves out, without numbers below 0 and integers below 1."""
    if type(allowed) is Choice and all(type(each) is not bool for each in allowed.options):
        yield f"{own} other than {_list([str(each) for each in allowed.options])}"
    elif type(allowed) is Tuples:
        if type(allowed.length) is not End:
            yield f"{own} with other than {allowed.length} entries"
        yield from _outside(f"an entry of {own}", allowed.entries)
    elif type(allowed) is Interval:
        low, high = (
            "" if type(each) is End or each is None else each for each in (allowed.low, allowed.high)
        )
        is_natural = low in ("", 0) or (allowed.integers and low == 1)
        ends = [] if is_natural else [f"below {low}"]
        ends += [f"above {high}"] if high != "" else []
        if ends:
            yield f"{own} {' or '.join(ends)}"
    elif type(allowed) is OfClass:
        yield from _other_classes(own, allowed)


def _other_classes(own: str, allowed: OfClass) -> Iterator[str]:
    if len(allowed.groups) > 1:
        yield f"functions {own} that are not a sum of {len(allowed.groups)} functions or means"
    for count, _, constants in allowed.groups:
        fixed = [
            f"{name.replace('_', ' ')} {value}"
            for name, value in constants
            if value is not None and type(value) is not bool and type(value) is not End
        ]
        if fixed and len(allowed.groups) == 1:
            yield f"functions {own} with other constants than {' and '.join(fixed)}"
        if count not in (1, ANY):
            yield f"means of other than {count} functions"


def _other_objects(text: str, record: Mapping[str, Any]) -> Iterator[str]:
    space = read(text).statements[record["statement"]].space
    if any(type(allowed) is OfClass for allowed in space.ranges.values()):
        return
    nodes = [node for own in ClaimTree(text).used_by(record["statement"]) for node in ast.walk(own)]
    has_loop = any(
        isinstance(node, ast.For | ast.While)
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in LOOPS)
        for node in nodes
    )
    if has_loop:
        yield "functions of a class and their gradients: the source computes with numbers"
    else:
        yield "functions and algorithms: the source has no loop, and computes with numbers"


def _words_of_docstring(docstring: str) -> Iterator[str]:
    if RANDOM.search(docstring):
        yield "random variables: means, variances and probabilities are numbers that the source computes"
    if LIMIT.search(docstring):
        yield "limits: every number is finite"


def _list(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))

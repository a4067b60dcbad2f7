"""The definitions behind a line in plain notation: values, helpers, and algorithms with their loops as updates."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Sequence

from clusterproof.checker.export.claim_tree import ClaimTree, Definition, fields, name_of
from clusterproof.checker.export.reached import reached

OF_FUNCTIONS = {
    "start": "{f}.start is any point, at which the algorithm starts",
    "minimiser": "{f}.minimiser is any point at which the gradient of {f} is 0",
    "solution": "{f}.solution is any solution: a minimiser, a zero or a fixed point",
    "minimum": "{f}.minimum is the least value of {f}",
    "distance": "{f}.distance is the distance of {f}.start from the solution",
    "gradient": "a gradient is the gradient of {f}, or a subgradient",
    "prox": "{f}.prox(y, s) is the point x at which {f}(x) + |x - y|^2 / (2 s) is smallest",
    "point": "point() is a further point, which can be any",
    "parts": "{f}.parts are the summands of {f}, or the functions whose mean is {f}; if their number is any n, a vector"
    " has an entry for each function, its mean is the mean of the entries, and u @ v is the mean of the inner products",
}
"""What the attributes of a function of a class mean."""
OF_WORDS = {
    "iterate": "iterate(step, state, n) applies step n times; with a list in place of n, it applies step to the state"
    " and each entry in turn",
    "known": "known(value) is value()",
    "@": "u @ v is the inner product of two vectors",
}
"""What the words of the language mean that Python does not have."""
LINES = ("at_most", "at_least", "equal", "suppose", "given")


def definitions_of(tree: ClaimTree, statement: str, line: str, function: str | None) -> list[str]:
    """Return the definitions that a line reaches, one after the other.

    Parameters
    ----------
    tree, statement, line
        The tree of the text, and the names of a statement and of one of its lines.
    function
        Name of the quantity that is a function of a class, or None.
    """
    _, called, ranges, records = tree.statements[statement]
    own = ast.unparse(called)
    nodes = reached(tree, statement, line)
    found = []
    for key, record in fields(records).items():
        assert isinstance(record, ast.Tuple)
        found.append(f"{key} = {ast.unparse(record.elts[0])}({', '.join(ast.literal_eval(record.elts[1]))})")
    found += [text for node in nodes if name_of(node) == own for text in _inside(_body(node), "")]
    found += [text for node in nodes if name_of(node) != own for text in _definition(node, "")]
    found += _told_apart(nodes, own, {*fields(ranges), *fields(records)})
    if function is not None:
        attributes = {
            each.attr for node in nodes for each in ast.walk(node) if isinstance(each, ast.Attribute)
        }
        found += [text.format(f=function) for name, text in OF_FUNCTIONS.items() if name in attributes]
    words = {
        name for name in OF_WORDS if any(_calls(each, name) for node in nodes for each in ast.walk(node))
    }
    return found + [text for name, text in OF_WORDS.items() if name in words]


def _told_apart(nodes: Sequence[Definition], own: str, quantities: set[str]) -> Iterator[str]:
    """Yield which variables of helpers have the name of a quantity, or of a value or term of the statement."""
    outside = quantities | {name_of(node) for node in nodes}
    for node in nodes:
        if name_of(node) == own:
            outside |= _assigned(node)
            outside |= {
                str(term.arg)
                for call in ast.walk(node)
                if isinstance(call, ast.Call) and _is_line(call)
                for term in call.keywords
            }
    helpers = (each for node in nodes if name_of(node) != own for each in ast.walk(node))
    for helper in helpers:
        if isinstance(helper, ast.FunctionDef) and (names := sorted(_assigned(helper) & outside)):
            verb = "is another value" if len(names) == 1 else "are other values"
            yield f"{' and '.join(names)} inside {helper.name} {verb} than outside"


def _assigned(node: ast.AST) -> set[str]:
    return {
        each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


def plain(node: ast.AST) -> str:
    """Return the source of an expression, with fractions as quotients of numbers."""
    text = ast.unparse(_Quotients().visit(copy.deepcopy(node)))
    return re.sub(r"(?<!\*\* )\b(\d+) / (\d+)\b(?! \*\*)", r"\1/\2", text).replace("**", "^")


class _Quotients(ast.NodeTransformer):
    """Writes fractions as quotients, and leaves out that lists have the same length."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.keywords = [each for each in node.keywords if each.arg != "strict"]
        if ast.unparse(node.func) == "known" and isinstance(node.args[0], ast.Lambda):
            return node.args[0].body
        if ast.unparse(node.func) != "Fraction" or not 1 <= len(node.args) <= 2:
            return node
        return node.args[0] if len(node.args) == 1 else ast.BinOp(node.args[0], ast.Div(), node.args[1])


def _body(node: Definition) -> Sequence[ast.stmt]:
    assert isinstance(node, ast.FunctionDef)
    return node.body


def _definition(node: ast.stmt, space: str) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name, arguments, [ast.Return(value)]) if value is not None:
            yield f"{space}{name}({plain(arguments)}) = {plain(value)}"
        case ast.FunctionDef(name, arguments, body):
            if inside := [*_inside(body, space + "  ")]:
                yield f"{space}{name}({plain(arguments)}):"
                yield from inside
        case ast.ClassDef(name, body=body):
            parts = [ast.unparse(each.target) for each in body if isinstance(each, ast.AnnAssign)]
            yield f"{space}{name} has the parts {', '.join(parts)}"
            for each in body:
                if isinstance(each, ast.FunctionDef):
                    yield from _definition(each, space + "  ")
        case _:
            yield from _inside([node], space)


def _inside(body: Sequence[ast.stmt], space: str) -> Iterator[str]:
    """Yield the lines for statements; hypotheses and lines of the claim stand elsewhere."""
    for node in body:
        yield from _statement(node, space)


def _statement(node: ast.stmt, space: str) -> Iterator[str]:
    match node:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
            for target, value in zip(targets, values, strict=True):
                yield f"{space}{plain(target)} = {plain(value)}"
        case ast.For(ast.Name("_"), ast.Call(ast.Name("range"), [rounds]), body):
            yield f"{space}{plain(rounds)} times:"
            yield from _inside(body, space + "  ")
        case ast.For(target, iterated, body):
            yield f"{space}for each {plain(target)} in {plain(iterated)}, one after the other:"
            yield from _inside(body, space + "  ")
        case ast.If(test, body, orelse):
            yield f"{space}if {plain(test)}:"
            yield from _inside(body, space + "  ")
            if orelse:
                yield f"{space}otherwise:"
                yield from _inside(orelse, space + "  ")
        case ast.Return(value):
            if value is not None and not _is_line(value):
                yield f"{space}the value is {plain(value)}"
        case ast.FunctionDef() | ast.ClassDef():
            yield from _definition(node, space)
        case ast.Expr(ast.Call(ast.Name(word))) if word in LINES:
            pass
        case _:
            yield from (space + each for each in plain(node).splitlines())


def _calls(node: ast.AST, word: str) -> bool:
    """Return whether a node calls a word of the language, or is its operator."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == word
    return isinstance(node, ast.MatMult) and word == "@"


def _is_line(node: ast.expr) -> bool:
    """Return whether an expression is a line of a claim, or a dictionary of lines."""
    if isinstance(node, ast.Dict):
        return all(map(_is_line, node.values))
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in LINES

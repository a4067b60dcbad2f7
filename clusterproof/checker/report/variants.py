"""Replace one number in a file that states a claim: a constant of the file, or a factor on a term of the bound."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction

from clusterproof.common import InvalidArgument

COMPARISONS = ("at_most", "at_least")
FACTOR = "FACTOR_OF_THE_BOUND"
"""Name of the factor in the new file."""
KEPT = ("label", "source", "evaluations", "replicates", "example", "multipliers")
"""Options of the claim that are copied to the new file."""
NO_TERMS = ("words", "rounding", "failure")
"""Keyword arguments of a comparison that are not terms of the bound."""
Function = ast.FunctionDef


def variant(source: str, claim: str, of: str, value: Fraction | str, name: str) -> str:
    """Return the text of a Python file that states one claim of a given file, with one number replaced.

    Parameters
    ----------
    source
        Text of the file that states the claim.
    claim
        Id of the claim. All other claims of the file are removed.
    of
        Name of a constant of the file, which is set to ``value``, or of a term of the bound, which is multiplied by
        ``value``. If the string is empty, the whole bound is multiplied by ``value``.
    value
        The new number. If ``has_one_comparison`` returns true, it may also be a formula in the claim's quantities.
    name
        Id of the claim in the returned file.

    Raises
    ------
    InvalidArgument
        If the file does not state the claim, or the claim has no such constant or term.
    """
    tree = _parsed(source)
    if claim not in stated_ids(source):
        rule = f"is not stated in this file, which states {', '.join(stated_ids(source)) or 'no claim'}"
        raise InvalidArgument("id", claim, rule, "correct the id, or name the file that states it")
    function = _renamed(tree, claim, name)
    constants = [each for each in tree.body if _names(each) == of and of]
    if isinstance(value, str):
        factor, lines = _formula(value), IMPORT
    else:
        factor, lines = ast.Name(FACTOR, ast.Load()), f"{IMPORT}\n{FACTOR} = {_fraction(value)}"
    if constants and isinstance(value, Fraction):
        for each in constants:
            each.value = ast.parse(_fraction(value), mode="eval").body  # type: ignore[attr-defined]  # _names matched
        place = tree.body.index(constants[0])
        tree.body.insert(place, ast.parse(IMPORT).body[0])
    else:
        scaled = list(_scaled(tree, of, factor))
        if not scaled:
            terms = sorted({term.arg for call in _comparisons(tree) for term in _terms(call) if term.arg})
            known = sorted(filter(None, map(_names, tree.body)))
            rule = f"is neither a term of a bound nor a constant of the file; these are {', '.join([*terms, *known])}"
            raise InvalidArgument("of", of, rule, f"name a term or constant of {function}")
        first = next(place for place, each in enumerate(tree.body) if not _is_first(each))
        tree.body[first:first] = ast.parse(lines).body
    return f"{ast.unparse(ast.fix_missing_locations(tree))}\n"


def has_one_comparison(source: str, claim: str, of: str) -> bool:
    """Return whether a term occurs in exactly one comparison of a claim, and no quantity is assigned a new value.

    If so, a formula in the quantities has the same meaning in this comparison as in the signature. If ``of`` is empty,
    the claim must have only one comparison.
    """
    tree = _parsed(source)
    _renamed(tree, claim, claim)
    functions = [each for each in tree.body if isinstance(each, Function) and each.decorator_list]
    compared = [
        each
        for each in functions
        for call in _comparisons(each)
        if not of or of in {term.arg for term in _terms(call)}
    ]
    if len(compared) != 1:
        return False
    inner = [node for each in compared[0].body for node in ast.walk(each)]
    quantities = {each.arg for each in (*compared[0].args.args, *compared[0].args.kwonlyargs)}
    bound = {each.arg for each in inner if isinstance(each, ast.arg)}
    bound |= {each.id for each in inner if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
    return not quantities & bound


def stated_ids(source: str) -> list[str]:
    """Return the ids of the claims that a file states."""
    functions = [each for each in _parsed(source).body if isinstance(each, Function)]
    return [stated for each in functions for stated in map(_stated, each.decorator_list) if stated]


def constant_of(source: str, name: str) -> Fraction | None:
    """Return the value of a constant of a file, or None if no constant has this name.

    Raises
    ------
    InvalidArgument
        If the value is not a number or a quotient of two numbers, possibly with a minus sign.
    """
    for each in _parsed(source).body:
        if name and _names(each) == name:
            found = _number(each.value)  # type: ignore[attr-defined]  # _names matched
            if found is None or not found:
                rule = f"is {ast.unparse(each.value)}, which is not a nonzero number"  # type: ignore[attr-defined]  # likewise
                raise InvalidArgument(
                    "of", name, rule, "write it as Fraction(1, 4), or name another constant"
                )
            return found
    return None


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise InvalidArgument(
            "file", None, f"is not a Python file ({error})", "name a file that Python can read"
        ) from None


def _number(value: ast.expr) -> Fraction | None:
    """Return the value of an expression of numbers only, or None for all other expressions."""
    if isinstance(value, ast.Constant) and type(value.value) in (int, float):
        return Fraction(str(value.value))
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        found = _number(value.operand)
        return None if found is None else -found
    parts: list[ast.expr] = []
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
        parts = [value.left, value.right]
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and not value.keywords:
        parts = [*value.args, ast.Constant(1)][:2] if len(value.args) in (1, 2) else []
    numbers = [_number(each) for each in parts]
    if len(numbers) != 2 or None in numbers or not numbers[1]:
        return None
    return numbers[0] / numbers[1]  # type: ignore[operator]  # none is None


IMPORT = "from fractions import Fraction as ExactFraction"


def _fraction(value: Fraction) -> str:
    return f"ExactFraction({value.numerator}, {value.denominator})"


def _is_first(each: ast.stmt) -> bool:
    """Return whether a statement must stay at the top of a file: a docstring, or an import from ``__future__``."""
    is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
    return is_text or (isinstance(each, ast.ImportFrom) and each.module == "__future__")


def _names(each: ast.stmt) -> str:
    """Return the name to which a statement assigns a value, or an empty string for all other statements."""
    if isinstance(each, ast.Assign) and len(each.targets) == 1 and isinstance(each.targets[0], ast.Name):
        return each.targets[0].id
    if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.value is not None:
        return each.target.id
    return ""


def _renamed(tree: ast.Module, claim: str, name: str) -> str:
    """Remove all claims but one from a file, change the id of this claim, and return the name of its function."""
    found = ""
    functions = [each for each in tree.body if isinstance(each, Function)]
    for function in functions:
        for decorator in list(function.decorator_list):
            stated = _stated(decorator)
            if stated == claim and isinstance(decorator, ast.Call):
                found = function.name
                decorator.args[0] = ast.Constant(name)
                decorator.keywords = [each for each in decorator.keywords if each.arg in KEPT]
            elif stated:
                function.decorator_list.remove(decorator)
    for function in functions:
        own = function.decorator_list
        function.decorator_list = [each for each in own if _of_claim(each) in ("", found)]
    return found


def _stated(decorator: ast.expr) -> str:
    """Return the id of the claim that a decorator states, or an empty string for all other decorators."""
    if not (
        isinstance(decorator, ast.Call) and decorator.args and isinstance(decorator.args[0], ast.Constant)
    ):
        return ""
    return str(decorator.args[0].value) if _word(decorator) == "claim" else ""


def _word(call: ast.Call) -> str:
    """Return the last part of the name of a called function, such as ``at_most`` for ``theorem.at_most``."""
    if isinstance(call.func, ast.Name):
        return call.func.id
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _of_claim(decorator: ast.expr) -> str:
    """Return the function name of the claim to which a decorator adds a line or step; otherwise return ``""``."""
    if not (isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute)):
        return ""
    whose = decorator.func.value
    is_line = decorator.func.attr in ("line", "step")
    return whose.id if is_line and isinstance(whose, ast.Name) else ""


def _comparisons(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls in a file that compare two sides."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Call) and _word(each) in COMPARISONS:
            yield each


def _terms(call: ast.Call) -> list[ast.keyword]:
    return [each for each in call.keywords if each.arg is not None and each.arg not in NO_TERMS]


def _scaled(tree: ast.Module, of: str, factor: ast.expr) -> Iterator[str]:
    """Multiply one term of the bounds, or all terms, by the factor; yield the names of the changed terms."""
    for call in _comparisons(tree):
        for term in _terms(call):
            if of in ("", term.arg):
                term.value = ast.BinOp(factor, ast.Mult(), term.value)
                yield str(term.arg)
        if not of:
            call.args[1:] = [ast.BinOp(factor, ast.Mult(), each) for each in call.args[1:]]
            yield from ("" for _ in call.args[1:])


def _formula(text: str) -> ast.expr:
    """Parse a formula so that quotients of integers are fractions."""
    found = ast.parse(text, mode="eval").body
    if isinstance(found, ast.BinOp) and isinstance(found.op, ast.Div):
        found.left = ast.BinOp(ast.parse(_fraction(Fraction(1)), mode="eval").body, ast.Mult(), found.left)
    return found

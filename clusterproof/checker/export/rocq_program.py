"""A claim's text as a program of ``language.v``: the definitions, and the ranges of a statement's quantities."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from clusterproof.checker.export.claim_tree import ClaimTree, Definition, fields, text_of
from clusterproof.checker.export.reached import reached
from clusterproof.checker.export.rocq_text import whole
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.grammar import MODULES, SIGNS

OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "^",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.RShift: ">>",
}
WRITTEN = ("+", "-", "*", "/", "^", "<", "<=", ">", ">=", "==", "!=")
"""Operators for which ``language.v`` has a notation."""
FRESH = (ast.List, ast.ListComp, ast.DictComp, ast.Dict, ast.BinOp)
"""Nodes of expressions that return a new list or dictionary, to which no other name refers."""
MAKERS = ("list", "dict", "sorted")
"""Functions that return a new list or dictionary."""
YIELDED = "yielded"


def quoted(words: str) -> str:
    """Write a string as a literal of Rocq."""
    return '"' + words.replace('"', '""') + '"'


def refuse(node: Any, what: str) -> Refused:
    """Return the error that names a construct without a counterpart in ``language.v``."""
    return Refused(f"line {getattr(node, 'lineno', '?')}: no program for Rocq has {what} yet")


class Program:
    """Writer that turns a statement into a program.

    Parameters
    ----------
    text, statement, line
        Text of a claim, and names of one of its statements and of a line of the statement.

    Attributes
    ----------
    definitions
        The definitions that the line reaches, in Rocq's notation, in order.
    """

    def __init__(self, text: str, statement: str, line: str) -> None:
        tree = ClaimTree(text)
        self._statement_of = tree.statements[statement]
        self.definitions = [self._definition(node) for node in reached(tree, statement, line)]

    def _definition(self, node: Definition) -> str:
        if isinstance(node, ast.FunctionDef):
            return f"Function_of {self._function(node)}"
        if isinstance(node, ast.ClassDef):
            return self._record(node)
        name = quoted(ast.unparse(node.targets[0]))
        return f"Constant {name} {self.expression(node.value)}"

    # ---- a statement

    def claim(self) -> list[str]:
        """Write the fields of the statement's claim: the ranges, the function, and the function's records."""
        _, function, ranges, records = self._statement_of
        assert isinstance(function, ast.Name)
        own = [f"({quoted(key)}, {self._range(node)})" for key, node in fields(ranges).items()]
        taken = []
        for key, node in fields(records).items():
            assert isinstance(node, ast.Tuple)
            names = map(quoted, ast.literal_eval(node.elts[1]))
            taken.append(f"({quoted(key)}, ({quoted(ast.unparse(node.elts[0]))}, [{'; '.join(names)}]))")
        return [
            f"quantities := [\n    {_lines(own, 4)}]",
            f"function := {quoted(function.id)}",
            f"records := [{'; '.join(taken)}]",
        ]

    def _range(self, node: ast.expr) -> str:
        assert isinstance(node, ast.Call)
        word = ast.unparse(node.func)
        if word in ("integers", "rationals"):
            return f"{word.capitalize()} {' '.join(map(self._end, node.args))}"
        if word == "choice":
            return f"Choice {self._listed(node.args)}"
        if word == "sequences":
            return f"Sequences ({self._range(node.args[0])}) {self._end(node.args[1])}"
        if word == "member" and len(node.args) == 1 and not node.keywords:
            return self._member(node.args[0])
        raise refuse(node, f"the range {ast.unparse(node)}")

    def _member(self, node: ast.expr) -> str:
        """Write the class of smooth strongly convex functions, the only one whose instances Rocq checks."""
        assert isinstance(node, ast.Tuple)
        count, kind, constants = node.elts
        found = dict(fields(constants))
        mu, smoothness, *others = map(found.pop, ("strong_convexity", "smoothness", "lipschitz", "convex"))
        head = (
            ast.unparse(count),
            text_of(kind),
            *map(ast.unparse, others),
            ast.unparse(smoothness) == "None",
        )
        if head != ("1", "function", "None", "True", False) or found:
            raise refuse(node, f"the class {ast.unparse(node)}")
        return f"Function_with {self.expression(mu)} {self.expression(smoothness)}"

    def _end(self, node: ast.expr) -> str:
        return self.expression(node.body if isinstance(node, ast.Lambda) else node)

    # ---- definitions

    def _record(self, node: ast.ClassDef) -> str:
        fields, methods = [], []
        for each in node.body:
            if isinstance(each, ast.AnnAssign):
                name = quoted(ast.unparse(each.target))
                fields.append(name if each.value is None else f"Default {name} {self.expression(each.value)}")
            elif isinstance(each, ast.FunctionDef):
                decorator = quoted(ast.unparse(each.decorator_list[0]) if each.decorator_list else "")
                if decorator == quoted("classmethod"):
                    raise refuse(each, "a classmethod")
                name, parameters, body = self._parts(each)
                methods.append(f"({name}, {decorator}, {parameters}%parameters,\n    {body})")
            elif not isinstance(each, ast.Pass):
                raise refuse(each, type(each).__name__)
        return f"Record_of {quoted(node.name)} [{'; '.join(fields)}] [{_lines(methods, 4)}]"

    def _function(self, node: ast.FunctionDef, depth: int = 2) -> str:
        name, parameters, body = self._parts(node, depth)
        return f"{name} {parameters} {body}"

    def _parts(self, node: ast.FunctionDef, depth: int = 4) -> tuple[str, str, str]:
        body: Sequence[ast.stmt] = node.body
        _require_own_lists(node)
        if any(isinstance(each, ast.Yield) for each in _own_nodes(node.body)):
            first, last = ast.parse(f"{YIELDED} = []\nreturn {YIELDED}").body
            body = [first, *node.body, last]
        return quoted(node.name), self._parameters(node.args), self._block(body, depth)

    def _parameters(self, node: ast.arguments) -> str:
        found = []
        places = [*node.posonlyargs, *node.args]
        defaults = [None] * (len(places) - len(node.defaults)) + node.defaults
        for each, default in zip(places, defaults, strict=True):
            name = quoted(each.arg)
            found.append(name if default is None else f"Default {name} {self.expression(default)}")
        if node.vararg:
            found.append(f"Others {quoted(node.vararg.arg)}")
        for each, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
            word, value = ("Required", "") if default is None else ("By_name", f" {self.expression(default)}")
            found.append(f"{word} {quoted(each.arg)}{value}")
        if node.kwarg:
            found.append(f"Named_others {quoted(node.kwarg.arg)}")
        return f"[{'; '.join(found)}]"

    # ---- statements

    def _block(self, body: Iterable[ast.stmt], depth: int) -> str:
        space = " " * (depth + 2)
        lines = [self._statement(each, depth + 2) for each in body if not isinstance(each, ast.Pass)]
        return "[\n" + ";\n".join(space + line for line in lines) + "]"

    def _statement(self, node: ast.stmt, depth: int) -> str:
        match node:
            case ast.Assign():
                if len(node.targets) > 1 and not all(isinstance(each, ast.Name) for each in node.targets):
                    raise refuse(node, "several tuples that are assigned to")
                value = self.expression(node.value)
                return f";\n{' ' * depth}".join(self._assigned(each, value) for each in node.targets)
            case ast.AnnAssign():
                return self._assigned(node.target, self.expression(node.value))
            case ast.AugAssign():
                old = ast.parse(ast.unparse(node.target), mode="eval").body
                return self._assigned(node.target, self.expression(ast.BinOp(old, node.op, node.value)))
            case ast.For(orelse=[]):
                head = f"For {self._target(node.target)} {self.expression(node.iter)}"
                return f"{head} {self._block(node.body, depth)}"
            case ast.While(orelse=[]):
                return f"While {self.expression(node.test)} {self._block(node.body, depth)}"
            case ast.If():
                other = self._block(node.orelse, depth) if node.orelse else "[]"
                return f"If {self.expression(node.test)} {self._block(node.body, depth)} {other}"
            case ast.Return():
                return "Return Absent" if node.value is None else f"Return {self.expression(node.value)}"
            case ast.FunctionDef():
                return f"Def {self._function(node, depth)}"
            case ast.Break() | ast.Continue() | ast.Raise():
                return type(node).__name__
            case ast.Expr(ast.Yield(yielded)):
                return self._grown(ast.Name(YIELDED), ast.List([yielded or ast.Constant(None)]))
            case ast.Expr(ast.Call(ast.Attribute(of, "append"), [value], [])):
                return self._grown(of, ast.List([value]))
            case ast.Expr(ast.Call(ast.Attribute(of, "extend"), [value], [])):
                return self._grown(of, ast.List([ast.Starred(value)]))
            case ast.Expr():
                return f"Do {self.expression(node.value)}"
        raise refuse(node, type(node).__name__)

    def _grown(self, of: ast.expr, more: ast.expr) -> str:
        return self._assigned(of, self.expression(ast.BinOp(of, ast.Add(), more)))

    def _assigned(self, target: ast.expr, value: str) -> str:
        if not isinstance(target, ast.Subscript):
            return f"{self._target(target)} <~ {value}"
        places: list[str] = []
        root: ast.expr = target
        while isinstance(root, ast.Subscript):
            places.insert(0, self.expression(root.slice))
            root = root.value
        return f"Put {quoted(_root(root))} [{'; '.join(places)}] {value}"

    def _target(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return quoted(node.id)
        if isinstance(node, ast.Starred):
            return f"(Rest {quoted(ast.unparse(node.value))})"
        if isinstance(node, ast.Tuple | ast.List):
            starred = [isinstance(each, ast.Starred) for each in node.elts]
            if any(starred[:-1]):
                raise refuse(node, "names behind a star")
            return f"(Targets [{'; '.join(map(self._target, node.elts))}])"
        raise refuse(node, f"{ast.unparse(node)} that is assigned to")

    # ---- expressions

    def _listed(self, nodes: Iterable[ast.expr]) -> str:
        return f"[{'; '.join(self._loose(each) for each in nodes)}]"

    def _loose(self, node: ast.expr) -> str:
        """Write an expression without enclosing brackets."""
        text = self.expression(node)
        return text[1:-1] if text.startswith("(") and _closes(text) else text

    def expression(self, node: Any) -> str:
        """Write an expression, in brackets if necessary."""
        match node:
            case ast.Constant(value):
                return _constant(node, value)
            case ast.Name(name):
                return quoted(name)
            case ast.JoinedStr(values):
                parts = [each.value if isinstance(each, ast.FormattedValue) else each for each in values]
                return f"(Joined {self._listed(parts)})"
            case ast.Call(ast.Name("Fraction"), args, []) if _ints(args):
                exact = Fraction(*map(ast.literal_eval, args))
                return _number(exact)
            case ast.UnaryOp(ast.USub(), operand):
                return f"(- {self.expression(operand)})"
            case ast.UnaryOp(ast.Not(), operand):
                return f"(Not {self.expression(operand)})"
            case ast.BinOp(left, op, right):
                return _signed("Op", OPERATORS[type(op)], self.expression(left), self.expression(right))
            case ast.BoolOp(op, values):
                word = "And" if isinstance(op, ast.And) else "Or"
                *several, text = map(self.expression, values)
                for each in reversed(several):
                    text = f"({word} {each} {text})"
                return text
            case ast.Compare():
                return self._compared(node)
            case ast.IfExp(test, body, orelse):
                return f"(If_else {' '.join(map(self.expression, (test, body, orelse)))})"
            case ast.List() | ast.Tuple():
                return f"(List {self._listed(node.elts)})"
            case ast.Starred(value):
                return f"(Star {self.expression(value)})"
            case ast.Dict(keys, values):
                pairs = [
                    f"{'Absent' if key is None else self._loose(key)} =>> {self._loose(value)}"
                    for key, value in zip(keys, values, strict=True)
                ]
                return f"(Dict [{'; '.join(pairs)}])"
            case ast.ListComp(elt, generators) | ast.GeneratorExp(elt, generators):
                return f"(Each {self.expression(elt)} {self._clauses(generators)})"
            case ast.DictComp(key, value, generators):
                clauses = self._clauses(generators)
                return f"(Each_key {self.expression(key)} {self.expression(value)} {clauses})"
            case ast.Call():
                return self._call(node)
            case ast.Attribute(ast.Name(module), name) if module in MODULES:
                return quoted(f"{module}.{name}")
            case ast.Attribute(value, name):
                return f"({self.expression(value)} .: {quoted(name)})"
            case ast.Subscript(value, ast.Slice() as part):
                ends = (
                    "Absent" if end is None else self.expression(end)
                    for end in (part.lower, part.upper, part.step)
                )
                return f"(Slice {self.expression(value)} {' '.join(ends)})"
            case ast.Subscript(value, place):
                return f"({self.expression(value)} .[ {self._loose(place)} ])"
            case ast.Lambda(args, body):
                return f"(Lambda {self._parameters(args)} {self.expression(body)})"
        raise refuse(node, type(node).__name__)

    def _compared(self, node: ast.Compare) -> str:
        """Write a chain of comparisons as a conjunction of pairs; evaluating an operand twice has no side effect."""
        values = [node.left, *node.comparators]
        pairs = []
        for op, left, right in zip(node.ops, values, values[1:], strict=False):
            sign = SIGNS[type(op)]
            own = {"is": "==", "is not": "!=", "not in": "in"}.get(sign, sign)
            text = _signed("Compare", own, self.expression(left), self.expression(right))
            pairs.append(f"(Not {text})" if sign == "not in" else text)
        *several, text = pairs
        for each in reversed(several):
            text = f"(And {each} {text})"
        return text

    def _clauses(self, generators: Iterable[ast.comprehension]) -> str:
        parts = []
        for each in generators:
            parts.append(f"In {self._target(each.target)} {self.expression(each.iter)}")
            parts += [f"When {self.expression(one)}" for one in each.ifs]
        return f"[{'; '.join(parts)}]"

    def _call(self, node: ast.Call) -> str:
        named = [f"{quoted(each.arg or '**')} =: {self._loose(each.value)}" for each in node.keywords]
        function, given = self.expression(node.func), self._listed(node.args)
        return f"(Call {function} {given} [{'; '.join(named)}])" if named else f"({function} $ {given})"


def _lines(parts: Sequence[str], depth: int) -> str:
    return f";\n{' ' * depth}".join(parts)


def _ints(args: Sequence[ast.expr]) -> bool:
    plain = [each.operand if isinstance(each, ast.UnaryOp) else each for each in args]
    return bool(args) and all(isinstance(each, ast.Constant) and type(each.value) is int for each in plain)


def _number(value: Fraction) -> str:
    top = whole(value.numerator) if value >= 0 else f"({whole(value.numerator)})"
    return top if value.denominator == 1 else f"({top} / {whole(value.denominator)})"


def _constant(node: ast.expr, value: Any) -> str:
    if value is None:
        return "Absent"
    if type(value) is bool:
        return f"(Bool {str(value).lower()})"
    if type(value) is str:
        return f"(Quote {quoted(value)})"
    if type(value) is int:
        return whole(value)
    raise refuse(node, repr(value))


def _signed(word: str, sign: str, left: str, right: str) -> str:
    return f"({left} {sign} {right})" if sign in WRITTEN else f"({word} {quoted(sign)} {left} {right})"


def _closes(text: str) -> bool:
    """Return whether the last bracket closes the first one; brackets in string literals do not count."""
    depth, within = 0, False
    for place, sign in enumerate(text):
        within ^= sign == '"'
        depth += 0 if within else (sign == "(") - (sign == ")")
        if not depth and not within:
            return place == len(text) - 1
    return False


def _root(node: ast.expr) -> str:
    if not isinstance(node, ast.Name):
        raise refuse(node, f"a change of {ast.unparse(node)}")
    return node.id


def _own_nodes(body: Sequence[ast.AST]) -> Iterable[ast.AST]:
    """Yield the nodes of a function, without the nodes of inner functions."""
    waiting = [*body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _require_own_lists(function: ast.FunctionDef) -> None:
    """Require that a function changes only lists that it creates, each under one name, as Rocq's lists are values."""
    changed, assigned = set[str](), dict[str, list[ast.expr]]()
    for node in _own_nodes(function.body):
        match node:
            case ast.Assign(targets, value):
                for target in targets:
                    _note(target, value, assigned, changed)
            case ast.AugAssign(ast.Subscript() as target, _, _):
                changed.add(_root(_whole(target)))
            case ast.Expr(ast.Call(ast.Attribute(of, "append" | "extend"))):
                changed.add(_root(_whole(of)))
    for name in changed:
        made = assigned.get(name, [])
        if not made or not all(map(_is_fresh, made)):
            raise refuse(function, f"the change of {name}, which {function.name} does not make")


def _is_fresh(node: ast.expr) -> bool:
    """Return whether an expression returns a new list, to which no other name refers."""
    match node:
        case ast.Call(ast.Name(name)):
            return name in MAKERS
        case ast.Subscript(_, place):
            return isinstance(place, ast.Slice)
    return isinstance(node, FRESH)


def _whole(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _note(target: ast.expr, value: ast.expr, assigned: dict[str, list[ast.expr]], changed: set[str]) -> None:
    match target, value:
        case ast.Name(name), _:
            assigned.setdefault(name, []).append(value)
        case ast.Subscript(), _:
            changed.add(_root(_whole(target)))
        case ast.Tuple(targets), ast.Tuple(values) if len(targets) == len(values):
            for one, own in zip(targets, values, strict=True):
                _note(one, own, assigned, changed)
        case ast.Tuple(targets), _:
            for one in targets:
                _note(one, ast.Name("?"), assigned, changed)

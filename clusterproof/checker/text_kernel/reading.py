"""From a text to the claim that it states. A text is parsed and checked; Python never runs it as it stands."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import FunctionType, MappingProxyType
from typing import Any

from clusterproof.checker.text_kernel import induction, vocabulary
from clusterproof.checker.text_kernel.evaluation import FUEL, Context, Outside, Refused, evaluating, limited
from clusterproof.checker.text_kernel.language import Compiler
from clusterproof.checker.text_kernel.library import LIBRARY
from clusterproof.checker.text_kernel.numbers import Abstract, number
from clusterproof.checker.text_kernel.operations import OPERATIONS
from clusterproof.checker.text_kernel.records import METHODS, Record, new_record
from clusterproof.checker.text_kernel.rules import Statement
from clusterproof.checker.text_kernel.spaces import RANGES, Choice, Interval, OfClass, Space, Tuples, names_in

LONGEST = 400_000
"""Most characters of a text."""
ROLES = ("statement", "lemma", "step")
ANNOTATIONS = ("bool", "dict", "int", "object", "str", "tuple", "Any", "Fraction")
"""What may stand behind a field's colon; it says nothing."""
ENDING = ("claim", "statement", "outside")
"""What a text ends with."""
RESERVED = frozenset(("suppose", "given", "at_most", "at_least", "equal", *ENDING))
"""What no variable is called: a reader would take it for the word."""
Vocabulary = Mapping[str, Callable[..., Any]]
WORDS: Vocabulary = {**vocabulary.WORDS, "iterate": induction.iterate, "known": induction.known}
"""By name, the words of a claim. Who writes a proof for another program gives others."""


@dataclass(frozen=True)
class Claim:
    """What a text states.

    Attributes
    ----------
    name
        Such as ``paper/lemma-1``.
    says_nothing
        Whether it says nothing where it is certified.
    statements
        By name.
    digest
        SHA-256 of the text.
    """

    name: str
    says_nothing: bool
    statements: Mapping[str, Statement]
    digest: str


def read(text: str, words: Vocabulary = WORDS, *, fuel: int = FUEL) -> Claim:
    """Read a text.

    Parameters
    ----------
    text
        Definitions, a claim, and statements.
    words
        What the words of a claim do.
    fuel
        Steps that the definitions may take.

    Raises
    ------
    Refused
        If it states no claim of the language; the message says where, why and what to write.
    """
    require_plain(text)
    with limited(fuel):
        try:
            own = Definitions(words)
            for node in ast.parse(text).body:
                own.add(node)
            return own.claim(hashlib.sha256(text.encode()).hexdigest())
        except Outside as outside:
            raise Refused(f"a definition has no hypotheses: {outside}") from None
        except Refused:
            raise
        except (
            Exception
        ) as error:  # such as a text that is nested too deeply, or an expression without a value
            raise Refused(f"the text cannot be read: {type(error).__name__} {str(error)[:200]}") from None


def require_plain(text: Any) -> None:
    """Require a text in which everybody sees what is there.

    Raises
    ------
    Refused
        If it holds anything but printable ASCII and ends of lines, or a string over several lines.
    """
    if type(text) is not str or len(text) > LONGEST:
        raise Refused(f"a text has at most {LONGEST} characters")
    for place, line in enumerate(text.split("\n"), 1):
        if not (line.isascii() and (line.isprintable() or not line)):
            raise Refused(
                f"line {place}: a character that is not printable ASCII: write its escape in a string"
            )
        if line.endswith("\\") or "'''" in line or '"""' in line:
            raise Refused(
                f"line {place}: a string or an expression goes on in the next line: use parentheses"
            )


class Definitions:
    """What a text has defined so far."""

    def __init__(self, words: Vocabulary) -> None:
        self.known = {**LIBRARY, **words, "fixed": fixed}
        self.names: dict[str, Any] = {"__builtins__": {}, **OPERATIONS, **self.known}
        self.compiler = Compiler(RESERVED)
        self.head: tuple[str, bool] | None = None
        self.statements: dict[str, Statement] = {}

    def claim(self, digest: str) -> Claim:
        """Return the claim, at the end of the text."""
        if self.head is None or not any(each.role == "statement" for each in self.statements.values()):
            raise Refused("a text ends with claim(...) and its statement(...)")
        return Claim(*self.head, self.statements, digest)

    def add(self, node: ast.stmt) -> None:
        """Read a definition, or one of the calls at the end.

        Raises
        ------
        Refused
            If it is none of the language.
        """
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self._ending(node.value)
        elif self.head is not None:
            raise self.compiler.refuse(node, "after claim(...) nothing is defined")
        elif isinstance(node, ast.FunctionDef):
            self._define(node, node.name, self._function(node))
        elif isinstance(node, ast.ClassDef):
            self._define(node, node.name, self._record(node))
        elif (
            isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ):
            self._define(node, node.targets[0].id, self.settled(self.value(node.value)))
        else:
            raise self.compiler.refuse(node, "a text defines constants, functions and records only")

    def _define(self, node: ast.AST, name: str, value: Any) -> None:
        if name in self.names or name in RANGES or name in ENDING or name == "dataclass":
            raise self.compiler.refuse(node, f"the name {name} is known already")
        self.names[self.compiler.variable(node, name)] = value

    def value(self, node: ast.expr, further: Mapping[str, Any] | None = None) -> Any:
        """Return the value of an expression, which may name further things."""
        tree = ast.fix_missing_locations(ast.Expression(self.compiler.visit(node)))
        with evaluating() as evaluation:
            names = {**self.names, **further} if further else self.names
            value = eval(compile(tree, "text", "eval"), names)  # noqa: S307 - every node was checked
        if evaluation.now != Context():
            raise self.compiler.refuse(node, "a constant has no hypotheses")
        return value

    def _function(self, node: ast.FunctionDef) -> Any:
        """Return the function that a node defines, whose defaults do not change."""
        tree = ast.fix_missing_locations(ast.Module([self.compiler.visit(node)], []))
        own: dict[str, Any] = {}
        with evaluating() as evaluation:
            exec(compile(tree, "text", "exec"), self.names, own)  # noqa: S102 - every node was checked
        if evaluation.now != Context():
            raise self.compiler.refuse(node, "a default has no hypotheses")
        return self.settled(own[node.name])

    def settled(self, value: Any) -> Any:
        """Return a constant, which nothing changes.

        Raises
        ------
        Refused
            If it is a list, a generator, or a function that keeps variables of another one.
        """
        if type(value) is FunctionType and value.__globals__ is self.names and not value.__closure__:
            value.__defaults__ = value.__defaults__ and tuple(map(self.settled, value.__defaults__))
            named = value.__kwdefaults__ or {}
            value.__kwdefaults__ = {name: self.settled(each) for name, each in named.items()} or None
            return value
        if any(value is known for known in self.known.values()):
            return value
        return fixed(value, self.settled)

    # ---- records

    def _record(self, node: ast.ClassDef) -> type[Record]:
        decorators = [ast.unparse(each) for each in node.decorator_list]
        if (
            decorators != ["dataclass(frozen=True)"]
            or node.bases
            or node.keywords
            or getattr(node, "type_params", None)
        ):
            raise self.compiler.refuse(node, "a record is a @dataclass(frozen=True) without a base")
        names = [self._member_name(each) for each in node.body]
        if len({*names}) < len(names):
            raise self.compiler.refuse(node, f"the record {node.name} has a name twice")
        fields: list[str] = []
        defaults: dict[str, Any] = {}
        members: dict[str, Any] = {}
        each: Any
        for name, each in zip(names, node.body, strict=True):
            self._require_outside_class(each, names)
            if isinstance(each, ast.FunctionDef):
                members[name] = self._method(each)
                continue
            fields.append(name)
            if each.value is not None:
                defaults[name] = self.settled(self.value(each.value))
            elif defaults:
                raise self.compiler.refuse(each, "a field without a default follows one with a default")
        return new_record(node.name, tuple(fields), defaults, members)

    def _member_name(self, node: Any) -> str:
        """Return the name of a field or method."""
        name = node.name if isinstance(node, ast.FunctionDef) else None
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.simple:
            said = node.annotation
            name = node.target.id if isinstance(said, ast.Name) and said.id in ANNOTATIONS else None
        if name is None or name.startswith("_"):
            raise self.compiler.refuse(
                node, f"a record has fields, such as a: int (or one of {', '.join(ANNOTATIONS)}), and methods"
            )
        return str(name)

    def _require_outside_class(self, node: Any, names: list[str]) -> None:
        """Require defaults that name nothing of their class: Python would look there first."""
        if isinstance(node, ast.FunctionDef):
            defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        else:
            defaults = [node.value] if node.value else []
        for each in (part for default in defaults for part in ast.walk(default)):
            if isinstance(each, ast.Name) and each.id in names:
                raise self.compiler.refuse(
                    each, f"{each.id} is of the class, too: name the constant otherwise"
                )

    def _method(self, node: ast.FunctionDef) -> Any:
        said = [ast.unparse(each) for each in node.decorator_list] or [""]
        if len(said) > 1 or said[0] not in METHODS:
            raise self.compiler.refuse(
                node, f"a method is decorated by {', '.join(filter(None, METHODS))} only"
            )
        node.decorator_list = []
        return METHODS[said[0]](self._function(node))

    # ---- the end of a text

    def _ending(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        read: dict[str | None, Callable[..., None]]
        read = {"claim": self._claim, "statement": self._statement, "outside": self._outside}
        named = {each.arg: each.value for each in node.keywords if each.arg}
        starred = any(isinstance(each, ast.Starred) for each in node.args)
        if name not in read or starred or len(named) < len(node.keywords):
            raise self.compiler.refuse(node, "a text ends with claim(...), statement(...) and outside(...)")
        if (self.head is None) is not (name == "claim"):
            raise self.compiler.refuse(node, "one claim(...) stands before all statements")
        try:
            read[name](*node.args, **named)
        except TypeError:
            raise self.compiler.refuse(node, f"{name}(...) has other arguments") from None

    def _plain(self, node: Any, kinds: tuple[type, ...]) -> Any:
        """Return a printable text, a truth value, or a tuple of texts, as it is written."""
        value: Any = node.value if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.Tuple):
            value = tuple(self._plain(each, (str,)) for each in node.elts)
        if type(value) not in kinds or (type(value) is str and not value.isprintable()):
            raise self.compiler.refuse(node, "a text that can be printed, or several, as they are")
        return value

    def _claim(self, name: ast.expr, *, says_nothing: ast.expr | None = None) -> None:
        silent = says_nothing is not None and self._plain(says_nothing, (bool,))
        self.head = self._plain(name, (str,)), silent

    def _statement(
        self,
        name: ast.expr,
        function: ast.expr,
        ranges: ast.expr,
        records: ast.expr,
        *,
        lines: ast.expr,
        role: ast.expr,
        ill_posed: ast.expr | None = None,
    ) -> None:
        called = self.names.get(function.id) if isinstance(function, ast.Name) else None
        if type(called) is not FunctionType or called in self.known.values():
            raise self.compiler.refuse(function, "a statement has a function of the text")
        space = {
            quantity: self._range(node, quantity, {**self.names, **RANGES})
            for quantity, node in self._entries(ranges).items()
        }
        for place, quantity in enumerate(space):
            if later := names_in(space[quantity]) - {*list(space)[:place]}:
                raise self.compiler.refuse(ranges, f"{quantity}: an end names {', '.join(sorted(later))}")
        taken = {parameter: self._record_of(node) for parameter, node in self._entries(records).items()}
        self._require_parameters(function, called, [*space], taken)
        posed = () if ill_posed is None else self._plain(ill_posed, (tuple,))
        self._add(name, lines, role, Space(space), called, taken, posed)

    def _outside(self, name: ast.expr, *, lines: ast.expr, role: ast.expr, why: ast.expr) -> None:
        self._plain(why, (str,))
        self._add(name, lines, role, Space({}), None, {}, ())

    def _add(self, name: Any, lines: Any, role: Any, *parts: Any) -> None:
        own, named, said = (
            self._plain(node, (kind,)) for node, kind in ((name, str), (lines, tuple), (role, str))
        )
        space, function, records, ill_posed = parts
        if own in self.statements or not named or len({*named}) < len(named) or said not in ROLES:
            raise self.compiler.refuse(
                name, f"a statement has a name and lines of its own, and a role of {', '.join(ROLES)}"
            )
        if not {*ill_posed} <= {*named}:
            raise self.compiler.refuse(name, "a line that is ill-posed is none of the statement")
        self.statements[own] = Statement(space, function, records, named, said, ill_posed)

    def _entries(self, node: ast.expr) -> dict[str, ast.expr]:
        """Return the entries of a dictionary as it is written, by text."""
        if not isinstance(node, ast.Dict) or None in node.keys:
            raise self.compiler.refuse(node, "a dictionary of texts, as it is")
        names = [self._plain(each, (str,)) for each in node.keys]
        if len({*names}) < len(names):
            raise self.compiler.refuse(node, "a name twice")
        return dict(zip(names, node.values, strict=True))

    def _range(self, node: ast.expr, quantity: str, names: Mapping[str, Any]) -> Any:
        made = self.value(node, names)
        if type(made) not in (Interval, Choice, Tuples, OfClass):
            raise self.compiler.refuse(node, f"{quantity}: a range is one of {', '.join(RANGES)}")
        return made

    def _record_of(self, node: ast.expr) -> tuple[Any, tuple[str, ...]]:
        if not isinstance(node, ast.Tuple) or len(node.elts) != 2 or not isinstance(node.elts[0], ast.Name):
            raise self.compiler.refuse(node, "a record with its quantities, such as (Step, ('size',))")
        kind = self.names.get(node.elts[0].id)
        if not (isinstance(kind, type) and issubclass(kind, Record)):
            raise self.compiler.refuse(node, f"{node.elts[0].id} is no record of the text")
        return kind, self._plain(node.elts[1], (tuple,))

    def _require_parameters(
        self, node: ast.expr, function: Any, quantities: list[str], records: Mapping[str, Any]
    ) -> None:
        """Require that each quantity goes to one parameter, or to one record, and each parameter has a value."""
        inside = [quantity for _, keys in records.values() for quantity in keys]
        alone = [quantity for quantity in quantities if quantity not in inside]
        if (
            len({*inside}) < len(inside)
            or not {*inside} <= {*quantities}
            or not all(k for _, k in records.values())
        ):
            raise self.compiler.refuse(node, "each record has quantities of its own")
        code, passed = function.__code__, {*alone, *records}
        names = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
        if len(passed) < len(alone) + len(records) or not passed <= {*names}:
            raise self.compiler.refuse(
                node, f"the function takes {', '.join(names)}, and not each quantity once"
            )


def fixed(value: Any, settled: Callable[[Any], Any] | None = None) -> Any:
    """Return a value that nothing changes: a number, symbol, text, None, or a tuple, dictionary or record of such.

    Raises
    ------
    Refused
        If it is another one, such as a list.
    """
    inner = settled or fixed
    if type(value) in (int, Fraction):
        return number(value)
    if type(value) in (str, bool, type(None)) or (settled is None and isinstance(value, Abstract)):
        return value
    if type(value) is tuple:
        return tuple(map(inner, value))
    if type(value) in (dict, MappingProxyType):
        return MappingProxyType({key: inner(each) for key, each in value.items()})
    if isinstance(value, Record):
        return type(value)(*map(inner, value._values))
    raise Refused(f"{type(value).__name__} may change, or is no value of the language: write a tuple")

"""From a function of a running program to the same function of the language: source, constants, records and digest.

Only sources are read. What a function's source names is a constant, which is frozen; another function or a frozen
record, whose source is read in turn; or one of Python's or the vocabulary's functions, by identity.
"""

from __future__ import annotations

import ast
import builtins
import copy
import hashlib
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

from clusterproof.theory.kernel.evaluation import Refused, spend
from clusterproof.theory.kernel.language import Compiler, floating
from clusterproof.theory.kernel.library import LIBRARY, OPERATIONS
from clusterproof.theory.kernel.numbers import number

CACHED = type(lru_cache(lambda: None))
"""Of a pure function a cache is nothing: it is left out."""


class Record:
    """A frozen record of the language."""

    _fields: tuple[str, ...] = ()
    _defaults: Mapping[str, Any] = MappingProxyType({})
    _offers: frozenset[str] = frozenset()

    def __init__(self, *values: Any, **named: Any) -> None:
        spend(1 + len(self._fields))
        given = {**self._defaults, **dict(zip(self._fields, values, strict=False)), **named}
        if given.keys() != set(self._fields) or len(values) > len(self._fields):
            raise Refused(f"{type(self).__name__} has the fields {', '.join(self._fields)}")
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @property
    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._fields)

    def __setattr__(self, name: str, value: Any) -> None:
        raise Refused("a record does not change")

    def __eq__(self, other: object) -> bool:
        raise Refused("records are compared by the kernel")

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class End:
    """An end of a range that depends on earlier quantities: a function of those that it names."""

    names: tuple[str, ...]
    function: Callable[..., Any]
    text: str

    def __str__(self) -> str:
        return self.text


class Source:
    """Everything that one statement rests on, loaded into the language.

    Parameters
    ----------
    vocabulary
        By the identity of an object of the running program what it is in the language, such as ``at_most``.
    unwrapped
        Returns the function that an object such as a registered claim holds; anything else as it is.
    annotations
        Texts of annotations, in which the ends of ranges may be written.
    """

    def __init__(
        self,
        vocabulary: Mapping[int, Callable[..., Any]],
        unwrapped: Callable[[Any], Any],
        annotations: Sequence[Any] = (),
    ) -> None:
        self._vocabulary, self._unwrapped = vocabulary, unwrapped
        self._annotations = [each for each in annotations if type(each) is str]
        self._library = {id(known): own for known, own in LIBRARY.items()}
        self._loaded: dict[int, tuple[Any, Any]] = {}
        self._written: dict[int, str] = {}
        self.texts: list[str] = []

    def digest(self, *others: str) -> str:
        """Return the SHA-256 of all source and constants, and of further texts."""
        return hashlib.sha256("\n".join([*self.texts, *others]).encode()).hexdigest()

    def load(self, value: Any, name: str) -> Any:
        """Return what an object is in the language.

        Raises
        ------
        Refused
            If it is not of the language; the message says where, why and what to write.
        """
        value = self._unwrapped(value)
        value = value.__wrapped__ if type(value) is CACHED else value
        for known in (self._vocabulary, self._library):
            if id(value) in known:
                return known[id(value)]
        if id(value) in self._loaded:
            return self._loaded[id(value)][1]
        if type(value) is FunctionType:
            return self._function(value)
        if isinstance(value, type):
            return self._record(value)
        frozen = self.constant(value, name)
        self.texts.append(f"{name} = {_text(frozen)}")
        return frozen

    def constant(self, value: Any, name: str) -> Any:
        """Freeze a constant: a number, a text, None, or a list, dictionary or frozen record of such."""
        if type(value) in (int, Fraction):
            return number(value)
        if type(value) in (str, bool, type(None)):
            return value
        if type(value) in (tuple, list):
            return tuple(self.constant(entry, name) for entry in value)
        if type(value) in (dict, MappingProxyType):
            return MappingProxyType(
                {self.constant(k, name): self.constant(v, name) for k, v in value.items()}
            )
        if type(value) is float:
            raise Refused(f"{name}: {floating(value)}")
        if is_dataclass(value) and not isinstance(value, type):
            record = self.load(type(value), type(value).__name__)
            return record(
                **{each.name: self.constant(getattr(value, each.name), name) for each in fields(value)}
            )
        kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
        raise Refused(f"{name} is {kind} {_shown(value)}, which is not of the language")

    def end(self, value: Any, name: str) -> Any:
        """Load the end of a range: a number, None, or a function of earlier quantities."""
        if type(value) is not FunctionType:
            return self.constant(value, name)
        code = value.__code__
        names = code.co_varnames[: code.co_argcount - len(value.__defaults__ or ())]
        return End(names, self.load(value, name), self._written[id(value)])

    # ---- functions

    def _function(self, function: FunctionType) -> Callable[..., Any]:
        place = Path(function.__code__.co_filename).name
        node, cells = _node_of(function.__code__, self._annotations), function.__closure__ or ()
        try:
            values = [cell.cell_contents for cell in cells]
        except ValueError:
            raise Refused(f"{place}, {function.__name__}: a variable around it has no value yet") from None
        outside = {**function.__globals__, **dict(zip(function.__code__.co_freevars, values, strict=True))}
        holder: list[Callable[..., Any]] = []

        def recursive(*arguments: Any, **named: Any) -> Any:
            return holder[0](*arguments, **named)

        self._loaded[id(function)] = function, recursive
        modules = frozenset(name for name, value in outside.items() if type(value) is ModuleType)
        worded = frozenset(name for name, value in outside.items() if id(value) in self._vocabulary)
        local = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        local |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        local |= {n.name for n in ast.walk(node) if n is not node and isinstance(n, ast.FunctionDef)}
        compiler = Compiler(place, modules - local, worded - local)
        written = ast.unparse(node)
        made = compiler.visit(node)
        if isinstance(made, ast.Lambda):
            made = ast.copy_location(ast.Assign([ast.Name("__lambda", ast.Store())], made), made)
        tree = ast.fix_missing_locations(ast.Module([made], []))
        code = compile(tree, place, "exec")
        namespace: dict[str, Any] = {"__builtins__": {}, **OPERATIONS}
        own = node.name if isinstance(node, ast.FunctionDef) else "__lambda"
        lines = {n.id: n.lineno for n in reversed(list(ast.walk(tree))) if isinstance(n, ast.Name)}
        needed = {
            name: self._named(name, outside, f"{place}, line {lines[name]}")
            for name in sorted(_names_of(code) - OPERATIONS.keys())
            if name != own or name in _names_in_functions(code)
        }
        namespace |= needed
        exec(code, namespace)  # noqa: S102 - every node was checked, and there are no builtins
        holder.append(namespace[own])
        namespace |= needed  # its own name may be that of another function
        _require_fixed_defaults(holder[0], place)
        self._written[id(function)] = written
        self.texts.append(f"{function.__qualname__}: {written}")
        self._loaded[id(function)] = function, holder[0]
        return holder[0]

    def _named(self, name: str, outside: Mapping[str, Any], place: str) -> Any:
        """Return what a name of a function's source is in the language."""
        module, _, attribute = name.partition(".")
        known = getattr(outside[module], attribute, MISSING) if attribute else outside.get(name, MISSING)
        if known is MISSING and not attribute and id(getattr(builtins, name, MISSING)) in self._library:
            known = getattr(builtins, name)
        if known is MISSING:
            raise Refused(f"{place}: the name {name} is not of the language")
        try:
            return self.load(known, name)
        except Refused as refused:
            raise Refused(str(refused) if ", line " in str(refused) else f"{place}: {refused}") from None

    # ---- records

    def _record(self, kind: type) -> type[Record]:
        place = kind.__qualname__
        plain = is_dataclass(kind) and kind.__mro__[1:] == (object,)
        if not plain or not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]  # dataclasses have it
            raise Refused(f"{place} is not of the language: only frozen dataclasses without a base are")
        made: type[Record] = type(kind.__name__, (Record,), {})
        self._loaded[id(kind)] = kind, made
        defaults = {}
        for each in fields(kind):
            if each.default_factory is not MISSING or not each.init:
                raise Refused(f"{place}.{each.name}: a default must be a constant")
            if each.default is not MISSING:
                defaults[each.name] = self.constant(each.default, f"{place}.{each.name}")
        names = tuple(each.name for each in fields(kind))
        self.texts.append(
            f"{kind.__module__}.{place}: {', '.join(names)}; {_text(MappingProxyType(defaults))}"
        )
        members = {}
        for name, member in vars(kind).items():
            if name in _OF_DATACLASSES or name in names:
                continue
            if name.startswith("__"):
                raise Refused(
                    f"{place}.{name}: a record of the language has no methods of its own of this kind"
                )
            members[name] = self._member(member, f"{place}.{name}")
        for name, value in members.items():
            setattr(made, name, value)
        made._fields, made._defaults, made._offers = (
            names,
            MappingProxyType(defaults),
            frozenset([*names, *members]),
        )
        return made

    def _member(self, member: Any, place: str) -> Any:
        """Return a method or property of a record, which refuses when it is used if it is not of the language."""
        if type(member) is property:
            found, wrap = member.fget, property
        elif type(member) is cached_property:
            found, wrap = member.func, property
        elif type(member) in (staticmethod, classmethod):
            found, wrap = member.__func__, type(member)
        else:
            found, wrap = member, _as_it_is
        try:
            if type(found) is not FunctionType:
                raise Refused(f"{place} is not of the language")
            return wrap(self._function(found))
        except Refused as refused:
            why = str(refused)

            def refuse(*arguments: Any, **named: Any) -> Any:
                raise Refused(why)

            return wrap(refuse)


_OF_DATACLASSES = frozenset(vars(type("Plain", (), {}))) | {
    *(
        "__annotations__",
        "__match_args__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__init__",
        "__repr__",
    ),
    *(
        "__eq__",
        "__hash__",
        "__setattr__",
        "__delattr__",
        "__replace__",
        "__static_attributes__",
        "__firstlineno__",
    ),
}


def _as_it_is(function: Any) -> Any:
    return function


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _text(value: Any) -> str:
    """Write a frozen constant, of which equal ones are written alike."""
    if isinstance(value, Record):
        return f"{type(value).__name__}({', '.join(map(_text, value._values))})"
    if type(value) is tuple:
        return f"({', '.join(map(_text, value))})"
    if type(value) is MappingProxyType:
        return f"{{{', '.join(f'{_text(k)}: {_text(v)}' for k, v in value.items())}}}"
    if type(value) is Fraction:
        return f"{value.numerator:#x}/{value.denominator:#x}"  # of any size
    return hex(value) if type(value) is int else repr(value)


def _names_of(code: CodeType) -> set[str]:
    """Return the names of a module that compiled code uses: attributes are none of them, since none are left."""
    return set(code.co_names) | _names_in_functions(code)


def _names_in_functions(code: CodeType) -> set[str]:
    """Return the names of a module that the functions in compiled code use."""
    return set().union(*(_names_of(each) for each in code.co_consts if isinstance(each, CodeType)))


def _require_fixed_defaults(function: Any, place: str) -> None:
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    for value in defaults:
        plain = type(value) in (int, str, bool, type(None), Fraction) or callable(value)
        if not plain and not (
            type(value) is tuple and all(type(each) in (int, str, Fraction) for each in value)
        ):
            raise Refused(f"{place}, {function.__name__}: a default that may change: use None")


# ---- the source of a function


@lru_cache(maxsize=1024)
def _functions_of(text: str, mode: str) -> tuple[list[Any], frozenset[CodeType]]:
    """Return the functions that a text defines: as trees, and compiled."""
    tree = compile(text, "source", mode, ast.PyCF_ONLY_AST, dont_inherit=True)
    codes, left = set(), [compile(tree, "source", mode, dont_inherit=True)]
    while left:
        codes.add(left.pop())
        left += [
            each for code in codes for each in code.co_consts if type(each) is CodeType and each not in codes
        ]
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    return nodes, frozenset(codes)


def _node_of(code: CodeType, annotations: Sequence[str]) -> ast.FunctionDef | ast.Lambda:
    """Return the tree of a function's source, with the lines of its file.

    Raises
    ------
    Refused
        If the text is not what the function was compiled from.
    """
    file = code.co_filename
    linecache.checkcache(file)
    texts = annotations if file == "<string>" else ["".join(linecache.getlines(file))]
    place = f"{Path(file).name}, {code.co_name}"
    if not any(texts):
        raise Refused(f"{place}: its source is not known")
    found = []
    for text in texts:
        nodes, codes = _functions_of(text, "eval" if file == "<string>" else "exec")
        if code in codes:  # equal code: what was loaded is what the file says
            found += [node for node in nodes if _is_compiled_from(code, node)]
    if len({ast.dump(node) for node in found}) != 1:
        raise Refused(f"{place}: its file has changed since it was loaded")
    return _bare(copy.deepcopy(found[0]))


def _bare(node: ast.FunctionDef | ast.Lambda) -> ast.FunctionDef | ast.Lambda:
    """Leave out decorators, since the function at hand is the one below them, annotations and docstrings."""
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            each.annotation = None
        if isinstance(each, ast.FunctionDef):
            each.returns = None
            each.decorator_list = [] if each is node else each.decorator_list
            texts = [n for n in each.body if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
            each.body = [n for n in each.body if n not in texts] or texts
    return node


def _first_line(node: ast.FunctionDef | ast.Lambda) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _is_compiled_from(code: CodeType, node: ast.FunctionDef | ast.Lambda) -> bool:
    """Return whether a node is where a function's code stands, by name and line, of a lambda by columns too."""
    if getattr(node, "name", "<lambda>") != code.co_name or _first_line(node) != code.co_firstlineno:
        return False
    if isinstance(node, ast.FunctionDef):
        return True
    body = node.body
    first, last = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    places = [(a, c, b, d) for a, b, c, d in code.co_positions() if a and b and c is not None and d]
    inside = all(first <= (a, c) and (b, d) <= last for a, c, b, d in places)  # type: ignore[operator]  # numbers
    return inside and min(places)[:2] == first

"""From a function of a running program to the same function of the language: source, constants, records and digest.

Only sources are read. What a function's source names is a constant, which is frozen; another function or a frozen
record, whose source is read in turn; or one of Python's or the vocabulary's functions, by identity.
"""

from __future__ import annotations
import __future__

import ast
import gc
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.grammar import floating
from clusterproof.checker.kernel.language import Compiler
from clusterproof.checker.kernel.library import LIBRARY
from clusterproof.checker.kernel.numbers import number
from clusterproof.checker.kernel.operations import OPERATIONS, kept
from clusterproof.checker.kernel.records import Record, complete_record, new_record, require_own_fields
from clusterproof.checker.kernel.source import source_of

CACHED = type(lru_cache(lambda: None))
"""Of a pure function a cache is nothing: it is left out."""


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
        if type(value) is CACHED:
            return self._cached(value, name)
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
        """Freeze a constant: a number, a text, None, or a tuple, dictionary or frozen record of such."""
        if type(value) is Fraction and (
            value.denominator < 1 or gcd(value.numerator, value.denominator) != 1
        ):
            raise Refused(f"{name} is a fraction that was changed")
        if type(value) in (int, Fraction):
            return number(value)
        if type(value) in (str, bool, type(None)):
            return value
        if type(value) is tuple:
            return tuple(self.constant(entry, name) for entry in value)
        if type(value) is MappingProxyType and [type(each) for each in gc.get_referents(value)] != [dict]:
            raise Refused(f"{name} is a view of no plain dictionary")
        if type(value) in (dict, MappingProxyType):
            return MappingProxyType(
                {self.constant(k, name): self.constant(v, name) for k, v in value.items()}
            )
        if type(value) is float:
            raise Refused(f"{name}: {floating(value)}")
        if is_dataclass(value) and not isinstance(value, type):
            require_own_fields(value, name)
            record = self.load(type(value), type(value).__name__)
            return record(
                **{each.name: self.constant(getattr(value, each.name), name) for each in fields(value)}
            )
        if type(value) is list:
            raise Refused(f"{name} is a list, which may change: write a tuple")
        kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
        raise Refused(f"{name} is {kind} {_shown(value)}, which is not of the language")

    def end(self, value: Any, name: str) -> Any:
        """Load the end of a range: a number, None, or a function of earlier quantities."""
        if type(value) is not FunctionType:
            return self.constant(value, name)
        code = value.__code__
        names = code.co_varnames[: code.co_argcount - len(value.__defaults__ or ())]
        return End(names, self.load(value, name), self._written[id(value)])

    def _cached(self, value: Any, name: str) -> Callable[..., Any]:
        """Load the function that a cache is of: of a pure function a cache is nothing, but that its value is shared."""
        CACHED.cache_clear(value)  # it may hold what another constant gave
        inner = value.__wrapped__
        if not any(each is inner for each in gc.get_referents(value)):
            raise Refused(f"{name}: the cache is of another function than it says")
        function = self.load(inner, name)

        def shared(*arguments: Any, **named: Any) -> Any:
            for each in (*arguments, *named.values()):
                if type(each) in (list, dict):
                    raise Refused(f"{name}: a cached function takes no {type(each).__name__}: pass a tuple")
                kept(each)
            return kept(function(*arguments, **named))

        return shared

    # ---- functions

    def _function(self, function: FunctionType) -> Callable[..., Any]:
        place = Path(function.__code__.co_filename).name
        defaults, cells = function.__defaults__ is not None, function.__closure__ or ()
        node, written = source_of(function.__code__, self._annotations, defaults=defaults)
        try:
            values = [cell.cell_contents for cell in cells]
        except ValueError:
            raise Refused(f"{place}, {function.__name__}: a variable around it has no value yet") from None
        around = dict(zip(function.__code__.co_freevars, values, strict=True))
        builtin = getattr(function, "__builtins__", None)
        if type(builtin) is not dict or type(function.__globals__) is not dict:
            raise Refused(f"{place}, {function.__name__}: its module has a namespace of its own kind")
        known = {n: v for n, v in builtin.items() if id(v) in self._library}
        outside = {**known, **function.__globals__, **around}
        holder: list[Callable[..., Any]] = []

        def recursive(*arguments: Any, **named: Any) -> Any:
            return holder[0](*arguments, **named)

        self._loaded[id(function)] = function, recursive
        modules = frozenset(name for name, value in outside.items() if type(value) is ModuleType)
        worded = frozenset(
            name
            for name, value in outside.items()
            if "words" in (getattr(self._vocabulary.get(id(value)), "__kwdefaults__", None) or ())
        )
        local = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        local |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        local |= {n.name for n in ast.walk(node) if n is not node and isinstance(n, ast.FunctionDef)}
        lazy = bool(function.__code__.co_flags & __future__.annotations.compiler_flag)
        compiler = Compiler(place, modules - local, worded - local, lazy=lazy)
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
        self._require_same_defaults(function, holder[0], place)
        self._written[id(function)] = written
        self.texts.append(f"{function.__qualname__}: {written}")
        self._loaded[id(function)] = function, holder[0]
        return holder[0]

    def _require_same_defaults(self, function: FunctionType, made: Any, place: str) -> None:
        """Require defaults that are constants or functions, and those that the source says."""
        own, read = (
            {**dict(enumerate(each.__defaults__ or ())), **(each.__kwdefaults__ or {})}
            for each in (function, made)
        )
        for name, value in own.items():
            loaded = (
                self.load(value, "default")
                if type(value) is FunctionType
                else self.constant(value, "a default")
            )
            if own.keys() != read.keys() or type(value) is dict or not _alike(loaded, read[name]):
                raise Refused(f"{place}, {function.__name__}: a default that may change: use None")

    def _named(self, name: str, outside: Mapping[str, Any], place: str) -> Any:
        """Return what a name of a function's source is in the language."""
        module, _, attribute = name.partition(".")
        known = vars(outside[module]).get(attribute, MISSING) if attribute else outside.get(name, MISSING)
        if (
            known is MISSING
            and attribute
            and id(getattr(outside[module], attribute, None)) in self._vocabulary
        ):
            known = getattr(
                outside[module], attribute
            )  # of a module that loads its names when they are asked for
        if known is MISSING:
            raise Refused(f"{place}: the name {name} is not of the language")
        try:
            return self.load(known, name)
        except Refused as refused:
            raise Refused(str(refused) if ", line " in str(refused) else f"{place}: {refused}") from None

    def _record(self, kind: type) -> type[Record]:
        made = new_record(kind)
        self._loaded[id(kind)] = kind, made
        names = {each.name: each.default for each in fields(kind)}
        defaults = {n: self.constant(d, n) for n, d in names.items() if d is not MISSING}
        self.texts.append(f"{kind.__qualname__}: {', '.join(names)}; {_text(MappingProxyType(defaults))}")
        complete_record(made, kind, defaults, self._function)
        return made


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


def _alike(first: Any, second: Any) -> bool:
    """Return whether two frozen constants, or functions, are the same."""
    if type(first) is not type(second):
        return False
    if isinstance(first, Record):
        return _alike(first._values, second._values)
    if type(first) is tuple:
        return len(first) == len(second) and all(map(_alike, first, second))
    return first is second if callable(first) else _text(first) == _text(second)


def _names_of(code: CodeType) -> set[str]:
    """Return the names of a module that compiled code uses: attributes are none of them, since none are left."""
    return set(code.co_names) | _names_in_functions(code)


def _names_in_functions(code: CodeType) -> set[str]:
    """Return the names of a module that the functions in compiled code use."""
    return set().union(*(_names_of(each) for each in code.co_consts if isinstance(each, CodeType)))

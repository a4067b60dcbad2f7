"""Exact or interval replacements for the values that a claim's function uses.

Functions and classes are rewritten from their source. Constants that contain floats are computed again from their
source. Library functions are replaced as listed in tables. All other values are rejected.
"""

from __future__ import annotations

import ast
import builtins
import functools
import math
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.real_numbers import source
from clusterproof.checker.real_numbers.arrays import NUMPY, array, array_attribute
from clusterproof.checker.real_numbers.functions import CONSTANTS, FUNCTIONS
from clusterproof.checker.real_numbers.interval import Interval, NoValue, decimal
from clusterproof.checker.real_numbers.operators import (
    NUMBERS,
    OPERATIONS,
    fuel,
    in_place,
    index,
    plain,
)
from clusterproof.checker.real_numbers.rewriting import rewritten
from clusterproof.checker.real_numbers.sides import WORDS, compared
from clusterproof.checker.real_numbers.special_functions import of_scipy

NUMBER_ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "real": lambda x: x, "imag": lambda x: 0, "shape": lambda x: (), "ndim": lambda x: 0,
    "is_integer": lambda x: lambda: x == math.floor(x),
} | {
    name: operator.attrgetter(name)
    for name in ("numerator", "denominator", "bit_length", "bit_count", "limit_denominator")
} | {
    name: lambda x: lambda *values, **named: x
    for name in ("conjugate", "item", "tolist", "sum", "max", "min", "mean")
} | {
    name: lambda x: lambda *values, **named: bool(x)
    for name in ("any", "all")
}  # fmt: skip
"""Allowed attributes of numbers. NumPy numbers also have some attributes of arrays."""
TABLES: Mapping[Any, Any] = {**NUMPY, **FUNCTIONS, **WORDS}
"""Replacements for library functions, indexed by function."""
AGREEMENT = Fraction(1, 10**9)
"""Relative difference up to which a constant of a module counts as equal to the value computed from its source."""
MUTABLE = (list, dict, set, np.ndarray)
"""Types of objects whose contents may change; these objects are read again at every use."""
LIBRARIES = {*sys.stdlib_module_names, "numpy", "scipy", "torch", "hypothesis"}
"""Packages whose classes are never rewritten."""
OF_CLASSES = ("__dict__", "__weakref__", "__module__", "__doc__", "__annotations__", "__slots__", "__repr__")
"""Members of a class that are omitted from the rewritten class."""
SAFE = (Outside, ValueError, ArithmeticError, StopIteration, RuntimeError, AssertionError)
"""Exceptions that the original function, or one of its hypotheses, would raise as well."""


class Names(dict[str, Any]):
    """The names of a module, looked up at each use. Names added by the rewriting begin with two underscores."""

    def __init__(self, counterparts: Counterparts, live: dict[str, Any]) -> None:
        super().__init__(
            {f"{name}": function for name, function in OPERATIONS.items()},
            __decimal=decimal, __compare=compared.compare, __in_place=in_place, __spend=fuel.spend, __index=index,
            __attribute=counterparts.attribute, __import=functools.partial(counterparts.imported, live),
            __builtins__={"__build_class__": _no_class, "__import__": _no_class}, __name__=live.get("__name__", ""),
        )  # fmt: skip
        self.counterparts, self.live = counterparts, live

    def __missing__(self, name: str) -> Any:
        if name in self.live:
            return self.counterparts.of(self.live[name], self.live, name)
        if hasattr(builtins, name):
            return self.counterparts.of(getattr(builtins, name), {}, name)
        raise KeyError(name)


def _no_class(*_arguments: Any, **_named: Any) -> Any:
    raise NoValue("a class within a function")


class Counterparts:
    """Replacements for one precision. Constants become intervals, whose width depends on the precision."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any]] = {}
        self._names: dict[int, Names] = {}
        self._constants: dict[tuple[int, str], tuple[Any, Any]] = {}
        self._variables: dict[int, tuple[Any, ...]] = {}

    def of(self, value: Any, live: dict[str, Any], name: str) -> Any:
        """Return the replacement for the value that ``name`` has in the namespace ``live``."""
        if value is None or type(value) in (int, bool, str, bytes, Interval, Fraction) or value is Ellipsis:
            return value
        if isinstance(value, FunctionType) and value not in TABLES and of_scipy(value) is None:
            return self.function(value)
        if id(value) in self._made and self._made[id(value)][0] is value:
            return self._made[id(value)][1]
        if isinstance(value, ModuleType):
            return value
        if isinstance(value, float | np.floating | np.ndarray | list | tuple | dict | set | frozenset):
            return self._constant(value, live, name)
        made = self._function(value, name)
        self._made[id(value)] = (value, made)
        return made

    def _function(self, value: Any, name: str) -> Any:
        """Return the replacement for a function or class."""
        try:
            known = TABLES.get(value) or of_scipy(value)
        except TypeError:
            raise NoValue(name) from None
        if known is not None:
            return known if isinstance(known, type) else _guarded(known, _full_name(value, name))
        if isinstance(value, Claim):
            return self.of(value.function, {}, name)
        if isinstance(value, functools.partial):
            parts = [self.real(each) for each in value.args]
            named = {key: self.real(each) for key, each in value.keywords.items()}
            return functools.partial(self.of(value.func, {}, name), *parts, **named)
        if type(value) is _CACHED:
            return self.function(value.__wrapped__)
        if isinstance(value, type) and value.__module__.partition(".")[0] not in LIBRARIES:
            return self.kind(value)
        raise NoValue(_full_name(value, name))

    # ---- functions and classes

    def function(self, live: Any) -> Any:
        """Return a rewritten function, with the current values of its free variables and default values."""
        if id(live) in self._made:
            made = self._made[id(live)][1]
            if not _same(_variables(live), self._variables.get(id(live), ())):
                self._set_variables(live, made)
            return made
        code, names = live.__code__, self.names(live.__globals__)
        node = rewritten(_without_decorators(source.function_of(code, live.__module__ or "")))
        if isinstance(node, ast.Lambda):
            node = ast.copy_location(ast.Assign([ast.Name("__made", ast.Store())], node), node)
        result = ast.Return(ast.Name(getattr(node, "name", "__made"), ast.Load()))
        outer = ast.FunctionDef(
            "__outer", ast.arguments([], [ast.arg(each) for each in code.co_freevars], None, [], [], None, []),
            [node, result], [], lineno=1,
        )  # fmt: skip
        space: dict[str, Any] = {}
        exec(  # noqa: S102 - a function of the user's, which the claim calls anyway
            compile(ast.fix_missing_locations(ast.Module([outer], [])), code.co_filename, "exec"),
            names,
            space,
        )
        made = space["__outer"](*[None] * len(code.co_freevars))
        self._made[id(live)] = (live, made)
        try:
            self._set_variables(live, made)
        except NoValue:
            del self._made[id(live)]
            raise
        return made

    def _set_variables(self, live: FunctionType, made: Any) -> None:
        """Set the free variables and default values of a rewritten function to replacements of their current values."""
        self._variables[id(live)] = _variables(live)
        cells = dict(zip(live.__code__.co_freevars, live.__closure__ or (), strict=True))
        for variable, cell in zip(made.__code__.co_freevars, made.__closure__ or (), strict=True):
            cell.cell_contents = self.real(cells[variable].cell_contents, variable)
        made.__defaults__ = tuple(self.real(each, "a default") for each in live.__defaults__ or ()) or None
        named = live.__kwdefaults__ or {}
        made.__kwdefaults__ = {key: self.real(each, key) for key, each in named.items()} or None

    def kind(self, live: type) -> type:
        """Return a copy of a class in which all functions are rewritten."""
        if live is object or issubclass(live, BaseException):
            return live
        if id(live) in self._made:
            return self._made[id(live)][1]  # type: ignore[no-any-return]  # of a class
        source.require_own(live.__module__, live.__qualname__)
        made = type(live.__name__, tuple(self.kind(each) for each in live.__bases__), {})
        self._made[id(live)] = (live, made)
        try:
            for name, member in vars(live).items():
                if name not in OF_CLASSES:
                    setattr(made, name, self._member(live, name, member))
        except NoValue:
            del self._made[id(live)]
            raise
        return made

    def _member(self, live: type, name: str, member: Any) -> Any:
        if name.startswith("__dataclass_") or name == "__match_args__" or type(member) is _SLOT:
            return member
        if isinstance(member, property):
            return property(self.function(member.fget))
        if isinstance(member, staticmethod | classmethod):
            return type(member)(self.function(member.__func__))
        if (
            isinstance(member, FunctionType)
            and is_dataclass(live)
            and member.__code__.co_filename == "<string>"
        ):
            made = FunctionType(
                member.__code__, member.__globals__, name, None, member.__closure__
            )  # written by dataclasses
            made.__defaults__ = tuple(self.real(each, name) for each in member.__defaults__ or ()) or None
            return made
        return self.function(member) if isinstance(member, FunctionType) else self.real(member, name)

    def names(self, live: dict[str, Any]) -> Names:
        """Return the names of a module, with their replacements."""
        if id(live) not in self._names:
            self._names[id(live)] = Names(self, live)
        return self._names[id(live)]

    # ---- values

    def real(self, value: Any, name: str = "a value", *, chosen: bool = False) -> Any:
        """Return the real number that a value represents; convert the entries of containers one by one.

        If ``chosen``, the value is a quantity of an instance, and a float stands for the decimal that Python prints.
        All other floats are results of computations: a float with many digits stands for every number within one unit
        of its last digit.

        Raises
        ------
        NoValue
            If an object has no replacement.
        """
        real = functools.partial(self.real, name=name, chosen=chosen)
        if isinstance(value, float | np.floating):
            text = repr(float(value))
            return float(value) if not math.isfinite(value) else Fraction(text) if chosen else decimal(text)
        if isinstance(value, np.integer | np.bool_):
            return value.item()
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiuO":
            found = np.empty(value.size, dtype=object)
            found[:] = [real(each) for each in value.ravel().tolist()]
            return found.reshape(value.shape)
        if isinstance(value, np.ndarray) and value.dtype == bool:
            return value
        if type(value) in (tuple, list):
            return type(value)(map(real, value))
        if type(value) is dict:
            return {key: real(each) for key, each in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            made: Any = object.__new__(self.kind(type(value)))
            for each in fields(value):
                object.__setattr__(made, each.name, real(getattr(value, each.name)))
            return made
        return self.of(value, {}, name)

    def _constant(self, value: Any, live: dict[str, Any], name: str) -> Any:
        """Return a constant; compute it again from its source if it contains floats."""
        if not _holds_floats(value):
            return self.real(value, name) if type(value) in (list, tuple, dict, np.ndarray) else value
        if live.get("__name__") in ("math", "numpy") and name in CONSTANTS:
            return CONSTANTS[name]()
        key = id(live), name
        if key in self._constants and self._constants[key][0] is value and not isinstance(value, MUTABLE):
            return self._constants[key][1]
        statement = source.binding_of(name, source.file_of(live))
        if isinstance(statement, ast.ImportFrom):
            original = next(each.name for each in statement.names if (each.asname or each.name) == name)
            found = self.imported(live, "." * statement.level + (statement.module or ""), original)
        else:
            space: dict[str, Any] = {}
            tree = ast.fix_missing_locations(ast.Module([rewritten(statement)], []))
            exec(compile(tree, source.file_of(live), "exec"), self.names(live), space)  # noqa: S102 - as above
            found = space[name]
        if not _agrees(found, value):
            raise NoValue(f"{name}, which has changed since its file was read,")
        self._constants[key] = (value, found)
        return found

    # ---- what the rewriting calls

    def attribute(self, value: Any, name: str) -> Any:
        """Return the attribute ``value.name``, or its replacement."""
        if type(value) in NUMBERS:
            if name not in NUMBER_ATTRIBUTES:
                raise NoValue(f"the attribute {name} of a number")
            return NUMBER_ATTRIBUTES[name](value)
        if isinstance(value, np.ndarray):
            found = array_attribute(value, name)
            return _guarded(found, f"the method {name} of an array") if callable(found) else found
        if isinstance(value, ModuleType):
            return self.of(getattr(value, name), vars(value), name)
        if name.startswith("__") and name not in ("__name__", "__class__"):
            raise NoValue(f"the attribute {name}")
        return getattr(value, name)

    def imported(self, live: Mapping[str, Any], module: str, name: str = "") -> Any:
        """Return the replacement for the object that ``from module import name`` or ``import module`` binds."""
        level = len(module) - len(module.lstrip("."))
        if level:
            package = str(live.get("__package__") or "")
            module = ".".join(
                [*package.split(".")[: len(package.split(".")) - level + 1], *module[level:].split(".")]
            ).rstrip(".")
        if module not in sys.modules:
            raise NoValue(f"the import of {module}")
        found = sys.modules[module]
        return self.attribute(found, name) if name else found


_SLOT = type(Fraction.__dict__["_numerator"])
_CACHED = type(functools.cache(lambda: None))


def _variables(live: FunctionType) -> tuple[Any, ...]:
    """Return the current values of a function's free variables and default values."""
    cells = tuple(each.cell_contents for each in live.__closure__ or ())
    return (*cells, *(live.__defaults__ or ()), *(live.__kwdefaults__ or {}).values())


def _same(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    pairs = zip(first, second, strict=True) if len(first) == len(second) else [(0, 1)]
    return all(a is b and not isinstance(a, MUTABLE) for a, b in pairs)


def _full_name(value: Any, name: str) -> str:
    module, own = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    return f"{module}.{own}" if isinstance(module, str) and own else own or name


def _guarded(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Wrap a replacement function, so that errors inside its own code become ``NoValue``."""

    @functools.wraps(function, assigned=(), updated=())
    def call(*values: Any, **named: Any) -> Any:
        try:
            return function(*values, **named)
        except SAFE:
            raise
        except Exception as error:
            raise NoValue(f"{name} of these arguments ({error})") from error

    return call if not isinstance(function, type) else function


def _without_decorators(node: Any) -> Any:
    if not isinstance(node, ast.FunctionDef):
        return node
    made = ast.FunctionDef(node.name, _without_defaults(node.args), node.body, [], None)
    return ast.copy_location(made, node)


def _without_defaults(arguments: ast.arguments) -> ast.arguments:
    """Remove the default values from a signature; the rewritten function receives the current default values later."""
    return ast.arguments(
        arguments.posonlyargs, arguments.args, arguments.vararg, arguments.kwonlyargs,
        [None] * len(arguments.kwonlyargs), arguments.kwarg, [],
    )  # fmt: skip


def _holds_floats(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "iub" and any(map(_holds_floats, value.ravel().tolist()))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_holds_floats, value))
    if isinstance(value, dict):
        return any(map(_holds_floats, value.values()))
    return isinstance(value, float | np.floating | complex)


def _agrees(found: Any, live: Any) -> bool:
    """Return whether a constant computed again equals the current value up to rounding."""
    if isinstance(live, list | tuple):
        return len(found) == len(live) and all(map(_agrees, found, live))
    if isinstance(live, dict):
        return found.keys() == live.keys() and all(_agrees(found[key], live[key]) for key in live)
    if isinstance(live, np.ndarray):
        return np.shape(found) == live.shape and all(
            map(_agrees, array(found).ravel().tolist(), live.ravel().tolist())
        )
    if isinstance(live, float | np.floating) and math.isfinite(live):
        return bool(abs(plain(found) - Fraction(float(live))) <= AGREEMENT * (1 + abs(Fraction(float(live)))))
    return bool(found == live)

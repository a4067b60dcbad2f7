"""A statement's source as files that run beside the kernel's: what its function names, and nothing else.

Functions and records are copied from their files, one file a module, constants by their values. The kernel takes the
same digest of them, so that the evidence is of these files, too.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.claims.in_language import WORDS, statement_of
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.kernel.loading import CACHED, End, Source
from clusterproof.checker.kernel.spaces import Choice, Interval, OfClass, Range, Tuples

MODULES = {own.__name__: own.__module__ for own in WORDS.values()}
"""Of the kernel's words."""
HEAD = '''"""Copied from {module}: what the statement rests on."""

from __future__ import annotations
'''
FUNCTION = ("def ", "@lru_cache")
"""How the text of a function begins, but not that of a record."""
NAMED = re.compile(r"\w+(, \w+)*;.*\n")
"""The quantities of an end of a range, and what it names, before its formula."""


@dataclass
class File:
    """A module's part."""

    imports: dict[str, None] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, tuple[int, str]] = field(default_factory=dict)

    def text(self, module: str) -> str:
        """Write the file."""
        functions = [text for _, text in sorted(self.definitions.values()) if text.startswith(FUNCTION)]
        records = [text for _, text in sorted(self.definitions.values()) if not text.startswith(FUNCTION)]
        kinds = [f"{name}(" for name, (_, text) in self.definitions.items() if text in records]
        plain: list[str] = []
        of_records: list[str] = []
        for name, value in self.constants.items():
            (of_records if any(kind in value for kind in kinds) else plain).append(f"{name} = {value}")
        parts = [
            HEAD.format(module=module),
            *sorted(self.imports),
            "",
            *plain,
            "",
            *records,
            *of_records,
            "",
            *functions,
        ]
        return "\n".join(parts) + "\n"


class Sources:
    """Files of one statement, by module.

    Parameters
    ----------
    statement
        Of a claim.
    """

    def __init__(self, statement: Statement) -> None:
        self._statement, self._seen = statement, set[int]()
        self._known = {id(word): own.__name__ for word, own in WORDS.items()}
        self._files: dict[str, File] = {}
        self._ends: dict[int, str] = {}
        loaded: dict[int, Any] = {}

        class Noting(Source):
            """Notes what is loaded."""

            def load(self, value: Any, name: str) -> Any:
                own = super().load(value, name)
                loaded[id(value)] = value
                return own

        self.stated = statement_of(statement, loader=Noting)
        self._loaded = loaded

    def write(self) -> dict[str, str]:
        """Return texts by name of file; ``statement.py`` has the function ``statement(source)``."""
        function = self._statement.function
        main = File()
        self._name(function, "function", main, "statement")
        records = []
        for name, (kind, keys) in self._statement.space.records.items():
            self._name(kind, kind.__name__, main, "statement")
            records.append(f"{name!r}: ({kind.__name__}, {keys!r})")
        space = [
            f"            {name!r}: {self._range(name, allowed, main)},\n"
            for name, allowed in self.stated.space.ranges.items()
        ]
        main.imports[f"from .{_file(function.__module__)} import {function.__name__} as function"] = None
        main.imports[
            "from clusterproof.checker.kernel import Choice, Interval, OfClass, Space, Statement, Tuples"
        ] = None
        main.imports[
            "from clusterproof.checker.kernel.interpolation import FunctionClass, OperatorClass, SetClass"
        ] = None
        main.imports["from fractions import Fraction"] = None
        text = f"""
def statement(source):
    \"\"\"Compile the function on its space.\"\"\"

    def space(source):
        return Space({{
{"".join(space)}        }})

    return Statement.of(function, space, {{{", ".join(records)}}}, source)
"""
        main.definitions["statement"] = sys.maxsize, f"def statement{text.partition('def statement')[2]}"
        files = {_file(module) + ".py": file.text(module) for module, file in self._files.items()}
        return files | {"statement.py": main.text("the claim's signature").replace("Copied from the", "The")}

    def source(self) -> str:
        """Return the source of the function, the ranges of its quantities, and what else has been written."""
        function, ranges = self._statement.function, self.stated.space.ranges
        parts = [inspect.getsource(function), "Ranges" if ranges else ""]
        meanings = _meanings(function)
        parts += [
            f"    {name}: {NAMED.sub('', str(allowed))}{meanings.get(name, '')}"
            for name, allowed in ranges.items()
        ]
        for module, file in self._files.items():
            named = [f"{name} = {value}" for name, value in file.constants.items()]
            for name, (_, text) in sorted(file.definitions.items(), key=lambda item: item[1]):
                if (module, name) != (function.__module__, function.__name__):
                    named.append(f"\n{text.rstrip()}")
            parts += ["", f"# ---- what it names of {module}", *named] if named else []
        return "\n".join(parts)

    def _range(self, name: str, allowed: Range, file: File) -> str:
        if type(allowed) is Interval:
            ends = (self._end(name, end, file) for end in (allowed.low, allowed.high))
            return f"Interval({', '.join(ends)}, integers={allowed.integers})"
        if type(allowed) is Choice:
            return f"Choice({literal(allowed.options)})"
        if type(allowed) is Tuples:
            return (
                f"Tuples({self._range(name, allowed.entries, file)}, {self._end(name, allowed.length, file)})"
            )
        assert type(allowed) is OfClass
        groups = [
            f"({count}, {kind.__name__}, ({''.join(f'({n!r}, {self._end(name, c, file)}), ' for n, c in constants)}))"
            for count, kind, constants in allowed.groups
        ]
        return f"OfClass(({', '.join(groups)},), {self._end(name, allowed.reach, file)})"

    def _end(self, name: str, end: Any, file: File) -> str:
        """Write an end of a range; of a lambda its own source, in which names are those of the claim's module."""
        if type(end) is not End:
            return literal(end)
        head, _, body = end.text.partition("\n")
        text = f"lambda {head.partition(';')[0]}: {body}"
        self._names(ast.parse(text), self._statement.function.__globals__, file, "statement")
        # what one function gives is one end: the digest has its text once
        place = self._ends.setdefault(id(end.function), f"end_{len(self._ends)}")
        file.constants[place] = text
        return f"source.end({place}, {name!r})"

    # ---- what a source names

    def _names(self, tree: ast.AST, outside: Mapping[str, Any], file: File, module: str) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                holder = outside.get(node.value.id)
                if isinstance(holder, ModuleType):
                    self._of_module(holder, node.value.id, node.attr, file)
            elif isinstance(node, ast.Name) and node.id in outside:
                self._name(outside[node.id], node.id, file, module)

    def _of_module(self, holder: ModuleType, name: str, attribute: str, file: File) -> None:
        value = getattr(holder, attribute, None)
        if holder.__name__ in sys.stdlib_module_names:
            file.imports[f"import {holder.__name__}" + (f" as {name}" if name != holder.__name__ else "")] = (
                None
            )
        elif id(value) in self._known:
            file.imports[f"from clusterproof.checker.kernel import vocabulary as{name}"] = None
        elif value is not None:
            file.imports[f"from . import {_file(holder.__name__)} as {name}"] = None
            self._name(value, attribute, self._of(holder.__name__), holder.__name__)

    def _of(self, module: str) -> File:
        return self._files.setdefault(module, File())

    def _name(self, value: Any, name: str, file: File, module: str) -> None:
        """Write what a name is into a file: an import, a constant, or a definition where it stands."""
        if isinstance(value, ModuleType) or id(value) not in self._loaded:
            return
        value = value.function if type(value) is Claim else value
        word = self._known.get(id(value)) or self._known.get(id(getattr(value, "__wrapped__", None)))
        if word is not None:
            file.imports[f"from {MODULES[word]} import {word}" + (f" as {name}" if name != word else "")] = (
                None
            )
            return
        own = getattr(value, "__module__", "") or ""
        inner = value.__wrapped__ if type(value) is CACHED else value
        if type(inner) is FunctionType or (isinstance(value, type) and is_dataclass(value)):
            home, called = inner.__module__, inner.__name__
            if home != module and name != "function":
                file.imports[
                    f"from .{_file(home)} import {called}" + (f" as {name}" if name != called else "")
                ] = None
            self._define(value, inner, home, called)
        elif (own in sys.stdlib_module_names or own == "builtins") and hasattr(value, "__name__"):
            if own != "builtins" or getattr(builtins, name, None) is not value:
                file.imports[
                    f"from {own} import {value.__name__}" + (f" as {name}" if name != value.__name__ else "")
                ] = None
        else:
            file.constants.setdefault(name, literal(value))
            self._kinds(value, file, module)

    def _kinds(self, value: Any, file: File, module: str) -> None:
        """Write the records and numbers that a constant is made of."""
        if type(value) is Fraction:
            file.imports["from fractions import Fraction"] = None
        elif is_dataclass(value):
            self._loaded[id(type(value))] = type(value)
            self._name(type(value), type(value).__name__, file, module)
            for each in fields(value):
                self._kinds(getattr(value, each.name), file, module)
        else:
            parts = (
                value
                if type(value) is tuple
                else [*value, *value.values()]
                if isinstance(value, Mapping)
                else ()
            )
            for part in parts:
                self._kinds(part, file, module)

    def _define(self, value: Any, inner: Any, home: str, name: str) -> None:
        if id(inner) in self._seen:
            return
        self._seen.add(id(inner))
        lines, first = inspect.getsourcelines(inner)
        source = textwrap.dedent("".join(lines))
        node: Any = ast.parse(source).body[0]
        if not isinstance(inner, type) and inner.__defaults__ is None and node.args.defaults:
            source = _without_defaults(source, node)
            node = ast.parse(source).body[0]
        file = self._of(home)
        if isinstance(inner, type):
            text = source
            file.imports["from dataclasses import dataclass"] = None
            file.imports["from functools import cached_property"] = None
            outside = vars(sys.modules[home])
            self._defaults(node, outside, file)
        else:
            text = "".join(source.splitlines(keepends=True)[node.lineno - 1 : node.end_lineno])
            outside = {**inner.__globals__, **dict(_around(inner))}
            node.decorator_list = []
            if type(value) is CACHED:
                text = f"@lru_cache(maxsize=None)\n{text}"
                file.imports["from functools import lru_cache"] = None
        file.definitions[name] = first, f"\n{text.rstrip()}\n".lstrip("\n")
        self._names(_without_annotations(node), outside, file, home)

    def _defaults(self, kind: ast.AST, outside: Mapping[str, Any], file: File) -> None:
        """Write a list, which is no constant of the language either, for a default of methods that nothing calls."""
        for each in ast.walk(kind):
            defaults = each.args.defaults if isinstance(each, ast.FunctionDef) else []
            for default in defaults:
                if isinstance(default, ast.Name) and id(outside.get(default.id)) not in self._loaded:
                    file.constants.setdefault(default.id, "[]")


def _meanings(function: Callable[..., Any]) -> dict[str, str]:
    """Return what the module says of the constants that are the ranges of a function's quantities, by quantity."""
    said: dict[str, str] = {}
    for constant, text in pairwise(ast.parse(inspect.getsource(sys.modules[function.__module__])).body):
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            for node in ast.walk(constant) if isinstance(constant, ast.Assign | ast.AnnAssign) else ():
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    said[node.id] = f" ({node.id}: {text.value.value!s})"
    arguments = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0].args  # type: ignore[attr-defined]
    named = zip(reversed(arguments.args), reversed(arguments.defaults), strict=False)
    return {own.arg: said.get(default.id, "") for own, default in named if isinstance(default, ast.Name)}


def _around(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def _without_defaults(source: str, node: Any) -> str:
    """Leave out the defaults of a claim's quantities, which are ranges, as the loaded function does."""
    text = source.encode()
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    arguments = node.args.args[-len(node.args.defaults) :]
    for argument, default in reversed(list(zip(arguments, node.args.defaults, strict=True))):
        start, end = (starts[each.end_lineno - 1] + each.end_col_offset for each in (argument, default))
        text = text[:start] + text[end:]
    return text.decode()


def _without_annotations(node: ast.AST) -> ast.AST:
    """Return what a function or record computes with: annotations say nothing here."""
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            each.annotation = None
        elif isinstance(each, ast.AnnAssign):
            each.annotation = ast.Constant(None)
        elif isinstance(each, ast.FunctionDef):
            each.returns = None
    return node


def _file(module: str) -> str:
    return module.removeprefix("clusterproof.theory.").replace(".", "_")


def literal(value: Any) -> str:
    """Write a constant.

    Raises
    ------
    TypeError
        If it is of no kind that the language has.
    """
    if type(value) is Fraction:
        return f"Fraction({value.numerator}, {value.denominator})"
    if type(value) in (int, str, bool, type(None)):
        return repr(value)
    if type(value) is tuple:
        return f"({''.join(f'{literal(entry)}, ' for entry in value)})"
    if type(value) in (dict, MappingProxyType):
        return f"{{{', '.join(f'{literal(k)}: {literal(v)}' for k, v in value.items())}}}"
    if is_dataclass(value) and not isinstance(value, type):
        named = (f"{each.name}={literal(getattr(value, each.name))}" for each in fields(value))
        return f"{type(value).__name__}({', '.join(named)})"
    raise TypeError(f"{type(value).__name__} is no constant")

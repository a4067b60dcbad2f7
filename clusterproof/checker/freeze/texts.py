"""Convert a claim of the running program to a text for the kernel. The kernel does not trust this code.

Each name in the source code of a function is looked up in the running program, and its definition is copied from its
own source code. A value is rejected if it differs from its source code or may change. The message states the value, and
what to write instead.
"""

from __future__ import annotations

import ast
import builtins
import gc
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.freeze.classes import class_node, function_of, require_own_fields
from clusterproof.checker.freeze.files import File, expression_of, file_of_module, node_of, origin
from clusterproof.checker.freeze.layout import quoted, write_expression, write_function
from clusterproof.checker.freeze.renaming import Scope, Writer, copied
from clusterproof.checker.freeze.values import CACHED, KNOWN, PLAIN, integer, is_plain, shown
from clusterproof.checker.kernel import Refused
from clusterproof.checker.kernel.definitions import ANNOTATIONS, ENDING, RESERVED, Definitions
from clusterproof.checker.kernel.definitions import WORDS as KERNEL_WORDS
from clusterproof.checker.kernel.evaluation import spend
from clusterproof.checker.kernel.grammar import MODULES, REMEDIES, floating
from clusterproof.checker.kernel.language import Compiler
from clusterproof.checker.kernel.library import LIBRARY
from clusterproof.checker.kernel.range_words import RANGES
from clusterproof.checker.kernel.reading import LONGEST
from clusterproof.checker.kernel.records import Record

OWN = "clusterproof"
"""Name of this package; attributes that modules of other packages compute are not used."""
CHARACTERS = 2
"""Number of characters of a source file that cost one step when it is read."""
LITERAL = 40
"""Number of steps to count for a literal, so that texts with too many literals are rejected."""
TRIED = "what depends on them is tried, and not proved"
"""Reason for rejecting statements that the author cannot rewrite in the language."""


class Text:
    """Builder of the text of one claim.

    Parameters
    ----------
    used
        Names of attributes that occur in the claim; methods with other names are omitted.
    annotations
        Source code of annotations, which may contain ends of ranges.
    """

    def __init__(self, used: frozenset[str], annotations: Sequence[str]) -> None:
        self.used, self.annotations = used, annotations
        self.asked: set[str] = set()
        self.left_out: set[str] = set()
        self.parts: list[str] = []
        self.opened: set[File] = set()
        self.names: dict[Any, str] = {}
        self.refused: dict[int, Refused] = {}
        self.kept: list[Any] = []
        self.agreed: dict[tuple[int, int], tuple[Any, Any]] = {}
        self.taken = {*LIBRARY, *KERNEL_WORDS, *RANGES, *ENDING, *MODULES, "dataclass", *ANNOTATIONS}
        self.read = Definitions(KERNEL_WORDS)

    @contextmanager
    def unless_refused(self) -> Any:
        """Return a context that removes the definitions added inside it if an error is raised."""
        spend(len(self.names) + len(self.taken) + len(self.read.names))
        before = len(self.parts), dict(self.names), set(self.taken), dict(self.read.names)
        try:
            yield
        except BaseException:
            del self.parts[before[0] :]
            self.names, self.taken = before[1], before[2]
            for name in self.read.names.keys() - before[3].keys():
                del self.read.names[name]
            raise

    def free(self, name: str) -> str:
        """Return an unused name."""
        wanted = name.lstrip("_") or "value"
        if not wanted.isascii():
            raise Refused(f"the name {name}: write it in ASCII")
        own, place = wanted, 1
        while own in self.taken:
            place += 1
            own = f"{wanted}_{place}"
        self.taken.add(own)
        return own

    def emit(self, text: str, node: ast.stmt | None = None) -> None:
        """Add a definition, and let the kernel read it; ``node`` is its syntax tree, if known."""
        for each in ast.parse(text).body if node is None else (node,):
            self.read.add(each)
        self.parts.append(text)

    # ---- names

    def name(self, value: Any, name: str, home: Mapping[str, Any] | None) -> str:
        """Return the name of a value in the text; define the value first if necessary.

        Parameters
        ----------
        value, name
            The value, and the value's name in the running program.
        home
            Namespace of the module that uses the value, or None if the name is a variable of an enclosing function.
        """
        value = value.function if type(value) is Claim else value
        if id(value) in KNOWN:
            return KNOWN[id(value)]
        if type(value) is FunctionType or isinstance(value, type):
            return self._defined(value)
        if home is None:
            key: Any = id(value), name
        else:
            home, name = origin(home, name, value)
            key = id(home), name
        if key not in self.names:
            self.kept.append(value)
            with self.unless_refused():
                self.names[key] = self._constant(value, name, home)
        return self.names[key]

    def _defined(self, value: Any) -> str:
        """Return the name of a function or class in the text, and define it if necessary."""
        if id(value) in self.refused:
            raise self.refused[id(value)]
        if id(value) not in self.names:
            self.kept.append(value)
            said = value.__code__.co_name if type(value) is FunctionType else value.__name__
            try:
                with self.unless_refused():
                    own = self.names[id(value)] = self.free("function" if said == "<lambda>" else said)
                    if isinstance(value, type):
                        self.emit(self.record(value, own))
                    else:
                        text, node = self.function(value, own)
                        with placed_in(value.__code__):
                            self.emit(text, node)
            except Refused as refused:
                self.refused[id(value)] = refused
                raise
        return self.names[id(value)]

    def _constant(self, value: Any, name: str, home: Mapping[str, Any] | None) -> str:
        """Return source code for a constant: the expression from its own source, or a literal of its value."""
        own = self.free(name)
        file = file_of_module(home)
        if file is not None:
            _require_one_value(file, name)
            if type(value) is dict:
                _require_unchanged(file, name)
        bound = file.bound(name) if file else []
        if file is not None and len(bound) == 1 and (said := expression_of(bound[0], name)) is not None:
            scope = Scope(file)
            try:
                with self.unless_refused():
                    writer = self._writer(scope, {**builtins.__dict__, **(home or {})}, home, {})
                    made = writer.visit(copied(said))
                    self.emit(f"{own} = {write_expression(_placed(made, said), file, writer.edits)}")
                    self.asked |= writer.asked
            except Exception:  # the language lacks a part of the expression, so write the value
                pass
            else:
                if not self.agree(value, self.read.names[own]):
                    raise Refused(
                        f"{name} is {shown(value)}, and not what {file.name}, line {bound[0].lineno} says: "
                        "write it as it is to be"
                    )
                return own
        if file is not None:
            _require_unchanged(file, name)
        text = self.literal(value, name)
        where = "of the function around it" if home is None else "computed where the program is loaded"
        self.emit(f"{own} = {text}")
        self.parts[-1] += f"  # {where}"
        return own

    def literal(self, value: Any, name: str) -> str:
        """Return the value of a constant as a literal.

        Raises
        ------
        Refused
            If the value may change, or is outside the language.
        """
        spend(LITERAL)
        if type(value) is Fraction:
            if not is_plain(value) or value.denominator < 1 or gcd(value.numerator, value.denominator) != 1:
                raise Refused(f"{name} is a fraction that was changed")
            return f"Fraction({integer(value.numerator)}, {integer(value.denominator)})"
        if type(value) is int:
            return integer(value)
        if type(value) is str:
            if len(value) > LONGEST:
                raise Refused(f"{name} is a text of more than {LONGEST} characters")
            return quoted(value)
        if type(value) in (bool, type(None)):
            return repr(value)
        if type(value) is tuple:
            return f"({''.join(f'{self.literal(each, name)}, ' for each in value).rstrip(' ')})"
        if type(value) is MappingProxyType and [type(each) for each in gc.get_referents(value)] != [dict]:
            raise Refused(f"{name} is a view of no plain dictionary")
        if type(value) in (dict, MappingProxyType):
            entries = (f"{self.literal(k, name)}: {self.literal(v, name)}" for k, v in value.items())
            return f"{{{', '.join(entries)}}}"
        if type(value) is float:
            raise Refused(f"{name}: {floating(value)}")
        if type(value) is list:
            raise Refused(f"{name} is a list, which may change: write a tuple")
        if type(value) is FunctionType or isinstance(value, type) or id(value) in KNOWN:
            return self.name(value, name, None)
        if is_dataclass(value):
            require_own_fields(value, name)
            kind = self.name(type(value), "", None)
            entries = (f"{f.name}={self.literal(getattr(value, f.name), name)}" for f in fields(value))
            return f"{kind}({', '.join(entries)})"
        if type(value) is CACHED:
            raise Refused(f"{name} has a cache, which is not of the language: leave the cache out")
        if callable(value):  # in another version of its library, the type of this value may differ
            raise Refused(f"{name} is not of the language")
        kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
        example = f" {shown(value)}" if isinstance(value, PLAIN) else ""
        raise Refused(f"{name} is {kind}{example}, which is not of the language")

    def agree(self, live: Any, read: Any) -> bool:
        """Return whether a constant of the running program equals the value that the kernel has read from the text."""
        if (id(live), id(read)) in self.agreed:  # several constants may share this part
            return True
        if self._agree(live, read):
            self.agreed[id(live), id(read)] = live, read
            return True
        return False

    def _agree(self, live: Any, read: Any) -> bool:
        spend(1)
        if type(live) is Claim:
            live = live.function
        if type(live) is FunctionType or isinstance(live, type) or id(live) in KNOWN:
            own = KNOWN.get(id(live)) or self.names.get(id(live))
            return own is not None and self.read.names.get(own) is read
        if type(live) is tuple:
            return type(read) is tuple and len(live) == len(read) and all(map(self.agree, live, read))
        if type(live) in (dict, MappingProxyType):
            if type(read) is not MappingProxyType or len(live) != len(read):
                return False
            if not all(live.get(k, MISSING) is v for k, v in live.items()):  # a key has changed
                return False
            pairs = zip(live.items(), read.items(), strict=True)
            return all(self.agree(k, n) and self.agree(v, m) for (k, v), (n, m) in pairs)
        if isinstance(read, Record):
            if self.names.get(id(type(live))) is None or not self.agree(type(live), type(read)):
                return False
            require_own_fields(live, type(live).__name__)
            return all(
                self.agree(getattr(live, n), v) for n, v in zip(read._fields, read._values, strict=True)
            )
        if type(live) is not type(read):
            return False
        if type(live) is Fraction:
            same = live.numerator == read.numerator and live.denominator == read.denominator
            return same and is_plain(live)
        return type(live) in (int, str, bool, type(None)) and live == read

    # ---- sources

    def _writer(
        self,
        scope: Scope,
        known: Mapping[str, Any],
        home: Mapping[str, Any] | None,
        cells: Mapping[str, Any],
    ) -> Writer:
        """Return a writer that replaces names in syntax trees by the names of the text."""

        def name(own: str) -> str:
            if own in cells:
                if scope.file is not None and (line := scope.file.change_of(own)) is not None:
                    raise Refused(
                        f"{own} is changed in {scope.file.name}, line {line}: pass it as an argument"
                    )
                return self.name(cells[own], own, None)
            if own not in known:
                raise Refused(f"the name {own} is not of the language")
            value = known[own]
            if type(value) is ModuleType:
                raise Refused(f"{own} is a module: name what is used of it")
            return self.name(value, own, home if home is not None and own in home else None)

        def attribute(path: Sequence[str]) -> tuple[str, int] | None:
            value: Any = cells.get(path[0], known.get(path[0]))
            place = 1
            holder: Any = None
            while type(value) is ModuleType and place < len(path):
                holder, found = value, vars(value).get(path[place], MISSING)
                if found is MISSING and value.__name__.partition(".")[0] == OWN:  # it imports names lazily
                    lazily = getattr(value, path[place], MISSING)
                    found = lazily if id(lazily) in KNOWN else MISSING
                value, place = found, place + 1
            if holder is None:
                return None
            if value is MISSING or type(value) is ModuleType:
                raise Refused(f"{'.'.join(path)} is not of the language")
            last, said = path[place - 1], ".".join(path[:place])
            if scope.file is not None and (line := scope.file.assigned_attributes.get(last)) is not None:
                raise Refused(f"{said} is changed in {scope.file.name}, line {line}: pass it as an argument")
            try:
                return self.name(value, last, vars(holder)), place
            except Refused as refused:
                why = str(refused)
                raise Refused(f"{said}{why.removeprefix(last)}" if why.startswith(last) else why) from None

        return Writer(scope, name, attribute, lambda own: own in cells or own in known)

    def source(self, function: FunctionType, own: str) -> tuple[Any, Any, Writer]:
        """Return the tree of a function with the text's names, its original node, and the writer with the edits."""
        node, file = node_of(function, self.annotations)
        if file is not None:
            self.taken |= file.variables
            if file not in self.opened:
                self.opened.add(file)
                spend(len(file.text) // CHARACTERS)
        code = function.__code__
        try:
            held = [cell.cell_contents for cell in function.__closure__ or ()]
        except ValueError:
            raise Refused(f"{code.co_name}: a variable around it has no value yet") from None
        cells = dict(zip(code.co_freevars, held, strict=True))
        builtin = getattr(function, "__builtins__", None)
        if type(builtin) is not dict or type(function.__globals__) is not dict:
            raise Refused(f"{code.co_name}: its module has a namespace of its own kind")
        later = function.__globals__.get(
            "__builtins__", builtin
        )  # those of the functions inside this function
        if (vars(later) if type(later) is ModuleType else later) is not builtin:
            raise Refused(f"{code.co_name}: its module has replaced its own __builtins__: choose other names")
        known = ChainMap(function.__globals__, builtin)
        parts = [*ast.walk(node)]
        alone = {
            id(each.value) for each in parts if isinstance(each, ast.Expr)
        }  # a yield outside may be left out
        for each in parts:
            is_yield = isinstance(each, ast.Yield | ast.YieldFrom) and id(each) in alone
            if isinstance(each, tuple(REMEDIES)) and not is_yield:
                what = f"{type(each).__name__} is not of the language: {REMEDIES[type(each)]}"
                with placed_in(code):
                    raise Refused(f"line {getattr(each, 'lineno', node.lineno)}: {what}")
        scope = Scope(file)
        writer = self._writer(scope, known, function.__globals__, cells)
        made = copied(node)
        made.args.defaults, made.args.kw_defaults = [], [None] * len(made.args.kwonlyargs)
        if isinstance(made, ast.FunctionDef):
            made.decorator_list = []
        with placed_in(code):
            made = writer.function(made, own)
        self.asked |= writer.asked
        place = f"{Path(code.co_filename).name}, line {code.co_firstlineno}, in {_said(code)}"
        defaults, named = function.__defaults__ or (), function.__kwdefaults__ or {}
        parameters = len(made.args.posonlyargs) + len(made.args.args)
        if type(defaults) is not tuple or type(named) is not dict or len(defaults) > parameters:
            raise Refused(f"{place}: its defaults were changed: write them where it is defined")
        made.args.defaults = [self._default(each, place) for each in defaults]
        made.args.kw_defaults = [
            self._default(named[each.arg], place) if each.arg in named else None
            for each in made.args.kwonlyargs
        ]
        return made, node, writer

    def require_language(self, made: ast.AST, code: CodeType) -> None:
        """Require that a syntax tree is in the language; the check modifies the tree, so do not use it afterwards."""
        with placed_in(code):
            Compiler(RESERVED).visit(made)

    def _default(self, value: Any, place: str) -> ast.expr:
        if type(value) in (list, dict):
            raise Refused(f"{place}: a default that may change: use None")
        return ast.parse(self.literal(value, f"{place}: a default"), mode="eval").body

    def function(self, function: FunctionType, own: str) -> tuple[str, ast.stmt]:
        """Convert a function, with a new name.

        Returns
        -------
        tuple
            The source code, and the syntax tree from which it was written.
        """
        made, node, writer = self.source(function, own)
        if isinstance(made, ast.Lambda):
            assigned = ast.Assign([ast.Name(own, ast.Store())], made, lineno=node.lineno, col_offset=0)
            return ast.unparse(assigned), assigned
        assert writer.scope.file is not None  # every def belongs to a file
        ast.fix_missing_locations(made)
        return write_function(made, writer.scope.file, node, writer.edits), made

    def record(self, kind: type, own: str) -> str:
        """Convert a class, with a new name: its fields, and all methods that occur in the claim."""
        node, _ = class_node(kind)
        defaults = {each.name: each.default for each in fields(kind)}
        written = ["@dataclass(frozen=True)", f"class {own}:"]
        for each in node.body:
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                default = defaults[each.target.id]
                said = each.annotation.id if isinstance(each.annotation, ast.Name) else ""
                end = "" if default is MISSING else f" = {self.literal(default, each.target.id)}"
                written.append(f"    {each.target.id}: {said if said in ANNOTATIONS else 'object'}{end}")
            elif isinstance(each, ast.FunctionDef):
                if each.name in self.used:
                    written += ["", *(f"    {line}" for line in self._method(kind, each).split("\n"))]
                else:
                    self.left_out.add(each.name)
            elif not isinstance(each, ast.Expr | ast.Pass):
                raise Refused(f"{kind.__qualname__}: a record has fields, properties and methods only")
        return "\n".join(line.rstrip() for line in written)

    def _method(self, kind: type, node: ast.FunctionDef) -> str:
        member = vars(kind)[node.name]
        if type(member) is cached_property:
            return f"@property\n{_without_value(node, 'it has a cache: leave the cache out')}"
        function = function_of(member)
        assert function is not None  # the class has already been compared with its source
        try:
            with self.unless_refused():
                text, made = self.function(function, node.name)
                self.require_language(made, function.__code__)
        except Refused:
            text = _without_value(node, "its source is not of the language")
        decorator = "" if type(member) is FunctionType else type(member).__name__
        return f"@{decorator}\n{text}" if decorator else text


def _without_value(node: ast.FunctionDef, why: str) -> str:
    """Return a method that has no value."""
    return f"def {node.name}(*values, **named):\n    raise  # {why}"


def _require_one_value(file: File, name: str) -> None:
    """Require that no function assigns another value to a variable outside it, because it may do so during a call."""
    if name in file.rebound:
        raise Refused(f"{name} is changed in {file.name}, line {file.rebound[name]}: pass it as an argument")


def _require_unchanged(file: File, name: str) -> None:
    """Require that no line of a file visibly changes a value."""
    if (line := file.change_of(name)) is not None:
        raise Refused(f"{name} is changed in {file.name}, line {line}: write it as one expression")


def _placed(made: ast.expr, said: ast.expr) -> ast.expr:
    return ast.copy_location(made, said)


@contextmanager
def placed_in(code: CodeType) -> Iterator[None]:
    """Add the file and the function to errors that contain a line number."""
    try:
        yield
    except Refused as refused:
        line, _, why = str(refused).partition(": ")
        if not line.startswith("line "):
            raise
        raise Refused(f"{Path(code.co_filename).name}, {line}, in {_said(code)}: {why}") from None


def _said(code: CodeType) -> str:
    return "a lambda" if code.co_name == "<lambda>" else code.co_name

"""Read the claim that a text states. The text is parsed, checked and rewritten; Python never executes it directly."""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from clusterproof.checker.kernel.definitions import WORDS, Definitions, Vocabulary
from clusterproof.checker.kernel.evaluation import FUEL, Outside, Refused, limited
from clusterproof.checker.kernel.range_words import RANGES
from clusterproof.checker.kernel.ranges import Range
from clusterproof.checker.kernel.records import Record
from clusterproof.checker.kernel.spaces import Space
from clusterproof.checker.kernel.statement import Statement, printed

LONGEST = 100_000
"""Largest number of characters in a text."""
ID = re.compile(r"[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*")
"""Pattern of a claim's name, paper/name. It has no #, which separates the names of a claim and a line."""
LONGEST_NAME = 100
"""Largest number of characters in the name of a statement or of a line."""
MOST_LINES = 60
"""Largest number of lines of a claim, because each of them may need a proof."""
ROLES = ("statement", "lemma", "step")


@dataclass(frozen=True)
class Claim:
    """The claim that a text states.

    Attributes
    ----------
    name
        Name of the claim, such as ``paper/lemma-1``.
    says_nothing
        Whether the claim counts as vacuous if it is certified.
    statements
        Statements, indexed by name.
    digest
        SHA-256 hash of the text.
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
        The text, which contains definitions, statements and one claim.
    words
        Functions that a claim may call, indexed by name.
    fuel
        Largest number of steps for the definitions.

    Raises
    ------
    Refused
        If the text does not state a claim of the language. The message contains the place, the reason, and a remedy.
    """
    require_plain(text)
    with limited(fuel):
        try:
            with warnings.catch_warnings():  # a user's options must not turn warnings into errors
                warnings.simplefilter("ignore")
                own = Text(words)
                for node in ast.parse(text).body:
                    own.add(node)
            return own.claim(hashlib.sha256(text.encode()).hexdigest())
        except Outside as outside:
            raise Refused(f"a definition has no hypotheses: {outside}") from None
        except Refused:
            raise
        except Exception as error:  # for example, nesting that is too deep, or an expression without a value
            raise Refused(f"the text cannot be read: {type(error).__name__} {str(error)[:200]}") from None


def require_plain(text: Any) -> None:
    """Require a text in which every character is visible.

    Raises
    ------
    Refused
        If the text contains a character other than printable ASCII and line ends, or if a string extends over several
        lines.
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


class Text:
    """The definitions and statements of a text that have been read so far."""

    def __init__(self, words: Vocabulary) -> None:
        self.definitions = Definitions(words)
        self.compiler = self.definitions.compiler
        self.head: tuple[str, bool] | None = None
        self.statements: dict[str, Statement] = {}

    def claim(self, digest: str) -> Claim:
        """Return the claim after the whole text has been read."""
        if self.head is None or not self.statements:
            raise Refused("a text ends with claim(...) and its statement(...)")
        if "" not in self.statements or self.statements[""].role != "statement":
            raise Refused("the claim's own statement has the empty name and the role 'statement'")
        if any("" in each.lines and len(each.lines) > 1 for each in self.statements.values()):
            raise Refused("a line with the empty name is the only line of its statement")
        names = Counter(printed(name, line) for name, each in self.statements.items() for line in each.lines)
        if names.total() > MOST_LINES:
            raise Refused(f"a claim has at most {MOST_LINES} lines: state several claims")
        if alike := [name for name, count in names.items() if count > 1]:
            raise Refused(f"two lines are printed as {alike[0]!r}: name a line or a statement otherwise")
        return Claim(*self.head, self.statements, digest)

    def add(self, node: ast.stmt) -> None:
        """Read a definition, or one of the calls at the end of a text.

        Raises
        ------
        Refused
            If the node is neither a definition nor such a call.
        """
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self._ending(node.value)
        elif self.head is not None:
            raise self.compiler.refuse(node, "after claim(...) nothing is defined")
        else:
            self.definitions.add(node)

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
        """Return the value of a literal: a printable string, a boolean, or a tuple of strings."""
        value: Any = node.value if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.Tuple):
            value = tuple(self._plain(each, (str,)) for each in node.elts)
        if type(value) not in kinds or (type(value) is str and not value.isprintable()):
            raise self.compiler.refuse(node, "a text that can be printed, or several, as they are")
        return value

    def _claim(self, name: ast.expr, *, says_nothing: ast.expr | None = None) -> None:
        silent = says_nothing is not None and self._plain(says_nothing, (bool,))
        own = self._plain(name, (str,))
        if not ID.fullmatch(own):
            raise self.compiler.refuse(
                name, f"the name {own!r} of a claim must have the form paper/name, in lower case"
            )
        self.head = own, silent

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
        called = self._known(function) if isinstance(function, ast.Name) else None
        if type(called) is not FunctionType or called in self.definitions.known.values():
            raise self.compiler.refuse(function, "a statement has a function of the text")
        space = {
            quantity: self._range(node, quantity, {**self.definitions.names, **RANGES})
            for quantity, node in self._entries(ranges).items()
        }
        for place, quantity in enumerate(space):
            if later := {*space[quantity].names} - {*list(space)[:place]}:
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
        if len(max(own, *named, key=len)) > LONGEST_NAME:
            raise self.compiler.refuse(name, f"a name has at most {LONGEST_NAME} characters")
        if not {*ill_posed} <= {*named}:
            raise self.compiler.refuse(name, "a line that is ill-posed is none of the statement")
        self.statements[own] = Statement(space, function, records, named, said, ill_posed)

    def _known(self, node: ast.Name) -> Any:
        """Return the value of a name, or None if it has none; names of the kernel's own functions are rejected."""
        return self.definitions.names.get(self.compiler.name(node, node.id))

    def _entries(self, node: ast.expr) -> dict[str, ast.expr]:
        """Return the entries of a dictionary display whose keys are string literals."""
        if not isinstance(node, ast.Dict) or None in node.keys:
            raise self.compiler.refuse(node, "a dictionary of texts, as it is")
        names = [self._plain(each, (str,)) for each in node.keys]
        if len({*names}) < len(names):
            raise self.compiler.refuse(node, "a name twice")
        return dict(zip(names, node.values, strict=True))

    def _range(self, node: ast.expr, quantity: str, names: Mapping[str, Any]) -> Any:
        made = self.definitions.value(node, names)
        if not isinstance(made, Range):
            raise self.compiler.refuse(node, f"{quantity}: a range is one of {', '.join(RANGES)}")
        return made

    def _record_of(self, node: ast.expr) -> tuple[Any, tuple[str, ...]]:
        if not isinstance(node, ast.Tuple) or len(node.elts) != 2 or not isinstance(node.elts[0], ast.Name):
            raise self.compiler.refuse(node, "a record with its quantities, such as (Step, ('size',))")
        kind = self._known(node.elts[0])
        if not (isinstance(kind, type) and issubclass(kind, Record)):
            raise self.compiler.refuse(node, f"{node.elts[0].id} is no record of the text")
        return kind, self._plain(node.elts[1], (tuple,))

    def _require_parameters(
        self, node: ast.expr, function: Any, quantities: list[str], records: Mapping[str, Any]
    ) -> None:
        """Require that each quantity belongs to exactly one parameter or record, and each parameter has a value."""
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

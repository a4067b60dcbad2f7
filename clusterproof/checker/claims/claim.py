"""A claim: a typed function that states a theorem, and the registry of all claims."""

from __future__ import annotations

import difflib
import fnmatch
import inspect
import itertools
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

from clusterproof.checker.claims.judge import Conclusion
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.claims.statement import Statement, name_of
from clusterproof.checker.kernel.reading import ID
from clusterproof.common import InvalidArgument
from clusterproof.common.discovery import Registry, modules_below
from clusterproof.common.validation import brief, check_instance, check_text, visible
from clusterproof.library import is_of_library, is_paper_of_library, library
from clusterproof.user_files import executed_now, file_of

Lines: TypeAlias = Conclusion | Mapping[str, Conclusion]
"""The return value of a claim's function: one comparison, or a dictionary that maps names of lines to comparisons."""
P = ParamSpec("P")
R = TypeVar("R", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])

SOURCES = ("printed", "reading", "ours")
"""Sources of a claim: the paper's sentence, one meaning of an ambiguous or informal sentence, or our own statement."""
ERROR_KINDS = ("false statement", "misprint", "wording")
"""Kinds of error in a paper that a counterexample can reveal."""
FACTS = {"source": "printed", "error_kind": "false statement", "repaired_by": (), "ill_posed": False}
"""Options that can differ between the lines of a claim, with the options' defaults."""


class Claim(Generic[P, R]):
    """A theorem in code.

    A call of the claim evaluates its function. A repaired claim can therefore reuse the two sides.

    Attributes
    ----------
    id
        ``paper/name``.
    label
        The place of the claim in the paper.
    source
        The source of the claim: ``printed``, ``reading`` or ``ours``, as for ``claim``. A line can override this
        source.
    error_kind
        What a counterexample shows: a ``false statement``, a ``misprint``, or ``wording``. A line can override this
        kind of error.
    title, text
        First line of the docstring, and the text below it.
    statements
        The claim's function, followed by the functions that ``line`` and ``step`` add.
    repaired_by
        Ids of the claims that replace this claim, or one of its lines.
    of_lines
        ``source``, ``error_kind``, ``repaired_by`` and ``ill_posed``, each indexed by line. The key ``""`` contains the
        value for all lines that are not listed.
    bound
        Function that bounds the errors of a run on a task, or None for claims that are not about runs.
    expected, headline, rank
        As in ``claim``.
    places
        Other places in the paper that the claim checks.
    tight, says_nothing, quick
        As in ``claim``.
    """

    def __init__(self, id: str, function: Callable[P, R], first: Statement, **facts: Any) -> None:  # noqa: A002 - as in claim()
        self.id, self.function, self.statements = id, function, [first]
        self.label: str = facts.pop("label")
        self.of_lines: dict[str, dict[str, Any]] = facts.pop("of_lines")
        self.source: str = self.of_lines["source"][""]
        self.error_kind: str = self.of_lines["error_kind"][""]
        repairs = itertools.chain(*self.of_lines["repaired_by"].values())
        self.repaired_by: tuple[str, ...] = tuple(dict.fromkeys(repairs))
        self.bound: Callable[..., Any] | None = facts.pop("bound")
        self.tight: bool = facts.pop("tight")
        self.says_nothing: str = facts.pop("says_nothing")
        self.quick: bool = facts.pop("quick")
        self.expected: str = facts.pop("expected", "")
        self.headline: bool | str = facts.pop("headline", False)
        self.rank: int = facts.pop("rank", 0)
        self.places: tuple[str, ...] = tuple(filter(None, facts.pop("places", "").split("; ")))
        self.module = _module_of(function, sys._getframe(2))
        self.__doc__ = function.__doc__
        title, _, text = visible(inspect.cleandoc(function.__doc__ or "")).partition("\n")
        self.title, self.text = title.strip(), text.strip()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Evaluate the claim's function."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Claim {self.id} ({self.heading}): {self.title}>"

    @property
    def paper(self) -> str:
        """Name of the paper, the part of the id before the slash."""
        return self.id.partition("/")[0]

    @property
    def heading(self) -> str:
        """Heading of the claim: its label, followed by its source unless the source is ``printed``."""
        return heading_of(self.label, self.source)

    def of_line(self, name: str) -> dict[str, Any]:
        """Return ``source``, ``error_kind``, ``repaired_by`` and ``ill_posed`` for a line."""
        return {fact: values.get(name, values[""]) for fact, values in self.of_lines.items()}

    def line(self, name: str, **how: Any) -> Callable[[F], F]:
        """Return a decorator that adds a line to the claim. The decorated function may have other quantities."""
        return self._add(name, "statement", how)

    def step(self, name: str, *, needed: bool = True, **how: Any) -> Callable[[F], F]:
        """Return a decorator that adds a step of the claim's proof. The step becomes a line of the claim."""
        return self._add(name, "lemma" if needed else "step", how)

    def _add(self, name: str, role: str, how: Mapping[str, Any]) -> Callable[[F], F]:
        if not name or any(each.name == name for each in self.statements):
            raise InvalidArgument(
                "name",
                name,
                f"must differ from the other lines' names in {self.id}",
                "choose another name",
            )

        def add(function: F) -> F:
            module = _module_of(function, sys._getframe(1))
            if module == executed_now() != self.module:
                rule = f"must be a line of a claim of this file, and another file states {self.id}"
                remedy = (
                    f"add the line in the file that states the claim, {file_of(self.module) or self.module}"
                )
                raise InvalidArgument("name", name, rule, remedy)
            self.statements.append(_statement(name, function, role, how))
            return function

        return add


def _module_of(function: Callable[..., Any], frame: FrameType) -> str:
    """Return the name of the module that states a claim or a line.

    While a user's file is executed, this is the file's module if the function or the frame that decorates it belongs to
    the file or its neighbours: the file may state a claim about an imported function. Otherwise it is the function's.
    """
    own, now = str(function.__module__), executed_now()
    if now is None or frame.f_globals is vars(sys.modules[now]):  # a file may change its __name__
        return now or own
    modules = (own, str(frame.f_globals.get("__name__")))
    return now if now.partition(".")[0] in {each.partition(".")[0] for each in modules} else own


class _Claims(Registry[Claim[..., Any]]):
    """Dictionary of claims, indexed by id; it imports the library's claims when they are first needed."""

    complete = False

    def complete_first(self) -> None:
        """Import all modules that state claims, on the first call only."""
        if not self.complete:
            self.complete = True
            if library():
                modules_below(library())


def _asking(name: str) -> Any:
    """Wrap a method of the dictionary, so that it first imports the library's claims if they may be needed."""
    of_one = name in ("__contains__", "__getitem__", "get")

    def method(self: _Claims, *given: Any) -> Any:
        if not (of_one and dict.__contains__(self, *given[:1])):
            self.complete_first()
        return getattr(dict, name)(self, *given)

    return method


for _name in (
    *("__contains__", "__eq__", "__getitem__", "__iter__", "__len__", "__ne__", "__repr__", "__reversed__"),
    *("clear", "copy", "get", "items", "keys", "pop", "popitem", "values"),
):
    setattr(_Claims, _name, _asking(_name))

REGISTRY: dict[str, Claim[..., Any]] = _Claims("All claims by id.")
"""All claims, indexed by id; the library's claims are imported when they are first needed."""


def claim(
    id: str,  # noqa: A002 - the interface's name for it
    *,
    label: str | None = None,
    source: str | Mapping[str, str] = "printed",
    error_kind: str | Mapping[str, str] = "false statement",
    repaired_by: str | Sequence[str] | Mapping[str, str | Sequence[str]] = (),
    bound: Callable[..., Any] | None = None,
    tight: bool = False,
    ill_posed: bool | Mapping[str, bool] = False,
    says_nothing: str = "",
    quick: bool = True,
    expected: str = "",
    headline: bool | str = False,
    rank: int = 0,
    places: str = "",
    **how: Any,
) -> Callable[[Callable[P, R]], Claim[P, R]]:
    """Register a typed function as a claim that ``check``, ``show``, ``replay`` and the command line can find.

    The signature lists the quantities and their ranges. In the body, ``suppose`` states a hypothesis. The function
    returns the two sides of a comparison, by ``at_most``, ``at_least``, ``equal``, ``probability`` or ``expectation``.
    To state several lines, it returns a dictionary of comparisons. Keyword-only parameters are not quantities: they
    always have their default values. The docstring states the theorem in words. The decorated function can still be
    called; it returns the sides.

    For a claim with several lines, ``source``, ``error_kind``, ``repaired_by`` and ``ill_posed`` may be dictionaries
    that map the name of a line to a value. The key ``""`` sets the value for all lines that the dictionary does not
    list. Without the key ``""``, the unlisted lines have the default value.

    Parameters
    ----------
    id
        ``paper/name``, in lower case.
    label
        The theorem's label in the paper. If None, the label is the part of the id after the slash.
    source
        The source of the claim. ``printed`` is the paper's sentence. ``reading`` is one meaning of an ambiguous or
        informal sentence. ``ours`` is a statement by the claim's author, such as a repaired claim.
    error_kind
        What a counterexample shows: a ``false statement``, a ``misprint`` or ``wording``.
    repaired_by
        Id of the claim that replaces this claim, or several ids. All of these claims must be registered before a check.
    bound
        Function that computes the bound of the claim on the errors of a run. ``assert_holds``, ``bound`` and ``check
        --trace`` use it. Its arguments are the task, the trace, and a failure probability or None. It returns a
        ``TraceBound``, an array of allowed errors that can be broadcast to ``trace.errors``, or ``expectation(samples,
        ...)`` with the replicates of the run as the first axis. ``suppose`` inside the function states a hypothesis on
        the run.
    tight
        Whether the claim states that its bound is attained.
    ill_posed
        Whether a counterexample shows that the statement has no single meaning.
    says_nothing
        The reason why the claim is vacuous. If you give a reason, the function must state that the bound holds for
        every output of the algorithm. The claim is vacuous if the kernel certifies this statement.
    quick
        Whether `check --paper` includes the claim without ``--all``.
    expected
        The verdict that a claim of the catalogue must get. For a consistent claim, the text also states how tight the
        bound is, such as ``consistent, tight within 2``.
    headline
        Whether `check` without arguments evaluates the claim. If the value is a sentence, the page of `check` prints
        it, provided that the claim gets the expected verdict.
    rank
        Rank of the claim's headline among the headlines of the paper, 1 for the most important one.
    places
        Other places in the paper that the claim checks, in addition to the place with which its label begins. Separate
        places by semicolons, as in ``algorithm 1, line 8; (31)``. A place in another paper begins with the other
        paper's name and a slash.
    how
        ``evaluations``: number of instances to try, by default 2 000, or 100 for random statements and drawn objects.
        ``example``: one or several instances to try first, each as a mapping. ``replicates``: number of replicates of
        each random instance, by default 400. For an expectation, ``replicates`` is the maximum: the checker starts with
        10 000 replicates and doubles their number while the interval contains the bound. ``multipliers``: your own
        multipliers for a proof about every function of a class and every value of the other quantities
        (``docs/how-to/theorems-on-every-function.md``). The search finds the multipliers that you leave out.

    Raises
    ------
    InvalidArgument
        If the id does not have the form ``paper/name``, or belongs to another function; if an option or a value is
        unknown; if ``repaired_by`` is not an id; or if a parameter of the function has no range. Registering the same
        function again, as in a notebook or after a change of the file, raises no error: the new claim replaces the old
        one. But one file must not state two claims with one id.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from typing import Annotated
    >>> from clusterproof import check, claim
    >>> from clusterproof.theorem import at_most, rationals
    >>> @claim("my-paper/lemma-1")
    ... def lemma_1(step: Annotated[Fraction, rationals(0, 2, 8)]):
    ...     return at_most(abs(1 - step), contraction=1 - step / 2)
    >>> print(check("my-paper/lemma-1").reason)
    at step = 2: 1 > 0
    """
    if callable(id):
        name = f"my-paper/{name_of(id).replace('_', '-').lower()}"
        raise InvalidArgument("id", None, "must be given", f'write @claim("{name}") above the function')
    if not isinstance(id, str) or not ID.fullmatch(id):
        raise InvalidArgument(
            "id", id, "must have the form paper/name, in lower case", "write an id such as my-paper/lemma-1"
        )
    of_lines = facts_of_lines(
        source=source, error_kind=error_kind, repaired_by=repaired_by, ill_posed=ill_posed
    )
    if expected and expected.partition(",")[0] not in (*Kind,):
        rule = f"must begin with one of {', '.join(Kind)}"
        raise InvalidArgument("expected", expected, rule, "leave out expected=")

    def decorate(function: Callable[P, R]) -> Claim[P, R]:
        _check_function(id, function)
        check_text("label", label or "")
        own = is_of_library(str(function.__module__)) or not is_paper_of_library(id.partition("/")[0])
        earlier = dict.get(REGISTRY, id) if own else REGISTRY.get(id)
        if earlier is not None and (
            not _is_same(function, earlier.function) or _is_stated_twice(function, earlier.function)
        ):
            raise InvalidArgument(
                "id", id, "must not be the id of another claim", "rename one of the two claims"
            )
        first = _statement("", function, "statement", how)
        stated: Claim[P, R] = Claim(
            id,
            function,
            first,
            label=label or id.partition("/")[2],
            of_lines=of_lines,
            bound=bound,
            tight=tight,
            says_nothing=says_nothing,
            quick=quick,
            expected=expected,
            headline=headline,
            rank=rank,
            places=places,
        )
        REGISTRY[id] = stated
        return stated

    return decorate


def facts_of_lines(**stated: Any) -> dict[str, dict[str, Any]]:
    """Return each option as a mapping from names of lines to values; the key ``""`` is for all unlisted lines."""
    facts = {}
    for fact, usual in FACTS.items():
        value = stated.get(fact, usual)
        facts[fact] = dict(value) if isinstance(value, Mapping) else {"": value}
        facts[fact].setdefault("", usual)
    for argument, words in (("source", SOURCES), ("error_kind", ERROR_KINDS)):
        for word in facts[argument].values():
            if word not in words:
                rule = f"must be one of {', '.join(words)}"
                raise InvalidArgument(argument, word, rule, "choose one of these")
    for line, ids in facts["repaired_by"].items():
        repairs = (ids,) if isinstance(ids, str) else ids
        if not isinstance(repairs, tuple | list) or not all(isinstance(each, str) for each in repairs):
            raise InvalidArgument(
                "repaired_by",
                ids,
                "must be an id or a tuple of ids",
                "write an id, or leave out repaired_by=",
            )
        facts["repaired_by"][line] = tuple(repairs)
    return facts


def _statement(name: str, function: Callable[..., Any], role: str, how: Mapping[str, Any]) -> Statement:
    """Build a statement from the options of a decorator."""
    known = ("evaluations", "replicates", "example", "multipliers")
    for option, value in how.items():
        if option not in known:
            rule = f"is not an option of a claim; the options are {', '.join(known)}"
            raise InvalidArgument(option, value, rule, "leave it out")
    _require_multipliers(how.get("multipliers", {}))
    example = how.get("example", ())
    given = {**how, "example": (example,) if isinstance(example, Mapping) else example}
    return Statement(name, function, role=role, **given)


def _require_multipliers(hints: Any) -> None:
    """Require a mapping from names to functions, or from names to lists of names."""
    rule = "must map names of parts of the proof to functions, or to lists of names of conditions"
    remedy = 'write, for example, multipliers={"round 0": lambda step, n: {"0:0,1:0": 2 * step}}'
    if not isinstance(hints, Mapping) or not all(type(name) is str for name in hints):
        raise InvalidArgument("multipliers", hints, rule, remedy)
    for name, hint in hints.items():
        is_list = type(hint) in (list, tuple) and all(type(each) is str for each in hint)
        if not (callable(hint) or is_list):
            raise InvalidArgument(f"multipliers[{name!r}]", hint, rule, remedy)


def _check_function(claim_id: str, function: Callable[..., Any]) -> None:
    """Reject an object that is not a function and does not wrap one."""
    plain = function if isinstance(function, type) or not callable(function) else inspect.unwrap(function)
    if not (inspect.isfunction(plain) or inspect.ismethod(plain)):
        rule, remedy = "must decorate a function", "put @claim(...) above a def"
        raise InvalidArgument(claim_id, brief(function), rule, remedy)


def _is_same(function: Any, known: Any) -> bool:
    """Return whether two function objects come from the same definition, as when a file is both loaded and imported."""
    if getattr(function, "__qualname__", "") != getattr(known, "__qualname__", None):
        return False
    file, other = (getattr(getattr(each, "__code__", None), "co_filename", "") for each in (function, known))
    return function.__module__ == known.__module__ or file == other != ""


def _is_stated_twice(function: Any, known: Any) -> bool:
    """Return whether one loading of a user's file makes two claims of these functions, or of one function twice."""
    names, others = (getattr(inspect.unwrap(each), "__globals__", None) for each in (function, known))
    return names is not None and names is others and file_of(str(function.__module__)) is not None


def heading_of(label: str, source: str, error_kind: str = "false statement") -> str:
    """Return the label, with the source and the kind of error after the name if they differ from the defaults."""
    name, colon, statement = label.partition(": ")
    word = {"printed": "", "reading": ", reading", "ours": " (ours)"}[source]
    return f"{name}{word}{'' if error_kind == 'false statement' else f' ({error_kind})'}{colon}{statement}"


# ---- the catalogue


def catalogue(paper: str | None = None) -> list[Claim[..., Any]]:
    """List every claim, or every claim of one paper, sorted by id; ``equation-2`` comes before ``equation-10``.

    Raises
    ------
    InvalidArgument
        If no claim belongs to the paper.
    """
    papers = sorted({each.paper for each in REGISTRY.values()})
    if paper is not None and paper not in papers:
        raise InvalidArgument(
            "paper", paper, f"must be one of {', '.join(papers)}", "type `clusterproof claims` for a list"
        )
    chosen = [each for each in REGISTRY.values() if paper in (None, each.paper)]
    return sorted(chosen, key=lambda each: _natural(each.id))


def _natural(text: str) -> list[tuple[bool, int, str]]:
    """Return a sort key that puts ``equation-2`` before ``equation-10``."""
    parts = re.findall(r"\d+|\D+", text)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def find_claim(claim_id: str) -> Claim[..., Any]:
    """Look up a claim by its id, or by the id of a line, ``paper/name#line``.

    Raises
    ------
    InvalidArgument
        If no claim has this id; the message names the nearest ids.
    """
    check_instance("id", claim_id, str, "give the id of a claim first, such as 'my-paper/lemma-2'")
    name = claim_id.partition("#")[0]
    if name not in REGISTRY:
        raise InvalidArgument("id", claim_id, "must be the id of a claim", _what_to_name(name))
    return REGISTRY[name]


def _what_to_name(name: str) -> str:
    """Return suggestions for a user who typed an unknown name: a file, a folder, or one of the nearest ids."""
    for path in (name, f"{name}.py", name.partition(":")[0], f"{name.rpartition('.')[0]}.py"):
        if os.path.isdir(path):
            return f"write {shlex.quote(path)}/ for the files in this folder"
        if path.endswith(".py") and os.path.isfile(path):
            return f"write {shlex.quote(path)} for the claims of this file"
    own = f"to check a claim of your own, add its file, such as {shlex.quote(name)} FILE.py"
    papers = {each.paper for each in REGISTRY.values()}
    if "/" not in name and (paper := difflib.get_close_matches(name, papers, n=1)):
        return f"did you mean the paper {paper[0]}? Or, {own}"
    nearest = difflib.get_close_matches(name, REGISTRY, cutoff=0.3)
    hint = f"the nearest are {', '.join(nearest)}" if nearest else "type `clusterproof claims` for a list"
    return f"{hint}; {own}"


def arguments_of(claim_id: str) -> str:
    """Return the arguments that name a claim on the command line: the id and, for a user's claim, the file."""
    file = file_of(find_claim(claim_id).module)
    return claim_id if file is None else shlex.join([claim_id, file])


def matching(pattern: str) -> list[Claim[..., Any]]:
    """Look up claims by the name of a paper, by an id, or by a pattern such as ``my-paper/lemma-*``.

    Raises
    ------
    InvalidArgument
        If no claim matches; the message names the nearest ids.
    """
    if not set(pattern) & set("*?["):
        is_paper = any(each.paper == pattern for each in REGISTRY.values())
        return catalogue(pattern) if is_paper else [find_claim(pattern)]
    found = [each for each in catalogue() if fnmatch.fnmatchcase(each.id, pattern)]
    if not found:
        raise InvalidArgument(
            "id", pattern, "must match the id of a claim", "type `clusterproof claims` for a list"
        )
    return found


def check_repairs(claims: Iterable[Claim[..., Any]]) -> None:
    """Reject claims whose ``repaired_by`` names an unknown claim.

    Raises
    ------
    InvalidArgument
        If an id in ``repaired_by`` is unknown; the message names the nearest ids.
    """
    for each in claims:
        for name in each.repaired_by:
            if name not in REGISTRY:
                nearest = difflib.get_close_matches(name, REGISTRY, cutoff=0.3)
                hint = f"the nearest are {', '.join(nearest)}" if nearest else "state that claim as well"
                rule = f"must be the id of a claim, because {each.id} names it in repaired_by"
                raise InvalidArgument("repaired_by", name, rule, hint)

"""Statements of a test in the kernel's language, evidence about them, and a limit on the time that a replay takes."""

import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import Claim, facts_of_lines
from clusterproof.checker.claims.class_members import Known
from clusterproof.checker.claims.class_ranges import OfClass
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.freeze import Frozen, freeze
from clusterproof.checker.freeze.texts import Text
from clusterproof.checker.kernel.numbers import write

OPEN = kernel.Word.OPEN


@dataclass(frozen=True)
class Shown:
    """What a record shows, and if nothing why."""

    word: kernel.Word
    why: str = ""


def claim_of(statement: Statement) -> Claim[..., Any]:
    """Return a claim of one statement."""
    options: dict[str, Any] = {"label": "", "bound": None, "tight": False, "says_nothing": "", "quick": True}
    return Claim("test/one", statement.function, statement, of_lines=facts_of_lines(), **options)


def frozen_of(function: Callable[..., Any]) -> Frozen:
    """Return the text of what a function states."""
    return freeze(claim_of(Statement("", function)))


def text_with(function: Callable[..., Any]) -> tuple[Text, str]:
    """Return a text in which a function is defined, and its name there."""
    used: frozenset[str] = frozenset()
    while True:
        written = Text(used, [])
        name = written.name(function, "function", None)
        if written.asked <= used:
            return written, name
        used |= written.asked


def in_language(function: Callable[..., Any]) -> kernel.Claim:
    """Return what a function states, as the kernel reads it."""
    frozen = frozen_of(function)
    if frozen.text is None:
        raise kernel.Refused(frozen.outside[""])
    return kernel.read(frozen.text)


def replayed(claim: kernel.Claim, record: Any) -> Shown:
    """Return what a record shows of a claim."""
    try:
        return Shown(kernel.show(claim, record)[1])
    except kernel.Refused as refused:
        return Shown(OPEN, str(refused))


def shown(function: Callable[..., Any], rule: str, line: Any = "", **data: Any) -> Shown:
    """Replay a record about a function; what is not of the language is open."""
    try:
        claim = in_language(function)
    except kernel.Refused as refused:
        return Shown(OPEN, str(refused))
    with at_most_seconds(5):
        return replayed(claim, {"statement": "", "rule": rule, "line": line, **data})


def read_instance(of: Statement, code: dict[str, Any]) -> dict[str, Any]:
    """Return what the claim's own function is given at an instance of evidence."""
    instance: dict[str, Any] = {}
    for name, allowed in of.space.ranges.items():
        instance[name] = _value(allowed, code[name], instance)
    return instance


def _value(allowed: Any, code: Any, so_far: dict[str, Any]) -> Any:
    if isinstance(allowed, OfClass):
        return Known(code)
    if type(code) is list:
        return tuple(_value(allowed.entries, entry, so_far) for entry in code)
    if type(allowed).__name__ == "Choice":
        return next(each for each in allowed.options if write(each) == code)
    return code if type(allowed).__name__ == "Integers" else Fraction(code)


class TooLong(BaseException):
    """A replay takes longer than it may; no handler of the kernel catches it."""


@contextmanager
def at_most_seconds(seconds: float) -> Iterator[None]:
    """Stop what takes more seconds of processor time than it may."""

    def stop(signal: int, frame: Any) -> NoReturn:
        raise TooLong(f"more than {seconds} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def memory_limit(size: int) -> Iterator[None]:
    """Let this process take so many bytes of address space more than it has."""
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def blocks_of(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield of each block of a file of statements its first line, its lines with >, and its source.

    Empty lines part the blocks, of which the first is read before each other. The last function is ``statement``.
    """
    names, *blocks = file.read_text(encoding="utf-8").strip().split("\n\n")
    for block in blocks:
        first, *lines = block.split("\n")
        evidence = ", ".join(line[2:] for line in lines if line.startswith("> "))
        yield first, evidence, "\n".join([names, *(line for line in lines if not line.startswith("> ")), ""])


SOURCES = tempfile.TemporaryDirectory()


def executed(source: str, place: str) -> dict[str, Any]:
    """Return what a source defines, as a file with that name."""
    file = Path(tempfile.mkdtemp(dir=SOURCES.name), place).with_suffix(".py")
    file.write_text(source, encoding="utf-8")
    module = ModuleType(f"executed_{file.parent.name}_{file.stem}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    exec(compile(source, str(file), "exec", dont_inherit=True), vars(module))
    return vars(module)

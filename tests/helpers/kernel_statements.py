"""Statements of a test in the kernel's language, evidence about them, and a limit on the time that a replay takes."""

import linecache
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from clusterproof.checker import kernel
from clusterproof.checker.claims.class_ranges import Known, OfClass
from clusterproof.checker.claims.in_language import statement_of
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.kernel.numbers import write

INCONCLUSIVE = kernel.Word.INCONCLUSIVE


def in_language(function: Callable[..., Any]) -> kernel.Statement:
    """Return what a function states, in the language."""
    return statement_of(Statement("", function))


def shown(function: Callable[..., Any], rule: str, line: Any = "", **data: Any) -> kernel.Shown:
    """Replay a record about a function; what is not of the language is inconclusive."""
    try:
        statement = in_language(function)
    except kernel.Refused as refused:
        return kernel.Shown(INCONCLUSIVE, str(refused))
    with at_most_seconds(5):
        return kernel.replay(statement, {"digest": statement.digest, "rule": rule, "line": line, **data})


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


def executed(source: str, place: str) -> dict[str, Any]:
    """Return what a source defines, as if a file with that name had it."""
    linecache.cache[place] = len(source), None, source.splitlines(keepends=True), place
    names: dict[str, Any] = {"__name__": Path(place).stem}
    exec(compile(source, place, "exec", dont_inherit=True), names)
    return names

"""What the commands write to: standard output, a line of progress, a line of complaint."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias

from cyclopts import Parameter, Token
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from clusterproof.tables.machine.progress import Progress as Units


def read_integer(_type: Any, tokens: Sequence[Token]) -> int:
    """Read an option's integer; 1.5 is none, where cyclopts would round it.

    Raises
    ------
    ValueError
        If the text is not an integer.
    """
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} must be an integer, such as 10") from None


Integer: TypeAlias = Annotated[int, Parameter(converter=read_integer)]
OptionalInteger: TypeAlias = Annotated[int | None, Parameter(converter=read_integer)]


class QuietConsole(Console):
    """A console that leaves a closed pipe to the caller, and the colours where NO_COLOR is set."""

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        plain = bool(os.environ.get("NO_COLOR"))
        super().__init__(stderr=stderr, width=width, highlight=False, color_system=None if plain else "auto")

    def on_broken_pipe(self) -> NoReturn:
        """Raise instead of exiting."""
        raise BrokenPipeError


def console() -> Console:
    """Make the console for results, as wide as the terminal, or as wide as needed in a pipe."""
    return QuietConsole(width=None if sys.stdout.isatty() else 100_000)


@contextmanager
def progress(total: int) -> Iterator[Callable[[int, str], None]]:
    """Give a function that shows what is done, from the start, where standard error is a terminal.

    Parameters
    ----------
    total
        Number of steps; nothing is shown where there are none.

    Yields
    ------
    Callable
        Takes the number of steps done and what goes on.
    """
    if not total or not sys.stderr.isatty():
        yield lambda *_: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=QuietConsole(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, text: bar.update(task, completed=done, description=text)


@contextmanager
def watch_units() -> Iterator[Callable[[Units], None]]:
    """Give a function that shows how far units are: a bar on a terminal, now and then a line in a pipe.

    Yields
    ------
    Callable
        Takes the progress, first before any unit has ended.
    """
    with ExitStack() as stack:
        shown: list[Callable[[int, str], None]] = []

        def watch(far: Units) -> None:
            if not sys.stderr.isatty():
                if far.due:
                    complain(far.text)
                return
            if not shown:
                shown.append(stack.enter_context(progress(far.total)))
            shown[0](far.done, far.text)

        yield watch


def complain(message: str) -> None:
    """Write one line on standard error."""
    print("clusterproof:", " ".join(message.split()), file=sys.stderr)


def load(modules: Sequence[str]) -> list[str]:
    """Import users' files and modules of claims; give the ids of their claims."""
    from clusterproof.theory import load_claims

    return [claim for module in dict.fromkeys(modules) for claim in load_claims(module)]

"""What the commands write to: standard output, a line of progress, a line of complaint."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn, TypeAlias

from cyclopts import Parameter, Token
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


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
def progress(total: int, pipe_every: float | None = None) -> Iterator[Callable[[int, str], None]]:
    """Give a function that shows what is done, from the start, where standard error is a terminal.

    Parameters
    ----------
    total
        Number of steps.
    pipe_every
        Where it is none, a line is written whenever so many seconds have passed; nothing where None.

    Yields
    ------
    Callable
        Takes the number of steps done and what goes on.
    """
    if not sys.stderr.isatty():
        if pipe_every is None:
            yield lambda *_: None
        else:
            with _lines(total, pipe_every) as show:
                yield show
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=QuietConsole(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, text: bar.update(task, completed=done, description=text)


@contextmanager
def _lines(total: int, every: float) -> Iterator[Callable[[int, str], None]]:
    """Say how far it is every so many seconds, however long a step takes."""
    state, ended = [0, "getting ready"], threading.Event()

    def say() -> None:
        while not ended.wait(every):
            complain(f"{state[0]} of {total} parts; {state[1]}")

    def show(done: int, text: str) -> None:
        state[:] = done, text

    speaker = threading.Thread(target=say, daemon=True)
    speaker.start()
    try:
        yield show
    finally:
        ended.set()
        speaker.join()


def complain(message: str) -> None:
    """Write one line on standard error."""
    print("clusterproof:", " ".join(message.split()), file=sys.stderr)

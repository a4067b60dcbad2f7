"""Standard output, progress bars and error messages of the commands."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeAlias

from cyclopts import Parameter, Token
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

STANDARD_INPUT = "-"
"""File name that stands for standard input."""

PAUSE = 10.0
"""Initial number of seconds between two lines of progress; later, the interval is a tenth of the elapsed time."""


def read_integer(_type: Any, tokens: Sequence[Token]) -> int:
    """Read an integer option; cyclopts would round 1.5, but this function rejects it.

    Raises
    ------
    ValueError
        If the text is not an integer.
    """
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise ValueError(f"{shown!r} must be an integer, such as 10") from None


Integer: TypeAlias = Annotated[int, Parameter(converter=read_integer)]
OptionalInteger: TypeAlias = Annotated[int | None, Parameter(converter=read_integer)]


def claim_ids(_: Any) -> Iterable[str]:
    """Return the ids of all claims, for completion in a shell."""
    from clusterproof.checker.report.stored_evidence import recorded_ids

    return recorded_ids()


def paper_names(_: Any) -> Iterable[str]:
    """Return the names of the papers, for completion in a shell."""
    return dict.fromkeys(name.partition("/")[0] for name in claim_ids(_))


class Interrupted(KeyboardInterrupt):
    """Raised by Ctrl-C in a command that can resume."""


class QuietConsole(Console):
    """A console that raises an error on a closed pipe and writes plain text if NO_COLOR is set."""

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        plain = bool(os.environ.get("NO_COLOR"))
        super().__init__(stderr=stderr, width=width, highlight=False, color_system=None if plain else "auto")

    def on_broken_pipe(self) -> NoReturn:
        """Raise an error instead of exiting."""
        raise BrokenPipeError


def console() -> Console:
    """Return a console for results, with the width of the terminal, or with a very large width in a pipe."""
    return QuietConsole(width=None if sys.stdout.isatty() else 100_000)


def columns() -> int | None:
    """Return the width of the terminal, or None in a pipe, where the length of lines is not limited."""
    return console().width if sys.stdout.isatty() else None


def show(text: Text) -> None:
    """Print text without wrapping its lines, with styles on a terminal."""
    console().print(text, soft_wrap=True)


def show_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    no_wrap: Sequence[str] = (),
    justify: Literal["left", "right"] = "left",
) -> None:
    """Print an aligned table; in a pipe, cells are not wrapped, so each row is one line.

    Parameters
    ----------
    headers
        Names of the columns.
    rows
        Cells of each row.
    no_wrap
        Names of columns that are not wrapped.
    justify
        The side at which the cells are aligned.
    """
    if not sys.stdout.isatty():
        lines = [headers, *rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for row in lines:
            print("  ".join(map(str.rjust if justify == "right" else str.ljust, row, widths)).rstrip())
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(header, no_wrap=header in no_wrap, overflow="fold", justify=justify)
    for row in rows:
        table.add_row(*map(Text, row))
    console().print(table)


def show_entry(name: str, text: str) -> None:
    """Print a name, and to its right a text, wrapped at 80 columns."""
    lines = textwrap.wrap(text, 60, break_long_words=False, break_on_hyphens=False)
    for place, line in enumerate(lines):
        print(f"  {'' if place else name:18}{line}")


@contextmanager
def progress(total: int, *, lines: bool = False) -> Iterator[Callable[[int, str], None]]:
    """Show a progress bar if standard error is a terminal.

    Parameters
    ----------
    total
        Number of steps; if 0, nothing is shown.
    lines
        Whether to write a line from time to time if standard error is not a terminal, even during a long step.

    Yields
    ------
    Callable
        Function to call with the number of finished steps and a description of the current step.
    """
    if not total or not sys.stderr.isatty():
        if total and lines:
            with _step_lines(total) as advance:
                yield advance
        else:
            yield lambda *_: None
        return
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *times)
    console = QuietConsole(stderr=True)
    # otherwise the bar would send printed output to standard error
    with Progress(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, text: bar.update(task, completed=done, description=text)


@contextmanager
def _step_lines(total: int) -> Iterator[Callable[[int, str], None]]:
    """Write a line about the finished steps from time to time."""
    started, ended = time.monotonic(), threading.Event()
    state: tuple[int, str] = 0, ""

    def advance(done: int, text: str) -> None:
        nonlocal state
        state = done, text

    def write() -> None:
        while not ended.wait(max(PAUSE, (time.monotonic() - started) / 10)):
            done, text = state
            print_remark(
                f"{done} of {total} done, {_duration(time.monotonic() - started)}"
                + (f"; {text}" if text else "")
            )

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield advance
    finally:
        ended.set()
        writer.join()


def _duration(seconds: float) -> str:
    """Write a duration in a suitable unit."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def print_error(message: str) -> None:
    """Write one line to standard error about a failure of the command."""
    print("error:", " ".join(message.split()), file=sys.stderr)


def print_remark(message: str) -> None:
    """Write one line to standard error about the progress of the command."""
    print("clusterproof:", " ".join(message.split()), file=sys.stderr)


TABLES = ("out", "parquet", "csv")
"""Options that write tables, for which a library must be installed."""


def check_outputs(*, out: Path | None = None, evidence: Path | None = None, **files: Path | None) -> None:
    """Check before a computation that the folders and files, indexed by the names of options, can be written.

    Raises
    ------
    InvalidArgument
        If two paths are the same, a file cannot be written, or the name of a plot does not end in an image suffix.
    """
    from clusterproof.common.atomic import check_distinct, check_writable
    from clusterproof.common.validation import require

    for option, path in {"out": out, **files}.items():
        if path is not None and option in TABLES:
            require(option, str(path), "polars")
    check_distinct(out=out, evidence=evidence, **files)
    for option, path in files.items():
        if path is not None:
            if option in ("plot", "figure"):
                from clusterproof.figures.curves import check_plot  # only pictures need matplotlib

                check_plot(path, option)
            check_writable(option, path)


def load(files: Sequence[str]) -> list[list[str]]:
    """Execute the user's files of claims, and return the ids of each file's claims."""
    from clusterproof.checker import find_claim, load_claims
    from clusterproof.checker.claims.claim import check_repairs
    from clusterproof.common.limits import ending_process

    with ending_process():
        stated = [load_claims(file) for file in dict.fromkeys(files)]
    check_repairs(find_claim(name) for own in stated for name in own)  # a file may use claims of the next one
    return stated


def split_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate names into ids and files, including the files in folders, without reading a file."""
    names = [each for name in names for each in (files_in(name) if name.endswith("/") else [name])]
    files = [name for name in dict.fromkeys(names) if name.endswith(".py") or name == STANDARD_INPUT]
    return [name for name in names if name not in files], files


def ids_and_files(
    names: Sequence[str], most: int | None = None, argument: str = "file"
) -> tuple[list[str], list[str], list[list[str]]]:
    """Separate ids from Python files, which are executed in a separate process.

    Parameters
    ----------
    names
        Ids of claims, names of files, names of folders with a final slash, and - for a file on standard input.
    most
        Largest number of ids.
    argument
        Name of the files in messages.

    Returns
    -------
    tuple
        The ids, the files, and the ids of each file's claims.

    Raises
    ------
    InvalidArgument
        If more than ``most`` names are not Python files, or a folder has no file of claims.
    """
    from clusterproof.commands.child_process import in_child
    from clusterproof.common import InvalidArgument

    ids, files = split_names(names)
    if most is not None and len(ids) > most:
        rule = "must be a Python file of claims"
        raise InvalidArgument("file", ids[most], rule, "give a name that ends in .py")
    in_child(argument, *files)
    if STANDARD_INPUT not in files:
        return ids, files, load(files)
    written = str(standard_input())
    files = [written if name == STANDARD_INPUT else name for name in files]
    try:
        return ids, files, load(files)
    except InvalidArgument as error:
        if error.value != written:
            raise
        remedy = "correct the text on standard input" if written in error.remedy else error.remedy
        raise InvalidArgument(argument, STANDARD_INPUT, error.rule, remedy) from error


@cache
def standard_input() -> Path:
    """Write the text on standard input to a temporary Python file, and return its path.

    This process removes the file.

    Raises
    ------
    InvalidArgument
        If standard input is closed or too long.
    """
    from clusterproof.common import InvalidArgument
    from clusterproof.files import TEXT

    content = b"" if sys.stdin is None else sys.stdin.buffer.read(TEXT + 1)
    if sys.stdin is None or len(content) > TEXT:
        rule = f"must be open and have at most {TEXT} bytes"
        raise InvalidArgument("file", STANDARD_INPUT, rule, "give the name of a file")
    folder = tempfile.TemporaryDirectory(prefix="clusterproof-")
    atexit.register(folder.cleanup)
    path = Path(folder.name, "stdin.py")
    path.write_bytes(content)
    return path


def files_in(folder: str) -> list[str]:
    """Return the Python files in and below a folder, except names that begin with an underscore or a dot.

    Raises
    ------
    InvalidArgument
        If there is no such folder, or no such file in it.
    """
    from clusterproof.common import InvalidArgument

    place = Path(folder)
    if not place.is_dir():
        raise InvalidArgument("folder", folder, "must be a folder that exists", "correct the path")
    found = sorted(
        path.as_posix()
        for path in place.rglob("*.py")
        if not any(part.startswith(("_", ".")) for part in path.relative_to(place).parts)
    )
    if not found:
        rule = "must contain a Python file whose name does not begin with an underscore"
        raise InvalidArgument("folder", folder, rule, "to create a file, type: clusterproof new FILE.py")
    return found

"""A command line in a separate process, which can be stopped, and whose success the user's code cannot fake."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterproof.commands import child_process

METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
"""Start method of a child: a fork of a process that has already imported all modules, or on Windows a new process."""

LONGEST = 20_000
"""Largest number of characters of a command's output that an answer contains."""

STATUS, OUTPUT, ERRORS, RECORD = "status", "output.txt", "errors.txt", "record.json"
"""File names in a call's folder."""


@dataclass(frozen=True)
class Answer:
    """The result of a command line.

    Attributes
    ----------
    status
        Exit status, or 2 if the process ended before the command was done.
    output
        Text that the command printed.
    error
        Lines of standard error, without the name of this program.
    record
        Contents of the ``--json`` file, or None if there is none.
    """

    status: int
    output: str
    error: str
    record: Mapping[str, Any] | None


class Call:
    """A command line that runs in a child process.

    Parameters
    ----------
    tokens
        Arguments of the command line, with ``RECORD`` as the file name after ``--json``.
    folder
        An empty folder for the command's files; the caller removes it.
    """

    def __init__(self, tokens: Sequence[str], folder: Path) -> None:
        self.folder = folder
        context: Any = multiprocessing.get_context(METHOD)
        if METHOD == "forkserver":
            context.set_forkserver_preload(["clusterproof.commands.preloaded"])
        self.process = context.Process(target=_carry_out, args=(list(tokens), str(folder)))

    def start(self) -> None:
        """Start the process; the first call also waits for all imports."""
        self.process.start()

    def is_running(self) -> bool:
        """Return whether the process is still running."""
        return self.process.exitcode is None

    def stop(self) -> None:
        """Terminate the process and its children, and wait until they have ended."""
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):  # the process does not lead a group yet
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()

    def answer(self) -> Answer:
        """Return the command's result after the process has ended."""
        output, error = (self._read(name) for name in (OUTPUT, ERRORS))
        lines = [line.removeprefix("error: ").removeprefix("clusterproof: ") for line in error.splitlines()]
        if not (self.folder / STATUS).exists():
            lines.append(_why(self.process.exitcode))
            return Answer(2, output, "\n".join(lines), None)
        record = self.folder / RECORD
        written = json.loads(record.read_text(encoding="utf-8")) if record.exists() else None
        return Answer(int((self.folder / STATUS).read_text()), output, "\n".join(lines), written)

    def _read(self, name: str) -> str:
        path = self.folder / name
        return path.read_text(encoding="utf-8", errors="replace")[-LONGEST:] if path.exists() else ""


def _why(code: int | None) -> str:
    """Return the reason why a process ended before its command was done, and the remedy."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        return f"the process was ended by {name}; check whether memory is sufficient, and whether compiled code crashes"
    return (
        f"the process ended with exit status {code} before the command was done; remove sys.exit and os._exit"
    )


def _carry_out(tokens: Sequence[str], folder: str) -> None:
    """Run a command line in this process, and write its output to files of a folder."""
    if hasattr(os, "setsid"):
        os.setsid()  # `stop` ends the group
    for name, stream, number in ((OUTPUT, sys.stdout, 1), (ERRORS, sys.stderr, 2)):
        descriptor = os.open(Path(folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(descriptor, number)
        os.close(descriptor)
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]  # of TextIOWrapper
    from clusterproof.commands.application import main

    order = {"tokens": list(tokens), "report": str(Path(folder, STATUS)), "parent": os.getppid()}
    child_process.carry_out(order, main)

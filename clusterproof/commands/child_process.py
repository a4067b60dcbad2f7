"""A separate process for a command that runs a user's file, so that the file cannot report a false success."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

tokens: Sequence[str] = ()
"""The command line that ``main`` runs."""

GRACE = 10.0
"""Seconds after Ctrl-C during which a child may still print its results."""
is_child = False
"""Whether this process is a child of ``in_child``."""

START = (
    "import json, sys; order = json.loads(sys.argv.pop()); sys.path[:] = order['path']; "
    "from clusterproof.commands import application, child_process; child_process.carry_out(order, application.main)"
)


class Finished(Exception):
    """Raised after a child has run the command; the argument is the exit status."""


def in_child(argument: str, *codes: str | None) -> None:
    """Run the command line ``tokens`` in a child process if it names a user's code.

    In the child, return immediately.

    The child uses the standard streams of this process, so it can also detect a terminal.

    Parameters
    ----------
    argument, codes
        Name and values of the argument that names the user's code. If no value names code, the function does nothing.

    Raises
    ------
    Finished
        In the parent, after the child has ended.
    InvalidArgument
        If the child ends before the command is done.
    KeyboardInterrupt
        If Ctrl-C ends the child before it reports the interrupt.
    """
    given = [code for code in codes if code is not None]
    if is_child or not given:
        return
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # as multiprocessing does
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "status")
        order = {
            "tokens": list(tokens),
            "path": list(map(str, sys.path)),
            "report": str(report),
            "parent": os.getpid(),
        }
        # -P: a module in the working folder is imported only if this process would do so
        command = [sys.executable, *flags, "-P", "-c", START, json.dumps(order)]
        with subprocess.Popen(command) as process:
            try:
                process.wait()
            except KeyboardInterrupt:
                process.terminate()  # the child raises KeyboardInterrupt, and prints its results
                with suppress(subprocess.TimeoutExpired):  # unless it is inside a call of compiled code
                    process.wait(GRACE)
                if not report.exists():
                    raise
            finally:
                process.kill()
        if report.exists():
            raise Finished(int(report.read_text()))
    raise ended_early(argument, given, process.returncode)


def ended_early(argument: str, given: Sequence[str], status: int) -> Exception:
    """Return the error for a child that ended before the command was done."""
    from clusterproof.common import InvalidArgument  # imports NumPy, which --help avoids
    from clusterproof.common.limits import LAST

    if status == -getattr(signal, "SIGXCPU", 0):
        rule = f"takes more than {LAST} seconds of processor time to load, or for one instance"
        remedy = "shorten its ranges, its loops or its calls of compiled code"
    elif status < 0:
        rule = f"was ended by {signal.Signals(-status).name} before the command was done"
        remedy = "check whether memory is sufficient, and whether compiled code crashes"
    else:
        rule = f"ended the process with exit status {status} before the command was done"
        remedy = "remove sys.exit and os._exit"
    return InvalidArgument(argument, ", ".join(given), rule, remedy)


def carry_out(order: Mapping[str, Any], main: Callable[[Sequence[str]], int]) -> None:
    """Run a command line in the child with ``main``, and report its exit status after all output is written."""
    global is_child
    is_child = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C also reaches the parent, which then sends SIGTERM
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.argv[1:] = order["tokens"]
    from clusterproof.common.processes import end_with

    end_with(order["parent"])
    status = 1  # if main raises, as in developer mode
    try:
        status = main(order["tokens"])
    finally:
        Path(order["report"]).write_text(str(status))
    sys.exit(status)

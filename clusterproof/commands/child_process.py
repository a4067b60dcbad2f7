"""A process of its own for a command that runs a user's file: nothing that the file does can pass for success."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TextIO

tokens: Sequence[str] = ()
"""Command line that ``main`` carries out."""

is_child = False
"""Whether this process is a child of ``in_child``."""

START = (
    "import json, sys; order = json.loads(sys.argv.pop()); sys.path[:] = order['path']; "
    "from clusterproof.commands.child_process import carry_out; carry_out(order)"
)


def in_child(argument: str, value: str) -> int | None:
    """Carry out the command line ``tokens`` in a child process, which runs the user's code.

    The child writes to the standard streams of this process, so that a terminal remains one. Where ``sys.stdout`` or
    ``sys.stderr`` has been replaced, as by pytest and by notebooks, the child's lines are written to the replacement.

    Parameters
    ----------
    argument, value
        Name and value of the argument that names the user's code.

    Returns
    -------
    int or None
        The exit status of the command; None in the child, which carries it out itself.

    Raises
    ------
    InvalidArgument
        If the child ends before the command is done.
    KeyboardInterrupt
        If Ctrl-C ends the child before it reports the interrupt.
    """
    if is_child:
        return None
    out, err = _Stream(sys.stdout, 1), _Stream(sys.stderr, 2)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "status")
        order: dict[str, Any] = {
            "tokens": list(tokens),
            "path": list(map(str, sys.path)),
            "report": str(report),
        }
        order |= {"parent": os.getpid(), "out": out.format, "err": err.format}
        # as multiprocessing does; typeshed does not declare it
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        sys.stdout.flush()
        # -P: what lies in the working folder is imported only where it is in this process
        process = subprocess.Popen(
            [sys.executable, *flags, "-P", "-c", START, json.dumps(order)],
            stdout=out.target,
            stderr=err.target,
            encoding="utf-8",
        )
        errors = threading.Thread(target=err.relay, args=(process.stderr,))
        with process:
            errors.start()
            try:
                out.relay(process.stdout)
                process.wait()
            except KeyboardInterrupt:
                process.terminate()  # the child raises KeyboardInterrupt and reports it
                process.wait()
                if not report.exists():
                    raise
            finally:
                process.kill()
                errors.join()
        if report.exists():
            return int(report.read_text())
    from clusterproof.algorithms import InvalidArgument  # imports numpy, which --help does without

    if process.returncode < 0:
        rule = f"was ended by {signal.Signals(-process.returncode).name} before the command was done"
        remedy = "look for too little memory, or for compiled code that fails"
    else:
        rule = f"ended the process with exit status {process.returncode} before the command was done"
        remedy = "remove sys.exit and os._exit"
    raise InvalidArgument(argument, value, rule, remedy)


class _Stream:
    """A standard stream, to which the child writes itself unless the stream has been replaced."""

    def __init__(self, stream: TextIO | None, number: int) -> None:
        self.stream = stream
        try:
            own = stream is None or stream.fileno() == number
        except (AttributeError, OSError, ValueError):
            own = False
        self.target = None if own else subprocess.PIPE
        self.format = {"encoding": "utf-8", "errors": "backslashreplace"}
        if stream is not None and own:
            self.format = {"encoding": stream.encoding, "errors": stream.errors or "strict"}

    def relay(self, pipe: IO[str] | None) -> None:
        """Write what arrives to the stream that has replaced the standard one."""
        for line in pipe or ():
            print(line, end="", file=self.stream)


def carry_out(order: Mapping[str, Any]) -> None:
    """Carry out a command line in the child, and report its exit status when all is written."""
    global is_child
    is_child = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent, which Ctrl-C reaches too, sends SIGTERM
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.argv[1:] = order["tokens"]
    for stream, layout in ((sys.stdout, order["out"]), (sys.stderr, order["err"])):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(**layout)
    from clusterproof.commands.application import main
    from clusterproof.experiments.units import end_with

    end_with(order["parent"])
    status = 1  # if main raises, as it does in developer mode
    try:
        status = main(order["tokens"])
    finally:
        Path(order["report"]).write_text(str(status))
    sys.exit(status)

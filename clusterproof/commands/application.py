"""The command line: its commands by name, and what becomes of their errors."""

from __future__ import annotations

import getpass
import os
import sys
import tempfile
import warnings
from collections.abc import Sequence

from cyclopts import App, CycloptsError


def _version() -> str:
    from importlib import metadata

    return metadata.version("clusterproof")


app = App(
    name="clusterproof",
    help="Checks the theory of clustered federated learning.",
    version=_version,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
)
# Named by their paths, so that neither --help nor a typing error imports numpy.
app.command("clusterproof.commands.check:check", name="check", help="Evaluate claims.")
app.command("clusterproof.commands.claims:claims", name="claims", help="List every claim.")
app.command("clusterproof.commands.show:show", name="show", help="Show a claim's theorem card and verdict.")
app.command("clusterproof.commands.run:run", name="run", help="Run an algorithm on a synthetic task.")
app.command("clusterproof.commands.certify:certify", name="certify", help="Prove a convergence rate.")
app.command("clusterproof.commands.verify:verify", name="verify", help="Check a certificate.")
app.command("clusterproof.commands.figures:draw", name="figures", help="Draw figures.")
app.command("clusterproof.commands.data:app", name="data", help="List, fetch and verify image data sets.")
app.command("clusterproof.commands.train:train", name="train", help="Train networks on image data.")
app.command("clusterproof.commands.sweep:sweep", name="sweep", help="Run over settings and seeds.")
app.command("clusterproof.commands.table:table", name="table", help="Compute a paper's table anew.")
app.command(
    "clusterproof.commands.notes:notes", name="notes", help="Build the lessons and the catalogue as a site."
)
app.command("clusterproof.commands.schema:schema", name="schema", help="Print a JSON schema.")
app.register_install_completion_command()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments
        Those of the process where None.

    Returns
    -------
    int
        The exit status: 0; 1 where a check failed; 2 for bad input; 130 when interrupted; 141
        when the reader of the output went away.
    """
    tokens = sys.argv[1:] if arguments is None else list(arguments)
    # the search for counterexamples keeps notes on disk: not in the user's folder
    notes = os.path.join(tempfile.gettempdir(), f"clusterproof-search-{_user()}")
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", notes)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _one_line
            status = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return int(status or 0)
    except CycloptsError as error:
        command = "".join(f" {name}" for name in error.command_chain or ())
        return _give_up(2, f"{error} See `clusterproof{command} --help`.")
    except KeyboardInterrupt:
        return _give_up(130, "interrupted")
    except BrokenPipeError:
        # what is left in the buffer must not fail again when the interpreter exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except MemoryError as error:
        return _give_up(2, f"out of memory ({error}); lower the sizes")
    except Exception as error:  # the last door: a line for the user, a traceback in developer mode only
        from clusterproof.algorithms import InvalidArgument

        if isinstance(error, InvalidArgument):
            return _give_up(
                2, _explain(error.argument, error.value, tokens) + f": {error.rule}; {error.remedy}"
            )
        if sys.flags.dev_mode:
            raise
        return _give_up(
            1, f"a defect: {type(error).__name__}: {error}; `python -X dev -m clusterproof` shows where"
        )


def _user() -> str:
    """Name of the user; containers may have none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "nobody"


def _one_line(message: Warning | str, *_: object, **__: object) -> None:
    """Write a warning, such as that of a plugin that fails, on standard error."""
    _give_up(0, f"{message}")


def _give_up(status: int, message: str) -> int:
    """Write one line on standard error."""
    print("clusterproof:", " ".join(message.split()), file=sys.stderr)
    return status


def _explain(argument: str, value: object, tokens: Sequence[str]) -> str:
    """Name an argument as the user wrote it, and its value if that is short."""
    option = "--" + argument.replace("_", "-")
    written = any(token.partition("=")[0] == option for token in tokens)
    text = repr(value)
    return f"{option if written else argument} = {text if len(text) <= 120 else text[:100] + ' ...'}"

"""The command line: register the commands, and convert exceptions to messages and exit statuses."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from cyclopts import App, CycloptsError, UnknownOptionError, UnusedCliTokensError

from clusterproof.commands import child_process


def _version() -> str:
    import clusterproof

    return clusterproof.__version__


UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Error numbers of the errors that a write to an open stream may raise."""

NARROWEST = 40
"""Smallest width for which help and tables are laid out, because rich does not terminate for one or two columns."""

HELP = ("--help", "-h")

app = App(
    name="clusterproof",
    help_flags=HELP,
    help="Verify the theory of federated learning.",
    version=_version,
    help_format="markdown",
    suppress_keyboard_interrupt=False,
)
COMMANDS = (
    ("check", "clusterproof.commands.check:check", "Look for counterexamples to theorems."),
    ("show", "clusterproof.commands.show:show", "Show a claim and its verdict, or a paper's claims."),
    ("new", "clusterproof.commands.new:new", "Write a file of claims, to begin your own with."),
    ("run", "clusterproof.commands.run:app", "Run an algorithm on a synthetic task."),
    ("conform", "clusterproof.commands.conform:conform", "Compare your code with a published algorithm."),
    (
        "repository",
        "clusterproof.commands.repository:repository",
        "Check a paper's claims, evidence and code.",
    ),
    ("figures", "clusterproof.commands.figures:draw", "Draw figures."),
    ("train", "clusterproof.commands.train:app", "Train networks on image data."),
    ("sweep", "clusterproof.commands.sweep:sweep", "Run a grid of settings and seeds."),
    ("table", "clusterproof.commands.table:app", "Reproduce a paper's table."),
    ("leaderboard", "clusterproof.commands.leaderboard:leaderboard", "Compare convergence bounds."),
    ("export", "clusterproof.commands.export:export", "Write files by which a referee verifies a verdict."),
    ("serve", "clusterproof.commands.serve:serve", "Answer an agent by the Model Context Protocol."),
    (
        "improve",
        "clusterproof.commands.improve:improve_claim",
        "Search for the best constant of a claim, or rate of a method.",
    ),
    ("claims", "clusterproof.commands.claims:claims", "List every claim."),
    ("data", "clusterproof.commands.data:app", "List, fetch and verify image data sets."),
)
"""Name, import path and help of each command. The help lists them in this order.

The commands are registered by import path, so that --help and usage errors do not import NumPy.
"""
for _place, (_name, _path, _help) in enumerate(COMMANDS):
    _own: dict[str, Any] = {"help_flags": ()} if _name == "figures" else {}  # it prints its help itself
    app.command(_path, name=_name, help=_help, sort_key=_place, **_own)
app.register_install_completion_command()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments
        Command-line arguments. By default, they are the arguments of the process.

    Returns
    -------
    int
        The exit status: 0 on success; 1 if a check failed; 2 for bad input; 130 if interrupted; 141
        if the reader of the output closed the pipe.
    """
    tokens = sys.argv[1:] if arguments is None else list(arguments)
    child_process.tokens = tokens
    if sys.stdout is None:
        return _give_up(2, "standard output is closed; redirect it, to a file or to /dev/null")
    if sys.stderr is None:  # standard error is closed
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - open until the process ends
    if (width := shutil.get_terminal_size().columns) < NARROWEST or "COLUMNS" in os.environ:
        os.environ["COLUMNS"] = str(max(width, NARROWEST))
    try:
        temporary = tempfile.gettempdir()
    except FileNotFoundError:
        return _give_up(2, "no folder for temporary files can be written; set TMPDIR to one that can")
    try:
        os.getcwd()  # libraries call it
    except FileNotFoundError:
        return _give_up(2, "the working folder was deleted; change into one that exists")
    if sys.flags.optimize and not child_process.is_child:
        lost = "assertions" if sys.flags.optimize == 1 else "assertions, statements of claims and help texts"
        _give_up(
            0, f"python -{'O' * sys.flags.optimize} removes {lost} from imported modules; run without it"
        )
    # Hypothesis stores its examples on disk; keep them out of the working folder
    storage = os.path.join(temporary, f"clusterproof-search-{getattr(os, 'getuid', int)()}")
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", storage)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _one_line
            warnings.filterwarnings(
                "ignore", module=r"torch\b"
            )  # warnings of torch's C++ code do not help users, and are attributed to the calling line
            # warnings of torch's C++ code are attributed to the calling line
            warnings.filterwarnings("ignore", message=r"(?s).*Triggered internally at")
            if _asks_for_own_class(tokens):
                from clusterproof.commands.run import run_own

                status = run_own(*tokens[1:])
            else:
                status = app(
                    _with_standard_input(tokens),
                    exit_on_error=False,
                    print_error=False,
                    result_action="return_value",
                )
        sys.stdout.flush()
        return int(status or 0)
    except child_process.Finished as finished:
        return int(finished.args[0])
    except CycloptsError as error:
        command = "".join(f" {name}" for name in error.command_chain or ())
        said = _meant(error) or str(error)
        stop = "" if said.endswith((".", "?")) else "."
        return _give_up(2, f"{said}{stop} See `clusterproof{command} --help`.")
    except KeyboardInterrupt as error:
        from clusterproof.commands.terminal import Interrupted

        if not isinstance(error, Interrupted):
            return _give_up(130, "interrupted")
        return _give_up(130, f"interrupted; run `{shlex.join(['clusterproof', *tokens])}` to resume")
    except (BrokenPipeError, SystemExit) as error:
        # cyclopts exits when help meets a closed pipe
        if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
            _discard_output()
            return 141
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{frame.filename}, line {frame.lineno}"
        return _give_up(2, f"{place} raised SystemExit before the command was done; remove sys.exit")
    except UnicodeEncodeError as error:
        sign = error.object[error.start]
        remedy = "set PYTHONIOENCODING=utf-8 or a locale with UTF-8"
        return _give_up(
            2, f"standard output cannot be written: {sign!a} is not in {error.encoding}; {remedy}"
        )
    except MemoryError as error:
        return _give_up(2, f"out of memory ({error}); lower the sizes")
    except Exception as error:  # one line for the user; a traceback only in developer mode
        from clusterproof.common.validation import InvalidArgument, error_line, install, missing_extra

        if isinstance(error, InvalidArgument):
            for wrong in (error, *error.others):
                _give_up(2, wrong.sentences(_as_typed(wrong.argument, tokens)))
            return 2
        if isinstance(error, OSError) and error.errno in UNWRITABLE and error.filename is None:
            _discard_output()
            remedy = "write the output to another place, or free disk space"
            return _give_up(2, f"standard output cannot be written: {error.strerror}; {remedy}")
        if sys.flags.dev_mode:
            raise
        if extra := missing_extra(error):
            return _give_up(
                2, f"this command needs a library that is not installed ({error}); {install(extra)}"
            )
        return _give_up(1, f"a defect: {error_line(error)}; `python -X dev -m clusterproof` shows where")


def _with_standard_input(tokens: Sequence[str]) -> list[str]:
    """Return the arguments, changed such that - is read as a file name (standard input) and not as an option."""
    if "--" in tokens:
        return list(tokens)
    places = [place for place, word in enumerate(tokens) if word == "-" and tokens[place - 1] != "--json"]
    others = [word for place, word in enumerate(tokens) if place not in places]
    return [*others, "--", "-"] if places else others


def _asks_for_own_class(tokens: Sequence[str]) -> bool:
    """Return whether the user asks for the help of their own class, for which no command is registered."""
    return len(tokens) > 2 and tokens[0] == "run" and ":" in tokens[1] and bool({*HELP} & {*tokens[2:]})


def _meant(error: CycloptsError) -> str | None:
    """Return the message for a surplus argument or an unknown option, with the most similar known name."""
    if isinstance(error, UnusedCliTokensError):
        words = " ".join(error.unused_tokens or ())
        return f"Unexpected argument: {words}; options are written --name value."
    if not isinstance(error, UnknownOptionError):
        return None
    from clusterproof.common.calls import did_you_mean

    option = (error.token.keyword or error.token.value).partition("=")[0]
    known = [name[2:] for each in error.argument_collection or () for name in each.names if name[:2] == "--"]
    if found := did_you_mean(option, known):
        return f"Unknown option: {option}. Did you mean --{found}?"
    own = any(".py:" in token for token in error.root_input_tokens or ())
    if own and (error.command_chain or ())[:1] != ("run",):
        return f"Unknown option: {option}; parameters of your own code are keys of its section in a file for --config."
    return f"Unknown option: {option}."


def _discard_output() -> None:
    """Discard buffered output, so that flushing it at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(message: Warning | str, *_: object, **__: object) -> None:
    """Write a warning to standard error."""
    _give_up(0, f"{message}")


def _give_up(status: int, message: str) -> int:
    """Write one line to standard error if possible, and return the exit status."""
    with suppress(OSError):
        print("error:" if status in (1, 2) else "clusterproof:", " ".join(message.split()), file=sys.stderr)
    return status


def _as_typed(argument: str, tokens: Sequence[str]) -> str:
    """Return the name of an argument as the user typed it."""
    option = "--" + argument.replace("_", "-")
    return (
        option if any(token.partition("=")[0].replace("_", "-") == option for token in tokens) else argument
    )

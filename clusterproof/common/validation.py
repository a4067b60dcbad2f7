"""Argument checks whose messages name the argument, its value, the rule and the remedy."""

from __future__ import annotations

import difflib
import importlib
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from reprlib import Repr
from types import UnionType
from typing import Any


class _Writer(Repr):
    """Writer of values for messages; the full text of a tuple that contains one part many times can be too long."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxtuple = self.maxlist = self.maxdict = self.maxset = self.maxfrozenset = 20
        self.maxstring = self.maxlong = 10_000

    def repr_instance(self, x: object, level: int) -> str:  # noqa: ARG002 - as in reprlib
        """Write any other object in full."""
        return repr(x)


_WRITER = _Writer()


class InvalidArgument(ValueError):
    """Raised if a parameter, task or file breaks a stated rule.

    Parameters
    ----------
    argument
        Name of the argument as the user wrote it.
    value
        The given value; None if it is missing, and an ellipsis if it is too long to show.
    rule
        Rule that the value breaks, as the end of a sentence about the value: "must be greater than 0".
    remedy
        A sentence that tells the user what to do or to type.
    others
        Errors in further arguments of the same call.
    place
        File and line of the user's code that the user must correct, such as ``"mine.py, line 2"``.
    """

    def __init__(
        self,
        argument: str,
        value: object,
        rule: str,
        remedy: str,
        others: Sequence[InvalidArgument] = (),
        place: str = "",
    ) -> None:
        try:
            _WRITER.repr(value)
        except ValueError:  # an integer with more digits than Python can write
            value = type(value).__name__
        super().__init__(argument, value, rule, remedy)
        self.argument = argument
        self.value = value
        self.rule = rule
        self.remedy = remedy
        self.others = tuple(others)
        self.place = place

    def __str__(self) -> str:
        return "\n".join([self.sentences(self.argument), *map(str, self.others)])

    def sentences(self, name: str) -> str:
        """Return sentences that state the error, the rule and the remedy, with the given name of the argument."""
        if self.value is None:
            wrong = f"{name} is missing: it {self.rule}"
        elif self.value is ...:
            wrong = f"{name} {self.rule}"
        else:
            wrong = f"{name} is {_shortened(self.value)}, but it {self.rule}"
        where = f"{self.place}: " if self.place else ""
        return f"{where}{_ended(wrong)} {_ended(_capitalised(self.remedy))}"


def _shortened(value: object) -> str:
    """Return a value as text, without the middle of a long text."""
    text = _WRITER.repr(value)
    return text if len(text) <= 120 else f"{text[:60]} ... {text[-50:]}"


def _capitalised(text: str) -> str:
    """Capitalise the first letter of a sentence, unless the first word is a name in code."""
    first = text.partition(" ")[0].rstrip(",;:")
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def _ended(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def brief(value: Any) -> object:
    """Return a value for a message, or the name of its type if its text is long or has several lines."""
    try:
        text = _WRITER.repr(value)
    except ValueError:  # an integer with more digits than Python can write
        return type(value).__name__
    return value if len(text) <= 100 and "\n" not in text else type(value).__name__


def check_text(argument: str, *texts: str) -> None:
    """Raise ``InvalidArgument`` if a text contains a line end, a control character or half of a surrogate pair."""
    for text in texts:
        if not text.isprintable():
            rule = "must be one line of printable characters"
            raise InvalidArgument(argument, ascii(text), rule, "leave the other characters out")


def visible(text: str) -> str:
    """Return a text with an escape in place of each character that cannot be printed, except line ends."""
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode()
        for each in text
    )


def check_instance(argument: str, value: Any, kind: type | UnionType, remedy: str) -> None:
    """Raise ``InvalidArgument`` unless the value is an instance of a class."""
    if isinstance(value, type) and issubclass(value, kind):
        remedy = f"make an instance, {value.__name__}(...)"
    if not isinstance(value, kind):
        name = getattr(kind, "__name__", str(kind))
        raise InvalidArgument(argument, brief(value), f"must be an instance of {name}", remedy)


def check_list(argument: str, value: Any, kind: type, remedy: str) -> None:
    """Raise ``InvalidArgument`` unless the value is a list, or a similar sequence, of instances of a class."""
    if (
        isinstance(value, str | Mapping)
        or not isinstance(value, Iterable)
        or not all(isinstance(one, kind) for one in value)
    ):
        raise InvalidArgument(argument, brief(value), f"must be a list of {kind.__name__}", remedy)


def check_number(
    argument: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
    remedy: str,
) -> None:
    """Raise ``InvalidArgument`` unless the value is a finite real number in the interval."""
    limits = {"greater than": above, "at least": at_least, "at most": at_most, "below": below}
    stated = [f"{words} {limit:g}" for words, limit in limits.items() if math.isfinite(limit)]
    rule = " and ".join(["must be a finite number", *stated])
    try:
        number = float(value) if hasattr(value, "__float__") else math.nan
    except (TypeError, OverflowError):  # an array, or an integer beyond all floats
        number = math.nan
    inside = above < number < below and at_least <= number <= at_most
    if isinstance(value, bool) or not (math.isfinite(number) and inside):
        raise InvalidArgument(argument, value, rule, remedy)


LARGEST_COUNT = 10**9
"""Largest number of rounds, steps or clients; larger values are probably typing errors."""

LARGEST_SEED = 2**63 - 1
"""Largest seed, since seeds are stored as 64-bit integers."""


def check_count(
    argument: str, value: Any, *, at_least: int, at_most: int = LARGEST_COUNT, remedy: str
) -> None:
    """Raise ``InvalidArgument`` unless the value is an integer from ``at_least`` to ``at_most``."""
    try:
        count = operator.index(value)
    except TypeError:
        count = at_least - 1
    if isinstance(value, bool) or count < at_least:
        rule = f"must be an integer, at least {at_least}"
        raise InvalidArgument(argument, value, rule, remedy)
    if count > at_most:
        raise InvalidArgument(argument, value, f"must be an integer, at most {at_most}", "lower it")


def check_seed(seed: Any) -> None:
    """Raise ``InvalidArgument`` unless the seed is an integer from 0 to ``LARGEST_SEED``."""
    check_count("seed", seed, at_least=0, at_most=LARGEST_SEED, remedy="give a non-negative integer")


def check_choice(argument: str, value: Any, choices: Sequence[str], *, remedy: str) -> None:
    """Raise ``InvalidArgument`` unless the value is one of the choices."""
    if value not in choices:
        rule = "must be one of " + ", ".join(repr(choice) for choice in choices)
        raise InvalidArgument(argument, value, rule, remedy)


def check_name(argument: str, value: str, known: Sequence[str]) -> None:
    """Raise ``InvalidArgument`` unless the name is known; the message suggests similar names."""
    if not isinstance(value, str) or value not in known:
        nearest = difflib.get_close_matches(str(value).lower(), known, n=3, cutoff=0.3)
        hint = f"the nearest are {', '.join(nearest)}" if nearest else f"write, for example, {known[0]}"
        raise InvalidArgument(argument, value, f"must be one of {', '.join(known)}", hint)


def check_descent(step_size: float, clusters: int | None, averaging: str, local_steps: int) -> None:
    """Check the parameters that most algorithms share.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, or ``local_steps > 1`` with gradient averaging.
    """
    check_number("step_size", step_size, above=0, remedy="1 / task.smoothness is a safe choice")
    if clusters is not None:
        check_count("clusters", clusters, at_least=1, remedy="leave it out to use the task's number")
    remedy = "write 'gradient' for option I, or 'model' for option II"
    check_choice("averaging", averaging, ("gradient", "model"), remedy=remedy)
    check_count("local_steps", local_steps, at_least=1, remedy="1 is one gradient step per round")
    if averaging == "gradient" and local_steps > 1:
        raise InvalidArgument(
            "local_steps",
            local_steps,
            "must be 1 with averaging = 'gradient', where a client sends one gradient",
            "choose averaging = 'model' for local steps",
        )


EXTRA_OF = {
    **dict.fromkeys(("polars", "sklearn", "numba", "joblib"), "run"),
    "matplotlib": "figures",
    **dict.fromkeys(("torch", "pooch", "safetensors"), "neural"),
    "distributed": "dask",
    "mcp": "agent",
}
"""Extra that installs each optional library, indexed by the import name of the library."""


def install(extra: str) -> str:
    """Return the instruction for installing an extra."""
    return f"install the extra `{extra}`: pip install '.[{extra}]' in the checkout"


def missing_extra(error: BaseException) -> str | None:
    """Return the extra whose library is missing in an import error or its causes, or None for other errors."""
    cause: BaseException | None = error
    seen = set[int]()
    while cause is not None and not isinstance(cause, ModuleNotFoundError):
        seen.add(id(cause))
        cause = None if id(cause.__cause__) in seen else cause.__cause__  # an error can be its own cause
    return None if cause is None else EXTRA_OF.get((cause.name or "").partition(".")[0])


def require(argument: str, value: object, module: str) -> Any:
    """Import an optional library, which may be missing or may not work in this environment.

    Parameters
    ----------
    argument, value
        The argument that needs the library, and its value.
    module
        Import name of the library.

    Raises
    ------
    InvalidArgument
        If the library is missing (the message names its extra) or does not work in this environment.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        extra = EXTRA_OF.get(module.partition(".")[0])
        remedy = install(extra) if extra else "install Clusterproof again: pip install . in the checkout"
        raise InvalidArgument(argument, value, f"needs {module} ({error})", remedy) from error
    except ValueError as error:  # an invalid environment variable, which matplotlib reads on import
        rule = f"needs {module}, which cannot be imported ({error_line(error)})"
        remedy = "correct the environment variable that it reads, such as MPLBACKEND"
        raise InvalidArgument(argument, value, rule, remedy) from error


def error_line(error: BaseException) -> str:
    """Write an error with its notes, such as the file, line and instance, in one line."""
    notes = [f" ({note})" for note in getattr(error, "__notes__", ())]
    notes += [f"; {install(extra)}"] if (extra := missing_extra(error)) else []
    return visible(" ".join(f"{type(error).__name__}: {error_text(error)}{''.join(notes)}".split()))


def failure_line(error: BaseException) -> str:
    """Return an error of a user's function in one line; for ``InvalidArgument``, return only its message."""
    return error_line(error).removeprefix(f"{InvalidArgument.__name__}: ")


def error_text(error: BaseException) -> str:
    """Return the message of an error, even if the user's class of the error cannot produce a message."""
    try:
        return str(error)
    except (Exception, SystemExit) as fault:
        return f"its message raises {type(fault).__name__}"

"""Errors for wrong calls. If a parameter's name is unknown, the error suggests the nearest known name."""

from __future__ import annotations

import difflib
import inspect
from abc import ABCMeta
from collections.abc import Callable, Iterable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from clusterproof.common.validation import InvalidArgument, brief

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return the known parameter whose spelling is nearest to a name, or None if none is near."""
    names = {name.replace("-", "_"): name for name in known}
    plain = word.strip("-").replace("-", "_").lower()
    near = difflib.get_close_matches(plain, names, n=1, cutoff=0.7)
    return names[near[0]] if near else None


def refusal(
    function: Callable[..., Any], name: str, given: tuple[Any, ...], named: dict[str, Any]
) -> InvalidArgument | None:
    """Return the error for a call, or None if the arguments match the parameters of the function."""
    signature = inspect.signature(function)
    try:
        signature.bind(*given, **named)
    except TypeError:
        parameters = signature.parameters
    else:
        return None
    names = [one.name for one in parameters.values() if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    listed = ", ".join(name for name in names if name != "self") or "none"
    for word, value in named.items():
        if word not in names:
            found = did_you_mean(word, names)
            remedy = f"write {found}=" if found else f"it has {listed}"
            return InvalidArgument(word, brief(value), f"is not a parameter of {name}", remedy)
    places = [
        one.name
        for one in parameters.values()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    if len(given) > len(places):
        value = given[len(places)]
        following = [one for one in names[len(places) :] if one not in named]
        takes = [one for one in places if one != "self"]
        rule = f"is one positional argument too many for {name}" if takes else "must be passed by its name"
        remedy = f"write {following[0]}=..." if following else "leave it out"
        return InvalidArgument(following[0] if following else name, brief(value), rule, remedy)
    for word in places[: len(given)]:
        if word in named:
            return InvalidArgument(
                word, brief(named[word]), f"is given twice in the call of {name}", "leave one out"
            )
    empty = inspect.Parameter.empty
    missing = [
        one.name
        for one in parameters.values()
        if one.default is empty and one.name in names and one.name not in (*named, *places[: len(given)])
    ]
    return InvalidArgument(
        missing[0], None, f"must be given in the call of {name}", f"write {missing[0]}=..."
    )


@cache
def _checked_once(function: Callable[..., Any]) -> Callable[..., Any]:
    return checked(function)


def exposed(value: Any) -> Any:
    """Wrap a public function or bound method in ``checked`` unless it is already wrapped.

    Return other values unchanged.
    """
    is_plain = (inspect.isfunction(value) or inspect.ismethod(value)) and not hasattr(value, "__wrapped__")
    return _checked_once(value) if is_plain else value


def checked(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Wrap a function such that it raises ``InvalidArgument`` if the arguments do not match its parameters."""
    is_own = "<locals>" in function.__qualname__ or inspect.ismethod(function)
    name = function.__name__ if is_own else function.__qualname__

    @wraps(function)
    def called(*given: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return function(*given, **named)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise  # raised inside the function
            wrong = refusal(function, name, given, named)
            raise (wrong or error) from None

    return called


class CheckedCalls(ABCMeta):
    """Metaclass whose classes raise ``InvalidArgument`` if the arguments of a call do not match the parameters."""

    if not TYPE_CHECKING:

        @property
        def __signature__(cls) -> inspect.Signature:
            """Parameters of the constructor, which ``help`` shows in place of the parameters of ``__call__``."""
            _, *others = inspect.signature(cls.__init__).parameters.values()
            return inspect.Signature(others)

        def __call__(cls, *given: Any, **named: Any) -> Any:
            """Make an instance."""
            try:
                return super().__call__(*given, **named)
            except TypeError:
                wrong = refusal(cls.__init__, cls.__name__, (cls, *given), named)
                if wrong is None:
                    raise
                raise wrong from None

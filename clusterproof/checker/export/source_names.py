"""Find the names of values in the compiled source of a claim, for modules that write these values."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

PROPER = ("quantity", "leaf", "point")
"""Operators whose values have their own name in a claim."""


@contextmanager
def naming(names: dict[int, tuple[Any, str]], kind: type) -> Iterator[None]:
    """For each value of a type, store by identity the first variable of the compiled source that has this value.

    A value of this type has ``parts`` and an ``operator``.
    """

    def note(pairs: Iterable[tuple[str, Any]], *, own: bool) -> None:
        for name, value in pairs:
            if type(value) in (list, tuple):
                note(((f"{name}_{k}", entry) for k, entry in enumerate(value)), own=False)
            elif hasattr(value, "_values"):
                note(zip(value._fields, value._values, strict=True), own=own)
            elif isinstance(value, kind) and value.parts and not name.startswith((".", "_")):  # type: ignore[attr-defined]  # of this kind
                if (
                    own and value.operator in PROPER  # type: ignore[attr-defined]  # likewise
                ):  # such a name says more than a position in a tuple
                    proper.setdefault(id(value), (value, name))
                names.setdefault(id(value), (value, name))

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if "__add_in_place" not in frame.f_globals:
            return None
        note(list(frame.f_locals.items()), own=frame.f_code.co_name != "<lambda>")
        if event == "return" and frame.f_code.co_name.isidentifier():
            note([(frame.f_code.co_name, argument)], own=False)
        return trace

    proper: dict[int, tuple[Any, str]] = {}
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
        names |= proper

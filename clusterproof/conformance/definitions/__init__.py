"""The definitions for ``conform``. Each combines a file in ``algorithms``, a method as its rule, and known mistakes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterproof.conformance.changes import FOLDER, Change, table
from clusterproof.conformance.definitions.base import DECLARED, VERBS, Definition
from clusterproof.methods import METHODS, Method

__all__ = ["DECLARED", "DEFINITIONS", "KNOWN_MISTAKES", "Definition", "Mistake", "definition_of"]

DEFINITIONS: dict[str, type[Definition]] = {
    path.stem: type(path.stem, (Definition,), {}, name=path.stem)
    for path in sorted(FOLDER.glob("*.toml"))
    if path.stem != "general"
}
"""Every definition, indexed by its name for ``conform --as``."""


def held(name: str) -> str:
    """Return the name of the attribute in which a run stores a given state of a method.

    A user's method may have other names for states.
    """
    return name if name == "model" else f"state {name}"


def definition_of(rule: Callable[..., Any]) -> type[Definition]:
    """Return the definition of a method.

    The equation of the definition is the first line of the method's docstring. The probe ``strengths`` varies the
    strengths around their defaults.
    """
    method, general = METHODS[rule], table("general")
    defaults = {
        name: 0.1 if each.default is each.empty else each.default
        for name, each in method.settings.items()
        if name not in ("step_size", "server_step_size")
    }
    starts = {f"first {held(name)}": _first(method, name) for name in method.states if name != "model"}
    parts = {
        "name": method.name,
        "equation": (inspect.getdoc(rule) or method.name).partition("\n")[0],
        "source": f"the method {method.name}, its own text",
        "states": tuple(map(held, method.states)),
        "of_clients": tuple(map(held, method.of_clients)),
        "own_settings": {**defaults, "weighting": "clients"},
        "strengths": {name: value / 2 for name, value in defaults.items() if isinstance(value, float)},
        "variants": {name: tuple(each) for name, each in general["variants"]["members"].items()},
        "forms": ({"changes": starts},),
        "rule": staticmethod(rule),
        "calls": tuple({function: None for called in VERBS.values() for function in called}),
        "server_step": "server_step_size" if "server_step_size" in method.settings else "",
    }
    return type(method.name, (Definition,), parts)


def _first(method: Method, name: str) -> Callable[[Any, Any], Any]:
    """Return a change that sets a state to the initial value that the method declares."""

    def first(run: Any, zero: Any) -> Any:
        start = method.start(name, run.settings)
        return zero + (run.model if start == "model" else start)

    return first


@dataclass(frozen=True, eq=False)
class Mistake:
    """A known mistake, or an admissible form that the user did not declare.

    Attributes
    ----------
    changes
        Changes to the definition, see the module ``changes``.
    sentence
        A description of what the code does, to help its author find the mistake.
    settings
        Settings that have a fixed value under this mistake, regardless of the requested value.
    """

    changes: Mapping[str, Change]
    sentence: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def _bank(algorithm: str) -> dict[str, Mistake]:
    own, general = table(algorithm), table("general")
    groups = [general.get(name) or table(name)["mistakes"] for name in own["known_mistakes"]]
    found: dict[str, Mistake] = {}
    for group in (own.get("mistakes", {}), *groups):
        for name, (sentence, *changes) in group.items():
            together = {key: text for each in changes for key, text in each.items()}
            found.setdefault(name, Mistake(together, sentence))
    return found


KNOWN_MISTAKES = {algorithm: _bank(algorithm) for algorithm in DEFINITIONS}
"""Mistakes, indexed by algorithm and then by name; mistakes from the algorithm's own file come first."""

"""Definitions made from a method, for example in a user's file, so that ``conform`` knows the method's settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from clusterproof.conformance.changes import table
from clusterproof.conformance.definitions.base import OF_CLIENTS, Definition
from clusterproof.methods import METHODS, Method
from clusterproof.methods.exact import exact_clients


class MethodDefinition(Definition):
    """A run of a method, client by client."""

    method: ClassVar[Method]

    @classmethod
    def arguments(cls) -> tuple[str, ...]:
        """Return the names of a round's arguments; a change may change each of them."""
        return (*OF_CLIENTS, *cls.method.settings)

    def exchange(self, participants: Sequence[int]) -> None:
        """Carry out what clients and server do in a round."""
        known = self.of_round
        known |= self.given(list(participants))
        own = {name: known[name] for name in self.method.settings if name in known}
        for name in (*OF_CLIENTS, *own):
            known[name] = self.changed(name, known[name], known)
        clients = exact_clients(
            known["gradients"],
            known["steps"],
            weights=list(known["weights"]),
            count=self.task.clients,
            losses=known["losses"],
            products=known["products"],
        )
        tables = {name: getattr(self, held(name)) for name in self.method.states}
        states = {
            name: list(table[participants]) if name in self.method.of_clients else table
            for name, table in tables.items()
        }
        after = self.method.round(clients, states, **{name: known[name] for name in own})
        for name, value in after.items():
            new = np.array(value)
            if name in self.method.of_clients:
                table = tables[name].copy()
                table[list(participants)] = new
                new = table
            setattr(self, held(name), new)


def held(name: str) -> str:
    """Return the attribute of a run that holds a state; a user may have given the state another name."""
    return name if name == "model" else f"state {name}"


def definition_of(rule: Callable[..., Any]) -> type[MethodDefinition]:
    """Return the definition of a method.

    The definition's equation is the first line of the method's docstring; strengths are varied around their defaults.
    """
    method, general = METHODS[rule], table("general")
    defaults = {
        name: 0.1 if each.default is each.empty else each.default
        for name, each in method.settings.items()
        if name not in ("step_size", "server_step_size")
    }
    starts = {f"first {held(name)}": _first(method, name) for name in method.states if name != "model"}

    def shared(steps: Any, server_step: Any = None) -> Any:
        raise NotImplementedError

    def local(steps: Any) -> Any:
        raise NotImplementedError

    parts = {
        "name": method.name,
        "method": method,
        "equation": (inspect.getdoc(rule) or method.name).partition("\n")[0],
        "source": f"the method {method.name}, its own text",
        "states": tuple(map(held, method.states)),
        "of_clients": tuple(map(held, method.of_clients)),
        "own_settings": {**defaults, "weighting": "clients"},
        "strengths": {name: value / 2 for name, value in defaults.items() if isinstance(value, float)},
        "variants": {name: tuple(each) for name, each in general["variants"]["members"].items()},
        "forms": ({"changes": starts},),
        "rule": staticmethod(shared if "server_step_size" in method.settings else local),
        "server_step": "server_step_size" if "server_step_size" in method.settings else "",
    }
    return type(method.name, (MethodDefinition,), parts)


def _first(method: Method, name: str) -> Callable[[Any, Any], Any]:
    """Return the change that makes a state start where the method declares."""

    def first(run: Any, zero: Any) -> Any:
        start = method.start(name, run.settings)
        return zero + (run.model if start == "model" else start)

    return first

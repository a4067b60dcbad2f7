"""The declaration of a method: its states, their starts, and its settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, MappingProxyType
from typing import Annotated, Any, TypeVar

Rule = TypeVar("Rule", bound=Callable[..., Any])
Real = Annotated[Any, float]
"""A setting that is a real number: a float in a run, an exact number or a symbol in a claim."""


@dataclass(frozen=True)
class Method:
    """The round of a method as a function, with the facts that its users need.

    Attributes
    ----------
    name
        Name of the method on the command line.
    rule
        The round: a function of ``clients``, of the states in their order, and of the settings.
    states
        Names of the states; the first is the server's ``model``, unless every client has a model of its own.
    of_clients
        States with a vector for each client.
    starts
        Starts of the states that do not start at 0: ``"model"`` (the start of the first state), or a function of
        settings that returns the number for every entry.
    averages
        States of the server. Each equals the mean of a state of the clients while all clients take part.
    given
        Values that the caller of the round computes, such as a coin.
    of_each
        Settings with a number for each client, such as its number of further steps.
    """

    name: str
    rule: Callable[..., Any]
    states: tuple[str, ...]
    of_clients: tuple[str, ...]
    starts: Mapping[str, Any]
    averages: Mapping[str, str]
    given: tuple[str, ...] = ()
    of_each: tuple[str, ...] = ()

    @cached_property
    def settings(self) -> dict[str, inspect.Parameter]:
        """Settings by name, with annotations and defaults."""
        parameters = inspect.signature(self.rule).parameters.values()
        return {
            each.name: each
            for each in parameters
            if each.kind is each.KEYWORD_ONLY and each.name not in self.given
        }

    def start(self, state: str, settings: Mapping[str, Any]) -> Any:
        """Return the start of a state: ``"model"``, or the number in all of its entries."""
        start = self.starts.get(state, 0)
        if not isinstance(start, FunctionType):
            return start
        return start(*(settings[name] for name in start.__code__.co_varnames[: start.__code__.co_argcount]))

    def round(self, clients: Any, states: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
        """Return the states after a round, by name."""
        found = self.rule(clients, *(states[name] for name in self.states), **settings)
        return dict(zip(self.states, found if len(self.states) > 1 else (found,), strict=True))


METHODS: dict[Callable[..., Any], Method] = {}
"""Every declared method, by the function of its round."""


def method(
    name: str,
    *,
    of_clients: tuple[str, ...] = (),
    averages: Mapping[str, str] = MappingProxyType({}),
    given: tuple[str, ...] = (),
    of_each: tuple[str, ...] = (),
    **starts: Any,
) -> Callable[[Rule], Rule]:
    """Declare a function to be the round of a method; the function itself does not change.

    Parameters
    ----------
    name, of_clients, averages, given, of_each
        See the attributes of ``Method``.
    **starts
        Starts of states, see ``starts`` of ``Method``.
    """

    def declare(rule: Rule) -> Rule:
        _, *parameters = inspect.signature(rule).parameters.values()
        states = tuple(each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD)
        METHODS[rule] = Method(
            name, rule, states, of_clients, {"model": "model", **starts}, averages, given, of_each
        )
        return rule

    return declare

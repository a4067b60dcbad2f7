"""A method and what is known of it: its states, where they start, and its settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, MappingProxyType
from typing import Annotated, Any, TypeVar

Rule = TypeVar("Rule", bound=Callable[..., Any])
Real = Annotated[Any, float]
"""A setting that is a real number: a float in a run, and exact or a symbol in a claim."""


@dataclass(frozen=True)
class Method:
    """A round as a function, with what its readings need besides.

    Attributes
    ----------
    name
        As it is called on the command line.
    rule
        The round: of ``clients``, of the states in their order, and of the settings.
    states
        Names of the states, of which the first is the server's ``model``, unless it is the clients'.
    of_clients
        States with a vector for each client.
    starts
        Where states start that do not start at 0: at the first ``"model"``, or at a function of the settings that it
        names, a number in every entry.
    averages
        States of the server that are the mean of a state of the clients while all of them take part.
    given
        What whoever calls the round computes, such as a coin.
    of_each
        Settings with a number for each client, such as that of further steps.
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
        """The settings by their names, with annotations and defaults."""
        parameters = inspect.signature(self.rule).parameters.values()
        return {
            each.name: each
            for each in parameters
            if each.kind is each.KEYWORD_ONLY and each.name not in self.given
        }

    def start(self, state: str, settings: Mapping[str, Any]) -> Any:
        """Return where a state starts: ``"model"``, or the number in all of its entries."""
        start = self.starts.get(state, 0)
        if not isinstance(start, FunctionType):
            return start
        return start(*(settings[name] for name in start.__code__.co_varnames[: start.__code__.co_argcount]))

    def round(self, clients: Any, states: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
        """Return the states after a round by their names."""
        found = self.rule(clients, *(states[name] for name in self.states), **settings)
        return dict(zip(self.states, found if len(self.states) > 1 else (found,), strict=True))


METHODS: dict[Callable[..., Any], Method] = {}
"""Every method by its round."""


def method(
    name: str,
    *,
    of_clients: tuple[str, ...] = (),
    averages: Mapping[str, str] = MappingProxyType({}),
    given: tuple[str, ...] = (),
    of_each: tuple[str, ...] = (),
    **starts: Any,
) -> Callable[[Rule], Rule]:
    """Declare a function to be the round of a method; it stays the function that it is.

    Parameters
    ----------
    name, of_clients, averages, given, of_each
        As attributes of ``Method``.
    **starts
        ``starts`` of ``Method``.
    """

    def declare(rule: Rule) -> Rule:
        _, *parameters = inspect.signature(rule).parameters.values()
        states = tuple(each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD)
        METHODS[rule] = Method(
            name, rule, states, of_clients, {"model": "model", **starts}, averages, given, of_each
        )
        return rule

    return declare

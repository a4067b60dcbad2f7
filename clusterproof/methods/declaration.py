"""The declaration of a method: its states, the initial values of the states, and its settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, MappingProxyType
from typing import Annotated, Any, TypeVar

Rule = TypeVar("Rule", bound=Callable[..., Any])
Real = Annotated[Any, float]
"""Type of a setting with real values: a float in a run, an exact number or a symbol in a claim."""


@dataclass(frozen=True)
class Method:
    """A method: the function for a round, and the description of its arguments and results.

    Attributes
    ----------
    name
        Name of the method on the command line.
    rule
        The function for a round. Its arguments are ``clients``, the states in order, and the settings.
    states
        Names of the states. The first state is the server's ``model``, unless each client has a separate model.
    of_clients
        Names of the states with one vector per client.
    starts
        Initial values of the states that do not start at 0. An initial value is ``"model"``, which is the initial
        value of the first state, or a function of settings that returns one number for all entries.
    averages
        Pairs of a state of the server and a state of the clients. If all clients take part, the first is the mean of
        the second.
    given
        Names of values that the caller of the round computes, for example a coin toss.
    of_each
        Names of settings with one number per client, for example a number of additional steps.
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
        """The settings, indexed by name, with annotations and defaults."""
        parameters = inspect.signature(self.rule).parameters.values()
        return {
            each.name: each
            for each in parameters
            if each.kind is each.KEYWORD_ONLY and each.name not in self.given
        }

    def start(self, state: str, settings: Mapping[str, Any]) -> Any:
        """Return the initial value of a state: ``"model"``, or one number for all entries."""
        start = self.starts.get(state, 0)
        if not isinstance(start, FunctionType):
            return start
        return start(*(settings[name] for name in start.__code__.co_varnames[: start.__code__.co_argcount]))

    def round(self, clients: Any, states: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
        """Compute a round, and return the new states, indexed by name."""
        found = self.rule(clients, *(states[name] for name in self.states), **settings)
        return dict(zip(self.states, found if len(self.states) > 1 else (found,), strict=True))


METHODS: dict[Callable[..., Any], Method] = {}
"""Every declared method, indexed by the function for its round."""


def method(
    name: str,
    *,
    of_clients: tuple[str, ...] = (),
    averages: Mapping[str, str] = MappingProxyType({}),
    given: tuple[str, ...] = (),
    of_each: tuple[str, ...] = (),
    **starts: Any,
) -> Callable[[Rule], Rule]:
    """Declare that a function is the round of a method. The decorator returns the function unchanged.

    Parameters
    ----------
    name, of_clients, averages, given, of_each
        See the attributes of ``Method``.
    **starts
        Initial values of states, see ``starts`` of ``Method``.
    """

    def declare(rule: Rule) -> Rule:
        _, *parameters = inspect.signature(rule).parameters.values()
        states = tuple(each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD)
        METHODS[rule] = Method(
            name, rule, states, of_clients, {"model": "model", **starts}, averages, given, of_each
        )
        return rule

    return declare

"""Base class of algorithms whose rounds are defined by a method."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from functools import cache
from typing import Any, ClassVar, TypeVar, get_type_hints

from array_api_compat import device, is_torch_array

from clusterproof.algorithms.array_clients import ArrayClients, done
from clusterproof.algorithms.averaging import (
    check_averaging,
    client_weights,
    draw_participants,
    require_sizes,
)
from clusterproof.algorithms.base import Algorithm, State, Task
from clusterproof.common.arrays import Array, array_namespace, on_device, replace_rows, rows
from clusterproof.common.limits import total_memory
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import InvalidArgument
from clusterproof.methods.declaration import METHODS, Method, Real

StateT = TypeVar("StateT", bound=State)


@dataclass(frozen=True, kw_only=True)
class MethodAlgorithm(Algorithm[StateT]):
    """An algorithm with rounds that a method defines.

    The fields of a subclass are the settings of the method. ``local_steps``, ``participation``, ``weighting`` and
    ``reshuffle`` are fields, as well, if the user may choose them.
    """

    target: ClassVar[str] = "pooled"

    method: ClassVar[Method]
    """The method that defines a round."""

    state: ClassVar[type[State]] = State
    """Class of the states. In addition to the fields of ``State``, it has the method's states other than the model."""

    def model_count(self, task: Task) -> int:
        """Return 1, because the server has one model."""
        require_sizes(getattr(self, "weighting", "clients"), task)
        return 1

    @classmethod
    def state_class(cls) -> type[State]:
        """Return the attribute ``state``. A subclass with additional states overrides this function."""
        return cls.state if cls.initialise is MethodAlgorithm.initialise else super().state_class()

    def initialise(self, models: Array, task: Task) -> StateT:
        """Return the initial values of the method's states, from the server's model, (..., 1, d)."""
        settings = self.round_settings
        kept = {
            name: start_of(
                models, self.method.start(name, settings), task.clients * self._is_of_clients(name)
            )
            for name in self.method.states
            if name != "model"
        }
        made: StateT = self._made(kept.pop("models", models), None, None, kept)
        return made

    def step(self, state: StateT, task: Task, randomness: Randomness) -> StateT:
        """Carry out one round."""
        x, tables = state.models, self._tables(state)
        participation = getattr(self, "participation", 1.0)
        clients = draw_participants(participation, task.clients, x, randomness.participation)
        everyone = clients.shape[-1] == task.clients
        on = ArrayClients(
            task,
            clients,
            randomness,
            client_weights(getattr(self, "weighting", "clients"), task, clients, x),
            getattr(self, "local_steps", 1),
            reshuffled=getattr(self, "reshuffle", False),
        )
        own = [] if everyone else self.method.of_clients
        given = {name: rows(table, clients) if name in own else table for name, table in tables.items()}
        settings = self.round_settings | self.drawn(state, randomness)
        after = {name: done(value) for name, value in self.method.round(on, given, **settings).items()}
        after |= {name: replace_rows(tables[name], clients, after[name]) for name in own}
        models = after.pop("model", None)
        if models is None:
            models = after.pop("models") if "models" in after else on.mean(after[self.method.states[0]])
        cluster = clients if models.shape[-2] > 1 else array_namespace(clients).zeros_like(clients)
        made: StateT = self._made(models, clients, cluster, after)
        return made

    @property
    def round_settings(self) -> dict[str, Any]:
        """Settings that are passed to the method's round."""
        return {name: getattr(self, name) for name in self.method.settings if hasattr(self, name)}

    def drawn(self, state: StateT, randomness: Randomness) -> dict[str, Any]:
        """Return the random values of a round, for example a coin toss, by default an empty mapping."""
        return {}

    def _is_of_clients(self, name: str) -> bool:
        return name in self.method.of_clients

    def _tables(self, state: Any) -> dict[str, Array]:
        return {name: getattr(state, "models" if name == "model" else name) for name in self.method.states}

    def _made(self, models: Array, clients: Any, cluster: Any, kept: dict[str, Array]) -> Any:
        return self.state(models, clients, cluster, **kept)


def start_of(models: Array, start: Any, clients: int) -> Array:
    """Return the initial values of a state, given as ``"model"`` or a number.

    If ``clients`` > 0, there is one row per client.
    """
    zero = zeros_for_clients(models, clients) if clients else array_namespace(models).zeros_like(models)
    if start == 0:
        return zero
    return zero + (models if isinstance(start, str) else start)


def zeros_for_clients(models: Array, clients: int) -> Array:
    """Return zeros (..., m, d) with the same library, type and device as the server's models (..., 1, d).

    Raises
    ------
    InvalidArgument
        If the zeros take more than half of the memory.
    """
    check_client_memory(models, clients)
    shape = (*models.shape[:-2], clients, models.shape[-1])
    return array_namespace(models).zeros(shape, dtype=models.dtype, device=device(models))


def check_client_memory(models: Array, clients: int) -> None:
    """Raise an error if one vector per client would take more than half of the memory in total.

    Raises
    ------
    InvalidArgument
        If the vectors take more memory. The message states the required and the total memory.
    """
    size = math.prod(models.shape[:-2]) * clients * models.shape[-1] * _bytes_per_number(models)
    present = _memory(models)
    if size > present / 2:
        rule = (
            f"needs a state of {size / 2**30:.3g} GiB, one vector of {models.shape[-1]} numbers per client, "
            f"which must be at most half of the memory of {present / 2**30:.3g} GiB"
        )
        raise InvalidArgument(
            "clients",
            clients,
            rule,
            "use fewer clients, a smaller model, or fedavg, which stores no vectors of clients",
        )


def _bytes_per_number(models: Array) -> int:
    return int(array_namespace(models).finfo(models.dtype).bits) // 8


def _memory(models: Array) -> int:
    """Return the memory, in bytes, of the device that holds ``models``."""
    if is_torch_array(models) and on_device(models):
        import torch

        return int(torch.cuda.get_device_properties(models.device).total_memory)
    return total_memory()


def own_method(name: str) -> type[MethodAlgorithm[Any]] | None:
    """Return the algorithm class of the user's method with the given name, or None if there is no such method."""
    found = [rule for rule, method in METHODS.items() if method.name == name]
    return algorithm_of(found[-1]) if found else None


@cache
def algorithm_of(rule: Callable[..., Any]) -> type[MethodAlgorithm[Any]]:
    """Return an algorithm class for a user's method, with the settings of the method and the common settings.

    Raises
    ------
    InvalidArgument
        If the function is not decorated with ``@method``.
    """
    if rule not in METHODS:
        name = getattr(rule, "__name__", type(rule).__name__)
        raise InvalidArgument(
            "algorithm", name, "must be a method", "write @method('my-method') above the function"
        )
    method, kinds = METHODS[rule], get_type_hints(rule, include_extras=True)
    kinds = {name: float if kind == Real else kind for name, kind in kinds.items()}
    extra = [name for name in method.states if name not in ("model", "models")]
    state = make_dataclass("MethodState", [(name, Any) for name in extra], bases=(State,), frozen=True)
    settings = [
        (name, kinds.get(name, float), *([field(default=each.default)] * (each.default is not each.empty)))
        for name, each in method.settings.items()
    ]
    shared = [
        ("local_steps", int, field(default=1)),
        ("participation", float, field(default=1.0)),
        ("weighting", str, field(default="clients")),
    ]
    known = {name for name, *_ in settings}
    made = make_dataclass(
        "".join(part.capitalize() for part in method.name.split("-")),
        [*settings, *(each for each in shared if each[0] not in known)],
        bases=(MethodAlgorithm,),
        namespace={
            "name": method.name,
            "method": method,
            "state": state,
            "target": "pooled" if "models" not in method.states else "clients",
            "__doc__": rule.__doc__,
            "__post_init__": check_averaging,
            "__module__": rule.__module__,
        },
        frozen=True,
        kw_only=True,
    )
    return made

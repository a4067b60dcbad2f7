"""User-supplied algorithms: a class that a configuration names, and checks of what its methods return."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from array_api_compat import is_torch_array

from clusterproof.algorithms import Algorithm, InvalidArgument, State
from clusterproof.algorithms.arrays import Array, to_numpy
from clusterproof.neural.custom.references import load_own, user_error


def own_algorithm(name: str) -> type[Algorithm[Any]]:
    """Import a user-supplied algorithm.

    Parameters
    ----------
    name
        See ``references``; that of a concrete subclass of ``Algorithm``, a frozen dataclass.

    Raises
    ------
    InvalidArgument
        If it cannot be imported, is not such a class, or does not annotate the class of its states.
    """
    kind = load_own("algorithm", name)
    is_class = isinstance(kind, type) and issubclass(kind, Algorithm) and not inspect.isabstract(kind)
    is_complete = is_class and is_dataclass(kind) and isinstance(getattr(kind, "name", None), str)
    if not is_complete:
        rule = "must be a frozen dataclass with a `name` and all methods of clusterproof.algorithms.Algorithm"
        raise InvalidArgument("algorithm.name", name, rule, "see any algorithm of clusterproof.algorithms")
    try:
        state = get_type_hints(kind.initialise).get("return")
    except Exception as error:  # any error of a user's annotations
        raise user_error(
            "algorithm", name, error, "must have annotations that can be read, and raised"
        ) from error
    if not (isinstance(state, type) and issubclass(state, State) and is_dataclass(state)):
        rule = "must annotate `initialise` with the class of its states, a dataclass below State"
        raise InvalidArgument("algorithm.name", name, rule, "write `-> State`, or your class")
    algorithm: type[Algorithm[Any]] = kind
    return algorithm


def check_models(name: str, method: str, models: Any, shape: tuple[int, ...], dtype: str) -> None:
    """Require a torch tensor of a shape and a type, such as ``"float32"``, from an algorithm's method.

    Raises
    ------
    InvalidArgument
        If ``models`` are something else.
    """
    given = type(models).__name__
    if is_torch_array(models):
        given = f"{tuple(models.shape)} of type {_dtype(models)}"
    wanted = f"{shape} of type {dtype}"
    if given != wanted:
        rule = f"must return models from `{method}` as a tensor {wanted}, not {given}"
        raise InvalidArgument("algorithm.name", name, rule, "keep their shape and type")


def check_state(
    name: str, method: str, state: Any, kind: type[State], shape: tuple[int, ...], dtype: str
) -> None:
    """Require a state of a class, with models of a shape and a type.

    Raises
    ------
    InvalidArgument
        If ``state`` is something else.
    """
    if type(state) is not kind:
        rule = f"must return a {kind.__name__} from `{method}`, not {type(state).__name__}"
        raise InvalidArgument(
            "algorithm.name", name, rule, "return the class that `initialise` has as annotation"
        )
    check_models(name, method, state.models, shape, dtype)


def check_round(name: str, before: State, after: Any, clients: int, clusters: int) -> None:
    """Require a state of the same kind as before the round, with one cluster for each participant.

    Parameters
    ----------
    name
        Of the algorithm.
    before, after
        States before and after the round.
    clients, clusters
        Numbers that indices of participants and of their models are below.

    Raises
    ------
    InvalidArgument
        If ``after`` is something else.
    """
    check_state(name, "step", after, type(before), tuple(before.models.shape), _dtype(before.models))
    remedy = "return the participants' indices as `clients` and the cluster of each, or -1, as `assignments`"
    sizes = []
    for attribute, count, least in (("clients", clients, 0), ("assignments", clusters, -1)):
        indices = getattr(after, attribute)
        given = type(indices).__name__
        if is_torch_array(indices):
            given = f"{tuple(indices.shape)} of type {_dtype(indices)}"
        values = to_numpy(indices) if is_torch_array(indices) else None
        if values is None or values.dtype.kind not in "iu" or values.ndim != 1:
            rule = f"must return `{attribute}` from `step` as one integer a participant, not {given}"
            raise InvalidArgument("algorithm.name", name, rule, remedy)
        outside = values[(values < least) | (values >= count)]
        if outside.size:
            rule = f"must return `{attribute}` from `step` between {least} and {count - 1}, not {outside[0]}"
            raise InvalidArgument("algorithm.name", name, rule, remedy)
        sizes.append(len(values))
    if sizes[0] != sizes[1]:
        rule = f"must return an assignment for each of {sizes[0]} participants from `step`, not {sizes[1]}"
        raise InvalidArgument("algorithm.name", name, rule, remedy)


def _dtype(array: Array) -> str:
    return str(array.dtype).removeprefix("torch.")


def keyword_types(kind: Callable[..., Any]) -> dict[str, Any]:
    """Annotations of the arguments of a class or function, by name; Any if there is none.

    Parameters
    ----------
    kind
        Of a dataclass, its fields; of another class, the arguments of its constructor.
    """
    if is_dataclass(kind):
        names = [field.name for field in fields(kind) if field.init]
        source: Any = kind
    else:
        arguments = inspect.signature(kind).parameters.values()
        names = [
            entry.name for entry in arguments if entry.kind not in (entry.VAR_POSITIONAL, entry.VAR_KEYWORD)
        ]
        source = vars(kind).get("__init__", kind) if isinstance(kind, type) else kind
    try:
        hints = get_type_hints(source)
    except Exception:  # any error of a user's annotations
        hints = {}
    return {name: hints.get(name, Any) for name in names}

"""A user's own algorithm, held to the protocol: what it raises or gives is refused under its name.

Algorithms of ours are not looked at: what they raise is a defect.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, wraps
from typing import Any, TypeAlias, get_type_hints

import numpy as np
from array_api_compat import is_torch_array

from clusterproof.algorithms import Algorithm, InvalidArgument, Randomness, State
from clusterproof.algorithms.arrays import Array, to_numpy
from clusterproof.algorithms.protocol import Task
from clusterproof.neural.runs.storage.state_tree import map_arrays

Refuse: TypeAlias = Callable[[str, str], InvalidArgument]
"""Makes the error of a rule and a remedy."""

PROPERTIES = ("has_personal_step", "asks_single_gradients", "dynamics", "settings")


@cache  # one class for one class: records of it are equal where their parameters are
def guarded(found: type[Algorithm[Any]], name: str) -> type[Algorithm[Any]]:
    """Give a subclass of a user's algorithm whose answers are those of the protocol.

    Its methods raise ``InvalidArgument`` for ``algorithm.name`` where the user's raise anything but that, want of
    memory or Ctrl-C, saying where; and where they break the protocol:

    - ``model_count`` gives a positive integer P;
    - starting points have the shape (P, d) and the task's type, and models keep both, as what is personalised does;
      of an algorithm with a model for each client they are (m, d) from the first state on;
    - states are of their class and hold what can be stored;
    - a step says who took part, and which of the models each chose, or -1 for none.

    Parameters
    ----------
    found
        The user's class, whose ``initialise`` says by its annotation of which class states are.
    name
        What names it.
    """
    state: type[State] = get_type_hints(found.initialise)["return"]

    def refuse(rule: str, remedy: str) -> InvalidArgument:
        return InvalidArgument("algorithm.name", name, rule, remedy)

    def blame(what: str) -> AbstractContextManager[None]:
        return _blame(found, what, refuse)

    # mypy knows no base that is a value
    class Guarded(found):  # type: ignore[misc, valid-type]
        """The algorithm, guarded."""

        def __init__(self, *values: Any, **named: Any) -> None:
            with blame("its construction"):
                super().__init__(*values, **named)

        def model_count(self, task: Task) -> int:
            with blame("`model_count`"):
                count: Any = super().model_count(task)
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
                rule = f"must give an integer, at least 1, in `model_count`, and gave {count!r}"
                raise refuse(rule, "give the number of models that the server keeps")
            return int(count)

        def draw_models(self, task: Any, shape: tuple[int, ...], randomness: Randomness) -> Array:
            with blame("`draw_models`"):
                models = super().draw_models(task, shape, randomness)
            expected = (*shape, self.model_count(task), task.dimension)
            _check_models(models, "`draw_models`", expected, task.dtype, refuse)
            return models

        @wraps(found.initialise)  # for its annotation
        def initialise(self, models: Array, task: Task) -> State:
            with blame("`initialise`"):
                first: State = super().initialise(models, task)
            kept = task.clients if self.target == "clients" else models.shape[-2]
            _check_state(first, "`initialise`", state, (kept, models.shape[-1]), _type(models), refuse)
            return first

        def step(self, before: State, task: Task, randomness: Randomness) -> State:
            with blame("`step`"):
                after: State = super().step(before, task, randomness)
            held = before.models
            _check_state(after, "`step`", state, tuple(held.shape), _type(held), refuse)
            models = held.shape[-2] if self.target == "clusters" else task.clients
            _check_choices(after, task.clients, models, refuse)
            return after

        def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
            with blame("`personalise`"):
                personal = super().personalise(points, clients, task, randomness)
            _check_models(personal, "`personalise`", tuple(points.shape), _type(points), refuse)
            return personal

    for attribute in PROPERTIES:
        if isinstance(inspect.getattr_static(found, attribute), property):
            setattr(Guarded, attribute, _guarded_property(found, attribute, blame))
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(Guarded, attribute, getattr(found, attribute))
    return Guarded


def _guarded_property(
    found: type[Any], attribute: str, blame: Callable[[str], AbstractContextManager[None]]
) -> property:
    own: property = inspect.getattr_static(found, attribute)

    def get(algorithm: Any) -> Any:
        with blame(f"`{attribute}`"):
            return own.__get__(algorithm)

    return property(get)


@contextmanager
def _blame(found: type[Any], what: str, refuse: Refuse) -> Iterator[None]:
    """Refuse a user's class for what its code raises, and say where in its file that was."""
    try:
        yield
    except (InvalidArgument, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # whatever a stranger's algorithm raises
        if isinstance(error, RuntimeError) and "memory" in str(error):
            raise  # torch's want of memory
        text = " ".join(f"{type(error).__name__}: {error}".split())
        text = text if len(text) <= 300 else f"{text[:300]} ..."
        raise refuse(f"has raised {text}, in {what}{_place(found, error)}", "mend it") from error


def _place(found: type[Any], error: BaseException) -> str:
    """Give file and line of the innermost call in the files of a user's classes; empty where there is none."""
    own = [kind.__module__ for kind in found.__mro__ if issubclass(kind, Algorithm)]
    files = {
        getattr(sys.modules.get(module), "__file__", None)
        for module in own
        if not module.startswith("clusterproof.")
    }
    calls = [call for call in traceback.extract_tb(error.__traceback__) if call.filename in files]
    return f" ({calls[-1].filename}, line {calls[-1].lineno})" if calls else ""


def _check_models(models: Any, what: str, shape: tuple[int, ...], kind: str, refuse: Refuse) -> None:
    """Require a torch tensor of a shape and a type, such as ``"float32"``."""
    given = type(models).__name__
    if is_torch_array(models):
        given = f"{tuple(models.shape)} of type {_type(models)}"
    wanted = f"{shape} of type {kind}"
    if given != wanted:
        raise refuse(
            f"must give models in {what} as a tensor {wanted}, and gave {given}", "keep their shape and type"
        )


def _check_state(
    after: Any, what: str, kind: type[State], shape: tuple[int, ...], models: str, refuse: Refuse
) -> None:
    """Require a state of a class, with models of a shape and a type, that can be stored."""
    if type(after) is not kind:
        rule = f"must give a {kind.__name__} in {what}, and gave {type(after).__name__}"
        raise refuse(rule, "return the state, of the class that `initialise` has as its annotation")
    _check_models(after.models, what, shape, models, refuse)
    try:
        map_arrays(lambda array: array, after)
    except TypeError as error:
        remedy = "keep arrays, whole numbers, texts, lists of these, and dataclasses"
        raise refuse(f"has made something in {what} that cannot be stored: {error}", remedy) from error


def _check_choices(after: State, clients: int, clusters: int, refuse: Refuse) -> None:
    """Require that a state says who took part and which cluster each of them chose."""
    shapes = []
    for attribute, count, least in (("clients", clients, 0), ("assignments", clusters, -1)):
        chosen = getattr(after, attribute)
        remedy = "give the participants' indices as `clients` and the cluster of each as `assignments`"
        if not is_torch_array(chosen):
            rule = (
                f"must give `{attribute}` in `step` as a tensor of integers, and gave {type(chosen).__name__}"
            )
            raise refuse(rule, remedy)
        values = to_numpy(chosen)
        shapes.append(values.shape)
        if values.dtype.kind not in "iu" or values.ndim != 1:
            rule = f"must give `{attribute}` in `step` as one integer a participant, and gave {values.shape} of type"
            raise refuse(f"{rule} {values.dtype}", remedy)
        beyond = values[(values < least) | (values >= count)]
        if beyond.size:
            rule = f"must give `{attribute}` in `step` from {least} to {count - 1}, and gave {beyond[0]}"
            raise refuse(rule, remedy)
    if shapes[0] != shapes[1]:
        rule = f"must give one of `assignments` for each of the {shapes[0][0]} `clients` in `step`, and gave"
        raise refuse(f"{rule} {shapes[1][0]}", "give the cluster of each participant, in their order")


def _type(models: Array) -> str:
    return str(models.dtype).removeprefix("torch.")

"""Run an implementation on a probe, and copy the compared quantities after every round."""

import contextlib
import copy
import inspect
import io
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from clusterproof.common.limits import TimeLimitExceeded, time_limit
from clusterproof.common.validation import error_line
from clusterproof.conformance.definitions import Definition
from clusterproof.conformance.probes import Observed, Probe
from clusterproof.conformance.tasks import ConformanceTask
from clusterproof.conformance.tolerance import Snapshot, is_bounded

Start = Callable[[ConformanceTask, Mapping[str, Any]], Any]
"""An implementation: (task, settings) -> run. The run has ``run.round(participants)`` and ``run.model``."""

LONGEST = 10**6
"""Largest admissible time limit of a probe, in seconds."""
TIMEOUT = 60.0
"""Default time limit of a probe, in seconds."""


class Unusable(Exception):
    """Error for an implementation that ``conform`` cannot run; the message gives the reason and the remedy."""


class Settings(dict[str, Any]):
    """The settings for an implementation. If code reads an unknown setting, the error message lists all settings."""

    def __missing__(self, name: str) -> Any:
        """Raise ``KeyError`` with a list of all settings."""
        raise KeyError(f"settings has no {name!r}; it has {', '.join(self)}")


def observe(
    start: Start,
    definition: type[Definition],
    probe: Probe,
    *,
    after_round: Callable[[Any], None] | None = None,
    timeout: float = TIMEOUT,
) -> Observed:
    """Run an implementation for the rounds of a probe.

    Parameters
    ----------
    start
        The implementation.
    definition
        The algorithm; its quantities are copied if the run has them as attributes.
    probe
        Task, settings and participants of the run. The implementation receives copies of the task's arrays.
    after_round
        Function that is called with the run before the first round and after each round, after the quantities were
        copied.
    timeout
        Seconds after which the run is stopped, with the verdict ``"unusable"``.

    Returns
    -------
    Observed
        Quantities before the first round and after each round, as float64. The observation ends at the first value that
        exceeds 1e8 or is not finite. The result also contains the type of the model, ``"float32"`` or ``"float64"``.

    Raises
    ------
    Unusable
        If the implementation raises, returns no model of the right shape, changes the task or takes too long.
    """
    given = copy.deepcopy(probe.task)
    reference = definition(probe.task, probe.settings).snapshot()
    shapes = {name: value.shape for name, value in reference.items()}
    printed = io.StringIO()
    with undisturbed(printed), time_limit(timeout, waiting=True):
        try:
            known = {name: value for name, value in probe.settings.items() if name != "reported"}
            run = start(given, Settings(known))
            single = _offered(run, shapes)["model"].dtype.itemsize == 4
            states: list[Snapshot] = []
            for participants in ((), *probe.schedule):
                if states:
                    run.round(list(participants))
                states.append({name: value.astype(float) for name, value in _offered(run, shapes).items()})
                if not is_bounded(states[-1]):
                    break
                if after_round is not None:
                    after_round(run)
        except (Unusable, KeyboardInterrupt):
            raise
        except TimeLimitExceeded:
            rule = f"a run takes more than {timeout:g} s; raise the timeout if it is only slow"
            raise Unusable(rule) from None
        except BaseException as error:  # any error, even SystemExit, comes from the third-party code
            raise Unusable(_describe(error, printed.getvalue())) from error
    for name, array in probe.task.arrays().items():
        if not np.array_equal(getattr(given, name), array):
            raise Unusable(f"the implementation writes to task.{name}; copy the array before changing it")
    for name in definition.required:
        if name not in states[0]:
            raise Unusable(
                f"{definition.name} is compared by means of the {name} that a run reports; give `run.{name}`"
            )
    probe = replace(probe, settings=definition.judged(probe.settings, states))
    return Observed(probe, states, "float32" if single else "float64")


def _offered(run: Any, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Copy every quantity of the definition that a run has."""
    if getattr(run, "model", None) is None:
        raise Unusable(f"{type(run).__name__} has no model: give the server's model as its attribute `model`")
    offered = {}
    for name, shape in shapes.items():
        given = getattr(run, name, None)
        if given is None or (name != "model" and inspect.isroutine(given)):
            continue  # a method with the name of a quantity is not the quantity
        value = as_array(given, f"run.{name}")
        if name not in ("assignments", "groups") and (value.dtype.kind != "f" or value.dtype.itemsize < 4):
            raise Unusable(f"run.{name} has the type {value.dtype}; compute in float32 or float64")
        if value.shape != shape:
            raise Unusable(
                f"run.{name} has the shape {value.shape}, not {shape}; {_shape_remedy(value, shape)}"
            )
        offered[name] = value
    return offered


def _shape_remedy(value: np.ndarray, shape: tuple[int, ...]) -> str:
    if value.ndim == 1 == len(shape):
        return f"give the task's {shape[0]} parameters, without buffers"
    if len(shape) == 2:
        return f"give {shape[0]} rows, each with the parameters of one model"
    return "flatten the parameters"


def as_array(value: Any, name: str) -> np.ndarray:
    """Copy an array, a list or a tensor to a new array; a tensor may be on any device."""
    if inspect.ismethod(value):
        raise Unusable(f"{name} is a method; make it a property, with the decorator @property")
    try:
        array = np.array(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    except (ValueError, TypeError) as error:
        raise Unusable(f"{name} is no array ({error}); flatten the parameters to one array") from error
    if array.dtype.kind not in "fiuc":
        raise Unusable(
            f"{name} is {type(value).__name__}, not an array of numbers; flatten the parameters to one array"
        )
    return array


def _describe(error: BaseException, printed: str) -> str:
    """Describe an exception of the implementation in one line: class, message, file and line."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    tail = printed.strip().splitlines()[-1:]
    shown = f"; it printed {tail[0]!r}" if tail else ""
    remedy = ""
    if (
        isinstance(error, TypeError) and not frames
    ):  # the call itself failed, not a line of the implementation
        remedy = "; start must take (task, settings) and round a list of clients"
    return f"the implementation raises {error_line(error)}{place}{shown}{remedy}"


@contextlib.contextmanager
def undisturbed(printed: io.StringIO) -> Iterator[None]:
    """Capture printed text, ignore warnings, and afterwards restore the global state of random generators and torch."""
    with contextlib.ExitStack() as stack:
        stack.callback(random.setstate, random.getstate())
        stack.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002 - the global generator is restored
        # Any: torch is inspected only if the implementation's side has imported it
        torch: Any = sys.modules.get("torch")
        if torch is not None:
            stack.callback(torch.set_default_dtype, torch.get_default_dtype())
            stack.callback(torch.set_rng_state, torch.get_rng_state())
        stack.enter_context(contextlib.redirect_stdout(printed))
        stack.enter_context(contextlib.redirect_stderr(printed))
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(np.errstate(all="ignore"))
        warnings.simplefilter("ignore")
        yield


def advance_generators() -> None:
    """Draw from the global random generators; ``undisturbed`` restores their states later."""
    random.random()
    np.random.random()  # noqa: NPY002 - this must change the global generator
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.rand(())

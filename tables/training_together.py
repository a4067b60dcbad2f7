"""Training runs of several seeds of a table in one batch, each as if it were alone."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms import Algorithm, InvalidArgument, Randomness, State
from clusterproof.algorithms.arrays import Array, to_numpy
from clusterproof.algorithms.parts.finiteness import one_look
from clusterproof.tables.training_run import Measure, Snapshot, remember, task_arguments

if TYPE_CHECKING:
    from clusterproof.neural.replicates import ImageReplicates
    from clusterproof.neural.task import ImageTask

Result = TypeVar("Result")


def image_replicates(settings: Mapping[str, Any], seeds: Sequence[int]) -> ImageReplicates | None:
    """Make the task of runs of several seeds; None where they are to run one by one, as on a CPU.

    Arguments as of ``image_task``.
    """
    from clusterproof.neural.replicates import ImageReplicates

    if len(seeds) == 1:
        return None
    arguments = [task_arguments(settings, seed) for seed in seeds]
    if arguments[0]["device"] == "cpu":
        return None
    partitions = [given.pop("partition") for given in arguments]
    try:
        return ImageReplicates.of(partitions, **arguments[0])
    except InvalidArgument:  # what is wrong with a seed alone, its own run says
        return None


def train_together(
    algorithm: Algorithm[Any],
    task: ImageReplicates,
    *,
    rounds: int,
    seeds: Sequence[int],
    measure: Measure,
    every: int = 10,
    decay: float = 1.0,
) -> list[list[dict[str, Any]] | Exception]:
    """Run an algorithm for several seeds, and measure each now and then.

    Parameters
    ----------
    algorithm, rounds, measure, every, decay
        As of ``training_run.train``.
    task
        Of the seeds.
    seeds
        Of the runs, in the task's order.

    Returns
    -------
    list
        For each seed what ``train`` gives, but for rounding; or what it raises, while the others go on.
    """
    curves: list[list[dict[str, Any]]] = [[] for _ in seeds]
    ended: dict[int, Exception] = {}
    alone = [task.seed(place) for place in range(len(seeds))]
    known = np.full((len(seeds), task.clients), -1, dtype=np.int64)
    batch = _begun(algorithm, task, alone, seeds, ended)
    begun: Any = algorithm
    for done in range(1, rounds + 1):
        current = replace(begun, step_size=begun.step_size * decay ** (done - 1))
        batch = _after_round(current, batch, ended)
        if not batch.places:
            break
        _remember(known, batch)
        if done % every and done != rounds:
            continue
        for index, place in enumerate(batch.places):
            state = _of_state(batch.state, itemgetter(index))
            look = Snapshot(seeds[place], done, current, alone[place], state, known[place].copy())
            record = outcome_of(partial(measure, look))
            if isinstance(record, Exception):
                ended[place] = record
            else:
                curves[place].append({"round": done, **record})
        batch = batch.without(ended)
    return [ended.get(place, curve) for place, curve in enumerate(curves)]


def outcome_of(call: Callable[[], Result]) -> Result | Exception:
    """Give what a call gives, or what it raises."""
    try:
        return call()
    except Exception as error:
        return error


@dataclass(frozen=True)
class _Batch:
    """Runs that go on, by their places among all, and where they are; ``randomness`` moves on by itself."""

    places: list[int]
    task: ImageReplicates
    state: State
    randomness: Randomness

    def some(self, indices: list[int]) -> _Batch:
        """Some of them."""
        from clusterproof.neural.engines.draws.seed_streams import of_seeds

        places = [self.places[index] for index in indices]

        def chosen(array: Array) -> Array:
            return array_namespace(array).stack([array[index] for index in indices])

        state = _of_state(self.state, chosen)
        return _Batch(places, self.task.at(places), state, of_seeds(self.randomness, indices))

    def without(self, ended: Mapping[int, Exception]) -> _Batch:
        """Those that have not ended."""
        going = [index for index, place in enumerate(self.places) if place not in ended]
        if not going:
            return replace(self, places=[])
        return self if len(going) == len(self.places) else self.some(going)


def _begun(
    algorithm: Algorithm[Any],
    task: ImageReplicates,
    alone: Sequence[ImageTask],
    seeds: Sequence[int],
    ended: dict[int, Exception],
) -> _Batch:
    """Start every run as ``snapshots`` does: each draws its models by itself."""
    import torch

    from clusterproof.neural.engines.draws.seed_streams import side_by_side

    sources = [Randomness.from_seed(seed, "table") for seed in seeds]
    starts = {}
    for place, source in enumerate(sources):
        models = outcome_of(partial(algorithm.draw_models, alone[place], (), source))
        if isinstance(models, Exception):
            ended[place] = models
        else:
            starts[place] = models
    places = list(starts)
    if not places:
        return _Batch([], task, State(None, None, None), sources[0])
    here = task.at(places)
    models = torch.stack(list(starts.values()))
    randomness = side_by_side([sources[place] for place in places], models.device)
    return _Batch(places, here, algorithm.initialise(models, here), randomness)


def _after_round(algorithm: Algorithm[Any], batch: _Batch, ended: dict[int, Exception]) -> _Batch:
    """Carry out a round, of those whose round goes well; what ends the others is noted."""
    if not batch.places:
        return batch
    before = replace(batch, randomness=copy.deepcopy(batch.randomness))
    try:
        return one_round(algorithm, batch)
    except Exception:
        # whose fault it is, and in which words, each one's round by itself says
        for index, place in enumerate(batch.places):
            found = outcome_of(partial(one_round, algorithm, before.some([index])))
            if isinstance(found, Exception):
                ended[place] = found
        going = before.without(ended)
        if len(going.places) == len(batch.places):
            raise
        return _after_round(algorithm, going, ended)


def one_round(algorithm: Algorithm[Any], batch: _Batch) -> _Batch:
    """Carry out a round of all; the host looks once whether it went well."""
    with one_look():
        state = algorithm.step(batch.state, batch.task, batch.randomness)
    return replace(batch, state=state)


def _remember(known: np.ndarray, batch: _Batch) -> None:
    """Write the clusters of the round's participants into ``known`` (seeds, m)."""
    found = to_numpy(batch.state.assignments), to_numpy(batch.state.clients)
    for index, place in enumerate(batch.places):
        chosen, clients = (array[index] if array.ndim > 1 else array for array in found)
        remember(known[place], State(None, clients, chosen))


def _of_state(state: State, change: Callable[[Array], Array]) -> State:
    """Change the arrays that have an axis of replicates: all but those of one axis, which replicates share."""
    values = {field.name: getattr(state, field.name) for field in fields(state)}
    own = {name: change(value) for name, value in values.items() if getattr(value, "ndim", 0) > 1}
    return replace(state, **own)

"""CFL-MGD with one fault, which declares to be CFL-MGD."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clusterproof.algorithms import CFLMGD, Trace, run
from clusterproof.algorithms.randomness import Randomness
from clusterproof.synthetic import RegressionMixture

FAULTS = (
    "step 3 % too large",
    "step 3 % too small",
    "half of the rows",
    "every tenth round lost",
    "weight decay",
    "one client's data only",
    "noise 1.2 times too large",
    "seed reused every second round",
    "float16 models",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneClient(RegressionMixture):
    """A regression in which every sum of gradients is the first member's, times the number of members."""

    def gradient_sums(
        self, models: np.ndarray, clients: np.ndarray, assignments: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Sums of gradients, (..., P, d)."""
        count = models.shape[-2]
        chosen = np.take_along_axis(models, assignments[..., None], axis=-2)
        gradients = self.gradients(chosen, clients, generator)
        members = assignments[..., None, :] == np.arange(count)[:, None]
        first = members.argmax(axis=-1)
        single = np.take_along_axis(gradients, first[..., None], axis=-2)
        return np.asarray(single * members.sum(axis=-1)[..., None])


@dataclass(frozen=True, kw_only=True)
class Faulty(CFLMGD):
    """CFL-MGD with a fault of the rounds."""

    name: ClassVar[str] = "faulty"
    fault: str = ""

    @property
    def dynamics(self) -> CFLMGD:
        """What it declares to be."""
        names = [field.name for field in dataclasses.fields(CFLMGD)]
        return CFLMGD(**{name: getattr(self, name) for name in names})

    def step(self, state: Any, task: Any, randomness: Randomness) -> Any:
        """Carry out one round."""
        counts = _COUNTS.setdefault(id(randomness), [0, None])
        counts[0] += 1
        if self.fault == "seed reused every second round":
            if counts[0] % 2:
                counts[1] = copy.deepcopy(randomness)
            else:
                randomness = counts[1]
        after = self.dynamics.step(state, task, randomness)
        if self.fault == "every tenth round lost" and counts[0] % 10 == 0:
            return state
        if self.fault == "weight decay":
            models = after.models - self.step_size * 1e-3 * state.models
            return dataclasses.replace(after, models=models)
        if self.fault == "float16 models":
            return dataclasses.replace(after, models=after.models.astype(np.float16).astype(float))
        return after


_COUNTS: dict[int, list[Any]] = {}


def run_with_fault(
    fault: str,
    task: RegressionMixture,
    algorithm: CFLMGD,
    *,
    rounds: int,
    seed: int,
    replicates: int,
    initial: np.ndarray,
) -> Trace:
    """Run with a fault; the trace's settings are those of the right run."""
    _COUNTS.clear()
    factor = {"step 3 % too large": 1.03, "step 3 % too small": 0.97}.get(fault, 1.0)
    settings = vars(algorithm) | {"step_size": factor * algorithm.step_size}
    changes: dict[str, Any] = {
        "half of the rows": {"samples": task.samples // 2},
        "noise 1.2 times too large": {"noise": 1.2 * task.noise},
    }.get(fault, {})
    changed = dataclasses.replace(task, **changes)
    if fault == "one client's data only":
        fields = [field.name for field in dataclasses.fields(task) if field.init]
        changed = OneClient(**{name: getattr(task, name) for name in fields})
    trace = run(
        Faulty(fault=fault, **settings),
        changed,
        rounds=rounds,
        seed=seed,
        replicates=replicates,
        initial=initial,
    )
    right = {"dynamics": algorithm.settings, "task": dict(task.settings)}
    return dataclasses.replace(trace, settings={**trace.settings, **right})

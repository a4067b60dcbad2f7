"""What a user's algorithm returns is checked in every round of ``run``, and what it writes into is named."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from clusterproof.algorithms import Algorithm, State
from clusterproof.common import InvalidArgument
from clusterproof.running import Diverged, run
from clusterproof.synthetic import QuadraticMixture

TASK = QuadraticMixture.random(clusters=2, clients=6, dimension=2, seed=0)
CLIENTS = np.arange(6)


@dataclass(frozen=True)
class Buffered(State):
    buffers: list[np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Own(Algorithm[State]):
    name = "own"

    def model_count(self, task: Any) -> Any:
        return 1

    def initialise(self, models: Any, task: Any) -> Any:
        return Buffered(models, None, None, [np.zeros_like(models)])

    def step(self, state: Any, task: Any, randomness: Any) -> Any:
        return self.answer(state)

    def answer(self, state: Any) -> Any:
        return replace(state, models=state.models / 2, clients=CLIENTS, assignments=0 * CLIENTS)


def write_models(self: Own, state: Any) -> Any:
    models = state.models
    models *= 0.5
    return replace(state, models=models.copy(), clients=CLIENTS, assignments=0 * CLIENTS)


def write_buffers(self: Own, state: Any) -> Any:
    state.buffers[0][...] += 1
    return Own.answer(self, state)


def with_(**changes: Any) -> Any:
    return lambda self, state: replace(Own.answer(self, state), **changes)


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "writes models": ({"answer": write_models}, "it writes to the state's `models`. Compute a new array"),
    "writes buffers": (
        {"answer": write_buffers},
        "it writes to the state's `buffers.0`. Compute a new array",
    ),
    "target": ({"target": "pool"}, "a `target` among clusters, pooled, clients, not 'pool'"),
    "count": ({"model_count": lambda self, task: 0}, "from `model_count`, not 0"),
    "start": (
        {"initialise": lambda self, models, task: State(models[..., :1], None, None)},
        r"from `initialise` as an array \(.*1, 2\), not \(.*1, 1\)",
    ),
    "no state": ({"initialise": lambda self, models, task: models}, "a State from `initialise`, not ndarray"),
    "nothing": ({"answer": lambda self, state: None}, "a Buffered from `step`, not NoneType"),
    "another state": (
        {"answer": lambda self, state: State(state.models, CLIENTS, CLIENTS)},
        "must return a Buffered from `step`, not State",
    ),
    "shape": (
        {"answer": with_(models=np.zeros((1, 3)))},
        r"from `step` as an array \(.*1, 2\), not \(1, 3\)",
    ),
    "no clients": ({"answer": with_(clients=None)}, "`clients` from `step` as one integer .*, not NoneType"),
    "a list": ({"answer": with_(clients=list(range(6)))}, "`clients` from `step` .*, not list"),
    "real": ({"answer": with_(assignments=np.zeros(6))}, r"`assignments` .*, not \(6,\) of type float64"),
    "too many": ({"answer": with_(assignments=CLIENTS)}, "`assignments` from `step` between -1 and 0, not 1"),
    "a wrong client": (
        {"answer": with_(clients=CLIENTS + 1)},
        "`clients` from `step` between 0 and 5, not 6",
    ),
    "fewer": (
        {"answer": with_(assignments=np.zeros(3, int))},
        "6 assignments from `step`, one per participant, not 3",
    ),
}


def make(parts: dict[str, Any]) -> Own:
    return dataclass(frozen=True, kw_only=True)(type("Own", (Own,), parts))()


@pytest.mark.parametrize("replicates", [None, 3])
@pytest.mark.parametrize(("parts", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_by_name(parts: dict[str, Any], message: str, replicates: int | None) -> None:
    with pytest.raises(InvalidArgument, match=f"^algorithm is 'own'.*{message}"):
        run(make(parts), TASK, rounds=2, replicates=replicates)


@pytest.mark.parametrize("kind", ["int8", "object", "complex128"])
def test_models_that_are_no_floating_numbers_are_refused(kind: str) -> None:
    parts = {"step": lambda self, state, task, randomness: replace(state, models=state.models.astype(kind))}
    with pytest.raises(InvalidArgument, match=f"floating-point numbers, not of type {kind}"):
        run(make(parts), TASK, rounds=1)


def test_a_run_without_mistakes_halves_its_start() -> None:
    models = run(Own(), TASK, rounds=3, replicates=2).models
    np.testing.assert_array_equal(models[3], models[0] / 8)


def test_participants_may_differ_between_replicates() -> None:
    clients = np.array([[0, 1], [4, 5]])
    answer = with_(clients=clients, assignments=np.zeros(2, int))
    chosen = run(make({"answer": answer}), TASK, rounds=1, replicates=2).assignments[0]
    np.testing.assert_array_equal(chosen, [[0, 0, -1, -1, -1, -1], [-1, -1, -1, -1, 0, 0]])
    with pytest.raises(InvalidArgument, match=r"one integer per participant, not \(2, 2\)"):
        run(make({"answer": answer}), TASK, rounds=1, replicates=3)


def test_nan_ends_a_run_with_round_and_model() -> None:
    def answer(self: Own, state: Any) -> Any:
        good = Own.answer(self, state)
        return replace(good, models=np.where(good.models < 1, np.nan, good.models))

    start = np.full((1, 2), 7.0)  # 3.5, 1.75, then below 1
    with pytest.raises(Diverged, match="algorithm is 'own', but it led in round 3 to NaN in model 0") as end:
        run(make({"answer": answer}), TASK, rounds=9, initial=start)
    assert end.value.rounds == 2
    starts = np.stack([start, start / 4, start])
    with pytest.raises(Diverged, match="in round 1 to NaN in model 0 of replicate 1"):
        run(make({"answer": answer}), TASK, rounds=9, replicates=3, initial=starts)
    assert np.isfinite(run(make({"answer": answer}), TASK, rounds=2, initial=start).models).all()

"""Flower's messages without its processes: the server app's code and the client app, joined by a grid in this process.

It needs the environment of the extra `deploy`, and is skipped in another; `test_flower.py` has the processes.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra `deploy`, in an environment of its own: see the README")

from flwr.app import Context, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from clusterproof.deployment import flower_server
from clusterproof.deployment.__main__ import PARAMETERS
from clusterproof.deployment.example import example_task
from clusterproof.deployment.federation import DEPLOYED, replay
from clusterproof.deployment.flower_client import client_app
from clusterproof.deployment.local import CONFIG

pytestmark = pytest.mark.slow(reason="federations of every algorithm")

Plant = Callable[..., Any]
OPTIONS = {"clusters": 2, "clients": 6, "dimension": 5, "seed": 0}
ROUNDS = 4


@pytest.fixture(autouse=True)
def identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Flower tells a process that it starts."""
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


class HereGrid:
    """Answers when it is asked for replies; counts how many nodes have a question at a time.

    Parameters
    ----------
    config
        Of the run.
    dies_at
        The question, counted from 0, after which the node of client 4 is silent and another one takes its place.
    """

    def __init__(self, config: dict[str, Any], dies_at: int | None = None) -> None:
        self._config = config
        self._app = client_app()
        self._open: dict[str, Message] = {}
        self._dies_at = dies_at
        self._trained = 0
        self.nodes = {100 + client: client for client in range(6)}
        self.most_open = 0

    def get_node_ids(self) -> list[int]:
        return list(self.nodes)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        names = []
        for message in messages:
            names.append(f"message-{len(self._open)}-{self._trained}-{message.metadata.dst_node_id}")
            message.metadata.__dict__.update(_message_id=names[-1])
            self._open[names[-1]] = message
            self._trained += message.metadata.message_type == "train"
        asked = [own for own in self._open.values() if own.metadata.message_type == "train"]
        self.most_open = max(self.most_open, sum(own.metadata.dst_node_id in self.nodes for own in asked))
        if self._dies_at is not None and self._trained > self._dies_at and 104 in self.nodes:
            del self.nodes[104]
            self.nodes[204] = 4
        return names

    def pull_messages(self, names: Iterable[str]) -> list[Message]:
        here = [name for name in names if name in self._open]
        here = [name for name in here if self._open[name].metadata.dst_node_id in self.nodes]
        return [self._answer(self._open.pop(name)) for name in here]

    def _answer(self, message: Message) -> Message:
        node = message.metadata.dst_node_id
        node_config = {"client": self.nodes[node]}
        context = Context(
            run_id=1, node_id=node, node_config=node_config, state=RecordDict(), run_config=self._config
        )
        return self._app(message, context)


def run_here(plant: Plant, name: str, dies_at: int | None = None, **more: Any) -> tuple[Any, HereGrid]:
    plant(flower_server, "PAUSE", 0.001)
    plant(flower_server, "LOOK", 0.002)
    config = {
        **CONFIG,
        "algorithm": name,
        "parameters": json.dumps(PARAMETERS[name]),
        "rounds": ROUNDS,
        "data-options": json.dumps(OPTIONS),
        **more,
    }
    grid = HereGrid(config, dies_at)
    return flower_server.run_as_configured(grid, config, lambda _: None), grid  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(DEPLOYED))
def test_the_models_are_those_of_the_simulation_with_a_node_that_is_replaced(plant: Plant, name: str) -> None:
    record, grid = run_here(plant, name, dies_at=6, **{"at-once": 4})
    assert 4 not in record.participants[1]
    assert [number for number, client, _ in record.absences if client == 4] == [2]
    assert [len(own) for own in record.participants] == [6, 5, 6, 6]
    assert grid.most_open == 4
    algorithm = DEPLOYED[name](**PARAMETERS[name])
    simulated = replay(
        algorithm, example_task(**OPTIONS), record.participants, seed=0, task_name="deployment"
    )
    np.testing.assert_allclose(record.models, simulated.models, rtol=0, atol=1e-12)
    assert record.assignments == simulated.assignments
    if name in ("sofl", "cfl"):  # what they do once, for which they ask everybody
        assert len(set(record.assignments[-1])) == 2


def test_a_node_that_is_no_client_is_refused(plant: Plant) -> None:
    said: list[str] = []
    roster = flower_server.Roster(HereGrid({}), 5, 1.0, 2, said.append)  # type: ignore[arg-type]
    plant(flower_server, "PAUSE", 0.001)
    assert roster.present() == [0, 1, 2, 3, 4]
    assert said == ["node 105 is refused: client 5 is outside 0 .. 4"]

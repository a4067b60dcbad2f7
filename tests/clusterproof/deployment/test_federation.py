"""The server's and the client's side of a federation, joined by function calls: no network, no Flower."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from clusterproof.algorithms import CFL, CFLMGD, FPFC, IFCA, InvalidArgument, Randomness, SoFL, run
from clusterproof.deployment.client import answer
from clusterproof.deployment.example import example_task, own_data
from clusterproof.deployment.federation import DEPLOYED, Patience, Record, replay, run_federation
from clusterproof.deployment.local import CONFIG, write_app
from clusterproof.deployment.messages import Reply, Request
from clusterproof.deployment.remote_task import RemoteTask

pytestmark = pytest.mark.slow(reason="federations of every algorithm")

OPTIONS = {"clusters": 2, "clients": 6, "dimension": 5, "seed": 1}
TASK = example_task(**OPTIONS)
IMPATIENT = Patience(seconds=0.2, pause=0.01)

ALGORITHMS = [
    IFCA(step_size=0.2),
    IFCA(step_size=0.2, averaging="model", local_steps=3),
    CFLMGD(step_size=0.2, momentum=0.5),
    CFLMGD(step_size=0.2, momentum=0.5, averaging="model", local_steps=3),
    CFLMGD(step_size=0.1, momentum=0.5, averaging="model", local_steps=2, update_order="as-printed"),
    DEPLOYED["fedavg"](step_size=0.2, local_steps=2),
    DEPLOYED["fedprox"](step_size=0.2, local_steps=2),
    DEPLOYED["gradient-loss"](step_size=0.2),
    SoFL(step_size=0.2, pretraining=3),
    CFL(step_size=0.2, warm_up=2),
    FPFC(step_size=0.2, local_steps=3),
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """k-means on tiny data must not wait for threads that fight for the cores."""
    with threadpool_limits(1):
        yield


Carrier = Callable[[int, Request, Reply], Reply | None]


def federate(
    algorithm: Any,
    rounds: int,
    *,
    carry: Carrier = lambda _c, _q, reply: reply,
    here: Any = None,
    **given: Any,
) -> tuple[Record, list[Mapping[int, Request]]]:
    """Run a federation whose messages are function calls; ``carry`` may change or lose a reply."""
    sent: list[Mapping[int, Request]] = []

    def exchange(requests: Mapping[int, Request]) -> dict[int, Reply]:
        sent.append(requests)
        streams = Randomness.from_seed(0, "clients")
        replies = {
            client: carry(client, request, answer(own_data(client, **OPTIONS), request, streams))
            for client, request in requests.items()
        }
        return {client: reply for client, reply in replies.items() if reply is not None}

    task = RemoteTask(clients=6, clusters=2, dimension=5, exchange=exchange, name="regression")
    options = {"seed": 4, "present": here or (lambda: range(6)), "patience": IMPATIENT, **given}
    return run_federation(algorithm, task, rounds=rounds, **options), sent


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: f"{algorithm.name}")
@pytest.mark.parametrize("participation", [1.0, 0.5])
def test_with_everybody_there_the_models_are_those_of_a_simulation(
    algorithm: Any, participation: float
) -> None:
    algorithm = replace(algorithm, participation=participation)
    initial = np.random.default_rng(3).standard_normal((algorithm.model_count(TASK), 5))
    record, _ = federate(algorithm, 6, initial=initial)
    trace = run(algorithm, TASK, rounds=6, seed=4, initial=initial)
    np.testing.assert_allclose(np.array(record.models[1:]), trace.models[1:], rtol=0, atol=1e-12)
    assert record.absences == []


def test_each_exchange_is_one_message_a_client() -> None:
    for algorithm, exchanges in zip(ALGORITHMS, (2, 1, 2, 1, 3, 1, 1, 1, 1, 1, 1), strict=True):
        _, sent = federate(algorithm, 2)
        assert len(sent) == 2 * exchanges, algorithm


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: f"{algorithm.name}")
def test_absentees_are_left_out_by_the_algorithms_own_rule(algorithm: Any) -> None:
    """Client 3 is never there and client 1 comes late; nothing but the own participation of ``run`` decides."""
    if isinstance(algorithm, SoFL):
        algorithm = replace(algorithm, pretraining=10)
    if isinstance(algorithm, CFL):
        algorithm = replace(algorithm, warm_up=10)
    begun: list[int] = []

    def here() -> list[int]:
        begun.append(1)
        return [0, 2, 4, 5] if len(begun) < 3 else [0, 1, 2, 4, 5]

    record, sent = federate(algorithm, 4, here=here)
    assert record.participants == [[0, 2, 4, 5]] * 2 + [[0, 1, 2, 4, 5]] * 2
    assert not any(3 in requests for requests in sent)
    simulated = replay(algorithm, TASK, record.participants, seed=4, task_name="regression")
    np.testing.assert_allclose(record.models, simulated.models, rtol=0, atol=1e-12)
    if isinstance(algorithm, FPFC):  # a client that is away keeps its model
        np.testing.assert_array_equal(record.models[-1][3], record.models[0][0])


def test_a_round_that_is_begun_again_changes_nobodys_turn_in_later_rounds() -> None:
    """Who takes part is drawn once a round, however often it is tried: the other rounds are those of ``run``."""
    algorithm = IFCA(step_size=0.2, participation=0.5)
    undisturbed, _ = federate(algorithm, 5)
    lost = undisturbed.participants[1][0]
    asked: list[int] = []

    def carry(client: int, request: Request, reply: Reply) -> Reply | None:
        asked.append(client)
        return None if client == lost and len(asked) > 6 and asked[6:].count(lost) == 1 else reply

    record, _ = federate(algorithm, 5, carry=carry)
    assert [number for number, _, _ in record.absences] == [2]
    expected = [
        [client for client in own if (n, client) != (1, lost)]
        for n, own in enumerate(undisturbed.participants)
    ]
    assert record.participants == expected


def test_gradient_averaging_divides_by_all_clients_whoever_is_there() -> None:
    """CFL-MGD (5) and IFCA divide by m: with two of six there the step is a third of the two's mean gradient."""
    initial = np.zeros((2, 5))
    initial[1] = 100.0  # nobody chooses it
    record, _ = federate(IFCA(step_size=0.2), 1, here=lambda: [0, 2], initial=initial)
    gradients = TASK.gradients(np.zeros((2, 5)), np.array([0, 2]), np.random.default_rng(0))
    np.testing.assert_allclose(record.models[1][0], -0.2 * gradients.sum(axis=0) / 6)


FAULTS = {
    "point of shape": lambda reply: with_array(reply, point=np.ones(7)),
    "not finite": lambda reply: with_array(reply, point=np.full(5, np.inf)),
    "counts -3": lambda reply: replace(with_array(reply, point=np.ones(5)), samples=-3),
    "counts 0 examples": lambda reply: replace(reply, samples=0),
    "no integer": lambda reply: replace(reply, samples=2.5),
    "outside 1 .. 2^53": lambda reply: replace(reply, samples=2**60),
    "cluster 2, outside 0 .. 1": lambda reply: with_array(reply, assignment=np.asarray(2)),
    "cluster -1, outside": lambda reply: with_array(reply, assignment=np.asarray(-1)),
    "assignment of type float64": lambda reply: with_array(reply, assignment=np.asarray(1.0)),
    "sent assignment, extra, point": lambda reply: with_array(reply, extra=np.ones(5)),
    "point of type <U1": lambda reply: with_array(reply, point=np.array(["x"] * 5)),
}


def with_array(reply: Reply, **arrays: np.ndarray) -> Reply:
    return replace(reply, arrays={**reply.arrays, **arrays})


@pytest.mark.parametrize("words", FAULTS)
def test_an_impossible_reply_is_refused_and_named_and_moves_nothing(words: str) -> None:
    algorithm = IFCA(step_size=0.2, averaging="model", local_steps=2)
    said: list[str] = []

    def carry(client: int, request: Request, reply: Reply) -> Reply:
        return FAULTS[words](reply) if client == 3 else reply

    record, sent = federate(algorithm, 3, carry=carry, report=said.append)
    assert [(number, client) for number, client, _ in record.absences] == [(1, 3), (2, 3), (3, 3)]
    assert all(words in reason for _, _, reason in record.absences)
    assert any("client 3 is refused: it" in line and words in line for line in said)
    assert record.participants == [[0, 1, 2, 4, 5]] * 3
    simulated = replay(algorithm, TASK, record.participants, seed=4, task_name="regression")
    np.testing.assert_allclose(record.models, simulated.models, rtol=0, atol=1e-12)
    # who has answered is not asked again when the round is begun anew without the other
    assert len(sent) == 3


def test_a_reply_for_another_cluster_than_asked_is_refused() -> None:
    def carry(client: int, request: Request, reply: Reply) -> Reply:
        return with_array(reply, assignment=np.asarray(1 - int(reply.arrays["assignment"])))

    streams = Randomness.from_seed(0, "clients")
    task = RemoteTask(
        clients=6,
        clusters=2,
        dimension=5,
        exchange=lambda requests: {
            client: carry(client, request, answer(own_data(client, **OPTIONS), request, streams))
            for client, request in requests.items()
        },
    )
    with pytest.raises(Exception, match="trained cluster 1 instead of 0"):
        task.cluster_training(
            np.zeros((2, 5)), None, np.array([2]), np.array([0]), None, None, weights=None,
            step_size=0.1, momentum=0.0, proximal=0.0, local_steps=1,
        )  # fmt: skip


def test_an_algorithm_that_needs_everybody_waits_and_then_says_for_whom() -> None:
    """SoFL's clustering has all clients: while one is away that round is not carried out with the others."""
    algorithm = SoFL(step_size=0.2, pretraining=1)
    with pytest.raises(InvalidArgument, match=r"round 2, waiting for clients \[3\], without whom sofl"):
        federate(
            algorithm, 3, here=lambda: [0, 1, 2, 4, 5], carry=lambda c, _, reply: None if c == 3 else reply
        )
    asked: list[int] = []

    def comes_back(client: int, request: Request, reply: Reply) -> Reply | None:
        asked.append(client)
        return None if client == 3 and asked.count(3) < 4 else reply

    record, _ = federate(algorithm, 3, carry=comes_back, here=lambda: range(6), patience=Patience(pause=0.01))
    assert record.participants[-1] == list(range(6))
    simulated = replay(algorithm, TASK, record.participants, seed=4, task_name="regression")
    np.testing.assert_allclose(record.models, simulated.models, rtol=0, atol=1e-12)


def test_no_round_begins_without_the_fewest() -> None:
    with pytest.raises(InvalidArgument, match=r"waiting for 4 clients, of whom 2 are there"):
        federate(IFCA(step_size=0.2), 1, here=lambda: [0, 5], patience=replace(IMPATIENT, fewest=4))


def test_an_algorithm_that_is_not_deployed_is_refused() -> None:
    from clusterproof.algorithms import PerFedAvg

    with pytest.raises(InvalidArgument, match="algorithm = 'per-fedavg': must be one of ifca"):
        federate(PerFedAvg(step_size=0.1), 1)


def test_the_app_is_written_with_its_configuration(tmp_path: Path) -> None:
    import tomllib

    write_app(tmp_path, {"rounds": 7, "parameters": json.dumps({"step_size": 0.1})})
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))
    config = project["tool"]["flwr"]["app"]["config"]
    assert config == {**CONFIG, "rounds": 7, "parameters": '{"step_size": 0.1}'}
    assert project["project"]["dependencies"] == []  # nothing is installed at run time
    assert (tmp_path / "clusterproof_federation" / "client.py").exists()
    with pytest.raises(InvalidArgument, match="round = 7: is no entry of a run"):
        write_app(tmp_path, {"round": 7})

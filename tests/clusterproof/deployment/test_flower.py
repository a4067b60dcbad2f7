"""A real federation on this machine: Flower's SuperLink and six SuperNodes over loopback with TLS.

One run: client 5 sends something impossible in each of the first four rounds, and the node of client 4 is killed and
started again in mid-run. It needs the environment of the extra `deploy`, and is skipped in another.
"""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra `deploy`, in an environment of its own: see the README")

from clusterproof.algorithms import CFLMGD
from clusterproof.deployment.example import example_task
from clusterproof.deployment.federation import replay
from clusterproof.deployment.local import LocalFederation

pytestmark = pytest.mark.slow(reason="starts and kills processes of Flower")

SECONDS = 600
OPTIONS = {"clusters": 2, "clients": 6, "dimension": 5, "seed": 0}
PARAMETERS = {"step_size": 0.2, "momentum": 0.5, "averaging": "model", "local_steps": 3}
ROUNDS = 5

CLIENT = """
from dataclasses import replace
from pathlib import Path

import numpy as np

from clusterproof.deployment.client import answer
from clusterproof.deployment.flower_client import client_app

COUNTER = Path({counter!r})


def reply(data, request, randomness):
    honest = answer(data, request, randomness)
    if data.index != 5:
        return honest
    number = len(COUNTER.read_text()) if COUNTER.exists() else 0
    COUNTER.write_text("x" * (number + 1))
    arrays = dict(honest.arrays)
    if number == 0:
        return replace(honest, arrays=dict(arrays, point=1e6 * np.ones(7)))
    if number == 1:
        return replace(honest, arrays=dict(arrays, point=np.full(5, np.nan)))
    if number == 2:
        return replace(honest, arrays=dict(arrays, point=1e6 * np.ones(5)), samples=-3)
    if number == 3:
        return replace(honest, arrays=dict(arrays, assignment=np.asarray(7), point=1e6 * np.ones(5)))
    return honest


app = client_app(reply)
"""


@pytest.mark.timeout(900)
def test_six_nodes_over_tls_with_a_crash_and_impossible_replies(tmp_path: Path) -> None:
    source = CLIENT.format(counter=str(tmp_path / "counter"))
    config = {
        "algorithm": "cfl-mgd",
        "parameters": json.dumps(PARAMETERS),
        "rounds": ROUNDS,
        "data-options": json.dumps(OPTIONS),
        "reply-seconds": 240.0,
        "fewest": 6,  # so that a round waits for the node that was killed
    }
    with LocalFederation(tmp_path / "federation", 6, client=source) as federation:
        out = federation.submit("run", config)
        federation.wait_for_round(out, 1, SECONDS)
        federation.kill_node(4)
        federation.start_node(4)
        record = federation.wait(out, SECONDS)
        processes = [process.pid for process in federation.nodes.values()]
        with np.load(out / "models.npz") as stored:
            models, first = stored["models"], stored["first"]
        said = (out / "log.txt").read_text(encoding="utf-8")
    refused = {number: reason for number, client, reason in record["absences"] if client == 5}
    for number, words in enumerate(
        ("point of shape (7,)", "not finite", "counts -3 examples", "chose cluster 7, outside 0 .. 1"),
        start=1,
    ):
        assert words in refused[number]
        assert f"round {number}: client 5 is refused" in said
    assert sorted(refused) == [1, 2, 3, 4]
    participants = record["participants"]
    assert [5 in present for present in participants] == [False, False, False, False, True]
    assert len(participants) == ROUNDS
    assert all(set(present) >= {0, 1, 2, 3} for present in participants)
    assert 4 in participants[0]
    assert 4 in participants[-1]
    # neither the refused client nor the dead node has moved anything: those present alone make these models
    simulated = replay(
        CFLMGD(**PARAMETERS), example_task(**OPTIONS), participants, seed=0, task_name="deployment"
    )
    np.testing.assert_array_equal(first, simulated.models[0])
    np.testing.assert_allclose(models, simulated.models[1:], rtol=0, atol=1e-6)
    assert np.abs(models[-1] - first).max() > 0.1
    assert not any(Path(f"/proc/{process}").exists() for process in processes)

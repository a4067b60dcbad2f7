"""A method of ten lines from a user's file is in everything: a run with its page, training, a sweep, conform, a claim.

The file and the claim are those of ``docs/tutorials/write-an-algorithm.md``; loops compute here what they must give.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars
import pytest

from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.commands.application import main
from clusterproof.conformance.definitions import DEFINITIONS, KNOWN_MISTAKES

GUIDE = Path(__file__).parents[2] / "docs" / "tutorials" / "write-an-algorithm.md"
BY_HAND = """
class ByHand:
    def __init__(self, task, settings):
        self.task, self.settings = task, settings
        self.model, self.drift = task.start.copy(), {}

    def round(self, participants):
        moves = {}
        for i in participants:
            size = int(self.task.samples[i])
            y = self.model.copy()
            for _ in range(self.settings["local_epochs"] * -(-size // (self.settings["batch_size"] or size))):
                y = y - self.settings["step_size"] * (self.task.gradient(i, y) - self.drift.get(i, 0.0))
            moves[i] = y - self.model
        mean = sum(moves.values()) / len(moves)
        for i in participants:
            self.drift[i] = KEPT * self.drift.get(i, 0.0) + mean - moves[i]
        self.model = self.model + mean
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the guide's files and the same method by hand, right and wrong."""
    for name, text in re.findall(
        r"New file `(drift_\w+\.py)`:\n\n```python\n(.*?)```", GUIDE.read_text(), re.S
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "right.py").write_text(BY_HAND.replace("KEPT", 'self.settings["keep"]'))
    decayed = BY_HAND.replace("KEPT", 'self.settings["keep"]').replace("(i, y)", "(i, y) + 0.01 * y")
    (tmp_path / "decayed.py").write_text(decayed)
    (tmp_path / "wrong.py").write_text(BY_HAND.replace("KEPT", "0.9"))
    monkeypatch.chdir(tmp_path)
    with patch.dict(REGISTRY), patch.dict(DEFINITIONS), patch.dict(KNOWN_MISTAKES):
        yield tmp_path


METHOD = "drift_memory.py:drift_memory"


def test_it_runs_and_its_page_says_where_it_rests(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = "--clients 6 --dimension 3 --condition-number 4 --spread 0.3"
    command = f"run {METHOD} --task quadratic {settings} --step-size 0.1 --local-steps 5 --keep 0.25"
    assert main([*command.split(), "--rounds", "400", "--out", "stored", "--plot", "page.svg"]) == 0
    assert "</svg>" in (place / "page.svg").read_text()
    task = json.loads((place / "stored" / "run.json").read_text())["settings"]["task"]
    hessians, centers = np.array(task["hessians"]), np.array(task["centers"])
    optimum = np.linalg.solve(hessians.mean(axis=0), np.einsum("mij,mj->i", hessians, centers) / 6)
    model, drift = np.zeros(3), np.zeros((6, 3))
    for _ in range(4000):  # to where it rests, by hand
        ends = np.repeat(model[None], 6, axis=0)
        for _ in range(5):
            gradients = np.einsum("mij,mj->mi", hessians, ends - centers)
            ends = ends - 0.1 * (gradients - drift)
        moves = ends - model
        model, drift = model + moves.mean(axis=0), 0.25 * drift + moves.mean(axis=0) - moves
    distance = np.linalg.norm(model - optimum)
    said = re.search(r"This point is exactly (\S+) from", " ".join(capsys.readouterr().out.split()))
    assert said is not None
    assert float(said[1]) == pytest.approx(distance, rel=5e-3)


def test_it_trains_and_is_swept(place: Path) -> None:
    train = f"train --algorithm {METHOD} --data digits --rounds 2 --step-size 0.05 --keep 0.1 --out trained"
    assert main(train.split()) == 0
    assert polars.read_parquet(place / "trained" / "metrics.parquet").height >= 1
    (place / "sweep.toml").write_text(
        f'measure = ["error"]\nrounds = 3\nseeds = 1\n[settings]\ntask = "quadratic"\nclients = 4\ndimension = 2\n'
        f'step_size = 0.1\n[grid]\nalgorithm = ["{METHOD}", "fedavg"]\nkeep = [0.0, 0.5]\n'
    )
    assert main(["sweep", "sweep.toml", "--parquet", "sweep.parquet", "--jobs", "1", "--code", METHOD]) == 0
    assert set(polars.read_parquet(place / "sweep.parquet")["algorithm"]) == {"drift-memory", "fedavg"}


@pytest.mark.parametrize(("code", "status"), [("right.py:ByHand", 0), ("wrong.py:ByHand", 1), (METHOD, 0)])
@pytest.mark.usefixtures("place")
def test_code_is_compared_with_it(code: str, status: int) -> None:
    assert main(["conform", code, "--as", METHOD]) == status


@pytest.mark.usefixtures("place")
def test_it_is_compared_with_declared_weight_decay() -> None:
    assert main(["conform", "decayed.py:ByHand", "--as", METHOD, "--set", "weight_decay=0.01"]) == 0


def test_a_claim_about_it_is_proved(place: Path) -> None:
    assert main(["check", "drift_claim.py", "--json", "verdicts.json"]) == 0
    (verdict,) = json.loads((place / "verdicts.json").read_text())["claims"]
    assert verdict["verdict"] == "certified"

"""`clusterproof train --diagnose`: the report is there whatever happens on the way, and the run is the same."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from planting import planted

from clusterproof.algorithms import InvalidArgument
from clusterproof.commands.application import main
from clusterproof.experiments.diagnosis import Diagnostician
from clusterproof.neural.runs import training
from clusterproof.neural.runs.configuration import Configuration, configuration_from
from clusterproof.neural.runs.storage.run_folder import stored_configuration

# torch's own, when it derives forwards for the first time
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

FILES = ("diagnosis.md", "diagnosis.json")


train = partial(training.train, observer=Diagnostician)


def configure(rounds: int = 3, diagnose: bool = True, **algorithm: Any) -> Configuration:
    return configuration_from(
        {
            "partition": {"name": "rotated-groups", "clusters": 2, "clients_per_cluster": 3, "images": 240},
            "network": {"name": "mlp", "hidden": [4]},
            "algorithm": {"name": "cfl-mgd", "averaging": "model", "local_steps": 2, **algorithm},
            "training": {
                "rounds": rounds,
                "checkpoint_every": 2,
                "step_size_decay": 0.9,
                "threads": 1,
                "diagnose": diagnose,
            },
        }
    )


def report(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


@pytest.mark.slow(reason="three diagnosed runs")
def test_an_interrupted_run_has_the_same_report_and_its_models_are_untouched(tmp_path: Path) -> None:
    train(configure(diagnose=False), out=tmp_path / "plain")
    train(configure(), out=tmp_path / "whole")
    rounds = iter([False, True])  # after the second, of which there is a snapshot
    train(configure(), out=tmp_path / "parts", stop=lambda: next(rounds))
    assert not (tmp_path / "parts" / FILES[0]).exists()
    train(stored_configuration(tmp_path / "parts"), out=tmp_path / "parts", resume=True)
    assert report(tmp_path / "whole") == report(tmp_path / "parts")
    assert train(configure(), out=tmp_path / "parts", resume=True).complete  # nothing is left to be done
    assert report(tmp_path / "whole") == report(tmp_path / "parts")
    record = json.loads((tmp_path / "whole" / FILES[1]).read_text())
    assert [each["round"] for each in record["observations"]] == [2, 3]
    steps = [each["step_size"] for each in record["observations"]]
    assert steps == pytest.approx([0.1 * 0.9 ** (done - 1) for done in (2, 3)])
    assert all(value > 0 for value in record["start_distances"])
    models = [
        safetensors.numpy.load_file(tmp_path / run / "checkpoints" / "checkpoint-000003.safetensors")
        for run in ("plain", "whole")
    ]
    assert models[0].keys() == models[1].keys()
    assert all((models[0][key] == models[1][key]).all() for key in models[0])


@pytest.mark.slow(reason="trains and diagnoses a network")
def test_a_finished_run_is_diagnosed_by_its_last_models(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "run"
    train(configure(diagnose=False), out=out)
    assert main(["train", "--resume", str(out), "--diagnose"]) == 0
    assert f"hypotheses of CFL-MGD's theory in {out / FILES[0]}" in capsys.readouterr().out
    record = json.loads((out / FILES[1]).read_text())
    assert [each["round"] for each in record["observations"]] == [3]
    assert record["start_distances"] == [None, None]  # nobody has seen the first models
    before = report(out)
    assert main(["train", "--resume", str(out)]) == 0
    assert report(out) == before
    # more rounds: another report, which still lacks the start
    assert main(["train", "--resume", str(out), "--rounds", "4"]) == 0
    record = json.loads((out / FILES[1]).read_text())
    assert [each["round"] for each in record["observations"]] == [4]


@pytest.mark.slow(reason="two diagnosed runs")
def test_a_report_that_cannot_be_written_is_made_later(tmp_path: Path) -> None:
    from clusterproof.experiments.diagnosis import diagnosis_report

    def full(*_: object) -> None:
        raise InvalidArgument("out", "diagnosis.md", "must be a file that can be written (disk full)", "...")

    with planted(diagnosis_report, "write", full), pytest.raises(InvalidArgument, match="--resume"):
        train(configure(), out=tmp_path / "run")
    result = train(stored_configuration(tmp_path / "run"), out=tmp_path / "run", resume=True)
    assert result.complete
    assert all((tmp_path / "run" / name).stat().st_size > 1000 for name in FILES)


@pytest.mark.slow(reason="trains and diagnoses a network")
def test_networks_are_not_convex_and_the_report_says_so(tmp_path: Path) -> None:
    """On the digits with a narrow network: what must be so, whatever the numbers are."""
    train(configure(rounds=1), out=tmp_path / "run")
    record = json.loads((tmp_path / "run" / FILES[1]).read_text())
    found = {each["name"]: each for each in record["hypotheses"]}
    assert found["Section 5 (algorithm)"]["answer"] == "fails"  # option II
    assert found["Assumption 5 (unbiasedness, by resampling)"]["answer"] == "fails"
    assert found["Assumption 2 (strong convexity)"]["answer"] != "holds"
    for observation in record["observations"]:
        for cluster in observation["clusters"]:
            smallest, largest = cluster["curvature"]["value"]
            assert smallest < 0 < largest
            assert np.isfinite(cluster["gradient_norm"])

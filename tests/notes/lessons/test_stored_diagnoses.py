"""Lesson 8's numbers: the stored diagnoses say them, and its commands make these files."""

import importlib
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkout import ROOT

from clusterproof.commands.application import main
from clusterproof.notes.results import DIGITS_DIAGNOSIS, MNIST_DIAGNOSIS

# torch's own, when it derives forwards for the first time
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

LESSON = ROOT / "notes/lessons/lesson_8_proof_to_network.py"


@pytest.fixture(scope="module")
def prose(claims_of_files: None) -> str:
    """The lesson's text as it is read, computed numbers and all."""
    lesson = importlib.import_module("clusterproof.notes.lessons.lesson_8_proof_to_network")
    outputs, _ = lesson.app.run()
    texts = [shown.text for shown in outputs if hasattr(shown, "text")]
    return " ".join(re.sub(r"<[^>]+>", " ", " ".join(texts)).replace("\N{NO-BREAK SPACE}", " ").split())


def clusters_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """What was measured of each cluster at the end of the run."""
    return record["observations"][-1]["clusters"]


def test_the_numbers_of_the_papers_setting_are_those_of_the_stored_measurements(prose: str) -> None:
    """Not from what the diagnosis concludes, which the lesson reads, but from what it observed."""
    record = json.loads(MNIST_DIAGNOSIS.read_text(encoding="utf-8"))
    last, cells, settings = record["observations"][-1], clusters_of(record), record["settings"]
    samples, steps = settings["task"]["partition"]["samples"], settings["algorithm"]["local_steps"]
    gaps = [np.delete(cell["gaps"]["value"], cell["model"]) for cell in cells]
    variances = [np.delete(cell["difference_variance"]["value"], cell["model"]) for cell in cells]
    cantelli = [
        float((v / (v + samples * g**2)).sum()) for v, g in zip(variances, gaps, strict=True) if (g > 0).all()
    ]
    assert len(cantelli) == len(cells) == 4
    ends = [cell["curvature"]["outer"] for one in record["observations"] for cell in one["clusters"]]
    apart = next(one["numbers"] for one in record["hypotheses"] if one["name"] == "Theorem 1 (rounds)")[
        "separation"
    ]
    assert f"\\le {apart / 4:.1f}||) {max(record['start_distances']):.1f} away" in prose
    assert f"smallest eigenvalue between \N{MINUS SIGN}{-min(map(min, ends)):.2f} and" in prose
    assert f"optima of norm about 1 {max(cell['norm'] for cell in cells):.1f}" in prose
    fresh = f"{settings['rounds'] * samples * (1 + steps):,}".replace(",", " ")
    assert f"fresh samples for every step and choice: {fresh} a client {samples}, used again" in prose
    least = min(
        min(np.delete(cell["gaps"]["value"], cell["model"]))
        for one in record["observations"]
        for cell in one["clusters"]
    )
    assert f"by {least:.1f} or more in the loss" in prose
    assert f"Cantelli allows {100 * np.mean(cantelli):.1f} % of the clients" in prose
    assert sum(cell["wrong"] for cell in cells) == 0 < sum(cell["asked"] for cell in cells)
    assert f"{last['step_size'] * max(map(max, ends)):.2f} at most: holds" in prose


def test_the_digits_fail_and_hold_what_the_lesson_counts(prose: str) -> None:
    record = json.loads(DIGITS_DIAGNOSIS.read_text(encoding="utf-8"))
    answers = [one["answer"] for one in record["hypotheses"]]
    counted = [answers.count(answer) for answer in ("holds", "fails", "not decidable")]
    assert sum(counted) == len(answers)
    assert (
        "Of {} hypotheses {} hold, {} fail and {} cannot be decided.".format(len(answers), *counted) in prose
    )
    assert min(cell["curvature"]["value"][0] for cell in clusters_of(record)) < 0


def command_of(data: str) -> list[str]:
    """The words of the lesson's command on a data set."""
    (line,) = re.findall(rf"`clusterproof (train --data {data} [^`]*)`", LESSON.read_text(encoding="utf-8"))
    return shlex.split(line)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("data", "stored"), [("digits", DIGITS_DIAGNOSIS), ("mnist", MNIST_DIAGNOSIS)])
def test_the_lessons_command_makes_the_stored_file(
    data: str, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if data != "digits" and not os.environ.get("CLUSTERPROOF_DATA"):
        pytest.skip("CLUSTERPROOF_DATA names no folder of images, and with them this takes minutes")
    monkeypatch.chdir(tmp_path)
    words = command_of(data)
    assert main(words) == 0
    made = json.loads((Path(words[words.index("--out") + 1]) / "diagnosis.json").read_text(encoding="utf-8"))
    known = json.loads(stored.read_text(encoding="utf-8"))
    assert made["settings"] == known["settings"]
    for one, other in zip(made["hypotheses"], known["hypotheses"], strict=True):
        assert (one["name"], one["answer"]) == (other["name"], other["answer"])
        assert one["numbers"].keys() == other["numbers"].keys()
        for name, value in one["numbers"].items():  # sums in another order, on another machine
            expected = other["numbers"][name]
            close = (
                value == expected
                if expected is None
                else value == pytest.approx(expected, rel=0.01, abs=1e-4)
            )
            assert close, (one["name"], name)

"""Lesson 9's command makes the stored diagnosis of the digits."""

import json
import re
import shlex
from pathlib import Path

import pytest
from checkout import ROOT

from clusterproof.commands.application import main
from results import DIGITS_DIAGNOSIS

LESSON = ROOT / "notes/lessons/lesson_9_proof_to_network.py"


@pytest.mark.slow(reason="trains a network and measures its curvature")
# torch's own, when it derives forwards for the first time
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_the_lessons_command_gives_the_stored_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (line,) = re.findall(r"`clusterproof (train --data digits [^`]*)`", LESSON.read_text(encoding="utf-8"))
    words = shlex.split(line)
    monkeypatch.chdir(tmp_path)
    assert main(words) == 0
    made, stored = (
        json.loads(path.read_text(encoding="utf-8"))
        for path in (Path(words[words.index("--out") + 1]) / "diagnosis.json", DIGITS_DIAGNOSIS)
    )
    assert made["settings"] == stored["settings"]
    answers = [{one["name"]: one["answer"] for one in each["hypotheses"]} for each in (made, stored)]
    assert answers[0] == answers[1]

"""``claims --verdict`` and ``run --json``."""

import json
from pathlib import Path

import numpy as np
import pytest

from clusterproof.algorithms.storage import load_trace
from clusterproof.commands.application import main
from clusterproof.theory.report.stored_verdicts import read_verdicts


@pytest.mark.parametrize(
    "words",
    [["ifca", "--replicates", "3"], ["local"], ["fedavg", "--step-size", "1e70", "--local-steps", "1"]],
)
def test_the_record_of_a_run_is_that_of_its_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", *words, "--rounds", "3", "--json", "r.json", "--out", "trace"]) == 0
    record, trace = json.loads(Path("r.json").read_text()), load_trace(Path("trace"))
    assert record["settings"] == trace.settings
    output = capsys.readouterr().out
    if words[0] == "ifca":
        assert record["last_errors"] == pytest.approx(np.median(trace.errors[-1], axis=0).tolist())
        assert record["bound_claim"] == "cfl-mgd/theorem-d"
        assert len(record["bound"]) == len(record["last_errors"]) == 3
        assert f"{np.median(trace.errors[-1].max(axis=-1)):.3g} after round 3" in output
    if "1e70" in words:
        assert record["last_errors"] == [None]


@pytest.mark.slow(reason="a second or more")
def test_a_record_has_medians_over_the_replicates(tmp_path: Path) -> None:
    words = ["run", "ifca", "--noise", "20", "--samples", "4", "--rounds", "3", "--replicates", "9"]
    assert main([*words, "--json", str(tmp_path / "r.json"), "--out", str(tmp_path / "trace")]) == 0
    record, trace = json.loads((tmp_path / "r.json").read_text()), load_trace(tmp_path / "trace")
    for name in ("purity", "adjusted_rand_index", "cluster_count"):
        values = getattr(trace, name)
        assert record[name] == np.sort(values)[4], name
        assert name == "cluster_count" or np.mean(values) != np.sort(values)[4], "these are to be told apart"


@pytest.mark.parametrize(
    ("words", "rows"), [("ifca", "cluster"), ("ifca --models 5", "model"), ("fedavg", "pooled model")]
)
def test_a_record_says_what_its_rows_are(words: str, rows: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    assert main(["run", *words.split(), "--rounds", "1", "--replicates", "2", "--json", str(path)]) == 0
    assert json.loads(path.read_text())["rows"] == rows


def test_claims_are_listed_by_their_stored_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [one["claim"] for one in read_verdicts().values() if one["verdict"] in ("vacuous", "ill-posed")]
    wanted = {name for name in chosen if "#" not in name}
    assert main(["claims", "--verdict", "vacuous,ill-posed", "--json", str(tmp_path / "r.json")]) == 0
    assert {one["id"] for one in json.loads((tmp_path / "r.json").read_text())} == wanted


FILE = """
from fractions import Fraction
from typing import Annotated
from clusterproof import Sides, at_most, claim, rationals

Step = Annotated[Fraction, rationals(0, 2, 2)]

@claim("mine/lemma")
def true(step: Step) -> Sides:
    "A step does not lead away."
    return at_most(abs(1 - step), one={bound})
"""


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("bound", "verdict"), [("1", "certified"), ("Fraction(1, 2)", "violated")])
def test_a_claim_without_a_stored_verdict_is_checked(
    registry: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str], bound: str, verdict: str
) -> None:
    (tmp_path / "mine.py").write_text(FILE.format(bound=bound))
    for kind in ("certified", "violated"):
        assert main(["claims", "--verdict", kind, str(tmp_path / "mine.py")]) == 0
        assert ("mine/lemma" in capsys.readouterr().out) == (kind == verdict)


def test_each_replicate_is_recovered_or_not_by_its_own_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In some a client has not taken part yet, in others all have."""
    monkeypatch.chdir(tmp_path)
    words = "run ifca --task quadratic --clients 6 --participation 0.5 --rounds 4 --replicates 20"
    assert main([*words.split(), "--json", "r.json", "--out", "trace"]) == 0
    trace = load_trace(Path("trace"))
    together = trace.labels[:, None] == trace.labels
    right = [
        bool(np.all(one >= 0) and np.array_equal(one[:, None] == one, together))
        for one in trace.last_assignments
    ]
    assert 0 < sum(right) < len(right)
    assert json.loads(Path("r.json").read_text())["recovered"] == sum(right)

"""An altered verdict, side or counterexample of a report is refused."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory import Verdict, check
from clusterproof.theory.checker import (
    Family,
    Frequency,
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    integers,
    probability,
    reals,
    suppose,
)
from clusterproof.theory.checker import report_replay as replaying
from clusterproof.theory.checker.report import read_report, to_json

PAPER = Family("toy")

FOUND: dict[str, Verdict] = {}
"""Verdicts on the claims of ``records``, each of which is checked once for all tests."""


@pytest.fixture
def records(registry: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Records of claims of every verdict and kind of search."""

    @PAPER.claim("violated", label="(1)", kind="upper")
    def violated(clients: Annotated[int, integers(2, 5)], own: Annotated[int, integers(1, 4)]) -> Sides:
        """False."""
        suppose("some client is of another cluster", own < clients)
        return at_most(Fraction(own, clients), half=Fraction(1, 2))

    @PAPER.claim("searched", label="(2)", kind="upper")
    def searched(
        momentum: Annotated[float, reals(0.0, 0.9)], step: Annotated[float, reals(0.1, 1.0)]
    ) -> Sides:
        """True, and tight within 10/9."""
        suppose("the step is below 0.9", step < 0.9)
        return at_most(momentum, contraction=0.5, noise=0.5)

    @PAPER.claim("random", label="(3)", kind="probability", replicates=4000)
    def random(
        share: Annotated[float, choice(0.1, 0.2)], stream: Stream, replicates: Replicates
    ) -> Frequency:
        """True, and tight within 2."""
        return probability(stream.uniform(size=replicates) < share, at_most=0.4)

    @random.step("second")
    def second(clients: Annotated[int, integers(2, 3)]) -> Sides:
        return at_most(1, clients=clients)

    @PAPER.claim("exhausted", label="(4)", kind="upper")
    def exhausted(clients: Annotated[int, integers(2, 4)]) -> Sides:
        """True."""
        return at_most(Fraction(1, clients), half=Fraction(1, 2))

    @PAPER.claim("vacuous", label="(5)", kind="upper")
    def vacuous(clients: Annotated[int, integers(2, 4)]) -> Sides:
        """Of nothing."""
        suppose("there are none", clients < 0)
        return at_most(clients, nothing=0)

    @PAPER.claim("open", label="(6)", kind="upper")
    def open_end(clients: Annotated[int, integers(2, 4, upwards=True)]) -> Sides:
        """True."""
        return at_most(Fraction(1, clients), half=Fraction(1, 2))

    @PAPER.claim("rounds", label="(7)", kind="upper")
    def rounds(momentum: Annotated[float, reals(0.0, 0.9)]) -> Sides:
        """True, an identity in round 0, and almost without use of its second term."""
        spare = np.array([0.0, 1.0])
        return at_most(np.array([0.5, 0.5 + 1e-4 * momentum]), start=np.full(2, 0.5), spare=spare)

    FOUND.update({name: check(name) for name in registry if name not in FOUND})
    monkeypatch.setattr(replaying, "check", lambda claim, **_: FOUND[claim])
    return {name: json.loads(to_json([verdict]))[0] for name, verdict in FOUND.items()}


def difference(record: dict[str, Any], folder: Path) -> str:
    """What a replay says of a record; the error where it cannot be evaluated."""
    (folder / "report.json").write_text(json.dumps([record]), encoding="utf-8")
    try:
        (entry,) = read_report(folder / "report.json")
        return replaying.disagreement(entry)[1]
    except InvalidArgument as error:
        return str(error)


def test_a_record_is_checked_again_with_its_own_seed_and_trials(
    records: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def checking(claim: str, *, seed: int, trials: int | None) -> Verdict:
        asked.append((claim, seed, trials))
        return FOUND[claim]

    monkeypatch.setattr(replaying, "check", checking)
    difference(records["toy/searched"] | {"seed": 7, "requested_trials": 3}, tmp_path)
    assert asked == [("toy/searched", 7, 3)]


def test_an_honest_report_is_confirmed(records: dict[str, Any], tmp_path: Path) -> None:
    assert {record["verdict"] for record in records.values()} == {
        "violated",
        "consistent",
        "certified",
        "vacuous",
    }
    assert [difference(record, tmp_path) for record in records.values()] == [""] * len(records)


@pytest.mark.parametrize("verdict", ["violated", "consistent", "certified", "vacuous", "ill-posed"])
def test_an_altered_verdict_is_refused(records: dict[str, Any], tmp_path: Path, verdict: str) -> None:
    for record in records.values():
        if record["verdict"] != verdict:
            assert difference(record | {"verdict": verdict}, tmp_path), (record["claim"], verdict)


@pytest.mark.parametrize("name", ["measured", "bound"])
def test_an_altered_side_is_refused(records: dict[str, Any], tmp_path: Path, name: str) -> None:
    for record in records.values():
        for side in (1.5 * (record[name] or 0) + 1, None):
            if side != record[name]:
                assert difference(record | {name: side}, tmp_path), (record["claim"], side)


@pytest.mark.parametrize(
    "instance",
    [{"clients": 4, "own": 3}, {"clients": 3, "own": 3}, {"clients": 3}, {"clients": 9, "own": 8}, None],
)
def test_an_altered_counterexample_is_refused(
    records: dict[str, Any], tmp_path: Path, instance: dict[str, int] | None
) -> None:
    """Other sides, a hypothesis that fails, a number that is missing or out of range, and none."""
    assert records["toy/violated"]["counterexample"] == {"clients": 3, "own": 2}
    assert difference(records["toy/violated"] | {"counterexample": instance}, tmp_path)

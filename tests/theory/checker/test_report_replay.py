"""Every field of a report that is changed is refused, and what another processor finds is not."""

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from scipy import stats

from clusterproof.algorithms import InvalidArgument, generator
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

Path_ = tuple[str | int, ...]
NOT_COMPARED = ("claim", "seconds", "version", "seed", "requested_trials")
"""Names the entry, differs honestly, or says how to check it."""

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


def leaves(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    if isinstance(value, dict) and value:
        for name, one in value.items():
            yield from leaves(one, (*path, name))
    elif isinstance(value, list) and value:
        for number, one in enumerate(value):
            yield from leaves(one, (*path, number))
    else:
        yield path, value


def changed(record: dict[str, Any], path: Path_, value: Any) -> dict[str, Any]:
    other = copy.deepcopy(record)
    at: Any = other
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return other


def forgeries(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int | float):
        return [1.5 * value + 1, value / 3 - 1, None, "many"]
    return ["another", 1.5, []] if value is None else ["another", "", None]


def test_every_changed_field_is_refused(records: dict[str, Any], tmp_path: Path) -> None:
    verdicts = {record["verdict"] for record in records.values()}
    assert verdicts == {"violated", "consistent", "certified", "vacuous"}
    unseen, tried = [], 0
    for name, record in records.items():
        assert difference(record, tmp_path) == ""
        for path, value in leaves(record):
            if path[0] in NOT_COMPARED or name == "toy/open":
                continue
            for forged in forgeries(value):
                tried += 1
                if difference(changed(record, path, forged), tmp_path) == "":
                    unseen.append((record["claim"], path, value, forged))
    assert tried > 300
    # a hypothesis whose need was not found within the time is no contradiction, nor is a step that the bound ignores
    allowed = [("needed",), ("tightness",)]
    assert [one for one in unseen if one[1][:1] not in allowed] == []
    assert all(one[3] is None for one in unseen if one[1][0] == "needed")
    assert [one for one in unseen if one[1][0] == "tightness" and one[1][2:4] != ("instance", "step")] == []


def test_missing_names_and_identities_are_refused(records: dict[str, Any], tmp_path: Path) -> None:
    record = records["toy/rounds"]
    assert record["tightness"]["all"]["identities"] == [0]
    for name in ("sharpness", "tightness"):
        for key in record[name]:
            fewer = {other: value for other, value in record[name].items() if other != key}
            assert difference(record | {name: fewer}, tmp_path).startswith("sharpness is recorded as")
    for identities in ([1], []):
        other = copy.deepcopy(record)
        other["tightness"]["all"]["identities"] = identities
        assert difference(other, tmp_path).startswith("tightness is recorded as")
    del other["tightness"]["all"]["identities"]
    assert difference(other, tmp_path).startswith("tightness is recorded as")


@pytest.mark.parametrize(("factor", "right"), [(4e-5, True), (2e-3, False)])
def test_the_digits_of_a_term_that_is_hardly_needed_are_not_compared(
    records: dict[str, Any], tmp_path: Path, factor: float, right: bool
) -> None:
    other = copy.deepcopy(records["toy/rounds"])
    assert 0 < other["sharpness"]["spare"] < 1e-4
    other["sharpness"]["spare"], other["tightness"]["spare"]["ratio"] = factor, 1 / factor
    assert (difference(other, tmp_path) == "") == right


def another_machine(record: dict[str, Any], momentum: float, said: float) -> dict[str, Any]:
    """The record of a search that ended at a momentum, and says that it is another one."""
    other = copy.deepcopy(record) | {"measured": said, "slack": 1 / said}
    for key, one in other["tightness"].items():
        # without the term a half is left of the bound
        other["sharpness"][key] = factor = said if key == "all" else max(said - 0.5, 0.0) / 0.5
        one |= {"ratio": 1 / factor, "instance": {"momentum": momentum, "step": 0.25}}
    return other


@pytest.mark.parametrize(
    ("momentum", "said", "right"),
    [(0.85, 0.85, True), (0.8, 0.8, True), (0.85, 0.87, False), (0.5, 0.89, False)],
)
def test_what_the_recorded_instance_gives_is_right(
    records: dict[str, Any], tmp_path: Path, momentum: float, said: float, right: bool
) -> None:
    """The search of another processor ends at another momentum; what is said of that is believed if it is true."""
    record = another_machine(records["toy/searched"], momentum, said)
    assert (difference(record, tmp_path) == "") == right


@pytest.mark.parametrize(("own", "clients", "right"), [(3, 4, True), (1, 5, False)])
def test_a_survey_ends_at_an_instance_that_is_about_as_bad(
    records: dict[str, Any], tmp_path: Path, own: int, clients: int, right: bool
) -> None:
    """The worst is 1/2 over 4/5; what is said of another instance is true of it."""
    other = copy.deepcopy(records["toy/violated"])
    assert other["tightness"]["all"]["ratio"] == pytest.approx(5 / 8)
    other["tightness"]["all"] |= {"ratio": clients / own / 2, "instance": {"clients": clients, "own": own}}
    assert difference(other, tmp_path).startswith("" if right else "tightness is recorded as")
    assert (difference(other, tmp_path) == "") == right


@pytest.mark.parametrize(("width", "right"), [(1.0, True), (2.0, False)])
def test_the_interval_of_a_recorded_instance_is_right(
    records: dict[str, Any], tmp_path: Path, width: float, right: bool
) -> None:
    """A search that ended at the other share has its interval: Clopper and Pearson's, by quantiles of scipy."""
    count, half = 4000, 1e-9 / 2 / 2 / 2  # two parts, two settings, two sides
    stream = generator(0, "toy/random", "", json.dumps({"share": 0.1}))
    failures = int((stream.uniform(size=count) < 0.1).sum())
    lower = stats.beta.ppf(half, failures, count - failures + 1)
    upper = stats.beta.isf(half, failures + 1, count - failures)
    other = copy.deepcopy(records["toy/random"]) | {"measured": failures / count, "slack": 0.4 / lower}
    other["sharpness"]["all"] = lower / 0.4
    other["tightness"]["all"] |= {"ratio": 0.4 / lower, "instance": {"share": 0.1}}
    middle = (lower + upper) / 2
    ends = {"lower": middle - width * (middle - lower), "upper": middle + width * (upper - middle)}
    assert other["confidence"]["upper"] > 1.4 * ends["upper"]  # far from what the check finds
    other["confidence"] |= ends
    said = difference(other, tmp_path)
    assert said == "" if right else said.startswith("confidence is recorded as")


def test_repetitions_differ_by_chance_only(records: dict[str, Any], tmp_path: Path) -> None:
    record = records["toy/random"]
    failures = record["failures"]
    for deviations, right in ((2, True), (20, False)):
        other = record | {"failures": failures + int(deviations * np.sqrt(failures))}
        assert (difference(other, tmp_path) == "") == right


def test_a_slower_machine_tries_fewer_instances_beyond_an_open_end(
    records: dict[str, Any], tmp_path: Path
) -> None:
    record = records["toy/open"]
    assert "up to 1000 times" in record["reason"]
    slower = {"reason": record["reason"].replace("1000", "100"), "instances": record["instances"] - 1}
    assert difference(record | slower, tmp_path) == ""
    assert difference(record | slower | {"instances": record["instances"] + 40}, tmp_path) != ""
    # a search of the listed instances takes as many everywhere
    other = records["toy/exhausted"]
    assert difference(other | {"instances": other["instances"] - 1}, tmp_path) != ""


def test_of_another_version_verdict_and_sides_are_compared(records: dict[str, Any], tmp_path: Path) -> None:
    record = records["toy/searched"] | {"version": "0.1.0"}
    assert difference(record | {"instances": 7, "reason": "other words"}, tmp_path) == ""
    assert difference(record | {"measured": 0.1}, tmp_path).startswith("measured is recorded as 0.1")
    assert difference(record | {"verdict": "certified"}, tmp_path) == "recorded as certified"


def test_a_recorded_instance_is_evaluated_with_the_seed_and_the_repetitions_of_the_record(
    records: dict[str, Any], tmp_path: Path
) -> None:
    for seed, trials in ((7, 300), (0, None)):
        record = records["toy/random"] | {"seed": seed, "requested_trials": trials}
        (tmp_path / "report.json").write_text(json.dumps([record]), encoding="utf-8")
        (entry,) = read_report(tmp_path / "report.json")
        ((_, found),) = replaying._evaluated(entry, {"instance": {"share": 0.1}})
        stream = generator(seed, "toy/random", "", json.dumps({"share": 0.1}))
        failures = int((stream.uniform(size=trials or 4000) < 0.1).sum())
        assert (found.judged[""].trials, found.judged[""].failures) == (trials or 4000, failures)

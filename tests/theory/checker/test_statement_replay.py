"""Forged counterexamples are refused by name; true ones come out again, from a report too."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from catalogue import checked
from command_line import refused

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument
from clusterproof.commands.application import main
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory import Kind
from clusterproof.theory.checker import (
    Family,
    Replicates,
    Sides,
    Stream,
    at_least,
    at_most,
    choice,
    drawn,
    earlier,
    integers,
    rationals,
    suppose,
)

PAPER = Family("toy")


@pytest.fixture
def report(registry: dict[str, Any], tmp_path: Path) -> Callable[..., Path]:
    """Write a report on a false claim, changed as a forger would."""

    @PAPER.claim("false", label="(1)", kind="upper")
    def false(
        clients: Annotated[int, integers(2, 5, upwards=True)],
        own: Annotated[int, integers(1, earlier("clients") - 1)],
        momentum: Annotated[Fraction, rationals(0, Fraction(9, 10), 4)],
        floor: Annotated[Fraction, rationals(0, 1, 2)],
    ) -> Sides:
        """False."""
        suppose("rho_0 is positive", floor > 0)
        return at_most(Fraction(own, clients), momentum=momentum, floor=floor / 2)

    assert main(["check", "toy/false", "--json", str(tmp_path / "true.json")]) == 0

    def write(entry: dict[str, Any] | None = None, **numbers: Any) -> Path:
        (record,) = json.loads((tmp_path / "true.json").read_text())
        assert record["verdict"] == "violated"
        record["counterexample"] |= numbers
        record |= entry or {}
        path = tmp_path / "forged.json"
        path.write_text(json.dumps([record]))
        return path

    return write


def test_a_true_report_is_confirmed(report: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--replay", str(report())]) == 0
    assert "1 of 1 entries confirmed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ({"own": -4}, "counterexample.own = -4: must be a whole number in 1 .. clients - 1"),
        ({"floor": 0}, 'must meet the hypothesis "rho_0 is positive"'),
        ({"part": "other"}, "counterexample.part = 'other'"),
        ({"seed": 1}, "counterexample.seed = 1: is unknown"),
    ],
)
def test_a_forged_instance_is_refused_by_the_hypothesis_that_it_breaks(
    report: Callable[..., Path], capsys: pytest.CaptureFixture[str], numbers: dict[str, Any], named: str
) -> None:
    assert named in refused(capsys, "check", "--replay", str(report(**numbers)))


def test_an_instance_that_does_not_break_the_claim_confirms_nothing(
    report: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    harmless = {"clients": 5, "own": 1, "momentum": "1/2", "floor": 1}
    assert main(["check", "--replay", str(report({"measured": 0.2, "bound": 1.0}, **harmless))]) == 1
    assert "0 of 1 entries confirmed" in capsys.readouterr().out


@pytest.mark.parametrize("verdict", ["violated", "ill-posed"])
def test_an_entry_without_its_counterexample_is_said_to_be_one(
    report: Callable[..., Path], capsys: pytest.CaptureFixture[str], verdict: str
) -> None:
    assert main(["check", "--replay", str(report({"counterexample": None, "verdict": verdict}))]) == 1
    output = capsys.readouterr().out
    assert f"recorded as {verdict} without its counterexample" in output
    assert "0 of 1 entries confirmed" in output


def test_larger_instances_than_those_tried_are_instances(report: Callable[..., Path]) -> None:
    measured, bound = 99 / 100, 1 / 7 + 1 / 4
    entry = {"measured": measured, "bound": bound, "slack": bound / measured}
    path = report(entry, clients=100, own=99, momentum="1/7", floor="1/2")
    assert main(["check", "--replay", str(path)]) == 0


@pytest.fixture
def random_example(registry: dict[str, Any]) -> dict[str, Any]:
    def tail(shift: Annotated[float, choice(0.5, 1.0)], stream: Stream, replicates: Replicates) -> Sides:
        return at_most(shift + stream.uniform(size=replicates), shift=shift, half=0.8, failure=0.1)

    PAPER.claim("random", label="(2)", kind="probability", replicates=2000)(tail)
    verdict = theory.check("toy/random", seed=5)
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.counterexample is not None
    assert verdict.counterexample == {"shift": 0.5, "seed": 5, "replicates": 2000}
    again = theory.replay("toy/random", verdict.counterexample, recorded=(verdict.measured, verdict.bound))
    assert again.verdict is Kind.VIOLATED
    assert (again.trials, again.failures) == (2000, verdict.failures)
    return verdict.counterexample


def test_a_random_counterexample_is_decided_by_share_and_interval(random_example: dict[str, Any]) -> None:
    few = theory.replay("toy/random", random_example | {"replicates": 10})
    assert few.verdict is Kind.CONSISTENT
    assert few.failures is not None  # some of the ten exceed the bound, which decides nothing
    other = theory.replay("toy/random", random_example | {"seed": 6})
    assert other.verdict is Kind.VIOLATED
    with pytest.raises(InvalidArgument, match="measured"):
        theory.replay("toy/random", random_example | {"seed": 6}, recorded=(0.2, 0.1))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": -1}, "counterexample.seed"),
        ({"seed": 1.5}, "counterexample.seed"),
        ({"seed": None}, "counterexample.seed"),
        ({"replicates": 0}, "counterexample.replicates"),
        ({"replicates": 10**12}, "counterexample.replicates"),
        ({"replicates": True}, "counterexample.replicates"),
        ({"shift": 0.75}, "counterexample.shift"),
    ],
)
def test_forged_randomness_is_refused(
    random_example: dict[str, Any], change: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        theory.replay("toy/random", random_example | change)
    assert named in str(refusal.value)


def test_a_part_is_replayed_by_its_name(registry: dict[str, Any]) -> None:
    @PAPER.claim("parts", label="(3)", kind="upper", part="first")
    def first(x: Annotated[int, integers(0, 3)]) -> Sides:
        return at_most(x, three=3)

    @first.step("second")
    def second(y: Annotated[int, integers(0, 3)]) -> dict[str, Sides]:
        return {"true": at_most(y, three=3), "false": at_most(y, two=2)}

    verdict = theory.check("toy/parts")
    assert verdict.counterexample == {"y": 3, "part": "second"}
    assert verdict.reason == "second: false, at y = 3: 3 > 2"
    again = theory.replay("toy/parts", verdict.counterexample, recorded=(3.0, 2.0))
    assert again.verdict is Kind.VIOLATED
    assert theory.replay("toy/parts", {"x": 3}).verdict is Kind.CONSISTENT  # without a name it is the first
    with pytest.raises(InvalidArgument, match=r"counterexample\.x"):
        theory.replay("toy/parts", {"y": 3, "part": "first"})
    with pytest.raises(InvalidArgument, match="parts: first, second"):
        theory.replay("toy/parts", {"y": 3, "part": ["second"]})


def test_a_task_of_another_kind_is_refused(registry: dict[str, Any]) -> None:
    regression = RegressionMixture.random(clusters=2, clients=4, dimension=2)
    quadratic = QuadraticMixture.random(clusters=2, clients=4, dimension=2)

    @PAPER.claim("noise", label="(1)", kind="upper", budget=1)
    def noise(task: Annotated[RegressionMixture, drawn(lambda _: regression)]) -> Sides:
        """A regression has no noise."""
        return at_most(task.noise, zero=0.0)

    assert theory.replay("toy/noise", {"task": regression.settings}).verdict is Kind.VIOLATED
    with pytest.raises(InvalidArgument, match=r"counterexample\.task = .* RegressionMixture accepts"):
        theory.replay("toy/noise", {"task": quadratic.settings})


def test_not_finite_sides_are_recorded_as_null(registry: dict[str, Any]) -> None:
    @PAPER.claim("diverges", label="(4)", kind="upper")
    def diverges(x: Annotated[int, integers(0, 3)]) -> Sides:
        return at_most(np.inf if x else 0.0, one=1.0)

    verdict = theory.check("toy/diverges")
    assert verdict.counterexample is not None
    assert (
        theory.replay("toy/diverges", verdict.counterexample, recorded=(None, 1.0)).verdict is Kind.VIOLATED
    )
    with pytest.raises(InvalidArgument, match="measured"):
        theory.replay("toy/diverges", verdict.counterexample, recorded=(5.0, 1.0))


MIGRATED: dict[str, list[dict[str, Any]]] = {
    "cfl-mgd/lemma-2": [{"own": -4}, {"momentum": 7}, {"own": 0}, {"start": 100}, {"clients": 1}],
    "cfl-mgd/a37": [{"own": -4}, {"momentum": "7"}, {"round": -1}],
    "cfl-mgd/model-averaging-stability": [{"momentum": 7}, {"flat": "1/3"}, {"flat": 2}, {"local_steps": 0}],
    "cfl-mgd/equation-5": [{"start": 0.5}],
    "cfl-mgd/theorem-1-probability": [{"clusters": 1}, {"failure": 0.9}, {"rounds": 0}],
    "fpfc/theorem-1-participation": [{"clients": 1}, {"rounds": -400}],
    "sofl/gains-over-cfl": [{"row": "label skew, EMNIST"}, {"computed": "39/20"}],
}


@pytest.mark.parametrize("claim_id", MIGRATED)
def test_claims_of_the_catalogue_replay_and_refuse(claim_id: str) -> None:
    verdict = checked(claim_id)
    found = json.loads(json.dumps(theory.as_json(verdict)))
    recorded = (found["measured"], found["bound"])
    assert theory.replay(claim_id, found["counterexample"], recorded=recorded).verdict is verdict.verdict
    for change in MIGRATED[claim_id]:
        with pytest.raises(InvalidArgument, match=r"counterexample"):
            theory.replay(claim_id, found["counterexample"] | change)
    with pytest.raises(InvalidArgument, match="measured"):
        theory.replay(claim_id, found["counterexample"], recorded=(found["measured"] + 0.01, found["bound"]))


def test_true_claims_have_no_forged_counterexample() -> None:
    for change in ({"root": "1/4"}, {"floor": "-1/2"}, {"share": 7}):
        with pytest.raises(InvalidArgument, match=r"counterexample\."):
            theory.replay("cfl-mgd/a41", {"root": 1, "share": "1/2", "floor": "1/2"} | change)
    assert (
        theory.replay("cfl-mgd/a41", {"root": 1, "share": "1/2", "floor": "1/2"}).verdict is Kind.CONSISTENT
    )


def test_an_instance_that_keeps_to_the_claim_says_its_first_conclusion_with_its_sign(
    registry: object,
) -> None:
    @PAPER.claim("two", label="(1)", kind="lower")
    def two(n: Annotated[int, integers(2, 9)]) -> dict[str, Sides]:
        return {"first": at_least(n, two=2), "second": at_most(n, nine=9)}

    finding = theory.replay("toy/two", {"n": 3})
    assert (finding.verdict, finding.measured, finding.bound) == (Kind.CONSISTENT, 3, 2)
    assert finding.reason == "replayed: 3 >= 2"

"""True counterexamples and reports come out again, without their files; altered ones are refused by name."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument
from clusterproof.commands.application import main
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory import Kind, check, load_claims
from clusterproof.theory.claims import (
    Frequency,
    Replicates,
    Sides,
    Stream,
    at_least,
    at_most,
    choice,
    claim,
    drawn,
    equal,
    given,
    integers,
    probability,
    rationals,
    reals,
    suppose,
)
from clusterproof.theory.claims.replay import disagreement, in_fractions, recorded_claims
from clusterproof.theory.claims.report import read_report, report, to_json

# ---- one counterexample


@pytest.fixture
def random_example(registry: dict[str, Any]) -> dict[str, Any]:
    @claim("toy/random", replicates=2000)
    def tail(shift: Annotated[float, choice(0.5, 1.0)], stream: Stream, replicates: Replicates) -> Sides:
        return at_most(shift + stream.uniform(size=replicates), shift=shift, half=0.8, failure=0.1)

    verdict = check("toy/random", seed=5)
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.counterexample is not None
    assert {**verdict.counterexample, "shift": 0.5} == {"shift": 0.5, "seed": 5, "replicates": 2000}
    again = theory.replay("toy/random", verdict.counterexample)
    assert (again.verdict, again.trials, again.failures) == (Kind.VIOLATED, 2000, verdict.failures)
    return verdict.counterexample


def test_a_random_counterexample_is_decided_by_share_and_interval(random_example: dict[str, Any]) -> None:
    few = theory.replay("toy/random", random_example | {"replicates": 10})
    assert few.verdict is Kind.CONSISTENT
    assert few.failures is not None  # some of the ten exceed the bound, which decides nothing
    assert theory.replay("toy/random", random_example | {"seed": 6}).verdict is Kind.VIOLATED


@pytest.mark.parametrize(
    "change",
    [
        *({"seed": seed} for seed in (-1, 1.5, None)),
        *({"replicates": count} for count in (0, 10**12, True)),
        {"shift": 0.75},
    ],
)
def test_altered_randomness_is_refused(random_example: dict[str, Any], change: dict[str, Any]) -> None:
    (name,) = change
    with pytest.raises(InvalidArgument, match=rf"counterexample\.{name}"):
        theory.replay("toy/random", random_example | change)


def test_a_line_is_replayed_by_its_name(registry: dict[str, Any]) -> None:
    @claim("toy/lines")
    def first(x: Annotated[int, integers(0, 3)]) -> dict[str, Any]:
        return {"(1)": at_most(x, three=3), "(2)": given("x > 1", x > 1, lambda: at_least(x, two=2))}

    @first.line("second")
    def second(y: Annotated[int, integers(0, 3)]) -> dict[str, Sides]:
        return {"true": at_most(y, three=3), "false": at_most(y, two=2)}

    verdict = check("toy/lines")
    assert verdict.counterexample == {"y": 3, "line": "second: false"}
    assert verdict.reason == "second: false, at y = 3: 3 > 2"
    assert theory.replay("toy/lines", verdict.counterexample).verdict is Kind.VIOLATED
    found = theory.replay("toy/lines", {"x": 3, "line": "(2)"})
    assert (found.verdict, found.measured, found.bound) == (Kind.CONSISTENT, 3, 2)
    assert found.reason == "replayed: 3 >= 2"
    with pytest.raises(
        InvalidArgument, match=r"counterexample\.line = '\(2\)': must be one of the lines '\(1\)'"
    ):
        theory.replay("toy/lines", {"x": 1, "line": "(2)"})
    with pytest.raises(InvalidArgument, match=r"counterexample\.x"):
        theory.replay("toy/lines", {"y": 3, "line": "(1)"})
    for wrong in ("third", ["second"], None):
        with pytest.raises(InvalidArgument, match="counterexample"):
            theory.replay("toy/lines", {"y": 3, "line": wrong})


def test_a_task_of_another_kind_is_refused(registry: dict[str, Any]) -> None:
    regression = RegressionMixture.random(clusters=2, clients=4, dimension=2)
    quadratic = QuadraticMixture.random(clusters=2, clients=4, dimension=2)

    @claim("toy/noise")
    def noise(task: Annotated[RegressionMixture, drawn(lambda _: regression)]) -> Sides:
        """A regression has no noise."""
        return at_most(task.noise, zero=0.0)

    assert theory.replay("toy/noise", {"task": regression.settings}).verdict is Kind.VIOLATED
    with pytest.raises(InvalidArgument, match=r"counterexample\.task = .* RegressionMixture accepts"):
        theory.replay("toy/noise", {"task": quadratic.settings})


CATALOGUE: dict[str, list[dict[str, Any]]] = {
    "cfl-mgd/lemma-2": [{"own": -4}, {"momentum": 7}, {"own": 0}, {"start": 100}, {"clients": 1}],
    "cfl-mgd/appendix-a35": [{"own": -4}, {"momentum": "7"}, {"round": -1}],
    "cfl-mgd/equation-5": [{"start": 0.5}],
    "sofl/mean-square-distortion": [{"length": 4}, {"computed": "39/20"}],
}


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("name", CATALOGUE)
def test_claims_of_the_catalogue_replay_and_refuse(name: str) -> None:
    verdict = check(name)
    example = json.loads(to_json(verdict.counterexample))
    assert theory.replay(name, example).verdict is verdict.verdict
    for change in CATALOGUE[name]:
        with pytest.raises(InvalidArgument, match="counterexample"):
            theory.replay(name, example | change)


def test_instances_of_a_true_claim_are_consistent_and_others_refused() -> None:
    true: dict[str, Any] = {"root": 1, "share": "1/2", "separation": 2, "part_of_floor": "1/2", "rounds": 3}
    true |= {"line": "(A41)"}
    assert theory.replay("cfl-mgd/appendix-a39", true).verdict is Kind.CONSISTENT
    for change in ({"root": "1/4"}, {"part_of_floor": "-1/2"}, {"share": 7}):
        with pytest.raises(InvalidArgument, match=r"counterexample\."):
            theory.replay("cfl-mgd/appendix-a39", true | change)


# ---- a report


def violated(
    clients: Annotated[int, integers(2, 5, upwards=True)], own: Annotated[int, integers(1, 4)]
) -> Sides:
    """False."""
    suppose("some client is of another cluster", own < clients)
    return at_most(Fraction(own, clients), half=Fraction(1, 2))


def searched(momentum: Annotated[float, reals(0.0, 0.9)], step: Annotated[float, reals(0.1, 1.0)]) -> Sides:
    """True, and tight within 10/9."""
    suppose("the step is below 0.9", step < 0.9)
    return at_most(momentum, contraction=0.5, noise=0.5)


def random(share: Annotated[float, choice(0.1, 0.2)], stream: Stream, replicates: Replicates) -> Frequency:
    """True, and tight within 2."""
    return probability(stream.uniform(size=replicates) < share, at_most=0.4)


def exhausted(clients: Annotated[int, integers(2, 4)]) -> Sides:
    """True."""
    return at_most(Fraction(1, clients), half=Fraction(1, 2))


def vacuous(clients: Annotated[int, integers(2, 4)]) -> Sides:
    """Of nothing."""
    suppose("there are none", clients < 0)
    return at_most(clients, nothing=0)


def chain(x: Annotated[Fraction, rationals(0, 2, 2)]) -> dict[str, Sides]:
    """False in its second line."""
    return {"(1)": at_most(x, two=2), "(2)": at_most(x, one=1), "(3)": equal((x, x))}


def diverges(x: Annotated[int, integers(0, 3)]) -> Sides:
    """Its side is infinite, which JSON does not know."""
    return at_most(np.inf if x else 0.0, one=1.0)


RECORDED = (violated, searched, random, exhausted, vacuous, chain, diverges)


@pytest.fixture
def stated(registry: dict[str, Any]) -> None:
    for function in RECORDED:
        claim(f"toy/{function.__name__}", evaluations=60)(function)


@pytest.fixture(scope="module")
def records(claims_of_files: None) -> dict[str, Any]:
    """Records of claims of every verdict, by id."""
    names = [f"toy/{function.__name__}" for function in RECORDED]
    for name, function in zip(names, RECORDED, strict=True):
        claim(name, evaluations=60)(function)
    found = json.loads(to_json(report([check(name) for name in names], 0)))
    for name in names:
        del theory.REGISTRY[name]
    return {record["claim"]: record for record in found["claims"]}


def difference(record: dict[str, Any], folder: Path) -> str:
    """What a replay says of a record; the error if it cannot be evaluated."""
    (folder / "report.json").write_text(json.dumps({"claims": [record]}), encoding="utf-8")
    try:
        written = read_report(folder / "report.json")
        return disagreement(written.claims[0], written)
    except InvalidArgument as error:
        return str(error)


@pytest.mark.usefixtures("stated")
def test_an_honest_report_is_confirmed(records: dict[str, Any], tmp_path: Path) -> None:
    verdicts = {record["verdict"] for record in records.values()}
    assert verdicts == {"violated", "consistent", "certified", "vacuous"}
    assert {"toy/chain#(1)", "toy/chain#(2)"} < set(records)
    assert {name: difference(record, tmp_path) for name, record in records.items()} == dict.fromkeys(
        records, ""
    )


@pytest.mark.usefixtures("stated")
def test_a_chain_that_is_recorded_as_true_beside_a_false_line_is_refused(
    records: dict[str, Any], tmp_path: Path
) -> None:
    chain = {name: one for name, one in records.items() if name.startswith("toy/chain")}
    false = next(name for name, one in chain.items() if "#" in name and one["verdict"] == "violated")
    whole = chain["toy/chain"] | {"verdict": "consistent", "counterexample": None}
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"claims": [whole, *(one for name, one in chain.items() if "#" in name)]}))
    written = read_report(path)
    assert disagreement(written.claims[0], written) == f"recorded as consistent, and {false} as false"


def test_both_sides_are_written_in_fractions_where_they_are_numbers(registry: dict[str, Any]) -> None:
    """An equation of arrays, and a side in floats, have none."""

    @claim("toy/thirds")
    def thirds(n: Annotated[int, integers(1, 9)]) -> dict[str, Sides]:
        third = Fraction(n, 3)
        return {
            "bound": at_most(third, half=Fraction(1, 2), less=Fraction(-1, 6)),
            "equation": equal((third, n), (third, Fraction(1))),
            "arrays": equal((np.array([third, third], dtype=object), np.array([n, n], dtype=object))),
            "floats": at_most(float(third), half=0.5),
            "too long": at_most(10**4500 * third, half=0),
        }

    lines = ("bound", "equation", "arrays", "floats", "too long")
    found = {line: in_fractions("toy/thirds", {"n": 2, "line": line}) for line in lines}
    assert found == {
        "bound": "2/3 > 1/2 (half) - 1/6 (less)",
        "equation": "2/3 != 2",
        "arrays": "",
        "floats": "",
        "too long": "",
    }


@pytest.mark.usefixtures("stated")
def test_an_altered_verdict_is_refused(records: dict[str, Any], tmp_path: Path) -> None:
    for record in records.values():
        altered = ("consistent", "certified", "vacuous") if record["verdict"] == "violated" else ("violated",)
        for verdict in (*altered, "ill-posed"):
            assert difference(record | {"verdict": verdict}, tmp_path), (record["claim"], verdict)


@pytest.mark.usefixtures("stated")
@pytest.mark.parametrize("name", ["measured", "bound"])
def test_an_altered_side_of_a_counterexample_is_refused(
    records: dict[str, Any], tmp_path: Path, name: str
) -> None:
    for record in records.values():
        for side in (1.5 * (record[name] or 0) + 1, None):
            if side != record[name] and record["counterexample"] is not None:
                assert name in difference(record | {name: side}, tmp_path), (record["claim"], side)


@pytest.mark.usefixtures("stated")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"own": -4}, "counterexample.own = -4: must be an integer in 1 .. 4"),
        ({"clients": 3, "own": 3}, 'must meet the hypothesis "some client is of another cluster"'),
        ({"clients": 4, "own": 3}, "measured is recorded as 0.6666666666666666, and is 0.75"),
        ({"clients": 4, "own": 1}, "recorded as violated, is consistent"),
        ({"line": "other"}, "counterexample.line = 'other'"),
        ({"seed": 1}, "counterexample.seed = 1: is unknown"),
    ],
)
def test_an_altered_counterexample_is_refused_by_what_it_breaks(
    records: dict[str, Any], tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    record = records["toy/violated"]
    assert record["counterexample"] == {"clients": 3, "own": 2}
    assert said in difference(record | {"counterexample": record["counterexample"] | change}, tmp_path)
    for verdict in ("violated", "ill-posed"):
        without = difference(record | {"counterexample": None, "verdict": verdict}, tmp_path)
        assert without == f"recorded as {verdict} without a counterexample"


@pytest.mark.usefixtures("stated")
def test_larger_instances_than_those_tried_are_instances(records: dict[str, Any], tmp_path: Path) -> None:
    larger = {"counterexample": {"clients": 10**6, "own": 4}, "measured": 4e-6, "bound": 0.5}
    assert "is consistent" in difference(records["toy/violated"] | larger, tmp_path)


FILE = """
from fractions import Fraction
from typing import Annotated
from clusterproof.theorem import at_most, claim, rationals

@claim("mine/false")
def false(step: Annotated[Fraction, rationals(0, 2, 2)]):
    return at_most(abs(1 - step), half=Fraction(1, 2))

@claim("mine/true")
def true(step: Annotated[Fraction, rationals(0, 2, 2)]):
    return at_most(abs(1 - float(step)), two=2)
"""


@pytest.fixture
def written(registry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Replay the report of a file that is gone; with an entry changed, or its source."""
    monkeypatch.chdir(tmp_path)
    Path("my_paper.py").write_text(FILE)
    whole = json.loads(to_json(report([check(name) for name in load_claims("my_paper.py")], 0)))
    registry.clear()
    Path("my_paper.py").unlink()

    def replay(place: int = 0, source: str = FILE, **changes: Any) -> int:
        whole["claims"][place] |= changes
        (name,) = whole["sources"]
        whole["sources"][name]["text"] = source
        Path("report.json").write_text(json.dumps(whole))
        return main(["check", "--replay", "report.json"])

    return replay


@pytest.mark.slow(reason="several seconds")
def test_a_report_is_replayed_without_its_file(written: Any, registry: dict[str, Any]) -> None:
    assert written() == 0
    assert not registry


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("changes", [{"measured": 0.25}, {"place": 1, "verdict": "violated"}])
def test_an_altered_report_without_its_file_is_not_confirmed(written: Any, changes: Any) -> None:
    assert written(**changes) == 1


@pytest.mark.slow(reason="several seconds")
def test_a_report_whose_source_was_altered_is_not_confirmed(written: Any) -> None:
    assert written(source=FILE.replace("half=Fraction(1, 2)", "three=Fraction(3)")) != 0


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"claims": 3}', '{"claims": [{"claim": 1}]}', "[" * 10**5])
def test_what_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(InvalidArgument, match=r"replay = .*must be the JSON of a report"):
        read_report(tmp_path / "report.json")
    with pytest.raises(InvalidArgument, match=r"replay = .*must be a file that can be read"):
        read_report(tmp_path / "none.json")


def test_claims_of_a_report_are_forgotten_afterwards(registry: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "my_paper.py").write_text(FILE)
    load_claims(tmp_path / "my_paper.py")
    (tmp_path / "report.json").write_text(to_json(report([check("mine/false")], 0)))
    registry.clear()
    with recorded_claims(read_report(tmp_path / "report.json")):
        assert set(registry) == {"mine/false", "mine/true"}
    assert not registry

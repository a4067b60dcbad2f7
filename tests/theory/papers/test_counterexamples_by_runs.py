"""Runs of the algorithms give what the claims measure, at their recorded counterexamples and at other instances."""

from fractions import Fraction as F  # noqa: N817 - a table of fractions
from typing import Any

import pytest
from counterexample_runs import RUNS
from sides_by_hand import quantities_of, sides_at, statement_of

from clusterproof import theory
from clusterproof.theory.report.replay import find_line
from clusterproof.theory.report.stored_verdicts import read_verdicts


def recorded() -> list[Any]:
    """Run, statement, counterexample and measured value of each line that is refuted and has a run."""
    found, seen = [], set()
    for name, record in read_verdicts().items():
        claim_id, written = name.partition("#")[0], dict(record["counterexample"] or {})
        statement, _ = find_line(theory.find_claim(claim_id), written.pop("line", ""))
        key = f"{claim_id}#{statement.name}" if statement.name else claim_id
        if key in RUNS and written and (key, str(record["counterexample"])) not in seen:
            seen.add((key, str(record["counterexample"])))  # a claim's record is that of one of its lines
            found.append(pytest.param(key, statement, written, record["measured"], id=name))
    return found


COUNTEREXAMPLES = recorded()


def test_every_run_but_one_has_a_counterexample() -> None:
    assert RUNS.keys() - {each.values[0] for each in COUNTEREXAMPLES} == {"cfl-mgd/appendix-a1"}


@pytest.mark.parametrize(("key", "statement", "written", "measured"), COUNTEREXAMPLES)
def test_a_run_gives_the_recorded_counterexample(
    key: str, statement: Any, written: dict[str, Any], measured: float
) -> None:
    observed = RUNS[key](**statement.space.arguments(statement.space.decode(written)))
    if observed is not None:
        assert observed == pytest.approx(measured, rel=1e-9, abs=1e-14)


EQUAL = {"clients": 3, "curvature": F(2, 5), "momentum": F(3, 5), "start": F(1, 4), "round_": 4}
RUN = {"clients": 70, "own": 30, "momentum": F(7, 10), "start": F(1, 4), "round": 3, "round_": 3}
SWITCH = {
    "own": 3,
    "center": "1/2",
    "other_center": "-1/2",
    "momentum": F(1, 2),
    "first": "-1/2",
    "second": "-1",
}
OPTION_2 = {"flat": "1/10", "center": "2", "momentum": "1/2", "local_steps": 3, "rounds": 9, "constant": "1"}
PLACED = {"model": "1/2", "first": "-1", "second": "3/2"}
LAW = {"samples": 3, "rarity": "1/5", "reach": "10", "lever": "1", "first": "-1/2", "second": "1/2"}
LAW |= {"own": 2, "foreign": 3}
PRESCRIBED = {
    "clients": 5,
    "own": 3,
    "round": 3,
    "outliers": 10,
    "spread": "1/10",
    "momentum": "3/10",
    "start": "1/4",
}
FALSE_MEMBER = {
    "clients": 3,
    "round_": 2,
    "momentum": "2/5",
    "start": "1/2",
    "rarity": "1/1000",
    "level": "1/2",
}
OTHERS: list[tuple[str, dict[str, Any]]] = [
    *((name, RUN) for name in ("lemma-2", "per-step-contraction")),
    ("theorem-1-small-constant", RUN | {"momentum": F(999, 1000)}),
    ("equation-12", EQUAL),
    ("equation-12#(13)", PLACED),
    *((f"model-averaging-{name}", OPTION_2) for name in ("rate", "limit")),
    ("model-averaging-stability", {"flat": "1/10", "momentum": "4/5", "local_steps": 7}),
    *((name, {"momentum": "2/5", "rounds": 11}) for name in ("algorithm-line-8", "algorithm-line-8-delayed")),
    ("algorithm-line-15-momentum-of-switchers", RUN),
    ("equation-32", SWITCH),
    *((f"appendix-a{name}", PRESCRIBED) for name in (1, 18, 27)),
    ("appendix-a15", LAW | {"level": "1/2"}),
    ("appendix-a29", FALSE_MEMBER),
]


@pytest.mark.parametrize(("claim", "one"), OTHERS, ids=[name for name, _ in OTHERS])
def test_a_run_gives_what_is_measured(claim: str, one: dict[str, Any]) -> None:
    run = RUNS[f"cfl-mgd/{claim}"]
    claim, _, line = claim.partition("#")
    part = statement_of(claim, line)
    observed = run(**part.space.arguments(quantities_of(part, one)))
    if observed is not None:
        found = sides_at(claim, one, line)
        left = abs(found.pairs[0][0] - found.pairs[0][1]) if found.identity else found.measured
        assert float(left) > 1e-3
        assert observed == pytest.approx(float(left), rel=1e-9)

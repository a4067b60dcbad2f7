"""Runs of the algorithms give what claims measure at their recorded counterexamples, where no row of a table does."""

from typing import Any

import pytest
from counterexample_runs import RUNS

from clusterproof import checker
from clusterproof.checker.report.replay import find_line
from clusterproof.checker.report.stored_verdicts import read_verdicts


def recorded() -> list[Any]:
    """Run, statement, counterexample and measured value of each line that is refuted and has a run."""
    found, seen = [], set()
    for name, record in read_verdicts().items():
        claim_id, written = name.partition("#")[0], dict(record["counterexample"] or {})
        statement, _ = find_line(checker.find_claim(claim_id), written.pop("line", ""))
        key = f"{claim_id}#{statement.name}" if statement.name else claim_id
        if key in RUNS and written and (key, str(record["counterexample"])) not in seen:
            seen.add((key, str(record["counterexample"])))  # a claim's record is that of one of its lines
            found.append(pytest.param(key, statement, written, record["measured"], id=name))
    return found


COUNTEREXAMPLES = recorded()


def test_every_run_has_a_counterexample() -> None:
    assert RUNS.keys() == {each.values[0] for each in COUNTEREXAMPLES}


@pytest.mark.slow(reason="a second or more")
@pytest.mark.parametrize(("key", "statement", "written", "measured"), COUNTEREXAMPLES)
def test_a_run_gives_the_recorded_counterexample(
    key: str, statement: Any, written: dict[str, Any], measured: float
) -> None:
    observed = RUNS[key](**statement.space.arguments(statement.space.decode(written)))
    if observed is not None:
        assert observed == pytest.approx(measured, rel=1e-9, abs=1e-14)

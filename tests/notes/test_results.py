"""What the site shows of stored reports: their verdicts by id, and one line where a file is no report."""

import json
from pathlib import Path

import pytest
from scipy import stats

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.bounds.power import FAULTS, power
from clusterproof.theory.stored_verdicts import read_verdicts
from results import read_power_table


@pytest.mark.parametrize(
    "content", [None, "{", "3", "[3]", "{}x", json.dumps([{"verdict": "violated"}]), json.dumps([["claim"]])]
)
def test_a_file_that_is_no_report_is_refused(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidArgument, match="clusterproof check --all --json") as refusal:
        read_verdicts(path)
    assert refusal.value.argument == "verdicts"


def test_every_fault_has_its_stored_powers() -> None:
    assert set(read_power_table()) == {fault.name for fault in FAULTS}


@pytest.mark.slow(reason="runs the faults of the stored power table again")
@pytest.mark.parametrize("name", ["noise x 1.3", "half of the rows", "momentum 0.45", "step 0.95"])
def test_a_stored_power_is_what_runs_from_the_same_start_show(name: str) -> None:
    (fault,) = [one for one in FAULTS if one.name == name]
    stored, found = read_power_table()[name], power(fault, replicates=40, seed=0)
    for column in ("D start", "deviation", "1e-9", "B"):  # those of the lesson
        law = stats.binom(40, stored[column])
        assert law.ppf(0.0005) - 2 <= 40 * found[column] <= law.ppf(0.9995) + 2, column

"""The stored run on CIFAR-10 at full size, and what is said of it."""

from pathlib import Path

import polars
import pytest
from checkout import ROOT

from clusterproof.tables.cfl_mgd.table_2 import PRINTED_NUMBERS

RESULTS = ROOT / "tables" / "results"


@pytest.fixture(scope="module")
def run() -> polars.DataFrame:
    """Its metrics, a row a round."""
    return polars.read_parquet(RESULTS / "cfl-mgd-cifar10-distorted.parquet")


def test_it_is_one_run_from_its_first_round_on(run: polars.DataFrame) -> None:
    assert run["round"].to_list() == list(range(1, len(run) + 1))
    assert run["step_size"].to_list() == pytest.approx([0.01 * 0.99**done for done in range(len(run))])
    assert set(run["participants"]) == {20}


def test_what_the_table_and_its_page_say_is_in_the_file(run: polars.DataFrame) -> None:
    page = " ".join(Path(RESULTS / "README.md").read_text(encoding="utf-8").split())
    measured = run.filter(polars.col("accuracy").is_not_null())
    assert set(measured["right"]) == {1.0}
    accuracies = dict(zip(measured["round"], (100 * measured["accuracy"]).round(1), strict=True))
    last = max(accuracies)
    loss = measured["training_loss"][-1]
    said = f"CFL-MGD has {accuracies[last]:.1f} % after {last} rounds of one seed, at a training loss of {loss:.2f}"
    assert said in PRINTED_NUMBERS
    rounds = [done for done in (10, 20, 40, 60, 80, 100) if done <= last]
    risen = [f"{accuracies[done]:.1f}" for done in rounds]
    assert risen == sorted(risen)
    words, counts = (f"{', '.join(map(str, each[:-1]))} and {each[-1]}" for each in (risen, rounds))
    assert f"the accuracy is {words} % after {counts} rounds" in page
    assert f"the training loss {loss:.2f} after {last}" in page
    assert f"Stopped after {len(run)} rounds" in page

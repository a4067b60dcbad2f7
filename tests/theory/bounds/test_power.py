"""Wrong algorithms break Theorem D, each run by itself, at the fractions that were printed; true ones do not."""

import pytest
from faulty_runs import FAULTS, power
from scipy import stats
from tiers import slow_after

RUNS = 60
PRINTED = {"none": 0.0, "noise x 1.3": 0.42, "noise x 2": 1.0, "half of the rows": 0.92}
"""Fractions in the column "deviation" of faults that one run at 1e-9 does not show."""


@pytest.mark.parametrize("name", slow_after(2, "60 runs of further faults", PRINTED))
def test_fault_is_caught_as_often_as_printed(name: str) -> None:
    usual, rare = power(FAULTS[name], replicates=RUNS, seed=0)
    law = stats.binom(RUNS, PRINTED[name])
    assert law.ppf(0.001) <= usual * RUNS <= law.ppf(0.999)
    if name == "none":
        assert rare == 0


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in PRINTED])
def test_a_large_fault_is_seen_in_each_of_a_few_runs(name: str) -> None:
    _, rare = power(FAULTS[name], replicates=3, seed=1)
    assert rare == 1

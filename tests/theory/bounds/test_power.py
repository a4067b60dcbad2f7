"""Wrong algorithms break Theorem D, each run by itself, at the fractions that were printed; true ones do not."""

import pytest
from faulty_runs import FAULTS, power
from scipy import stats
from tiers import slow_after

RUNS = 60
PRINTED = {
    # fault: the fraction in the column "deviation", and whether one run at 1e-9 is enough
    "none": (0.0, False),
    "noise x 1.3": (0.42, False),
    "noise x 2": (1.0, False),
    "half of the rows": (0.92, False),
    "momentum 0.4": (1.0, True),
    "momentum 0": (1.0, True),
    "step 0.9": (1.0, True),
    "step 1.2": (1.0, True),
    "divided by the cluster": (1.0, True),
    "half take part, divided by m": (1.0, True),
    "option II, H = 2": (1.0, True),
    "kappa 6": (1.0, True),
    "one client of 20 swapped": (1.0, True),
}


@pytest.mark.parametrize("name", slow_after(4, "60 runs of each further fault", PRINTED))
def test_fault_is_caught_as_often_as_printed(name: str) -> None:
    fraction, at_once = PRINTED[name]
    usual, rare = power(FAULTS[name], replicates=RUNS, seed=0)
    law = stats.binom(RUNS, fraction)
    low, high = law.ppf(0.001) / RUNS, law.ppf(0.999) / RUNS
    assert low <= usual <= high
    if at_once:
        assert rare == 1
    if name == "none":
        assert rare == 0


@pytest.mark.parametrize("name", [name for name, (_, at_once) in PRINTED.items() if at_once][1:])
def test_a_large_fault_is_seen_in_each_of_a_few_runs(name: str) -> None:
    _, rare = power(FAULTS[name], replicates=3, seed=1)
    assert rare == 1

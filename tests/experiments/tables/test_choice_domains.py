"""Values that a choice can have are those for which the method is defined."""

import pytest
from made_tables import table

from clusterproof.experiments.tables.registry import TABLES

SHARE, FACTOR, POSITIVE = (
    "a number greater than 0 and at most 1",
    "a number at least 0 and below 1",
    "a number greater than 0",
)
RULES = {
    "participation": SHARE,
    "step-size-decay": SHARE,
    "momentum": FACTOR,
    "cfl-noise-ratio": f"{FACTOR}, or none",
    "step-size": POSITIVE,
    "fedbcd-penalty": "a number at least 0",
    "contrast": "a number at least 0 and at most 1",
    "ifca-least-share": "a number greater than 0 and at most 0.5, or none",
    # rho of FPFC above 1 / (a - 1), with a = 3.7: from there on the penalty's proximal point is one
    "augmentation": f"a number greater than {1 / 2.7:g}",
    # lambda of FPFC above xi, where its smoothing ends
    "strength": "a number greater than 0.001",
    "local-steps": "an integer from 1 to 1000000",
    "restarts": "an integer from 1 to 100",
    "ifca-restarts": "an integer from 1 to 100",
    "grid": "an integer from 1 to 50",
    "crop": "an integer from 1 to 32, or none",
    "channels": "2 integers from 1 to 1000000, separated by commas",
}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_number_can_be_chosen_wherever_its_method_is_defined(name: str) -> None:
    found = {choice.name: choice.kind.rule for choice in table(name).choices}
    for choice, rule in RULES.items():
        assert found.get(choice, rule) == rule, choice


@pytest.mark.parametrize(("name", "clusters", "share"), [("mnist", 4, 0.1), ("cifar10", 2, 0.35)])
def test_each_model_can_be_the_best_for_no_more_than_its_part(name: str, clusters: int, share: float) -> None:
    """IFCA's public code has 0.35 for two models and 0.1 for four."""
    (choice,) = (
        choice for choice in table(f"cfl-mgd/table-2-{name}").choices if choice.name == "least-share"
    )
    assert choice.kind.rule == f"a number greater than 0 and at most {1 / clusters:g}, or none"
    assert choice.about.endswith(f"{share:g}.")

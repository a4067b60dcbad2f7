"""The claims and the code of the paper as tests: run `python -m pytest tests` in the folder above."""

import sys
from collections.abc import Callable
from pathlib import Path

from clusterproof import parametrize_with_claims
from clusterproof.conformance import parametrize_with_checks

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from our_fedavg import OurFedAvg  # noqa: E402 - found by the line above


@parametrize_with_claims(*sorted((ROOT / "claims").glob("[!_]*.py")))
def test_claim(claim: Callable[[], None]) -> None:
    """Check that the claim is not refuted."""
    claim()


@parametrize_with_checks(OurFedAvg, "fedavg")
def test_code(check: Callable[[], None]) -> None:
    """Check that the code agrees with the definition of FedAvg."""
    check()

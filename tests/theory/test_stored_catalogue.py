"""The stored catalogue is what the claims say: a loosened bound or a hypothesis that was dropped shows in its numbers.

A verdict alone does not show it: a bound that is twice as large holds, too. Searches may end at another instance on
another machine, where sums are rounded otherwise; how close they come to equality stays.
"""

import json
import math

import pytest

from clusterproof import theory
from clusterproof.notes.results import STORED_VERDICTS, read_verdicts
from clusterproof.theory.report import to_json

STORED = read_verdicts(STORED_VERDICTS)
QUICK = sorted(name for name, record in STORED.items() if record["seconds"] < 0.5)
CLOSE = 0.1
"""By how much of itself a ratio may differ."""
SCALE = 10
"""Factor by which the bound on an error of rounding may differ, which is relative to the worst instance's numbers."""


def test_enough_are_quick() -> None:
    assert len(QUICK) >= 210, len(QUICK)


@pytest.mark.parametrize("claim_id", QUICK)
def test_a_check_gives_what_is_stored(claim_id: str) -> None:
    (found,), stored = json.loads(to_json([theory.check(claim_id)])), STORED[claim_id]
    assert found["verdict"] == stored["verdict"]
    assert found["exhausted"] == stored["exhausted"]
    refused = [(one["rejected"] or {}).keys() for one in (found, stored)]
    assert refused[0] == refused[1], "hypotheses that refuse instances"
    if stored["exhausted"]:
        assert found["instances"] == stored["instances"]
    assert (found["slack"] is None) == (stored["slack"] is None)
    if stored["slack"] is not None:
        assert found["slack"] == pytest.approx(stored["slack"], rel=CLOSE)
    elif stored["bound"]:
        assert abs(math.log(found["bound"] / stored["bound"])) <= math.log(SCALE)
    assert (found["sharpness"] or {}).keys() == (stored["sharpness"] or {}).keys()
    for part, ratio in (stored["sharpness"] or {}).items():
        assert found["sharpness"][part] == pytest.approx(ratio, rel=CLOSE, abs=1e-6), part

"""Runs of the very algorithm give what the claims measure, on other instances than the ones that refute them."""

from fractions import Fraction as F  # noqa: N817 - a table of fractions
from typing import Any

import pytest
from sides_by_hand import quantities_of, sides_at, statement_of

from clusterproof.theory.claims import RunDisagrees
from clusterproof.theory.papers.cfl_mgd.model_averaging_recursion import TwoClients, confirm_growth
from clusterproof.theory.papers.scaffold.option_1 import confirm_growth as confirm_growth_of_scaffold

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
MEASURED: list[tuple[str, dict[str, Any]]] = [
    *((name, RUN) for name in ("lemma-2", "per-step-contraction")),
    ("equation-12#(13)", PLACED),
    ("model-averaging-rate", OPTION_2),
    ("model-averaging-limit", OPTION_2),
    *((name, {"momentum": "2/5", "rounds": 11}) for name in ("algorithm-line-8", "algorithm-line-8-delayed")),
]


@pytest.mark.parametrize(("claim", "one"), MEASURED, ids=[name for name, _ in MEASURED])
def test_a_run_gives_what_is_measured(claim: str, one: dict[str, Any]) -> None:
    claim, _, line = claim.partition("#")
    part, found = statement_of(claim, line), sides_at(claim, one, line)
    assert part.confirm is not None
    observed = part.confirm(**part.space.arguments(quantities_of(part, one)))
    left = abs(found.pairs[0][0] - found.pairs[0][1]) if found.identity else found.measured
    assert float(left) > 1e-3
    assert observed == pytest.approx(float(left), rel=1e-9)


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
    "round": 2,
    "momentum": "2/5",
    "start": "1/2",
    "rarity": "1/1000",
    "level": "1/2",
}
LONG = {
    "clients": 100,
    "round": 14,
    "momentum": "19/20",
    "start": "1/2",
    "rarity": "1/100000000",
    "level": "1/4",
}
AGREE: list[tuple[str, dict[str, Any]]] = [
    ("appendix-a15", LAW | {"level": "1/2"}),
    ("appendix-a18", PRESCRIBED),
    ("appendix-a27", PRESCRIBED),
    ("appendix-a29", FALSE_MEMBER),
    ("equation-12", EQUAL),
    ("equation-32", SWITCH),
    ("theorem-1-small-constant", RUN),
    ("algorithm-line-15-momentum-of-switchers", RUN),
    ("model-averaging-stability", {"flat": "1/10", "momentum": "4/5", "local_steps": 7}),
]


@pytest.mark.parametrize(("claim", "one"), AGREE, ids=[name for name, _ in AGREE])
def test_a_run_agrees(claim: str, one: dict[str, Any]) -> None:
    part = statement_of(claim)
    assert part.confirm is not None
    assert part.confirm(**part.space.arguments(quantities_of(part, one))) is None


def test_a_run_that_grows_otherwise_is_refused() -> None:
    class Slower(TwoClients):
        @property
        def rate(self) -> float:
            return 0.97 * super().rate

    class Faster(TwoClients):
        @property
        def rate(self) -> float:
            return super().rate / 0.97

    for kind in (Slower, Faster):
        with pytest.raises(RunDisagrees, match="growth"):
            confirm_growth(kind(flat=F(1, 10), momentum=F(4, 5), local_steps=7))
    confirm_growth_of_scaffold(flat=F(1, 1000), pace=F(1), local_steps=10)
    for steps in (3, 5):
        with pytest.raises(RunDisagrees, match="diverge"):
            confirm_growth_of_scaffold(flat=F(1, 1000), pace=F(1), local_steps=steps)

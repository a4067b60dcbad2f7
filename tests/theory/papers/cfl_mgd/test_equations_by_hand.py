"""How tight the bounds of CFL-MGD's equations are."""

import pytest
from catalogue import checked


def test_attained_bounds_are_reported_tight() -> None:
    lines = [*checked("cfl-mgd/equation-26").lines[:5], checked("cfl-mgd/equation-12-shifted").lines[2]]
    assert [line.worst for line in lines] == pytest.approx([1] * 6, abs=2e-9)


@pytest.mark.slow(reason="evaluates claims with all their instances")
def test_loose_bounds_are_reported_loose() -> None:
    found = [checked(f"cfl-mgd/{name}") for name in ("appendix-a3", "appendix-a15", "equation-24")]
    used = {line.name: line.worst or 0 for one in found for line in one.lines if line.verdict != "violated"}
    assert max(used.values()) <= 1
    # rare jumps attain Chebyshev's inequality; Cantelli's 64 and 3 L for 3/2 L are a quarter of (A17) = (36)
    assert [used[name] for name in ("(24)", "(29)", "(30)")] == pytest.approx([1, 1, 1], abs=0.01)
    assert 1 / 4.5 < max(value for name, value in used.items() if name.startswith("(A17)")) <= 1 / 4
    assert used["(A8)"] > 1 / 2

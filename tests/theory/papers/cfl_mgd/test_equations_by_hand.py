"""How tight the bounds of CFL-MGD's equations are."""

import pytest
from catalogue import checked


def test_attained_bounds_are_reported_tight() -> None:
    lines = [*checked("cfl-mgd/equation-26").lines, checked("cfl-mgd/equation-12-shifted").lines[2]]
    assert [line.worst for line in lines] == pytest.approx([1] * 6, abs=2e-9)


@pytest.mark.slow(reason="evaluates claims with all their instances")
def test_loose_bounds_are_reported_loose() -> None:
    used: dict[object, float] = {
        number: checked(f"cfl-mgd/equation-{number}").worst or 0 for number in (35, 36)
    }
    used |= {line.name: line.worst or 0 for line in checked("cfl-mgd/equation-24").lines}
    assert max(used.values()) <= 1
    # rare jumps attain Chebyshev's inequality; Cantelli's 64 and 3 L for 3/2 L are a quarter of (36)
    assert [used[name] for name in ("(24)", "(29)", "(30)")] == pytest.approx([1, 1, 1], abs=0.01)
    assert 1 / 4.5 < used[36] <= 1 / 4
    assert used[35] > 1 / 2

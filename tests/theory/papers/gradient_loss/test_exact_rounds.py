"""GL-CFL in rational arithmetic: a tie of any device is a tie of the round."""

from fractions import Fraction

import pytest

from clusterproof.theory.papers.gradient_loss.scalar import exact_rounds


@pytest.mark.parametrize(
    ("centers", "tied"),
    [
        # models at 0 and -2: a device at -1 is as far from one as from the other, one at 1 is not
        ((-1, 1), True),
        ((1, -1), True),
        ((1, Fraction(-3, 2)), False),
    ],
)
def test_a_round_is_tied_where_any_device_is(centers, tied):
    points = [Fraction(center) for center in centers]
    starts = [Fraction(0), Fraction(-2)]
    (first,) = exact_rounds(points, starts, weight=Fraction(1, 5), step=Fraction(1, 2), rounds=1)
    assert first.tied is tied

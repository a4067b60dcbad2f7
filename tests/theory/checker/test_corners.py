"""Corners, neighbours and drawn instances of a space, against what the ends of its ranges say."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from toy_claims import claim

from clusterproof import theory
from clusterproof.theory.checker import Sides, at_most, choice, earlier, integers, rationals, reals
from clusterproof.theory.checker.corners import corners, neighbours, spread_draws, toward
from clusterproof.theory.checker.space import Space


@dataclass(frozen=True)
class Clusters:
    clients: Annotated[int, integers(3, 7)]
    own: Annotated[int, integers(earlier("clients") / 2, earlier("clients") * Fraction(2, 3))]


def inequality(
    one: Clusters,
    share: Annotated[Fraction, rationals(Fraction(1, 7), 1, 3)],
    kind: Annotated[str, choice("a", "b")],
) -> Sides:
    return at_most(one.own * share, whole=one.clients)


SPACE = Space.of(inequality)
ONE: dict[str, Any] = {"clients": 5, "own": 3, "share": Fraction(1, 2), "kind": "a"}


def test_corners_are_all_combinations_of_the_ends_with_whole_numbers_inside_them() -> None:
    """3 clients have 3/2 to 2 of their own, 7 have 7/2 to 14/3: 2 alone, or 4 alone."""
    found = [tuple(one.values()) for one in corners(SPACE, np.random.default_rng(0), ONE)]
    expected = {
        (clients, own, share, kind)
        for clients, own in ((3, 2), (7, 4))
        for share in (Fraction(1, 7), Fraction(1))
        for kind in "ab"
    }
    assert set(found) == expected
    some = [tuple(one.values()) for one in corners(SPACE, np.random.default_rng(0), ONE, most=5)]
    assert len(some) == 5
    assert set(some) <= expected


def test_neighbours_move_one_quantity_to_an_end_or_halfway_there() -> None:
    """5 clients have 5/2 to 10/3 of their own, 3 alone; with 3 of their own there are 5 or 6."""
    moved: dict[str, set[Any]] = {name: set() for name in ONE}
    for other in neighbours(SPACE, ONE):
        (name,) = (name for name in ONE if other[name] != ONE[name])
        moved[name].add(other[name])
    # halves are rounded down: (3 + 5) / 2 = 4 clients have 2 of their own, (7 + 5) / 2 = 6 have 3 or 4
    assert moved == {
        "clients": {6},
        "own": set(),
        "share": {Fraction(1, 7), Fraction(1), Fraction(9, 28), Fraction(3, 4)},
        "kind": {"b"},
    }


@pytest.mark.parametrize(("side", "end"), [(0, Fraction(1, 7)), (1, Fraction(1))])
def test_a_quantity_moves_a_share_of_the_way_to_its_end(side: int, end: Fraction) -> None:
    half = Fraction(1, 2)
    for share in (Fraction(0), Fraction(1, 3), Fraction(1)):
        moved = toward(SPACE, ONE, "share", side, share)
        assert moved == ONE | {"share": half + share * (end - half)}
    assert toward(SPACE, ONE, "clients", 1, Fraction(1)) is None
    assert toward(SPACE, ONE, "kind", side, share) is None


def test_every_second_draw_of_a_long_positive_range_is_uniform_in_the_logarithm() -> None:
    def bounded(
        x: Annotated[float, reals(1e-3, 1e3)],
        near: Annotated[float, reals(1, 9)],
        signed: Annotated[float, reals(-1, 1)],
        count: Annotated[int, integers(1, 10**6)],
        share: Annotated[Fraction, rationals(Fraction(1, 3000), 1, 3)],
    ) -> Sides:
        return at_most(x, one=near)

    draws = list(spread_draws(Space.of(bounded), np.random.default_rng(0), {}, 4000))
    assert len(draws) == 4000
    assert min(one["share"] for one in draws) == Fraction(1, 3000)  # finer than fractions are drawn
    # a fifth of the logarithms, and of the numbers, lies below these; five standard errors of a share of 2000
    margin = 5 * math.sqrt(0.2 * 0.8 / 2000)
    below = {
        "x": (1e-3 + 0.2 * (1e3 - 1e-3), 10 ** (-3 + 0.2 * 6)),
        "near": (2.6, 2.6),
        "signed": (-0.6, -0.6),
        "count": (200_000, 10**1.2),
    }
    for name, ends in below.items():
        for parity, end in enumerate(ends):
            values = [one[name] for one in draws[parity::2]]
            assert np.mean(np.array(values) < end) == pytest.approx(0.2, abs=margin), (name, parity)


@pytest.mark.usefixtures("registry")
def test_the_other_quantities_of_a_corner_that_breaks_are_the_simplest_ones() -> None:
    """Broken by any k, and by sums from 5 on, at the end of a range that is too long for a list."""

    def stated(
        n: Annotated[int, integers(0, 10**6)],
        k: Annotated[int, integers(0, 9)],
        q: Annotated[Fraction, rationals(0, 9, 2)],
    ) -> Sides:
        return at_most(int(n == 10**6 and q >= 5), none=0)

    claim(stated, budget=100)
    found = theory.check("toy/one")
    assert found.counterexample is not None
    instance = found.counterexample
    assert (instance["n"], instance["k"], Fraction(instance["q"])) == (10**6, 0, 5)

"""The comparison of a text with its function at some instances."""

from __future__ import annotations

import pytest

from clusterproof.checker.claims.claim import claim, find_claim
from clusterproof.checker.freeze import freeze
from clusterproof.checker.freeze.agreement import instances, require_agreement
from clusterproof.checker.kernel import Refused, read
from clusterproof.theorem import Function, Sides, Z, at_most, functions, suppose


def fewer(n: int = Z[1:6]) -> Sides:
    suppose("n is odd", n % 2 == 1)
    return at_most(n, bound=6)


def more(n: int = Z[1:6]) -> Sides:
    suppose("n is odd", n % 2 == 1)
    return at_most(n, bound=7)


def every(n: int = Z[1:6]) -> Sides:
    return at_most(n, bound=6)


def test_a_text_that_says_something_else_than_the_function_is_refused() -> None:
    """... another bound, or another hypothesis."""
    (own, other, further) = (claim(f"attack/{f.__name__}")(f).statements[0] for f in (fewer, more, every))
    frozen = freeze(find_claim("attack/fewer"))
    assert frozen.text is not None
    text = read(frozen.text).statements[""]
    tried = [{"n": n} for n in range(1, 7)]
    require_agreement(own, text, tried)
    for each in (other, further):
        with pytest.raises(Refused, match="another value than its source"):
            require_agreement(each, text, tried)


def wide(n: int = Z[0:7]) -> Sides:
    suppose("n is odd", n % 2 == 1)
    return at_most(n, bound=6)


def test_a_text_with_smaller_ranges_than_the_function_is_refused() -> None:
    own = claim("attack/wide")(wide).statements[0]
    claim("attack/narrow")(fewer)
    text = freeze(find_claim("attack/narrow")).statement("")
    require_agreement(own, text, [{"n": 1}, {"n": 6}])
    with pytest.raises(Refused, match="excludes a value"):
        require_agreement(own, text, [{"n": 1}, {"n": 7}])
    narrow = find_claim("attack/narrow").statements[0]
    require_agreement(narrow, freeze(find_claim("attack/wide")).statement(""), [{"n": 1}, {"n": 6}])


def descent(f: Function = functions(smoothness=1)) -> Sides:
    x = f.start
    return at_most(f(x - f.gradient(x)), f(x))


def longer(f: Function = functions(smoothness=1)) -> Sides:
    x = f.start
    return at_most(f(x - 2 * f.gradient(x)), f(x))


def test_a_text_with_another_step_on_functions_is_refused() -> None:
    own, other = (claim(f"attack/{each.__name__}")(each).statements[0] for each in (descent, longer))
    text = freeze(find_claim("attack/descent")).statement("")
    require_agreement(own, text, instances(own))
    with pytest.raises(Refused, match="another value than its source"):
        require_agreement(other, text, instances(other))

"""Ranges as slices that are defaults of parameters: what they are, what they are for the kernel, and their types."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import pytest
from kernel_statements import frozen_of

from clusterproof.checker.claims import Q, Sides, Z, among, at_least, at_most, choice, integers, rationals
from clusterproof.checker.claims.ranges import Range
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.kernel import vocabulary
from clusterproof.common import InvalidArgument

F = Fraction


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (Q[0:1], rationals(0, 1, 3)),
        (Q[0 : F(1, 2) : 8], rationals(0, F(1, 2), 8)),
        (Q[2:], rationals(2, 10, 3, upwards=True)),
        (Q[-2:], rationals(-2, 8, 3, upwards=True)),
        (Q[:1], rationals(-8, 1, 3, downwards=True)),
        (Q[:], rationals(-8, 8, 3, upwards=True, downwards=True)),
        (Z[1:5], integers(1, 5)),
        (Z[2:], integers(2, 98, upwards=True)),
        (Z[:-3], integers(-99, -3, downwards=True)),
        (among(1, 2), choice(1, 2)),
    ],
)
def test_a_slice_is_the_range_with_the_same_ends(own: Range, other: Range) -> None:
    assert type(own) is type(other)
    assert vars(own) == vars(other)


def test_an_open_side_is_tried_beyond_an_end_that_depends_on_earlier_quantities() -> None:
    def lemma(low: int = Z[1:3], above: int = Z[lambda low: low :]) -> Sides:
        return at_least(above, low)

    allowed = Statement("", lemma).space.ranges["above"]
    assert allowed.ends({"low": 2}) == (2, None)
    assert list(allowed.values({"low": 2}) or ()) == list(range(2, 2 + 96 + 1))


def test_the_claim_is_as_with_annotations() -> None:
    def own(n: int = Z[1:], step: Fraction = Q[0:1:8], *, twice: int = 2) -> Sides:
        return at_most(step, 1, more=twice * n)

    def other(
        n: Annotated[int, integers(1, 97, upwards=True)],
        step: Annotated[Fraction, rationals(0, 1, 8)],
        *,
        twice: int = 2,
    ) -> Sides:
        return at_most(step, 1, more=twice * n)

    frozen = [frozen_of(each) for each in (own, other)]
    assert frozen[0].text == str(frozen[1].text).replace("other", "own")
    spaces = [each.statement("") for each in frozen]
    instance = {"n": 2, "step": F(1, 3)}
    found = [each.evaluated(instance)[0][""] for each in spaces]
    for each in found:
        assert isinstance(each, vocabulary.Sides)
        assert each.slacks == (1 + 2 * 2 - F(1, 3),)


def made(text: str, folder: Path) -> Callable[..., Any]:
    """Return the function f of a file."""
    file = folder / f"f{abs(hash(text))}.py"
    file.write_text(f"from clusterproof.checker.claims import Q, Z, at_most\n{text}", encoding="utf-8")
    names: dict[str, Any] = {"__name__": file.stem}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    found: Callable[..., Any] = names["f"]
    return found


def test_the_text_is_of_the_range_and_not_of_what_is_tried_of_it(tmp_path: Path) -> None:
    body = "    return at_most(x, 2)\n"
    texts = [f"def f(x=Q[0:{end}]):\n{body}" for end in ("1", "1:8", "2")]
    texts += [f"A = Q[0:1]\n\n\ndef f(x=A):\n{body}", f"def f(x=Q[0:]):\n{body}"]
    found = [frozen_of(made(text, tmp_path)).text for text in texts]
    assert None not in found
    assert found[0] == found[1] == found[3]
    assert len(set(found)) == 3


def test_the_text_is_of_an_end_that_depends_on_earlier_quantities(tmp_path: Path) -> None:
    body = "    return at_most(m, 2 * n)\n"
    texts = [f"def f(n=Z[1:], m=Z[0 : lambda n: {end}]):\n{body}" for end in ("n", "n + 1")]
    found = [frozen_of(made(text, tmp_path)).text for text in texts]
    assert None not in found
    assert found[0] != found[1]


def test_a_call_must_give_every_quantity() -> None:
    def lemma(x: Fraction = Q[0:1]) -> Sides:
        return at_most(x, 1)

    Statement("", lemma)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        lemma()
    assert lemma(F(1, 2)).terms == {"bound": 1}


def test_what_is_no_range_is_refused() -> None:
    for wrong in (lambda: Q[1], lambda: Z[0:1:2], lambda: Z[0 : F(1, 2)], lambda: Q[2:1]):
        with pytest.raises(InvalidArgument):
            wrong()

    def beside_a_constant(x: Fraction = Q[0:1], y: int = 3) -> Sides:
        return at_most(x, y)

    def behind_the_star(*, x: Fraction = Q[0:1]) -> Sides:
        return at_most(x, 1)

    for function in (beside_a_constant, behind_the_star):
        with pytest.raises(InvalidArgument):
            Statement("", function)

"""What a claim says of its trials: witnesses, repairs, failed proofs, cards, and a script of a user."""

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from toy_claims import PAPER, Digit, Share, claim

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument
from clusterproof.theory import Kind
from clusterproof.theory.checker import (
    Family,
    Sides,
    at_least,
    at_most,
    choice,
    equal,
    evaluation,
    integers,
    reals,
    suppose,
)

pytestmark = pytest.mark.usefixtures("registry")


ILL, FALSE = Kind.ILL_POSED, Kind.VIOLATED


@pytest.mark.parametrize(
    ("kind", "vague", "expected"),
    [
        ("definition", None, ILL),
        ("definition", False, FALSE),
        ("identity", None, FALSE),
        ("identity", True, ILL),
    ],
)
def test_a_definition_that_breaks_is_ill_posed_unless_said_otherwise_and_keeps_its_witness(
    kind: str, vague: bool | None, expected: Kind
) -> None:
    def readings(x: Digit) -> Sides:
        return equal((x**2, 2 * x), words=lambda: f"{x} squared is {x**2}")

    claim(readings, kind=kind, ill_posed=vague)
    verdict = theory.check("toy/one")
    assert verdict.verdict is expected
    assert verdict.counterexample == {"x": 1}
    assert verdict.reason == "1 squared is 1"
    assert theory.replay("toy/one", verdict.counterexample).verdict is expected


@pytest.mark.parametrize("order", [("loose", "near", "far"), ("far", "near", "loose")])
def test_the_numbers_are_those_of_the_conclusion_that_comes_nearest(order: tuple[str, ...]) -> None:
    def several(x: Digit) -> dict[str, Sides]:
        conclusions = {
            "loose": at_most(x, ninety=90),
            "near": at_most(x, ten=10),
            "far": at_most(x, hundred=100),
        }
        return {name: conclusions[name] for name in order}

    claim(several)
    verdict = theory.check("toy/one")
    assert (verdict.measured, verdict.bound, verdict.slack) == (9, 10, pytest.approx(10 / 9))


def test_confirm_must_agree() -> None:
    def false(x: Digit) -> Sides:
        return at_most(x, one=1)

    claim(false, confirm=lambda x: float(x))
    assert theory.check("toy/one").verdict is Kind.VIOLATED
    claim(false, "two", confirm=lambda x: None)
    assert theory.check("toy/two").verdict is Kind.VIOLATED
    claim(false, "three", confirm=lambda x: x + 1e-6)
    with pytest.raises(ArithmeticError, match="toy/three: the run gives"):
        theory.check("toy/three")
    with pytest.raises(ArithmeticError, match="toy/three: the run gives"):
        theory.replay("toy/three", theory.check("toy/two").counterexample or {})


def test_small_numbers_must_agree_too() -> None:
    def false(x: Digit) -> Sides:
        return at_most(1e-10 * x, one=1e-10)

    claim(false, confirm=lambda x: 1.01e-10 * x)
    with pytest.raises(ArithmeticError, match="toy/one: the run gives"):
        theory.check("toy/one")


@pytest.mark.parametrize(
    ("stated", "verdict"),
    [
        (lambda n: at_most(math.factorial(n), power=n**n), Kind.CERTIFIED),
        (lambda n: at_most(math.factorial(n), power=10**500), Kind.VIOLATED),
        (lambda n: at_most(10 ** (2 * n), one=1), Kind.VIOLATED),
        (lambda n: at_least(1, power=102**n - 100**n), Kind.VIOLATED),
        (lambda n: equal(((10**n + 1) ** 2, 10 ** (2 * n) + 2 * 10**n + 1)), Kind.CERTIFIED),
        (lambda n: equal(((10**n + 1) ** 2, 10 ** (2 * n) + 2 * 10**n + (n < 299))), Kind.VIOLATED),
    ],
)
def test_whole_numbers_larger_than_any_float_are_compared_exactly(stated: Any, verdict: Kind) -> None:
    def about(n: Annotated[int, integers(1, 300)]) -> Sides:
        sides: Sides = stated(n)
        return sides

    claim(about)
    found = theory.check("toy/one")
    assert found.verdict is verdict
    if verdict is Kind.VIOLATED:
        assert theory.replay("toy/one", found.counterexample or {}).verdict is verdict


Large = Annotated[float, reals(1e8, 1.0001e8)]
Unit = Annotated[float, reals(0.0, 1.0)]


def variance(x: Large, y: Large) -> Sides:
    # (x - y)^2 / 4, which is at least 0
    return at_least((x * x + y * y) / 2 - ((x + y) / 2) ** 2, zero=0)


def root(x: Unit, y: Unit) -> Sides:
    return at_most(x**0.5 + y**0.5, of_the_sum=(x + y) ** 0.5)


def cosine(x: Annotated[float, reals(1e-8, 1e-2)]) -> Sides:
    # 1 - cos x, which is at most x^2 / 2, has an absolute error of 1e-16
    return at_most(1 - math.cos(x), half=x * x / 2)


def geometric(x: Unit, n: Annotated[int, integers(1, 10, upwards=True)]) -> Sides:
    suppose("x > 0", x > 0)
    return equal((sum((1 - x) ** t for t in range(n)), (1 - (1 - x) ** n) / x))


def there_and_back(x: Unit) -> Sides:
    return equal(((1 + x) - 1, x))


def printed(x: Annotated[float, choice(3e-10)]) -> Sides:
    return equal(((1 + x) - 1, x))


@pytest.mark.parametrize("stated", [variance, geometric, there_and_back, printed])
def test_what_breaks_in_floats_and_holds_for_the_same_fractions_is_not_violated(stated: Any) -> None:
    claim(stated, budget=100)
    found = theory.check("toy/one")
    assert (found.verdict, found.proof) == (Kind.CONSISTENT, None)  # other instances were in floats


def test_an_instance_that_breaks_in_fractions_too_is_violated(plant: Callable[..., Any]) -> None:
    plant(evaluation, "EXACT_SECONDS", 0.02)

    def stated(x: Unit) -> Sides:
        return at_most((1 + x) - 1, less=x - Fraction(1, 10**30))

    def slower(x: Unit) -> Sides:
        if isinstance(x, Fraction):
            while True:
                pass
        return stated(x)

    for function in (stated, slower):
        claim(function, function.__name__)
        found = theory.check(f"toy/{function.__name__}")
        assert found.verdict is Kind.VIOLATED
        assert theory.replay(f"toy/{function.__name__}", found.counterexample or {}).verdict is Kind.VIOLATED


@pytest.mark.parametrize(("stated", "doubtful"), [(cosine, True), (root, False)])
def test_a_counterexample_by_cancellation_is_none(stated: Any, doubtful: bool) -> None:
    claim(stated)
    found = theory.check("toy/one")
    assert found.verdict is (Kind.INCONCLUSIVE if doubtful else Kind.VIOLATED)
    assert found.reason.startswith("rounding: at x = ") == doubtful


@pytest.mark.parametrize(("name", "holds"), [("x <= 1", "x <= 1"), (True, "x <= 1"), (True, True)])
def test_a_hypothesis_is_a_name_and_whether_it_holds_in_this_order(name: Any, holds: Any) -> None:
    @claim
    def stated(x: Digit) -> Sides:
        suppose(name, holds)
        return at_most(x, one=1)

    with pytest.raises(InvalidArgument, match=r'write suppose\("x > 0", x > 0\)'):
        theory.check("toy/one")


def test_a_repair_reuses_the_sides_of_what_it_repairs() -> None:
    def printed(x: Digit, *, power: float = 1.0) -> Sides:
        return at_most(float(x), bound=0.5 + 0.7 * x**power)

    theorem = claim(printed, "printed", repaired_by="toy/repaired")

    def repaired(x: Digit, *, power: float = 2.0) -> Sides:
        return theorem(x, power=power)

    claim(repaired, "repaired")
    assert theory.check("toy/printed").verdict is Kind.VIOLATED
    assert theory.check("toy/repaired").verdict is Kind.CONSISTENT


def test_a_failed_proof_is_said_and_the_search_goes_on() -> None:
    def absolute(x: Share) -> Sides:
        return at_most(abs(x), itself=x)

    claim(absolute, prove=True)
    verdict = theory.check("toy/one")
    assert verdict.verdict is Kind.CONSISTENT
    assert "no proof: the statement is no formula" in verdict.reason

    def true(x: Digit) -> Sides:
        return at_most(x, more=x + 1)

    claim(true, "two", prove=True)
    verdict = theory.check("toy/two")
    assert (verdict.verdict, verdict.exhausted, verdict.instances) == (Kind.CERTIFIED, True, 10)
    assert verdict.sharpness == {"all": 0.9}
    assert verdict.reason == "proved symbolically for every instance in the ranges; holds on 10 instances"


def test_a_proof_of_something_stands_where_proofs_stand() -> None:
    def proved(x: Digit) -> Sides:
        """Title.

        Statement
            x <= 9.

        Proof that it says nothing
            Digits are.

        Checked
            On digits.
        """
        return at_most(x, nine=9)

    claim(proved)
    headings = [line for line in theory.find_claim("toy/one").card.splitlines() if line[:1].strip()]
    assert headings == ["Statement", "Proof that it says nothing", "Symbols", "Source", "Checked"]


def test_a_check_of_its_own_kind_says_why_it_has_no_sharpness() -> None:
    @PAPER.decided("own", label="Table 1", kind="identity", no_sharpness="one number of a table")
    def own(context: theory.Context) -> theory.Finding:
        """Own."""
        return theory.Finding(verdict=Kind.CONSISTENT, reason="The number is there.")

    verdict = theory.check("toy/own")
    assert verdict.reason == "The number is there; sharpness does not apply (one number of a table)"
    assert verdict.sharpness is None


SCRIPT = """
from typing import Annotated
from clusterproof import theory
from clusterproof.theory.checker import Family, Sides, at_most, integers
Large = Annotated[int, integers(0, 123_456_789)]
tried = []
@Family("mine").claim("one", label="1", kind="upper", budget=50)
def one(a: Large, b: Large) -> Sides:
    tried.append((a, b))
    return at_most(a, sum=a + b)
theory.check("mine/one", seed=3)
print(tried)
"""


@pytest.mark.slow(reason="runs a script in a process of its own")
def test_a_users_script_finds_nothing_new_in_its_folder_and_no_constants_of_its_own_tried(
    tmp_path: Path,
) -> None:
    """Hypothesis reads the constants of all local modules and stores them; neither may happen."""
    outputs = []
    for extra in ("", "CONSTANTS = [11111111, 22222222, 33333333, 44444444, 5555, 66666]\n"):
        folder = tmp_path / f"user{len(extra)}"
        folder.mkdir()
        (folder / "script.py").write_text(extra + SCRIPT)
        done = subprocess.run(
            [sys.executable, "script.py"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            env={name: value for name, value in os.environ.items() if not name.startswith("HYPOTHESIS")}
            | {"OMP_NUM_THREADS": "1"},
        )
        outputs.append(done.stdout)
        assert [path.name for path in folder.iterdir()] == ["script.py"]
    assert outputs[0] == outputs[1]


def test_a_claim_is_registered_with_what_it_states() -> None:
    def bound_trace(*given: Any) -> Any:
        return given

    facts: dict[str, Any] = {
        "label": "(7)",
        "kind": "definition",
        "repaired_by": ("toy/usual",),
        "quick": False,
    }
    known = facts | {"bound_trace": bound_trace}
    written = Family("toy")

    @written.claim("all", **known)
    def every(n: Annotated[int, integers(1, 2)]) -> Sides:
        """A title.

        And a card.
        """
        return at_most(n, two=2)

    @Family("toy").claim("usual", label="(8)", kind="upper")
    def usual(n: Annotated[int, integers(1, 2)]) -> Sides:
        """Another."""
        return at_most(n, two=2)

    claim = theory.find_claim("toy/all")
    assert {name: getattr(claim, name) for name in known} == known
    assert (claim.title, claim.parts) == ("A title.", every)
    assert claim.parts is not None
    assert claim.parts.ill_posed
    other = theory.find_claim("toy/usual")
    assert (other.repaired_by, other.bound_trace, other.quick) == ((), None, True)
    assert (other.parts, usual.ill_posed) == (usual, False)


@pytest.mark.parametrize(
    "product",
    [
        lambda n: np.prod(np.arange(1, n + 1)),
        lambda n: np.cumprod(np.arange(1, n + 1)),
        lambda n: np.prod(np.arange(1, n + 1, dtype=object)),
    ],
)
def test_a_false_statement_is_not_certified_by_integers_that_overflow(product: Any) -> None:
    """21! = 5.1e19 is above the bound, and above 2^63."""

    def factorial(n: Annotated[int, integers(21, 25)]) -> Sides:
        return at_most(product(n), bound=9 * 10**18)

    claim(factorial)
    exact = isinstance(product(21), int)
    assert (theory.check("toy/one").verdict is Kind.VIOLATED) >= exact
    assert theory.check("toy/one").verdict is not Kind.CERTIFIED


@pytest.mark.parametrize(
    ("conclude", "words"),
    [
        (lambda x: at_most(np.ones(x), bound=1), "must not be an empty array"),
        (lambda x: at_most(1.0, bound=float("nan")), "what is allowed is not a number"),
        (lambda x: equal((np.int64(x), 10**19)), "too large"),
        (lambda x: at_most(10**400, bound=1.5), "must be below 1.8e308 beside floats"),
        (lambda x: at_most(np.ones(3), bound=np.ones(2)), "must have the shape of one side"),
        (lambda x: at_most(np.ones(3), bound=np.ones((3, 1))), "must have the shape of one side"),
    ],
)
def test_an_error_of_a_statement_or_its_comparison_names_its_place(conclude: Any, words: str) -> None:
    def stated(x: Digit) -> Sides:
        return conclude(x)

    claim(stated)
    with pytest.raises((InvalidArgument, ArithmeticError, ValueError), match=words) as raised:
        theory.check("toy/one")
    (note,) = raised.value.__notes__
    assert re.fullmatch(r"test_statement_verdicts\.py, line \d+, at x = 0", note)

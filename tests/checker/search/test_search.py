"""What a search must find: equations, thin sets, neighbourhoods and powers of ten; and where it must stop."""

import inspect
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from tiers import slow_after
from toy_claims import decided, stated

from clusterproof.checker import Kind
from clusterproof.checker.claims import (
    Expectation,
    Replicates,
    Sides,
    Stream,
    at_least,
    at_most,
    expectation,
    integers,
    probability,
    rationals,
    reals,
    suppose,
)
from clusterproof.checker.report.decide import decide
from clusterproof.checker.search import equations
from clusterproof.checker.search.strategy import search
from clusterproof.common import limits
from clusterproof.common.limits import limited_memory

pytestmark = pytest.mark.usefixtures("registry")
Near = Annotated[Fraction, rationals(-2, 2, 8)]
Share = Annotated[Fraction, rationals(0, 1, 8)]
Real = Annotated[float, reals(0, 1)]
Wide = Annotated[float, reals(-2, 2)]
Length = Annotated[Fraction, rationals(0, 2, 8)]
Digit = Annotated[int, integers(1, 9)]


def circle(x: Near, y: Near, *, bound: Fraction) -> Sides:
    """On the unit circle x + y is at most sqrt 2 = 1.4142."""
    suppose("on the circle", x * x + y * y == 1)
    return at_most(x + y, bound)


def weights(a: Share, b: Share, c: Share, *, bound: Fraction) -> Sides:
    """Of the weights 2 t, t and 1 - 3 t the products are 3 t - 7 t^2, at most 9/28."""
    suppose("weights", a + b + c == 1)
    suppose("twice", a == 2 * b)
    return at_most(a * b + b * c + a * c, bound)


def thin(x: Real, y: Real, *, bound: float) -> Sides:
    """Near the line x + y = 1 the squares sum to 1/2 at least."""
    suppose("near the line", abs(x + y - 1) <= 1e-6)
    return at_least(x * x + y * y, bound)


def root(x: Length, *, bound: Fraction) -> Sides:
    """No fraction has the square 2."""
    return at_least((x * x - 2) ** 2, bound)


def least(x: Share, *, bound: Fraction) -> Sides:
    suppose("x > 0", x > 0)
    return at_least(x, bound)


def below_one(x: Share, *, bound: Fraction) -> Sides:
    suppose("x < 1", x < 1)
    return at_most(x, 1 - bound)


CASES: list[tuple[Any, Any, Any]] = [
    (root, Fraction(1, 10**12), Fraction(0)),
    (least, Fraction(1, 10**30), Fraction(0)),
    (below_one, Fraction(1, 10**16), Fraction(0)),
    (circle, Fraction(7, 5), Fraction(3, 2)),
    (weights, Fraction(31, 100), Fraction(9, 28)),
    (thin, 0.51, 0.499),
]


@pytest.mark.parametrize(("function", "false", "true"), slow_after(3, "seconds of search", CASES))
def test_what_no_drawn_instance_shows_is_found(function: Any, false: Any, true: Any) -> None:
    function.__kwdefaults__ = {"bound": false}
    found = decided(function)
    assert found.verdict is Kind.VIOLATED, found.reason
    function.__kwdefaults__ = {"bound": true}
    tried = search(stated(function).statements[0], 0, 1e-9)
    assert tried.lines[""].found is None
    assert tried.instances >= 30


def test_a_counterexample_on_an_equation_is_a_simple_one() -> None:
    """x + y = 41/29 at (20/29, 21/29) is more than 7/5; the simplest such points have denominators below 1000."""
    circle.__kwdefaults__ = {"bound": Fraction(7, 5)}
    example = decided(circle).counterexample
    assert example is not None
    x, y = (Fraction(example[name]) for name in ("x", "y"))
    assert x * x + y * y == 1
    assert x + y > Fraction(7, 5)
    assert max(x.denominator, y.denominator) < 1000


NAMES = (("x", "y", "n"), ("n", "x", "y"), ("zeta", "alpha", "mu"))
RENAMED = """
def function({0}: {near}, {1}: {size}, {2}: Digit) -> Sides:
    return at_most({0} * {1} + {2} / Fraction(7), bound={0}**2 / 3 + {1}**2 / 2 + 1)
"""


@pytest.mark.parametrize(("near", "size"), [("Near", "Length"), ("Wide", "Real")])
def test_a_counterexample_does_not_depend_on_the_names_of_quantities(near: str, size: str) -> None:
    def found(first: str, second: str, third: str) -> tuple[Any, ...]:
        names = dict(globals())
        exec(RENAMED.format(first, second, third, near=near, size=size), names)
        example = decided(names["function"]).counterexample
        assert example is not None
        return tuple(example[each] for each in (first, second, third))

    ((x, y, n),) = {found(*names) for names in NAMES}
    x, y = Fraction(x), Fraction(y)
    assert x * y + Fraction(n, 7) > x**2 / 3 + y**2 / 2 + 1


def of_fractions(x: Near, y: Length, n: Digit) -> Sides:
    return at_most(x * y + n / Fraction(7), bound=x**2 / 3 + y**2 / 2 + 1)


def of_floats(x: Wide, y: Real, n: Digit) -> Sides:
    return at_most(x * y + n / Fraction(7), bound=x**2 / 3 + y**2 / 2 + 1)


def of_chance(n: Digit, x: Real, stream: Stream, replicates: Replicates) -> Any:
    return probability(stream.uniform(size=replicates) < n / 10, at_most=x / 2)


@pytest.mark.parametrize("function", [of_fractions, of_floats, of_chance])
def test_a_counterexample_does_not_depend_on_the_id_of_a_claim_or_a_step(function: Any) -> None:
    ids = ("one", "other", "lemma-1")
    found = [decide(stated(function, name), 0) for name in ids]
    for step in ids[1:]:  # two claims with two statements each
        made = stated(of_fractions, step)
        made.step(f"step of {step}")(function)
        found.append(decide(made, 0).lines[1])
    assert all(each.verdict is Kind.VIOLATED and each.counterexample for each in found)
    examples = [{**(each.counterexample or {}), "line": each.measured} for each in found]
    assert examples == [examples[0]] * len(found)


def test_a_factor_with_more_digits_than_python_writes_leaves_the_verdict_as_it_is() -> None:
    def power(n: Digit) -> Sides:
        return at_most(Fraction(2, 3) ** (10_000 + n), bound=1)

    verdict = decided(power)
    assert verdict.verdict in (Kind.CERTIFIED, Kind.CONSISTENT)
    assert verdict.worst_exact is None


# ---- chance


def test_a_mean_that_is_compared_as_if_it_were_exact_decides_nothing() -> None:
    def mean(n: Digit, stream: Stream) -> Sides:
        return at_most(stream.uniform(size=100).mean(), 0.1)

    def of_samples(n: Digit, stream: Stream, replicates: Replicates) -> Expectation:
        return expectation(stream.uniform(size=replicates), at_most=0.1, range=(0, 1))

    found = decided(mean)
    assert (found.verdict, found.counterexample) == (Kind.INCONCLUSIVE, None)
    assert "state expectation(...)" in found.reason
    assert decided(of_samples).verdict is Kind.VIOLATED


@pytest.mark.parametrize(
    ("count", "of", "allowed", "false"),
    [
        (1, 4000, 0.0, True),
        (0, 4000, 0.0, False),
        (400, 400, 0.9, True),
        (360, 400, 0.9, False),
        (3, 4000, 0.0129, False),
    ],
)
def test_expectations_of_events_have_binomial_limits(
    count: int, of: int, allowed: float, false: bool
) -> None:
    """One success refutes the probability 0; of 400 successes of 400, .9^400 = 5e-19 is the probability."""

    def event(n: Annotated[int, integers(1, 1)], stream: Stream, replicates: Replicates) -> Expectation:
        return expectation(np.arange(of) < count, at_most=allowed, range=(0, 1))

    found = decided(event)
    assert (found.verdict is Kind.VIOLATED) == false, found.reason
    assert found.confidence is not None
    assert 0 <= found.confidence.lower <= count / of <= found.confidence.upper <= 1


# ---- work


def endless(n: Digit) -> Sides:
    while n > 0:
        pass
    return at_most(n, 9)


def late(n: Annotated[int, integers(1, 400)]) -> Sides:
    while n == 333:
        pass
    return at_most(n, 400)


def heavy(x: Share) -> Sides:
    total = 0.0
    for _ in range(500):
        total += float(x) * 0.0
    return at_most(total, x)


@pytest.fixture
def _small_limits(plant: Callable[..., Any]) -> None:
    plant(limits, "MOST_OF_ONE", 20_000)
    plant(limits, "MOST", 200_000)
    plant(limits, "QUICK", 0.05)


@pytest.mark.usefixtures("_small_limits")
def test_a_search_stops_and_names_the_instance() -> None:
    found = decided(endless)
    assert found.verdict is Kind.INCONCLUSIVE
    assert found.reason.startswith("stopped at n = 1: its evaluation takes more than ")
    found = decided(late)
    assert found.verdict is Kind.INCONCLUSIVE
    assert "stopped at n = 333: its evaluation takes more than " in found.reason
    assert not found.exhausted
    found = decided(heavy)
    assert "the search takes more than " in found.reason
    assert 30 <= (found.instances or 0) < 200  # of some thousand lines each
    assert found.verdict is Kind.CONSISTENT


def doubling(n: Annotated[int, integers(0, 60)]) -> Sides:
    entries = [1]
    for _ in range(n):
        entries = entries + entries
    return at_most(len(entries), 2**60)


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not limit memory")
def test_a_list_that_doubles_stops_the_search_at_its_line() -> None:
    """2^25 entries of 8 bytes are 256 MiB."""
    line = inspect.getsourcelines(doubling)[1] + 3
    with limited_memory(2**28):
        found = decided(doubling)
    assert found.verdict is Kind.INCONCLUSIVE
    assert "stopped at n = 2" in found.reason
    assert f"of memory (test_search.py, line {line})" in found.reason


@pytest.mark.usefixtures("_small_limits")
def test_the_words_do_not_depend_on_the_speed(plant: Callable[..., Any]) -> None:
    for function in (late, heavy):
        first = decided(function).reason
        plant(limits, "QUICK", 0.001)  # as on a machine that is slower by far: more is counted
        assert decided(function).reason == first


EXECUTED = [0]


def loop(rounds: int) -> None:
    for _ in range(rounds):
        EXECUTED[0] += 2


def growing(n: Annotated[int, integers(1, 999)]) -> Sides:
    loop(n * n // 20)
    return at_most(n, 999)


def shrinking(n: Annotated[int, integers(1, 999)]) -> Sides:
    loop((1000 - n) ** 2 // 20)
    return at_most(n, 999)


@pytest.mark.parametrize("function", [growing, shrinking])
def test_a_search_executes_no_more_lines_than_it_may_but_for_a_tenth(
    function: Callable[..., Sides], plant: Callable[..., Any]
) -> None:
    plant(limits, "MOST", 5_000_000)
    EXECUTED[0] = 0
    found = decided(function)
    assert "the search takes more than " in found.reason
    assert 0.5 * limits.MOST < EXECUTED[0] < 1.1 * limits.MOST


FILE = """
from typing import Annotated
from clusterproof.theorem import at_most, claim, integers

@claim("own/false")
def false(n: Annotated[int, integers(1, 9)]):
    \"\"\"n <= 8.\"\"\"
    return at_most(n, 8)

@claim("own/endless")
def endless(n: Annotated[int, integers(1, 9)]):
    \"\"\"It does not end.\"\"\"
    print("begun", flush=True)
    {loop}
    return at_most(n, 9)
"""


@pytest.mark.slow(reason="a command that is interrupted")
def test_an_interrupted_command_prints_the_verdicts_until_then(tmp_path: Path) -> None:
    """A loop of Python ends at once; a call of compiled code after a while, which no test waits for."""
    file = tmp_path / "own.py"
    file.write_text(FILE.format(loop="while n: pass"))
    command = [sys.executable, "-m", "clusterproof", "check", str(file), "--search"]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("begun"):
                break
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        try:
            out, error = process.communicate(timeout=60)
        finally:
            with suppress(ProcessLookupError):  # where it has not ended
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130
    assert "interrupted" in error
    assert "stopped at n = 1: interrupted there" in out
    assert "2 claims: 1 violated, 1 inconclusive" in out


def test_equations_are_solved_with_a_limited_number_of_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the hypotheses takes 40 % of the operations, so there are three looks."""
    looks = []
    missed = equations.missed
    monkeypatch.setattr(equations, "missed", lambda *asked: looks.append(asked) or missed(*asked))
    monkeypatch.setattr(equations, "steps_taken", lambda: equations.SOLVING * 2 // 5)

    def sphere(x: Near, y: Near, z: Near) -> Sides:
        suppose("on the sphere", x * x + y * y + z * z == Fraction(1, 3))
        return at_most(x, 1)

    decided(sphere)
    assert len(looks) == 3

"""Searched tasks, streams, replicates and comparisons of several kinds combine; errors name their place."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from scipy.stats import norm

from clusterproof import QuadraticMixture, check, code_of, load_claims, replay
from clusterproof.commands.application import main
from clusterproof.synthetic import strategies
from clusterproof.theorem import (
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    claim,
    drawn,
    equal,
    expectation,
    integers,
    probability,
    rationals,
    searched,
)
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.expectation import Expectation
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.trial import attempt

Task = Annotated[
    QuadraticMixture, searched(lambda: strategies.quadratic_mixtures(clusters=1, clients=(1, 5), dimension=1))
]
Wide = Annotated[QuadraticMixture, searched(lambda: strategies.quadratic_mixtures(clients=(3, 40)))]
Sample = Annotated[QuadraticMixture, drawn(lambda stream: make_task(int(stream.integers(1, 6))))]
Size = Annotated[int, integers(1, 3)]


def make_task(clients: int) -> QuadraticMixture:
    return QuadraticMixture.random(clusters=1, clients=clients, dimension=1)


def test_a_searched_task_with_random_numbers_is_drawn_in_many_sizes(registry: Any) -> None:
    sizes: list[int] = []

    @claim("own/stream", budget=200)
    def statement(task: Task, stream: Stream) -> Sides:
        sizes.append(task.clients)
        return at_most(-abs(stream.standard_normal(3)), zero=0)

    verdict = check("own/stream")
    assert verdict.verdict == "consistent"
    assert verdict.instances is not None
    assert verdict.instances >= 30
    assert set(sizes) == {1, 2, 3, 4, 5}
    first, sizes[:] = list(sizes), []
    assert check("own/stream") == verdict or first == sizes  # seconds differ, the instances do not


@pytest.mark.parametrize("kind", [Task, Sample])
@pytest.mark.parametrize("with_replicates", [False, True])
def test_a_false_statement_is_found_and_replayed(kind: Any, with_replicates: bool, registry: Any) -> None:
    """The sum of squares of m standard normals exceeds 40 m / (m + 1) in some of 400 replicates, or it is 0 clients."""

    def broken(task: Any, size: Any, numbers: Any) -> Sides:
        return at_most(np.abs(numbers).max() + task.clients, size=3 + size)

    if with_replicates:

        @claim("own/false", budget=40)
        def repeated(task: kind, size: Size, stream: Stream, replicates: Replicates) -> Sides:
            return broken(task, size, stream.standard_normal(replicates))
    else:

        @claim("own/false", budget=40)
        def single(task: kind, size: Size, stream: Stream) -> Sides:
            return broken(task, size, stream.standard_normal(1))

    verdict = check("own/false")
    assert verdict.verdict == "violated"
    assert verdict.counterexample is not None
    assert replay("own/false", verdict.counterexample).measured == verdict.measured
    assert code_of(verdict) is None or "own/false" in str(code_of(verdict))


@pytest.mark.parametrize("wrong", ["probability", "mean", "bound", "identity", None])
def test_several_kinds_of_comparison_in_one_statement(wrong: str | None, registry: Any) -> None:
    """Of a standard normal clipped to [-1, 1]: P(|x| = 1) = .317, E x = 0."""

    @claim("own/kinds", budget=3, replicates=4000)
    def kinds(task: Task, stream: Stream, replicates: Replicates) -> Any:
        numbers = np.clip(stream.standard_normal(replicates), -1, 1)
        return {
            "probability": probability(abs(numbers) == 1, at_most=0.2 if wrong == "probability" else 0.45),
            "mean": expectation(numbers, at_most=-0.3 if wrong == "mean" else 0.3, range=(-1, 1)),
            "bound": at_most(abs(numbers), one=0.5 if wrong == "bound" else 1),
            "identity": equal((task.clients, task.clients + (wrong == "identity"))),
        }

    verdict = check("own/kinds")
    if wrong is None:
        assert verdict.verdict == "consistent"
        assert verdict.confidence is not None
        assert verdict.confidence.lower < 0.3173 < verdict.confidence.upper  # of the repetitions beside it
    else:
        assert verdict.verdict == "violated"
        assert verdict.reason.startswith(wrong)


@pytest.mark.slow(reason="compares at 50 tasks")
def test_a_proof_is_compared_with_a_statement_about_searched_tasks(registry: Any) -> None:
    """A budget of 5 leaves too few instances for the comparison, so that more are drawn."""

    @claim("own/proved", budget=5)
    def statement(task: Wide) -> Sides:
        return at_most(-task.clients, zero=0)

    @statement.proof("algebra", at=lambda task: {"count": Fraction(task.clients)})
    def algebra(count: Annotated[Fraction, rationals(1, 99, 1, upwards=True)]) -> Sides:
        return at_most(-count, zero=0)

    verdict = check("own/proved")
    assert verdict.verdict == "certified", verdict.reason
    assert verdict.instances is not None
    assert verdict.instances >= 50


LEMMAS = """
from typing import Annotated
from clusterproof.theorem import at_most, claim, choice

@claim("lemmas/one")
def one(number: Annotated[int, choice(1)]):
    return at_most(number, two=2)
"""


def test_a_file_is_checked_without_what_it_imports(
    registry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lemmas_of_mine.py").write_text(LEMMAS)
    mine = "from lemmas_of_mine import one, at_most, claim, choice, Annotated\n"
    theorem = (
        '@claim("mine/two")\ndef two(number: Annotated[int, choice(1)]):\n    return at_most(number, two=2)\n'
    )
    (tmp_path / "theorem_of_mine.py").write_text(mine + theorem)
    assert load_claims("theorem_of_mine.py") == ["mine/two"]
    assert check("lemmas/one").verdict == "certified"  # known all the same
    (tmp_path / "only_imports.py").write_text(mine)
    assert main(["check", "lemmas_of_mine.py", "theorem_of_mine.py"]) == 0
    assert load_claims("lemmas_of_mine.py") == ["lemmas/one"]
    registry.clear()
    assert main(["check", "only_imports.py"]) == 2
    assert "must state a claim" in capsys.readouterr().err


FAULTY = '''
from fractions import Fraction
from typing import Annotated
from clusterproof.theorem import at_most, claim, rationals

def helper(step):
    return 1 / (step - step)

@claim("faulty/one")
def one(step: Annotated[Fraction, rationals(1, 2, 2)]):
    """A step."""
    if step == Fraction(3, 2):
        return at_most(helper(step), two=2)
    return at_most(step, two=2)
'''


@pytest.mark.parametrize(
    "jobs", [[], pytest.param(["--jobs", "1"], marks=pytest.mark.slow(reason="processes"))]
)
def test_an_error_names_file_line_and_instance(
    jobs: list[str], registry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "faulty_claims.py").write_text(FAULTY)
    assert main(["check", "faulty_claims.py", *jobs]) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "failed" in line]
    assert "ZeroDivisionError" in line
    assert "(faulty_claims.py, line 7, at step = 3/2)" in line


def shifted(count: int, deviations: float) -> np.ndarray:
    """Samples whose mean is above 0 by so many of its standard errors."""
    samples = np.random.default_rng(count).standard_normal(count)
    samples = (samples - samples.mean()) / samples.std(ddof=1)
    return np.asarray(samples + deviations / count**0.5)


@pytest.mark.parametrize(("first", "second"), [(6.3, 6.3), (6.3, 6.16), (6.16, 6.3), (6.3, -6.3)])
def test_both_samples_share_the_error_of_an_asymptotic_interval(first: float, second: float) -> None:
    """Each has a half of 1e-9, for both sides: 6.22 standard errors; with all of it they would be 6.11."""
    calls = []

    def stated(n: Annotated[int, choice(1)], stream: Stream, replicates: Replicates) -> Expectation:
        calls.append(replicates)
        return expectation(shifted(replicates, first if len(calls) == 1 else second), equal=0)

    least = norm.isf(1e-9 / 2 / 2)
    trial = attempt(Statement("", stated, replicates=10_000), Context(0, None, 1e-9, "toy/one"))
    assert (trial.found is not None) == (min(first, second) > least > 6.16)
    assert len(calls) == 1 + (first > least)


def test_an_exact_interval_needs_no_second_sample_though_another_has_one() -> None:
    calls = []

    def stated(
        n: Annotated[int, choice(1)], stream: Stream, replicates: Replicates
    ) -> dict[str, Expectation]:
        calls.append(replicates)
        samples = stream.random(replicates) + (len(calls) == 1)
        return {
            "asymptotic": expectation(samples, at_most=0.9),
            "exact": expectation(samples, range=(0, 2), at_most=0.9),
        }

    trial = attempt(Statement("", stated, replicates=10_000), Context(0, None, 1e-9, "toy/one"))
    assert trial.found is not None
    assert (len(calls), trial.found.broken) == (2, "exact")

"""The decorator: what it makes known, what it refuses, and how an error names its place."""

from __future__ import annotations

import functools
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from checkout import MYPY_CACHE, mypy_configuration
from mypy import api
from toy_claims import Digit, decided, stated

import clusterproof
from clusterproof import (
    FedAvg,
    InvalidArgument,
    QuadraticMixture,
    Sides,
    Trace,
    TraceBound,
    assert_holds,
    at_most,
    check,
    claim,
    equal,
    load_claims,
    rationals,
    replay,
    run,
    suppose,
)
from clusterproof.checker import REGISTRY, Kind, find_claim
from clusterproof.checker.claims import Z
from clusterproof.checker.claims.statement import Statement
from clusterproof.commands.application import main
from clusterproof.common.validation import error_line
from clusterproof.theorem import Function, functions

Step = Annotated[Fraction, rationals(0, 2, 8)]

ASKING = {
    "copied": lambda claims: claims.copy(),
    "listed": lambda claims: list(claims),
    "merged": lambda claims: {**claims},
    "printed": lambda claims: "{}" not in repr(claims),
    "removed": lambda claims: claims.pop("toy/one", None),
    "reversed": lambda claims: list(reversed(claims)),
}


@pytest.mark.parametrize("how", ASKING)
def test_claims_are_imported_however_the_registry_is_asked(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = type(REGISTRY)("All claims by id.")
    module = sys.modules[type(REGISTRY).__module__]
    monkeypatch.setattr(module, "modules_below", lambda _: claims.update({"toy/one": 1}))
    assert ASKING[how](claims)
    claims.clear()
    assert not claims


def contraction(step: Step) -> Sides:
    """A step of gradient descent contracts.

    |1 - eta| <= 1 - eta / 2.
    """
    suppose("the step moves", step > 0)
    return at_most(abs(1 - step), contraction=1 - step / 2)


def true_contraction(step: Step) -> Sides:
    """A step of gradient descent does not go beyond 1."""
    return at_most(abs(1 - step), start=1)


def test_a_function_becomes_a_claim_and_stays_a_function(registry: dict[str, Any]) -> None:
    made = claim("my-paper/lemma-1", label="Lemma 1")(contraction)
    # 1 - eta / 2 < eta - 1 beyond 4/3
    verdict = check("my-paper/lemma-1")
    assert (verdict.verdict, verdict.label) == ("violated", "Lemma 1")
    assert (verdict.source, verdict.error_kind) == ("printed", "false statement")
    assert verdict.counterexample is not None
    assert Fraction(verdict.counterexample["step"]) > Fraction(4, 3)
    assert replay("my-paper/lemma-1", verdict.counterexample).verdict == "violated"
    with pytest.raises(InvalidArgument, match="the step moves"):
        replay("my-paper/lemma-1", {"step": 0})
    assert made(Fraction(1, 2)).measured == Fraction(1, 2)
    assert (made.title, made.text) == ("A step of gradient descent contracts.", "|1 - eta| <= 1 - eta / 2.")


def test_stating_it_again_replaces_it_and_another_function_may_not(registry: dict[str, Any]) -> None:
    claim("my-paper/lemma-1")(contraction)
    claim("my-paper/lemma-1", label="Lemma 1, again")(contraction)
    assert REGISTRY["my-paper/lemma-1"].label == "Lemma 1, again"
    with pytest.raises(InvalidArgument, match="must not be the id of another claim"):
        claim("my-paper/lemma-1")(true_contraction)
    with pytest.raises(InvalidArgument, match="must be one of printed"):
        claim("my-paper/lemma-1", source="theirs")(contraction)
    assert list(registry) == ["my-paper/lemma-1"]


def test_nobody_takes_the_place_of_a_claim_of_ours() -> None:
    ours = REGISTRY["cfl-mgd/lemma-2"]
    with pytest.raises(InvalidArgument, match="must not be the id of another claim"):
        claim("cfl-mgd/lemma-2")(true_contraction)
    assert REGISTRY["cfl-mgd/lemma-2"] is ours


@pytest.mark.parametrize(
    ("source", "error_kind", "claimed", "found"),
    [
        ("printed", "false statement", "(7)", "(7)"),
        ("printed", "misprint", "(7)", "(7) (misprint)"),
        ("reading", "wording", "(7), reading", "(7), reading (wording)"),
        ("ours", "false statement", "(7) (ours)", "(7) (ours)"),
    ],
)
def test_what_is_judged_is_said_with_the_label(
    registry: dict[str, Any], source: str, error_kind: str, claimed: str, found: str
) -> None:
    how: dict[str, Any] = {"label": "(7)", "source": source, "error_kind": error_kind, "evaluations": 50}
    claim("my-paper/lemma-1", **how)(contraction)
    claim("my-paper/lemma-2", **how)(true_contraction)
    assert find_claim("my-paper/lemma-1").heading == claimed
    assert check("my-paper/lemma-1").heading == found
    assert check("my-paper/lemma-2").heading == claimed  # nothing failed
    assert f"({claimed})" in repr(find_claim("my-paper/lemma-1"))


@pytest.mark.parametrize(
    ("id_", "options", "said"),
    [
        ("lemma-1", {}, "must have the form paper/name"),
        ("My Paper/lemma", {}, "must have the form paper/name"),
        ("my-paper/a/b", {}, "must have the form paper/name"),
        ("my-paper/lemma-1", {"source": "theirs"}, "must be one of printed, reading, ours"),
        ("my-paper/lemma-1", {"error_kind": "typo"}, "must be one of false statement, misprint, wording"),
        ("my-paper/lemma-1", {"repaired_by": 3}, "must be an id or a tuple of ids"),
        ("my-paper/lemma-1", {"evalautions": 3}, "is not an option of a claim; the options are evaluations"),
        ("my-paper/lemma-1", {"role": "step"}, "role is 'step', but it is not an option of a claim"),
    ],
)
def test_what_is_no_claim_is_refused_where_it_is_written(
    registry: dict[str, Any], id_: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        claim(id_, **options)(contraction)
    assert not registry


def test_the_role_of_a_line_is_no_option(registry: dict[str, Any]) -> None:
    made = claim("my-paper/lemma-1")(contraction)
    for add in (made.line, made.step):
        with pytest.raises(InvalidArgument, match="role is 'step', but it is not an option of a claim"):
            add("second", role="step")(true_contraction)
    assert [each.role for each in made.statements] == ["statement"]


def test_only_a_function_becomes_a_claim(registry: dict[str, Any]) -> None:
    class Called:
        def __call__(self, step: Step) -> Sides:
            return at_most(step, two=2)

    made = claim("my-paper/lemma-1")(contraction)
    wrong: list[Any] = [made, functools.partial(contraction, step=Fraction(1)), Called(), Called, abs]
    for each in wrong:
        with pytest.raises(
            InvalidArgument, match=r"my-paper/two is .* must decorate a function\. Put @claim"
        ):
            claim("my-paper/two")(each)
    assert list(registry) == ["my-paper/lemma-1"]
    claim("my-paper/two")(functools.lru_cache(contraction))
    assert check("my-paper/two").verdict is Kind.VIOLATED


def test_a_function_that_says_too_little_is_told_what_is_missing(registry: dict[str, Any]) -> None:
    def without_range(step: Fraction) -> Sides:
        return at_most(step, one=1)

    def unknown_name(step: Nowhere) -> Sides:  # type: ignore[name-defined]  # noqa: F821
        return at_most(step, one=1)

    def without_sides(step: Step) -> None:
        """Return nothing."""

    with pytest.raises(
        InvalidArgument,
        match=r"parameter is .step., but it must have a range\. .* such as step: Fraction = Q.0:1.",
    ):
        claim("my-paper/one")(without_range)
    with pytest.raises(InvalidArgument, match=r"Nowhere.*top of the file"):
        claim("my-paper/two")(unknown_name)
    claim("my-paper/three")(without_sides)
    with pytest.raises(InvalidArgument, match=r"must be a comparison. End the function with `return at_most"):
        check("my-paper/three")
    with pytest.raises(InvalidArgument, match="must decorate a function"):
        claim("my-paper/four")(3)  # type: ignore[arg-type]

    @claim("my-paper/five")
    def with_a_number(step: int = Z[0:1]) -> Any:
        return {1: at_most(step, 1)}

    with pytest.raises(InvalidArgument, match="the name of a line is 1, but it must be a text"):
        check("my-paper/five")

    @claim("my-paper/six")
    def with_many_lines(step: float = Z[0:1]) -> Any:
        return {f"line {k}": at_most(step / 2.0, bound=1.0) for k in range(61)}

    with pytest.raises(InvalidArgument, match="at most 60 lines"):
        check("my-paper/six")


SMOOTH = functions(smoothness=1)


def test_a_claim_is_about_one_function_of_a_class() -> None:
    """The points of two functions lie in different spaces: their difference has no meaning."""

    def two(f: Annotated[Function, SMOOTH], g: Annotated[Function, SMOOTH]) -> Sides:
        return at_most(g(f.start) - g.minimum, bound=g.distance**2)

    with pytest.raises(InvalidArgument, match="'g', but it must be the only function"):
        claim("two/functions")(two)


def test_a_repair_must_be_known_and_reuses_the_sides_of_what_it_repairs(registry: dict[str, Any]) -> None:
    def printed(x: Digit, *, power: float = 1.0) -> Sides:
        return at_most(float(x), bound=0.5 + 0.7 * x**power)

    theorem = stated(printed, "printed", repaired_by="toy/repaired")
    with pytest.raises(
        InvalidArgument, match=r"must be the id of a claim, because toy/printed names it in repaired_by"
    ):
        check("toy/printed")

    def repaired(x: Digit, *, power: float = 2.0) -> Sides:
        return theorem(x, power=power)

    stated(repaired, "repaired")
    assert check("toy/printed").verdict is Kind.VIOLATED
    assert check("toy/repaired").verdict is Kind.CONSISTENT


@pytest.mark.parametrize(("name", "holds"), [("x <= 1", "x <= 1"), (True, "x <= 1"), (True, True)])
def test_a_hypothesis_is_a_name_and_whether_it_holds_in_this_order(
    name: Any, holds: Any, registry: dict[str, Any]
) -> None:
    def wrong(x: Digit) -> Sides:
        suppose(name, holds)
        return at_most(x, one=1)

    with pytest.raises(InvalidArgument, match=r'Write suppose\("x > 0", x > 0\)'):
        decided(wrong)


@pytest.mark.parametrize(
    ("conclude", "words"),
    [
        (lambda x: at_most(np.ones(x), bound=1), "must not be an empty array"),
        (lambda x: at_most(1.0, bound=float("nan")), "the bound is not a number"),
        (lambda x: equal(), "must hold one"),
    ],
)
def test_an_error_of_a_statement_or_its_comparison_names_its_place(
    conclude: Any, words: str, registry: dict[str, Any]
) -> None:
    def wrong(x: Digit) -> Sides:
        return conclude(x)

    with pytest.raises((InvalidArgument, ArithmeticError, ValueError), match=words) as raised:
        decided(wrong)
    assert re.search(r" \(test_claim\.py, line \d+, at x = 0\)$", error_line(raised.value))


# ---- files


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


# ---- runs


def test_a_run_is_held_to_a_claim_of_ones_own(registry: dict[str, Any]) -> None:
    task = QuadraticMixture(hessians=[[[1.0]], [[0.5]]], centers=[[1.0], [1.0]], labels=[0, 0])

    def allowed(task: QuadraticMixture, trace: Trace) -> Any:
        suppose("one local step", trace.settings["algorithm"]["local_steps"] == 1)
        return 0.25 ** np.arange(trace.rounds + 1)[:, None] * trace.errors[0]  # type: ignore[index]

    claim("my-paper/rate", bound=allowed)(contraction)
    start = np.array([[3.0]])
    # the mean curvature is 3/4: a step of 1 contracts by 1/4, one of 1/2 by 5/8
    assert_holds("my-paper/rate", task, run(FedAvg(step_size=1.0), task, rounds=3, initial=start))
    with pytest.raises(AssertionError, match="my-paper/rate"):
        assert_holds("my-paper/rate", task, run(FedAvg(step_size=0.5), task, rounds=3, initial=start))
    with pytest.raises(InvalidArgument, match="one local step"):
        assert_holds("my-paper/rate", task, run(FedAvg(step_size=1.0, local_steps=2), task, rounds=1))
    trace = run(FedAvg(step_size=1.0), task, rounds=1)
    with pytest.raises(InvalidArgument, match="bound of this claim holds in every run"):
        assert_holds("my-paper/rate", task, trace, failure_probability=0.1)


@pytest.mark.parametrize("allowed", [np.nan, None, TraceBound(bound=np.array([[1.0], [np.nan]]))])
def test_a_bound_that_is_not_a_number_is_refused(registry: dict[str, Any], allowed: Any) -> None:
    task = QuadraticMixture(hessians=[[[1.0]]], centers=[[1.0]], labels=[0])
    claim("my-paper/rate", bound=lambda task, trace: allowed)(contraction)
    with pytest.raises(InvalidArgument, match="bound is 'nan', but it must return numbers"):
        assert_holds("my-paper/rate", task, run(FedAvg(step_size=0.5), task, rounds=1))


# ---- names and types


def test_one_door_holds_all_that_a_statement_needs() -> None:
    for name in (
        *("claim", "falsify", "suppose", "given", "at_most", "at_least", "equal", "probability"),
        *("integers", "rationals", "reals", "choice", "drawn", "Stream", "Replicates", "Sides", "Excluded"),
        *("load_claims", "code_of", "check", "replay", "bound", "Inconclusive", "TraceBound"),
    ):
        assert name in dir(clusterproof)
        assert getattr(clusterproof, name) is not None


TYPED = """
from fractions import Fraction
from typing import Annotated
from clusterproof.theorem import (
    Q, Sides, Z, among, at_most, claim, integers, iterate, known, rationals, suppose,
)

Clients = Annotated[int, integers(2, 8)]
Share = Annotated[Fraction, rationals(0, 1, 4)]

@claim("typed/one")
def one(clients: Clients, share: Share, *, power: float = 1.0) -> Sides:
    return at_most(share, whole=clients**power)

@one.line("more")
def more(clients: Clients) -> dict[str, Sides]:
    return {"whole": at_most(1, whole=clients)}

@claim("typed/two")
def two(clients: Clients, share: Share) -> Sides:
    return one(clients, share, power=2.0)

@claim("typed/slices")
def slices(clients: int = Z[2:], own: int = Z[1 : lambda clients: clients - 1], kind: int = among(1, 2)) -> Sides:
    suppose("own is less", own < clients)
    return at_most(Fraction(own, clients), 1, slack=Fraction(1, 4) * kind)

@claim("typed/rounds")
def rounds(step: Fraction = Q[0:1], count: int = Z[0:]) -> Sides:
    def descend(distance: Fraction) -> Fraction:
        return known(lambda: (1 - step) * distance, lambda after: (after >= 0, after <= distance))

    return at_most(iterate(descend, Fraction(1), count, invariant=lambda distance, _: distance <= 1), 1)

@claim("typed/wrong")
def wrong(step: Fraction = Q[0:1]) -> str:
    return at_most(step, 1)  # return-value

reveal_type(one(3, Fraction(1, 2)))
reveal_type(more(3))
one("3", Fraction(1, 2))  # arg-type
one(3)  # call-arg
one(3, Fraction(1, 2), exponent=2.0)  # call-arg
"""


@pytest.mark.slow(reason="mypy reads numpy's types")
def test_a_claim_keeps_its_types_under_strict_mypy(tmp_path: Path) -> None:
    file = tmp_path / "claims.py"
    file.write_text(TYPED)
    options = ["--strict", "--config-file", str(mypy_configuration(tmp_path)), "--no-error-summary"]
    output, errors, _ = api.run([*options, "--cache-dir", str(MYPY_CACHE), str(file)])
    assert not errors
    found = [
        (int(text.split(":")[1]), re.findall(r"\[([a-z-]+)\]$", text)[0])
        for text in output.splitlines()
        if "note:" not in text
    ]
    lines = enumerate(TYPED.splitlines(), start=1)
    assert found == [(number, line.split("# ")[1]) for number, line in lines if "# " in line], output
    assert 'Revealed type is "clusterproof.checker.claims.sides.Sides"' in output
    assert "dict[" in output


@pytest.mark.parametrize("kind", [GeneratorExit, type("OfOnesOwn", (BaseException,), {})])
def test_what_is_no_exception_is_reported_as_one(kind: type[BaseException]) -> None:
    def raises(n: int = Z[0:3]) -> Sides:
        raise kind

    with pytest.raises(RuntimeError, match=kind.__name__):
        Statement("", raises).lines({"n": 1})


def test_ctrl_c_in_a_claim_passes() -> None:
    def interrupted(n: int = Z[0:3]) -> Sides:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Statement("", interrupted).lines({"n": 1})


def test_a_verdict_is_printed_without_control_characters(registry: dict[str, Any]) -> None:
    @claim("my-paper/colours")
    def with_colours(n: int = Z[0:3]) -> Sides:
        """A title in \x1b[31mred."""
        return at_most(n, 2, words="the \x1b[31m words")

    assert find_claim("my-paper/colours").title.isprintable()
    assert check("my-paper/colours").reason.isprintable()

    @claim("my-paper/line-ends")
    def with_line_ends(n: int = Z[0:3]) -> Any:
        return {"a\n": at_most(n, 2)}

    with pytest.raises(InvalidArgument, match="one line of printable characters"):
        check("my-paper/line-ends")

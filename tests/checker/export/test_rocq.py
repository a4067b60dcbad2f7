"""Rocq accepts a proof for each rule, and refuses a wrong multiplier, sign, hypothesis, bound or instance."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import pytest
from kernel_statements import OPEN, frozen_of, in_language, replayed

from clusterproof.checker.claims import (
    Function,
    Sides,
    at_least,
    at_most,
    choice,
    functions,
    integers,
    iterate,
    known,
    least,
    reals,
    sequences,
    suppose,
)
from clusterproof.checker.claims.claim import find_claim
from clusterproof.checker.export import folder
from clusterproof.checker.export.formulas import Exporter
from clusterproof.checker.export.rocq import (
    IMPORTS,
    IMPORTS_OF_FUNCTIONS,
    IMPORTS_OF_PROGRAMS,
    OF_PROGRAMS,
    program_rule,
)
from clusterproof.checker.export.rocq_dual import dual
from clusterproof.checker.export.rocq_symbols import RULES
from clusterproof.checker.export.what_is_shown import stated

pytestmark = [
    pytest.mark.skipif(shutil.which("coqc") is None, reason="no coqc (Debian: apt-get install coq)"),
    pytest.mark.slow(reason="a second or two for each file"),
]
Share = Annotated[Fraction, reals(0, 1)]
Wide = Annotated[Fraction, reals(0, 2)]
Positive = Annotated[Fraction, reals(0, 9, upwards=True)]
Count = Annotated[int, integers(1, 3)]
Rounds = Annotated[int, integers(0, 5, upwards=True)]
Entries = Annotated[tuple[Fraction, ...], sequences(reals(0, 1), lambda rounds: rounds)]
Wider = Annotated[tuple[Fraction, ...], sequences(reals(0, 2), lambda rounds: rounds)]
Smooth = Annotated[Function, functions(smoothness=1)]


def text_of(function: Callable[..., Any], record: dict[str, Any]) -> str:
    """Return the file of a record of evidence, which nobody has replayed."""
    text, full = frozen_of(function).text, {"line": "", "statement": "", **record}
    assert text is not None
    if full["rule"] == "dual":
        imports, lines, name = IMPORTS_OF_FUNCTIONS, dual(text, full), "theorems"
    elif program_rule(full) in OF_PROGRAMS:
        imports, lines, name = IMPORTS_OF_PROGRAMS, OF_PROGRAMS[program_rule(full)](text, full, "own"), "own"
    else:
        imports, lines, name = IMPORTS, RULES[full["rule"]](Exporter(text, "", full), full, "own"), "own"
    return "\n".join([imports, *lines, f"Print Assumptions {name}.", ""])


def coqc(prelude: Path, text: str) -> subprocess.CompletedProcess[str]:
    (prelude / "proof.v").write_text(text)
    command = ["coqc", "-q", "-Q", ".", "Clusterproof", "proof.v"]
    return subprocess.run(command, cwd=prelude, capture_output=True, text=True, check=False)


def signs(x: Share, y: Positive) -> Sides:
    """By coefficients, for x <= 1."""
    suppose("a divisor", y > 0)
    suppose("small", y <= 5)
    return at_most(x**2 / y, bound=x / y)


def signs_multiplier(x: Share, y: Positive) -> Sides:
    suppose("a divisor", y > 0)
    return at_most(2 * x**2 / y, bound=x / y)


def signs_sign(x: Share, y: Positive) -> Sides:
    suppose("a divisor", y > 0)
    return at_most(x**2 / y, bound=-x / y)


def signs_hypothesis(x: Share, y: Positive) -> Sides:
    return at_most(x**2 / y, bound=x / y)


def signs_percent(x: Share, y: Positive) -> Sides:
    suppose("a divisor", y > 0)
    return at_most(x**2 / y, bound=Fraction(99, 100) * x / y)


def squares(x: Share, y: Positive) -> Sides:
    """(x - y)^2 + x (1 - x) >= 0, of the first as a square, and of the others as bounds."""
    return at_most(2 * x * y, bound=y**2 + x)


def squares_sign(x: Share, y: Positive) -> Sides:
    return at_most(2 * x * y, bound=y**2 - x)


def squares_hypothesis(x: Wide, y: Positive) -> Sides:
    return at_most(2 * x * y, bound=y**2 + x)


def squares_percent(x: Share, y: Positive) -> Sides:
    return at_most(2 * x * y, bound=Fraction(99, 100) * (y**2 + x))


def equation(x: Share, y: Positive) -> Sides:
    """x (y - x) >= 0, as a bound times one of the two signs of the hypothesis."""
    suppose("equal", x == y)
    return at_most(x**2, bound=x * y)


BLOCKS: list[dict[str, Any]] = [
    {"factors": [], "basis": [[[[1, 0], 1]], [[[0, 1], 1]]], "matrix": [[1, -1], [-1, 1]]},
    {"factors": [0, 1], "basis": [[[[0, 0], 1]]], "matrix": [[1]]},
]
"""(x - y)^2, and x times 1 - x."""
OPPOSITE: dict[str, Any] = {"factors": [0, 4], "basis": [[[[0, 0], 1]]], "matrix": [[1]]}
"""x times y - x, which is the second that the hypothesis x = y gives, as 0 <= x, x <= 1 and 0 <= y stand before it."""


def empty(x: Share) -> Sides:
    """No x of the box is beyond 2."""
    suppose("far", x >= 2)
    return at_most(x, bound=1)


def empty_multiplier(x: Share) -> Sides:
    suppose("far", 2 * x >= 2)
    return at_most(x, bound=1)


def empty_sign(x: Share) -> Sides:
    suppose("far", x >= -2)
    return at_most(x, bound=1)


def empty_hypothesis(x: Wide) -> Sides:
    suppose("far", x >= 2)
    return at_most(x, bound=1)


def empty_percent(x: Share) -> Sides:
    suppose("far", x >= Fraction(99, 100))
    return at_most(x, bound=1)


def empty_instance(x: Share) -> Sides:
    suppose("there", x >= Fraction(1, 2))
    return at_most(x, bound=1)


def instance(n: Count, x: Share) -> Sides:
    """False at n = 3, x = 1/2."""
    suppose("more than two", n > 2)
    total = Fraction(0)
    for _ in range(n):
        total = total + x
    return at_most(total, bound=Fraction(149, 100))


def instance_multiplier(n: Count, x: Share) -> Sides:
    suppose("more than two", n > 2)
    return at_most(n * x / 2, bound=Fraction(149, 100))


def instance_sign(n: Count, x: Share) -> Sides:
    suppose("more than two", n > 2)
    return at_least(n * x, bound=Fraction(149, 100))


def instance_hypothesis(n: Count, x: Share) -> Sides:
    suppose("more than three", n > 3)
    return at_most(n * x, bound=Fraction(149, 100))


def instance_percent(n: Count, x: Share) -> Sides:
    suppose("more than two", n > 2)
    return at_most(n * x, bound=Fraction(101, 100) * Fraction(149, 100))


def exhausted(n: Count, k: Annotated[int, choice(1, 2)]) -> Sides:
    """Holds at all six, once n k <= 4."""
    suppose("few", n * k <= 4)
    return at_most(n * k, bound=4)


def nowhere(n: Count) -> Sides:
    """Of three numbers none has the square 2."""
    suppose("a root of two", n**2 == 2)
    return at_most(n, bound=0)


def exhausted_multiplier(n: Count, k: Annotated[int, choice(1, 2)]) -> Sides:
    suppose("few", n * k <= 4)
    return at_most(2 * n * k, bound=4)


def exhausted_sign(n: Count, k: Annotated[int, choice(1, 2)]) -> Sides:
    suppose("few", n * k <= 4)
    return at_most(n * k, bound=-4)


def exhausted_hypothesis(n: Count, k: Annotated[int, choice(1, 2)]) -> Sides:
    return at_most(n * k, bound=4)


def exhausted_percent(n: Count, k: Annotated[int, choice(1, 2)]) -> Sides:
    suppose("few", n * k <= 4)
    return at_most(n * k, bound=Fraction(99, 100) * 4)


def exhausted_instance(n: Annotated[int, integers(1, 5)], k: Annotated[int, choice(1, 2)]) -> Sides:
    suppose("few", n <= 5)
    return at_most(n * k, bound=4)


def mean(x: Share, y: Share, rounds: Rounds) -> Sides:
    """Means with y / 2 or 1/2 stay at most 1 if x is."""
    half = known(
        lambda: y / 2 if y < Fraction(1, 2) else Fraction(1, 2), lambda least: least <= Fraction(1, 2)
    )

    last, one = iterate(
        lambda state: ((state[0] + half) / 2, state[1]),
        (x, 1),
        rounds,
        invariant=lambda state, _: (state[0] <= 1, state[1] == 1),
    )
    return at_most(last, bound=one)


def unread(x: Share) -> Sides:
    """Two values that the line does not need, the second through the first."""
    half = known(lambda: x / 2, lambda value: (value <= Fraction(1, 2), value >= 0))
    known(lambda: (half / 2, half), lambda value: value[0] <= Fraction(1, 4))
    third = known(lambda: x / 3, lambda value: value <= Fraction(1, 3))
    return at_most(third, bound=Fraction(1, 3))


def shrinking(x: Share, rounds: Rounds) -> Sides:
    """A value of the invariant alone depends on one of the statement."""
    half = (x + 1) / 2
    allowed = half + (1 - half) ** 2
    last = iterate(
        lambda state: half * state,
        half,
        rounds,
        invariant=lambda state, _: (state >= 0, state <= allowed),
    )
    return at_most(last, bound=2)


def mean_multiplier(x: Share, y: Share, rounds: Rounds) -> Sides:
    half = known(
        lambda: y / 2 if y < Fraction(1, 2) else Fraction(1, 2), lambda least: least <= Fraction(1, 2)
    )
    last = iterate(lambda state: 2 * state + half, x, rounds, invariant=lambda state, _: state <= 1)
    return at_most(last, bound=1)


def mean_sign(x: Share, y: Share, rounds: Rounds) -> Sides:
    half = known(
        lambda: y / 2 if y < Fraction(1, 2) else Fraction(1, 2), lambda least: least <= Fraction(1, 2)
    )
    last = iterate(lambda state: (half - state) / 2, x, rounds, invariant=lambda state, _: state <= 1)
    return at_most(last, bound=1)


def mean_hypothesis(x: Wide, y: Share, rounds: Rounds) -> Sides:
    last = iterate(lambda state: (state + y) / 2, x, rounds, invariant=lambda state, _: state <= 1)
    return at_most(last, bound=1)


def mean_percent(x: Share, y: Share, rounds: Rounds) -> Sides:
    last = iterate(lambda state: (state + y) / 2, x, rounds, invariant=lambda state, _: state <= 1)
    return at_most(last, bound=Fraction(99, 100))


def mean_larger(x: Share, y: Share, rounds: Rounds) -> Sides:
    half = known(lambda: y if y < Fraction(1, 2) else Fraction(3, 4), lambda most: most <= Fraction(1, 2))
    last = iterate(lambda state: (state + half) / 2, x, rounds, invariant=lambda state, _: state <= 1)
    return at_most(last, bound=1)


def added(rounds: Rounds, entries: Entries) -> Sides:
    """A sum of as many shares as a symbol says."""
    total = iterate(
        lambda so_far, one: so_far + one, 0, entries, invariant=lambda so_far, count: so_far <= count
    )
    return at_most(total, bound=rounds)


def added_hypothesis(rounds: Rounds, entries: Wider) -> Sides:
    total = iterate(
        lambda so_far, one: so_far + one, 0, entries, invariant=lambda so_far, count: so_far <= count
    )
    return at_most(total, bound=rounds)


def added_percent(rounds: Rounds, entries: Entries) -> Sides:
    total = iterate(
        lambda so_far, one: so_far + one, 0, entries, invariant=lambda so_far, count: so_far <= count
    )
    return at_most(total, bound=Fraction(99, 100) * rounds)


def branches(x: Share, n: Count, k: Annotated[Fraction, choice(Fraction(1, 2), Fraction(2))]) -> Sides:
    """Signs, by a branch, a list and the numbers between two choices."""
    return at_most((x if x < Fraction(1, 2) else 1 - x) * n / 2, bound=k * n)


def words(
    word: Annotated[str, choice("a", 'b "c"')], n: Count, x: Annotated[Fraction, reals(0, lambda n: n)]
) -> Sides:
    """A text, an integer with its range, a range that depends on it, and branches within branches."""
    suppose("small", x <= 2)
    least = min(abs(x - 1), 1) if word == "a" else x / 2
    return at_most(least, bound=n)


def extremes(
    x: Annotated[Fraction, reals(-1, 1)], k: Annotated[Fraction, choice(Fraction(1, 2), Fraction(2))]
) -> Sides:
    """The smallest and largest of some numbers, and absolute values, at each choice."""
    suppose("right or left", abs(x) >= Fraction(1, 2))
    return at_most(k * min(abs(x - 1), max(x, -x), 2), bound=2 * k)


def powers(x: Annotated[Fraction, reals(-1, 1)], n: Count) -> Sides:
    """An absolute value in each case of an exponent."""
    return at_most(abs(x**n), bound=1)


def silent(x: Annotated[Fraction, reals(-1, 1)], k: Annotated[int, choice(1, 2)]) -> Sides:
    """Nothing is said beyond one half."""
    if x > Fraction(1, 2):
        suppose("never", False)
    return at_most(k * max(x, -x, 0), bound=k)


def descent(f: Smooth, steps: Annotated[int, choice(1)]) -> Sides:
    """One step of gradient descent: f(x_1) - f* <= |x_0 - x*|^2 / 6 (Drori and Teboulle, 2014)."""
    x = f.start
    for _ in range(steps):
        x = x - f.gradient(x)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / 6)


def best(f: Smooth, steps: Annotated[int, choice(1)]) -> Sides:
    """The better of the start and one step."""
    x = f.start - steps * f.gradient(f.start)
    return at_most(least(f(f.start) - f.minimum, f(x) - f.minimum), bound=f.distance**2 / 6)


def named(V: Smooth, steps: Annotated[int, choice(1)]) -> Sides:
    """The same step, in names that the library and the proof use."""
    origin = V.start
    fst = steps * V.gradient(origin)
    Base = origin - fst
    hold = Base - V.minimiser
    firstn = origin - V.minimiser
    return at_most(V(Base) - V.minimum + 0 * (hold @ hold), sem=firstn @ firstn / 6)


def descent_sign(f: Smooth, steps: Annotated[int, choice(1)]) -> Sides:
    return at_most(f(f.start + steps * f.gradient(f.start)) - f.minimum, bound=f.distance**2 / 6)


def descent_percent(f: Smooth, steps: Annotated[int, choice(1)]) -> Sides:
    x = f.start - steps * f.gradient(f.start)
    return at_most(f(x) - f.minimum, bound=Fraction(99, 100) * f.distance**2 / 6)


def descent_longer(f: Smooth, steps: Annotated[int, choice(1)]) -> Sides:
    x = f.start - 2 * steps * f.gradient(f.start)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / 6)


MULTIPLIERS = {"0:0,1:0": "7/20", "0:0,2:0": "13/20", "0:1,2:0": "13/20", "0:2,1:0": "3/10"}
"""Of the conditions at pairs of x*, x_0 and x_1: some of many, found by a semidefinite program."""


def multipliers(**changed: Any) -> dict[str, Any]:
    """Evidence of the rule for functions of a class."""
    own = {name: value for name, value in (MULTIPLIERS | changed).items() if value is not None}
    return {"rule": "dual", "settings": [{"setting": {"steps": 1}, "paths": [[{"multipliers": own}]]}]}


BEST: dict[str, Any] = multipliers()
BEST = BEST | {
    "settings": [BEST["settings"][0] | {"paths": [[{"multipliers": MULTIPLIERS, "weights": [0, 1]}]]}]
}
"""Of a mean of which the start has no weight."""
SEQUENCE = {"rule": "induction", "witness": {"rounds": 2, "entries": [1, 0]}, "blocks": [], "states": 4}
UNREAD = {"rule": "induction", "witness": {"x": 1}, "blocks": [], "states": 4}
ONE, HALF, START = {"x": 1, "y": 1}, {"n": 3, "x": "1/2"}, {"x": 1, "y": 1, "rounds": 2}
RIGHT = [
    (signs, {"rule": "signs", "witness": ONE}),
    (squares, {"rule": "squares", "witness": ONE, "blocks": [BLOCKS]}),
    (equation, {"rule": "squares", "witness": ONE, "blocks": [[OPPOSITE]]}),
    (empty, {"rule": "empty"}),
    (instance, {"rule": "instance", "instance": HALF}),
    (exhausted, {"rule": "exhausted"}),
    (nowhere, {"rule": "empty", "listed": True}),
    (descent, multipliers()),
    (best, BEST),
    (named, multipliers()),
    (mean, {"rule": "induction", "witness": START, "blocks": [], "states": 5}),
    (unread, UNREAD),
    (shrinking, {"rule": "induction", "witness": {"x": 1, "rounds": 2}, "blocks": [], "states": 3}),
    (added, SEQUENCE),
    (words, {"rule": "signs", "witness": {"word": "a", "n": 1, "x": 1}, "listed": ["n"]}),
    (extremes, {"rule": "signs", "witness": {"x": 1, "k": 2}}),
    (powers, {"rule": "signs", "witness": {"x": 1, "n": 1}, "listed": ["n"]}),
    (silent, {"rule": "signs", "witness": {"x": 0, "k": 1}}),
    (branches, {"rule": "signs", "witness": {"x": 1, "n": 1, "k": 2}, "listed": ["n"], "between": ["k"]}),
]
WRONG = [
    *((function, {"rule": "signs", "witness": ONE}) for function in (signs_multiplier, signs_sign)),
    *((function, {"rule": "signs", "witness": ONE}) for function in (signs_hypothesis, signs_percent)),
    (signs, {"rule": "signs", "witness": {"x": 1, "y": 6}}),
    (
        squares,
        {
            "rule": "squares",
            "witness": ONE,
            "blocks": [[BLOCKS[0] | {"matrix": [[2, -1], [-1, 1]]}, BLOCKS[1]]],
        },
    ),
    *(
        (f, {"rule": "squares", "witness": ONE, "blocks": [BLOCKS]})
        for f in (squares_sign, squares_hypothesis)
    ),
    (squares_percent, {"rule": "squares", "witness": ONE, "blocks": [BLOCKS]}),
    (squares, {"rule": "squares", "witness": ONE, "blocks": [BLOCKS[:1]]}),
    (equation, {"rule": "squares", "witness": ONE, "blocks": [[OPPOSITE | {"factors": [0, 3]}]]}),
    *(
        (f, {"rule": "empty"})
        for f in (empty_multiplier, empty_sign, empty_hypothesis, empty_percent, empty_instance)
    ),
    *((f, {"rule": "instance", "instance": HALF}) for f in (instance_multiplier, instance_sign)),
    *((f, {"rule": "instance", "instance": HALF}) for f in (instance_hypothesis, instance_percent)),
    (instance, {"rule": "instance", "instance": {"n": 2, "x": "1/2"}}),
    *((f, {"rule": "exhausted"}) for f in (exhausted_multiplier, exhausted_sign, exhausted_hypothesis)),
    *((f, {"rule": "exhausted"}) for f in (exhausted_percent, exhausted_instance)),
    (exhausted, {"rule": "empty", "listed": True}),
    *(
        (f, {"rule": "induction", "witness": START, "blocks": [], "states": 5})
        for f in (mean_multiplier, mean_sign, mean_hypothesis, mean_percent, mean_larger)
    ),
    *((f, SEQUENCE) for f in (added_hypothesis, added_percent)),
    (descent, multipliers(**{"0:0,1:0": "1/4"})),
    (descent, multipliers(**{"0:0,1:0": None})),
    (descent_sign, multipliers()),
    (descent_percent, multipliers()),
    (descent_longer, multipliers()),
]


def test_a_value_that_the_line_does_not_need_is_not_stated() -> None:
    text = stated(text_of(unread, UNREAD))
    assert "third_is" in text
    assert "half" not in text


@pytest.mark.parametrize(("function", "record"), RIGHT, ids=lambda value: getattr(value, "__name__", ""))
def test_a_proof_is_accepted(prelude: Path, function: Any, record: Any) -> None:
    assert replayed(in_language(function), {"statement": "", "line": "", **record}).word is not OPEN
    found = coqc(prelude, text_of(function, record))
    assert found.returncode == 0, found.stderr
    axioms = {line for line in found.stdout.splitlines() if line[:1].isalpha() and line != "Axioms:"}
    assert axioms <= {
        "Closed under the global context",
        "ClassicalDedekindReals.sig_forall_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
    }, "those of the real numbers"


def answers(folder: Path, texts: list[str]) -> list[str]:
    """Return what Rocq prints of each text, errors included, in one session that forgets it before the next."""
    lines = ["Set Silent.", "Require Import String."]
    for text in texts:
        lines += [
            "Definition mark := tt.",
            text,
            "Abort All.",
            "Reset mark.",
            'Check "end of a text"%string.',
        ]
    found = subprocess.run(
        ["coqtop", "-q", "-Q", ".", "Clusterproof"],
        input="\n".join([*lines, ""]),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return found.stdout.split('"end of a text"%string\n')[:-1]


def test_what_is_wrong_is_refused(prelude: Path) -> None:
    """By what it computes, not by how it is written."""
    found = answers(prelude, [text_of(*case) for case in WRONG])
    computed = re.compile(
        r'The term "eq_refl" has type "(true = true|Found \(Line false\) = .*)" while it is expected'
    )
    accepted = [
        (function.__name__, record)
        for (function, record), answer in zip(WRONG, found, strict=True)
        if not computed.search(" ".join(answer.split())) and "No applicable tactic" not in answer
    ]
    assert accepted == []
    assert all("Axioms:" not in answer and "Closed under" not in answer for answer in found)


CHANGED = [
    ("signs", "0 < y", "0 <= y"),
    ("descent", "upper_smooth 1 f g", "upper_smooth 2 f g"),
    ("descent", "strongly_convex 0 f g", "strongly_convex (-1) f g"),
    ("descent", "g minimiser = origin S", "g start = origin S"),
    ("descent", "let x := start [-] g start", "let x := start [+] g start"),
    ("descent", "/ 6", "/ 7"),
    ("best", "f x - f minimiser <= bound", "f start - f minimiser <= bound"),
    ("instance", '"n" > 2', '"n" > 3'),
    ("instance", '"total" + "x"', '"total" - "x"'),
    ("instance", "149 / 100", "151 / 100"),
    ("instance", "Integers 1 3", "Integers 1 2"),
    ("instance", "(1 # 2)", "(2 # 5)"),
    ("extremes", "Rmin (Rmin", "Rmax (Rmin"),
    ("extremes", "Rabs (x - 1)", "Rabs (x - 2)"),
    ("extremes", "1 / 2 <= Rabs", "1 / 3 <= Rabs"),
    ("extremes", "k = 1 / 2", "k = 1 / 3"),
    ("powers", "Rabs (x ^ 2)", "Rabs (x ^ 4)"),
    ("powers", "n <= 3", "n <= 4"),
    ("exhausted", 'bound" =: 4', 'bound" =: 3'),
    ("exhausted", '"n" * "k") <= 4', '"n" * "k") <= 6'),
]
LARGER_SPACES = [
    ("branches", "n <= 3 /", "n <= 4 /"),
    ("branches", "x <= 1 /", "x <= 2 /"),
    ("words", 'word = "b', 'word = "z"%string \\/ word = "b'),
]
"""That the cases are all of the space is proved: it may not grow."""


def changed_texts() -> Iterator[str]:
    """Yield texts whose statement no longer follows from the proof."""
    texts = {function.__name__: text_of(function, record) for function, record in RIGHT}
    for name, old, new in CHANGED:
        assert old in texts[name]
        yield texts[name].replace(old, new)
    for name, old, new in LARGER_SPACES:
        before, space, after = texts[name].rpartition("Definition ranges")
        assert old in after
        yield before + space + after.replace(old, new, 1)
    # of a theorem about six cases with branches one is struck out
    before, name, after = texts["words"].rpartition("Theorem own")
    way = re.search(r"\(Case_\d+\.branches[^()]*/\\ \([^()]*\)\) \\/\n", after)
    assert way is not None
    yield before + name + after.replace(way[0], "", 1)


def test_a_changed_statement_is_refused(prelude: Path) -> None:
    changes = [*CHANGED, *LARGER_SPACES, ("words", "a case", "none")]
    accepted = [
        one for one, text in zip(changes, changed_texts(), strict=True) if coqc(prelude, text).returncode == 0
    ]
    assert accepted == []


def test_make_refuses_another_axiom(prelude: Path, tmp_path: Path) -> None:
    """The theorems rest on those of the real numbers, as make checks."""
    found = [
        each for each in folder.decided(find_claim("gradient-loss/class-overlap")) if "#" not in each.name
    ]
    folder.write_folder(found, tmp_path)
    shutil.copyfile(prelude / "prelude.vo", tmp_path / "prelude.vo")
    (file,) = tmp_path.glob("*/*.v")
    text = file.read_text()

    def make() -> subprocess.CompletedProcess[str]:
        return subprocess.run(["make", "-s"], cwd=tmp_path, capture_output=True, text=True, check=False)

    for other, refused in (
        ("Axiom theorems : True.", True),
        ("Definition theorems := tt.", True),
        ("", True),
        ("Theorem theorems : (1 <= 1)%R. Proof. lra. Qed.", False),
    ):
        file.write_text(f"{IMPORTS}\n{other}\n")
        assert (make().returncode != 0) == refused, other
    file.write_text(text)
    right = make()
    assert right.returncode == 0, right.stderr
    assert "ClassicalDedekindReals" in right.stdout

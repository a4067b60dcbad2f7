"""Work that takes long takes as many steps: nothing goes on beyond its fuel, and nothing gives fuel back."""

from fractions import Fraction

import pytest

from clusterproof.checker import kernel
from clusterproof.checker.kernel.evaluation import OutOfFuel, limited
from clusterproof.checker.kernel.interpolation import FunctionClass
from clusterproof.checker.kernel.multipliers import Need, remaining
from clusterproof.checker.kernel.positivity import is_positive_semidefinite
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.kernel.worlds import Point

LONG = "f" * 100_000
"""Digits of a long number."""
CASES = {
    "a sequence of a negative length": (
        "def f(s):\n    for i in range(2000000):\n        pass\n    return at_most(0, 0)",
        '{"s": sequences(rationals(0, 1), -1000000000000)}',
        {"rule": "empty"},
        "a length of -1000000000000",
    ),
    "keys of one hash": (
        "def f(n):\n    d = {k * 2305843009213693951: 0 for k in range(2000)}\n    return at_most(n, len(d))",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "60 bits in numbers",
    ),
    "fractions as keys": (
        "def f(n):\n    d = {Fraction(k + 2**61, 3): 0 for k in range(5)}\n    return at_most(n, len(d))",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "60 bits in numbers",
    ),
    "pairs of one hash": (
        "def f(n):\n    d = {(28, 626927102310417808): 0, (66, 761715659114514998): 0}\n    return at_most(n, len(d))",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "60 bits in numbers",
    ),
    "a long tuple as a key": (
        "def f(n):\n    return at_most(n, {(0,) * 17: 1}[(0,) * 17])",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "16 entries in tuples",
    ),
    "a long string as a key": (
        f"def f(n):\n    d = {{'{LONG[:1001]}': 0}}\n    return at_most(n, len(d))",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "a key of a dictionary has at most 1000 characters",
    ),
    "a key of many strings": (
        f"def f(n):\n    s = '{LONG[:300]}'\n    d = {{((s, s), (s, s)): 0}}\n    return at_most(n, len(d))",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "a key of a dictionary has at most 1000 characters",
    ),
    "long strings that are compared": (
        f"def f(n):\n    s = '{LONG[:50_000]}'\n    s, t = f'{{s}}c', f'{{s}}c'\n"
        "    return at_most(n, sum(s == t for i in range(9000)))",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "more steps than it may",
    ),
    "a quantity that is named twice": (
        "def f(n):\n    return at_most(n, 5)",
        '{"n": integers(1, 5)}',
        {"rule": "signs", "witness": {"n": 1}, "listed": ["n", "n"]},
        "a list of names has a name twice",
    ),
    "a long polynomial times zero": (
        "def f(x, y):\n"
        "    p = sum(x ** i for i in range(100)) * sum(y ** i for i in range(100))\n"
        "    for i in range(3000):\n        p * (x - x)\n"
        "    return at_most(0, bound=x)",
        '{"x": rationals(0, 1), "y": rationals(0, 1)}',
        {"rule": "signs", "witness": {"x": 0, "y": 0}},
        "more steps than it may",
    ),
    "long fractions that are looked for in a range": (
        f"X = Fraction(0x{LONG[:8000]}1, 0x{LONG[:8000]}2)\n"
        "def f(n):\n    r = range(0, 10, 3)\n    return at_most(n, sum(X in r for i in range(9000)))",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "more steps than it may",
    ),
    "a number that grows": (
        "def f(n):\n    x = 3\n    for i in range(40):\n        x = x * x\n    return at_most(n, x)",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "a number here has at most 65536 bits",
    ),
    "a range with a long end": (
        f"X = 0x{LONG[:16_000]}\ndef f(n):\n    for i in range(0, X, X >> 2):\n        pass\n    return at_most(n, 1)",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "a number here has at most 4096 bits",
    ),
    "a count from a long start": (
        f"X = 0x{LONG[:16_000]}\ndef f(n):\n    return at_most(n, len(list(enumerate(range(9), X))))",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "a number here has at most 4096 bits",
    ),
    "generators within generators": (
        "def f(n):\n    g = (x for x in (1, 2))\n    for i in range(20000):\n        g = (x for x in g)\n"
        "    return at_most(n, len(list(g)))",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "more steps than it may",
    ),
    "powers of 0 with a long exponent": (
        f"X = 0x{LONG[:16_000]}\ndef f(n):\n    return at_most(n, 1 + sum(0 ** X for i in range(60000)))",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "more steps than it may",
    ),
    "fractions that are read from long strings": (
        "def f(n):\n    found = 0\n    for i in range(20000):\n"
        f"        found += Fraction('{'7' * 600}/{'3' * 600}') > 0\n    return at_most(n, found)",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "more steps than it may",
    ),
    "entries that are looked for among many options": (
        "def f(s):\n    return at_most(0, len(s))",
        f'{{"s": sequences(choice({", ".join(map(str, range(3000)))}), 1000)}}',
        {"rule": "instance", "instance": {"s": [2999] * 1000}},
        "more steps than it may",
    ),
    "values of functions whose sum is long": (
        "def f(f):\n    return at_most(f(f.start) - f.minimum, start=1)",
        '{"f": member((60, "function", {"smoothness": 1}))}',
        {
            "rule": "instance",
            "instance": {
                "f": {
                    "start": [],
                    "solution": [],
                    "minimum": 0,
                    "further": [],
                    "triplets": [[[[], [], f"1/{3**1200 + k}"]] for k in range(60)],
                }
            },
        },
        "a number here has at most 65536 bits",
    ),
    "long ends of ranges": (
        f"L = Fraction(0x{LONG[:8000]}1, 0x{LONG[:8000]}2)\ndef f(n, k):\n    return at_most(n, 9)",
        '{"n": integers(0, 9), "k": integers(L, L)}',
        {"rule": "exhausted"},
        "a number here has at most 4096 bits",
    ),
    "a long constant of a class": (
        f"L = 0x{LONG[:8000]}\ndef f(f):\n    return at_most(f(f.start) - f.minimum, start=1)",
        '{"f": member((1, "function", {"smoothness": L}))}',
        {"rule": "dual", "settings": []},
        "a number here has at most 4096 bits",
    ),
    "a long number in evidence": (
        "def f(n):\n    return at_most(n, 1)",
        '{"n": integers(0, None)}',
        {"rule": "instance", "instance": {"n": 1 << 4200}},
        "a number here has at most 4096 bits",
    ),
    "long numbers that are negated": (
        f"X = 0x{LONG[:16_000]}\ndef f(n):\n    d = [-X for i in range(5000)]\n    return at_most(n, len(d))",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "more steps than it may",
    ),
    "long numbers without their sign": (
        f"X = -0x{LONG[:16_000]}\ndef f(n):\n    d = [abs(X) for i in range(5000)]\n    return at_most(n, len(d))",
        '{"n": choice(1)}',
        {"rule": "exhausted"},
        "more steps than it may",
    ),
}

TERMS = {
    "hypotheses that are read before each division": (
        "def f(x, y):\n"
        "    h = sum(x ** k for k in range(30)) * sum(y ** k for k in range(30)) >= 0\n"
        "    for k in range(40):\n        suppose('long', h)\n        1 / (1 + y)\n"
        "    return at_most(0, x)",
        '{"x": rationals(0, None), "y": rationals(0, None)}',
        {"rule": "signs", "witness": {"x": 0, "y": 0}},
        50_000,
    ),
    "polynomials that name few of the symbols": (
        "def f(x, y, zs):\n"
        "    h = zs[0] / (sum(x ** k for k in range(30)) * sum(y ** k for k in range(30))) >= 0\n"
        "    for k in range(40):\n        suppose('long', h)\n"
        "    return at_least(zs[0], 0)",
        '{"x": rationals(None, None), "y": rationals(None, None), "zs": sequences(rationals(0, 1), 60)}',
        {"rule": "signs", "witness": {"x": 0, "y": 0, "zs": [0] * 60}},
        40_000,
    ),
    "degrees of terms in many symbols": (
        "def f(xs):\n"
        "    for k in range(20):\n        suppose('positive', xs[k] ** 3 + 1 > 0)\n"
        "    return at_most(0, 1 / sum(xs[i] * xs[j] for i in range(60) for j in range(i)))",
        '{"xs": sequences(rationals(None, None), 60)}',
        {"rule": "signs", "witness": {"xs": [1] * 60}},
        1_000_000,
    ),
    "hypotheses that are solved for a state": (
        "def f(x, n):\n"
        "    v = iterate(lambda v: v / 2, 1, n, invariant=lambda v, k: v >= 0)\n"
        "    g = sum(x ** k for k in range(100)) * sum(v ** k for k in range(8)) >= 0\n"
        "    for k in range(40):\n        suppose('long', g)\n        1 / (1 + v)\n"
        "    return at_least(v, 0)",
        '{"x": rationals(0, None), "n": integers(0, None)}',
        {"rule": "induction", "states": 6, "blocks": [], "witness": {"x": 0, "n": 0}},
        150_000,
    ),
    "settings of long numbers": (
        "L = 3 ** 1200\n\n\ndef f(g, n, q, r):\n    suppose('n < 0', n < 0)\n    return at_most(g(g.start), 1)",
        '{"n": integers(0, 500), "q": integers(L, L), "r": integers(L, L),'
        ' "g": member((1, "function", {"smoothness": 1}))}',
        {"rule": "dual", "settings": []},
        20_000,
    ),
    "long coefficients of hypotheses": (
        "A = Fraction(3 ** 20600, 5 ** 14000)\n\n\ndef f(f, x):\n    h = (x * x * A) ** 2 >= 0\n"
        "    for i in range(200):\n        suppose('h', h)\n"
        "    for i in range(20):\n        suppose('h', h)\n        1 / (1 + x)\n"
        "    return at_most(f(f.start) - f.minimum, start=1)",
        '{"x": rationals(0, 1), "f": member((1, "function", {"smoothness": 1}))}',
        {"rule": "family", "witness": {}, "proofs": []},
        1_000_000,
    ),
    "many quantities with ends": (
        "def f(**several):\n    return at_most(0, 1)".replace(
            "**several", ", ".join(f"a{k}" for k in range(250))
        ),
        "{" + ", ".join(f'"a{k}": integers(lambda: 0, 0)' for k in range(250)) + "}",
        {
            "rule": "signs",
            "witness": {f"a{k}": 0 for k in range(250)},
            "listed": [f"a{k}" for k in range(1, 250)],
        },
        30_000,
    ),
    "goals of many functions": (
        "def f(g, x):\n    for each in range(200):\n        known(lambda: (), lambda state: ())\n"
        "    return at_most(x, 1)",
        '{"x": rationals(0, 1), "g": member((640, "function", {"smoothness": 1}))}',
        {"rule": "family", "states": 1, "proofs": [], "witness": {"x": 0, "g": 0}},
        100_000,
    ),
}
"""Evidence that takes few operations, on polynomials whose many terms are read again and again; and its fuel."""


@pytest.mark.parametrize("name", CASES)
def test_long_work_takes_as_many_steps(name: str) -> None:
    function, ranges, record, why = CASES[name]
    end = f"claim('p/one')\nstatement('', f, {ranges}, {{}}, lines=('',), role='statement')\n"
    found = kernel.judge(f"{function}\n\n\n{end}", [{"statement": "", "line": "", **record}])
    assert found.word is kernel.Word.OPEN
    assert why in found.why[0]


@pytest.mark.parametrize("name", TERMS)
def test_terms_that_are_read_take_steps(name: str) -> None:
    function, ranges, record, fuel = TERMS[name]
    end = f"claim('p/one')\nstatement('', f, {ranges}, {{}}, lines=('',), role='statement')\n"
    found = kernel.judge(f"{function}\n\n\n{end}", [{"statement": "", "line": "", **record}], fuel=fuel)
    assert found.why == ("it takes more steps than it may",)


def test_lambdas_in_lambdas_are_read_with_as_many_steps_as_they_are_long() -> None:
    nested = "lambda: " * 50 + f"({'f, ' * 10_000})"
    text = f"def f(x):\n    return at_most(x, 1)\n\n\nK = {nested}\n\n\nclaim('p/deep')\n"
    text += "statement('', f, {'x': choice(1)}, {}, lines=('',), role='statement')\n"
    with pytest.raises(kernel.Refused, match="more steps than it may"):
        kernel.judge(text, [], fuel=50_000)
    assert kernel.judge(text.replace("lambda: " * 50, "lambda: "), [], fuel=50_000).word is kernel.Word.OPEN


def test_products_and_eliminations_of_long_numbers_take_steps_for_their_length() -> None:
    long = Fraction(1, 3**20_000)
    trace = Trace([(1, FunctionClass())], None)
    point = Point(trace, {place: Fraction(1) for place in range(50)})
    with pytest.raises(OutOfFuel), limited(10_000):
        point * long
    with pytest.raises(OutOfFuel), limited(10_000):
        (point * Fraction(2)) @ Point(trace, dict.fromkeys(range(50), long))
    rows = [[long if i == j == 0 else Fraction(i == j or 0 in (i, j)) for j in range(9)] for i in range(9)]
    with pytest.raises(OutOfFuel), limited(10_000):
        is_positive_semidefinite(rows)


def test_weights_take_steps_for_their_length() -> None:
    weights = [f"1/{2**4000 * k + 1}" for k in range(1, 200)]
    need = Need((Fraction(1),), {}, {}, 0, [()], ())
    with pytest.raises(OutOfFuel), limited(10_000):
        remaining(need, {"multipliers": {}, "weights": [Fraction(code) for code in weights]})


def test_a_literal_of_many_digits_is_refused() -> None:
    with pytest.raises(kernel.Refused, match="a number has at most 65536 bits"):
        kernel.read(f"X = 0x{LONG[:20_000]}\n\n\nclaim('p/one')\n")


def test_the_evidence_for_all_lines_together_has_a_limit() -> None:
    lines = [f"l{k}" for k in range(20)]
    text = f"""def f(n):
    for k in range(3000):
        at_most(0, 0)
    return {{{", ".join(f'"{line}": at_most(0, 0)' for line in lines)}}}


claim('p/one')
statement('', f, {{"n": choice(1)}}, {{}}, lines=({", ".join(f"'{line}'" for line in lines)}), role='statement')
"""
    records = [{"statement": "", "line": line, "rule": "exhausted"} for line in lines]
    claim = kernel.read(text)
    fuel = 1000
    while kernel.judge_claim(claim, records[:1], fuel=fuel).why != ("",):
        fuel *= 2
    found = kernel.judge_claim(claim, records, fuel=fuel)  # one line takes more than half of it
    assert 8 <= found.why.count("") <= 16
    assert set(found.why[found.why.count("") :]) == {"it takes more steps than it may"}
    assert found.word is kernel.Word.OPEN

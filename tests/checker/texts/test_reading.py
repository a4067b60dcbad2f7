"""Texts that mislead: what is false in them is never certified, and what a reader would misread is refused."""

from __future__ import annotations

import csv
import itertools
import string
import sys
import warnings
from contextlib import nullcontext, suppress

import pytest
from kernel_statements import at_most_seconds
from text_cases import CASES, records

from clusterproof.checker.kernel import Refused, Word, judge, read

with (CASES / "texts.tsv").open() as file:
    TRUTHS = [(row["text"], row["truth"]) for row in csv.DictReader(file, delimiter="\t")]
GOOD = "def f(n):\n    return at_most(n, 6)\n"
END = "claim('a/b')\nstatement('', f, {'n': integers(1, 6)}, {}, lines=('',), role='statement')\n"
EXHAUSTED = {"statement": "", "line": "", "rule": "exhausted"}


def text_of(name: str) -> str:
    return (CASES / "texts" / f"{name}.txt").read_bytes().decode()


@pytest.mark.parametrize("name", [name for name, truth in TRUTHS if truth == "refused"])
def test_a_text_that_a_reader_may_misread_is_refused(name: str) -> None:
    with pytest.raises(Refused) as refused:
        read(text_of(name))
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(("name", "truth"), [each for each in TRUTHS if each[1] != "refused"])
def test_a_text_says_what_is_true(name: str, truth: str) -> None:
    text = text_of(name)
    line = "a" if name == "given_inner_suppose" else ""
    words = set().union(*(judge(text, [each]).lines.values() for each in records(line)))
    wrong = {Word.VIOLATED, Word.VACUOUS} if truth == "true" else {Word.CERTIFIED, Word.VACUOUS}
    assert not words & wrong
    assert truth != "true" or Word.CERTIFIED in words


BAD = {
    "a default that changes": "def f(n, seen=[]):\n    seen.append(n)\n    return at_most(len(seen), 6)\n",
    "many parameters": f"def g({', '.join(f'p{i}=0' for i in range(256))}):\n    return 0\n" + GOOD,
    "a closure": "def make():\n    seen = []\n    return lambda n: at_most(len(seen), 6)\nf = make()\n",
    "a closure in a dictionary": "def make(k):\n    return lambda n: k\nG = {1: make(1)}\n" + GOOD,
    "a generator": "M = (i for i in range(9))\n" + GOOD,
    "a list": "M = [1]\n" + GOOD,
    "a list in a tuple": "M = ([],)\n" + GOOD,
    "a name twice": GOOD + GOOD,
    "a word twice": "def at_most(*a, **k):\n    return equal((0, 0))\n" + GOOD,
    "a function of the library twice": "sum = 1\n" + GOOD,
    "a name of the kernel": "def f(n):\n    return __add(n, 1)\n",
    "a module as a variable": "def f(math):\n    return at_most(math, 6)\n",
    "an import": "import os\n" + GOOD,
    "a base": "class K(object):\n    a: int\n" + GOOD,
    "no frozen record": "@dataclass\nclass K:\n    a: int\n" + GOOD,
    "a special method": "@dataclass(frozen=True)\nclass K:\n    a: int\n    def __eq__(self, o):\n        return 0\n"
    + GOOD,
    "a method that hides a decorator": "@dataclass(frozen=True)\nclass K:\n    a: int\n    def property(self):\n"
    "        return 0\n    @property\n    def b(self):\n        return 1\n" + GOOD,
    "a decorator": "@property\n" + GOOD,
    "a hypothesis outside of a function": "suppose('x', 1 > 2)\n" + GOOD,
    "a constant with a hypothesis": "X = suppose('x', 1 > 2)\n" + GOOD,
    "an endless constant": "def g():\n    while True:\n        pass\nX = g()\n" + GOOD,
    "a huge constant": "X = 2 ** (10 ** 9)\n" + GOOD,
    "brackets": "X = " + "(" * 3000 + ")" * 3000 + "\n" + GOOD,
    "a range of its own": "A = integers(0, 1)\n" + GOOD,
    "a bare text": "'nothing'\n" + GOOD,
    "a star that Python rejects": "def g(n):\n    for y in *[[n]]:\n        return y\n" + GOOD,
    "an annotation that yields": "def g(n):\n    y: (yield) = 0\n    return y\n" + GOOD,
    "an annotation that assigns": "def g(n):\n    y: (k := 0) = 0\n    return y\n" + GOOD,
    "a keyword twice": "def g(a):\n    return a\ndef f(n):\n    return at_most(g(a=n, a=n), 6)\n",
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_definition_is_refused(name: str) -> None:
    with pytest.raises(Refused):
        read(BAD[name] + END)


@pytest.mark.parametrize(
    "statement",
    [
        "statement('', f, {'n': integers(1, 6)}, {'r': (f, ('n',))}, lines=('',), role='statement')",
        "statement('', f, {'n': choice([1], [2])}, {}, lines=('',), role='statement')",
        "statement('', f, {'n': integers(1, lambda *, s=2: 6)}, {}, lines=('',), role='statement')",
        "statement('', f, {'n': sequences(5, 2)}, {}, lines=('',), role='statement')",
        "statement('', f, {'n': member((0, 'function', {}))}, {}, lines=('',), role='statement')",
        "statement('', f, {'n': 5}, {}, lines=('',), role='statement')",
        "statement('', g, {'n': member((1, 'set', {})), 'k': member((1, 'set', {}))}, {}, lines=('',), "
        "role='statement')",
        "statement('', f, {'m': integers(1, 6)}, {}, lines=('',), role='statement')",
        "statement('', at_most, {'n': integers(1, 6)}, {}, lines=('',), role='statement')",
        "statement('', __attribute, {'value': choice(1), 'name': choice('b')}, {}, lines=('',), role='statement')",
        "statement('', f, {'n': integers(1, 6)}, {}, lines=(), role='statement')",
        "statement('', f, {'n': integers(1, 6)}, {}, lines=('a', 'a'), role='statement')",
        "statement('', f, {'n': integers(1, 6)}, {}, lines=('',), role='lemma')",
        "statement('', f, {'n': integers(1, 6)}, {}, lines=('',), role='statement', ill_posed=('b',))",
        "outside('', lines=('',), role='statement', why='a\\nb')",
    ],
)
def test_a_statement_that_states_nothing_is_refused(statement: str) -> None:
    more = GOOD + "def g(n, k):\n    return at_most(0, 1)\n"
    read(more + END)
    with pytest.raises(Refused):
        read(f"{more}claim('a/b')\n{statement}\n")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python rejects such a text")
def test_a_formatted_string_on_two_lines_is_refused() -> None:
    body = "def f(n):\n    suppose(f'few {n # }', n <= 9)\n    }', n <= 6)\n    return at_most(n, 6)\n"
    with pytest.raises(Refused, match="next line"):
        read(body + END)


def test_options_of_python_change_no_verdict() -> None:
    body = "def g(n):\n    return 1(n)\ndef f(n):\n    return at_most(n, 6)\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert judge(body + END, [EXHAUSTED]).word is Word.CERTIFIED


def test_every_path_has_the_lines_that_are_named() -> None:
    body = "def f(n):\n    if n == 6:\n        return {'': at_most(n, 6), 'bad': at_most(1, 0)}\n"
    body += "    return at_most(n, 6)\n"
    assert judge(body + END, [EXHAUSTED]).word is Word.OPEN
    assert judge(GOOD + END, [EXHAUSTED]).word is Word.CERTIFIED


def test_a_claim_is_what_its_lines_are() -> None:
    def claim(*statements: tuple[str, int, str], extra: str = "") -> Word:
        text = "".join(
            f"def f{k}(n):\n    return at_most(n, {most})\n\n\n" for k, (_, most, _) in enumerate(statements)
        )
        text += f"claim('a/b'{extra})\n"
        for k, (name, _, role) in enumerate(statements):
            text += f"statement({name!r}, f{k}, {{'n': integers(1, 6)}}, {{}}, lines=('',), role={role!r})\n"
        shown = [EXHAUSTED | {"statement": name} for name, *_ in statements]
        broken = [each | {"rule": "instance", "instance": {"n": 6}} for each in shown]
        return judge(text, shown + broken).word

    assert claim(("", 6, "statement")) is Word.CERTIFIED
    assert claim(("", 5, "statement")) is Word.VIOLATED
    assert claim(("", 6, "statement"), ("b", 5, "step")) is Word.VIOLATED
    assert claim(("", 6, "statement"), ("b", 6, "lemma")) is Word.CERTIFIED
    assert claim(("", 6, "statement"), extra=", says_nothing=True") is Word.VACUOUS
    text = GOOD + END + "outside('b', lines=('',), role=ROLE, why='random numbers')\n"
    assert judge(text.replace("ROLE", "'lemma'"), [EXHAUSTED]).word is Word.OPEN
    assert judge(text.replace("ROLE", "'step'"), [EXHAUSTED]).word is Word.CERTIFIED
    posed = END.replace("role=", "ill_posed=('',), role=")
    instance = EXHAUSTED | {"rule": "instance", "instance": {"n": 6}}
    assert judge(GOOD.replace("6", "5") + posed, [instance]).word is Word.ILL_POSED


def test_a_line_keeps_its_two_sides_with_their_summands() -> None:
    body = "def f(n):\n    return at_most((n, 2 * n), first=3, second=(n, n))\n"
    lines, _ = read(body + END).statements[""].evaluated({"n": 4})
    line = lines[""]
    assert (line.sign, line.names) == ("<=", ("first", "second"))
    assert line.entries == ((4, 3, 4), (8, 3, 4))
    assert line.slacks == (3, -1)


def test_given_means_the_same_on_numbers_and_on_symbols() -> None:
    body = (
        "def inner(x):\n    suppose('small', x <= 1)\n    return at_most(x, 1)\n\n\n"
        "def f(x):\n    return {'a': given('positive', x > 0, lambda: inner(x)), 'b': at_most(x, 3)}\n"
    )
    end = "claim('a/b')\nstatement('', f, {'x': RANGE}, {}, lines=('a', 'b'), role='statement')\n"
    head = {"statement": ""}
    numbers = judge(
        body + end.replace("RANGE", "integers(0, 5)"),
        [
            head | {"rule": "exhausted", "line": "a"},
            head | {"rule": "instance", "line": "b", "instance": {"x": 5}},
        ],
    )
    symbols = judge(
        body + end.replace("RANGE", "rationals(0, 5)"),
        [
            head
            | {
                "rule": "squares",
                "line": "a",
                "witness": {"x": 1},
                "blocks": [[{"factors": [3], "basis": [[[[0], 1]]], "matrix": [[1]]}]],
            },
            head | {"rule": "instance", "line": "b", "instance": {"x": 5}},
        ],
    )
    assert list(numbers.lines.values()) == list(symbols.lines.values()) == [Word.CERTIFIED, Word.VIOLATED], (
        symbols.why
    )


def test_what_is_made_before_a_round_does_not_change_in_it() -> None:
    body = (
        "def f(n):\n    seen = [0]\n    def step(x):\n        CHANGE\n        return x\n"
        "    x = iterate(step, 0, n, invariant=lambda x, k: x == 0)\n    return at_most(x + len(seen), 1)\n"
    )
    end = END.replace("integers(1, 6)", "integers(0, None)")
    record = {
        "statement": "",
        "line": "",
        "rule": "induction",
        "witness": {"n": 0},
        "blocks": [],
        "states": 3,
    }
    for change, word in (
        ("seen.append(x)", Word.OPEN),
        ("seen += [x]", Word.OPEN),
        ("own = [x]\n        own.append(x)", Word.CERTIFIED),
        ("own = [y for y in seen]\n        own[0] = 1", Word.CERTIFIED),
    ):
        assert judge(body.replace("CHANGE", change) + end, [record]).word is word, change
    used = body.replace("seen = [0]", "seen = [0]\n    left = (y for y in (1, 2))")
    assert judge(used.replace("CHANGE", "sum(left)") + end, [record]).word is Word.OPEN
    assert judge(used.replace("CHANGE", "a, b = left") + end, [record]).word is Word.OPEN


def test_nothing_that_is_supposed_in_a_refused_invariant_stays() -> None:
    body = (
        "def f(n):\n    def invariant(x, k):\n        suppose('never', n < 0)\n        return x >= 0\n"
        "    x = iterate(lambda x: x, 0, 2 + 0 * n, invariant=invariant)\n    return at_most(x, 1)\n"
    )
    end = END.replace("integers(1, 6)", "integers(0, None)")
    assert judge(body + end, [{"statement": "", "line": "", "rule": "empty"}]).word is Word.OPEN


def test_a_line_given_within_a_line_has_both_hypotheses() -> None:
    body = "def f(n):\n    return given('n > 2', n > 2, lambda: given('n < MOST', n < MOST, lambda: at_most(n, 4)))\n"
    witness = {"statement": "", "line": "", "rule": "instance", "instance": {"n": 5}}
    for most, word in ((5, Word.CERTIFIED), (6, Word.OPEN), (2, Word.VACUOUS)):
        said = judge(
            body.replace("MOST", str(most)) + END, [EXHAUSTED, EXHAUSTED | {"rule": "empty", "listed": True}]
        )
        assert said.word is word
    assert judge(body.replace("MOST", "6") + END, [witness]).word is Word.VIOLATED


FIELDS = "".join(f"    a{k}: int\n" for k in range(2000))
NAMES = [f"{a}{b}{c}_" for a, b, c in itertools.product(string.ascii_lowercase, repeat=3)]
LARGE = {
    "records": f"""
@dataclass(frozen=True)
class R:
{FIELDS}

ONE = R(*range(2000))


def f(n):
    return at_most(0 if () in (ONE,) * 300000 else 1, 0)
""",
    "lambdas": f"""
def f(n):
    {"=".join(NAMES)}=0
    x = 0{"<0" * 100_000}
    return at_most(1, 0)
""",
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_text_ends_at_its_number_of_steps(name: str) -> None:
    record = {"statement": "", "line": "", "rule": "instance", "instance": {"n": 3}}
    with at_most_seconds(10), suppress(Refused):
        assert judge(LARGE[name] + "\n\n" + END, [record]).word is Word.VIOLATED


@pytest.mark.parametrize(("kind", "word"), [("int", Word.VIOLATED), ("Fraction", Word.OPEN)])
def test_a_fraction_as_a_key_costs_steps(kind: str, word: Word) -> None:
    """A fraction's hash is the result of a long computation in Python."""
    looked = "\n        ".join(["k in d"] * 100)
    text = f"""def f(n):
    k = {kind}(22222227)
    d = {{k: 1}}
    for _ in range(3000):
        {looked}
    return at_most(n, 0)


claim('keys/fractions')
statement('', f, {{'n': choice(3)}}, {{}}, lines=('',), role='statement')
"""
    record = {"statement": "", "line": "", "rule": "instance", "instance": {"n": 3}}
    assert judge(text, [record]).word is word


@pytest.mark.parametrize(
    ("used", "times"),
    [
        ("q in d", 60_000),
        ("d.get(q)", 60_000),
        ("d[q]", 60_000),
        ("put(d)", 60_000),
        ("len({q: 0, **d})", 20),
        ("len(dict(d))", 20),
        ("len({x: 0 for x in d})", 20),
        ("len(d | d)", 20),
    ],
)
def test_each_use_of_a_large_dictionary_costs_steps(used: str, times: int) -> None:
    """Python may look at all keys of a dictionary before it finds one."""
    text = f"""def put(d):
    d[0] = 1


def f(n):
    q = 0
    d = {{x: 0 for x in range(n)}}
    return at_most(len([0 for _ in range({times}) if {used} or True]), 0)


claim('large/dictionaries')
statement('', f, {{'n': choice(8, 8000)}}, {{}}, lines=('',), role='statement')
"""
    said = [
        judge(text, [{"statement": "", "line": "", "rule": "instance", "instance": {"n": n}}]).word
        for n in (8, 8000)
    ]
    assert said == [Word.VIOLATED, Word.OPEN]


def test_the_name_of_a_claim_is_no_name_of_a_line() -> None:
    text = """def f(n):
    return at_most(n, 0)


claim('my-paper/one')
statement('', f, {'n': choice(3)}, {}, lines=('',), role='statement')
"""
    assert read(text).name == "my-paper/one"
    for name in ("my-paper/one#a", "one", "my-paper/one/two", "my paper/one"):
        with pytest.raises(Refused, match="the form paper/name"):
            read(text.replace("my-paper/one", name))


MRO = """@dataclass(frozen=True)
class Step:
    mro: int = 0
    size: int = 0

    @staticmethod
    def one():
        return 1


def f(n):
    return at_most(USED, 0)


claim('fields/of-a-class')
"""


@pytest.mark.parametrize(
    ("used", "word"),
    [
        ("Step.mro", "open"),
        ("Step.mro()", "open"),
        ("len(Step.mro())", "open"),
        ("Step.size", "open"),
        ("1 if Step.mro else 0", "open"),
        ("Step().mro", "open"),
        ("Step(2).mro", "violated"),
        ("Step.one()", "violated"),
    ],
)
def test_a_class_has_no_fields(used: str, word: str) -> None:
    """In Python, a field of a class is its default, and classes have a method mro of their own."""
    text = MRO.replace("USED", used) + OWN
    for rule in ({"rule": "exhausted"}, {"rule": "instance", "instance": {"n": 3}}):
        said = judge(text, [{"statement": "", "line": "", **rule}]).word
        if used == "Step().mro":
            assert said == ("certified" if rule["rule"] == "exhausted" else "open")
        else:
            assert said == (word if rule["rule"] == "instance" else "open")


OWN = "statement('', f, {'n': choice(3)}, {}, lines=('',), role='statement')"
STEP = "statement('a step', f, {'n': choice(3)}, {}, lines=('',), role='step')"


@pytest.mark.parametrize(
    ("ending", "why"),
    [
        (f"{OWN}\n{STEP}", None),
        (OWN.replace("statement'", "step'"), "own statement"),
        (f"{OWN.replace(chr(39) * 2, repr('main'), 1)}\n{STEP.replace('a step', '')}", "own statement"),
        (STEP.replace("'step'", "'statement'"), "own statement"),
        (OWN.replace("('',)", "('', 'a')"), "only line"),
        (f"{OWN}\n{STEP.replace(repr(('',)), repr(('', 'a')))}", "only line"),
    ],
)
def test_a_line_with_the_claims_name_is_the_claims_own(ending: str, why: str | None) -> None:
    """A step of that name would be printed like the claim."""
    text = f"def f(n):\n    return at_most(n, 0)\n\n\nclaim('own/line')\n{ending}\n"
    with nullcontext() if why is None else pytest.raises(Refused, match=why):
        read(text)


SLOW = {
    "comparison": ("a = Fraction(3 ** 32000, 2 ** 63 - 1)\n    b = Fraction(5, 2 ** 62 + 1)", "a < b", 2000),
    "suppose": ("pass", "suppose('it is', True)", 200_000),
    "dictionary": ("pass", f"({'{}, ' * 100})", 12_000),
}


@pytest.mark.parametrize("name", SLOW)
def test_what_python_computes_slowly_costs_steps(name: str) -> None:
    first, used, times = SLOW[name]
    for slowly in (used, "pass"):
        text = f"""def f(n):
    {first}
    for _ in range({times}):
        {slowly}
    return at_most(n, 0)


claim('slow/steps')
{OWN}
"""
        record = {"statement": "", "line": "", "rule": "instance", "instance": {"n": 3}}
        (why,) = judge(text, [record]).why
        assert why == ("it takes more steps than it may" if slowly == used else "")


def test_the_constants_of_many_functions_cost_steps() -> None:
    text = """def c(f):
    for k in range(120000):
        L = f.smoothness
    return at_most(L, 0)


claim('many/constants')
statement('', c, {'f': member((15000, 'function', {'smoothness': 1}))}, {}, lines=('',), role='statement')
"""
    f = {"start": [], "solution": [], "minimum": 0, "further": [], "triplets": [[[[], [], 0]]] * 15000}
    record = {"statement": "", "line": "", "rule": "instance", "instance": {"f": f}}
    with at_most_seconds(10):
        assert judge(text, [record]).word is Word.OPEN


def with_lines(number: int) -> Word:
    """Judge a violated claim with some number of lines."""
    names = tuple(map(str, range(number)))
    lines = ", ".join(f"'{name}': at_most(n, 0)" for name in names)
    text = f"""def f(n):
    return {{{lines}}}


claim('many/lines')
statement('', f, {{'n': choice(3)}}, {{}}, lines={names!r}, role='statement')
"""
    return judge(text, [{"statement": "", "line": names[-1], "rule": "instance", "instance": {"n": 3}}]).word


def test_a_claim_has_at_most_sixty_lines() -> None:
    assert with_lines(60) is Word.VIOLATED
    with pytest.raises(Refused, match="at most 60 lines"):
        with_lines(61)

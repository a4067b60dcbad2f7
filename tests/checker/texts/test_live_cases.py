"""Functions of a running program that somebody wrote to be misread, frozen and judged by what nobody should believe."""

from __future__ import annotations

import builtins
import dataclasses
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Complex
from pathlib import Path
from typing import Any

import pytest
from kernel_statements import at_most_seconds
from text_cases import CASES, loaded

from clusterproof import check, load_claims
from clusterproof.checker.claims import sides
from clusterproof.checker.claims.claim import REGISTRY, claim, find_claim
from clusterproof.checker.freeze import freeze
from clusterproof.checker.freeze.agreement import instances, require_agreement
from clusterproof.checker.freeze.values import named_values
from clusterproof.checker.kernel import Refused, Word, judge, read
from clusterproof.commands.check_child import _encoded
from clusterproof.common import InvalidArgument
from clusterproof.theorem import Function, Sides, Z, at_most, choice, functions, suppose
from clusterproof.user_files import file_of

WRONG = {
    "F": {Word.CERTIFIED, Word.VACUOUS},
    "T": {Word.VIOLATED, Word.VACUOUS},
    "V": {Word.CERTIFIED, Word.VIOLATED},
    "U": {Word.CERTIFIED, Word.VACUOUS, Word.VIOLATED},
}
"""By the letter with which a case says its truth (false, true, vacuous, unstated), the verdicts that would be wrong."""
LIVE = sorted((CASES / "live").glob("*.txt"))
FROZEN = sorted(path for path in (CASES / "frozen").glob("*.txt") if not path.stem.startswith("g2"))


@pytest.fixture(autouse=True)
def registry():
    """Forget the claims of a case."""
    before = {*dict.keys(REGISTRY)}
    yield
    for name in {*dict.keys(REGISTRY)} - before:
        dict.pop(REGISTRY, name)


@pytest.mark.parametrize("case", LIVE, ids=lambda case: case.stem)
def test_no_verdict_is_false(case: Path, tmp_path: Path) -> None:
    module = loaded(case, tmp_path)
    frozen = freeze(claim(f"attack/{case.stem.replace('_', '-')}")(module.statement))
    if frozen.text is None:
        assert frozen.outside[""]
        return
    for record in getattr(module, "EVIDENCE", module.EXH):
        said = judge(frozen.text, [record])
        assert not {*said.lines.values()} & WRONG[module.__doc__.strip()[0]], record


@pytest.mark.parametrize("case", FROZEN, ids=lambda case: case.stem)
def test_the_text_says_what_python_computes(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.sum", sum)  # which one of the cases replaces
    (stated,) = _claims_of(case, tmp_path)
    frozen = freeze(stated)
    if frozen.text is None:
        assert frozen.outside[""]
        return
    live = [_holds(stated, n) for n in range(1, 7)]
    (line,) = frozen.lines[""]
    records = [{"statement": "", "line": line, "rule": "exhausted"}]
    records += [
        {"statement": "", "line": line, "rule": "instance", "instance": {"n": n}} for n in range(1, 7)
    ]
    word = judge(frozen.text, records).word
    if word is Word.CERTIFIED:
        assert live == [True] * 6
    elif word is Word.VIOLATED:
        assert False in live
    else:
        assert word is Word.OPEN


def _claims_of(case: Path, folder: Path):
    len(REGISTRY)  # the catalogue's claims are known first
    before = {*dict.keys(REGISTRY)}
    loaded(case, folder)
    return [dict.__getitem__(REGISTRY, name) for name in dict.keys(REGISTRY) if name not in before]


def _holds(stated, n: int) -> bool | None:
    try:
        (line,) = stated.statements[0].lines({"n": n}).values()
        return bool(float(line.measured) <= float(line.allowed))
    except Exception:
        return None


REFUSED = {
    "add_dunder_frozen_sub": "R",
    "class_attr": "R.c",
    "contextvar_default": "use None",
    "dict_of_functions_decorator": "STEPS",
    "float_const": "Fraction(1, 2)",
    "fraction_tampered": "K",
    "globals_update": "K is 7",
    "list_constant_aug": "K is changed",
    "method_replaced_setattr": "R.g",
    "record_of_function": "K",
    "slot_descriptor_swapped": "R.k",
    "unused_method_hides": "R.__len__",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_as_its_source_says_is_refused_by_name(name: str, tmp_path: Path) -> None:
    (stated,) = _claims_of(CASES / "frozen" / f"{name}.txt", tmp_path)
    frozen = freeze(stated)
    assert frozen.text is None
    assert REFUSED[name] in frozen.outside[""]


OPEN = (
    "annotation_of_a_nested_parameter",
    "annotation_that_hides_a_variable",
    "annotation_with_a_subscript",
    "annotation_with_or",
    "builtins_of_an_inner_function",
    "cache_of_an_equal_fraction",
    "cache_of_another_function",
    "cached_parameter_named_fixed",
    "cached_property_named_as_another",
    "cached_property_of_a_list",
    "cached_variable_named_fixed",
    "defaults_beyond_parameters",
    "defaults_that_lie",
    "init_constants_changed",
    "init_defaults_changed",
    "init_surroundings_changed",
    "lambda_defaults_beyond_parameters",
    "lru_of_a_closure",
    "lru_of_truth_values",
    "slots_swapped",
    "table_changed_by_words",
    "text_of_shared_parts",
    "variable_changed_by_words",
    "variable_hides_a_class_of_a_module",
    "variable_hides_a_function_of_a_module",
    "yield_in_an_annotation",
    "yield_in_an_exception",
)


@pytest.mark.parametrize("name", OPEN)
def test_no_text_computes_otherwise_where_nobody_compares(name: str, tmp_path: Path) -> None:
    """The difference may lie where no instance is compared: the text itself must have no value there."""
    (stated,) = _claims_of(CASES / "frozen" / f"{name}.txt", tmp_path)
    frozen = freeze(stated, {"": ("",)}, compared=False)
    if frozen.text is None:
        assert frozen.outside[""]
        return
    records = [{"statement": "", "line": "", "rule": "exhausted"}]
    records += [{"statement": "", "line": "", "rule": "instance", "instance": {"n": n}} for n in range(1, 7)]
    assert judge(frozen.text, records).word is Word.OPEN


def test_a_function_in_the_place_of_pythons_own_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("math.floor", lambda x: 0)
    monkeypatch.setattr("builtins.divmod", pow)
    monkeypatch.setattr("itertools.chain", type("chain", (), {"__module__": "itertools"}))
    monkeypatch.setattr(sides, "at_most", sides.at_least)
    known = named_values()
    assert {"math.ceil", "at_least", "Fraction", "itertools.product"} <= {*known.values()}
    assert not {"math.floor", "divmod", "itertools.chain"} & {*known.values()}
    assert known[id(sides.at_least)] == "at_least"


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (builtins, "divmod"),
        (math, "gcd"),
        (Fraction, "__mul__"),
        (Fraction, "__iadd__"),  # which it does not have
        (Complex, "__isub__"),  # which it would have from this class
        (dataclasses, "_init_fn"),
    ],
)
def test_a_file_that_replaces_a_part_of_python_is_refused(owner: Any, name: str, tmp_path: Path) -> None:
    before = getattr(owner, name, None)
    head = (
        "import builtins, dataclasses, math\nfrom fractions import Fraction\nfrom numbers import Complex\n\n"
    )
    (tmp_path / "replaces.py").write_text(f"{head}{owner.__name__}.{name} = lambda *values: (6, 0)\n")
    with pytest.raises(InvalidArgument, match=f"{owner.__name__}.{name}, which is a part of Python"):
        load_claims(tmp_path / "replaces.py")
    assert getattr(owner, name, None) is before


def test_a_file_may_change_its_own_name(tmp_path: Path) -> None:
    head = "from clusterproof.theorem import Z, at_most, claim\n\n__name__ = 5\n\n\n@claim('names/one')\n"
    (tmp_path / "renamed.py").write_text(f"{head}def one(n: int = Z[1:6]):\n    return at_most(n, 6)\n")
    (stated,) = load_claims(tmp_path / "renamed.py")
    assert file_of(find_claim(stated).module) is None


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: choice("\ud800"), "values"),
        (lambda: suppose("\ud800", True), "name"),
        (lambda: at_most(1, **{"\ud800": 2}), "name"),
        (lambda: claim("p/half", label="\ud800")(_second), "label"),
        (lambda: claim("p/half")(_half_a_sign).statements[0].lines({"n": 1}), "line"),
    ],
)
def test_half_a_sign_is_no_name(make: Callable[[], object], argument: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        make()
    assert error.value.argument == argument
    str(error.value).encode()


def _second(n: int = Z[1:2]) -> Sides:
    return at_most(n, 2)


def _half_a_sign(n: int = Z[1:2]) -> dict[str, Sides]:
    return {"\ud800": at_most(n, 2)}


def test_half_a_sign_in_a_message_is_sent_as_its_escape() -> None:
    assert json.loads(_encoded(["failure", {"a": "x\ud800\n"}])) == ["failure", {"a": "x\\ud800\n"}]


MOVED = '''
from fractions import Fraction

from clusterproof import Q, at_most, claim


def half(x):
    return 0.5 * x


@claim("moved/one")
def one(x: Fraction = Q[0:1]):
    """It is no larger than 1."""
    return at_most(half(x), 1)


@one.line("more")
def more(x: Fraction = Q[0:1]):
    """It is no larger than 2."""
    return at_most(x, 2)
'''


SHARED = '''
from fractions import Fraction

from clusterproof import Q, at_most, claim


@claim("shared/one")
def one(x: Fraction = Q[0:1]):
    """The same name is a variable of one comprehension, and free in the other."""
    return at_most(sum(sum([y * z for z in (1, 2)]) for y in [z for z in [y for y in (0, x)]]), 3)
'''


def test_one_name_has_two_scopes_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "shared.txt").write_text(SHARED, encoding="utf-8")
    (stated,) = _claims_of(tmp_path / "shared.txt", tmp_path)
    frozen = freeze(stated)
    assert frozen.text is not None
    evaluated, _ = frozen.statement("").evaluated({"x": Fraction(1)})
    assert evaluated[""].entries == ((3 * sum((0, 1)), 3),)


def test_a_text_is_the_same_where_lines_move(tmp_path: Path) -> None:
    found = []
    for name, head in (("a", ""), ("b", "# a comment\n\n")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "moved.txt").write_text(head + MOVED, encoding="utf-8")
        (stated,) = _claims_of(folder / "moved.txt", folder)
        found.append(freeze(stated))
        dict.pop(REGISTRY, stated.id)
    assert found[0].text == found[1].text
    assert found[0].outside[""].startswith("moved.py, line 8, in half: 0.5 is a float")
    assert found[1].outside[""].startswith("moved.py, line 10, in half: 0.5 is a float")
    assert "moved.py, in half: 0.5 is a float" in str(found[0].text)


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


@dataclass(frozen=True)
class Number:
    value: int

    def doubled(self) -> int:
        return 2 * self.value

    def quadrupled(self) -> int:
        return 2 * self.doubled()

    def halved(self) -> Fraction:
        return Fraction(self.value, 2)


def in_methods(n: int = Z[1:6]) -> Sides:
    return at_most(Number(n).quadrupled(), bound=4 * n)


def test_a_text_has_the_methods_that_are_asked_for_and_those_that_these_ask_for() -> None:
    text = freeze(claim("attack/in-methods")(in_methods)).text
    assert text is not None
    assert "def doubled(self)" in text
    assert "halved" not in text
    record = {"statement": "", "line": "", "rule": "exhausted"}
    assert judge(text, [record]).word is Word.CERTIFIED


LARGE = """
from clusterproof.theorem import Z, at_most, claim


def helper(n):
{lines}
    return n


@claim("large/one")
def one(n: int = Z[1:6]):
    return at_most(helper(n), 6)
"""


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("    k: int = 1\n" * 2500, "more steps than it may"),
        ("    # long\n" * 20_000, "more than 200000 characters"),
    ],
)
def test_a_source_that_would_take_long_is_refused(tmp_path: Path, lines: str, why: str) -> None:
    (tmp_path / "large.py").write_text(LARGE.format(lines=lines))
    (stated,) = load_claims(tmp_path / "large.py")
    assert why in freeze(find_claim(stated)).outside[""]


NESTED = "".join(f"{' ' * k}def n{k}():\n" for k in range(90)) + " " * 90 + "x = (" + "0, " * 60_000 + ")\n"
RENAMED = """
x = 2


def other(x):
    return x


@claim("large/two")
def two(n: int = Z[1:6]):
    return at_most(n, max(({})))  # {}
"""


LONG = RENAMED.format("3 * x, " * 20_000, "\u00e9" * 800_000)


@pytest.mark.parametrize("more", [NESTED, LONG], ids=["nested", "renamed"])
def test_a_long_line_takes_little_time(tmp_path: Path, more: str) -> None:
    """The line is in many functions, or many of its names differ in the text."""
    (tmp_path / "large.py").write_text(LARGE.format(lines="    k: int = 1\n") + more)
    with at_most_seconds(20):
        for each in load_claims(tmp_path / "large.py"):
            freeze(find_claim(each))


CONSTANTS = """
def refused(x):
    try:
        return x
    finally:
{lines}


{constants}


@claim("large/three")
def three(n: int = Z[1:6]):
    return at_most(n, 5 + {total})
"""


def test_a_function_outside_the_language_is_read_once(tmp_path: Path) -> None:
    names = [f"k{i}" for i in range(300)]
    constants = "\n".join(f"{name} = refused(1)" for name in names)
    text = CONSTANTS.format(lines="        x += 1\n" * 10_000, constants=constants, total=" + ".join(names))
    (tmp_path / "large.py").write_text("from clusterproof.theorem import Z, at_most, claim\n" + text)
    (stated,) = load_claims(tmp_path / "large.py")
    with at_most_seconds(20):
        assert freeze(find_claim(stated)).text is not None


INNER = """
from __future__ import annotations
from typing import Annotated
from clusterproof.theorem import at_most, claim, integers

width = 5


@claim("inner/one")
def one(
    width: Annotated[int, integers(1, 2)],
    n: Annotated[int, integers(1, lambda width: {end})],
):
    return at_most(n, width)
"""


@pytest.mark.parametrize(
    ("end", "word"),
    [
        ("(lambda one: one * width)(1)", Word.CERTIFIED),
        ("(lambda width: width)(1)", Word.CERTIFIED),
        ("(lambda one=(lambda width: width): one(width))()", Word.CERTIFIED),
        ("sum(1 for one in range(width))", Word.CERTIFIED),
        ("sum(width for width in range(3) for one in range(width)) - 5 + width", Word.CERTIFIED),
        ("(lambda one: one * width)(2)", Word.OPEN),
        ("sum(width for one in (0, 0))", Word.OPEN),
    ],
)
def test_an_inner_lambda_of_an_annotation_uses_the_outer_parameter(
    tmp_path: Path, end: str, word: Word
) -> None:
    (tmp_path / "inner.py").write_text(INNER.format(end=end))
    (stated,) = load_claims(tmp_path / "inner.py")
    frozen = freeze(find_claim(stated))
    assert frozen.text is not None
    (line,) = frozen.lines[""]
    assert judge(frozen.text, [{"statement": "", "line": line, "rule": "exhausted"}]).word is word


UNWRITABLE = {
    "a long number": f"def one(n: int = Z[1:6]):\n    return at_most(n, 0x{'f' * 5000})\n",
    "a string within a string": "def one(n: int = Z[1:6]):\n    return at_most(n, {'\xa0': 6}[f\"{'\xa0'}\"])\n",
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_a_source_that_python_cannot_write_is_refused_in_words(tmp_path: Path, name: str) -> None:
    head = "from clusterproof.theorem import Z, at_most, claim\n\n\n@claim('unwritable/one')\n"
    (tmp_path / "unwritable.py").write_text(head + UNWRITABLE[name], encoding="utf-8")
    (stated,) = load_claims(tmp_path / "unwritable.py")
    frozen = freeze(find_claim(stated))
    assert frozen.text or "cannot write its source" in frozen.outside[""]


HOSTILE = {
    "type": "class A:\n    @property\n    def __class__(self):\n        raise OSError('no')\nIT = A()\n",
    "posing": "class A:\n    __class__ = type\nIT = A()\n",
    "hash": "class M(type):\n    def __hash__(cls):\n        raise KeyError\nclass IT(metaclass=M):\n    pass\n",
    "module": "class A:\n    pass\nA.__module__ = type('B', (), {'__eq__': lambda *_: 1 / 0})()\nIT = A()\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_object_that_raises_when_it_is_inspected_is_only_outside_the_language(
    tmp_path: Path, name: str
) -> None:
    head = "from clusterproof.theorem import Z, at_most, claim\n"
    claimed = "@claim('hostile/one')\ndef one(n: int = Z[1:]):\n    return at_most((IT, -n)[1], 0)\n"
    (tmp_path / "hostile.py").write_text(head + HOSTILE[name] + claimed)
    (stated,) = load_claims(tmp_path / "hostile.py")
    verdict = check(stated)
    assert (verdict.verdict, verdict.text) == ("consistent", "")
    assert verdict.lines[0].outside


def test_a_constant_of_a_module_that_the_file_assigns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "assigned_helper.py").write_text("K = 0\n")
    claimed = """import assigned_helper
from clusterproof.theorem import Z, at_most, claim


def say():
    assigned_helper.K = -9
    return "small"


@claim("assigned/one")
def one(n: int = Z[1:6]):
    return at_most(n, 6 + assigned_helper.K, words=lambda: say())
"""
    (tmp_path / "assigned.py").write_text(claimed)
    (stated,) = load_claims(tmp_path / "assigned.py")
    assert "assigned_helper.K is changed in assigned.py, line 6" in freeze(find_claim(stated)).outside[""]


def test_an_attribute_that_a_module_computes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "computed_helper.py").write_text("def __getattr__(name):\n    return min\n")
    claimed = """import computed_helper
from clusterproof import theorem
from clusterproof.theorem import claim


@claim("computed/pick")
def pick(n: int = theorem.Z[1:6]):
    return theorem.at_most(computed_helper.pick(n, 1), 6)


@claim("computed/none")
def none(n: int = theorem.Z[1:6]):
    return theorem.at_most(n, 6)
"""
    (tmp_path / "computed.py").write_text(claimed)
    picked, plain = map(find_claim, load_claims(tmp_path / "computed.py"))
    assert "computed_helper.pick is not of the language" in freeze(picked).outside[""]
    assert freeze(plain).text is not None


def test_long_ends_of_ranges_cost_steps(tmp_path: Path) -> None:
    ends = ", ".join(f"q{i}: Annotated[int, integers(0, END)]" for i in range(60))
    text = f"""from typing import Annotated
from clusterproof.theorem import at_most, claim, integers

END = lambda: sum(({"1, " * 50_000}))


@claim("long/ends")
def one({ends}):
    return at_most(q0, 50_000)
"""
    (tmp_path / "ends.py").write_text(text)
    (stated,) = load_claims(tmp_path / "ends.py")
    with at_most_seconds(20):
        assert "more steps than it may" in freeze(find_claim(stated), {"": ("",)}, compared=False).outside[""]


TOP = """
from clusterproof.theorem import Z, at_most, claim

n = 0


def {name}(n):
    k = n
    return k


@claim("named/one")
def one(n: int = Z[1:6]):
    return at_most({name}(n), 3)
"""


@pytest.mark.parametrize("name", ["top", "other"])
def test_a_function_of_any_name_has_its_own_variables(tmp_path: Path, name: str) -> None:
    """With the constant n = 0 in place of the parameter, the false statement would hold."""
    (tmp_path / "named.py").write_text(TOP.format(name=name))
    (stated,) = load_claims(tmp_path / "named.py")
    frozen = freeze(find_claim(stated))
    (line,) = frozen.lines[""]
    record = {"statement": "", "line": line, "rule": "instance", "instance": {"n": 4}}
    assert judge(frozen.text, [record]).word is Word.VIOLATED


CACHED = """
from dataclasses import dataclass
from functools import cached_property, lru_cache
from clusterproof.theorem import Z, at_most, claim


@lru_cache
def bound():
    return 2


@dataclass(frozen=True)
class Step:
    size: int

    @cached_property
    def scaled(self):
        return 2 * self.size

    @lru_cache
    def larger(self):
        return 2 * self.size

    @property
    def next(self):
        return self.size + 1


@claim("caches/function")
def by_function(n: int = Z[0:1]):
    return at_most(n, bound())


@claim("caches/property")
def by_property(n: int = Z[0:1]):
    return at_most(n, Step(1).scaled)
"""


def test_functions_and_properties_with_a_cache_prove_nothing(tmp_path: Path) -> None:
    (tmp_path / "caches.py").write_text(CACHED)
    by_function, by_property = map(find_claim, load_claims(tmp_path / "caches.py"))
    assert "bound has a cache" in freeze(by_function).outside[""]
    assert "Step.larger" in freeze(by_property).outside[""]
    (tmp_path / "properties.py").write_text(
        CACHED.replace("    @lru_cache\n", "").replace("caches/", "others/")
    )
    _, by_property = map(find_claim, load_claims(tmp_path / "properties.py"))
    frozen = freeze(by_property)
    record = {"statement": "", "line": "", "rule": "exhausted"}
    assert "it has a cache" in frozen.text
    assert judge(frozen.text, [record]).word is Word.OPEN


CHANGED_NUMBERS = """
from fractions import Fraction
from clusterproof.theorem import Q, at_most, claim


class Own(int):
    def __mul__(self, other):
        return 2 * int(other)


K = Fraction(1)
K._numerator = Own(1)
KEY = Fraction(1)
TABLE = {KEY: 0}
KEY._numerator = 3


@claim("changed/number")
def number(x: Fraction = Q[0:1]):
    return at_most(x * K, 1)


@claim("changed/key")
def key(x: Fraction = Q[0:1]):
    return at_most(x, TABLE.get(Fraction(3), 1))
"""


def test_a_changed_fraction_is_refused(tmp_path: Path) -> None:
    (tmp_path / "changed.py").write_text(CHANGED_NUMBERS)
    for stated in load_claims(tmp_path / "changed.py"):
        assert freeze(find_claim(stated)).text is None


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    head = "# coding: latin-1\nfrom clusterproof.theorem import Z, at_most, claim\n\n\n@claim('coded/one')\n"
    (tmp_path / "coded.py").write_text(f"{head}def one(n: int = Z[1:6]):\n    return at_most(n, 6)\n")
    (stated,) = load_claims(tmp_path / "coded.py")
    assert "UTF-8" in freeze(find_claim(stated)).outside[""]


@pytest.mark.parametrize("nest", ["(lambda: {})()", "[{} for _ in (0,)][0]"])
def test_deeply_nested_functions_are_refused(tmp_path: Path, nest: str) -> None:
    """Python compares the codes of two functions in twice the time for each level."""
    head = "from clusterproof.theorem import Z, at_most, claim\n"
    for levels in (5, 60):
        inner = "n"
        for _ in range(levels):
            inner = nest.format(inner)
        name = f"nested{levels}"
        claimed = f"@claim('{name}/one')\ndef one(n: int = Z[1:6]):\n    return at_most({inner}, 6)\n"
        (tmp_path / f"{name}.py").write_text(head + claimed)
        (stated,) = load_claims(tmp_path / f"{name}.py")
        with at_most_seconds(20):
            frozen = freeze(find_claim(stated))
        assert (frozen.text is None) == (levels == 60)
    assert "levels deep" in frozen.outside[""]


def test_an_object_that_raises_no_exception_when_it_is_inspected_is_refused(tmp_path: Path) -> None:
    text = """from clusterproof.theorem import Z, at_most, claim
class A:
    one = 1
    @property
    def __class__(self):
        raise GeneratorExit
A = A()
@claim('raising/one')
def one(n: int = Z[1:6]):
    return at_most(n * A.one, 6)
"""
    (tmp_path / "raising.py").write_text(text)
    (stated,) = load_claims(tmp_path / "raising.py")
    assert "raises an error" in freeze(find_claim(stated)).outside[""]


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    head = "from clusterproof.theorem import Z, at_most, claim\n\n\n@claim('marked/one')\n"
    text = f"{head}def one(n: int = Z[1:6]):\n    return at_most(n, 6)\n"
    (tmp_path / "marked.py").write_text(text, encoding="utf-8-sig")
    (stated,) = load_claims(tmp_path / "marked.py")
    assert freeze(find_claim(stated)).text is not None


def test_a_constant_that_another_claim_has_changed_is_refused(tmp_path: Path) -> None:
    text = """from clusterproof.theorem import Z, at_most, claim

K = int("1")
L = int("1")


@claim("changed/first")
def first(n: int = Z[0:5]):
    globals()["K"] = 5
    return at_most(float(n), 5)


@claim("changed/second")
def second(n: int = Z[0:5]):
    return at_most(K, 1)


@claim("changed/third")
def third(n: int = Z[0:5]):
    return at_most(L, 1)
"""
    (tmp_path / "changed.py").write_text(text)
    names = load_claims(tmp_path / "changed.py")
    (before,) = freeze(find_claim(names[1])).text.splitlines()[:1]
    assert before.startswith("K = 1 ")
    assert check(names[0]).verdict == "consistent"
    frozen = freeze(find_claim(names[1]))  # K is 5 now, and 1 in the text
    assert "another value than its source" in frozen.outside[""]
    assert before in freeze(find_claim(names[1]), compared=False).text
    assert check(names[2]).verdict == "certified"


CHANGED_LATER = {
    "a variable around a function": (
        "def make():\n    def limit():\n        return bound\n    bound = 1\n    yield limit\n    bound = 2\n"
        "    yield limit\nmade = make()\nlimit = next(made)\n",
        "next(made, None)",
    ),
    "a default": ("def limit(*, bound=1):\n    return bound\n", "limit.__kwdefaults__.update(bound=2)"),
    "a module": ("import beside_it\n\ndef limit():\n    return beside_it.K\n", "setattr(beside_it, 'K', 2)"),
    "a function": ("def limit():\n    return 1\n", "setattr(limit, '__code__', (lambda: 2).__code__)"),
    "a class": (
        "@dataclass(frozen=True)\nclass R:\n    one: int\n    def two(self):\n        return self.one\n"
        "def limit():\n    return R(1).two()\n",
        "setattr(R, 'two', lambda self: 2)",
    ),
}


@pytest.mark.parametrize("name", CHANGED_LATER)
def test_a_text_says_what_held_after_loading(name: str, tmp_path: Path) -> None:
    """The search of the first claim makes the second one true."""
    before, change = CHANGED_LATER[name]
    text = f"""from dataclasses import dataclass
from clusterproof.theorem import Z, at_least, at_most, claim

{before}

@claim("later/first")
def first(n: int = Z[0:5]):
    if n == 0:
        {change}
    return at_most(float(n), 5)


@claim("later/second")
def second(n: int = Z[0:5]):
    return at_least(limit(), 2)
"""
    (tmp_path / "beside_it.py").write_text("K = 1\n")
    (tmp_path / "later.py").write_text(text)
    first, second = load_claims(tmp_path / "later.py")
    loaded = freeze(find_claim(second), compared=False).text
    assert check(first).verdict == "consistent"
    assert check(second).verdict != "certified"
    assert freeze(find_claim(second), compared=False).text == loaded is not None


def test_long_numbers_are_refused_at_once(tmp_path: Path) -> None:
    methods = "".join(f"    def m{k}(self):\n        return K\n" for k in range(100))
    used = " + ".join(f"R(n).m{k}()" for k in range(100))
    text = f"""from dataclasses import dataclass
from clusterproof.theorem import Z, at_least, claim

K = 1 << (1 << 28)


@dataclass(frozen=True)
class R:
    one: int
{methods}

@claim("long/numbers")
def one(n: int = Z[0:5]):
    return at_least({used} + K, 0)
"""
    (tmp_path / "long.py").write_text(text)
    with at_most_seconds(10):
        (stated,) = load_claims(tmp_path / "long.py")
        assert "65536 bits" in freeze(find_claim(stated), compared=False).outside[""]


def test_many_functions_and_large_files_cost_steps(tmp_path: Path) -> None:
    head = "from clusterproof.theorem import Z, at_most, claim\n"
    claimed = "@claim('large/{0}')\ndef one(n: int = Z[1:6]):\n    return at_most({1}, 6)\n"
    (tmp_path / "lambdas.py").write_text("def f(n):\n    return n\n" + "lambda:0\n" * 2001)
    (tmp_path / "many.py").write_text(f"{head}import lambdas\n{claimed.format('many', 'lambdas.f(n)')}")
    (stated,) = load_claims(tmp_path / "many.py")
    assert "more than 2000 functions" in freeze(find_claim(stated)).outside[""]
    for each in range(25):
        (tmp_path / f"large{each}.py").write_text(f"def f(n):\n    return n\n# {'x' * 190_000}\n")
    imports = "".join(f"import large{each}\n" for each in range(25))
    for several in (5, 25):
        called = " + ".join(f"0 * large{each}.f(n)" for each in range(several))
        (tmp_path / f"all{several}.py").write_text(f"{head}{imports}{claimed.format(several, called)}")
        (stated,) = load_claims(tmp_path / f"all{several}.py")
        frozen = freeze(find_claim(stated))
        assert (frozen.text is None) == (several == 25)
    assert "steps" in frozen.outside[""]


def test_methods_that_call_each_other_cost_steps(tmp_path: Path) -> None:
    calls = "".join(f"\n    def m{k}(self):\n        return self.m{k + 1}()\n" for k in range(400))
    text = f"""from dataclasses import dataclass
from clusterproof.theorem import Z, at_most, claim


@dataclass(frozen=True)
class R:
    size: int
{calls}
    def m400(self):
        return self.size


@claim("chains/one")
def one(n: int = Z[0:3]):
    return at_most(R(n).m0(), 3)
"""
    (tmp_path / "chains.py").write_text(text)
    (stated,) = load_claims(tmp_path / "chains.py")
    with at_most_seconds(30):
        assert "more steps than it may" in freeze(find_claim(stated)).outside[""]

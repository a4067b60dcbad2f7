"""Functions of a running program that somebody wrote to be misread, frozen and judged by what nobody should believe."""

from __future__ import annotations

import builtins
import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Complex
from pathlib import Path
from typing import Any

import pytest
from text_cases import CASES, claims_of, loaded

from clusterproof import load_claims
from clusterproof.checker.claims import sides
from clusterproof.checker.claims.claim import claim, find_claim
from clusterproof.checker.freeze import freeze
from clusterproof.checker.freeze.values import named_values
from clusterproof.checker.kernel import Word, judge
from clusterproof.common import InvalidArgument
from clusterproof.theorem import Sides, Z, at_most
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
    (stated,) = claims_of(case, tmp_path)
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
    (stated,) = claims_of(CASES / "frozen" / f"{name}.txt", tmp_path)
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
    (stated,) = claims_of(CASES / "frozen" / f"{name}.txt", tmp_path)
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
    assert file_of(find_claim(stated).module) == str(tmp_path / "renamed.py")


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

"""Which range a parameter has: one of its annotation or of its default, read where the annotation is written."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest

from clusterproof import InvalidArgument, check, load_claims
from clusterproof.checker.claims import Replicates, Sides, Stream, Z, at_most, integers, sequences
from clusterproof.checker.claims.claim import REGISTRY, claim
from clusterproof.checker.claims.statement import Statement

Digit = Annotated[int, integers(0, 9)]
Small = Annotated[int, integers(0, 3)]
HEAD = "from typing import Annotated\nfrom clusterproof.theorem import Q, Z, at_most, claim, integers\n"
LATER = f"from __future__ import annotations\n{HEAD}"


@dataclass(frozen=True)
class Defaulted:
    digit: Digit = Z[0:3]


@dataclass(frozen=True)
class Nested:
    digit: Annotated[Digit, integers(0, 3)]


def default(digit: Digit = Z[0:3]) -> Sides:
    return at_most(digit, 3)


def wider(digit: Small = Z[0:9]) -> Sides:
    return at_most(digit, 3)


def nested(digit: Annotated[Digit, integers(0, 3)]) -> Sides:
    return at_most(digit, 3)


def twice(digit: Annotated[int, integers(0, 3), integers(0, 9)]) -> Sides:
    return at_most(digit, 3)


def marked(digit: Annotated[Replicates, integers(0, 3)]) -> Sides:
    return at_most(digit, 3)


def entries(digit: tuple[Small, ...] = sequences(integers(0, 9), 2)) -> Sides:
    return at_most(digit[0], 3)


def field(record: Defaulted) -> Sides:
    return at_most(record.digit, 3)


def nested_field(record: Nested) -> Sides:
    return at_most(record.digit, 3)


@pytest.mark.parametrize("function", [default, wider, nested, twice, marked, entries, field, nested_field])
def test_a_quantity_with_two_ranges_is_refused_by_name(function: Any) -> None:
    name = "record.digit" if "field" in function.__name__ else "digit"
    with pytest.raises(
        InvalidArgument, match=f"^parameter is '{name}', but it must have one range"
    ) as refusal:
        Statement("", function)
    assert refusal.value.remedy == "leave out one of the two"


def test_a_constant_has_no_range() -> None:
    def ranged(digit: Digit, *, constant: Small = 0) -> Sides:
        return at_most(digit * constant, 0)

    def optional(digit: Digit, *, constant: Small | None = None) -> Sides:
        return at_most(digit, 9)

    def marked(digit: Digit, *, constant: Stream) -> Sides:
        return at_most(digit, 9)

    for function in (ranged, optional, marked):
        with pytest.raises(InvalidArgument, match=r"^parameter is 'constant', but it must have no range"):
            Statement("", function)


def test_a_parameter_without_a_name_of_its_own_is_refused() -> None:
    def positional(digit: Digit, /) -> Sides:
        return at_most(digit, 9)

    def several(digit: Digit, *digits: Small) -> Sides:
        return at_most(digit, 9)

    def named(digit: Digit, **digits: int) -> Sides:
        return at_most(digit, 9)

    for function, name in ((positional, "digit"), (several, r"\*digits"), (named, r"\*\*digits")):
        with pytest.raises(InvalidArgument, match=f"^parameter is '{name}', but it must be .* by its name"):
            Statement("", function)


def test_a_default_under_another_decorator_is_refused_with_what_to_write_instead() -> None:
    def decorated(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*arguments: Any, **named: Any) -> Any:
            return function(*arguments, **named)

        return wrapper

    def of_default(digit: int = Z[0:3]) -> Sides:
        return at_most(digit, 3)

    def of_annotation(digit: Small) -> Sides:
        return at_most(digit, 3)

    with pytest.raises(
        InvalidArgument, match=r"^digit is .*another decorator wraps\. Write the ranges in the ann"
    ):
        Statement("", decorated(of_default))
    assert Statement("", decorated(of_annotation)).space.instances(4) == [{"digit": k} for k in range(4)]


# ---- annotations that are strings


def stated(folder: Path, text: str, **others: str) -> None:
    """Load the claims of a file, beside other files."""
    for name, content in {**others, "mine": text}.items():
        (folder / f"{name}.py").write_text(content)
    load_claims(folder / "mine.py")


def allowed(name: str) -> str:
    return REGISTRY[f"mine/{name}"].statements[0].space.ranges["n"].describe({})


def test_a_string_within_an_annotation_is_read_in_its_own_file(registry: Any, tmp_path: Path) -> None:
    text = '{head}Step = Annotated[int, integers(0, {most})]\n@claim("{paper}/one")\n'
    text += 'def one(n: Annotated["Step", "number of rounds"]):\n    return at_most(n, 3)\n'
    stated(
        tmp_path,
        "import beside\n" + text.format(head=HEAD, most=9, paper="mine"),
        beside=text.format(head=HEAD, most=3, paper="beside"),
    )
    assert allowed("one") == "an integer in 0 .. 9"
    assert check("mine/one").counterexample == {"n": 4}


def test_the_annotations_of_a_wrapper_are_read_in_its_own_file(registry: Any, tmp_path: Path) -> None:
    beside = f"import functools\n{HEAD}Step = Annotated[int, integers(0, 9)]\ndef deco(f):\n"
    beside += '    def wrapper(n: "Step"):\n        return f(n)\n'
    beside += '    return functools.wraps(f, assigned=("__name__", "__module__"))(wrapper)\n'
    text = f"{HEAD}from beside import deco\nStep = Annotated[int, integers(0, 3)]\n"
    stated(tmp_path, f'{text}@claim("mine/one")\n@deco\ndef f(n):\n    return at_most(n, 3)\n', beside=beside)
    assert allowed("one") == "an integer in 0 .. 9"


def test_a_field_of_an_inherited_record_is_read_in_its_own_file(registry: Any, tmp_path: Path) -> None:
    beside = f"{LATER}from dataclasses import dataclass\nStep = Annotated[int, integers(0, 9)]\n"
    beside += "@dataclass(frozen=True)\nclass Base:\n    n: Step\n"
    text = f"{LATER}from dataclasses import dataclass\nfrom beside import Base\n"
    text += "Step = Annotated[int, integers(0, 3)]\n@dataclass(frozen=True)\nclass Own(Base):\n    pass\n"
    text += '@claim("mine/one")\ndef one(own: Own):\n    return at_most(own.n, 3)\n'
    stated(tmp_path, text, beside=beside)
    assert allowed("one") == "an integer in 0 .. 9"


OF_A_FACTORY = """
Step = Annotated[int, integers(0, 3)]
def make(Step):
    @claim("mine/one")
    def one(n: {annotation}):
        return at_most(n, 3)
make(Annotated[int, integers(0, 9)])
"""
OF_A_CLASS = """
Step = Annotated[int, integers(0, 3)]
class Paper:
    Step = Annotated[int, integers(0, 9)]
    @claim("mine/one")
    def one(n: {annotation}):
        return at_most(n, 3)
"""
OF_A_RECORD = """
from dataclasses import dataclass
Step = Annotated[int, integers(0, 3)]
@dataclass(frozen=True)
class Setup:
    Step = Annotated[int, integers(0, 9)]
    n: {annotation}
@claim("mine/one")
def one(setup: Setup):
    return at_most(setup.n, 3)
"""
OF_A_LOCAL_RECORD = """
from dataclasses import dataclass
Step = Annotated[int, integers(0, 3)]
def make(Step):
    @dataclass(frozen=True)
    class Setup:
        n: {annotation}
    return Setup
Setup = make(Annotated[int, integers(0, 9)])
@claim("mine/one")
def one(setup: Setup):
    return at_most(setup.n, 3)
"""


@pytest.mark.parametrize("file", [OF_A_FACTORY, OF_A_CLASS, OF_A_RECORD, OF_A_LOCAL_RECORD])
@pytest.mark.parametrize("annotation", ["Step", "Annotated[Step, 'rounds']", "Annotated['Step', 'rounds']"])
def test_a_string_with_the_name_of_something_local_is_refused(
    registry: Any, tmp_path: Path, file: str, annotation: str
) -> None:
    for text in (LATER + file.format(annotation=annotation), HEAD + file.format(annotation=repr(annotation))):
        with pytest.raises(
            InvalidArgument, match=r"^.*mine.py.*: (one|Setup)\.n is .*must not name what is local"
        ):
            stated(tmp_path, text)
        assert not registry
    if "'" not in annotation:  # what Python itself evaluates
        stated(tmp_path, HEAD + file.format(annotation=annotation))
        assert allowed("one") == "an integer in 0 .. 9"


def test_a_string_without_the_name_of_something_local_is_read_in_the_file(
    registry: Any, tmp_path: Path
) -> None:
    file = OF_A_FACTORY.replace("make(Step)", "make(Other)").replace("n: {annotation}", "n: Step, k: Upper")
    file = file.replace("def make", "Upper = Annotated[int, integers(0, lambda n: n)]\ndef make")
    stated(tmp_path, LATER + file)
    assert allowed("one") == "an integer in 0 .. 3"
    stated(tmp_path, LATER + OF_A_FACTORY.replace("n: {annotation}", "n: int = Z[0:5]"))
    assert allowed("one") == "an integer in 0 .. 5"


def test_the_parameter_of_a_function_within_a_string_is_no_local_name(registry: Any, tmp_path: Path) -> None:
    upper = "Annotated[int, integers(0, lambda n: n)]"
    file = OF_A_FACTORY.replace("make(Step)", "make(n)").replace("n: {annotation}", f"n: Step, k: {upper}")
    stated(tmp_path, LATER + file)
    assert allowed("one") == "an integer in 0 .. 3"


def test_a_string_is_refused_where_the_names_around_it_are_unknown() -> None:
    text = f"{LATER}{OF_A_FACTORY}".format(annotation="Step").replace('@claim("mine/one")', "@kept")
    kept: list[Any] = []
    exec(compile(text, "no such file", "exec", dont_inherit=True), {"__name__": "none", "kept": kept.append})
    with pytest.raises(InvalidArgument, match=r"^one\.n is 'Step', but it must not name what is local"):
        Statement("", kept[0])


def test_a_name_that_the_file_lacks_is_refused_in_a_line_too(registry: Any) -> None:
    def first(digit: Digit) -> Sides:
        return at_most(digit, 9)

    def second(digit: "Nowhere") -> Sides:  # type: ignore[name-defined]  # noqa: F821
        return at_most(digit, 9)

    made = claim("my-paper/one")(first)
    with pytest.raises(InvalidArgument, match=r"^function is 'second', .*Nowhere.*top of the file"):
        made.line("second")(second)

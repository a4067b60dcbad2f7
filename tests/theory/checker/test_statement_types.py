"""A claim stays the typed function that it is."""

import re
from pathlib import Path

import pytest
from checkout import MYPY_CACHE, mypy_configuration
from mypy import api

CLAIMS = """
from fractions import Fraction
from typing import Annotated
from clusterproof.theory.checker import Family, Sides, at_most, integers, rationals

Clients = Annotated[int, integers(2, 8)]
Share = Annotated[Fraction, rationals(0, 1, 4)]
PAPER = Family("typed")

@PAPER.claim("one", label="(1)", kind="upper")
def one(clients: Clients, share: Share, *, power: float = 1.0) -> Sides:
    return at_most(share, whole=clients**power)

@one.also("more")
def more(clients: Clients) -> dict[str, Sides]:
    return {"whole": at_most(1, whole=clients)}

@PAPER.claim("two", label="(2)", kind="upper")
def two(clients: Clients, share: Share) -> Sides:
    return one(clients, share, power=2.0)

reveal_type(one(3, Fraction(1, 2)))
reveal_type(more(3))
"""

WRONG = """
one("3", Fraction(1, 2))  # arg-type
one(3)  # call-arg
one(3, Fraction(1, 2), exponent=2.0)  # call-arg
@PAPER.claim("three", label="(3)", kind="upper")  # type-var
def three(clients: Clients) -> int:
    return clients
"""


@pytest.mark.slow(reason="mypy reads numpy's types")
def test_types_under_strict_mypy(tmp_path: Path) -> None:
    file = tmp_path / "claims.py"
    file.write_text(CLAIMS + WRONG)
    options = ["--strict", "--config-file", str(mypy_configuration(tmp_path)), "--no-error-summary"]
    output, errors, _ = api.run([*options, "--cache-dir", str(MYPY_CACHE), str(file)])
    assert not errors
    found = [
        (int(text.split(":")[1]), re.findall(r"\[([a-z-]+)\]$", text)[0])
        for text in output.splitlines()
        if "note:" not in text
    ]
    lines = file.read_text().splitlines()
    expected = [(i + 1, line.split("# ")[1]) for i, line in enumerate(lines) if "# " in line]
    assert found == expected, output
    assert 'Revealed type is "clusterproof.theory.checker.sides.Sides"' in output
    assert "dict[" in output

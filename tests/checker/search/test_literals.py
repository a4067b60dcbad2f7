"""Numbers of the source: theorems that fail at one number, which only the source names."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import pytest
from kernel_statements import blocks_of, executed

from clusterproof.checker.claims import drawn
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.search.instances import numbers_in
from clusterproof.checker.search.strategy import search

BLOCKS = {first: source for first, _, source in blocks_of(Path(__file__).with_name("literals.txt"))}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_number_of_the_source_is_tried(name: str) -> None:
    function = executed(BLOCKS[name], f"{name}.txt")["statement"]
    found = search(Statement("", function), 0, 1e-9).lines[""].found
    assert found is not None
    assert 777_771 in (abs(each) for each in found.instance.values())


def test_numbers_of_other_modules_are_not_read() -> None:
    def many(x: Annotated[Any, drawn(lambda stream: stream)]) -> int:
        return len([Fraction(each, 12_345) for each in (1, 2)])

    assert numbers_in(many) == [12_345, 2, 1]

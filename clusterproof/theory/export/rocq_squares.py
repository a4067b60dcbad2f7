"""A sum of squares of evidence, as the prelude reads it: each square with its weight and the hypotheses it is times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from clusterproof.theory.export.formulas import Exporter
from clusterproof.theory.export.rocq_section import Section
from clusterproof.theory.export.rocq_text import listed, rational


class Blocks:
    """The blocks of a record."""

    def __init__(self, exporter: Exporter, record: Mapping[str, Any]) -> None:
        self._blocks = record.get("blocks")

    def of(self, made: Section, case: int, place: int) -> str:
        return "[]"

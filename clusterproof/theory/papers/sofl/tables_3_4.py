"""Tables 3 and 4 about the same setting, and the winner of Table 4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.claims import Sides, at_least, at_most, choice, claim
from clusterproof.theory.papers.sofl.tables import (
    SINGLE_MODEL,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TEST_IMAGES,
    Column,
)

STANDARD_ERRORS = 6
"""Largest difference of two prints of one experiment, in standard errors of the test sets."""

CLUSTERED = ("CFL", "IFCA")
"""The methods that Section 5.2.6 compares SoFL with."""


Data = Annotated[str, choice(*TEST_IMAGES)]


def difference(data: str, method: str) -> Fraction:
    """Return the points between the two tables' accuracies for label skew with K = 4."""
    return abs(TABLE_3["label", data][method] - TABLE_4[data, 4][method])


def chance(data: str) -> float:
    """Return six standard errors of the difference of two independent test sets of the stated size, in points."""
    return 100 * STANDARD_ERRORS * math.sqrt(2 * 0.25 / TEST_IMAGES[data])


@claim("sofl/tables-3-and-4", label="Tables 3 and 4, one model", judges="ours")
def tables_3_and_4(data: Data, method: Annotated[str, choice(*SINGLE_MODEL)]) -> Sides:
    """For label skew with K = 4, Tables 3 and 4 have different accuracies of FedAvg and FedProx.

    Hypotheses
        The printed tables.

    Statement
        Each of the four pairs of numbers differs by more than six standard errors of the difference of two
        independent test sets of the stated size, 9.5 points for MNIST and 6.7 for CIFAR-10.

    Symbols
        Accuracies in percent; ``test_images`` a fifth of the data.

    Source
        Ours on Zhang and Qiao (2024), Tables 3 and 4, such as 71.89 and 25.17; no sentence equates the two. The
        clustered methods agree: ``sofl/table-3-in-table-4``. So it seems that one model is measured in two ways.
        Unequal amounts do not explain it: for phi from 0.5 to 10, Table 5 has 24.78 to 26.75 for FedAvg on MNIST.
    """
    return at_least(float(difference(data, method)), chance=chance(data))


@claim("sofl/table-3-in-table-4", label="Tables 3 and 4, clustered methods", judges="ours")
def table_3_in_table_4(data: Data, method: Annotated[str, choice(*CLUSTERED, "SoFL")]) -> Sides:
    """CFL, IFCA and SoFL have the same accuracies in Tables 3 and 4, up to chance.

    Hypotheses
        As ``sofl/tables-3-and-4``.

    Statement
        Each of the six pairs differs by at most six standard errors.

    Symbols
        As ``sofl/tables-3-and-4``.

    Source
        Ours on Zhang and Qiao (2024), Tables 3 and 4.
    """
    return at_most(difference(data, method), chance=chance(data))


@claim(
    "sofl/table-4-best",
    label="Section 5.2.6, Table 4",
    failure="wording",
    repaired_by="sofl/above-single-models",
)
def table_4_best(
    data: Data, clusters: Annotated[int, choice(2, 4, 8)], method: Annotated[str, choice(*CLUSTERED)]
) -> Sides:
    """Among the three clustered methods, SoFL has consistently the best accuracy.

    Hypotheses
        Table 4.

    Statement
        "Among the three clustering federated-learning algorithms, SoFL has consistently maintained better
        accuracy": at least that of CFL and of IFCA for each data set and K.

    Source
        Zhang and Qiao (2024), Section 5.2.6 on Table 4. What the tables do support:
        ``sofl/above-single-models``.

    Symbols
        Accuracies in percent.
    """
    column = TABLE_4[data, clusters]
    return at_most(column[method], sofl=column["SoFL"])


_TABLES: dict[int, Mapping[Any, Column]] = {3: TABLE_3, 4: TABLE_4, 5: TABLE_5}
COLUMNS = {
    f"Table {number}, {', '.join(map(str, where))}": (table, where)
    for number, table in _TABLES.items()
    for where in table
}
"""Columns of all tables, by name."""


@claim("sofl/above-single-models", label="Tables 3, 4 and 5")
def above_single_models(
    column: Annotated[str, choice(*COLUMNS)], method: Annotated[str, choice(*SINGLE_MODEL)]
) -> Sides:
    """In every column of Tables 3, 4 and 5 SoFL is above FedAvg and FedProx.

    Hypotheses
        The printed tables.

    Statement
        SoFL's number is the larger one in all 32 comparisons.

    Source
        Zhang and Qiao (2024), Tables 3-5: the part of ``sofl/table-4-best`` that holds.

    Symbols
        Accuracies in percent.
    """
    table, where = COLUMNS[column]
    return at_least(table[where]["SoFL"] - table[where][method], last_digit=Fraction(1, 100))

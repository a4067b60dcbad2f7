"""Tables 3 and 4 about the same setting, and the winner of Table 4."""

from __future__ import annotations

import math
from fractions import Fraction

from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with
from theory.sofl.tables import METHODS, SINGLE_MODEL, TABLE_3, TABLE_4, TABLE_5, TEST_IMAGES
from theory.verdict import Finding, Kind

STANDARD_ERRORS = 6
"""How many standard errors of the test sets two prints of one experiment may differ by."""

CLUSTERED = ("CFL", "IFCA")
"""The methods that Section 5.2.6 compares SoFL with."""


def compare(instance: Instance) -> tuple[Number, Number]:
    """Difference of two printed accuracies, and six standard errors of that of two test sets, in points."""
    images = int(instance["test_images"])
    difference = abs(Fraction(instance["table_3"]) - Fraction(instance["table_4"]))
    return difference, 100 * STANDARD_ERRORS * math.sqrt(2 * 0.25 / images)


@register("sofl/tables-3-and-4", label="Tables 3 and 4, K = 4", kind="identity", replay=replay_with(compare),
          repaired_by="sofl/table-3-in-table-4")  # fmt: skip
def tables_3_and_4(context: Context) -> Finding:
    """Tables 3 and 4 report the same accuracies for label skew with K = 4.

    Hypotheses
        The same data, skew, K, methods and settings (Sections 5.1 and 5.2).

    Statement
        Each of the ten pairs of numbers differs by chance at most: six standard errors of the difference
        of two independent test sets of the stated size, 9.5 points for MNIST and 6.7 for CIFAR-10.

    Symbols
        Accuracies in percent; ``test_images`` a fifth of the data.

    Source
        Zhang and Qiao (2024), Tables 3 and 4. The clustered methods agree: ``sofl/table-3-in-table-4``. So
        FedAvg and FedProx are measured in two ways, which is what the ceiling says of Table 3, too.

    Checked
        The printed numbers.
    """
    pairs = _pairs(METHODS)
    broken = [pair for pair in pairs if compare(pair[2])[0] > compare(pair[2])[1]]
    data, method, instance = max(pairs, key=lambda pair: compare(pair[2])[0] / compare(pair[2])[1])
    measured, allowed = compare(instance)
    names = ", ".join(f"{name} on {where}" for where, name, _ in broken)
    return Finding(
        verdict=Kind.VIOLATED if broken else Kind.CONSISTENT,
        reason=f"{len(broken)} of {len(pairs)} pairs differ by more than chance ({names}); {method} on {data}: "
        f"{float(instance['table_3']):.4g} in Table 3, {float(instance['table_4']):.4g} in Table 4",
        measured=float(measured),
        bound=float(allowed),
        slack=float(allowed) / float(measured),
        trials=None if broken else len(pairs),
        failures=len(broken),
        counterexample={name: encode(value) for name, value in instance.items()} if broken else None,
    )


@register("sofl/table-3-in-table-4", label="Tables 3 and 4, clustered methods", kind="identity")
def table_3_in_table_4(context: Context) -> Finding:
    """CFL, IFCA and SoFL have the same accuracies in Tables 3 and 4, up to chance.

    Hypotheses
        As ``sofl/tables-3-and-4``.

    Statement
        Each of the six pairs differs by at most six standard errors.

    Symbols
        As ``sofl/tables-3-and-4``.

    Source
        Zhang and Qiao (2024), Tables 3 and 4: what is left of that claim.

    Checked
        The printed numbers.
    """
    pairs = _pairs([*CLUSTERED, "SoFL"])
    ratios = [
        float(difference) / float(allowed) for difference, allowed in (compare(pair[2]) for pair in pairs)
    ]
    failures = sum(ratio > 1 for ratio in ratios)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest difference over what chance allows, {len(pairs)} pairs",
        measured=max(ratios),
        bound=1.0,
        slack=1 / max(ratios),
        trials=len(pairs),
        failures=failures,
    )


def _pairs(methods: list[str] | tuple[str, ...]) -> list[tuple[str, str, Instance]]:
    """Data, method and the two printed numbers for label skew with K = 4."""
    return [
        (
            data,
            method,
            {
                "table_3": TABLE_3["label", data][method],
                "table_4": TABLE_4[data, 4][method],
                "test_images": TEST_IMAGES[data],
            },
        )
        for data in TEST_IMAGES
        for method in methods
    ]


def rivals(instance: Instance) -> tuple[Number, Number]:
    """The accuracy of another method, and that of SoFL."""
    return instance["other"], instance["sofl"]


@register("sofl/table-4-best", label="Section 5.2.6, Table 4", kind="upper", replay=replay_with(rivals),
          repaired_by="sofl/above-single-models")  # fmt: skip
def table_4_best(context: Context) -> Finding:
    """Among the three clustered methods, SoFL has consistently the best accuracy.

    Hypotheses
        Table 4.

    Statement
        "Among the three clustering federated-learning algorithms, SoFL has consistently maintained better
        accuracy": at least that of CFL and of IFCA for each data set and K.

    Symbols
        Accuracies in percent.

    Source
        Zhang and Qiao (2024), Section 5.2.6 on Table 4. What the tables do support:
        ``sofl/above-single-models``.

    Checked
        The twelve comparisons of Table 4; for information those of Table 5.
    """
    found: list[tuple[str, Instance]] = [
        (f"{method} on {data}, K = {clusters}", {"other": row[method], "sofl": row["SoFL"]})
        for (data, clusters), row in TABLE_4.items()
        for method in CLUSTERED
    ]
    broken = [(name, instance) for name, instance in found if instance["other"] > instance["sofl"]]
    beyond = sum(row[method] > row["SoFL"] for row in TABLE_5.values() for method in CLUSTERED)
    name, instance = max(found, key=lambda entry: entry[1]["other"] - entry[1]["sofl"])
    return Finding(
        verdict=Kind.VIOLATED if broken else Kind.CONSISTENT,
        reason=f"{len(broken)} of {len(found)} comparisons of Table 4 go to the other method: {name} has "
        f"{float(instance['other']):.4g}, SoFL {float(instance['sofl']):.4g}; in Table 5 {beyond} of 12",
        measured=float(instance["other"]),
        bound=float(instance["sofl"]),
        slack=float(instance["sofl"] / instance["other"]),
        trials=None if broken else len(found),
        failures=len(broken),
        counterexample={key: encode(value) for key, value in instance.items()} if broken else None,
    )


@register("sofl/above-single-models", label="Tables 3, 4 and 5", kind="upper")
def above_single_models(context: Context) -> Finding:
    """In every column of Tables 3, 4 and 5 SoFL is above FedAvg and FedProx.

    Hypotheses
        The printed tables.

    Statement
        SoFL's number is the larger one in all 32 comparisons.

    Symbols
        Accuracies in percent.

    Source
        Zhang and Qiao (2024), Tables 3-5: what is left of ``sofl/table-4-best``.

    Checked
        The printed numbers. They compare one model for all with a model for each cluster.
    """
    rows = [*TABLE_3.values(), *TABLE_4.values(), *TABLE_5.values()]
    gains = [row["SoFL"] - row[method] for row in rows for method in SINGLE_MODEL]
    failures = sum(gain <= 0 for gain in gains)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"the gains over FedAvg and FedProx run from {float(min(gains)):.4g} to {float(max(gains)):.4g} points "
        f"in {len(gains)} comparisons",
        measured=float(min(gains)),
        bound=0.0,
        trials=len(gains),
        failures=failures,
    )

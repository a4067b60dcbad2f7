"""What the paper says of MNIST, on the stored runs: by hand, against the parquet file, with planted results."""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from command_line import ROOT
from scipy.stats import t

from clusterproof import theory
from clusterproof.experiments.tables.gradient_loss import claims
from clusterproof.theory.checker.verdict import Kind

RESULTS = Path(claims.__file__).parents[1] / "results"
NAMES = ("gradient-loss/reduction-99", "gradient-loss/accuracy-14")


def results(baseline: list[int], proposed: list[int]) -> bytes:
    """Runs that arrive at these iterations, at either goal."""
    records = [
        {"row": row, "settings": claims.SETTINGS, "column": column, "seed": seed, "value": float(value)}
        for row, values in (("IFCA", baseline), ("GL-CFL 0.2", proposed))
        for column in ("to purity 0.9", "to accuracy 0.8")
        for seed, value in enumerate(values)
    ]
    return json.dumps(records).encode()


@pytest.mark.parametrize("name", NAMES)
def test_claims_beside_the_tables_are_claims_like_any_other(name: str) -> None:
    assert name in theory.REGISTRY
    assert theory.find_claim(name).quick
    assert "Statement" in theory.find_claim(name).card
    verdict = theory.check(name)
    assert verdict.verdict is Kind.CONSISTENT
    digest = hashlib.sha256((RESULTS / claims.RESULTS).read_bytes()).hexdigest()
    assert f"SHA-256 {digest[:16]}" in verdict.reason
    assert "sharpness does not apply" in verdict.reason


def in_the_table(row: str, column: str) -> np.ndarray:
    """Iterations at which the seeds of the stored table arrive."""
    table = polars.read_parquet(RESULTS / "gradient-loss-mnist-mlp.parquet")
    chosen = table.filter(part="row", row=row, column=column, settings=claims.SETTINGS)
    return chosen.sort("seed")["value"].to_numpy()


@pytest.mark.parametrize("row", ["IFCA", "GL-CFL 0.2"])
def test_the_stored_iterations_are_those_of_the_table(row: str) -> None:
    """A run that does not arrive within 150 iterations has none."""
    for column in ("to purity 0.9", "to accuracy 0.8"):
        expected = tuple(int(at) if at <= 150 else None for at in in_the_table(row, column))
        assert claims.stored_arrivals(claims.stored_runs(), row, column) == expected


def test_the_saving_to_accuracy_by_hand() -> None:
    """The paper's single number spreads as ours do."""
    proposed, baseline = (in_the_table(row, "to accuracy 0.8") for row in ("GL-CFL 0.2", "IFCA"))
    saved = 100 * (1 - proposed / baseline)
    verdict = theory.check("gradient-loss/accuracy-14")
    assert verdict.measured == pytest.approx(saved.mean())
    chance = t.ppf(0.975, 2) * saved.std(ddof=1) * np.sqrt(1 / 3 + 1)
    assert abs(saved.mean() - 14) < chance
    assert f"chance, {chance:.1f}" in verdict.reason


@pytest.mark.parametrize(
    ("baseline", "proposed", "reduction", "accuracy"),
    [
        ([100, 100, 100], [50, 51, 52], Kind.VIOLATED, Kind.VIOLATED),
        ([100, 100, 100], [86, 85, 87], Kind.VIOLATED, Kind.CONSISTENT),
        ([150, 150, 150], [2, 2, 2], Kind.CONSISTENT, Kind.VIOLATED),
        ([100, 100, 151], [50, 51, 52], Kind.CONSISTENT, Kind.CONSISTENT),  # who never arrives leaves it open
    ],
)
def test_the_verdicts_follow_the_stored_runs(
    baseline: list[int], proposed: list[int], reduction: Kind, accuracy: Kind, plant: Callable[..., Any]
) -> None:
    plant(claims, "stored_runs", lambda: results(baseline, proposed))
    assert [theory.check(name).verdict for name in NAMES] == [reduction, accuracy]


@pytest.mark.parametrize(
    ("baseline", "measured", "words"),
    [
        ([100, 100, 100], 49, "saved 50, 49, 48 %; the mean 49.0 differs from 99 by more than"),
        (
            [100, 100, 151],
            None,
            "saved 50, 49, at least 66 %; a run that does not arrive in 150 iterations leaves 99 %",
        ),
    ],
)
def test_a_mean_is_measured_where_all_runs_arrive(
    baseline: list[int], measured: float | None, words: str, plant: Callable[..., Any]
) -> None:
    """51 iterations of at least 151: at least 66 % are saved."""
    plant(claims, "stored_runs", lambda: results(baseline, [50, 51, 52]))
    finding = claims.judged("to purity 0.9", 99)
    assert finding.measured == (None if measured is None else pytest.approx(measured))
    assert finding.bound == 99
    assert words in finding.reason


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param(
            "import clusterproof; print(clusterproof.check('gradient-loss/accuracy-14').verdict)",
            "consistent",
            marks=pytest.mark.slow(reason="starts a process; the next is by the same rule"),
        ),
        (
            "from clusterproof import theory; print(theory.check('gradient-loss/accuracy-14').verdict)",
            "consistent",
        ),
        (
            "import clusterproof.theory as theory, sys; print('clusterproof.experiments.tables' in sys.modules)\n"
            "try: theory.check('gradient-loss/accuracy-14')\n"
            "except ValueError as error: print(error)",
            r"False\n.*must be the id of a claim.* claims about tables are found by `clusterproof\.check`",
        ),
    ],
)
def test_the_package_registers_claims_about_tables_and_theory_loads_no_table(code: str, words: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.match(words, done.stdout), done.stdout

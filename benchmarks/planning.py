"""What a round sends as clients, models and parameters grow, and how large a federation can be simulated.

``python -m benchmarks.planning``: bytes that go down to and up from a client in a round, by each algorithm's definition
(``algorithms/costs.py``), which the table of ``notes/planning-a-federation.md`` is compared with; and pooled rounds
of up to 10^9 clients.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import report_target
from clusterproof.algorithms import CFL, CFLMGD, FPFC, IFCA, Algorithm, FedAvg, FedProx, GradientLoss, SoFL
from clusterproof.algorithms.costs import cost_of_a_round
from clusterproof.synthetic import QuadraticMixture, RegressionMixture, RegressionPopulation, run_pooled

ROUNDS = 20
"""Pooled rounds."""
STEP: dict[str, Any] = {"step_size": 0.1}

ROWS: dict[str, tuple[Algorithm[Any], ...]] = {
    "IFCA, either averaging; CFL-MGD, gradient averaging": (
        IFCA(**STEP),
        IFCA(**STEP, averaging="model"),
        CFLMGD(**STEP, momentum=0.5),
    ),
    "CFL-MGD, model averaging with momentum": (CFLMGD(**STEP, momentum=0.5, averaging="model"),),
    "FedAvg, FedProx, SoFL, CFL, FPFC": (
        *(FedAvg(**STEP), FedProx(**STEP), SoFL(**STEP), CFL(**STEP), FPFC(**STEP)),
    ),
    "GL-CFL": (GradientLoss(**STEP),),
}
"""Algorithms of each row of the page's table."""
PAGE = Path(__file__).parents[1] / "notes/planning-a-federation.md"


def formulas(page: str) -> dict[str, str]:
    """Read the table of bytes in the page: formula by row name."""
    _, _, rest = page.partition("| algorithm | bytes |\n")
    rows = [line.strip("|").split("|") for line in rest.partition("\n\n")[0].splitlines()[1:]]
    return {name.strip(): formula.strip() for name, formula in rows}


def evaluate(formula: str, clusters: int, dimension: int) -> int:
    """Evaluate a formula such as ``8 (2Pd + d)`` or ``16 d``."""
    factor, _, terms = formula.replace("(", "").replace(")", "").partition(" ")
    values = {"d": dimension, "Pd": clusters * dimension}
    parts = [term.lstrip("0123456789") for term in terms.split(" + ")]
    counts = [int(term.removesuffix(part) or 1) for term, part in zip(terms.split(" + "), parts, strict=True)]
    return int(factor) * sum(count * values[part] for count, part in zip(counts, parts, strict=True))


def disagreements(page: str) -> list[str]:
    """Describe each algorithm whose formula on the page differs from the bytes that it sends, down and up."""
    found, written = [], formulas(page)
    if set(written) != set(ROWS):
        found.append(f"the page has the rows {sorted(written)}, not {sorted(ROWS)}")
    for clusters, dimension in ((2, 10), (2, 100), (8, 100)):
        task = QuadraticMixture.random(clusters=clusters, clients=20, dimension=dimension)
        for row, formula in written.items():
            for algorithm in ROWS.get(row, ()):
                cost = cost_of_a_round(algorithm, task)
                if 8 * (cost.down + cost.up) != evaluate(formula, clusters, dimension):
                    found.append(f"{algorithm.name}: {formula} at P = {clusters}, d = {dimension}")
    return found


def pooled_round(clients: int, models: int) -> tuple[float, float]:
    """Return the seconds of a pooled round, and the largest error after ``ROUNDS`` of them."""
    task = RegressionMixture.random(
        clusters=models,
        clients=models,
        dimension=20,
        condition_number=4.0,
        separation=2.0,
        noise=1.0,
        samples=20,
    )
    sizes = tuple(map(int, np.diff(np.linspace(0, clients, models + 1).astype(np.int64))))
    population = RegressionPopulation(task, sizes, models)
    algorithm = CFLMGD(step_size=1.0, momentum=0.5)
    started = time.perf_counter()
    trace = run_pooled(algorithm, population, rounds=ROUNDS)
    assert trace.errors is not None
    return (time.perf_counter() - started) / ROUNDS, float(trace.errors[-1].max())


def main() -> None:
    """Compare the page's formulas with the counted bytes (exit status 1 if they differ), and time rounds."""
    print("bytes of arrays a client and round, by the algorithm's definition")
    page = PAGE.read_text(encoding="utf-8")
    for row, formula in formulas(page).items():
        print(f"{row:<52} {formula}")
    different = disagreements(page)
    print(*different, sep="\n", end="\n" if different else "")
    report_target("formulas that differ from the definition", len(different), 0, at_most=True)
    print(f"\npooled rounds of CFL-MGD: milliseconds, and the largest error after {ROUNDS}")
    slowest = 0.0
    for models in (2, 4):
        for clients in (10**3, 10**6, 10**9):
            seconds, error = pooled_round(clients, models)
            slowest = max(slowest, seconds if models == 2 else 0.0)
            law = "exact in law" if models == 2 or clients <= 4e5 else "shares of 100000 drawn choices"
            print(f"P = {models}, m = {clients:>10}: {1e3 * seconds:9.2f} ms, error {error:.3g}; {law}")
    report_target("seconds of a round, P = 2, m = 10^9", slowest, 1, at_most=True)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()

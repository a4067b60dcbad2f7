"""Rows of GL-CFL: a method's numbers on one problem next to the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clusterproof.experiments.comparison import Cell, Comparison, Curve, Printed, Row
from clusterproof.experiments.reproducible_table import Request, Results
from clusterproof.experiments.tables.gradient_loss.arrivals import (
    Arrivals,
    Savings,
    counted,
    first_held,
    first_hit,
)
from clusterproof.experiments.tables.gradient_loss.runs import NETWORKS, Arm, Problem
from clusterproof.experiments.tables.training_run import compare

PURITY, ACCURACY, HELD = 0.9, 0.8, 5
LAST = 10
"""Number of last iterations over which the final numbers are averaged."""

COLUMNS = {
    "to purity 0.9": 1,
    "held for 5": 1,
    "to accuracy 0.8": 1,
    "saved %": 1,
    "saved, held %": 1,
    "saved, accuracy %": 1,
    "purity": 3,
    "ARI": 3,
    "accuracy %": 1,
}

GOALS = {"to purity 0.9": "saved %", "held for 5": "saved, held %", "to accuracy 0.8": "saved, accuracy %"}
"""Columns of iterations and of savings relative to IFCA."""

ENDS = {"purity": ("purity", 1), "ARI": ("ari", 1), "accuracy %": ("accuracy", 100)}
"""What is recorded, and the factor of it, by column."""

PRINTED = {
    ("mnist", "MLP", "saved %"): 99,
    ("mnist", "MLP", "saved, accuracy %"): 14,
    ("fashion-mnist", "MLP", "saved %"): 98,
    ("fashion-mnist", "CNN", "saved %"): 98,
    ("cifar10", "MLP", "saved %"): 21,
    ("cifar10", "CNN", "saved %"): 21,
    ("emnist", "MLP", "saved %"): 97,
    ("emnist", "CNN", "saved %"): 97,
}
"""Section III-B; the network of Fig. 5 and which of Fig. 4's the 14 % belong to are not stated."""

SHOWN = (1, 2, 3, 5, 10, 20, 30, 50, 100, 150, 200, 400)
"""Iterations at which a curve is shown."""


@dataclass(frozen=True)
class Group:
    """The runs of one problem and start.

    Attributes
    ----------
    problem, start
        Problem and start of the runs.
    request, results
        Request of the table, and results of its units.
    """

    problem: Problem
    start: str
    request: Request
    results: Results

    @property
    def words(self) -> str:
        """Data, network, step size and start."""
        problem, start = self.problem, "apart" if self.start == "apart" else "at one point"
        network = self.request.widths(NETWORKS[problem.network])
        widths = "-".join(map(str, [*network.get("channels", []), *network["hidden"]]))
        return f"{problem.data}, {problem.network} {widths}, step {problem.step_size:g}, models start {start}"

    @property
    def rounds(self) -> int:
        """Iterations of each run."""
        return self.problem.rounds(self.request)

    @cached_property
    def baseline(self) -> dict[str, Arrivals]:
        """IFCA's arrivals."""
        return self.arrivals(self._arm(0.0))

    def values(self, arm: Arm, what: str) -> list[list[float]]:
        """Return the records of an arm by seed and iteration."""
        return [self.results[arm.name, seed][what] for seed in range(self.request.seeds)]

    def arrivals(self, arm: Arm) -> dict[str, Arrivals]:
        """Return the arrivals of each seed by column."""
        purities, accuracies = self.values(arm, "purity"), self.values(arm, "accuracy")
        return {
            "to purity 0.9": tuple(first_hit(curve, PURITY) for curve in purities),
            "held for 5": tuple(first_held(curve, PURITY, HELD) for curve in purities),
            "to accuracy 0.8": tuple(first_hit(curve, ACCURACY) for curve in accuracies),
        }

    def row(self, arm: Arm) -> Row:
        """Return an arm's row."""
        arrivals = self.arrivals(arm)
        cells: dict[str, Cell] = {}
        for column, percent in GOALS.items():
            if any(self.baseline[column]) or any(arrivals[column]):
                cells[column] = Cell(self.counted(arrivals[column]))
                if arm.weight:
                    cells[percent] = self._saved_cell(arm, column)
        for column, (what, scale) in ENDS.items():
            ends = [scale * float(np.mean(curve[-LAST:])) for curve in self.values(arm, what)]
            cells[column] = Cell(tuple(ends))
        return Row(arm.method, self.words, cells)

    def counted(self, arrivals: Arrivals) -> tuple[float, ...]:
        """Arrivals as numbers."""
        return tuple(counted(arrival, self.rounds) for arrival in arrivals)

    def savings(self, arm: Arm, column: str) -> Savings:
        """Return the savings of an arm relative to IFCA."""
        return Savings(self.baseline[column], self.arrivals(arm)[column], self.rounds)

    def comparison(self) -> Comparison:
        """Return IFCA's iterations minus GL-CFL's with the paper's weight."""
        proposed = self.arrivals(self._arm(0.2))["to purity 0.9"]
        name = f"Iterations, IFCA - GL-CFL 0.2: {self.words}"
        return compare(name, self.counted(self.baseline["to purity 0.9"]), self.counted(proposed))

    def curve(self, weight: float) -> Curve:
        """Return the purity by iteration."""
        arm = self._arm(weight)
        points = [point for point in SHOWN if point <= self.rounds]
        values = self.values(arm, "purity")
        cells = tuple({"purity": Cell(tuple(curve[point - 1] for curve in values))} for point in points)
        return Curve(f"Purity of {arm.method}: {self.words}", "iteration", tuple(map(float, points)), cells)

    def _arm(self, weight: float) -> Arm:
        return Arm(self.problem, self.start, weight)

    def _saved_cell(self, arm: Arm, column: str) -> Cell:
        """Return the savings in per cent; judged only if every run arrives."""
        savings = self.savings(arm, column)
        return Cell(
            savings.values,
            self._printed(arm, GOALS[column]),
            savings.most if column != "held for 5" and savings.exact else (),
            judged=self.request.scale == "full" and savings.exact,
            seeds=savings.seeds,
        )

    def _printed(self, arm: Arm, column: str) -> Printed | None:
        value = PRINTED.get((self.problem.data, self.problem.network, column))
        if value is None or arm.weight != 0.2 or self.start != "apart":
            return None
        return Printed(float(value), resolution=1.0)


def start_row(apart: Group, together: Group) -> Row:
    """Compare IFCA from one point with IFCA from separate starts."""
    row = together.row(Arm(together.problem, together.start, 0.0))
    column = "to purity 0.9"
    savings = Savings(apart.baseline[column], together.baseline[column], together.rounds)
    if not savings.values:
        return row
    return Row(row.name, row.settings, {**row.cells, "saved %": Cell(savings.values, seeds=savings.seeds)})

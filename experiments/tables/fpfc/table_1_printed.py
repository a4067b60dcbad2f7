"""Table 1 of FPFC as printed."""

from __future__ import annotations

from clusterproof.experiments.comparison import HALF_A_POINT, Printed


def _printed(accuracy: float, spread: float, *clustering: float) -> dict[str, Printed]:
    """A row of the paper: three runs, population deviations; "0.06" after a percentage is 6 points."""
    row = {"Acc %": Printed(accuracy, 100 * spread, 3, True, 0.01, HALF_A_POINT)}
    for name, value, deviation in zip(("Num", "ARI"), clustering[::2], clustering[1::2], strict=False):
        row[name] = Printed(value, deviation, 3, True, 0.01)
    return row


PAPER = {
    "LOCAL": _printed(84.97, 0.06),
    "FedAvg": _printed(30.35, 0.05),
    "Per-FedAvg": _printed(56.28, 0.06),
    "IFCA": _printed(60.42, 0.17, 2.33, 0.94, 0.47, 0.33),
    "CFL": _printed(86.60, 0.05, 42.0, 4.55, 0.28, 0.11),
    "FPFC-l1": _printed(83.85, 0.06, 5.67, 2.87, 0.63, 0.21),
    "FPFC": _printed(89.46, 0.04, 4.00, 0.00, 1.00, 0.00),
}
"""Table 1 of Yu, Liu, Sun and Wang (2023)."""

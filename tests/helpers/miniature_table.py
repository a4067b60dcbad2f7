"""A table for tests: two methods of a few numbers a seed, computed in no time."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.experiments.choices import Choice, count, counts, number, thresholds, word
from clusterproof.experiments.comparison import Cell, Comparison, Curve, Printed, Row, Table
from clusterproof.experiments.reproducible_table import ReproducibleTable, Request, Results
from clusterproof.experiments.store import Unit

ROUNDS = 4
LEAD = 1.0

CHOICES = (
    Choice("lead", LEAD, number(above=0, at_most=9), "How far the fast is ahead. Not in the paper."),
    Choice("batch-size", None, count(nothing="all"), "Not in the paper.", small=2),
    Choice("widths", (3,), counts(1, 2), "Not in the paper."),
    Choice("thresholds", None, thresholds("none"), "Not in the paper."),
    Choice("order", "up", word("up", "down"), "Not in the paper."),
    Choice("depth", 3, count(9), "Not in the paper.", only_full=True),
)


def units(request: Request) -> list[Unit]:
    if request.rounds == 13:
        raise InvalidArgument("rounds", 13, "must not be 13", "take 12")
    orders = dict(part.split("=") for part in os.environ.get("MINIATURE", "").split() if "=" in part)
    settings = {"rounds": request.rounds or ROUNDS, "scale": request.scale, **orders}
    lead = request.chosen("lead", LEAD)
    ahead = {"fast": {} if lead == LEAD else {"lead": lead}, "slow": {}}
    return [
        Unit(name, seed, {**settings, **own}) for name, own in ahead.items() for seed in range(request.seeds)
    ]


def compute(unit: Unit) -> Mapping[str, Any]:
    if "traces" in unit.settings:
        (Path(unit.settings["traces"]) / f"{os.getpid()}").touch()
    time.sleep(float(unit.settings.get("sleep", 0)))
    if unit.settings.get("fault") == unit.name.replace(" ", ""):
        if "dies" in unit.settings:
            os._exit(9)
        raise RuntimeError("no\nluck")
    values = np.random.default_rng(unit.seed).standard_normal(int(unit.settings["rounds"]))
    threads = [os.environ.get(f"{library}_NUM_THREADS") for library in ("OMP", "OPENBLAS", "MKL")]
    lead = unit.settings.get("lead", LEAD) if unit.method == "fast" else 0.0
    return {"score": float(values.mean()) + lead, "threads": threads}


def assemble(request: Request, results: Results) -> Table:
    scores = {
        name: tuple(float(results[name, seed]["score"]) for seed in range(request.seeds))
        for name in ("fast", "slow")
    }
    rows = [
        Row("Fast", "as published", {"score": Cell(scores["fast"], Printed(1.0, 0.5, 3))}),
        Row("Slow", "sound", {"score": Cell(scores["slow"], ceiling=scores["fast"])}),
    ]
    difference = np.subtract(scores["fast"], scores["slow"])
    return Table(
        "miniature/table-1",
        "Two methods",
        "Nobody (2000), Table 1",
        {"score": 2},
        rows,
        [Comparison("fast - slow", tuple(map(float, difference)))],
        [Curve("Score by step", "step", (0.5, 1.0), tuple({"score": Cell(scores[name])} for name in scores))],
        ["Nothing is real."],
        {"seeds": request.seeds, "rounds": request.rounds or ROUNDS, "scale": request.scale},
    )


TABLE = ReproducibleTable("miniature/table-1", "Two methods", 3, units, compute, assemble, CHOICES)

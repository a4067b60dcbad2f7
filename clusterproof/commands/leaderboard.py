"""The command ``leaderboard``: compare convergence bounds with each other and with the exact worst case."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from clusterproof.checker.report.verdict import version
from clusterproof.commands import terminal
from clusterproof.commands.child_process import in_child
from clusterproof.commands.conform import import_object
from clusterproof.commands.improve_rate import RoundOptions
from clusterproof.commands.options import read_numbers
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import write_whole
from clusterproof.theory.leaderboard import Row, violations
from clusterproof.theory.leaderboard import leaderboard as compute
from clusterproof.theory.leaderboard.bounds import STATED
from clusterproof.theory.leaderboard.rows import with_defaults

CLASSES = {
    "strong": "every client is L-smooth and mu-strongly convex",
    "convex": "every client is convex and L-smooth, and their mean is mu-strongly convex",
    "quadratic": "the clients are two kinds of scalar quadratics",
}
COLUMNS = {
    "one-round-convex": "best bound that a proof round by round gives for convex clients",
    "one-round-strong": "best bound that a proof round by round gives for strongly convex clients",
    "exact": "worst case of strongly convex clients over all R rounds; no valid bound is smaller",
    "worst-quadratic": "error on the worst quadratics that were found; no valid bound is smaller",
    "expected": "exact expected error on your task (--task)",
}
"""Meanings of the columns that are not bounds of a paper."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Setting(RoundOptions):
    """Options of the algorithm, the class of the clients' losses, and the initial distance.

    Parameters
    ----------
    client_class
        With strong, every client is L-smooth and mu-strongly convex. With convex, clients are convex and L-smooth, and
        their mean is mu-strongly convex. With quadratic, clients are two kinds of scalar quadratics.
    step_size
        Size of a local step (eta).
    heterogeneity
        Heterogeneity zeta*, the square root of the mean of |grad f_i(x*)|^2.
    distance
        Initial distance D = |x_0 - x*|.
    """

    client_class: str = "strong"
    smoothness: str = "1"
    strong_convexity: str = "1/10"
    local_steps: terminal.Integer = 4
    step_size: str = "1/64"
    server_step_size: str = "1"
    heterogeneity: str = "1"
    distance: str = "1"


def leaderboard(
    algorithm: str,
    /,
    *,
    setting: Setting = Setting(),
    rounds: Annotated[
        list[int],
        Parameter(
            converter=read_numbers, n_tokens=1, negative=(), show_default=lambda _: "1,3,10,30,100,300,1000"
        ),
    ] = [1, 3, 10, 30, 100, 300, 1000],  # noqa: B006 - it is not changed
    clients: terminal.OptionalInteger = None,
    participants: terminal.OptionalInteger = None,
    task: str | None = None,
    module: str | None = None,
    json_file: Annotated[Path | None, Parameter("--json")] = None,
    figure: Path | None = None,
    exact: Annotated[bool, Parameter(negative=())] = False,
    fail_on: Literal["violated"] | None = None,
) -> int:
    """Compare the bounds on the expected squared distance E|x_R - x*|^2 for given constants.

    Numbers are decimals or fractions such as 1/64, with their exact values.

    Exit status: 1 if --fail-on violated is given and a bound is violated, 2 for bad input, otherwise 0.

    Parameters
    ----------
    algorithm
        One of fedavg, fedprox, scaffold and proxskip. For fedprox, local problems are solved exactly, and m is L by
        default. For proxskip, a round is one iteration, and p is 1 / K by default.
    rounds
        Numbers of rounds, such as 1,3,10.
    clients
        Number of clients (N); use it together with --participants, instead of --sampling.
    participants
        Number of clients in a round (S).
    task
        A QuadraticMixture or NoisyQuadraticMixture, as FILE.py:NAME or MODULE:NAME. Clusterproof computes the exact
        expected error on this task for the initial model 0. A bound that is smaller than this error is violated.
    module
        Python file or module that states bounds with leaderboard_bound; it is executed.
    json_file
        Write the rows as JSON.
    figure
        Draw the columns to this png, svg or pdf.
    exact
        Compute the exact worst case for up to 40 local gradients instead of 24, which takes about ten seconds.
    fail_on
        With violated, exit with status 1 if an instance or the exact worst case exceeds a bound.
    """
    in_child("module", module)
    in_child("task", task)
    terminal.check_outputs(json=json_file, figure=figure)
    values = {**asdict(setting), "sampling": _sampling(algorithm, setting.sampling, clients, participants)}
    rows = compute(
        algorithm,
        **values,
        rounds=rounds,
        task=None if task is None else import_object(task, "task"),
        module=module,
        more_steps=exact,
    )
    m, p = with_defaults(
        algorithm, setting.smoothness, setting.local_steps, setting.proximal, setting.probability
    )
    values |= {"proximal": m, "probability": p, "sampling": str(values["sampling"])}
    if json_file is not None:
        report = {"setting": {"algorithm": algorithm, **values}, "version": version(), "rows": rows}
        write_whole("json", json_file, (json.dumps(report, indent=1) + "\n").encode())
    title = _title(algorithm, values)
    _show(algorithm, values, rows)
    if figure is not None:
        from clusterproof.figures import save
        from clusterproof.figures.curves import draw_bounds

        save(draw_bounds(rows, title), figure, alt="Bounds by the number of rounds")
    return int(bool(violations(rows)) and fail_on is not None)


def _title(algorithm: str, values: Mapping[str, Any]) -> str:
    return f"E|x_R - x*|^2 of {algorithm}, class {values['client_class']}: {_symbols(algorithm, values)}"


def _symbols(algorithm: str, values: Mapping[str, Any]) -> str:
    """Return the constants as text, without constants that the algorithm does not have or that have default values."""
    symbols = {"smoothness": "L", "strong_convexity": "mu", "proximal": "m", "step_size": "eta"}
    symbols |= {"local_steps": "K", "server_step_size": "eta_g", "sampling": "theta", "option": "option"}
    symbols |= {"probability": "p", "heterogeneity": "zeta*", "distance": "D"}
    absent = {"fedprox": ("step_size", "local_steps"), "proxskip": ("local_steps",)}.get(algorithm, ())
    usual = {"server_step_size": "1", "sampling": "0", "option": "II"}
    words = [
        f"{symbol} = {values[name]}"
        for name, symbol in symbols.items()
        if name not in absent and values[name] not in (None, usual.get(name))
    ]
    return ", ".join(words)


def _show(algorithm: str, values: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Print the conclusion, the constants, the table, the meaning of its columns, and reasons for missing numbers."""
    columns = list(dict.fromkeys(row["column"] for row in rows))
    stated = {bound.id: (bound.function.__doc__ or "").partition("\n")[0] for bound, _ in STATED}
    broken = violations(rows)
    print(f"Bounds on E|x_R - x*|^2, the expected squared distance after R rounds of {algorithm}\n")
    print(f"Class {values['client_class']}: {CLASSES[values['client_class']]}.")
    print(f"{_symbols(algorithm, values)}.\n")
    lines = []
    for number in dict.fromkeys(row["round"] for row in rows):
        found = {row["column"]: row["value"] for row in rows if row["round"] == number}
        cells = (found[column] for column in columns)
        lines.append([str(number), *("-" if cell is None else f"{cell:.6g}" for cell in cells)])
    terminal.show_table(["R", *columns], lines, justify="right")
    print("\nColumns")
    for column in columns:
        meaning = COLUMNS.get(column) or stated.get(column, "").replace("`", "") or "a bound of yours"
        terminal.show_entry(column, meaning.rstrip("."))
    remarks: dict[tuple[bool, str, str], list[int]] = {}
    for row in rows:
        if row["reason"] and row not in broken:
            remarks.setdefault((row["value"] is None, row["column"], row["reason"]), []).append(row["round"])
    for missing, heading in ((True, "No number (-)"), (False, "Remarks")):
        told = {key[1:]: numbers for key, numbers in remarks.items() if key[0] == missing}
        if told:
            print(f"\n{heading}")
        for (column, reason), numbers in told.items():
            every = len(numbers) == len(lines)
            place = "" if every else f"R = {', '.join(map(str, numbers))}: "
            terminal.show_entry(column, f"{place}{reason}")
    if broken:
        print("\nViolated")
        for row in broken:
            terminal.show_entry(row["column"], f"R = {row['round']}: {row['reason']}")


def _sampling(
    algorithm: str, sampling: str | None, clients: int | None, participants: int | None
) -> str | Fraction:
    """Return theta, from --sampling or from --clients and --participants."""
    if clients is None and participants is None:
        return "0" if sampling is None else sampling
    if sampling is not None:
        raise InvalidArgument("sampling", sampling, "cannot be combined with --clients", "leave one out")
    if clients is None or participants is None or not 1 <= participants <= clients or clients < 2:
        rule = "must be an integer from 1 to --clients, which must be at least 2"
        raise InvalidArgument(
            "participants", participants, rule, "write, for example, --clients 10 --participants 5"
        )
    if participants < clients and algorithm in ("scaffold", "proxskip"):
        rule = f"must be the number of clients for {algorithm}"
        raise InvalidArgument("participants", participants, rule, "leave --clients and --participants out")
    return Fraction(clients - participants, participants * (clients - 1))

"""The command ``leaderboard``: compare convergence bounds with each other and with the truth."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_distinct, check_writable, write_whole
from clusterproof.commands import terminal
from clusterproof.commands.child_process import in_child
from clusterproof.commands.conform import import_object
from clusterproof.theory.leaderboard import leaderboard as compute
from clusterproof.theory.leaderboard import violations
from clusterproof.theory.leaderboard.bounds import STATED
from clusterproof.theory.leaderboard.rows import with_defaults
from clusterproof.theory.report.verdict import version

COLUMNS = {
    "one-round-convex": "the best bound that a proof round by round gives for convex clients",
    "one-round-strong": "the best bound that a proof round by round gives for strongly convex clients",
    "exact": "the worst case of strongly convex clients over all R rounds, which no valid bound is below",
    "worst-quadratic": "the worst quadratics that were found, which no valid bound is below",
    "expected": "the exact expected error on your task (--task)",
}
"""What the columns mean that are no bounds of a paper."""


def leaderboard(
    algorithm: str,
    /,
    *,
    client_class: str = "strong",
    smoothness: str = "1",
    strong_convexity: str = "1/10",
    heterogeneity: str = "1",
    distance: str = "1",
    rounds: str = "1,3,10,30,100,300,1000",
    local_steps: terminal.Integer = 4,
    step_size: str = "1/64",
    sampling: str | None = None,
    clients: terminal.OptionalInteger = None,
    participants: terminal.OptionalInteger = None,
    server_step_size: str = "1",
    proximal: str | None = None,
    probability: str | None = None,
    option: str | None = None,
    task: str | None = None,
    module: str | None = None,
    json_file: Annotated[Path | None, Parameter("--json")] = None,
    figure: Path | None = None,
    exact: Annotated[bool, Parameter(negative=())] = False,
    fail_on: str | None = None,
) -> int:
    """Compare the bounds on the expected squared distance E|x_R - x*|^2 in one setting.

    Numbers are decimals or fractions such as 1/64, taken exactly.

    Exit status: 0, 1 if --fail-on violated is met, 2 for bad input.

    Parameters
    ----------
    algorithm
        fedavg, fedprox (local problems solved exactly), scaffold or proxskip (a round is one iteration).
    client_class
        strong: every client is L-smooth and mu-strongly convex; convex: clients are convex and L-smooth, their mean is
        mu-strongly convex; quadratic: two kinds of scalar quadratics.
    smoothness
        L.
    strong_convexity
        mu, at least 0 and below L.
    heterogeneity
        zeta*, the root of the mean of |grad f_i(x*)|^2.
    distance
        |x_0 - x*|.
    rounds
        Numbers of rounds, such as 1,3,10.
    local_steps
        K.
    step_size
        eta of a local step.
    sampling
        theta = (N - S) / (S (N - 1)) if S of N clients take part in a round; of FedAvg and FedProx.
    clients
        N, with --participants, instead of --sampling.
    participants
        S.
    server_step_size
        Of FedAvg and SCAFFOLD.
    proximal
        m of FedProx, L by default.
    probability
        p of ProxSkip, 1 / K by default.
    option
        I or II of SCAFFOLD, II by default.
    task
        QuadraticMixture or NoisyQuadraticMixture as FILE.py:NAME or MODULE:NAME, on which the exact expected error from
        the model 0 is computed. A bound below it is violated.
    module
        Python file or module that states bounds with leaderboard_bound; it is executed.
    json_file
        Write the rows as JSON.
    figure
        Draw the columns to this png, svg or pdf.
    exact
        Compute the exact worst case up to 40 local gradients in all, not 24, which takes some ten seconds.
    fail_on
        violated: exit with status 1 if an instance or the exact worst case exceeds a bound.
    """
    if fail_on not in (None, "violated"):
        raise InvalidArgument("fail_on", fail_on, "must be violated", "leave it out or give violated")
    for name, code in (("module", module), ("task", task)):
        if code is not None and (status := in_child(name, code)) is not None:
            return status
    check_distinct(json=json_file, figure=figure)
    for name, path in (("json", json_file), ("figure", figure)):
        if path is not None:
            check_writable(name, path)
    if figure is not None:
        from clusterproof.figures.sweep_curves import check_plot

        check_plot(figure, "figure")
    given_m, given_p = with_defaults(algorithm, smoothness, local_steps, proximal, probability)
    values = {**locals(), "proximal": given_m, "probability": given_p}
    theta = _sampling(algorithm, sampling, clients, participants)
    rows = compute(
        algorithm,
        client_class=client_class,
        smoothness=smoothness,
        strong_convexity=strong_convexity,
        local_steps=local_steps,
        step_size=step_size,
        heterogeneity=heterogeneity,
        distance=distance,
        sampling=theta,
        server_step_size=server_step_size,
        proximal=proximal,
        probability=probability,
        option=option,
        rounds=_rounds(rounds),
        task=None if task is None else import_object(task, "task"),
        module=module,
        more_steps=exact,
    )
    if json_file is not None:
        names = (
            "client_class smoothness strong_convexity heterogeneity distance local_steps step_size server_step_size "
            "proximal probability option"
        )
        setting = {
            "algorithm": algorithm,
            **{name: values[name] for name in names.split()},
            "sampling": str(theta),
        }
        report = {"setting": setting, "version": version(), "rows": rows}
        write_whole("json", json_file, (json.dumps(report, indent=1) + "\n").encode())
    given: dict[str, object] = {"L": smoothness, "mu": strong_convexity}
    given |= {"m": given_m} if algorithm == "fedprox" else {"eta": step_size}
    given |= {} if algorithm in ("fedprox", "proxskip") else {"K": local_steps}
    given |= {"eta_g": None if Fraction(server_step_size) == 1 else server_step_size}
    given |= {"theta": theta if Fraction(theta) else None, "option": None if option == "II" else option}
    given |= {"p": given_p, "zeta*": heterogeneity, "D": distance}
    words = ", ".join(f"{name} = {value}" for name, value in given.items() if value is not None)
    caption = f"E|x_R - x*|^2 of {algorithm}, class {client_class}: {words}"
    print(f"{caption}\n")
    columns = list(dict.fromkeys(row["column"] for row in rows))
    lines = []
    for number in dict.fromkeys(row["round"] for row in rows):
        values = {row["column"]: row["value"] for row in rows if row["round"] == number}
        cells = (values[column] for column in columns)
        lines.append([str(number), *("-" if cell is None else f"{cell:.6g}" for cell in cells)])
    terminal.show_table(["rounds", *columns], lines)
    print()
    stated = {bound.id: (bound.function.__doc__ or "").partition("\n")[0] for bound, _ in STATED}
    for column in columns:
        print(f"{column}: {COLUMNS.get(column) or stated.get(column) or 'a bound of yours'}")
    print()
    broken = violations(rows)
    remarks: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        if row["reason"] and row not in broken:
            remarks.setdefault((row["column"], row["reason"]), []).append(row["round"])
    for (column, reason), numbers in remarks.items():
        # the instance of the worst quadratics is another one in each round
        every = len(numbers) == len(lines) and column != "worst-quadratic"
        place = "" if every else ", R = " + ", ".join(map(str, numbers))
        print(f"{column}{place}: {reason}")
    if figure is not None:
        from clusterproof.figures import save
        from clusterproof.figures.bounds import draw_bounds

        save(draw_bounds(rows, caption), figure, alt="Bounds by the number of rounds")
    for row in broken:
        print(f"{row['column']}, R = {row['round']}: {row['reason']}")
    return int(bool(broken) and fail_on is not None)


def _sampling(
    algorithm: str, sampling: str | None, clients: int | None, participants: int | None
) -> str | Fraction:
    """Return theta from either way to give it."""
    if clients is None and participants is None:
        return "0" if sampling is None else sampling
    if sampling is not None:
        raise InvalidArgument("sampling", sampling, "cannot be combined with --clients", "leave one out")
    if clients is None or participants is None or not 1 <= participants <= clients or clients < 2:
        rule = "must be given with --clients, at least 1 and at most their number, of two or more"
        raise InvalidArgument("participants", participants, rule, "such as --clients 10 --participants 5")
    if participants < clients and algorithm in ("scaffold", "proxskip"):
        rule = f"must be the number of clients for {algorithm}"
        raise InvalidArgument("participants", participants, rule, "leave --clients and --participants out")
    return Fraction(clients - participants, participants * (clients - 1))


def _rounds(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError as error:
        rule = "must be whole numbers with commas between them"
        raise InvalidArgument("rounds", text, rule, "such as 1,3,10") from error

"""The implementation of ``improve --algorithm``: certify the best rate of a built-in method."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from clusterproof.checker import Kind
from clusterproof.checker.report.recorded import record_of
from clusterproof.checker.report.stored_evidence import require_writable, write_evidence
from clusterproof.checker.report.tables import wrap
from clusterproof.commands import terminal
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import write_whole
from clusterproof.files import TEXT, read_file
from clusterproof.theory import rates
from clusterproof.theory.rates import HeavyBallRate, NoRate, RoundRate
from clusterproof.theory.rates.outcome import NAME

CLUSTER_DYNAMICS = "cfl-mgd"
DYNAMICS = ("momentum", "condition", "proportion", "function_class")
"""Names of the options for a rate of the cluster dynamics."""
REMEDIES = {
    "momentum": "write, for example, --momentum 1/3",
    "condition": "write, for example, --condition 10",
    "proportion": "write, for example, --proportion 1/2",
    "function_class": "write --class quadratic or --class smooth",
    "strong_convexity": "write, for example, --strong-convexity 0.1",
}
"""Instruction for each required option, for the message if it is missing."""
SPELLING = {"client_class": "class", "function_class": "class", "condition_number": "condition"}
"""Name of the command-line option for each argument."""


@dataclass(frozen=True, kw_only=True)
class RoundOptions:
    """Options of a round of an algorithm. Numbers are decimals or fractions such as 1/64, with their exact values.

    Parameters
    ----------
    smoothness
        Smoothness constant L; 1 by default.
    strong_convexity
        Strong convexity constant mu, at least 0 and below L.
    local_steps
        Number of local steps (K).
    server_step_size
        Server step size eta_g of FedAvg and SCAFFOLD; 1 by default.
    sampling
        Sampling factor theta = (N - S) / (S (N - 1)) if S of N clients take part in a round; for FedAvg and FedProx.
    proximal
        Proximal coefficient m of FedProx, whose local problems are solved exactly.
    probability
        Probability p of ProxSkip.
    option
        Option I or II of SCAFFOLD; II by default.
    """

    smoothness: str | None = None
    strong_convexity: str | None = None
    local_steps: terminal.OptionalInteger = None
    server_step_size: str | None = None
    sampling: str | None = None
    proximal: str | None = None
    probability: str | None = None
    option: str | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RateOptions(RoundOptions):
    """Options that describe a rate.

    Parameters
    ----------
    algorithm
        For fedavg, fedprox, scaffold or proxskip: rate of the squared distance after one round of at most 8 local steps
        (1 by default). For cfl-mgd: rate of the distance of a cluster's model over all rounds, without noise, with
        gradient averaging.
    step_size
        Size of a local step. For cfl-mgd, it is the step size times L, 1 by default.
    function_class
        For cfl-mgd, quadratic means eigenvalues in [mu, L], and smooth means every L-smooth mu-strongly convex
        function. For the others, strong (default) means that every client is such a function. With convex, clients are
        convex, and their mean is mu-strongly convex.
    rate
        Prove this rate instead of the smallest rate. A larger rate allows a smaller prefactor or constant.
    momentum
        Momentum beta of cfl-mgd, a decimal or a fraction such as 1/3.
    condition
        Condition number kappa = L / mu, for cfl-mgd.
    proportion
        Share of the clients in the cluster, for cfl-mgd.
    """

    algorithm: str | None = None
    step_size: str | None = None
    function_class: Annotated[str | None, Parameter("--class")] = None
    rate: str | None = None
    momentum: str | None = None
    condition: Annotated[str | None, Parameter(["--condition", "--condition-number"])] = None
    proportion: str | None = None


NO_OPTIONS = RateOptions()


def improve_rate(options: RateOptions, evidence: Path | None) -> int:
    """Compute the best rate, print it, and write its claims and evidence to a folder; return the exit status.

    Raises
    ------
    InvalidArgument
        If an option is missing, out of range or belongs to another algorithm, or the folder cannot be written.
    """
    if evidence is not None:
        require_writable([NAME], evidence)
        _require_own(evidence / f"{NAME}.py")
    found = _searched(options)
    if isinstance(found, NoRate):
        print(f"no rate found: {found.reason}")
        return 1
    file = found.claims_file
    verdicts = file.verdicts()
    print(*_numbers(found), sep="\n")
    print(wrap(found.statement, terminal.columns()))
    if open_ := [each for each in verdicts if each.verdict is not Kind.CERTIFIED]:
        print(f"The kernel does not certify it: {open_[0].claim} is {open_[0].verdict}: {open_[0].reason}.")
        return 1
    claims = ", ".join(each.claim for each in verdicts)
    print(f"Certified by the kernel: {claims}.")
    if evidence is not None:
        write_whole("evidence", evidence / f"{NAME}.py", file.source.encode())
        write_evidence(verdicts, map(record_of, verdicts), evidence)
        path, folder = shlex.quote(str(evidence / f"{NAME}.py")), f"--evidence {shlex.quote(str(evidence))}"
        print(
            "",
            f"clusterproof check {path} {folder} --replay    the kernel proves it again, without a solver",
            f"clusterproof export {path} {folder} --out FOLDER    for a referee",
            sep="\n",
        )
    return 0


def _require_own(path: Path) -> None:
    """Refuse to overwrite a file, unless it states an earlier rate.

    Raises
    ------
    InvalidArgument
        If there is such a file.
    """
    if path.exists() and f'@claim("{NAME}/' not in read_file(path, TEXT).decode(errors="replace"):
        raise InvalidArgument(
            "evidence", str(path), "is a file that does not state a rate", "name another folder"
        )


def _searched(options: RateOptions) -> HeavyBallRate | RoundRate | NoRate:
    """Return the rate that the options describe."""
    given = {name: value for name, value in asdict(options).items() if value is not None}
    algorithm = given.pop("algorithm")
    of_dynamics = algorithm == CLUSTER_DYNAMICS
    foreign = asdict(RoundOptions()) if of_dynamics else DYNAMICS[:3]
    for name in foreign:
        if name in given:
            raise InvalidArgument(name, given[name], f"is not an option of {algorithm}", "leave it out")
    for name in DYNAMICS if of_dynamics else ("strong_convexity",):
        if name not in given:
            raise InvalidArgument(_typed(name), None, f"must be given for {algorithm}", REMEDIES[name])
    arguments: dict[str, Any] = given
    try:
        if of_dynamics:
            return rates.heavy_ball_rate(condition_number=arguments.pop("condition"), **arguments)
        arguments["client_class"] = arguments.pop("function_class", "strong")
        return rates.round_rate(algorithm, **arguments)
    except InvalidArgument as error:
        name = error.argument
        option = _typed(name) if error.value is None else SPELLING.get(name, name)
        raise InvalidArgument(option, error.value, error.rule, error.remedy) from error


def _typed(name: str) -> str:
    """Return the command-line option for an argument, as the user types it."""
    return f"--{SPELLING.get(name, name).replace('_', '-')}"


def _numbers(found: HeavyBallRate | RoundRate) -> list[str]:
    """Return the rate and its constants as decimals, one per line."""
    if isinstance(found, RoundRate):
        numbers = {name: float(getattr(found, name)) for name in ("rate", "constant", "weight")}
        return [f"{name} {number:.12g}" for name, number in numbers.items() if name != "weight" or number]
    return [
        f"rate {float(found.rate):.12g} of the distance per round",
        f"prefactor {float(found.prefactor):.9g}: below the initial distance from round "
        f"{found.informative_from} on",
        *([] if found.disturbance is None else [f"disturbance {float(found.disturbance):.9g}"]),
    ]

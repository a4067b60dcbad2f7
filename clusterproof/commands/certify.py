"""The command ``certify``: prove a convergence rate."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from clusterproof.commands import terminal
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import check_writable
from clusterproof.theory import certificates
from clusterproof.theory.certificates import Certificate, Document, NoCertificate, RoundCertificate


@dataclass(frozen=True, kw_only=True)
class RoundOptions:
    """A round of an algorithm; numbers are decimals or fractions such as 1/64, taken exactly.

    Parameters
    ----------
    smoothness
        L; 1 by default.
    strong_convexity
        mu, at least 0 and below L.
    local_steps
        K, the number of local steps.
    server_step_size
        eta_g of FedAvg and SCAFFOLD; 1 by default.
    sampling
        theta = (N - S) / (S (N - 1)) if S of N clients take part in a round; of FedAvg and FedProx.
    proximal
        m of FedProx, whose local problems are solved exactly.
    probability
        p of ProxSkip.
    option
        I or II of SCAFFOLD, II by default.
    """

    smoothness: str | None = None
    strong_convexity: str | None = None
    local_steps: terminal.OptionalInteger = None
    server_step_size: str | None = None
    sampling: str | None = None
    proximal: str | None = None
    probability: str | None = None
    option: str | None = None


def certify(
    *claim: str,
    momentum: str | None = None,
    condition: Annotated[str | None, Parameter(["--condition", "--condition-number"])] = None,
    proportion: str | None = None,
    step_size: str | None = None,
    function_class: Annotated[str | None, Parameter("--class")] = None,
    rate: str | None = None,
    algorithm: str | None = None,
    setting: Annotated[RoundOptions, Parameter(name="*")] = RoundOptions(),
    out: Path | None = None,
) -> int:
    """Prove a claim about every function of a class, a rate of the cluster dynamics or, with --algorithm, of one round.

    Exit status: 0 if the rate was proved, 1 if no certificate was found, 2 for bad input.

    Parameters
    ----------
    claim
        Id of a claim about every function of a class, and the Python file that states it, which is executed; the file
        alone if it states one claim.
    momentum
        beta, a decimal or a fraction such as 1/3.
    condition
        kappa = L / mu.
    proportion
        The cluster's share of the clients.
    step_size
        The step size times L, 1 by default. With --algorithm, the size of a local step.
    function_class
        quadratic: eigenvalues in [mu, L]; smooth: every L-smooth mu-strongly convex function. With --algorithm, strong:
        every client is such a function, the default; convex: clients are convex, and their mean is mu-strongly convex.
    rate
        Prove this rate instead of the smallest one. A larger rate has a smaller prefactor or constant.
    algorithm
        fedavg, fedprox, scaffold or proxskip: bound the squared distance after one round. The options below are those
        of the round; of at most 8 local steps, 1 by default.
    out
        Write the certificate to this file.
    """
    if out is not None:
        check_writable("out", out)
    dynamics = {"momentum": momentum, "condition": condition, "proportion": proportion}
    of_round = asdict(setting)
    if claim:
        others = {**dynamics, **of_round, "step_size": step_size, "rate": rate}
        _refuse(
            others | {"algorithm": algorithm, "class": function_class},
            "is not of a claim",
            "leave it out, or leave the claim out",
        )
        return _certify_claim(claim, out)
    if algorithm:
        _refuse(dynamics, f"is not of {algorithm}", "leave it out")
        needed = {"strong_convexity": setting.strong_convexity}
    else:
        _refuse(of_round, "is of a round of an algorithm", "give --algorithm")
        needed = {**dynamics, "class": function_class}
    for name, value in needed.items():
        if value is None:
            raise InvalidArgument(name, value, "must be given", f"add --{name.replace('_', '-')}")
    options: dict[str, Any] = {"function_class": function_class}
    if algorithm:
        given = {name: value for name, value in of_round.items() if value is not None}
        options = {"algorithm": algorithm, "client_class": function_class or "strong", **given}
    try:
        certificate = certificates.certify(momentum, condition, proportion, step_size, rate=rate, **options)
    except InvalidArgument as error:
        names = {"client_class": "class", "condition_number": "condition"}
        option = names.get(error.argument, error.argument)
        raise InvalidArgument(option, error.value, error.rule, error.remedy) from error
    return _report(certificate, out)


def _refuse(options: dict[str, Any], rule: str, remedy: str) -> None:
    """Refuse options that have been given."""
    for name, value in options.items():
        if value is not None:
            raise InvalidArgument(name, value, rule, remedy)


def _certify_claim(names: Sequence[str], out: Path | None) -> int:
    """Prove a claim: of a file the named one, or the only one that it states."""
    ids, files, of_files = terminal.ids_and_files(names, most=1, argument="claim")
    claim, *others = ids or chain(*of_files)
    if others:
        rule = f"must state one claim, and states {', '.join([claim, *others])}"
        remedy = f"add its id: clusterproof certify {shlex.join([claim, *files])}"
        raise InvalidArgument("claim", ", ".join(files), rule, remedy)
    return _report(certificates.certify_claim(claim), out)


def _report(certificate: Document | Certificate | RoundCertificate | NoCertificate, out: Path | None) -> int:
    """Print what was proved, and write it to a file."""
    if isinstance(certificate, NoCertificate):
        print(f"no certificate found: {certificate.reason}")
        return 1
    document = certificate if isinstance(certificate, Document) else certificate.document
    if out is not None:
        certificates.write_certificate(document, out, argument="out")
    print(describe(certificate))
    if out is not None:
        print(f"stored in {out}")
    return 0


def describe(certificate: Document | Certificate | RoundCertificate) -> str:
    """Return the constants as decimals and the statement that was proved; of a document its claims."""
    if isinstance(certificate, Document):
        lines = ["#".join(filter(None, (each["claim"], each["line"]))) for each in certificate.evidence]
        text = next(iter(certificate.source.split('"""')[1:2]), "").strip()
        said = [f"the file says of itself: {text}"] if text else []
        return "\n".join([f"proved by the kernel: {', '.join(lines)}", *said])
    if isinstance(certificate, RoundCertificate):
        numbers = {name: float(getattr(certificate, name)) for name in ("rate", "constant", "weight")}
        lines = [f"{name} {number:.12g}" for name, number in numbers.items() if name != "weight" or number]
        return "\n".join([f"class {certificate.round.client_class}", *lines, certificate.statement])
    lines = [
        f"class {certificate.function_class}",
        f"rate {float(certificate.rate):.12g} of the distance per round",
        f"prefactor {float(certificate.prefactor):.9g}: below the initial distance from round "
        f"{certificate.informative_from} on",
    ]
    if certificate.disturbance is not None:
        lines.append(f"disturbance {float(certificate.disturbance):.9g}")
    return "\n".join([*lines, certificate.statement])

"""The command ``certify``: prove a convergence rate."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable
from clusterproof.commands import terminal
from clusterproof.commands.child_process import in_child
from clusterproof.theory import certificates
from clusterproof.theory.certificates import Certificate, Document, NoCertificate, RoundCertificate


def certify(
    *claim: str,
    momentum: str | None = None,
    condition_number: Annotated[str | None, Parameter(["--condition", "--condition-number"])] = None,
    proportion: str | None = None,
    step_size: str | None = None,
    function_class: Annotated[str | None, Parameter("--class")] = None,
    disturbance: Annotated[bool, Parameter(negative=())] = False,
    rate: str | None = None,
    algorithm: str | None = None,
    smoothness: str | None = None,
    strong_convexity: str | None = None,
    local_steps: int | None = None,
    server_step_size: str | None = None,
    sampling: str | None = None,
    proximal: str | None = None,
    probability: str | None = None,
    option: str | None = None,
    weight: str | None = None,
    distance: str | None = None,
    heterogeneity: str | None = None,
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
    condition_number
        kappa = L / mu.
    proportion
        The cluster's share of the clients.
    step_size
        The step size times L, 1 by default. With --algorithm, the size of a local step.
    function_class
        quadratic: eigenvalues in [mu, L]; smooth: every L-smooth mu-strongly convex function. With --algorithm, strong:
        every client is such a function, the default; convex: clients are convex, and their mean is mu-strongly convex.
    disturbance
        For smooth functions, also bound how disturbances propagate; the rate may be larger.
    rate
        Prove this rate instead of the smallest one. A larger rate has a smaller prefactor or constant.
    algorithm
        fedavg, fedprox, scaffold or proxskip: bound the squared distance after one round.
    smoothness
        L, 1 by default; this and the following options are of --algorithm.
    strong_convexity
        mu, below L.
    local_steps
        K, 1 by default, at most 8.
    server_step_size
        Of FedAvg and SCAFFOLD, 1 by default.
    sampling
        (N - S) / (S (N - 1)) if S of N clients take part, for FedAvg and FedProx.
    proximal
        m of FedProx, whose local problems are solved exactly.
    probability
        p of ProxSkip.
    option
        I or II of SCAFFOLD, II by default.
    weight
        Weight of the control variates' error.
    distance
        Initial distance at which the bound is to be least, 1 by default.
    heterogeneity
        zeta* at which the bound is to be least, 1 by default.
    out
        Write the certificate to this file.
    """
    if out is not None:
        check_writable("out", out)
    dynamics = {"momentum": momentum, "condition": condition_number, "proportion": proportion}
    setting = {
        "smoothness": smoothness,
        "strong_convexity": strong_convexity,
        "local_steps": local_steps,
        "server_step_size": server_step_size,
        "sampling": sampling,
        "proximal": proximal,
        "probability": probability,
        "option": option,
        "weight": weight,
        "distance": distance,
        "heterogeneity": heterogeneity,
    }
    if claim:
        others = {**dynamics, **setting, "step_size": step_size, "rate": rate}
        others |= {"algorithm": algorithm, "class": function_class}
        for name, value in (others | {"disturbance": disturbance or None}).items():
            if value is not None:
                raise InvalidArgument(
                    name, value, "is not of a claim", "leave it out, or leave the claim out"
                )
        return _certify_claim(claim, out)
    rest, needed = (dynamics, {"strong_convexity": strong_convexity}) if algorithm else (setting, dynamics)
    of = f"is not of {algorithm}" if algorithm else "is of a round of an algorithm"
    for name, value in rest.items():
        if value is not None:
            raise InvalidArgument(name, value, of, "leave it out" if algorithm else "give --algorithm")
    for name, value in needed.items():
        if value is None:
            raise InvalidArgument(name, value, "must be given", f"add --{name.replace('_', '-')}")
    if function_class is None and algorithm:
        function_class = "strong"
    if function_class is None:
        raise InvalidArgument("class", None, "must be given", "add --class")
    if algorithm:
        if disturbance:
            raise InvalidArgument("disturbance", True, of, "leave it out")
        options: dict[str, Any] = {name: value for name, value in setting.items() if value is not None}
        options |= {"algorithm": algorithm, "client_class": function_class}
    else:
        options = {"function_class": function_class, "disturbance": disturbance}
    numbers: Any = (momentum, condition_number, proportion, step_size)
    try:
        certificate = certificates.certify(*numbers, rate=rate, **options)
    except InvalidArgument as error:
        option = {"client_class": "class", "condition_number": "condition"}.get(
            error.argument, error.argument
        )
        raise InvalidArgument(option, error.value, error.rule, error.remedy) from error
    return _report(certificate, out)


def _certify_claim(names: Sequence[str], out: Path | None) -> int:
    """Prove a claim: of a file the named one, or the only one that it states."""
    claim, files = terminal.id_and_files(names)
    if files and (status := in_child("claim", ", ".join(files))) is not None:
        return status
    stated = [name for each in terminal.load(files) for name in each]
    if claim is None:
        claim, *others = stated
        if others:
            rule = f"must state one claim, and states {', '.join(stated)}"
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

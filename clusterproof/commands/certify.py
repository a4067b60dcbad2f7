"""The command ``certify``: prove a convergence rate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable
from clusterproof.theory import certificates
from clusterproof.theory.certificates import Certificate


def certify(
    *,
    momentum: str,
    condition_number: Annotated[str, Parameter(["--condition", "--condition-number"])],
    proportion: str,
    step_size: str = "1",
    function_class: Annotated[str, Parameter("--class")],
    disturbance: Annotated[bool, Parameter(negative=())] = False,
    rate: str | None = None,
    out: Path | None = None,
) -> int:
    """Prove a convergence rate of the cluster dynamics.

    Exit status: 0 if the rate was proved, 1 if no certificate was found, 2 for bad input.

    Parameters
    ----------
    momentum
        beta, a decimal or a fraction such as 1/3.
    condition_number
        kappa = L / mu.
    proportion
        The cluster's share of the clients.
    step_size
        The step size times L.
    function_class
        quadratic: eigenvalues in [mu, L]; smooth: every L-smooth mu-strongly convex function.
    disturbance
        For smooth functions, also bound how disturbances propagate; the rate may be larger.
    rate
        Prove this rate instead of the smallest one. A larger rate has a smaller prefactor.
    out
        Write the certificate to this file.
    """
    if out is not None:
        check_writable("out", out)
    try:
        certificate = certificates.certify(
            momentum,
            condition_number,
            proportion,
            step_size,
            function_class=function_class,
            disturbance=disturbance,
            rate=rate,
        )
    except InvalidArgument as error:
        if error.argument != "condition_number":
            raise
        raise InvalidArgument("condition", error.value, error.rule, error.remedy) from error
    if not isinstance(certificate, Certificate):
        print(f"no certificate found: {certificate.reason}")
        return 1
    if out is not None:
        certificates.write_certificate(certificate, out, argument="out")
    _show(certificate, out)
    return 0


def describe(certificate: Certificate) -> str:
    """Return the constants as decimals and the statement that was proved."""
    lines = [
        f"class {certificate.function_class}",
        f"rate {float(certificate.rate):.12g} of the distance per round",
        f"prefactor {float(certificate.prefactor):.9g}: below the initial distance from round "
        f"{certificate.informative_from} on",
    ]
    if certificate.disturbance is not None:
        lines.append(f"disturbance {float(certificate.disturbance):.9g}")
    return "\n".join([*lines, certificate.statement])


def _show(certificate: Certificate, out: Path | None) -> None:
    """Print what was proved and where the certificate is stored."""
    print(describe(certificate))
    if out is not None:
        print(f"stored in {out}")

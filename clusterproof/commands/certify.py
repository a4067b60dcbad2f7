"""The command ``certify``: prove a convergence rate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable
from clusterproof.theory import certificate
from clusterproof.theory.certificate import Certificate


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

    Exit status: 0 if it was proved, 1 if no certificate was found, 2 for bad input.

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
        For smooth functions, bound also how disturbances propagate; the rate may be larger.
    rate
        Prove this rate instead of the least one: a larger rate has a smaller prefactor.
    out
        Write the certificate to this file.
    """
    if out is not None:
        check_writable("out", out)
    try:
        found = certificate.certify(
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
    if not isinstance(found, Certificate):
        print(f"no certificate found: {found.reason}")
        return 1
    if out is not None:
        certificate.write_certificate(found, out, argument="out")
    _show(found, out)
    return 0


def describe(found: Certificate) -> str:
    """Write the constants as decimals and the statement as it is proved."""
    lines = [
        f"class {found.function_class}",
        f"rate {float(found.rate):.12g} of the distance per round",
        f"prefactor {float(found.prefactor):.9g}: below the start from round {found.informative_from} on",
    ]
    if found.disturbance is not None:
        lines.append(f"disturbance {float(found.disturbance):.9g}")
    return "\n".join([*lines, found.statement])


def _show(found: Certificate, out: Path | None) -> None:
    """Print what was proved, and where it is."""
    print(describe(found))
    if out is not None:
        print(f"stored in {out}")

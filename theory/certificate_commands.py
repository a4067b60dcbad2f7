"""The commands ``certify`` and ``verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from algorithms import InvalidArgument
from algorithms.atomic import check_writable
from theory import certificate
from theory.certificate import Certificate


def certify(
    *,
    momentum: str,
    condition_number: Annotated[str, Parameter(["--condition", "--condition-number"])],
    proportion: str,
    step_size: str = "1",
    function_class: Annotated[str, Parameter("--class")],
    disturbance: Annotated[bool, Parameter(negative=())] = False,
    out: Path | None = None,
) -> int:
    """Prove a convergence rate of the cluster dynamics.

    Exit status: 0 if a rate was proved, 1 if no certificate was found, 2 for bad input.

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
    print(_describe(found))
    if out is not None:
        print(f"stored in {out}")
    return 0


def verify(file: Path, /) -> int:
    """Check a certificate in exact arithmetic.

    Exit status: 0 if it proves its statement, 1 if not, 2 if the file is no certificate.

    Parameters
    ----------
    file
        What `clusterproof certify --out` wrote.
    """
    outcome = certificate.verify(file)
    if not outcome.readable:
        rule = f"must be a certificate ({outcome.condition.removeprefix('unreadable: ')})"
        raise InvalidArgument("file", str(file), rule, "make one with `clusterproof certify`")
    if not outcome.valid or outcome.certificate is None:
        print(f"invalid: {outcome.condition}")
        return 1
    print(f"valid: {outcome.condition}\n{_describe(outcome.certificate)}")
    return 0


def _describe(found: Certificate) -> str:
    """Write the constants as decimals and the statement as it is proved."""
    lines = [
        f"class {found.function_class}",
        f"rate {float(found.rate):.12g} of the distance per round",
        f"prefactor {float(found.prefactor):.9g}",
    ]
    if found.disturbance is not None:
        lines.append(f"disturbance {float(found.disturbance):.9g}")
    return "\n".join([*lines, found.statement])

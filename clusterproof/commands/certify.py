"""The command ``certify``: prove a convergence rate, or a bound on a stored run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable
from clusterproof.algorithms.storage import load_trace
from clusterproof.commands import terminal
from clusterproof.synthetic import RegressionMixture, from_settings
from clusterproof.theory import certificate
from clusterproof.theory.certificate import Certificate, RunCertificate, SmoothRunCertificate
from clusterproof.theory.certificate.document import AnyCertificate


def certify(
    *,
    momentum: str | None = None,
    condition_number: Annotated[str | None, Parameter(["--condition", "--condition-number"])] = None,
    proportion: str | None = None,
    step_size: str = "1",
    function_class: Annotated[str | None, Parameter("--class")] = None,
    disturbance: Annotated[bool, Parameter(negative=())] = False,
    rate: str | None = None,
    trace_bound: Path | None = None,
    failure_probability: str = "1e-9",
    replicate: terminal.Integer = 0,
    before: Annotated[bool, Parameter(negative=())] = False,
    out: Path | None = None,
) -> int:
    """Prove a convergence rate of the cluster dynamics, or a bound on a stored run.

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
    trace_bound
        Instead of a rate, certify what Theorem D, E or A' allows on a run that `clusterproof run --out` stored here.
    failure_probability
        Of the bound on a run.
    replicate
        Which of the run's replicates.
    before
        Bound the run before it is made, whoever takes part, instead of on its record of participants.
    out
        Write the certificate to this file.
    """
    if out is not None:
        check_writable("out", out)
    if trace_bound is not None:
        return _certify_run(trace_bound, failure_probability, replicate, recorded=not before, out=out)
    needed = {
        "momentum": momentum,
        "condition": condition_number,
        "proportion": proportion,
        "class": function_class,
    }
    for argument, value in needed.items():
        if value is None:
            raise InvalidArgument(
                argument, None, "must be given", "give it, or a stored run as --trace-bound"
            )
    try:
        found = certificate.certify(
            momentum,
            condition_number,
            proportion,
            step_size,
            function_class=str(function_class),
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


def describe(found: AnyCertificate) -> str:
    """Write the constants as decimals and the statement as it is proved."""
    if not isinstance(found, Certificate):
        return f"failure probability {float(found.total):.9g}\n{found.statement}"
    lines = [
        f"class {found.function_class}",
        f"rate {float(found.rate):.12g} of the distance per round",
        f"prefactor {float(found.prefactor):.9g}: below the start from round {found.informative_from} on",
    ]
    if found.disturbance is not None:
        lines.append(f"disturbance {float(found.disturbance):.9g}")
    return "\n".join([*lines, found.statement])


def _certify_run(
    folder: Path, failure_probability: str, replicate: int, *, recorded: bool, out: Path | None
) -> int:
    """Certify the bound on a stored run."""
    from clusterproof.theory.certificate.parameters import exact
    from clusterproof.theory.certificate.run_bound.make import certify_run
    from clusterproof.theory.certificate.run_bound.smooth_make import certify_smooth_run

    trace = load_trace(folder)
    task = from_settings(trace.settings["task"])
    probability = float(exact("failure_probability", failure_probability))
    found: RunCertificate | SmoothRunCertificate
    if isinstance(task, RegressionMixture):
        found = certify_run(
            task, trace, failure_probability=probability, replicate=replicate, recorded=recorded
        )
    else:  # Theorem A' knows no partial participation: before the run and on the record are the same
        found = certify_smooth_run(task, trace, failure_probability=probability, replicate=replicate)
    if out is not None:
        certificate.write_certificate(found, out, argument="out")
    _show(found, out)
    return 0


def _show(found: AnyCertificate, out: Path | None) -> None:
    """Print what was proved, and where it is."""
    print(describe(found))
    if out is not None:
        print(f"stored in {out}")

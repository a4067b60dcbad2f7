"""Check a certificate in exact arithmetic; no result of a solver is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clusterproof.theory.certificates.lyapunov import GRADIENT_PART, Form, System, Unknowns
from clusterproof.theory.certificates.quadratic import constants_squared
from clusterproof.theory.certificates.record import Certificate, FunctionClass
from clusterproof.theory.squares.exact import is_positive_semidefinite, rational


def failing_condition(certificate: Certificate) -> str | None:
    """Return the name of the first condition that does not hold; None if the statement is proved."""
    return next(failing_conditions(certificate), None)


def failing_conditions(certificate: Certificate) -> Iterator[str]:
    """Yield every condition that does not hold, in the order of the checks."""
    if not 0 < certificate.rate < 1:
        yield "the rate is not in (0, 1)"
    if certificate.prefactor <= 0:
        yield "the prefactor is not positive"
    if certificate.disturbance is not None and certificate.disturbance <= 0:
        yield "the disturbance constant is not positive"
    if certificate.function_class is FunctionClass.QUADRATIC:
        yield from _quadratic_failures(certificate)
    elif certificate.proof is None:
        yield "the proof is missing"
    else:
        yield from _smooth_failures(certificate, certificate.proof)


def _quadratic_failures(certificate: Certificate) -> Iterator[str]:
    if certificate.proof is not None or certificate.disturbance is None:
        yield "a certificate for quadratics has a disturbance constant and no multipliers"
        return
    constants = constants_squared(certificate.parameters, certificate.rate)
    if constants is None:
        yield "the rate is below the spectral radius at an end of the spectrum, or its prefactor is not finite"
        return
    if certificate.prefactor**2 < constants[0]:
        yield "the prefactor is below what is proved at this rate"
    if certificate.disturbance**2 < constants[1]:
        yield "the disturbance constant is below what is proved at this rate"


def _smooth_failures(certificate: Certificate, proof: Unknowns) -> Iterator[str]:
    parameters = certificate.parameters
    numbers = (parameters.momentum, 1 / parameters.condition_number, parameters.largest)
    system, unknowns = System(*map(rational, numbers)), proof.map(rational)
    for name in ("contraction", "positivity", "start"):
        if any(multiplier < 0 for multiplier in getattr(unknowns, name)):
            yield f"{name}: a multiplier is negative"
    rate, prefactor = rational(certificate.rate), rational(certificate.prefactor)
    conditions: dict[str, Callable[[], Form]] = {  # each is evaluated when it is checked
        "contraction": lambda: system.contraction(unknowns, rate**2),
        "positivity": lambda: system.positivity(unknowns),
        "start": lambda: system.start(unknowns, prefactor**2),
    }
    for name, make in conditions.items():
        form = make()
        if any(value != 0 for value in form.function_values):
            yield f"{name}: the function values do not cancel"
        if not is_positive_semidefinite(form.matrix):
            yield f"{name}: the remaining quadratic form is not positive semidefinite"
    if certificate.disturbance is not None:
        if any(unknowns.matrix[k] != 0 for k in GRADIENT_PART):
            yield "disturbance: V has a gradient part"
        if any(value < 0 for value in unknowns.values):
            yield "disturbance: a weight of a function value is negative"
        if not is_positive_semidefinite(system.disturbance(unknowns)):
            yield "disturbance: P + diag(c) / (2 kappa) is not positive semidefinite"
        if rational(certificate.disturbance) ** 2 < unknowns.matrix[0] + unknowns.values[0] / 2:
            yield "disturbance: the constant is below sqrt(P_11 + c_0 / 2)"

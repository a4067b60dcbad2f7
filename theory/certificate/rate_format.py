"""Certificates of rates as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.certificate.format import Format
from clusterproof.theory.certificate.lyapunov import PAIRS, POSITIVITY_PAIRS, START_PAIRS, Unknowns
from clusterproof.theory.certificate.parameters import Parameters
from clusterproof.theory.certificate.proof import failing_condition
from clusterproof.theory.certificate.record import Certificate, FunctionClass
from clusterproof.theory.certificate.strict_json import Inconsistent, Unreadable, read_fraction, read_object

_NAMES = {
    "matrix": ("e_t,e_t", "e_t,e_t-1", "e_t,g_t", "e_t-1,e_t-1", "e_t-1,g_t", "g_t,g_t"),
    "values": ("t", "t-1"),
    "contraction": PAIRS,
    "positivity": POSITIVITY_PAIRS,
    "start": START_PAIRS,
}
"""What the numbers of a proof are called."""


class RateFormat(Format[Certificate]):
    """A convergence rate and its Lyapunov function."""

    name = "clusterproof-certificate-1"
    kind = Certificate
    arithmetic = "exact"
    max_bytes = 65536
    fields = ("class", "parameters", "rate", "prefactor", "disturbance", "proof")

    def plain(self, certificate: Certificate) -> dict[str, Any]:
        """See ``Format``."""
        proof = certificate.proof
        return {
            "class": str(certificate.function_class),
            "parameters": {name: str(value) for name, value in vars(certificate.parameters).items()},
            "rate": str(certificate.rate),
            "prefactor": str(certificate.prefactor),
            "disturbance": None if certificate.disturbance is None else str(certificate.disturbance),
            "proof": None
            if proof is None
            else {
                part: {name: str(number) for name, number in zip(names, getattr(proof, part), strict=True)}
                for part, names in _NAMES.items()
            },
        }

    def read(self, fields: Mapping[str, Any]) -> Certificate:
        """See ``Format``."""
        if fields["class"] not in [*FunctionClass]:
            raise Unreadable("the class is not one of " + ", ".join(FunctionClass))
        try:
            parameters = Parameters(
                **_fractions(fields["parameters"], "parameters", list(Parameters.__dataclass_fields__))
            )
        except InvalidArgument as error:
            raise Inconsistent(f"the parameters are out of range: {error}") from error
        return Certificate(
            parameters=parameters,
            function_class=FunctionClass(fields["class"]),
            rate=read_fraction(fields["rate"], "rate"),
            prefactor=read_fraction(fields["prefactor"], "prefactor"),
            disturbance=None
            if fields["disturbance"] is None
            else read_fraction(fields["disturbance"], "disturbance"),
            proof=None if fields["proof"] is None else _proof(fields["proof"]),
        )

    def failing(self, certificate: Certificate) -> str | None:
        """See ``Format``."""
        return failing_condition(certificate)


def _proof(value: object) -> Unknowns:
    parts = read_object(value, "proof", list(_NAMES))
    return Unknowns(
        **{part: tuple(_fractions(parts[part], part, names).values()) for part, names in _NAMES.items()}
    )


def _fractions(value: object, where: str, names: Sequence[str]) -> dict[str, Fraction]:
    fields = read_object(value, where, names)
    return {name: read_fraction(fields[name], f"{where}[{name}]") for name in names}

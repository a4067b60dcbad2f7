"""Certificates as files: JSON whose every number is a fraction in a string.

A file's numbers are strings in lowest terms of at most ``MAX_DIGITS`` digits and its length is limited, so that
checking takes bounded time and memory. Unexpected names, repeated names, numbers outside a string, and a statement
other than the one that the fields make are refused.

The SHA-256 over the content detects damage and careless edits. It is no signature: a forger can recompute it, but the
proof is checked in any case. A change that passes both checks leaves a proof of the statement in the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import write_whole
from clusterproof.theory.certificate.lyapunov import PAIRS, POSITIVITY_PAIRS, START_PAIRS, Unknowns
from clusterproof.theory.certificate.parameters import Parameters
from clusterproof.theory.certificate.record import Certificate, FunctionClass
from clusterproof.theory.certificate.strict_json import (
    Inconsistent,
    Unreadable,
    checksum,
    read_bytes,
    read_fraction,
    read_json,
    read_object,
)

FORMAT = "clusterproof-certificate-1"
RUN_BOUND_FORMATS = ("clusterproof-run-bound-1", "clusterproof-smooth-run-bound-1")
"""Certificates of the bound on one run, which version 0.1 wrote."""
MAX_BYTES = 65536
FIELDS = ("format", "statement", "class", "parameters", "rate", "prefactor", "disturbance", "proof", "sha256")

_NAMES = {
    "matrix": ("e_t,e_t", "e_t,e_t-1", "e_t,g_t", "e_t-1,e_t-1", "e_t-1,g_t", "g_t,g_t"),
    "values": ("t", "t-1"),
    "contraction": PAIRS,
    "positivity": POSITIVITY_PAIRS,
    "start": START_PAIRS,
}
"""Names of the numbers of a proof."""
_PLAIN = (Fraction, int, bool, str, FunctionClass, type(None))


def to_json(certificate: Certificate) -> str:
    """Return a certificate as JSON text."""
    content = _content(certificate)
    return json.dumps(content | {"sha256": checksum(content)}, indent=1) + "\n"


def from_json(text: bytes | str) -> tuple[Certificate, str | None]:
    """Read a certificate from JSON text, without checking its proof.

    Returns
    -------
    tuple
        The certificate, and what shows that it was changed after it was written (its statement or its
        SHA-256); None where both fit.

    Raises
    ------
    Unreadable
        If it does not have the form of a certificate.
    Inconsistent
        If its parameters are out of range.
    """
    raw = read_json(text, MAX_BYTES)
    if isinstance(raw, dict) and raw.get("format") in RUN_BOUND_FORMATS:
        raise Unreadable("of the bound on a run; version 0.1 reads it")
    fields = read_object(raw, "the document", FIELDS)
    if fields["format"] != FORMAT:
        raise Unreadable(f"the format is not {FORMAT!r}")
    certificate = _read(fields)
    try:
        content = _content(certificate)
    except (OverflowError, ValueError) as error:
        raise Unreadable("its numbers are beyond every float") from error
    if fields["statement"] != content["statement"]:
        return certificate, "the statement is not the one that the fields make"
    if fields["sha256"] != checksum(content):
        return certificate, "the SHA-256 is not that of the content: the file was changed"
    return certificate, None


def holds_plain_values_only(value: object) -> bool:
    """Whether a record consists of exact numbers, strings and the records of this package, of exactly these types."""
    if isinstance(value, tuple):
        return type(value) is tuple and all(map(holds_plain_values_only, value))
    if type(value).__module__.startswith("clusterproof.theory.certificate.") and hasattr(value, "__dict__"):
        return type(value) in _PLAIN or all(map(holds_plain_values_only, vars(value).values()))
    return type(value) in _PLAIN


def write_certificate(
    certificate: Certificate, path: str | os.PathLike[str], *, argument: str = "path"
) -> None:
    """Write a certificate to a file, which appears whole or not at all.

    Raises
    ------
    InvalidArgument
        If it cannot be written.
    """
    write_whole(argument, Path(path), to_json(certificate).encode())


def read_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate from a file; ``verify`` checks it.

    Raises
    ------
    InvalidArgument
        If the file holds no certificate, or was changed.
    """
    try:
        certificate, problem = from_json(read_bytes(path, MAX_BYTES))
    except (Unreadable, Inconsistent) as error:
        raise _refuse(path, str(error)) from error
    if problem is not None:
        raise _refuse(path, problem)
    return certificate


def _refuse(path: str | os.PathLike[str], problem: str) -> InvalidArgument:
    rule = f"must be a certificate ({problem})"
    return InvalidArgument("path", os.fspath(path), rule, "make one with `clusterproof certify`")


def _content(certificate: Certificate) -> dict[str, Any]:
    """Return everything but the checksum, in the order of the file."""
    proof = certificate.proof
    return {
        "format": FORMAT,
        "statement": certificate.statement,
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


def _read(fields: Mapping[str, Any]) -> Certificate:
    if fields["class"] not in [*FunctionClass]:
        raise Unreadable("the class is not one of " + ", ".join(FunctionClass))
    try:
        parameters = Parameters(
            **_fractions(fields["parameters"], "parameters", list(Parameters.__dataclass_fields__))
        )
    except InvalidArgument as error:
        raise Inconsistent(f"the parameters are out of range: {error}") from error
    disturbance = fields["disturbance"]
    return Certificate(
        parameters=parameters,
        function_class=FunctionClass(fields["class"]),
        rate=read_fraction(fields["rate"], "rate"),
        prefactor=read_fraction(fields["prefactor"], "prefactor"),
        disturbance=None if disturbance is None else read_fraction(disturbance, "disturbance"),
        proof=None if fields["proof"] is None else _proof(fields["proof"]),
    )


def _proof(value: object) -> Unknowns:
    parts = read_object(value, "proof", list(_NAMES))
    return Unknowns(
        **{part: tuple(_fractions(parts[part], part, names).values()) for part, names in _NAMES.items()}
    )


def _fractions(value: object, where: str, names: Sequence[str]) -> dict[str, Fraction]:
    fields = read_object(value, where, names)
    return {name: read_fraction(fields[name], f"{where}[{name}]") for name in names}

"""Certificates as files: JSON whose every number is a fraction in a string.

A file's numbers are strings in lowest terms of at most ``MAX_DIGITS`` digits and its length is limited, so that
checking takes bounded time and memory. Unexpected names, repeated names, numbers outside a string, and a statement
other than the one that the fields make are refused.

The SHA-256 over the content detects damage and careless edits. It is not a signature: a forger can recompute it, but
the proof is checked in any case. A change that passes both checks leaves a proof of the statement in the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import msgspec

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import write_whole
from clusterproof.files import read_file
from clusterproof.theory.certificates.lyapunov import PAIRS, POSITIVITY_PAIRS, START_PAIRS, Unknowns
from clusterproof.theory.certificates.one_round import RoundCertificate
from clusterproof.theory.certificates.parameters import Parameters
from clusterproof.theory.certificates.record import Certificate, FunctionClass
from clusterproof.theory.certificates.rounds import Algorithm, ClientClass, Round

FORMAT = "clusterproof-certificate-1"
MAX_BYTES = 65536
MAX_DIGITS = 200
"""Digits of a numerator or denominator."""

_FRACTION = re.compile(r"-?(0|[1-9][0-9]*)(/[1-9][0-9]*)?", re.ASCII)
_NAMES = {
    "matrix": ("e_t,e_t", "e_t,e_t-1", "e_t,g_t", "e_t-1,e_t-1", "e_t-1,g_t", "g_t,g_t"),
    "values": ("t", "t-1"),
    "contraction": PAIRS,
    "positivity": POSITIVITY_PAIRS,
    "start": START_PAIRS,
}
"""Names of the numbers of a proof."""


class Unreadable(ValueError):
    """A document that is not a certificate; the message states why."""


class Inconsistent(ValueError):
    """A document in the form of a certificate whose parameters describe no dynamics; the message states why."""


class _Parameters(msgspec.Struct, forbid_unknown_fields=True):
    momentum: Fraction
    condition_number: Fraction
    proportion: Fraction
    step_size: Fraction


class _Proof(msgspec.Struct, forbid_unknown_fields=True):
    matrix: dict[str, Fraction]
    values: dict[str, Fraction]
    contraction: dict[str, Fraction]
    positivity: dict[str, Fraction]
    start: dict[str, Fraction]


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal["clusterproof-certificate-1"]
    statement: str
    function_class: FunctionClass = msgspec.field(name="class")
    parameters: _Parameters
    rate: Fraction
    prefactor: Fraction
    disturbance: Fraction | None
    proof: _Proof | None
    sha256: str


class _RoundParameters(msgspec.Struct, forbid_unknown_fields=True):
    smoothness: Fraction
    strong_convexity: Fraction
    step_size: Fraction | None
    local_steps: Fraction
    server_step_size: Fraction
    sampling: Fraction
    proximal: Fraction | None
    probability: Fraction | None
    option: str | None


class _RoundDocument(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal["clusterproof-certificate-1"]
    statement: str
    algorithm: Algorithm
    client_class: ClientClass = msgspec.field(name="class")
    parameters: _RoundParameters
    rate: Fraction
    constant: Fraction
    weight: Fraction
    proof: dict[str, Fraction]
    sha256: str


def to_json(certificate: Certificate | RoundCertificate) -> str:
    """Return a certificate as JSON text."""
    content = _content(certificate)
    return json.dumps(content | {"sha256": _checksum(content)}, indent=1) + "\n"


def from_json(text: bytes | str) -> tuple[Certificate | RoundCertificate, str | None]:
    """Read a certificate from JSON text, without checking its proof.

    Returns
    -------
    tuple
        The certificate, and a message if it was changed after it was written (its statement or its SHA-256 does
        not agree with the content), otherwise None.

    Raises
    ------
    Unreadable
        If it does not have the form of a certificate.
    Inconsistent
        If its parameters are out of range.
    """
    if len(text) > MAX_BYTES:
        raise Unreadable(f"longer than {MAX_BYTES} bytes")
    try:
        raw = json.loads(text, object_pairs_hook=_without_duplicates)
        of_round = isinstance(raw, dict) and "algorithm" in raw
        form: type[_Document | _RoundDocument] = _RoundDocument if of_round else _Document
        document = msgspec.convert(raw, form, dec_hook=_fraction)
    except Unreadable:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise Unreadable(str(error)[:200]) from error
    try:
        certificate = _certificate(document) if isinstance(document, _Document) else _of_round(document)
    except InvalidArgument as error:
        raise Inconsistent(f"the parameters are out of range: {error}") from error
    content = _content(certificate)
    if document.statement != content["statement"]:
        return certificate, "the statement is not the one that the fields make"
    if document.sha256 != _checksum(content):
        return certificate, "the SHA-256 is not that of the content: the file was changed"
    return certificate, None


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a file.

    Raises
    ------
    Unreadable
        If it cannot be read, or is longer than a certificate may be.
    """
    try:
        return read_file(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        raise Unreadable(f"cannot be read ({getattr(error, 'strerror', None) or error})") from error


def write_certificate(
    certificate: Certificate | RoundCertificate, path: str | os.PathLike[str], *, argument: str = "path"
) -> None:
    """Write a certificate to a file, atomically.

    Raises
    ------
    InvalidArgument
        If it cannot be written.
    """
    write_whole(argument, Path(path), to_json(certificate).encode())


def read_certificate(path: str | os.PathLike[str]) -> Certificate | RoundCertificate:
    """Read a certificate from a file; ``verify`` checks it.

    Raises
    ------
    InvalidArgument
        If the file holds no certificate, or was changed.
    """
    try:
        certificate, problem = from_json(read_bytes(path))
        if problem is not None:
            raise Unreadable(problem)
    except (Unreadable, Inconsistent) as error:
        rule = f"must be a certificate ({error})"
        raise InvalidArgument(
            "path", os.fspath(path), rule, "make one with `clusterproof certify`"
        ) from error
    return certificate


def _content(certificate: Certificate | RoundCertificate) -> dict[str, Any]:
    """Return everything but the checksum, in the order of the file."""

    def written(numbers: Mapping[str, Fraction]) -> dict[str, str]:
        return {name: str(number) for name, number in numbers.items()}

    if isinstance(certificate, RoundCertificate):
        round_ = certificate.round
        parameters = {name: getattr(round_, name) for name in _RoundParameters.__struct_fields__}
        return {
            "format": FORMAT,
            "statement": certificate.statement,
            "algorithm": str(round_.algorithm),
            "class": str(round_.client_class),
            "parameters": {name: None if it is None else str(it) for name, it in parameters.items()},
            "rate": str(certificate.rate),
            "constant": str(certificate.constant),
            "weight": str(certificate.weight),
            "proof": written(certificate.multipliers),
        }
    proof, disturbance = certificate.proof, certificate.disturbance
    return {
        "format": FORMAT,
        "statement": certificate.statement,
        "class": str(certificate.function_class),
        "parameters": written(vars(certificate.parameters)),
        "rate": str(certificate.rate),
        "prefactor": str(certificate.prefactor),
        "disturbance": None if disturbance is None else str(disturbance),
        "proof": None
        if proof is None
        else {
            field: written(dict(zip(names, getattr(proof, field), strict=True)))
            for field, names in _NAMES.items()
        },
    }


def _checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a document's content, independent of the order and spacing of the file."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _certificate(document: _Document) -> Certificate:
    proof = None
    if document.proof is not None:
        parts = {field: getattr(document.proof, field) for field in _NAMES}
        for field, names in _NAMES.items():
            if parts[field].keys() != set(names):
                raise Unreadable(f"{field} must have exactly the names " + ", ".join(names))
        proof = Unknowns(
            **{field: tuple(parts[field][name] for name in names) for field, names in _NAMES.items()}
        )
    return Certificate(
        parameters=Parameters(**msgspec.structs.asdict(document.parameters)),
        function_class=document.function_class,
        rate=document.rate,
        prefactor=document.prefactor,
        disturbance=document.disturbance,
        proof=proof,
    )


def _of_round(document: _RoundDocument) -> RoundCertificate:
    parameters = msgspec.structs.asdict(document.parameters)
    if (steps := document.parameters.local_steps).denominator != 1:
        raise Inconsistent("the parameters are out of range: local_steps is not a whole number")
    parameters |= {"local_steps": int(steps)}
    return RoundCertificate(
        round=Round(algorithm=document.algorithm, client_class=document.client_class, **parameters),
        rate=document.rate,
        constant=document.constant,
        weight=document.weight,
        multipliers=document.proof,
    )


def _fraction(_: type, value: object) -> Fraction:
    """Read a fraction in lowest terms, the only type that the structs leave to this hook."""
    if not isinstance(value, str) or len(value) > 2 * MAX_DIGITS + 2 or not _FRACTION.fullmatch(value):
        raise ValueError('must be a fraction in a string, such as "1/3"')
    if max(len(number.lstrip("-")) for number in value.split("/")) > MAX_DIGITS:
        raise ValueError(f"must have at most {MAX_DIGITS} digits")
    fraction = Fraction(value)
    if str(fraction) != value:
        raise ValueError("must be in lowest terms")
    return fraction


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Unreadable("a name is given twice")
    return fields

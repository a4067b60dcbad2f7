"""Certificates as files: JSON whose every number is a fraction, read with suspicion.

A file is at most ``MAX_BYTES`` long; its numbers are strings in lowest terms of at most ``MAX_DIGITS`` digits,
so checking takes bounded time and memory. Names that are not expected, names given twice, numbers outside a
string, and a statement other than the one that the fields make are refused.

The SHA-256 over the content catches damage and careless edits: whatever is changed no longer fits the sum. It
is no signature. Whoever recomputes it faces the exact check, which is what a certificate rests on; a change
that survives both leaves a proof of the statement in the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from algorithms import InvalidArgument
from algorithms.atomic import write_whole
from theory.certificate.lyapunov import PAIRS, POSITIVITY_PAIRS, START_PAIRS, Unknowns
from theory.certificate.parameters import Parameters
from theory.certificate.record import Certificate, FunctionClass

FORMAT = "clusterproof-certificate-1"
MAX_BYTES = 65536
MAX_DIGITS = 200

_FRACTION = re.compile(r"-?(0|[1-9][0-9]*)(/[1-9][0-9]*)?", re.ASCII)
_NAMES = {
    "matrix": ("e_t,e_t", "e_t,e_t-1", "e_t,g_t", "e_t-1,e_t-1", "e_t-1,g_t", "g_t,g_t"),
    "values": ("t", "t-1"),
    "contraction": PAIRS,
    "positivity": POSITIVITY_PAIRS,
    "start": START_PAIRS,
}
"""What the numbers of a proof are called."""


class Unreadable(ValueError):
    """A document that is no certificate; says why."""


class Inconsistent(ValueError):
    """A document in the form of a certificate that speaks of no dynamics; says why."""


def to_json(certificate: Certificate) -> str:
    """Write a certificate as JSON text."""
    content = _content(certificate)
    return json.dumps(content | {"sha256": _checksum(content)}, indent=2) + "\n"


def from_json(document: bytes | str) -> tuple[Certificate, str | None]:
    """Read a certificate; it is not checked whether it proves anything.

    Returns
    -------
    tuple
        The certificate, and what shows that it is not as it was written: its statement or its sum;
        None where both fit.

    Raises
    ------
    Unreadable
        If it does not have the form of a certificate.
    Inconsistent
        If its parameters are out of range.
    """
    if len(document) > MAX_BYTES:
        raise Unreadable(f"longer than {MAX_BYTES} bytes")
    try:
        raw = json.loads(
            document,
            object_pairs_hook=_no_duplicates,
            parse_int=_no_number,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except Unreadable:
        raise
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON ({type(error).__name__}: {str(error)[:100]})") from error
    names = [
        "format",
        "class",
        "parameters",
        "rate",
        "prefactor",
        "disturbance",
        "proof",
        "statement",
        "sha256",
    ]
    fields = _object(raw, "the document", names)
    if fields["format"] != FORMAT:
        raise Unreadable(f"the format is not {FORMAT!r}")
    if fields["class"] not in [*FunctionClass]:
        raise Unreadable("the class is not one of " + ", ".join(FunctionClass))
    try:
        parameters = Parameters(
            **_fractions(fields["parameters"], "parameters", list(Parameters.__dataclass_fields__))
        )
    except InvalidArgument as error:
        raise Inconsistent(f"the parameters are out of range: {error}") from error
    certificate = Certificate(
        parameters=parameters,
        function_class=FunctionClass(fields["class"]),
        rate=_fraction(fields["rate"], "rate"),
        prefactor=_fraction(fields["prefactor"], "prefactor"),
        disturbance=None
        if fields["disturbance"] is None
        else _fraction(fields["disturbance"], "disturbance"),
        proof=None if fields["proof"] is None else _proof(fields["proof"]),
    )
    content = _content(certificate)
    if fields["statement"] != content["statement"]:
        return certificate, "the statement is not the one that the fields make"
    if fields["sha256"] != _checksum(content):
        return certificate, "the SHA-256 is not that of the content: the file was changed"
    return certificate, None


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


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a file, or as much of it as shows that it is too long.

    Raises
    ------
    Unreadable
        If it cannot be read.
    """
    try:
        if not Path(path).is_file():
            raise Unreadable("not a file")
        with open(path, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(f"cannot be read ({getattr(error, 'strerror', None) or error})") from error


def read_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate from a file; ``verify`` checks it.

    Raises
    ------
    InvalidArgument
        If the file holds no certificate, or was changed.
    """
    try:
        certificate, problem = from_json(read_bytes(path))
    except (Unreadable, Inconsistent) as error:
        raise _refuse(path, str(error)) from error
    if problem is not None:
        raise _refuse(path, problem)
    return certificate


def _refuse(path: str | os.PathLike[str], problem: str) -> InvalidArgument:
    rule = f"must be a certificate ({problem})"
    return InvalidArgument("path", os.fspath(path), rule, "make one with `clusterproof certify`")


def _content(certificate: Certificate) -> dict[str, Any]:
    """Everything but the sum, in the order of the file."""
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


def _checksum(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _proof(value: object) -> Unknowns:
    parts = _object(value, "proof", list(_NAMES))
    return Unknowns(
        **{part: tuple(_fractions(parts[part], part, names).values()) for part, names in _NAMES.items()}
    )


def _fractions(value: object, where: str, names: Sequence[str]) -> dict[str, Fraction]:
    fields = _object(value, where, names)
    return {name: _fraction(fields[name], f"{where}[{name}]") for name in names}


def _object(value: object, where: str, names: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or value.keys() != set(names):
        raise Unreadable(f"{where} must have exactly the names " + ", ".join(names))
    return value


def _fraction(value: object, where: str) -> Fraction:
    if not isinstance(value, str) or len(value) > 2 * MAX_DIGITS + 2 or not _FRACTION.fullmatch(value):
        raise Unreadable(f'{where} must be a fraction such as "1/3"')
    if max(len(part.lstrip("-")) for part in value.split("/")) > MAX_DIGITS:
        raise Unreadable(f"{where} must have at most {MAX_DIGITS} digits")
    number = Fraction(value)
    if str(number) != value:
        raise Unreadable(f"{where} must be in lowest terms")
    return number


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Unreadable("a name is given twice")
    return fields


def _no_number(text: str) -> None:
    raise Unreadable(f"{text[:20]} must be a fraction in a string")

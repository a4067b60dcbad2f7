"""Certificates of every kind as files."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import write_whole
from clusterproof.theory.certificate.format import Format
from clusterproof.theory.certificate.rate_format import RateFormat
from clusterproof.theory.certificate.record import Certificate, FunctionClass
from clusterproof.theory.certificate.run_bound.gaussian_format import GaussianFormat
from clusterproof.theory.certificate.run_bound.record import RunCertificate
from clusterproof.theory.certificate.run_bound.smooth_format import SmoothFormat
from clusterproof.theory.certificate.run_bound.smooth_record import SmoothRunCertificate
from clusterproof.theory.certificate.strict_json import Inconsistent, Unreadable, read_bytes, read_json

AnyCertificate: TypeAlias = Certificate | RunCertificate | SmoothRunCertificate
FORMATS: tuple[Format[Any], ...] = (RateFormat(), GaussianFormat(), SmoothFormat())
MAX_BYTES = max(one.max_bytes for one in FORMATS)

_PLAIN = (Fraction, int, bool, str, FunctionClass, type(None))


def to_json(certificate: AnyCertificate) -> str:
    """Write a certificate as JSON text."""
    return format_of(certificate).to_json(certificate)


def from_json(text: bytes | str) -> tuple[AnyCertificate, str | None]:
    """Read a certificate of any kind from JSON text; it is not checked whether it proves anything.

    Returns
    -------
    tuple
        As for ``Format.from_json``.

    Raises
    ------
    Unreadable
        If it does not have the form of a certificate.
    Inconsistent
        If its parameters are out of range.
    """
    raw = read_json(text, MAX_BYTES)
    name = raw.get("format") if isinstance(raw, dict) else None
    one = next((one for one in FORMATS if one.name == name), FORMATS[0])
    if len(text) > one.max_bytes:
        raise Unreadable(f"longer than {one.max_bytes} bytes")
    certificate, problem = one.from_json(raw)
    return certificate, problem


def format_of(certificate: object) -> Format[Any]:
    """Give the format of a record.

    Raises
    ------
    Unreadable
        If it is no certificate.
    """
    for one in FORMATS:
        if type(certificate) is one.kind:
            return one
    raise Unreadable(f"a {type(certificate).__name__} is no certificate")


def holds_plain_values_only(value: object) -> bool:
    """Whether a record consists of exact numbers, words and our own records, of these very types."""
    if isinstance(value, tuple):
        return type(value) is tuple and all(map(holds_plain_values_only, value))
    if type(value).__module__.startswith("clusterproof.theory.certificate.") and hasattr(value, "__dict__"):
        return type(value) in _PLAIN or all(map(holds_plain_values_only, vars(value).values()))
    return type(value) in _PLAIN


def write_certificate(
    certificate: AnyCertificate, path: str | os.PathLike[str], *, argument: str = "path"
) -> None:
    """Write a certificate to a file, which appears whole or not at all.

    Raises
    ------
    InvalidArgument
        If it cannot be written.
    """
    write_whole(argument, Path(path), to_json(certificate).encode())


def read_certificate(path: str | os.PathLike[str]) -> AnyCertificate:
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

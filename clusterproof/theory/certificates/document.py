"""Certificates as documents: JSON whose numbers are fractions in strings, written, read and checked without a solver.

A document holds the record of a certificate, its kind, the sentence that it proves, and a SHA-256. It is written again
after it was read, and refused if anything differs: names, fractions that are not in lowest terms, the statement. Its
length and that of its numbers are limited, so that checking takes bounded time and memory.

The SHA-256 over the content detects damage and careless edits. It is not a signature: a forger can recompute it, but
the proof is checked in any case. A change that passes both checks leaves a proof of the statement in the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import write_whole
from clusterproof.algorithms.calls import checked
from clusterproof.files import read_file, unique_names
from clusterproof.theory.certificates.heavy_ball import Certificate
from clusterproof.theory.certificates.of_claim import ClaimCertificate
from clusterproof.theory.certificates.one_round import RoundCertificate

FORMAT = "clusterproof-certificate-2"
MAX_BYTES = 2**22
MAX_DIGITS = 1000
"""Digits of a numerator or denominator."""

AnyCertificate: TypeAlias = Certificate | RoundCertificate | ClaimCertificate
KINDS: dict[str, type[AnyCertificate]] = {
    "rate": Certificate,
    "round": RoundCertificate,
    "claim": ClaimCertificate,
}
_FRACTION = re.compile(r"-?[0-9]+(/[1-9][0-9]*)?", re.ASCII)


class Unreadable(ValueError):
    """A document that is not a certificate; the message states why."""


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Outcome of checking a certificate; true if the statement is proved.

    Attributes
    ----------
    valid
        Whether the statement is proved.
    condition
        The condition that fails, or that all hold.
    readable
        Whether the document has the form of a certificate.
    certificate
        The certificate that was read; None if the document is unreadable.
    """

    valid: bool
    condition: str
    readable: bool = True
    certificate: AnyCertificate | None = None

    def __bool__(self) -> bool:
        return self.valid


Document = AnyCertificate | bytes | str | Mapping[str, Any] | os.PathLike[str]


@checked
def verify(document: Document) -> Verification:
    """Decide in exact arithmetic whether a certificate proves its statement.

    A record in memory is written to text and read back, so that the same rules hold for it as for a file. The
    certificate of a claim of a user's file holds that file, which is executed.

    Parameters
    ----------
    document
        A certificate, its JSON as text, bytes or a mapping, or the ``pathlib.Path`` of its file.

    Returns
    -------
    Verification
        No content of a document raises an exception.
    """
    try:
        certificate, problem = from_json(_text(document))
        if isinstance(document, AnyCertificate) and document != certificate:
            raise Unreadable("not a certificate's fields: they read differently once written")
    except Unreadable as error:
        return Verification(valid=False, condition=f"unreadable: {error}", readable=False)
    failure = next(certificate.failures(), problem)
    held = "every condition holds in exact arithmetic"
    return Verification(valid=failure is None, condition=failure or held, certificate=certificate)


def to_json(certificate: AnyCertificate) -> str:
    """Return a certificate as JSON text."""
    content = _content(certificate)
    return json.dumps(content | {"sha256": _checksum(content)}, indent=1) + "\n"


def from_json(text: bytes | str) -> tuple[AnyCertificate, str | None]:
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
    """
    if len(text) > MAX_BYTES:
        raise Unreadable(f"longer than {MAX_BYTES} bytes")
    try:
        raw = json.loads(text, object_pairs_hook=unique_names)
        certificate = msgspec.convert(raw, KINDS[raw["kind"]], dec_hook=_fraction)
        content = _content(certificate)
    except Unreadable:
        raise
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}"[:200]) from error
    loose = ("statement", "sha256")
    if {k: v for k, v in raw.items() if k not in loose} != {
        k: v for k, v in content.items() if k not in loose
    }:
        raise Unreadable("has names, or ways to write a number, that a certificate does not have")
    if raw.get("statement") != content["statement"]:
        return certificate, "the statement is not the one that the fields make"
    if raw.get("sha256") != _checksum(content):
        return certificate, "the SHA-256 is not that of the content: the file was changed"
    return certificate, None


def write_certificate(
    certificate: AnyCertificate, path: str | os.PathLike[str], *, argument: str = "path"
) -> None:
    """Write a certificate to a file, atomically.

    Raises
    ------
    InvalidArgument
        If it cannot be written.
    """
    write_whole(argument, Path(path), to_json(certificate).encode())


def read_certificate(path: str | os.PathLike[str], *, argument: str = "path") -> AnyCertificate:
    """Read a certificate from a file; ``verify`` checks it.

    Raises
    ------
    InvalidArgument
        If the file holds no certificate.
    """
    try:
        return from_json(_text(Path(path)))[0]
    except Unreadable as error:
        rule = f"must be a certificate ({error})"
        raise InvalidArgument(
            argument, os.fspath(path), rule, "make one with `clusterproof certify`"
        ) from error


def _text(document: Document) -> bytes | str:
    if isinstance(document, bytes | str):
        return document
    try:
        if isinstance(document, Mapping):
            return json.dumps(dict(document))
        return to_json(document) if isinstance(document, AnyCertificate) else read_file(document, MAX_BYTES)
    except Exception as error:  # a record may hold anything
        raise Unreadable(f"cannot be read ({getattr(error, 'strerror', None) or error})") from error


def _content(certificate: AnyCertificate) -> dict[str, Any]:
    """Return everything but the checksum, in the order of the file."""
    (kind,) = (name for name, form in KINDS.items() if isinstance(certificate, form))
    head = {"format": FORMAT, "kind": kind, "statement": certificate.statement}
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(certificate, enc_hook=str))
    return head | fields


def _checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a document's content, independent of the order and spacing of the file."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _fraction(_: type, value: object) -> Fraction:
    """Read a fraction, the only type that the records leave to this hook; how it is written is compared later."""
    if not isinstance(value, str) or len(value) > 2 * MAX_DIGITS or not _FRACTION.fullmatch(value):
        raise ValueError('must be a fraction in a string, such as "1/3"')
    return Fraction(value)

"""Check a certificate from its file, text or record, without a solver."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clusterproof.theory.certificate import document as rate_document
from clusterproof.theory.certificate.exact import require_rationals
from clusterproof.theory.certificate.proof import failing_condition
from clusterproof.theory.certificate.record import Certificate, Verification
from clusterproof.theory.certificate.run_bound import document as run_document
from clusterproof.theory.certificate.run_bound.check import failing_run_condition
from clusterproof.theory.certificate.run_bound.record import RunCertificate
from clusterproof.theory.certificate.strict_json import Inconsistent, Unreadable, read_bytes, read_json

Document = Certificate | RunCertificate | bytes | str | Mapping[str, Any] | os.PathLike[str]


def verify(document: Document) -> Verification:
    """Decide in exact or interval arithmetic whether a certificate proves its statement.

    A record in memory is written down and read again like any file: it may hold what no file can.

    Parameters
    ----------
    document
        A certificate of a rate or of a run's bound, its JSON as text, bytes or a mapping, or the ``pathlib.Path`` of
        its file.

    Returns
    -------
    Verification
        Nothing that a document holds makes this raise.

    Raises
    ------
    InvalidArgument
        If python-flint is not installed.
    """
    require_rationals()
    try:
        certificate, problem = _load(document)
    except Unreadable as error:
        return Verification(valid=False, condition=f"unreadable: {error}", readable=False)
    except Inconsistent as error:
        return Verification(valid=False, condition=str(error))
    if isinstance(certificate, RunCertificate):
        failure, arithmetic = failing_run_condition(certificate), "interval"
    else:
        failure, arithmetic = failing_condition(certificate), "exact"
    failure = failure or problem
    if failure is not None:
        return Verification(valid=False, condition=failure, certificate=certificate)
    return Verification(
        valid=True, condition=f"every condition holds in {arithmetic} arithmetic", certificate=certificate
    )


def _load(document: Document) -> tuple[Certificate | RunCertificate, str | None]:
    text = _text(document)
    raw = read_json(text, run_document.MAX_BYTES)
    found: tuple[Certificate | RunCertificate, str | None]
    if isinstance(raw, dict) and raw.get("format") == run_document.FORMAT:
        found = run_document.run_certificate_from_json(raw)
    elif len(text) > rate_document.MAX_BYTES:
        raise Unreadable(f"longer than {rate_document.MAX_BYTES} bytes")
    else:
        found = rate_document.from_json(raw)
    if isinstance(document, (Certificate, RunCertificate)) and document != found[0]:
        raise Unreadable("not a certificate's fields: they read differently once written")
    return found


def _text(document: Document) -> bytes | str:
    if isinstance(document, (bytes, str)):
        return document
    if isinstance(document, (Certificate, RunCertificate, Mapping)):
        try:
            return _written(document)
        except Exception as error:  # a record may hold anything
            raise Unreadable(f"not a certificate's fields ({type(error).__name__})") from error
    return read_bytes(Path(document), run_document.MAX_BYTES)


def _written(document: Certificate | RunCertificate | Mapping[str, Any]) -> str:
    if isinstance(document, Certificate):
        return rate_document.to_json(document)
    if isinstance(document, RunCertificate):
        return run_document.run_certificate_to_json(document)
    return json.dumps(dict(document))

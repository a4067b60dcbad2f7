"""Check a certificate from its file, text or record, without a solver."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clusterproof.theory.certificate.document import MAX_BYTES, from_json, holds_plain_values_only, to_json
from clusterproof.theory.certificate.exact import require_rationals
from clusterproof.theory.certificate.proof import failing_condition
from clusterproof.theory.certificate.record import Certificate
from clusterproof.theory.certificate.strict_json import Inconsistent, Unreadable, read_bytes
from clusterproof.theory.certificate.verification import Verification

Document = Certificate | bytes | str | Mapping[str, Any] | os.PathLike[str]


def verify(document: Document) -> Verification:
    """Decide in exact arithmetic whether a certificate proves its statement.

    A record in memory is written down and read again like any file: it may hold what no file can.

    Parameters
    ----------
    document
        A certificate, its JSON as text, bytes or a mapping, or the ``pathlib.Path`` of
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
    failure = failing_condition(certificate) or problem
    if failure is not None:
        return Verification(valid=False, condition=failure, certificate=certificate)
    return Verification(
        valid=True, condition="every condition holds in exact arithmetic", certificate=certificate
    )


def _load(document: Document) -> tuple[Certificate, str | None]:
    found, problem = from_json(_text(document))
    if isinstance(document, Certificate) and document != found:
        raise Unreadable("not a certificate's fields: they read differently once written")
    return found, problem


def _text(document: Document) -> bytes | str:
    if isinstance(document, (bytes, str)):
        return document
    if isinstance(document, Certificate | Mapping):
        try:
            return _written(document)
        except Unreadable:
            raise
        except Exception as error:  # a record may hold anything
            raise Unreadable(f"not a certificate's fields ({type(error).__name__})") from error
    return read_bytes(Path(document), MAX_BYTES)


def _written(document: Any) -> str:
    if isinstance(document, Mapping):
        return json.dumps(dict(document))
    if not holds_plain_values_only(document):
        raise Unreadable("not a certificate's fields: a number is not a fraction")
    return to_json(document)

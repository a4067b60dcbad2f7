"""Check a certificate from its file, text or record, without a solver."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from theory.certificate.document import Inconsistent, Unreadable, from_json, read_bytes
from theory.certificate.exact import require_rationals
from theory.certificate.proof import failing_condition
from theory.certificate.record import Certificate, Verification


def verify(document: Certificate | bytes | str | Mapping[str, Any] | os.PathLike[str]) -> Verification:
    """Decide in exact arithmetic whether a certificate proves its statement.

    Parameters
    ----------
    document
        A certificate, its JSON as text, bytes or a mapping, or the ``pathlib.Path`` of its file.

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


def _load(
    document: Certificate | bytes | str | Mapping[str, Any] | os.PathLike[str],
) -> tuple[Certificate, str | None]:
    if isinstance(document, Certificate):
        return document, None
    if isinstance(document, (bytes, str)):
        return from_json(document)
    if isinstance(document, Mapping):
        try:
            return from_json(json.dumps(dict(document)))
        except (TypeError, ValueError, RecursionError) as error:
            if isinstance(error, Unreadable):
                raise
            raise Unreadable(f"not JSON ({type(error).__name__})") from error
    return from_json(read_bytes(Path(document)))

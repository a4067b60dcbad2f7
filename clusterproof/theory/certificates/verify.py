"""Check a certificate from its file, text or record, without a solver."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterproof.theory.certificates import one_round, proof
from clusterproof.theory.certificates.document import Inconsistent, Unreadable, from_json, read_bytes, to_json
from clusterproof.theory.certificates.record import Certificate

Document = Certificate | one_round.RoundCertificate | bytes | str | Mapping[str, Any] | os.PathLike[str]


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
    certificate: Certificate | one_round.RoundCertificate | None = None

    def __bool__(self) -> bool:
        return self.valid


def verify(document: Document) -> Verification:
    """Decide in exact arithmetic whether a certificate proves its statement.

    A record in memory is written to text and read back, so that the same rules hold for it as for a file.

    Parameters
    ----------
    document
        A certificate, its JSON as text, bytes or a mapping, or the ``pathlib.Path`` of
        its file.

    Returns
    -------
    Verification
        No content of a document raises an exception.

    Raises
    ------
    InvalidArgument
        If python-flint is not installed.
    """
    try:
        certificate, problem = from_json(_text(document))
        if isinstance(document, Certificate | one_round.RoundCertificate) and document != certificate:
            raise Unreadable("not a certificate's fields: they read differently once written")
    except Unreadable as error:
        return Verification(valid=False, condition=f"unreadable: {error}", readable=False)
    except Inconsistent as error:
        return Verification(valid=False, condition=str(error))
    if isinstance(certificate, Certificate):
        failure = proof.failing_condition(certificate) or problem
    else:
        failure = one_round.failing_condition(certificate) or problem
    if failure is not None:
        return Verification(valid=False, condition=failure, certificate=certificate)
    return Verification(
        valid=True, condition="every condition holds in exact arithmetic", certificate=certificate
    )


def _text(document: Document) -> bytes | str:
    if isinstance(document, bytes | str):
        return document
    if not isinstance(document, Certificate | one_round.RoundCertificate | Mapping):
        return read_bytes(document)
    try:
        return json.dumps(dict(document)) if isinstance(document, Mapping) else to_json(document)
    except Exception as error:  # a record may hold anything
        raise Unreadable(f"not a certificate's fields ({type(error).__name__})") from error

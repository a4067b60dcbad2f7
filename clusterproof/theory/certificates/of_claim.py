"""Certificates of claims about every function of a class: written, read, and checked without a solver."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory import kernel
from clusterproof.theory.certificates.record import NoCertificate
from clusterproof.theory.claims.claim import REGISTRY, find_claim
from clusterproof.theory.claims.class_ranges import class_of
from clusterproof.theory.claims.in_language import language_of
from clusterproof.theory.claims.load import load_claims
from clusterproof.theory.claims.verdict import check
from clusterproof.user_files import file_of, sources_of, write_sources


@dataclass(frozen=True)
class ClaimCertificate:
    """A proof that a claim holds for every function of its class.

    Attributes
    ----------
    claim
        Its id.
    source
        Text of the user's file that states it; empty for a claim of the catalogue.
    beside
        Texts of the files beside it that it imports, by relative path.
    evidence
        What the kernel replays, a record for each line.
    """

    claim: str
    source: str
    beside: dict[str, str]
    evidence: list[dict[str, Any]]

    @property
    def statement(self) -> str:
        """The claim."""
        return self.claim

    def failures(self) -> Iterator[str]:
        """Yield why it does not prove its claim, in exact arithmetic and without a solver.

        The claim's function is read again: of a user's file, that in the certificate is executed.
        """
        try:
            with _stated(self):
                statement = language_of(find_claim(self.claim).statements[0])
                if isinstance(statement, str):
                    yield statement
                    return
                if not self.evidence:
                    yield "there is no evidence"
                for record in self.evidence:
                    shown = kernel.replay(statement, record)
                    if shown.word is not kernel.Word.CERTIFIED:
                        yield f"{record.get('line') or 'the claim'}: {shown.why}"
        except (InvalidArgument, ValueError, LookupError) as error:
            yield f"{type(error).__name__}: {error}"


def certify_claim(claim_id: str) -> ClaimCertificate | NoCertificate:
    """Prove a claim about every function of a class, at every value of its other quantities.

    Raises
    ------
    InvalidArgument
        If the claim is unknown or not about functions of a class.
    """
    claim = find_claim(claim_id)
    if not class_of(claim.statements[0].space):
        rule, remedy = "must be about every function of a class", "`clusterproof check` decides other claims"
        raise InvalidArgument("claim", claim.id, rule, remedy)
    verdict = check(claim_id)
    if verdict.verdict is not kernel.Word.CERTIFIED:
        return NoCertificate(reason=f"{verdict.verdict}: {verdict.reason}")
    file = file_of(claim.module)
    texts = {} if file is None else {name: text.decode() for name, text in sources_of(file).items()}
    source = texts.pop(next(iter(texts))) if texts else ""
    return ClaimCertificate(
        claim.id, source, texts, [dict(line.evidence) for line in verdict.lines if line.evidence]
    )


@contextmanager
def _stated(certificate: ClaimCertificate) -> Iterator[None]:
    """State the claim of a certificate's source instead of those of files that were loaded."""
    if not certificate.source:
        yield
        return
    before = dict(REGISTRY)
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name in [name for name, claim in before.items() if file_of(claim.module) is not None]:
                del REGISTRY[name]
            name = f"claims_{hashlib.sha256(certificate.source.encode()).hexdigest()[:8]}.py"
            load_claims(write_sources(Path(folder), {name: certificate.source, **certificate.beside}))
            yield
        finally:
            REGISTRY.clear()
            REGISTRY.update(before)

"""Certificates of claims about every function of a class."""

from __future__ import annotations

from clusterproof.checker.claims.claim import arguments_of, find_claim
from clusterproof.checker.claims.class_ranges import class_of
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.report.decide import check
from clusterproof.common import InvalidArgument
from clusterproof.theory.certificates.document import Document, NoCertificate
from clusterproof.user_files import file_of, sources_of


def certify_claim(claim_id: str) -> Document | NoCertificate:
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
    if verdict.verdict is not Kind.CERTIFIED:
        where = f"see `clusterproof check {arguments_of(claim_id)}`"
        return NoCertificate(reason=f"{verdict.verdict}: {verdict.reason}; {where}")
    file = file_of(claim.module)
    texts = {} if file is None else {name: text.decode() for name, text in sources_of(file).items()}
    source = texts.pop(next(iter(texts))) if texts else ""
    return Document(
        source, [{"claim": claim.id, **line.evidence} for line in verdict.lines if line.evidence], texts
    )

"""Convergence rates with exact certificates, found by a solver and proved without it."""

from clusterproof.theory.certificates.certify import certify, certify_at
from clusterproof.theory.certificates.certify_round import certify_round
from clusterproof.theory.certificates.companion import lyapunov_matrix
from clusterproof.theory.certificates.document import (
    Document,
    NoCertificate,
    Verification,
    read_certificate,
    to_json,
    verify,
    write_certificate,
)
from clusterproof.theory.certificates.heavy_ball import Certificate
from clusterproof.theory.certificates.of_claim import certify_claim
from clusterproof.theory.certificates.one_round import RoundCertificate

__all__ = [
    "Certificate",
    "Document",
    "NoCertificate",
    "RoundCertificate",
    "Verification",
    "certify",
    "certify_at",
    "certify_claim",
    "certify_round",
    "lyapunov_matrix",
    "read_certificate",
    "to_json",
    "verify",
    "write_certificate",
]

"""Convergence rates with exact certificates, found by a solver and proved without it."""

from clusterproof.theory.certificates.certify import certify, certify_at
from clusterproof.theory.certificates.certify_round import certify_round
from clusterproof.theory.certificates.companion import lyapunov_matrix
from clusterproof.theory.certificates.document import read_certificate, to_json, write_certificate
from clusterproof.theory.certificates.of_claim import (
    ClaimCertificate,
    certify_claim,
    claim_to_json,
    failing_condition,
    read_if_of_claim,
)
from clusterproof.theory.certificates.one_round import RoundCertificate
from clusterproof.theory.certificates.record import Certificate, FunctionClass, NoCertificate
from clusterproof.theory.certificates.verify import Verification, verify

__all__ = [
    "Certificate",
    "ClaimCertificate",
    "FunctionClass",
    "NoCertificate",
    "RoundCertificate",
    "Verification",
    "certify",
    "certify_at",
    "certify_claim",
    "certify_round",
    "claim_to_json",
    "failing_condition",
    "lyapunov_matrix",
    "read_certificate",
    "read_if_of_claim",
    "to_json",
    "verify",
    "write_certificate",
]

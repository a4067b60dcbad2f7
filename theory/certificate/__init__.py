"""Convergence rates with exact certificates: found by a solver, proved without it."""

from clusterproof.theory.certificate.certify import certify, certify_at
from clusterproof.theory.certificate.companion import lyapunov_matrix
from clusterproof.theory.certificate.document import read_certificate, to_json, write_certificate
from clusterproof.theory.certificate.record import Certificate, FunctionClass, NoCertificate
from clusterproof.theory.certificate.verification import Verification
from clusterproof.theory.certificate.verify import verify

__all__ = [
    "Certificate",
    "FunctionClass",
    "NoCertificate",
    "Verification",
    "certify",
    "certify_at",
    "lyapunov_matrix",
    "read_certificate",
    "to_json",
    "verify",
    "write_certificate",
]

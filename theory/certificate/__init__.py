"""Convergence rates with exact certificates: found by a solver, proved without it."""

from theory.certificate.certify import certify, certify_at
from theory.certificate.companion import lyapunov_matrix
from theory.certificate.document import read_certificate, to_json, write_certificate
from theory.certificate.record import Certificate, FunctionClass, NoCertificate, Verification
from theory.certificate.verify import verify

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

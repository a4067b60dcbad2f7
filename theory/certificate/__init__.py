"""Convergence rates with exact certificates: found by a solver, proved without it."""

from clusterproof.theory.certificate.certify import certify, certify_at
from clusterproof.theory.certificate.companion import lyapunov_matrix
from clusterproof.theory.certificate.document import read_certificate, to_json, write_certificate
from clusterproof.theory.certificate.record import Certificate, FunctionClass, NoCertificate, Verification
from clusterproof.theory.certificate.run_bound.document import read_run_certificate, write_run_certificate
from clusterproof.theory.certificate.run_bound.record import RunCertificate
from clusterproof.theory.certificate.verify import verify

__all__ = [
    "Certificate",
    "FunctionClass",
    "NoCertificate",
    "RunCertificate",
    "Verification",
    "certify",
    "certify_at",
    "lyapunov_matrix",
    "read_certificate",
    "read_run_certificate",
    "to_json",
    "verify",
    "write_certificate",
    "write_run_certificate",
]

"""Certificates of Theorem A' on a run as documents; each Lyapunov function is the document of its own certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from typing import Any

from clusterproof.theory.certificate.format import Format
from clusterproof.theory.certificate.rate_format import RateFormat
from clusterproof.theory.certificate.record import Certificate
from clusterproof.theory.certificate.run_bound.smooth_check import failing_smooth_condition
from clusterproof.theory.certificate.run_bound.smooth_record import (
    LAWS,
    SmoothDynamics,
    SmoothRunCertificate,
    SmoothUse,
)
from clusterproof.theory.certificate.strict_json import (
    Inconsistent,
    Unreadable,
    plain,
    read_count,
    read_counts,
    read_fraction,
    read_fractions,
    read_list,
    read_object,
    read_word,
)

RATES = RateFormat()


class SmoothFormat(Format[SmoothRunCertificate]):
    """A bound on a run on smooth losses."""

    name = "clusterproof-smooth-run-bound-1"
    kind = SmoothRunCertificate
    arithmetic = "exact and interval"
    max_bytes = 2 * 2**20
    fields = tuple(one.name for one in fields_of(SmoothRunCertificate))

    def plain(self, certificate: SmoothRunCertificate) -> dict[str, Any]:
        """See ``Format``."""
        written = {name: plain(value) for name, value in vars(certificate).items() if name != "contractions"}
        documents = [RATES.document(one) for one in certificate.contractions]
        return {name: documents if name == "contractions" else written[name] for name in self.fields}

    def read(self, fields: Mapping[str, Any]) -> SmoothRunCertificate:
        """See ``Format``."""
        failure = read_fractions(fields["failure"], "failure")
        if len(failure) != 2:
            raise Unreadable("failure must have two entries")
        return SmoothRunCertificate(
            dynamics=_dynamics(fields["dynamics"]),
            failure=(failure[0], failure[1]),
            contractions=read_list(fields["contractions"], "contractions", _contraction),
            misclassification=read_fractions(fields["misclassification"], "misclassification"),
            uses=read_list(fields["uses"], "uses", lambda row, where: read_list(row, where, _use)),
            last=read_list(fields["last"], "last", _use),
            misassignment=read_fraction(fields["misassignment"], "misassignment"),
            total=read_fraction(fields["total"], "total"),
        )

    def failing(self, certificate: SmoothRunCertificate) -> str | None:
        """See ``Format``."""
        return failing_smooth_condition(certificate)


def _dynamics(value: object) -> SmoothDynamics:
    names = [one.name for one in fields_of(SmoothDynamics)]
    found = read_object(value, "dynamics", names)
    counts = ("dimension", "samples", "rounds")
    others: dict[str, Any] = {name: read_count(found[name], name) for name in counts}
    if min(others.values()) < 1:
        raise Unreadable("dimension, samples and rounds must be at least 1")
    plain_names = [name for name in names if name not in (*counts, "own", "law", "start")]
    others |= {name: read_fraction(found[name], name) for name in plain_names}
    return SmoothDynamics(
        own=read_counts(found["own"], "own"),
        law=read_word(found["law"], "law", LAWS),
        start=read_fractions(found["start"], "start"),
        **others,
    )


def _contraction(value: object, where: str) -> Certificate:
    certificate, problem = RATES.from_json(value)
    if problem is not None:
        raise Inconsistent(f"{where}: {problem}")
    return certificate


def _use(value: object, where: str) -> SmoothUse:
    found = read_object(value, where, ["x", "reach"])
    return SmoothUse(
        x=read_fraction(found["x"], f"{where} x"), reach=read_fraction(found["reach"], f"{where} reach")
    )

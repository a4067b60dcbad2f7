"""Certificates of Theorems D and E on a run as documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from typing import Any

from clusterproof.theory.certificate.format import Format
from clusterproof.theory.certificate.run_bound.check import failing_run_condition
from clusterproof.theory.certificate.run_bound.record import (
    DIVISORS,
    FORMS,
    KNOWLEDGE,
    Dynamics,
    RunCertificate,
    Turn,
    Use,
)
from clusterproof.theory.certificate.strict_json import (
    Unreadable,
    plain,
    read_count,
    read_counts,
    read_fraction,
    read_fractions,
    read_list,
    read_object,
    read_truth,
    read_word,
)

_USE = tuple(one.name for one in fields_of(Use))


class GaussianFormat(Format[RunCertificate]):
    """A bound on a run on Gaussian regression."""

    name = "clusterproof-run-bound-1"
    kind = RunCertificate
    arithmetic = "interval"
    max_bytes = 2 * 2**20
    fields = tuple(one.name for one in fields_of(RunCertificate))

    def plain(self, certificate: RunCertificate) -> dict[str, Any]:
        """See ``Format``."""
        return dict(plain(certificate))

    def read(self, fields: Mapping[str, Any]) -> RunCertificate:
        """See ``Format``."""
        failure = read_fractions(fields["failure"], "failure")
        if len(failure) != 3:
            raise Unreadable("failure must have three entries")
        return RunCertificate(
            dynamics=_dynamics(fields["dynamics"]),
            knowledge=read_word(fields["knowledge"], "knowledge", KNOWLEDGE),
            counted=read_truth(fields["counted"], "counted"),
            failure=(failure[0], failure[1], failure[2]),
            fewest=read_counts(fields["fewest"], "fewest"),
            most=read_counts(fields["most"], "most"),
            turns=read_list(fields["turns"], "turns", _turn),
            first=read_fractions(fields["first"], "first"),
            uses=read_list(fields["uses"], "uses", lambda row, where: read_list(row, where, _use)),
            last=read_list(fields["last"], "last", _use),
            misassignment=read_fraction(fields["misassignment"], "misassignment"),
            total=read_fraction(fields["total"], "total"),
        )

    def failing(self, certificate: RunCertificate) -> str | None:
        """See ``Format``."""
        return failing_run_condition(certificate)


def _dynamics(value: object) -> Dynamics:
    found = read_object(value, "dynamics", [one.name for one in fields_of(Dynamics)])
    rows = {name: read_list(found[name], name, read_fractions) for name in ("spectra", "start")}
    if not rows["spectra"] or not all(rows["spectra"]):
        raise Unreadable("spectra must not be empty")
    counts = ("participants", "samples", "rounds", "local_steps")
    numbers = ("step_size", "momentum", "variance", "separation", "diameter")
    others: dict[str, Any] = {name: read_count(found[name], name) for name in counts}
    others |= {name: read_fraction(found[name], name) for name in numbers}
    others |= {name: read_truth(found[name], name) for name in ("common_covariance", "freezes", "resets")}
    return Dynamics(
        own=read_counts(found["own"], "own"),
        divisor=read_word(found["divisor"], "divisor", DIVISORS),
        spectra=rows["spectra"],
        start=rows["start"],
        **others,
    )


def _turn(value: object, where: str) -> Turn:
    found = read_object(value, where, [one.name for one in fields_of(Turn)])
    return Turn(
        misclassification=read_fraction(found["misclassification"], f"{where} misclassification"),
        **{name: read_counts(found[name], f"{where} {name}") for name in ("intruders", "strays", "own")},
    )


def _use(value: object, where: str) -> Use:
    found = read_object(value, where, _USE)
    form = read_count(found["form"], f"{where} form")
    if form not in FORMS:
        raise Unreadable(f"{where} form must be one of 0, 1, 2 and 3")
    return Use(form=form, **{name: read_fraction(found[name], f"{where} {name}") for name in _USE[1:]})

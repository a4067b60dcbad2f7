"""Certificates of a run's bound as files: JSON whose every number is a fraction in a string.

The same rules as for certificates of rates hold: names that are not expected, names given twice, numbers outside a
string, numbers of more than ``MAX_DIGITS`` digits, and a statement other than the one that the fields make are refused.
The SHA-256 catches damage; whoever recomputes it faces the arithmetic.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import write_whole
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
    checksum,
    read_bytes,
    read_fraction,
    read_json,
    read_object,
)

FORMAT = "clusterproof-run-bound-1"
MAX_BYTES = 2 * 2**20
MAX_ENTRIES = 100_000
"""Longest list; a document that long is refused before it costs time."""

_USE = tuple(one.name for one in fields(Use))


def run_certificate_to_json(certificate: RunCertificate) -> str:
    """Write a certificate as JSON text."""
    content = _content(certificate)
    return json.dumps(content | {"sha256": checksum(content)}, indent=1) + "\n"


def run_certificate_from_json(raw: object) -> tuple[RunCertificate, str | None]:
    """Read a certificate from parsed JSON; it is not checked whether it proves anything.

    Returns
    -------
    tuple
        The certificate, and what shows that it is not as it was written: its statement or its sum; None where both
        fit.

    Raises
    ------
    Unreadable
        If it does not have the form of a certificate.
    """
    names = [one.name for one in fields(RunCertificate)]
    found = read_object(raw, "the document", ["format", "statement", *names, "sha256"])
    if found["format"] != FORMAT:
        raise Unreadable(f"the format is not {FORMAT!r}")
    failure = _numbers(found["failure"], "failure")
    if len(failure) != 3:
        raise Unreadable("failure must have three entries")
    certificate = RunCertificate(
        dynamics=_dynamics(found["dynamics"]),
        knowledge=_word(found["knowledge"], "knowledge", KNOWLEDGE),
        counted=_truth(found["counted"], "counted"),
        failure=(failure[0], failure[1], failure[2]),
        fewest=_counts(found["fewest"], "fewest"),
        most=_counts(found["most"], "most"),
        turns=_list(found["turns"], "turns", _turn),
        first=_numbers(found["first"], "first"),
        uses=_list(found["uses"], "uses", lambda row, where: _list(row, where, _use)),
        last=_list(found["last"], "last", _use),
        misassignment=read_fraction(found["misassignment"], "misassignment"),
        total=read_fraction(found["total"], "total"),
    )
    content = _content(certificate)
    try:
        statement = content["statement"]
    except (OverflowError, ValueError) as error:
        raise Unreadable("its numbers are beyond every float") from error
    if found["statement"] != statement:
        return certificate, "the statement is not the one that the fields make"
    if found["sha256"] != checksum(content):
        return certificate, "the SHA-256 is not that of the content: the file was changed"
    return certificate, None


def write_run_certificate(
    certificate: RunCertificate, path: str | os.PathLike[str], *, argument: str = "path"
) -> None:
    """Write a certificate to a file, which appears whole or not at all.

    Raises
    ------
    InvalidArgument
        If it cannot be written.
    """
    write_whole(argument, Path(path), run_certificate_to_json(certificate).encode())


def read_run_certificate(path: str | os.PathLike[str]) -> RunCertificate:
    """Read a certificate from a file; ``verify`` checks it.

    Raises
    ------
    InvalidArgument
        If the file holds no certificate of a run's bound, or was changed.
    """
    try:
        certificate, problem = run_certificate_from_json(read_json(read_bytes(path, MAX_BYTES), MAX_BYTES))
    except Unreadable as error:
        problem = str(error)
    if problem is not None:
        rule = f"must be a certificate of a run's bound ({problem})"
        raise InvalidArgument(
            "path", os.fspath(path), rule, "make one with `clusterproof certify --trace-bound`"
        )
    return certificate


def _content(certificate: RunCertificate) -> dict[str, Any]:
    """Everything but the sum, in the order of the file."""
    return {"format": FORMAT, "statement": certificate.statement, **_plain(certificate)}


def _plain(value: object) -> Any:
    """Write records as objects, tuples as lists, and numbers as strings."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | Fraction | str):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return {name: _plain(one) for name, one in vars(value).items()}


def _dynamics(value: object) -> Dynamics:
    found = read_object(value, "dynamics", [one.name for one in fields(Dynamics)])
    rows = {name: _list(found[name], name, _numbers) for name in ("spectra", "start")}
    if not rows["spectra"] or not all(rows["spectra"]):
        raise Unreadable("spectra must not be empty")
    counts = ("participants", "samples", "rounds", "local_steps")
    numbers = ("step_size", "momentum", "variance", "separation", "diameter")
    others: dict[str, Any] = {name: _count(found[name], name) for name in counts}
    others |= {name: read_fraction(found[name], name) for name in numbers}
    others |= {name: _truth(found[name], name) for name in ("common_covariance", "freezes", "resets")}
    return Dynamics(
        own=_counts(found["own"], "own"),
        divisor=_word(found["divisor"], "divisor", DIVISORS),
        spectra=rows["spectra"],
        start=rows["start"],
        **others,
    )


def _turn(value: object, where: str) -> Turn:
    found = read_object(value, where, [one.name for one in fields(Turn)])
    return Turn(
        misclassification=read_fraction(found["misclassification"], f"{where} misclassification"),
        **{name: _counts(found[name], f"{where} {name}") for name in ("intruders", "strays", "own")},
    )


def _use(value: object, where: str) -> Use:
    found = read_object(value, where, _USE)
    form = _count(found["form"], f"{where} form")
    if form not in FORMS:
        raise Unreadable(f"{where} form must be one of 0, 1, 2 and 3")
    return Use(form=form, **{name: read_fraction(found[name], f"{where} {name}") for name in _USE[1:]})


def _list(value: object, where: str, read: Callable[[object, str], Any]) -> tuple[Any, ...]:
    if not isinstance(value, list) or len(value) > MAX_ENTRIES:
        raise Unreadable(f"{where} must be a list of at most {MAX_ENTRIES} entries")
    return tuple(read(one, f"{where}[{number}]") for number, one in enumerate(value))


def _numbers(value: object, where: str) -> tuple[Fraction, ...]:
    return _list(value, where, read_fraction)


def _counts(value: object, where: str) -> tuple[int, ...]:
    return _list(value, where, _count)


def _count(value: object, where: str) -> int:
    number = read_fraction(value, where)
    if number.denominator != 1 or number < 0:
        raise Unreadable(f"{where} must be a count")
    return int(number)


def _word(value: object, where: str, choices: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise Unreadable(f"{where} must be one of {', '.join(choices)}")
    return value


def _truth(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise Unreadable(f"{where} must be true or false")
    return value

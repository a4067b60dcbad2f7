"""Certificates of claims about every function of a class: written, read, and checked without a solver."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.certificates.record import NoCertificate
from clusterproof.theory.claims.claim import REGISTRY, Claim, arguments_of, find_claim
from clusterproof.theory.claims.load import load_claims
from clusterproof.theory.claims.ranges import Instance
from clusterproof.theory.claims.statement import quantities
from clusterproof.theory.claims.traced import (
    find_witness,
    has_class,
    other_quantities,
    program_of,
    trace_paths,
)
from clusterproof.theory.classes.certificate import Certificate, is_valid
from clusterproof.theory.classes.path_program import PathProgram
from clusterproof.theory.classes.traced_numbers import NotTraced
from clusterproof.theory.classes.worst_case import WorstCase
from clusterproof.user_files import file_of, sources_of, write_sources

SETTINGS = 1000
"""Largest number of settings of the other quantities."""


@dataclass(frozen=True)
class Multipliers:
    """The proof of one line at one setting on one path through the function's comparisons.

    Attributes
    ----------
    setting, line, path
        The other quantities as in a report, the line of a chain, and the number of the path.
    weights, multipliers, free
        As in ``classes.certificate.Certificate``; conditions by their names, equations by their numbers.
    """

    setting: dict[str, Any]
    line: str
    path: int
    weights: list[Fraction]
    multipliers: dict[str, Fraction]
    free: dict[str, Fraction]


@dataclass(frozen=True)
class ClaimCertificate:
    """A proof that a claim holds for every function of its class.

    Attributes
    ----------
    claim
        Its id.
    statement
        The first line of its docstring, and the ranges.
    source
        Text of the user's file that states it; empty for a claim of the catalogue.
    beside
        Texts of the files beside it that it imports, by relative path.
    proofs
        One for each setting, line and path.
    """

    claim: str
    statement: str
    source: str
    beside: dict[str, str]
    proofs: list[Multipliers]

    def failures(self) -> Iterator[str]:
        """Yield why it does not prove its claim, in exact arithmetic and without a solver.

        The claim's function is traced again: of a user's file, that in the certificate is executed.
        """
        try:
            with _stated(self):
                claim = find_claim(self.claim)
                if self.statement != _statement(claim):
                    yield f"the statement is not that of the claim: {_statement(claim)}"
                proofs = {(_key(each.setting), each.line, each.path): each for each in self.proofs}
                for setting in _settings(claim):
                    for line, number, path in _programs(claim, setting):
                        written = _written(claim, setting)
                        where = ", ".join(filter(None, (quantities(written), line))) or "the only setting"
                        proof = proofs.pop((_key(written), line, number), None)
                        if proof is None:
                            yield f"no multipliers at {where}"
                        elif not is_valid(path, _read(path, proof)):
                            yield f"the multipliers at {where} do not prove the bound"
                if proofs:
                    yield "multipliers of a setting that the claim does not have"
        except (InvalidArgument, NotTraced, ValueError, LookupError) as error:
            yield f"{type(error).__name__}: {error}"


def certify_claim(claim_id: str) -> ClaimCertificate | NoCertificate:
    """Prove a claim about every function of a class, at every value of its other quantities.

    Raises
    ------
    InvalidArgument
        If the claim is unknown or not about functions of a class, or its other quantities are not a list of at most
        1000 values.
    """
    claim = find_claim(claim_id)
    proofs = []
    for setting in _settings(claim):
        try:
            for line, number, path in _programs(claim, setting):
                case = WorstCase(path)
                where = f"at {quantities(_written(claim, setting))}" if setting else "there"
                if case.exceeds:
                    return NoCertificate(
                        reason=f"{where} the bound is exceeded: see `clusterproof check {arguments_of(claim_id)}`"
                    )
                if case.certificate is None:
                    return NoCertificate(
                        reason=f"{where} no exact multipliers were found; the bound may still hold"
                    )
                proofs.append(_multipliers(_written(claim, setting), line, number, path, case.certificate))
        except NotTraced as refusal:
            return NoCertificate(reason=str(refusal))
    file = file_of(claim.module)
    texts = {} if file is None else {name: text.decode() for name, text in sources_of(file).items()}
    source = texts.pop(next(iter(texts))) if texts else ""
    return ClaimCertificate(claim.id, _statement(claim), source, texts, proofs)


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


def _statement(claim: Claim[..., Any]) -> str:
    ranges = claim.statements[0].space.ranges
    values = ", ".join(
        f"{name}: {allowed.describe({})}" for name, allowed in ranges.items() if not allowed.depends_on
    )
    return f"{claim.title} For every {values}."


def _settings(claim: Claim[..., Any]) -> Sequence[Instance]:
    """Return all values of the other quantities."""
    statement = claim.statements[0]
    if not has_class(statement.space):
        rule, remedy = "must be about every function of a class", "`clusterproof check` decides other claims"
        raise InvalidArgument("claim", claim.id, rule, remedy)
    others = other_quantities(statement.space)
    listed = others.instances(SETTINGS)
    if listed is None or not others.complete:
        rule = f"must have other quantities that are listed, at most {SETTINGS} values, and no open end"
        raise InvalidArgument("claim", claim.id, rule, "give them as choice(...) or integers(...)")
    return listed


def _programs(claim: Claim[..., Any], setting: Instance) -> Iterator[tuple[str, int, PathProgram]]:
    """Yield each line and path at a setting; NotTraced if no function is found that meets the hypotheses."""
    statement = claim.statements[0]
    for number, path in enumerate(trace_paths(statement, setting)):
        for line in path.lines:
            if find_witness(statement, setting, line) is None:
                raise NotTraced("no function was found that meets the hypotheses: the bound may hold emptily")
            yield line, number, program_of(path, line)


def _written(claim: Claim[..., Any], setting: Instance) -> dict[str, Any]:
    return other_quantities(claim.statements[0].space).encode(setting)


def _key(setting: dict[str, Any]) -> str:
    return msgspec.json.encode(setting, order="sorted").decode()


def _multipliers(
    setting: dict[str, Any], line: str, number: int, path: PathProgram, certificate: Certificate
) -> Multipliers:
    names = path.names
    return Multipliers(
        setting,
        line,
        number,
        list(certificate.weights),
        {names[k]: value for k, value in certificate.multipliers.items() if value},
        {str(k): value for k, value in certificate.free.items() if value},
    )


def _read(path: PathProgram, proof: Multipliers) -> Certificate:
    numbers = {name: number for number, name in enumerate(path.names)}
    return Certificate(
        Fraction(1),
        tuple(proof.weights),
        {numbers[name]: value for name, value in proof.multipliers.items()},
        {int(k): value for k, value in proof.free.items()},
    )

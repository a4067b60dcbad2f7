"""Evaluate claims: the one door through which verdicts are made."""

from __future__ import annotations

import difflib
import fnmatch
import math
import re
import time
from collections.abc import Iterable
from dataclasses import asdict
from importlib import metadata
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.validation import check_count, check_instance, check_seed
from clusterproof.theory.checker.claim import CLAIM_SIGNIFICANCE, REGISTRY, Claim, Context
from clusterproof.theory.checker.counterexample import RunDisagrees
from clusterproof.theory.checker.counterexample_code import code_of
from clusterproof.theory.checker.verdict import Finding, Verdict


def catalogue(paper: str | None = None) -> list[Claim]:
    """List every claim, or those of one paper, sorted by id, numbers as numbers.

    Raises
    ------
    InvalidArgument
        If no claim belongs to the paper.
    """
    papers = sorted({claim.paper for claim in REGISTRY.values()})
    if paper is not None and paper not in papers:
        raise InvalidArgument(
            "paper", paper, f"must be one of {', '.join(papers)}", "see `clusterproof claims`"
        )
    chosen = [claim for claim in REGISTRY.values() if paper in (None, claim.paper)]
    return sorted(chosen, key=lambda claim: _natural(claim.id))


def _natural(text: str) -> list[tuple[bool, int, str]]:
    """Sort key by which equation-2 comes before equation-10."""
    parts = re.findall(r"\d+|\D+", text)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def find_claim(claim_id: str) -> Claim:
    """Look a claim up by its id.

    Raises
    ------
    InvalidArgument
        If there is none; the message names the nearest ids.
    """
    check_instance("id", claim_id, str, "give the id of a claim first, such as 'cfl-mgd/lemma-2'")
    if claim_id not in REGISTRY:
        nearest = difflib.get_close_matches(claim_id, REGISTRY, cutoff=0.3)
        hint = f"the nearest are {', '.join(nearest)}" if nearest else "see `clusterproof claims`"
        raise InvalidArgument("id", claim_id, "must be the id of a claim", hint)
    return REGISTRY[claim_id]


def matching(pattern: str) -> list[Claim]:
    """Look up the claims whose ids match a pattern such as ``cfl-mgd/lemma-*``, or the one with that id.

    Raises
    ------
    InvalidArgument
        If there is none; the message names the nearest ids.
    """
    if not set(pattern) & set("*?["):
        return [find_claim(pattern)]
    found = [claim for claim in catalogue() if fnmatch.fnmatchcase(claim.id, pattern)]
    if not found:
        raise InvalidArgument("id", pattern, "must match the id of a claim", "see `clusterproof claims`")
    return found


def check_repairs(claims: Iterable[Claim]) -> None:
    """Refuse claims that are repaired by a claim that nobody has stated.

    Raises
    ------
    InvalidArgument
        If an id in ``repaired_by`` is unknown; the message names the nearest ids.
    """
    for claim in claims:
        for name in claim.repaired_by:
            if name not in REGISTRY:
                nearest = difflib.get_close_matches(name, REGISTRY, cutoff=0.3)
                hint = f"the nearest are {', '.join(nearest)}" if nearest else "state that claim, too"
                rule = f"must be the id of a claim: it is to repair {claim.id}"
                raise InvalidArgument("repaired_by", name, rule, hint)


def check(claim_id: str, *, seed: int = 0, trials: int | None = None) -> Verdict:
    """Evaluate one claim.

    Parameters
    ----------
    claim_id
        Such as ``"cfl-mgd/lemma-2"``.
    seed
        The same seed gives the same verdict and numbers.
    trials
        Random instances or repetitions; the check's own number where None.

    Raises
    ------
    InvalidArgument
        If the id, or one of those that repair the claim, is unknown, or a number is out of range.
    """
    claim = find_claim(claim_id)
    check_repairs([claim])
    check_seed(seed)
    if trials is not None:
        check_count("trials", trials, at_least=1, remedy="leave it out for the check's own number")
    started = time.perf_counter()
    finding = claim.check(Context(seed, trials, CLAIM_SIGNIFICANCE, claim.id))
    return make_verdict(claim, finding, seed, time.perf_counter() - started, trials)


def version() -> str:
    """Version of Clusterproof; empty where it is not installed."""
    try:
        return metadata.version("clusterproof")
    except metadata.PackageNotFoundError:
        return ""


def make_verdict(
    claim: Claim, finding: Finding, seed: int, seconds: float, trials: int | None = None
) -> Verdict:
    """Add to a finding its claim, seed, cost and version."""
    fields = dict(vars(finding))
    return Verdict(
        claim=claim.id,
        paper=claim.paper,
        label=claim.label,
        judges=claim.judges,
        failure=claim.failure,
        seed=seed,
        repaired_by=claim.repaired_by,
        seconds=seconds,
        requested_trials=trials,
        version=version(),
        **fields,
    )


def as_json(verdict: Verdict) -> dict[str, Any]:
    """Turn a verdict into the fields of a report: its own, and the counterexample as Python."""
    first = {name: getattr(verdict, name) for name in ("claim", "paper", "label", "judges", "failure")}
    return first | asdict(verdict) | {"code": code_of(verdict)}


def replay(
    claim_id: str,
    counterexample: dict[str, Any],
    *,
    recorded: tuple[float | None, float | None] | None = None,
) -> Finding:
    """Evaluate a counterexample again from its defining numbers.

    Parameters
    ----------
    claim_id
        Of the claim.
    counterexample
        As a verdict holds it.
    recorded
        Measured and bound as the report gives them (None: not finite), which must come out again.

    Returns
    -------
    Finding
        Violated (or ill-posed) where it still breaks the claim, consistent otherwise.

    Raises
    ------
    InvalidArgument
        If the claim is unknown or has no counterexamples, the numbers are not those of an instance
        that meets its hypotheses, or the recorded sides are others.
    RunDisagrees
        If a run of the algorithm gives something else than the numbers: the check itself is broken.
    """
    claim = find_claim(claim_id)
    if claim.reexamine is None:
        raise InvalidArgument("claim", claim_id, "must be a claim with counterexamples", "choose another")
    try:
        finding = claim.reexamine(counterexample)
    except (InvalidArgument, RunDisagrees):
        raise
    except (
        Exception
    ) as error:  # the numbers may come from a user's file: any error means that they are invalid
        raise InvalidArgument(
            "counterexample",
            counterexample,
            f"must hold the numbers that define an instance ({type(error).__name__}: {error})",
            f"take it from the JSON of `clusterproof check {claim_id}`",
        ) from error
    if recorded is not None:
        for name, written, found in zip(
            ("measured", "bound"), recorded, (finding.measured, finding.bound), strict=True
        ):
            if not is_close(written, found):
                raise InvalidArgument(
                    name,
                    written,
                    f"must be what the counterexample of {claim_id} gives, {found!r}",
                    "correct the report",
                )
    return finding


def is_close(recorded: Any, found: float | None, relative: float = 1e-6, absolute: float = 1e-12) -> bool:
    """Whether a recorded number is the computed one, up to what another processor's rounding changes."""
    if found is None or not math.isfinite(found):
        return recorded is None
    number = isinstance(recorded, int | float) and not isinstance(recorded, bool)
    return number and math.isclose(recorded, found, rel_tol=relative, abs_tol=absolute)

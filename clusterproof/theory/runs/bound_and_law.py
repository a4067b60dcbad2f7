"""Compare a run with what claims allow, and with the law of the algorithm that it declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.algorithms.calls import checked
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.runs.run_check import Answer, Inconclusive, compare
from clusterproof.theory.runs.same_law import same_law


def compare_with_law(
    claim_ids: Sequence[str], task: Mixture, trace: Trace, *, failure_probability: float | None = None
) -> dict[str, Answer]:
    """Compare a run with each claim, and with the law of its algorithm if it keeps to one of them.

    Parameters
    ----------
    claim_ids
        Claims that bound runs.
    task, trace, failure_probability
        As for ``bound``.

    Returns
    -------
    dict
        An answer for each claim. One that would be ``"holds"`` is ``"other law"`` if the law differs; else its sentence
        ends with what is known of the law.

    Raises
    ------
    InvalidArgument
        As for ``bound``.
    """
    answers = {
        name: compare(name, task, trace, failure_probability=failure_probability) for name in claim_ids
    }
    if any(answer.kind == "holds" for answer in answers.values()):
        differs, words = _law_of_run(task, trace)
        for name, answer in answers.items():
            if answer.kind != "holds":
                continue
            if differs:
                sentence = f"held, but not the law of this algorithm: {words}"
                answers[name] = replace(answer, kind="other law", sentence=sentence)
            else:
                answers[name] = replace(answer, sentence=f"{answer.sentence}; {words}")
    return answers


def _law_of_run(task: Mixture, trace: Trace) -> tuple[bool, str]:
    """Return whether a run is not of the law of its algorithm, and what is known of that."""
    try:
        name = dynamics_of(trace).name
        kind, sentence = same_law(task, trace, for_bound=True)
    except InvalidArgument as error:
        return False, f"the law was not compared: {' '.join(str(error).split())}"
    if kind == "holds":
        return False, f"no difference from the law of {name}"
    if kind == "inconclusive":
        return False, f"the law of {name} was compared without a result: {sentence}"
    if kind == "not compared":
        return False, f"the law was not compared: {sentence}"
    return True, sentence


@checked
def assert_holds(
    claim_id: str,
    task: Mixture,
    trace: Trace,
    *,
    failure_probability: float | None = None,
    inconclusive: Literal["raise", "pass"] = "raise",
) -> None:
    """Require that a run keeps to a claim and, where it can be compared, has the law of the algorithm that it declares.

    Parameters
    ----------
    claim_id, task, trace
        As for ``bound``.
    failure_probability
        The only one at which the bound is taken, in [1e-300, 1). If None, the claim is held at 1e-9/(6 R) for R
        replicates, 1e-4, .01, .05, .2 and .5, and a run that meets it is called broken with probability 1e-9 at most.
    inconclusive
        ``"raise"``, or ``"pass"`` where a run that is too small to tell will do.

    Raises
    ------
    AssertionError
        If it does not; says by how much, where and on which seed. Also if it keeps to the claim, but is not of the law
        of its algorithm; a run of that law is called so with probability 1e-9 at most.
    Inconclusive
        If the run is too small to tell whether it keeps to the claim; says how many replicates would decide.
    InvalidArgument
        As for ``bound``.

    Notes
    -----
    The law is compared as by ``assert_same_law``, where single precision counts as rounding. It is not compared, and
    the bound alone decides, if a run with noise has fewer than 50 replicates, or if the library's own run for this
    comparison would have more than 2e7 numbers.
    """
    if inconclusive not in ("raise", "pass"):
        raise InvalidArgument("inconclusive", inconclusive, "must be 'raise' or 'pass'", "leave it out")
    answer = compare_with_law([claim_id], task, trace, failure_probability=failure_probability)[claim_id]
    if answer.kind in ("broken", "other law"):
        raise AssertionError(f"{claim_id}: {answer.sentence}")
    if answer.kind == "inconclusive" and inconclusive == "raise":
        raise Inconclusive(f"{claim_id}: {answer.sentence}")

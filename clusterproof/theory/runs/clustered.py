"""The page of CFL-MGD and of IFCA on tasks whose optima are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.gaussian import SHARES
from clusterproof.theory.bounds.setting import largest_radius
from clusterproof.theory.bounds.trace_bound import ROUNDING, Compared, TraceBound, largest_length
from clusterproof.theory.claims.claim import REGISTRY
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.bounded import (
    FAILURE,
    counted,
    end_words,
    needs,
    outcome_of,
    place,
    says_nothing,
    sentence,
    theorem_on_run,
)
from clusterproof.theory.runs.law import Law, compare_law
from clusterproof.theory.runs.page import Entry, Page, TheoremOnRun, entry, three_digits
from clusterproof.theory.runs.picture import Curve, ErrorPicture, caption_of, error_curve, start_curve
from clusterproof.theory.runs.slowest_factor import SlowestFactor, factor_entry, slowest_factor
from clusterproof.theory.runs.zhao_2023 import printed_entries

BESIDE = ("cfl-mgd/theorem-a", "cfl-mgd/theorem-a-prime")
"""Theorems that are in the table of the page only."""


def clustered_page(task: Mixture, trace: Trace) -> Page:
    """Return the page of a run of CFL-MGD or IFCA with a model for each cluster, and known optima."""
    law, why = _law(task, trace)
    factor = slowest_factor(task, trace)
    run = entry("Run", sections.settings_line(task, trace), *sections.choices_lines(task, trace))
    about = sections.task_entry(task)
    head = (about, run, sections.error_entry(trace), factor_entry(trace, factor))
    differs = law is not None and (law.path_differs or law.noise_differs)
    theorem_d, shown_d, curve_d = theorem_d_entry(task, trace, differs)
    name = str(trace.settings["algorithm"]["algorithm"])
    end = (law_entry(law, why, name if name == "ifca" else "cfl-mgd"), next_entry(name, task))

    def beside() -> tuple[TheoremOnRun, ...]:
        known = (claim_id for claim_id in BESIDE if claim_id in REGISTRY)
        return tuple(theorem_on_run(one, task, trace, law_differs=differs)[0] for one in known)

    if name == "ifca":
        basin = basin_on_run(task, trace)
        blocks: tuple[tuple[str, tuple[Entry, ...]], ...] = (
            ("", head),
            ("Theorems", (entry("Basin", basin.words), shown_d, *end)),
        )
        theorems: tuple[TheoremOnRun, ...] = (basin, theorem_d)
        curves = curve_d
    else:
        printed, entries, curves = printed_entries(task, trace, factor)
        blocks = (("", head), ("As printed (Zhao et al. 2023)", entries), ("Repaired", (shown_d, *end)))
        theorems, curves = (*printed, theorem_d), (*curve_d, *curves)
    caption = caption_of(trace, (*about.lines, run.lines[0]))
    picture = error_picture(task, trace, factor, curves, caption)
    return Page(sections.title(trace), blocks, theorems, beside, picture)


def error_picture(
    task: Mixture, trace: Trace, factor: SlowestFactor | None, bounds: tuple[Curve, ...], caption: str
) -> ErrorPicture:
    """Return the picture of the largest error of a model: the runs, their path without noise, and bounds."""
    errors = sections.replicated(np.asarray(trace.errors), trace).max(axis=-1)
    several = task.clusters > 1
    name = str(trace.settings["algorithm"]["algorithm"]).upper()
    roles = {one.role for one in bounds}
    parts = [f"{name}: error of the run{'s' * (errors.shape[1] > 1)}"]
    parts += ["the printed bound"] if "printed" in roles else []
    parts += ["the repaired one" if "printed" in roles else "Theorem D"] if "repaired" in roles else []
    title = ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]
    curves = [error_curve(errors)]
    exact = isinstance(task, RegressionMixture) and task.data == "population"  # the run is this path
    measured = None
    if factor is not None:
        if factor.without_noise is not None and not exact:
            curves.append(Curve("without noise", "without noise", factor.without_noise.max(axis=-1)))
        if factor.measured.value is not None:
            words = f"{'slowest cluster: ' * several}{factor.measured.value:.4f} a round"
            measured = words, factor.measured.rounds
    quantity = r"error $\max_p \|\chi_p^t - \chi_p^*\|$" if several else r"error $\|\chi^t - \chi^*\|$"
    return ErrorPicture(title, quantity, caption, (*curves, *bounds, start_curve(errors)), measured)


def basin_on_run(task: Mixture, trace: Trace) -> TheoremOnRun:
    """Compare a run of IFCA with ``ifca/basin``: from within Delta/(1 + sqrt(L/mu)), exact losses find all clusters."""
    errors = sections.replicated(np.asarray(trace.errors), trace)
    claim, start, radius = "ifca/basin", float(errors[0].max()), largest_radius(task)
    algorithm = cfl_mgd_of(trace)
    if not isinstance(task, RegressionMixture):
        words = "does not apply: needs linear regression with exact losses"
        return TheoremOnRun(claim, "does not apply", None, None, words)
    if task.data != "population" and task.clusters > 1:
        words = (
            f"does not apply: needs exact losses (--data population); with them every start within "
            f"Delta/(1 + sqrt(L/mu)) = {radius:.3f} of the optima finds all clusters (this start: {start:.3g}; "
            f"the paper asks for {task.basin_radius:.3g})"
        )
        return TheoremOnRun(claim, "does not apply", None, None, words)
    scaled = algorithm.step_size * task.smoothness
    for met, needed, here in (
        (task.clusters > 1, "two clusters", "1"),
        (algorithm.averaging == "gradient", "averaged gradients", "averaged models"),
        (algorithm.participation == 1, "all clients", f"{100 * algorithm.participation:.3g} %"),
        (scaled <= 1 + 1e-12, "eta <= 1/L", f"{scaled:.4g}/L"),
        (start < radius, f"a start within Delta/(1 + sqrt(L/mu)) = {radius:.3f}", f"{start:.3g}"),
    ):
        if not met:
            words = f"does not apply: needs {needed}, here {here}"
            return TheoremOnRun(claim, "does not apply", None, None, words)
    contraction = 1 - algorithm.step_size * task.proportions * task.strong_convexity
    allowed = contraction ** np.arange(len(errors))[:, None, None] * errors[0]
    wrong, tolerance = int((trace.assignments != trace.labels).sum()), ROUNDING * largest_length(trace)
    limit, size, rounds = float(allowed[-1].max()), float(errors[-1].max()), trace.rounds
    if wrong or (errors > allowed * (1 + ROUNDING) + tolerance).any():
        words = f"broken: {wrong} choices of a cluster wrong, {_largest_excess(errors, allowed)}"
        return TheoremOnRun(claim, "broken", size, limit, words)
    ratio = f", {limit / size:.2g} x the error" if size > tolerance else ""
    words = (
        f"holds: every start within Delta/(1 + sqrt(L/mu)) = {radius:.3f} finds all clusters; no choice was wrong; "
        f"error <= {three_digits(limit)} after round {rounds}{ratio}"
    )
    return TheoremOnRun(claim, "holds", size, limit, words)


def _largest_excess(errors: np.ndarray, allowed: np.ndarray) -> str:
    at = np.unravel_index(int(np.argmax(errors - allowed)), errors.shape)
    return f"error {errors[at]:.3g} where {allowed[at]:.3g} is allowed, cluster {at[2] + 1}, round {at[0]}"


def theorem_d_entry(
    task: Mixture, trace: Trace, law_differs: bool
) -> tuple[TheoremOnRun, Entry, tuple[Curve, ...]]:
    """Return what Theorem D says of the run: both its bound on the error and that on the deviation; and its curve."""
    found, allowed = theorem_on_run("cfl-mgd/theorem-d", task, trace, law_differs=law_differs)
    if allowed is None:
        return found, entry("Theorem D", found.words), ()
    counts, compared = _counts_outside(trace, allowed)
    (before, early), (end, late) = counts
    runs = compared[0].measured.shape[1]
    outcome = outcome_of(counts, runs)
    if outcome == "holds" and says_nothing(compared[0]):
        outcome = "says nothing"
    tally = (
        f"runs outside: {before} of {runs} in some round (allowed {early * runs:.3g}), "
        f"{end} at the end ({late * runs:.3g})"
    )
    if outcome == "broken":
        worse = counts[0] if before * late >= end * early else counts[1]
        words = f"broken: {place(compared)}; {counted(worse[0], runs, worse[1])}"
        lines: Sequence[str] = (words,)
    elif outcome == "inconclusive":
        worse = counts[0] if before > early * runs else counts[1]
        words = f"inconclusive: {counted(worse[0], runs, worse[1])} outside; --replicates {10 * runs}"
        lines = (words,)
    else:
        words = sentence(outcome, compared[0], law_differs)
        lines = (words, tally)
    theorem = TheoremOnRun(found.claim, outcome, found.measured, found.bound, words)
    first, *rest = lines
    return theorem, entry("Theorem D", first, *rest), _curve_d(theorem, trace, allowed, compared[0])


def _curve_d(
    theorem: TheoremOnRun, trace: Trace, allowed: TraceBound, compared: Compared
) -> tuple[Curve, ...]:
    """Return the bound on the largest error: of all rounds before the last one at once, and that after the last."""
    bound = np.asarray(allowed.bound, dtype=float)
    values, last = bound.reshape(len(bound), -1).max(axis=1), float(compared.allowed[-1].max())
    values[-1] = np.nan
    name = "Theorem D" if trace.settings["algorithm"]["algorithm"] == "ifca" else "Theorem D (repaired)"
    label = f"{name}: {theorem.outcome}"
    size = theorem.measured
    if theorem.outcome == "holds" and size is not None and size > 1e-12 * compared.unit:
        of = end_words(compared.measured.shape[1])
        label = f"{name}: at the end {last / size:.2g} times {of}"
    return (Curve("repaired", label, values, last=last),)


def _counts_outside(
    trace: Trace, allowed: TraceBound
) -> tuple[tuple[tuple[int, float], tuple[int, float]], Any]:
    """Return the runs outside before the last round, and after it, each with its probability; and what is compared."""
    compared = allowed.compared(trace)
    outside = np.concatenate([one.above for one in compared], axis=-1).max(axis=-1) > 0  # (rounds + 1, R)
    probability = float(allowed.failure_probability)
    early = max(probability - SHARES[2] * FAILURE, 0.0)
    return ((int(outside[:-1].any(axis=0).sum()), early), (int(outside[-1].sum()), probability)), compared


def _law(task: Mixture, trace: Trace) -> tuple[Law | None, str]:
    """Compare the run with its exact law; without one, say why."""
    try:
        with np.errstate(all="ignore"):
            return compare_law(task, trace), ""
    except InvalidArgument as error:
        return None, needs(error).replace("does not apply", "not compared")


def law_entry(law: Law | None, why: str, name: str) -> Entry:
    """Return the entry Law."""
    if law is None:
        return entry("Law", why)
    parts = ["mean path (step, momentum, weights)"] if law.path_differs else []
    parts += [f"noise {law.noise:.3f} x"] if law.noise_differs else []
    if parts:
        return entry("Law", f"differs: {', '.join(parts)}")
    return entry("Law", f"the runs follow {name}'s exact law: noise {law.noise:.3f} x, mean path equal")


def next_entry(name: str, task: Mixture) -> Entry:
    """Return the entry Next: a command that goes on from here."""
    if name == "ifca" and isinstance(task, RegressionMixture) and task.data == "population":
        return entry("Next", "clusterproof run ifca                     new samples: a noise floor")
    if name == "ifca":
        return entry("Next", "clusterproof run ifca --data population   the basin with exact losses")
    return entry("Next", "clusterproof check cfl-mgd/lemma-2        where Lemma 2 is false")

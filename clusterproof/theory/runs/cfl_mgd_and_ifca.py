"""The page of CFL-MGD and of IFCA on tasks whose optima are known, with a model for each cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.gaussian import SHARES
from clusterproof.theory.bounds.hypotheses import Need, unmet
from clusterproof.theory.bounds.numbers import many
from clusterproof.theory.bounds.setting import largest_radius
from clusterproof.theory.bounds.trace_bound import ROUNDING, Compared, largest_length
from clusterproof.theory.papers.cfl_mgd import on_runs
from clusterproof.theory.papers.cfl_mgd.floor import C_4
from clusterproof.theory.papers.ifca.basin import contraction
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.bound import FAILURE
from clusterproof.theory.runs.factor import SlowestFactor, factor_entry, slowest_factor
from clusterproof.theory.runs.law import Law, compare_law, law_needs
from clusterproof.theory.runs.outcomes import end_words, judged_twice, quantile, said_of
from clusterproof.theory.runs.page import LABEL, WIDTH, Entry, Page, Section, TheoremOnRun, entry, following
from clusterproof.theory.runs.picture import Curve, ErrorPicture
from clusterproof.theory.runs.run import Run
from clusterproof.theory.runs.theorem import Row, Said, says, three_digits

BESIDE = ("cfl-mgd/theorem-a",)
"""Theorems that are in the table of the page only."""

REMEDY = "; --restarts 10, --least-share 0.1"
"""Of a lost cluster."""

FOUND = {1: "the cluster", 2: "both clusters"}


class ClusterRun(Run):
    """A run of CFL-MGD or IFCA."""

    @property
    def is_ifca(self) -> bool:
        """Whether it is called IFCA."""
        return self.name == "ifca"

    @property
    def exact(self) -> bool:
        """Whether it is of regression with exact losses and gradients."""
        return getattr(self.task, "data", "") == "population" and isinstance(self.task, RegressionMixture)

    @property
    def start(self) -> float:
        """The largest error at the start."""
        return float(self.errors[0].max())

    @cached_property
    def law(self) -> tuple[Law | None, str]:
        """How it compares with its exact law; without one, what that needs."""
        if needed := unmet(law_needs(self.task, self.trace)):
            return None, needed
        assert isinstance(self.task, RegressionMixture)
        with np.errstate(all="ignore"):
            return compare_law(self.task, self.trace), "Gaussian noise above rounding in some round"

    @property
    def law_differs(self) -> bool:
        """Whether it is of another law."""
        law = self.law[0]
        return law is not None and (law.path_differs or law.noise_differs)

    @cached_property
    def factor(self) -> SlowestFactor | None:
        """The factor of the slowest cluster."""
        return slowest_factor(self)

    @cached_property
    def printed(self) -> on_runs.OnRun:
        """Theorem 1's numbers."""
        return on_runs.on_run(self.task, self.trace)


def _theorem_1(run: ClusterRun) -> Said:
    one, share = run.printed, float(run.task.proportions.min())
    equals = "=" if one.known else ">="
    words = f"error <= rho {equals} {three_digits(one.conclusion)}"
    level, start = f" (lambda_i = {on_runs.LEVEL:g})", f", the start has {run.start:.3g}"
    if len(f"says nothing: {words}{level}{start}") > WIDTH - LABEL:
        level = ""
    lines = (
        f"its proof needs rho_0 <= {three_digits(one.allowed)} (A38); here rho_0 {equals} "
        f"{three_digits(one.floor)}, and never below l/4 = {share / 4:.3g}, however many samples; its T "
        f"{'=' if one.known else '<='} {one.rounds} rounds",
        f"printed factor 1 - l mu/8L = {one.factor:.4f}{_rounds_in_one(run.factor, one.factor)}",
    )
    said = says(
        "says nothing", f"{words}{level}{start}", quantile(run.errors[-1].max(axis=-1)), one.conclusion
    )
    return replace(said, lines=lines)


def _rounds_in_one(factor: SlowestFactor | None, rate: float) -> str:
    """Compare the measured factor with the printed one, in rounds."""
    value = None if factor is None else factor.measured.value
    if value is None or not 0 < value < 1:
        return ""
    count = float(np.log(value) / np.log(rate))
    shown = f"{count:.0f}" if count >= 10 else f"{count:.2g}"
    return f"; a round here does {shown} of them" if count > 1 else f"; the run's is {value:.4f}"


def lemma_2_on_run(run: ClusterRun) -> Said:
    """Compare every round with the printed Lemma 2, error <= rate * error before + rho_0."""
    errors, one = run.errors, run.printed
    last = one.factor * float(errors[-2].max()) + one.floor if len(errors) > 1 else one.floor
    numbers, allows = (quantile(errors[-1].max(axis=-1)), last), f"it allows + {one.floor:.2g} in every round"
    if one.floor >= errors[0].max():
        return Said("says nothing", f"says nothing here: {allows}; false elsewhere", *numbers)
    if not one.known:
        words = f"rho_0 is at least {one.floor:.2g}, and not known; false elsewhere"
        return says("inconclusive", words, *numbers)
    excess = errors[1:] - one.factor * errors[:-1] - one.floor
    if not (excess > ROUNDING * largest_length(run.trace)).any():
        return Said("holds", f"holds here: {allows}; false elsewhere", *numbers)
    at, number, cluster = np.unravel_index(int(np.argmax(excess)), excess.shape)
    seen, limit = errors[at + 1, number, cluster], one.factor * errors[at, number, cluster] + one.floor
    where = f"cluster {cluster + 1}, round {at + 1}"
    words = f"{seen:.3g} > {three_digits(limit)}, {where}"
    return says("broken" if one.certain else "inconclusive", words, *numbers)


def _remark_1(run: ClusterRun) -> Said:
    least = 16 * run.task.condition_number * float(C_4)
    return Said("broken", f"false: rho >= 4 L/mu = {least:.3g}, whatever m and n'")


def _hypotheses(run: ClusterRun) -> Iterator[Need]:
    return on_runs.needs_of(run.task, run.trace)


PRINTED = (
    Row("Theorem 1", "cfl-mgd/theorem-1", _theorem_1, _hypotheses),
    Row("Lemma 2", "cfl-mgd/lemma-2", lemma_2_on_run, _hypotheses),
    Row("Remark 1", "cfl-mgd/remark-1", _remark_1),
)


def _basin_needs(run: ClusterRun) -> Iterator[Need]:
    task, algorithm, radius = run.task, run.algorithm, largest_radius(run.task)
    scaled, share = algorithm.step_size * task.smoothness, algorithm.participation
    regression = isinstance(task, RegressionMixture)
    yield Need(regression, "linear regression with exact losses", "")
    limit, start = f"within Delta/(1 + sqrt(L/mu)) = {radius:.3f}", f"{run.start:.3g}"
    needed = (
        f"exact losses (--data population); with them every start {limit} of the optima finds all clusters"
    )
    needed += f" (this start: {start}; the paper asks for {task.basin_radius:.3g})"
    yield Need(run.exact or task.clusters == 1, needed, "")
    yield Need(task.clusters > 1, "two clusters", "1")
    yield Need(algorithm.averaging == "gradient", "averaged gradients", "averaged models")
    yield Need(share == 1, "all clients", f"{100 * share:.3g} %")
    yield Need(scaled <= 1 + 1e-12, "eta <= 1/L", f"{scaled:.4g}/L")
    yield Need(run.start < radius, f"a start {limit}", start)


def _basin(run: ClusterRun) -> Said:
    """Compare with ``ifca/basin``: from within Delta/(1 + sqrt(L/mu)), exact losses find all clusters."""
    task, errors, radius = run.task, run.errors, largest_radius(run.task)
    kept = contraction(
        run.algorithm.step_size, task.proportions, task.strong_convexity, np.arange(len(errors))
    )
    allowed = kept[:, None] * errors[0]
    wrong, tolerance = int((run.votes != task.labels).sum()), ROUNDING * largest_length(run.trace)
    limit, size = float(allowed[-1].max()), float(errors[-1].max())
    if wrong or (errors > allowed * (1 + ROUNDING) + tolerance).any():
        at = np.unravel_index(int(np.argmax(errors - allowed)), errors.shape)
        where = f"cluster {at[2] + 1}, round {at[0]}"
        words = (
            f"{wrong} choices of a cluster wrong, error {errors[at]:.3g} where {allowed[at]:.3g} is allowed"
        )
        return says("broken", f"{words}, {where}", size, limit)
    ratio = f", {limit / size:.2g} x the error" if size > tolerance else ""
    words = (
        f"every start within Delta/(1 + sqrt(L/mu)) = {radius:.3f} finds all clusters; no choice was wrong; "
        f"error <= {three_digits(limit)} after round {run.rounds}{ratio}"
    )
    return says("holds", words, size, limit)


BASIN = Row("Basin", "ifca/basin", _basin, _basin_needs)


def clustered_page(run: ClusterRun) -> Page:
    """Return the page of a run of CFL-MGD or IFCA with a model for each cluster, and known optima."""
    about = facts.task_entry(run.task)
    settings = entry("Run", _settings_line(run), *_choices_lines(run))
    head = (about, settings, *facts.error_entry(run), factor_entry(run, run.factor))
    theorem_d, shown_d, curves = _theorem_d(run)
    end = (shown_d, _law_entry(run), _next_entry(run))

    def beside() -> tuple[TheoremOnRun, ...]:
        known = (claim_id for claim_id in BESIDE if claim_id in REGISTRY)
        return tuple(said_of(one, run, law_differs=run.law_differs)[0].of(one) for one in known)

    theorems, shown = zip(*(row.on(run) for row in ((BASIN,) if run.is_ifca else PRINTED)), strict=True)
    blocks: tuple[Section, ...] = (("Theorems", (*shown, *end)),)
    if not run.is_ifca:
        if theorems[0].outcome == "does not apply":
            shown = (shown[0], entry("Lemma 2", "does not apply, as Theorem 1; false elsewhere"), shown[2])
        else:
            curves = (*curves, *_printed_curves(run))
        blocks = (("As printed (Zhao et al. 2023)", shown), ("Repaired", end))
    picture = _picture(run, curves, facts.caption_of(run, (*about.lines, settings.lines[0])))
    return Page(facts.title(run), (("", head), *blocks), (*theorems, theorem_d), beside, picture)


def _theorem_d(run: ClusterRun) -> tuple[TheoremOnRun, Entry, tuple[Curve, ...]]:
    """Return what Theorem D says of the run: both its bound on the error and that on the deviation; and its curve."""
    claim, label = "cfl-mgd/theorem-d", "Theorem D"
    found, allowed = said_of(claim, run, law_differs=run.law_differs)
    if allowed is None:
        return found.of(claim), entry(label, found.words), ()
    compared, probability = allowed.compared(run.trace), float(allowed.failure_probability)
    early = max(probability - SHARES[2] * FAILURE, 0.0)
    found, tally = judged_twice(compared, probability, early, run.law_differs)
    told = "" if found.outcome in ("broken", "inconclusive") else tally
    bound = np.asarray(allowed.bound, dtype=float)
    return found.of(claim), entry(label, found.words, told), (_curve_d(run, found, bound, compared[0]),)


def _curve_d(run: ClusterRun, found: Said, bound: np.ndarray, compared: Compared) -> Curve:
    """Return the bound on the largest error: of all rounds before the last one at once, and that after the last."""
    values, last = bound.reshape(len(bound), -1).max(axis=1), float(compared.allowed[-1].max())
    values[-1] = np.nan
    label = f"{'Theorem D' if run.is_ifca else 'Theorem D (repaired)'}: "
    size = found.measured
    if found.outcome == "holds" and size is not None and size > 1e-12 * compared.unit:
        label += f"at the end {last / size:.2g} times {end_words(run.runs)}"
    else:
        label += found.outcome
    return Curve("repaired", label, values, last=last)


def _printed_curves(run: ClusterRun) -> tuple[Curve, Curve]:
    """Return Theorem 1's rho, and its factor alone."""
    one, rounds = run.printed, np.arange(len(run.errors))
    level = "" if one.known else r"$\rho$, at least "
    words = rf"Theorem 1 as printed: error $\leq$ {level}{three_digits(one.conclusion)}"
    alone = f"its factor alone, {one.factor:.4f} a round"
    return (
        Curve("printed", words, np.full(len(rounds), one.conclusion)),
        Curve("printed factor", alone, run.start * one.factor**rounds),
    )


def _picture(run: ClusterRun, bounds: tuple[Curve, ...], caption: str) -> ErrorPicture:
    """Return the picture of the largest error of a model: the runs, their path without noise, and bounds."""
    errors, several = run.errors.max(axis=-1), run.task.clusters > 1
    roles = {one.role for one in bounds}
    parts = [f"{run.name.upper()}: error of the run{'s' * (run.runs > 1)}"]
    parts += ["the printed bound"] * ("printed" in roles)
    parts += ["the repaired one" if "printed" in roles else "Theorem D"] * ("repaired" in roles)
    title = " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
    curves, measured = [facts.error_curve(errors)], None
    if run.factor is not None:
        path, one = run.factor.without_noise, run.factor.measured
        if path is not None and not run.exact:  # else the run is this path
            curves.append(Curve("without noise", "without noise", path.max(axis=-1)))
        if one.value is not None:
            measured = f"{'slowest cluster: ' * several}{one.value:.4f} a round", one.rounds
    quantity = r"error $\max_p \|\chi_p^t - \chi_p^*\|$" if several else r"error $\|\chi^t - \chi^*\|$"
    start = facts.start_curve(errors)
    return ErrorPicture(title, quantity, caption, (*curves, *bounds, start), measured)


def _law_entry(run: ClusterRun) -> Entry:
    law, needed = run.law
    if law is None:
        return entry("Law", f"not compared: needs {needed}")
    parts = ["mean path (step, momentum, weights)"] * law.path_differs
    parts += [f"noise {law.noise:.3f} x"] * law.noise_differs
    if parts:
        return entry("Law", f"differs: {', '.join(parts)}")
    name = "ifca" if run.is_ifca else "cfl-mgd"
    return entry("Law", f"the runs follow {name}'s exact law: noise {law.noise:.3f} x, mean path equal")


def _next_entry(run: ClusterRun) -> Entry:
    if not run.is_ifca:
        return following(("check cfl-mgd/lemma-2", "where Lemma 2 is false"))
    if run.exact:
        return following(("run ifca", "new samples: a noise floor"))
    return following(("run ifca --data population", "the basin with exact losses"))


def _settings_line(run: ClusterRun) -> str:
    """Return the settings of a run, its rounds and its replicates."""
    algorithm = run.algorithm
    parts = [facts.step_words(algorithm.step_size * run.task.smoothness)]
    parts += [f"momentum {algorithm.momentum:.4g}"] * (not run.is_ifca)
    if algorithm.averaging == "model":
        parts.append(f"models averaged after {many(algorithm.local_steps, 'local step')}")
    else:
        parts += ["gradients averaged"] * run.is_ifca
        divisor = algorithm.normalisation.replace("cluster", "members")
        parts += [f"divided by the {divisor}"] * (divisor != "clients")
    parts += ["clients' momentum"] * (algorithm.momentum_owner == "client")
    parts += ["delayed gradients"] * (algorithm.update_order == "as-printed")
    parts += ["reset every round"] * algorithm.reset_momentum
    return ", ".join([*parts, *facts.share_words(algorithm), facts.runs_words(run)])


def _choices_lines(run: ClusterRun) -> list[str]:
    """Say which clusters were found, how many choices were wrong, and how probable one is at the start.

    A cluster is lost in a run where at most half of its clients choose its model in the end.
    """
    task, trace = run.task, run.trace
    last, took_part = trace.last_assignments.reshape(-1, task.clients), trace.assignments >= 0
    wrong, total = int((took_part & (trace.assignments != trace.labels)).sum()), int(took_part.sum())
    lost = _lost_clusters(last, trace.labels, task.clusters)
    of_all = f"{wrong} of {f'{total / 1e6:.3g} million' if total >= 1e6 else total} choices"
    lines = [f"{of_all} of a cluster wrong"]
    if lost:
        lines = [f"{lost[0]}{'; others, too' * (len(lost) > 1)}{REMEDY}; {of_all} wrong"]
    elif trace.rounds > 0 and (last >= 0).all():
        found = FOUND.get(task.clusters, f"all {task.clusters} clusters")
        lines = [f"{found} found; {lines[0]}"]
    if isinstance(task, RegressionMixture) and task.data == "fresh":
        first = run.models[0, 0]
        chances = [task.misclassification_probability(first, p).sum() for p in range(task.clusters)]
        largest = min(1.0, float(max(chances)))
        size = "below 1e-300" if largest < 1e-300 else f"at most {largest:.2g}"
        lines.append(f"(probability of a wrong choice at the start: {size})")
    return lines


def _lost_clusters(last: np.ndarray, labels: np.ndarray, clusters: int) -> list[str]:
    """Name the lost clusters, counted from 1, of last choices (R, m), with what their clients chose."""
    lost = []
    for cluster in range(clusters):
        chosen = last[:, labels == cluster]
        known = (chosen >= 0).sum(axis=1)
        where = (known > 0) & (2 * (chosen == cluster).sum(axis=1) <= known)
        if where.any():
            others = chosen[where]
            model = np.bincount(others[(others >= 0) & (others != cluster)]).argmax() + 1
            in_runs = "" if where.all() else f" in {where.sum()} of {len(last)} runs"
            words = (
                f"cluster {cluster + 1} ({chosen.shape[1]} clients) lost{in_runs}: they chose model {model}"
            )
            lost.append(words)
    return lost

"""The page of a run of FPFC: its task, its groups, and Theorem 1, as printed and as repaired, beside mean residuals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from clusterproof.algorithms.fpfc import group_averages
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.bounds.hypotheses import unmet
from clusterproof.theory.bounds.numbers import apart, many, short
from clusterproof.theory.claims.statistics import CLAIM_SIGNIFICANCE, binomial_tail
from clusterproof.theory.papers.fpfc.measured import objective
from clusterproof.theory.papers.fpfc.runs import ResidualSeries, mean_bound, repaired_needs, residual_series
from clusterproof.theory.papers.fpfc.theorem_1 import Constants, printed_needs, printed_setting
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.bound import FAILURE
from clusterproof.theory.runs.page import (
    LABEL,
    WIDTH,
    Curve,
    Entry,
    Outcome,
    Page,
    ResidualPicture,
    Role,
    Said,
    Section,
    TheoremOnRun,
    entry,
    says,
)
from clusterproof.theory.runs.run import Run

SETTLED = 0.1
"""Largest share of the sum over all rounds in the second half for which the first rounds make the mean."""

MOST_STEPS = 1000
"""Local steps beyond which none are proposed."""

MODELS, DUALS, MAPPING = "|grad_w L_0|^2", "|grad_v L_0|^2", "|G|^2, largest"
HEADING = "Theorem 1 as printed (Yu et al. 2023), misprinted exponents of c restored"
PRINTED = ("fpfc/theorem-1-models", "fpfc/theorem-1-participation", "fpfc/theorem-1-mapping")
REPAIRED = ("fpfc/repaired-models", "fpfc/one-term", "fpfc/repaired-duals", "fpfc/repaired-mapping")
NEVER_FALLS = "says nothing: met before round 1, never falls."


class FusionRun(Run):
    """A run of FPFC."""

    @cached_property
    def setting(self) -> Constants:
        """Theorem 1's constants."""
        task = self.task
        smoothness = task.client_smoothness if isinstance(task, QuadraticMixture) else task.smoothness
        return printed_setting(Constants(self.algorithm, task.clients, smoothness, 0.0))

    @property
    def sure(self) -> bool:
        """Whether bounds are on every run, and not on an expectation."""
        return self.setting.participation == 1

    @cached_property
    def apply(self) -> bool:
        """Whether Theorem 1's hypotheses are met."""
        return all(need.met for need in printed_needs(self.setting))

    @cached_property
    def series(self) -> ResidualSeries:
        """Its residuals."""
        assert isinstance(self.task, QuadraticMixture)
        return residual_series(self.algorithm, self.task, self.trace)

    @cached_property
    def height(self) -> np.ndarray:
        """At least F(w^0) - F*, (R,): F* is at least the sum of the clients' minima, 0 for quadratics."""
        task: Any = self.task
        start = np.broadcast_to(self.models[0][:, :1], (self.runs, task.clients, task.dimension))
        return np.asarray(objective(self.algorithm, task, start))

    @property
    def excluded(self) -> tuple[Said, str] | None:
        """Why no theorem is about it, and the option that changes that."""
        algorithm = self.algorithm
        if algorithm.penalty != "scad":
            words, option = f"needs the penalty SCAD, here {algorithm.penalty}", "--penalty scad"
            return says("does not apply", words), option
        if algorithm.start != "common":
            return says("does not apply", "needs one start, here every client's own"), "--start common"
        if algorithm.pair_rule == "both" and algorithm.participation < 1:
            words = "needs every pair with a participant updated, here with two"
            return says("does not apply", words), "--pair-rule either"
        if self.rounds == 0:
            return Said("says nothing", "says nothing of a run without rounds"), "--rounds 300"
        if self.task.clients == 1:
            return Said("says nothing", "says nothing of one client, which has no pairs"), "--clients 40"
        if isinstance(self.task, QuadraticMixture):
            return None
        words = f"no lower bound of F* and no exact gradients for {self.task.name} losses"
        return says("inconclusive", words), "--task quadratic"


@dataclass(frozen=True)
class Held:
    """A mean of residuals beside a bound, of the run that is nearest to it.

    Attributes
    ----------
    outcome
        Of all runs.
    run
        Which of them is shown.
    measured, bound
        Of that run.
    start
        The quantity before the first round.
    outside
        Number of runs above the bound.
    """

    outcome: Outcome
    run: int
    measured: float
    bound: float
    start: float
    outside: int


def last_bounds(run: FusionRun, factor: float, smoothing: float) -> np.ndarray:
    """Return factor D_0 / K after the last round, (R,), for all but 5 % of the runs where chance decides."""
    assert isinstance(run.task, QuadraticMixture)
    values = run.series.models[1:]
    allowed = mean_bound(run.setting, run.task, run.trace, values, factor, "", FAILURE, smoothing)
    return np.asarray(np.reshape(allowed.bound, (run.rounds + 1, run.runs))[-1])


def held(run: FusionRun, values: np.ndarray, factor: float, smoothing: float) -> Held:
    """Hold the means over rounds of ``values`` (rounds + 1, R) to factor D_0 / K."""
    means, bounds = values[1:].mean(axis=0), last_bounds(run, factor, smoothing)
    outside, nearest = int((~(means <= bounds * (1 + 1e-9))).sum()), int(np.argmax(means / bounds))
    start, bound = float(values[0, nearest]), float(bounds[nearest])
    outcome: Outcome = "holds"
    if outside and (run.sure or binomial_tail(outside, run.runs, FAILURE) <= CLAIM_SIGNIFICANCE):
        outcome = "broken"
    elif start and bound >= start:
        outcome = "says nothing"
    # by chance as many runs could be outside, or so few runs could never have shown it
    elif not run.sure and (outside > FAILURE * run.runs or FAILURE**run.runs > CLAIM_SIGNIFICANCE):
        outcome = "inconclusive"
    return Held(outcome, nearest, float(means[nearest]), bound, start, outside)


def _sentence(run: FusionRun, name: str, row: Held) -> Said:
    """Return the sentence about a bound."""
    outside, numbers = f"{row.outside} of {many(run.runs, 'run')}", (row.measured, row.bound)
    allowed = f"(allowed {math.floor(FAILURE * run.runs)})"
    if row.outcome == "broken":
        runs = "" if run.sure else f"; {outside} {allowed}"
        words = f"{' > '.join(apart(row.measured, row.bound))}{runs}"
    elif row.outcome == "says nothing":
        words = f"mean <= {short(row.bound)}, round 0 has {short(row.start)}"
    elif row.outcome == "inconclusive":
        deciding = math.ceil(math.log(CLAIM_SIGNIFICANCE) / math.log(FAILURE))
        least = deciding if run.runs < deciding else 2 * run.runs
        words = f"{outside} outside; --replicates {least}"
    else:
        words = f"mean <= {short(row.bound)}{'' if run.sure else f'; {outside} outside {allowed}'}"
    return Said(row.outcome, f"{name} {row.outcome}: {words}.", *numbers)


def _printed(run: FusionRun) -> tuple[tuple[Said, str], ...]:
    """Return Theorem 1's three inequalities, as printed: what each says, and its line of the table."""
    one, series = run.setting, run.series
    largest, not_met = float(series.mapping[1:].max()), ""
    if not run.apply:
        failing = next(need for need in printed_needs(one) if not need.met)
        not_met = f"Theorem 1 does not apply: needs {failing.here}."

    def mean(label: str, quantity: str, values: np.ndarray, factor: float) -> tuple[Said, str]:
        if run.apply and factor > 0:
            row = held(run, values, factor, one.start)
            line = _line(quantity, row.measured, row.bound, _fall(values[1:, row.run]))
            return _sentence(run, f"Bound on {label}", row), line
        means = values[1:].mean(axis=0)
        worst = int(means.argmax())
        size = float(means[worst])
        said = _negative(run, size, worst) if run.apply else Said("does not apply", not_met, size)
        return said, _line(quantity, size, said.bound, _fall(values[1:, worst]))

    if not run.apply:
        mapping = Said("does not apply", not_met, largest)
    elif not one.penalty.concavity > 2:
        words = f"Bound on Mapping does not apply: needs a > 2, here {short(one.penalty.concavity)}."
        mapping = Said("does not apply", words, largest)
    else:
        # the pair variables are computed by the printed rule, for which it holds whatever the models are
        mapping = Said("says nothing", f"Bound on Mapping {NEVER_FALLS}", largest, one.mapping_bound)
    return (
        mean("Models", MODELS, series.models, one.first if run.apply else 0.0),
        mean("Duals", DUALS, series.duals, one.second if run.apply else 0.0),
        (mapping, _line(MAPPING, largest, mapping.bound, "never")),
    )


def _negative(run: FusionRun, mean: float, worst: int) -> Said:
    """Return what is said where C_1 <= 0, which no mean square is below."""
    one = run.setting
    scale, other = (float(run.height[worst]) + one.start) / run.rounds, one.first_of(one.power)
    bound = one.first * scale
    words = f"Bound on Models broken: {short(mean)} > {short(bound)}, as C_1 = {short(one.first)} < 0."
    if other > 0 and run.sure:
        kept = "kept" if mean <= other * scale else "not kept"
        reading = f"C_1 = {short(other)}, bound {short(other * scale)}, {kept}"
        words += f" Read with q for (c^(-T/2) - 1)^-1: {reading}."
    return Said("broken", words, mean, bound)


def _repaired_factors(run: FusionRun) -> dict[str, float]:
    """Return the factors of D_0/K in the repaired bounds on the models, by claim."""
    one = run.setting
    factors = {REPAIRED[0]: one.local_steps_factor + one.pairs_factor}
    if one.algorithm.pair_rule == "all" or run.sure:
        factors[REPAIRED[1]] = one.local_steps_factor
    return factors


def _repaired(run: FusionRun) -> tuple[list[Said], str, str]:
    """Return the repaired inequalities: what they say, a line of the table, empty for none, and a sentence."""
    one, series, needed = run.setting, run.series, unmet(repaired_needs(run.setting))
    if needed:
        said = Said("does not apply", f"Repaired does not apply: needs {needed}.")
        return [said] * len(REPAIRED), "", said.words
    start = one.repaired_start
    found = {claim: held(run, series.models, f, start) for claim, f in _repaired_factors(run).items()}
    duals = held(run, series.duals, one.second / one.pair_participation, start)
    all_said = [_sentence(run, "Repaired", row) for row in found.values()]
    if REPAIRED[1] not in found:
        waiting = "Repaired does not apply: needs every pair updated in every round."
        all_said.append(Said("does not apply", waiting))
    all_said.append(_sentence(run, "Repaired duals", duals))
    if one.penalty.concavity > 2:
        most, largest = (1 - 1 / one.clients) * one.mapping_bound, float(series.mapping[1:].max())
        all_said.append(Said("says nothing", f"Repaired mapping {NEVER_FALLS}", largest, most))
    else:
        words = f"Repaired mapping does not apply: needs a > 2, here {short(one.penalty.concavity)}."
        all_said.append(Said("does not apply", words))
    best = min(found, key=lambda claim: found[claim].bound)
    a_t, b = short(one.local_steps_factor, 2), short(one.pairs_factor, 2)
    name = f"Repaired (A_T D_0/K, A_T = {a_t}, any T)"
    if best == REPAIRED[0]:
        name = f"Repaired ((A_T + B) D_0/K, A_T = {a_t}, B = {b}, any T)"
    shown = found[best]
    line = _line("repaired bound", None, shown.bound, "", of=shown.measured)
    return all_said, line, _sentence(run, name, shown).words


def _line(name: str, measured: float | None, bound: float | None, fall: str, of: float | None = None) -> str:
    """Return a line of the table; the ratio is of the bound to ``of``, or to what was measured."""
    value = measured if of is None else of
    ratio = "" if bound is None or bound < 0 or not value else short(bound / value, 2)
    shown = ["" if measured is None else short(measured), "none" if bound is None else short(bound)]
    return f"{name:<20}{shown[0]:>9}{shown[1]:>9}{ratio:>16}  {fall}".rstrip()


def _fall(values: np.ndarray) -> str:
    """Return the power of K that the running mean of ``values`` (rounds,) follows over the second half of a run."""
    counts = np.arange(1, len(values) + 1)
    means, half = np.cumsum(values) / counts, slice(len(values) // 2, None)
    if len(values) < 4 or not ((means[half] > 0) & np.isfinite(means[half])).all():
        return ""
    slope = float(np.polyfit(np.log(counts[half]), np.log(means[half]), 1)[0])
    return f"K^{slope:.2f}" if slope < -0.005 else "never"


def _remark(run: FusionRun) -> str:
    """Return what bounds are of where chance decides, else the last round where the first ones make the mean."""
    if not run.sure:
        return f"Bounds: {round(1 / FAILURE)} x expectations', exceeded with probability <= {FAILURE}."
    values = run.series.models[1:]
    late = values[len(values) // 2 :].sum(axis=0)
    if len(values) < 4 or not (late <= SETTLED * values.sum(axis=0)).all() or not values[0].all():
        return ""
    last = f"{'at most ' * (run.runs > 1)}{short(float(values[-1].max()), 2)}"
    return f"Round {run.rounds} alone has {last}: 1/K is the mean's rate, not the method's."


def fusion_page(run: FusionRun) -> Page:
    """Return the page of a run of FPFC."""
    kind = "quadratics" if isinstance(run.task, QuadraticMixture) else f"{run.task.name} losses"
    title = f"fpfc on {kind}{'' if run.trace.errors is None else ' with known optima'}"
    about, settings = _task(run), _run(run)
    known = ("", (about, settings, *_groups(run)))
    if run.excluded is not None:
        said, option = run.excluded
        shown = (
            entry("Theorem 1", f"(Yu et al. 2023) {said.words}"),
            entry("Next", f"clusterproof run fpfc {option}"),
        )
        theorems = tuple(said.of(claim) for claim in (*PRINTED, *REPAIRED))
        return Page(title, (known, ("Theorems", shown)), theorems)
    sections, theorems = _sections(run)
    picture = _picture(run, (*about.lines, *settings.lines))
    return Page(title, (known, *sections), theorems, picture=picture)


def _sections(run: FusionRun) -> tuple[tuple[Section, Section], tuple[TheoremOnRun, ...]]:
    """Return the sections and rows of the theorems."""
    printed, (repaired, line, sentence) = _printed(run), _repaired(run)
    said = [one for one, _ in printed]
    lines = [
        entry(label, line) for label, (_, line) in zip(("Models", "Duals", "Mapping"), printed, strict=True)
    ]
    lines[1:1] = [entry("", line)] if line else []
    if not run.apply:
        meaning = [said[0].words]
    elif run.sure and said[0].outcome == said[1].outcome == "holds":
        meaning = ["Bounds on Models and Duals hold.", said[2].words]
    else:
        meaning = [one.words for one in said]
    words = " ".join(part for part in (*meaning, sentence, _remark(run)) if part)
    option = _next_option(run)
    following = [entry("Next", f"{f'clusterproof run fpfc {option[0]}':<46}{option[1]}")] if option else []
    means = f"{'worst mean' if run.runs > 1 else 'mean'}, rounds 1 to {run.rounds}"
    header = f"{means:<31}{'measured':>8}{'bound':>9}{'bound/measured':>16}  falls as"
    theorems = [one.of(claim) for claim, one in zip((*PRINTED, *REPAIRED), (*said, *repaired), strict=True)]
    return (
        (HEADING, (_needs(run), _constants(run))),
        (header, (*lines, entry("Meaning", words), *following)),
    ), tuple(theorems)


def _needs(run: FusionRun) -> Entry:
    lines = [f"{need.words}: {'met' if need.met else 'not met'}" for need in printed_needs(run.setting)]
    if len(lines) < 3 and run.sure:  # where chance decides, the lines are for that
        lines.append("(the paper's experiments: rho = 1, where these need rho > 1200)")
    return entry("Needs", *lines)


def _constants(run: FusionRun) -> Entry:
    one = run.setting
    distance = f"D_0 = F(w^0) - F* + m xi lambda/4 <= {short(float(run.height.max()) + one.start)}"
    if not run.apply:
        return entry("Constants", distance)
    first = f"C_1 = {short(one.first)} {'>' if one.first > 0 else '<'} 0, C_2 = {short(one.second, 2)}"
    fits = len(f"{first}; {distance}") <= WIDTH - LABEL
    return entry("Constants", *([f"{first}; {distance}"] if fits else [first, distance]))


def _next_option(run: FusionRun) -> tuple[str, str] | None:
    """Return an option with which the theorem says something else, the other parameters being the run's, and what."""
    one = run.setting
    steps, rho, least = run.local_steps, run.algorithm.augmentation, 2 * one.penalty.lipschitz

    def first_of(
        counts: Iterator[int] | Sequence[int] | range, sign: int, remark: str
    ) -> tuple[str, str] | None:
        found = next((count for count in counts if _sign(one, count) == sign), None)
        return None if found is None else (f"--local-steps {found}", remark)

    if not rho > least:
        return f"--augmentation {math.floor(least) + 1}", "above 2 L_g"
    if run.apply and one.first > 0:
        return first_of(range(steps - 1, 0, -1), -1, "C_1 < 0: bound broken")
    if one.weak_convexity < rho:
        return first_of(range(steps + 1, MOST_STEPS), 1, "C_1 > 0")
    longest = 1 / (one.smoothness + 2 * rho)
    return f"--step-size {short(0.9 * longest, 2)}", "below 1/(L_f + 2 rho)"


def _sign(setting: Constants, local_steps: int) -> int:
    """Return C_1's sign with so many local steps; 0 where the hypotheses fail."""
    tried = replace(setting, algorithm=replace(setting.algorithm, local_steps=local_steps))
    return int(math.copysign(1, tried.first)) if tried.admissible else 0


def _picture(run: FusionRun, known: Sequence[str]) -> ResidualPicture:
    """Return the picture of the run whose mean is nearest to the printed bound."""
    one, counts = run.setting, np.arange(1, run.rounds + 1)
    means = run.series.models[1:].mean(axis=0)
    shown = int(np.argmax(means / (run.height + one.start)))
    alone = run.series.models[1:, shown]
    which = f"worst of {run.runs} runs" if run.runs > 1 else "run"
    curves = [
        Curve("run", f"{which}: mean over rounds 1 to $K$", np.cumsum(alone) / counts),
        Curve("round alone", "round $K$ alone", alone),
    ]
    ratios: dict[Role, str] = {}
    bounds: list[tuple[Role, str, float, float]] = []
    if run.apply and 0 < one.first < math.inf:
        bounds.append(("printed", "bound as printed", one.first, one.start))
    if not unmet(repaired_needs(one)):
        bounds.append(("repaired", "repaired", min(_repaired_factors(run).values()), one.repaired_start))
    for role, name, factor, smoothing in bounds:
        end = float(last_bounds(run, factor, smoothing)[shown])
        written = short(factor / (1.0 if run.sure else FAILURE))
        curves.append(Curve(role, rf"{name}, ${written}\,D_0/K$", end * run.rounds / counts))
        if means[shown] > 0:
            ratios[role] = short(end / float(means[shown]), 2)
    gap = short(float(run.height.max()) + one.start)
    told = [*known, rf"$D_0 = F(w^0) - F^* + m\xi\lambda/4 \leq {gap}$", *[_remark(run)] * (not run.sure)]
    groups = 1 + (np.diff(np.sort(run.votes, axis=-1), axis=-1) != 0).sum(axis=-1)
    caption = facts.caption_of(run, told)
    return ResidualPicture(caption, tuple(curves), ratios, groups, len(np.unique(run.trace.labels)))


def _task(run: FusionRun) -> Entry:
    task = run.task
    sizes = np.bincount(task.labels)
    groups = f"{len(sizes)} groups"
    if np.ptp(sizes) == 0:
        groups = f"{many(len(sizes), 'group')} of {sizes[0]}"
    elif len(sizes) <= 4:
        groups = f"groups of {', '.join(map(str, sizes[:-1]))} and {sizes[-1]}"
    clients = f"m = {task.clients} clients in {groups}, d = {task.dimension}"
    separate = f"optima: groups >= {short(task.separation)} apart" if len(sizes) > 1 else "one optimum"
    if not isinstance(task, QuadraticMixture):
        curvatures = f"L = {short(task.smoothness)}, mu = {short(task.strong_convexity)}"
        return entry("Task", f"{clients}, {curvatures}", separate)
    least = float(np.linalg.eigvalsh(task.hessians).min())
    away = float(np.linalg.norm(task.centers - task.optima[task.labels], axis=-1).max())
    curvatures = f"L_f = {short(task.client_smoothness)}, mu = {short(least)}"
    first = f"{clients}, no noise, {curvatures}"
    first = first if len(first) <= WIDTH - LABEL else f"{clients}, {curvatures}"
    return entry("Task", first, f"{separate}, clients <= {short(away)} from their group's")


def _run(run: FusionRun) -> Entry:
    algorithm, setting = run.algorithm, run.setting
    scad = algorithm.penalty == "scad"
    parts = [f"lambda {short(algorithm.strength)}"]
    if scad:
        parts += [f"xi {short(setting.penalty.smoothing)}", f"a {short(setting.penalty.concavity)}"]
    penalised = f"{'SCAD' if scad else algorithm.penalty}: {', '.join(parts)}"
    first = f"{penalised}; rho {short(algorithm.augmentation)}"
    who = "all clients" if run.sure else f"{setting.active} of {run.task.clients} clients a round"
    longest = 1 / (setting.smoothness + 2 * algorithm.augmentation)
    named = run.quadratics is not None and math.isclose(algorithm.step_size, longest, rel_tol=1e-9)
    step = "1/(L_f + 2 rho)" if named else short(algorithm.step_size)
    more = [f"{many(run.rounds, 'round')} of {many(run.local_steps, 'local step')} {step}"]
    more.append(f"nu {short(algorithm.threshold)}")
    more += [many(run.runs, "run")] * (run.trace.models.ndim == 4)
    more += ["own starts"] * (algorithm.start == "own")
    more += [f"pairs: {algorithm.pair_rule}"] * (algorithm.pair_rule != "either")
    if len(f"{first}; {who}") <= WIDTH - LABEL:
        return entry("Run", f"{first}; {who}", "; ".join(more))
    return entry("Run", first, "; ".join([who, *more]))


def _groups(run: FusionRun) -> tuple[Entry, ...]:
    """Return the groups after the last round, since when they are those, and where their means are."""
    if run.rounds == 0:
        return ()
    truth, ends = run.task.labels, run.votes[-1]
    found, right = facts.found_words(run.votes, truth), all(facts.is_true(end, truth) for end in ends)
    if run.trace.errors is None:
        return (entry("Groups", found),)
    means = np.stack([group_averages(one, end) for one, end in zip(run.models[-1], ends, strict=True)])
    distances = np.linalg.norm(means[:, :, None] - run.task.optima, axis=-1)
    away = float(distances.min(axis=-1).max())
    if right:
        away = float(distances[:, np.arange(run.task.clients), truth].max())
    plural = "means end" if max(len(np.unique(end)) for end in ends) > 1 else "its mean ends"
    where = f"within {short(away)} of {'the optima' if right else 'the nearest optimum'}"
    return (entry("Groups", f"{found}; {plural} {where}"),)

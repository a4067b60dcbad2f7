"""The page of a run of FPFC: its task, its groups, and Theorem 1, as printed and as repaired, beside mean residuals."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any, get_args

import numpy as np

from clusterproof.algorithms.fpfc import group_averages
from clusterproof.checker.claims.statistics import CLAIM_SIGNIFICANCE, binomial_tail
from clusterproof.common import InvalidArgument
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.bounds.numbers import apart, many, short
from clusterproof.theory.papers.fpfc.measured import objective
from clusterproof.theory.papers.fpfc.runs import ResidualSeries, mean_bound, residual_series
from clusterproof.theory.papers.fpfc.theorem_1 import Constants, printed_needs, printed_setting
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.bound import FAILURE, bound
from clusterproof.theory.runs.outcomes import needs
from clusterproof.theory.runs.page import Entry, Outcome, Page, Section, entry, following
from clusterproof.theory.runs.picture import Curve, ResidualPicture, Role
from clusterproof.theory.runs.run import Run
from clusterproof.theory.runs.theorem import Said

SETTLED = 0.1
"""Largest share of the sum over all rounds in the second half for which the first rounds make the mean."""

MOST_STEPS = 1000
"""Local steps beyond which none are proposed."""

HEADING = "Theorem 1 as printed (Yu et al. 2023), misprinted exponents of c restored"
PRINTED = {
    "fpfc/theorem-1-models": ("Models", "|grad_w L_0|^2"),
    "fpfc/theorem-1-participation": ("Duals", "|grad_v L_0|^2"),
    "fpfc/theorem-1-mapping": ("Mapping", "|G|^2, largest"),
}
"""By claim, the label of its line, and the quantity."""

REPAIRED = {
    "fpfc/repaired-models": "Repaired",
    "fpfc/one-term": "Repaired",
    "fpfc/repaired-duals": "Repaired duals",
    "fpfc/repaired-mapping": "Repaired mapping",
}
NEEDS = {"pair_rule": "every pair updated in every round", "concavity": "a > 2, here {:g}"}
"""What a repaired inequality needs, by the argument that it refuses, in the words of the page."""


class FusionRun(Run):
    """A run of FPFC."""

    @cached_property
    def setting(self) -> Constants:
        """Theorem 1's constants."""
        return printed_setting(Constants(self.algorithm, self.task.clients, self.client_smoothness, 0.0))

    @property
    def sure(self) -> bool:
        """Whether bounds are on every run, and not on an expectation."""
        return self.setting.participation == 1

    @cached_property
    def unmet(self) -> str:
        """The first of Theorem 1's hypotheses that is not met; empty if all are."""
        return next((need.here for need in printed_needs(self.setting) if not need.met), "")

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

    def printed(self, factor: float) -> np.ndarray:
        """Return factor D_0 / K after the last round, (R,), for all but 5 % of the runs where chance decides."""
        assert isinstance(self.task, QuadraticMixture)
        given = self.setting, self.task, self.trace, self.series.models[1:]
        return self._last(mean_bound(*given, factor, "", FAILURE, self.setting.start).bound)

    @cached_property
    def repaired(self) -> dict[str, np.ndarray | str]:
        """By claim, the bounds after the last round, (R,), or what it needs."""
        found: dict[str, np.ndarray | str] = {}
        for claim in REPAIRED:
            try:
                allowed = bound(claim, self.task, self.trace, failure_probability=FAILURE)
                found[claim] = self._last(allowed.bound)
            except InvalidArgument as error:
                needed = NEEDS.get(error.argument, "").format(error.value)
                found[claim] = f"does not apply: needs {needed}" if needed else needs(error)
        return found

    def _last(self, bounds: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.reshape(bounds, (self.rounds + 1, -1))[-1], self.runs)

    @property
    def excluded(self) -> tuple[Said, str] | None:
        """Why no theorem is about it, and the option that changes that."""
        algorithm, task, no = self.algorithm, self.task, "does not apply: needs"
        wait = algorithm.pair_rule == "both" and algorithm.participation < 1
        unknown = f"inconclusive: no lower bound of F* and no exact gradients for {task.name} losses"
        cases = (
            (
                algorithm.penalty != "scad",
                f"{no} the penalty SCAD, here {algorithm.penalty}",
                "--penalty scad",
            ),
            (algorithm.start != "common", f"{no} one start, here every client's own", "--start common"),
            (wait, f"{no} every pair with a participant updated, here with two", "--pair-rule either"),
            (self.rounds == 0, "says nothing of a run without rounds", "--rounds 300"),
            (task.clients == 1, "says nothing of one client, which has no pairs", "--clients 40"),
            (not isinstance(task, QuadraticMixture), unknown, "--task quadratic"),
        )
        for case, words, option in cases:
            if case:
                return Said(next(one for one in get_args(Outcome) if words.startswith(one)), words), option
        return None


def held(run: FusionRun, name: str, values: np.ndarray, bounds: np.ndarray) -> tuple[Said, int]:
    """Hold the means over rounds of values (rounds + 1, R) to bounds (R,): the sentence, and the nearest run."""
    means = values[1:].mean(axis=0)
    outside, nearest = int((~(means <= bounds * (1 + 1e-9))).sum()), int(np.argmax(means / bounds))
    mean, limit, start = (float(each[nearest]) for each in (means, bounds, values[0]))
    counted = f"{outside} of {many(run.runs, 'run')}"
    allowed = "" if run.sure else f"{{}} (allowed {math.floor(FAILURE * run.runs)})"
    few = FAILURE**run.runs > CLAIM_SIGNIFICANCE  # which could never have shown it
    outcome: Outcome = "holds"
    words = f"mean <= {short(limit)}" + allowed.format(f"; {counted} outside")
    if outside and (run.sure or binomial_tail(outside, run.runs, FAILURE) <= CLAIM_SIGNIFICANCE):
        outcome, words = "broken", " > ".join(apart(mean, limit)) + allowed.format(f"; {counted}")
    elif start and limit >= start:
        outcome, words = "says nothing", f"mean <= {short(limit)}, round 0 has {short(start)}"
    elif not run.sure and (few or outside > FAILURE * run.runs):  # as many could be outside by chance
        least = math.ceil(math.log(CLAIM_SIGNIFICANCE) / math.log(FAILURE)) if few else 2 * run.runs
        outcome, words = "inconclusive", f"{counted} outside; --replicates {least}"
    return Said(outcome, f"{name} {outcome}: {words}.", mean, limit), nearest


def _mapping(run: FusionRun, name: str, limit: float) -> Said:
    """Return what is said of |G|^2: pairs follow the printed rule, for which a bound holds whatever the models are."""
    largest, concavity = float(run.series.mapping[1:].max()), run.setting.penalty.concavity
    if run.unmet:
        return Said("does not apply", f"Theorem 1 does not apply: needs {run.unmet}.", largest)
    if not concavity > 2:
        return Said(
            "does not apply", f"{name} does not apply: needs a > 2, here {short(concavity)}.", largest
        )
    return Said("says nothing", f"{name} says nothing: met before round 1, never falls.", largest, limit)


def _printed(run: FusionRun) -> tuple[tuple[Said, ...], list[Entry]]:
    """Return Theorem 1's three inequalities, as printed: what each says, and the lines of the table."""
    one, series, said, lines = run.setting, run.series, [], []
    factors = (0.0, 0.0) if run.unmet else (one.first, one.second)
    for (label, quantity), values, factor in zip(
        PRINTED.values(), (series.models, series.duals), factors, strict=False
    ):
        means = values[1:].mean(axis=0)
        shown = int(means.argmax())
        if factor > 0:
            found, shown = held(run, f"Bound on {label}", values, run.printed(factor))
        elif run.unmet:
            words = f"Theorem 1 does not apply: needs {run.unmet}."
            found = Said("does not apply", words, float(means[shown]))
        else:
            found = _negative(run, float(means[shown]), shown)
        said.append(found)
        lines.append(entry(label, _line(quantity, found.measured, found.bound, _fall(values[1:, shown]))))
    label, quantity = PRINTED["fpfc/theorem-1-mapping"]
    said.append(_mapping(run, f"Bound on {label}", one.mapping_bound))
    lines.append(entry(label, _line(quantity, said[2].measured, said[2].bound, "never")))
    return tuple(said), lines


def _negative(run: FusionRun, mean: float, worst: int) -> Said:
    """Return what is said where C_1 <= 0, which no mean square is below."""
    one = run.setting
    scale, other = (float(run.height[worst]) + one.start) / run.rounds, one.first_of(one.power)
    limit = one.first * scale
    words = f"Bound on Models broken: {short(mean)} > {short(limit)}, as C_1 = {short(one.first)} < 0."
    if other > 0 and run.sure:
        kept = "kept" if mean <= other * scale else "not kept"
        reading = f"C_1 = {short(other)}, bound {short(other * scale)}, {kept}"
        words += f" Read with q for (c^(-T/2) - 1)^-1: {reading}."
    return Said("broken", words, mean, limit)


def _repaired(run: FusionRun) -> tuple[dict[str, Said], str, str]:
    """Return the repaired inequalities: what they say, a line of the table, empty for none, and a sentence."""
    one, said = run.setting, {}
    for (claim, name), limits in zip(REPAIRED.items(), run.repaired.values(), strict=True):
        if isinstance(limits, str):
            said[claim] = Said("does not apply", f"{name} {limits}.")
        elif claim == "fpfc/repaired-mapping":
            largest = float(run.series.mapping[1:].max())
            words = f"{name} says nothing: met before round 1, never falls."
            said[claim] = Said("says nothing", words, largest, float(limits[0]))
        else:
            values = run.series.duals if claim == "fpfc/repaired-duals" else run.series.models
            said[claim], _ = held(run, name, values, limits)
    two, only = (said[f"fpfc/{name}"] for name in ("repaired-models", "one-term"))
    if two.bound is None:
        return said, "", two.words
    name, shown = f"Repaired (A_T D_0/K, A_T = {short(one.local_steps_factor, 2)}, any T)", only
    if only.bound is None or two.bound < only.bound:
        a_t, b = short(one.local_steps_factor, 2), short(one.pairs_factor, 2)
        name, shown = f"Repaired ((A_T + B) D_0/K, A_T = {a_t}, B = {b}, any T)", two
    line = _line("repaired bound", None, shown.bound, "", of=shown.measured)
    return said, line, shown.words.replace("Repaired", name, 1)


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
        shown = entry("Theorem 1", f"(Yu et al. 2023) {said.words}")
        start = following((f"run fpfc {option}", ""))
        theorems = tuple(said.of(claim) for claim in (*PRINTED, *REPAIRED))
        return Page(title, (known, ("Theorems", (shown, start))), theorems)
    (printed, lines), (repaired, line, sentence) = _printed(run), _repaired(run)
    theorems = tuple(one.of(claim) for claim, one in (*zip(PRINTED, printed, strict=True), *repaired.items()))
    lines[1:1] = [entry("", line)] if line else []
    meaning = [one.words for one in printed]
    if run.unmet:
        meaning = meaning[:1]
    elif run.sure and printed[0].outcome == printed[1].outcome == "holds":
        meaning[:2] = ["Bounds on Models and Duals hold."]
    words = " ".join(part for part in (*meaning, sentence, _remark(run)) if part)
    found = _next_option(run)
    after = [following((f"run fpfc {found[0]}", found[1]))] if found else []
    means = f"{'worst mean' if run.runs > 1 else 'mean'}, rounds 1 to {run.rounds}"
    header = f"{means:<31}{'measured':>8}{'bound':>9}{'bound/measured':>16}  falls as"
    table = (header, (*lines, entry("Meaning", words), *after))
    sections: tuple[Section, ...] = (known, (HEADING, (_needs(run), _constants(run))), table)
    return Page(title, sections, theorems, picture=_picture(run, [*about.lines, *settings.lines]))


def _needs(run: FusionRun) -> Entry:
    lines = [f"{need.words}: {'met' if need.met else 'not met'}" for need in printed_needs(run.setting)]
    if len(lines) < 3 and run.sure:  # where chance decides, the lines are for that
        lines.append("(the paper's experiments: rho = 1, where these need rho > 1200)")
    return entry("Needs", *lines)


def _constants(run: FusionRun) -> Entry:
    one = run.setting
    distance = f"D_0 = F(w^0) - F* + m xi lambda/4 <= {short(float(run.height.max()) + one.start)}"
    first = f"C_1 = {short(one.first)} {'>' if one.first > 0 else '<'} 0, C_2 = {short(one.second, 2)}; "
    return entry("Constants", f"{'' if run.unmet else first}{distance}")


def _next_option(run: FusionRun) -> tuple[str, str] | None:
    """Return an option with which the theorem says something else, the other parameters being the run's, and what."""
    one, steps, rho = run.setting, run.local_steps, run.algorithm.augmentation
    least = 2 * one.penalty.lipschitz
    if not rho > least:
        return f"--augmentation {math.floor(least) + 1}", "above 2 L_g"
    if not run.unmet and one.first > 0:
        counts, sign, remark = range(steps - 1, 0, -1), -1, "C_1 < 0: bound broken"
    elif one.weak_convexity < rho:
        counts, sign, remark = range(steps + 1, MOST_STEPS), 1, "C_1 > 0"
    else:
        return f"--step-size {short(0.9 / (one.smoothness + 2 * rho), 2)}", "below 1/(L_f + 2 rho)"
    found = next((count for count in counts if _sign(one, count) == sign), None)
    return None if found is None else (f"--local-steps {found}", remark)


def _sign(setting: Constants, local_steps: int) -> int:
    """Return C_1's sign with so many local steps; 0 where the hypotheses fail."""
    tried = replace(setting, algorithm=replace(setting.algorithm, local_steps=local_steps))
    return int(math.copysign(1, tried.first)) if tried.admissible else 0


def _picture(run: FusionRun, known: list[str]) -> ResidualPicture:
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
    bounds: list[tuple[Role, str, float, float]] = []
    if not run.unmet and 0 < one.first < math.inf:
        bounds.append(("printed", "bound as printed", run.printed(one.first)[shown], one.start))
    repaired = [run.repaired[f"fpfc/{name}"] for name in ("repaired-models", "one-term")]
    if limits := [float(each[shown]) for each in repaired if not isinstance(each, str)]:
        bounds.append(("repaired", "repaired", min(limits), one.repaired_start))
    ratios: dict[Role, str] = {}
    for role, name, end, smoothing in bounds:
        written = short(end * run.rounds / (float(run.height[shown]) + smoothing))
        curves.append(Curve(role, rf"{name}, ${written}\,D_0/K$", end * run.rounds / counts))
        if means[shown] > 0:
            ratios[role] = short(end / float(means[shown]), 2)
    gap = short(float(run.height.max()) + one.start)
    told = [*known, rf"$D_0 = F(w^0) - F^* + m\xi\lambda/4 \leq {gap}$", *[_remark(run)] * (not run.sure)]
    groups = 1 + (np.diff(np.sort(run.votes, axis=-1), axis=-1) != 0).sum(axis=-1)
    caption = facts.caption_of(run, told)
    return ResidualPicture(caption, tuple(curves), ratios, groups, len(np.unique(run.trace.labels)))


def _task(run: FusionRun) -> Entry:
    task, sizes = run.task, np.bincount(run.task.labels)
    equal = f"{many(len(sizes), 'group')} of {sizes[0]}"
    groups = f"{len(sizes)} groups of {sizes.min()} to {sizes.max()}" if np.ptp(sizes) else equal
    clients = f"m = {task.clients} clients in {groups}, d = {task.dimension}"
    separate = f"optima: groups >= {short(task.separation)} apart" if len(sizes) > 1 else "one optimum"
    if not isinstance(task, QuadraticMixture):
        curvatures = f"L = {short(task.smoothness)}, mu = {short(task.strong_convexity)}"
        return entry("Task", f"{clients}, {curvatures}", separate)
    least = float(np.linalg.eigvalsh(task.hessians).min())
    away = float(np.linalg.norm(task.centers - task.optima[task.labels], axis=-1).max())
    curvatures = f"no noise, L_f = {short(task.client_smoothness)}, mu = {short(least)}"
    own = f"{separate}, clients <= {short(away)} from their group's"
    return entry("Task", f"{clients}, {curvatures}", own)


def _run(run: FusionRun) -> Entry:
    algorithm, setting = run.algorithm, run.setting
    penalised = f"{algorithm.penalty}: lambda {short(algorithm.strength)}"
    if algorithm.penalty == "scad":
        shape = f", xi {short(setting.penalty.smoothing)}, a {short(setting.penalty.concavity)}"
        penalised = f"SCAD{penalised.removeprefix('scad')}{shape}"
    who = "all clients" if run.sure else f"{setting.active} of {run.task.clients} clients a round"
    longest = 1 / (setting.smoothness + 2 * algorithm.augmentation)
    named = run.quadratics is not None and math.isclose(algorithm.step_size, longest, rel_tol=1e-9)
    step = "1/(L_f + 2 rho)" if named else short(algorithm.step_size)
    more = [f"{many(run.rounds, 'round')} of {many(run.local_steps, 'local step')} {step}"]
    more.append(f"nu {short(algorithm.threshold)}")
    more += [many(run.runs, "run")] * (run.trace.models.ndim == 4)
    more += ["own starts"] * (algorithm.start == "own")
    more += [f"pairs: {algorithm.pair_rule}"] * (algorithm.pair_rule != "either")
    return entry("Run", f"{penalised}; rho {short(algorithm.augmentation)}; {who}", "; ".join(more))


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

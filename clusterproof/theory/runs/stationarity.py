"""What Theorem 1 of FPFC says of a run, as printed and as repaired: mean residuals beside bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clusterproof.algorithms import FPFC, Trace
from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.bounds.numbers import apart, many, short
from clusterproof.theory.claims.statistics import CLAIM_SIGNIFICANCE, binomial_tail
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.papers.fpfc.measured import objective
from clusterproof.theory.papers.fpfc.runs import residual_series
from clusterproof.theory.runs.fpfc_conditions import excluded, needs_of, next_option, setting_of
from clusterproof.theory.runs.page import LABEL, WIDTH, Entry, Outcome, TheoremOnRun, entry
from clusterproof.theory.runs.picture import Curve, ResidualPicture, Role, caption_of

FAILURE = 0.05
"""Probability with which a run may exceed what is shown, where a bound is on an expectation."""

SETTLED = 0.1
"""Largest share of the sum over all rounds in the second half for which the first rounds make the mean."""

MODELS, DUALS = "|grad_w L_0|^2", "|grad_v L_0|^2"

HEADING = "Theorem 1 as printed (Yu et al. 2023), misprinted exponents of c restored"
PRINTED = ("fpfc/theorem-1-models", "fpfc/theorem-1-participation", "fpfc/theorem-1-mapping")
Section = tuple[str, tuple[Entry, ...]]
REPAIRED = ("fpfc/repaired-models", "fpfc/one-term", "fpfc/repaired-duals", "fpfc/repaired-mapping")


@dataclass(frozen=True)
class Row:
    """A measured quantity beside a bound, of the run that is nearest to it.

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


def theorem_sections(
    algorithm: FPFC, task: Mixture, trace: Trace, facts: Sequence[str]
) -> tuple[tuple[Section, ...], tuple[TheoremOnRun, ...], ResidualPicture | None]:
    """Return the sections and rows of the theorems, and the picture of the residuals, with ``facts`` as its caption."""
    reason = excluded(algorithm, trace)
    if reason is None and isinstance(task, QuadraticMixture):
        found = _Stationarity(setting_of(algorithm, task), task, trace)
        return *found.shown(), found.picture(trace, facts)
    outcome, words, option = reason or (
        "inconclusive",
        f"inconclusive: no lower bound of F* and no exact gradients for {task.name} losses",
        "--task quadratic",
    )
    rows = tuple(TheoremOnRun(claim, outcome, None, None, words) for claim in (*PRINTED, *REPAIRED))
    shown = (
        entry("Theorem 1", f"(Yu et al. 2023) {words}"),
        entry("Next", f"clusterproof run fpfc {option}"),
    )
    return (("Theorems", shown),), rows, None


class _Stationarity:
    """The residuals of a run beside the bounds on their means."""

    def __init__(self, setting: Constants, task: QuadraticMixture, trace: Trace) -> None:
        self.setting = setting
        self.rounds = trace.rounds
        models = trace.models if trace.models.ndim == 4 else trace.models[:, None]
        self.runs = int(models.shape[1])
        self.sure = setting.participation == 1
        start = np.broadcast_to(models[0][:, :1], (self.runs, task.clients, task.dimension))
        # F* is at least the sum of the clients' minima, 0 for quadratics
        self.height = objective(setting.algorithm, task, start)
        self.series = residual_series(setting.algorithm, task, trace)
        self.needs = needs_of(setting)
        self.apply = all(need.met for need in self.needs)

    def row(self, values: np.ndarray, factor: float, smoothing: float) -> Row:
        """Hold the means over rounds of ``values`` (rounds + 1, runs) to factor D_0 / K."""
        means, bounds = values[1:].mean(axis=0), self._bounds(factor, smoothing)
        outside = int((~(means <= bounds * (1 + 1e-9))).sum())
        run = int(np.argmax(means / bounds))
        one = Row("holds", run, float(means[run]), float(bounds[run]), float(values[0, run]), outside)
        if self.sure and outside:
            return replace(one, outcome="broken")
        if not self.sure and binomial_tail(outside, self.runs, FAILURE) <= CLAIM_SIGNIFICANCE:
            return replace(one, outcome="broken")
        if one.start and one.bound >= one.start:
            return replace(one, outcome="says nothing")
        # by chance as many runs could be outside, or so few runs could never have shown it
        if not self.sure and (outside > FAILURE * self.runs or FAILURE**self.runs > CLAIM_SIGNIFICANCE):
            return replace(one, outcome="inconclusive")
        return one

    def _bounds(self, factor: float, smoothing: float) -> np.ndarray:
        """Return factor D_0 / K after the last round, (runs,), for all but 5 % of the runs where chance decides."""
        scale = self.rounds * (1.0 if self.sure else FAILURE)
        return np.asarray(factor * (self.height + smoothing) / scale)

    def words(self, name: str, row: Row) -> str:
        """Return the sentence about a bound."""
        outside = f"{row.outside} of {many(self.runs, 'run')}"
        if row.outcome == "broken":
            runs = "" if self.sure else f"; {outside} (allowed {self.allowed})"
            return f"{name} broken: {' > '.join(apart(row.measured, row.bound))}{runs}."
        if row.outcome == "says nothing":
            return f"{name} says nothing: mean <= {short(row.bound)}, round 0 has {short(row.start)}."
        if row.outcome == "inconclusive":
            least = self.deciding if self.runs < self.deciding else 2 * self.runs
            return f"{name} inconclusive: {outside} outside; --replicates {least}."
        runs = "" if self.sure else f"; {outside} outside (allowed {self.allowed})"
        return f"{name} holds: mean <= {short(row.bound)}{runs}."

    @property
    def allowed(self) -> int:
        """Number of runs that may be above a bound on an expectation."""
        return math.floor(FAILURE * self.runs)

    @property
    def deciding(self) -> int:
        """Least number of runs that could break a bound on an expectation."""
        return math.ceil(math.log(CLAIM_SIGNIFICANCE) / math.log(FAILURE))

    def shown(self) -> tuple[tuple[Section, ...], tuple[TheoremOnRun, ...]]:
        """Return the sections and rows."""
        printed, lines, meaning = self._printed()
        repaired, line, sentence = self._repaired()
        if line:
            lines.insert(1, entry("", line))
        meaning = [*meaning, sentence, *self._remarks()]
        means = f"{'worst mean' if self.runs > 1 else 'mean'}, rounds 1 to {self.rounds}"
        header = f"{means:<31}{'measured':>8}{'bound':>9}{'bound/measured':>16}  falls as"
        option = next_option(self.setting, self.apply)
        following = (
            ()
            if option is None
            else (entry("Next", f"{f'clusterproof run fpfc {option[0]}':<46}{option[1]}"),)
        )
        sections = (
            (HEADING, (self._needs(), self._constants())),
            (header, (*lines, entry("Meaning", " ".join(meaning)), *following)),
        )
        return sections, (*printed, *repaired)

    def _needs(self) -> Entry:
        lines = [f"{need.words}: {'met' if need.met else 'not met'}" for need in self.needs]
        if len(lines) < 3 and self.sure:  # where chance decides, the lines are for that
            lines.append("(the paper's experiments: rho = 1, where these need rho > 1200)")
        return entry("Needs", *lines)

    def _constants(self) -> Entry:
        one = self.setting
        height = float(self.height.max()) + one.start
        distance = f"D_0 = F(w^0) - F* + m xi lambda/4 <= {short(height)}"
        if not self.apply:
            return entry("Constants", distance)
        first = f"C_1 = {short(one.first)} {'>' if one.first > 0 else '<'} 0, C_2 = {short(one.second, 2)}"
        fits = len(f"{first}; {distance}") <= WIDTH - LABEL
        return entry("Constants", *([f"{first}; {distance}"] if fits else [first, distance]))

    def _printed(self) -> tuple[list[TheoremOnRun], list[Entry], list[str]]:
        """Return the theorem's three inequalities: rows, lines of the table and sentences."""
        models, duals, mapping = self._models(), self._duals(), self._mapping()
        rows = [row for row, _ in (models, duals, mapping)]
        lines = [
            entry(label, line)
            for label, (_, line) in zip(("Models", "Duals", "Mapping"), (models, duals, mapping), strict=True)
        ]
        if not self.apply:
            return rows, lines, [rows[0].words]
        if self.sure and rows[0].outcome == rows[1].outcome == "holds":
            return rows, lines, ["Bounds on Models and Duals hold.", rows[2].words]
        return rows, lines, [row.words for row in rows]

    @property
    def _not_met(self) -> str:
        failing = next(need for need in self.needs if not need.met)
        return f"Theorem 1 does not apply: needs {failing.short}."

    def _models(self) -> tuple[TheoremOnRun, str]:
        one, values, (claim, _, _) = self.setting, self.series.models, PRINTED
        if self.apply and one.first > 0:
            return self._compared(claim, "Models", MODELS, values, one.first)
        outcome: Outcome = "broken" if self.apply else "does not apply"
        mean = values[1:].mean(axis=0)
        run = int(mean.argmax())
        words = self._not_met if not self.apply else self._negative(float(mean[run]), run)
        line = _line(MODELS, float(mean[run]), None, _fall(values[1:, run]))
        return TheoremOnRun(claim, outcome, float(mean[run]), None, words), line

    def _negative(self, mean: float, run: int) -> str:
        """Return the sentence where C_1 <= 0, which no mean square is below."""
        one, scale = self.setting, (float(self.height[run]) + self.setting.start) / self.rounds
        words = (
            f"Bound on Models broken: C_1 = {short(one.first)}, bound {short(one.first * scale)}, mean "
            f"{short(mean)}."
        )
        other = one.first_of(one.power)
        if other <= 0 or not self.sure:
            return words
        bound = other * scale
        kept = "kept" if mean <= bound else "not kept"
        return (
            f"{words} Read with q for (c^(-T/2) - 1)^-1: C_1 = {short(other)}, bound {short(bound)}, {kept}."
        )

    def _duals(self) -> tuple[TheoremOnRun, str]:
        values, (_, claim, _) = self.series.duals, PRINTED
        if self.apply:
            return self._compared(claim, "Duals", DUALS, values, self.setting.second)
        mean = values[1:].mean(axis=0)
        run = int(mean.argmax())
        line = _line(DUALS, float(mean[run]), None, _fall(values[1:, run]))
        return TheoremOnRun(claim, "does not apply", float(mean[run]), None, self._not_met), line

    def _compared(
        self, claim: str, label: str, quantity: str, values: np.ndarray, factor: float
    ) -> tuple[TheoremOnRun, str]:
        """Hold a mean to factor D_0 / K as printed."""
        row = self.row(values, factor, self.setting.start)
        words = self.words(f"Bound on {label}", row)
        line = _line(quantity, row.measured, row.bound, _fall(values[1:, row.run]))
        return TheoremOnRun(claim, row.outcome, row.measured, row.bound, words), line

    def _mapping(self) -> tuple[TheoremOnRun, str]:
        claim, penalty, limit = PRINTED[2], self.setting.penalty, self.setting.mapping_bound
        largest = float(self.series.mapping[1:].max())
        outcome: Outcome = "does not apply"
        if not self.apply:
            words = self._not_met
        elif not penalty.concavity > 2:
            words = f"Bound on Mapping does not apply: needs a > 2, here {short(penalty.concavity)}."
        else:
            # the pair variables are computed by the printed rule, for which it holds whatever the models are
            outcome, words = "says nothing", "Bound on Mapping says nothing: met before round 1, never falls."
        bound = limit if outcome == "says nothing" else None
        line = _line("|G|^2, largest", largest, bound, "never")
        return TheoremOnRun(claim, outcome, largest, bound, words), line

    @property
    def _repaired_not_met(self) -> str:
        """Which hypothesis of the repaired theorem fails; empty if none does."""
        one = self.setting
        rho, least = one.algorithm.augmentation, 2 * one.penalty.lipschitz
        step, longest = one.algorithm.step_size, 1 / one.local_smoothness
        if not rho > least:
            limit, here = apart(least, rho)
            return f"Repaired does not apply: needs rho > 2 L_g = {limit}, here {here}."
        if step > longest * (1 + 1e-12):
            limit, here = apart(longest, step)
            return f"Repaired does not apply: needs alpha <= 1/(L_f + rho) = {limit}, here {here}."
        return ""

    @property
    def _repaired_factors(self) -> dict[str, float]:
        """Factors of D_0/K in the repaired bounds on the models, by claim."""
        one = self.setting
        factors = {REPAIRED[0]: one.local_steps_factor + one.pairs_factor}
        if one.algorithm.pair_rule == "all" or self.sure:
            factors[REPAIRED[1]] = one.local_steps_factor
        return factors

    def _repaired(self) -> tuple[list[TheoremOnRun], str, str]:
        """Return the repaired inequalities: rows, a line of the table, empty for none, and a sentence."""
        one, series = self.setting, self.series
        words = self._repaired_not_met
        if words:
            return [TheoremOnRun(claim, "does not apply", None, None, words) for claim in REPAIRED], "", words
        models, one_term, duals, mapping = REPAIRED
        found = {
            claim: self.row(series.models, factor, one.repaired_start)
            for claim, factor in self._repaired_factors.items()
        }
        rows = [
            TheoremOnRun(claim, row.outcome, row.measured, row.bound, self.words("Repaired", row))
            for claim, row in found.items()
        ]
        if one_term not in found:
            waiting = "Repaired does not apply: needs every pair updated in every round."
            rows.append(TheoremOnRun(one_term, "does not apply", None, None, waiting))
        row = self.row(series.duals, one.second / one.pair_participation, one.repaired_start)
        rows.append(
            TheoremOnRun(duals, row.outcome, row.measured, row.bound, self.words("Repaired duals", row))
        )
        largest = float(series.mapping[1:].max())
        if one.penalty.concavity > 2:
            most = (1 - 1 / one.clients) * one.mapping_bound
            words = "Repaired mapping says nothing: met before round 1, never falls."
            rows.append(TheoremOnRun(mapping, "says nothing", largest, most, words))
        else:
            words = f"Repaired mapping does not apply: needs a > 2, here {short(one.penalty.concavity)}."
            rows.append(TheoremOnRun(mapping, "does not apply", None, None, words))
        best = min(found, key=lambda claim: found[claim].bound)
        name = f"Repaired (A_T D_0/K, A_T = {short(one.local_steps_factor, 2)}, any T)"
        if best == models:
            name = (
                f"Repaired ((A_T + B) D_0/K, A_T = {short(one.local_steps_factor, 2)}, "
                f"B = {short(one.pairs_factor, 2)}, any T)"
            )
        shown = found[best]
        line = _line("repaired bound", None, shown.bound, "", of=shown.measured)
        return rows, line, self.words(name, shown)

    def _remarks(self) -> list[str]:
        """Return what bounds are of where chance decides, else the last round where the first ones make the mean."""
        if not self.sure:
            return [f"Bounds: {round(1 / FAILURE)} x expectations', exceeded with probability <= {FAILURE}."]
        values = self.series.models[1:]
        late = values[len(values) // 2 :].sum(axis=0)
        if len(values) < 4 or not (late <= SETTLED * values.sum(axis=0)).all() or not values[0].all():
            return []
        most = "at most " if self.runs > 1 else ""
        last = f"Round {self.rounds} alone has {most}{short(float(values[-1].max()), 2)}"
        return [f"{last}: 1/K is the mean's rate, not the method's."]

    def picture(self, trace: Trace, facts: Sequence[str]) -> ResidualPicture:
        """Return the picture of the run whose mean is nearest to the printed bound."""
        one, counts = self.setting, np.arange(1, self.rounds + 1)
        means = self.series.models[1:].mean(axis=0)
        run = int(np.argmax(means / (self.height + one.start)))
        alone = self.series.models[1:, run]
        which = f"worst of {self.runs} runs" if self.runs > 1 else "run"
        curves = [
            Curve("run", f"{which}: mean over rounds 1 to $K$", np.cumsum(alone) / counts),
            Curve("round alone", "round $K$ alone", alone),
        ]
        ratios: dict[Role, str] = {}
        bounds: list[tuple[Role, str, float, float]] = []
        if self.apply and 0 < one.first < math.inf:
            bounds.append(("printed", "bound as printed", one.first, one.start))
        if not self._repaired_not_met:
            bounds.append(("repaired", "repaired", min(self._repaired_factors.values()), one.repaired_start))
        for role, name, factor, smoothing in bounds:
            end = float(self._bounds(factor, smoothing)[run])
            shown = short(factor / (1.0 if self.sure else FAILURE))
            curves.append(Curve(role, rf"{name}, ${shown}\,D_0/K$", end * self.rounds / counts))
            if means[run] > 0:
                ratios[role] = short(end / float(means[run]), 2)
        gap = float(self.height.max()) + one.start
        distance = rf"$D_0 = F(w^0) - F^* + m\xi\lambda/4 \leq {short(gap)}$"
        told = [*facts, distance, *([] if self.sure else self._remarks())]
        labels = trace.assignments if trace.models.ndim == 4 else trace.assignments[:, None]
        groups = 1 + (np.diff(np.sort(labels, axis=-1), axis=-1) != 0).sum(axis=-1)
        return ResidualPicture(
            caption_of(trace, told), tuple(curves), ratios, groups, len(np.unique(trace.labels))
        )


def _line(name: str, measured: float | None, bound: float | None, fall: str, of: float | None = None) -> str:
    """Return a line of the table; the ratio is of the bound to ``of``, or to what was measured."""
    value = measured if of is None else of
    ratio = "" if bound is None or not value else short(bound / value, 2)
    shown = ["" if number is None else short(number) for number in (measured, bound)]
    if bound is None:
        shown[1] = "none"
    return f"{name:<20}{shown[0]:>9}{shown[1]:>9}{ratio:>16}  {fall}".rstrip()


def _fall(values: np.ndarray) -> str:
    """Return the power of K that the running mean of ``values`` (rounds,) follows over the second half of a run."""
    counts = np.arange(1, len(values) + 1)
    means = np.cumsum(values) / counts
    half = slice(len(values) // 2, None)
    if len(values) < 4 or not ((means[half] > 0) & np.isfinite(means[half])).all():
        return ""
    slope = float(np.polyfit(np.log(counts[half]), np.log(means[half]), 1)[0])
    return f"K^{slope:.2f}" if slope < -0.005 else "never"

"""Find the mistake, variant or other algorithm that explains why runs differ from the definition."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from clusterproof.conformance.constants import explain_by_constants
from clusterproof.conformance.definitions import DEFINITIONS, KNOWN_MISTAKES, Definition, Mistake
from clusterproof.conformance.probes import Observed, agree, right_states, snapshots
from clusterproof.conformance.symptoms import statements
from clusterproof.conformance.tolerance import Snapshot, first_difference, unit

LONG = 20
"""The search compares runs with more rounds than this number after all other runs.

If only these long runs differ, the search tries only single mistakes.
"""
MOST_FORMS = 2
"""Largest number of settings of an undeclared form that the search combines with mistakes."""
MOST_MISTAKES = 3
"""Largest number of mistakes in one explanation."""
STATES = 12
"""Largest number of partial explanations that the search extends from run to run."""


@dataclass(frozen=True)
class Hypothesis:
    """Mistakes that together explain the observed runs up to rounding.

    Attributes
    ----------
    mistakes
        Names of the mistakes.
    sentence
        A description of what the code then does.
    forms
        Settings of an undeclared admissible form that belongs to the explanation; empty for the declared form.
    """

    mistakes: tuple[str, ...]
    sentence: str
    forms: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the sentence, followed by the form if it is not the declared one."""
        form = ", ".join(f"{name} = {value}" for name, value in self.forms.items())
        return f"{self.sentence} (with {form})" if form else self.sentence


Cause = str | tuple[str, Any]
"""A cause: the name of a mistake, or the name and value of a setting that selects another admissible form."""
Causes = tuple[Cause, ...]
"""Causes that occur together. Mistakes that change the same line of the definition are applied in this order."""


class _Search:
    """The runs of one implementation, and the causes that explain them."""

    def __init__(self, definition: type[Definition], runs: Sequence[Observed], dtype: str) -> None:
        self.definition, self.dtype, self.bank = definition, dtype, KNOWN_MISTAKES[definition.name]
        settings = runs[0].probe.settings
        self.forms = {
            (name, value): Mistake({}, f"{name} is {value}, a form that can be declared", {name: value})
            for name, values in definition.variants.items()
            for value in values
            if value != settings[name]
        }
        self.known: dict[Any, Mistake] = {**self.bank, **self.forms}
        self.runs = sorted(runs, key=lambda run: len(run.probe.schedule) > LONG)
        heads = [(run, head) for run in self.runs if (head := self.head(run)) is not None]
        self.heads = [head for _, head in heads]
        self.late = all(len(run.probe.schedule) > LONG for run, _ in heads)
        # short runs first: most causes fail there
        self.ordered = sorted([*self.heads, *self.runs], key=_cost)

    def agree(self, causes: Causes, runs: Sequence[Observed]) -> bool:
        """Return whether causes explain runs.

        A mistake in the weights cannot be combined with the form "unbiased-models".
        """
        mistakes = [self.known[cause] for cause in causes]
        if ("weighting", "unbiased-models") in causes and any(
            "weights" in mistake.changes for mistake in mistakes
        ):
            return False
        return agree(self.definition, runs, self.dtype, mistakes=mistakes)

    def states(self, causes: Causes, run: Observed) -> Sequence[Snapshot]:
        """Run the definition with the given causes on the probe of a run, and return the states."""
        if not causes:
            return right_states(self.definition, run.probe)
        return snapshots(self.definition, run.probe, mistakes=[self.known[cause] for cause in causes])

    def head(self, run: Observed, causes: Causes = ()) -> Observed | None:
        """Return a run up to the first round that the causes do not explain.

        Return None if the causes explain every round.
        """
        difference = first_difference(run.states, self.states(causes, run), self.dtype)
        if difference is None:
            return None
        schedule = run.probe.schedule[: max(1, difference.round)]
        return replace(
            run, probe=replace(run.probe, schedule=schedule), states=run.states[: len(schedule) + 1]
        )

    def hypothesis(self, causes: Causes) -> Hypothesis:
        """Return a hypothesis with these causes.

        The sentence of the hypothesis describes first the mistakes, then the forms.
        """
        mistakes = tuple(cause for cause in causes if isinstance(cause, str))
        forms = dict(cause for cause in causes if not isinstance(cause, str))
        sentences = [self.known[cause].sentence for cause in (*mistakes, *forms.items())]
        return Hypothesis(mistakes, ", and ".join(sentences), forms)

    def singles(self, forms: Causes = ()) -> list[Hypothesis]:
        """Return the single mistakes that explain every run if the definition has the given admissible form."""
        return [
            self.hypothesis((name, *forms)) for name in self.bank if self.agree((name, *forms), self.ordered)
        ]

    def singles_in_forms(self) -> Sequence[Hypothesis]:
        """Return the mistakes that explain every run in another admissible form.

        Forms with fewer changed settings come first.
        """
        forms = admissible_forms(self.definition, self.runs[0].probe.settings)
        found = (self.singles(tuple(each.items())) for each in forms if len(each) <= MOST_FORMS)
        return next(filter(None, found), [])

    def share_a_line(self, cause: Cause, other: Cause) -> bool:
        """Return whether two mistakes change the same line of the definition.

        If so, the order of the mistakes matters.
        """
        return bool(self.known[cause].changes.keys() & self.known[other].changes.keys())

    def extended(self, causes: Causes) -> Iterator[Causes]:
        """Extend the causes by one mistake or form; if the order of mistakes matters, yield every order."""
        taken = {cause if isinstance(cause, str) else cause[0] for cause in causes}
        full = sum(isinstance(cause, str) for cause in causes) == MOST_MISTAKES
        for cause in self.known:
            is_mistake = isinstance(cause, str)
            if (cause if is_mistake else cause[0]) in taken or (is_mistake and full):
                continue
            shared = [place for place, other in enumerate(causes) if self.share_a_line(cause, other)]
            for place in {len(causes), *shared}:
                yield (*causes[:place], cause, *causes[place:])

    def several(self) -> Iterator[Sequence[Hypothesis]]:
        """Yield pairs of causes that explain every run, and then larger sets.

        The larger sets grow by one cause per run.
        """
        found: list[Causes] = [()]
        done: list[Observed] = []
        pairs = True
        for run in self.runs:
            done.append(run)
            explained = [one for one in found if self.agree(one, [run])]
            if not explained:
                explained = [new for one in found for new in self._next(one, run, done)]
                if pairs:
                    doubled = list(self._pairs(run, done))
                    complete = [pair for pair in doubled if self.agree(pair, self.ordered)]
                    yield [self.hypothesis(one) for one in _unordered(complete)]
                    # drop a pair whose second cause has had no effect so far: a later run that needs this cause adds it
                    doubled = [pair for pair in doubled if not any({*one} <= {*pair} for one in explained)]
                    explained, pairs = [*explained, *doubled], False
            found = _unordered(explained)[:STATES]
            if not found:
                return
        least = min(map(len, found))
        yield [self.hypothesis(one) for one in found if len(one) == least]

    def _next(self, causes: Causes, run: Observed, done: Sequence[Observed]) -> Iterator[Causes]:
        """Add one cause, and yield each extended set that explains the runs so far."""
        head = self.head(run, causes)
        runs = sorted([*done, *([] if head is None else [head])], key=_cost)
        yield from (new for new in self.extended(causes) if self.agree(new, runs))

    def _pairs(self, run: Observed, done: Sequence[Observed]) -> Iterator[Causes]:
        """Yield the pairs that explain the first run that differs and all runs before it."""
        head = self.head(run)
        assert head is not None
        runs = sorted([*done[:-1], head], key=_cost)
        right = [self.states((), run) for run in runs]
        # two causes that change nothing alone change nothing together: this saves most of the time
        changes = {
            cause: [
                first_difference(self.states((cause,), run), states, self.dtype) is not None
                for run, states in zip(runs, right, strict=True)
            ]
            for cause in self.known
        }
        for one, other in itertools.combinations(changes, 2):
            orders = [(one, other), (other, one)] if self.share_a_line(one, other) else [(one, other)]
            for pair in orders:
                if all(
                    self.agree(pair, [run]) if first or second else run is not head
                    for run, first, second in zip(runs, changes[one], changes[other], strict=True)
                ) and self.agree(pair, done[-1:]):
                    yield pair

    def ignored(self) -> Sequence[Hypothesis]:
        """Return the smallest sets of settings such that every run is explained if the code ignores these settings."""
        defaults = self.definition.defaults()
        changed_by_probes = [name for name in varied(self.runs) if name in defaults]
        names = [name for name in changed_by_probes if not isinstance(defaults[name], (str, bool))]
        for size in range(1, 4):
            found = []
            for chosen in itertools.combinations(names, size):
                changed = {name: defaults[name] for name in chosen}
                if agree(self.definition, self.ordered, self.dtype, changed=changed):
                    listed = ", ".join(f"{name} = {value}" for name, value in changed.items())
                    other = " (or one batch an epoch is trained)" if "batch_size" in chosen else ""
                    sentence = f"{listed}{other} for every requested value: pass the settings on"
                    found.append(Hypothesis(("settings-ignored",), sentence))
            if found:
                return found
        return ()

    def constants(self, bank: bool) -> Iterator[Hypothesis]:
        """Yield deviations whose constants are fitted to the shortest run that differs."""
        runs = [min(self.heads, key=_cost), *self.ordered]
        found = explain_by_constants(self.definition, runs, self.dtype, self.bank if bank else None)
        return itertools.starmap(Hypothesis, found)

    def constants_in_forms(self) -> Iterator[Hypothesis]:
        """Yield deviations with fitted constants, combined with an admissible form of one setting."""
        for form, known in self.forms.items():
            heads = [head for run in self.runs if (head := self.head(run, (form,))) is not None]
            if heads:
                runs = [min(heads, key=_cost), *self.ordered]
                found = explain_by_constants(self.definition, runs, self.dtype, forms=known.settings)
                yield from (
                    Hypothesis(names, f"{sentence}, and {known.sentence}", known.settings)
                    for names, sentence in found
                )


def _cost(run: Observed) -> int:
    """Return the number of participants, added up over the rounds of a run."""
    return sum(map(len, run.probe.schedule))


def _unordered(found: Iterable[Causes]) -> list[Causes]:
    """Remove repeated sets of causes; if a set occurs in several orders, return only the first."""
    seen = {frozenset(one): one for one in reversed(list(found))}
    return list(seen.values())[::-1]


def varied(runs: Sequence[Observed]) -> list[str]:
    """Return the settings that have more than one value in the runs."""
    settings = [run.probe.settings for run in runs]
    return [name for name in settings[0] if len({repr(one[name]) for one in settings}) > 1]


def explain(
    definition: type[Definition], runs: Sequence[Observed], dtype: str
) -> tuple[tuple[Hypothesis, ...], str]:
    """Return the hypotheses that explain all quantities of all runs, and one sentence.

    The search tries explanations in this order: single mistakes, fitted constants, ignored settings, single mistakes
    and constants in another admissible form, pairs, three causes, and constants with a mistake. If another algorithm
    explains the runs, the sentence names this algorithm. Otherwise it states properties of the runs.
    """
    search = _Search(definition, runs, dtype)
    several = search.several()
    searches: tuple[Callable[[], Iterable[Hypothesis]], ...] = (
        search.singles,
        lambda: search.constants(bank=False),
        search.ignored,
        search.singles_in_forms,
        search.constants_in_forms,
        lambda: next(several, ()),
        lambda: search.constants(bank=True),
        lambda: next(several, ()),
    )
    for find in searches[:1] if search.late else searches:
        found = tuple(find())
        if found:
            if len(found) == 1:
                return found, f"likely: {found[0]}"
            return found, f"likely one of {len(found)}, which these runs do not tell apart"
    for other in DEFINITIONS.values():
        if other is not definition and follows(other, search.ordered, dtype):
            return (), f"every run agrees with another algorithm, {other.name}: {other.equation}"
    true = "; ".join(statements(definition, runs, dtype))
    return (), "agrees with no known mistake, alone or with others" + (f"; {true}" if true else "")


def follows(other: type[Definition], runs: Sequence[Observed], dtype: str) -> bool:
    """Return whether another algorithm explains every run.

    Settings that the runs do not have get the defaults of the other algorithm.
    """
    for run in runs:
        if bool(other.clusters) != (run.probe.task.starts is not None):
            return False
        if not set(run.states[0]) <= set(other.quantities):
            return False  # the other algorithm cannot explain a setting that it lacks
        unsaid = {name: value for name, value in other.defaults().items() if name not in run.probe.settings}
        if not agree(other, [run], dtype, changed=unsaid):
            return False
    return True


def admissible_forms(definition: type[Definition], settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return, for each other admissible form, the settings that differ from the declared form.

    Short lists come first.
    """
    names = definition.variants
    forms = (zip(names, values, strict=True) for values in itertools.product(*names.values()))
    changes = ({name: value for name, value in form if settings[name] != value} for form in forms)
    return sorted((changed for changed in changes if changed), key=len)


def admissible_variant(
    definition: type[Definition], runs: Sequence[Observed], dtype: str
) -> dict[str, Any] | None:
    """Return the smallest set of changed settings with which every run agrees with the definition, or None.

    The function tries the settings that select an admissible form. It also tries a constant server step size, which
    ignores the setting.
    """
    settings = runs[0].probe.settings
    for changed in ({}, *admissible_forms(definition, settings)):
        if changed and agree(definition, runs, dtype, changed=changed):
            return changed
        step = _constant_server_step(definition, runs[0], changed, dtype)
        if step is not None:
            changed = {**changed, str(definition.server_step): step}
            if agree(definition, runs, dtype, changed=changed):
                return changed
    return None


def _constant_server_step(
    definition: type[Definition], run: Observed, changed: Mapping[str, Any], dtype: str
) -> float | None:
    """Return the ratio of the observed to the expected change in round 1, or None if it differs between coordinates.

    Return None also for a ratio of 1, because code with this ratio has no server step size.
    """
    if not definition.server_step or len(run.states) < 2:
        return None
    expected = snapshots(definition, run.probe, changed={**changed, definition.server_step: 1.0})
    start, wanted = expected[0]["model"], expected[1]["model"]
    change, observed = wanted - start, run.states[1]["model"] - start
    if not change @ change > 0:
        return None
    ratio = float(observed @ change / (change @ change))
    allowed = unit(1, wanted, dtype)
    # a model that hardly moves reveals nothing about the step
    if ratio * np.abs(change).max() <= allowed or abs(ratio - 1) * np.abs(change).max() <= allowed:
        return None
    return ratio if np.abs(observed - ratio * change).max() <= allowed else None

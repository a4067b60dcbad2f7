"""Which slip, which variant or which other algorithm explains a run that is not the definition's."""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.conformance.constants import explain_by_constants
from clusterproof.conformance.definitions import DEFINITIONS, Definition
from clusterproof.conformance.probes import Observed, agree, snapshots
from clusterproof.conformance.slips import SLIPS
from clusterproof.conformance.tolerance import unit


@dataclass(frozen=True)
class Hypothesis:
    """Mistakes that, made together, give exactly the run that was observed.

    Attributes
    ----------
    slips
        Names of the slips.
    sentence
        What the code then does.
    """

    slips: tuple[str, ...]
    sentence: str


def explain(
    definition: type[Definition], runs: Sequence[Observed], dtype: str
) -> tuple[tuple[Hypothesis, ...], str]:
    """Return the hypotheses that agree with all runs in all quantities, and one sentence.

    Single slips go first, then constants that are fitted, then pairs; the sentence names another algorithm if that is
    the explanation, or says that there is none.
    """
    # short runs first among those that differ from the definition: most slips fail at the first
    ordered = sorted(runs, key=lambda run: (agree(definition, [run], dtype), len(run.probe.schedule)))
    constants = functools.partial(explain_by_constants, definition, ordered, dtype)
    searches: tuple[Callable[[], Iterable[Hypothesis]], ...] = (
        lambda: _combined(definition, ordered, dtype, 1),
        lambda: itertools.starmap(Hypothesis, constants()),
        lambda: _ignored(definition, ordered, dtype),
        lambda: _combined(definition, ordered, dtype, 2),
        lambda: itertools.starmap(Hypothesis, constants(SLIPS[definition.name])),
    )
    for search in searches:
        found = tuple(search())
        if found:
            listed = "; or ".join(f"{one.sentence} ({' with '.join(one.slips)})" for one in found[:4])
            several = f" one of {len(found)}, which these runs do not tell apart" if len(found) > 1 else ""
            return found, f"likely{several}: {listed}"
    for other in DEFINITIONS.values():
        if other is not definition and follows(other, ordered, dtype):
            return (), f"every run agrees with another algorithm, {other.name}: {other.equation}"
    return (), "agrees with no known slip, alone or in pairs"


def _combined(
    definition: type[Definition], runs: Sequence[Observed], dtype: str, size: int
) -> Iterator[Hypothesis]:
    """Yield the combinations of so many slips of the bank that explain every run."""
    bank = SLIPS[definition.name]
    for names in itertools.combinations(bank, size):
        if agree(definition, runs, dtype, slips=[bank[name] for name in names]):
            yield Hypothesis(names, ", and ".join(bank[name].sentence for name in names))


def _ignored(definition: type[Definition], runs: Sequence[Observed], dtype: str) -> Iterator[Hypothesis]:
    """Yield the fewest settings, at least two, that are constants in the code where the probes change them."""
    defaults = definition.defaults()
    changing = ("local_epochs", "batch_size", definition.server_step, *definition.strengths)
    names = [name for name in changing if name is not None and name in defaults]
    for size in range(2, len(names) + 1):
        for chosen in itertools.combinations(names, size):
            if agree(definition, runs, dtype, changed={name: defaults[name] for name in chosen}):
                listed = ", ".join(f"{name} = {defaults[name]}" for name in chosen)
                yield Hypothesis(
                    ("settings-ignored",), f"{listed} whatever is asked for: pass the settings on"
                )
                return


def follows(other: type[Definition], runs: Sequence[Observed], dtype: str) -> bool:
    """Return whether every run is that of another algorithm, at its defaults where the settings do not say."""
    for run in runs:
        if bool(other.clusters) != (run.probe.task.starts is not None):
            return False
        if not set(run.states[0]) <= set(other.quantities):
            return False  # what the other algorithm does not have, it does not explain
        unsaid = {name: value for name, value in other.defaults().items() if name not in run.probe.settings}
        if not agree(other, [run], dtype, changed=unsaid):
            return False
    return True


def admissible_variant(
    definition: type[Definition], runs: Sequence[Observed], dtype: str
) -> dict[str, Any] | None:
    """Return the changed settings under which every run agrees with the definition, the fewest; None if there are none.

    The settings are those whose every value is an admissible form of the algorithm, and a server step that is
    constant whatever was asked for.
    """
    settings, names = runs[0].probe.settings, definition.variants
    forms = (zip(names, values, strict=True) for values in itertools.product(*names.values()))
    changes = ({name: value for name, value in form if settings[name] != value} for form in forms)
    for changed in sorted(changes, key=len):
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
    """Return the ratio of the observed to the expected change of the first round, equal in all coordinates.

    A ratio of 1 is no constant of its own: it is a server step that has no effect.
    """
    if definition.server_step is None or len(run.states) < 2:
        return None
    expected = snapshots(definition, run.probe, changed={**changed, definition.server_step: 1.0})
    start, wanted = expected[0]["model"], expected[1]["model"]
    change, observed = wanted - start, run.states[1]["model"] - start
    if not change @ change > 0:
        return None
    ratio = float(observed @ change / (change @ change))
    allowed = unit(1, wanted, dtype)
    if ratio <= 0 or abs(ratio - 1) * np.abs(change).max() <= allowed:
        return None
    return ratio if np.abs(observed - ratio * change).max() <= allowed else None

"""Fit constants that code may add, such as the momentum of a client, to one run, and check them on all runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np

from clusterproof.conformance.changes import functions_of, table
from clusterproof.conformance.definitions import Mistake
from clusterproof.conformance.probes import Observed, agree, snapshots

EVALUATIONS = 16
"""Largest number of runs of the definition in a fit, without the runs that compute derivatives."""
SMALLEST, LARGEST = 1e-9, 1e4
"""Smallest and largest absolute value of a fitted constant; a constant near 0 would have no effect."""


@dataclass(frozen=True, eq=False)
class Family:
    """A deviation from the definition that has unknown constants.

    Attributes
    ----------
    name, sentence
        See ``Mistake``; the sentence has one placeholder per constant.
    starts
        Initial values of the constants for the fit.
    changes
        Changes to the definition, in which ``<0>`` and ``<1>`` stand for the constants.
    setting
        Setting whose value the code replaces with the constant; an empty string if there is none.
    beside
        Names and values of further settings that have a fixed value with this deviation.
    """

    name: str
    sentence: str
    starts: Sequence[Sequence[float]]
    changes: Mapping[str, str] = field(default_factory=dict)
    setting: str = ""
    beside: Mapping[str, Any] = field(default_factory=dict)

    def mistake(self, constants: Sequence[float], forms: Mapping[str, Any] = {}) -> Mistake:
        """Return the deviation with the given constants, combined with the settings of an admissible form."""
        changes, settings = dict(self.changes), {**self.beside, **forms}
        for place, constant in enumerate(constants):
            changes = {name: text.replace(f"<{place}>", repr(constant)) for name, text in changes.items()}
        settings |= {self.setting: constants[0]} if self.setting else {}
        return Mistake(changes, self.sentence.format(*(f"{one:.7g}" for one in constants)), settings)


@cache
def _families(definition: Any) -> tuple[Family, ...]:
    """Return the deviations that an algorithm's code can have; of deviations with the same name, return the first."""
    functions, found = functions_of((definition.rule, *definition.calls)), []
    for row in table("general")["constants"]:
        for name, text in row.get("changes", {"": ""}).items():
            if name != "descend" or name in functions:
                found.append(Family(**{**row, "changes": {name: text} if name else {}}))
    for name, default in definition.defaults().items():
        # a constant server step is a variant
        if isinstance(default, float) and name != definition.server_step:
            sentence, starts = f"{name} is {{}} for every requested value", ((default,), (default / 4,))
            found.append(Family(f"{name}-constant", sentence, starts, setting=name))
    return tuple(found)


def _rounded(constants: np.ndarray) -> Iterator[list[float]]:
    """Yield the constants rounded to 1, 2 and 3 digits, and finally unrounded."""
    for digits in (1, 2, 3, 17):
        yield [float(f"{constant:.{digits}g}") for constant in constants]


@lru_cache(maxsize=256)  # requested again with each known mistake, and in single precision
def _fit(
    definition: Any,
    run: Observed,
    family: Family,
    start: tuple[float, ...],
    forms: tuple[tuple[str, Any], ...],
) -> Any:
    """Fit the constants to one run by least squares.

    Return None if the fit fails or a constant is too small or too large.
    """
    from scipy.optimize import least_squares

    def residuals(constants: np.ndarray) -> np.ndarray:
        mistake = family.mistake([float(one) for one in constants], dict(forms))
        states = snapshots(definition, run.probe, mistakes=[mistake])
        names = [name for name in run.states[0] if name in states[0]]
        pairs = zip(states, run.states, strict=False)
        return np.concatenate([(one[name] - seen[name]).ravel() for one, seen in pairs for name in names])

    try:
        found = least_squares(residuals, start, method="lm", xtol=1e-10, max_nfev=EVALUATIONS).x
    except ValueError:  # a value is not finite, or a shape differs because a run ends early
        return None
    sizes = np.abs(found)
    return found if sizes.min() >= SMALLEST and sizes.max() <= LARGEST else None


@np.errstate(all="ignore")
def explain_by_constants(
    definition: Any,
    runs: Sequence[Observed],
    dtype: str,
    bank: Mapping[str, Mistake] | None = None,
    forms: Mapping[str, Any] = {},
) -> list[tuple[tuple[str, ...], str]]:
    """Return names and sentence of a deviation that explains every run, with constants fitted to the first run.

    If ``bank`` has known mistakes, the deviation must explain the first run by itself, and every run together with one
    of these mistakes. ``forms`` are settings of an admissible form; settings that vary in this form are not tried.
    """
    found: list[tuple[tuple[str, ...], str]] = []
    explained: set[str] = set()
    others: Mapping[str, Sequence[Mistake]] = {"": ()}
    if bank is not None:
        others = {name: (mistake,) for name, mistake in bank.items()}
    tried = [(family, start) for family in _families(definition) for start in family.starts]
    for family, start in tried:
        # one constant is a simpler explanation than two
        if family.name in explained or (explained and len(start) > 1) or (forms and not family.setting):
            continue
        constants = _fit(definition, runs[0], family, tuple(start), tuple(forms.items()))
        for rounded in () if constants is None else _rounded(constants):
            mistake = family.mistake(rounded, forms)
            if family.name in explained or (
                bank is not None and not agree(definition, runs[:1], dtype, mistakes=[mistake])
            ):
                continue
            for name, further in others.items():
                if agree(definition, runs, dtype, mistakes=[mistake, *further]):
                    explained.add(family.name)
                    sentences = [mistake.sentence, *(each.sentence for each in further)]
                    found.append(((family.name, name) if name else (family.name,), ", and ".join(sentences)))
    return found

"""Constants of its own that any code may have, such as a client's momentum: fitted to one run, confirmed by all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from clusterproof.conformance.changes import functions_of, table
from clusterproof.conformance.definitions import Definition
from clusterproof.conformance.probes import Observed, agree, snapshots
from clusterproof.conformance.slips import Slip

EVALUATIONS = 16
"""Runs of the definition in a fit, without those for derivatives."""
SMALLEST, LARGEST = 1e-9, 1e4
"""A constant beyond these, or not finite, is not tried: one near 0 is a line without effect."""


@dataclass(frozen=True)
class Family:
    """A deviation with unknown constants.

    Attributes
    ----------
    name, sentence
        As those of a slip; the sentence has a place for each constant.
    starts
        Where fits of the constants start.
    changes
        Changes of the definition, with ``<0>`` and ``<1>`` for the constants; none if ``setting`` is given.
    setting
        The setting that has the constant as its value whatever is asked for.
    beside
        Names and values of further settings that the deviation has.
    """

    name: str
    sentence: str
    starts: tuple[tuple[float, ...], ...]
    changes: tuple[tuple[str, str], ...] = ()
    setting: str = ""
    beside: tuple[tuple[str, Any], ...] = ()

    def options(self, constants: Sequence[float], further: Sequence[Slip] = ()) -> dict[str, Any]:
        """Return the keyword arguments with which ``snapshots`` and ``agree`` make the deviation, and further slips."""
        if self.setting:
            return {"changed": {**dict(self.beside), self.setting: constants[0]}, "slips": further}
        changes = dict(self.changes)
        for place, constant in enumerate(constants):
            changes = {name: text.replace(f"<{place}>", repr(constant)) for name, text in changes.items()}
        return {"slips": [Slip(changes, self.sentence), *further]}


def _families(definition: type[Definition]) -> Iterator[Family]:
    """Yield the deviations that an algorithm's code can have; of one name, the first that explains the runs counts."""
    functions = functions_of((definition.rule, *definition.calls))  # type: ignore[arg-type]
    for row in table("general")["constants"]:
        starts, beside = tuple(map(tuple, row["starts"])), tuple(row.get("beside", {}).items())
        family = Family(row["name"], row["sentence"], starts, setting=row.get("setting", ""), beside=beside)
        if "setting" in row:
            yield family
        for name, text in row.get("changes", {}).items():
            if name != "descend" or name in functions:
                yield replace(family, changes=((name, text),))
    for name, default in definition.defaults().items():
        # a constant server step is a variant
        if isinstance(default, float) and name != definition.server_step:
            sentence = f"{name} is {{}} whatever is asked for"
            yield Family(f"{name}-constant", sentence, ((default,), (default / 4,)), setting=name)


@cache
def _starts(definition: type[Definition]) -> tuple[tuple[Family, tuple[float, ...]], ...]:
    """Return where the fits of an algorithm start."""
    return tuple((family, start) for family in _families(definition) for start in family.starts)


def _rounded(constants: np.ndarray) -> Iterator[list[float]]:
    """Yield constants with 1, 2, 3 and all digits."""
    for digits in (1, 2, 3, 17):
        yield [float(f"{constant:.{digits}g}") for constant in constants]


@lru_cache(maxsize=256)  # asked for once more together with each known mistake, and in single precision
def _fit(definition: type[Definition], run: Observed, family: Family, start: tuple[float, ...]) -> Any:
    """Return the constants of least squares on one run, or None where these runs are not finite."""
    from scipy.optimize import least_squares

    def residuals(constants: np.ndarray) -> np.ndarray:
        states = snapshots(definition, run.probe, **family.options([float(one) for one in constants]))
        names = [name for name in run.states[0] if name in states[0]]
        pairs = zip(states, run.states, strict=False)
        return np.concatenate([(one[name] - seen[name]).ravel() for one, seen in pairs for name in names])

    try:
        found = least_squares(residuals, start, method="lm", xtol=1e-10, max_nfev=EVALUATIONS).x
    except ValueError:  # not finite, or of another shape, where a run ends early
        return None
    sizes = np.abs(found)
    return found if sizes.min() >= SMALLEST and sizes.max() <= LARGEST else None


def explain_by_constants(
    definition: type[Definition],
    runs: Sequence[Observed],
    dtype: str,
    bank: Mapping[str, Slip] | None = None,
    forms: Mapping[str, Any] | None = None,
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield names and sentence of each deviation that explains every run; its constants are fitted to the first run.

    With a bank, a deviation explains the first run alone, and every run together with one of the bank's slips. With
    ``forms``, settings of an admissible form, the deviations are settings that are constant under it.
    """
    beside = tuple((forms or {}).items())
    found: set[str] = set()
    with np.errstate(all="ignore"):
        for family, start in _starts(definition):  # type: ignore[arg-type]  # its instances are not hashable, it is
            # one constant is a simpler reason than two
            if family.name in found or (found and len(start) > 1) or (beside and not family.setting):
                continue
            family = replace(family, beside=(*family.beside, *beside)) if beside else family
            constants = _fit(definition, runs[0], family, start)  # type: ignore[arg-type]  # as above
            for rounded in () if constants is None else _rounded(constants):
                sentence = family.sentence.format(*(f"{one:.7g}" for one in rounded))
                if bank is None:
                    candidates: Mapping[str, tuple[Slip, ...]] = {"": ()}
                elif agree(definition, runs[:1], dtype, **family.options(rounded)):
                    candidates = {name: (slip,) for name, slip in bank.items()}
                else:
                    continue
                for name, slips in candidates.items():
                    if agree(definition, runs, dtype, **family.options(rounded, slips)):
                        found.add(family.name)
                        names = (family.name, name) if name else (family.name,)
                        yield names, ", and ".join((sentence, *(slip.sentence for slip in slips)))
                if family.name in found:
                    break

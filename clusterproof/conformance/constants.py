"""Constants of its own that any code may have, such as a client's momentum: fitted to one run, confirmed by all."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from clusterproof.conformance.changes import functions_of
from clusterproof.conformance.definitions import Definition
from clusterproof.conformance.functions import LocalStep, added_up, in_directions, in_local_steps, next_client
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
        The changes of a slip for given constants; None if ``setting`` is given.
    setting
        The setting that has the constant as its value whatever is asked for.
    beside
        Names and values of further settings that the deviation has.
    """

    name: str
    sentence: str
    starts: tuple[tuple[float, ...], ...]
    changes: Callable[..., Mapping[str, Any]] | None = None
    setting: str = ""
    beside: tuple[tuple[str, Any], ...] = ()

    def options(self, constants: Sequence[float], further: Sequence[Slip] = ()) -> dict[str, Any]:
        """Return the keyword arguments with which ``snapshots`` and ``agree`` make the deviation, and further slips."""
        if self.changes is None:
            return {"changed": {**dict(self.beside), self.setting: constants[0]}, "slips": further}
        return {"slips": [Slip(self.changes(*constants), self.sentence), *further]}


def _with_momentum(step: LocalStep, beta: float, decay: float = 0.0, kept: bool = False) -> Any:
    memory, key = (step.run.memory, ("buffer", step.client)) if kept else (step.memory, "buffer")
    memory[key] = step.gradient + decay * step.y + beta * memory.get(key, 0.0)
    return memory[key]


def _with_nesterov(step: LocalStep, beta: float) -> Any:
    return step.gradient + beta * _with_momentum(step, beta)


def _decayed(step: LocalStep, decay: float) -> Any:
    return step.gradient + decay * step.y


def _shortened(step: LocalStep, factor: float) -> Any:
    return step.gradient * factor**step.number


def _clipped(step: LocalStep, norm: float) -> Any:
    return step.gradient * min(1.0, norm / max(float(np.linalg.norm(step.gradient)), 1e-300))


BETAS, LOCAL = ((0.9,), (0.5,)), "local steps have "
DEVIATIONS: dict[str, tuple[str, tuple[tuple[float, ...], ...], Callable[..., Any]]] = {
    "local-momentum": (LOCAL + "momentum {}, which starts at 0 in each round", BETAS, _with_momentum),
    "local-momentum-kept": (
        LOCAL + "momentum {}, which is kept from round to round",
        BETAS,
        partial(_with_momentum, kept=True),
    ),
    "local-nesterov": (
        LOCAL + "Nesterov's momentum {}, which starts at 0 in each round",
        BETAS,
        _with_nesterov,
    ),
    "weight-decay": (
        LOCAL + "weight decay {0}; if that is meant, declare weight_decay = {0}",
        ((1e-3,),),
        _decayed,
    ),
    "local-momentum-and-weight-decay": (
        LOCAL + "momentum {} and weight decay {}",
        ((0.9, 1e-3), (0.5, 1e-3)),
        _with_momentum,
    ),
    "step-decayed-in-round": (
        "the step size is multiplied by {} after every local step, and starts again in each round",
        ((0.9,),),
        _shortened,
    ),
    "clipped": (
        "gradients are clipped to the norm {}",
        ((0.1,), (0.5,), (1.0,), (2.0,), (5.0,)),
        _clipped,
    ),
}
"""Deviations of a local step: sentence, where fits start, and the change of its direction or gradient."""


DECLARE_RATE = "; if that is meant, declare schedule = exponential, schedule_rate = {0}"
SCHEDULED = {
    "cosine": "the step size of round t = 0, 1, ... is multiplied by (1 + cos(pi t / {0})) / 2",
    "warm-up": "the step size of round t = 0, 1, ... is multiplied by (t + 1) / {0} as long as that is below 1",
}
"""Schedules of the step size over a number of rounds."""


def _in_own_rounds(factor: float, run: Any, local: Callable[..., Any]) -> Callable[..., Any]:
    """Return local steps whose size is multiplied by a factor after every round in which the client takes part."""

    def changed(gradient: Any, model: Any, step_size: Any, *others: Any) -> Any:
        rounds = added_up(run, f"rounds of {next_client(run)}", 1)
        return local(gradient, model, step_size * factor ** (rounds - 1), *others)

    return changed


def _families(definition: type[Definition]) -> Iterator[Family]:
    """Yield the deviations that an algorithm's code can have; of one name, the first that explains the runs counts."""
    # a client's optimiser sees corrections, or the gradient alone
    places = {"descend": in_directions, "gradients": in_local_steps}
    descends = "descend" in functions_of((definition.rule, *definition.calls))  # type: ignore[arg-type]
    for place, (name, (sentence, starts, change)) in itertools.product(
        list(places)[not descends :], DEVIATIONS.items()
    ):

        def changes(*constants: float, place: str = place, change: Any = change) -> Mapping[str, Any]:
            def of_step(step: LocalStep) -> Any:
                return change(step, *constants)

            return {place: lambda run, value: places[place](run, value, of_step)}

        yield Family(name, sentence, starts, changes)
    yield Family(
        "gradient-scaled",
        "the gradient is multiplied by {}: a factor of the loss or of the step size",
        ((0.5,), (2.0,)),
        lambda factor: {
            "gradients": lambda run, value: in_local_steps(run, value, lambda step: factor * step.gradient)
        },
    )
    yield Family(
        "step-decayed",
        "the step size is multiplied by {0} after every round" + DECLARE_RATE,
        ((0.9,),),
        lambda factor: {"step_size": lambda run, value: value * factor**run.finished},
    )
    if descends:
        yield Family(
            "step-decayed",
            "the step size is multiplied by {0} after every round in which the client takes part",
            ((0.9,),),
            lambda factor: {"descend": partial(_in_own_rounds, factor)},
        )
    for name, sentence in SCHEDULED.items():
        beside = (("schedule", name),)
        sentence = f"{sentence}; if that is meant, declare schedule = {name}, schedule_rounds = {{0}}"
        yield Family(
            f"schedule-{name}", sentence, ((3.0,), (10.0,), (50.0,)), setting="schedule_rounds", beside=beside
        )
    for rounds in range(2, 6):
        yield Family(
            "schedule-step",
            f"the step size is multiplied by {{0}} after every {rounds} rounds; if that is meant, declare "
            f"schedule = step, schedule_rounds = {rounds}, schedule_rate = {{0}}",
            ((0.5,),),
            setting="schedule_rate",
            beside=(("schedule", "step"), ("schedule_rounds", rounds)),
        )
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

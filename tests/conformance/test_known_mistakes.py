"""The bank of mistakes: each is found and named where it shows, and is told from the definition by single precision."""

import itertools
from typing import Any

import numpy as np
import pytest

from clusterproof.conformance import DEFINITIONS, check_names, conform
from clusterproof.conformance.definitions import KNOWN_MISTAKES
from clusterproof.conformance.functions import in_directions
from clusterproof.conformance.further_checks import CHECKS
from clusterproof.conformance.probes import SUPPORTS, Probe, make_probes, right_states, snapshots
from clusterproof.conformance.tolerance import unit

FORMS: dict[str, tuple[dict[str, Any], ...]] = {
    "scaffold": ({"option": "II"}, {"option": "I"}),
    "ifca": ({"averaging": "model"}, {"averaging": "gradient"}),
    "cfl-mgd": ({"averaging": "model"}, {"averaging": "gradient"}),
    "pfedme": ({"theta": "continues"}, {"theta": "restarts"}),
    "fedbcd": ({"variant": "penalised"}, {"variant": "separate"}),
    "cfl": ({}, {"noise_ratio": 0.65}),
    "sofl": (
        {},
        {"method": "fedprox", "proximal": 0.5},
        {"method": "per-fedavg"},
        {"trigger": "stationary", "pretraining": 1},
    ),
}
"""Settings under which mistakes of an algorithm are tried, up to the first under which one shows."""

CLASSES = {
    "scaffold": [{"correction-sign", "drift-sign"}, {"server-part-sign", "control-step-sign"}],
    "fednova": [{"no-normalisation", "tau-counts-epochs"}],
    "feddyn": [{"linear-sign", "state-sign"}],
    "proxskip": [{"shift-sign", "shift-change-sign"}],
    "fedavgm": [{"momentum-damped", "momentum-scales-model-step"}],
    "gradient-loss": [{"weights-swapped", "similarity-missing"}],
    "cfl": [{"mean-of-norms", "no-splits"}, {"one-condition-suffices", "only-eps-2"}],
}
"""Mistakes of one algorithm that no run can tell apart."""

VARIANTS = {
    "other-weights",
    "other-option",
    "other-averaging",
    "theta-restarts",
    "v-starts-at-zero",
    "bias-corrected",
    "gradient-mean-of-members",
    "divided-by-participants",
    "hessian-missing",
    "mean-of-participants",
    "momentum-nesterov",
}
"""Mistakes that are another admissible form of the algorithm."""


ROUNDING = "in-half-precision"
"""End of the names of mistakes that round once: by 2^-11 of an entry; float32 allows 300 2^-23 and more a round."""

IN_SINGLE = ("fedavg", "proxskip")
"""Algorithms whose bank is tried in single precision, too; the distances of all are compared with its unit below."""
BANKS = [*((name, None) for name in KNOWN_MISTAKES), *((name, "float32") for name in IN_SINGLE)]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("algorithm", "dtype"), BANKS)
def test_every_mistake_is_found_and_no_other_is_named(algorithm: str, dtype: str | None) -> None:
    """... by the shorter runs, if it shows there: more runs leave fewer causes."""
    definition = DEFINITIONS[algorithm]
    probes = check_names(definition)[: -len(CHECKS)]
    longer = {"many-rounds"} if definition.clusters else {"many-rounds", "seven-clients"}
    shorter = [name for name in probes if name not in longer]
    unseen: list[str] = []
    misnamed: list[Any] = []
    for name, mistake in KNOWN_MISTAKES[algorithm].items():
        seen = False
        for checks, settings in itertools.product((shorter, probes), FORMS.get(algorithm, ({},))):
            report = conform(
                lambda task, given, mistake=mistake: definition(task, given, [mistake.changes]),  # type: ignore[misc]
                algorithm,
                settings=settings,
                checks=checks,
                dtype=dtype,
            )
            named = {one for hypothesis in report.likely for one in hypothesis.mistakes}
            allowed = next((group for group in CLASSES.get(algorithm, []) if name in group), {name})
            seen = seen or (dtype == "float32" and name.endswith(ROUNDING))
            if report.verdict == "differs":
                seen = seen or name in named
                if name not in named or not named <= allowed:
                    misnamed.append((name, settings, report.likely))
            elif report.verdict == "variant":
                seen = True
                if name not in VARIANTS and "constant" not in report.sentence:
                    misnamed.append((name, settings, report.sentence))
            elif report.verdict == "unusable":
                misnamed.append((name, settings, report.sentence))
            if seen:
                break
        if not seen:
            unseen.append(name)
    assert (unseen, misnamed) == ([], [])


def is_far(definition: Any, mistake: Any, probe: Probe) -> bool:
    """Return whether a mistake is 50 units of single precision or more away from the definition in a run."""
    faulty = snapshots(definition, probe, mistakes=(mistake,))
    for number, (found, wanted) in enumerate(zip(faulty, right_states(definition, probe), strict=False)):
        for name in wanted:
            with np.errstate(all="ignore"):
                distances = np.abs(found[name] - wanted[name]) / unit(number, wanted[name], "float32")
            if np.nan_to_num(distances, nan=np.inf).max() >= 50:
                return True
    return False


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", KNOWN_MISTAKES)
def test_single_precision_tells_every_mistake_from_the_definition(algorithm: str) -> None:
    definition = DEFINITIONS[algorithm]
    probes = [
        probe for form in FORMS.get(algorithm, ({},)) for probe in make_probes(definition, form, SUPPORTS)[0]
    ]
    bank = {
        name: mistake for name, mistake in KNOWN_MISTAKES[algorithm].items() if not name.endswith(ROUNDING)
    }
    near = [
        name for name, mistake in bank.items() if not any(is_far(definition, mistake, one) for one in probes)
    ]
    assert near == []


def directions(change: Any) -> Any:
    return lambda run, local: in_directions(run, local, change)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("algorithm", "changes", "probe"),
    [
        ("fedavg", {"descend": directions(lambda step: np.clip(step.gradient, -0.5, 0.5))}, "one-step"),
        ("fedprox", {"pull": "1.5 * {}"}, "local-epochs"),
        ("scaffold", {"client part": "0.9 * {}", "server part": "0.9 * {}"}, "rounds"),
        ("fedavg", {"weights": "{} ** 2 / ({} ** 2).sum()"}, "sizes"),
    ],
)
def test_mistakes_outside_the_bank_are_found_and_not_named(algorithm: str, changes: Any, probe: str) -> None:
    report = conform(lambda task, given: DEFINITIONS[algorithm](task, given, [changes]), algorithm)
    assert (report.verdict, report.likely) == ("differs", ()), str(report)
    assert "no known mistake" in report.sentence
    assert report.localised is not None
    assert report.localised.probe == probe

"""Runs of ``clusterproof train`` in a sweep: their options, units and measurements."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.experiments.devices import gpus
from clusterproof.experiments.store import Unit
from clusterproof.experiments.training_units import train_unit, training_unit
from clusterproof.neural.configuration import (
    DEFAULTS,
    KNOWN,
    configuration_from,
    parameters,
    places,
    with_code,
)
from clusterproof.neural.custom.references import OWN
from clusterproof.neural.metrics import COLUMNS

MEASURES = COLUMNS[1:]
"""The columns of a run's metrics, see ``neural.metrics``."""

TOP = ("rounds", "seed", "evaluate_every")
"""Options of ``train`` that are top-level keys of a sweep's file, under the same or another name."""


def owners() -> dict[str, tuple[str, ...]]:
    """Return the names of the partitions, networks or algorithms that have each option of ``train``."""
    found: dict[str, tuple[str, ...]] = {
        option: () for option, (section, _) in places().items() if section in ("data", "training")
    }
    found |= dict.fromkeys(DEFAULTS, ())
    for section in ("partition", "network", "algorithm"):
        for name in KNOWN[section]:
            for option, (place, key) in places({section: name}).items():
                if place == section and key != "name":
                    found[option] = (*found.get(option, ()), name)
    return {option: names for option, names in found.items() if option not in TOP}


def make_unit(
    chosen: Mapping[str, Any],
    *,
    rounds: int,
    replicates: int | None,
    every: int | None,
    measure: list[str],
    code: Collection[str],
) -> Unit:
    """Make a run's unit with seed 0 from options by name; options that do not apply to the run are left out.

    ``code`` holds the names of user-supplied code that may be imported.

    Raises
    ------
    InvalidArgument
        If an option has the wrong type, is out of range or names other code, or if ``replicates`` is given.
    """
    if replicates is not None:
        raise InvalidArgument("replicates", replicates, "is not of training runs", "give more seeds")
    names = {section: str(chosen.get(section, default)) for section, default in DEFAULTS.items()}
    sections: dict[str, dict[str, Any]] = {section: {"name": name} for section, name in names.items()}
    with_code(sections, {key: name for key, name in names.items() if key in OWN and name in code}, "code")
    known = places(names)
    sections["training"] = {"rounds": rounds, "evaluate_every": every or rounds}
    given = {}
    for option, value in chosen.items():
        section, key = known.get(option, (option, "name"))
        if key != "name" and key in parameters(section, names.get(section, "")):
            sections[section][key] = value
            given[option] = section, key
    configuration = configuration_from(sections)
    device = configuration.training.device
    device = ("cuda" if gpus() else "cpu") if device == "auto" else device
    unit = training_unit(configuration, 0, threads=1, device=device)
    typed = unit.settings["sections"]
    del names["algorithm"]
    options = {**names, **{option: typed[section][key] for option, (section, key) in given.items()}}
    return replace(unit, settings={**unit.settings, "options": options, "rounds": rounds, "measure": measure})


def compute(unit: Unit) -> dict[str, list[Any]]:
    """Train a unit of a sweep, and remove its folder.

    Returns
    -------
    dict
        Columns of equal length: ``round``, ``replicate`` (0), and one per measure, for the evaluated rounds.
    """
    metrics = train_unit(unit).metrics
    shutil.rmtree(unit.folder)
    every = unit.settings["sections"]["training"]["evaluate_every"]
    last = metrics["round"][-1]
    shown = [index for index, done in enumerate(metrics["round"]) if done % every == 0 or done == last]
    columns = {name: [metrics[name][index] for index in shown] for name in unit.settings["measure"]}
    return {"round": [metrics["round"][index] for index in shown], "replicate": [0] * len(shown), **columns}

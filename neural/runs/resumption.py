"""What may differ between a run and its continuation: settings, versions and user-supplied code."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.custom.references import code_sum, is_own
from clusterproof.neural.runs.assembly import Assembly
from clusterproof.neural.runs.configuration import Configuration
from clusterproof.neural.runs.storage.checkpoint import Stored, current_versions

CHANGEABLE = ("rounds", "checkpoint_every", "device", "diagnose")
"""Training settings that a resumed run may change."""


def compare_configuration(configuration: Configuration, stored: Stored) -> tuple[dict[str, Any], list[str]]:
    """Require the configuration of a stored run; return its choices that are kept, and remarks on differences."""
    now, then = configuration.sections, stored.settings["configuration"]
    # an algorithm's parameter that did not exist when the run was begun had the effect of its default
    defaults = {"algorithm": {field.name: field.default for field in fields(configuration.algorithm)}}
    for section in now:
        for key in {**now[section], **then.get(section, {})}:
            value = now[section].get(key)
            was = then.get(section, {}).get(key, defaults.get(section, {}).get(key))
            if value != was and (section, key) not in {("training", name) for name in CHANGEABLE}:
                rule, remedy = (
                    f"was {was!r} when the run was begun",
                    "leave it as it was, or start another run",
                )
                raise InvalidArgument(f"{section}.{key}", value, rule, remedy)
    rounds = configuration.training.rounds
    if rounds < stored.rounds:
        rule = f"must be at least the {stored.rounds} that are done"
        raise InvalidArgument("training.rounds", rounds, rule, "ask for more rounds")
    choices, remarks = dict(stored.settings["choices"]), list(stored.remarks)
    if stored.versions != current_versions():
        remarks.append(f"{stored.path}: was written with other versions; the last bits may differ")
    if configuration.training.device not in ("auto", choices["device"]):
        remarks.append(f"{stored.path}: was written on {choices['device']}; the last bits may differ")
        choices = {key: choices[key] for key in ("threads", "test_assignment")}
    return choices, remarks


def user_code_names(configuration: Configuration) -> dict[str, str]:
    """Names of data, network and algorithm, any of which may be user-supplied code."""
    algorithm = configuration.algorithm_reference or ""
    return {"data": configuration.data, "network": configuration.network.name, "algorithm": algorithm}


def code_sums(configuration: Configuration) -> dict[str, str]:
    """SHA-256 of the files of a user-supplied network and algorithm, by section."""
    names = user_code_names(configuration)
    sections = [section for section in ("network", "algorithm") if is_own(section, names[section])]
    return {section: code_sum(section, names[section]) for section in sections}


def compare_code(configuration: Configuration, assembly: Assembly, stored: Stored) -> list[str]:
    """Require unchanged user-supplied data, and remark on user-supplied code that has changed."""
    before, now = (
        settings["partition"].get("note", "")
        for settings in (stored.settings["task"], assembly.task.settings)
    )
    if before != now and is_own("data", configuration.data):
        rule = f"had the {before} when the run was begun, and has now {now}"
        raise InvalidArgument(
            "data.name", configuration.data, rule, "bring the data back, or start another run"
        )
    then = stored.settings.get("code", {})
    return [
        f"{stored.path}: was written with other code of the {section}; what follows may differ"
        for section, found in code_sums(configuration).items()
        if then.get(section) != found
    ]

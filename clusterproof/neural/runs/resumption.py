"""What may differ between a run and its continuation: settings, versions and user-supplied code."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.custom.digests import code_sums
from clusterproof.neural.custom.references import is_own, without_folders
from clusterproof.neural.runs.assembly import Assembly
from clusterproof.neural.runs.configuration import Configuration, user_code_names
from clusterproof.neural.runs.storage.checkpoint import Stored, current_versions

CHANGEABLE = ("rounds", "checkpoint_every", "device")
"""Training settings that a resumed run may change."""


def compare_configuration(configuration: Configuration, stored: Stored) -> tuple[dict[str, Any], list[str]]:
    """Require the configuration of a stored run; return its choices that are kept, and remarks on differences."""
    now, then = (without_folders(part) for part in (configuration.sections, stored.settings["configuration"]))
    # a parameter that did not exist when the run was begun had the effect of its default
    records: dict[str, Any] = {"algorithm": configuration.algorithm, "training": configuration.training}
    defaults = {name: {field.name: field.default for field in fields(of)} for name, of in records.items()}
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
    choices, remarks = dict(stored.settings["choices"]), []
    if stored.versions != current_versions():
        remarks.append(f"{stored.path}: was written with other versions; the last bits may differ")
    if configuration.training.device not in ("auto", choices["device"]):
        remarks.append(f"{stored.path}: was written on {choices['device']}; the last bits may differ")
        choices = {key: choices[key] for key in ("threads", "test_assignment")}
    return choices, remarks


def compare_data(configuration: Configuration, assembly: Assembly, stored: Stored) -> None:
    """Require that user-supplied data are those with which the run was begun."""
    before, now = (
        settings["partition"].get("note", "")
        for settings in (stored.settings["task"], assembly.task.settings)
    )
    if before != now and is_own("data", configuration.data):
        rule = f"had the {before} when the run was begun, and has now {now}"
        raise InvalidArgument(
            "data.name", configuration.data, rule, "bring the data back, or start another run"
        )


def compare_code(configuration: Configuration, stored: Stored) -> None:
    """Require unchanged user-supplied code.

    Raises
    ------
    InvalidArgument
        If the code is not that with which the run was begun; the message names the file.
    """
    names = user_code_names(configuration)
    found = code_sums(names)
    for key, digest in stored.settings["code"].items():
        if found.get(key) != digest:
            section, _, file = key.partition(" ")
            rule = f"needs {file or 'the module'} as it was when the run was begun (SHA-256 {digest[:16]}...)"
            raise InvalidArgument(
                f"{section}.name", names[section], rule, "bring the code back, or start another run"
            )

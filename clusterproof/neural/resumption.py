"""Checks that a resumed training run has the same settings, code and data as the original run."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from clusterproof.common import InvalidArgument
from clusterproof.neural.checkpoint import Stored, digest
from clusterproof.neural.configuration import CHANGEABLE, Configuration
from clusterproof.neural.custom.references import code_sums
from clusterproof.neural.partitions.base import Partition

OTHER_SAMPLES = "gives the clients other samples than when the run started"


def record_of(
    configuration: Configuration, partition: Partition, choices: Mapping[str, Any]
) -> dict[str, Any]:
    """Return all values that must be equal in a resumed run and in the original run, as JSON values.

    Parameters
    ----------
    configuration, partition
        Configuration and partition of the run.
    choices
        Values that the run has chosen for settings that the configuration does not determine.
    """
    halves = {"train": partition.train, "test": partition.test}
    names = ("pixels", "indices", "targets", "sizes", "labels")
    arrays = {f"{half} {name}": getattr(images, name) for half, images in halves.items() for name in names}
    return {
        "configuration": configuration.sections,
        "choices": choices,
        "samples": digest(arrays),
        "code": code_sums({"network": configuration.network.name, "algorithm": configuration.algorithm.name}),
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": str(torch.__version__),
        },
    }


def kept_choices(configuration: Configuration, stored: Stored) -> tuple[dict[str, Any], list[str]]:
    """Reject settings that differ from a stored run; return the choices of this run, and remarks about the device."""
    was, now = (_without_folders(each) for each in (stored.record["configuration"], configuration.sections))
    for section in now:
        for key in {**was.get(section, {}), **now[section]}:
            value, before = now[section].get(key), was.get(section, {}).get(key)
            if value != before and (section, key) not in {("training", name) for name in CHANGEABLE}:
                rule = f"was {before!r} when the run started"
                remedy = "keep the original value, or start another run"
                raise InvalidArgument(f"{section}.{key}", value, rule, remedy)
    if configuration.training.rounds < stored.record["rounds"]:
        rule = f"must be at least {stored.record['rounds']}, the number of finished rounds"
        raise InvalidArgument(
            "training.rounds", configuration.training.rounds, rule, "increase the number of rounds"
        )
    choices: dict[str, Any] = stored.record["choices"]
    if configuration.training.device in ("auto", choices["device"]):
        return choices, []
    remark = f"{stored.path}: was written on {choices['device']}; the last bits may differ"
    return {key: choices[key] for key in ("threads", "test_assignment")}, [remark]


def require_same(configuration: Configuration, stored: Stored, record: Mapping[str, Any]) -> list[str]:
    """Reject code, data or clients that differ from a stored run; return remarks about different library versions."""
    remedy = "restore the original, or start another run"
    for section in stored.record["code"] | record["code"]:
        was, now = (each["code"].get(section, {}) for each in (stored.record, record))
        if changed := [file for file in was | now if was.get(file) != now.get(file)]:
            rule = f"is not the same code as when the run started: {', '.join(changed)} changed"
            raise InvalidArgument(f"{section}.name", configuration.user_code[section], rule, remedy)
    if stored.record.get("samples") != record["samples"]:
        raise InvalidArgument("partition.name", configuration.partition.name, OTHER_SAMPLES, remedy)
    if stored.record["versions"] == record["versions"]:
        return []
    return [f"{stored.path}: was written with other versions; the last bits may differ"]


def _without_folders(sections: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Remove the folders from the paths of code files, because the folders do not affect a run."""
    return {
        section: {key: os.path.basename(value) if key == "name" else value for key, value in table.items()}
        for section, table in sections.items()
    }

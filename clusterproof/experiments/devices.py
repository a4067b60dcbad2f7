"""Devices on which a table's networks are trained, and the resulting number of processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from clusterproof.algorithms import InvalidArgument
from clusterproof.experiments.store import Unit


def placed(units: Sequence[Unit], device: str | None, *, elsewhere: bool = False) -> list[Unit]:
    """Return units with the requested device.

    The device is part of a unit's settings unless it is the default, since results differ in the last bits between
    devices.

    Parameters
    ----------
    units
        Units of a table.
    device
        ``"cpu"``, ``"cuda"`` or ``"auto"`` (a GPU if there is one). If None, the table's default.
    elsewhere
        Whether the units run on a cluster, whose devices are unknown.

    Raises
    ------
    InvalidArgument
        If the table trains no network, there is no GPU, or ``"auto"`` is requested on a cluster.
    """
    if device is not None and not any(unit.trains_a_network for unit in units):
        raise InvalidArgument("device", device, "asks for a table that trains networks", "leave it out")
    if elsewhere and device == "auto":
        raise InvalidArgument(
            "device", device, "refers to this computer, and a cluster computes", "use 'cpu' or 'cuda'"
        )
    if device == "cuda" and not elsewhere and not gpus():
        raise InvalidArgument("device", device, "is not available to this torch", "use 'cpu'")
    if device == "auto":
        device = "cuda" if gpus() else "cpu"
    return [_placed(unit, device) if unit.trains_a_network else unit for unit in units]


def _placed(unit: Unit, device: str | None) -> Unit:
    given = dict(unit.settings)
    if device == "cuda" or (device == "cpu" and given.get("gpu")):
        given["device"] = device
    return replace(unit, settings=given)


def _on_a_gpu(unit: Unit) -> bool:
    """Return whether a unit is trained on a GPU."""
    named = unit.settings.get("device", "cuda" if unit.settings.get("gpu") else "cpu")
    return unit.trains_a_network and named == "cuda" and bool(gpus())


def gpus() -> int:
    """Return the number of GPUs that torch sees; none without torch."""
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def trains_on_a_gpu(units: Sequence[Unit]) -> bool:
    """Return whether a local GPU trains one of the units."""
    return any(_on_a_gpu(unit) for unit in units)


def visible_gpus(jobs: int | None) -> tuple[str, ...]:
    """Return the names of the visible GPUs as in ``CUDA_VISIBLE_DEVICES``, one per process.

    Each GPU has one process, since two would compete for its memory.

    Parameters
    ----------
    jobs
        Requested number of processes, or None.

    Raises
    ------
    InvalidArgument
        If more processes are requested than there are GPUs.
    """
    number = gpus()
    if jobs is not None and jobs > number:
        rule = f"must be at most the number of GPUs ({number}), with one process each"
        raise InvalidArgument("jobs", jobs, rule, "leave it out, or use --device cpu")
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = map(str, range(number)) if named is None else named.split(",")
    return tuple(name.strip() for name in names)[:number]

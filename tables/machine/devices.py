"""On which device a table's networks are trained, and how many processes that leaves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from clusterproof.algorithms import InvalidArgument
from clusterproof.tables.machine.store import Unit

SEEDS_TOGETHER = 10
"""Seeds that a GPU trains in one batch at most: what a run that is broken off loses."""


def placed(
    units: Sequence[Unit], device: str | None, precision: str | None, *, elsewhere: bool = False
) -> list[Unit]:
    """Give units as they are on the device and in the precision that were asked for.

    What is asked for is part of a unit's settings, unless the unit is computed so anyway: on another device the
    last bits differ.

    Parameters
    ----------
    units
        Of a table.
    device
        ``"cpu"``, ``"cuda"`` or ``"auto"``, a GPU where there is one; what the table has by itself where None.
    precision
        Of products on a GPU: ``"highest"``, ``"tf32"`` or ``"bf16"``; the first where None.
    elsewhere
        Whether other machines compute, whose devices are not known here.

    Raises
    ------
    InvalidArgument
        If the table trains no network, there is no GPU, a precision is asked for without one, or ``"auto"``
        for other machines.
    """
    for argument, value in (("device", device), ("precision", precision)):
        if value is not None and not any(unit.trains_a_network for unit in units):
            raise InvalidArgument(argument, value, "asks for a table that trains networks", "leave it out")
    if elsewhere and device == "auto":
        raise InvalidArgument(
            "device", device, "asks what is here, and others compute", "use 'cpu' or 'cuda'"
        )
    if device == "cuda" and not elsewhere and not gpus():
        raise InvalidArgument("device", device, "is not there, or not for this torch", "use 'cpu'")
    if device == "auto":
        device = "cuda" if gpus() else "cpu"
    found = [_placed(unit, device, precision) if unit.trains_a_network else unit for unit in units]
    coarse = precision not in (None, "highest")
    if coarse and not all(_on_a_gpu(unit, elsewhere) for unit in found if unit.trains_a_network):
        raise InvalidArgument("precision", precision, "asks for a GPU", "use 'highest', or --device cuda")
    return found


def _placed(unit: Unit, device: str | None, precision: str | None) -> Unit:
    given = dict(unit.settings)
    if device == "cuda" or (device == "cpu" and given.get("gpu")):
        given["device"] = device
    if precision not in (None, "highest"):
        given["precision"] = precision
    return replace(unit, settings=given)


def _on_a_gpu(unit: Unit, elsewhere: bool = False) -> bool:
    """Whether a unit is trained on a GPU; on other machines, whether it is meant to be."""
    named = unit.settings.get("device", "cuda" if unit.settings.get("gpu") else "cpu")
    return unit.trains_a_network and named == "cuda" and (elsewhere or bool(gpus()))


def gpus() -> int:
    """Number of GPUs that torch sees; none without torch."""
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def processes(units: Sequence[Unit], asked: int | None) -> tuple[int | None, int]:
    """Give the number of processes for units, None for one a core, and of GPUs that they share out.

    Two processes on one GPU would only take each other's memory and turns: there is one for each.

    Parameters
    ----------
    units
        What is to be computed.
    asked
        Number of processes that was asked for; None where nobody said.

    Raises
    ------
    InvalidArgument
        If more are asked for than there are GPUs.
    """
    if not any(_on_a_gpu(unit) for unit in units):
        return asked, 0
    count = gpus()
    if asked is not None and asked > count:
        rule = f"must be at most the number of GPUs here ({count}), with one process each"
        raise InvalidArgument("workers", asked, rule, "leave it out, or use --device cpu")
    return min(asked or count, count), count


def seeds_together(units: Sequence[Unit], count: int) -> list[tuple[Unit, ...]]:
    """Put units that differ in their seeds alone together where a GPU trains them; the order stays otherwise.

    Parameters
    ----------
    units
        What is to be computed.
    count
        Number of GPUs, none of which is to stay without work for it.

    Returns
    -------
    list
        At most ``SEEDS_TOGETHER`` each; units of the CPU are alone.
    """
    found: dict[str, list[list[Unit]]] = {}
    batches: list[list[Unit]] = []
    most = min(SEEDS_TOGETHER, -(-len(units) // count))
    for unit in units:
        kind = json.dumps([unit.method, dict(unit.settings)], sort_keys=True)
        own = found.setdefault(kind, [])
        if not own or len(own[-1]) == most or not _on_a_gpu(unit):
            own.append([])
            batches.append(own[-1])
        own[-1].append(unit)
    return [tuple(batch) for batch in batches]

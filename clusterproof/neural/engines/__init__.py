"""Gradients and local training of many clients: one interface with two implementations."""

from __future__ import annotations

from clusterproof.common.validation import InvalidArgument, check_choice
from clusterproof.neural.engines.base import Engine
from clusterproof.neural.engines.by_autograd import SerialEngine, VmapEngine
from clusterproof.neural.networks import Network

ENGINES: dict[str, type[Engine]] = {kind.name: kind for kind in (VmapEngine, SerialEngine)}
"""Engines by their names in configurations.

:meta hide-value:
"""


LARGEST_BATCHED = 50_000
"""Number of parameters above which a CPU trains clients faster one by one, since their models fill its cache."""


def choose_engine(name: str, network: Network, device: str) -> Engine:
    """Make an engine by name, or the fastest one.

    Parameters
    ----------
    name
        One of ``ENGINES``, or ``"auto"``: ``"serial"`` on a CPU for convolutions and for more than ``LARGEST_BATCHED``
        parameters, and for networks that ``torch.func.vmap`` does not accept; ``"vmap"`` otherwise.
    network, device
        The network, and ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    InvalidArgument
        If there is no such engine, or it does not accept the network.
    """
    check_choice("engine", name, ("auto", *ENGINES), remedy="'auto' chooses by network and device")
    if name == "auto":
        on_cpu = device == "cpu" and (network.convolutional or network.dimension > LARGEST_BATCHED)
        name = "serial" if on_cpu or not network.vectorises else "vmap"
    if name == "vmap" and not network.vectorises:
        rule = "asks for a network that torch.func.vmap takes"
        raise InvalidArgument("engine", name, rule, "use 'serial'")
    return ENGINES[name](network)


__all__ = ["ENGINES", "Engine", "SerialEngine", "VmapEngine", "choose_engine"]

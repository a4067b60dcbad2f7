"""Gradients and local training of many clients: one interface, three ways to compute."""

from __future__ import annotations

import math

from clusterproof.common.validation import InvalidArgument, check_choice
from clusterproof.neural.engines.base import Engine
from clusterproof.neural.engines.by_autograd import SerialEngine, VmapEngine
from clusterproof.neural.engines.gram import GramEngine
from clusterproof.neural.networks import MLP, Network

ENGINES: dict[str, type[Engine]] = {kind.name: kind for kind in (GramEngine, VmapEngine, SerialEngine)}
"""Engines by their names in configurations.

:meta hide-value:
"""


def choose_engine(name: str, network: Network, device: str, *, samples: int, whole: bool) -> Engine:
    """Make an engine by name, or the one that is fastest.

    Parameters
    ----------
    name
        One of ``ENGINES``, or ``"auto"``: ``"gram"`` for a perceptron on a CPU whose clients use all of their samples
        in each step and have fewer of them than a sample has numbers; ``"serial"`` for convolutions on a CPU, and for
        networks that ``torch.func.vmap`` does not take; ``"vmap"`` otherwise.
    network, device
        Which network, on ``"cpu"`` or ``"cuda"``.
    samples
        Largest number of samples of a client.
    whole
        Whether every step uses all data of a client as they are.

    Raises
    ------
    InvalidArgument
        If there is no such engine, or it does not take the network or the steps.
    """
    check_choice("engine", name, ("auto", *ENGINES), remedy="'auto' chooses by network, batch and device")
    perceptron, on_cpu = isinstance(network, MLP), device == "cpu"
    if name == "auto":
        if perceptron and on_cpu and whole and samples < math.prod(network.image_shape):
            name = "gram"
        else:
            name = "serial" if (network.convolutional and on_cpu) or not network.vectorises else "vmap"
    if name == "gram" and not (perceptron and whole):
        rule = "asks for the network 'mlp' and steps that use all of a client's data, undistorted"
        raise InvalidArgument("engine", name, rule, "use 'auto'")
    if name == "vmap" and not network.vectorises:
        rule = "asks for a network that torch.func.vmap takes"
        raise InvalidArgument("engine", name, rule, "use 'serial'")
    return ENGINES[name](network)


__all__ = ["ENGINES", "Engine", "GramEngine", "SerialEngine", "VmapEngine", "choose_engine"]

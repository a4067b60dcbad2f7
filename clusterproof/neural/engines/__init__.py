"""Losses, gradients and local training of many clients: one interface, three ways to compute."""

from __future__ import annotations

import math

from clusterproof.algorithms.validation import InvalidArgument, check_choice
from clusterproof.neural.engines.base import Engine
from clusterproof.neural.engines.gram import GramEngine
from clusterproof.neural.engines.serial import SerialEngine
from clusterproof.neural.networks import MLP, Network

ENGINES: dict[str, type[Engine]] = {kind.name: kind for kind in (GramEngine, Engine, SerialEngine)}
"""Engines by their names in configurations.

:meta hide-value:
"""


def choose_engine(
    name: str,
    network: Network,
    device: str,
    *,
    samples: int,
    full_batch: bool,
    epochs: bool = False,
    mixed: bool = False,
    distorted: bool = False,
) -> Engine:
    """Make an engine by name, or the one that is fastest.

    Parameters
    ----------
    name
        One of ``ENGINES``, or ``"auto"``, which depends on the arguments alone: on a GPU ``"vmap"``; on a CPU
        ``"gram"`` for perceptrons whose Gram matrices save multiplications, with full batches unless a client has
        more than twice as many samples as a sample has numbers, with epochs of mini-batches unless it has more than
        once as many; ``"vmap"`` for other perceptrons; and ``"serial"`` for other networks.
    network, device
        Which network, on ``"cpu"`` or ``"cuda"``.
    samples
        Largest number of samples of a client.
    full_batch, epochs
        Whether every local step uses all data of a client, in one gradient or in a pass of many.
    mixed
        Whether products are computed in bfloat16, which PyTorch decides for its own gradients only.
    distorted
        Whether the images differ from step to step, so that there is no Gram matrix of them.

    Raises
    ------
    InvalidArgument
        If there is no such engine, or it does not take the network.
    """
    check_choice("engine", name, ("auto", *ENGINES), remedy="'auto' chooses by network, batch and device")
    perceptron = isinstance(network, MLP)
    if name == "auto":
        inputs = math.prod(network.image_shape)
        limit = 2 * inputs if full_batch else inputs if epochs else 0
        on_gpu = device == "cuda"
        name = "vmap" if network.vectorises and (on_gpu or perceptron) else "serial"
        name = "gram" if perceptron and not (on_gpu or mixed or distorted) and samples <= limit else name
    if name == "gram" and (mixed or not perceptron):
        raise InvalidArgument("engine", name, "asks for the network 'mlp' in one precision", "use 'auto'")
    if name == "gram" and distorted:
        rule = "asks for images that are the same in every step, and these are distorted in each"
        raise InvalidArgument("engine", name, rule, "use 'auto', or leave the distortions out")
    if name == "vmap" and not network.vectorises:
        rule = "asks for a network that torch.func.vmap takes"
        raise InvalidArgument("engine", name, rule, "use 'serial'")
    return ENGINES[name](network)


__all__ = ["ENGINES", "Engine", "GramEngine", "SerialEngine", "choose_engine"]

"""Which engine suits a network, a batch size and a device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from clusterproof.algorithms.validation import InvalidArgument, check_choice
from clusterproof.neural.engines.batched import DenseEngine, VmapEngine
from clusterproof.neural.engines.convolutions import ConvolutionEngine
from clusterproof.neural.engines.engine import Engine
from clusterproof.neural.engines.gram_form.gram import GramEngine
from clusterproof.neural.engines.perceptrons import PerceptronEngine
from clusterproof.neural.engines.residual import ResidualEngine
from clusterproof.neural.engines.serial import SerialEngine
from clusterproof.neural.engines.tutorial import TutorialEngine
from clusterproof.neural.networks import CNN, MLP, Network, ResNet20, TutorialCNN

ENGINES = ("gram", "batched", "serial")
"""Names of the engines in configurations."""

BY_HAND: dict[type[Network], Callable[[Any], Engine]] = {
    MLP: PerceptronEngine,
    CNN: ConvolutionEngine,
    TutorialCNN: TutorialEngine,
    ResNet20: ResidualEngine,
}
"""Engines for a GPU, with fewer launches than ``torch.func.vmap`` takes."""


def choose_engine(
    name: str,
    network: Network,
    device: str,
    *,
    samples: int,
    full_batch: bool,
    epochs: bool = False,
    mixed: bool = False,
    uneven: bool = False,
    mostly_zero: bool = False,
) -> Engine:
    """Make an engine by name, or the one that the benchmark has found fastest.

    Parameters
    ----------
    name
        One of ``ENGINES``, or ``"auto"``, which depends on the arguments alone. Perceptrons take Gram
        matrices where these save multiplications: with full batches unless a client has more than twice as
        many samples as a sample has numbers, with epochs of mini-batches unless it has more samples than
        that. Otherwise they go batched. Convolutions go batched on a GPU, where launching them one by one
        would take the time, and serially on a CPU.
    network, device
        Which network, on ``"cpu"`` or ``"cuda"``.
    samples
        Largest number of samples of a client.
    full_batch, epochs
        Whether every local step uses all data of a client, in one gradient or in a pass of many.
    mixed
        Whether products are asked for in bfloat16, which PyTorch decides for its own gradients only.
    uneven
        Whether clients take differently many steps, which on a GPU all take as many.
    mostly_zero
        Whether most numbers of a sample are 0, which perceptrons on a CPU then leave out.

    Raises
    ------
    InvalidArgument
        If there is no such engine, or Gram matrices are asked for where they do not apply.
    """
    check_choice("engine", name, ("auto", *ENGINES), remedy="'auto' chooses by network, batch and device")
    by_hand = isinstance(network, MLP) and not mixed
    if name == "gram" and not by_hand:
        raise InvalidArgument("engine", name, "asks for the network 'mlp' in one precision", "use 'auto'")
    if name == "auto":
        name, _ = fastest_engine(
            network,
            device,
            samples=samples,
            full_batch=full_batch,
            epochs=epochs,
            mixed=mixed,
            uneven=uneven,
        )
    if name == "batched" and not network.vectorises:
        rule = "asks for a network that torch.func.vmap takes"
        raise InvalidArgument("engine", name, rule, "use 'serial'")
    if name == "serial":
        return SerialEngine(network)
    black = mostly_zero and device == "cpu"
    if name == "gram":
        assert isinstance(network, MLP)
        return GramEngine(network, black)
    if device == "cuda" and not mixed:
        for kind, engine in BY_HAND.items():
            if isinstance(network, kind):
                return engine(network)
    return DenseEngine(network, black) if isinstance(network, MLP) and not mixed else VmapEngine(network)


def fastest_engine(
    network: Network,
    device: str,
    *,
    samples: int,
    full_batch: bool,
    epochs: bool = False,
    mixed: bool = False,
    uneven: bool = False,
) -> tuple[str, str]:
    """Name the engine that ``"auto"`` stands for, and the reason in a sentence; arguments as ``choose_engine``."""
    if not isinstance(network, MLP):
        if device == "cuda" and network.vectorises:
            return "batched", "convolutions one by one would keep a GPU waiting for their launches."
        return (
            "serial",
            "convolutions of several clients at a time are slower on a CPU than one after the other.",
        )
    inputs = math.prod(network.image_shape)
    work = "full batches" if full_batch else "passes in mini-batches" if epochs else "single mini-batches"
    most = 2 * inputs if full_batch else inputs if epochs else 0
    held = f"{work} of clients with {samples} samples of {inputs} numbers"
    if mixed:
        return "batched", "bfloat16 is decided by PyTorch, for its own gradients only."
    if uneven and device == "cuda":
        return "batched", "clients take differently many steps, after which Gram matrices leave them apart."
    if samples <= most:
        return "gram", f"{held}: Gram matrices save multiplications up to {most} samples."
    if most:
        return "batched", f"{held}: Gram matrices save multiplications only up to {most} samples."
    return "batched", f"{work} use too few of a client's samples for its Gram matrix."

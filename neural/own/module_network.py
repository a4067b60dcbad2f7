"""A user's own ``torch.nn.Module`` as a network: a function of one vector of parameters."""

from __future__ import annotations

import copy
import inspect
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.data.images import Images
from clusterproof.neural.networks import Network
from clusterproof.neural.own.module_checks import Findings, probe
from clusterproof.neural.own.module_parts import trainable
from clusterproof.neural.own.references import load_own

GIVEN = ("sample_shape", "classes")
"""What a class or function that makes a module is given by these names, where it has such parameters."""

PROBED = 4
"""Samples that a module is tried on."""


@dataclass(frozen=True, eq=False)
class ModuleNetwork(Network):
    """A module whose scores depend on its parameters and the samples alone.

    Parameters
    ----------
    image_shape, classes
        Shape of a sample, and the number of classes.
    label, options
        Its name in configurations, and what else it was made with.
    make
        Makes the module, drawing its start from PyTorch's generator.
    found
        What came of trying it, see ``module_checks.probe``.

    Notes
    -----
    Every thread computes with a copy of its own: while a module is called with given parameters, it holds them.
    Buffers and frozen parameters are those of the first module, the same for all models.
    """

    name: ClassVar[str] = "own"

    label: str
    options: Mapping[str, Any]
    make: Callable[[], torch.nn.Module]
    found: Findings
    _copies: threading.local = field(default_factory=threading.local, init=False, repr=False)

    @property
    def vectorises(self) -> bool:  # type: ignore[override]
        """Whether ``torch.func.vmap`` takes it."""
        return self.found.vectorises

    @property
    def one_thread(self) -> str:  # type: ignore[override]
        """Why it may be computed by one thread only; empty where it may be by several."""
        return self.found.one_thread

    @property
    def settings(self) -> dict[str, Any]:
        """Name and options."""
        return {"network": self.label, **self.options}

    @property
    def activations(self) -> int:
        """Numbers that one sample leaves on its way for the gradient."""
        return self.found.activations

    def shapes(self) -> list[tuple[str, tuple[int, ...], float | None]]:
        """Name and shape of every parameter; their law is the module's own."""
        return [(name, tuple(value.shape), math.nan) for name, value in trainable(self.found.module).items()]

    def initial(
        self, shape: tuple[int, ...], generator: np.random.Generator, dtype: Any = np.float64
    ) -> np.ndarray:
        """Draw independent models as the module starts, (*shape, d); each takes one seed of the generator."""
        drawn = np.empty((math.prod(shape), self.dimension), dtype)
        for model in drawn:
            started = seeded(self.make, int(generator.integers(2**63)))
            model[:] = np.concatenate(
                [value.detach().numpy().ravel() for value in trainable(started).values()]
            )
        return drawn.reshape(*shape, self.dimension)

    def function(self, parameters: dict[str, Tensor], images: Tensor) -> Tensor:
        """Scores (b, classes) of one model on samples (b, ...).

        Raises
        ------
        InvalidArgument
            If the module raises something, other than for want of memory.
        """
        try:
            return torch.func.functional_call(self._own_copy(parameters), parameters, (images,))  # type: ignore[no-any-return]
        except (MemoryError, torch.OutOfMemoryError, InvalidArgument):
            raise
        except Exception as error:  # whatever a stranger's module raises
            if "memory" in str(error) or "Allocator" in str(error):
                raise
            raise raised(self.label, error) from error

    def _own_copy(self, parameters: dict[str, Tensor]) -> torch.nn.Module:
        """Give this thread's copy, of the type and on the device of the parameters."""
        example = next(iter(parameters.values()))
        copies: dict[Any, torch.nn.Module] = vars(self._copies)
        key = (example.dtype, example.device)
        if key not in copies:
            module = self.found.module
            if self.found.copies:
                module = copy.deepcopy(module)
            copies[key] = module.to(example.device, example.dtype)
        return copies[key]


def own_network(name: str, images: Images, options: Mapping[str, Any]) -> Network:
    """Make a user's own network for a data set.

    Parameters
    ----------
    name
        See ``references``. A ``torch.nn.Module`` class or a function that gives a module, called with the
        options, and with ``sample_shape`` and ``classes`` where it has parameters of these names; or a module,
        whose parts start again by their ``reset_parameters``; or a subclass of ``Network``.
    images
        The training data, of which a few are tried.
    options
        Further arguments.

    Raises
    ------
    InvalidArgument
        If it cannot be imported or made, or is not a function of its parameters and samples.
    """
    found = load_own("network", name)
    shape, classes = tuple(images.pixels.shape[1:]), images.classes
    if isinstance(found, type) and issubclass(found, Network):
        return found(shape, classes, **options)
    make = maker(name, found, shape, classes, options)
    samples = torch.from_numpy(np.ascontiguousarray(images.pixels[:PROBED]))
    if samples.dtype == torch.uint8:
        samples = samples.float() / 255
    elif samples.is_floating_point():
        samples = samples.float()
    return ModuleNetwork(
        shape,
        classes,
        label=name,
        options=dict(options),
        make=make,
        found=probe(name, make, samples, classes),
    )


def maker(
    name: str, found: Any, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]
) -> Callable[[], torch.nn.Module]:
    """Give the function without arguments that makes a module.

    Raises
    ------
    InvalidArgument
        If the object is neither a module nor makes one; when it is called, if what it calls raises something.
    """
    if isinstance(found, torch.nn.Module):
        return lambda: _restarted(name, found)
    if not callable(found):
        rule = f"must be a torch.nn.Module, its class, or a function that makes one, not a {type(found).__name__}"
        raise InvalidArgument("network.name", name, rule, "name another object")
    known = inspect.signature(found).parameters
    given = {key: value for key, value in zip(GIVEN, (shape, classes), strict=True) if key in known}

    def make() -> torch.nn.Module:
        try:
            made = found(**given, **options)
        except Exception as error:  # whatever a stranger's class raises
            raise raised(name, error) from error
        if not isinstance(made, torch.nn.Module):
            rule = f"must make a torch.nn.Module, and gave a {type(made).__name__}"
            raise InvalidArgument("network.name", name, rule, "return the module")
        return made

    return make


def seeded(make: Callable[[], torch.nn.Module], seed: int) -> torch.nn.Module:
    """Make a module with PyTorch's generator at a seed, and leave the generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def raised(name: str, error: Exception) -> InvalidArgument:
    """Say that a user's network has raised something."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return InvalidArgument("network.name", name, f"has raised {text}", "mend it, or its options")


def _restarted(name: str, module: torch.nn.Module) -> torch.nn.Module:
    """Copy a module and start it anew."""
    again = copy.deepcopy(module)
    for part in again.modules():
        if next(part.parameters(recurse=False), None) is None:
            continue
        reset = getattr(part, "reset_parameters", None) or getattr(part, "_reset_parameters", None)
        if reset is None:
            rule = f"holds a {type(part).__name__} without `reset_parameters`, and models must start apart"
            raise InvalidArgument("network.name", name, rule, "name its class or a function that makes it")
        reset()
    return again

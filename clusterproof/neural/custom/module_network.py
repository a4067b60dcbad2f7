"""Networks with a single parameter vector, created from a user's ``torch.nn.Module``."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from clusterproof.common.validation import InvalidArgument
from clusterproof.neural.custom.references import load_own, user_error
from clusterproof.neural.data.images import Images
from clusterproof.neural.networks import Network

GIVEN = ("sample_shape", "classes")
"""Arguments for a function that creates a module. The function receives only those that match its parameters."""

TRIED = 4
"""Number of samples with which a module is tried."""


class ModuleNetwork(Network):
    """A network whose scores are computed by a user's module.

    The scores must depend only on the parameters and the sample.

    Parameters
    ----------
    name, options
        Name in configurations, and the options with which the module was created.
    make
        Function that creates the module, and initialises it with PyTorch's generator.
    samples, classes
        A few samples (b, ...) with which the module is tried, and the required number of scores per sample.

    Raises
    ------
    InvalidArgument
        If the module raises an error, has no parameters, or does not return scores (b, classes). If the forward pass
        changes buffers or draws random numbers. If a sample's scores depend on the other samples in the batch.

    Notes
    -----
    All models share the buffers, and the parameters with ``requires_grad = False``, of the first module.
    """

    def __init__(
        self,
        name: str,
        options: Mapping[str, Any],
        make: Callable[[], nn.Module],
        samples: Tensor,
        classes: int,
    ) -> None:
        super().__init__(tuple(samples.shape[1:]), classes)
        self.name, self.options, self.make, self.samples = name, dict(options), make, samples
        self.module = initialised(make, 0)
        with torch.random.fork_rng(devices=[]):
            try:
                self._try()
            except InvalidArgument:
                raise
            except (Exception, SystemExit) as error:  # a user's module can raise any error
                raise user_error("network", name, error) from error

    @cached_property
    def vectorises(self) -> bool:  # type: ignore[override]  # computed on first use, a constant elsewhere
        """Whether ``torch.func.vmap`` accepts the module and its gradient."""

        def loss(parameters: dict[str, Tensor], batch: Tensor) -> Tensor:
            return self.function(parameters, batch).logsumexp(-1).sum()

        twice = {name: torch.stack([value.detach()] * 2) for name, value in self.trained_parameters().items()}
        try:
            torch.func.vmap(torch.func.grad(loss))(twice, torch.stack([self.samples] * 2))
        except Exception:  # a user's module can fail for any reason
            return False
        return True

    def trained_parameters(self) -> dict[str, Tensor]:
        """Return all parameters except frozen ones, indexed by name."""
        return {name: value for name, value in self.named_parameters() if value.requires_grad}

    def constants(self, like: Tensor) -> dict[str, Tensor]:
        """Return buffers and frozen parameters, indexed by name; floating-point tensors have the type of ``like``."""
        values = dict(self.named_buffers())
        values |= {name: value for name, value in self.named_parameters() if not value.requires_grad}
        return {
            name: value.to(like.device, like.dtype if value.is_floating_point() else None)
            for name, value in values.items()
        }

    def draw_model(self, generator: np.random.Generator) -> np.ndarray:
        """Draw a model (d,) by initialising the module with a seed from the generator."""
        module = initialised(self.make, int(generator.integers(2**63)))
        values = [value.detach() for value in module.parameters() if value.requires_grad]
        return np.concatenate([value.numpy().ravel() for value in values])

    def forward(self, images: Tensor) -> Tensor:
        """Return the scores (b, classes) of samples (b, ...)."""
        scores: Tensor = self.module(images)
        return scores

    def _try(self) -> None:
        """Call the module on the samples, and check its scores."""

        def refuse(rule: str, remedy: str) -> InvalidArgument:
            return InvalidArgument("network.name", self.name, rule, remedy)

        if not self.dimension:  # torch does not know the size of a parameter that only the first call creates
            raise refuse("has no trainable parameters", "add some")
        module, count = copy.deepcopy(self.module), len(self.samples)
        before = {name: value.clone() for name, value in module.named_buffers()}
        stream = torch.get_rng_state()
        scores: Any = module(self.samples)
        if not isinstance(scores, Tensor) or tuple(scores.shape) != (count, self.classes):
            shape = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
            rule = f"must return scores of shape ({count}, {self.classes}) for {count} samples, not {shape}"
            raise refuse(rule, "give one score per class")
        for name, buffer in module.named_buffers():
            if not torch.equal(buffer, before[name]):
                rule = f"changes its buffer `{name}` when it is called, as batch normalisation does; buffers are not "
                rule += "parameters, so neither averaging nor a gradient step defines their new values"
                raise refuse(rule, "use GroupNorm or LayerNorm, or put this layer into evaluation mode")
        if not torch.equal(torch.get_rng_state(), stream):
            rule = "draws random numbers when it is called, as Dropout does; a resumed run would draw other numbers"
            raise refuse(rule, "set p to 0, or leave the layer out")
        alone = torch.cat([module(sample[None]) for sample in self.samples])
        if not torch.allclose(alone, scores, rtol=1e-3, atol=1e-3 * float(scores.detach().abs().max())):
            rule = "returns different scores for a sample in a batch and by itself: losses would depend on the batches"
            raise refuse(rule, "normalise each sample separately, as GroupNorm and LayerNorm do")
        # torch raises an error here if a parameter does not affect the scores
        torch.autograd.grad(self(self.samples).sum(), list(self.trained_parameters().values()))


def own_network(name: str, images: Images, options: Mapping[str, Any]) -> Network:
    """Create a network for a data set from a reference to user-supplied code.

    Parameters
    ----------
    name
        A reference (see ``references``) to a ``torch.nn.Module`` class or to a function that returns a module. The
        class or function is called with the options, and with ``sample_shape`` and ``classes`` if it has parameters
        with these names. The reference may also be to a subclass of ``Network``, or to a module. In the last case, each
        model starts from a copy whose layers are initialised again by ``reset_parameters``.
    images
        The training data; a few samples are used to try the network.
    options
        Further arguments.

    Raises
    ------
    InvalidArgument
        If the network cannot be imported or created, or if its scores depend on anything except the parameters and the
        sample.
    """
    given = load_own("network", name)
    shape, classes = tuple(images.pixels.shape[1:]), images.classes
    if isinstance(given, type) and issubclass(given, Network):
        return given(shape, classes, **options)
    samples = torch.from_numpy(np.ascontiguousarray(images.pixels[:TRIED]))
    if samples.dtype == torch.uint8:
        samples = samples.float() / 255
    elif samples.is_floating_point():
        samples = samples.float()
    return ModuleNetwork(name, options, maker(name, given, shape, classes, options), samples, classes)


def maker(
    name: str, given: Any, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]
) -> Callable[[], nn.Module]:
    """Return a function without arguments that creates a module.

    Raises
    ------
    InvalidArgument
        If the object is not a module and does not create a module, or if the call raises an error.
    """
    if isinstance(given, nn.Module):
        return lambda: _initialised_again(name, given)
    if not callable(given):
        rule = f"must be a torch.nn.Module, its class, or a function that makes a module, not a {type(given).__name__}"
        raise InvalidArgument("network.name", name, rule, "refer to another object")
    known = inspect.signature(given).parameters
    arguments = {key: value for key, value in zip(GIVEN, (shape, classes), strict=True) if key in known}

    def make() -> nn.Module:
        try:
            module = given(**arguments, **options)
        except (Exception, SystemExit) as error:  # a user's class can raise any error
            raise user_error("network", name, error) from error
        if not isinstance(module, nn.Module):
            rule = f"must make a torch.nn.Module, not a {type(module).__name__}"
            raise InvalidArgument("network.name", name, rule, "return a module")
        return module

    return make


def initialised(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """Create a module after seeding PyTorch's generator, and restore the generator afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def _initialised_again(name: str, module: nn.Module) -> nn.Module:
    """Copy a module, and initialise all layers of the copy again."""
    twin = copy.deepcopy(module)
    layers: dict[nn.Module, None] = {}
    # children first, as in constructors, because nn.MultiheadAttention then sets the bias of its output layer to 0
    twin.apply(layers.setdefault)
    for layer in layers:
        if next(layer.parameters(recurse=False), None) is None:
            continue
        reset = getattr(layer, "reset_parameters", None) or getattr(layer, "_reset_parameters", None)
        if reset is None:
            rule = f"contains {type(layer).__name__} without `reset_parameters`, but each model needs initial values"
            raise InvalidArgument(
                "network.name", name, rule, "refer to its class, or to a function that creates the module"
            )
        reset()
    return twin

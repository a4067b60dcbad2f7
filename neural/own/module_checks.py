"""Whether a module is a function of its parameters and samples, found out by trying it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.own.module_parts import (
    attributes,
    same,
    tensors,
    trainable,
    unlike_attribute,
    unlike_tensor,
    written,
)

ROUNDING = 1e-3
"""Largest difference of scores that may be rounding, relative to the largest score."""

MOVED = 0.01
"""Standard deviation of how far from their start parameters are where two makes are compared."""

STATISTICS = (nn.modules.batchnorm._BatchNorm,)
RANDOM = (nn.modules.dropout._DropoutNd, nn.RReLU)


@dataclass(frozen=True, eq=False)
class Findings:
    """What came of trying a module.

    Attributes
    ----------
    module
        The first that was made, whose buffers and frozen parameters all models share.
    copies
        Whether it can be copied, so that every thread has its own.
    one_thread
        Why one thread only may compute it; empty where several may.
    samples
        What it was tried on, (b, ...).
    activations
        Numbers that one sample leaves for the gradient.
    """

    module: nn.Module
    copies: bool
    one_thread: str
    samples: Tensor
    activations: int

    @cached_property
    def vectorises(self) -> bool:
        """Whether ``torch.func.vmap`` takes it and its gradient; finding out makes torch import much."""
        names = trainable(self.module)

        def loss(parameters: dict[str, Tensor], batch: Tensor) -> Tensor:
            scores: Tensor = torch.func.functional_call(self.module, parameters, (batch,))
            return scores.logsumexp(-1).sum()

        twice = {place: torch.stack([value.detach()] * 2) for place, value in names.items()}
        try:
            torch.func.vmap(torch.func.grad(loss))(twice, torch.stack([self.samples] * 2))
        except Exception:  # whatever keeps a stranger's module from it
            return False
        return True


def probe(name: str, make: Callable[[], nn.Module], samples: Tensor, classes: int) -> Findings:
    """Try a module.

    Parameters
    ----------
    name
        For messages.
    make
        Makes it.
    samples
        To try it on, (b, ...).
    classes
        Number of scores that it must give.

    Raises
    ------
    InvalidArgument
        If it raises something, gives no scores (b, classes), normalises by the batch, draws random numbers,
        keeps something from one call to the next, behaves otherwise in evaluation, or has a parameter that
        its scores do not depend on or whose size waits for the first call; or if its start is not PyTorch's
        generator's, in parameters, buffers, or attributes that its scores depend on.
    """

    def refuse(rule: str, remedy: str) -> InvalidArgument:
        return InvalidArgument("network.name", name, rule, remedy)

    with torch.random.fork_rng(devices=[]):
        module, again = (_made(make) for _ in range(2))
        try:
            _check_parts(module, again, refuse)
            return _tried(module, again, samples, classes, refuse)
        except InvalidArgument:
            raise
        except Exception as error:  # whatever a stranger's module raises
            text = " ".join(f"{type(error).__name__}: {error}".split())
            shape = tuple(samples.shape)
            raise refuse(f"has raised {text}, on samples of shape {shape}", "mend it") from error


def _made(make: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return make()


def _check_parts(module: nn.Module, again: nn.Module, refuse: Callable[[str, str], InvalidArgument]) -> None:
    """Check what can be seen without calling the module."""
    if not trainable(module):
        raise refuse("has no parameters that are trained", "add some")
    for place, value in [*module.named_parameters(), *module.named_buffers()]:
        if nn.parameter.is_lazy(value):
            rule = f"has `{place}`, which has no size before the first call"
            raise refuse(rule, "give its layer all sizes, or call the module once in its constructor")
    if place := unlike_tensor(tensors(module), tensors(again)):
        raise _started_apart(place, refuse)
    for place, value in trainable(module).items():
        if value.dtype != torch.float32:
            raise refuse(
                f"has `{place}` of type {value.dtype}", "leave parameters at float32; the run's dtype is used"
            )
    for place, part in module.named_modules():
        kind = f"{type(part).__name__} `{place}`"
        tracks = isinstance(part, nn.modules.instancenorm._InstanceNorm) and part.track_running_stats
        if isinstance(part, STATISTICS) or tracks:
            raise refuse(
                f"has the batch normalisation {kind}: its statistics are no parameters, so that neither averaging "
                "nor a gradient step says what becomes of them",
                "use GroupNorm or LayerNorm",
            )
        if isinstance(part, RANDOM) and getattr(part, "p", 1.0) > 0:
            rule = f"has {kind}, which draws random numbers that a resumed run would not draw again"
            raise refuse(rule, "set its p to 0 or leave it out")


def _started_apart(place: str, refuse: Callable[[str, str], InvalidArgument]) -> InvalidArgument:
    return refuse(f"starts `{place}` otherwise from the same seed", "draw it with PyTorch's own generator")


def _tried(
    module: nn.Module,
    again: nn.Module,
    samples: Tensor,
    classes: int,
    refuse: Callable[[str, str], InvalidArgument],
) -> Findings:
    """Call the module and see what it does."""
    before = {place: value.clone() for place, value in tensors(module).items()}
    stream, held = torch.random.get_rng_state(), attributes(module)
    scores = module(samples)
    wrote = written(held, attributes(module))
    if not isinstance(scores, Tensor) or tuple(scores.shape) != (len(samples), classes):
        shape = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        rule = (
            f"must give scores of shape ({len(samples)}, {classes}) for {len(samples)} samples, not {shape}"
        )
        raise refuse(rule, "give one score a class")
    if not bool(scores.isfinite().all()):
        raise refuse("gives scores that are not finite at its start", "mend what it starts with")
    if not torch.equal(torch.random.get_rng_state(), stream):
        rule = "draws random numbers when it is called, which a resumed run would not draw again"
        raise refuse(rule, "leave them out")
    if unlike_tensor(before, tensors(module)):
        raise refuse("changes its buffers when it is called", "make it a function of parameters and samples")
    if not torch.equal(module(samples), scores):
        rule = "gives other scores when it is called again on the same samples"
        raise refuse(rule, "make it a function of parameters and samples")
    _check_company(module, samples, scores, refuse)
    _check_again(module, again, samples, refuse)
    module.eval()
    quiet = module(samples)
    module.train()
    if not torch.equal(quiet, scores):
        raise refuse("gives other scores in evaluation than in training", "make both alike")
    kept = 0

    def count(value: Tensor) -> Tensor:
        nonlocal kept
        kept += value.numel()
        return value

    with torch.autograd.graph.saved_tensors_hooks(count, lambda value: value):
        total = module(samples[:1]).sum()
    names = trainable(module)
    slopes: tuple[Tensor | None, ...] = torch.autograd.grad(total, list(names.values()), allow_unused=True)
    for place, slope in zip(names, slopes, strict=True):
        if slope is None:
            rule = f"has the parameter `{place}`, which its scores do not depend on"
            raise refuse(rule, "remove it, or freeze it by requires_grad = False")
    copies, reason = True, f"it writes to its attribute `{wrote}` when it is called" if wrote else ""
    try:
        copy.deepcopy(module)
    except Exception as error:  # whatever copying a stranger's module raises
        copies, reason = False, f"it cannot be copied ({type(error).__name__})"
    return Findings(module, copies, reason, samples, max(kept, classes))


def _check_company(
    module: nn.Module, samples: Tensor, scores: Tensor, refuse: Callable[[str, str], InvalidArgument]
) -> None:
    """Require that a sample has the scores alone that it has in company."""
    alone = torch.cat([module(one[None]) for one in samples])
    if not _agree(scores, alone):
        rule = (
            "gives a sample other scores in company than alone: a client's loss would depend on its batches"
        )
        raise refuse(rule, "normalise a sample by itself, as GroupNorm and LayerNorm do")


def _check_again(
    module: nn.Module,
    again: nn.Module,
    samples: Tensor,
    refuse: Callable[[str, str], InvalidArgument],
) -> None:
    """Require that what was made a second time from the same seed gives the same scores.

    They hold the same tensors. What else they hold, in attributes or where nobody sees it, the scores tell; away
    from the start, where a last layer of zeros would hide everything before it.
    """
    names = trainable(module)
    moved = {place: value.detach() + MOVED * torch.randn_like(value) for place, value in names.items()}
    scores, others = (torch.func.functional_call(made, moved, (samples,)) for made in (module, again))
    if same(scores, others):
        return
    if place := unlike_attribute(module, again):
        raise _started_apart(place, refuse)
    if not _agree(scores, others):  # addresses in memory may change the last bits
        rule = "starts otherwise from the same seed: made twice, it gives the same samples other scores"
        raise refuse(rule, "draw all that it holds with PyTorch's own generator")


def _agree(scores: Tensor, others: Tensor) -> bool:
    """Whether scores are the same but for rounding."""
    allowed = ROUNDING * max(1e-6, float(scores.detach().abs().max()))
    return float((others - scores).detach().abs().max()) <= allowed

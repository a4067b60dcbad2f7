"""Whether a module is a function of its parameters and samples, found out by trying it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from clusterproof.algorithms.validation import InvalidArgument

COMPANY = 1e-3
"""Largest change of a sample's scores in company, relative to the largest score: more is no rounding."""

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


def trainable(module: nn.Module) -> dict[str, Tensor]:
    """Parameters by name, without frozen ones; one that several parts share comes once."""
    return {name: value for name, value in module.named_parameters() if value.requires_grad}


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
        its scores do not depend on; or if its start is not PyTorch's generator's.
    """

    def refuse(rule: str, remedy: str) -> InvalidArgument:
        return InvalidArgument("network.name", name, rule, remedy)

    with torch.random.fork_rng(devices=[]):
        module, again = (_made(make) for _ in range(2))
        _check_parts(module, again, refuse)
        try:
            return _tried(module, samples, classes, refuse)
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
    for place, value in trainable(module).items():
        if not torch.equal(value, trainable(again)[place]):
            rule = f"starts `{place}` otherwise from the same seed"
            raise refuse(rule, "draw it with PyTorch's own generator")
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


def _tried(
    module: nn.Module, samples: Tensor, classes: int, refuse: Callable[[str, str], InvalidArgument]
) -> Findings:
    """Call the module and see what it does."""
    before, stream = _fixed(module), torch.random.get_rng_state()
    written = _attributes(module)
    scores = module(samples)
    wrote = _difference(written, _attributes(module))
    if not isinstance(scores, Tensor) or tuple(scores.shape) != (len(samples), classes):
        shape = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        rule = (
            f"must give scores of shape ({len(samples)}, {classes}) for {len(samples)} samples, not {shape}"
        )
        raise refuse(rule, "give one score a class")
    if not torch.equal(torch.random.get_rng_state(), stream):
        rule = "draws random numbers when it is called, which a resumed run would not draw again"
        raise refuse(rule, "leave them out")
    if any(not torch.equal(value, before[place]) for place, value in _fixed(module).items()):
        raise refuse("changes its buffers when it is called", "make it a function of parameters and samples")
    if not torch.equal(module(samples), scores):
        rule = "gives other scores when it is called again on the same samples"
        raise refuse(rule, "make it a function of parameters and samples")
    _check_company(module, samples, scores, refuse)
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
    allowed = COMPANY * max(1e-6, float(scores.detach().abs().max()))
    if not float((alone - scores).detach().abs().max()) <= allowed:
        rule = (
            "gives a sample other scores in company than alone: a client's loss would depend on its batches"
        )
        raise refuse(rule, "normalise a sample by itself, as GroupNorm and LayerNorm do")


def _fixed(module: nn.Module) -> dict[str, Tensor]:
    """Copies of buffers and parameters."""
    return {place: value.detach().clone() for place, value in module.state_dict(keep_vars=True).items()}


def _attributes(module: nn.Module) -> dict[str, Any]:
    """Plain attributes of all parts, those that hold several things as what they hold."""
    found: dict[str, Any] = {}
    for place, part in module.named_modules():
        for key, value in vars(part).items():
            inside: list[Any] = [value]
            if isinstance(value, dict):
                inside += [*value.keys(), *value.values()]
            elif isinstance(value, list | set | tuple):
                inside += list(value)
            elif isinstance(value, Tensor):
                inside.append(value._version)
            found[f"{place}.{key}".lstrip(".")] = inside
    return found


def _difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Name an attribute that is not what it was; empty where all are."""
    for place in sorted({*before, *after}):
        one, other = before.get(place, []), after.get(place, [])
        if len(one) != len(other) or any(
            a is not b and not _alike(a, b) for a, b in zip(one, other, strict=True)
        ):
            return place
    return ""


def _alike(one: Any, other: Any) -> bool:
    return isinstance(one, int | float | str) and type(one) is type(other) and one == other

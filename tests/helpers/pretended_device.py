"""A device that is not there: tensors whose data stay on the CPU and that say they are on ``cuda:0``.

They refuse to meet tensors of the CPU, as a real device does, and every kernel that they would launch, every
transfer and every synchronisation is counted, by the line of the product's code that asks for it.
"""

import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves, tree_map

import clusterproof.algorithms
import clusterproof.neural

DEVICE = torch.device("cuda:0")
ROOTS = tuple(str(Path(module.__file__).parent) for module in (clusterproof.neural, clusterproof.algorithms))
COPIES = "algorithms/arrays.py"
"""Copies from and to the host for others, whose lines are the ones to name."""
ATEN = torch.ops.aten

FREE = {ATEN.detach, ATEN.alias, ATEN.lift_fresh, ATEN._unsafe_view, ATEN._reshape_alias, ATEN.empty_like}
FREE |= {ATEN.empty, ATEN.new_empty, ATEN.empty_strided, ATEN.new_empty_strided}
"""Operations that launch nothing, besides views."""

KERNELS = {ATEN.logsumexp: 6, ATEN.sort: 4, ATEN.argsort: 4}
KERNELS |= {ATEN.baddbmm: 2, ATEN.constant_pad_nd: 2, ATEN.max_pool2d_with_indices_backward: 2}
KERNELS |= {ATEN.native_group_norm: 3, ATEN.native_group_norm_backward: 5, ATEN.slice_backward: 2}
"""How many kernels an operation takes where it is not one, as PyTorch's sources for CUDA have it.

A product that is added to something else is preceded by a copy of that, and padding and the way back through pooling
begin with zeros.
"""

SYNCHRONISING = {ATEN._local_scalar_dense, ATEN.nonzero, ATEN.masked_select, ATEN._unique2, ATEN.unique_dim}
"""Operations for whose result the host waits."""

INDEXING = {ATEN.index, ATEN.index_put, ATEN.index_put_, ATEN._index_put_impl_}
"""Operations whose indices may hold truth values, or lie on the host."""


class Counts:
    """What was asked of the device, by line.

    Attributes
    ----------
    launches, transfers, synchronisations
        Numbers by ``file:line``.
    """

    def __init__(self):
        self.clear()

    def clear(self):
        self.launches, self.transfers, self.synchronisations = Counter(), Counter(), Counter()


COUNTS = Counts()


def _line():
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        root = next((root for root in ROOTS if name.startswith(root)), None)
        if root is not None and not name.endswith(COPIES):
            return f"{Path(name).relative_to(Path(root).parent)}:{frame.f_lineno}"
        frame = frame.f_back
    return "elsewhere"


class OnDevice(torch.Tensor):
    """A tensor that pretends to be on the device; ``data_here`` is what it has in truth."""

    @staticmethod
    def __new__(cls, data):
        shell = torch.Tensor._make_wrapper_subclass(
            cls,
            data.shape,
            strides=data.stride(),
            storage_offset=data.storage_offset(),
            dtype=data.dtype,
            device="cpu",
            requires_grad=data.requires_grad,
        )
        shell.data_here = data
        return shell

    @property
    def device(self):
        return DEVICE

    @property
    def is_cuda(self):
        return True

    def numpy(self, *_, **__):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    __array__ = numpy

    def cpu(self):
        COUNTS.transfers[_line()] += 1
        COUNTS.synchronisations[_line()] += 1
        return self.data_here.detach().clone()

    def tolist(self):
        return self.cpu().tolist()

    def __repr__(self):
        return f"OnDevice({self.data_here!r})"

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        keywords = dict(keywords or {})
        if "device" in keywords:
            keywords["device"] = torch.device("cpu")
        if function.overloadpacket in INDEXING:  # an index may come from the host, which takes a transfer
            arguments = (arguments[0], [_sent(one) for one in arguments[1]], *arguments[2:])
        leaves = tree_leaves((arguments, keywords))
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor) and not isinstance(leaf, OnDevice) and leaf.ndim:
                raise RuntimeError(f"{function} at {_line()}: tensors on cuda:0 and on cpu")
        _count(function, arguments)
        given = {id(leaf.data_here): leaf for leaf in leaves if isinstance(leaf, OnDevice)}

        def bare(leaf):
            return leaf.data_here if isinstance(leaf, OnDevice) else leaf

        def clad(leaf):
            if not isinstance(leaf, torch.Tensor):
                return leaf
            # what works in place gives back the tensor that it was given
            return given[id(leaf)] if id(leaf) in given else OnDevice(leaf)

        found = tree_map(clad, function(*tree_map(bare, arguments), **tree_map(bare, keywords)))
        if torch.Tag.inplace_view in function.tags:  # the shell takes the new shape, too
            with no_dispatch():
                function(*arguments, **keywords)
        return found


def _count(function, arguments):
    packet = function.overloadpacket
    if packet in SYNCHRONISING or _by_truth_values(packet, arguments):
        COUNTS.synchronisations[_line()] += 1
    if packet in FREE or function.is_view or torch.Tag.inplace_view in function.tags:
        return
    if packet is ATEN.convolution_backward:
        COUNTS.launches[_line()] += sum(arguments[-1])
    else:
        COUNTS.launches[_line()] += KERNELS.get(packet, 1)


def _sent(index):
    """An index, on the device."""
    if not isinstance(index, torch.Tensor) or isinstance(index, OnDevice):
        return index
    COUNTS.transfers[_line()] += 1
    return OnDevice(index)


def _by_truth_values(packet, arguments):
    """Whether an index holds truth values, which the host must count."""
    if packet not in INDEXING:
        return False
    return any(one is not None and one.dtype in (torch.bool, torch.uint8) for one in arguments[1])


class Placement(TorchFunctionMode):
    """Makes what is asked for on a CUDA device there."""

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = dict(keywords or {})
        target = keywords.get("device")
        name = getattr(function, "__name__", "")
        first = arguments[0] if arguments else None
        if name == "to" and target is None:
            target = next((one for one in arguments[1:] if isinstance(one, str | torch.device)), None)
        if target is None or function is torch.device:
            return function(*arguments, **keywords)
        kind = torch.device(target).type
        if isinstance(first, OnDevice):
            if name == "to" and kind == "cpu":
                return first.cpu()
            keywords.pop("device", None)
            rest = tuple(one for one in arguments[1:] if not isinstance(one, str | torch.device))
            if name == "to" and not rest and not keywords:
                return first
            return function(first, *rest, **keywords)
        if kind != "cuda":
            return function(*arguments, **keywords)
        if name in ("to", "asarray", "as_tensor", "tensor"):
            COUNTS.transfers[_line()] += 1
        elif name not in ("empty", "empty_like"):
            COUNTS.launches[_line()] += 1
        if name == "to":
            return OnDevice(first.detach().clone())
        keywords["device"] = "cpu"
        made = function(*arguments, **keywords)
        return OnDevice(made.clone() if name in ("asarray", "as_tensor") else made)


@contextmanager
def pretended_device():
    """Let ``device="cuda"`` mean the pretended device; gives the counts, cleared."""
    COUNTS.clear()
    with (
        Placement(),
        patch.object(torch.cuda, "is_available", lambda: True),
        patch.object(torch.cuda, "mem_get_info", lambda *_: (2**36, 2**37)),
    ):
        yield COUNTS

"""Compute products in local training with lower precision, which is faster on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

Precision: TypeAlias = Literal["full", "tf32", "bf16"]

BITS = {"full": 24, "tf32": 11, "bf16": 8}
"""Number of significand bits of the factors in a product, indexed by precision."""


@contextmanager
def products_in(precision: Precision, device: str) -> Iterator[None]:
    """Compute products and convolutions with factors of ``BITS`` bits; parameters stay in single precision.

    Parameters
    ----------
    precision
        Name of the precision; ``"tf32"`` has an effect only on a GPU.
    device
        Type of the device, such as ``"cuda"``.
    """
    import torch  # imported here, because a command that only parses the precision does not need torch

    if precision == "bf16":
        # disable the cache, which would reuse the rounded parameters of the first step
        with torch.autocast(device, torch.bfloat16, cache_enabled=False):
            yield
    elif precision == "tf32":
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        try:
            with torch.backends.cudnn.flags(
                enabled=True, benchmark=False, deterministic=True, allow_tf32=True
            ):
                yield
        finally:
            torch.set_float32_matmul_precision(before)
    else:
        yield


def precision_in_words(precision: Precision) -> str:
    """Describe the effect of a precision; return an empty string for full precision."""
    if precision == "full":
        return ""
    return (
        f"local training in {precision}: what a product takes is rounded by up to 2^-{BITS[precision]} of its size, in "
        f"place of 2^-{BITS['full']}; choices of models and evaluations are in full precision"
    )

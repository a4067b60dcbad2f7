"""Lower precision of products in local training, where a GPU is faster in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

Precision: TypeAlias = Literal["full", "tf32", "bf16"]

BITS = {"full": 24, "tf32": 11, "bf16": 8}
"""Bits of the significand of a product's factors in single precision."""


@contextmanager
def products_in(precision: Precision, device: str) -> Iterator[None]:
    """Compute products and convolutions with factors of ``BITS`` bits; parameters stay in single precision.

    Parameters
    ----------
    precision
        ``"tf32"`` has an effect on a GPU alone.
    device
        Type of the device, such as ``"cuda"``.
    """
    import torch  # not by a command that only names a precision

    if precision == "bf16":
        # without the cache, which keeps the rounded parameters of the first step
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
    """Say what a precision changes; empty for the full one."""
    if precision == "full":
        return ""
    return (
        f"local training in {precision}: what a product takes is rounded by up to 2^-{BITS[precision]} of its size, in "
        f"place of 2^-{BITS['full']}; choices of models and evaluations are in full precision"
    )

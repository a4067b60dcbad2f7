"""Arrays with a vector for each client that an algorithm keeps between rounds."""

from __future__ import annotations

import math

from array_api_compat import device, is_torch_array

from clusterproof.common.arrays import Array, array_namespace, on_device
from clusterproof.common.memory import total_memory
from clusterproof.common.validation import InvalidArgument


def zeros_for_clients(models: Array, clients: int) -> Array:
    """Return zeros (..., m, d) of the library, type and device of server models (..., 1, d).

    Raises
    ------
    InvalidArgument
        If the zeros take more than half of the memory.
    """
    check_client_memory(models, clients)
    shape = (*models.shape[:-2], clients, models.shape[-1])
    return array_namespace(models).zeros(shape, dtype=models.dtype, device=device(models))


def check_client_memory(models: Array, clients: int) -> None:
    """Refuse a vector for each client if all together take more than half of the memory.

    Raises
    ------
    InvalidArgument
        If the vectors take more; the message states their size and the size of the memory.
    """
    size = math.prod(models.shape[:-2]) * clients * models.shape[-1] * _bytes_per_number(models)
    present = _memory(models)
    if size > present / 2:
        rule = (
            f"asks for a state of {size / 2**30:.3g} GiB, a vector of {models.shape[-1]} numbers for each client, "
            f"which must be at most half of the memory of {present / 2**30:.3g} GiB"
        )
        raise InvalidArgument("clients", clients, rule, "use fewer clients, a smaller model or fedavg")


def _bytes_per_number(models: Array) -> int:
    return int(array_namespace(models).finfo(models.dtype).bits) // 8


def _memory(models: Array) -> int:
    """Return the memory, in bytes, of the device that holds ``models``."""
    if is_torch_array(models) and on_device(models):
        import torch

        return int(torch.cuda.get_device_properties(models.device).total_memory)
    return total_memory()

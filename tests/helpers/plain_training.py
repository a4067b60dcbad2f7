"""Independent local training: one client after the other, by modules of torch.nn and autograd."""

import numpy as np
import torch
from small_images import client_data, flat, load, module
from split_mix import tree_of_numbers


def plain_training(task, points, buffers, anchors, clients, generator, options):
    """What the documentation says, by modules and autograd, one client after the other.

    Random orders are those of sorted numbers of SplitMix64, a number for each client, pass and sample.
    """
    dtype = points.dtype
    client_images = task.partition.train
    sizes = client_images.sizes[clients]
    size = task.batch_size or sizes.max()
    batches = [-(-count // size) for count in sizes]
    local_steps = options["local_steps"]
    steps = [local_steps * number if task.local_unit == "epoch" else local_steps for number in batches]
    keys = None
    if task.batch_size is not None and task.batch_size < client_images.sizes.max():
        passes = max(-(-taken // number) for taken, number in zip(steps, batches, strict=True))
        keys = tree_of_numbers(generator.bit_generator.random_raw(), (len(clients), passes, sizes.max()))
    ended, kept = [], []
    for row, client in enumerate(clients):
        images, targets = client_data(client_images, client, dtype)
        model = module(task.network).to(dtype)
        load(model, points[row])
        buffer = torch.zeros(task.dimension, dtype=dtype) if buffers is None else buffers[row].clone()
        for step in range(steps[row]):
            chosen = np.arange(sizes[row])
            if keys is not None:
                order = np.argsort(keys[row, step // batches[row], : sizes[row]])
                chosen = order[step % batches[row] * size :][:size]
            model.zero_grad()
            torch.nn.functional.cross_entropy(model(images[chosen]), targets[chosen]).backward()
            gradient = torch.cat([p.grad.flatten() for p in model.parameters()])
            if options.get("corrections") is not None:
                gradient = gradient + options["corrections"][row]
            if options["proximal"]:
                gradient = gradient + options["proximal"] * (flat(model) - anchors[row])
            printed = options.get("update_order") == "as-printed"
            before, buffer = buffer, options["momentum"] * buffer + gradient
            load(model, flat(model) - options["step_size"] * (before if printed else buffer))
        ended.append(flat(model))
        kept.append(buffer)
    return torch.stack(ended), torch.stack(kept)

"""Independent local training: one client after the other, by modules of torch.nn and autograd."""

import torch
from small_images import client_data, flat, load, module


def plain_batches(size, steps, batch_size, generator):
    """Samples of each step, as the documentation says: through random orders of the data, whose last batch is rest."""
    left, batches = [], []
    for _ in range(steps):
        if not left:
            left = list(range(size)) if size <= batch_size else generator.permutation(size).tolist()
        batches.append(left[:batch_size])
        left = left[batch_size:]
    return batches


def drawn_batches(task, clients, generator, local_steps, reshuffled=False):
    """The batches of each client's steps, drawn client by client."""
    sizes = task.partition.train.sizes
    batch_size = 1 if reshuffled else task.batch_size or int(sizes.max())
    drawn = []
    for client in clients:
        size = int(sizes[client])
        passes = reshuffled or task.local_unit == "epoch"
        steps = local_steps * (-(-size // batch_size) if passes else 1)
        drawn.append(plain_batches(size, steps, batch_size, generator))
    return drawn


def plain_training(task, points, buffers, anchors, clients, generator, options):
    """What the documentation says, by modules and autograd, one client after the other."""
    dtype = points.dtype
    ended, kept = [], []
    batches = drawn_batches(
        task, clients, generator, options["local_steps"], options.get("reshuffled", False)
    )
    for row, client in enumerate(clients):
        images, targets = client_data(task.partition.train, client, dtype)
        model = module(task.network).to(dtype)
        load(model, points[row])
        buffer = torch.zeros(task.dimension, dtype=dtype) if buffers is None else buffers[row].clone()
        for chosen in batches[row]:
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

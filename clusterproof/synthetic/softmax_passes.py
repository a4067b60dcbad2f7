"""Passes of many clients over their data in shuffled mini-batches, one gradient step a batch.

A step on a hundred samples costs numpy little more than its calls do. So the clients stand in a stack,
and the first batches of all of them are one step of the stack, then the second ones, as long as they have
any: clients with few batches drop out of the pass, and the stack grows shorter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples of all clients, one after the other.

    Attributes
    ----------
    values
        One row per sample: its features, a one, and the indicator of its class; last a row of zeros, which
        adds nothing to a gradient. (n + 1, f + 1 + classes).
    starts, sizes
        First row and number of rows of each client, (m,).
    """

    values: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, samples: list[tuple[np.ndarray, np.ndarray]], classes: int) -> Rows:
        """Lay out features (f + 1, n_i), the last of them ones, and classes (n_i,) of every client."""
        sizes = np.array([len(targets) for _, targets in samples])
        starts = np.cumsum(sizes) - sizes
        width = len(samples[0][0])
        values = np.zeros((sizes.sum() + 1, width + classes), dtype=samples[0][0].dtype)
        for (features, targets), start in zip(samples, starts.tolist(), strict=True):
            values[start : start + len(targets), :width] = features.T
            values[np.arange(start, start + len(targets)), width + targets] = 1
        return cls(values, starts, sizes)


@dataclass(frozen=True, eq=False)
class _Pass:
    """What the steps of a pass use: for each step, one line for every client that still takes part.

    Attributes
    ----------
    samples
        Rows of a batch, (lines, B); a short batch is filled up with rows of zeros.
    sizes
        Samples of each batch, (lines,).
    counts
        Clients in each step, not increasing, (steps,).
    """

    samples: np.ndarray
    sizes: np.ndarray
    counts: np.ndarray


def descend(
    rows: Rows,
    clients: np.ndarray,
    points: np.ndarray,
    buffers: np.ndarray,
    anchors: np.ndarray,
    corrections: np.ndarray | None,
    generator: np.random.Generator,
    *,
    batch_size: int,
    steps: np.ndarray,
    step_size: float,
    momentum: float,
    proximal: float,
) -> None:
    """Carry out u <- momentum u + gradient + correction + proximal (w - anchor), w <- w - step_size u, in place.

    Each client walks through permutations of its samples, a new one a pass, whose last batch may be
    smaller. Permutations are drawn pass by pass, and within a pass in the order of ``clients``.

    Parameters
    ----------
    rows, clients
        All data, and whose data are used, (k,).
    points, buffers, anchors, corrections
        w, u, what w is pulled to, and what is added to gradients, (k, classes, f + 1).
    batch_size, steps
        Samples of a batch (B), and gradient steps of each client, (k,).
    """
    batch_size = min(batch_size, int(rows.sizes[clients].max()))
    batches = -(-rows.sizes[clients] // batch_size)
    left = steps.copy()
    while left.any():
        now = np.minimum(batches, left)
        orders = [
            rows.starts[client] + generator.permutation(rows.sizes[client])
            for client in clients[left > 0].tolist()
        ]
        present = np.flatnonzero(left)
        rank = np.argsort(-now[present], kind="stable")
        stack = present[rank]
        nothing = len(rows.values) - 1
        plan = _plan([orders[position] for position in rank], now[stack], batch_size, nothing)
        moved, velocity = points[stack], buffers[stack]
        added = None if corrections is None else corrections[stack]
        _run(rows, plan, moved, velocity, anchors[stack], added, step_size, momentum, proximal)
        points[stack], buffers[stack] = moved, velocity
        left -= now


def _plan(orders: list[np.ndarray], steps: np.ndarray, batch_size: int, nothing: int) -> _Pass:
    """Lay out a pass of clients with permutations ``orders`` and not increasing numbers of steps (k,)."""
    counts = (steps[None, :] > np.arange(steps[0])[:, None]).sum(axis=1)
    lines = np.cumsum(counts) - counts
    samples = np.empty((counts.sum(), batch_size), dtype=np.intp)
    sizes = np.full(len(samples), batch_size)
    for position, (order, own) in enumerate(zip(orders, steps.tolist(), strict=True)):
        places = lines[:own] + position
        used = order[: own * batch_size]
        short = own * batch_size - len(used)
        if short:
            used = np.concatenate([used, np.full(short, nothing)])
            sizes[places[-1]] -= short
        samples[places] = used.reshape(own, batch_size)
    return _Pass(samples, sizes, counts)


def _run(
    rows: Rows,
    plan: _Pass,
    points: np.ndarray,
    buffers: np.ndarray,
    anchors: np.ndarray,
    corrections: np.ndarray | None,
    step_size: float,
    momentum: float,
    proximal: float,
) -> None:
    """Carry out a pass in place, on arrays (k, classes, f + 1) in the order of the plan."""
    classes, width = points.shape[1:]
    size = plan.samples.shape[1]
    shares = (1 / plan.sizes).astype(points.dtype)[:, None, None]
    batch = np.empty((len(points), size, rows.values.shape[1]), points.dtype)
    scores = np.empty((len(points), classes, size), points.dtype)
    tops = np.empty((len(points), 1, size), points.dtype)
    gradients = np.empty_like(points)
    line = 0
    heights, repeats = np.unique(plan.counts, return_counts=True)
    for count, ticks in zip(heights[::-1].tolist(), repeats[::-1].tolist(), strict=True):
        w, u, g, errors, top = (array[:count] for array in (points, buffers, gradients, scores, tops))
        drawn = batch[:count]
        x, columns = drawn[:, :, :width], drawn[:, :, :width].transpose(0, 2, 1)
        indicator, pulled = drawn[:, :, width:].transpose(0, 2, 1), anchors[:count]
        for _ in range(ticks):
            part = slice(line, line + count)
            line += count
            rows.values.take(plan.samples[part], axis=0, out=drawn, mode="clip")
            np.matmul(w, columns, out=errors)
            # softmax without new arrays, which would take as long as the arithmetic
            np.subtract(errors, np.maximum.reduce(errors, axis=1, out=top, keepdims=True), out=errors)
            np.exp(errors, out=errors)
            np.divide(errors, np.add.reduce(errors, axis=1, out=top, keepdims=True), out=errors)
            np.subtract(errors, indicator, out=errors)
            np.matmul(errors, x, out=g)
            np.multiply(g, shares[part], out=g)
            if corrections is not None:
                g += corrections[:count]
            if proximal:
                g += proximal * (w - pulled)
            if momentum:
                u *= momentum
                u += g
            else:
                u[...] = g
            np.multiply(u, step_size, out=g)
            np.subtract(w, g, out=w)

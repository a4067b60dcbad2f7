"""Compiled local steps of perceptrons with one hidden layer, for ``compiling``; what they do is ``gram_steps.walk``.

One client takes all its steps before the next begins, so that what it works on stays in the core's second cache,
and what happens to a number between two products happens while it is there.
"""

from __future__ import annotations

import numpy as np

from clusterproof.neural.engines.sparse_loops import add_rows


def walk(
    begun: np.ndarray,
    carried: np.ndarray,
    shares: np.ndarray,
    gram: np.ndarray,
    truth: np.ndarray,
    weights: np.ndarray,
    layer: np.ndarray,
    bias: np.ndarray,
    layer_speed: np.ndarray,
    bias_speed: np.ndarray,
    moves: np.ndarray,
    rates: np.ndarray,
    step_size: float,
    momentum: float,
) -> None:
    """Take all steps of k clients with n samples, h hidden units and c classes, all arrays in one piece and of a type.

    Parameters
    ----------
    begun, carried
        What the first layer's start and buffer give on the samples, (k, h, n); ``carried`` is empty for no buffer.
    shares
        Of ``carried`` in the first layer before each step, (steps,).
    gram, truth, weights
        X X' + 1, (k, n, n), and of the samples, (k, c, n) and (k, n).
    layer, bias, layer_speed, bias_speed
        The last layer (k, c, h) and (k, c) and its buffer, which move in place; no buffer where it is empty.
    moves, rates
        Coefficients (k, h, n), zeros at first, and of the buffer, empty where there is none.
    step_size, momentum
        Of the type of the arrays.
    """
    _, hidden, samples = begun.shape
    classes = layer.shape[1]
    values = np.empty((hidden, samples), begun.dtype)
    below = np.empty((hidden, samples), begun.dtype)
    errors = np.empty((classes, samples), begun.dtype)
    slope = np.empty((hidden, classes), begun.dtype)
    every_unit = np.arange(hidden)
    for i in range(len(begun)):
        for step in range(len(shares)):
            if step == 0:
                values[:] = 0
            else:
                np.dot(moves[i], gram[i], values)
            if len(carried):
                add_carried(values, carried[i], shares[step])
            add_and_rectify(values, begun[i])
            for c in range(classes):  # few rows: a product takes half as long again
                errors[c] = bias[i, c]
                add_rows(every_unit, layer[i, c], values, errors[c])
            to_errors(errors, truth[i], weights[i])
            np.dot(layer[i].T, errors, below)
            np.dot(values, errors.T, slope)
            if len(rates):
                move_with_buffer(moves[i], rates[i], below, values, step_size, momentum)
                layer_speed[i] = momentum * layer_speed[i] + slope.T
                layer[i] -= step_size * layer_speed[i]
            else:
                move(moves[i], below, values, step_size)
                layer[i] -= step_size * slope.T
            for c in range(classes):
                found = errors[c].sum()
                if len(rates):
                    found += momentum * bias_speed[i, c]
                    bias_speed[i, c] = found
                bias[i, c] -= step_size * found


def add_carried(values: np.ndarray, carried: np.ndarray, share: float) -> None:
    """Add what the first layer contains of the buffer, (h, n)."""
    for r in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[r, j] += share * carried[r, j]


def add_and_rectify(values: np.ndarray, begun: np.ndarray) -> None:
    """Add where the client began and cut off below 0, (h, n); what is no number stays none."""
    for r in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[r, j] += begun[r, j]
            if values[r, j] <= 0:
                values[r, j] = 0


def to_errors(scores: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> None:
    """Replace scores (c, n) by the gradient of the loss in them, see ``dense.to_errors``."""
    classes, samples = scores.shape
    top, total = np.empty(samples, scores.dtype), np.zeros(samples, scores.dtype)
    top[:] = -np.inf
    for c in range(classes):
        for j in range(samples):
            top[j] = max(top[j], scores[c, j])
    for c in range(classes):
        for j in range(samples):
            scores[c, j] = np.exp(scores[c, j] - top[j])
            total[j] += scores[c, j]
    for j in range(samples):
        total[j] = weights[j] / total[j]
    for c in range(classes):
        for j in range(samples):
            scores[c, j] = scores[c, j] * total[j] - truth[c, j]


def move(moves: np.ndarray, errors: np.ndarray, values: np.ndarray, step_size: float) -> None:
    """Take a step in the coefficients from errors behind ReLU, all (h, n)."""
    nothing = moves.dtype.type(0)
    for r in range(moves.shape[0]):
        for j in range(moves.shape[1]):
            moves[r, j] -= step_size * (nothing if values[r, j] <= 0 else errors[r, j])


def move_with_buffer(
    moves: np.ndarray,
    rates: np.ndarray,
    errors: np.ndarray,
    values: np.ndarray,
    step_size: float,
    momentum: float,
) -> None:
    """Take a step with momentum in the coefficients from errors behind ReLU, all (h, n)."""
    nothing = moves.dtype.type(0)
    for r in range(moves.shape[0]):
        for j in range(moves.shape[1]):
            rate = momentum * rates[r, j] + (nothing if values[r, j] <= 0 else errors[r, j])
            rates[r, j] = rate
            moves[r, j] -= step_size * rate

"""The minimum of a weighted mean of cross-entropies of a linear classifier, by Newton's method."""

from __future__ import annotations

import numpy as np

from clusterproof.synthetic.softmax_sample import log_sum_exp, probabilities


def pooled_minimiser(x: np.ndarray, y: np.ndarray, shares: np.ndarray, classes: int) -> np.ndarray | None:
    """Minimise the loss weighted by shares (n,) that add to 1; None where it has no minimum.

    Where the loss falls for ever, it does so as exp(-t), on which a Newton step has length 1 whatever t:
    the steps then do not shrink while the gradient vanishes.
    """
    width = x.shape[1]
    model = np.zeros((classes, width))
    rows = np.arange(len(y))

    def loss(candidate: np.ndarray) -> float:
        scores = candidate @ x.T
        return float(shares @ (log_sum_exp(scores) - scores[y, rows]))

    # the same added to all classes: the one direction that is flat everywhere
    flat = np.kron(np.ones((classes, classes)) / classes, np.eye(width))
    for _ in range(100):
        likely = probabilities(model @ x.T).T
        errors = likely.copy()
        errors[rows, y] -= 1
        gradient = (errors * shares[:, None]).T @ x
        hessian = np.empty((classes, width, classes, width))
        for one in range(classes):
            for other in range(one + 1):
                weight = likely[:, one] * ((one == other) - likely[:, other]) * shares
                block = (x * weight[:, None]).T @ x
                hessian[one, :, other, :], hessian[other, :, one, :] = block, block.T
        try:
            direction = np.linalg.solve(hessian.reshape(classes * width, -1) + flat, gradient.ravel())
        except np.linalg.LinAlgError:
            return None
        scale, step = 1.0, direction.reshape(classes, width)
        if np.linalg.norm(step) <= 1e-8 * (1 + np.linalg.norm(model)):
            return (model - step).ravel()
        if np.linalg.norm(gradient) < 1e-13:
            return None
        while scale > 1e-6 and not loss(model - scale * step) <= loss(model) + 1e-15:
            scale /= 2
        model = model - scale * step
    return None

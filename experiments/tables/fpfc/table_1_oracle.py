"""The ceiling of FPFC's Table 1: one model fitted to the pooled samples of a true cluster."""

from __future__ import annotations

import numpy as np

from clusterproof.synthetic.softmax import SoftmaxMixture
from clusterproof.synthetic.softmax_sample import Sample

FIT_STEPS, FIT_GRADIENT = 1000, 1e-5
"""Fit of a cluster's pooled model: largest number of steps, and largest entry of the final gradient."""


def pooled_fit(task: SoftmaxMixture, members: np.ndarray) -> tuple[np.ndarray, float]:
    """Minimise a cluster's pooled loss; return the model (d,) and the norm of its gradient."""
    from scipy.optimize import minimize

    data = [task.training_data(int(client)) for client in members]
    features = np.concatenate([np.column_stack([x, np.ones(len(x))]) for x, _ in data]).T.astype(float)
    targets = np.concatenate([classes for _, classes in data])
    # with uncorrelated features, a tenth of the steps suffices
    root = np.linalg.cholesky(features @ features.T / features.shape[1])
    pooled = Sample.of(np.linalg.solve(root, features), targets, task.classes)

    def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
        matrix = flat.reshape(task.classes, -1)
        return pooled.loss(matrix), pooled.gradient(matrix).ravel()

    options = {"maxiter": FIT_STEPS, "gtol": FIT_GRADIENT, "ftol": 0.0, "maxcor": 20}
    start = np.zeros(task.dimension)
    solution = minimize(evaluate, start, jac=True, method="L-BFGS-B", options=options)
    model = np.linalg.solve(root.T, solution.x.reshape(task.classes, -1).T).T
    gradient = Sample.of(features, targets, task.classes).gradient(model)
    return model.ravel(), float(np.linalg.norm(gradient))

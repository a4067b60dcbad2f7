"""Is the gradient's batch independent of the batch that clients chose their cluster on?"""

import numpy as np

from clusterproof.algorithms import IFCA, run

REPLICATES = 20_000


def resampling_score(task, initial):
    """Standard errors between the mean gradient given the choices and its expectation.

    With fresh batches E[g_i | choices] = Sigma (chi - theta_i) (CFL-MGD, Assumption 5); with one
    batch for both, a client that chose a model saw rows on which that model does well.
    """
    trace = run(IFCA(step_size=1.0), task, rounds=1, replicates=REPLICATES, initial=initial)
    steps = (trace.models[0] - trace.models[1]) * task.clients
    expected = np.zeros_like(steps)
    for client, label in enumerate(task.labels):
        for model in range(task.clusters):
            chose = trace.assignments[0, :, client] == model
            expected[chose, model] += task.expected_gradient(initial[model], label)
    residuals = (steps - expected).reshape(REPLICATES, -1)
    errors = residuals.std(axis=0) / np.sqrt(REPLICATES)
    return float(np.abs(residuals.mean(axis=0) / errors).max())

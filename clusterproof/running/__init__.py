"""Run algorithms on tasks: the runner, traces, storage of traces, and metrics."""

from clusterproof.running.accuracies import ClientAccuracies, client_accuracies, received_models
from clusterproof.running.metrics import adjusted_rand_index, cluster_count, purity
from clusterproof.running.runner import Diverged, run
from clusterproof.running.trace import Trace

__all__ = [
    "ClientAccuracies",
    "Diverged",
    "Trace",
    "adjusted_rand_index",
    "client_accuracies",
    "cluster_count",
    "purity",
    "received_models",
    "run",
]

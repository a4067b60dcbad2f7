"""Run algorithms on tasks: the runner, traces, storage of traces, and metrics."""

from clusterproof.running.metrics import (
    ClientAccuracies,
    adjusted_rand_index,
    client_accuracies,
    cluster_count,
    purity,
    received_models,
)
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

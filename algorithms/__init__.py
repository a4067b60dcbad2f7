"""Federated algorithms, written once for every array library.

The theory is checked on these classes, and the same classes train networks.
"""

from typing import Any

from clusterproof.algorithms.cfl import CFL
from clusterproof.algorithms.cfl_mgd import CFLMGD
from clusterproof.algorithms.discovery import classes_below
from clusterproof.algorithms.evaluation import (
    ClientAccuracies,
    ScoredTask,
    client_accuracies,
    received_models,
)
from clusterproof.algorithms.fedavg import FedAvg
from clusterproof.algorithms.fedbcd import FedBCD
from clusterproof.algorithms.fedprox import FedProx
from clusterproof.algorithms.fpfc import FPFC
from clusterproof.algorithms.gradient_loss import GradientLoss
from clusterproof.algorithms.ifca import IFCA
from clusterproof.algorithms.local import Local
from clusterproof.algorithms.metrics import adjusted_rand_index, cluster_count, purity
from clusterproof.algorithms.per_fedavg import PerFedAvg
from clusterproof.algorithms.protocol import (
    Algorithm,
    ClientSamplingTask,
    ClusterTrainingTask,
    CurvedTask,
    LocalTrainingTask,
    MetaTrainingTask,
    OneBatchTask,
    OrderingTask,
    SizedTask,
    State,
    Task,
    sum_gradients,
)
from clusterproof.algorithms.randomness import Randomness, generator
from clusterproof.algorithms.runner import run
from clusterproof.algorithms.sofl import SoFL
from clusterproof.algorithms.trace import Trace
from clusterproof.algorithms.validation import InvalidArgument

ALGORITHMS: dict[str, type[Algorithm[Any]]] = {
    algorithm.name: algorithm for algorithm in classes_below(__name__, Algorithm, direct=True)
}
"""The algorithms by their names on the command line, every one that a module of this folder defines.

And those of plugins, once ``clusterproof.synthetic`` is imported.

:meta hide-value:
"""

__all__ = [
    "ALGORITHMS",
    "CFL",
    "CFLMGD",
    "FPFC",
    "IFCA",
    "Algorithm",
    "ClientAccuracies",
    "ClientSamplingTask",
    "ClusterTrainingTask",
    "CurvedTask",
    "FedAvg",
    "FedBCD",
    "FedProx",
    "GradientLoss",
    "InvalidArgument",
    "Local",
    "LocalTrainingTask",
    "MetaTrainingTask",
    "OrderingTask",
    "OneBatchTask",
    "PerFedAvg",
    "Randomness",
    "ScoredTask",
    "SizedTask",
    "SoFL",
    "State",
    "Task",
    "Trace",
    "adjusted_rand_index",
    "client_accuracies",
    "cluster_count",
    "generator",
    "purity",
    "received_models",
    "run",
    "sum_gradients",
]

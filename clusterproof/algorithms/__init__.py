"""Federated algorithms for every array library.

Clusterproof checks the theory on runs of these classes, and trains networks with the same classes.
"""

from typing import Any

from clusterproof.algorithms.averaging import choose_clusters
from clusterproof.algorithms.base import Algorithm, Descent, State, Task, Trained
from clusterproof.algorithms.cfl import CFL
from clusterproof.algorithms.clustered import CFLMGD, IFCA
from clusterproof.algorithms.controls import FedDyn, FedLin, ProxSkip, Scaffold
from clusterproof.algorithms.fedavg import FedAvg, FedNova, FedProx, PerFedAvg
from clusterproof.algorithms.fpfc import FPFC
from clusterproof.algorithms.gradient_loss import GradientLoss
from clusterproof.algorithms.penalties import SCAD, GroupL1
from clusterproof.algorithms.personal import Ditto, FedBCD, Local, PFedMe
from clusterproof.algorithms.self_organising_map import best_matching_units
from clusterproof.algorithms.server_optimisers import FedAdam, FedAvgM, FedYogi
from clusterproof.algorithms.sofl import SoFL
from clusterproof.common.discovery import Registry, by_name, classes_below

ALGORITHMS: dict[str, type[Algorithm[Any]]] = Registry(
    "The algorithms by name.",
    by_name(
        algorithm
        for algorithm in sorted(
            classes_below(__name__, Algorithm, direct=True), key=lambda each: getattr(each, "name", "")
        )
        if hasattr(algorithm, "name")  # a common base class of several algorithms has no name
    ),
)
"""All algorithms, indexed by name.

:meta hide-value:
"""

__all__ = [
    "Scaffold",
    "ProxSkip",
    "FedLin",
    "ALGORITHMS",
    "CFL",
    "CFLMGD",
    "FPFC",
    "IFCA",
    "Algorithm",
    "Descent",
    "FedAvg",
    "PFedMe",
    "FedYogi",
    "FedNova",
    "FedDyn",
    "FedAvgM",
    "FedAdam",
    "Ditto",
    "FedBCD",
    "FedProx",
    "GradientLoss",
    "GroupL1",
    "Local",
    "PerFedAvg",
    "SCAD",
    "SoFL",
    "State",
    "Task",
    "Trained",
    "best_matching_units",
    "choose_clusters",
]

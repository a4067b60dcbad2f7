"""Plain references: one class an algorithm, numpy in float64, importing nothing of the library's algorithms."""

from clusterproof.conformance.definitions.averaging import FedAvg, FedLin, FedNova, FedProx
from clusterproof.conformance.definitions.base import Change, Definition
from clusterproof.conformance.definitions.clustered import CFLMGD, IFCA
from clusterproof.conformance.definitions.controls import FedDyn, ProxSkip, Scaffold
from clusterproof.conformance.definitions.personal import Ditto, FedBCD, Local, PerFedAvg, PFedMe
from clusterproof.conformance.definitions.server import FedAdam, FedAvgM, FedYogi

_ALL = (
    *(FedAvg, FedProx, Scaffold, FedNova, FedDyn, FedLin, ProxSkip, Ditto, PFedMe, FedAvgM, FedAdam, FedYogi),
    *(IFCA, CFLMGD, FedBCD, PerFedAvg, Local),
)

DEFINITIONS: dict[str, type[Definition]] = {definition.name: definition for definition in _ALL}
"""Every definition by the name of ``conform --as``."""

__all__ = ["DEFINITIONS", "Change", "Definition"]

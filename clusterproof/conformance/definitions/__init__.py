"""Plain references: one class an algorithm, numpy in float64, importing nothing of the library's algorithms."""

from clusterproof.conformance.definitions import (
    averaging,
    clusters,
    controls,
    fusion,
    partitions,
    several_models,
)
from clusterproof.conformance.definitions.base import DECLARED, Change, Definition

_ALL = (
    *(averaging.FedAvg, averaging.FedProx, controls.Scaffold, averaging.FedNova, controls.FedDyn),
    *(averaging.FedLin, controls.ProxSkip, several_models.Ditto, several_models.PFedMe, averaging.FedAvgM),
    *(averaging.FedAdam, averaging.FedYogi, clusters.IFCA, clusters.CFLMGD),
    *(several_models.FedBCD, averaging.PerFedAvg, several_models.Local),
    *(fusion.FPFC, clusters.GradientLoss, partitions.CFL, partitions.SoFL),
)

DEFINITIONS: dict[str, type[Definition]] = {definition.name: definition for definition in _ALL}
"""Every definition by the name of ``conform --as``."""

__all__ = ["DECLARED", "DEFINITIONS", "Change", "Definition"]

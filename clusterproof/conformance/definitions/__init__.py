"""What ``conform`` compares with, by algorithm: a rule, and what its file in ``algorithms`` says."""

from clusterproof.conformance.definitions import averaging, clusters, fusion, partitions
from clusterproof.conformance.definitions.base import DECLARED, Definition
from clusterproof.theory.definitions.ditto import ditto_round
from clusterproof.theory.definitions.fedadam import fedadam_round
from clusterproof.theory.definitions.fedavgm import fedavgm_round
from clusterproof.theory.definitions.fedbcd import fedbcd_round
from clusterproof.theory.definitions.feddyn import feddyn_round
from clusterproof.theory.definitions.fedlin import fedlin_round
from clusterproof.theory.definitions.fednova import fednova_round
from clusterproof.theory.definitions.fedprox import fedprox_round
from clusterproof.theory.definitions.ifca import shares
from clusterproof.theory.definitions.per_fedavg import per_fedavg_round
from clusterproof.theory.definitions.pfedme import pfedme_round
from clusterproof.theory.definitions.scaffold import scaffold_round

RULES = {
    "fedavg": averaging.FedAvg,
    "fedprox": fedprox_round,
    "scaffold": scaffold_round,
    "fednova": fednova_round,
    "feddyn": feddyn_round,
    "fedlin": fedlin_round,
    "proxskip": averaging.proxskip_round,
    "ditto": ditto_round,
    "pfedme": pfedme_round,
    "fedavgm": fedavgm_round,
    "fedadam": fedadam_round,
    "fedyogi": fedadam_round,
    "ifca": clusters.ifca_round,
    "cfl-mgd": clusters.cfl_mgd_round,
    "fedbcd": fedbcd_round,
    "per-fedavg": per_fedavg_round,
    "local": averaging.local_round,
    "fpfc": fusion.fusion_round,
    "gradient-loss": clusters.GradientLoss,
    "cfl": partitions.cfl_round,
    "sofl": partitions.SoFL,
}
"""Rounds by algorithm, or classes of those with more of their own."""


def _definition(name: str) -> type[Definition]:
    rule = RULES[name]
    if isinstance(rule, type):
        return rule
    calls = {"cfl-mgd": (shares,)}.get(name, ())
    return type(name, (Definition,), {"rule": staticmethod(rule), "calls": calls}, name=name)


DEFINITIONS: dict[str, type[Definition]] = {name: _definition(name) for name in RULES}
"""Every definition by the name of ``conform --as``."""

__all__ = ["DECLARED", "DEFINITIONS", "Definition"]

"""The bank of slips: for each algorithm, the mistakes that its code is known to be prone to."""

from clusterproof.conformance.slips import averaging, clusters, controls, fusion, partitions, several_models
from clusterproof.conformance.slips.general import (
    LOCAL_STEPS,
    MEANS,
    SERVER_MODELS,
    SERVER_STEPS,
    STARTS,
    state_by_position,
)

GENERAL = LOCAL_STEPS | STARTS | MEANS
_OF_ABSENCES = {"absent-counted", "absent-counted-model", "share-times-sum", "share-times-sum-model"}
_NOBODY_ABSENT = {name: slip for name, slip in GENERAL.items() if name not in _OF_ABSENCES}
_IN_CLUSTERS = LOCAL_STEPS | {
    name: slip for name, slip in MEANS.items() if not {"change", "local model"} & slip.changes.keys()
}

SLIPS = {
    "fedavg": GENERAL | SERVER_MODELS,
    "fedprox": averaging.FEDPROX | GENERAL | SERVER_MODELS,
    "scaffold": controls.SCAFFOLD | GENERAL | SERVER_MODELS,
    "fednova": averaging.FEDNOVA | GENERAL | SERVER_MODELS,
    "feddyn": controls.FEDDYN | GENERAL,
    "fedlin": averaging.FEDLIN | GENERAL | SERVER_MODELS,
    "proxskip": controls.PROXSKIP | _NOBODY_ABSENT,
    "ditto": several_models.DITTO | GENERAL | SERVER_MODELS,
    "pfedme": several_models.PFEDME | GENERAL,
    "fedavgm": averaging.FEDAVGM | GENERAL | SERVER_MODELS,
    "fedadam": averaging.ADAPTIVE | GENERAL | SERVER_STEPS,
    "fedyogi": averaging.ADAPTIVE | averaging.YOGI | GENERAL | SERVER_STEPS,
    "ifca": several_models.IFCA | _IN_CLUSTERS,
    "cfl-mgd": several_models.CFL_MGD | several_models.IFCA | _IN_CLUSTERS,
    "fedbcd": several_models.FEDBCD | averaging.PULLS | LOCAL_STEPS | SERVER_STEPS,
    "per-fedavg": averaging.PER_FEDAVG | GENERAL | SERVER_MODELS,
    "local": LOCAL_STEPS | {"state-by-position": state_by_position("x")},
    "fpfc": fusion.FPFC | LOCAL_STEPS,
    "gradient-loss": clusters.GRADIENT_LOSS,
    "cfl": partitions.CFL | LOCAL_STEPS,
    "sofl": partitions.SOFL | LOCAL_STEPS,
}
"""Slips by the name of the algorithm and their own, those of the algorithm alone first."""

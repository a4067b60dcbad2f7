"""The bank of slips: for each algorithm, the mistakes that its code is known to be prone to."""

from clusterproof.conformance.slips.averaging import (
    ADAPTIVE,
    FEDAVGM,
    FEDLIN,
    FEDNOVA,
    FEDPROX,
    PER_FEDAVG,
    PULLS,
    YOGI,
)
from clusterproof.conformance.slips.controls import FEDDYN, PROXSKIP, SCAFFOLD
from clusterproof.conformance.slips.general import LOCAL_STEPS, MEANS, SERVER_MODELS, SERVER_STEPS, Slip
from clusterproof.conformance.slips.several_models import CFL_MGD, DITTO, FEDBCD, IFCA, PFEDME

GENERAL = LOCAL_STEPS | MEANS
_NO_MEAN = {
    name: slip
    for name, slip in LOCAL_STEPS.items()
    if not {"start", "received"} & set(slip.changes) and name != "gradient-at-received-model"
}
_NOBODY_ABSENT = {name: slip for name, slip in GENERAL.items() if not name.startswith("absent-counted")}
_IN_CLUSTERS = _NO_MEAN | {name: slip for name, slip in MEANS.items() if "change" not in slip.changes}

SLIPS: dict[str, dict[str, Slip]] = {
    "fedavg": GENERAL | SERVER_MODELS,
    "fedprox": FEDPROX | GENERAL | SERVER_MODELS,
    "scaffold": SCAFFOLD | GENERAL | SERVER_MODELS,
    "fednova": FEDNOVA | GENERAL | SERVER_MODELS,
    "feddyn": FEDDYN | GENERAL,
    "fedlin": FEDLIN | GENERAL | SERVER_MODELS,
    "proxskip": PROXSKIP | _NOBODY_ABSENT,
    "ditto": DITTO | GENERAL | SERVER_MODELS,
    "pfedme": PFEDME | GENERAL,
    "fedavgm": FEDAVGM | GENERAL | SERVER_MODELS,
    "fedadam": ADAPTIVE | GENERAL | SERVER_STEPS,
    "fedyogi": ADAPTIVE | YOGI | GENERAL | SERVER_STEPS,
    "ifca": IFCA | _IN_CLUSTERS,
    "cfl-mgd": CFL_MGD | IFCA | _IN_CLUSTERS,
    "fedbcd": FEDBCD | PULLS | _NO_MEAN | SERVER_STEPS,
    "per-fedavg": PER_FEDAVG | GENERAL | SERVER_MODELS,
    "local": _NO_MEAN,
}
"""Slips by the name of the algorithm and their own, those of the algorithm alone first."""

__all__ = ["SLIPS", "Slip"]

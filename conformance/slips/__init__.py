"""The bank of slips: for each algorithm, the mistakes that its code is known to be prone to."""

from clusterproof.conformance.slips.base import Slip
from clusterproof.conformance.slips.clustered import CFL_MGD, IFCA
from clusterproof.conformance.slips.controls import FEDDYN, PROXSKIP, SCAFFOLD
from clusterproof.conformance.slips.corrections import FEDLIN, FEDNOVA, FEDPROX
from clusterproof.conformance.slips.general import LOCAL_STEPS, MEANS, SERVER_STEPS
from clusterproof.conformance.slips.personal import DITTO, FEDBCD, PER_FEDAVG, PFEDME
from clusterproof.conformance.slips.server import ADAPTIVE, FEDAVGM, YOGI

GENERAL = (*LOCAL_STEPS, *MEANS)
_NO_MEAN = tuple(
    slip
    for slip in LOCAL_STEPS
    if not {"start", "received"} & set(slip.changes) and slip.name != "gradient-at-received-model"
)
_NOBODY_ABSENT = tuple(slip for slip in GENERAL if not slip.name.startswith("absent-counted"))
_WITHIN_CLUSTERS = (*_NO_MEAN, *(slip for slip in MEANS if "change" not in slip.changes))

SLIPS: dict[str, tuple[Slip, ...]] = {
    "fedavg": (*GENERAL, *SERVER_STEPS),
    "fedprox": (*FEDPROX, *GENERAL, *SERVER_STEPS),
    "scaffold": (*SCAFFOLD, *GENERAL, *SERVER_STEPS),
    "fednova": (*FEDNOVA, *GENERAL, *SERVER_STEPS),
    "feddyn": (*FEDDYN, *GENERAL),
    "fedlin": (*FEDLIN, *GENERAL, *SERVER_STEPS),
    "proxskip": (*PROXSKIP, *_NOBODY_ABSENT),
    "ditto": (*DITTO, *GENERAL, *SERVER_STEPS),
    "pfedme": (*PFEDME, *GENERAL),
    "fedavgm": (*FEDAVGM, *GENERAL, *SERVER_STEPS),
    "fedadam": (*ADAPTIVE, *GENERAL, *SERVER_STEPS[:2]),
    "fedyogi": (*ADAPTIVE, *YOGI, *GENERAL, *SERVER_STEPS[:2]),
    "ifca": (*IFCA, *_WITHIN_CLUSTERS),
    "cfl-mgd": (*CFL_MGD, *IFCA, *_WITHIN_CLUSTERS),
    "fedbcd": (*FEDBCD, *FEDPROX[:6], *_NO_MEAN, *SERVER_STEPS[:2]),
    "per-fedavg": (*PER_FEDAVG, *GENERAL, *SERVER_STEPS),
    "local": _NO_MEAN,
}
"""Slips by the name of the algorithm, its own first."""

__all__ = ["SLIPS", "Slip"]

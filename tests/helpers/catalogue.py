"""What the claims expect, and their verdicts, each computed once in a process."""

from functools import cache
from typing import Any, NamedTuple

from clusterproof import checker
from clusterproof.checker.report.recorded import Replayed, replay_verdict
from clusterproof.checker.report.stored_evidence import Kept, read_evidence, read_verdicts

RECORDED = """
baselines/best-subgradient-iterate baselines/cfl-mgd-gradient baselines/cfl-mgd-model
baselines/halpern cfl-mgd/theorem-1-without-noise fpfc/local-steps-every-loss
fpfc/round-every-loss fpfc/rounds-every-loss fedavg/every-number-of-steps
fedlin/every-number-of-steps scaffold/every-number-of-steps
baselines/clustered baselines/fedbcd-separate
baselines/fedprox baselines/fedprox-exact baselines/per-fedavg-fo baselines/per-fedavg-hf
cfl-mgd/a23-meant cfl-mgd/a7-step cfl-mgd/algorithm-line-20 cfl-mgd/appendix-a1 cfl-mgd/appendix-a10
cfl-mgd/appendix-a12 cfl-mgd/appendix-a15 cfl-mgd/appendix-a18 cfl-mgd/appendix-a2
cfl-mgd/appendix-a27 cfl-mgd/appendix-a29 cfl-mgd/appendix-a35 cfl-mgd/appendix-a38 cfl-mgd/appendix-a39
cfl-mgd/appendix-a4 cfl-mgd/lemma-h cfl-mgd/assumption-1 cfl-mgd/assumption-2 cfl-mgd/assumption-3
cfl-mgd/assumption-5-resampled cfl-mgd/asymptotic-region cfl-mgd/division-by-clients
cfl-mgd/equation-10-line-16 cfl-mgd/equation-12 cfl-mgd/equation-12-shifted cfl-mgd/equation-19
cfl-mgd/equation-24 cfl-mgd/equation-26 cfl-mgd/equation-3 cfl-mgd/equation-32
cfl-mgd/equation-9-broadcast cfl-mgd/lemma-1 cfl-mgd/lemma-1-cantelli
cfl-mgd/model-averaging-recursion cfl-mgd/model-averaging-stability cfl-mgd/momentum-certified
cfl-mgd/momentum-helps
cfl-mgd/momentum-horizon cfl-mgd/norm-inequality cfl-mgd/pairwise-error cfl-mgd/per-step-region
cfl-mgd/row-lemma cfl-mgd/theorem-1 cfl-mgd/theorem-a cfl-mgd/theorem-d
cfl/client-ids cfl/stationary-cosine cfl/two-clusters fedavg/drift fedavg/every-loss
fedavg/theorem-1 fedavg/theorem-3 fedavg/theorem-4 fedlin/convex fedlin/every-gap fedlin/rate
fedlin/sharp fedprox/remark-5 fpfc/conditions fpfc/local-steps fpfc/one-term
fpfc/one-term-large-augmentation fpfc/one-term-waiting fpfc/repaired-duals fpfc/repaired-mapping
fpfc/repaired-models fpfc/repaired-proof fpfc/theorem-1-duals fpfc/theorem-1-mapping
fpfc/theorem-1-models-positive fpfc/window gradient-loss/class-overlap
gradient-loss/cost-of-an-iteration gradient-loss/equation-1-mean gradient-loss/equation-2-descent
gradient-loss/equation-3-descent gradient-loss/equations-4-7 gradient-loss/fewer-passes
gradient-loss/loss-margin gradient-loss/only-losses gradient-loss/pinning gradient-loss/purity-bound
gradient-loss/reduction-ceiling gradient-loss/reduction-up-to gradient-loss/same-start
gradient-loss/sooner gradient-loss/training-loss gradient-loss/training-loss-in-passes
gradient-loss/weight-at-start gradient-loss/what-clusters ifca/basin ifca/cfl-mgd-in-basin
ifca/cfl-mgd-same-basin ifca/monotone-from-anywhere ifca/monotone-in-basin local-gd/corollary-1
local-gd/lemma-1 local-gd/lemma-2 proxskip/every-loss proxskip/identity proxskip/sharp proxskip/theorem-6
scaffold/bias-larger scaffold/bias-ratio scaffold/convex scaffold/every-loss scaffold/multipliers
scaffold/sharp scaffold/sharp-option-1 sofl/clustering-condition sofl/frozen-cell-variance
sofl/guarded-count sofl/ifca-consumption sofl/initialisation sofl/mean-field-fixed-point
sofl/no-extra-communication sofl/running-mean sofl/theorem-1-at-the-end sofl/theorem-1-robbins-monro
sproxskip/additive sproxskip/repaired
"""
"""Claims whose check takes from half a second to a minute and a half: `clusterproof check --all --search` does it, and
here the records are replayed and held against the catalogue."""
CHOSEN = """
baselines/fedbcd cfl-mgd/algorithm-line-5-ties cfl-mgd/equation-32-fixed-clusters
cfl-mgd/equation-9 cfl-mgd/lemma-1-worst-case cfl-mgd/lemma-2 cfl-mgd/model-averaging-rate
cfl-mgd/model-averaging-reset cfl/single-linkage fedavg/theorem-2 fedlin/every-loss fpfc/descent
fpfc/theorem-1-models gradient-loss/empty-cluster-rule gradient-loss/empty-for-good
gradient-loss/equation-5-batch ifca/certain-in-basin local-gd/theorem-1 scaffold/bias
sofl/elbow-below-chord sofl/equation-10
"""
"""Claims that take as long and are also searched here, at one seed: one or two for each way to search."""


class Row(NamedTuple):
    """The verdict that a claim must get, and what it is worth if it is consistent."""

    verdict: str
    standing: str


def read_catalogue() -> dict[str, Row]:
    """Return what the claims expect, by id."""
    parts = {claim.id: claim.expected.partition(", ") for claim in checker.catalogue()}
    return {name: Row(verdict, standing) for name, (verdict, _, standing) in parts.items()}


class Records(dict[str, dict[str, Any]]):
    """The records of claims by their ids; of one that is not there the error says how to write it."""

    def __missing__(self, claim_id: str) -> Any:
        write = f"clusterproof check {claim_id} --search --evidence clusterproof/theory/evidence"
        raise AssertionError(
            f"{claim_id} has no record in clusterproof/theory/evidence: write it with `{write}`"
        )


@cache
def recorded() -> dict[str, dict[str, Any]]:
    """Read the recorded verdicts; for tests that replace nothing of ours."""
    return Records(read_verdicts())


@cache
def _kept_of(paper: str) -> tuple[dict[str, Any], Kept]:
    kept = read_evidence(paper)
    return Records(kept.verdicts), kept


def replayed(claim: checker.Claim[..., Any]) -> Replayed:
    """Replay a claim's record; nothing is searched."""
    verdicts, kept = _kept_of(claim.paper)
    return replay_verdict(verdicts[claim.id], kept, shipped=True)


@cache
def checked(claim_id: str, evaluations: int | None = None) -> checker.Verdict:
    """Check a claim at seed 0; for tests that replace nothing of ours."""
    return checker.check(claim_id, evaluations=evaluations)

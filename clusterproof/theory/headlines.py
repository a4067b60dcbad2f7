"""The headlines: the claims that ``clusterproof check`` evaluates, and one sentence on each finding.

Headlines are theorems, lemmas, corollaries, assumptions, steps of an algorithm of which a reading changes the models,
promises of an abstract, and repairs. The numbered lines of proofs, lemmas of our own
proofs, and what takes long, are left to ``--all``.
"""

from __future__ import annotations

from typing import NamedTuple

from clusterproof.checker.kernel import Word as Kind


class Finding(NamedTuple):
    """A sentence on a claim, which is true if the claim gets this verdict."""

    verdict: Kind
    sentence: str


_NAMES = {
    "cfl-mgd": """
        theorem-1 theorem-1-large-separation theorem-1-probability theorem-1-small-constant remark-1
        lemma-1 lemma-1-union lemma-1-cantelli lemma-1-worst-case lemma-2
        assumption-1 assumption-2 assumption-3 assumption-3-ball assumption-4 assumption-5 assumption-5-resampled
        algorithm-line-3-participation algorithm-line-5-ties algorithm-line-7-resampling algorithm-line-8
        algorithm-line-8-delayed algorithm-line-12-option-2-momentum algorithm-line-15-momentum-of-switchers
        algorithm-line-20 algorithm-lines-15-16-weights algorithm-rounds-and-samples division-by-clients
        equation-9 equation-9-broadcast equation-32-fixed-clusters
        model-averaging-limit model-averaging-rate model-averaging-stability
        model-averaging-drift model-averaging-reset
        theorem-d per-step-contraction per-step-region asymptotic-rate
        momentum-helps""",
    "fpfc": """
        conditions theorem-1-models theorem-1-models-positive theorem-1-mapping theorem-1-duals
        theorem-1-participation repaired-models repaired-duals
        one-term one-term-waiting convex window""",
    "gradient-loss": """
        equation-1 equation-1-mean equation-2 equation-3 equation-3-descent equation-3-first-round equation-7-empty
        equations-4-7 algorithm-line-12 empty-cluster-rule pinning cost-of-an-iteration only-losses
        sooner reduction-up-to""",
    "sofl": """
        theorem-1 theorem-1-at-the-end theorem-1-robbins-monro algorithm-1-line-30 aggregation-in-cluster
        clustering-condition equation-3 equation-4 equation-6 elbow-exact-winners no-extra-communication
        tables label-shift-ceiling""",
    "ifca": "basin certain-in-basin cfl-mgd-in-basin cfl-mgd-same-basin",
    "baselines": "fedavg fedavg-optimum per-fedavg-fo-optimum per-fedavg-hf",
    "cfl": "complete-linkage single-linkage notebook-index client-ids stationary-cosine",
    "fedavg": "theorem-1 theorem-2 theorem-3 theorem-4 drift",
    "fedlin": "rate sharp convex",
    "fedprox": "theorem-4 corollary-7 corollary-7-repaired",
    "local-gd": "theorem-1 corollary-1",
    "proxskip": "theorem-6 sharp",
    "scaffold": "bias sharp sharp-option-1 option-1-diverges convex",
    "sproxskip": "repaired additive",
}

HEADLINES = tuple(f"{paper}/{name}" for paper, names in _NAMES.items() for name in names.split())
"""Ids of the headlines, by paper."""

FINDINGS = {
    "cfl-mgd/theorem-1": Finding(
        Kind.VACUOUS,
        "Theorem 1 is vacuous with max ||chi*|| <= 1 for <~ 1: rho >= 4 kappa, and no start of Assumption 4 is farther "
        "than 1/2; with larger Delta it is false.",
    ),
    "cfl-mgd/lemma-2": Finding(
        Kind.VIOLATED,
        "Lemma 2 is false at 34 clients, 17 in each cluster: with momentum 2/3 and no noise a round ends at an error "
        "of 0.215, and it allows 0.164 (c_4 = 1/4; no other helps).",
    ),
    "cfl-mgd/theorem-1-small-constant": Finding(
        Kind.VIOLATED,
        "A smaller constant does not save Theorem 1: at c_4 = 1/33 and momentum 0.999 the error is 0.497 after its "
        "14 rounds, and it claims 0.485 (39 clients, 17 in one cluster).",
    ),
    "cfl-mgd/model-averaging-stability": Finding(
        Kind.VIOLATED,
        "Option II can diverge where each client alone converges: with curvatures 1/100 and 1, momentum 4/5 and 5 "
        "local steps a round multiplies the error by 1.058.",
    ),
    "cfl-mgd/algorithm-line-15-momentum-of-switchers": Finding(
        Kind.ILL_POSED,
        "Line 15, (A19) and (32) give a client that changes its cluster three momenta: from the same four clients "
        "the second model is 5/8, 23/32 or 11/16.",
    ),
    "fpfc/theorem-1-models": Finding(
        Kind.VIOLATED,
        "Theorem 1, first inequality, allows a mean square of -0.75 where 7.08 is measured: its constant C_1 is "
        "negative at rho = 23/4, xi = 1/2, 3 local steps.",
    ),
    "fpfc/theorem-1-duals": Finding(
        Kind.VIOLATED,
        "Theorem 1, third inequality, is false where only pairs of two participants move: 0.0139 exceeds 0.0000623 "
        "with 2 clients, one a round, for 1000 rounds.",
    ),
    "fpfc/theorem-1-mapping": Finding(
        Kind.VACUOUS,
        "Theorem 1, second inequality, says nothing of the algorithm: every theta with its v meets it, before the "
        "first round too.",
    ),
    "fpfc/conditions": Finding(
        Kind.VACUOUS,
        "The condition rho > L_f / (1 - 2c) of Theorem 1 binds nothing, or everything: every step that it allows has "
        "c >= 1/2. Meant is c^(T/2) in place of c.",
    ),
    "fpfc/convex": Finding(
        Kind.VIOLATED,
        "A convex penalty can recover the clusters: clients at 0, 0.1, 1 and 1.1 end at 7/40, 7/40, 37/40 and 37/40 "
        "with lambda = 1/4.",
    ),
    "gradient-loss/equation-3": Finding(
        Kind.VIOLATED,
        "With the printed sign of (3) devices leave their cluster: at minimisers -1/2 and 1/2, models -1/4 and 1/4 "
        "the own cluster's score is -0.206 in round 2, the other's -0.106.",
    ),
    "gradient-loss/equation-1": Finding(
        Kind.VIOLATED,
        "With the summed loss of (1) two copies of a batch change the choice: the scores are -3/4 and -1/2 on one "
        "row, and -1 and -3/2 on two copies of it.",
    ),
    "gradient-loss/reduction-up-to": Finding(
        Kind.ILL_POSED,
        '"Up to 98 %" has no meaning without the number of runs: at one setting single pairs of runs need fewer '
        "iterations by half, or more than twice as many.",
    ),
    "gradient-loss/equation-7-empty": Finding(
        Kind.ILL_POSED,
        "(7) is 0 / 0 for a cluster without devices: if its model is kept it stays at 3, if a device is allocated it "
        "moves to 1.",
    ),
    "gradient-loss/algorithm-line-12": Finding(
        Kind.VIOLATED,
        "Line 12 uploads the update of the round before: from 1, with the minimiser 0 and alpha = 1/2, two rounds "
        "end at 1/2, and at 1/4 by (5)-(7).",
    ),
    "sofl/theorem-1": Finding(
        Kind.ILL_POSED,
        "Theorem 1 names no rate: at the constant rate 1/10 a neuron keeps 1/19 of its cell's variance for ever, at "
        "the rate 1 / n none.",
    ),
    "sofl/algorithm-1-line-30": Finding(
        Kind.ILL_POSED,
        "The weights n_m / n of line 30 do not sum to 1 within a cluster: with two clients inside and one outside, a "
        "sample each, they sum to 2/3.",
    ),
    "sofl/clustering-condition": Finding(
        Kind.VACUOUS,
        "Condition (b) of Section 4.1 decides nothing: 10 delta_1 is the largest update, so (b) holds for every "
        "delta_2 below 10 delta_1.",
    ),
    "sofl/equation-4": Finding(
        Kind.VIOLATED,
        "Minimising (4) and then (5) does not minimise (3): of clients at 0, 1, 2 and 4 it makes two clusters with "
        "the sum 2.5, and the least is 2.",
    ),
    "sofl/elbow-exact-winners": Finding(
        Kind.VIOLATED,
        "The elbow of line 14 finds 2 clusters where the map has found exactly 3, at (0, 1), (1, 0) and (1, 1).",
    ),
    "ifca/cfl-mgd-same-basin": Finding(
        Kind.VIOLATED,
        "Momentum can lose a start: from models as far from their optima as these are apart, four times the noise, "
        "CFL-MGD with momentum 9/10 succeeds less often than IFCA.",
    ),
    "baselines/fedavg-optimum": Finding(
        Kind.VIOLATED,
        "FedAvg with two local steps misses the minimiser of the mean loss: with curvatures 1/2 and 1, minimisers "
        "-1 and 1 and step 1 it rests at 1/7, not 1/3.",
    ),
    "baselines/per-fedavg-fo-optimum": Finding(
        Kind.VIOLATED,
        "First-order Per-FedAvg misses the minimiser of its objective: with curvatures 1/2 and 1, minimisers -1 and "
        "1, alpha = 1/2 it rests at 1/7, not -1/17.",
    ),
    "cfl/complete-linkage": Finding(
        Kind.VIOLATED,
        "Complete linkage, as in the public code, misses the best cut: for updates (0, 1), (0, -1), (1, -1), (3, 1) "
        "its largest similarity is 0.447, the least 0.316.",
    ),
    "cfl/notebook-index": Finding(
        Kind.VIOLATED,
        "The public code mixes positions with clients: it lists the clusters [0], [1], [2, 3] as [0], [0], [1, 2].",
    ),
    "fedavg/theorem-1": Finding(
        Kind.CONSISTENT,
        "No counterexample to Theorem 1: with all clients and decaying steps FedAvg converges like 1 / T.",
    ),
    "fedlin/sharp": Finding(
        Kind.CONSISTENT,
        "A round of FedLin with K local steps contracts by (1 - eta mu)^(2K): no instance breaks it.",
    ),
    "fedprox/corollary-7": Finding(
        Kind.ILL_POSED,
        'The "about" of Corollary 7 is no bound: at L = 1, B = 2 and 16 drawn clients the gain is -0.0005, and '
        "1 / (24 L B^2) is 0.0104.",
    ),
    "proxskip/theorem-6": Finding(
        Kind.CERTIFIED,
        "Theorem 6 holds, shown for two kinds of clients in any number: ProxSkip converges at the rate "
        "max{1 - gamma mu, 1 - p^2}.",
    ),
    "scaffold/option-1-diverges": Finding(
        Kind.VIOLATED,
        "SCAFFOLD with option I can diverge at the step 1 / L: with curvatures 1 / 100 and 1 and 6 local steps a "
        "round multiplies the error by 1.096.",
    ),
    "scaffold/bias": Finding(
        Kind.CERTIFIED,
        "Theorem 4.1 holds for every number of local steps: SCAFFOLD II is biased by gamma / N, as FedAvg, and by "
        "gamma^2 for any number of clients.",
    ),
}
"""Findings by the claim's id, of each paper the most important first."""

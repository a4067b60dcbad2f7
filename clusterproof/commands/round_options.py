"""The options of ``certify`` and ``leaderboard`` that say which round of which algorithm is bounded."""

from __future__ import annotations

from dataclasses import dataclass

from clusterproof.commands import terminal


@dataclass(frozen=True, kw_only=True)
class RoundOptions:
    """A round of an algorithm; numbers are decimals or fractions such as 1/64, taken exactly.

    Parameters
    ----------
    smoothness
        L; 1 by default.
    strong_convexity
        mu, at least 0 and below L.
    local_steps
        K, the number of local steps.
    server_step_size
        eta_g of FedAvg and SCAFFOLD; 1 by default.
    sampling
        theta = (N - S) / (S (N - 1)) if S of N clients take part in a round; of FedAvg and FedProx.
    proximal
        m of FedProx, whose local problems are solved exactly.
    probability
        p of ProxSkip.
    option
        I or II of SCAFFOLD, II by default.
    """

    smoothness: str | None = None
    strong_convexity: str | None = None
    local_steps: terminal.OptionalInteger = None
    server_step_size: str | None = None
    sampling: str | None = None
    proximal: str | None = None
    probability: str | None = None
    option: str | None = None

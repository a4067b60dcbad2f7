"""Theorem C: exact second moments instead of inequalities, for Gaussian regression."""

from __future__ import annotations

from typing import Annotated

from clusterproof.theory.bounds import statements
from clusterproof.theory.bounds.audit_settings import REGRESSIONS, experiment
from clusterproof.theory.bounds.theorem_c import bound_trace, theorem_c_parts
from clusterproof.theory.checker import Family, Replicates, Sides, Stream, choice

PAPER = Family("cfl-mgd")
Place = Annotated[str, choice(*REGRESSIONS)]


@PAPER.claim(
    "theorem-c", label="Theorem C (ours)", kind="probability", bound_trace=bound_trace, replicates=200
)
def theorem_c(place: Place, replicates: Replicates, stream: Stream) -> dict[str, Sides]:
    """Gaussian regression: exact mean and variance of the error give the bound after T rounds.

    Hypotheses
        Gaussian regression, fresh independent batches, option I with server momentum, full
        participation, division by m, step_size <= 1/L. Any start.

    Statement
        With N = l_p m n', Var_{p,t} the exact variance of the chain with the true clusters and any
        B < Delta / (1 + sqrt(kappa)): with probability at least 1 - delta - delta_cl, for all p,
        ||chi_p^T - chi*_p|| <= ||Pi_T(alpha_p Sigma) e_0|| + sqrt(P Var_{p,T} / delta), where
        delta_cl = sum_(t<T) sum_p Var_{p,t} / (B - ||Pi_t e_0||)_+^2 + T m (P - 1) pi_F(B). With
        sqrt(PT / delta) it holds for all t <= T at once.

    Proof
        Couple with the chain of the true clusters, driven by the same gradient batches; they coincide until the
        first misclassification. The coupled chain leaves the B-balls with at most the first sum's
        probability (its mean is Pi_t e_0 exactly); within them each round misclassifies with
        probability at most m (P - 1) pi_F. Chebyshev for the coupled chain at T. The recursion of
        the moments is in ``clusterproof.theory.exact.exact_moments``.

    Symbols
        m ``clients``, n' ``samples``, alpha_p = eta l_p, Delta ``separation``.

    Source
        Ours; sharper than Theorem B where it applies. Upper bound;
        the moments are exact.

    Checked
        Runs with real data from random starts in the settings two equal, four unequal and three wide, at every round.
    """
    setting = experiment(*REGRESSIONS[place])
    initial = setting.initial(stream, replicates)
    parts = theorem_c_parts(setting.regression, setting.algorithm, initial, setting.rounds)
    return statements.runs_from(initial, parts, setting, stream)

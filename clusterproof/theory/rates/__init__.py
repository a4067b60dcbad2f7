"""Find convergence rates with a solver, prove them in exact arithmetic, and state them as claims for the kernel."""

from clusterproof.theory.exact.heavy_ball import lyapunov_matrix
from clusterproof.theory.rates.heavy_ball import heavy_ball_at, heavy_ball_rate
from clusterproof.theory.rates.one_round import RoundRate
from clusterproof.theory.rates.outcome import HeavyBallRate, NoRate
from clusterproof.theory.rates.round_rate import round_rate

__all__ = [
    "HeavyBallRate",
    "NoRate",
    "RoundRate",
    "heavy_ball_at",
    "heavy_ball_rate",
    "lyapunov_matrix",
    "round_rate",
]

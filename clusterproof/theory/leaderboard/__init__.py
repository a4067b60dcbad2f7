"""The leaderboard: compare convergence bounds in one setting with the best possible bounds and with true values."""

from clusterproof.theory.leaderboard.bounds import Bound, leaderboard_bound
from clusterproof.theory.leaderboard.rows import Row, leaderboard, violations
from clusterproof.theory.leaderboard.setting import Setting

__all__ = ["Bound", "Row", "Setting", "leaderboard", "leaderboard_bound", "violations"]

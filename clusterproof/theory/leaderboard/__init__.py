"""The leaderboard compares convergence bounds in one setting with the best possible bounds and with exact values."""

from clusterproof.theory.leaderboard.bounds import Bound, leaderboard_bound
from clusterproof.theory.leaderboard.rows import Row, leaderboard, violations
from clusterproof.theory.leaderboard.setting import Setting

__all__ = ["Bound", "Row", "Setting", "leaderboard", "leaderboard_bound", "violations"]

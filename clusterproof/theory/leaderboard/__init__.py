"""Convergence bounds of one setting next to each other, next to the best possible ones and to the truth."""

from clusterproof.theory.leaderboard.bounds import Bound, leaderboard_bound
from clusterproof.theory.leaderboard.rows import Row, leaderboard, violations
from clusterproof.theory.leaderboard.setting import Setting

__all__ = ["Bound", "Row", "Setting", "leaderboard", "leaderboard_bound", "violations"]

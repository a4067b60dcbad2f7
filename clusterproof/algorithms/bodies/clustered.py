"""Base class of IFCA and CFL-MGD: one model per cluster, and the draw of the starting models."""

from __future__ import annotations

from clusterproof.algorithms.arrays import Array
from clusterproof.algorithms.participation import check_participation
from clusterproof.algorithms.protocol import Algorithm, StateT, Task, resolve_clusters
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.starts import Starts, draw_starts
from clusterproof.algorithms.validation import check_descent


class ClusteredDescent(Algorithm[StateT]):
    """Descent of one model per cluster; subclasses declare these parameters and further ones."""

    step_size: float
    clusters: int | None
    averaging: str
    local_steps: int
    participation: float
    least_share: float | None
    restarts: int
    trial_rounds: int

    def __post_init__(self) -> None:
        """Validate the shared parameters."""
        check_descent(self.step_size, self.clusters, self.averaging, self.local_steps)
        check_participation(self.participation)
        self._starts.check()

    def model_count(self, task: Task) -> int:
        """Return the number of models."""
        return resolve_clusters(self.clusters, task)

    @property
    def asks_single_gradients(self) -> bool:
        """True with gradient averaging."""
        return self.averaging == "gradient"

    def draw_models(self, task: Task, shape: tuple[int, ...], randomness: Randomness) -> Array:
        """Draw starting points (*shape, P, d), see ``least_share`` and ``restarts``."""
        return draw_starts(self._starts, self, task, shape, randomness)

    @property
    def _starts(self) -> Starts:
        return Starts(self.least_share, self.restarts, self.trial_rounds)

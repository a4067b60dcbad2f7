"""Runs of the algorithms for claims, by the claim's id, or for a line with a space of its own by ``id#line``.

Each takes the arguments of the statement. It asserts that the algorithm does what the statement computes, or returns
what the statement measures.
"""

from collections.abc import Callable

import runs_of_cfl_mgd
import runs_of_gradient_loss
import runs_of_other_papers

RUNS: dict[str, Callable[..., float | None]] = {
    **runs_of_cfl_mgd.RUNS,
    **runs_of_gradient_loss.RUNS,
    **runs_of_other_papers.RUNS,
}

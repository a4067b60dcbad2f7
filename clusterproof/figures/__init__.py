"""Figures of computed results, with one module per subject."""

from clusterproof.common.discovery import Registry, by_name, classes_below
from clusterproof.figures.client_updates import after_fedavg
from clusterproof.figures.error_per_round import ErrorPerRound
from clusterproof.figures.files import save
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.pages import page_figure
from clusterproof.figures.runs import run_figure
from clusterproof.public_names import require_own_name

require_own_name(__name__)

FIGURES: dict[str, type[Illustration]] = Registry(
    "The class of every figure, by name.",
    by_name(classes_below(__name__, Illustration)),
)
"""The class of every figure, indexed by name, found in the modules of this package.

:meta hide-value:
"""

__all__ = [
    "FIGURES",
    "ErrorPerRound",
    "Illustration",
    "after_fedavg",
    "page_figure",
    "run_figure",
    "save",
]

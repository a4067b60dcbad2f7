"""Figures drawn from computed results, one module each."""

from clusterproof.figures.catalogue import FIGURES
from clusterproof.figures.client_updates import after_fedavg
from clusterproof.figures.error_per_round import ErrorPerRound
from clusterproof.figures.files import save
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.pages import page_figure
from clusterproof.figures.runs import run_figure

__all__ = [
    "FIGURES",
    "ErrorPerRound",
    "Illustration",
    "after_fedavg",
    "page_figure",
    "run_figure",
    "save",
]

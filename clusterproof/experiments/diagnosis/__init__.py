"""Measure the hypotheses of CFL-MGD's theory on a training run."""

from clusterproof.experiments.diagnosis.diagnose import Diagnostician

__all__ = ["Diagnostician"]

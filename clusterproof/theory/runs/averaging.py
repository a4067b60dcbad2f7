"""Runs of FedAvg and FedProx: the dissimilarity of the clients' gradients."""

from __future__ import annotations

import math

import numpy as np

from clusterproof.theory.runs.method import MethodRun


class AveragingRun(MethodRun):
    """A run of FedAvg or FedProx."""

    @property
    def dissimilarity(self) -> float | None:
        """B of FedProx at the start: root mean square of the gradients, over their mean's norm; None if unknown."""
        if self.inexact or self.algorithm.proximal <= 0:
            return None
        gradients = self.gradients_at(self.path[0, 0])
        mean = float(np.linalg.norm(gradients.mean(axis=0)))
        found = float(np.sqrt(np.square(gradients).sum(axis=-1).mean())) / mean if mean else math.inf
        return found if math.isfinite(found) else None

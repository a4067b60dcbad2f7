"""Theorem D written out as it is stated: every sum over the past is evaluated in full, without recursion or reuse."""

import math

import numpy as np

from clusterproof.synthetic.misclassification import worst_case_error
from clusterproof.theory.bounds.norm_inequality import norm_bound
from clusterproof.theory.claims.statistics import binomial_quantile


def plain_tube(
    *,
    own: np.ndarray,
    samples: int,
    spectra: np.ndarray,
    common: bool,
    step: float,
    momentum: float,
    noise: float,
    separation: float,
    diameter: float,
    start: np.ndarray,
    rounds: int,
    failure: tuple[float, float, float],
) -> tuple[np.ndarray, np.ndarray]:
    """y at all rounds (rounds + 1, P) and after the last (P,), from the norms of e_0."""
    clusters, clients = len(own), own.sum()
    steepest, flattest = spectra.max(), spectra.min()
    reach = np.zeros((rounds + 1, clusters))
    reach[0] = start
    last = np.zeros(clusters)
    counts: list[list[tuple[int, int]]] = []
    tail = failure[0] / (2 * rounds * clusters)
    responses = [
        np.array(
            [
                [impulse(lag, step * size / clients * a, momentum) for a in spectrum]
                for lag in range(rounds + 1)
            ]
        )
        for size, spectrum in zip(own, spectra, strict=True)
    ]
    for t in range(1, rounds + 1):
        pairwise = worst_case_error(steepest, flattest, separation, noise, reach[t - 1].max(), samples)
        counts.append(
            [
                (
                    binomial_quantile(int(clients - size), pairwise, tail),
                    binomial_quantile(int(size), min(1.0, (clusters - 1) * pairwise), tail),
                )
                for size in own
            ]
        )
        for p in range(clusters):
            share = own[p] / clients
            eigenvalues = spectra[p]
            lags = responses[p][:t][::-1]
            widest, steep = (
                np.abs(responses[p] * factor).max(axis=1)
                for factor in (np.ones_like(eigenvalues), eigenvalues)
            )
            widest, steep = widest[:t][::-1], steep[:t][::-1]
            bias, scale, slack, far_trace, far_norm = 0.0, 0.0, 0.0, 0.0, 0.0
            profile = np.zeros(len(eigenvalues))
            for k in range(t):
                inward, outward = counts[k][p]
                near, far = reach[k, p], diameter + reach[k, p]
                bias += step * steepest / clients * widest[k] * (inward * far + outward * near)
                weight = step**2 * share / (clients * samples)
                crossing = step**2 * inward / (clients**2 * samples)
                near_variance, far_variance = noise**2 + steepest * near**2, noise**2 + steepest * far**2
                worst = math.sqrt(max(near_variance, far_variance if inward else 0.0))
                reached = 2 * step / (clients * samples) * math.sqrt(steepest) * worst
                rank_one = weight * near**2 + (crossing * far**2 if common else 0.0)
                scale = max(scale, widest[k] * reached)
                slack += rank_one * steep[k] ** 2
                profile += weight * near_variance * lags[k] ** 2 * eigenvalues
                if common:
                    profile += crossing * far_variance * lags[k] ** 2 * eigenvalues
                else:
                    rest = steepest**2 * far**2
                    far_trace += crossing * widest[k] ** 2 * (far_variance * spectra.sum(1).max() + rest)
                    far_norm += crossing * widest[k] ** 2 * (far_variance * steepest + rest)
            trace, norm = profile.sum() + slack + far_trace, profile.max() + slack + far_norm
            known = None if far_trace else profile
            growth = np.abs(responses[p][t] - momentum * responses[p][t - 1]).max() * start[p]

            uses = [clusters * rounds / failure[1], clusters / failure[2]]
            radii = [
                norm_bound(
                    trace, norm, scale, math.log(each), len(eigenvalues), profile=known, slack=slack
                ).radius
                for each in (uses if t == rounds else uses[:1])
            ]
            reach[t, p] = growth + bias + radii[0]
            last[p] = growth + bias + radii[-1]
    return reach, last


def impulse(lag: int, curvature: float, momentum: float) -> float:
    """h at a lag, from the roots of its recursion: the sum of first^i second^(lag - i)."""
    first, second = np.roots([1, -(1 + momentum - curvature), momentum]).astype(complex)
    return float((first ** np.arange(lag + 1) * second ** np.arange(lag, -1, -1)).sum().real)

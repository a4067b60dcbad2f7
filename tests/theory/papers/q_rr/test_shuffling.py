"""The shuffling lemma and NASTYA's floor: instances by hand, and the factor by which the floor is loose."""

from fractions import Fraction

import pytest

from clusterproof import theory
from clusterproof.theory.certificates.round_search import prove_round
from clusterproof.theory.certificates.rounds import Algorithm, ClientClass, Round
from clusterproof.theory.exact.sampled_clients import SampledClients

F = Fraction


@pytest.mark.parametrize(
    ("clients", "opposed", "radius", "name", "bound"),
    [
        (2, True, F(1, 4), "lemma-2.1-own", 0),  # (1, -1) and (-1, 1)
        (3, False, F(1, 6), "lemma-2.1-own-lower", F(1, 4)),  # (1, -1) three times
    ],
)
def test_the_instances_of_own_orders(
    clients: int, opposed: bool, radius: Fraction, name: str, bound: Fraction
) -> None:
    """Two samples of curvature 1: half the mean of (mean over m of +-1)^2 is the radius."""
    one = SampledClients(clients, 2, F(1), F(1), "all", F(0), F(1), opposed)
    assert one.shuffling_radius(common=False) == radius
    example = {"clients": clients, "samples": 2, "smoothness": 1, "low": 1, "steep": "all", "between": 0}
    found = theory.replay(f"q-rr/{name}", example | {"within": 1, "opposed": opposed})
    assert (found.verdict, found.measured, found.bound) == ("violated", float(radius), float(bound))


@pytest.mark.slow(reason="a semidefinite program for each setting")
@pytest.mark.parametrize("small", [False, True], ids=["eta / n", "1 / 5n"])
@pytest.mark.parametrize(("samples", "factors"), [(2, (82, 61)), (4, (33, 29)), (8, (22, 20))])
def test_the_floor_of_nastya_is_loose(samples: int, factors: tuple[int, int], small: bool) -> None:
    """On equal samples NASTYA is FedAvg with n steps: its floor over the best one of a round, at its own rate."""
    for condition, factor in zip((10, 100), factors, strict=True):
        eta, mu = F(1, 16), F(1, condition)
        gamma = F(1, 5 * samples) if small else eta / samples
        round_ = Round(
            algorithm=Algorithm.FEDAVG,
            client_class=ClientClass.CONVEX,
            smoothness=F(1),
            strong_convexity=mu,
            step_size=gamma,
            local_steps=samples,
            server_step_size=eta / gamma / samples,
        )
        certificate = prove_round(round_, rate=1 - eta * mu / 2)
        assert certificate is not None
        printed = F(9, 2) * gamma**2 * samples / mu * (samples + 1) * eta * mu / 2
        assert float(printed / certificate.constant) == pytest.approx(factor, abs=3)

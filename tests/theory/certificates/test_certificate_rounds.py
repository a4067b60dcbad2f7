"""Certificates of one round hold for random clients, and a lowered number is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from clusterproof.theory.certificates.one_round import RoundCertificate, failing_condition
from clusterproof.theory.certificates.round_search import prove_round
from clusterproof.theory.certificates.rounds import Algorithm, ClientClass, Round

F = Fraction
FEDAVG = Round(
    algorithm=Algorithm.FEDAVG, smoothness=F(1), strong_convexity=F(1, 10), step_size=F(1, 64), local_steps=4
)
FEDPROX = Round(
    algorithm=Algorithm.FEDPROX, smoothness=F(1), strong_convexity=F(1, 10), proximal=F(1), sampling=F(1, 9)
)


def scaffold(local_steps: int, option: str) -> RoundCertificate:
    """Return the closed form for eta L K <= 1 of option II, whose rate is (1 - eta mu)^2K."""
    step = F(1, local_steps)
    round_ = Round(
        algorithm=Algorithm.SCAFFOLD,
        smoothness=F(1),
        strong_convexity=F(1, 10),
        step_size=step,
        local_steps=local_steps,
        option=option,
    )
    p = 1 - step / 10
    multipliers = {f"{k},*": 2 * p ** (2 * (local_steps - k) - 1) for k in range(local_steps)}
    multipliers |= {",".join(reversed(name.split(","))): value for name, value in multipliers.items()}
    rate = p ** (2 * local_steps)
    return RoundCertificate(round=round_, rate=rate, constant=rate, weight=F(1), multipliers=multipliers)


def proxskip(step: Fraction, probability: Fraction) -> RoundCertificate:
    """Return the closed form for eta <= 2 / (L + mu), without slack."""
    round_ = Round(
        algorithm=Algorithm.PROXSKIP,
        smoothness=F(1),
        strong_convexity=F(1, 10),
        step_size=step,
        probability=probability,
    )
    rate = max((1 - step / 10) ** 2, 1 - probability**2)
    weight, multiplier = (step / probability) ** 2, 2 * (1 - step / 10)
    return RoundCertificate(
        round=round_,
        rate=rate,
        constant=rate * weight,
        weight=weight,
        multipliers={"0,*": multiplier, "*,0": multiplier},
    )


@pytest.mark.parametrize(
    "certificate",
    [*(scaffold(k, "II") for k in (1, 2, 4, 16)), proxskip(F(1), F(1, 4)), proxskip(F(3, 2), F(1, 2))],
)
def test_a_closed_form_without_slack_is_accepted_and_any_smaller_rate_is_not(
    certificate: RoundCertificate,
) -> None:
    assert failing_condition(certificate) is None
    lower = certificate.rate - (1 - certificate.rate) / 10**6
    forged = replace(certificate, rate=lower, constant=lower * certificate.weight)
    assert "positive semidefinite" in str(failing_condition(forged))


@pytest.mark.parametrize(
    ("proximal", "sampling", "rate", "constant"),
    [  # field.md 4.4
        ("1", "0", "0.9", 0.11340),
        ("1", "0", "0.99", 0.093781),
        ("0.3", "0", "0.9", 1.06857),
        ("3", "0", "0.99", 0.0062775),
        ("1", "1/9", "0.9", 0.170911),
        ("1", "1/9", "0.99", 0.151812),
        ("0.3", "1/9", "0.9", 1.390525),
        ("3", "1/9", "0.99", 0.0156016),
    ],
)
def test_the_constants_of_fedprox(proximal: str, sampling: str, rate: str, constant: float) -> None:
    certificate = prove_round(replace(FEDPROX, proximal=F(proximal), sampling=F(sampling)), rate=F(rate))
    assert certificate is not None
    assert 0 <= float(certificate.constant) / constant - 1 <= 2e-4


def test_no_constant_exists_below_the_contraction() -> None:
    assert prove_round(replace(FEDPROX, proximal=F(3), sampling=F(0)), rate=F("0.9")) is None


@pytest.mark.parametrize("client_class", list(ClientClass))
@pytest.mark.parametrize("round_", [FEDAVG, replace(FEDAVG, sampling=F(1, 9)), FEDPROX])
def test_forged_certificates_are_refused(round_: Round, client_class: ClientClass) -> None:
    certificate = prove_round(replace(round_, client_class=client_class), disagreement=F(1, 100))
    assert certificate is not None
    forged = {
        "constant": replace(certificate, constant=certificate.constant * F("0.98")),
        "rate": replace(certificate, rate=certificate.rate * F("0.99")),
        "multiplier": replace(
            certificate, multipliers={**certificate.multipliers, "0,*": certificate.multipliers["0,*"] * 2}
        ),
        "negative": replace(certificate, multipliers={**certificate.multipliers, "0,*": F(-1)}),
        "unknown": replace(certificate, multipliers={**certificate.multipliers, "0,99": F(1)}),
        "weight": replace(certificate, weight=F(1)),
        "strong_convexity": replace(certificate, round=replace(certificate.round, strong_convexity=F(1, 20))),
        "smoothness": replace(certificate, round=replace(certificate.round, smoothness=F(3, 2))),
    }
    if client_class is ClientClass.STRONG:
        forged["class"] = replace(certificate, round=replace(round_, client_class=ClientClass.CONVEX))
    accepted = [name for name, one in forged.items() if failing_condition(one) is None]
    assert accepted == []
    assert failing_condition(certificate) is None


def test_no_random_clients_exceed_a_certificate() -> None:
    """Quadratics with Hessians that do not commute, and log-cosh losses, played step by step."""
    rng = np.random.default_rng(3)
    certificate = prove_round(FEDAVG, distance=F(1), disagreement=F(1))
    assert certificate is not None
    rate, constant, eta = float(certificate.rate), float(certificate.constant), 1 / 64
    largest = 0.0
    for _ in range(400):
        clients, size = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        spectra = rng.choice([0.1, 1.0, 0.5], (clients, size))
        bases = np.linalg.qr(rng.normal(size=(clients, size, size)))[0]
        hessians = np.einsum("ijk,ik,ilk->ijl", bases, spectra, bases)
        at_optimum = rng.normal(size=(clients, size))
        at_optimum -= at_optimum.mean(axis=0)
        at_optimum /= np.sqrt((at_optimum**2).sum() / clients) or 1.0
        curved = bool(rng.integers(2))  # mu/2 |x|^2 + (L - mu) sum log cosh x
        start = rng.normal(size=size)
        start /= np.linalg.norm(start)
        models = np.tile(start, (clients, 1))
        for _ in range(4):
            moved = (
                0.1 * models + 0.9 * np.tanh(models) if curved else np.einsum("ijk,ik->ij", hessians, models)
            )
            models = models - eta * (moved + at_optimum)
        largest = max(largest, float((models.mean(axis=0) ** 2).sum()) / (rate + constant))
    assert 0.98 < largest <= 1 + 1e-12

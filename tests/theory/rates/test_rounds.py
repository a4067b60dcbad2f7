"""Bounds on one round hold for random clients, and a lowered number is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from leaderboard_settings import why_not

from clusterproof.common import InvalidArgument
from clusterproof.theory.rates import RoundRate, round_rate
from clusterproof.theory.rates.round_search import prove_round
from clusterproof.theory.rates.rounds import MAX_LOCAL_STEPS, Algorithm, ClientClass, Round
from clusterproof.theory.rates.traced_rounds import TracedRounds

F = Fraction
FEDAVG = Round(
    algorithm=Algorithm.FEDAVG, smoothness=F(1), strong_convexity=F(1, 10), step_size=F(1, 64), local_steps=4
)
FEDPROX = Round(
    algorithm=Algorithm.FEDPROX, smoothness=F(1), strong_convexity=F(1, 10), proximal=F(1), sampling=F(1, 9)
)


def scaffold_round(step: Fraction, local_steps: int, option: str) -> Round:
    """Return a round of SCAFFOLD at kappa = 10."""
    return Round(
        algorithm=Algorithm.SCAFFOLD,
        smoothness=F(1),
        strong_convexity=F(1, 10),
        step_size=step,
        local_steps=local_steps,
        option=option,
    )


def scaffold(local_steps: int, option: str) -> RoundRate:
    """Return the closed form for eta L K <= 1 of option II, whose rate is (1 - eta mu)^2K."""
    step = F(1, local_steps)
    round_, p = scaffold_round(step, local_steps, option), 1 - step / 10
    multipliers = {}
    for k in range(1, local_steps + 1):  # triplet 0 is at x*
        multipliers |= dict.fromkeys((f"0:{k},0:0", f"0:0,{k}:0"), 2 * p ** (2 * (local_steps - k) + 1))
    rate = p ** (2 * local_steps)
    return RoundRate(round=round_, rate=rate, constant=rate, weight=F(1), multipliers=multipliers)


def proxskip(step: Fraction, probability: Fraction) -> RoundRate:
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
    return RoundRate(
        round=round_,
        rate=rate,
        constant=rate * weight,
        weight=weight,
        multipliers={"0:1,0:0": multiplier, "0:0,1:0": multiplier},
    )


@pytest.mark.parametrize(
    "certificate",
    [*(scaffold(k, "II") for k in (1, 4)), proxskip(F(1), F(1, 4)), proxskip(F(3, 2), F(1, 2))],
)
def test_a_closed_form_without_slack_is_accepted_and_any_smaller_rate_is_not(
    certificate: RoundRate,
) -> None:
    assert not list(certificate.failures())
    assert not why_not(certificate.claims_file)
    lower = certificate.rate - (1 - certificate.rate) / 10**6
    forged = replace(certificate, rate=lower, constant=lower * certificate.weight)
    assert "positive semidefinite" in next(forged.failures())


@pytest.mark.parametrize(
    ("proximal", "sampling", "rate", "constant"),
    [  # solver values of an independent program
        ("1", "0", "0.9", 0.11340),
        ("3", "0", "0.99", 0.0062775),
        ("1", "1/9", "0.9", 0.170911),
        ("3", "1/9", "0.99", 0.0156016),
    ],
)
def test_the_constants_of_fedprox(proximal: str, sampling: str, rate: str, constant: float) -> None:
    certificate = prove_round(replace(FEDPROX, proximal=F(proximal), sampling=F(sampling)), rate=F(rate))
    assert certificate is not None
    assert 0 <= float(certificate.constant) / constant - 1 <= 2e-4


def test_clients_need_not_be_strongly_convex() -> None:
    """With mu = 0 a step of gradient descent is nonexpansive and no contraction."""
    convex = replace(FEDAVG, strong_convexity=F(0), local_steps=1)
    assert prove_round(convex, rate=F("1.001")) is not None
    assert prove_round(convex, rate=F("0.999")) is None


def test_no_constant_exists_below_the_contraction() -> None:
    assert prove_round(replace(FEDPROX, proximal=F(3), sampling=F(0)), rate=F("0.9")) is None


def test_each_condition_of_a_round_is_named_alone() -> None:
    fedavg = prove_round(replace(FEDAVG, local_steps=2), disagreement=F(1, 100))
    assert fedavg is not None
    controlled = scaffold(2, "II")
    many = replace(fedavg, round=replace(fedavg.round, local_steps=MAX_LOCAL_STEPS + 1))
    for certificate, words in (
        (fedavg, []),
        (controlled, []),
        (many, ["local steps"]),
        (replace(fedavg, weight=F(1)), ["the weight is negative"]),
        (replace(controlled, weight=F(-1)), ["the weight is negative"]),
        (replace(fedavg, multipliers={**fedavg.multipliers, "0:0,99:0": F(0)}), ["does not have: 0:0,99:0"]),
        (replace(fedavg, constant=F(-1)), ["deviations: the remaining"]),
        (replace(fedavg, rate=F(0)), ["means: the remaining"]),
    ):
        found = list(certificate.failures())
        assert len(found) == len(words)
        assert all(word in condition for word, condition in zip(words, found, strict=True))
    lowered = {"0:0,1:0": F(-1)}
    found = list(replace(controlled, multipliers=controlled.multipliers | lowered).failures())
    assert found[:2] == ["a multiplier is negative", "the function values do not cancel"]


@pytest.mark.parametrize("client_class", list(ClientClass))
@pytest.mark.parametrize("round_", [FEDAVG, replace(FEDAVG, sampling=F(1, 9)), FEDPROX])
def test_forged_certificates_are_refused(round_: Round, client_class: ClientClass) -> None:
    certificate = prove_round(replace(round_, client_class=client_class), disagreement=F(1, 100))
    assert certificate is not None
    forged = {
        "constant": replace(certificate, constant=certificate.constant * F("0.98")),
        "rate": replace(certificate, rate=certificate.rate * F("0.99")),
        "multiplier": replace(
            certificate,
            multipliers={**certificate.multipliers, "0:1,0:0": certificate.multipliers["0:1,0:0"] * 2},
        ),
        "negative": replace(certificate, multipliers={**certificate.multipliers, "0:1,0:0": F(-1)}),
        "unknown": replace(certificate, multipliers={**certificate.multipliers, "0:0,99:0": F(1)}),
        "weight": replace(certificate, weight=F(1)),
        "strong_convexity": replace(certificate, round=replace(certificate.round, strong_convexity=F(1, 20))),
        "smoothness": replace(certificate, round=replace(certificate.round, smoothness=F(3, 2))),
    }
    if client_class is ClientClass.STRONG:
        forged["class"] = replace(certificate, round=replace(round_, client_class=ClientClass.CONVEX))
    accepted = [name for name, one in forged.items() if not any(one.failures())]
    assert accepted == []
    assert not list(certificate.failures())
    assert not why_not(certificate.claims_file)
    assert all(why_not(forged[name].claims_file) for name in ("constant", "rate", "multiplier", "smoothness"))


@pytest.mark.parametrize("step_size", ["1", "1/10", "1/100"])
def test_a_proved_rate_is_near_the_least_one_however_short_the_step(step_size: str) -> None:
    """ProxSkip's is max((1 - eta mu)^2, 1 - p^2); what is proved lacks at most a hundredth of the decrease."""
    step, probability = F(step_size), F(1, 3)
    weight = (step / probability) ** 2
    found = prove_round(proxskip(step, probability).round, weight=weight, ratio=weight)
    least = max((1 - step / 10) ** 2, 1 - probability**2)
    assert found is not None
    assert least <= found.rate <= least + F(1, 99) * (1 - least)


def test_one_local_step_is_a_step_of_the_product_of_both_step_sizes() -> None:
    """With sampled clients, too: eta_g times eta is the step of the mean and of the clients' differences."""
    round_ = replace(FEDAVG, local_steps=1, sampling=F(1, 5))
    found = [
        prove_round(replace(round_, step_size=F(1, 2) / server, server_step_size=server), distance=F(3))
        for server in (F(1), F(2), F(1, 2))
    ]
    values = [float(3 * one.rate + one.constant) for one in found if one is not None]
    # each is at most 1e-4 of its constant, and a little of the rate, above the least
    assert values == pytest.approx([values[0]] * 3, rel=2e-4)


def test_the_lengths_choose_the_rate_of_the_least_bound_unless_a_rate_is_given() -> None:
    setting = {"algorithm": "fedavg", "strong_convexity": "1/10", "local_steps": 3, "step_size": "1/4"}
    starts = [(F(1), F(1)), (F(1, 3), F(4)), (F(4), F(1, 3))]
    found = [round_rate(**setting, distance=each, heterogeneity=zeta) for each, zeta in starts]
    proofs = [one for one in found if isinstance(one, RoundRate)]
    for place, (distance, zeta) in enumerate(starts):
        values = [one.rate * distance**2 + one.constant * zeta**2 for one in proofs]
        assert values.index(min(values)) == place
    given = round_rate(**setting, rate="9/10")
    assert isinstance(given, RoundRate)
    assert given.rate == F(9, 10)
    assert proofs[1].constant < given.constant < proofs[0].constant
    rule = {"algorithm": "scaffold", "strong_convexity": "1/10", "local_steps": 2, "step_size": "1/3"}
    weighted, free = round_rate(**rule, weight="1/7"), round_rate(**rule, rate="9/10")
    assert isinstance(weighted, RoundRate)
    assert isinstance(free, RoundRate)
    assert (weighted.weight, weighted.constant) == (F(1, 7), weighted.rate / 7)
    assert (free.rate, free.weight) == (F(9, 10), F(4, 9))
    assert free.constant != free.rate * free.weight


ROUNDS: dict[str, dict[str, Any]] = {
    "fedavg": {"local_steps": 3, "step_size": "1/20", "server_step_size": "3/2", "sampling": "1/9"},
    "fedprox": {"proximal": "2", "rate": "0.99"},
    "scaffold": {"local_steps": 8, "step_size": "1/10", "option": "I"},
    "proxskip": {"step_size": "1/2", "probability": "1/3"},
}


@pytest.mark.parametrize("algorithm", ROUNDS)
def test_the_settings_are_those_of_the_claim_which_the_kernel_certifies_and_no_other(algorithm: str) -> None:
    found = round_rate(algorithm, strong_convexity="1/10", **ROUNDS[algorithm])
    assert isinstance(found, RoundRate)
    for name, value in ROUNDS[algorithm].items():
        kept = getattr(found if name == "rate" else found.round, name)
        assert kept == (value if name == "option" else F(value))
    assert not why_not(found.claims_file)
    assert "positive semidefinite" in why_not(replace(found, rate=found.rate * F(98, 100)).claims_file)
    for pair, value, words in (("0:1,0:0", 7, "do not cancel"), ("0:1,0:0", -1, "negative")):
        forged = replace(found, multipliers={**found.multipliers, pair: F(value)})
        assert words in why_not(forged.claims_file)


def test_the_split_holds_for_two_clients_that_are_played() -> None:
    """The claim's own function at the product of two quadratics, in fractions: E|x+|^2 is that of the clients."""
    certificate = round_rate("fedavg", strong_convexity="1/10", local_steps=2, step_size="1/4")
    assert isinstance(certificate, RoundRate)
    curvatures, shift, start = (F(1), F(1, 10)), (F(3), F(-3)), F(2)
    ends = []
    for a, b in zip(curvatures, shift, strict=True):
        x = start
        for _ in range(2):
            x = x - F(1, 4) * (a * x + b)
        ends.append(x)
    after = ((ends[0] + ends[1]) / 2) ** 2
    # as one function of both models with the mean as inner product: coordinates over sqrt(2), so twice all squares
    traced = TracedRounds(certificate.round)
    unit = F(1, 4)
    means, apart = [[start, start]], [[-b * unit for b in shift]]
    models = [start, start]
    for _ in range(2):
        gradients = [unit * a * x for a, x in zip(curvatures, models, strict=True)]
        mean = sum(gradients) / 2
        means.append([mean, mean])
        apart.append([g - mean for g in gradients])
        models = [x - g + c for x, g, c in zip(models, gradients, apart[0], strict=True)]
    vectors = dict(zip(traced.blocks["means"] + traced.blocks["deviations"], means + apart, strict=True))

    def value(terms: Any) -> Fraction:
        return sum(
            (
                c * sum(x * y for x, y in zip(vectors[i], vectors[j], strict=True)) / 2
                for (i, j), c in terms.items()
            ),
            F(0),
        )

    assert value(traced.split(traced.after)) == after
    assert value(traced.split(traced.before)) == start**2
    assert value(traced.split(traced.heterogeneity)) == 9 * unit**2
    assert after <= certificate.rate * start**2 + certificate.constant * 9


def test_a_class_that_a_round_has_no_proof_for_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidArgument, match="client_class is 'convex', but it must be strong"):
        replace(proxskip(F(1), F(1, 4)).round, client_class=ClientClass.CONVEX)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("step_size", [None, F(0), F(-1)]),
        ("server_step_size", [F(0), F(-1)]),
        ("local_steps", [0, F(1, 2)]),
        ("strong_convexity", [F(-1, 10), F(1)]),
        ("sampling", [F(-1, 9), F(10, 9)]),
        ("option", ["I"]),
        ("proximal", [F(1)]),
        ("probability", [F(1, 2)]),
    ],
)
def test_a_setting_out_of_range_is_refused_by_its_name(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(InvalidArgument, match=f"^{name} is "):
            replace(FEDAVG, **{name: value})

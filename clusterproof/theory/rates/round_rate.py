"""Prove a bound on one round of an algorithm with given parameters."""

from __future__ import annotations

from fractions import Fraction

from clusterproof.common import InvalidArgument
from clusterproof.common.validation import check_choice, check_count, check_number
from clusterproof.theory.rates.one_round import RoundRate
from clusterproof.theory.rates.outcome import NoRate
from clusterproof.theory.rates.parameters import exact
from clusterproof.theory.rates.round_search import prove_round
from clusterproof.theory.rates.rounds import Algorithm, ClientClass, Round

MAX_SEARCHED = 8
"""Largest number of local steps for which we search multipliers."""


def round_rate(
    algorithm: str,
    *,
    strong_convexity: object,
    smoothness: object = 1,
    client_class: str = "strong",
    local_steps: int = 1,
    step_size: object = None,
    server_step_size: object = None,
    sampling: object = None,
    proximal: object = None,
    probability: object = None,
    option: str | None = None,
    rate: object = None,
    weight: object = None,
    distance: object = 1,
    heterogeneity: object = 1,
) -> RoundRate | NoRate:
    """Prove a bound on one round of a federated algorithm, for every number of clients.

    Parameters
    ----------
    algorithm
        ``"fedavg"``, ``"fedprox"``, ``"scaffold"`` or ``"proxskip"``.
    strong_convexity, smoothness, client_class, local_steps
        See ``Round``. Values are numbers, or strings such as ``"1/64"``, and are used exactly. At most ``MAX_SEARCHED``
        local steps are allowed.
    step_size, server_step_size, sampling, proximal, probability
        See ``Round``. Values have the same form.
    option
        Option of SCAFFOLD. If None, it is II.
    rate
        The rate rho, for which the function proves the smallest constant. If None, it is the rate with the smallest
        rho D^2 + c zeta*^2 for FedAvg and FedProx, and the smallest rate with constant = rho weight for SCAFFOLD and
        ProxSkip.
    weight
        For SCAFFOLD and ProxSkip, the weight a of the control variates' error. If None, the weight is (K eta)^2 for
        option II, a third of this number for option I, and (eta / p)^2 for ProxSkip.
    distance, heterogeneity
        D and zeta*, which only determine the choice of the rate.

    Returns
    -------
    RoundRate or NoRate
        The bound, checked in exact arithmetic, or the reason why none was found. ``NoRate`` does not mean that the
        method diverges.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range.
    """
    remedy = f"choose at most {MAX_SEARCHED}"
    check_count("local_steps", local_steps, at_least=1, at_most=MAX_SEARCHED, remedy=remedy)
    round_ = make_round(
        algorithm,
        client_class=client_class,
        smoothness=smoothness,
        strong_convexity=strong_convexity,
        local_steps=local_steps,
        option=option,
        step_size=step_size,
        server_step_size=server_step_size,
        sampling=sampling,
        proximal=proximal,
        probability=probability,
    )
    squares = {
        name: exact(name, value) ** 2
        for name, value in (("distance", distance), ("heterogeneity", heterogeneity))
    }
    for name, value in squares.items():
        check_number(name, float(value), above=0, remedy="give a number greater than 0")
    chosen = None if weight is None else exact("weight", weight)
    if chosen is not None and (chosen < 0 or not round_.controls):
        raise InvalidArgument(
            "weight",
            str(chosen),
            "must be at least 0, for an algorithm with control variates",
            "leave it out",
        )
    weight_ = default_weight(round_) if chosen is None else chosen
    given = None if rate is None else exact("rate", rate)
    if given is not None and given <= 0:
        raise InvalidArgument("rate", str(given), "must be greater than 0", "give a rate such as 0.99")
    if round_.probability is not None and given is None and chosen is None:
        return closed_form(round_)
    found = prove_round(
        round_,
        distance=squares["distance"],
        disagreement=squares["heterogeneity"],
        rate=given,
        weight=weight_,
        ratio=weight_ if round_.controls and given is None else None,
    )
    if found is None:
        return NoRate(
            reason="the solver gave no multipliers that pass the exact check; this does not show divergence"
        )
    return found


def make_round(
    algorithm: str,
    *,
    client_class: str = "strong",
    smoothness: object = 1,
    strong_convexity: object,
    local_steps: int = 1,
    option: str | None = None,
    **numbers: object,
) -> Round:
    """Make a round. Numbers can be strings such as ``"1/64"``, and are used exactly.

    Parameters
    ----------
    algorithm
        ``"fedavg"``, ``"fedprox"``, ``"scaffold"`` or ``"proxskip"``.
    client_class
        ``"strong"``: every client is L-smooth and mu-strongly convex. ``"convex"``: every client is convex and
        L-smooth, and the mean loss is mu-strongly convex.
    smoothness, strong_convexity, local_steps
        See ``Round``.
    option
        Option of SCAFFOLD. If None, it is II.
    **numbers
        ``step_size``, ``server_step_size``, ``sampling``, ``proximal`` and ``probability``; see ``Round``.

    Raises
    ------
    InvalidArgument
        If a number is out of range, or a name is unknown.
    """
    numbers |= {"smoothness": smoothness, "strong_convexity": strong_convexity}
    check_choice("algorithm", algorithm, [str(name) for name in Algorithm], remedy="choose one of them")
    classes = [str(name) for name in ClientClass]
    check_choice("client_class", client_class, classes, remedy="choose one of the two")
    return Round(
        algorithm=Algorithm(algorithm),
        client_class=ClientClass(client_class),
        local_steps=local_steps,
        option=(option or "II") if algorithm == Algorithm.SCAFFOLD else option,
        **{name: exact(name, value) for name, value in numbers.items() if value is not None},
    )


def default_weight(round_: Round) -> Fraction:
    """Return the weight of the control variates' error in known rates of SCAFFOLD and ProxSkip, or 0."""
    if not round_.controls:
        return Fraction(0)
    if round_.probability is not None:
        return (round_.unit / round_.probability) ** 2
    return (round_.local_steps * round_.unit) ** 2 / (3 if round_.option == "I" else 1)


def closed_form(round_: Round) -> RoundRate:
    """Return the exact rate of an iteration of ProxSkip: max {(1 - eta mu)^2, (eta L - 1)^2, 1 - p^2}.

    Proof: Let I be the sum of both interpolation inequalities between x* and x_i. For eta <= 2 / (L + mu), (1 - eta
    mu)^2 |dx|^2 - |dx - eta dg|^2 is 2 eta (1 - eta mu) I plus a square. For larger eta, the identity holds with eta
    L - 1 instead of 1 - eta mu.
    """
    assert round_.probability is not None
    kept = max(1 - round_.unit * round_.strong_convexity, round_.unit * round_.smoothness - 1)
    rate, weight = max(kept**2, 1 - round_.probability**2), default_weight(round_)
    multipliers = {"0:1,0:0": 2 * kept, "0:0,1:0": 2 * kept}
    return RoundRate(round=round_, rate=rate, constant=rate * weight, weight=weight, multipliers=multipliers)

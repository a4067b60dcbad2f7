"""No changed certificate is accepted, none crashes the reader, and none costs much."""

import json
import math
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import slow_after

from clusterproof.theory.certificates import (
    Certificate,
    certify,
    to_json,
    verify,
)
from clusterproof.theory.certificates.document import MAX_BYTES
from clusterproof.theory.certificates.parameters import root_above, round_up
from clusterproof.theory.certificates.quadratic import constants_squared


@cache
def honest() -> tuple[Certificate, ...]:
    found = [
        certify("0.3", 4, 1),
        certify("0.6", 10, "1/2", disturbance=True),
        certify(0, 100, "1/4"),
        certify("0.5", 1, "1/2"),
        certify("0.3", 10, "1/2", function_class="quadratic"),
        certify("0.9", 4, 1, function_class="quadratic"),
    ]
    certificates = tuple(one for one in found if isinstance(one, Certificate))
    assert len(certificates) == len(found)
    return certificates


def numbers(content: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Every place that holds a fraction: a mapping and a name, or a list and an index."""
    places = [(content, name) for name in ("rate", "prefactor", "disturbance") if content[name] is not None]
    places += [(content["parameters"], name) for name in content["parameters"]]
    return places + [(part, k) for part in (content["proof"] or {}).values() for k in range(len(part))]


def one_fraction(content: dict[str, Any], rng: np.random.Generator) -> None:
    places = numbers(content)
    group, name = places[rng.integers(len(places))]
    change = Fraction(int(rng.integers(1, 10**6)), 10 ** int(rng.integers(6, 30)))
    group[name] = str(Fraction(group[name]) + change * int(rng.choice([-1, 1])))


def one_digit(content: dict[str, Any], rng: np.random.Generator) -> None:
    group, name = numbers(content)[rng.integers(len(numbers(content)))]
    place = int(rng.choice([i for i, letter in enumerate(group[name]) if letter.isdigit()]))
    digit = (int(group[name][place]) + int(rng.integers(1, 10))) % 10
    group[name] = group[name][:place] + str(digit) + group[name][place + 1 :]


def sign_flipped(content: dict[str, Any], rng: np.random.Generator) -> None:
    places = [(group, name) for group, name in numbers(content) if Fraction(group[name]) != 0]
    group, name = places[rng.integers(len(places))]
    group[name] = str(-Fraction(group[name]))


def rate_lowered(content: dict[str, Any], rng: np.random.Generator) -> None:
    content["rate"] = str(Fraction(content["rate"]) * (1 - Fraction(1, 10 ** int(rng.integers(1, 12)))))


def class_widened(content: dict[str, Any], rng: np.random.Generator) -> None:
    match rng.integers(4):
        case 0:
            other = {"quadratic": "smooth", "smooth": "quadratic"}
            content["function_class"] = other[content["function_class"]]
        case 1:
            content["function_class"] = str(rng.choice(["convex", "Smooth", "", "smooth ", "any"]))
        case _:
            condition = Fraction(content["parameters"]["condition_number"])
            content["parameters"]["condition_number"] = str(condition * int(rng.integers(2, 1000)))


def not_a_number(content: dict[str, Any], rng: np.random.Generator) -> None:
    group, name = numbers(content)[rng.integers(len(numbers(content)))]
    values = [
        float("nan"),
        float("inf"),
        "NaN",
        "nan",
        "inf",
        None,
        True,
        0.5,
        1,
        [],
        {},
        "",
        "1/0",
        "-0",
        "2/4",
    ]
    values += ["1e5", "0x1", "1_0", " 1", "1 ", "\uff11", "1/2/3", "+1", "01", "1/-2"]
    group[name] = values[rng.integers(len(values))]


def huge_exponent(content: dict[str, Any], rng: np.random.Generator) -> None:
    group, name = numbers(content)[rng.integers(len(numbers(content)))]
    texts = ["1e999999999", "1E-999999999", "9" * 201, "1/" + "9" * 201, "9" * 50_000, "1e9999/3"]
    group[name] = texts[rng.integers(len(texts))]


def names_changed(content: dict[str, Any], rng: np.random.Generator) -> None:
    group = [content, content["parameters"]][rng.integers(2)]
    name = str(rng.choice(list(group)))
    match rng.integers(3):
        case 0:
            del group[name]
        case 1:
            group["comment"] = "trusted"
        case _:
            group[name + " "] = group.pop(name)


def statement_changed(content: dict[str, Any], rng: np.random.Generator) -> None:
    if rng.integers(2):
        content["statement"] = content["statement"].replace("all t", "most t")
    else:
        content["sha256"] = "0" * 64


CHANGES: tuple[Callable[[dict[str, Any], np.random.Generator], None], ...] = (
    one_fraction,
    one_digit,
    sign_flipped,
    rate_lowered,
    class_widened,
    not_a_number,
    huge_exponent,
    names_changed,
    statement_changed,
)


def changed_documents(count: int) -> Iterator[bytes]:
    rng = np.random.default_rng(20231972)
    texts = [to_json(certificate) for certificate in honest()]
    for k in range(count):
        text = texts[k % len(texts)]
        kind = (k // len(texts)) % (len(CHANGES) + 3)
        if kind < len(CHANGES):
            content = json.loads(text)
            CHANGES[kind](content, rng)
            yield json.dumps(content).encode()
        elif kind == len(CHANGES):
            yield text.encode()[: rng.integers(len(text) - 1)]
        elif kind == len(CHANGES) + 1:
            yield text.encode() + b" " * MAX_BYTES + text.encode()
        else:
            damaged = bytearray(text.encode())
            place = int(rng.integers(len(damaged) - 1))
            damaged[place] ^= 1 << int(rng.integers(8))
            yield bytes(damaged)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("count", slow_after(1, "1200 documents", [100, 1200]))
def test_changed_certificates_are_refused(count: int) -> None:
    originals = [certificate for certificate in honest() if verify(to_json(certificate))]
    assert len(originals) == 6
    documents = list(changed_documents(count))
    tracemalloc.start()
    outcomes = [verify(document) for document in documents]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    accepted = [document for document, outcome in zip(documents, outcomes, strict=True) if outcome.valid]
    assert accepted == []
    assert all(outcome.condition for outcome in outcomes)
    assert len({outcome.condition[:30] for outcome in outcomes}) > 15
    assert peak < 20e6


FALSE_CHANGES: tuple[Callable[[Certificate], Certificate], ...] = (
    lambda c: replace(c, rate=c.rate - Fraction(1, 10**5)),
    lambda c: replace(c, prefactor=c.prefactor * Fraction(98, 100)),
    lambda c: replace(c, rate=Fraction(0)),
    lambda c: replace(c, rate=-c.rate),
    lambda c: replace(c, prefactor=-c.prefactor),
    lambda c: replace(
        c, parameters=replace(c.parameters, condition_number=c.parameters.condition_number * 3)
    ),
    lambda c: replace(c, parameters=replace(c.parameters, step_size=c.parameters.step_size * 9)),
)


@pytest.mark.parametrize("change", FALSE_CHANGES)
def test_false_statements_with_a_matching_sum_are_refused_by_the_arithmetic(
    change: Callable[[Certificate], Certificate],
) -> None:
    for certificate in honest():
        changed = change(certificate)
        if changed.parameters != certificate.parameters and certificate.parameters.momentum == Fraction(
            "0.9"
        ):
            continue  # oscillating modes all have the rate sqrt(beta): the statement may stay true
        outcome = verify(to_json(changed))
        assert not outcome.valid
        assert "SHA" not in outcome.condition


def with_proof(certificate: Certificate, **parts: Any) -> Certificate:
    """A certificate with other parts of its proof: functions of the old ones."""
    assert certificate.proof is not None
    changed = {name: tuple(change(getattr(certificate.proof, name))) for name, change in parts.items()}
    return replace(certificate, proof=replace(certificate.proof, **changed))


def raised(place: int, by: Fraction | int = 1) -> Callable[[tuple[Fraction, ...]], list[Fraction]]:
    return lambda numbers: [number + by * (k == place) for k, number in enumerate(numbers)]


SMOOTH_CHANGES: list[tuple[str, Callable[[Certificate], Certificate]]] = [
    ("the rate is not in (0, 1)", lambda c: replace(c, rate=Fraction(1))),
    ("the rate is not in (0, 1)", lambda c: replace(c, rate=Fraction(0))),
    ("the prefactor is not positive", lambda c: replace(c, prefactor=Fraction(0))),
    ("the disturbance constant is not positive", lambda c: replace(c, disturbance=Fraction(0))),
    ("the proof is missing", lambda c: replace(c, proof=None)),
    *(
        (f"{name}: a multiplier is negative", lambda c, name=name: with_proof(c, **{name: raised(0, -100)}))
        for name in ("contraction", "positivity", "start")
    ),
    *(
        (
            f"{name}: the function values do not cancel",
            lambda c, name=name: with_proof(c, **{name: raised(0)}),
        )
        for name in ("contraction", "positivity", "start")
    ),
    (
        "contraction: the remaining quadratic form is not",
        lambda c: replace(c, rate=c.rate - Fraction(1, 10**4)),
    ),
    ("positivity: the remaining quadratic form is not", lambda c: with_proof(c, matrix=raised(0, -1))),
    (
        "start: the remaining quadratic form is not",
        lambda c: replace(c, prefactor=c.prefactor * Fraction(9, 10)),
    ),
    *(
        ("disturbance: V has a gradient part", lambda c, k=k: with_proof(c, matrix=raised(k)))
        for k in (2, 4, 5)  # P_13, P_23 and P_33
    ),
    *(
        (
            "disturbance: a weight of a function value is negative",
            lambda c, k=k: with_proof(c, values=raised(k, -100)),
        )
        for k in range(2)
    ),
    ("disturbance: P + diag(c) / (2 kappa) is not", lambda c: with_proof(c, matrix=raised(3, -100))),
]


@pytest.mark.parametrize(("words", "change"), SMOOTH_CHANGES)
def test_each_condition_of_a_smooth_proof_is_named(
    words: str, change: Callable[[Certificate], Certificate]
) -> None:
    right = honest()[1]
    assert list(right.failures()) == []
    assert any(condition.startswith(words) for condition in change(right).failures())


def test_constants_are_refused_just_below_what_is_proved() -> None:
    smooth, quadratic = honest()[1], honest()[4]
    assert smooth.proof is not None
    (p, *_), (c, _) = smooth.proof.matrix, smooth.proof.values
    of_rate = constants_squared(quadratic.parameters, quadratic.rate)
    assert of_rate is not None
    for certificate, name, square in (
        (smooth, "disturbance", p + c / 2),
        (quadratic, "prefactor", of_rate[0]),
        (quadratic, "disturbance", of_rate[1]),
    ):
        below = Fraction(math.isqrt(math.floor(square * 10**40)), 10**20)
        (condition,) = replace(certificate, **{name: below - Fraction(1, 10**20)}).failures()
        assert "constant" in condition if name == "disturbance" else name in condition
        assert list(replace(certificate, **{name: below + Fraction(1, 10**20)}).failures()) == []
    for wrong, words in (
        (replace(quadratic, disturbance=None), "no multipliers"),
        (replace(quadratic, proof=smooth.proof), "no multipliers"),
        (replace(quadratic, rate=Fraction(1, 2)), "below the spectral radius"),
    ):
        (condition,) = wrong.failures()
        assert words in condition


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        ("1/4", "1/2"),
        ("2", "71/50"),
        ("0", "0"),
        ("0.0025", "1/20"),
        ("0.00250001", "3/50"),
        ("1/9", "17/50"),
    ],
)
def test_roots_and_numbers_are_rounded_up_to_the_next_hundredth(value: str, rounded: str) -> None:
    assert root_above(Fraction(value), 2) == Fraction(rounded)
    assert round_up(Fraction(rounded), 2) == Fraction(rounded)
    assert round_up(Fraction(rounded) + Fraction(1, 10**9), 2) == Fraction(rounded) + Fraction(1, 100)


def test_a_step_size_of_one_is_the_default() -> None:
    for function_class in ("smooth", "quadratic"):
        default = certify("0.3", 4, "1/2", function_class=function_class)
        assert default == certify("0.3", 4, "1/2", step_size=1, function_class=function_class)


@given(
    numerators=st.lists(st.integers(-(10**199), 10**199), min_size=28, max_size=28), seed=st.integers(0, 99)
)
@settings(max_examples=examples(40))
def test_random_proofs_are_refused_by_the_arithmetic(numerators: list[int], seed: int) -> None:
    certificate = honest()[0]
    assert certificate.proof is not None
    rng = np.random.default_rng(seed)
    parts = {}
    for name, part in vars(certificate.proof).items():
        noise = [Fraction(numerators.pop(), 10 ** int(rng.integers(150, 199)) + 7) for _ in part]
        parts[name] = tuple(number + x for number, x in zip(part, noise, strict=True))
    outcome = verify(replace(certificate, proof=replace(certificate.proof, **parts)))
    assert not outcome.valid or parts == vars(certificate.proof)

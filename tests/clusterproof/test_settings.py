"""Settings: names and types are checked before anything is made."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from msgspec import Meta

from clusterproof import InvalidArgument
from clusterproof.settings import from_settings, values_from_texts


@dataclass(frozen=True, kw_only=True)
class Example:
    kappa: Annotated[float, Meta(ge=1)] = 4.0
    hidden: tuple[int, ...] = (8,)
    kind: Literal["a", "b"] = "a"
    rounds: int


def test_values_reach_their_parameters():
    made = from_settings(Example, {"kappa": 100, "hidden": [64, 32], "rounds": 3})
    assert made == Example(kappa=100.0, hidden=(64, 32), rounds=3)
    assert isinstance(made.kappa, float)


@pytest.mark.parametrize(
    ("values", "argument", "words"),
    [
        ({"rounds": 3, "kapa": 2}, "x.kapa", "write kappa"),
        ({}, "x.rounds", "no default"),
        ({"rounds": 3.5}, "x.rounds", "wrong type"),
        ({"rounds": True}, "x.rounds", "wrong type"),
        ({"rounds": "3"}, "x.rounds", "wrong type"),
        ({"rounds": 3, "kappa": 0.5}, "x.kappa", "at least 1"),
        ({"rounds": 3, "kappa": float("nan")}, "x.kappa", "at least 1"),
        ({"rounds": 3, "kind": "c"}, "x.kind", "one of 'a', 'b'"),
        ({"rounds": 3, "hidden": "64"}, "x.hidden", "wrong type"),
    ],
)
def test_a_wrong_setting_is_one_sentence(values, argument, words):
    with pytest.raises(InvalidArgument, match=words) as caught:
        from_settings(Example, values, "x.")
    assert caught.value.argument == argument
    assert "\n" not in str(caught.value)


def test_texts_are_literals_or_words():
    texts = [
        "kappa=100",
        "hidden=[64, 32]",
        "kind=b",
        "step-size=.5",
        "none=None",
        "names=[x, 1]",
        "deep=" + "(" * 20_000,
    ]
    values = values_from_texts("set", texts)
    assert values["kappa"] == 100
    assert values["hidden"] == [64, 32]
    assert (values["kind"], values["step_size"], values["none"]) == ("b", 0.5, None)
    assert values["names"] == ["x", 1]
    assert values["deep"] == "(" * 20_000
    for wrong in (["kappa"], ["=3"], ["a=1", "a=2"]):
        with pytest.raises(InvalidArgument):
            values_from_texts("set", wrong)

"""Parameters of FPFC out of range: which is named, and the rule."""

import pytest

from clusterproof.algorithms import FPFC, InvalidArgument


@pytest.mark.parametrize(
    ("parameters", "argument", "rule"),
    [
        ({"concavity": 1.0}, "concavity", "greater than 1"),
        ({"concavity": 0.5}, "concavity", "greater than 1"),
        ({"smoothing": 0.6}, "smoothing", "below strength = 0.6"),
        ({"smoothing": 0.0}, "smoothing", "greater than 0"),
        ({"strength": 0.0}, "strength", "greater than 0"),
        ({"augmentation": 1 / 2.7}, "augmentation", "two minima"),
        ({"augmentation": 0.0}, "augmentation", "greater than 0"),
        ({"augmentation": 0.9, "concavity": 2.0}, "augmentation", "1 / (concavity - 1) = 1"),
        ({"augmentation": 0.0, "penalty": "l1"}, "augmentation", "greater than 0"),
        ({"threshold": 0.51}, "threshold", "at most 0.5"),
        ({"threshold": 0.0005}, "threshold", "at least 0.001"),
        ({"threshold": 0.01, "smoothing": 0.02}, "threshold", "at least 0.02"),
        ({"threshold": 0.0, "penalty": "l1"}, "threshold", "greater than 0"),
        ({"penalty": "mcp"}, "penalty", "'scad', 'l1'"),
        ({"penalty": "l1", "concavity": 3.7}, "concavity", "does not apply"),
        ({"penalty": "l1", "smoothing": 0.1}, "smoothing", "does not apply"),
        ({"pair_rule": "any"}, "pair_rule", "'either', 'both', 'all'"),
        ({"start": "warm"}, "start", "'common', 'own'"),
        ({"participation": 0}, "participation", "greater than 0"),
        ({"local_steps": 0}, "local_steps", "at least 1"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, argument, rule):
    with pytest.raises(InvalidArgument) as raised:
        FPFC(step_size=0.5, **parameters)
    assert raised.value.argument == argument
    assert rule in raised.value.rule

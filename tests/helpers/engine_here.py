"""An engine that computes units one after the other in this process, the last that it is given first."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterproof.algorithms.validation import error_line
from clusterproof.experiments.runner import Answers, Function
from clusterproof.experiments.store import Outcome, Unit


@dataclass
class Here:
    """Every unit takes 90 s of processor time, as it says; Ctrl-C falls after ``pressed`` units."""

    pressed: int | None = None

    def compute(self, function: Function, units: Sequence[Unit]) -> Answers:
        for number, unit in enumerate(reversed(units)):
            if number == self.pressed:
                raise KeyboardInterrupt
            try:
                yield unit, Outcome(function(unit), 90.0, 1.0)
            except Exception as error:
                yield unit, error_line(error)

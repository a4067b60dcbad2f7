"""The program of one path of a traced claim, in floats for a solver and in fractions for a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from clusterproof.theory.classes.definitions import Definition
from clusterproof.theory.classes.forms import Form, Frame, conditions
from clusterproof.theory.classes.program import Program
from clusterproof.theory.classes.trace import Trace
from clusterproof.theory.classes.traced_numbers import Least, TracedNumber


class PathProgram:
    """Measured at most a bound, for everything that meets a path's hypotheses.

    Parameters
    ----------
    trace
        The path.
    measured, bound
        The sides.

    Attributes
    ----------
    conditions
        Interpolation conditions; the path's inequalities and the constant 1 follow them in every program.
    vectors, values
        Indices of the free vectors and values on which something depends.
    measured, bound, unit
        The sides as forms of integers, which are the sides times ``unit``.
    inequalities, equations
        At least 0, and 0: forms of integers, of which only the sign matters.
    program
        All of it in floats; conditions and equations have 1 as largest entry.
    """

    def __init__(self, trace: Trace, measured: TracedNumber | Least, bound: TracedNumber) -> None:
        self.trace = trace
        self.conditions = conditions(trace)
        self.frame = Frame(trace)
        self.unit, (sides, (allowed,)) = self.frame.forms(measured, bound)
        one = trace.constant(Fraction(1))
        others = [self.frame.forms(each)[1][0][0] for each in (*trace.inequalities, one, *trace.equations)]
        whole = self._conditions([oracle.definition for oracle in trace.oracles])
        every = [*sides, allowed, *whole, *others]
        self.vectors = [i for i in range(trace.vectors) if any(form.matrix[i].any() for form in every)]
        self.values = [i for i in range(trace.scalars) if any(form.linear[i] for form in every)]
        self.values.append(trace.scalars)  # the constant 1
        self.measured, self.bound = list(map(self._only, sides)), self._only(allowed)
        last = len(trace.inequalities) + 1
        self._others = list(map(self._only, others[:last]))
        self.inequalities = [*map(self._only, whole), *self._others]
        self.equations = list(map(self._only, others[last:]))
        self.program = self._program(self.inequalities)

    @property
    def names(self) -> list[str]:
        """Names of the inequalities, such as ``interpolation of 0: 2, 1`` of the first function's triplets 2 and 1."""
        names = [f"{each.kind} of {each.oracle}: {each.first}, {each.second}" for each in self.conditions]
        names += [f"hypothesis {number}" for number in range(len(self._others) - 1)]
        return [*names, "1 >= 0"]

    def smaller(self, definitions: Sequence[Definition]) -> Program:
        """Return the program of smaller classes."""
        return self._program([*map(self._only, self._conditions(definitions)), *self._others])

    def _conditions(self, definitions: Sequence[Definition]) -> list[Form]:
        return [self.frame.condition(each, definitions[each.oracle]) for each in self.conditions]

    def _program(self, inequalities: Sequence[Form]) -> Program:
        return Program(
            [form.over(self.unit) for form in self.measured],
            self.bound.over(self.unit),
            [form.over(form.size) for form in inequalities],
            [form.over(form.size) for form in self.equations],
        )

    def _only(self, form: Form) -> Form:
        return form.only(self.vectors, self.values)


def excess(program: Program) -> Program:
    """Return the program of the largest excess, measured - bound, where trace G + t <= 1 for the constant t."""
    linear = np.zeros(len(program.bound.linear))
    linear[-1] = 1.0
    return Program(
        [form - program.bound for form in program.measured],
        Form(np.eye(len(program.bound.matrix)), linear),
        program.conditions,
        program.equations,
    )

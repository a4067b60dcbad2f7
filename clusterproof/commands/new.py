"""The command ``new``: write a commented example file of claims."""

from __future__ import annotations

import shlex
from pathlib import Path

from clusterproof.common.atomic import write_whole
from clusterproof.common.validation import InvalidArgument

CLAIM = '''\
"""Theorem 1 of a paper: gradient descent on f(x) = x^2 / 2 from x_0 = 1."""

from fractions import Fraction

from clusterproof.theorem import Q, Sides, Z, at_most, claim, suppose

# The quantities of the theorem, with their ranges. Fractions are compared without rounding; the check tries all of a
# small range, else a part of it, first the ends. Z[0:] would also try more rounds than 20.
STEP_SIZE = Q[0:2:16]  # 0, 1/16, ..., 2
ROUNDS = Z[0:20]


def error_after(rounds: int, step_size: Fraction) -> Fraction:
    """Run the algorithm: x <- x - step_size * gradient. The check calls the algorithm, not a formula for it."""
    x = Fraction(1)
    for _ in range(rounds):
        x -= step_size * x
    return abs(x)


@claim("my-paper/theorem-1", label="Theorem 1", repaired_by="my-paper/repaired")
def theorem_1(step_size: Fraction = STEP_SIZE, rounds: int = ROUNDS) -> Sides:
    """The error decays at the rate 1 - step_size.

    Statement
        |x_t| <= (1 - eta)^t for every step size 0 < eta < 2.
    """
    suppose("0 < step_size < 2", 0 < step_size < 2)  # instances that break a hypothesis do not count
    return at_most(error_after(rounds, step_size), rate=(1 - step_size) ** rounds)


@claim("my-paper/repaired", label="Theorem 1, repaired", source="ours")
def repaired(step_size: Fraction = STEP_SIZE, rounds: int = ROUNDS) -> Sides:
    """The error decays at the rate |1 - step_size|.

    Statement
        |x_t| <= |1 - eta|^t for every step size 0 < eta < 2.
    """
    suppose("0 < step_size < 2", 0 < step_size < 2)
    return at_most(error_after(rounds, step_size), rate=abs(1 - step_size) ** rounds)


# Other hypotheses and conclusions, which docs/tutorials/state-a-theorem.md and
# docs/how-to/theorems-on-every-function.md show:
#   at_least, equal                    other comparisons; several lines of a proof: return {"(3)": at_most(...), ...}
#   vectors, matrices, simplex, sequences           quantities with several entries
#   functions(smoothness=, strong_convexity=)       every function of a class
#   probability, expectation           with Stream and Replicates: events and means over replicates
'''
"""An example with a false theorem and its repair. A comment explains each part that the user replaces."""


def new(file: Path, /) -> int:
    """Write a commented example file of claims, in which you replace the theorem by your own.

    Parameters
    ----------
    file
        Name of the new file, such as my_paper.py.
    """
    if file.suffix != ".py":
        raise InvalidArgument("file", str(file), "must be a Python file", "give a name that ends in .py")
    if file.exists():
        raise InvalidArgument("file", str(file), "exists already", "give another name")
    write_whole("file", file, CLAIM.encode())
    print(
        f"{file} states a false theorem and its repair. Next:\n  clusterproof check {shlex.quote(str(file))}"
    )
    print(f"  clusterproof show my-paper/theorem-1 {shlex.quote(str(file))}")
    return 0

"""The digits that the solution of a solver keeps before it is repaired."""

from fractions import Fraction

from clusterproof.theory.certificates.lyapunov import Unknowns
from clusterproof.theory.certificates.repair import rounded
from clusterproof.theory.squares.exact import fraction


def test_a_solution_keeps_twelve_digits_of_its_largest_number() -> None:
    free = {"matrix": (-1e6, 1 / 3, 0, 0, 0, 0), "values": (-2 / 3, 0)}
    sizes = {name: (0.0,) * length for name, length in Unknowns.sizes().items()}
    found = rounded(Unknowns(**{**sizes, **free}))
    kept = [fraction(found.matrix[0]), fraction(found.matrix[1]), fraction(found.values[0])]
    assert kept == [-(10**6), Fraction(333333, 10**6), -Fraction(666667, 10**6)]
    assert fraction(rounded(Unknowns(**{**sizes, "start": (-0.5, 0.5)})).start[0]) == 0

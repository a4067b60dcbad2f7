"""The vocabulary in which claims are written.

A claim is a typed function. Its signature gives the quantities and their ranges, ``suppose`` states a hypothesis, and
the return value holds the two sides::

    from fractions import Fraction
    from clusterproof.theorem import Q, Sides, at_most, claim

    @claim("mine/lemma-1")
    def lemma_1(step: Fraction = Q[0:2]) -> Sides:
        # |1 - eta| <= 1 for every step size eta in [0, 2]
        return at_most(abs(1 - step), 1)
"""

from clusterproof.public_names import attach

__getattr__, __dir__, __all__ = attach("clusterproof", __file__)

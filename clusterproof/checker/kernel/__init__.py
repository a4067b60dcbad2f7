"""The kernel: it alone says certified, vacuous and an exact violated, of a statement and a piece of evidence.

It imports the standard library only, and trusts nobody who searches. Read it in this order:

======================================================  ================================================================
``words``                                               replay a record of evidence, and say the word
``rules``                                               what each kind of evidence must show
``induction``                                           loops of any number of rounds, by their invariants
``positivity``                                          the three theorems on polynomials that the rules use
``spaces``, ``statement``, ``vocabulary``               quantities, a claim's function on them, suppose and at_most
``grammar``, ``language``                               the Python in which a claim is proved, and how it is compiled
``source``, ``loading``, ``records``                    from a function and what it names to the language
``operations``, ``library``                             operators and Python's functions there
``numbers``, ``polynomials``                            exact numbers, and symbols
``interpolation``                                       the conditions of a class of functions
``worlds``, ``traces``, ``listed``, ``functions``       every function of a class, and one that is known at some points
``evaluation``                                          fuel, and what was supposed
======================================================  ================================================================
"""

from clusterproof.checker.kernel.evaluation import FUEL, Refused
from clusterproof.checker.kernel.loading import End, Source
from clusterproof.checker.kernel.spaces import Choice, Interval, OfClass, Space, Tuples
from clusterproof.checker.kernel.statement import Statement
from clusterproof.checker.kernel.words import Shown, replay
from clusterproof.checker.kernel.words import Word as Word

__all__ = [
    "FUEL",
    "Choice",
    "End",
    "Interval",
    "OfClass",
    "Refused",
    "Shown",
    "Source",
    "Space",
    "Statement",
    "Tuples",
    "replay",
]

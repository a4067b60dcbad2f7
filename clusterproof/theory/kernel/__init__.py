"""The kernel: it alone says *certified*, *vacuous* and an exact *violated*, of a statement and a piece of evidence.

It imports the standard library only, and trusts nobody who searches. Read it in this order:

``words``       replay a record of evidence, and say the word
``rules``       what each kind of evidence must show
``positivity``  the three theorems on polynomials that the rules use
``spaces``      what a quantity may be
``statement``   a claim's function on its space
``vocabulary``  suppose, at_most and their like
``language``    the Python in which a claim is proved
``loading``     from a function's source to the language
``library``     Python's functions there
``numbers``     exact numbers and operators
``polynomials`` symbols
``interpolation``, ``worlds``, ``functions``  classes of functions, a trace of them, and one that is listed
``evaluation``  fuel, and what was supposed
"""

from clusterproof.theory.kernel.evaluation import FUEL, Refused
from clusterproof.theory.kernel.loading import End, Source
from clusterproof.theory.kernel.spaces import Choice, Interval, OfClass, Space, Tuples
from clusterproof.theory.kernel.statement import Statement
from clusterproof.theory.kernel.words import Shown, Word, replay

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
    "Word",
    "replay",
]

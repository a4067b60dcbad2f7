"""The kernel reads a text and records of evidence. It alone decides: certified, vacuous, ill-posed or violated.

It imports the standard library only, and trusts nobody who searches, freezes or stores. How a text is read:

1. A text is a list of definitions, each name once: a name belongs to the text, to the vocabulary or to the library,
   or is undefined. Within a function a local name comes first; none is ``suppose``, ``given``, ``at_most``,
   ``at_least`` or ``equal``. The text consists of printable ASCII, and no string goes over a line.
2. A value is an int, fraction, text, truth value, None, tuple, list, dictionary, record, generator, function, symbol,
   fact or line; or a point of a space R^d, or a number that depends on a function of a class. A line has no truth
   value. Where a branch asks for the truth of a fact about symbols, both branches are followed. No dictionary has a key
   written twice.
3. ``NAME = e`` is the value of e, evaluated once with fuel. It is settled: there is no list, generator or closure in
   it.
4. A class is a frozen record of its annotated fields, with properties and methods; records are equal if their fields
   are.
5. A function is as in Python, of the nodes in ``grammar.NAMES``. It catches no exceptions: ``raise`` and an error mean
   that it has no value. There are no imports, sets, floats, ``is`` (but of None), or attributes that begin with ``_``.
6. ``/`` of ints is the fraction. ``f"{n}"`` has all digits of n: of more than 4 300 it decides nothing. Every step
   costs fuel, and spent fuel decides nothing. Nothing settled changes, so that two calls give the same value.
7. A statement is a function f, ranges R1, ..., Rn of its quantities (an end may be a function of earlier ones), the
   records that f takes of these, the names L of its lines, a role, and the names of the lines that are listed as
   ill-posed. ``outside(...)`` is a statement that is not of the language, and stays open.
8. An instance is x in R1 x ... x Rn. In the range of a class are all its functions, sets or operators, on every R^d.
   f(x) is outside (a ``suppose`` fails), or a dictionary with exactly the lines L, each of them excluded (the
   hypothesis of ``given``, or one supposed in it, fails) or entries of two sides, which must all hold. A single line
   may stand alone, under the empty name.
9. A line is *certified* if it holds for every x where f(x) is not outside and the line is not excluded, and there is
   such an x; *violated* if it does not for one such x (*ill-posed* if it is listed so); *vacuous* if there is no such
   x, or if it is certified and the claim says that it says nothing; else *open*. ``iterate`` is a loop, and ``known``
   is the value that it makes: an invariant and what is said of a value are for a proof, and say nothing of f(x). The
   *potential* of a statement, that is that every invariant of a loop on numbers holds at its start and after each of
   its rounds, has a verdict of its own: violated if it does not for one x where f(x) has all lines.
10. A claim is violated if a line of any role is, and else ill-posed if a line is. It is open if a line of its
    statements is open, vacuous if one is vacuous, and certified if these and all lines of its lemmas are certified;
    else open. A step that is not false decides nothing, and a potential decides nothing: a theorem is not false
    because a proof of it is.

Read the modules in this order; each rule is one theorem against these sentences.

=======================================================  ===============================================================
``words``                                                judge a text, by records of evidence
``evidence``                                             what a record must be, field by field
``reading``, ``definitions``, ``range_words``            from a text to its claim
``rules``                                                what each kind of evidence must show
``induction``                                            every value, and loops of any number of rounds
``families``, ``multipliers``                            every function of a class, at every value of the parameters
``positivity``                                           the three theorems on polynomials that the rules use
``statement``, ``spaces``, ``ranges``, ``symbolic``      a function on its quantities
``claim_words``, ``vocabulary``, ``loops``               suppose, at_most, iterate and their like
``grammar``, ``expressions``, ``language``               the Python of a text, and how it is compiled
``operations``, ``library``, ``sentences``, ``records``  operators and Python's functions, texts, and frozen records
``numbers``, ``polynomials``, ``quotients``              exact numbers, and symbols
``interpolation``                                        the conditions of a class of functions
``worlds``, ``traces``, ``listed``, ``functions``        every function of a class, and one that is known at some points
``evaluation``                                           fuel, and what is known at each place
=======================================================  ===============================================================
"""

from clusterproof.checker.kernel.evaluation import FUEL, Refused
from clusterproof.checker.kernel.reading import Claim, read
from clusterproof.checker.kernel.statement import Statement, printed
from clusterproof.checker.kernel.words import POTENTIAL, Judgement, Word, judge, judge_claim, role_of, show

__all__ = [
    "FUEL",
    "POTENTIAL",
    "Claim",
    "Judgement",
    "Refused",
    "Statement",
    "Word",
    "judge",
    "judge_claim",
    "printed",
    "read",
    "role_of",
    "show",
]

"""The kernel, which alone decides by evidence whether a claim is certified, vacuous, ill-posed or violated.

The kernel imports only the standard library, and does not trust code that searches for evidence, writes texts or stores
verdicts. It reads a text as follows:

1. A text is a list of definitions, which define each name only once. A name belongs to the text, to the vocabulary or
   to the library, or it is undefined. Inside a function, local names come first; no local name is ``suppose``,
   ``given``, ``at_most``, ``at_least`` or ``equal``. The text consists of printable ASCII, and no string extends over
   several lines.
2. A value is an int, fraction, string, truth value, None, tuple, list, dictionary, record, generator, function, symbol,
   fact or line; or a point of a space R^d, or a number that depends on a function of a class. A line has no truth
   value. If a branch needs the truth value of a fact about symbols, both branches are followed. A dictionary
   display contains each key only once.
3. ``NAME = e`` defines NAME as the value of e, which is evaluated once, with a limited number of steps (*fuel*). The
   value cannot change: it contains no list, generator or closure.
4. A class is a frozen record of its annotated fields, with properties and methods. Two records are equal if their
   fields are equal.
5. A function is a Python function that consists of the nodes in ``grammar.NAMES``. Annotations have no effect. It
   catches no exceptions: ``raise`` and errors mean that it has no value. There are no imports, sets or floats. ``is``
   may compare only with None, and no attribute begins with ``_``.
6. ``/`` of two ints is a fraction, and so is a negative power of an int. ``f"{n}"`` contains all digits of n; if n has
   more than 4 300 digits, the kernel decides nothing. Every step costs fuel. If the fuel is used up, the kernel decides
   nothing. Defined values never change, so two calls with the same arguments return the same value.
7. A statement has a function f, ranges R1, ..., Rn of its quantities (an end may be a function of earlier quantities),
   the records that f takes, the names L of its lines, a role, and the names of the lines that are marked as ill-posed.
   ``outside(...)`` declares a statement that is not in the language; its verdict is open.
8. An instance is x in R1 x ... x Rn. The range of a class contains all its functions, sets or operators, on every R^d.
   f(x) is either *outside*, because a hypothesis in a ``suppose`` is false, or a dictionary with exactly the lines L.
   A line is *excluded* if the hypothesis of its ``given`` is false, or a hypothesis inside its ``given``. Otherwise it
   consists of comparisons of two sides, entry by entry, which must all hold. If there is a single line, f may return it
   without a dictionary; its name is then empty.
9. Call an instance x *admissible* for a line if f(x) is not outside and the line is not excluded. A line is *certified*
   if it holds for every admissible x, and if there is an admissible x. The line is *violated* if it is false for one
   admissible x (*ill-posed* if it is marked as ill-posed). The line is *vacuous* if there is no admissible x, or if it
   is certified and the claim declares that it is vacuous in this case. Otherwise it is *open*. ``iterate`` runs a loop,
   and ``known`` returns the value of its function. Invariants, and facts about a ``known`` value, are used only in
   proofs; they do not change f(x). The *potential* of a statement states that every invariant of a loop on numbers
   holds at the start and after each round. The potential has its own verdict: it is violated if it is false for one x
   for which f(x) has all lines.
10. A claim is violated if a line of any role is violated, otherwise ill-posed if a line is ill-posed. Otherwise it is
    open if a line of its statements is open, and vacuous if one of them is vacuous. Otherwise it is certified if all
    lines of its lemmas are also certified, and open if not. A step that is not violated does not affect the verdict on
    the claim. A potential never affects this verdict, because a theorem can be true although one proof of it is wrong.

Read the modules in this order. Each rule is one theorem about these definitions.

=======================================================  ===============================================================
``verdicts``                                             decide the verdicts on a text, given evidence
``evidence``                                             decode evidence, field by field
``reading``, ``definitions``, ``range_words``            read a claim from its text
``rules``                                                what each kind of evidence must prove
``induction``                                            proofs for all values, and for any number of rounds of a loop
``families``, ``multipliers``                            proofs for every function of a class, at all parameters
``positivity``                                           the three theorems on polynomials that the rules use
``statement``, ``spaces``, ``ranges``, ``symbolic``      the function of a statement, and its quantities
``claim_words``, ``vocabulary``, ``loops``               suppose, at_most, iterate and similar functions
``grammar``, ``expressions``, ``language``               the Python code of a text, and its compilation
``operations``, ``library``, ``sentences``, ``records``  operators and Python's functions, texts, and frozen records
``numbers``, ``keys``, ``polynomials``, ``quotients``    exact numbers, keys of dictionaries, and symbols
``interpolation``                                        the conditions of a class of functions
``worlds``, ``traces``, ``listed``, ``functions``        every function of a class, and functions known at some points
``evaluation``                                           fuel, and the facts known at each place of the code
=======================================================  ===============================================================
"""

from clusterproof.checker.kernel.evaluation import FUEL, Refused
from clusterproof.checker.kernel.reading import Claim, read
from clusterproof.checker.kernel.statement import Statement, printed
from clusterproof.checker.kernel.verdicts import POTENTIAL, Judgement, Word, judge, judge_claim, role_of, show

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

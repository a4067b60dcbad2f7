"""Write the Rocq file of a line. Its head states what is shown, what is left out, and what must be believed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.export.formulas import Exporter
from clusterproof.checker.export.rocq_dual import dual
from clusterproof.checker.export.rocq_family import family
from clusterproof.checker.export.rocq_symbols import RULES
from clusterproof.checker.export.rocq_text import Names, comment, every, places
from clusterproof.checker.kernel import Refused, printed

SHOWN = {
    "instance": """an instance of the space meets the hypotheses and breaks the conclusion. The formulas are
   those that the source computes at this instance: where it repeats or decides something, the numbers on
   which that depends are listed as branches, which the instance meets. Texts and truth values are put in. Of a
   function of a class its points, gradients and values stand above the formulas: left out is that it is of the
   class (the conditions of interpolation.py are sufficient, too), and that the numbers of the conclusion are what the
   source makes of it; replay.py computes both.""",
    "exhausted": """at every instance of the finite space the hypotheses imply the conclusion. The last theorem says
   that each instance of the space is one for which a case is computed, and what holds in this case. The branches of
   a case are what the source decides there. Truth values, and what the source computes of numbers of its own, are
   put in.""",
    "signs": """for all real numbers of the space that meet the hypotheses the conclusion holds, and some numbers meet
   them. The last theorem says this of the whole space. If something is chosen, or the source branches, it says that
   one of the cases applies, and what holds in this case. The branches of a case are what the source decides there.""",
    "induction": """for all real numbers of the space that meet the hypotheses the conclusion holds, however often the
   source's loops (iterate) repeat, and some numbers meet them. A round is one pass of such a loop: the relation
   between the states before and after it. A value that the proof uses only by what the source says of it is given by
   the ways that lead to it, one for each path through the source's branches. The last theorem says this of the whole
   space, in each case of what is chosen. Left out: that the ways are all. A choice of numbers may be taken for all
   numbers between them.""",
    "empty": """no real numbers of the space meet the hypotheses. The last theorem says this of the whole space, in each
   case of what is chosen.""",
    "dual": """in every real inner product space and for every function of the class the line holds, at each setting of
   the other quantities. Each setting has its proposition, case_1 and so on, which defines the algorithm on the
   function and its gradient, as the source runs; the theorem says that all of them hold. The classes and the space are
   defined in functions.v. Left out: that the settings are all, and that some function meets the hypotheses.""",
    "family": """in every real inner product space, for every function of the class, every value of the parameters in
   their ranges and every number of rounds the line holds. The algorithm is defined on the function and its gradient; a
   round is a function of the state, which is applied as often as the number of rounds says (after_rounds). The
   invariant, by which the proof goes by induction, is no part of the theorem. An integer that is no number of rounds
   stands for every real number in its range. Left out: that the cases of the choices are all, and that some function
   meets the hypotheses.""",
}
SHOWN["squares"] = SHOWN["signs"]
BELIEVED = """The space may be narrower than the hypotheses and the statement in the docstring: ranges that stay off 0,
   fixed numbers, families of functions. What is shown is of the space. What is to be believed: Rocq; its real
   numbers (the axioms that make prints); and that the definitions below are what the source above says, which a
   reader compares. Of prelude.v only the definitions that they use are to be read: what it shows is proved. A name of
   the source begins with the_ where Rocq or the prelude has it. It has a number behind it where several values have
   it, and for the entries of a sequence, from 0 on."""
IMPORTS = """\
From Coq Require Import Rbase Rfunctions QArith List.
From Clusterproof Require Import prelude.
Import ListNotations.
Open Scope R_scope.
"""


IMPORTS_OF_FUNCTIONS = """\
From Coq Require Import Rbase Rfunctions List Lra.
From Clusterproof Require Import functions prelude duals.
Import ListNotations.
Open Scope R_scope.
"""
OF_FUNCTIONS = {"dual": dual, "family": family}
"""Functions that write the theorems of evidence about functions of a class, by its rule."""


def rocq_file(claim: Claim[..., Any], text: str, record: Mapping[str, Any], word: str) -> str:
    """Write the Rocq file for a piece of evidence.

    Parameters
    ----------
    claim, text
        The claim, and its text.
    record
        The evidence.
    word
        The verdict that the evidence supports.

    Raises
    ------
    Refused
        If the statement has no formula, or if there is no theorem for Rocq about its rule.
    """
    rule = record["rule"]
    if rule not in SHOWN:
        raise Refused(f"the rule {rule} has no theorem for Rocq yet")
    line = printed(record["statement"], record["line"])
    name = Names().new(re.sub(r"\W+", "_", f"{claim.id} {line}", flags=re.ASCII).strip("_"))

    def written(own: str) -> list[str]:
        if rule in OF_FUNCTIONS:
            return OF_FUNCTIONS[rule](text, record, own)
        return [*RULES[rule](Exporter(text, record["statement"], record), record, own), "", every([own])]

    body = written(name)
    if re.search(rf"^(Definition|Variables)\b[^:]*\b{name}\b", "\n".join(body), re.MULTILINE):
        body = written(f"theorem_{name}")
    means = {
        "vacuous": "That it holds shows that the claim says nothing of the algorithm: "
        * bool(claim.says_nothing)
        + claim.says_nothing,
        "ill-posed": "That an instance breaks it shows that what is printed has no single meaning.",
    }
    head = [
        f"{claim.id}{f', {line}' if line else ''}: {word}. {means.get(word, '')}".rstrip(),
        f'One line of this claim, which it does not decide alone: "{claim.title}"' if line else claim.title,
        *(["", claim.text] if record["statement"] else []),
        "",
        text,
        "",
        f"What is shown: {SHOWN[rule]}",
        BELIEVED,
    ]
    imports = IMPORTS_OF_FUNCTIONS if rule in OF_FUNCTIONS else IMPORTS
    return "\n".join([comment("\n".join(head)), "", imports, *places("\n".join(body)), *body, ""])

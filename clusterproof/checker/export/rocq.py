"""Write the Rocq file of a line; its head states the theorem, the omitted parts of the claim, and the axioms."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.export.formulas import Exporter
from clusterproof.checker.export.omitted import omitted, stated_line
from clusterproof.checker.export.rocq_computed import broken, exhausted, nowhere
from clusterproof.checker.export.rocq_dual import dual
from clusterproof.checker.export.rocq_family import family
from clusterproof.checker.export.rocq_symbols import RULES
from clusterproof.checker.export.rocq_text import Names, comment, every, places
from clusterproof.checker.export.theorem_in_words import WIDTH, in_words
from clusterproof.checker.export.what_is_shown import SENTENCES, sentences
from clusterproof.checker.export.words_of_helpers import words_of_helpers
from clusterproof.checker.kernel import Refused, printed

CRITERION = """The source may compute a consequence of the claim's words, or a criterion for them, such as a root in
   place of an algorithm that diverges. That step is in the words, and is not proved here."""
BELIEVED = """You must believe Rocq, its real numbers (the axioms that make prints), and that the definitions below
have the meaning of the source above, which you compare. Where the source computes with numbers alone, the result
stands here: 1 for max(1, 0). The lemmas of prelude.v are proved. A name of the source begins with the_ if Rocq or the
prelude has the same name. It ends with a number if several values have the same name, and for the entries of a
sequence (from 0)."""
IMPORTS = """\
From Coq Require Import Rbase Rfunctions QArith List Lra.
From Clusterproof Require Import statements prelude.
Import ListNotations.
Open Scope R_scope.
"""


IMPORTS_OF_FUNCTIONS = """\
From Coq Require Import Rbase Rfunctions List Lra.
From Coq Require Fin.
From Clusterproof Require Import statements tuples prelude duals.
Import ListNotations.
Open Scope R_scope.
"""
IMPORTS_OF_PROGRAMS = """\
From Coq Require Import ZArith QArith String List.
From Clusterproof Require Import language.
Import ListNotations.
Open Scope Z_scope. Open Scope string_scope. Open Scope source_scope.
"""
BELIEVED_OF_PROGRAMS = """You must believe Rocq (no axioms are used), that language.v computes what Python does with
such a program, and that the tree is that part of the source, which you compare. In language.v a list is a value, as a
tuple is: it changes by a new value of its variable. A function keeps the values that the variables around it have
where it is made."""
ILL_POSED = """The author of the claim says that the printed statement has no single meaning. The line compares what it
can mean, and is false at one instance. Only this is proved."""
OF_PROGRAMS = {"instance": broken, "exhausted": exhausted, "nowhere": nowhere}
"""For each rule that Rocq decides by computation, the function that writes the theorem."""
OF_FUNCTIONS = {"dual": dual, "family": family}
"""For each rule about functions of a class, the function that writes the theorem."""


def program_rule(record: Mapping[str, Any]) -> str:
    """Return the rule of a record, but ``nowhere`` for an empty finite space, which Rocq decides by computation."""
    return "nowhere" if record["rule"] == "empty" and record.get("listed") else str(record["rule"])


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
    rule = program_rule(record)
    if rule not in SENTENCES:
        raise Refused(f"evidence by the rule {rule} has no Rocq file yet")
    line = printed(record["statement"], record["line"])
    name = Names().new(re.sub(r"\W+", "_", f"{claim.id} {line}", flags=re.ASCII).strip("_"))

    def written(own: str) -> list[str]:
        if rule in OF_PROGRAMS:
            return OF_PROGRAMS[rule](text, record, own)
        if rule in OF_FUNCTIONS:
            return OF_FUNCTIONS[rule](text, record, own)
        return [*RULES[rule](Exporter(text, record["statement"], record), record, own), "", every([own])]

    body = written(name)
    if re.search(rf"^(Definition|Variables)\b[^:]*\b{name}\b", "\n".join(body), re.MULTILINE):
        body = written(f"theorem_{name}")
    of_rule = dict.fromkeys(OF_PROGRAMS, IMPORTS_OF_PROGRAMS) | dict.fromkeys(
        OF_FUNCTIONS, IMPORTS_OF_FUNCTIONS
    )
    imports = of_rule.get(rule, IMPORTS)
    file = "\n".join([imports, *body])
    head = [
        _filled(f"{claim.id}{f', {line}' if line else ''}: {word}. {_what_follows(claim, record, word)}"),
        "",
        "The claim's words.",
        textwrap.indent(f"{claim.title}\n{claim.text}".rstrip(), "   "),
        *_words_of_step(claim, record["statement"]),
        "",
        stated_line(text, record),
        "Not in this theorem:",
        *(
            textwrap.fill(each, WIDTH, initial_indent="   - ", subsequent_indent="     ")
            for each in omitted(claim, text, record)
        ),
        "",
        "The source of this theorem.",
        text,
        "",
        *map(
            _filled,
            (
                f"What is shown: {sentences(rule, text, file)}",
                CRITERION,
                BELIEVED_OF_PROGRAMS if rule in OF_PROGRAMS else BELIEVED,
            ),
        ),
    ]
    at = max(k for k, line in enumerate(body) if line.startswith("Theorem "))
    quoted = words_of_helpers(claim, text, record["statement"], record["line"])
    body[at:at] = [in_words(text, record, rule, quoted)]
    return "\n".join([comment("\n".join(head)), "", imports, *places("\n".join(body)), *body, ""])


def _what_follows(claim: Claim[..., Any], record: Mapping[str, Any], word: str) -> str:
    """Return what follows from the theorem if a line is vacuous, and what does not follow if it is ill-posed."""
    if word == "ill-posed":
        return ILL_POSED
    if word == "vacuous" and record["rule"] == "empty":
        return "Because no values meet the hypotheses, the line says nothing."
    if word == "vacuous":
        return f"Because the line holds, the claim says nothing about the algorithm: {claim.says_nothing}"
    return ""


def _filled(paragraph: str) -> str:
    return textwrap.fill(" ".join(paragraph.split()), WIDTH, subsequent_indent="   ")


def _words_of_step(claim: Claim[..., Any], name: str) -> list[str]:
    """Return the docstring of an additional statement or step, as lines of the head."""
    found = [inspect.getdoc(each.function) or "" for each in claim.statements if each.name == name != ""]
    return [line for text in found for line in ("", "The words of this part.", textwrap.indent(text, "   "))]

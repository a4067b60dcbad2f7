"""The sentences at the head of a file on what its theorem shows, and the definitions that the theorem names."""

from __future__ import annotations

import re

from clusterproof.checker.export.rocq_text import LIBRARY, PROOF

COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
THEOREM = re.compile(r"^Theorem .*?\.$", re.DOTALL | re.MULTILINE)
DEFINITION = re.compile(r"^(?:Definition|Fixpoint) (\w+).*?\.$", re.DOTALL | re.MULTILINE)
PROGRAM = re.compile(r"^Definition the_(?:program|claim|instance) .*?\.$", re.DOTALL | re.MULTILINE)
"""A program and its data, whose words the head of the file explains."""
HYPOTHESES, CASES, CHOICES = r"^Definition hypotheses\b", r"\bCase_\d|_as_exponent\b", r"\bchoice\("
ALWAYS = ""
NO_HYPOTHESES = rf"\A(?![\s\S]*{HYPOTHESES})"
TREE = """The program is the part of the source that the line reaches, as a tree, which Rocq runs. The part has no
messages, no invariants, no other lines, no values that are never read, and no optional arguments that are None in every
call. An argument that is never read may be Absent. Names and texts stand in quotes; f $ [a; b] is a call, x <~ a
assigns, and a .: "x" is an attribute."""
OF_NUMBERS = [
    (HYPOTHESES, "for all real numbers in the ranges that meet the hypotheses, and some numbers meet them."),
    (NO_HYPOTHESES, "for all real numbers in the ranges, and the ranges contain some."),
    (r"\bR(?:min|max|abs)\b", "Rmin, Rmax and Rabs are Rocq's."),
    (
        rf"\A(?=[\s\S]*^Theorem[\s\S]*\\/)[\s\S]*(?:{CASES})",
        """The source branches, or counts with a quantity that is chosen from a list. The theorem states that one of
the cases applies, and what holds in this case.""",
    ),
    (
        rf"\A(?![\s\S]*^Theorem[\s\S]*\\/)[\s\S]*(?:{CASES})",
        """The source branches, or counts with a quantity that is chosen from a list. The theorem states of each case
what holds if the case applies.""",
    ),
    (r"^Definition branches\b", "The branches of a case are the conditions that the source decides there."),
]
OF_FUNCTIONS = [
    (ALWAYS, "The algorithm is defined on the function and its gradient, as the source runs it."),
    (ALWAYS, "The classes and the space are defined in statements.v."),
    (
        r"\btuples\b",
        """With any number n of functions, a vector has an entry for each function, and an inner product is the mean
of theirs (tuples.v).""",
    ),
]
SENTENCES = {
    "instance": [
        (ALWAYS, f"an instance in the ranges meets the hypotheses and breaks the line. {TREE}"),
        (
            r"\bKnown_at\b",
            """A function of a class is given by its points, gradients and values, which meet the conditions of
interpolation; left out is that these suffice for a function of the class to have them.""",
        ),
    ],
    "exhausted": [
        (
            r"\bExcluded\b",
            "at every instance of the finite space a hypothesis fails or the line is true, and at some instance it is.",
        ),
        (r"\A(?![\s\S]*\bExcluded\b)", "at every instance of the finite space the line is true."),
        (ALWAYS, f"`instances` of language.v lists the instances. {TREE}"),
    ],
    "nowhere": [
        (ALWAYS, "at every instance of the finite space a hypothesis fails."),
        (ALWAYS, f"`instances` of language.v lists the instances. {TREE}"),
    ],
    "signs": [(ALWAYS, "the conclusion holds"), *OF_NUMBERS],
    "squares": [(ALWAYS, "the conclusion holds"), *OF_NUMBERS],
    "induction": [
        (ALWAYS, "the conclusion holds"),
        (r"^Definition round", "however often the source's loops (iterate) repeat,"),
        *OF_NUMBERS,
        (
            r"^Definition round",
            "A round is one pass of such a loop: the relation between the states before and after it.",
        ),
        (
            r"^Definition \w+_is\b",
            """Of some values the proof uses only a few facts. Such a value is given by the ways that lead to it, one
for each path through the source's branches. Left out: that there are no other ways.""",
        ),
        (
            CHOICES,
            "If a quantity is chosen from numbers, the theorem may be about all numbers between them.",
        ),
    ],
    "empty": [
        (ALWAYS, "no real numbers in the ranges meet the hypotheses."),
        (CASES, "The theorem states this about all ranges, in each case of the chosen quantities."),
    ],
    "dual": [
        (ALWAYS, "the line holds in every real inner product space and for every function of the class."),
        (CHOICES, "It holds at each setting of the other quantities, such as steps = 2."),
        *OF_FUNCTIONS,
        (CHOICES, "Left out: that there are no other settings."),
        (ALWAYS, "Left out: that some function meets the hypotheses."),
    ],
    "family": [
        (
            ALWAYS,
            """the line holds in every real inner product space, for every function of the class and all values of
the parameters in their ranges.""",
        ),
        *OF_FUNCTIONS,
        (
            r"\bafter_rounds\b",
            """The source repeats a function of its state (iterate), here one_round, as often as a quantity tells;
after_rounds applies it so often. The theorem is about every value of this quantity. Its proof uses induction with an
invariant, which is not a part of the theorem.""",
        ),
        (
            r"'(\w+)': integers\([\s\S]*^Theorem[\s\S]*?\([^():]*\b\1\b[^():]*: R\)",
            "For an integer that is written as a real number, the theorem is about every real number in its range.",
        ),
        (CHOICES, "Left out: that there are no other cases of the choices."),
        (ALWAYS, "Left out: that some function meets the hypotheses."),
    ],
}
"""For each rule its sentences, each with the pattern of a source or statement to which it applies."""


def sentences(rule: str, text: str, proof: str) -> str:
    """Return the sentences that apply to a claim's text and to the statement in a file."""
    both = f"{text}\n{stated(proof)}"
    found = [sentence for pattern, sentence in SENTENCES[rule] if re.search(pattern, both, re.MULTILINE)]
    return " ".join(" ".join(found).split())


def stated(proof: str) -> str:
    """Return the last theorem of a file, and the definitions that it names, directly or not."""
    plain = COMMENT.sub("", proof)
    theorem = list(THEOREM.finditer(plain))[-1]
    before = COMMENT.sub("", proof.partition(PROOF)[0]) if PROOF in proof else plain[: theorem.start()]
    definitions = [(each[1], each[0]) for each in DEFINITION.finditer(before)]
    found, waiting = set[str](), {theorem[0]}
    while waiting:
        words = set(re.findall(r"\w+", " ".join(waiting)))
        waiting = {text for name, text in definitions if name in words} - found
        found |= waiting
    return "\n".join([*(text for _, text in definitions if text in found), theorem[0]])


def to_be_read(proof: str) -> list[str]:
    """Return the library's definitions that occur in the statement of a file."""
    statement = re.sub(r'"[^"]*"', "", PROGRAM.sub("", stated(proof)))
    words, own = set(re.findall(r"\w+", statement)), {each[1] for each in DEFINITION.finditer(statement)}
    imported = re.findall(r"^From Clusterproof Require Import (.*)\.$", proof, re.MULTILINE)[0].split()
    library = "".join(each.read_text() for each in LIBRARY if each.stem in imported)
    known = re.findall(r"^ *(?:Definition|Fixpoint|Inductive|Record) (\w+)", library, re.MULTILINE)
    return [name for name in known if name in words and name not in own]

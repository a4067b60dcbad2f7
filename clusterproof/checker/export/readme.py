"""The referee's first page: the contents of the folder, the order in which to read them, and one line per theorem."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clusterproof.checker.export.exported import Exported
from clusterproof.checker.export.omitted import omitted, stated_line
from clusterproof.checker.export.what_is_shown import to_be_read
from clusterproof.checker.kernel import printed

PAGE = """\
# Theorems of this folder

Each row of the table below is one theorem. You can check all theorems without the program that wrote this folder.

1. With `python3 -I -S replay.py`, the kernel decides every line again from its text and its evidence. This needs only
   Python. The exit status is 1 if a line is not shown again.
2. With `make -j2`, Rocq (coqc 8.16 or newer) checks every proof. Then it prints the axioms on which all theorems rest.
   It refuses all axioms except those of Rocq's real numbers, `sig_forall_dec` and `functional_extensionality_dep`.

## Order of reading

1. In the folder of a line, read `claim.txt`: the statement as the kernel reads it, with all definitions that it uses.
   Compare it with the paper. No program can do this for you.
2. Read the last theorem of the file for Rocq. The comment above it states the theorem in words, with the names of
   `claim.txt`. Read the definitions that the theorem names: they stand before the data and lemmas of the proof. Compare
   them with `claim.txt`, which the first comment repeats. The first comment also lists what is left out.
3. A counterexample is a program, a claim and an instance: the source as a tree, the ranges of the quantities, and their
   values. `language.v` defines what programs compute, with rational numbers and without axioms. Read this file once,
   from `evaluate` on, with the functions that the program names.
4. For the other theorems, read the definitions of `statements.v` that the table names; this file is short and contains
   only definitions. For claims on any number of functions, also read the definitions in `tuples.v`. The lemmas of
   `prelude.v` and `duals.v` are proved, and no statement uses their definitions.
5. `statement.tex` is the statement in LaTeX. `replay.py` reads `evidence.json`.

## What is not proved

No program proves that `claim.txt` has the meaning of the paper, or that the definitions for Rocq have the meaning of
`claim.txt`. The first comment of each file quotes the claim's words and lists what the theorem omits; the section
after the index repeats this list. The source may compute a consequence of the words, or a criterion for them, such as
a root in place of an algorithm that diverges. The comment above each theorem states it in words. If a theorem is about
every function of a class, Rocq does not prove that its settings (or the cases of its choices) are all, or that some
function meets the hypotheses. `replay.py` lists the settings and finds such a function. For a counterexample with a
function of a class, a cited theorem states that some function has the listed points and gradients.

## Index

| line | verdict | theorem | definitions to read | title |
| --- | --- | --- | --- | --- |
"""
OMITTED = """
## What each theorem omits

"""
THEOREM = re.compile(r"^Theorem (\w+)", re.MULTILINE)


def readme(exported: Sequence[Exported]) -> str:
    """Return the page."""
    return PAGE + "".join(map(_row, exported)) + OMITTED + "".join(map(_omitted, exported))


def _row(one: Exported) -> str:
    line = printed(one.of.record["statement"], one.of.record["line"])
    title = one.of.claim.title + (f" ({line})" if line else "")
    cells = [f"`{one.of.name}`", str(one.of.word)]
    if one.proof:
        theorem = list(THEOREM.finditer(one.proof))[-1]
        at = one.proof[: theorem.start()].count("\n") + 1
        cells.append(f"[{one.folder}.v:{at}]({one.folder}/{one.folder}.v)")
        cells.append(", ".join(f"`{name}`" for name in to_be_read(one.proof)) or "none")
    else:
        cells += [f"not exported: {one.why}", ""]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in [*cells, title]) + " |\n"


def _omitted(one: Exported) -> str:
    phrases = omitted(one.of.claim, one.of.text, one.of.record)
    stated = stated_line(one.of.text, one.of.record)
    return f"- `{one.of.name}`: {stated} Not in this theorem: {'; '.join(phrases)}.\n"

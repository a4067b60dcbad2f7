"""A proposition about functions of a class, with its proof: for every space, or for any number of functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from clusterproof.checker.export.function_words import Frame, with_lets
from clusterproof.checker.export.rocq_text import PROOF, comment, conj, every
from clusterproof.checker.kernel.evaluation import Refused

Named = tuple[str, str]
"""A name with a proposition or a definition."""
OF_MEANS = {"strongly_convex": "mean_strongly_convex", "upper_smooth": "mean_upper_smooth"}
"""Lemmas that the mean of the functions' functions has a property of each function."""


@dataclass(frozen=True)
class Proposition:
    """A proposition about functions in one case.

    Attributes
    ----------
    words
        The case, for a comment, or an empty string if there is only one case.
    frame
        Names of the functions and points.
    parameters
        The parameters with their types: the names of the real numbers, and of the numbers of rounds.
    before, classes, later
        Hypotheses with their names: about the parameters, about the classes of functions, and about the points.
    equation
        The vector that is 0 (or the equation of a fixed point), or an empty string if there is none.
    lets, conclusion
        Local definitions, and the conclusion.
    """

    words: str
    frame: Frame
    parameters: tuple[Sequence[str], Sequence[str]]
    before: Sequence[Named]
    classes: Sequence[Named]
    equation: str
    later: Sequence[Named]
    lets: Sequence[Named]
    conclusion: str

    @property
    def _parameters(self) -> Sequence[str]:
        reals, counts = self.parameters
        return [*([f"({' '.join(reals)} : R)"] * bool(reals)), *(f"({each} : nat)" for each in counts)]

    @property
    def _names(self) -> list[str]:
        return [*self.parameters[0], *self.parameters[1]]

    @property
    def _inside(self) -> str:
        return "".join(f"{text} ->\n  " for _, text in self.later) + with_lets(self.lets, self.conclusion)

    @property
    def intros(self) -> str:
        """The names that the proof of the proposition introduces."""
        names = [*self._names, self.frame.bound(), *(own for own, _ in (*self.before, *self.classes))]
        return " ".join(
            [
                "S",
                *names,
                *self.frame.points.values(),
                *self.frame.sequences,
                *["M'"] * bool(self.equation),
                *self._inner,
            ]
        )

    @property
    def _inner(self) -> list[str]:
        return [own for own, _ in (*self.later, *self.lets)]

    def in_every_space(self) -> list[str]:
        """Write the proposition for every inner product space."""
        points = f"{' '.join(self.frame.points.values())} : V S"
        if self.frame.sequences:
            points = f"({points}) ({' '.join(self.frame.sequences)} : nat -> V S)"
        return [
            f"forall (S : space) {' '.join([*self._parameters, self.frame.binders()])},",
            *(f"{text} ->" for _, text in (*self.before, *self.classes)),
            f"forall {points},{f' {self.equation} ->' * bool(self.equation)}",
            self._inside,
        ]


@dataclass(frozen=True)
class Proved:
    """A proposition with its proof.

    Attributes
    ----------
    words
        The case, for a comment, or an empty string if there is only one case.
    before, statement
        Definitions for the statement, and its lines.
    definitions, steps
        Data and lemmas for the proof, and its tactics.
    line, kind
        Name and type of the definition of the line, or empty strings if the statement contains the line itself.
    """

    words: str
    before: Sequence[str]
    statement: Sequence[str]
    definitions: Sequence[str]
    steps: Sequence[str]
    line: str = ""
    kind: str = ""


def proved(of: Proposition, number: int, definitions: Sequence[str], steps: Sequence[str]) -> Proved:
    """Return the proposition with its proof, given tactics for it after all names are introduced.

    ``number`` is a part of the names in the file.
    """
    if of.frame.mean:
        return _of_many(of, number, definitions, steps)
    return Proved(of.words, (), of.in_every_space(), definitions, [f"intros {of.intros}.", *steps])


def _of_many(of: Proposition, number: int, definitions: Sequence[str], steps: Sequence[str]) -> Proved:
    """Return the proposition for any number of functions, from a lemma about every space with a projection."""
    frame, name = of.frame, f"line_{number}"
    (f,), (g,) = frame.functions, frame.gradients
    mean, count, one = frame.mean, frame.count, frame.index
    points, common = list(frame.points.values()), list(frame.shared)
    own = [each for each in points if each not in common]
    given = " ".join(of._parameters)
    binders = " ".join(
        [
            f"(S : space) ({mean} : V S -> V S)",
            *of._parameters,
            frame.binders(),
            f"({' '.join(points)} : V S)",
        ]
    )
    line = [
        comment(
            f"The line{f', where {of.words}' * bool(of.words)}, in a space in which a vector has a mean."
        ),
        f"Definition {name} {binders} : Prop :=",
        f"  {of._inside}.",
    ]
    applied = " ".join([name, "S", mean, *of._names, f, g, *points])
    lemma = [
        f"Lemma {name}_holds : forall (S : space) ({mean} : V S -> V S) {given} {frame.binders()},",
        *(f"  {text} ->" for _, text in (*of.before, *of.classes)),
        f"  forall {' '.join(points)} : V S, projection {mean} ->",
        *(f"  {mean} {each} = {each} ->" for each in common),
        f"  {of.equation} -> {applied}.",
        "Proof.",
        f"  intros S {mean} {' '.join(of._names)} {f} {g}"
        f" {' '.join(each for each, _ in (*of.before, *of.classes))} {' '.join(points)} PM'"
        f" {' '.join(shared_name(each) for each in common)} M'.",
        f"  cbv beta delta [{name}]. intros {' '.join(of._inner)}.",
        *(f"  {step}" for step in steps),
        "Qed.",
    ]
    classes, proofs = [], []
    for own_name, text in of.classes:
        word, constant = text.split(" ")[0], text.removesuffix(f" {f} {g}").partition(" ")[2]
        if word not in OF_MEANS or not text.endswith(f" {f} {g}"):
            raise Refused(
                f"a Rocq file about any number of functions cannot yet contain functions that are {word}"
            )
        classes.append(
            (own_name, f"(forall {one} : Fin.t {count}, {word} {constant} ({f} {one}) ({g} {one}))")
        )
        proofs.append(f"({OF_MEANS[word]} {constant} {f} {g} {own_name})")
    at_points = [f"(shared {count} {each})" if each in common else each for each in points]
    of_each = f"Fin.t {count} -> V S"
    statement = [
        " ".join([f"forall (S : space) ({count} : nat)", *of._parameters]),
        f"  ({f} : {of_each} -> R) ({g} : {of_each} -> V S),",
        f"(1 <= {count})%nat ->",
        *(f"{text} ->" for _, text in (*of.before, *classes)),
        f"forall ({' '.join(common)} : V S){f' ({chr(32).join(own)} : {of_each})' * bool(own)},",
        f"vector_average (fun {one} => {g} {one} {common[-1]}) = origin S ->",
        f"{name} (tuples {count} S) (mean_of_tuple {count})"
        f" {' '.join([*of._names, f'(mean_value {f}) (gradients {g})', *at_points])}",
    ]
    hypotheses = " ".join(each for each, _ in of.before)
    own_steps = [
        f"intros S {count} {' '.join(of._names)} {f} {g} N' {hypotheses} {' '.join(each for each, _ in classes)}"
        f" {' '.join([*common, *own])} M'.",
        f"exact ({name}_holds (tuples {count} S) (mean_of_tuple {count})"
        f" {' '.join([*of._names, '_ _', hypotheses, *proofs, *at_points])} (mean_projects {count} S)"
        f" {' '.join(f'(shared_mean {count} {each})' for each in common)} (f_equal (shared {count}) M')).",
    ]
    kind = f"forall {binders}, Prop"
    return Proved(of.words, line, statement, [*definitions, *lemma], own_steps, name, kind)


def shared_name(point: str) -> str:
    """Return the name of the hypothesis that all functions share a point."""
    return f"shared_{point}'"


def _shared(cases: Sequence[Proved]) -> tuple[list[str], list[Sequence[str]]]:
    """Return the statements of the cases, and before them the definition of a statement that they share."""
    alike = {
        tuple(re.sub(rf"\b{case.line}\b", "line", text) if case.line else text for text in case.statement)
        for case in cases
    }
    if len(cases) == 1 or len(alike) > 1 or not all(case.line for case in cases):
        return [], [case.statement for case in cases]
    *own, last = alike.pop()
    definition = [
        "(* The line holds in every inner product space, for any number of functions of the class. *)",
        f"Definition in_every_space (line : {cases[0].kind}) : Prop :=",
        *(f"  {text}" for text in (*own, f"{last}.")),
    ]
    return definition, [[f"in_every_space {case.line}"] for case in cases]


def composed(name: str, cases: Sequence[Proved]) -> list[str]:
    """Write the theorem that combines the propositions of all cases."""
    lines = [line for case in cases for line in case.before]
    common, statements = _shared(cases)
    lines += common
    lines += [PROOF, *(line for case in cases for line in case.definitions), "", f"Theorem {name} :"]
    for k, (case, statement) in enumerate(zip(cases, statements, strict=True), start=1):
        *own, last = statement
        brackets, end = (("(", ")") if len(cases) > 1 else ("", "")), " /\\" if k < len(cases) else "."
        lines += [f"  {comment(case.words)}"] if case.words else []
        own = [*own, last + brackets[1] + end]
        lines += [f"  {brackets[0]}{own[0]}", *(f"  {line}" for line in own[1:])]
    lines += ["Proof.", f"  refine {conj(['_'] * len(cases))}."]
    for case in cases:
        lines += ["  {", *(f"  {step}" for step in case.steps), "  }"]
    return [*lines, "Qed.", "", every([name])]

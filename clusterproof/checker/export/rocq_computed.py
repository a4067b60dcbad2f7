"""Theorems by computation: Rocq runs a claim's text as a program, on a counterexample or on a finite space."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from clusterproof.checker.export.rocq_program import Program, quoted
from clusterproof.checker.export.rocq_text import every, listed, rational
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.reading import read

HYPOTHESIS = r'"(?:suppose|given)"|\bRaise\b'
"""Pattern of a program with a hypothesis, or with an error that excludes an instance."""


def broken(text: str, record: Mapping[str, Any], name: str) -> list[str]:
    """Write that an instance of the space meets the hypotheses and breaks the line.

    Parameters
    ----------
    text, record
        Text of a claim, and evidence with an instance.
    name
        Name of the theorem.

    Raises
    ------
    Refused
        If the text uses a part of the language for which ``language.v`` has no counterpart yet.
    """
    codes = record["instance"]
    space = read(text).statements[record["statement"]].space
    written = [
        f"({quoted(own)}, {_function(codes[own]) if own == space.function else _value(value)})"
        for own, value in space.read(codes).items()
    ]
    stated = f"line_of the_claim {quoted(record['line'])} the_instance"
    return [
        *_claim(text, record),
        f"Definition the_instance : known :=\n  {listed(written)}.",
        "",
        "(* The instance is in the ranges; there the hypotheses hold, and the line is false. *)",
        f"Theorem {name} :",
        f"  is_inside the_claim the_instance = true /\\\n  {stated} = Found (Line false).",
        "Proof. split; [vm_cast_no_check (eq_refl true) | vm_cast_no_check (eq_refl (Found (Line false)))]. Qed.",
        "",
        every([name]),
    ]


def exhausted(text: str, record: Mapping[str, Any], name: str) -> list[str]:
    """Write that the line holds at every admissible instance of a finite space; the parameters are as in ``broken``."""
    stated = f"line_of the_claim {quoted(record['line'])} instance"
    program = _claim(text, record)
    if not re.search(HYPOTHESIS, "".join(program)):
        return [
            *program,
            "(* At every instance the line is true; and there is an instance. *)",
            f"Theorem {name} :",
            f"  (forall instance, List.In instance (instances the_claim) -> {stated} = Found (Line true)) /\\",
            "  exists instance, List.In instance (instances the_claim).",
            "Proof. apply is_true_everywhere_ok. vm_cast_no_check (eq_refl true). Qed.",
            "",
            every([name]),
        ]
    return [
        *program,
        "(* At every instance the line is true, or a hypothesis fails; and there is one where the line is true. *)",
        f"Theorem {name} :",
        "  (forall instance, List.In instance (instances the_claim) ->",
        f"    List.In ({stated}) [Found (Line true); Found Excluded; Outside]) /\\",
        f"  exists instance, List.In instance (instances the_claim) /\\ {stated} = Found (Line true).",
        "Proof. apply holds_everywhere_ok. vm_cast_no_check (eq_refl true). Qed.",
        "",
        every([name]),
    ]


def nowhere(text: str, record: Mapping[str, Any], name: str) -> list[str]:
    """Write that no instance of a finite space meets the hypotheses; the parameters are as in ``broken``."""
    return [
        *_claim(text, record),
        "(* At every instance a hypothesis fails. *)",
        f"Theorem {name} : forall instance, List.In instance (instances the_claim) ->",
        f"  List.In (line_of the_claim {quoted(record['line'])} instance) [Found Excluded; Outside].",
        "Proof. apply applies_nowhere_ok. vm_cast_no_check (eq_refl true). Qed.",
        "",
        every([name]),
    ]


def _claim(text: str, record: Mapping[str, Any]) -> list[str]:
    program = Program(text, record["statement"], record["line"])
    definitions = ";\n  ".join(program.definitions)
    fields = ";\n  ".join(program.claim())
    return [
        f"Definition the_program : list definition := [\n  {definitions}].",
        "",
        f"Definition the_claim : claim := {{|\n  program := the_program;\n  {fields} |}}.",
        "",
    ]


def _value(value: Any) -> str:
    """Write a quantity's value."""
    if value is None:
        return "Nothing"
    if type(value) is bool:
        return f"Truth {str(value).lower()}"
    if type(value) in (int, Fraction):
        return f"Number {rational(value)}"
    if type(value) is str:
        return f"Text {quoted(value)}"
    if type(value) is tuple:
        return f"Values [{'; '.join(map(_value, value))}]"
    raise Refused(f"no instance for Rocq has a value of kind {type(value).__name__} yet")


def _function(code: Mapping[str, Any]) -> str:
    """Write a function by its triplets; each consists of a point, the gradient, and the value."""
    if len(code["triplets"]) != 1 or code["further"] or code["solution"] is None:
        raise Refused("no instance for Rocq has several functions, or further points, yet")
    triplets = [
        f"({_point(point)}, {_point(gradient)}, {rational(Fraction(value))}%Q)"
        for point, gradient, value in code["triplets"][0]
    ]
    ends = f"{_point(code['start'])} {_point(code['solution'])} {rational(Fraction(code['minimum']))}%Q"
    return f"Known_at {ends}\n    [{f';{chr(10)}     '.join(triplets)}]"


def _point(code: Any) -> str:
    return f"[{'; '.join(rational(Fraction(each)) for each in code)}]%Q"

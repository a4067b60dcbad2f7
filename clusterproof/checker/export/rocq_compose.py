"""One theorem for a line: the cases cover the space, each case holds, and some instance meets the hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterproof.checker.export.expressions import sides_of
from clusterproof.checker.export.formulas import Exporter, Formulas
from clusterproof.checker.export.rocq_numbers import BEFORE, existence, theorem
from clusterproof.checker.export.rocq_section import Section
from clusterproof.checker.export.rocq_text import PROOF, Names, Scope, comment, conj
from clusterproof.checker.export.whole_space import (
    Chosen,
    WholeSpace,
    chosen_from,
    key_of,
    one_of_several,
    require_names,
    written,
)
from clusterproof.checker.kernel.evaluation import Refused


@dataclass(frozen=True)
class Case:
    """A path through the branches, at one combination of the choices, in its own module.

    Attributes
    ----------
    chosen
        The values of the choices and of listed integers, indexed by name.
    formulas
        Formulas of the case.
    definitions, lines
        Definitions of the case, and its proof, with a lemma ``certified`` or ``vacuous`` if the line is stated in this
        case.
    scope
        Names of the section.
    applied
        Function that writes a proposition of the module for use outside its section. It returns an empty string if the
        proposition does not exist.
    proof
        Name of the lemma, or an empty string if there is none.
    """

    chosen: Chosen
    formulas: Formulas
    definitions: Sequence[str]
    lines: Sequence[str]
    scope: Scope
    applied: Callable[[str], str]
    proof: str

    def says(self) -> str:
        """Write the proposition that holds in this case, without its branches."""
        if not self.proof:
            return ""
        stated, hypotheses, conclusion = map(self.applied, ("stated", "hypotheses", "conclusion"))
        if stated:
            return stated
        if self.proof == "vacuous":
            return f"~ {hypotheses}"
        return f"({hypotheses} -> {conclusion})" if hypotheses else conclusion


Path = tuple[int, Case]
"""A case with its number."""


@dataclass(frozen=True)
class Witness:
    """An instance that meets the hypotheses.

    Attributes
    ----------
    made
        The section of the instance.
    lines
        Lines of the lemma ``admissible``.
    place
        Index of the case with the same section, or None if the instance has its own section.
    """

    made: Section
    lines: Sequence[str]
    place: int | None = None


def composed(
    exporter: Exporter,
    cases: Sequence[Case],
    name: str,
    witness: Witness | None = None,
) -> list[str]:
    """Write all cases, and the theorem that combines them.

    Parameters
    ----------
    exporter
        Exporter of the statement.
    cases
        Cases in the order of the choices.
    name
        Name of the theorem.
    witness
        An instance that meets the hypotheses, if the theorem states that there is one.
    """
    definitions, lines = list[str](), list[str]()
    is_single = len(cases) == 1 and not cases[0].formulas.texts
    for k, case in enumerate(cases):
        words = ", ".join(f"{own} = {value!r}" for own, value in case.chosen.items())
        own = [*case.lines, *(witness.lines if witness is not None and witness.place == k else ())]
        if is_single:
            definitions += case.definitions
            lines += own
            continue
        case.scope.outside, case.scope.module = True, f"Case_{k + 1}."
        definitions += ["", *([comment(words)] if words else []), *module(f"Case_{k + 1}", case.definitions)]
        lines += module(f"Proof_{k + 1}", [f"Import Case_{k + 1}.", *own])
    proof_of_witness = "exact admissible."
    of_space = _in_space(cases[0], witness) if is_single and witness is not None else None
    if of_space is not None and witness is not None:
        witness.made.scope.outside, witness.made.scope.module = True, "Proof_of_instance."
        lines += module("Proof_of_instance", [*witness.made.text, *witness.lines])
    elif witness is not None and witness.place is None:
        witness.made.scope.outside, witness.made.scope.module = True, "Instance."
        definitions += ["", *module("Instance", witness.made.text)]
        lines += module("Proof_of_instance", ["Import Instance.", *witness.lines])
        proof_of_witness = "exact Proof_of_instance.admissible."
    elif witness is not None and witness.place is not None and not is_single:
        proof_of_witness = f"exact Proof_{witness.place + 1}.admissible."
    there = existence(witness.made) if witness is not None else ""
    there, proof_of_witness = of_space or (there, proof_of_witness)
    if is_single:
        further, statement, steps = _single(cases[0])
    else:
        try:
            further, statement, steps = _Whole(WholeSpace(exporter.whole()), cases).theorem()
        except Refused:
            further, statement, steps = _listed(cases)
    if witness is not None:
        statement = f"({statement}) /\\\n({there})"
        steps = ["split.", "{", *steps, "}", proof_of_witness]
    stated = theorem(f"Theorem {name}", statement, *steps)
    return [*definitions, *further, "", PROOF, *lines, *stated]


def _in_space(case: Case, witness: Witness) -> tuple[str, str] | None:
    """Return the proposition that a case's space contains some values, and the proof from an instance's section."""
    space, made = case.applied("ranges"), witness.made
    own, others = (list(scope.quantities.values()) for scope in (case.scope, made.scope))
    own = [name for name in own if name in space.split()]
    if witness.place is not None or case.applied("hypotheses") or not own or not set(own) <= set(others):
        return None
    parts = [f"{each}'" for each in BEFORE if made.has(each)]
    unfolded = "cbv beta delta [ranges Proof_of_instance.ranges] in *"
    proof = f"destruct Proof_of_instance.admissible as ({' & '.join([*others, *parts])}). exists {', '.join(own)}."
    return f"exists {' '.join(own)} : R,\n  {space}", f"{proof} {unfolded}. tauto."


def module(name: str, lines: Sequence[str]) -> list[str]:
    """Write a module."""
    return [f"Module {name}.", *lines, f"End {name}."]


def _single(case: Case) -> tuple[list[str], str, list[str]]:
    """Return the theorem of the only case."""
    own = " ".join(case.scope.quantities[q.name] for q in case.formulas.quantities)
    parts = [each for each in map(case.applied, ("ranges", "branches")) if each]
    statement = " -> ".join([*parts, case.says()])
    return [], f"forall {own} : R,\n  {statement}" if own else statement, [f"exact {case.proof}."]


class _Whole:
    """The theorem over the whole space.

    Parameters
    ----------
    space
        The space of the statement.
    cases
        Cases in the order of the choices.
    """

    def __init__(self, space: WholeSpace, cases: Sequence[Case]) -> None:
        self._space, self._cases = space, cases
        require_names(space, (q.name for case in cases for q in case.formulas.quantities))
        mixed = {q.name for case in cases for q in case.formulas.quantities} & space.words
        if mixed:
            raise Refused(f"the options of {', '.join(sorted(mixed))} are partly numbers and partly not")

    def theorem(self) -> tuple[list[str], str, list[str]]:
        """Return the definition of the space, the statement, and its proof."""
        space, chosen = self._space, combinations(self._cases)
        own = " ".join(space.names.values())
        body = space.nested(chosen, self._leaf, {})
        statement = f"forall {space.binder}, ranges {own} ->\n  {body}"
        proof = [f"intros {own} {space.pattern or '_'}.", *space.split(chosen, self._leaf_proof, {})]
        return space.lines, statement, proof

    def _leaf(self, chosen: Chosen) -> str:
        return _ways(paths_of(self._cases, chosen, self._space.names))

    def _leaf_proof(self, chosen: Chosen) -> list[str]:
        values = {name: f"({self._space.value(name, value)})" for name, value in chosen.items()}
        paths = paths_of(self._cases, chosen, self._space.names | values)
        return list(_by_branches(paths, [known_space(self._space, case) for _, case in paths]))


def known_space(space: WholeSpace, case: Case) -> str:
    """Write the proof of a case's space from the parts of the whole space."""
    parts = []
    for q in case.formulas.quantities:
        if q.integer and q.name in case.chosen:
            parts.append(f"(ex_intro _ ({case.chosen[q.name]})%Z eq_refl)")
        elif q.integer:
            parts.append(space.parts[q.name, "integer"])
        if q.options:
            parts.append("eq_refl")
            continue
        ends = (("low", q.low), ("high", q.high))
        parts += [space.parts[q.name, kind] for kind, end in ends if end is not None]
    return conj(parts)


def _listed(cases: Sequence[Case]) -> tuple[list[str], str, list[str]]:
    """Return the theorem over the spaces of all cases, for ranges that depend on choices."""
    names = Names()
    texts_of = dict.fromkeys(own for case in cases for own in case.formulas.texts)
    words = {own: names.new(own) for own in texts_of}
    numbers_of = dict.fromkeys(q.name for case in cases for q in case.formulas.quantities)
    numbers = {own: names.new(own) for own in numbers_of}
    kinds = ((words, "string"), (numbers, "R"))
    binder = " ".join(f"({' '.join(own.values())} : {kind})" for own, kind in kinds if own)
    spaces, ways, proof = [], [], []
    chosen = combinations(cases)
    for k, one in enumerate(chosen):
        paths = paths_of(cases, one, numbers)
        texts = [f"{words[own]} = {written(value)}" for own, value in paths[0][1].formulas.texts.items()]
        spaces.append(" /\\ ".join([*texts, paths[0][1].applied("ranges") or "True"]))
        ways.append(f"{spaces[-1]} /\\ ({_ways(paths)})")
        known = [f"W'{i}" for i in range(len(texts))]
        step = "".join(f"(conj {each} " for each in (*known, "S'")) + "_" + ")" * (len(known) + 1)
        pattern = f"destruct S' as ({' & '.join((*known, 'S_'))}). rename S_ into S'. " if known else ""
        proof += [
            f"{{ {pattern}{chosen_from(k, len(chosen))}refine {step}.",
            *(
                f"  {line}"
                for line in _by_branches(paths, ["S'" if case.applied("ranges") else "" for _, case in paths])
            ),
            "}",
        ]
    own = " ".join((*words.values(), *numbers.values()))
    several = "[S' | " * (len(chosen) - 1) + "S'" + "]" * (len(chosen) - 1)
    text = f"Definition ranges {binder} : Prop :=\n  {one_of_several(spaces)}."
    imports = ["From Coq Require Import String."] if words else []
    return (
        [*imports, text],
        f"forall {binder}, ranges {own} ->\n  {one_of_several(ways)}",
        [f"intros {own} {several}.", *proof],
    )


# ---- the ways of one combination


def combinations(cases: Sequence[Case]) -> list[Chosen]:
    """Return the combinations of the choices, each once."""
    return list({key_of(case.chosen): case.chosen for case in cases}.values())


def paths_of(cases: Sequence[Case], chosen: Chosen, names: Mapping[str, str]) -> list[Path]:
    """Return the paths of a combination with their numbers; give the quantities the names in ``names``."""
    found = [(k, case) for k, case in enumerate(cases, start=1) if key_of(case.chosen) == key_of(chosen)]
    for _, case in found:
        case.scope.called = {rocq: names[own] for own, rocq in case.scope.quantities.items() if own in names}
    return found


def _ways(paths: Sequence[Path]) -> str:
    """Write that one path is taken and its proposition holds; with loops, write what holds if a path is taken."""
    if _has_loops(paths):
        told = [[case.applied("branches"), case.says()] for _, case in paths if case.proof]
        return " /\\ ".join(f"({' -> '.join(part for part in way if part)})" for way in told) or "True"
    ways = [[part for part in (case.applied("branches"), case.says()) if part] for _, case in paths]
    return one_of_several([" /\\ ".join(way) or "True" for way in ways])


def _by_branches(paths: Sequence[Path], known: Sequence[str]) -> Iterator[str]:
    """Prove that one of the paths is taken and that its proposition holds, from the proofs of the paths' spaces."""
    if _has_loops(paths):
        pairs = [(pair, space) for pair, space in zip(paths, known, strict=True) if pair[1].proof]
        proofs = [f"({lemma_of(*pair, space, '')})" for pair, space in pairs]
        return iter([f"exact {conj(proofs) or 'Logic.I'}."])
    return by_branches(
        paths, lambda place, taken: chosen_from(place, len(paths)) + _way(*paths[place], known[place], taken)
    )


def by_branches(paths: Sequence[Path], leaf: Callable[[int, str], str]) -> Iterator[str]:
    """Split at the branches of some paths; ``leaf`` writes the step for a path, given a proof that it is taken."""

    def decisions(place: int) -> Sequence[tuple[Any, bool]]:
        path = paths[place][1].formulas.path
        return path.decisions if path else ()

    def from_depth(places: Sequence[int], depth: int) -> Iterator[str]:
        first = places[0]
        if depth == len(decisions(first)):
            yield leaf(first, conj([f"T'{k}" for k in range(depth)]))
            return
        fact, _ = decisions(first)[depth]
        larger, smaller = map(paths[first][1].scope.text, sides_of(fact.slack))
        word = "Rlt_or_le" if fact.strict else "Rle_or_lt"
        yield f"destruct ({word} ({smaller}) ({larger})) as [T'{depth} | T'{depth}]."
        for wanted in (True, False):
            own = [place for place in places if decisions(place)[depth][1] is wanted]
            yield from ("{", *(f"  {line}" for line in from_depth(own, depth + 1)), "}")

    return from_depth(range(len(paths)), 0)


def _has_loops(paths: Sequence[Path]) -> bool:
    return any(case.applied("stated") for _, case in paths)


def _way(number: int, case: Case, known: str, taken: str) -> str:
    parts = [
        part for part in (taken, f"({lemma_of(number, case, known, taken)})" if case.proof else "") if part
    ]
    return f"exact {conj(parts) or 'Logic.I'}."


def lemma_of(number: int, case: Case, known: str, taken: str) -> str:
    """Write the application of a case's lemma."""
    own = [case.scope.quantities[q.name] for q in case.formulas.quantities]
    called = [case.scope.called.get(each, each) for each in own]
    return " ".join(part for part in (f"Proof_{number}.{case.proof}", *called, known, taken) if part)

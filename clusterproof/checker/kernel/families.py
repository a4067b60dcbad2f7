"""The rule for every function of a class at every value of the parameters, and after any number of rounds.

*Theorem.* A statement has parameters t, which are numbers in ranges between ends, and a function f of a class. Let B be
the box of all t between the ends, and T the set of all t in B that meet the hypotheses on t. The statement's function
is evaluated once, on symbols t and on a trace of the class. Points are linear combinations of free vectors v. Numbers
are linear combinations of inner products of these vectors, of function values and of 1. All coefficients are quotients
of polynomials in t. The line of the statement holds for every t in T and every f if all of the following is proved:

1. *Everything is defined.* Each divisor, including divisors in the ends of ranges, is positive on all of T or negative
   on all of T. Constants of the class are at least 0. For functions, the smoothness is larger than the strong
   convexity, because other conditions apply if the two are equal. For operators, mu <= L and mu beta <= 1, so that no
   class is empty. The conditions of operators contain no division by constants, so they are valid at every t. A
   symbolic proximal step is positive, and a symbolic distance is at least 0. Wherever the code uses a divisor, or
   requires a fact, the facts known *at this place* must prove the sign or the fact; this includes facts about symbols
   of a round. Facts that are supposed later, or only for another line, must not be used. The same must be proved on
   paths that end because a hypothesis is false.
2. *Conditions are true.* At each t in T, the numbers c_j(t, f) are at least 0 (interpolation, hypotheses, the current
   branch), and the numbers e_k(t, f) are 0. Two points are treated as the same point only if they are equal for all t.
   If the proof treats equal points as different, it only has fewer conditions to use.
3. *Identity.* slack - sum l_j c_j - sum n_k e_k - sum s_m h_m(t) <d_m, d_m> is, for all t, a quadratic form in the
   vectors: function values and constants cancel. l_j and s_m are quotients that are at least 0 on T, and h_m(t) >= 0
   is a hypothesis.
4. *The form is positive semidefinite.* Let c be the common denominator, which must have one strict sign on T. The form
   multiplied by |c| is a block diagonal matrix P of polynomials. In each block, and in the blocks that remain after a
   pivot, fraction-free elimination (E. H. Bareiss, 1968) produces only polynomials, by Sylvester's identity. Each step
   finds either a pivot, which is a nonzero polynomial and is proved to be nonnegative, or a row that is identically 0.
   With all ends that follow from hypotheses, B is the closure of its interior: the distance between the two ends of
   each range is nonnegative and not identically 0. Therefore near each t in T there are points of B at which all
   pivots are positive. At these points P = L D L' is positive semidefinite, and the set of such matrices is closed. A
   sign that is proved on a larger box also holds on B. A sign that follows from a strict hypothesis at t also holds
   near t, because polynomials are continuous.
5. *Rounds.* ``iterate(step, start, N, invariant=I)`` adds two facts to prove. The first is I(start, 0). The second is
   about a new state of free points, free numbers and symbols, and a new n from 0 to N - 1: I(state, n) implies
   I(step(state), n + 1). By induction, I holds for the last state, which again consists of new points, numbers and
   symbols: only I is supposed about them. After a round, the kernel discards its requests of f, its hypotheses and its
   branch conditions, and the result of the round contains none of them. Both facts must also be proved on paths on
   which the line is absent, because I may determine which path is followed.
6. *The line is not vacuous.* A witness, which is an instance with numbers and a function, meets the hypotheses, and the
   line applies to it.
7. *Any number of functions.* Functions f_1, ..., f_n of the class are treated as one function F(v) = mean f_i(v_i) of
   split vectors v = (v_1, ..., v_n), with the inner product mean <u_i, v_i>. The conditions on F are means of the
   conditions on the f_i. Each v is the sum of its mean and a vector with mean 0, and vectors of these two kinds are
   orthogonal. A proof with free vectors of both kinds, whose inner products with the other kind are 0, is therefore
   valid for every n.

A symbol for an integer represents all real numbers, so the proof shows more than necessary. If hypotheses are
equations, T is a part of B of lower dimension. The proof then holds on B, or near T in B.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from clusterproof.checker.kernel.evaluation import Context, Outside, Refused, evaluating, spend
from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.loops import Goal
from clusterproof.checker.kernel.multipliers import Need, require_multipliers
from clusterproof.checker.kernel.polynomials import constant
from clusterproof.checker.kernel.positivity import (
    MAY_BE_ZERO,
    Ends,
    before,
    bounded,
    by_place,
    is_nonnegative,
    sign_of,
)
from clusterproof.checker.kernel.quotients import Fact, Quotient
from clusterproof.checker.kernel.ranges import Instance, OfClass
from clusterproof.checker.kernel.rules import Data, has_instance
from clusterproof.checker.kernel.statement import Statement
from clusterproof.checker.kernel.symbolic import symbolic
from clusterproof.checker.kernel.vocabulary import Sides
from clusterproof.checker.kernel.worlds import Form, Point


def family(statement: Statement, line: str, data: Data) -> bool:
    """Prove a line for every function of a class and all values of the parameters, by the theorem of this module.

    ``states`` is the number of symbols for rounds and states. ``listed`` and ``between`` are as in ``symbolic``.
    ``proofs`` has one proof for each ``Need`` that ``needs`` yields, in the same order; see ``require_multipliers``.
    """
    proofs = iter(data["proofs"])
    for need in needs(statement, line, data):
        proof = next(proofs, None)
        if proof is None:
            raise Refused(
                "each need of a loop and each entry of the line needs its multipliers, on every path"
            )
        require_multipliers(need, proof)
    if next(proofs, None) is not None:
        raise Refused("more multipliers than there are needs")
    return has_instance(statement, line, data)


def needs(statement: Statement, line: str, data: Data) -> Iterator[Need]:
    """Yield the inequalities that multipliers must prove, for every case and path; prove facts about symbols directly.

    Raises
    ------
    Refused
        If a fact that contains only symbols cannot be proved.
    """
    space, name = statement.space, statement.space.function
    if name is None:
        raise Refused("no quantity is of a class")
    of_class: Any = space.ranges[name]
    assert type(of_class) is OfClass
    several = data.get("listed", ()), data.get("between", ())
    for each, box, begun in symbolic(space, *several, data.get("states", 0), left_out=name):
        trace_of, constants = of_class.on_symbols(each, box)
        decisions: list[bool] | None = []
        while decisions is not None:
            record, sides = begun(decisions), None
            with suppress(Outside), evaluating(record):
                record.world = trace = trace_of()
                sides = statement.evaluate({**each, name: problem(trace)})[line]
                if type(sides) is Sides:
                    known = [*record.now.known, *sides.facts]
                    conditions = (*trace.facts(known), trace.vectors)
            decisions = record.next_decisions()
            for goal in record.goals:
                _require_values(goal, goal.known, box, record.states)
                of_goal = _Where(goal.known, goal.conditions, box, record.states)
                yield from of_goal.needs(goal.shown, goal.name, each)
            if type(sides) is not Sides:
                _require_values(record.now, None, box, record.states)
                continue
            _require_values(record.now, known, box, record.states)
            shown = [Fact(slack, equation=sides.equation) for slack in sides.slacks]
            of_line = _Where(known, conditions, box, record.states)
            yield from of_line.needs([*constants, *shown], "line", each)


def _require_values(
    used: Context | Goal, later: Sequence[Fact] | None, box: Sequence[Ends], states: frozenset[int]
) -> None:
    """Require all facts that are necessary for used values to exist; ``later`` is as in ``require_divisors``.

    Raises
    ------
    Refused
        If one of these facts cannot be proved.
    """
    for facts, divisors in by_place(used.divisors, later):
        need = _of_symbols(box, facts, states)
        if not all(need.sign(divisor.top) for divisor in divisors):
            raise Refused(MAY_BE_ZERO)
    for facts, required in by_place(used.required, later):
        need = _of_symbols(box, facts, states)
        for fact in required:
            need.require(fact)


def _of_symbols(box: Sequence[Ends], facts: Sequence[Fact], states: frozenset[int]) -> Need:
    """Return a ``Need`` for proofs of facts about symbols from known facts.

    Raises
    ------
    Refused
        If the box may have no interior.
    """
    boxes = [each for each in _boxes(box, facts, states) if _has_interior(each)]
    if not boxes:
        raise Refused("a range may be empty, or one number: make it a choice")
    return Need((), {}, {}, 0, boxes, facts)


class _Where:
    """A place in a statement's code, with all facts about symbols and functions that are known there.

    Raises
    ------
    Refused
        If the box may have no interior.
    """

    def __init__(
        self,
        known: Sequence[Fact],
        conditions: tuple[Mapping[str, Form], Mapping[str, Form], int],
        box: Sequence[Ends],
        states: frozenset[int],
    ) -> None:
        nonnegative, zero, self.vectors = conditions
        points = [fact.slack for fact in known if fact.equation and type(fact.slack) is Point]
        self.vanishing = _solved([part for point in points for part in point.world.parts(point)])
        self.nonnegative = {name: self._reduced(form) for name, form in nonnegative.items()}
        self.zero = {name: self._reduced(form) for name, form in zero.items()}
        self.of_symbols = _of_symbols(box, [f for f in known if type(f.slack) is Quotient], states)

    def needs(self, shown: Sequence[Fact], name: str, instance: Instance) -> Iterator[Need]:
        """Yield the inequalities that multipliers must prove for some facts; prove facts about symbols directly."""
        place = 0
        for fact in shown:
            entries = fact.slack if type(fact.slack) is tuple else (fact.slack,)
            if type(fact.slack) is Quotient:
                self.of_symbols.require(fact)
                continue
            if fact.strict:
                raise Refused("multipliers show no strict inequality")
            slacks = tuple(self._reduced(each) if type(each) is Form else each for each in entries)
            need = replace(
                self.of_symbols,
                slacks=slacks,
                nonnegative=self.nonnegative,
                zero=self.zero,
                vectors=self.vectors,
                name=f"{name} {place}",
                instance=instance,
            )
            place += 1
            yield need
            if fact.equation:
                yield replace(need, slacks=tuple(-slack for slack in slacks))

    def _reduced(self, form: Form) -> Form:
        """Replace each vector in a form by its value, if the hypotheses determine it."""
        for vector, value in self.vanishing:
            spend(1 + len(form.terms) // 8)
            kept = {k: v for k, v in form.terms.items() if len(k) != 2 or vector not in k}
            total = Form(form.world, kept)
            for key, factor in form.terms.items():
                if key not in kept:
                    left, right = (value if v == vector else Point(form.world, {v: 1}) for v in key)
                    total = total + (left @ right) * factor
            form = total
        return form


def _solved(vanishing: Sequence[Point]) -> list[tuple[int, Point]]:
    """Solve equations point = 0, each for a vector whose coefficient is a number; return these vectors and values."""
    done: list[tuple[int, Point]] = []
    for point in vanishing:
        for vector, value in done:
            if vector in point.terms:
                rest = Point(point.world, {k: v for k, v in point.terms.items() if k != vector})
                point = rest + value * point.terms[vector]
        last = max((v for v, factor in point.terms.items() if type(factor) is not Quotient), default=None)
        if last is not None:
            done.append((last, point * (-1 / point.terms[last]) + Point(point.world, {last: 1})))
    return done


def _boxes(box: Sequence[Ends], facts: Sequence[Fact], states: frozenset[int]) -> list[list[Ends]]:
    """Return boxes that contain all values of the symbols; each box is a subset of the next box.

    The first box has all ends that follow from hypotheses. In the second box, symbols for rounds and states have no
    upper ends.
    """
    full = bounded(box, facts, range(len(box)))
    if all(full[place][1] is None for place in states):
        return [full]
    return [full, [(low, None if place in states else high) for place, (low, high) in enumerate(full)]]


def _has_interior(box: Sequence[Ends]) -> bool:
    """Return whether a box is the closure of its interior: the two ends of each range differ, except on a thin set."""
    width = len(box)
    for place, (low, high) in enumerate(box):
        if low is None or high is None:
            continue
        gap = Quotient(constant(0, width), constant(1, width), width) + high - low
        earlier = before(box, place)
        sign = sign_of(gap.bottom, earlier)
        if not gap.top or not sign or not is_nonnegative(gap.top if sign == 1 else -gap.top, earlier):
            return False
    return True

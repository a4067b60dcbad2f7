"""The rule for every function of a class at every value of the parameters, and after any number of rounds.

*Theorem.* A statement has parameters t, which are numbers in ranges between ends, and a function f of a class. Let B be
the box of all t between the ends, and T the set of all t in B that meet the hypotheses on t. The statement's function
is evaluated once, on symbols t and on a trace of the class. Points are linear combinations of free vectors v. Numbers
are linear combinations of inner products of these vectors, of function values and of 1. All coefficients are quotients
of polynomials in t. The line of the statement holds for every t in T and every f if the following is shown:

1. *Everything is defined.* Each divisor, also in the ends of ranges, has one strict sign on T. Constants of the class
   are at least 0. For functions, the smoothness is larger than the strong convexity (if they are equal, there are
   other conditions). For operators, mu <= L and mu beta <= 1, so that no class is empty; their conditions only
   multiply by constants, and hold at every t. A symbolic proximal step is positive, and a symbolic distance is at
   least 0. Each divisor and each requirement of a function or a round is shown from the facts that are known *where it
   is used*. This also holds for symbols of a round. Facts that are supposed later, or only for another line, are not
   used. This is also shown on paths that end outside the hypotheses.
2. *Conditions are true.* At each t in T, the numbers c_j(t, f) are at least 0 (interpolation, hypotheses, the current
   branch), and the numbers e_k(t, f) are 0. Two points count as one point only if they are equal identically in t;
   otherwise less is known.
3. *Identity.* slack - sum l_j c_j - sum n_k e_k - sum s_m h_m(t) <d_m, d_m> is a form of the vectors, identically in
   t: function values and 1 cancel. l_j and s_m are quotients that are at least 0 on T, and h_m(t) >= 0 is a
   hypothesis.
4. *The form is positive semidefinite.* Let c be the common denominator, with one strict sign on T. Times |c|, the form
   is a matrix P of polynomials, which consists of blocks and is 0 between them. In each block, and in the blocks that
   remain, elimination without fractions (E. H. Bareiss, 1968) keeps polynomials, by Sylvester's identity. It gives
   pivots that are nonzero polynomials, each shown to be nonnegative, and rows that are identically 0. B, with all ends
   that hypotheses give, is the closure of its interior: the gaps between ends are nonzero and nonnegative, in each
   variable. Therefore near each t in T there are points of B at which all pivots are positive. At these points P =
   L D L' is positive semidefinite, and the set of such matrices is closed. A sign that was shown on a larger box was
   shown on B. A sign that a strict hypothesis gives at t also holds near t, because polynomials are continuous.
5. *Rounds.* ``iterate(step, start, N, invariant=I)`` adds two statements to be shown. The first is I(start, 0). The
   second is about a new state of free points, free numbers and symbols, and a new n from 0 to N - 1: I(state, n)
   implies I(step(state), n + 1). By induction, I holds for the last state, which again consists of new points, numbers
   and symbols: only I is supposed about them. After a round, its requests of f, its hypotheses and its decisions are
   forgotten, and the round returns no part of them. Both statements are also shown on paths without the line, because I
   may decide which path is followed.
6. *It is about something.* A witness, an instance of numbers with a function, meets the hypotheses and has the line.
7. *Any number of functions.* Functions f_1, ..., f_n of the class count as one function F(v) = mean f_i(v_i) of split
   vectors v = (v_1, ..., v_n), with the inner product mean <u_i, v_i>; the conditions on F are means of the conditions
   on the f_i. Each v is the sum of its mean and a vector with mean 0, and vectors of these two kinds are orthogonal.
   Therefore free vectors of each kind, whose products with the other kind are 0, stand for every n.

A symbol for an integer stands for all real numbers, so the proof shows more than necessary. If hypotheses are
equations, T is a thin part of B. The proof then holds on B, or near T in B.
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
    """Prove a line for every function of a class at every value of the parameters, by the theorem of this module.

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
    """Yield what multipliers must prove, in every case of the choices and on every path; prove facts on symbols here.

    Raises
    ------
    Refused
        If a fact about symbols alone is not shown.
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
    """Require all facts without which used values would not exist; ``later`` is as in ``require_divisors``.

    Raises
    ------
    Refused
        If such a fact is not shown.
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
    """Return a ``Need`` with which facts about symbols can be proved from known facts.

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
    """A place of a statement, with the facts about symbols and functions that are known there.

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
        """Yield what multipliers must prove for facts, each named with its index; prove facts about symbols here."""
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
        """Return a form in which each vector is replaced by the value that hypotheses give it."""
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
    """Return vectors with their values, if points are 0; each value divides by a coefficient that is a number."""
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
    """Return boxes that contain every value; each box lies within the next box.

    The first box has all ends that hypotheses give. In the second box, symbols for rounds and states have only lower
    ends.
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

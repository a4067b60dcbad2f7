"""A decided line as a LaTeX page: the statement, and the counterexample as a table or the certificate as a sum."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from clusterproof.checker.export.expressions import Expression, sides_of
from clusterproof.checker.export.formulas import Exporter, Formulas
from clusterproof.checker.export.latex_squares import MOST, squares_in
from clusterproof.checker.export.ranges_in_words import Notation, ranges_of
from clusterproof.checker.export.rocq_lemma import Lemma
from clusterproof.checker.kernel import printed
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.functions import noun_of
from clusterproof.checker.kernel.numbers import read
from clusterproof.checker.kernel.quotients import Fact
from clusterproof.checker.report.verdict import Verdict

DOCUMENT = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{amsmath,amssymb,amsthm}
\newtheorem*{claim}{Claim}
\allowdisplaybreaks
\sloppy
\begin{document}
%s
\end{document}
"""
NAMED = {"|": "bar", "\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater"}
SPECIAL = {c: rf"\{c}" for c in "&%$#_{}"} | {c: rf"\text{name}{{}}" for c, name in NAMED.items()}
WIDEST = 130
"""Largest number of characters in a row of multipliers."""
SHOWN = {
    "exhausted": "Every instance of the finite space was computed in fractions.",
    "signs": "The right side minus the left side is a quotient of polynomials. In the distances "
    "from the ends of the ranges, it has no negative coefficient (Bernstein's test), and no divisor is zero there.",
    "squares": "The right side minus the left side is a sum of squares, and of squares times ranges and hypotheses.",
    "induction": "The invariant of the loop holds at its start. If it holds for a state, it holds after one more "
    "round. The conclusion follows from it. Each of these steps is proved with coefficients in the ranges (Bernstein's "
    "test) or with sums of squares.",
    "family": "The right side minus the left side is a sum of multiples of the conditions of the class, and of a "
    "positive semidefinite form. The multipliers are quotients of polynomials in the parameters.",
    "empty": "Some hypothesis fails at all values of the quantities (if the claim has several cases, in each of them).",
}


class Described(Protocol):
    """The author's description of a claim: id, place in the paper, title, and further sentences."""

    @property
    def id(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def label(self) -> str: ...  # noqa: D102 - likewise
    @property
    def title(self) -> str: ...  # noqa: D102 - likewise
    @property
    def text(self) -> str: ...  # noqa: D102 - likewise


MATHEMATICS = re.compile(r"(\$(?=\S)[^$\n]*(?<=\S)\$(?!\d))")
"""Pattern for text between dollar signs, except prices such as $5 and $6."""


def text_of(text: str) -> str:
    """Return a text in which LaTeX's special characters are escaped, except between dollars."""
    parts = MATHEMATICS.split(text)
    escaped = "".join(part if k % 2 else _escaped(part) for k, part in enumerate(parts))
    return re.sub(r"[^\x00-\x7f]", lambda found: f"[U+{ord(found[0]):04X}]", escaped)


def _escaped(text: str) -> str:
    raised = re.split(r"\^(-?[\w*]+|\([^()\n]*\))", text)
    parts = ["".join(SPECIAL.get(c, c) for c in part) for part in raised]
    return "".join(rf"\textsuperscript{{{part}}}" if k % 2 else part for k, part in enumerate(parts))


def page(claim: Described, text: str, record: Mapping[str, Any], word: str) -> str:
    """Return a complete LaTeX document."""
    return DOCUMENT % body(claim, text, record, word)


def body(claim: Described, text: str, record: Mapping[str, Any], word: str) -> str:
    """Return LaTeX for a draft: the claim in a theorem environment, and the evidence that decides it."""
    line = printed(record["statement"], record["line"])
    parts = [*_stated(claim, line), rf"\noindent\textbf{{{word.capitalize()}.}}"]
    exporter = Exporter(text, record["statement"])
    if record["rule"] != "instance" and exporter.ranges:
        notation = Notation(_symbol, _math, text_of, "${}$".format, r"\le")
        items = (rf"\item {each}" for each in ranges_of(exporter, notation))
        parts += ["Proved for every", r"\begin{itemize}", *items, r"\end{itemize}"]
    try:
        parts += list(_evidence(text, record))
    except (Refused, TypeError, AttributeError, KeyError):
        parts.append(r"The evidence is in \texttt{evidence.json}.")
    return "\n".join(parts)


def _stated(claim: Described, line: str) -> list[str]:
    of_line = rf" Line: {text_of(line)}." if line else ""
    paragraphs = "\n\n".join(map(_paragraph, claim.text.split("\n\n")))
    name = text_of(f"{claim.id}: {claim.label}" if claim.label else claim.id)
    return [
        rf"\begin{{claim}}[{{{name}}}]",
        f"{text_of(claim.title)}{of_line}",
        "",
        paragraphs,
        r"\end{claim}",
        "",
    ]


def _paragraph(part: str) -> str:
    """Write a paragraph. A line above indented lines is their heading, or the name of a line."""
    lines = part.split("\n")
    depth = [len(line) - len(line.lstrip()) for line in lines]
    texts = []
    for line, own, below in zip(lines, depth, [*depth[1:], 0], strict=True):
        text = re.sub("``(.+?)``", r"\\texttt{\1}", text_of(line.strip()))
        text = text.replace(r"\textless{}=", r"$\le$").replace(r"\textgreater{}=", r"$\ge$")
        if below > own:
            text = rf"\par\emph{{{text}.}}" if own else rf"\noindent\textbf{{{text}.}}"
        texts.append(text)
    return "\n".join(texts)


def _table(rows: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Write the quantities of an instance as a table."""
    lines = [
        f"${_symbol(name)}$ & ${_number(value)}$\\\\"
        if isinstance(value, int | Fraction) and type(value) is not bool
        else f"{text_of(name)} & {text_of(str(value))}\\\\"
        for name, value in rows
    ]
    if lines:
        yield from (
            r"\begin{center}\renewcommand{\arraystretch}{1.3}\begin{tabular}{lp{8cm}}",
            "quantity & value\\\\\\hline",
            *lines,
            r"\end{tabular}\end{center}",
        )


def _points(function: str, groups: Iterable[Iterable[Any]], *, images: bool) -> Iterator[str]:
    """Write the points at which a member of a class is known as tables.

    The tables have the gradients and values of a function; if ``images``, they have the images of an operator.
    """
    for k, triplets in enumerate(groups, start=1):
        own = _symbol(function) if k == 1 else rf"{_symbol(function)}_{{{k}}}"
        yield rf"\begin{{center}}\renewcommand{{\arraystretch}}{{1.3}}\begin{{tabular}}{{{'ll' if images else 'lll'}}}"
        yield rf"$x$ & ${own}(x)$\\\hline" if images else rf"$x$ & $\nabla {own}(x)$ & ${own}(x)$\\\hline"
        for point, gradient, value in triplets:
            vectors = (
                f"({', '.join(_number(read(each)) for each in vector)})" for vector in (point, gradient)
            )
            heights = () if images else (_number(read(value)),)
            yield " & ".join(f"${text}$" for text in (*vectors, *heights)) + r"\\"
        yield r"\end{tabular}\end{center}"


def of_verdict(claim: Described, verdict: Verdict) -> str:
    """Return LaTeX for a draft: each line that the kernel decides, otherwise the claim and its verdict."""
    several = verdict.lines or (verdict,)
    decided = [line for line in several if line.evidence is not None]
    if not decided:
        text = rf"\noindent\textbf{{{verdict.verdict.capitalize()}.}} {text_of(verdict.reason)}."
        return "\n".join([*_stated(claim, ""), text, *_table((verdict.counterexample or {}).items())])
    parts = []
    for line in decided:
        record = line.evidence
        assert record is not None
        parts.append(body(claim, verdict.text, record, str(line.verdict)))
    return "\n\n".join(parts)


def _evidence(text: str, record: Mapping[str, Any]) -> Iterator[str]:
    rule = record["rule"]
    if rule == "instance":
        yield from _counterexample(Exporter(text, record["statement"]), record)
    elif rule == "dual":
        yield from _multipliers(record)
    else:
        yield SHOWN[rule]
        if rule in ("signs", "squares", "induction"):
            exporter = Exporter(text, record["statement"], record)
            cases = list(itertools.islice(exporter.cases(), 2))
            reached = [each for each in exporter.paths(record["line"], cases[0]) if each.sides is not None]
            if rule == "induction":
                yield from _loops(reached[0])
                return
            whole = exporter.without_branches(record["line"], {})
            if whole is not None or (len(cases) == 1 and len(reached) == 1):
                yield from _formula(whole or reached[0])
            if rule == "squares" and len(cases) == 1:
                yield from _squares(reached, iter(record["blocks"]))


def _counterexample(exporter: Exporter, record: Mapping[str, Any]) -> Iterator[str]:
    formulas = exporter.at(record["line"], exporter.stated.space.read(record["instance"]))
    rows: list[tuple[str, Any]] = [(q.name, q.expression.value) for q in formulas.quantities]
    rows += [(name, value) for name, value in formulas.texts.items() if isinstance(value, str | bool)]
    function = exporter.stated.space.function
    if rows or function:
        yield "The hypotheses hold, but the conclusion fails, at"
        yield from _table(rows)
    if function:
        of_class: Any = exporter.stated.space.ranges[function]
        images = noun_of([kind for _, kind, _ in of_class.groups]) == "operator"
        yield from _points(function, record["instance"][function]["triplets"], images=images)
    assert formulas.sides is not None
    for slack in formulas.sides.slacks:
        for each in slack if type(slack) is tuple else (slack,):
            larger, smaller = (
                _number(side.value if isinstance(side, Expression) else side).replace("tfrac", "frac")
                for side in sides_of(each)
            )
            sign = r"\ne" if formulas.sides.equation else r"\not\le"
            gap: Any = each.value if isinstance(each, Expression) else each
            if (gap != 0) if formulas.sides.equation else gap < 0:
                yield (
                    rf"\[ {larger} {sign} {smaller}. \]"
                    if formulas.sides.equation
                    else rf"\[ {smaller} {sign} {larger}. \]"
                )


def _formula(formulas: Formulas) -> Iterator[str]:
    assert formulas.sides is not None
    names = {key: _symbol(name) for key, (_, name) in formulas.record.names.items()}
    for slack in formulas.sides.slacks:
        larger, smaller = sides_of(slack)
        sign = "=" if formulas.sides.equation else r"\le"
        pair = (larger, smaller) if formulas.sides.equation else (smaller, larger)
        left, right = (_math(side, names=names) for side in pair)
        lengths = [len(re.sub(r"\\[a-z]+|[{}]", "", side)) for side in (left, right)]
        if sum(lengths) < WIDEST // 2:
            yield rf"\[ {left} {sign} {right}. \]"
        elif max(lengths) < WIDEST // 2:
            yield rf"\begin{{multline*}} {left}\\ {sign} {right}. \end{{multline*}}"


def _squares(paths: Sequence[Formulas], blocks: Iterator[Any]) -> Iterator[str]:
    """Write the sums of squares, one for each path and each fact that needs one."""
    for formulas in paths:
        assert formulas.path is not None
        lemma = Lemma(formulas, formulas.path)
        names = [_symbol(q.name) for q in formulas.quantities if not q.options]
        factors = list(_factors(formulas, lemma.known))
        for fact, slack in lemma.in_symbols():
            needed = lemma.squares(slack, blocks)
            if not needed:
                continue
            terms = list(itertools.islice(squares_in(needed, names, factors, _number), MOST + 1))
            more = [r"\cdots"] if len(terms) > MOST else []
            branches = dict.fromkeys(_fact(each, {}) for each, _ in formulas.path.decisions)
            where = f" if ${', '.join(branches)}$" if branches else ""
            yield ""
            yield f"Up to positive denominators, the right side minus the left side is, for ${_fact(fact, {})}${where},"
            rows = r"\\ & + ".join([*terms[:MOST], *more]).replace("+ -", "- ")
            yield rf"\begin{{align*}} & {rows} \end{{align*}}"


def _factors(formulas: Formulas, facts: Sequence[Fact]) -> Iterator[str]:
    """Write the numbers that are at least 0 by the ranges and hypotheses, in the order of the evidence."""

    def between(small: Any, large: Any) -> str:
        return (
            _math(large, 3)
            if not isinstance(small, Expression) and small == 0
            else (f"({_math(large, 1)} - {_math(small, 2)})")
        )

    for q in formulas.quantities:
        if not q.options:
            yield from () if q.low is None else (between(q.low, q.expression),)
            yield from () if q.high is None else (between(q.expression, q.high),)
    for fact in facts:
        larger, smaller = sides_of(fact.slack)
        yield from (between(smaller, larger), between(larger, smaller))[: 2 if fact.equation else 1]


def _loops(formulas: Formulas) -> Iterator[str]:
    """Write for each loop its state, a round, and the invariant: the facts that hold after every round."""
    assert formulas.path is not None
    sourced = {key: _symbol(name) for key, (_, name) in formulas.record.names.items()}
    for loop in formulas.path.unknowns:
        if loop.count is None or not loop.said:
            continue
        state = {id(leaf): sourced.get(id(leaf), rf"x_{{{k}}}") for k, leaf in enumerate(loop.state, start=1)}
        names = sourced | state | {id(loop.passed): "t"}

        def rows(sign: str, values: Sequence[Any], state: Any = state, names: Any = names) -> str:
            return r"\\ ".join(
                f"{own} {sign} {_math(value, names=names)}"
                for own, value in zip(state.values(), values, strict=True)
            )

        yield ""
        yield rf"A loop of ${_math(loop.count, names=names)}$ rounds begins with"
        yield rf"\begin{{gather*}} {rows('=', loop.start[0].values)}. \end{{gather*}}"
        if len(loop.paths) == 1 and len(rows("=", loop.paths[0].values)) < 3 * WIDEST:
            yield "A round replaces the state:"
            yield rf"\begin{{gather*}} {rows(chr(92) + 'leftarrow', loop.paths[0].values)}. \end{{gather*}}"
        yield "After $t$ rounds, the state satisfies"
        facts = [_fact(fact, names) for fact in loop.before[2:]]
        yield r"\begin{gather*} " + r"\\ ".join(facts) + r". \end{gather*}"
    written = list(_formula(formulas))
    if written:
        yield "The conclusion is"
        yield from written


def _fact(fact: Any, names: Mapping[int, str]) -> str:
    larger, smaller = sides_of(fact.slack)
    small, large = (_math(side, names=names) for side in (smaller, larger))
    sign = "<" if fact.strict else r"\le"
    return f"{large} = {small}" if fact.equation else f"{small} {sign} {large}"


def _multipliers(record: Mapping[str, Any]) -> Iterator[str]:
    yield "For every function of the class, the right side minus the left side is a sum of multiples of its conditions"
    yield "and of a positive semidefinite form. These are the multiples; a pair $(i,j)$ of points means the"
    yield "interpolation condition of the function at these points."
    for each in record["settings"]:
        words = ", ".join(
            f"{_symbol(name)} = {_number(read(value))}"
            for name, value in each["setting"].items()
            if type(value) in (int, str)
        )
        for path in each["paths"]:
            for proof in path:
                terms = []
                for name, value in proof["multipliers"].items():
                    oracle, _, pair = name.partition(":")
                    label = (
                        rf"c^{{{oracle}}}_{{{pair.partition(':')[0]}}}"
                        if pair
                        else rf"\text{{{text_of(name)}}}"
                    )
                    terms.append(rf"{_number(read(value))}\,{label}")
                rows = [[terms[0]]]
                for term in terms[1:]:
                    if len("".join(rows[-1])) + len(term) > WIDEST:
                        rows.append([])
                    rows[-1].append(term)
                start = rf"{words}:\quad " if words else ""
                yield (
                    rf"\begin{{align*}} {start}& "
                    + " \\\\ & + ".join(map(" + ".join, rows))
                    + r" \end{align*}"
                )


def _symbol(name: str) -> str:
    return rf"\mathit{{{text_of(name)}}}"


def _number(value: Any) -> str:
    exact = Fraction(value)
    if max(len(str(exact.numerator)), len(str(exact.denominator))) > 20:
        return rf"{float(exact):.6g}\ldots"
    if exact.denominator == 1:
        return str(exact.numerator)
    return rf"{'-' if exact < 0 else ''}\tfrac{{{abs(exact.numerator)}}}{{{exact.denominator}}}"


def _math(value: Any, level: int = 0, names: Mapping[int, str] | None = None) -> str:
    """Write a formula, in brackets if its operator binds less than the level; ``names`` has the names of states."""
    if not isinstance(value, Expression):
        return _number(value)
    if value.operator in ("number", "quantity"):
        own = (names or {}).get(id(value)) or _symbol(value.parts[0] if value.operator == "quantity" else "")
        return _number(value.value) if value.operator == "number" else own

    def part(k: int, least: int = 0) -> str:
        return _math(value.parts[k], least, names)

    match value.operator:
        case "/":
            return rf"\frac{{{part(0)}}}{{{part(1)}}}"
        case "^":
            return f"{part(0, 3)}^{{{value.parts[1]}}}"
        case "min" | "max":
            return rf"\{value.operator}\{{{part(0)}, {part(1)}\}}"
        case "abs":
            return rf"\lvert {part(0)}\rvert"
        case "negative":
            text, strength = f"-{part(0, 2)}", 1
        case "*":
            text, strength = rf"{part(0, 2)}\,{part(1, 2)}", 2
        case sign:
            text, strength = f"{part(0, 1)} {sign} {part(1, 2 if sign == '-' else 1)}", 1
    return rf"({text})" if strength < level else text

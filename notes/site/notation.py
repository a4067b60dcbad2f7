"""Plain text as print has it: signs, Greek letters, subscripts and superscripts where a keyboard spells them out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from docutils import nodes

NAMES = (
    "alpha beta gamma delta epsilon eps zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega "
    "Gamma Delta Theta Lambda Pi Sigma Phi Psi Omega"
)
GREEK = dict(zip(NAMES.split(), "αβγδεεζηθκλμνξπρστφχψωΓΔΘΛΠΣΦΨΩ", strict=True))
MINUS = re.compile(
    r"(?<![\w~-])(?!(?<=\))-[a-z]{4})-(?=[\s\w.(‖|])|(?<=[_^])-|(?<=\b[a-zA-Z])-(?=\d\b)|(?<=\d[a-zA-Z])-(?=\d\b)"
    r"|(?<=[_^]\([a-zA-Z])-(?=[a-zA-Z]\))|(?<=\b[a-zA-Z]-\d)-(?=\w\b)|(?<=\de)-(?=\d)"
)
"""A hyphen that is a minus: before a number or a name, between spaces, in an exponent; not in or before a word."""

SIGNS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile("<="), "≤"),
    (re.compile(">="), "≥"),
    (re.compile(">~"), "≳"),
    (re.compile("<~"), "≲"),
    (re.compile("!="), "≠"),
    (re.compile(r"(?<=\d) x (?=\d)"), " \N{MULTIPLICATION SIGN} "),
    (re.compile(r"\|\|"), "‖"),
    (re.compile(r"<(?=\S[^<>=]{0,30},)([^<>=]*[^<>=\s-])>"), r"⟨\1⟩"),
    (re.compile(r"\+-(?=\d)|(?<=\s)\+-(?=\s)"), "±"),
    (re.compile(r"(?<=\s)-\+(?=\s)"), "∓"),
    (re.compile(r"(?<=\d\))-(?=\([A-Z]?\d)"), "\N{EN DASH}"),
    (re.compile(r"(?<=\w) \. (?=[\w(])"), " · "),
    (re.compile(r"(?<=‖)\.(?=‖)"), "·"),
    (
        re.compile(r"(?<![^\W_])(?<!')([A-Za-z])('{1,3})(?![^\W_'])"),
        lambda found: found[1] + "\N{PRIME}" * len(found[2]),
    ),
    (re.compile(r"(?<=[^\W_]) \.\. (?=\w)"), ", …, "),
    (re.compile(r"(?<=[+,:] )\.\.(?= )"), "…"),
    (re.compile(r"(?<=\s)->(?=\s)"), "→"),
    (re.compile(r"(?<=\s)<-(?=\s)"), "←"),
    (MINUS, "\N{MINUS SIGN}"),
    (
        re.compile(rf"(?<![A-Za-z-])(?<![A-Za-z]{{2}}_)({'|'.join(GREEK)})(?![A-Za-z]| function)"),
        lambda found: GREEK[found[1]],
    ),
    (re.compile(r"(?<=[\u03b1-\u03c9])~|(?<=\bO)~(?=\()"), "\N{COMBINING TILDE}"),
    (re.compile(r"\bsqrt\((\w)\)"), r"√\1"),
    (re.compile(r"\bsqrt(?=\()"), "√"),
    (re.compile(r"(?<=[A-Z]_\w) n (?=[A-Z]\*)"), " ∩ "),
    (re.compile(r"\bsum(?=_)"), "\N{N-ARY SUMMATION}"),
    (re.compile(r"\bint(?=_\()"), "∫"),
    (re.compile(r"\bgrad(?=_)|\bgrad (?=[^\W\d]\b|[^\W\d][_^(])"), "∇"),
    (re.compile(r"(?<![^\W_])([^\W\d_])_bar\b"), "\\1\N{COMBINING MACRON}"),
    (re.compile(r"(?<![^\W_])([^\W\d_])_hat\b"), "\\1\N{COMBINING CIRCUMFLEX ACCENT}"),
    (
        re.compile("(?<=\\d)e([+\N{MINUS SIGN}]?)0*(\\d+)\\b"),
        lambda found: f"·10^{found[1].strip('+')}{found[2]}",
    ),
)
SCRIPT = re.compile(
    "(?P<base>(?<![^\\W\\d_])(?:[^\\W\\d_]{1,2}|WCSS|Var|arg(?:min|max)|max|min|sup)\\*?"
    "|[∇∫\N{N-ARY SUMMATION}])"
    "_(?P<below>\\((?:[^()]|\\((?:[^()]|\\([^()]*\\))*\\))*\\)|\\{[^{}]*\\}|[A-Za-z0-9\u0370-\u03ff]{1,4}(?![A-Za-z0-9\u0370-\u03ff_])"
    "|[*\N{MINUS SIGN}+])"
    "|\\^(?P<above>\\((?:[^()]|\\([^()]*\\))*\\)|[+\N{MINUS SIGN}]?[^\\W_]+|[*+\N{MINUS SIGN}])"
)
"""A subscript of a letter or two, and a superscript of anything; parentheses or braces around it are dropped."""


def written(text: str) -> list[nodes.Node]:
    """Write a text without code, with its scripts raised and lowered."""
    for pattern, sign in SIGNS:
        text = pattern.sub(sign, text)
    found: list[nodes.Node] = []
    end = 0
    for one in SCRIPT.finditer(text):
        found.append(nodes.Text(text[end : one.start()] + (one["base"] or "")))
        script = one["below"] or one["above"]
        inner = script[1:-1] if script[0] in "({" else script
        kind: Any = nodes.subscript if one["below"] else nodes.superscript
        found.append(kind("", "", *written(inner)))
        end = one.end()
    return [*found, nodes.Text(text[end:])]

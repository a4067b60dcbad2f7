"""Tuples in Rocq's notation, and tactics for their parts."""

from __future__ import annotations

from collections.abc import Sequence


def tuple_of(texts: Sequence[str]) -> str:
    """Write a tuple; for a single part, the part itself."""
    return f"({', '.join(texts)})" if len(texts) > 1 else texts[0]


def quoted(names: Sequence[str]) -> str:
    """Write the pattern of a tuple after ``let``."""
    return f"'{tuple_of(names)}" if len(names) > 1 else names[0]


def opened(names: Sequence[str]) -> str:
    """Write the pattern of a tuple after ``intros``."""
    pattern = names[0]
    for name in names[1:]:
        pattern = f"[{pattern} {name}]"
    return pattern


def destructed(name: str, parts: Sequence[str]) -> str:
    """Write the tactic that names the parts of a conjunction."""
    if len(parts) == 1:
        return f"rename {name} into {parts[0]}."
    return f"destruct {name} as ({' & '.join(parts)})."


def split_by(tactics: Sequence[str]) -> str:
    """Write the tactic that proves each part of a conjunction with its own tactic."""
    *first, text = tactics
    for tactic in reversed(first):
        text = f"split; [{tactic} | {text}]"
    return text

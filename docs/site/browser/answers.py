"""The entry point for pages: a page sends a question as JSON, and gets an answer as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from clusterproof.checker.kernel import Refused
from docs.site.browser.python_file import text_of
from docs.site.browser.search import search, start, verdict
from docs.site.browser.sides import describe, look

ASKED: dict[str, Callable[..., Any]] = {
    "describe": describe,
    "look": look,
    "start": start,
    "verdict": verdict,
    "search": search,
}


def answer(question: str) -> str:
    """Answer a question: the name of a function and its arguments.

    The function ``own`` has a reader's file as its argument, and searches for a counterexample to its claim. If there
    is no answer, ``refused`` contains the reason.
    """
    name, *arguments = json.loads(question)
    try:
        if name == "own":
            text = text_of(arguments[0])
            return json.dumps({"text": text, **search(text)})
        return json.dumps(ASKED[name](*arguments))
    except Refused as refused:
        return json.dumps({"refused": str(refused)})
    except (RecursionError, MemoryError):
        return json.dumps(
            {"refused": "it is nested too deeply, or too long, for a browser: install Clusterproof"}
        )

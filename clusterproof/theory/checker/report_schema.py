"""The JSON schema of a report, derived from the verdict's own fields."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from clusterproof.theory.checker.verdict import Verdict

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def report_schema() -> dict[str, Any]:
    """Give the schema of what ``check --json`` writes: a list of verdicts, every field of each present.

    Returns
    -------
    dict
        JSON Schema, draft 2020-12.
    """
    (found,), definitions = msgspec.json.schema_components([list[Verdict]])
    verdict = definitions["Verdict"]
    verdict["properties"]["code"] = {
        "anyOf": [{"type": "string"}, {"type": "null"}],
        "description": "The counterexample as Python to paste; null where there is none.",
    }
    for name in ("Verdict", "Confidence"):
        properties = definitions[name]["properties"]
        for one in properties.values():
            one.pop("default", None)
        definitions[name] |= {"required": sorted(properties), "additionalProperties": False}
    verdict["properties"]["claim"] = {"type": "string", "pattern": ".+/.+"}
    for name in ("trials", "failures", "instances"):
        verdict["properties"][name] = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}
    first_lines(definitions)
    assert set(verdict["properties"]) == {each.name for each in dataclasses.fields(Verdict)} | {"code"}
    return {"$schema": DIALECT, "title": "A report of clusterproof check", **found, "$defs": definitions}


def first_lines(definitions: dict[str, Any]) -> None:
    """Keep the first line of each description, in place."""
    for definition in definitions.values():
        if text := definition.get("description"):
            definition["description"] = text.partition("\n")[0]

"""Requests and replies as Flower's records, and what stands in a run's configuration."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from clusterproof.algorithms import InvalidArgument
from clusterproof.deployment.messages import Reply, Request


def request_record(request: Request, round_number: int) -> RecordDict:
    """Write a request."""
    numbers = {name: float(value) for name, value in request.numbers.items()}
    return RecordDict(
        {
            "arrays": _arrays(request.arrays),
            "question": ConfigRecord(
                {"method": request.method, "turn": request.turn, "round": round_number, **numbers}
            ),
        }
    )


def read_request(content: RecordDict) -> tuple[Request, int]:
    """Read a request, and the number of the round."""
    question = dict(content.config_records["question"])
    method, (turn, number) = (
        str(question.pop("method")),
        (int(question.pop(name)) for name in ("turn", "round")),
    )  # type: ignore[arg-type]
    numbers = {name: float(value) for name, value in question.items()}  # type: ignore[arg-type]
    return Request(method, _read_arrays(content.array_records["arrays"]), numbers, turn), number


def reply_record(reply: Reply) -> RecordDict:
    """Write a reply."""
    return RecordDict({"arrays": _arrays(reply.arrays), "facts": ConfigRecord({"samples": reply.samples})})


def read_reply(content: RecordDict) -> Reply:
    """Read a reply; raises ValueError or KeyError where it is none."""
    samples: Any = content.config_records["facts"]["samples"]
    return Reply(_read_arrays(content.array_records["arrays"]), samples)


def read_options(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Read an entry of the run's configuration that is an object in JSON.

    Raises
    ------
    InvalidArgument
        If it is none.
    """
    try:
        found = json.loads(str(config[name]))
    except (KeyError, ValueError) as error:
        raise InvalidArgument(name, config.get(name), f"must be JSON ({error})", "such as '{}'") from error
    if not isinstance(found, dict):
        raise InvalidArgument(name, found, "must be an object", "such as '{}'")
    return found


def load_name(argument: str, place: str) -> Any:
    """Import what ``MODULE:NAME`` says.

    Raises
    ------
    InvalidArgument
        If there is no such thing.
    """
    module, _, name = place.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        rule = f"must be MODULE:NAME of something that is installed ({error})"
        raise InvalidArgument(
            argument, place, rule, "such as clusterproof.deployment.example:own_data"
        ) from error


def _arrays(arrays: Mapping[str, np.ndarray]) -> ArrayRecord:
    return ArrayRecord({name: Array(np.asarray(array)) for name, array in arrays.items()})


def _read_arrays(record: ArrayRecord) -> dict[str, np.ndarray]:
    return {name: array.numpy() for name, array in record.items()}

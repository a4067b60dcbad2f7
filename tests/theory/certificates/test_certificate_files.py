"""What is read as a certificate: files, mappings, text and bytes; nothing else, and no change of it is accepted."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterproof.commands.application import main
from clusterproof.common import InvalidArgument
from clusterproof.theory import certificates
from clusterproof.theory.certificates import Document, read_certificate, to_json, verify, write_certificate
from clusterproof.theory.certificates.parameters import root_above, round_up


@cache
def honest() -> tuple[Document, ...]:
    found: list[Any] = [
        certificates.certify("0.6", 10, "1/2", disturbance=True),
        certificates.certify("0.3", 10, "1/2", function_class="quadratic"),
        certificates.certify(algorithm="scaffold", strong_convexity="1/10", local_steps=2, step_size="1/4"),
    ]
    return tuple(one.document for one in found)


@given(
    document=st.binary(max_size=200)
    | st.text(max_size=200)
    | st.sampled_from(["[" * 60_000, '{"a":' * 12_000])
)
@settings(max_examples=examples(150))
def test_arbitrary_documents_are_unreadable(document: bytes | str) -> None:
    outcome = verify(document)
    assert not outcome.valid
    assert not outcome.readable


def test_mappings_text_bytes_and_files_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    for document in honest():
        write_certificate(document, path)
        assert read_certificate(path) == document
        text = path.read_text()
        for form in (path, text, text.encode(), json.loads(text), document):
            outcome = verify(form)
            assert outcome.valid
            assert outcome.document == document
        assert list(tmp_path.iterdir()) == [path]


def test_names_given_twice_and_unknown_names_are_refused() -> None:
    text = to_json(honest()[0])
    outcome = verify(text.replace('"source":', '"source": "",\n "source":', 1))
    assert not outcome.readable
    assert "twice" in outcome.condition
    assert "comment" in verify({**json.loads(text), "comment": ""}).condition


def test_files_that_are_none_are_unreadable(tmp_path: Path) -> None:
    huge = tmp_path / "huge.json"
    with open(huge, "wb") as file:
        file.truncate(10**12)  # sparse
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (huge, pipe, tmp_path, tmp_path / "missing", Path("/dev/zero"), Path("a\0b")):
        outcome = verify(path)
        assert not outcome.valid
        assert not outcome.readable
        with pytest.raises(InvalidArgument, match="must be a certificate"):
            read_certificate(path)
    huge.unlink()  # a later sweep of this process takes the digest of the files that were opened


def test_a_claim_without_evidence_and_evidence_without_a_claim_are_refused() -> None:
    for document in honest():
        for number in range(len(document.evidence)):
            rest = [each for place, each in enumerate(document.evidence) if place != number]
            assert "there is no evidence" in verify(replace(document, evidence=rest)).condition
        assert not verify(replace(document, source=""))
        assert not verify(replace(document, source="1/0"))
    assert not verify(Document("", []))


@pytest.mark.parametrize("seed", range(examples(12)))
def test_no_changed_number_of_the_evidence_is_accepted_where_it_matters(seed: int) -> None:
    """A multiplier or an entry of a block is changed by a share; what is accepted proves the same claim."""
    stream = random.Random(seed)
    for document in honest():
        content = json.loads(to_json(document))
        places = list(_numbers(content["evidence"]))
        holder, key = places[stream.randrange(len(places))]
        holder[key] = str(Fraction(holder[key]) * Fraction(stream.choice((-1, 2, 0))))
        outcome = verify(content)
        assert outcome.readable
        if outcome.valid:  # with a margin, a smaller multiplier may do
            assert outcome.document is not None
            assert outcome.document.source == document.source


def _numbers(content: Any) -> Any:
    pairs = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in pairs:
        if isinstance(value, dict | list):
            yield from _numbers(value)
        elif key not in ("claim", "line", "rule", "witness") and _is_number(value):
            yield content, key


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and value.replace("/", "").replace("-", "").isdigit() and value != "0"


@pytest.mark.slow(reason="several seconds")
def test_verification_imports_no_solver(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.json" for number, _ in enumerate(honest())]
    for document, path in zip(honest(), paths, strict=True):
        write_certificate(document, path)
    code = (
        "import sys; from pathlib import Path; from clusterproof.theory.certificates import verify\n"
        "assert all(verify(Path(each)) for each in sys.argv[1:])\n"
        "loaded = {'cvxpy', 'clarabel', 'scs', 'scipy', 'osqp', 'PEPit', 'autolyap'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code, *map(str, paths)], check=True, timeout=60)


def test_the_command_says_valid_invalid_and_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    document = honest()[1]
    changed = document.source.replace("PREFACTOR = Fraction(", "PREFACTOR = 0 * Fraction(")
    for status, text in (
        (0, to_json(document)),
        (1, to_json(replace(document, source=changed))),
        (2, to_json(document)[:-9]),
    ):
        path.write_text(text)
        assert main(["verify", str(path)]) == status


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        ("1/4", "1/2"),
        ("2", "71/50"),
        ("0", "0"),
        ("0.0025", "1/20"),
        ("0.00250001", "3/50"),
        ("1/9", "17/50"),
    ],
)
def test_roots_and_numbers_are_rounded_up_to_the_next_hundredth(value: str, rounded: str) -> None:
    assert root_above(Fraction(value), 2) == Fraction(rounded)
    assert round_up(Fraction(rounded), 2) == Fraction(rounded)
    assert round_up(Fraction(rounded) + Fraction(1, 10**9), 2) == Fraction(rounded) + Fraction(1, 100)


def test_a_step_size_of_one_is_the_default() -> None:
    for function_class in ("smooth", "quadratic"):
        default = certificates.certify("0.3", 4, "1/2", function_class=function_class)
        assert default == certificates.certify("0.3", 4, "1/2", step_size=1, function_class=function_class)

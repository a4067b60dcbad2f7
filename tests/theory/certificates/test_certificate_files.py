"""What is read as a certificate: files, mappings, text and bytes; nothing else, at no cost, and as it was written."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from test_certificate_tampering import honest

from clusterproof.algorithms import InvalidArgument
from clusterproof.commands.application import main
from clusterproof.theory.certificates import Certificate, read_certificate, to_json, verify, write_certificate


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
    for certificate in honest():
        write_certificate(certificate, path)
        assert read_certificate(path) == certificate
        text = path.read_text()
        for document in (path, text, text.encode(), json.loads(text), certificate):
            outcome = verify(document)
            assert outcome.valid
            assert outcome.certificate == certificate
        assert list(tmp_path.iterdir()) == [path]


def test_names_given_twice_are_refused() -> None:
    text = to_json(honest()[0])
    doubled = text.replace('"rate":', '"rate": "1/1000",\n "rate":', 1)
    outcome = verify(doubled)
    assert not outcome.readable
    assert "twice" in outcome.condition


def test_a_file_with_another_number_or_name_than_was_written_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    for certificate in honest():
        for place in ((), ("parameters",)):
            for name, value in (("rate" if not place else "momentum", "1/7"), ("remark", "1/7")):
                document = json.loads(to_json(certificate))
                (document[place[0]] if place else document)[name] = value
                path.write_text(json.dumps(document))
                assert not verify(path)


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


@pytest.mark.slow(reason="several seconds")
def test_verification_imports_no_solver(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    write_certificate(honest()[1], path)
    code = (
        "import sys; from pathlib import Path; from clusterproof.theory.certificates import verify\n"
        "assert verify(Path(sys.argv[1]))\n"
        "loaded = {'cvxpy', 'clarabel', 'scs', 'scipy', 'osqp', 'PEPit', 'autolyap'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)


SAVED = sorted((Path(__file__).parents[2] / "saved_files").glob("certificate-*.json"))


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_saved_certificates_are_read_as_they_were_written(path: Path, tmp_path: Path) -> None:
    """Fractions as in the text, and the exit status of each change."""
    text = path.read_text()
    content = json.loads(text)
    found = read_certificate(path)
    assert isinstance(found, Certificate)
    assert str(found.rate) == content["rate"]
    assert {name: str(value) for name, value in vars(found.parameters).items()} == content["parameters"]
    for name, part in (content["proof"] or {}).items():
        assert [str(number) for number in getattr(found.proof, name)] == part
    assert to_json(found) == text
    unreadable = content | {"comment": ""}
    false = replace(found, prefactor=found.prefactor / 2)
    damaged = content | {"sha256": "0" * 64}
    for status, document in ((0, text), (1, to_json(false)), (1, damaged), (2, unreadable), (2, text[:-9])):
        changed = tmp_path / "certificate.json"
        changed.write_text(document if isinstance(document, str) else json.dumps(document))
        assert main(["verify", str(changed)]) == status

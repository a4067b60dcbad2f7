"""The command ``improve``: search for the best certified constant of a claim, or for the best rate of a method."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from clusterproof import checker
from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.checker.freeze import freeze
from clusterproof.checker.freeze.load import load_claims
from clusterproof.checker.report.improvement import CERTIFIED, VIOLATED, Checked, Improvement, improve
from clusterproof.checker.report.variants import constant_of, has_one_comparison, stated_ids, variant
from clusterproof.checker.report.verdict import word_of
from clusterproof.checker.search.best_factor import best_factor
from clusterproof.commands import terminal
from clusterproof.commands.improve_rate import NO_OPTIONS, SPELLING, RateOptions, improve_rate
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import write_whole
from clusterproof.files import TEXT, read_file
from clusterproof.user_files import sources_of

REASON = 100
"""Largest number of characters of a reason in the table."""


def improve_claim(
    *names: Annotated[str, Parameter(completer=terminal.claim_ids)],
    of: str = "",
    evidence: Path | None = None,
    json_file: Annotated[Path | None, Parameter("--json")] = None,
    setting: RateOptions = NO_OPTIONS,
) -> int:
    """Search for the best constant of a claim: the best certified value, and the next value, which is violated.

    The command checks the claim with several values of the constant, each in a separate process. If the claim is false,
    it finds a larger bound that is true. The best factor may depend on the claim's quantities. If the claim is
    certified with a simple formula of these quantities as a factor, the command prints the formula. The potential of a
    loop does not change.

    With --algorithm instead of a claim, the command searches for the best rate of a built-in method, and certifies
    claims that state this rate. The options after --json describe the method.

    Exit status: 0 if a value or rate is certified, 1 if none is certified, 2 for bad input.

    Parameters
    ----------
    names
        Id of a claim and, if it is not in the catalogue, the Python file that states it. The file is executed.
    of
        A term of the bound, such as drift in at_most(..., drift=...), which is multiplied; or a constant of the file,
        such as GAIN, which is replaced. Without this option, the whole bound is multiplied.
    evidence
        Store the verdicts and their evidence in this folder and, for a rate, also the file with its claims, rate.py.
    json_file
        Write all values and their verdicts as JSON.
    """
    terminal.check_outputs(json=json_file, evidence=evidence)
    asked = {name: value for name, value in asdict(setting).items() if value is not None}
    if setting.algorithm is not None:
        for name, value in {"names": " ".join(names), "of": of, "json": json_file}.items():
            if value:
                rule = "must be left out for the rate of an algorithm"
                raise InvalidArgument(name, str(value), rule, "leave out this, or --algorithm")
        return improve_rate(setting, evidence)
    if asked:
        name, value = next(iter(asked.items()))
        option = SPELLING.get(name, name)
        raise InvalidArgument(
            option,
            value,
            "must be left out for a claim",
            "to find the rate of an algorithm, give --algorithm",
        )
    claim, file = _claim_and_file(names)
    source = read_file(file, TEXT).decode()
    constant = constant_of(source, of)
    own = Fraction(1) if constant is None else constant
    variant(source, claim, of, own, claim)  # raises an error if the file does not have the name
    with tempfile.TemporaryDirectory() as folder, terminal.progress(0, lines=True) as advance:
        for name, content in sources_of(file).items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_bytes(content)
        done = 0

        def check(value: Fraction) -> Checked:
            nonlocal done
            done += 1
            advance(done, f"{of or 'factor of the bound'} = {value}")
            return _checked(Path(folder) / file.name, source, claim, of, value, evidence)

        found = improve(check, own)
        formula = _formula(file, Path(folder) / file.name, claim, of, found, evidence)
    if json_file is not None:
        write_whole(
            "json", json_file, f"{json.dumps(_facts(claim, of, found, formula), indent=1)}\n".encode()
        )
    _print(claim, of, found, formula, multiplied=constant is None)
    return 0 if found.certified is not None else 1


def _claim_and_file(names: tuple[str, ...]) -> tuple[str, Path]:
    """Return the id of the claim, and the file that states it."""
    ids, files = terminal.split_names(names)
    if len(ids) > 1 or len(files) > 1 or not names:
        remedy = "write, for example, clusterproof improve proxskip/every-loss"
        raise InvalidArgument(
            "names", " ".join(names) or None, "must be one claim, and the file that states it", remedy
        )
    if not files:
        file = inspect.getsourcefile(checker.find_claim(ids[0]).function)
        assert file is not None
        return ids[0], Path(file)
    path = Path(files[0])
    if not path.is_file():
        raise InvalidArgument("file", str(path), "must be a file that exists", "correct the path")
    stated = ids or stated_ids(read_file(path, TEXT).decode())
    if len(stated) != 1:
        rule = f"states {', '.join(stated) or 'no claim'}"
        raise InvalidArgument("file", str(path), rule, "write the id of one claim before the file")
    return stated[0], path


def _checked(file: Path, source: str, claim: str, of: str, value: Fraction, evidence: Path | None) -> Checked:
    """Return the verdict on a claim with another value of the constant, computed in a separate process."""
    name = f"{claim}.{of or 'bound'}.{value.numerator}-{value.denominator}".lower()
    record = _record(file, variant(source, claim, of, value, name), name, evidence)
    if isinstance(record, str):
        return Checked(value, "not checked", record)
    verdict = word_of(record["verdict"], record["basis"])
    measured, bound = record["measured"], record["bound"]
    is_known = not of and verdict == VIOLATED and measured is not None and bound
    until = value * Fraction(measured) / Fraction(bound) if is_known else None
    return Checked(value, verdict, record["reason"], until)


def _record(file: Path, text: str, name: str, evidence: Path | None) -> dict[str, Any] | str:
    """Write a file, check its claim in a separate process, and return the record, or a message if there is none."""
    file.write_text(text, encoding="utf-8")
    report = file.with_name("verdict.json")
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "clusterproof", "check", str(file), "--search", "--json", str(report)]
    command += [] if evidence is None else ["--evidence", str(evidence.resolve())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not report.is_file():
        said = done.stderr.strip().splitlines()
        return said[-1] if said else f"exit status {done.returncode}"
    (record,) = [each for each in json.loads(report.read_text())["claims"] if each["claim"] == name]
    return dict(record)


def _formula(
    file: Path, copy: Path, claim: str, of: str, found: Improvement, evidence: Path | None
) -> str | None:
    """Return the best factor as a formula of the claim's quantities, if the claim with this formula is certified."""
    certified, violated, source = found.certified, found.violated, read_file(file, TEXT).decode()
    if certified is None or violated is None or not has_one_comparison(source, claim, of):
        return None
    if claim not in REGISTRY:
        load_claims(file)
    frozen = freeze(checker.find_claim(claim), compared=False)
    formula = best_factor(frozen, of, least=violated.value < certified.value)
    if formula is None:
        return None
    name = f"{claim}.{of or 'bound'}.formula".lower()
    record = _record(copy, variant(source, claim, of, formula, name), name, evidence)
    is_certified = isinstance(record, dict) and word_of(record["verdict"], record["basis"]) == CERTIFIED
    return formula if is_certified else None


def _facts(claim: str, of: str, found: Improvement, formula: str | None) -> dict[str, Any]:
    """Return the result as a dictionary for JSON, with numbers as text."""

    def plain(one: Checked | None) -> dict[str, str] | None:
        if one is None:
            return None
        return {"value": str(one.value), "verdict": one.verdict, "reason": one.reason}

    return {
        "claim": claim,
        "of": of or None,
        "own": str(found.own),
        "certified": plain(found.certified),
        "violated": plain(found.violated),
        "formula": formula,
        "checked": [plain(each) for each in found.checked],
    }


def _print(claim: str, of: str, found: Improvement, formula: str | None, *, multiplied: bool) -> None:
    """Print the result and every checked value."""
    what = of or "the bound"
    certified, violated = found.certified, found.violated
    times = f" times what the claim states of {what}" if multiplied else f" for {what}"
    print(
        f"{claim}: {certified.value}{times} is certified." if certified else f"{claim}: nothing is certified."
    )
    print(f"{violated.value} is violated." if violated else "Nothing that was tried is violated.")
    if formula is not None:
        print(f"As a formula of the quantities, {formula}{times} is certified.")
    rows = [
        (str(each.value), each.verdict, each.reason[:REASON])
        for each in sorted(found.checked, key=lambda each: each.value)
    ]
    terminal.show_table((what, "verdict", "reason"), rows, no_wrap=(what, "verdict"))

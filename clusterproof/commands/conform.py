"""The command ``conform``: compare an implementation with an algorithm's definition."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from clusterproof.commands import terminal
from clusterproof.commands.child_process import in_child
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import write_whole
from clusterproof.conformance import DEFINITIONS
from clusterproof.conformance import conform as hold
from clusterproof.conformance.page import describe
from clusterproof.neural.custom.references import HOW, load_own, require_name
from clusterproof.settings import values_from_texts


def conform(
    implementation: str | None = None,
    /,
    *,
    algorithm: Annotated[str | None, Parameter(["--as"], completer=lambda _: list(DEFINITIONS))] = None,
    settings: Annotated[tuple[str, ...], Parameter("--set", negative=())] = (),
    dtype: str | None = None,
    supports: str | None = None,
    loss: Literal["quadratic", "cross-entropy"] | None = None,
    json_file: Annotated[Path | None, Parameter("--json")] = None,
    list_algorithms: Annotated[bool, Parameter("--list", negative=())] = False,
) -> int:
    """Compare an implementation, whose code is run, with an algorithm's definition.

    Exit status: 0 if the implementation conforms, 1 if it differs, 2 if it is unusable or an option is wrong, 3 if the
    runs do not decide this, 4 if it conforms to an admissible form other than the declared form.

    Parameters
    ----------
    implementation
        A function or class that is called with (task, settings), or an Algorithm, as MODULE:NAME or FILE.py:NAME.
    algorithm
        Name of the definition, such as scaffold; or MODULE:NAME or FILE.py:NAME of your method.
    settings
        A setting that is fixed for all runs, as NAME=VALUE, such as option=I; may be repeated.
    dtype
        Number type of the implementation: float32 or float64.
    supports
        Features that the implementation can vary, separated by commas: batches,server-step,participation,strengths.
    loss
        Use cross-entropy for code that does not accept another loss; batches are then full.
    json_file
        Write the report and all numbers to this file.
    list_algorithms
        Print algorithms, equations, settings and the values of options.
    """
    if list_algorithms:
        print("\n\n".join(describe(definition) for definition in DEFINITIONS.values()))
        return 0
    terminal.check_outputs(json=json_file)
    if implementation is None:
        raise InvalidArgument("implementation", None, "must be given", f"give {HOW}, or --list")
    require_name("implementation", implementation)
    if algorithm is None:
        plain = implementation.rpartition(":")[2].lower().replace("_", "")
        alike = [name for name in DEFINITIONS if name.replace("-", "") in plain] or ["fedavg"]
        remedy = f"write, for example, --as {max(alike, key=len)}; --list prints all"
        raise InvalidArgument("--as", None, "must name the algorithm to compare with", remedy)
    in_child("implementation", implementation)
    start = import_object(implementation)
    held = import_object(algorithm, "as") if ":" in algorithm else algorithm
    chosen = values_from_texts("set", settings)
    given = None if supports is None else [name for name in supports.split(",") if name]
    report = hold(start, held, settings=chosen, supports=given, dtype=dtype, loss=loss)
    if report.verdict == "unusable":
        terminal.print_error(report.sentence)
    else:
        print(report)
    if json_file is not None:
        write_whole("json", json_file, report.json().encode())
    return report.status


def import_object(reference: str, argument: str = "implementation") -> Any:
    """Import the object that a reference names; this runs the object's module."""
    try:
        return load_own("algorithm", reference)
    except InvalidArgument as error:
        raise InvalidArgument(argument, reference, error.rule, error.remedy) from error

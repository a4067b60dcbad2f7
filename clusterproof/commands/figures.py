"""The command ``figures``: draw figures into files, with the user's parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from clusterproof.commands import terminal
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import check_writable, naming_folder, write_whole
from clusterproof.common.options import parameter_descriptions
from clusterproof.common.validation import check_name, check_seed, error_line, require
from clusterproof.figures import FIGURES, Illustration
from clusterproof.figures.files import file_content
from clusterproof.figures.illustration import written
from clusterproof.figures.style import Appearance, appearing
from clusterproof.settings import from_settings, values_from_texts


def draw(
    *ids: Annotated[str, Parameter(completer=lambda _: list(FIGURES))],
    out: Path | None = None,
    file_format: Annotated[Literal["png", "svg", "pdf"], Parameter("--format")] = "svg",
    settings: Annotated[tuple[str, ...], Parameter("--set", negative=())] = (),
    seed: terminal.Integer = 0,
    width: float | None = None,
    caption: Annotated[bool, Parameter(negative="--no-caption")] = True,
    title: str | None = None,
    labels: str = "",
    style: Path | None = None,
    show_help: Annotated[bool, Parameter(("--help", "-h"), negative=(), show=False)] = False,
) -> int:
    """Draw the named figures, or all figures; without --out, list them.

    Parameters
    ----------
    ids
        Names of figures. `clusterproof figures NAME --help` lists the parameters of a figure.
    out
        Folder for the files; created if it is missing.
    file_format
        File format.
    settings
        A parameter of the figures, as `--set kappa=100` or, for several runs, `--set "momentum=[0,.5,.9]"`; repeatable.
    seed
        Seed of the figures' data.
    width
        Width in centimetres, such as 8.5 for a column or 16 for a page; 18.3 by default. The font size does not depend
        on the width. In a narrow figure, the panels are below each other.
    caption
        Whether to draw the caption below the figure; the file's description always contains it.
    title
        Title above the figure.
    labels
        New names of the curves in the legend, in order, separated by commas.
    style
        A style sheet of matplotlib, as FILE.mplstyle; by default the user's matplotlibrc.
    show_help
        Print the parameters of the named figures, or of this command.
    """
    for name in ids:
        check_name("id", name, list(FIGURES))
    if show_help:
        return _show_help(ids)
    check_seed(seed)
    looks: dict[str, Any] = {"width": width, "caption": caption, "title": title}
    looks["labels"] = [name.strip() for name in labels.split(",")] if labels else []
    Appearance(**looks)  # reject values that no figure accepts
    values = values_from_texts("set", settings)
    if values and not ids:
        raise InvalidArgument(
            "set", ", ".join(settings), "needs the name of a figure", f"add {next(iter(FIGURES))}"
        )
    chosen = {name: from_settings(FIGURES[name], {"seed": seed, **values}) for name in ids or FIGURES}
    if out is None:
        if ids:
            raise InvalidArgument("--out", None, "must be given to draw", "add --out DIR")
        terminal.show_table(("id", "title"), [(name, figure.title) for name, figure in FIGURES.items()])
        return 0
    require("out", str(out), "matplotlib")
    sheet = {} if style is None else _read_sheet(style)
    with naming_folder("out", out):
        out.mkdir(parents=True, exist_ok=True)
    paths = {name: out / f"{name.replace('/', '-')}.{file_format}" for name in chosen}
    for path in paths.values():
        check_writable("out", path)
    failures = []
    with terminal.progress(len(chosen), lines=True) as advance:
        for number, (name, figure) in enumerate(chosen.items()):
            advance(number, name)
            try:
                content = _render(figure, file_format, looks, sheet)
            except InvalidArgument as refusal:
                if len(chosen) == 1:
                    raise
                failures.append(f"{name}: {refusal}")
                continue
            except Exception as error:  # one broken figure must not hide the others
                failures.append(f"{name}: the figure failed with {error_line(error)}")
                continue
            write_whole("out", paths[name], content)
            print(paths[name], flush=True)
    for failure in failures:
        terminal.print_error(failure)
    return 1 if failures else 0


def _render(figure: Illustration, file_format: str, looks: dict[str, Any], sheet: Mapping[str, Any]) -> bytes:
    """Draw a figure with a style sheet and return the bytes of its file, which contains the caption."""
    with appearing(Appearance(sheet=sheet)):
        return file_content(figure.plot(**looks), file_format, alt=figure.description)


def _read_sheet(sheet: Path) -> Mapping[str, Any]:
    """Return the parameters of a user's style sheet."""
    from matplotlib import rc_params_from_file

    try:
        read = rc_params_from_file(sheet, use_default_template=False)
        return {str(name): value for name, value in read.items()}
    except (OSError, ValueError) as error:
        rule = f"must be a style sheet of matplotlib ({error_line(error)})"
        raise InvalidArgument("style", str(sheet), rule, "give a file such as slides.mplstyle") from None


def _show_help(ids: Sequence[str]) -> int:
    """Print the parameters of the named figures, or the help of the command."""
    if not ids:
        from clusterproof.commands.application import app

        app.help_print(["figures"])
    for name in ids:
        print(f"clusterproof figures {name} --out DIR [--set NAME=VALUE ...]\n\n{FIGURES[name].title}.\n")
        terminal.show_table(("parameter", "default", "meaning"), _parameters(FIGURES[name]))
    return 0


def _parameters(kind: type[Illustration]) -> Iterator[tuple[str, str, str]]:
    """Yield name, default and meaning of each parameter of a figure."""
    words: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        words |= parameter_descriptions(base)
    for field in fields(kind):
        default: Any = field.default
        yield field.name, written(default), words[field.name]

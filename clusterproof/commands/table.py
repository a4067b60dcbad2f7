"""The command ``table``: repeat an experiment of a paper and compare the numbers, or print all stored results."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from clusterproof.commands import engine, terminal
from clusterproof.common.atomic import write_whole
from clusterproof.common.options import parameter_descriptions
from clusterproof.common.validation import check_count, check_name
from clusterproof.experiments.comparison import RULE
from clusterproof.experiments.paper_table import HEADERS, NetworkTable, PaperTable, Row, stored_results
from clusterproof.experiments.tables import TABLES
from clusterproof.neural.precision import precision_in_words
from clusterproof.running.storage import write_tables
from clusterproof.settings import values_from_texts

if TYPE_CHECKING:
    from polars import DataFrame

app = App(name="table", help="Reproduce a paper's table.", help_format="markdown")


@app.default
def table(table_id: Annotated[str | None, Parameter(show=False)] = None, /) -> int:
    """Print the stored results of all tables: the papers' numbers, ours, and the smallest detectable differences.

    To compute a table, give its name: see `clusterproof table cfl-mgd/table-2 --help`.
    """
    if table_id is not None:
        check_name("id", table_id, list(TABLES))
    frame = stored_results()
    columns = "table", "settings", "version"
    for (name, settings, version), group in frame.group_by(*columns, maintain_order=True):
        kind = TABLES[str(name)]
        print(f"{name}: {kind.title}")
        made = ", ".join(f"{key} {value}" for key, value in json.loads(str(settings)).items())
        print(f"{kind.source}; {made or 'as published'}; made by version {version}")
        show(kind.from_values(json.loads(str(settings))).rows(group))
        print()
    print(RULE)
    print("Never run at full size: EMNIST, convolutional networks and CIFAR-10, FPFC's Figure 1.")
    return 0


def show(rows: list[Row]) -> None:
    """Print the lines of a table."""
    terminal.show_table(HEADERS, [row.cells for row in rows], no_wrap=HEADERS)


def _command(kind: type[PaperTable]) -> Callable[..., int]:
    """Return the command that computes a table."""

    def command(
        *,
        set: Annotated[tuple[str, ...], Parameter(negative="")] = (),  # noqa: A002 - the option is --set
        seeds: terminal.Integer = 3,
        out: Path | None = None,
        parquet: Path | None = None,
        csv: Path | None = None,
        plot: Path | None = None,
        jobs: terminal.OptionalInteger = None,
        dask: str | None = None,
    ) -> int:
        """Compute the table.

        Parameters
        ----------
        set
            A setting and its value, such as rounds=100; may be repeated.
        seeds
            Number of seeds, 0, 1 and so on.
        out
            Folder of the finished runs, so that an interrupted table can resume; by default the user's cache.
        parquet
            File for the numbers.
        csv
            File for the numbers as CSV.
        plot
            File for a figure of the numbers by round, png, svg or pdf.
        jobs
            Parallel processes; by default one per core.
        dask
            Address of a Dask scheduler, whose workers compute the runs.
        """
        check_count("seeds", seeds, at_least=1, at_most=10_000, remedy="the default is 3")
        terminal.check_outputs(out=out, parquet=parquet, csv=csv, plot=plot)
        made = kind.from_values(values_from_texts("set", set))
        if plot is not None:
            from clusterproof.figures.curves import check_rounds  # help does not need figures

            check_rounds(made, str(plot))
        made.check(is_here=dask is None)
        units = {seed: made.units(seed) for seed in range(seeds)}
        flat = [unit for of_seed in units.values() for unit in of_seed.values()]
        results, complete = engine.compute(flat, out, jobs, dask)
        found = iter(results)
        by_seed = {seed: {name: next(found) for name in of_seed} for seed, of_seed in units.items()}
        finished = {seed: of_seed for seed, of_seed in by_seed.items() if None not in of_seed.values()}
        frame = made.frame(finished)
        if finished:
            write_tables(frame, parquet=parquet, csv=csv)
            if plot is not None:
                _draw(frame, made, plot)
            print(f"{made.id}: {made.title}\n{made.source}")
            show(made.rows(frame))
            print(RULE)
        if isinstance(made, NetworkTable) and (words := precision_in_words(made.precision)):
            print(f"{words[0].upper()}{words[1:]}.")
        if not made.judged:
            print("Some of the settings that the paper prints have other values here: no row is judged.")
        return 0 if complete else 1

    command.__doc__ = f"{_settings(kind)}\n\n{inspect.getdoc(command)}".replace("\n\nCompute the table.", "")
    return command


def _draw(frame: DataFrame, table: PaperTable, plot: Path) -> None:
    from clusterproof.figures.curves import draw_table
    from clusterproof.figures.files import file_content

    write_whole("plot", plot, file_content(draw_table(frame, table), plot.suffix.lstrip(".")))


def _settings(kind: type[PaperTable]) -> str:
    """Return a table's description, and its settings with their defaults and meanings."""
    described, usual = parameter_descriptions(kind), kind.from_values({})
    by_text: dict[str, list[str]] = {}
    for field in fields(kind):
        shown = f"`{field.name}={json.dumps(getattr(usual, field.name))}`"
        by_text.setdefault(described[field.name], []).append(shown)
    settings = [f"- {', '.join(names)}: {text}" for text, names in by_text.items()]
    for data, values in kind.by_data.items():
        changed = ", ".join(f"{name}={json.dumps(value)}" for name, value in values.items())
        settings.append(f"- with `data={data}`: {changed}")
    summary = (inspect.getdoc(kind) or "").partition("\n\nParameters")[0]
    return "\n".join([summary, "", "Settings and their defaults, for --set:", "", *settings])


for _kind in TABLES.values():
    app.command(_command(_kind), name=_kind.id)

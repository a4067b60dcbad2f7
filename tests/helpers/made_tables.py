"""Tables of the registry, assembled from made results."""

from clusterproof.experiments.comparison import Table
from clusterproof.experiments.report import table_json, table_text
from clusterproof.experiments.reproducible_table import ReproducibleTable, Request
from clusterproof.experiments.tables.registry import TABLES


def table(name: str) -> ReproducibleTable:
    return TABLES[name]


def accuracies_of(name: str, request: Request) -> Table:
    """A table of SoFL's accuracies from made results."""
    definition = table(name)
    results = {}
    for index, unit in enumerate(definition.units(request)):
        record = {"round": 50, "server": (37 * index) % 90, "local": 50.0, "clusters": 4, "rand": 0.5}
        results[unit.method, unit.seed] = {"curve": [record], "device": "cpu"}
    return shown(definition.table(request, results))


def shown(made: Table) -> Table:
    """Require that a table can be printed and written."""
    assert table_text(made, 100)
    assert table_json(made, {})
    return made

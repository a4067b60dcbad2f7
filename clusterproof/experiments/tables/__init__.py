"""Experiments of papers, with one file per experiment."""

from clusterproof.experiments.paper_table import PaperTable
from clusterproof.experiments.tables.cfl_mgd_table_2 import CFLMGDTable2
from clusterproof.experiments.tables.fpfc_figure_1 import FPFCFigure1
from clusterproof.experiments.tables.fpfc_table_1 import FPFCTable1
from clusterproof.experiments.tables.gradient_loss_figures_4_and_5 import GradientLossFigures
from clusterproof.experiments.tables.sofl_table_2 import SoFLTable2
from clusterproof.experiments.tables.sofl_tables_3_to_5 import SoFLTables3To5

TABLES: dict[str, type[PaperTable]] = {
    kind.id: kind
    for kind in (CFLMGDTable2, FPFCTable1, FPFCFigure1, GradientLossFigures, SoFLTable2, SoFLTables3To5)
}
"""All tables, indexed by id."""

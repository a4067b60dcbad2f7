import numpy as np
from drawings import SEED, SMALL, drawn

from clusterproof.theory.bounds.power import COLUMNS, power

FAULTS, REPLICATES = (SMALL["power-table"][name] for name in ("FAULTS", "REPLICATES"))


def cells():
    (panel,) = drawn("power-table").axes
    (image,) = panel.get_images()
    return np.asarray(image.get_array())


def test_the_cells_are_the_fractions_of_the_same_runs():
    for row in (2, len(FAULTS) - 1):
        expected = power(FAULTS[row], replicates=REPLICATES, seed=SEED)
        assert list(cells()[row]) == [expected[name] for name in COLUMNS]


def test_every_cell_is_written_and_every_row_and_column_is_named():
    (panel,) = drawn("power-table").axes
    assert cells().shape == (len(FAULTS), len(COLUMNS))
    written = {
        (round(text.get_position()[1]), round(text.get_position()[0])): text.get_text()
        for text in panel.texts
    }
    assert len(written) == cells().size
    for place, text in written.items():
        assert abs(float(text) - cells()[place]) <= 0.005
    assert len(panel.get_xticklabels()) == len(COLUMNS)
    assert len({label.get_text() for label in panel.get_yticklabels()}) == len(FAULTS)


def test_right_runs_break_nothing_and_wrong_ones_break_theorem_d_only():
    assert not cells()[0].any()
    assert not cells()[:, COLUMNS.index("B")].any()
    assert (cells()[1:, COLUMNS.index("deviation")] > 0).all()

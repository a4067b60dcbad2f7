"""The helper that plants faults replaces every import of a name and restores it."""

import pytest
from planting import planted, with_parameters

from clusterproof.algorithms import IFCA, aggregation, arrays, cfl, protocol, sofl
from clusterproof.theory.bounds import theorem_a


def test_every_importer_gets_the_fault_and_then_the_original() -> None:
    def wrong() -> None: ...

    true, users = arrays.sums_by_cluster, (arrays, aggregation, protocol)
    with planted(arrays, "sums_by_cluster", wrong) as given:
        assert given is true
        assert all(module.sums_by_cluster is wrong for module in users)
        aggregation.imported_meanwhile = wrong
    assert all(module.sums_by_cluster is true for module in users)
    assert aggregation.imported_meanwhile is true
    del aggregation.imported_meanwhile
    with planted(arrays, "sums_by_cluster", wrong, within=protocol.__name__):
        assert protocol.sums_by_cluster is wrong
        assert aggregation.sums_by_cluster is true
    with pytest.raises(LookupError), planted(arrays, "sums_by_cluster", wrong, within="clusterproof.figures"):
        pass
    with pytest.raises(AttributeError), planted(arrays, "no_such_name", wrong):
        pass


def test_a_constant_is_replaced_where_it_is_imported() -> None:
    true = cfl.STATIONARY
    with planted(cfl, "STATIONARY", 4):
        assert cfl.STATIONARY == sofl.STATIONARY == 4
    assert cfl.STATIONARY == sofl.STATIONARY == true


def test_equal_constants_of_other_modules_are_left_alone() -> None:
    from clusterproof.theory.papers.cfl_mgd.appendix import a4_to_a6

    arrays.CONSTANT = a4_to_a6.OTHER = a4_to_a6.CONSTANT  # the same object
    with planted(a4_to_a6, "CONSTANT", 2):
        assert (a4_to_a6.CONSTANT, a4_to_a6.OTHER, arrays.CONSTANT) == (2, 256, 256)
    assert (a4_to_a6.CONSTANT, a4_to_a6.OTHER, arrays.CONSTANT) == (256, 256, 256)
    del a4_to_a6.OTHER, arrays.CONSTANT


def test_an_inherited_method_is_replaced_in_the_subclass_alone() -> None:
    class Descendant(IFCA): ...

    with planted(Descendant, "step", None):
        assert Descendant.step is None
        assert IFCA.step is not None
    assert "step" not in vars(Descendant)


def test_caches_are_empty_under_a_fault_and_restored() -> None:
    cached = theorem_a.contractions
    known = cached.cache_info()
    with planted(arrays, "sums_by_cluster", None):
        assert theorem_a.contractions is not cached
        assert theorem_a.contractions.cache_info().currsize == 0
    assert theorem_a.contractions is cached
    assert cached.cache_info() == known


def test_fixed_parameters_replace_those_given() -> None:
    made = with_parameters(IFCA, clusters=3)(step_size=0.1, clusters=2)
    assert isinstance(made, IFCA)
    assert (made.step_size, made.clusters) == (0.1, 3)

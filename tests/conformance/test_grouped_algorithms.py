"""FPFC, GL-CFL, CFL and SoFL: the library's, and others written from the papers, conform; changed texts do not."""

import itertools
from typing import Any

import clustered_by_hand
import numpy as np
import pytest

from clusterproof.conformance import DEFINITIONS, conform
from clusterproof.conformance.changes import table
from clusterproof.conformance.probes import SUPPORTS, Probe, make_probes, snapshots

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "fpfc": [{}, {"pair_rule": "both"}, {"pair_rule": "all"}, {"penalty": "l1"}, {"start": "own"}],
    "gradient-loss": [
        *({}, {"similarity": "euclidean"}, {"sign": "as-printed"}),
        *({"sign": "as-printed", "similarity": "euclidean"}, {"loss_reduction": "sum", "batch_size": 3}),
        {"loss_reduction": "sum", "batch_size": 2, "sign": "as-printed", "similarity": "euclidean"},
        *({"empty_cluster": "always"}, {"empty_cluster": "when-empty"}),
    ],
    "cfl": [
        *({}, {"linkage": "complete"}, {"thresholds": "relative"}, {"weighting": "samples"}),
        {"noise_ratio": 0.8},
    ],
}


def test_rules_of_empty_clusters_are_found_alone_and_in_a_pair() -> None:
    definition: Any = DEFINITIONS["cfl-mgd"]
    for forms in ({"empty_cluster": "freeze"}, {"normalisation": "cluster", "empty_cluster": "freeze"}):

        def start(task: Any, settings: Any, forms: Any = forms) -> Any:
            return definition(task, {**settings, **forms})

        report = conform(start, "cfl-mgd")
        assert (report.verdict, report.changed) == ("variant", forms), str(report)


@pytest.mark.slow(reason="scikit-learn's k-means")
def test_no_seed_misses_the_groups_of_the_probe() -> None:
    sofl: Any = pytest.importorskip("clusterproof.algorithms.sofl").SoFL(step_size=0.2)
    definition: Any = DEFINITIONS["sofl"]
    (probe,) = (one for one in make_probes(definition, {}, SUPPORTS)[0] if one.name == "groups")
    run = definition(probe.task, probe.settings)
    for participants in probe.schedule[: probe.settings["pretraining"]]:
        run.round(participants)
    local = DEFINITIONS["local"](probe.task, probe.settings)
    local.model = run.model
    local.round(range(probe.task.clients))
    updates = local.model - run.model
    for seed in range(20):
        found = sofl.cluster(updates, np.random.default_rng(seed))
        assert len(set(zip(found, np.array(probe.task.groups), strict=True))) == len(set(found)) == 3


def as_start(cls: Any) -> Any:
    return cls


@pytest.mark.slow(reason="several seconds")
def test_groups_are_compared_up_to_their_numbers_and_need_not_be_floats() -> None:
    class Renumbered(clustered_by_hand.CFL):
        groups = property(lambda self: 7 - clustered_by_hand.CFL.groups.fget(self))  # type: ignore[attr-defined]

    class Wrong(clustered_by_hand.CFL):
        groups = property(lambda self: np.zeros(self.task.clients, dtype=int))

    assert conform(as_start(Renumbered), "cfl", explained=False).verdict == "conforms"
    report = conform(as_start(Wrong), "cfl", explained=False)
    assert report.verdict == "differs"
    assert report.localised is not None
    assert str(report.localised.difference).startswith("groups after round 2, client 1")


@pytest.mark.slow(reason="several seconds")
def test_sofl_is_judged_by_the_groups_that_the_run_reports() -> None:
    reported = [type("Other", (clustered_by_hand.SoFL,), {"restless": first}) for first in range(3)]
    assert {conform(start, "sofl", explained=False).verdict for start in reported} == {"conforms"}

    class Silent:
        def __init__(self, task: Any, settings: Any) -> None:
            self.run = clustered_by_hand.SoFL(task, settings)
            self.round = self.run.round

        model = property(lambda self: self.run.model)

    report = conform(Silent, "sofl")
    assert (report.verdict, report.status) == ("unusable", 2)
    assert "give `run.groups`" in report.sentence


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", OPTIONS)
def test_rounding_decides_nothing_in_the_probes(algorithm: str) -> None:
    """Choices, splits and groups have a distance of at least 1e-4 from the other decision."""
    definition: Any = DEFINITIONS[algorithm]
    noting = "[run.memory.setdefault('distances', []).extend({found}), {{}}][1]"
    changes = {
        "cluster of client": noting.format(found="np.diff(np.sort([score(i, k) for k in every])[-2:])"),
        "ready": noting.format(found="[abs(mean - small), abs(largest - large)]"),
        "side": noting.format(found="np.diff(np.unique(cosines[np.triu_indices(len(cosines), 1)]))"),
        "nu": noting.format(found="np.abs(lengths - threshold).ravel()"),
    }
    changes = {name: each for name, each in changes.items() if name in table(algorithm)["places"]}
    distances = []
    for settings in OPTIONS[algorithm]:
        for probe in make_probes(definition, settings, SUPPORTS)[0]:
            run = definition(probe.task, probe.settings, [changes])
            for participants in probe.schedule:
                run.round(participants)
            distances += run.memory.get("distances", [])
    assert distances
    assert min(distances) > 1e-4


def test_every_case_of_scad_is_reached_by_the_probes() -> None:
    definition: Any = DEFINITIONS["fpfc"]
    reached = np.zeros(4, dtype=int)

    def counted(_: Any, shrinkage: Any) -> Any:
        def changed(length: float, strength: float, concavity: float, smoothing: float, rho: float) -> Any:
            ends = [smoothing + strength / rho, strength + strength / rho, concavity * strength]
            reached[np.searchsorted(ends, length)] += length > 0
            return shrinkage(length, strength, concavity, smoothing, rho)

        return changed

    for probe in make_probes(definition, {}, SUPPORTS)[0]:
        run = definition(probe.task, probe.settings, [{"shrinkage": counted}])
        for participants in probe.schedule:
            run.round(participants)
    assert reached.min() >= 10


def test_the_cut_of_single_linkage_is_the_best_of_all() -> None:
    bipartition = pytest.importorskip("clusterproof.conformance.definitions.partitions").bipartition
    generator = np.random.default_rng(3)
    for count in range(2, 7):
        vectors = generator.standard_normal((count, 3))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        cosines = vectors @ vectors.T

        def across(chosen: Any, cosines: np.ndarray = cosines) -> float:
            side = np.isin(np.arange(len(cosines)), chosen)
            return float(cosines[np.ix_(side, ~side)].max())

        sides = [one for size in range(1, count) for one in itertools.combinations(range(count), size)]
        found = np.flatnonzero(bipartition(cosines, "single"))
        assert across(found) == pytest.approx(min(map(across, sides)))


@pytest.mark.parametrize("algorithm", ["fpfc", "gradient-loss", "cfl", "sofl"])
def test_the_forms_of_steps_apply(algorithm: str) -> None:
    """Weight decay w acts as the curvature w and the optimum 0 beside the loss, so that runs agree with such a task."""
    definition, decay = DEFINITIONS[algorithm], 0.3
    for probe in make_probes(definition, {}, SUPPORTS)[0]:
        if algorithm == "gradient-loss":  # its choice is by the loss without the decay
            continue
        task = probe.task
        bent = task.curvatures + decay * np.eye(task.dimension)
        optima = np.linalg.solve(bent, (task.curvatures @ task.optima[..., None]))[..., 0]
        moved = type(task)(**{**vars(task), "curvatures": bent, "optima": optima})
        other = Probe(probe.name, "", moved, probe.settings, probe.schedule)
        expected = snapshots(definition, other)
        for found, wanted in zip(
            snapshots(definition, probe, changed={"weight_decay": decay}), expected, strict=True
        ):
            np.testing.assert_allclose(found["model"], wanted["model"], rtol=1e-9, atol=1e-9)

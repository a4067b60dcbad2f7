"""Statements about runs that no known mistake explains, and which algorithm code is, if nobody says so."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clusterproof.conformance import DEFINITIONS, conform, infer
from clusterproof.conformance.definitions import KNOWN_MISTAKES
from clusterproof.conformance.probes import SUPPORTS, Observed, Probe, make_probes, snapshots
from clusterproof.conformance.symptoms import statements


def observed(probe: Probe, states: Any) -> Observed:
    return Observed(probe, states, "float64")


def differing(algorithm: str, holds: Any) -> str:
    """Return the statements on runs of a definition that differ from a round on, where ``holds`` returns that round."""
    definition, runs = DEFINITIONS[algorithm], []
    for probe in make_probes(definition, {}, SUPPORTS)[0]:
        if probe.name == "many-rounds":  # the longest; no statement needs it
            continue
        first = holds(probe)
        states = [
            {**state, "model": state["model"] + (first is not None and number >= first)}
            for number, state in enumerate(snapshots(definition, probe))
        ]
        runs.append(observed(probe, states))
    return "; ".join(statements(definition, runs, "float64"))


@pytest.mark.parametrize("algorithm", DEFINITIONS)
def test_statements_can_be_made_about_every_algorithm(algorithm: str) -> None:
    assert "are the runs with at least 2 rounds" in differing(algorithm, lambda probe: 2)


def first_absence(probe: Probe) -> int | None:
    whole = [len(participants) == probe.task.clients for participants in probe.schedule]
    return whole.index(False) + 1 if False in whole else None


def steps(probe: Probe) -> int:
    """Return epochs x batches of the client with most samples."""
    most = int(max(probe.task.samples))
    return int(probe.settings["local_epochs"] * -(-most // (probe.settings["batch_size"] or most)))


PROPERTIES = [
    ("fedavg", first_absence, "absent clients"),
    ("fedavg", lambda probe: 5, "at least 5 rounds"),
    ("fedavg", lambda probe: 1 if steps(probe) > 2 else None, "a client that takes more than 2 local steps"),
    ("fpfc", lambda probe: 1 if probe.task.clients > 4 else None, "more than 4 clients"),
    ("fedprox", lambda probe: 1 if probe.settings["proximal"] != 0.7 else None, "a proximal other than 0.7"),
]


@pytest.mark.parametrize(("algorithm", "holds", "words"), PROPERTIES)
def test_the_property_that_matters_is_stated_and_no_other(algorithm: str, holds: Any, words: str) -> None:
    """All runs with absent clients have 5 rounds or more: the first rounds tell the two apart."""
    assert f"the runs that differ are the runs with {words}" in differing(algorithm, holds)


def test_a_property_that_is_not_separated_is_not_stated() -> None:
    """The run of seven clients has more coordinates, too, and is the only one."""
    for algorithm, first in (("fedavg", 1), ("ifca", 6)):
        made = differing(algorithm, lambda probe, first=first: first if probe.task.clients > 4 else None)
        assert "are those" not in made


def test_a_cluster_that_loses_its_members_is_stated() -> None:
    """A momentum that is set to 0 with the last member, which first matters where there were members before."""
    definition: Any = DEFINITIONS["cfl-mgd"]

    def forgetting(task: Any, settings: Any) -> Any:
        return definition(task, settings, [{"old momentum": "({} if np.any(mean) else 0 * buffer)"}])

    report = conform(forgetting, "cfl-mgd", explained=False)
    sentences = "; ".join(statements(definition, report.runs, report.dtype))
    assert "the runs that differ are the runs with a cluster that loses all its members" in sentences


def test_a_quantity_is_not_called_like_a_probe() -> None:
    definition = DEFINITIONS["fpfc"]
    runs = [
        replace(run, states=[{**state, "model": state["model"] + 1e-3} for state in run.states])
        for probe in make_probes(definition, {}, SUPPORTS)[0]
        for run in [observed(probe, snapshots(definition, probe))]
    ]
    first, *_ = statements(definition, runs, "float64")
    assert first.startswith("the quantities `groups`, `differences`, ")
    assert np.all([run.states[0]["model"].shape[0] == run.probe.task.clients for run in runs])


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", ["fedavg", "scaffold", "fedavgm"])
def test_the_algorithm_is_inferred(algorithm: str) -> None:
    reports = infer(DEFINITIONS[algorithm])
    assert [report.algorithm for report in reports] == [algorithm]


@pytest.mark.parametrize("explained", [True, False])
def test_the_cause_of_a_difference_is_looked_for_unless_told_otherwise(explained: bool) -> None:
    fault = KNOWN_MISTAKES["fedprox"]["prox-halved"].changes
    report = conform(
        lambda task, given: DEFINITIONS["fedprox"](task, given, [fault]), "fedprox", explained=explained
    )
    assert report.verdict == "differs"
    assert bool(report.likely) is explained


def test_what_is_declared_holds_for_every_algorithm_that_is_tried() -> None:
    tried = set()

    def start(task: Any, settings: dict[str, Any]) -> Any:
        tried.add(task.labels is None)
        return DEFINITIONS["local"](task, settings)

    declared = {"supports": (), "dtype": "float32", "loss": "cross-entropy"}
    start.conform_options = declared  # type: ignore[attr-defined]
    reports = infer(start)
    assert {(report.algorithm, report.dtype) for report in reports} == {("local", "float32")}
    assert tried == {False}

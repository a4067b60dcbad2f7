"""What a conforming verdict covers: every setting, late rounds, more clients; and causes that are found together."""

from typing import Any

import numpy as np
import pytest
from tiers import slow_after

from clusterproof.algorithms import ALGORITHMS
from clusterproof.conformance import (
    DEFINITIONS,
    Report,
    check_names,
    conform,
)
from clusterproof.conformance.adapters.library import from_algorithm
from clusterproof.conformance.further_checks import CHECKS
from clusterproof.conformance.probes import SUPPORTS, make_probes, strengths

OF_ONE_FORM: dict[tuple[str, str], dict[str, Any]] = {
    ("cfl-mgd", "local_epochs"): {"averaging": "model"},
    ("cfl-mgd", "batch_size"): {"averaging": "model"},
    ("fedbcd", "pull"): {"variant": "separate"},
    ("gradient-loss", "batch_size"): {"loss_reduction": "sum"},
    ("sofl", "proximal"): {"method": "fedprox"},
}
"""Numbers that are in the equation of another form than the first, and that form."""
LONGER = ("seven-clients", "many-rounds")
"""Probes that take most of the time, and that no setting needs."""
NUMBERS = [
    (algorithm, name)
    for algorithm, definition in DEFINITIONS.items()
    for name, default in definition.defaults().items()
    if not isinstance(default, (str, bool))
]


def ignoring(algorithm: str, name: str, form: dict[str, Any]) -> Report:
    """Return the report on code that ignores a setting."""
    definition = DEFINITIONS[algorithm]
    default = definition.defaults()[name]
    return conform(
        lambda task, given: definition(task, {**given, name: default}),
        algorithm,
        settings=form,
        checks=[name for name in check_names(definition)[: -len(CHECKS)] if name not in LONGER],
        explained=False,
    )


@pytest.mark.parametrize(("algorithm", "name"), slow_after(40, "every setting of every algorithm", NUMBERS))
def test_a_setting_that_is_ignored_is_seen(algorithm: str, name: str) -> None:
    form = OF_ONE_FORM.get((algorithm, name), {})
    if form:
        assert ignoring(algorithm, name, {}).verdict == "conforms"
    report = ignoring(algorithm, name, form)
    # a server step that is constant, and not 1, is an admissible form
    assert report.verdict == ("variant" if name == "eta" else "differs"), str(report)
    assert name not in report.not_varied


def test_settings_with_one_value_are_named() -> None:
    report = conform(DEFINITIONS["fedavg"], "fedavg", settings={"step_size": 0.1}, supports=["batches"])
    assert set(report.not_varied) == {"participation", "step_size", "server_step_size"}


@pytest.mark.parametrize("algorithm", DEFINITIONS)
def test_code_with_fixed_strengths_is_given_no_others(algorithm: str) -> None:
    definition = DEFINITIONS[algorithm]
    varying = [name for name in SUPPORTS if name != "strengths"]
    for probe in make_probes(definition, {}, varying)[0]:
        assert {name: probe.settings[name] for name in strengths(definition)} == {
            name: definition.defaults()[name] for name in strengths(definition)
        }


def test_hardly_moving_is_not_ignoring_participants() -> None:
    class Hardly(DEFINITIONS["fedavg"]):  # type: ignore[misc]
        def round(self, participants: Any) -> None:
            self.model = np.nextafter(self.model, np.inf)

    report = conform(Hardly, "fedavg", explained=False)
    assert report.verdict == "differs", str(report)


def test_an_algorithm_of_the_library_is_an_implementation() -> None:
    scaffold: Any = ALGORITHMS["scaffold"]
    assert conform(scaffold, "scaffold", explained=False).verdict == "conforms"
    report = conform(scaffold(step_size=0.3, option="I"), "scaffold", explained=False)
    assert (report.verdict, report.settings["option"]) == ("conforms", "I")


@pytest.mark.parametrize(
    ("algorithm", "words"), [("fedavg", "We checked it"), ("fedprox", "We did not have the paper")]
)
def test_the_page_states_whether_the_paper_was_read(algorithm: str, words: str) -> None:
    report = conform(DEFINITIONS[algorithm], algorithm, checks=("one-step",), explained=False)
    assert words in " ".join(str(report).split())
    assert report.paper_was_read == (words == "We checked it")


def test_the_order_of_clients_is_checked_on_a_run_with_enough_of_them() -> None:
    for checks in (("many-rounds", "order"), ("everything", "order")):
        assert conform(from_algorithm("fedavg"), "fedavg", checks=checks).verdict == "conforms"


class LosesMomentaOfTheAbsent(DEFINITIONS["cfl-mgd"]):  # type: ignore[misc]
    def exchange(self, participants: Any) -> None:
        super().exchange(participants)
        self.client_momenta[np.setdiff1d(np.arange(self.task.clients), participants)] = 0


def keeps_the_momentum_of_each_client(run: Any, local_steps: Any) -> Any:
    """... between rounds, in which it is absent or in another cluster, in place of the mean of its cluster's."""

    def changed(gradient: Any, model: Any, buffer: Any, *others: Any) -> Any:
        *_, client = gradient.args
        end = local_steps(gradient, model, run.memory.get(client, buffer), *others)
        run.memory[client] = end[1]
        return end

    return changed


def weighs_gradients_by_samples(run: Any, gradients: Any) -> Any:
    """... which is right for equal sizes only."""
    shares = run.task.samples[run.of_round["participants"]] / np.mean(run.task.samples)
    return [
        lambda y, share=share, gradient=gradient: share * gradient(y)
        for share, gradient in zip(shares, gradients, strict=True)
    ]


def with_change(name: str, change: Any) -> Any:
    return lambda task, settings: DEFINITIONS["cfl-mgd"](task, settings, [{name: change}])


@pytest.mark.parametrize(
    ("start", "form"),
    [
        (LosesMomentaOfTheAbsent, {"momentum_owner": "client"}),
        (with_change("descend_with_momentum", keeps_the_momentum_of_each_client), {"averaging": "model"}),
        (with_change("gradients", weighs_gradients_by_samples), {}),
    ],
)
def test_what_absent_clients_and_unequal_sizes_alone_show_is_seen(start: Any, form: dict[str, Any]) -> None:
    assert conform(start, "cfl-mgd", settings=form, explained=False).verdict == "differs"

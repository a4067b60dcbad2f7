"""What holds of every definition: its settings have an effect, and what is not tried is named."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy_federated import FedAvg
from tiers import slow_after

from clusterproof.conformance import DEFINITIONS, ConformanceTask, Definition, check_names, conform
from clusterproof.conformance.definitions.base import DECLARED, SCHEDULES
from clusterproof.conformance.further_checks import CHECKS
from clusterproof.conformance.page import describe
from clusterproof.conformance.probes import SUPPORTS, Probe, make_probes, snapshots
from clusterproof.conformance.tolerance import Snapshot

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "compare-code-with-a-paper.md"
QUICK = 20
"""Rounds of the runs that suffice to see the effect of a setting."""


def forms(definition: type[Definition]) -> Iterator[dict[str, Any]]:
    """Yield the default form, and every form that differs from it in one word."""
    yield {}
    defaults = definition.defaults()
    for name, values in {**definition.variants, **definition.choices}.items():
        yield from ({name: value} for value in values if value != defaults[name])


def differ(first: list[Snapshot], second: list[Snapshot]) -> bool:
    return len(first) != len(second) or any(
        not np.array_equal(one[name], other[name], equal_nan=True)
        for one, other in zip(first, second, strict=True)
        for name in one
    )


def others(definition: type[Definition], name: str, value: Any) -> list[Any]:
    """Return other admissible values of a setting."""
    words = {"schedule": SCHEDULES, **definition.variants, **definition.choices}
    if name in words:
        return [each for each in words[name] if each != value]
    if name == "batch_size":
        return [each for each in (1, 2, None) if each != value]
    return [value + 1] if isinstance(value, int) else [0.6 * value, 0.3]


def has_an_effect(definition: type[Definition], name: str) -> bool:
    """Return whether another value changes a run under some form."""
    for form in forms(definition):
        if name in form:
            continue
        for probe in make_probes(definition, form, SUPPORTS)[0]:
            if len(probe.schedule) <= QUICK and any(
                differ(snapshots(definition, probe), moved(definition, probe, {**form, name: value}))
                for value in others(definition, name, {**DECLARED, **probe.settings}[name])
            ):
                return True
    return False


def moved(definition: type[Definition], probe: Probe, form: Mapping[str, Any]) -> list[Snapshot]:
    """Return the run of the same name under another form, which may start from other models."""
    other = {one.name: one for one in make_probes(definition, form, SUPPORTS)[0]}[probe.name]
    return snapshots(definition, other)


SETTINGS = [(algorithm, name) for algorithm, each in DEFINITIONS.items() for name in each.defaults()]
SETTINGS += [(algorithm, name) for name in ("weight_decay", "schedule") for algorithm in DEFINITIONS]


@pytest.mark.parametrize(("algorithm", "name"), slow_after(30, "every setting of every algorithm", SETTINGS))
def test_each_setting_that_is_offered_has_an_effect(algorithm: str, name: str) -> None:
    assert has_an_effect(DEFINITIONS[algorithm], name)


@pytest.mark.parametrize("algorithm", DEFINITIONS)
def test_code_that_applies_what_is_listed_and_nothing_else_conforms(algorithm: str) -> None:
    """Its runs are given no setting that is not in the list, at any value of the list."""
    definition = DEFINITIONS[algorithm]

    def start(task: ConformanceTask, given: Mapping[str, Any]) -> Definition:
        return definition(task, {name: given[name] for name in definition.defaults()})

    probes = check_names(definition)[: -len(CHECKS)]
    for form in forms(definition):
        report = conform(start, algorithm, settings=form, checks=probes, explained=False)
        assert report.verdict == "conforms", (form, str(report))


@pytest.mark.parametrize("algorithm", DEFINITIONS)
def test_absent_clients_are_tried_or_named(algorithm: str) -> None:
    definition = DEFINITIONS[algorithm]
    quick = ["one-step", "rounds", "everything"]
    for supports in (SUPPORTS, ("batches", "server-step", "strengths")):
        report = conform(definition, algorithm, supports=supports, checks=quick, explained=False)
        tried = any(
            len(participants) < run.probe.task.clients
            for run in report.runs
            for participants in run.probe.schedule
        )
        assert report.verdict == "conforms", str(report)
        assert ("participation" in report.not_varied) != tried
        assert tried == ("participation" in supports and not definition.needs_all_clients)


def outside_any_bank(algorithm: str) -> Any:
    """Return the definition on the signs of gradients."""

    class Signs(ConformanceTask):
        def gradient(self, client: int, model: np.ndarray) -> np.ndarray:
            return np.sign(super().gradient(client, model))

    return lambda task, settings: DEFINITIONS[algorithm](Signs(**vars(task)), settings)


@pytest.mark.parametrize("algorithm", ["cfl-mgd", "sofl"])
def test_a_fault_outside_the_bank_ends_in_a_report(algorithm: str) -> None:
    report = conform(outside_any_bank(algorithm), algorithm)
    assert (report.verdict, report.likely) == ("differs", ()), str(report)


def with_own_schedules(algorithm: str) -> Any:
    """Return the definition whose clients multiply their steps by .9 after each round that they take part in."""

    class Run(DEFINITIONS[algorithm]):  # type: ignore[misc]
        def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
            rates = np.ones(task.clients)

            class Slower(ConformanceTask):
                def gradient(self, client: int, model: np.ndarray) -> np.ndarray:
                    return np.asarray(rates[client] * super().gradient(client, model))

            super().__init__(Slower(**vars(task)), settings)
            self.rates = rates

        def round(self, participants: Any) -> None:
            super().round(participants)
            self.rates[participants] *= 0.9

    return Run


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", ["fedavg", "fednova", "local", "ifca", "cfl"])
def test_a_schedule_of_each_client_is_named_in_whatever_order_clients_train(algorithm: str) -> None:
    report = conform(with_own_schedules(algorithm), algorithm)
    words = "the step size is multiplied by 0.9 after every round in which the client takes part"
    everyone = "the step size is multiplied by 0.9 after every round;"  # where nobody is ever absent
    assert any(one.sentence.startswith((words, everyone)) for one in report.likely), str(report)


READ = {
    f"{name}"
    for name in (
        "conform_options",
        "round",
        *(name for each in DEFINITIONS.values() for name in each.quantities),
    )
}


def test_only_the_names_of_the_guide_are_read_from_a_users_object() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    listed = text.partition("## Names that `conform` reads")[2].partition("\n## ")[0]
    asked: set[str] = set()

    class Recorded(type):
        def __getattr__(cls, name: str) -> Any:
            asked.add(name)
            raise AttributeError(name)

    class Run(FedAvg, metaclass=Recorded):  # type: ignore[misc]
        def __getattr__(self, name: str) -> Any:
            asked.add(name)
            raise AttributeError(name)

    for algorithm in DEFINITIONS:
        conform(Run, algorithm, checks=["one-step"], explained=False)
    assert {name for name in asked if not name.startswith("__")} <= READ
    assert {name for name in READ if f"`{name}`" not in listed} == set()


def test_methods_of_any_other_meaning_do_no_harm() -> None:
    names = {*READ - {"round", "model", "conform_options"}, "supports", "dtype", "loss"}
    methods = {name: lambda self, *_: None for name in names}
    report = conform(type("Run", (FedAvg,), methods), "fedavg")
    assert report.verdict == "conforms", str(report)


def test_the_page_explains_the_symbols_of_a_round_but_no_letters_within_a_name() -> None:
    """FedAvgM's momentum beta contains eta, and its round has no local step size."""
    symbols = {
        name: re.findall(
            r"(\S+): ", describe(DEFINITIONS[name]).partition("  symbols")[2].partition("  settings")[0]
        )
        for name in ("fedprox", "fedavgm")
    }
    assert {"x", "y_i", "g_i", "K_i", "p_i", "mu", "eta", "gamma", "sum_S"} == set(symbols["fedprox"])
    assert "eta" not in symbols["fedavgm"]

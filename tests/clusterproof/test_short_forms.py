"""Short forms of verdicts, claims, traces, bounds and tasks, on one line and in a notebook; and records are frozen."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import polars
import pytest
from IPython.core.formatters import HTMLFormatter

from clusterproof import CFLMGD, IFCA, QuadraticMixture, RegressionMixture, Trace, bound, check, run
from clusterproof.algorithms import ALGORITHMS
from clusterproof.checker import Verdict, find_claim
from clusterproof.common.discovery import modules_below
from clusterproof.experiments.tables import TABLES
from clusterproof.neural.configuration import Configuration, Training
from clusterproof.synthetic import TASKS

SMALL = QuadraticMixture(hessians=[[[1.0]], [[2.0]]], centers=[[0.0], [3.0]], labels=[0, 1])
LARGE = RegressionMixture.random(clusters=2, clients=40, dimension=20, noise=0.3, samples=20_000, seed=0)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return run(CFLMGD(step_size=1 / LARGE.smoothness, momentum=0.5), LARGE, rounds=3, replicates=5, seed=0)


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    return check("cfl-mgd/lemma-2", evaluations=10)


class Page(HTMLParser):
    """What a reader sees of what IPython's own formatter makes of an object; all tags are closed."""

    def __init__(self, shown: Any) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(HTMLFormatter()(shown))
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_all_have_a_line_and_a_notebook_form(trace: Trace, verdict: Verdict) -> None:
    for one, *words in (
        (verdict, "cfl-mgd/lemma-2", "violated", "0.21528"),
        (trace, "cfl-mgd on regression", "replicates", "5", "2 of 20 parameters"),
        (bound("cfl-mgd/theorem-d", LARGE, trace), "TraceBound", "shape", "error"),
        (LARGE, "RegressionMixture", "clients", "40", "samples", "20000"),
    ):
        line, text = repr(one), Page(one).text
        assert "\n" not in line
        assert len(line) < 400
        assert all(word in line and word in text for word in words), (line, text)
    assert repr(find_claim("cfl-mgd/lemma-2")).startswith("<Claim cfl-mgd/lemma-2 (Lemma 2, (31)): ")


def test_nothing_in_a_notebook_form_is_taken_for_markup(verdict: Verdict) -> None:
    hostile = "1 <b>2</b> & <script>alert()</script>"
    page = Page(replace(verdict, reason=hostile))
    assert not page.seen & {"b", "script"}
    assert hostile in page.text


@pytest.mark.parametrize("name", sorted(TASKS))
def test_the_code_of_every_task_makes_it_again(name: str) -> None:
    """hypothesis prints it for a failing example."""
    names = {kind.__name__: kind for kind in TASKS.values()}
    task = TASKS[name].random(clusters=2, clients=5, dimension=3, seed=3)
    again = eval(task.code, {**names, "inf": np.inf})  # noqa: S307 - ours
    assert (type(again), again.settings) == (type(task), task.settings)
    large = TASKS[name].random(clusters=2, clients=30, dimension=10, seed=0)
    assert repr(large).startswith(f"<{type(task).__name__}: clusters=2, clients=30, dimension=10")
    assert (
        repr(SMALL) == "QuadraticMixture(hessians=[[[1.0]], [[2.0]]], centers=[[0.0], [3.0]], labels=[0, 1])"
    )


def test_a_frame_has_the_errors_and_who_chose_each_model(trace: Trace) -> None:
    frame = trace.frame()
    assert frame.columns == ["round", "replicate", "model", "error", "chosen_by"]
    assert len(frame) == 4 * 5 * 2
    row = frame.filter(polars.col("round") == 2, polars.col("replicate") == 3, polars.col("model") == 1)
    assert trace.errors is not None
    assert row["error"].item() == trace.errors[2, 3, 1]
    assert row["chosen_by"].item() == (trace.assignments[1, 3] == 1).sum()
    assert frame.filter(polars.col("round") == 0)["chosen_by"].is_null().all()
    single = run(IFCA(step_size=0.1, clusters=2), SMALL, rounds=0).frame()
    assert single["chosen_by"].to_list() == [None, None]
    blind = Trace(trace.models, trace.assignments, None, trace.labels, trace.settings)
    assert blind.frame()["error"].is_null().all()
    assert "error" not in repr(blind)


def test_a_trace_draws_what_the_figures_draw(trace: Trace) -> None:
    (panel,) = trace.plot().axes
    assert trace.errors is not None
    for model in range(2):
        (line,) = (line for line in panel.lines if line.get_gid() == f"median {model}")
        np.testing.assert_array_equal(line.get_ydata(), np.median(trace.errors[:, :, model], axis=1))
    assert panel.get_yscale() == "log"


KINDS = (*ALGORITHMS.values(), *TASKS.values(), *TABLES.values(), Configuration, Training)


@pytest.mark.parametrize("package", ["algorithms", "neural", "synthetic"])
def test_records_are_frozen(package: str) -> None:
    for module in modules_below(f"clusterproof.{package}"):
        for kind in vars(module).values():
            if isinstance(kind, type) and "__dataclass_params__" in vars(kind):
                assert kind.__dataclass_params__.frozen, kind  # type: ignore[attr-defined]  # which dataclasses set


def test_fields_are_given_by_name() -> None:
    for kind in filter(is_dataclass, KINDS):
        assert all(field.kw_only for field in fields(kind) if field.init), kind

"""Every algorithm in every form that its definition knows: the library's is the definition's, round by round.

The definitions (``conformance.definitions``) are plain loops over clients that import no algorithm of the library.
Options that no definition has are compared here by hand.
"""

import numpy as np
import pytest
from option_combinations import ORDERS, product

from clusterproof.algorithms import ALGORITHMS, FedBCD, PerFedAvg
from clusterproof.common import Randomness
from clusterproof.conformance import DEFINITIONS, check_names, conform
from clusterproof.conformance.adapters.library import from_algorithm
from clusterproof.conformance.further_checks import CHECKS
from clusterproof.conformance.observation import observe
from clusterproof.conformance.probes import Probe, agree, snapshots
from clusterproof.conformance.tasks import random_task
from clusterproof.synthetic import QuadraticMixture

PROBES = (
    "sizes",
    "batches",
    "strengths",
    "participation",
    "seven-clients",
    "everything",
    "clusters",
    "groups",
)
"""In which every setting and every state differs from its start, over four to ten rounds."""


WEIGHTS = {"weighting": ("clients", "samples")}
FORMS = {
    "fedavg": product(**WEIGHTS, reshuffle=(False, True)),
    "fedprox": product(**WEIGHTS),
    "fedlin": [{}],
    "local": [{}],
    "proxskip": [{}],
    "scaffold": product(**WEIGHTS, option=("I", "II")),
    "per-fedavg": product(**WEIGHTS, gradient=("first-order", "second-order")),
    "fedbcd": product(variant=("penalised", "separate")),
    "feddyn": product(**WEIGHTS),
    "fednova": product(**WEIGHTS),
    "fedavgm": product(**WEIGHTS, nesterov=(False, True)),
    "fedadam": product(**WEIGHTS),
    "fedyogi": product(**WEIGHTS),
    "ditto": product(**WEIGHTS),
    "pfedme": product(**WEIGHTS, theta=("continues", "restarts")),
    "ifca": product(averaging=("gradient", "model")),
    "cfl-mgd": [
        *product(
            averaging=("gradient",),
            momentum_owner=("server", "client"),
            **ORDERS,
            normalisation=("clients", "participants", "cluster"),
            empty_cluster=("coast", "freeze"),
        ),
        *product(averaging=("model",), **ORDERS, reset_momentum=(False, True)),
    ],
    "gradient-loss": product(
        similarity=("cosine", "euclidean"),
        sign=("descent", "as-printed"),
        loss_reduction=("mean", "sum"),
        empty_cluster=("never", "when-empty", "always"),
    ),
    "cfl": product(**WEIGHTS, linkage=("single", "complete"), thresholds=("absolute", "relative")),
    "fpfc": [
        *product(penalty=("scad", "l1"), pair_rule=("either", "both", "all"), start=("common", "own")),
        # pairs are near where the penalty is constant, from 3.2 times the strength on
        {"strength": 0.1, "threshold": 0.5},
    ],
    "sofl": [
        *({}, {"method": "fedprox", "proximal": 0.4}, {"method": "per-fedavg"}),
        *({"weighting": "samples"}, {"trigger": "stationary"}),
    ],
}
CASES = [(name, form) for name, forms in FORMS.items() for form in forms]


def test_every_algorithm_of_the_library_has_a_row():
    for name in ALGORITHMS:
        row = f'add a row to FORMS: "{name}": [{{}}],'
        if name not in DEFINITIONS:
            row = f'add a row to FORMS: "{name}": [], which says that `conform` has no definition of it'
        assert name in FORMS, row
    assert set(FORMS) <= set(ALGORITHMS)
    assert {name for name, forms in FORMS.items() if forms} <= set(DEFINITIONS)


def test_every_option_of_a_definition_that_the_library_has_is_a_form():
    """... with every value that the library takes."""
    for name, forms in FORMS.items():
        if not forms:
            continue
        definition = DEFINITIONS[name]
        for option, values in {**definition.variants, **definition.choices}.items():
            if option in ALGORITHMS[name].__dataclass_fields__:
                named = {form.get(option, definition.defaults()[option]) for form in forms}
                assert named == set(values) - {"steps", "unbiased", "unbiased-models", "either-twice"}


def report_of(name, form, checks=PROBES, **parameters):
    """What ``conform`` says of the library's algorithm on those of the probes that its definition has."""
    known = [one for one in check_names(DEFINITIONS[name]) if one in checks]
    start = from_algorithm(name, **parameters)
    return conform(start, name, settings=form, checks=known, explained=False)


@pytest.mark.parametrize(("name", "form"), [case for case in CASES if case[0] != "sofl"], ids=str)
def test_a_form_is_its_definition(name, form):
    if form.get("loss_reduction") == "sum":
        form = {**form, "batch_size": 2}  # the library's sum has as many samples for every client
    report = report_of(name, form)
    assert report.verdict == "conforms", str(report)


@pytest.mark.parametrize("form", FORMS["sofl"], ids=str)
def test_sofl_is_its_definition_whatever_groups_it_finds(form):
    report = report_of("sofl", form, ("everything", "groups"), grid=3, updates=60)
    assert report.verdict == "conforms", str(report)


@pytest.mark.parametrize("name", [name for name, forms in FORMS.items() if forms and name != "sofl"])
def test_it_is_so_in_late_rounds_at_the_fixed_point_and_on_images_of_the_task(name):
    known = check_names(DEFINITIONS[name])
    checks = ["rounds", "server-step", "many-rounds", "everything", *CHECKS]
    report = report_of(name, {}, [one for one in known if one in checks])
    assert report.verdict == "conforms", str(report)
    assert all(check.outcome != "failed" for check in report.checks), str(report)
    assert set(report.runs[0].states[-1]) == set(DEFINITIONS[name].quantities)


def test_fpfc_may_overwrite_its_pairs():
    report = report_of("fpfc", {}, reuse_memory=True)
    assert report.verdict == "conforms", str(report)


SAMPLES = {"mean_threshold": 0.22, "client_threshold": 0.28, "weighting": "samples"}


@pytest.mark.parametrize("settings", [{"warm_up": 2}, SAMPLES], ids=str)
def test_cfl_asks_absent_members_before_a_split(settings):
    """Absences are no part of the paper and of the probes, but of the library's definition."""
    schedule = ((0, 1, 2, 3), (0, 1, 2), (1, 2, 3), (0, 2, 3), (0, 1, 3), (2,), (0, 1, 2, 3))
    definition = DEFINITIONS["cfl"]
    chosen = {**definition.defaults(), "step_size": 0.1, "local_epochs": 2, **settings}
    probe = Probe("absences", "", random_task(31, (2, 3, 1, 4)), chosen, schedule)
    splits = [len(np.unique(state["groups"])) for state in snapshots(definition, probe)]
    assert splits[-1] > 1
    assert len(schedule[splits.index(2) - 1]) < 4  # the first split is in a round with absent clients
    assert agree(definition, [observe(from_algorithm("cfl"), definition, probe)], "float64")


def test_either_linkage_of_cfl_is_its_definition_where_they_differ():
    definition, splits = DEFINITIONS["cfl"], []
    for linkage in ("single", "complete"):
        chosen = {**definition.defaults(), "step_size": 0.2, "local_epochs": 2, "linkage": linkage}
        task = random_task(33, (2, 3, 1, 4, 5, 2, 3, 1))
        probe = Probe("linkages", "", task, chosen, (tuple(range(8)),) * 12)
        assert agree(definition, [observe(from_algorithm("cfl"), definition, probe)], "float64")
        splits.append([tuple(state["groups"]) for state in snapshots(definition, probe)])
    assert splits[0] != splits[1]


# Defaults that no definition has, on two clients with the curvature 1 and the optima -1 and 3

LINE = QuadraticMixture(hessians=np.ones((2, 1, 1)), centers=[[-1.0], [3.0]], labels=[0, 0])


def after_a_round(algorithm, start=2.0):
    state = algorithm.initialise(np.array([[start]]), LINE)
    return algorithm.step(state, LINE, Randomness.from_seed(0))


@pytest.mark.parametrize(
    ("algorithm", "model"),
    [
        # the inner step is 1/4, so that w - 2 moves by 1/2 of 3/4 of -3 and of 1
        (PerFedAvg(step_size=0.5), 2 + (-3 + 1) * 0.375 / 2),
        (PerFedAvg(step_size=0.5, gradient="second-order"), 2 + (-3 + 1) * 0.28125 / 2),
        # mu = 0.1 does not act at the anchor; half of the way of 1/2 -3 and 1/2
        (FedBCD(step_size=0.5, server_step_size=0.5), 1.75),
        # the pull is 0.2: 0.8 of the way of -3/2 and 1/2
        (FedBCD(step_size=0.5, variant="separate"), 1.6),
        # of the second step, y - 2 = -3/2 has the gradient -3/2 and the pull mu, 0.1
        (FedBCD(step_size=0.5, local_steps=2), 2 + ((-1.5 - 0.75 + 0.075) + (0.5 + 0.25 - 0.025)) / 2),
    ],
    ids=str,
)
def test_defaults_that_depend_on_the_form_are_as_documented(algorithm, model):
    np.testing.assert_allclose(after_a_round(algorithm).models, [[model]], rtol=0, atol=1e-15)

"""FPFC, GL-CFL, CFL and SoFL: the library's, and others written from the papers, conform; changed texts do not."""

import itertools
import types
from pathlib import Path
from typing import Any

import clustered_by_hand
import numpy as np
import pytest
from tiers import slow_after

from clusterproof.conformance import DEFINITIONS, Report, check_names, conform
from clusterproof.conformance.changes import table
from clusterproof.conformance.further_checks import CHECKS
from clusterproof.conformance.probes import SUPPORTS, Probe, make_probes, snapshots

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("fpfc", {}),
    ("gradient-loss", {}),
    ("cfl", {}),
    ("fedavg", {"reshuffle": True}),
    ("fedbcd", {"variant": "separate"}),
    ("fpfc", {"pair_rule": "both"}),
    ("fpfc", {"pair_rule": "all"}),
    ("fpfc", {"penalty": "l1"}),
    ("fpfc", {"start": "own"}),
    ("gradient-loss", {"similarity": "euclidean"}),
    ("gradient-loss", {"sign": "as-printed"}),
    ("gradient-loss", {"sign": "as-printed", "similarity": "euclidean"}),
    ("gradient-loss", {"loss_reduction": "sum", "batch_size": 3}),
    (
        "gradient-loss",
        {"loss_reduction": "sum", "batch_size": 2, "sign": "as-printed", "similarity": "euclidean"},
    ),
    ("gradient-loss", {"empty_cluster": "always"}),
    ("gradient-loss", {"empty_cluster": "when-empty"}),
    ("cfl", {"linkage": "complete"}),
    ("cfl", {"thresholds": "relative"}),
    ("cfl", {"weighting": "samples"}),
    ("cfl", {"noise_ratio": 0.8}),
    ("fedavg", {"reshuffle": True, "weighting": "clients"}),
    ("cfl-mgd", {"momentum_owner": "client"}),
    ("cfl-mgd", {"update_order": "as-printed"}),
    ("cfl-mgd", {"momentum_owner": "client", "update_order": "as-printed"}),
    ("cfl-mgd", {"averaging": "model", "update_order": "as-printed"}),
    ("cfl-mgd", {"averaging": "model", "reset_momentum": True}),
    ("cfl-mgd", {"normalisation": "cluster"}),
    ("cfl-mgd", {"normalisation": "participants"}),
    ("cfl-mgd", {"empty_cluster": "freeze"}),
    ("cfl-mgd", {"empty_cluster": "freeze", "update_order": "as-printed"}),
]


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


HAND: dict[str, type] = {
    "fpfc": clustered_by_hand.FPFC,
    "gradient-loss": clustered_by_hand.GradientLoss,
    "cfl": clustered_by_hand.CFL,
    "sofl": clustered_by_hand.SoFL,
}


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", HAND)
def test_implementations_from_the_listings_conform(algorithm: str) -> None:
    report = conform(HAND[algorithm], algorithm)
    assert report.verdict == "conforms", str(report)
    skipped = {check.name for check in report.checks if check.outcome == "skipped"}
    assert not skipped & set(check_names(DEFINITIONS[algorithm])[: -len(CHECKS)])


@pytest.mark.slow(reason="several seconds")
def test_the_l1_penalty_of_the_listing_conforms() -> None:
    assert conform(HAND["fpfc"], "fpfc", settings={"penalty": "l1"}).verdict == "conforms"
    report = conform(lambda task, given: HAND["fpfc"](task, {**given, "penalty": "l1"}), "fpfc")
    assert (report.verdict, report.changed) == ("variant", {"penalty": "l1"})


def as_start(cls: Any) -> Any:
    return cls


@pytest.mark.slow(reason="several seconds")
def test_groups_are_compared_up_to_their_numbers_and_need_not_be_floats() -> None:
    class Renumbered(clustered_by_hand.CFL):
        groups = property(lambda self: 7 - clustered_by_hand.CFL.groups.fget(self))  # type: ignore[attr-defined]

    class Wrong(clustered_by_hand.CFL):
        groups = property(lambda self: np.zeros(self.task.clients, dtype=int))

    assert conform(as_start(Renumbered), "cfl").verdict == "conforms"
    report = conform(as_start(Wrong), "cfl")
    assert report.verdict == "differs"
    assert report.localised is not None
    assert str(report.localised.difference).startswith("groups after round 2, client 1")


@pytest.mark.slow(reason="several seconds")
def test_sofl_is_judged_by_the_groups_that_the_run_reports() -> None:
    reported = [type("Other", (HAND["sofl"],), {"restless": first}) for first in range(3)]
    assert {conform(start, "sofl").verdict for start in reported} == {"conforms"}

    class Silent:
        def __init__(self, task: Any, settings: Any) -> None:
            self.run = HAND["sofl"](task, settings)
            self.round = self.run.round

        model = property(lambda self: self.run.model)

    report = conform(Silent, "sofl")
    assert (report.verdict, report.status) == ("unusable", 2)
    assert "give `run.groups`" in report.sentence


# class by hand: text, text with the mistake
MISTAKES: dict[str, tuple[tuple[str, str], ...]] = {
    "fpfc": (
        ("self.theta[i, j] - self.v[i, j] / rho for j", "self.theta[i, j] + self.v[i, j] / rho for j"),
        ("self.w[j] + self.theta[i, j] - self.v[i, j] / rho for j", "self.w[j] - self.v[i, j] / rho for j"),
        (
            "self.v[i, j] / rho for j in self.clients) / m",
            "self.v[i, j] / rho for j in self.clients if j != i) / (m - 1)",
        ),
        ("rho * (self.w[i] - sent[i])", "2 * rho * (self.w[i] - sent[i])"),
        ("rho * (self.w[i] - sent[i])", "s['strength'] * (self.w[i] - sent[i])"),
        (
            "        for i in participants:\n            for _ in",
            "        for i in participants:\n            self.w[i] = sent[i]\n            for _ in",
        ),
        (
            "delta = self.w[i] - self.w[j] + self.v[i, j] / rho",
            "delta = self.w[i] - self.w[j] - self.v[i, j] / rho",
        ),
        ("delta = self.w[i] - self.w[j] + self.v[i, j] / rho", "delta = self.w[i] - self.w[j]"),
        ("self.v[i, j] = self.v[i, j] + rho *", "self.v[i, j] = self.v[i, j] - rho *"),
        ("self.v[i, j] = self.v[i, j] + rho *", "self.v[i, j] = self.v[i, j] +"),
        (
            "self.theta[j, i], self.v[j, i] = -theta, -self.v[i, j]",
            "self.theta[j, i], self.v[j, i] = theta, -self.v[i, j]",
        ),
        ("self.theta[j, i], self.v[j, i] = -theta, -self.v[i, j]", "self.theta[j, i] = -theta"),
        ("length = norm(delta)\n", "length = norm(delta) ** 2\n"),
        ("- a * lam / (a - 1)) / (rho - 1 / (a - 1))", "- a * lam / (a - 1)) / rho"),
        ("- (t * t + lam * lam) / 2) / (a - 1)", "- (t * t + lam * lam)) / (a - 1)"),
        ('theta = proximal_point(delta, rho, s["strength"]', "theta = proximal_point(delta, rho, rho"),
        ("theta = proximal_point(delta, rho, s", "theta = proximal_point(delta, 1.0, s"),
        ('<= self.settings["threshold"]', '<= self.settings["threshold"] ** 0.5'),
        ("label = [new if one == old else one for one in label]", "label[j] = new"),
        ("self.task.samples[i] * self.w[i]", "self.task.samples.mean() * self.w[i]"),
    ),
    "gradient-loss": (
        (
            "score = weight * similarity + (1 - weight) * -loss",
            "score = weight * similarity + (1 - weight) * loss",
        ),
        ("score = weight * similarity + (1 - weight) * -loss", "score = -loss"),
        (
            "score = weight * similarity + (1 - weight) * -loss",
            "score = (1 - weight) * similarity - weight * loss",
        ),
        ("score = weight * similarity + (1 - weight) * -loss", "score = similarity"),
        (" / (norm(gradient) * norm(change))", ""),
        (" / (norm(gradient) * norm(change))", " / norm(change)"),
        ("self.previous = list(self.w)", "self.previous = self.previous or list(self.w)"),
        ("            gradient = self.task.gradient(i, self.w[chosen])\n", ""),
        ("self.task.gradient(i, self.w[chosen])\n", "self.task.gradient(i, self.w[0])\n"),
        ("if score > best", "if score < -best"),
        ("sum_of(models) / len(models)", "sum_of(models) / len(participants)"),
        ("sum_of(models) / len(models)", "models[-1]"),
        ("self.w[chosen] - s", "self.w[chosen] + s"),
    ),
    "cfl": (
        ("self.mean(part, moves) < s", "norm(sum_of(moves[i] for i in part)) < s"),
        ("self.mean(part, moves) < s", "np.mean([norm(moves[i]) for i in part]) < s"),
        ("max(norm(moves[i]) for i in part) >", "min(norm(moves[i]) for i in part) >"),
        ("max(norm(moves[i]) for i in part) >", "max(norm(moves[i]) ** 2 for i in part) >"),
        ("ready = ready and max(", "ready = ready or max("),
        ("len(part) > 2", "len(part) > 1"),
        ('>= s["warm_up"]', '> s["warm_up"]'),
        ("moves[i] @ moves[j] / (norm(moves[i]) * norm(moves[j]))", "moves[i] @ moves[j]"),
        ("return max(moves[i]", "return min(moves[i]"),
        ("min(sides, key=across)", "max(sides, key=across)"),
        ("if math.sqrt((1 - across(side)) / 2) > self", "if math.sqrt((1 - across(side)) / 2) < self"),
        (
            "[list(side), [j for j in part if j not in side]]",
            "[part[:1], part[1:]]",
        ),
        (
            "        for part in self.parts:\n            mean",
            "        for part in [list(self.clients)]:\n            mean",
        ),
        ("mean = sum(moves[i] for i in part) / len(part)", "mean = sum(moves[i] for i in part) / len(moves)"),
    ),
    "sofl": (
        ('self.rounds == s["pretraining"]', 'self.rounds == s["pretraining"] + 1'),
        ('self.rounds == s["pretraining"]', 'self.rounds == s["pretraining"] - 1'),
        ("model = sum_of(sent[i] for i in inside) / len(inside)", "model = sum(sent.values()) / len(sent)"),
        ("model = sum_of(sent[i] for i in inside) / len(inside)", "model = sent[inside[0]]"),
        (
            "sum_of(sent[i] for i in inside) / len(inside)",
            "sum_of(self.task.samples[i] * sent[i] for i in inside) / sum(self.task.samples[inside])",
        ),
    ),
}
FORMS_OF_THE_PAPERS = {("sofl", 4)}
"""Changed texts that are another admissible form: weights n_i."""

SOURCE = Path(clustered_by_hand.__file__).read_text()
CASES = [(algorithm, number) for algorithm, texts in MISTAKES.items() for number in range(len(texts))]


def changed_text(algorithm: str, number: int) -> Report:
    old, new = MISTAKES[algorithm][number]
    name = HAND[algorithm].__name__
    head, tail = SOURCE.split(f"class {name}(Clients)", 1)
    own, cut, rest = tail.partition("\nclass ")
    text = head.replace(old, new) if old in head and algorithm == "fpfc" else head
    assert old in own or text != head, old
    module = types.ModuleType("changed")
    exec(
        compile(f"{text}class {name}(Clients){own.replace(old, new)}{cut}{rest}", "changed", "exec"),
        module.__dict__,
    )
    return conform(module.__dict__[name], algorithm, explained=False)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("algorithm", "number"), slow_after(6, "one text after the other", CASES))
def test_changed_texts_differ(algorithm: str, number: int) -> None:
    report = changed_text(algorithm, number)
    expected = "variant" if (algorithm, number) in FORMS_OF_THE_PAPERS else "differs"
    assert report.verdict == expected, str(report)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", ["gradient-loss", "cfl", "fpfc"])
def test_rounding_decides_nothing_in_the_probes(algorithm: str) -> None:
    """Choices, splits and groups have a distance of at least 1e-4 from the other decision."""
    definition: Any = DEFINITIONS[algorithm]
    forms = [{}, *(settings for name, settings in OPTIONS if name == algorithm)]
    noting = "[run.memory.setdefault('distances', []).extend({found}), {{}}][1]"
    changes = {
        "choice": noting.format(found="np.diff(np.sort([score(i, k) for k in every])[-2:])"),
        "ready": noting.format(found="[abs(mean - small), abs(largest - large)]"),
        "side": noting.format(found="np.diff(np.unique(cosines[np.triu_indices(len(cosines), 1)]))"),
        "nu": noting.format(found="np.abs(lengths - threshold).ravel()"),
    }
    changes = {name: each for name, each in changes.items() if name in table(algorithm)["places"]}
    distances = []
    for settings in forms:
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

"""The library's own algorithms with one line of their source changed: each change is found."""

import dataclasses
import importlib
import sys
import types
from pathlib import Path

import pytest

from clusterproof.conformance import DEFINITIONS, check_names, conform
from clusterproof.conformance.adapters.library import from_algorithm
from clusterproof.conformance.checks import CHECKS

CLIENTS = {"weighting": "clients"}
MODEL = {"averaging": "model", "weighting": "clients"}
GRADIENT = {"averaging": "gradient"}

# module, class, definition, settings, text, text with the mistake
MUTANTS = [
    ("fedavg", "FedAvg", "fedavg", {}, "self.server_step_size * (mean.models", "(mean.models"),
    ("scaffold", "Scaffold", "scaffold", {}, "control - before,", "before - control,"),
    (
        "cfl_mgd",
        "CFLMGD",
        "cfl-mgd",
        GRADIENT,
        "models - self.step_size * buffers",
        "models - self.step_size * gradient",
    ),
    (
        "fedavg",
        "FedAvg",
        "fedavg",
        {},
        "state.models + self.server_step_size",
        "mean.models + self.server_step_size",
    ),
    ("fedprox", "FedProx", "fedprox", {}, "proximal=self.proximal)", "proximal=2 * self.proximal)"),
    ("fedprox", "FedProx", "fedprox", {}, "local_steps=self.local_steps, prox", "local_steps=1, prox"),
    (
        "fedavgm",
        "FedAvgM",
        "fedavgm",
        {},
        "state.buffers + (models - mean)",
        "state.buffers + (mean - models)",
    ),
    (
        "fedavgm",
        "FedAvgM",
        "fedavgm",
        {},
        "self.momentum * state.buffers",
        "(1 - self.momentum) * state.buffers",
    ),
    ("fedavgm", "FedAvgM", "fedavgm", {}, "self.server_step_size * buffers", "buffers"),
    ("scaffold", "Scaffold", "scaffold", {}, "before - control + (rec", "before + (rec"),
    ("scaffold", "Scaffold", "scaffold", {}, "/ (self.local_steps * self.step_size)", "/ self.step_size"),
    (
        "scaffold",
        "Scaffold",
        "scaffold",
        {},
        "keepdims=True) / task.clients",
        "keepdims=True) / len(clients)",
    ),
    (
        "scaffold",
        "Scaffold",
        "scaffold",
        {"option": "I"},
        "task.gradients(received, c",
        "task.gradients(points, c",
    ),
    (
        "fednova",
        "FedNova",
        "fednova",
        {},
        "(points - received) / steps",
        "(points - received) / self.local_steps",
    ),
    ("fednova", "FedNova", "fednova", {}, "xp.where(done < steps, moved, points)", "moved"),
    (
        "feddyn",
        "FedDyn",
        "feddyn",
        CLIENTS,
        "received + before / self.alpha",
        "received - before / self.alpha",
    ),
    (
        "feddyn",
        "FedDyn",
        "feddyn",
        CLIENTS,
        "models) - control / self.alpha",
        "models) - state.control / self.alpha",
    ),
    ("feddyn", "FedDyn", "feddyn", CLIENTS, "before - changes)", "-changes)"),
    ("ditto", "Ditto", "ditto", {}, "rows(models, assignments),", "rows(mean, assignments),"),
    ("ditto", "Ditto", "ditto", {}, "rows(state.personal, clients)", "rows(models, assignments)"),
    ("ditto", "Ditto", "ditto", {}, "local_steps=self.personal_epochs", "local_steps=self.local_steps"),
    ("pfedme", "PFedMe", "pfedme", CLIENTS, "step_size * self.lam * (local", "step_size * (local"),
    ("pfedme", "PFedMe", "pfedme", CLIENTS, "return local\n", "return personal\n"),
    ("pfedme", "PFedMe", "pfedme", CLIENTS, "(1 - self.mix) * state.models + ", "state.models + "),
    ("fedlin", "FedLin", "fedlin", CLIENTS, "mean - gradients", "gradients - mean"),
    ("fedbcd", "FedBCD", "fedbcd", {}, "xp.mean(personal, axis=-2", "xp.mean(points, axis=-2"),
    (
        "per_fedavg",
        "PerFedAvg",
        "per-fedavg",
        {},
        "gradient - self._inner * product",
        "gradient + self._inner * product",
    ),
    (
        "per_fedavg",
        "PerFedAvg",
        "per-fedavg",
        {},
        "hessian_products(points,",
        "hessian_products(ahead - points,",
    ),
    ("cfl_mgd", "CFLMGD", "cfl-mgd", GRADIENT, "self.momentum * state.buffers + g", "state.buffers + g"),
    ("cfl_mgd", "CFLMGD", "cfl-mgd", GRADIENT, "float(task.clients)", "float(assignments.shape[-1])"),
    (
        "cfl_mgd",
        "CFLMGD",
        "cfl-mgd",
        MODEL,
        "randomness, motion, buffers=state.buffers",
        "randomness, motion, buffers=0 * state.buffers",
    ),
    ("cfl_mgd", "CFLMGD", "cfl-mgd", MODEL, "momentum=self.momentum,", "momentum=0.0,"),
    ("local", "Local", "local", {}, "step_size=self.step_size,", "step_size=self.step_size / 2,"),
]
SAME = {"hessian_products(ahead - points,"}
"""On quadratics the Hessian is the same everywhere: the point does not matter."""


def mutant(monkeypatch: pytest.MonkeyPatch, module: str, name: str, text: str, changed: str) -> type:
    original = importlib.import_module(f"clusterproof.algorithms.{module}")
    source = Path(str(original.__file__)).read_text(encoding="utf-8")
    assert text in source, text
    copy = types.ModuleType("mutant_of_an_algorithm")
    monkeypatch.setitem(sys.modules, copy.__name__, copy)  # where dataclasses look up annotations
    exec(compile(source.replace(text, changed), "mutant.py", "exec"), copy.__dict__)
    cls = getattr(copy, name)
    assert dataclasses.is_dataclass(cls)
    return cls


@pytest.mark.parametrize(
    ("module", "name", "algorithm", "settings", "text", "changed"),
    [
        pytest.param(*case, marks=[] if number < 3 else pytest.mark.slow(reason="thirty mutants"))
        for number, case in enumerate(MUTANTS)
    ],
)
def test_one_changed_line_is_found(
    module: str,
    name: str,
    algorithm: str,
    settings: dict[str, str],
    text: str,
    changed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    probes = check_names(DEFINITIONS[algorithm])[: -len(CHECKS)]
    cls = mutant(monkeypatch, module, name, text, changed)
    report = conform(from_algorithm(cls), algorithm, settings=settings, checks=probes)
    assert report.verdict == ("conforms" if changed in SAME else "differs"), str(report)
    unchanged = mutant(monkeypatch, module, name, text, text)
    assert (
        conform(from_algorithm(unchanged), algorithm, settings=settings, checks=probes).verdict == "conforms"
    )
